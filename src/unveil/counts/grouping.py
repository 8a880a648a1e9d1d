"""Which records, or cells, hold the same combination of codes? The arithmetic under every count table.

Codes of several columns are packed into one integer key, in mixed radix, so the order of keys is the order of the code
combinations. If the product of the cardinalities is small, a table over all of them is filled (dense); otherwise the
keys are sorted. Nothing of the size rows x cardinality is ever allocated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.compilation import Pace, compiled
from unveil.ordering import by_digits, order_of
from unveil.run import active_run, watched
from unveil.sources import encode_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Codes",
    "count_keys",
    "group",
    "group_sums",
    "group_sums_each",
    "in_strict_order",
    "merged",
    "places_among",
    "rows_alone",
    "summed",
    "tally",
    "united",
]

Codes: TypeAlias = "NDArray[np.integer[Any]]"

_LARGEST_KEY = 1 << 62
_LARGEST = (1 << 63) - 1
_COMPILE_FROM = 1 << 26
_DENSE = 1 << 16
"""A table over all combinations is filled if there are at most this many of them, or no more than rows."""
_SPARSE, _MOST_SPARSE = 32, 1 << 22
"""A table that is read only where it was filled may have this many entries per row, and so many in all."""
_SLOTS, _FACTOR = 20, np.uint64(0x9E3779B97F4A7C15)
"""The most slots to which keys are hashed, as a power of two, and the factor that spreads the keys over them."""
_FEW = 10
"""The number of values of a column up to which each is counted by a search for it."""
_CHUNK = 1 << 17
"""The number of rows processed at a time."""


def tally(codes: Sequence[Codes], sizes: Sequence[int]) -> tuple[list[Codes], NDArray[np.int64]]:
    """Count the rows of every code combination that occurs, in the order of the combinations.

    Parameters
    ----------
    codes
        One array of codes per column, all of the same length.
    sizes
        Each column's number of values; every code is below it.

    Returns
    -------
    tuple
        The codes of the non-empty cells, column by column, and how many rows each holds.
    """
    if len(codes) == 1 and len(codes[0]) <= _CHUNK and sizes[0] <= max(_DENSE, len(codes[0])):
        counts = _of_column(codes[0], sizes[0])
        used = np.flatnonzero(counts)
        return [used.astype(_smallest(sizes[0]))], counts[used].astype(np.int64, copy=False)
    return watched(_rows(codes), lambda: _tallied(_Keys.packed(codes, sizes)))


def _of_column(codes: Codes, size: int) -> NDArray[np.intp]:
    """Count how often each code of a column occurs; the fewest codes are searched for one by one, many rows at a time."""
    if size <= _FEW and codes.itemsize == 1:
        return np.array([np.count_nonzero(codes == code) for code in range(size)], dtype=np.intp)
    return np.bincount(codes.astype(np.intp, copy=False))


def _tallied(keys: _Keys) -> tuple[list[Codes], NDArray[np.int64]]:
    if keys.is_dense():
        counts = _counted(keys.key, keys.domain)
        used = np.flatnonzero(counts != 0)
        return keys.codes_of(used), counts[used].astype(np.int64, copy=False)
    if not keys.whole:
        ids, used = keys.ranked()
        return keys.codes_of(used), np.bincount(ids).astype(np.int64, copy=False)
    ordered = _in_order(keys.key, keys.domain)
    starts = np.flatnonzero(_first_of_run(ordered))
    return keys.codes_of(ordered.take(starts)), np.diff(starts, append=len(ordered)).astype(np.int64, copy=False)


def merged(codes: Sequence[Codes], sizes: Sequence[int], n: NDArray[np.int64]) -> tuple[list[Codes], NDArray[np.int64]]:
    """Return the code combinations that occur, in order, with the sum of `n`, in integers, for each."""
    run, keys = active_run(), _Keys.packed(codes, sizes)
    run.check()
    if keys.is_dense():
        used = np.flatnonzero(np.bincount(keys.key, minlength=keys.domain))
        return keys.codes_of(used), summed(keys.key, n, keys.domain)[used].astype(np.int64)
    if not keys.whole:
        ids, used = keys.ranked()
        run.check()
        return keys.codes_of(used), summed(ids, n, len(used)).astype(np.int64)
    order = order_of(keys.key, keys.domain) if by_digits(len(keys.key), keys.domain) else np.argsort(keys.key)
    run.check()
    n = n[order]
    ordered = keys.key[order]
    del keys, order
    first = _first_of_run(ordered)
    if first.all():
        return _digits(ordered, sizes), n
    return _digits(ordered[first], sizes), np.add.reduceat(n, np.flatnonzero(first))


def group_sums(codes: Sequence[Codes], sizes: Sequence[int], amounts: NDArray[Any]) -> tuple[list[Codes], NDArray[np.float64]]:
    """Return the code combinations that occur, in order, with the sum of the amounts for each."""
    keys = _Keys.packed(codes, sizes)
    if keys.is_dense():
        sums = summed(keys.key, amounts, keys.domain)
        positive = bool((amounts > 0).all())  # then the sum of every combination that occurs is not 0
        used = np.flatnonzero(sums if positive else np.bincount(keys.key, minlength=keys.domain))
        return keys.codes_of(used), sums[used]
    if keys.whole and (keys.key[1:] > keys.key[:-1]).all():  # every row is a combination of its own, in order
        cells: list[Codes] = [column.astype(_smallest(size), copy=False) for column, size in zip(codes, sizes, strict=True)]
        return cells, amounts.astype(np.float64)
    of_row, used = keys.ranked()
    cells = keys.codes_of(used)
    return cells, summed(of_row, amounts, len(used))


def group_sums_each(
    questions: Iterable[tuple[Sequence[Codes], Sequence[int], NDArray[Any]]],
) -> list[tuple[list[Codes], NDArray[np.float64]]]:
    """Answer several questions of `group_sums`."""
    return [group_sums(codes, sizes, amounts) for codes, sizes, amounts in questions]


def group(codes: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.int64], list[Codes]]:
    """Give each code combination that occurs a number, in their order.

    Returns
    -------
    tuple
        For each row the number of its combination, and the codes of the combinations, column by column.
    """
    return watched(_rows(codes), lambda: _grouped(_Keys.packed(codes, sizes)))


def _grouped(keys: _Keys) -> tuple[NDArray[np.int64], list[Codes]]:
    ids, used = keys.ranked()
    return ids, keys.codes_of(used)


def _rows(codes: Sequence[Codes]) -> int:
    return len(codes[0]) if codes else 0


def rows_alone(codes: Sequence[Codes], sizes: Sequence[int], others: Sequence[Codes], other_sizes: Sequence[int]) -> list[int]:
    """Count the rows that are unique by some columns, and by these columns together with each other column."""
    kept = watched(_rows(codes), lambda: _rows_alike(_Keys.packed(codes, sizes)))
    held = np.bincount(kept, minlength=len(kept))
    shared = np.flatnonzero(held > 1)
    left = np.flatnonzero(held.take(kept) > 1)  # the others stay alone, whatever is added
    place: NDArray[np.int64] = np.empty(len(kept), dtype=np.int64)
    place[shared] = np.arange(len(shared))
    among: Codes = place.take(kept.take(left))
    alone = len(kept) - len(left)
    pairs = zip(others, other_sizes, strict=True)
    return [alone, *(alone + _alone([among, other.take(left)], [len(shared), size]) for other, size in pairs)]


def _rows_alike(keys: _Keys) -> NDArray[Any]:
    """Return, for every row, one and the same row of all that hold its key; a hash only locates candidates."""
    if 4 * len(keys.key) > 1 << _SLOTS:
        ids, used = keys.ranked()
        return _last_of(ids, len(used)).take(ids)
    key, power = keys.key, min(_SLOTS, (8 * len(keys.key)).bit_length())
    slots = ((key.astype(np.uint64) * _FACTOR) >> np.uint64(64 - power)).view(np.int64)
    kept = _last_of(slots, 1 << power).take(slots)
    if len(others := np.flatnonzero(key.take(kept) != key)):  # their slot is that of another key
        order = np.argsort(key[others], kind="stable")
        first = _first_of_run(key[others[order]])
        kept[others[order]] = others[order[first]][np.cumsum(first) - 1]
    return kept


def _last_of(places: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Return the last row of every place that occurs; the entries of the others are arbitrary."""
    last = np.empty(number, dtype=np.uint32 if len(places) < 1 << 32 else np.int64)
    last[places] = np.arange(len(places), dtype=last.dtype)
    return last


def _alone(codes: Sequence[Codes], sizes: Sequence[int]) -> int:
    """Count the rows whose code combination is unique."""
    keys = _Keys.packed(codes, sizes)
    if keys.is_dense():
        return int(np.count_nonzero(_counted(keys.key, keys.domain) == 1))
    if keys.domain <= min(_SPARSE * len(keys.key), _MOST_SPARSE):
        return int(np.count_nonzero(np.bincount(keys.key, minlength=keys.domain).take(keys.key) == 1))
    if 4 * len(keys.key) <= 1 << _SLOTS:
        return int(np.count_nonzero(np.bincount(_rows_alike(keys)) == 1))
    first = _first_of_run(_in_order(keys.key, keys.domain))
    return int(np.count_nonzero(first & np.append(first[1:], True)))


def _in_order(key: NDArray[Any], domain: int) -> NDArray[Any]:
    """Return keys in order; `key` may be overwritten."""
    if by_digits(len(key), domain):
        return key.take(order_of(key, domain))
    key.sort()
    return key


def in_strict_order(codes: Sequence[Codes], sizes: Sequence[int]) -> bool:
    """Whether the code combinations strictly increase, so that each row is a group; False if they do not fit into a key."""
    if math.prod(sizes) >= _LARGEST_KEY:
        return False
    for piece in _pieces(len(codes[0])):
        rows = slice(max(piece.start - 1, 0), piece.stop)
        keys = _extended(None, [column[rows] for column in codes], sizes, _LARGEST_KEY)
        if not (keys[1:] > keys[:-1]).all():
            return False
    return True


def summed(of_row: NDArray[np.int64], values: NDArray[Any], number: int) -> NDArray[np.float64]:
    """Sum values by group, in floating point: exact for integers while the sums stay below 2^53."""
    return np.asarray(np.bincount(of_row, weights=values, minlength=number), dtype=np.float64)


def _counted(key: NDArray[Any], domain: int) -> NDArray[np.int64]:
    """Return how often each key occurs, by a compiled loop if it is compiled already or compiling it pays."""
    if len(key) >= _COMPILE_FROM or (len(key) >= domain and _PACE.pays(len(key))):
        return count_keys(key, domain)
    return np.bincount(key, minlength=domain).astype(np.int64, copy=False)


def count_keys(key: NDArray[Any], domain: int) -> NDArray[np.int64]:
    """Return how often each key from 0 to domain - 1 occurs, by a compiled loop that does not widen the keys first."""
    counts = np.zeros(domain, dtype=np.int64)
    _count(key, counts)
    return counts


@compiled
def _count(key, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for at in range(key.shape[0]):
        counts[np.uint64(key[at])] += 1


_PACE = Pace(_count, loads=False)


def _pieces(rows: int) -> Iterator[slice]:
    """Cut the rows into pieces that stay in the processor's cache."""
    return (slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK))


def _first_of_run(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark where each run of equal entries begins."""
    first = np.empty(len(ordered), dtype=bool)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _ranked_by_sorting(key: NDArray[np.int64], domain: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's rank among the keys that occur, and those keys in order; `key` is overwritten.

    If a key and a row number fit into one integer together they are sorted as one, in place: less memory, and faster
    than sorting an index.
    """
    rows = len(key)
    row: NDArray[Any]
    if (key[1:] >= key[:-1]).all():  # cells of a count table, by their first columns
        first = _first_of_run(key)
        return np.cumsum(first, dtype=np.int64) - 1, key[first]
    if by_digits(rows, domain):
        row = order_of(key, domain)
        key = key[row]
    elif domain * rows <= _LARGEST:
        row = np.empty(rows, dtype=np.min_scalar_type(max(rows - 1, 0)))
        for piece in _pieces(rows):
            key[piece] *= rows
            key[piece] += np.arange(piece.start, piece.stop)
        key.sort()
        for piece in _pieces(rows):
            above = key[piece] // rows
            row[piece] = key[piece] - above * rows
            key[piece] = above
    else:
        row = np.argsort(key)
        key = key[row]
    first = _first_of_run(key)
    used = key[first]
    rank = -1
    for piece in _pieces(rows):
        ranks = rank + np.cumsum(first[piece])
        key[row[piece]] = ranks
        rank = int(ranks[-1])
    return key, used


class _Keys:
    """Packed keys of some columns, from which the columns' codes can be recovered.

    A key that holds all columns gives their codes as its digits. If the columns did not fit into one key, those packed so
    far were replaced by their ranks, and codes are looked up in a row that holds the key.
    """

    __slots__ = ("_codes", "_sizes", "domain", "key", "whole")

    def __init__(self, key: NDArray[Any], domain: int, codes: Sequence[Codes], sizes: Sequence[int], *, whole: bool) -> None:
        self.key, self.domain, self.whole = key, domain, whole
        self._codes, self._sizes = codes, sizes

    @classmethod
    def packed(cls, codes: Sequence[Codes], sizes: Sequence[int]) -> _Keys:
        """Pack the columns, replacing keys by their ranks whenever the next column would overflow them."""
        key: NDArray[Any] | None = None
        domain, at, whole = 1, 0, True
        while at < len(codes):
            end, wider = at, domain
            while end < len(codes) and wider * sizes[end] < _LARGEST_KEY:
                wider *= sizes[end]
                end += 1
            if end > at:
                key, domain = _extended(key, codes[at:end], sizes[at:end], wider), wider
                at = end
            elif key is not None:
                key, used = _ranked_by_sorting(key.astype(np.int64, copy=False), domain)
                domain, whole = len(used), False
        return cls(key if key is not None else np.zeros(0, dtype=np.int64), domain, codes, sizes, whole=whole)

    def is_dense(self) -> bool:
        """Whether a table over the whole domain costs no more than the keys themselves."""
        return self.domain <= max(_DENSE, len(self.key))

    def ranked(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each row's rank among the keys that occur, and those keys in order; the keys are overwritten.

        If codes cannot be read off a key, the ranks themselves stand for the keys.
        """
        if self.is_dense():
            occurs = np.zeros(self.domain, dtype=bool)
            occurs[self.key] = True
            used = np.flatnonzero(occurs)
            every = len(used) == self.domain
            ids = self.key.astype(np.int64) if every else (np.cumsum(occurs, dtype=np.int64) - 1)[self.key]
        else:
            ids, used = _ranked_by_sorting(self.key.astype(np.int64, copy=False), self.domain)
        if self.whole:
            return ids, used
        self.key, self.domain = ids, len(used)
        return ids, np.arange(len(used))

    def codes_of(self, keys: NDArray[np.int64]) -> list[Codes]:
        """Return the codes that each key stands for, column by column, in the smallest type."""
        if self.whole:
            return _digits(keys, self._sizes)
        holder = np.empty(self.domain, dtype=np.min_scalar_type(len(self.key)))
        holder[self.key] = np.arange(len(self.key), dtype=holder.dtype)
        rows = holder[keys]
        return [column[rows].astype(_smallest(size), copy=False) for column, size in zip(self._codes, self._sizes, strict=True)]


def _extended(key: NDArray[Any] | None, codes: Sequence[Codes], sizes: Sequence[int], domain: int) -> NDArray[Any]:
    """Append columns to a key as its lowest digits, a piece of rows at a time."""
    kind = np.int32 if domain <= np.iinfo(np.int32).max else np.int64
    first, rest = (codes[0], 1) if key is None else (key, 0)
    packed = np.empty(len(first), dtype=kind)
    for piece in _pieces(len(first)):
        part: NDArray[Any] = packed[piece]
        part[:] = first[piece]
        for column, size in zip(codes[rest:], sizes[rest:], strict=True):
            np.multiply(part, kind(size), out=part)
            np.add(part, column[piece], out=part, casting="unsafe")
    return packed


def _digits(keys: NDArray[np.int64], sizes: Sequence[int]) -> list[Codes]:
    """Return the digits of each key, column by column; unsigned division by a constant is what numpy does fastest."""
    kind = np.uint32 if math.prod(sizes) <= 1 << 32 else np.uint64
    columns: list[Codes] = [np.empty(len(keys), dtype=_smallest(size)) for size in sizes]
    for piece in _pieces(len(keys)):
        rest: NDArray[Any] = keys[piece].astype(kind)
        for digits, size in zip(reversed(columns), reversed(sizes), strict=True):
            above = rest // kind(size)
            digits[piece] = rest - above * kind(size)
            rest = above
    return columns


def _smallest(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the codes below `size`."""
    return np.min_scalar_type(max(size - 1, 0))


def places_among(known: Sequence[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    """Return where each value is among the known ones; -1 if it is none of them.

    Examples
    --------
    >>> places_among(["flu", "hiv"], ["hiv", "cold"]).tolist()
    [1, -1]
    >>> places_among([1, True, 1.0], [1.0, 1]).tolist()
    [2, 0]
    """
    place: dict[Hashable, int] = {value: at for at, value in enumerate(known)}
    if len(place) < len(known):
        place = {_type_and_text(value): at for at, value in enumerate(known)}
        values = [_type_and_text(value) for value in values]
    return np.fromiter((place.get(value, -1) for value in values), dtype=np.int64, count=len(values))


def united(mine: Sequence[Any], theirs: Sequence[Any]) -> tuple[Sequence[Any], NDArray[Any], NDArray[Any]]:
    """Return the union of two columns' values, in the order of a single column, and the positions of each column's values."""
    equal = len(set(mine)) < len(mine) or len(set(theirs)) < len(theirs)
    both = encode_values([*mine, *theirs], as_objects=equal)
    return both.values, both.codes[: len(mine)], both.codes[len(mine) :]


def _type_and_text(value: Any) -> Hashable:
    return tuple(map(_type_and_text, value)) if isinstance(value, tuple) else (type(value).__name__, str(value))
