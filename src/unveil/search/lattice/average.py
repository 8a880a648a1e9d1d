r"""Which classes must be suppressed to meet an average risk, or a share of uniques? The smallest, and as few as possible.

The average risk is the number of classes kept divided by the number of their records. Of all sets of m classes, the m smallest
hold the fewest records and leave the lowest average, so no other choice of classes suppresses fewer records.

A finer generalisation has to suppress at least as many records as a coarser one. Take the classes that the finer one keeps: the
coarser classes that contain them are no more in number and hold no fewer records, so keeping these also meets the average.
Likewise, a record that is alone in a coarser class is alone in the finer one, so the share of uniques in the sample is met as
well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.models.base import TOLERANCE
from unveil.models.uniqueness import SizesModel
from unveil.search.lattice.class_table import ClassTable, CodeField

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gone_for_average", "gone_for_sizes"]


def gone_for_average(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], highest: float
) -> NDArray[np.bool_]:
    """Return the classes to suppress: those already suppressed, and the smallest of the others.

    Ties are decided by the classes' values, by the first key attribute, then by the second, and so on: those that come first are
    kept.

    Parameters
    ----------
    table, fields
        The classes, and where each key attribute is in their keys.
    gone
        Which of them are suppressed in any case.
    highest
        The highest average risk of the classes kept; it is met if none is kept.
    """
    rows = np.flatnonzero(~gone & (table.n > 0))
    sizes = table.n[rows]
    most = highest + TOLERANCE
    if len(rows) <= most * int(sizes.sum()):
        return gone
    left = int(sizes.sum()) - np.cumsum(np.sort(sizes), dtype=np.int64)
    number = 1 + int(np.argmax(len(rows) - np.arange(1, len(rows) + 1) <= most * left))
    return _without_smallest(table, fields, gone, rows, number)


def gone_for_sizes(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], model: SizesModel, records: int
) -> NDArray[np.bool_]:
    """Return the classes to suppress: those already suppressed, and as many classes of one record as the model requires."""
    rows = np.flatnonzero(~gone & (table.n > 0))
    number = model.excess(table.n[rows].astype(np.int64), records)
    return _without_smallest(table, fields, gone, rows, number) if number else gone


def _without_smallest(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], rows: NDArray[np.int64], number: int
) -> NDArray[np.bool_]:
    """Return the suppressed classes, together with the given number of the smallest of the others."""
    sizes = table.n[rows]
    last = np.partition(sizes, number - 1)[number - 1]
    suppressed = gone.copy()
    suppressed[rows[sizes < last]] = True
    suppressed[_last(table, fields, rows[sizes == last], number - int(np.count_nonzero(sizes < last)))] = True
    return suppressed


def _last(table: ClassTable, fields: Sequence[CodeField], rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the last of several classes in the order of their values, because the order of a table's rows is arbitrary."""
    order = np.lexsort([table.codes(field, rows) for field in reversed(fields)])
    return rows[order[len(rows) - number :]]
