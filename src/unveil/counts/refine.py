"""How do classes split when one more column is known? Partition refinement, compiled.

The classes of a set of columns are kept as runs of cells; a class of a single cell cannot split any more and is stripped,
its part carried along as two sums. Splitting by a column costs what the cells that are left cost, whatever the column's
cardinality: the counters have one entry a value and are cleared through the list of entries touched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
    """Cells with their records, mass and sensitive value, ready to be split by one column after the other.

    Parameters
    ----------
    n, weight
        The records of every cell, and its weight, or None where every record counts one.
    secret, secret_sizes
        The code of every cell's sensitive value, and the records of each value (one value where none is named).
    largest
        The number of values of the column that has most.
    """

    def __init__(
        self,
        n: NDArray[np.int64],
        weight: NDArray[np.float64] | None,
        secret: NDArray[np.int64],
        secret_sizes: NDArray[np.int64],
        largest: int,
    ) -> None:
        self._n = n.astype(np.uint32 if int(n.max()) < 1 << 32 else np.int64)
        self._weight, self._secret_sizes = weight, secret_sizes
        self._secret = secret.astype(np.min_scalar_type(len(secret_sizes) - 1))
        self._logs = _m_log_m(np.arange(min(_LOGS, int(n.sum()) + 1), dtype=np.float64))
        self._largest = largest

    def workspace(self) -> tuple[NDArray[Any], ...]:
        """Return the counters that one thread needs; they are zero between calls."""
        values, secrets = self._largest, len(self._secret_sizes)
        return (
            np.zeros(values, dtype=np.uint32),
            np.empty(min(values, _JOINT), dtype=np.uint32),
            np.zeros(_JOINT, dtype=np.int64),
            np.empty(min(values, len(self._n)), dtype=np.uint32),
            np.zeros(secrets, dtype=np.int64),
            np.zeros(0 if self._weight is None else secrets, dtype=np.float64),
            np.empty(secrets, dtype=np.uint32),
        )

    def whole(self) -> Refinement:
        """Return the one class that holds every cell, before any column is known."""
        cells = np.arange(len(self._n), dtype=np.uint32)
        starts = np.array([0, len(cells)], dtype=np.uint32)
        return Refinement(cells, starts, 0, 0, 0.0, 0.0, 0.0, 0, 0, independent=False)

    def split(self, parent: Refinement, codes: NDArray[Any], size: int, workspace: tuple[NDArray[Any], ...]) -> Refinement:
        """Return the classes of the parent's columns and one more, given by its code in every cell and its number of values."""
        cells = np.empty(len(parent.cells), dtype=np.uint32)
        starts = np.empty(len(parent.cells) // 2 + 2, dtype=np.uint32)
        kept, runs, multiple, single, mixed, balanced, settled_sum, class_sum, uncertainty = _split(
            parent.cells, parent.starts, codes, size, self._n, self._weight, self._secret, self._secret_sizes,
            self._logs, *workspace, cells, starts,
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
    cells, starts, codes, size_of_column, n, weight, secret, secret_sizes, logs,  # noqa: ANN001
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
            if codes[one] != codes[other]:
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
            code = codes[cells[at]]
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
            code = codes[cell]
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
        # what each new class says of the sensitive attribute
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
