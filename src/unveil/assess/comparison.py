"""How do releases of one original compare, and why? Attacks, models, needs and losses side by side, by attribute."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, get_args, overload

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.assess.evidence import InputFile, file_table, table_files
from unveil.assess.policy.check import AnyPolicy, policy_of
from unveil.assess.release_figures import Pairing
from unveil.assess.tradeoff import TradeOff, planned, studied_beside, trade_off
from unveil.attributes import Names, names_of, require_columns, sides_of
from unveil.errors import ArgumentError, shown
from unveil.formats import counted, jsonable, number
from unveil.measures import SUPPRESSED
from unveil.project import Need
from unveil.results import Result, Table, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data
from unveil.study import Study, studied
from unveil.tables import CrossTable, ProtectedTable, TableComparison, compare_tables
from unveil.utility import Task, utility

__all__ = ["AttributeChange", "Comparison", "compare"]

_NOTABLE = 0.01
"""A fall of a degree by no more than this is not explained."""


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """The change of one attribute in one release.

    Attributes
    ----------
    values_before, values_after
        The number of distinct values before and after; nulls and suppressed cells are not counted.
    suppressed
        The share of its cells that are null or suppressed in the release and were not in the original.
    degrees
        For each need that it serves, its individual degree in the original and in the release; None if undefined.
    missing
        Whether it is absent from the release.
    """

    values_before: int
    values_after: int
    suppressed: float
    degrees: Mapping[str, tuple[float | None, float | None]]
    missing: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "values_before": self.values_before,
            "values_after": self.values_after,
            "suppressed": self.suppressed,
            "degrees": {name: {"original": one, "release": other} for name, (one, other) in self.degrees.items()},
            "missing": self.missing,
        }

    def because(self) -> str:
        """Return a description of the change in words."""
        if self.missing:
            return "the release leaves it out"
        if self.values_after == 0:
            return "it is suppressed throughout"
        parts = [f"{counted(self.values_after, 'value')} of {self.values_before:,} left"]
        if self.suppressed > 0.0:
            parts.append(f"{number(self.suppressed)} of its cells are suppressed")
        return (
            " and ".join(parts) if self.values_after < self.values_before or self.suppressed > 0.0 else "its values are mixed up"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Result):
    """Releases of one original, side by side.

    Attributes
    ----------
    trade_off
        The figures of every release, and the releases that no other dominates.
    attributes
        The change of each attribute in each release.
    reasons
        For every release, the reasons for its losses, in words.
    files
        The compared files: releases with their SHA-256; if a key file is given, the HMAC of the original, project and policy.
    """

    trade_off: TradeOff
    attributes: Mapping[str, Mapping[str, AttributeChange]]
    reasons: Mapping[str, Sequence[str]]
    files: tuple[InputFile, ...] = ()

    @property
    def front(self) -> tuple[str, ...]:
        """The releases that no other dominates."""
        return self.trade_off.front

    def __repr__(self) -> str:
        """Return one line: the number of releases, and those that no other dominates."""
        releases = counted(len(self.trade_off.releases), "release")
        return f"Comparison({releases}; undominated: {', '.join(self.front) or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        changes = {
            name: {column: change.to_dict() for column, change in columns.items()} for name, columns in self.attributes.items()
        }
        document: dict[str, Any] = jsonable({**self.trade_off.to_dict(), "attributes": changes})
        reasons = {name: list(lines) for name, lines in self.reasons.items()}
        return {**document, "reasons": reasons, "files": [file.to_dict() for file in self.files], "version": __version__}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per release."""
        return self.trade_off.columns()

    def view(self) -> View:
        """Return the displayed view: the figures, then the reasons."""
        whole = self.trade_off.view()
        rows = tuple((name, line) for name, lines in self.reasons.items() for line in lines)
        why = Table(("release", "why"), rows, title="What was lost, and why")
        figures = whole.figures
        files = (file_table(self.files),) if self.files else ()
        tables = (*whole.tables[:1], why, *whole.tables[1:], *files)
        shown_tables = tuple(table for table in tables if table.rows)
        return View("Comparison of releases", figures, shown_tables, whole.notes, charts=whole.charts)

    @checked_arguments
    def svg(self, privacy: str | None = None, utility: str | None = None) -> str:
        """Return a picture of a figure of privacy against one of utility."""
        return self.trade_off.svg(privacy, utility)


@overload
def compare(releases: Mapping[str, ProtectedTable], *, original: str = "original") -> TableComparison: ...


@overload
def compare(
    releases: Mapping[str, Data],
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    original: str = "original",
    privacy: Names = ("k", "prosecutor"),
    needs: Need | Sequence[Need] = (),
    tasks: Task | Sequence[Task] = (),
    losses: Names = ("entropy_loss", "suppressed"),
    id: str | None = None,
    link: Mapping[str, Data] | None = None,
    same_order: bool | Names = False,
    seed: int = 0,
    key_file: str | os.PathLike[str] | None = None,
    policy: AnyPolicy | None = None,
    progress: Progress | None = None,
) -> Comparison: ...


@checked_arguments
@in_run
def compare(  # noqa: PLR0913 - privacy and utility have their own arguments
    releases: Mapping[str, Data | ProtectedTable],
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    original: str = "original",
    privacy: Names = ("k", "prosecutor"),
    needs: Need | Sequence[Need] = (),
    tasks: Task | Sequence[Task] = (),
    losses: Names = ("entropy_loss", "suppressed"),
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Mapping[str, Data] | None = None,
    same_order: bool | Names = False,
    seed: int = 0,
    key_file: str | os.PathLike[str] | None = None,
    policy: AnyPolicy | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Comparison | TableComparison:
    """Compare any number of releases of one original, made with any tool, on one scale.

    Parameters
    ----------
    releases
        The original and its releases by name: paths, names of built-in data sets, data frames, tables in an engine, counts,
        studies or project files. Never changed. Or a table (`unveil.table`) and its protections: nothing else is then
        needed, and the sensitive cells are those of the first suppressed one (others: `unveil.tables.compare_tables`).
    key, sensitive
        The key and the sensitive attributes; none: those of the original's study or project, whose needs and policy also hold,
        if none are named.
    original
        The name of the original among them.
    privacy
        Figures of privacy: "k", "prosecutor", "l", "t", the names of models such as "alpha" and, where records are aligned,
        "attack".
    needs, tasks, losses
        Figures of utility; losses that need the correspondence of records are null, with the reason, if it is not known.
    id, link, same_order
        The correspondence of records, as in `trade_off`.
    seed
        The seed of random draws.
    key_file
        A file with a secret key (at least 16 bytes), with which the original is hashed; none: its hash is not reported.
    policy
        The requirements, as in `trade_off`; the chart shows them as lines.
    progress
        A run, or a function called with the name of a stage (a release, its tasks, the reasons), the number of completed steps,
        and the total number of steps.

    Returns
    -------
    Comparison
        The figures side by side, the releases that no other dominates, and the reasons for the losses of each.
    TableComparison
        For tables: lost cells and values, deviation, ranks, exposed cells and the Discrimination Rate.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> table = pl.DataFrame({"age": [21, 24, 35, 38], "sex": ["f", "m", "f", "m"], "ill": ["no", "no", "yes", "yes"]})
    >>> tens = table.with_columns(age=pl.Series(["2*", "2*", "3*", "3*"]))
    >>> comparison = unveil.compare(
    ...     {"original": table, "decades": tens, "no age": table.drop("age")},
    ...     key=["age", "sex"],
    ...     needs=unveil.Need("illness", target="ill", given="age"),
    ...     losses="nominal",
    ...     same_order=True,
    ... )
    >>> comparison.reasons["no age"]
    ('illness: 0.0000 instead of 1.0000; most was lost on age: the release leaves it out.',)
    >>> counts = unveil.table("adult", ["race", "marital-status"])
    >>> unveil.compare({"original": counts, "suppressed": counts.suppress("threshold=5")})
    TableComparison(race x marital-status: suppressed)
    """
    if original not in releases:
        raise ArgumentError.not_one_of("the original", original, list(releases))
    if len(releases) < 2:  # noqa: PLR2004 - the original and one release
        raise ArgumentError("there is no release to compare with the original; give at least one, by its name.")
    if (tables := _protected(releases, original)) is not None:
        return compare_tables(*tables)
    learned = (tasks,) if isinstance(tasks, Task) else tuple(tasks)
    made = {name: data for name, data in releases.items() if name != original}
    ordered = names_of(same_order) if not isinstance(same_order, bool) else tuple(made) if same_order else ()
    Pairing(id, dict(link or {}), ordered).check(releases[original], made)
    with ExitStack() as held:
        before = held.enter_context(studied(releases[original], key=key, sensitive=sensitive))
        wanted, policy = planned(before, needs, policy)
        rules = None if policy is None else policy_of(policy)[0]
        files = table_files(releases, original, before.project, rules, key_file)
        keys, sensitive_names = sides_of(before.key, before.sensitive or None)
        require_columns([one.target for one in learned if one.target is not None], before.names)
        others = {name: held.enter_context(studied_beside(data, before)) for name, data in made.items()}
        trade = trade_off(
            before, others, keys, sensitive_names or None, privacy=privacy, needs=wanted, tasks=learned, losses=losses,
            id=id, link=link, same_order=ordered, seed=seed, policy=policy, progress=active_run(),
        )  # fmt: skip
        columns = tuple(dict.fromkeys([*keys, *sensitive_names, *(name for need in wanted for name in need.given)]))
        served = _degrees(before, wanted)
        changes = {
            name: _changes(before, one, columns, served, _degrees(one, wanted))
            for name, one in active_run().each("reasons", others.items())
        }
    reasons = {name: tuple(_reasons(name, trade, changes[name], served, wanted)) for name in others}
    return Comparison(trade, changes, reasons, files)


def _protected(releases: Mapping[str, Any], original: str) -> tuple[CrossTable, dict[str, ProtectedTable]] | None:
    """Return a table and its protections; None if records are compared. A mixture of the two is refused."""
    tabular = {name for name, one in releases.items() if isinstance(one, get_args(ProtectedTable))}
    if not tabular:
        return None
    whole = releases[original]
    if not isinstance(whole, CrossTable) or tabular != set(releases):
        strange = next(name for name in releases if name not in tabular or name == original)
        raise ArgumentError(
            f"tables are compared with the table that they protect; {shown(strange)} is not a table: make it with unveil.table()."
        )
    return whole, {name: one for name, one in releases.items() if name != original}


Degrees = dict[str, tuple[float | None, Mapping[str, float | None]]]


def _degrees(study: Study, needs: Sequence[Need]) -> Degrees:
    """Return the degree of each need, as a whole and by attribute; an absent attribute serves nothing."""
    degrees: Degrees = {}
    for need in needs:
        present = [name for name in need.given if name in study.names]
        by = dict.fromkeys(need.given, 0.0)
        if not present or need.target not in study.names:
            degrees[need.name] = (0.0 if need.target in study.names else None, by)
            continue
        kept = {name: partition for name, partition in need.partitions.items() if name in (*present, need.target)}
        served = utility(study, Need(need.name, need.target, present, kept), nulls="category").needs[need.name]
        degrees[need.name] = (served.degree, {**by, **served.by_attribute})
    return degrees


def _changes(
    before: Study, after: Study, columns: Sequence[str], served: Degrees, serving: Degrees
) -> dict[str, AttributeChange]:
    changes = {}
    for name in columns:
        degrees = {need: (by[name], serving[need][1].get(name)) for need, (_, by) in served.items() if name in by}
        values, hidden = _values(before, name)
        if name not in after.names:
            changes[name] = AttributeChange(values, 0, 1.0 - hidden, degrees, missing=True)
            continue
        left, gone = _values(after, name)
        changes[name] = AttributeChange(values, left, max(gone - hidden, 0.0), degrees)
    return changes


def _values(study: Study, name: str) -> tuple[int, float]:
    """Return the number of distinct values of a column, and the share of its cells that are null or suppressed."""
    counts = study.counts([name], nulls="category", partitions={})
    nothing = [value is None or value == SUPPRESSED for value in counts.columns[0].values]
    hidden = sum(int(n) for n, code in zip(counts.n.tolist(), counts.codes[0].tolist(), strict=True) if nothing[code])
    return len(nothing) - sum(nothing), hidden / counts.records


def _reasons(
    name: str, trade: TradeOff, changes: Mapping[str, AttributeChange], served: Degrees, needs: Sequence[Need]
) -> list[str]:
    """Return the reasons for a release's losses: per need, the attribute that lost most; without needs, the coarsest one."""
    lines = []
    for need in needs:
        whole, now = served[need.name][0], trade[name].figures[need.name]
        if whole is None or now is None or whole - now <= _NOTABLE:
            continue
        falls = {one: _fall(changes[one].degrees[need.name]) for one in need.given}
        most = max(falls, key=lambda one: falls[one])
        lines.append(
            f"{need.name}: {number(now)} instead of {number(whole)}; most was lost on {most}: {changes[most].because()}."
        )
    if not needs:
        worst = max(changes, key=lambda one: 1.0 - changes[one].values_after / max(changes[one].values_before, 1))
        if changes[worst].values_after < changes[worst].values_before:
            lines.append(f"coarsest is {worst}: {changes[worst].because()}.")
    rivals = trade[name].dominated_by
    if rivals:
        lines.append(
            f"{shown(rivals[0])} is at least as good in every figure and better in one: there is no reason to choose this one."
        )
    return lines


def _fall(degrees: tuple[float | None, float | None]) -> float:
    before, after = degrees
    return (before or 0.0) - (after or 0.0)
