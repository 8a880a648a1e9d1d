"""Who looks alike, which sensitive values do they hold, and how likely is one of them to be re-identified?

A class is a combination of values of the key; its records look alike to an intruder. If a column says whose record it is, the
size of a class is the number of persons in it: somebody with three records there is counted once, and may be in other classes as
well. Records whose key is suppressed throughout (`*` or null in every key attribute) say nothing about anyone: they are counted
separately and form no class unless requested. With nulls as wildcards a class holds every record whose key matches, so classes
overlap.

The prosecutor knows that the target is in the file: the risk of a record is one over the records that look like it. The
journalist only knows that the target is in the population from which the file was drawn: one over the records of the
population that look like it. The marketer wants to re-identify as many as possible: the share expected to be right.
Higher is more risk. If persons are distinguished, it is persons who look alike, and the intruder knows one record of a person,
whichever reveals most: the risk of a person is the highest over the classes in which they have a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from unveil.counts import Classes, Counts, Crossing, Owners
from unveil.errors import ArgumentError, EmptyDataError
from unveil.formats import Unit, jsonable
from unveil.measures.by_value import disclosing
from unveil.measures.wildcard import matching_owners, wildcard_sums, with_matches
from unveil.ordering import by_digits, order_of
from unveil.results import DecidingClass, Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SUPPRESSED", "ClassRisks", "Equivalence", "Intruder", "Spread", "Stretches", "Suppressed", "Vulnerability",
    "equivalence", "equivalence_each", "intruder_risk", "suppressed_cells", "vulnerability_of_records",
    "vulnerability_of_sensitive", "without_suppressed",
]  # fmt: skip

Suppressed: TypeAlias = Literal["apart", "class"]
""""apart": records with nothing left in their key form no class. "class": they form one, like any other combination."""

SUPPRESSED = "*"
"""The mark of a suppressed value."""

_FEW_RECORDS = 1 << 31


class Stretches(NamedTuple):
    """Stretches of ordered values, one per value that a class holds: from it to before the next that it holds.

    Attributes
    ----------
    level
        The cumulative share of the class there.
    begin, end
        The first value, and the one after the last.
    cross
        The first value from which on the cumulative share of the whole table is not below that of the class.
    """

    level: NDArray[np.float64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    cross: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of a sensitive attribute (or of several jointly) in the classes.

    Attributes
    ----------
    name
        The attribute, or the names joined by " + ".
    values
        The values present in the whole table, in order; for a joint attribute tuples of them.
    of_class, value, n
        One entry per pair of a class and a value that occurs in it, sorted by class and then value: class, value, number of
        records.
    starts
        Where the entries of each class begin.
    whole
        The share of each value in the whole table (suppressed records included), or in the reference table.
    distinct
        The number of values in each class.
    """

    name: str
    values: Sequence[Any]
    of_class: NDArray[np.int64]
    value: NDArray[np.int64]
    n: NDArray[np.float64]
    starts: NDArray[np.int64]
    whole: NDArray[np.float64]
    distinct: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Count the values of each class."""
        ends = np.empty_like(self.starts)
        ends[:-1], ends[-1:] = self.starts[1:], len(self.n)
        object.__setattr__(self, "distinct", ends - self.starts)

    @cached_property
    def size(self) -> NDArray[np.float64]:
        """The number of records of each class."""
        return np.asarray(np.add.reduceat(self.n, self.starts))

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """The share of each value in its class."""
        return np.asarray(self.n / self.size[self.of_class])

    @cached_property
    def falling(self) -> NDArray[np.float64]:
        """The number of records of each value, by class and then from the most frequent value to the rarest."""
        most = self.n.max(initial=0.0)
        if most < _FEW_RECORDS and (domain := len(self.starts) * (int(most) + 1)) and by_digits(len(self.n), domain):
            counts = self.n.astype(np.int64)
            if (counts == self.n).all():  # not weights
                return self.n[order_of(self.of_class * (int(most) + 1) + (int(most) - counts), domain)]
        return self.n[np.lexsort((-self.n, self.of_class))]

    @cached_property
    def falling_sums(self) -> NDArray[np.float64]:
        """The sums of `falling` up to each entry, and 0 before the first."""
        return np.concatenate([[0.0], np.cumsum(self.falling)])

    @cached_property
    def stretches(self) -> Stretches:
        """The stretches of values, if they are in their order, over which each class has a constant cumulative share."""
        below = np.cumsum(self.whole)[:-1]
        last = len(below)
        cumulative = np.cumsum(self.share)
        level = np.minimum(cumulative - (cumulative - self.share)[self.starts][self.of_class], 1.0)
        ends = np.append(self.value[1:], last)
        ends[np.append(self.starts[1:], len(self.n)) - 1] = last
        begins = np.minimum(self.value, last)
        ends = np.maximum(ends, begins)
        return Stretches(level, begins, ends, np.clip(np.searchsorted(below, level), begins, ends))

    @cached_property
    def telling(self) -> NDArray[np.bool_]:
        """Which classes disclose a value of the attribute to anyone who knows that a person is in them."""
        cells = disclosing(self.n, self.size[self.of_class], self.whole[self.value])
        return np.asarray(np.logical_or.reduceat(cells, self.starts))

    @cached_property
    def valueless(self) -> NDArray[np.bool_]:
        """Which classes hold a null and nothing else: nobody in them has a value."""
        missing = np.array([value is None for value in self.values], dtype=bool)
        return np.asarray((self.distinct == 1) & missing[self.value[self.starts]])

    def certain(self, *, missing_is_sensitive: bool = False) -> NDArray[np.bool_]:
        """Return which classes hold only one value; a missing value counts only if it is sensitive."""
        alone = self.distinct == 1
        return np.asarray(alone if missing_is_sensitive else alone & ~self.valueless)

    def total(self, figures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the figures in each class."""
        return np.asarray(np.add.reduceat(figures, self.starts))


@dataclass(frozen=True, slots=True, eq=False)
class Equivalence:
    """The classes of a key, and the distributions of the sensitive attributes in them.

    Attributes
    ----------
    classes
        The combinations of the key; `classes.n` counts the records that hold each, every record once.
    size, mass
        The number of records that look alike to an intruder, or of persons if they are distinguished, and the weight of the
        records: those of the class, or all that match it (wildcard).
    spreads
        The sensitive attributes by name, several also jointly.
    records, suppressed
        The number of all records, and of those that form no class because their key is suppressed throughout.
    owners
        The persons in each class; None: every record is taken to be of a different person.
    own
        The number of records that hold each class's key.
    unit
        The unit of counting: persons if they are distinguished, else records.
    number, every
        The number of records, or persons, in classes, and the number of all of them, including those in no class.
    """

    classes: Classes
    size: NDArray[np.float64]
    mass: NDArray[np.float64]
    spreads: Mapping[str, Spread]
    records: int
    suppressed: int
    owners: Owners | None = None

    own: NDArray[np.int64] = field(init=False)
    unit: Unit = field(init=False)
    number: int = field(init=False)
    every: int = field(init=False)

    def __post_init__(self) -> None:
        """Set the totals over all classes."""
        own, owners = self.classes.n, self.owners
        facts: dict[str, Any] = {"own": own, "unit": "records" if owners is None else "persons"}
        facts |= {"number": int(own.sum()) if owners is None else owners.number}
        facts |= {"every": self.records if owners is None else owners.every}
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    def among(self, which: NDArray[np.bool_]) -> int:
        """Count the records in some classes, or the persons who have one there."""
        return int(self.own[which].sum()) if self.owners is None else self.owners.among(which)

    def certain(self, attributes: Iterable[tuple[str, bool]]) -> list[tuple[int, int]]:
        """Count the records, or persons, whose class holds one value of a sensitive attribute, and those whose class has none.

        Each attribute comes with whether a missing value is sensitive.
        """
        spreads = [(self.spreads[name], missing_is_sensitive) for name, missing_is_sensitive in attributes]
        return [(self.among(one.certain(missing_is_sensitive=gaps)), self.among(one.valueless)) for one, gaps in spreads]

    def worst(self, alike: NDArray[Any]) -> NDArray[np.int64]:
        """Count every record in its class, or every person once, in the class of theirs in which the fewest look alike."""
        return self.own if self.owners is None else self.owners.worst(alike)

    def describe(self, at: int) -> DecidingClass:
        """Return a class's key values and size, and the sensitive attributes that it discloses, if any."""
        return self.described([at])[0]

    def described(self, places: Sequence[int]) -> list[DecidingClass]:
        """Describe several classes."""
        chosen = np.array(places, dtype=np.int64)
        names = [column.name for column in self.classes.columns]
        pairs = zip(self.classes.columns, self.classes.codes, strict=True)
        held = [[column.values[code] for code in codes[chosen].tolist()] for column, codes in pairs]
        keys = jsonable([dict(zip(names, values, strict=True)) for values in zip(*held, strict=True)])
        sizes = [int(size) if size.is_integer() else size for size in self.size[chosen].astype(np.float64).tolist()]
        told = [[name for name, spread in self.spreads.items() if spread.telling[at]] or () for at in places]
        return [DecidingClass(*one) for one in zip(keys, sizes, told, strict=True)]


def equivalence(
    counts: Counts,
    keys: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    wildcard: float | None = None,
    suppressed: str = "apart",
    reference: Counts | None = None,
    person: str | None = None,
) -> Equivalence:
    """Sort a count table into the classes of its key.

    Parameters
    ----------
    counts
        A count table over the keys and the sensitive attributes.
    keys, sensitive
        Key attributes and sensitive attributes.
    wildcard
        None: a null is a value. A number from 0 to 1: a null matches any value, with this weight.
    suppressed
        "apart" or "class": the treatment of records whose key is suppressed throughout.
    reference
        The count table whose distributions of the sensitive attributes the classes are compared with; none: `counts`.
    person
        The column of `counts` that says whose record it is; none: every record is of a different person.
    """
    if suppressed not in ("apart", "class"):
        raise ArgumentError.not_one_of("suppressed", suppressed, ("apart", "class"))
    wanted = [[name] for name in sensitive] + ([list(sensitive)] if len(sensitive) > 1 else [])
    kept = without_suppressed(counts, keys) if suppressed == "apart" else counts
    if not kept.records:
        raise EmptyDataError(
            f"all {counts.records:,} records are suppressed in every key attribute; there is no class to measure."
        )
    crossing = kept.crossed(keys, wanted, counts if reference is None else reference)
    classes, mass = crossing.classes, crossing.classes.mass
    size = mass if kept.weight is None else classes.n.astype(np.float64)
    if wildcard is not None:
        size, mass = (wildcard_sums(classes, amounts, alpha=wildcard) for amounts in (classes.n, classes.mass))
    owners = None
    if person is not None:
        at = kept.names.index(person)
        every = len(counts.columns[counts.names.index(person)].values)
        owners = Owners.of(classes.of_cell, kept.codes[at], classes.number, len(kept.columns[at].values), every)
        size = owners.sizes.astype(np.float64) if wildcard is None else matching_owners(classes, owners, wildcard)
    by_name = {name: _spread(crossing, at, wildcard) for at, name in enumerate(crossing.names)}
    gone_records = counts.records - kept.records
    return Equivalence(classes, size, mass, by_name, counts.records, gone_records, owners)


def equivalence_each(tables: Sequence[Counts], keys: Sequence[str], sensitive: Sequence[str]) -> list[Equivalence]:
    """Sort several count tables into the classes of one key; records that are all suppressed in every attribute are one class."""
    classes = []
    for counts in tables:
        try:
            classes.append(equivalence(counts, keys, sensitive))
        except EmptyDataError:
            classes.append(equivalence(counts, keys, sensitive, suppressed="class"))
    return classes


def without_suppressed(counts: Counts, keys: Sequence[str]) -> Counts:
    """Return the count table without the cells that are suppressed in every key attribute."""
    gone = suppressed_cells(counts, keys)
    return counts.where(~gone) if gone.any() else counts


def suppressed_cells(counts: Counts, keys: Sequence[str]) -> NDArray[np.bool_]:
    """Return which cells are suppressed in every key attribute."""
    gone = np.ones(len(counts.n), dtype=bool)
    for name in keys:
        at = counts.names.index(name)
        nothing = np.array([value is None or value == SUPPRESSED for value in counts.columns[at].values], dtype=bool)
        if not nothing.any():
            return np.zeros(len(counts.n), dtype=bool)
        gone &= nothing[counts.codes[at]]
    return gone


def _spread(crossing: Crossing, at: int, wildcard: float | None) -> Spread:
    """Return the distribution of one sensitive attribute in the classes and in the whole table."""
    of_class, value, n = crossing.pairs[at]
    whole = crossing.whole[at]
    if wildcard is not None:
        of_class, value, n = with_matches(crossing.classes, crossing.pairs[at], len(whole.place), wildcard)
    starts = np.flatnonzero(np.diff(of_class, prepend=-1))
    return Spread(crossing.names[at], whole.values, of_class, whole.place[value], n, starts, whole.share)


@dataclass(frozen=True, slots=True, eq=False)
class Intruder(Figures):
    """The risk from one kind of intruder.

    Attributes
    ----------
    highest
        The risk of the record, or person, that is worst off.
    average
        The mean over the records, which is the share that an intruder who links every record is expected to match
        correctly; or the mean over the persons.
    above, threshold
        The share of records, or persons, whose risk exceeds the threshold.
    worst_class
        The class with the highest risk.
    note
        The notes on it.
    """

    highest: float
    average: float
    above: float = field(metadata={"name": "records_above_threshold"})
    threshold: float
    worst_class: DecidingClass | None
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Vulnerability(Figures):
    """The chance that an intruder's best guess is right, before and after seeing the key, and the factor between the two."""

    prior: float
    posterior: float
    gain: float

    @classmethod
    def of(cls, prior: float, posterior: float) -> Vulnerability:
        """Return the chances with the factor between them."""
        return cls(prior, posterior, posterior / prior)


@dataclass(frozen=True, slots=True, eq=False)
class ClassRisks:
    """The risk of the records, or persons, of every class.

    Attributes
    ----------
    risk
        One over the records, or persons, that look alike to the intruder.
    own
        The number of records, or persons, at that risk; a person is counted in the class where their risk is highest.
    highest
        The risk of the record, or person, that is worst off.
    average
        The mean over the records, or persons.
    unique
        The number of records, or persons, that nobody else looks like.
    """

    risk: NDArray[np.float64]
    own: NDArray[np.int64]
    highest: float
    average: float
    unique: int

    @classmethod
    def of(cls, classes: Equivalence, alike: NDArray[np.float64]) -> ClassRisks:
        """Return the risks from an intruder who finds `alike` matching records for each class."""
        risk, own = 1.0 / alike, classes.worst(alike)
        average = float((own * risk).sum() / own.sum())
        return cls(risk, own, float(risk.max()), average, int(own[risk >= 1.0].sum()))

    def above(self, thresholds: Iterable[float]) -> list[float]:
        """Return the share of records, or persons, whose risk exceeds each threshold."""
        total = self.own.sum()
        return [float(self.own[self.risk > threshold + 1e-12].sum() / total) for threshold in thresholds]


def intruder_risk(classes: Equivalence, alike: NDArray[np.float64], threshold: float) -> Intruder:
    """Return the risk from an intruder who finds `alike` matching records for each class.

    Parameters
    ----------
    classes
        The classes of the key.
    alike
        For each class the records, or persons, among which the intruder has to choose: those of the file, or of the population.
    threshold
        Records, or persons, with a risk above it are counted.
    """
    risks = ClassRisks.of(classes, alike)
    worst = classes.describe(int(np.argmax(risks.risk)))
    return Intruder(risks.highest, risks.average, risks.above([threshold])[0], threshold, worst)


def vulnerability_of_records(classes: Equivalence) -> Vulnerability:
    """Return the chance of naming the right record, or person: 1 / N before the key is known; for records, classes / N after."""
    own = classes.worst(classes.size)
    return Vulnerability.of(1.0 / int(own.sum()), float((own / classes.size).sum() / int(own.sum())))


def vulnerability_of_sensitive(spread: Spread, own: NDArray[np.int64]) -> Vulnerability:
    r"""Return the chance of naming the right sensitive value: :math:`\max_x p(x)` before, :math:`\sum_y \max_x p(x, y)` after.

    Examples
    --------
    >>> import unveil
    >>> answer = unveil.measure("paper-2", key="Age*", sensitive="Disease").to_dict()
    >>> answer["vulnerability"]["Disease"]["posterior"]
    0.666...
    """
    prior = np.bincount(spread.value, weights=spread.n * (own / spread.size)[spread.of_class], minlength=len(spread.values))
    posterior = (own * np.maximum.reduceat(spread.share, spread.starts)).sum()
    return Vulnerability.of(float(prior.max() / own.sum()), float(posterior / own.sum()))
