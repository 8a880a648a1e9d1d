"""How many synthetic records equal an original record, and how many would do so by chance?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import require_columns
from unveil.counts import group
from unveil.mechanisms.columns import Chosen
from unveil.sources import Microdata, common_codes, open_microdata
from unveil.study import require_no_nulls

if TYPE_CHECKING:
    from unveil.sources import Data

__all__ = ["equal_shares", "equal_to_others"]

_ALONE = (
    "The share of records equal to a unique original one is not all disclosure: combinations also occur by chance. "
    "Give records of the same population that were not used (a hold-out) to see how many are equal to those."
)
_BESIDE = (
    "The hold-out was not used for the synthesis, so its share of equal records is chance; what the original has above that, in "
    "tables of the same size, was copied."
)


def equal_to_others(chosen: Chosen, release: Microdata, holdout: Data | None) -> tuple[dict[str, float], str]:
    """Return the shares of synthetic records that equal others, and a note on how to read them.

    Parameters
    ----------
    chosen
        The original records and the synthesised attributes.
    release
        The synthetic records.
    holdout
        Records of the same population that are not among the original ones; none: the shares are returned without a comparison.
    """
    shares = equal_shares(chosen.records, release, chosen.names)
    if holdout is None:
        return shares, _ALONE
    require_no_nulls(holdout, chosen.names)
    others = open_microdata(holdout)
    require_columns(chosen.names, others.names)
    beside = equal_shares(others, release, chosen.names)
    return {**shares, **{f"holdout_{name}": share for name, share in beside.items()}, "holdout_records": others.records}, _BESIDE


def equal_shares(original: Microdata, release: Microdata, names: Sequence[str]) -> dict[str, float]:
    """Return the share of released records that equal an original record, and the share that equal a unique one.

    Parameters
    ----------
    original, release
        The two tables.
    names
        The columns that must all be equal.
    """
    pairs = [common_codes(_plain(original.column(name)), _plain(release.column(name))) for name in names]
    codes = [np.concatenate(pair) + 1 for pair in pairs]  # a null is -1
    of_row, _ = group(codes, [int(column.max()) + 1 for column in codes])
    before, after = of_row[: original.records], of_row[original.records :]
    held = np.bincount(before, minlength=int(of_row.max()) + 1)[after]
    return {"equal_share": float(np.mean(held > 0)), "equal_to_unique_share": float(np.mean(held == 1))}


def _plain(column: Any) -> Any:
    """Return a column that can be compared with one of another type; mixed objects become their texts."""
    if str(column.dtype) != "Object":
        return column
    return type(column)(column.name, [None if value is None else str(value) for value in column.to_list()])
