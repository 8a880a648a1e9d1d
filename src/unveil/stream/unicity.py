r"""How many points of a trajectory single out a person? Unicity, after de Montjoye, Hidalgo, Verleysen and Blondel (2013).

A point is a combination of values, such as a grid cell and an hour; the trajectory of a person is the set of their points. With
:math:`S` a random set of p points of a person's trajectory,

.. math:: U_p = \text{share of persons for whom no other trajectory contains } S .

From 0 to 1; higher is more disclosure. Whether a set singles out its person is decided exactly, against all persons. Sets are
drawn at random, so the share has an interval; for persons with few sets, all of them are examined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_seed
from unveil.attributes import Names, in_line, names_of
from unveil.counts import Column, count_table, group
from unveil.errors import ArgumentError, UndefinedMeasureError, shown
from unveil.formats import counted, number
from unveil.results import Chart, Figure, Result, Table, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data, open_source, tallied
from unveil.stream.derived_columns import Derived, with_derived
from unveil.study import checked_partitions, require_no_nulls, stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Unicity", "UnicityAt", "unicity"]

_MOST_POINTS = 20
_Z95 = 1.959963984540054
_PIECE = 1 << 16
"""The number of points of sets examined between two reports of progress."""


@dataclass(frozen=True, slots=True)
class UnicityAt:
    """The share of persons whom p points single out.

    Attributes
    ----------
    p
        The number of points.
    share
        The share of persons; None if nobody has p points.
    low, high
        A 95 % interval for the share over all sets of points: its width reflects the drawing of sets, not of persons.
    persons, short
        The numbers of persons with at least p points, and of those with fewer, who are left out.
    sets, exact
        The numbers of sets of points examined, and of persons whose sets were all examined.
    """

    p: int
    share: float | None
    low: float | None
    high: float | None
    persons: int
    short: int
    sets: int
    exact: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, repr=False)
class Unicity(Result):
    """The unicity of a table of trajectories, for each number of points.

    Attributes
    ----------
    by_points
        The share of persons singled out, for each number of points.
    person, point
        The column that identifies the person, and those that form a point.
    persons, points, records
        The numbers of persons, distinct points and records.
    left_out
        The number of records that lack a person, or a part of their point, for instance because of an impossible place.
    seed
        The seed of the draws.
    """

    by_points: tuple[UnicityAt, ...]
    person: str
    point: tuple[str, ...]
    persons: int
    points: int
    records: int
    left_out: int
    seed: int

    def __repr__(self) -> str:
        """Return one line."""
        shares = ", ".join(f"{one.p}: {'-' if one.share is None else number(one.share)}" for one in self.by_points)
        return f"Unicity({in_line(self.point, ' + ')}: {shares})"

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result as plain Python values."""
        settings = {"person": self.person, "point": list(self.point), "seed": self.seed}
        sizes = {"persons": self.persons, "points": self.points, "records": self.records, "left_out": self.left_out}
        return {"unicity": [one.to_dict() for one in self.by_points], **sizes, **settings}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per number of points."""
        return {name: [getattr(one, name) for one in self.by_points] for name in UnicityAt.__slots__}

    def view(self) -> View:
        """Return the displayed shares, table and chart."""
        rows = tuple(
            (
                one.p, "-" if one.share is None else one.share,
                "-" if one.low is None or one.high is None else f"{number(one.low)} to {number(one.high)}",
                one.persons, one.short, one.sets,
            )
            for one in self.by_points
        )  # fmt: skip
        table = Table(
            ("points known", "unicity", "95 % interval", "persons", "with fewer points", "sets examined"), rows,
            title="Persons singled out", bars=frozenset({"unicity"}),
        )  # fmt: skip
        bars = tuple((f"{one.p} points", one.share) for one in self.by_points if one.share is not None)
        chart = Chart("unicity", "bars", "Share of persons singled out", ("points known", "unicity"), bars)
        figures = (Figure("persons", self.persons), Figure("distinct points", self.points), Figure("records", self.records))
        left_out = f"Left out: {counted(self.left_out, 'record')} without a person or without a part of the point."
        notes = (left_out,) if self.left_out else ()
        return View(f"Unicity: {' + '.join(self.point)}", figures, (table,), notes, (chart,))


@checked_arguments
@in_run
def unicity(
    data: Data,
    person: str,
    point: Names,
    *,
    p: int | Sequence[int] = (1, 2, 3, 4),
    draws: int = 20,
    partitions: Mapping[str, Any] | None = None,
    derived: Mapping[str, Derived] | None = None,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Unicity:
    """Measure the share of persons whom p points of their trajectory single out.

    A record without a person, or without a part of its point, is left out and counted.

    Parameters
    ----------
    data
        A table of visits: a path, a data frame, or any other data.
    person, point
        The column that identifies the person, and those that form a point, such as a place and a time.
    p
        The number of points that an intruder knows; one number or several.
    draws
        The number of sets of points to draw for each person; if a person has no more sets than this, all of them are examined.
    partitions, derived
        Semantic partitions by column (None: those of a study), and columns derived from others (`GridCell`, `Hours`, ...).
    seed
        The seed of the draws.
    progress
        A run, or a function called with the stage, the number of persons examined so far and the total; for each number of
        points, they are examined anew.

    Returns
    -------
    Unicity
        The share for each number of points, with an interval, and the number of persons with fewer points.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({"who": ["a", "a", "b", "b", "c"], "cell": [1, 2, 1, 3, 1], "hour": [8, 9, 8, 9, 8]})
    >>> unicity(visits, "who", ["cell", "hour"], p=[1, 2])
    Unicity(cell + hour: 1: 0.3333, 2: 1.0000)
    """
    wanted = [p] if isinstance(p, int) else list(p)
    for one in wanted:
        checked_count("p", one, least=1, most=_MOST_POINTS)
    checked_count("draws", draws, least=1)
    names = names_of(point)
    if not names or person in names:
        raise ArgumentError(f"a point is formed by columns other than {shown(person)}, which names the person; name those.")
    trajectories, records, left_out = _trajectories(data, person, names, partitions, dict(derived or {}))
    chance = np.random.default_rng(checked_seed(seed))
    results = [trajectories.unicity(one, draws, chance) for one in wanted]
    sizes = (len(trajectories.of_person) - 1, len(trajectories.of_point) - 1)
    return Unicity(tuple(results), person, names, *sizes, records, left_out, seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Trajectories:
    """Persons with their points, and points with their persons, as sorted runs of numbers."""

    points: NDArray[np.int64]
    of_person: NDArray[np.int64]
    persons: NDArray[np.int64]
    of_point: NDArray[np.int64]

    @classmethod
    def of(cls, person: NDArray[Any], point: NDArray[Any]) -> _Trajectories:
        """Index distinct pairs of a person and a point, sorted by person and then by point."""
        of_person = np.searchsorted(person, np.arange(int(person.max()) + 2))
        order = np.argsort(point, kind="stable")
        of_point = np.searchsorted(point[order], np.arange(int(point.max()) + 2))
        return cls(point.astype(np.int64), of_person, person[order].astype(np.int64), of_point)

    def unicity(self, p: int, draws: int, chance: np.random.Generator) -> UnicityAt:
        """Measure the share of persons whom p points single out."""
        lengths = np.diff(self.of_person)
        able = np.flatnonzero(lengths >= p)
        short = len(lengths) - len(able)
        if not len(able):
            return UnicityAt(p, None, None, None, 0, short, 0, 0)
        sets = np.array([min(math.comb(int(length), p), draws + 1) for length in np.unique(lengths)])
        few = sets[np.searchsorted(np.unique(lengths), lengths[able])] <= draws
        exact, drawn = able[few], able[~few]
        number_of_sets = np.array([math.comb(int(length), p) for length in lengths[exact]], dtype=np.int64)
        with active_run().stage(f"persons, {counted(p, 'point')}") as steps:
            step = max(_PIECE // (draws * p), 1)
            certain = self._all(exact, p, step, lambda done: steps(done, len(able))) / number_of_sets
            likely = self._drawn(drawn, p, draws, chance, step, lambda done: steps(len(exact) + done, len(able))) / draws
        share = (float(certain.sum()) + float(likely.sum())) / len(able)
        low, high = _interval(likely, draws)
        fixed, weight = float(certain.sum()) / len(able), len(drawn) / len(able)
        examined = int(number_of_sets.sum()) + draws * len(drawn)
        return UnicityAt(p, share, fixed + weight * low, fixed + weight * high, len(able), short, examined, len(exact))

    def _all(self, who: NDArray[np.int64], p: int, step: int, told: Callable[[int], None]) -> NDArray[np.int64]:
        from unveil.stream.unicity_kernels import single_out_all

        alone, flag = np.zeros(len(who), dtype=np.int64), active_run().flag
        for start in range(0, len(who), step):
            stop = min(start + step, len(who))
            single_out_all(who[start:stop], p, self.points, self.of_person, self.persons, self.of_point, alone[start:stop], flag)
            told(stop)
        return alone

    def _drawn(
        self, who: NDArray[np.int64], p: int, draws: int, chance: np.random.Generator, step: int, told: Callable[[int], None]
    ) -> NDArray[np.int64]:
        from unveil.stream.unicity_kernels import single_out_drawn

        alone, flag = np.zeros(len(who), dtype=np.int64), active_run().flag
        for start in range(0, len(who), step):
            stop = min(start + step, len(who))
            picks = chance.random((stop - start, draws, p))
            single_out_drawn(
                who[start:stop], picks, self.points, self.of_person, self.persons, self.of_point, alone[start:stop], flag
            )
            told(stop)
        return alone


def _interval(shares: NDArray[np.float64], draws: int) -> tuple[float, float]:
    """Return Wilson's interval of a share over independent draws.

    Every person has the same number of draws, so the share varies less than over draws from all persons, and the interval is
    wide enough.
    """
    total = len(shares) * draws
    if not total:
        return 0.0, 0.0
    share, z2 = float(shares.mean()), _Z95 * _Z95
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z95 / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _trajectories(
    data: Data, person: str, names: tuple[str, ...], partitions: Mapping[str, Any] | None, derived: Mapping[str, Derived]
) -> tuple[_Trajectories, int, int]:
    """Return the index of persons and points, the number of records, and the number of those left out."""
    blocks = checked_partitions(partitions, names) if partitions is not None else stated(data, names).partitions
    require_no_nulls(data, [person, *names, *(name for rule in derived.values() for name in rule.needs)])
    if derived:
        source = open_source(data)
        own = [name for name in (person, *names) if name not in derived]
        parts = [name for rule in derived.values() for name in rule.needs]
        data = with_derived(source.collect(list(dict.fromkeys([*own, *parts]))), derived)
    counts = count_table(tallied(data, [person, *names]), blocks)
    known = np.all([_known(*pair) for pair in zip(counts.columns, counts.codes, strict=True)], axis=0)
    if not known.any():
        raise UndefinedMeasureError(
            f"no record has a person in {shown(person)} and a complete point, so there is no trajectory to measure."
        )
    who = np.unique(counts.codes[0][known], return_inverse=True)[1]
    point, _ = group([codes[known] for codes in counts.codes[1:]], [len(column.values) for column in counts.columns[1:]])
    pairs, _ = group([who, point], [int(who.max()) + 1, int(point.max()) + 1])
    first = np.unique(pairs, return_index=True)[1]
    return _Trajectories.of(who[first], point[first]), counts.records, int(counts.n[~known].sum())


def _known(column: Column, codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which combinations have a value of a column."""
    present: NDArray[np.bool_] = np.array([value is not None for value in column.values], dtype=bool)[codes]
    return present
