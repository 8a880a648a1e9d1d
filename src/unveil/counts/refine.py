"""How do classes split when one more column is known? Partition refinement, compiled.

The classes of a set of columns are kept as runs of cells; a class of a single cell cannot split any more and is removed, and its
contribution is carried along in two sums. The cost of splitting by a column depends on the remaining cells, not on the column's
cardinality: the counters have one entry per value, and only the entries that were touched are cleared.

A column that will not be added any more is summed out: within a class, cells that agree in all columns before it are merged. The
cells are in the order of their codes, first columns first, and splitting keeps that order, so that such cells are neighbours.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count
from unveil.counts.refine_kernels import split_classes, split_in_order, sum_out
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Refinement", "Refiner", "largest_subsets", "subsets_up_to"]

_JOINT = 1 << 14
"""Classes with at most this many pairs of a value and a sensitive value are tabulated during the split."""
_LOGS = 1 << 16
"""Below this n, n log2 n is looked up in a table."""
_ALL = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """The classes of one set of columns, and the sums that every measure of a scan needs.

    Attributes
    ----------
    cells, starts
        The cells of the classes that can still split, run by run, and where each run starts (one entry more than runs); both are
        empty if no class will be split any more.
    runs
        The number of classes of several cells.
    settled, settled_multiple, settled_single
        The number of classes of one cell, and of those among them that hold several records and one record.
    class_sum
        The sum over all classes of m log2 m, m being the class's mass.
    uncertainty
        The sum over all classes of m log2 m - sum_x m_x log2 m_x, which is total mass x H(X|Y).
    mixed, pure
        The number of runs with several sensitive values, and with one.
    independent
        Whether every run holds every sensitive value in the overall proportion (of records).
    """

    cells: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    runs: int
    settled_multiple: int
    settled_single: int
    settled_sum: float
    class_sum: float
    uncertainty: float
    mixed: int
    pure: int
    independent: bool

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.runs + self.settled_multiple + self.settled_single


class Refiner:
    """Cells with their codes, records, mass and sensitive value, ready to be split by one column after the other.

    Parameters
    ----------
    codes, sizes
        For every column the code of each cell, and its number of values.
    n, weight
        The records of every cell, and its weight, or None if every record counts one.
    sensitive, sensitive_sizes
        The code of every cell's sensitive value, and the records of each value (one value if none is named).
    """

    def __init__(
        self,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        n: NDArray[np.int64],
        weight: NDArray[np.float64] | None,
        sensitive: NDArray[np.int64],
        sensitive_sizes: NDArray[np.int64],
    ) -> None:
        records = int(sensitive_sizes.sum())
        self._sizes, self._weight, self._sensitive_sizes = sizes, weight, sensitive_sizes
        self._n: NDArray[Any] = n.astype(np.uint32 if records < 1 << 32 else np.int64)
        self._sensitive: NDArray[Any] = sensitive.astype(np.min_scalar_type(len(sensitive_sizes) - 1))
        self._logs = _m_log_m(np.arange(min(_LOGS, records + 1), dtype=np.float64))
        self._shifts, self._keys = _packed(codes, sizes)
        self._columns: Sequence[NDArray[Any]] = codes[len(self._shifts) :]
        self._in_order = bool((self._keys[1:] >= self._keys[:-1]).all())
        self._own = threading.local()

    def whole(self) -> Refinement:
        """Return the one class that holds every cell, before any column is known."""
        cells = np.arange(len(self._n), dtype=np.uint32)
        starts = np.array([0, len(cells)], dtype=np.uint32)
        return Refinement(cells, starts, 1, 0, 0, 0.0, 0.0, 0.0, 0, 0, independent=False)

    def split(self, parent: Refinement, at: int) -> Refinement:
        """Return the classes of the parent's columns and one more, given by its number.

        Columns are added from the last to the first, so after the first one only the sums may be needed.
        """
        if at == 0 and self._in_order:
            return self._last(parent)
        cells = np.empty(len(parent.cells), dtype=np.uint32)
        starts = np.empty(len(parent.cells) // 2 + 2, dtype=np.uint32)
        kept, *sums = split_classes(
            parent.cells, parent.starts, *self._digits(at), self._sizes[at], self._n, self._weight, self._sensitive,
            self._sensitive_sizes, self._logs, *self._workspace(), cells, starts,
        )  # fmt: skip
        cells = cells[:kept] if 2 * kept > len(cells) else cells[:kept].copy()
        return _refined(parent, cells, starts[: sums[0] + 1].copy(), tuple(sums))

    def _last(self, parent: Refinement) -> Refinement:
        """Return the sums of the classes split by the first column, after which nothing is split."""
        sums = split_in_order(
            parent.cells, parent.starts, self._keys, np.uint64(self._shifts[0]), _JOINT if self._sizes[0] <= _JOINT else 0,
            self._n, self._weight, self._sensitive, self._sensitive_sizes, self._logs, *self._workspace()[-3:],
        )  # fmt: skip
        return _refined(parent, parent.cells[:0], parent.starts[:1], sums)

    def gathered(self, parent: Refinement) -> tuple[Refiner, Refinement]:
        """Return the parent's classes with the cells of each class adjacent in memory."""
        made, cells = copy.copy(self), parent.cells
        parts = {"_keys": self._keys[cells], "_n": self._n[cells], "_sensitive": self._sensitive[cells]}
        weight = None if self._weight is None else self._weight[cells]
        vars(made).update(parts, _weight=weight, _columns=[column[cells] for column in self._columns])
        return made, replace(parent, cells=np.arange(len(cells), dtype=np.uint32))

    def without(self, parent: Refinement, at: int, *, least: int = 0, worth: float = 1.0) -> tuple[Refiner, Refinement] | None:
        """Return the parent's classes with a column, and those behind it, summed out.

        None if that saves little: there are fewer than `least` cells, or more than a share of `worth` of them are left. The
        saving is largest if the cells are in the order of their codes.
        """
        cells = len(parent.cells)
        if cells < least or at > len(self._shifts):
            return None
        counters, shift = self._workspace()[-3:], np.uint64(self._shifts[at - 1])
        room = cells + 1  # one more cell is written than kept
        keys, n, sensitive = np.empty(room, np.uint64), np.empty(room, self._n.dtype), np.empty(room, self._sensitive.dtype)
        weight = None if self._weight is None else np.empty(cells)
        starts = np.empty(len(parent.starts), dtype=np.uint32)
        kept, runs, multiple, single, settled_sum = sum_out(
            parent.cells, parent.starts, self._keys, shift, self._n, self._weight, self._sensitive, self._logs, *counters,
            keys, n, weight, sensitive, starts,
        )  # fmt: skip
        if kept > worth * cells:
            return None
        made = copy.copy(self)
        parts = {"_keys": keys, "_n": n, "_sensitive": sensitive, "_weight": weight}
        vars(made).update({name: None if part is None else part[:kept].copy() for name, part in parts.items()}, _columns=())
        settled = replace(
            parent,
            cells=np.arange(kept, dtype=np.uint32),
            starts=starts[: runs + 1].copy(),
            runs=runs,
            settled_multiple=parent.settled_multiple + multiple,
            settled_single=parent.settled_single + single,
            settled_sum=parent.settled_sum + settled_sum,
        )
        return made, settled

    def _digits(self, at: int) -> tuple[NDArray[Any], np.uint64, np.uint64]:
        """Return where the codes of a column are: the array (their own, or that of the keys), the shift and the mask."""
        if at >= len(self._shifts):
            return self._columns[at - len(self._shifts)], np.uint64(0), np.uint64(_ALL)
        return self._keys, np.uint64(self._shifts[at]), np.uint64((1 << _bits(self._sizes[at])) - 1)

    def _workspace(self) -> tuple[NDArray[Any], ...]:
        """Return the counters of this thread; they are zero between calls."""
        if not hasattr(self._own, "counters"):
            values, distinct = max(self._sizes), len(self._sensitive_sizes)
            self._own.counters = (
                np.zeros(values, dtype=np.uint32),
                np.empty(min(values, _JOINT), dtype=np.uint32),
                np.zeros(_JOINT, dtype=np.int64),
                np.empty(values, dtype=np.uint32),
                np.zeros(distinct, dtype=np.int64),
                np.zeros(0 if self._weight is None else distinct, dtype=np.float64),
                np.empty(distinct, dtype=np.uint32),
            )
        counters: tuple[NDArray[Any], ...] = self._own.counters
        return counters


def _refined(parent: Refinement, cells: NDArray[np.uint32], starts: NDArray[np.uint32], sums: tuple[Any, ...]) -> Refinement:
    """Return the classes with the sums that a kernel computed; those that were settled before stay settled."""
    runs, multiple, single, mixed, balanced, settled_sum, class_sum, uncertainty = sums
    settled_sum += parent.settled_sum
    multiple += parent.settled_multiple
    single += parent.settled_single
    return Refinement(
        cells, starts, runs, multiple, single, settled_sum, settled_sum + class_sum, uncertainty, mixed, runs - mixed,
        independent=multiple + single == 0 and balanced == runs,
    )  # fmt: skip


def _packed(codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[list[int], NDArray[np.uint64]]:
    """Pack as many columns as fit into a word, the first in its highest bits; return the shift of each, and the words."""
    shifts, free = [], 64
    for size in sizes:
        free -= _bits(size)
        if free < 0:
            break
        shifts.append(free)
    keys = np.zeros(len(codes[0]), dtype=np.uint64)
    for column, shift in zip(codes, shifts, strict=False):
        keys |= column.astype(np.uint64) << np.uint64(shift)
    return shifts, keys


def _bits(size: int) -> int:
    return max(size - 1, 1).bit_length()


def _m_log_m(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(m * np.log2(np.maximum(m, 1.0)))


_MOST_SUBSETS = 1 << 20


def subsets_up_to(columns: int, largest: int) -> int:
    """Return how many sets of one to `largest` columns there are."""
    return sum(math.comb(columns, size) for size in range(1, largest + 1))


def largest_subsets(attributes: int, max_size: int | None) -> int:
    """Return the largest size of a set of key attributes, or refuse if there are more sets than can be examined."""
    largest = attributes if max_size is None else min(checked_count("max_size", max_size, least=1), attributes)
    number = subsets_up_to(attributes, largest)
    if number > _MOST_SUBSETS:
        raise ArgumentError(
            f"{attributes} key attributes have {number:,} subsets of up to {largest}, more than {_MOST_SUBSETS:,}; "
            "name fewer, or give a smaller max_size."
        )
    return largest
