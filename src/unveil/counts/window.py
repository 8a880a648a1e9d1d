"""Counts that grow and expire: the joint count table of the records that a moving window holds.

Every column has a dictionary that grows as values come; a record is a row of their codes. The combinations that occur are kept
with their records as integers, so a record that expires leaves exactly what was there before it came, however many came and went.
What no record holds any more is forgotten from time to time, so memory follows the window, not the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import Column, Counts
from unveil.errors import ArgumentError, CountsError
from unveil.sources import Coded
from unveil.sources.coding import encode_values
from unveil.sources.streams.base import text_of_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_TABLE", "MovingCounts", "Rank"]

Rank: TypeAlias = "Callable[[Sequence[Any]], NDArray[np.int64]]"
"""Gives each of some values its place among them."""

_LEAST_ROOM = 1 << 10
_FORGET_FROM = 1 << 12
"""Combinations, or values, that no record holds are forgotten once there are this many, and as many as those in use."""
LARGEST_TABLE = 50_000_000
"""Combinations held at once, unless another limit is chosen."""


class _Dictionary:
    """The values of one column in the order in which they came; a code is a position among them."""

    __slots__ = ("_codes", "_order", "_rank", "values")

    def __init__(self, values: Sequence[Any] = (), rank: Rank | None = None) -> None:
        self.values: list[Any] = list(values)
        self._rank = rank
        self._codes: dict[Hashable, int] = {_known_as(value): code for code, value in enumerate(self.values)}
        self._order: tuple[Sequence[Any], NDArray[Any]] | None = None

    def codes(self, column: Coded) -> NDArray[np.uint32]:
        """Return the code of every record; values that are new get the next ones."""
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

    def found(self, column: Coded) -> NDArray[np.int64]:
        """Return the code of every record; -1 for a value that never came."""
        places = np.array([self._codes.get(_known_as(value), -1) for value in column.values], dtype=np.int64)
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
        return _Dictionary([self.values[code] for code in codes.tolist()], self._rank)


def _known_as(value: Any) -> Hashable:
    """Return what a value is told apart by: Python takes True for 1."""
    return (value,) if isinstance(value, bool) else value


def _texts(values: Sequence[Any]) -> bool | None:
    """Whether values are texts; None where there is nothing but a null."""
    first = next((value for value in values if value is not None), None)
    return None if first is None else isinstance(first, str)


def _mixed(values: Sequence[Any]) -> bool:
    """Whether truth values stand among others."""
    return len({isinstance(value, bool) for value in values if value is not None}) > 1


class MovingCounts:
    """The joint count table of records that come and go.

    Parameters
    ----------
    names
        The columns.
    limit
        The most combinations to hold; beyond it `CountsError` is raised.
    ranks
        For columns whose values are not in the order of values, such as blocks of a partition, what gives each value its place.

    Examples
    --------
    >>> from unveil.sources.coding import encode_values
    >>> counts = MovingCounts(["age"])
    >>> places = counts.add(counts.coded([encode_values([30, 30, 41])]))
    >>> counts.remove(places[:1])
    >>> counts.table().to_dict()["cells"]
    [{'age': 30, 'n': 1}, {'age': 41, 'n': 1}]
    """

    def __init__(self, names: Sequence[str], *, limit: int = LARGEST_TABLE, ranks: Mapping[str, Rank] | None = None) -> None:
        self.names = tuple(names)
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
        """The records held."""
        return int(self._n[: self._used].sum())

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
                self._make_room(undo=places[:at])
        return places

    def add_counted(self, codes: NDArray[np.uint32], amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count combinations that were counted elsewhere, and return the place of each; negative amounts take them off."""
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
        """Take records off again, by their places: one at each, or as many as `amounts` says."""
        from unveil.counts.window_kernels import subtract_counted, subtract_records

        if amounts is None:
            subtract_records(places, self._n)
        else:
            subtract_counted(places, amounts, self._n)

    def places_of(self, columns: Sequence[Coded]) -> NDArray[np.int64]:
        """Return where the combinations of some records stand; -1 where no record like it ever came."""
        from unveil.counts.window_kernels import find_rows

        found = np.stack([self._dictionaries[at].found(column) for at, column in enumerate(columns)], axis=1)
        unknown = (found < 0).any(axis=1)
        places = np.empty(len(found), dtype=np.int64)
        find_rows(np.where(found < 0, 0, found).astype(np.uint32), self._rows, self._slots, places)
        places[unknown] = -1
        return places

    def held_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records stand at each place; none at -1."""
        return np.where(places < 0, 0, self._n[places])

    def table(self) -> Counts:
        """Return the joint count table, as counting the same records in a table would give it."""
        live = np.flatnonzero(self._n[: self._used])
        if not len(live):
            raise CountsError("the window holds no records.")
        columns, codes = [], []
        for at, name in enumerate(self.names):
            values, place = self._dictionaries[at].ordered()
            columns.append(Column(name, values))
            codes.append(place[self._rows[live, at]])
        return Counts(tuple(columns), tuple(codes), self._n[live]).regrouped(columns, codes)

    def in_other_type(self, columns: Sequence[Coded]) -> list[str]:
        """Return the columns of a batch that hold texts where numbers were counted, or the other way round."""
        pairs = zip(self.names, self._dictionaries, columns, strict=True)
        return [
            name
            for name, known, column in pairs
            if known.values and None not in (mine := _texts(known.values), theirs := _texts(column.values)) and mine != theirs
        ]

    def as_text(self, name: str, waiting: Sequence[NDArray[np.uint32]] = ()) -> NDArray[np.int64]:
        """Turn the values of a column into texts, because texts have come; rows of codes that wait are changed in place.

        Returns the new place of each old place: a number and its text are one value now, as in a table that holds both.
        """
        at = self.names.index(name)
        texts = [text_of_value(value) for value in self._dictionaries[at].values]
        new = _Dictionary(list(dict.fromkeys(texts)), self._ranks.get(name))
        place = {value: code for code, value in enumerate(new.values)}
        code = np.array([place[value] for value in texts], dtype=np.uint32)
        self._dictionaries[at] = new
        for rows in (self._rows[: self._used], *waiting):
            rows[:, at] = code[rows[:, at]]
        return self._renumbered(np.arange(self._used))

    def values_of(self, name: str) -> list[Any]:
        """Return the values of a column that the dictionary knows."""
        return self._dictionaries[self.names.index(name)].values

    def is_full_of_old(self) -> bool:
        """Whether most combinations, or most values of a column, are held by no record any more."""
        if self._used >= _FORGET_FROM and 2 * len(self) <= self._used:
            return True
        most = max(len(dictionary.values) for dictionary in self._dictionaries)
        return most >= _FORGET_FROM and most >= 2 * max(len(self), 1)

    def forget(self, waiting: Sequence[NDArray[np.uint32]] = ()) -> NDArray[np.int64]:
        """Forget what no record holds; rows of codes that wait to be counted are changed in place.

        Returns the new place of each old place, -1 for those forgotten.
        """
        live = np.flatnonzero(self._n[: self._used])
        for at, dictionary in enumerate(self._dictionaries):
            used = np.zeros(len(dictionary.values), dtype=bool)
            used[self._rows[live, at]] = True
            for codes in waiting:
                used[codes[:, at]] = True
            kept = np.flatnonzero(used)
            code = (np.cumsum(used) - 1).astype(np.uint32)
            self._dictionaries[at] = dictionary.kept(kept)
            self._rows[live, at] = code[self._rows[live, at]]
            for codes in waiting:
                codes[:, at] = code[codes[:, at]]
        return self._renumbered(live)

    def _renumbered(self, live: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep some of the rows, equal ones together, and return the new place of each old place."""
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

    def _make_room(self, undo: NDArray[np.int64] | None = None) -> None:
        from unveil.counts.window_kernels import refill_slots

        if self._used >= self._limit:
            if undo is not None:
                self.remove(undo)
            raise CountsError(
                f"the window holds {self._used:,} combinations of values, which is the limit; measure fewer columns, give them "
                "partitions, or take a smaller window."
            )
        room = 2 * len(self._rows)
        self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._n = np.concatenate([self._n, np.zeros_like(self._n)])
        self._slots = np.full(2 * room, -1, dtype=np.int32)
        refill_slots(self._rows, self._used, self._slots)

    # What a checkpoint keeps --------------------------------------------------------------------------------------------

    def state(self) -> tuple[list[list[Any]], dict[str, NDArray[Any]]]:
        """Return the dictionaries, and the combinations with their records."""
        return [d.values for d in self._dictionaries], {"rows": self._rows[: self._used], "n": self._n[: self._used]}

    def restore(self, values: Sequence[Sequence[Any]], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave, places included."""
        if len(values) != len(self.names) or arrays["rows"].shape[1:] != (len(self.names),):
            raise ArgumentError("the state kept is of other columns than those counted.")
        self._dictionaries = [_Dictionary(known, self._ranks.get(name)) for name, known in zip(self.names, values, strict=True)]
        used = len(arrays["rows"])
        room = max(_LEAST_ROOM, 1 << used.bit_length())
        self._rows = np.empty((room, len(self.names)), dtype=np.uint32)
        self._rows[:used] = arrays["rows"]
        self._n = np.zeros(room, dtype=np.int64)
        self._n[:used] = arrays["n"]
        self._slots = np.full(2 * room, -1, dtype=np.int32)
        self._used = used
        from unveil.counts.window_kernels import refill_slots

        refill_slots(self._rows, used, self._slots)
