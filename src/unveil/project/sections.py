"""The sections of a project file: the contents of each, and how they are read and written.

To add a section: a dataclass or alias for its content, a reader, a writer, a line in `SECTIONS`, a field of `Project`.
"""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field, fields
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.attributes import KINDS, NULLS, ROLES, Kind, Nulls, Role
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, PartitionError, ProjectError
from unveil.partitions import Partition, not_there, text_of
from unveil.project.gates import read_gate, write_gate
from unveil.project.model_words import MODEL_WORDS
from unveil.project.needs import Need
from unveil.project.policy import read_policy, write_policy
from unveil.project.protection import Step
from unveil.project.toml_text import dotted, written, written_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from unveil.project._table import TomlTable

__all__ = ["SECTIONS", "Attribute", "DataSection", "Section"]


@dataclass(frozen=True, slots=True, repr=False)
class DataSection:
    """The location of the data, and how to read it.

    Parameters
    ----------
    path
        The file, relative to the project file's folder, or the address of a table in a database. It need not exist yet.
    separator, encoding
        The separator between the columns of a text file, and its encoding; None: detected.
    missing
        Texts that stand for a null.
    text
        Columns of codes, read as text with the leading zeros that a spreadsheet lost.
    nulls
        The policy for nulls: ``"category"``, ``"drop"`` or ``"error"``.
    only_roles
        Whether a release leaves out every column without a role.

    Examples
    --------
    >>> DataSection(path=Path("people.csv"), missing=("?",)).nulls
    'category'
    """

    path: Path | str | None = None
    separator: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    nulls: Nulls = "category"
    only_roles: bool = False
    text: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line with every field; an address is shown without credentials."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values["path"] = None if self.path is None else without_credentials(self.path)
        return f"DataSection({', '.join(f'{name}={value!r}' for name, value in values.items())})"


@dataclass(frozen=True, slots=True)
class Attribute:
    """The meaning of one column in a project.

    Parameters
    ----------
    name
        The column.
    role
        identifier, key, sensitive, person, household, weight, keep or other.
    kind
        nominal, ordinal or continuous; None: inferred from the values.
    order
        The values of an ordinal column, lowest first.
    hierarchy
        The file of its hierarchy, relative to the project file's folder.
    partitions
        Its semantic partitions by name.
    missing
        Texts that stand for a null in it, such as -9.
    missing_is_sensitive
        Whether the absence of a value is itself sensitive information.
    reason
        The reason for its role, in the words of whoever decided: a column that may name people is kept only with a reason.

    Examples
    --------
    >>> Attribute("age", role="key", partitions={"adult": Partition.from_edges(["-inf", 18, "inf"])}).partitions
    {'adult': Partition(2 intervals)}
    """

    name: str
    role: Role = "other"
    kind: Kind | None = None
    order: tuple[Any, ...] | None = None
    hierarchy: Path | None = None
    partitions: dict[str, Partition] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    missing_is_sensitive: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The functions that read a section from its table, and write it as lines of TOML for a project in a folder."""

    read: Callable[[TomlTable], Any]
    write: Callable[[Any, Callable[[Path], str]], Iterator[str]]


def _read_data(table: TomlTable) -> DataSection:
    table.only(("path", "separator", "encoding", "missing", "text", "nulls", "only_roles"))
    return DataSection(
        path=_read_place(table),
        separator=table.checked("separator", lambda text: len(text) == 1, "expected one character."),
        encoding=table.checked("encoding", _is_encoding, "this encoding is unknown. Hint: most files are 'utf-8'."),
        missing=table.elements("missing", (str,), "text") or (),
        text=table.elements("text", (str,), "text") or (),
        nulls=table.word("nulls", NULLS) or "category",
        only_roles=table.flag("only_roles"),
    )


def _read_place(table: TomlTable) -> Path | str | None:
    """Return the location of the data: a path from the project file's folder, or a database address unchanged."""
    text = table.text("path")
    return text if text is not None and "://" in text else table.location("path")


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    return True


def _write_data(data: DataSection, relative: Callable[[Path], str]) -> Iterator[str]:
    default = DataSection()
    if data == default:
        return
    yield "[data]"
    if data.path is not None:
        yield f"path = {written(data.path if isinstance(data.path, str) else relative(data.path))}"
    for name in ("separator", "encoding", "missing", "text", "nulls", "only_roles"):
        value = getattr(data, name)
        if value != getattr(default, name):
            yield f"{name} = {written(value)}"
    yield ""


def _read_attributes(table: TomlTable) -> dict[str, Attribute]:
    return {name: _read_attribute(name, table.table(name)) for name in table.fields}


def _read_attribute(name: str, table: TomlTable) -> Attribute:
    table.only(("role", "kind", "order", "missing", "missing_is_sensitive", "hierarchy", "partitions", "reason"))
    kind, order = table.word("kind", KINDS), _read_order(table)
    if order is not None and kind not in {None, "ordinal"}:
        raise table.wrong(f"only an ordinal attribute has an order, and this one is {kind}.", "order")
    return Attribute(
        name=name,
        role=table.word("role", ROLES) or "other",
        kind=kind if order is None else "ordinal",
        order=order,
        hierarchy=_read_hierarchy(table),
        partitions=_read_partitions(table.table("partitions")),
        missing=table.elements("missing", (str,), "text") or (),
        missing_is_sensitive=table.flag("missing_is_sensitive"),
        reason=table.text("reason") or "",
    )


def _read_order(table: TomlTable) -> tuple[Any, ...] | None:
    order = table.elements("order", (str, int, float, date, time), "text, numbers or dates")
    if order is None:
        return None
    if not order:
        raise table.wrong("the order is empty; list the values, lowest first.", "order")
    if twins := len(order) - len({text_of(value) for value in order}):
        raise table.wrong(f"{twins:,} of {len(order):,} values occur more than once; each has one place.", "order")
    return order


def _read_hierarchy(table: TomlTable) -> Path | None:
    place = table.location("hierarchy")
    if place is not None and not place.is_file():
        problem = "this is a folder, not a file." if place.is_dir() else not_there(place)
        raise table.wrong(problem, "hierarchy")
    return place


def _read_partitions(table: TomlTable) -> dict[str, Partition]:
    partitions = {}
    for name, document in table.fields.items():
        try:
            partitions[name] = Partition.from_document(document)
        except PartitionError as problem:
            raise table.wrong(str(problem), name) from None
    return partitions


def _write_attributes(attributes: Mapping[str, Attribute], relative: Callable[[Path], str]) -> Iterator[str]:
    for attribute in attributes.values():
        yield f"[attributes.{written_key(attribute.name)}]"
        yield f"role = {written(attribute.role)}"
        if attribute.kind is not None:
            yield f"kind = {written(attribute.kind)}"
        if attribute.order is not None:
            yield f"order = {written(attribute.order)}"
        if attribute.missing:
            yield f"missing = {written(attribute.missing)}"
        if attribute.missing_is_sensitive:
            yield "missing_is_sensitive = true"
        if attribute.hierarchy is not None:
            yield f"hierarchy = {written(relative(attribute.hierarchy))}"
        if attribute.reason:
            yield f"reason = {written(attribute.reason)}"
        yield ""
        if attribute.partitions:
            yield f"[attributes.{written_key(attribute.name)}.partitions]"
            for name, partition in attribute.partitions.items():
                key = dotted(("attributes", attribute.name, "partitions", name))
                yield f"{written_key(name)} = {_written_partition(partition, key)}"
            yield ""


def _written_partition(partition: Partition, key: str) -> str:
    document = partition.to_dict()
    if "function" in document:
        raise ProjectError(f"{key}: the partition is a function, which a file cannot hold; list its blocks.")
    try:
        return written(document["blocks"] if set(document) == {"blocks"} else document)
    except TypeError:
        raise ProjectError(f"{key}: a block names the null, which TOML cannot write; leave it out of the blocks.") from None


def _read_needs(table: TomlTable) -> dict[str, Need]:
    return {name: _read_need(name, table.table(name)) for name in table.fields}


def _read_need(name: str, table: TomlTable) -> Need:
    table.only(("target", "given", "partitions", "at_least"))
    target, given = table.text("target"), table.elements("given", (str,), "text")
    if target is None:
        raise table.wrong("a need names the attribute to infer.", "target")
    if not given:
        raise table.wrong("a need names the attributes to infer it from.", "given")
    try:
        return Need(name, target, given, _read_partitions(table.table("partitions")), table.number("at_least"))
    except ArgumentError as problem:
        raise table.wrong(str(problem)) from None


def _write_needs(needs: Mapping[str, Need], relative: Callable[[Path], str]) -> Iterator[str]:  # noqa: ARG001 - it has no paths
    for need in needs.values():
        yield f"[needs.{written_key(need.name)}]"
        yield f"target = {written(need.target)}"
        yield f"given = {written(need.given)}"
        if need.at_least is not None:
            yield f"at_least = {written(need.at_least)}"
        yield ""
        if need.partitions:
            yield f"[needs.{written_key(need.name)}.partitions]"
            for column, partition in need.partitions.items():
                key = dotted(("needs", need.name, "partitions", column))
                yield f"{written_key(column)} = {_written_partition(partition, key)}"
            yield ""


def _read_models(table: TomlTable) -> dict[str, Any]:
    table.only(MODEL_WORDS)
    return {name: _read_requirement(table, name) for name in table.fields}


def _read_requirement(table: TomlTable, name: str) -> Any:
    value, kind = table.fields[name], MODEL_WORDS[name]
    if kind == "number":
        return table.number(name)
    if kind == "texts" and isinstance(value, list):
        return list(table.elements(name, (str, int, float), "text or numbers") or ())
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    expected = "'5:0.1'." if kind == "text" else "'0.2:equal:disease', or a list of them."
    raise table.wrong(f"expected a figure, or text such as {expected}", name)


def _write_models(models: Mapping[str, Any], relative: Callable[[Path], str]) -> Iterator[str]:  # noqa: ARG001 - it has no paths
    if models:
        yield "[models]"
        yield from (f"{name} = {written(value)}" for name, value in models.items())
        yield ""


def _read_protection(table: TomlTable) -> dict[str, Step]:
    return {name: _read_step(name, table.table(name)) for name in table.fields}


def _read_step(name: str, table: TomlTable) -> Step:
    options = {key: value for key, value in table.fields.items() if key not in {"mechanism", "attributes"}}
    return Step(table.text("mechanism") or name, table.elements("attributes", (str,), "text") or (), options)


def _write_protection(steps: Mapping[str, Step], relative: Callable[[Path], str]) -> Iterator[str]:  # noqa: ARG001 - it has no paths
    for name, step in steps.items():
        yield f"[protect.{written_key(name)}]"
        yield f"mechanism = {written(step.mechanism)}"
        if step.attributes:
            yield f"attributes = {written(step.attributes)}"
        yield from (f"{written_key(key)} = {written(value)}" for key, value in step.options.items())
        yield ""


SECTIONS: dict[str, Section] = {
    "data": Section(_read_data, _write_data),
    "attributes": Section(_read_attributes, _write_attributes),
    "models": Section(_read_models, _write_models),
    "needs": Section(_read_needs, _write_needs),
    "protect": Section(_read_protection, _write_protection),
    "policy": Section(read_policy, write_policy),
    "query": Section(read_gate, write_gate),
}
"""The sections of a project file by name; each fills the field of `Project` of that name."""


def relative_to(home: Path, folder: Path) -> Callable[[Path], str]:
    """Return the function by which a project in `home` writes its paths into a file in `folder`."""

    def relative(path: Path) -> str:
        try:
            inside = path.relative_to(home)
        except ValueError:
            return path.as_posix()
        return inside.as_posix() if folder == home else Path(os.path.relpath(path, folder)).as_posix()

    return relative
