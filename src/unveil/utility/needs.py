"""How useful is a table, judged from itself alone? The degree to which it serves each need, from 0 to 1.

The degree of a need is the Discrimination Rate of its target given its attributes, under the partitions that matter to it. It
needs no original: any table can be measured, protected by any mechanism. Higher is more useful.

A rate rises by chance if the given attributes have many combinations. So a required degree is compared with the rate adjusted
for chance, which is 0 for attributes that are unrelated to the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, UnsupportedDataError, UnveilError, listed, near_miss, shown
from unveil.formats import counted
from unveil.measures import RateQuestion, beyond_chance, rates
from unveil.partitions import Partition, fitted
from unveil.project import Need
from unveil.results import SMALL, Figure, Provenance, Result, Table, View, masked_parts
from unveil.run import in_run
from unveil.sources import CodedTable, Data
from unveil.study import Study, planned_needs, require_values, studied

__all__ = ["Served", "Utility", "served_by", "utility"]

_SHOWN_VALUES = 12
"""If a need has more values, they are only shown with --json."""
_SPANNING = ("span two blocks; each is counted as", "spans two blocks; it is counted as")
"""The phrase for several values, and for one."""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """The degree to which a table serves a need.

    Attributes
    ----------
    need
        The need.
    degree
        From 0 (the given attributes reveal nothing about the target) to 1 (they determine it); None if it is undefined.
    adjusted
        The degree adjusted for chance; None if nothing can be distinguished from chance.
    by_attribute, by_value
        The degree of each given attribute alone, and of each combination of values, most revealing first.
    straddling
        Generalised values that cover parts of two blocks of a partition, by attribute: each was kept as a block of its own.
    reason
        The reason why there is no degree.
    evaluated
        Whether the need could be evaluated; one with a constant target could (its degree is undefined), one with an unknown
        attribute could not.
    """

    need: Need
    degree: float | None
    adjusted: float | None
    by_attribute: Mapping[str, float | None]
    by_value: Sequence[Mapping[str, Any]]
    straddling: Mapping[str, int]
    reason: str | None
    evaluated: bool

    @property
    def met(self) -> bool | None:
        """Whether the required degree is reached beyond chance; None if none is required."""
        if self.need.at_least is None:
            return None
        return self.degree is not None and beyond_chance(self.adjusted) >= self.need.at_least - 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "target": self.need.target,
            "given": list(self.need.given),
            "partitions": {name: partition.to_dict() for name, partition in self.need.partitions.items()},
            "degree": self.degree,
            "adjusted": self.adjusted,
            "by_attribute": dict(self.by_attribute),
            "by_value": [dict(row) for row in self.by_value],
            "straddling": dict(self.straddling),
            "at_least": self.need.at_least,
            "met": self.met,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Utility(Result):
    """The degree to which a table serves each of several needs."""

    needs: Mapping[str, Served]
    made: Provenance

    @property
    def met(self) -> bool | None:
        """Whether every required degree is reached; None if none is required."""
        verdicts = [served.met for served in self.needs.values() if served.met is not None]
        return all(verdicts) if verdicts else None

    @property
    def failed(self) -> list[str]:
        """The reasons why needs could not be evaluated, one line each."""
        return [f"need {shown(name)}: {served.reason}" for name, served in self.needs.items() if not served.evaluated]

    def __repr__(self) -> str:
        """Return one line: the degree of each need."""
        degrees = ", ".join(f"{name} {'-' if s.degree is None else round(s.degree, 4)}" for name, s in self.needs.items())
        return f"Utility({degrees})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        needs = {name: served.to_dict() for name, served in self.needs.items()}
        return {"needs": needs, "records": self.made.records, "met": self.met, "made": self.made.to_dict()}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per need."""
        rows = list(self.needs.values())
        return {
            "need": list(self.needs),
            "target": [served.need.target for served in rows],
            "given": [" + ".join(served.need.given) for served in rows],
            "degree": [served.degree for served in rows],
            "adjusted": [served.adjusted for served in rows],
            "at_least": [served.need.at_least for served in rows],
            "met": [served.met for served in rows],
        }

    def masked(self, small: int = SMALL) -> Utility:
        """Return the answer without the values of fewer than `small` records, and of classes that reveal the target."""
        rows, _ = masked_parts({name: served.by_value for name, served in self.needs.items()}, small)
        return replace(self, needs={name: replace(served, by_value=rows[name]) for name, served in self.needs.items()})

    def view(self) -> View:
        """Return the displayed needs, followed by the contribution of each given attribute."""
        tables = [_judged(self.needs)]
        alone = tuple((name, key, degree) for name, s in self.needs.items() for key, degree in s.by_attribute.items())
        if alone:
            tables.append(Table(("need", "attribute alone", "degree"), alone, title="By attribute", bars=frozenset({"degree"})))
        tables += [_by_value(name, s) for name, s in self.needs.items() if 0 < len(s.by_value) <= _SHOWN_VALUES]
        notes = [*self.failed]
        if self.made.dropped:
            notes.append(f"{counted(self.made.dropped, 'record')} with a null in a named column left out (nulls='drop').")
        notes += [f"need {shown(name)}: {s.reason}" for name, s in self.needs.items() if s.evaluated and s.reason]
        notes += [
            f"need {shown(name)}: {counted(number, 'value')} of {shown(column)} {_SPANNING[number == 1]} a block of its own."
            for name, s in self.needs.items()
            for column, number in s.straddling.items()
        ]
        figures = (Figure("records", self.made.records), Figure("needs", len(self.needs)))
        return View("What the table is good for", figures, tuple(tables), tuple(notes))


def _judged(needs: Mapping[str, Served]) -> Table:
    """Return the needs with their degrees and, if a degree is required, the adjusted ones, which are compared with it."""
    required = any(served.need.at_least is not None for served in needs.values())
    columns = ("need", "to infer", "given", "degree", *(("adjusted",) if required else ()), "goal", "met")
    rows = tuple(
        (name, s.need.target, " + ".join(s.need.given), s.degree, *((s.adjusted,) if required else ()), s.need.at_least, s.met)
        for name, s in needs.items()
    )
    note = "adjusted for chance: compared with what is required" if required else ""
    return Table(columns, rows, title="Needs", bars=frozenset({"degree"}), note=note)


def _by_value(name: str, served: Served) -> Table:
    """Return the values of the given attributes unformatted: a postal code has no thousands separator."""
    columns = list(served.by_value[0])
    rows = tuple(
        (
            *("-" if row[column] is None else str(row[column]) for column in columns[:-3]),
            *(row[column] for column in columns[-3:]),
        )
        for row in served.by_value
    )
    return Table(tuple(columns), rows, title=f"By value: {name}", bars=frozenset({"posterior"}))


@checked_arguments
@in_run
def utility(data: Data, needs: Need | Sequence[Need] | None = None, *, nulls: str | None = None) -> Utility:
    """Measure the degree to which a table serves needs, from the table alone.

    Parameters
    ----------
    data
        Any table, original or protected: a path, a built-in data set's name, a data frame, a table in an engine, counts, a
        `Study` or a project file. Never changed.
    needs
        One need or several; none: those of the project. A need that cannot be evaluated gets a reason, and the others are still
        answered.
    nulls
        "category" (the default), "drop" or "error".

    Returns
    -------
    Utility
        The degree of each need, plain and adjusted for chance, by attribute and by value. Whether a need is met is decided by
        the adjusted degree.

    Examples
    --------
    >>> import unveil
    >>> unveil.utility("thesis-6.3", unveil.Need("treatment", target="Disease", given="Age*"))
    Utility(treatment 0.6137)
    """
    with studied(data, nulls=nulls) as study:
        wanted = [needs] if isinstance(needs, Need) else list(planned_needs(study) if needs is None else needs)
        _check(wanted)
        require_values(study, [name for need in wanted for name in (need.target, *need.given)])
        return served_by(study, wanted)


def served_by(study: Study, needs: Sequence[Need]) -> Utility:
    """Measure the degree to which a study's table serves needs."""
    wanted = list(dict.fromkeys(name for need in needs for name in (*need.given, need.target) if name in study.names))
    uncountable: dict[str, str] = {}
    try:
        table = _table(study, wanted)
    except UnsupportedDataError:
        uncountable = _uncountable(study, wanted)
        table = _table(study, [name for name in wanted if name not in uncountable])
    served = {need.name: _served(table, study.names, need, uncountable) for need in needs}
    return Utility(served, Provenance(table.records, study.policy, table.dropped, version=__version__))


def _check(needs: Sequence[Any]) -> None:
    if not needs:
        raise ArgumentError("no need is named; a need says which attribute is to be inferred, and from which.")
    names = [need.name for need in needs]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ArgumentError(f"several needs are called {shown(repeated[0])}; give each its own name.")


def _table(study: Study, columns: Sequence[str]) -> CodedTable:
    return study.table(columns) if columns else CodedTable((), 0)


def _uncountable(study: Study, columns: Sequence[str]) -> dict[str, str]:
    """Return the columns whose values cannot be counted, with the reasons."""
    reasons = {}
    for name in columns:
        try:
            study.table([name], nulls="category")
        except UnsupportedDataError as problem:
            reasons[name] = str(problem)
    return reasons


def _served(table: CodedTable, columns: Sequence[str], need: Need, uncountable: Mapping[str, str]) -> Served:
    for name in (need.target, *need.given):
        problem = uncountable.get(name)
        if name not in columns:
            problem = f"attribute {shown(name)} not found; columns are: {listed(columns)}.{near_miss(name, columns)}"
        if problem is not None:
            return Served(need, None, None, {}, [], {}, problem, evaluated=False)
    try:
        blocks, straddling = _fitted(table, need.partitions)
        each = [RateQuestion(table, [name], [need.target], values=False, adjusted=False) for name in need.given]
        whole, *single = rates([RateQuestion(table, need.given, [need.target]), *each], blocks)
        alone = {name: one.value for name, one in zip(need.given, single, strict=True)}
    except UnveilError as error:
        return Served(need, None, None, {}, [], {}, str(error), evaluated=False)
    reason, adjusted = None, whole.adjusted
    if whole.value is None:
        reason = f"the degree is undefined: {shown(need.target)} holds only one value, so there is nothing to infer."
    elif adjusted is None and need.at_least is not None:
        reason = "the degree is no more than chance: any attributes with as many combinations of values would reach it."
    return Served(need, whole.value, adjusted, alone, whole.by_value or [], straddling, reason, evaluated=True)


def _fitted(table: CodedTable, partitions: Mapping[str, Partition]) -> tuple[dict[str, Partition], dict[str, int]]:
    """Fit the need's partitions to the values in the table, including generalised ones."""
    blocks, straddling = {}, {}
    for column in table.columns:
        if column.name in partitions:
            blocks[column.name], number = fitted(partitions[column.name], column.values, column.name)
            if number:
                straddling[column.name] = number
    return blocks, straddling
