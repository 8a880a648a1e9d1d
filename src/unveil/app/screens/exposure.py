"""The screen of exposure: how many people can an intruder who knows some columns find? All figures come from counts."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.app.masks import masked
from unveil.app.overview import overview_of
from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.state import Desk
from unveil.app.visit import Answer, Page, Same, Screen, Visit
from unveil.assess import Measure, attribute_rate
from unveil.errors import UndefinedMeasureError
from unveil.formats import Unit, counted, noun
from unveil.measures import DiscriminationRate, column_exposure, rate_of
from unveil.measures.equivalence import equivalence
from unveil.results import SMALL, Chart, Provenance, Table
from unveil.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Counts

__all__ = ["SCREEN"]

_MOST_PAIRED = 10
_SIZES = ((1, 1, "1"), (2, 2, "2"), (3, 4, "3-4"), (5, 9, "5-9"), (10, 19, "10-19"), (20, 99, "20-99"), (100, None, "100+"))


@dataclass(frozen=True, slots=True)
class _Exposure:
    """The findings of an intruder who knows some columns, counted in persons if they are distinguished, else in records."""

    everyone: int
    alone: int
    nearly: int
    classes: int
    smallest: int
    rate: float
    sizes: Chart
    unit: Unit
    one_alone: int | None

    @property
    def noun(self) -> str:
        """The noun for what is counted."""
        return noun(self.unit)

    @classmethod
    def of(cls, counts: Counts, known: Sequence[str], person: str | None) -> _Exposure:
        """Count who looks alike in the known columns; `counts` includes the column of persons if there is one."""
        classes = equivalence(counts, known, suppressed="class", person=person)
        size, own = classes.size.astype(np.int64), classes.worst(classes.size)
        alone = np.flatnonzero(size == 1)
        return cls(
            int(own.sum()), classes.among(size == 1), int(own[size < SMALL].sum()), len(size), int(size.min()),
            column_exposure(classes.own).rate, _sizes_chart(size, own, classes.unit), classes.unit,
            int(alone[len(alone) // 2]) if len(alone) else None,
        )  # fmt: skip


def _sizes_chart(size: NDArray[np.int64], own: NDArray[np.int64], unit: Unit) -> Chart:
    """Return a chart of how many people share all known values with how many others."""
    rows = [(title, int(own[(size >= low) & (size <= (high or size.max()))].sum())) for low, high, title in _SIZES]
    many = noun(unit)
    note = f"How many {many} are in groups of each size, including themselves."
    title = f"{many.capitalize()} by the size of their group"
    return Chart("sizes", "columns", title, (f"{many} that look alike", many), tuple(rows), note)


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    columns = _countable(desk)
    known = _known(visit, columns)
    about = _about(visit, desk, known)
    values: dict[str, Any] = {
        "groups": _toggles(desk, columns, known),
        "known": known,
        "learnable": [name for name in columns if name not in known],
        "about": about,
        "exposure": None,
        "learnt": None,
    }
    if known:
        exposure, counts = _exposure(desk, known), _counts(desk, known)
        values["exposure"] = exposure
        values["learnt"] = None if about is None else _learnt(desk, known, about)
        values |= _details(visit, desk, known, about)
        values["example"] = _example(counts, exposure.one_alone) if visit.query.get("example") else None
    return Page("exposure.html", values, _same(desk, known, about))


def _exposure(desk: Desk, known: Sequence[str]) -> _Exposure:
    """Count who is unique: persons, if a column that the intruder does not know distinguishes them."""
    person = desk.study.person
    in_persons = person is not None and person not in known
    return _Exposure.of(
        _counts(desk, [*known, *([person] if in_persons and person is not None else [])]), known, person if in_persons else None
    )


def _countable(desk: Desk) -> list[str]:
    """Return the columns that can be counted."""
    overview = overview_of(desk)
    return [] if overview is None else [one.name for one in overview.columns if one.proposal.alone is not None]


def _known(visit: Visit, columns: Sequence[str]) -> list[str]:
    """Return the columns that the intruder knows: the ticked ones; at first, all that others may know."""
    if visit.query.get("asked"):
        return [name for name in visit.columns("c") if name in columns]
    roles = {name: one.role for name, one in visit.desk.project.attributes.items()}
    keys = [name for name in columns if roles.get(name) == "key"]
    if keys:
        return keys
    overview = overview_of(visit.desk)
    proposed = set() if overview is None else {one.name for one in overview.columns if one.proposal.role == "key"}
    return [name for name in columns if roles.get(name, "other") == "other" and name in proposed]


def _about(visit: Visit, desk: Desk, known: Sequence[str]) -> str | None:
    """Return the column that the intruder wants to learn; None for the identity of the records."""
    if visit.query.get("about"):
        column = desk.column(visit.query["about"])
        return None if column in known else column
    sensitive = [name for name in desk.project.names("sensitive") if name in desk.opened.columns and name not in known]
    return sensitive[0] if sensitive and not visit.query.get("asked") else None


def _counts(desk: Desk, columns: Sequence[str]) -> Counts:
    """Count some columns from the table of all columns, which is counted once; not cached, because clicks are many."""
    wide: Counts | None = desk.memory.get("wide")
    if wide is None or not {*columns} <= {*wide.names}:
        every = dict.fromkeys([*_countable(desk), *columns])
        wide = desk.memory["wide"] = desk.opened.whole.counts(list(every))
    return wide.over(columns)


def _rated(desk: Desk, names: Sequence[str], about: str) -> DiscriminationRate:
    """Return the Discrimination Rate of some columns about another one, without the parts that are not shown."""
    counts = _counts(desk, [*names, about])
    provenance = Provenance(counts.records, "category", 0, tuple(names), (about,), version=__version__)
    return rate_of(counts, names, [about], provenance, adjust=False)


def _toggles(desk: Desk, columns: Sequence[str], known: Sequence[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the columns to tick, in groups, each with its Discrimination Rate alone."""
    overview = overview_of(desk)
    groups: dict[str, list[dict[str, Any]]] = {"Others may know it": [], "Undecided": [], "Assumed not to be known": []}
    for name in columns:
        attribute = desk.project.attributes.get(name)
        role = "other" if attribute is None else attribute.role
        group = {"key": "Others may know it", "other": "Undecided"}.get(role, "Assumed not to be known")
        alone = None if overview is None else overview.column(name).proposal.alone
        groups[group].append({"name": name, "code": desk.code(name), "on": name in known, "rate": alone.rate if alone else 0.0})
    return [(title, entries) for title, entries in groups.items() if entries]


def _learnt(desk: Desk, known: Sequence[str], about: str) -> DiscriminationRate | str:
    """Return how much the intruder learns about a column, or the reason why that is undefined."""
    try:
        return _rated(desk, known, about)
    except UndefinedMeasureError as reason:
        return str(reason)


# Details --------------------------------------------------------------------------------------------------------------


def _details(visit: Visit, desk: Desk, known: Sequence[str], about: str | None) -> dict[str, Any]:
    """Return the rates by column, by value of one column, and by pair."""
    rates = sorted(((name, _rate(desk, (name,), about)) for name in known), key=lambda one: -one[1])
    target = "who is who" if about is None else about
    by_column = Chart("columns", "bars", f"What each column reveals about {target}", ("column", "rate"), tuple(rates))
    column = _chosen(visit, desk, known)
    by_value = _by_value(desk, [column] if column else [name for name, _ in rates], about)
    pairs = _pairs(desk, rates, about, target)
    return {"by_column": by_column, "pairs": pairs, "chosen": column or by_value[0], "by_value": by_value[1]}


def _chosen(visit: Visit, desk: Desk, known: Sequence[str]) -> str | None:
    column = desk.column(visit.query["value_of"]) if visit.query.get("value_of") else None
    return column if column in known else None


def _by_value(desk: Desk, names: Sequence[str], about: str | None) -> tuple[str, Table | str]:
    """Return the rates by value of the first column with values that may be shown; small groups are masked as in the reports."""
    salt = desk.memory.setdefault("salt", secrets.token_bytes(16))
    for name in names:
        study = Study(_counts(desk, [name] if about is None else [name, about]))
        try:
            rate = attribute_rate(Measure(study, SMALL, salt), name, about, {})
        except UndefinedMeasureError as reason:
            return name, str(reason)
        if rate.riskiest or name == names[-1]:
            break
    rows = tuple((one.value, one.count, one.dr, one.posterior) for one in rate.riskiest)
    masked_note = (
        f"{counted(rate.masked, 'value')} of {rate.values:,} masked: fewer than {SMALL} records have them, or they disclose."
    )
    note = (
        f"dr: weighted by how common the value is; posterior: for those who have it. {masked_note if rate.masked else ''}".strip()
    )
    return name, Table(("value", "records", "dr", "posterior"), rows, note=note, bars=frozenset({"posterior"}))


def _pairs(desk: Desk, rates: Sequence[tuple[str, float]], about: str | None, target: str) -> Chart | None:
    """Return the rates of pairs among the columns that reveal most on their own."""
    names = [name for name, _ in rates[:_MOST_PAIRED]]
    if len(names) < 2:  # noqa: PLR2004 - a pair
        return None
    rows = [
        (first, second, _rate(desk, (first,) if first == second else (second, first), about))
        for at, first in enumerate(names)
        for second in names[: at + 1]
    ]
    return Chart("pairs", "heat", f"What two columns together reveal about {target}", ("column", "column", "rate"), tuple(rows))


def _rate(desk: Desk, names: tuple[str, ...], about: str | None) -> float:
    """Return the Discrimination Rate of some columns, computed once; 0 if it is undefined, because nothing can be learnt."""
    known: dict[Any, float] = desk.memory.setdefault("rates", {})
    question = (frozenset(names), about)
    if question not in known:
        try:
            if about is None:
                known[question] = column_exposure(_counts(desk, names).n).rate
            else:
                known[question] = _rated(desk, names, about).value
        except UndefinedMeasureError:
            known[question] = 0.0
    return known[question]


def _example(counts: Counts, at: int | None) -> list[tuple[str, str]] | None:
    """Return a unique combination, with every value masked except for its form; None if there is none."""
    if at is None:
        return None
    return [
        (column.name, masked(column.values[int(codes[at])])) for column, codes in zip(counts.columns, counts.codes, strict=True)
    ]  # fmt: skip


def _same(desk: Desk, known: Sequence[str], about: str | None) -> Same:
    words = [word for name in known for word in ("--key", name)]
    words += [] if about is None else ["--sensitive", about]
    named = f"key={list(known)!r}" + ("" if about is None else f", sensitive={about!r}")
    return Same(
        f"{command('dr', desk, *words)}\n{command('measure', desk, *words)}",
        f"import unveil\n\n{python_study(desk)}\nunveil.discrimination_rate(study, {named})\nunveil.measure(study, {named})",
    )


SCREEN = Screen(
    name="exposure",
    title="What it gives away",
    question="Who can be found?",
    page=_page,
    missing=settled,
)
