"""What if key and sensitive attribute are published separately? Anatomy: two tables, joined by groups of sensitive values."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, in_line, sides_of
from unveil.counts import tally
from unveil.errors import ArgumentError, is_unicode, shown
from unveil.formats import counted, jsonable, number
from unveil.mechanisms.arguments import Query, matching
from unveil.mechanisms.columns import choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import made_anew
from unveil.randomness import chance_of
from unveil.releases import Protection, Release, ReleaseRecords, marked, repeatable_of
from unveil.results import Figure, View
from unveil.run import active_run
from unveil.sources import Microdata, encode, require_countable
from unveil.study import planned_sensitive, require_values

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["Anatomy", "anatomize"]

_COUNT = "count"


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy(Protection):
    """Two tables that together keep every value but hide whose sensitive value is whose.

    Attributes
    ----------
    key, secret, group
        The key attributes, the sensitive attribute, and the group column, which both tables have.
    quasi_records, sensitive_records
        The two tables; `quasi` and `sensitive` return them in the caller's library.
    figures
        The number of groups, the smallest number of sensitive values in a group, and the largest share of a value in its group.
    """

    key: tuple[str, ...]
    secret: str
    group: str
    quasi_records: Microdata
    sensitive_records: Microdata
    figures: Mapping[str, Any]

    @property
    def quasi(self) -> Any:
        """The quasi-identifier table: the key of every record and its group."""
        return self.quasi_records.native()

    @property
    def sensitive(self) -> Any:
        """The sensitive table: how often each sensitive value occurs in each group."""
        return self.sensitive_records.native()

    @property
    def made_by(self) -> str:
        """The mechanism."""
        return "anatomy"

    @property
    def guarantee(self) -> str:
        """The joint guarantee of the two tables."""
        share = number(self.figures["largest_share"])
        return f"nobody who has both tables and knows a person's key learns the sensitive value with a probability above {share}"

    def treated(self, release: Release[Any]) -> tuple[str, ...]:
        """Return the columns of the two tables."""
        return self.kept(release.records)

    def kept(self, records: ReleaseRecords) -> tuple[str, ...]:  # noqa: ARG002 - the two tables have the columns between them
        """Return the columns of the data that the two tables contain."""
        return (*self.key, self.secret)

    def tables(self, records: ReleaseRecords) -> Mapping[str, ReleaseRecords]:
        """Return the two tables by name."""
        return {"quasi": records, "sensitive": self.sensitive_records}

    def count(self, query: Query) -> float:
        r"""Estimate the number of records that match a query from the two tables alone.

        .. math:: \sum_g \frac{n_g(\text{key}) \; c_g(\text{sensitive})}{n_g}

        n_g(key) is the number of the group's records that meet the conditions on the key, c_g(sensitive) the number of its
        sensitive values that meet those on the sensitive attribute.

        Parameters
        ----------
        query
            By column, a value, several values, or a function that returns whether a value matches.

        Examples
        --------
        >>> from unveil import mechanisms
        >>> tables = mechanisms.anatomize("paper-2", "Age*", "Disease", l=2)
        >>> tables.count({"Disease": "aids"})
        2.0
        """
        for name in query:
            if name not in (*self.key, self.secret):
                raise ArgumentError(f"the query asks about {shown(name)}, which is in neither table.")
        on_key = {name: condition for name, condition in query.items() if name != self.secret}
        on_sensitive = {name: condition for name, condition in query.items() if name == self.secret}
        of_record, of_sensitive = (_groups(table, self.group) for table in (self.quasi_records, self.sensitive_records))
        amounts = self.sensitive_records.column(_COUNT).to_numpy() * matching(self.sensitive_records, on_sensitive)
        size = np.bincount(of_record)
        met = np.bincount(of_record, matching(self.quasi_records, on_key), len(size))
        meeting = np.bincount(of_sensitive, amounts, len(size))
        return float((met * meeting / np.maximum(size, 1)).sum())

    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the JSON of the two tables."""
        return {
            "mechanism": "anatomy",
            "key": list(self.key),
            "sensitive": self.secret,
            "records": release.records.records,
            "settings": jsonable(release.settings),
            "figures": jsonable(self.figures),
        }

    def line(self, release: Release[Any]) -> str:
        """Return the attributes, the groups and their diversity."""
        parts = [counted(release.records.records, "record"), counted(self.figures["groups"], "group")]
        sides = f"{in_line(self.key)} | {in_line([self.secret])}"
        return f"anatomy of {sides}; {'; '.join(parts)}; l = {self.figures['least_distinct']}"

    def view(self, release: Release[Any]) -> View:
        """Return the displayed figures and notes."""
        figures = tuple(Figure(name.replace("_", " "), value) for name, value in self.figures.items())
        return View(f"anatomy: {', '.join(self.key)} | {self.secret}", figures, notes=release.notes)


@heeds_study
@checked_arguments
def anatomize(
    data: Data,
    key: Names | None = None,
    sensitive: str | None = None,
    *,
    l: int = 2,  # noqa: E741 - the field calls it l
    groups: str | None = None,
    group: str = "group",
    nulls: str = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Anatomy]:
    r"""Split a table into two that are joined by groups of at least l sensitive values each.

    A group is made of one record of each of the l sensitive values that are most frequent among the remaining records, as long
    as l values are left; then every remaining record joins a group without its value. So every sensitive value occurs once in a
    group, and nobody's value is known with a probability above 1/l. That is possible if at most one record in l has the same
    value:

    .. math:: \max_x n_x \le N / l

    Parameters
    ----------
    data
        The records.
    key
        The attributes of the quasi-identifier table; none: the key of the study or project given as data. Columns that belong
        to neither side are in neither table.
    sensitive
        The sensitive attribute; none: that of the study or project.
    l
        The smallest number of distinct sensitive values in a group.
    groups
        A column with the group of each record, used instead of making groups; each group must have l sensitive values.
    group
        The name of the group column in the two tables.
    nulls
        "keep": a null is a value like any other. "drop": a record with a null is left out. "error": refuse.
    keep_order
        Whether the records of the quasi-identifier table stay in their order; else they are shuffled. In either case, the
        sensitive table is in random order and groups are numbered at random.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    References
    ----------
    X. Xiao, Y. Tao (2006), Anatomy: simple and effective privacy preservation, VLDB, 139-150.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> mechanisms.anatomize("adult", ["age", "sex"], "occupation", l=4)
    Release(anatomy of age, sex | occupation; 30,162 records; 7,540 groups; l = 4)
    """
    if sensitive is None:
        planned = planned_sensitive(data)
        raise ArgumentError.several_sensitive(planned) if planned else ArgumentError.no_sensitive()
    keys, names = sides_of(key or (), sensitive)
    if not is_unicode(group):
        raise ArgumentError(
            "the name of the group column holds half a surrogate pair, which is not a character; choose another name."
        )
    for name in (group, _COUNT):
        if name in (*keys, *names) or group == _COUNT:
            raise ArgumentError(f"a column {shown(name)} would occur twice in a table; give the group column another name.")
    require_values(data, [*keys, *names])
    chance, chosen = chance_of(seed, key_file), choose(data, [*keys, *names], nulls)
    records = chosen.records
    require_countable(names[0], records.column(names[0]))
    column = encode(records.column(names[0]))
    least = checked_count("l", l, least=1, most=len(column.values), of="distinct values of the sensitive attribute")
    settings = {"l": least, "groups": groups, "nulls": nulls}
    random = chosen.draws(chance, "anatomy", settings)
    of_record = _renumbered(_made(column.codes, least, random) if groups is None else _from_column(records, groups), random)
    (of_pair, value), n = tally([of_record, column.codes], [int(of_record.max()) + 1, len(column.values)])
    figures = _figures(of_record, of_pair.astype(np.int64), n)
    if figures["least_distinct"] < least:
        raise ArgumentError(f"a group has {figures['least_distinct']:,} distinct values, and l is {least:,}; change the groups.")
    first = np.empty(len(column.values), dtype=np.int64)
    first[column.codes[::-1]] = np.arange(records.records)[::-1]
    rows = np.arange(records.records) if keep_order else random.permutation(records.records)
    quasi = _table(records, {**{name: records.column(name) for name in keys}, group: of_record + 1}).taken(rows)
    values = records.column(names[0]).gather(first[value])
    pairs = _table(records, {group: of_pair.astype(np.int64) + 1, names[0]: values, _COUNT: n})
    sensitive_table = pairs.taken(random.permutation(pairs.records))
    origin = chosen.rows[rows]
    left_out = tuple(name for name in records.names if name not in (*keys, *names))
    repeatable = repeatable_of(chance, records.place, drawn=True)
    anatomy = Anatomy(keys, names[0], group, quasi, sensitive_table, figures)
    return Release(quasi, anatomy, origin, settings, marked((), repeatable), repeatable, made_anew(left_out))


def _table(records: Microdata, columns: Mapping[str, Any]) -> Microdata:
    return replace(records, frame=type(records.frame)(dict(columns)))


def _groups(table: Microdata, group: str) -> NDArray[np.int64]:
    return np.asarray(table.column(group).to_numpy(), dtype=np.int64)


def _figures(of_record: NDArray[np.int64], of_pair: NDArray[np.int64], n: NDArray[np.int64]) -> dict[str, Any]:
    size = np.bincount(of_record)
    return {
        "groups": int(np.count_nonzero(size)),
        "least_distinct": int(np.bincount(of_pair)[size > 0].min()),
        "smallest_group": int(size[size > 0].min()),
        "largest_share": float((n / size[of_pair]).max()),
    }


def _renumbered(of_record: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return the groups under random numbers, because their own would reveal which were made first."""
    return random.permutation(int(of_record.max()) + 1)[of_record]


def _from_column(records: Microdata, groups: str) -> NDArray[np.int64]:
    """Return the groups in a column, numbered in their order."""
    return encode(records.column(groups)).codes.astype(np.int64)


def _made(codes: NDArray[Any], least: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the group of each record, by the algorithm of Xiao and Tao."""
    counts = np.bincount(codes)
    if counts.max() * least > len(codes):
        raise ArgumentError(
            f"one sensitive value is held by {counts.max():,} of {len(codes):,} records, more than one in l = {least:,}; "
            f"l can be at most {len(codes) // counts.max():,} here."
        )
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]  # by sensitive value, and in random order within each
    buckets = [bucket.tolist() for bucket in np.split(order, np.cumsum(counts)[:-1])]
    of_record = np.full(len(codes), -1, dtype=np.int64)
    heap = [(-len(bucket), code) for code, bucket in enumerate(buckets) if bucket]
    heapq.heapify(heap)
    members: list[set[int]] = []
    run = active_run()
    while len(heap) >= least:
        run.check()
        taken = [heapq.heappop(heap)[1] for _ in range(least)]
        for code in taken:
            of_record[buckets[code].pop()] = len(members)
            if buckets[code]:
                heapq.heappush(heap, (-len(buckets[code]), code))
        members.append(set(taken))
    for _, code in heap:
        for row in buckets[code]:
            run.check()
            of_record[row] = at = _without(members, code, random)
            members[at].add(code)
    return of_record


def _without(members: Sequence[set[int]], code: int, random: np.random.Generator) -> int:
    """Return a random group that lacks a sensitive value."""
    lacking = [at for at, codes in enumerate(members) if code not in codes]
    return lacking[int(random.integers(len(lacking)))]
