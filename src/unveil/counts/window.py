"""Counts that grow and expire: the joint count table of the records that a moving window holds.

Every column has a dictionary that grows as values come; a record is a row of their codes. The combinations that occur are kept
with their records as integers, so when a record expires, the counts are exactly those without it, however many records have come
and gone. Combinations and values that no record holds any more are dropped from time to time, so memory depends on the window,
not on the stream.

Beyond a limit of combinations the table becomes a sample (`thin`): of the combinations of some columns, the most frequent ones at
that moment stay for certain, and of the others those whose hash falls into a share of all hashes, with all their records. For the
other records, only some columns are still counted; the others are blank. A hash follows from the values alone, so the order of
records does not affect which combinations stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts.grouping import group
from unveil.counts.table import Column, Counts
from unveil.errors import ArgumentError, CountsError
from unveil.sources import Coded, encode_values, text_of_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_TABLE", "MovingCounts", "Rank"]

Rank: TypeAlias = "Callable[[Sequence[Any]], NDArray[np.int64]]"
"""A function that returns the rank of each of some values."""

_LEAST_ROOM = 1 << 10
_FORGET_FROM = 1 << 12
"""Combinations or values that no record holds are dropped once there are this many of them, and as many as are in use."""
LARGEST_TABLE = 50_000_000
"""The most combinations held at once, unless another limit is given."""
_BLANK = 0xFFFFFFFF
"""The code that replaces the value of a record outside the sample."""
_MOST_HALVINGS = 48
_CERTAIN = 4
"""The combinations that stay for certain take up a quarter of the limit at most."""


class _Dictionary:
    """The values of one column in the order in which they came; a code is a position among them."""

    __slots__ = ("_codes", "_hashes", "_order", "_rank", "values")

    def __init__(self, values: Sequence[Any] = (), rank: Rank | None = None) -> None:
        self.values: list[Any] = list(values)
        self._rank = rank
        self._codes: dict[Hashable, int] = {_known_as(value): code for code, value in enumerate(self.values)}
        self._order: tuple[Sequence[Any], NDArray[Any]] | None = None
        self._hashes: list[int] = []

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hash of every value: the same for a value in every stream, whether it comes as a number or as text."""
        self._hashes += [_hashed(value) for value in self.values[len(self._hashes) :]]
        return np.array(self._hashes, dtype=np.uint64)

    def codes(self, column: Coded) -> NDArray[np.uint32]:
        """Return the code of every record; new values get the next codes."""
        known, values = self._codes, self.values
        places = np.empty(len(column.values), dtype=np.uint32)
        for at, value in enumerate(column.values):
            name = _known_as(value)
            code = known.get(name)
            if code is None:
                code = known[name] = len(values)
                values.append(value)
                self._order = None
            places[at] = code
        return np.asarray(places[column.codes])

    def ordered(self) -> tuple[Sequence[Any], NDArray[Any]]:
        """Return the values in the order that a table would give them, and the place of each code among them."""
        if self._order is None and self._rank is not None:
            place = self._rank(self.values)
            self._order = [self.values[code] for code in np.argsort(place)], place
        elif self._order is None:
            coded = encode_values(self.values, as_objects=_mixed(self.values))
            self._order = coded.values, coded.codes
        return self._order

    def kept(self, codes: NDArray[Any]) -> _Dictionary:
        """Return the dictionary of some of the codes, in their order."""
        cut = _Dictionary([self.values[code] for code in codes.tolist()], self._rank)
        if self._hashes:
            cut._hashes = [self._hashes[code] for code in codes[codes < len(self._hashes)].tolist()]
        return cut


def _hashed(value: Any) -> int:
    text = text_of_value(value)
    content = b"\0" if text is None else b"\1" + text.encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def _most_frequent(hashes: NDArray[np.uint64], n: NDArray[np.int64], most: int) -> NDArray[np.uint64]:
    """Return the hashes, in order, that stand for far more records than the mean, the most frequent in up to `most` cells."""
    distinct, of_cell, cells = np.unique(hashes, return_inverse=True, return_counts=True)
    if not len(distinct):
        return distinct
    records = np.bincount(of_cell, n)
    order = np.argsort(-records, kind="stable")
    order = order[(records[order] > 2.0 * records.mean()) & (np.cumsum(cells[order]) <= most)]
    return np.asarray(np.sort(distinct[order]))


def _known_as(value: Any) -> Hashable:
    """Return the dictionary key of a value, which keeps True apart from 1."""
    return (value,) if isinstance(value, bool) else value


def _texts(values: Sequence[Any]) -> bool | None:
    """Whether values are texts; None if there are only nulls."""
    first = next((value for value in values if value is not None), None)
    return None if first is None else isinstance(first, str)


def _mixed(values: Sequence[Any]) -> bool:
    """Whether there are truth values beside other values."""
    return len({isinstance(value, bool) for value in values if value is not None}) > 1


class MovingCounts:
    """The joint count table of the records in a moving window.

    Parameters
    ----------
    names
        The columns.
    limit
        The most combinations to hold, after which the table is `crowded`.
    ranks
        For columns whose values have an order of their own, such as blocks of a partition, the function that ranks them.
    sampled
        The columns by whose combinations a crowded table is thinned; none: it cannot be thinned.
    kept
        The columns whose values are also counted for records outside the sample.

    Examples
    --------
    >>> from unveil.sources.coding import encode_values
    >>> counts = MovingCounts(["age"])
    >>> places = counts.add(counts.coded([encode_values([30, 30, 41])]))
    >>> counts.remove(places[:1])
    >>> counts.table().to_dict()["cells"]
    [{'age': 30, 'n': 1}, {'age': 41, 'n': 1}]
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        limit: int = LARGEST_TABLE,
        ranks: Mapping[str, Rank] | None = None,
        sampled: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> None:
        self.names = tuple(names)
        self.sampled = tuple(sampled)
        self.halvings = 0
        self.certain: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._blank = [at for at, name in enumerate(self.names) if name not in kept]
        self._limit = limit
        self._ranks = dict(ranks or {})
        self._dictionaries = [_Dictionary(rank=self._ranks.get(name)) for name in self.names]
        self._rows = np.empty((_LEAST_ROOM, len(self.names)), dtype=np.uint32)
        self._n = np.zeros(_LEAST_ROOM, dtype=np.int64)
        self._slots = np.full(2 * _LEAST_ROOM, -1, dtype=np.int32)
        self._used = 0

    def __len__(self) -> int:
        """Return the number of combinations that some record holds."""
        return int(np.count_nonzero(self._n[: self._used]))

    @property
    def records(self) -> int:
        """The number of records held."""
        return int(self._n[: self._used].sum())

    @property
    def share(self) -> float:
        """The share of all combinations of the sampled columns that is kept; 1 means all."""
        return float(0.5**self.halvings)

    @property
    def crowded(self) -> bool:
        """Whether there are more combinations than the limit allows."""
        return self._used > self._limit and len(self) > self._limit

    def thin(self) -> NDArray[np.int64]:
        """Keep half of the combinations of the sampled columns; return the new place for each old place."""
        live = self._live()
        if not self.sampled or not len(live) or self.halvings == _MOST_HALVINGS:
            raise CountsError(
                f"the window holds {len(self):,} combinations of values, above the limit of {self._limit:,}, and they cannot be "
                "sampled: the keys share no column, or the sensitive values alone are too many. Measure fewer columns, give "
                "them partitions, take a smaller window, or raise the limit."
            )
        hashes = self._hashes(self._rows[live])
        known = np.ones(len(live), dtype=bool) if not self.halvings else np.isin(hashes, self.certain, kind="sort")
        self.certain = _most_frequent(hashes[known], self._n[live[known]], self._limit // _CERTAIN)
        self.halvings += 1
        self._rows[: self._used] = self.in_sample(self._rows[: self._used])
        return self._renumbered(np.flatnonzero(self._n[: self._used]))

    def in_sample(self, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return rows of codes, with blanks in the rows that are not in the sample."""
        if not self.halvings:
            return codes
        whole, out = np.flatnonzero(self._whole(codes)), codes.copy()
        hashes = self._hashes(codes[whole])
        gone = (hashes >> np.uint64(64 - self.halvings) != 0) & ~np.isin(hashes, self.certain, kind="sort")
        out[np.ix_(whole[gone], self._blank)] = _BLANK
        return out

    def _hashes(self, codes: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the hash of each combination of the sampled columns."""
        mixed = np.full(len(codes), 0x9E3779B97F4A7C15, dtype=np.uint64)
        for name in self.sampled:
            at = self.names.index(name)
            mixed = (mixed ^ self._dictionaries[at].hashes()[codes[:, at]]) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(32)))

    def _whole(self, codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return which rows are not blank."""
        return codes[:, self._blank[0]] != _BLANK if self._blank else np.ones(len(codes), dtype=bool)

    def marginal(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return how many records hold each combination of columns that are counted for all records."""
        live = np.flatnonzero(self._n[: self._used])
        columns = [self.names.index(name) for name in names]
        of_row, kept = group([self._rows[live, at] for at in columns], [len(self._dictionaries[at].values) for at in columns])
        total = np.zeros(len(kept[0]), dtype=np.int64)
        np.add.at(total, of_row, self._n[live])
        return total

    def coded(self, columns: Sequence[Coded]) -> NDArray[np.uint32]:
        """Return the rows of codes of a batch, one coded column per name; new values join the dictionaries."""
        rows = np.empty((len(columns[0].codes), len(columns)), dtype=np.uint32)
        for at, column in enumerate(columns):
            rows[:, at] = self._dictionaries[at].codes(column)
        return rows

    def add(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Count records, and return the place of each."""
        from unveil.counts.window_kernels import add_records

        places = np.empty(len(codes), dtype=np.int64)
        at = 0
        while at < len(codes):
            at, self._used = add_records(codes, at, self._rows, self._n, self._slots, self._used, places)
            if at < len(codes):
                self._make_room()
        return places

    def add_counted(self, codes: NDArray[np.uint32], amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add combinations counted elsewhere, and return the place of each; negative amounts subtract them."""
        from unveil.counts.window_kernels import add_counted, find_rows

        at = 0
        while at < len(codes):
            at, self._used = add_counted(codes, amounts, at, self._rows, self._n, self._slots, self._used)
            if at < len(codes):
                self._make_room()
        places = np.empty(len(codes), dtype=np.int64)
        find_rows(codes, self._rows, self._slots, places)
        return places

    def slide(self, codes: NDArray[np.uint32], ring: NDArray[np.int64], oldest: int, held: int) -> tuple[int, int]:
        """Count records, each taking the place of the oldest once the ring of places is full; return its oldest and length."""
        from unveil.counts.window_kernels import slide_records

        at = 0
        while at < len(codes):
            at, self._used, oldest, held = slide_records(
                codes, at, self._rows, self._n, self._slots, self._used, ring, oldest, held
            )
            if at < len(codes):
                self._make_room()
        return oldest, held

    def remove(self, places: NDArray[np.int64], amounts: NDArray[np.int64] | None = None) -> None:
        """Subtract records by their places: one at each place, or as many as `amounts` says."""
        from unveil.counts.window_kernels import subtract_counted, subtract_records

        if amounts is None:
            subtract_records(places, self._n)
        else:
            subtract_counted(places, amounts, self._n)

    def places_of(self, columns: Sequence[Coded]) -> NDArray[np.int64]:
        """Return the places of the combinations of some records; -1 if no such record is held."""
        from unveil.counts.window_kernels import find_rows

        codes = self.in_sample(self.coded(columns))
        places = np.empty(len(codes), dtype=np.int64)
        find_rows(codes, self._rows, self._slots, places)
        return places

    def held_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records are at each place; none at -1."""
        return np.where(places < 0, 0, self._n[places])

    def table(self) -> Counts:
        """Return the joint count table, equal to that of a table with the same records; for a sample, the table of the sample."""
        live = self._live()
        if not len(live):
            raise CountsError("the window holds no records.")
        return self._table_of(live)

    def strata(self) -> tuple[Counts | None, Counts | None]:
        """Return the count tables of the combinations kept for certain and of those drawn; None for an empty one."""
        live = self._live()
        certain = np.isin(self._hashes(self._rows[live]), self.certain, kind="sort")
        certainly, drawn = (self._table_of(part) if len(part) else None for part in (live[certain], live[~certain]))
        return certainly, drawn

    def _live(self) -> NDArray[np.int64]:
        """Return the places of combinations that some record holds and that are not blank."""
        return np.flatnonzero((self._n[: self._used] > 0) & self._whole(self._rows[: self._used]))

    def _table_of(self, live: NDArray[np.int64]) -> Counts:
        columns, codes = [], []
        for at, name in enumerate(self.names):
            values, place = self._dictionaries[at].ordered()
            columns.append(Column(name, values))
            codes.append(place[self._rows[live, at]])
        return Counts(tuple(columns), tuple(codes), self._n[live]).regrouped(columns, codes)

    def in_other_type(self, columns: Sequence[Coded]) -> list[str]:
        """Return the columns of a batch that hold texts where numbers were counted so far, or vice versa."""
        pairs = zip(self.names, self._dictionaries, columns, strict=True)
        return [
            name
            for name, known, column in pairs
            if known.values and None not in (mine := _texts(known.values), theirs := _texts(column.values)) and mine != theirs
        ]

    def as_text(self, name: str, waiting: Sequence[NDArray[np.uint32]] = ()) -> NDArray[np.int64]:
        """Turn the values of a column into texts after texts have arrived; waiting rows of codes are changed in place.

        Returns the new place of each old place: a number and its text are one value now, as in a table that holds both.
        """
        at = self.names.index(name)
        texts = [text_of_value(value) for value in self._dictionaries[at].values]
        new = _Dictionary(list(dict.fromkeys(texts)), self._ranks.get(name))
        place = {value: code for code, value in enumerate(new.values)}
        code = np.array([place[value] for value in texts], dtype=np.uint32)
        self._dictionaries[at] = new
        for rows in (self._rows[: self._used], *waiting):
            there = rows[:, at] != _BLANK
            rows[there, at] = code[rows[there, at]]
        return self._renumbered(np.arange(self._used))

    def is_full_of_old(self) -> bool:
        """Whether most combinations, or most values of a column, are held by no record any more."""
        if self._used >= _FORGET_FROM and 2 * len(self) <= self._used:
            return True
        most = max(len(dictionary.values) for dictionary in self._dictionaries)
        return most >= _FORGET_FROM and most >= 2 * max(len(self), 1)

    def forget(self, waiting: Sequence[NDArray[np.uint32]] = ()) -> NDArray[np.int64]:
        """Drop values and combinations that no record holds; rows of codes that wait to be counted are changed in place.

        Returns the new place for each old place, -1 for those dropped.
        """
        live = np.flatnonzero(self._n[: self._used])
        for at, dictionary in enumerate(self._dictionaries):
            there = live[self._rows[live, at] != _BLANK]
            used = np.zeros(len(dictionary.values), dtype=bool)
            used[self._rows[there, at]] = True
            for codes in waiting:
                used[codes[:, at]] = True
            kept = np.flatnonzero(used)
            code = (np.cumsum(used) - 1).astype(np.uint32)
            self._dictionaries[at] = dictionary.kept(kept)
            self._rows[there, at] = code[self._rows[there, at]]
            for codes in waiting:
                codes[:, at] = code[codes[:, at]]
        return self._renumbered(live)

    def _renumbered(self, live: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep some of the rows, merging equal ones, and return the new place for each old place."""
        before = self._used
        rows, n = self._rows[live].copy(), self._n[live].copy()
        room = max(_LEAST_ROOM, 1 << len(live).bit_length())
        self._rows = np.empty((room, len(self.names)), dtype=np.uint32)
        self._n = np.zeros(room, dtype=np.int64)
        self._slots = np.full(2 * room, -1, dtype=np.int32)
        self._used = 0
        of_live = self.add_counted(rows, n)
        places = np.full(before, -1, dtype=np.int64)
        places[live] = of_live
        return places

    def _make_room(self) -> None:
        from unveil.counts.window_kernels import refill_slots

        room = 2 * len(self._rows)
        self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._n = np.concatenate([self._n, np.zeros_like(self._n)])
        self._slots = np.full(2 * room, -1, dtype=np.int32)
        refill_slots(self._rows, self._used, self._slots)

    # What a checkpoint keeps --------------------------------------------------------------------------------------------

    def state(self) -> tuple[list[list[Any]], dict[str, NDArray[Any]]]:
        """Return the dictionaries, and the combinations with their records."""
        arrays: dict[str, NDArray[Any]] = {"rows": self._rows[: self._used], "n": self._n[: self._used], "certain": self.certain}
        return [d.values for d in self._dictionaries], arrays

    def restore(self, values: Sequence[Sequence[Any]], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave, places included."""
        if len(values) != len(self.names) or arrays["rows"].shape[1:] != (len(self.names),):
            raise ArgumentError("the state that was kept belongs to other columns than those counted.")
        self._dictionaries = [_Dictionary(known, self._ranks.get(name)) for name, known in zip(self.names, values, strict=True)]
        used = len(arrays["rows"])
        room = max(_LEAST_ROOM, 1 << used.bit_length())
        self._rows = np.empty((room, len(self.names)), dtype=np.uint32)
        self._rows[:used] = arrays["rows"]
        self._n = np.zeros(room, dtype=np.int64)
        self._n[:used] = arrays["n"]
        self._slots = np.full(2 * room, -1, dtype=np.int32)
        self._used = used
        self.certain = arrays["certain"].astype(np.uint64)
        from unveil.counts.window_kernels import refill_slots

        refill_slots(self._rows, used, self._slots)
