"""How do classes split when one more column is known? Partition refinement, compiled.

The classes of a set of columns are kept as runs of cells; a class of a single cell cannot split any more and is stripped,
its part carried along as two sums. Splitting by a column costs what the cells that are left cost, whatever the column's
cardinality: the counters have one entry a value and are cleared through the list of entries touched.

A column that will not be added any more is summed out: within a class, cells that agree in all columns before it become one. The
cells stand in the order of their codes, first columns first, and splitting keeps that order, so that such cells are neighbours.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Refinement", "Refiner"]

_JOINT = 1 << 14
"""Classes with at most this many pairs of a value and a sensitive value are tabulated while they are split."""
_LOGS = 1 << 16
"""n log2 n is looked up below this."""
_ALL = (1 << 64) - 1
_SUM_FROM = 1 << 10
"""Fewer cells are not worth summing a column out."""
_WORTH = 0.9
"""The share of the cells that may be left where a column is summed out, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """The classes of one set of columns, and the sums that every measure of a scan needs.

    Attributes
    ----------
    cells, starts
        The cells of the classes that can still split, run by run, and where each run starts (one entry more than runs).
    settled, settled_multiple, settled_single
        Classes of one cell: how many, how many of them hold several records, how many hold one record.
    class_sum
        The sum over all classes of m log2 m, m being the class's mass.
    uncertainty
        The sum over all classes of m log2 m - sum_x m_x log2 m_x, which is total mass x H(X|Y).
    mixed, pure
        Runs with several sensitive values, and with one.
    independent
        Whether every run holds every sensitive value in the overall proportion (of records).
    """

    cells: NDArray[np.uint32]
    starts: NDArray[np.uint32]
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
        return len(self.starts) - 1 + self.settled_multiple + self.settled_single


class Refiner:
    """Cells with their codes, records, mass and sensitive value, ready to be split by one column after the other.

    Parameters
    ----------
    codes, sizes
        For every column the code of each cell, and its number of values.
    n, weight
        The records of every cell, and its weight, or None where every record counts one.
    secret, secret_sizes
        The code of every cell's sensitive value, and the records of each value (one value where none is named).
    """

    def __init__(
        self,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        n: NDArray[np.int64],
        weight: NDArray[np.float64] | None,
        secret: NDArray[np.int64],
        secret_sizes: NDArray[np.int64],
    ) -> None:
        records = int(secret_sizes.sum())
        self._columns: Sequence[NDArray[Any]] = codes
        self._sizes, self._weight, self._secret_sizes = sizes, weight, secret_sizes
        self._n: NDArray[Any] = n.astype(np.uint32 if records < 1 << 32 else np.int64)
        self._secret: NDArray[Any] = secret.astype(np.min_scalar_type(len(secret_sizes) - 1))
        self._logs = _m_log_m(np.arange(min(_LOGS, records + 1), dtype=np.float64))
        self._shifts, self._keys = _packed(codes, sizes)
        self._own = threading.local()

    def whole(self) -> Refinement:
        """Return the one class that holds every cell, before any column is known."""
        cells = np.arange(len(self._n), dtype=np.uint32)
        starts = np.array([0, len(cells)], dtype=np.uint32)
        return Refinement(cells, starts, 0, 0, 0.0, 0.0, 0.0, 0, 0, independent=False)

    def split(self, parent: Refinement, at: int) -> Refinement:
        """Return the classes of the parent's columns and one more, given by its number."""
        cells = np.empty(len(parent.cells), dtype=np.uint32)
        starts = np.empty(len(parent.cells) // 2 + 2, dtype=np.uint32)
        kept, runs, multiple, single, mixed, balanced, settled_sum, class_sum, uncertainty = _split(
            parent.cells, parent.starts, *self._digits(at), self._sizes[at], self._n, self._weight, self._secret,
            self._secret_sizes, self._logs, *self._workspace(), cells, starts,
        )  # fmt: skip
        settled_sum += parent.settled_sum
        settled = multiple + single + parent.settled_multiple + parent.settled_single
        return Refinement(
            cells[:kept] if 2 * kept > len(cells) else cells[:kept].copy(),
            starts[: runs + 1].copy(),
            parent.settled_multiple + multiple,
            parent.settled_single + single,
            settled_sum,
            settled_sum + class_sum,
            uncertainty,
            mixed,
            runs - mixed,
            independent=settled == 0 and balanced == runs,
        )

    def without(self, parent: Refinement, at: int) -> tuple[Refiner, Refinement] | None:
        """Return the parent's classes with a column, and those behind it, summed out; None where that saves little.

        It saves most where the cells stand in the order of their codes.
        """
        cells = len(parent.cells)
        if cells < _SUM_FROM or at > len(self._shifts):
            return None
        counters, shift = self._workspace()[-3:], np.uint64(self._shifts[at - 1])
        keys, n, secret = np.empty(cells, np.uint64), np.empty(cells, self._n.dtype), np.empty(cells, self._secret.dtype)
        weight = None if self._weight is None else np.empty(cells)
        starts = np.empty(len(parent.starts), dtype=np.uint32)
        kept, runs, multiple, single, settled_sum = _sum_out(
            parent.cells, parent.starts, self._keys, shift, self._n, self._weight, self._secret, self._logs, *counters,
            keys, n, weight, secret, starts,
        )  # fmt: skip
        if kept > _WORTH * cells:
            return None
        made = copy.copy(self)
        parts = {"_keys": keys, "_n": n, "_secret": secret, "_weight": weight}
        vars(made).update({name: None if part is None else part[:kept].copy() for name, part in parts.items()}, _columns=())
        settled = replace(
            parent,
            cells=np.arange(kept, dtype=np.uint32),
            starts=starts[: runs + 1].copy(),
            settled_multiple=parent.settled_multiple + multiple,
            settled_single=parent.settled_single + single,
            settled_sum=parent.settled_sum + settled_sum,
        )
        return made, settled

    def _digits(self, at: int) -> tuple[NDArray[Any], np.uint64, np.uint64]:
        """Return where the codes of a column stand: in an array of their own or within the keys, at a shift, under a mask."""
        if self._columns:
            return self._columns[at], np.uint64(0), np.uint64(_ALL)
        return self._keys, np.uint64(self._shifts[at]), np.uint64((1 << _bits(self._sizes[at])) - 1)

    def _workspace(self) -> tuple[NDArray[Any], ...]:
        """Return the counters of this thread; they are zero between calls."""
        if not hasattr(self._own, "counters"):
            values, secrets = max(self._sizes), len(self._secret_sizes)
            self._own.counters = (
                np.zeros(values, dtype=np.uint32),
                np.empty(min(values, _JOINT), dtype=np.uint32),
                np.zeros(_JOINT, dtype=np.int64),
                np.empty(values, dtype=np.uint32),
                np.zeros(secrets, dtype=np.int64),
                np.zeros(0 if self._weight is None else secrets, dtype=np.float64),
                np.empty(secrets, dtype=np.uint32),
            )
        counters: tuple[NDArray[Any], ...] = self._own.counters
        return counters


def _packed(codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[list[int], NDArray[np.uint64]]:
    """Pack the first columns into a word, as many as fit, the first one highest; return where each stands, and the words."""
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


@compiled_in_place
def _term(n, logs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return n log2 n, from the table where n is small."""
    if n < logs.shape[0]:
        return logs[n]
    return n * math.log2(n)


@compiled
def _split(  # type: ignore[no-untyped-def]  # noqa: ANN202, C901, PLR0912, PLR0913, PLR0915 - one loop, kept whole for speed
    cells, starts, codes, shift, mask, size_of_column, n, weight, secret, secret_sizes, logs,  # noqa: ANN001
    value_count, slot, joint, touched, secret_n, secret_mass, secret_touched,  # noqa: ANN001
    out_cells, out_starts,  # noqa: ANN001
):  # fmt: skip
    kept = runs = total = 0
    multiple = single = mixed = balanced_runs = 0
    settled_sum = class_sum = uncertainty = 0.0
    secrets_all = secret_sizes.shape[0]
    tabulates = size_of_column <= slot.shape[0]
    for x in range(secrets_all):
        total += secret_sizes[x]
    out_starts[0] = 0
    for run in range(starts.shape[0] - 1):
        begin, end = starts[run], starts[run + 1]
        if end - begin == 2:  # noqa: PLR2004
            # most classes are pairs of cells: they stay together or both are stripped
            one, other = cells[begin], cells[begin + 1]
            n_one, n_other = np.int64(n[one]), np.int64(n[other])
            if weight is None:
                term_one, term_other = _term(n_one, logs), _term(n_other, logs)
            else:
                term_one, term_other = weight[one] * math.log2(weight[one]), weight[other] * math.log2(weight[other])
            if (codes[one] ^ codes[other]) >> shift & mask:
                settled_sum += term_one + term_other
                alone = (n_one == 1) + (n_other == 1)
                single += alone
                multiple += 2 - alone
                continue
            out_cells[kept] = one
            out_cells[kept + 1] = other
            kept += 2
            runs += 1
            out_starts[runs] = kept
            n_both = n_one + n_other
            term = _term(n_both, logs)
            if weight is not None:
                both = weight[one] + weight[other]
                term = both * math.log2(both)
            class_sum += term
            if secret[one] != secret[other]:
                mixed += 1
                uncertainty += term - term_one - term_other
                if secret_sizes.shape[0] == 2 and n_one * total == secret_sizes[secret[one]] * n_both:  # noqa: PLR2004
                    balanced_runs += 1
            elif secret_sizes.shape[0] == 1:
                balanced_runs += 1
            continue
        # how many cells of this class hold each value, and which values occur
        values = 0
        for at in range(begin, end):
            code = np.int64((codes[cells[at]] >> shift) & mask)
            if value_count[code] == 0:
                touched[values] = code
                values += 1
            value_count[code] += 1
        # where each value's cells go; a value of one cell is marked to be stripped
        place = kept
        first_run = runs
        tabulate = weight is None and tabulates and values * secrets_all <= min(end - begin, joint.shape[0])
        for t in range(values):
            code = touched[t]
            if tabulate:
                slot[code] = t * secrets_all
            size = value_count[code]
            if size == 1:
                value_count[code] = 0xFFFFFFFF
            else:
                value_count[code] = place
                place += size
                runs += 1
                out_starts[runs] = place
        for at in range(begin, end):
            cell = cells[at]
            code = np.int64((codes[cell] >> shift) & mask)
            to = value_count[code]
            if to == 0xFFFFFFFF:  # noqa: PLR2004
                if weight is None:
                    settled_sum += _term(n[cell], logs)
                else:
                    settled_sum += weight[cell] * math.log2(weight[cell])
                if n[cell] == 1:
                    single += 1
                else:
                    multiple += 1
            else:
                out_cells[to] = cell
                value_count[code] = to + 1
                if tabulate:
                    joint[slot[code] + secret[cell]] += n[cell]
        for t in range(values):
            value_count[touched[t]] = 0
        kept = place
        if tabulate:
            for t in range(values):
                class_n = 0
                secrets = 0
                balanced = True
                first = t * secrets_all
                for x in range(secrets_all):
                    class_n += joint[first + x]
                    secrets += joint[first + x] > 0
                if class_n == 0:
                    continue
                term = _term(class_n, logs)
                class_sum += term
                for x in range(secrets_all):
                    n_x = joint[first + x]
                    term -= _term(n_x, logs)
                    balanced &= n_x * total == secret_sizes[x] * class_n
                    joint[first + x] = 0
                if secrets > 1:
                    mixed += 1
                    uncertainty += term
                balanced_runs += balanced
            continue
        # what each new class says about the sensitive attribute
        for new in range(first_run, runs):
            class_n = 0
            class_mass = 0.0
            secrets = 0
            for at in range(out_starts[new], out_starts[new + 1]):
                cell = out_cells[at]
                x = secret[cell]
                if secret_n[x] == 0:
                    secret_touched[secrets] = x
                    secrets += 1
                secret_n[x] += n[cell]
                class_n += n[cell]
                if weight is not None:
                    secret_mass[x] += weight[cell]
                    class_mass += weight[cell]
            term = _term(class_n, logs) if weight is None else class_mass * math.log2(class_mass)
            class_sum += term
            balanced = secrets == secret_sizes.shape[0]
            for t in range(secrets):
                x = secret_touched[t]
                if weight is None:
                    term -= _term(secret_n[x], logs)
                else:
                    term -= secret_mass[x] * math.log2(secret_mass[x])
                    secret_mass[x] = 0.0
                if balanced and secret_n[x] * total != secret_sizes[x] * class_n:
                    balanced = False
                secret_n[x] = 0
            if secrets > 1:
                mixed += 1
                uncertainty += term
            if balanced:
                balanced_runs += 1
    return kept, runs, multiple, single, mixed, balanced_runs, settled_sum, class_sum, uncertainty


@compiled
def _sum_out(  # type: ignore[no-untyped-def]  # noqa: ANN202, C901, PLR0913 - one loop, kept whole for speed
    cells, starts, keys, shift, n, weight, secret, logs, secret_n, secret_mass, secret_touched,  # noqa: ANN001
    out_keys, out_n, out_weight, out_secret, out_starts,  # noqa: ANN001
):  # fmt: skip
    """Make one cell of neighbours whose keys begin alike and that hold one sensitive value; runs of one cell are stripped."""
    kept = runs = multiple = single = 0
    settled_sum = 0.0
    out_starts[0] = 0
    for run in range(starts.shape[0] - 1):
        at, end, begin = starts[run], starts[run + 1], kept
        while at < end:
            key, secrets = keys[cells[at]], 0
            while at < end and (keys[cells[at]] ^ key) >> shift == 0:
                cell = cells[at]
                x = secret[cell]
                if secret_n[x] == 0:
                    secret_touched[secrets] = x
                    secrets += 1
                secret_n[x] += n[cell]
                if weight is not None:
                    secret_mass[x] += weight[cell]
                at += 1
            for t in range(secrets):
                x = secret_touched[t]
                out_keys[kept], out_n[kept], out_secret[kept] = key, secret_n[x], x
                secret_n[x] = 0
                if weight is not None:
                    out_weight[kept] = secret_mass[x]
                    secret_mass[x] = 0.0
                kept += 1
        if kept - begin > 1:
            runs += 1
            out_starts[runs] = kept
            continue
        kept = begin
        if weight is None:
            settled_sum += _term(out_n[begin], logs)
        else:
            settled_sum += out_weight[begin] * math.log2(out_weight[begin])
        if out_n[begin] == 1:
            single += 1
        else:
            multiple += 1
    return kept, runs, multiple, single, settled_sum
