"""What if very large and very small values are not distinguished? Top and bottom coding."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_number, checked_word
from unveil.attributes import Names
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.columns import CellNulls, by_attribute, choose, numbers
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import watched

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["top_bottom_code"]

_REPLACEMENTS = ("limit", "mean")
_FEW = 3
"""The mean of fewer values than this reveals too much about each."""


@heeds_study
@checked_arguments
def top_bottom_code(  # noqa: PLR0913 - what it does, and who can repeat it
    data: Data,
    attributes: Names,
    *,
    top: float | Mapping[str, float] | None = None,
    bottom: float | Mapping[str, float] | None = None,
    top_share: float | Mapping[str, float] | None = None,
    bottom_share: float | Mapping[str, float] | None = None,
    replacement: str = "limit",
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Replace all values above a limit, or below one, by one value.

    Values between the limits are not changed, so the median and the quantiles there stay as they are.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns of numbers to code.
    top, bottom
        The limits: values above `top` and below `bottom` are replaced. One for all, or by attribute.
    top_share, bottom_share
        Used instead of a limit, the share of values to replace, above 0 and at most 1: the limit is the value beyond which this
        share of values lies, or less if there are ties.
    replacement
        ``"limit"``: the limit itself. ``"mean"``: the mean of the replaced values, which keeps totals and means.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay nulls. ``"drop"``: leave out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the order (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `top` and `bottom`, the limits, and `top_coded` and `bottom_coded`, the numbers of replaced values, by
        attribute.

    Notes
    -----
    Integers stay integers if their replacements are integers.

    References
    ----------
    .. [1] Willenborg, de Waal (2001), Elements of statistical disclosure control, Springer.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> pay = pl.DataFrame({"pay": [1, 20, 30, 40, 900]})
    >>> mechanisms.top_bottom_code(pay, "pay", top=50, bottom=10, keep_order=True).data["pay"].to_list()
    [10, 20, 30, 40, 50]
    >>> mechanisms.top_bottom_code(pay, "pay", top_share=0.4, replacement="mean", keep_order=True).data["pay"].to_list()
    [1, 20, 30, 470, 470]
    """
    checked_word("replacement", replacement, _REPLACEMENTS)
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    options = {"top": top, "bottom": bottom, "top_share": top_share, "bottom_share": bottom_share}
    by_option = {what: by_attribute(limit, chosen.names, what) for what, limit in options.items()}
    columns: dict[str, Any] = {}
    figures: dict[str, Any] = {"top": {}, "top_coded": {}, "bottom": {}, "bottom_coded": {}, "skipped": chosen.skipped}
    for name in chosen.each():
        column = chosen.column(name)
        values = numbers(column, "top and bottom coding")
        limits = watched(len(values), partial(_limits, name, values, {what: by.get(name) for what, by in by_option.items()}))
        beyond = {"top": values > limits["top"], "bottom": values < limits["bottom"]}
        columns[name] = _coded(column, values, limits, beyond, replacement)
        for side, rows in beyond.items():
            figures[side][name] = limits[side] if np.isfinite(limits[side]) else None
            figures[f"{side}_coded"][name] = int(rows.sum())
    settings = {**options, "replacement": replacement, "nulls": nulls}
    notes = _notes(figures, replacement)
    return treated("top and bottom coding", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=notes)


def _limits(name: str, values: NDArray[np.float64], options: Mapping[str, Any]) -> dict[str, float]:
    """Return both limits, infinite if none is requested."""
    ordered = np.sort(values[~np.isnan(values)])
    limits = {"top": np.inf, "bottom": -np.inf}
    for side in limits:
        limit, share = options[side], options[f"{side}_share"]
        if limit is not None and share is not None:
            raise ArgumentError(f"{side} and {side}_share are both given for {shown(name)}; give one of them.")
        if limit is not None:
            limits[side] = checked_number(f"{side} of {shown(name)}", limit)
        if share is not None and len(ordered):
            most = int(checked_number(f"{side}_share of {shown(name)}", share, above=0.0, most=1.0) * len(ordered))
            at = min(most, len(ordered) - 1)
            limits[side] = float(ordered[len(ordered) - 1 - at] if side == "top" else ordered[at])
    if all(option is None for option in options.values()):
        raise ArgumentError(f"attribute {shown(name)} has no limit; give top, bottom, top_share or bottom_share.")
    if limits["bottom"] > limits["top"]:
        raise ArgumentError(f"the bottom limit of {shown(name)} lies above the top limit; swap them.")
    return limits


def _coded(
    column: Any,
    values: NDArray[np.float64],
    limits: Mapping[str, float],
    beyond: Mapping[str, NDArray[np.bool_]],
    replacement: str,
) -> Any:
    """Return the column with the values beyond a limit replaced; unchanged if there are none."""
    stands_for = {
        side: limits[side] if replacement == "limit" else float(values[rows].mean())
        for side, rows in beyond.items()
        if rows.any()
    }
    if column.dtype.is_integer() and all(value.is_integer() for value in stands_for.values()):
        stands_for = {side: int(value) for side, value in stands_for.items()}
    else:
        column = column.cast(float)
    for side, value in stands_for.items():
        column = column.scatter(np.flatnonzero(beyond[side]), value)
    return column


def _notes(figures: Mapping[str, Any], replacement: str) -> tuple[str, ...]:
    """Return a note about a mean over so few values that it reveals them."""
    counts = {name for side in ("top", "bottom") for name, n in figures[f"{side}_coded"].items() if 0 < n < _FEW}
    if replacement != "mean" or not counts:
        return ()
    return (f"fewer than {_FEW} values of {', '.join(sorted(counts))} are coded at one end: their mean gives them away",)
