"""How many records of a release equal an original record? The chance hits of synthetic data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.grouping import group
from unveil.sources.alignment import common_codes

if TYPE_CHECKING:
    from unveil.sources.microdata import Microdata

__all__ = ["equal_shares"]


def equal_shares(original: Microdata, release: Microdata, names: Sequence[str]) -> dict[str, float]:
    """Return the share of release records that equal an original record, and of those that equal one which is unique.

    Parameters
    ----------
    original, release
        The two tables.
    names
        The columns that must be equal, all of them.
    """
    pairs = [common_codes(_plain(original.column(name)), _plain(release.column(name))) for name in names]
    codes = [np.concatenate(pair) + 1 for pair in pairs]  # a null is -1
    of_row, _ = group(codes, [int(column.max()) + 1 for column in codes])
    before, after = of_row[: original.records], of_row[original.records :]
    held = np.bincount(before, minlength=int(of_row.max()) + 1)[after]
    return {"equal_share": float(np.mean(held > 0)), "equal_to_unique_share": float(np.mean(held == 1))}


def _plain(column: Any) -> Any:
    """Return a column that can be compared with one of another type; mixed objects by their text."""
    if str(column.dtype) != "Object":
        return column
    return type(column)(column.name, [None if value is None else str(value) for value in column.to_list()])
