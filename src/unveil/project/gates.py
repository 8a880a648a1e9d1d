"""The query gate of a project: the policy for all columns, and for each column its own policy, bounds and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unveil.project.toml_text import written, written_key

if TYPE_CHECKING:
    from pathlib import Path

    from unveil.project._table import TomlTable

__all__ = ["GateColumn", "GateSection", "read_gate", "write_gate"]

_OWN = ("policy", "nulls", "person", "contribution", "dialect", "columns")
_OF_COLUMN = ("policy", "bounds", "values")


@dataclass(frozen=True, slots=True)
class GateColumn:
    """One column: the policy that protects it and its settings, its declared bounds, and its declared values."""

    policy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class GateSection:
    """The query gate of a project.

    Parameters
    ----------
    policy, settings
        The policy for all columns without one of their own, and its settings.
    nulls, person, contribution, dialect
        As for `unveil.Gate`.
    columns
        The settings of single columns.

    Examples
    --------
    >>> GateSection(policy="restriction", settings={"k": 10}).policy
    'restriction'
    """

    policy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    nulls: str | None = None
    person: str | None = None
    contribution: int | None = None
    dialect: str | None = None
    columns: Mapping[str, GateColumn] = field(default_factory=dict)


def read_gate(table: TomlTable) -> GateSection:
    """Read the section; the settings of a policy are checked when the gate is opened."""
    contribution = table.number("contribution")
    if contribution is not None and (contribution < 1 or contribution != int(contribution)):
        raise table.wrong("expected a whole number of at least 1.", "contribution")
    columns = table.table("columns")
    return GateSection(
        policy=table.text("policy"),
        settings={name: value for name, value in table.fields.items() if name not in _OWN},
        nulls=table.word("nulls", ("error", "drop")),
        person=table.text("person"),
        contribution=None if contribution is None else int(contribution),
        dialect=table.text("dialect"),
        columns={name: _read_column(columns.table(name)) for name in columns.fields},
    )


def _read_column(table: TomlTable) -> GateColumn:
    bounds = table.elements("bounds", (int, float), "two numbers")
    if bounds is not None and (len(bounds) != 2 or not bounds[0] < bounds[1]):  # noqa: PLR2004
        raise table.wrong("expected two numbers, the lower one first.", "bounds")
    return GateColumn(
        policy=table.text("policy"),
        settings={name: value for name, value in table.fields.items() if name not in _OF_COLUMN},
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        values=table.elements("values", (str, int, float, bool), "texts or numbers"),
    )


def write_gate(gate: GateSection, relative: Callable[[Path], str]) -> Iterator[str]:  # noqa: ARG001 - it has no paths
    """Write the section."""
    if gate == GateSection():
        return
    yield "[query]"
    for name in ("policy", "nulls", "person", "contribution", "dialect"):
        if getattr(gate, name) is not None:
            yield f"{name} = {written(getattr(gate, name))}"
    yield from (f"{written_key(name)} = {written(value)}" for name, value in gate.settings.items())
    yield ""
    for name, column in gate.columns.items():
        yield f"[query.columns.{written_key(name)}]"
        if column.policy is not None:
            yield f"policy = {written(column.policy)}"
        if column.bounds is not None:
            yield f"bounds = {written(list(column.bounds))}"
        if column.values is not None:
            yield f"values = {written(list(column.values))}"
        yield from (f"{written_key(key)} = {written(value)}" for key, value in column.settings.items())
        yield ""
