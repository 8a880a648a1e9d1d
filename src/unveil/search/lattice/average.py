r"""Which classes must be suppressed to meet an average risk, or a share of uniques? The smallest, and as few as possible.

The average risk of the classes that are kept is their number over the number of their records. Of all sets of m classes the m
smallest hold the fewest records and leave the lowest average, so no other choice of classes suppresses fewer records.

As many records as a generalisation has to suppress for it, finer ones have to suppress as well. Take the classes that a finer one
keeps: each lies in one of the coarser classes, of which there are no more, and which hold no fewer records. So keeping those
meets the average, too. In the same way, a record that is alone in a coarser class is alone in the finer one, so the share of
uniques in the sample is met as well.
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
    """Return the classes to suppress: those that are gone already, and the smallest of the others.

    Of equally small ones, those whose values come first stay, by the first key attribute, then by the second, and so on.

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
    """Return the classes to suppress: those that are gone already, and as many of one record as the model asks for."""
    rows = np.flatnonzero(~gone & (table.n > 0))
    number = model.excess(table.n[rows].astype(np.int64), records)
    return _without_smallest(table, fields, gone, rows, number) if number else gone


def _without_smallest(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], rows: NDArray[np.int64], number: int
) -> NDArray[np.bool_]:
    """Return the suppressed classes together with this many of the smallest of those left."""
    sizes = table.n[rows]
    last = np.partition(sizes, number - 1)[number - 1]
    suppressed = gone.copy()
    suppressed[rows[sizes < last]] = True
    suppressed[_last(table, fields, rows[sizes == last], number - int(np.count_nonzero(sizes < last)))] = True
    return suppressed


def _last(table: ClassTable, fields: Sequence[CodeField], rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the last of several classes in the order of their values; the order of a table's rows means nothing."""
    order = np.lexsort([table.codes(field, rows) for field in reversed(fields)])
    return rows[order[len(rows) - number :]]
