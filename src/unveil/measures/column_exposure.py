"""How far does one column, by itself, single out records? From the counts of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import CodedTable

__all__ = ["ColumnExposure", "column_exposure", "column_exposures"]


@dataclass(frozen=True, slots=True)
class ColumnExposure:
    """How far one column gives away who is who.

    Attributes
    ----------
    distinct
        How many different values it holds, null included.
    uniques
        How many records have a value that no other has.
    rate
        Its Discrimination Rate against record identity, from 0 to 1; 0 if there is one record.
    """

    distinct: int
    uniques: int
    rate: float


def column_exposure(sizes: NDArray[np.int64]) -> ColumnExposure:
    r"""Return what a column gives away by itself: :math:`DR = 1 - \sum_y n_y \log_2 n_y / (N \log_2 N)`.

    Examples
    --------
    >>> import unveil
    >>> column_exposure(unveil.count("paper-4", "Age").n)
    ColumnExposure(distinct=6, uniques=4, rate=0.7632...)
    """
    total = int(sizes.sum())
    rate = 1.0 - float((sizes * np.log2(sizes)).sum()) / (total * float(np.log2(total))) if total > 1 else 0.0
    return ColumnExposure(len(sizes), int((sizes == 1).sum()), rate)


def column_exposures(table: CodedTable, names: Sequence[str]) -> dict[str, ColumnExposure]:
    """Return what each of some columns of a table gives away by itself."""
    sizes = {one.name: np.bincount(one.codes, weights=table.n).astype(np.int64) for one in table.columns if one.name in names}
    return {name: column_exposure(sizes[name][sizes[name] > 0]) for name in names}
