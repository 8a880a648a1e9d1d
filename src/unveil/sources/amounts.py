"""What each combination of some columns amounts to: its records, the sum of a value, and its largest contributions.

An engine computes it where the data is, with a window function, and one row per combination comes here; no record does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.attributes import require_columns
from unveil.errors import NullsError
from unveil.sources import CodedTable, coded_table
from unveil.sources.engines.answers import tally_of
from unveil.sources.engines.table import EngineSource

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from unveil.sources.base import Source

__all__ = ["Contributions", "amounts"]


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Combinations of some columns, and what each amounts to.

    Attributes
    ----------
    table
        The combinations, coded, with their records.
    total, size
        The sum of the value, and of its size.
    top
        The largest contributions by their size, largest first.
    """

    table: CodedTable
    total: NDArray[np.float64]
    size: NDArray[np.float64]
    top: NDArray[np.float64]


def amounts(source: Source, columns: Sequence[str], value: str, top: int) -> Contributions | None:
    """Return what each combination of the columns amounts to; None where the source cannot compute it itself.

    Raises
    ------
    NullsError
        If the value is null in some record.
    """
    if not isinstance(source, EngineSource):
        return None
    require_columns([*columns, value], source.names)
    answer, numeric = source.contributions(columns, value, top)
    tally = tally_of(answer, columns, numeric=numeric)
    at = len(columns) + 1
    known = _numbers(answer, at)
    if tally.n is not None and (missing := int(tally.n.sum() - known.sum())):
        raise NullsError.present({value: missing})
    tops = np.stack([_numbers(answer, at + 3 + number) for number in range(top)], axis=1)
    table = coded_table(source.place, tally, columns, "category", None)
    return Contributions(table, _numbers(answer, at + 1), _numbers(answer, at + 2), tops)


def _numbers(answer: pl.DataFrame, at: int) -> NDArray[np.float64]:
    return answer.to_series(at).cast(float).fill_null(0.0).to_numpy().astype(np.float64)
