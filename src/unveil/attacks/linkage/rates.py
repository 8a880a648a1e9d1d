r"""How often does linking find the right person? The answer of every linkage attack, beside that of chance.

The data steward knows which original record each released record was made from (`truth`); the attack does not use it, only the
scoring does. For each released record, an attack sorts the original records from the likeliest match to the least likely. The
scoring only needs the number of records before the true one (:math:`L`, closer) and the number that share its place (:math:`T`,
tied, including the true one). Tied records are put in random order, not by drawing but in expectation: the true record's rank
is uniform over :math:`L + 1, \dots, L + T`, so

.. math:: P(\text{rank } 1) = \frac{[L = 0]}{T}, \qquad P(\text{rank } 2) = \frac{[L \le 1 \text{ and } L + T \ge 2]}{T} .

A released record counts as *linked* with the first probability, as *linked to the second nearest* with the second, and
otherwise as *not linked*. A record made from nobody (`truth` -1) is never linked. Higher is more risk.

If a person has several records, an intruder who takes any of them for the one behind a released record has found the person.
With :math:`C_r` the chance of that for released record r (of the records at the top, the share that are the person's), the
intruder is assumed to know the most revealing record of a person: a person is linked with :math:`\max_r C_r` over their
released records, and the rate is the mean over the persons. A released record made from nobody counts as somebody who is never
linked. If everyone has one record, this is the rate of the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_array, checked_number
from unveil.errors import ArgumentError
from unveil.formats import counted, jsonable, number
from unveil.measures import Interval
from unveil.results import Figure, Figures, Result, Table, View

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Control",
    "LinkageRates",
    "PersonRates",
    "Targets",
    "checked_persons",
    "checked_truth",
    "control_of",
    "link_chances",
    "rates_of",
    "share_bounds",
]


@dataclass(frozen=True, slots=True, eq=False)
class Control(Figures):
    """The rate at which released records are linked to outsiders: people who are certainly not in the release.

    Attributes
    ----------
    value
        The chance that a released record is linked to one given outsider: `linked` over `records`. `LinkageRates.value` would
        have this value if the release revealed no more about its own people than about others.
    linked
        The share of released records whose nearest record, among original records and outsiders together, is an outsider's;
        tied records share the link.
    expected
        The outsiders' share of the records searched. A `linked` below it means that the release is nearer to its own people
        than to others.
    records
        The number of outsiders.
    interval
        The confidence interval of `value`.
    """

    value: float
    linked: float
    expected: float
    records: int
    interval: Interval


@dataclass(frozen=True, slots=True, repr=False)
class LinkageRates(Result):
    """The success of linking a release to the original records.

    Attributes
    ----------
    value
        The share of released records linked to their true record; tied records count as fractions.
    linked_second
        The share whose true record comes second.
    not_linked
        The rest.
    records
        The number of released records, the denominator of all three.
    baseline
        The share that a random guess would link: one over the original records, times the share of released records that were
        made from one of them.
    control
        The rate for people who are not in the release; None if none were given.
    interval
        The confidence interval of `value`.
    distance
        The distance by which records were compared.
    ties
        The number of released records whose true record comes first or second together with others.
    made
        The provenance of the result.
    by_person
        The rate of persons, if the owners of the original records are known.
    """

    value: float
    linked_second: float
    not_linked: float
    records: int
    baseline: float
    control: Control | None
    interval: Interval
    distance: str
    ties: int
    made: Mapping[str, Any]
    by_person: PersonRates | None = None

    @property
    def excess(self) -> float | None:
        """The gain over chance: (value - chance) / (1 - chance), where chance is the control's rate or the baseline."""
        chance = self.baseline if self.control is None else self.control.value
        return (self.value - chance) / (1.0 - chance) if chance < 1.0 else None

    def __repr__(self) -> str:
        """Return one line: the share linked, its interval, and the share by chance."""
        bounds = f"{number(self.interval.low)} to {number(self.interval.high)}"
        return (
            f"LinkageRates({number(self.value)} linked ({bounds}), {number(self.linked_second)} second, "
            f"chance {number(self.baseline)}, {self.distance}, {counted(self.records, 'record')})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "value": self.value,
            "linked_second": self.linked_second,
            "not_linked": self.not_linked,
            "records": self.records,
            "baseline": self.baseline,
            "control": None if self.control is None else self.control.to_dict(),
            "excess": self.excess,
            "interval": self.interval.to_dict(),
            "distance": self.distance,
            "ties": self.ties,
            **({} if self.by_person is None else {"persons": self.by_person.to_dict()}),
            "made": jsonable(self.made),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per outcome, with its share."""
        return {
            "outcome": ["linked", "linked to second nearest", "not linked"],
            "share": [self.value, self.linked_second, self.not_linked],
        }

    def view(self) -> View:
        """Return the displayed rates."""
        bounds, percent = self.interval, round(100 * self.interval.confidence, 3)
        figures = [
            Figure("Linked", self.value, f"{percent:g}% interval {number(bounds.low)} to {number(bounds.high)}"),
            Figure("Random guess", self.baseline, "the share that a random guess would link"),
        ]
        if self.by_person is not None:
            of = f"of {counted(self.by_person.persons, 'person', 'people')}, each by the best linked of their records"
            figures.append(Figure("People linked", self.by_person.value, of))
        if self.control is not None:
            figures.append(Figure("Control", self.control.value, "the same for one given person who is not in the release"))
        outcomes = self.columns()
        rows = tuple(zip(outcomes["outcome"], outcomes["share"], strict=True))
        note = (
            f"{counted(self.records, 'release record')}, distance: {self.distance}; "
            f"{counted(self.ties, 'record')} with ties, each counted as a fraction."
        )
        return View("Record linkage", tuple(figures), (Table(("Outcome", "Share"), rows, bars=frozenset({"Share"})),), (note,))


def share_bounds(successes: float, trials: float, confidence: float = 0.95) -> Interval:
    r"""Return the exact (Clopper-Pearson) confidence interval of a share.

    With :math:`B` the quantile function of the beta distribution, :math:`s` successes in :math:`n` trials and
    :math:`\alpha` = 1 - `confidence`:

    .. math:: \left[ B(\tfrac{\alpha}{2};\, s,\, n - s + 1),\; B(1 - \tfrac{\alpha}{2};\, s + 1,\, n - s) \right]

    It covers the true share at least as often as the confidence states, even if only a handful of records are linked.

    Parameters
    ----------
    successes
        May be a fraction if ties were shared: the interval is then a little too wide, because a record that counts 1/T varies
        less than one that is drawn with probability 1/T.
    trials
        The number of records, above zero.
    confidence
        Between 0 and 1.

    References
    ----------
    .. [1] Clopper, Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial,
       Biometrika 26(4), 404-413.

    Examples
    --------
    >>> bounds = share_bounds(8, 10)
    >>> round(bounds.low, 4), round(bounds.high, 4)
    (0.4439, 0.9748)
    """
    from scipy.special import betaincinv

    checked_number("confidence", confidence, above=0.0, below=1.0)
    tail, missed = (1.0 - confidence) / 2.0, max(trials - successes, 0.0)
    low = float(betaincinv(successes, missed + 1.0, tail)) if successes > 0.0 else 0.0
    high = float(betaincinv(successes + 1.0, missed, 1.0 - tail)) if missed > 0.0 else 1.0
    return Interval(low, high, confidence)


def link_chances(
    closer: NDArray[np.float64], tied: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return, for each released record, the chances that its true record comes first and second, and whether it is tied.

    Parameters
    ----------
    closer, tied
        The number of original records before the true one, and the number that share its place, itself included. Records
        without a true one, and those that can be neither first nor second, may have 0 tied.

    Examples
    --------
    >>> first, second, shared = link_chances(np.array([0.0, 0.0, 1.0, 2.0]), np.array([1.0, 4.0, 2.0, 1.0]))
    >>> first.tolist(), second.tolist(), shared.tolist()
    ([1.0, 0.25, 0.0, 0.0], [0.0, 0.25, 0.5, 0.0], [False, True, True, False])
    """
    share = np.divide(1.0, tied, out=np.zeros(len(tied)), where=tied > 0)
    first = np.where(closer == 0, share, 0.0)
    second = np.where((closer <= 1) & (closer + tied > 1), share, 0.0)
    return first, second, (closer <= 1) & (tied > 1)


def rates_of(
    closer: NDArray[np.float64],
    tied: NDArray[np.float64],
    *,
    matched: int,
    originals: int,
    distance: str,
    made: Mapping[str, Any],
    control: Control | None = None,
    confidence: float = 0.95,
) -> LinkageRates:
    """Score an attack by the place of each released record's true record.

    Parameters
    ----------
    closer, tied
        As for `link_chances`.
    matched
        The number of released records that were made from an original one.
    originals
        The number of original records among which the attack chose.
    distance, made, control, confidence
        Fields of the result, and the confidence of its interval.
    """
    first, second, shared = link_chances(closer, tied)
    records = len(closer)
    linked, linked_second = float(first.sum()), float(second.sum())
    return LinkageRates(
        value=linked / records,
        linked_second=linked_second / records,
        not_linked=max((records - linked - linked_second) / records, 0.0),
        records=records,
        baseline=matched / records / originals,
        control=control,
        interval=share_bounds(linked, records, confidence),
        distance=distance,
        ties=int(np.count_nonzero(shared)),
        made=made,
    )


def control_of(chances: NDArray[np.float64], *, outsiders: int, searched: int, confidence: float = 0.95) -> Control:
    """Summarise how often released records are linked to outsiders.

    Parameters
    ----------
    chances
        For each released record, the chance that it is linked to an outsider: the outsiders' share of the nearest records.
    outsiders, searched
        The number of outsiders, and of all records searched.
    confidence
        The confidence of the interval.
    """
    linked = float(chances.mean())
    bounds = share_bounds(float(chances.sum()), len(chances), confidence)
    interval = Interval(bounds.low / outsiders, bounds.high / outsiders, confidence)
    return Control(linked / outsiders, linked, outsiders / searched, outsiders, interval)


def checked_truth(truth: Any, *, originals: int, records: int) -> NDArray[np.int64]:
    """Return the original row of each released record as an array; refuse invalid rows, with the reason."""
    rows = checked_array("truth", truth)
    if rows.shape != (records,):
        raise ArgumentError(
            f"truth holds {rows.size:,} entries for {records:,} release records; it gives the original row of each of them."
        )
    if rows.dtype.kind not in "iu":
        raise ArgumentError("truth holds row numbers of the original, as whole numbers, and -1 for a record made from none.")
    outside = int(np.count_nonzero((rows < -1) | (rows >= originals)))
    if outside:
        raise ArgumentError(
            f"{outside:,} of {records:,} entries of truth are not a row of the original: 0 to {originals - 1:,}, or -1 for none."
        )
    return rows.astype(np.int64)


@dataclass(frozen=True, slots=True)
class PersonRates:
    """The rate of linked persons.

    Attributes
    ----------
    value
        The share of persons who are linked, each by the best linked of their records.
    persons
        The number of persons with a record in the release plus released records made from nobody.
    baseline
        The share that a random guess would link.
    interval
        The confidence interval of `value`.
    """

    value: float
    persons: int
    baseline: float
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "linked": self.value,
            "persons": self.persons,
            "baseline": self.baseline,
            "interval": self.interval.to_dict(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The original records that are right for each released record: all records of its person.

    Attributes
    ----------
    person
        For each released record, a number of its person, in order of appearance; a record of nobody has a number of its own.
    row, original
        Every pair of a released record and an original record of its person, by released record.
    of_person
        For each person, the number of their original records; 0 for nobody.
    originals
        The number of all original records.
    """

    person: NDArray[np.int64]
    row: NDArray[np.int64]
    original: NDArray[np.int64]
    of_person: NDArray[np.int64]
    originals: int

    @classmethod
    def of(cls, truth: NDArray[np.int64], whose: NDArray[np.int64]) -> Targets:
        """Return the targets, given the original row of each released record and the person of each original record."""
        nobody = truth < 0
        label = np.where(nobody, -1 - np.arange(len(truth)), whose[np.where(nobody, 0, truth)])
        _, first, number = np.unique(label, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(len(first))
        held = np.bincount(whose)
        starts = np.concatenate([[0], np.cumsum(held)])
        known = np.flatnonzero(~nobody)
        lengths = held[label[known]]
        at = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - starts[label[known]], lengths)
        of_person = np.zeros(len(first), dtype=np.int64)
        person = place[number.reshape(-1)]
        of_person[person[known]] = lengths
        return cls(person, np.repeat(known, lengths), np.argsort(whose, kind="stable")[at], of_person, len(whose))

    @property
    def starts(self) -> NDArray[np.int64]:
        """The positions where the pairs of each released record that has any begin."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    def rates(self, chances: NDArray[np.float64], confidence: float = 0.95) -> PersonRates:
        """Return the rate of linked persons, given the chance of each released record that one of its person's is taken."""
        number = len(self.of_person)
        best = np.zeros(number)
        np.maximum.at(best, self.person, chances)
        linked = float(best.sum())
        baseline = float(self.of_person.sum()) / number / self.originals
        return PersonRates(linked / number, number, baseline, share_bounds(linked, number, confidence))


def checked_persons(persons: ArrayLike | None, originals: int) -> NDArray[np.int64] | None:
    """Return the owner of each original record, as numbers from 0; refuse a wrong number of owners."""
    if persons is None:
        return None
    try:
        whose = np.asarray(persons)
    except ValueError:  # lists of several lengths
        raise ArgumentError("persons holds lists; it says whose record each original record is, by one value.") from None
    if whose.shape != (originals,):
        raise ArgumentError(f"persons holds {whose.size:,} entries for {originals:,} original records; it says whose each is.")
    return np.unique(whose, return_inverse=True)[1].reshape(-1).astype(np.int64)
