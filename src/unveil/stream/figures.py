"""How much do the records of a window disclose, and how useful are they, at one moment?

Every figure is that of the same records in a table, because the window passes its count table to the same measures.
If a person may occur several times (`person`), every person counts once in a combination of values: the rate is that of the
table of distinct persons and values, k is the smallest number of persons that look alike, and a class of one person is unique.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unveil import __version__
from unveil.counts import Counts
from unveil.errors import UndefinedMeasureError
from unveil.formats import number
from unveil.measures import DiscriminationRate, IdentifierKind, beyond_chance, rate_of
from unveil.project import Need
from unveil.results import MASK, SMALL, Figure, Figures, Provenance, Result, Table, View

__all__ = [
    "Approximation",
    "KeyFigures",
    "KeySet",
    "NeedFigure",
    "NeedSet",
    "RiskyClass",
    "WindowFigures",
    "class_sizes",
    "key_figures",
    "need_figure",
    "riskiest",
]

_ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class KeySet:
    """A key to measure: its columns as the caller names them, and their names in the count table."""

    names: tuple[str, ...]
    key: tuple[str, ...]
    sensitive: tuple[str, ...]
    person: str | None


@dataclass(frozen=True, slots=True)
class NeedSet:
    """A need to measure, and the names of its columns in the count table."""

    need: Need
    given: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Approximation:
    """The precision of figures that are estimated from a sample of the classes.

    Attributes
    ----------
    share
        The share of the classes that the sample contains.
    dr_error, uniques_error, classes_error
        The standard errors; None if there is no estimate. k is that of the sample; the true k is at most as large.
    """

    share: float
    dr_error: float | None
    uniques_error: float | None
    classes_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        errors = {"dr_error": self.dr_error, "uniques_error": self.uniques_error, "classes_error": self.classes_error}
        return {"share": self.share, **errors, "k": "at most"}


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The disclosure by one key.

    Attributes
    ----------
    key
        The columns.
    dr, reason
        The Discrimination Rate; None if it is undefined, with the reason.
    kind
        The kind of identifier.
    k, uniques, classes
        The size of the smallest class, the number of classes of one record (or person), and of all classes.
    approximate
        The precision of the estimates; None if the figures are exact.
    """

    key: tuple[str, ...]
    dr: float | None
    reason: str | None
    kind: IdentifierKind | None
    k: int
    uniques: int
    classes: int
    approximate: Approximation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        plain = {"dr": self.dr, "kind": self.kind, "k": self.k, "uniques": self.uniques, "classes": self.classes}
        approximate = {} if self.approximate is None else {"approximate": self.approximate.to_dict()}
        return {"key": list(self.key), **plain} | ({"reason": self.reason} if self.reason else {}) | approximate


@dataclass(frozen=True, slots=True)
class NeedFigure:
    """The utility of a window for a need: the degree, plain and adjusted for chance, and whether it suffices."""

    name: str
    degree: float | None
    adjusted: float | None
    met: bool | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        plain = {"degree": self.degree, "adjusted": self.adjusted, "met": self.met}
        return plain | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True, repr=False)
class WindowFigures(Result):
    """The figures of a window at one moment.

    Attributes
    ----------
    number
        The number of the figures, which are numbered from 1.
    start, to
        The first and the last record number of the window, or its times.
    records
        The number of its records.
    keys
        The disclosure by each key; the properties `dr`, `kind`, `k` and `uniques` are those of the first.
    needs
        The utility of the window for each need.
    counters
        The numbers of records left out so far: malformed, without a time, late, dropped for a null, or outside a partition.
    alarms
        The alarms that are raised.
    undecided
        Rules of a policy that could not be judged, with the reasons; a rule that is not judged is not met.
    partial
        Whether the stream ended, or the run was stopped, before the figures were due.
    """

    number: int
    start: Any
    to: Any
    records: int
    keys: tuple[KeyFigures, ...]
    needs: Mapping[str, NeedFigure] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    alarms: tuple[str, ...] = ()
    undecided: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False

    @property
    def dr(self) -> float | None:
        """The Discrimination Rate of the first key."""
        return self.keys[0].dr if self.keys else None

    @property
    def approximate(self) -> Approximation | None:
        """The precision of the estimates; None if the figures are exact."""
        return self.keys[0].approximate if self.keys else None

    @property
    def kind(self) -> IdentifierKind | None:
        """The kind of identifier of the first key."""
        return self.keys[0].kind if self.keys else None

    @property
    def k(self) -> int:
        """The size of the smallest class of the first key; 0 if there is none."""
        return self.keys[0].k if self.keys else 0

    @property
    def uniques(self) -> int:
        """The number of classes of one record, or person, of the first key."""
        return self.keys[0].uniques if self.keys else 0

    def __repr__(self) -> str:
        """Return one line."""
        rate = "-" if self.dr is None else number(self.dr)
        return f"WindowFigures({self.number}: {self.records:,} records, dr {rate}, k {self.k:,}, uniques {self.uniques:,})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as written to one JSON line."""
        window = {"number": self.number, "from": self.start, "to": self.to, "records": self.records}
        if self.partial:
            window["partial"] = True
        plain: dict[str, Any] = {"window": window, "dr": self.dr, "kind": self.kind, "k": self.k, "uniques": self.uniques}
        if self.dr is None:
            plain["reason"] = self.keys[0].reason if self.keys else "the window is empty"
        if self.approximate is not None:
            plain["approximate"] = self.approximate.to_dict()
        if len(self.keys) > 1:
            plain["keys"] = [one.to_dict() for one in self.keys]
        plain["needs"] = {name: need.to_dict() for name, need in self.needs.items()}
        undecided = {"undecided": dict(self.undecided)} if self.undecided else {}
        left_out = {"left_out": dict(self.counters)} if self.counters else {}
        return plain | {"alarms": list(self.alarms)} | undecided | left_out

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per key."""
        rows = [one.to_dict() for one in self.keys]
        names = ("dr", "kind", "k", "uniques", "classes")
        return {"key": [" + ".join(row["key"]) for row in rows], **{name: [row[name] for row in rows] for name in names}}

    def view(self) -> View:
        """Return the displayed figures, with the keys, alarms and rules not judged."""
        figures = [
            Figure("records", self.records, f"from {self.start} to {self.to}"),
            Figure("Discrimination Rate", "-" if self.dr is None else self.dr),
            Figure("k", self.k, "the smallest class"),
            Figure("uniques", self.uniques, "classes of one"),
        ]
        figures += [Figure(f"need {name}", "-" if need.degree is None else need.degree) for name, need in self.needs.items()]
        table = self.columns()
        keys = Table(tuple(table), tuple(zip(*table.values(), strict=True)), title="Keys")
        notes = [f"Alarm: {alarm}" for alarm in self.alarms]
        notes += [f"Not judged: {rule}: {reason}" for rule, reason in self.undecided.items()]
        if self.approximate is not None:
            notes.append(
                f"Approximate: estimated from {number(self.approximate.share)} of the classes; k is at most the one shown."
            )
        return View(f"Window {self.number}", tuple(figures), (keys,), tuple(notes))


def key_figures(counts: Counts, one: KeySet) -> KeyFigures:
    """Measure one key on the count table of a window."""
    try:
        rate = _rate(counts, one)
    except UndefinedMeasureError as problem:
        return _sized(one, class_sizes(counts, one), None, str(problem))
    sizes = class_sizes(counts, one) if one.person is not None and one.sensitive else rate.table.classes.n
    return _sized(one, sizes, rate, None)


def _sized(one: KeySet, sizes: Any, rate: DiscriminationRate | None, reason: str | None) -> KeyFigures:
    value, kind = (None, None) if rate is None else (rate.value, rate.kind)
    return KeyFigures(one.names, value, reason, kind, int(sizes.min()), int(np.count_nonzero(sizes == 1)), len(sizes))


def _rate(counts: Counts, one: KeySet) -> DiscriminationRate:
    provenance = Provenance(counts.records, "category", key=one.names, sensitive=one.sensitive, version=__version__)
    if one.person is None:
        return rate_of(counts.over([*one.key, *one.sensitive]), one.key, one.sensitive, provenance, adjust=False)
    target = one.sensitive or (one.person,)
    distinct = _persons(counts, [*one.key, *one.sensitive, one.person]).over([*one.key, *target])
    return rate_of(distinct, one.key, target, provenance, adjust=False)


def class_sizes(counts: Counts, one: KeySet) -> Any:
    """Return the number of records, or of distinct persons, of each class."""
    if one.person is None:
        return counts.classes(one.key).n
    return _persons(counts, [*one.key, one.person]).classes(one.key).n


def _persons(counts: Counts, names: Sequence[str]) -> Counts:
    """Return the table in which every existing combination counts once."""
    distinct = counts.over(names)
    return replace(distinct, n=np.ones(len(distinct), dtype=np.int64))


def need_figure(counts: Counts, one: NeedSet) -> NeedFigure:
    """Measure the utility of the records of a window for a need."""
    provenance = Provenance(counts.records, "category", key=one.given, sensitive=(one.target,), version=__version__)
    least = one.need.at_least
    try:
        rate = rate_of(counts.over([*one.given, one.target]), one.given, (one.target,), provenance, adjust=least is not None)
    except UndefinedMeasureError as problem:
        return NeedFigure(one.need.name, None, None, None if least is None else False, str(problem))
    met = None if least is None else beyond_chance(rate.adjusted) >= least - _ALIKE
    return NeedFigure(one.need.name, rate.value, rate.adjusted, met)


@dataclass(frozen=True, slots=True, eq=False)
class RiskyClass(Figures):
    """A class that discloses much: its values, and its size, as far as they may be shown, and its posterior rate."""

    shown: str = field(metadata={"name": "class"})
    size: int | None
    posterior: float


def riskiest(counts: Counts, one: KeySet, most: int) -> list[RiskyClass]:
    """Return the classes that disclose most, masked as in reports: values of small or disclosing classes are not shown."""
    try:
        table = _rate(counts, one).table
    except UndefinedMeasureError:
        return []
    rows = []
    for at in table.riskiest(most).tolist():
        size, masked = int(table.classes.n[at]), bool(table.telling[at]) or int(table.classes.n[at]) < SMALL
        values = [column.values[int(codes[at])] for column, codes in zip(table.classes.columns, table.classes.codes, strict=True)]
        shown = MASK if masked else ", ".join("-" if value is None else str(value) for value in values)
        rows.append(RiskyClass(shown, size if not masked or size < SMALL else None, float(table.posterior[at])))
    return rows
