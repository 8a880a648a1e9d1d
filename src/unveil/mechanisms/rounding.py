"""What if only round values are released? Rounding to multiples of a base, or to given values, to the nearest or at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
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

__all__ = ["round_values"]

_METHODS = ("nearest", "random")


@heeds_study
@checked_arguments
def round_values(
    data: Data,
    attributes: Names,
    *,
    base: float | Mapping[str, float] | None = None,
    values: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    method: str = "nearest",
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Replace numbers by round ones.

    With :math:`r_1 < r_2` the two round values around x, ``"random"`` chooses

    .. math:: P(r_2) = \frac{x - r_1}{r_2 - r_1},

    so that the released value is x on average. ``"nearest"`` chooses the nearer one, or the higher one in a tie.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns of numbers to round.
    base
        Its multiples are the round values. One for all, or by attribute.
    values
        The round values; numbers below the lowest and above the highest become these. One list for all, or by attribute. Give a
        base or values for every attribute.
    method
        ``"nearest"`` or ``"random"``.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay nulls. ``"drop"``: leave out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `changed`, the share of values that changed, and `distinct`, the number of remaining values, by
        attribute.

    Notes
    -----
    Integers stay integers if all round values are integers.

    References
    ----------
    .. [1] Willenborg, de Waal (2001), Elements of statistical disclosure control, Springer.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> ages = pl.DataFrame({"age": [17, 22, 25, 41]})
    >>> mechanisms.round_values(ages, "age", base=10, keep_order=True).data["age"].to_list()
    [20, 20, 30, 40]
    >>> mechanisms.round_values(ages, "age", values=[18, 30, 65], keep_order=True).data["age"].to_list()
    [18, 18, 30, 30]
    """
    checked_word("method", method, _METHODS)
    source, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    settings = {"base": base, "values": values, "method": method, "nulls": nulls}
    random = chosen.draws(source, "rounding", settings)
    bases, lists = by_attribute(base, chosen.names, "a base"), by_attribute(values, chosen.names, "a list of values")
    columns: dict[str, Any] = {}
    figures: dict[str, Any] = {"changed": {}, "distinct": {}, "skipped": chosen.skipped}
    for name in chosen.each():
        column = chosen.column(name)
        exact = numbers(column, "rounding")
        scale = _scale(name, bases.get(name), lists.get(name), exact)
        chance = random.random(len(exact)) if method == "random" else 0.5
        rounded, figures["changed"][name], figures["distinct"][name] = watched(
            len(exact), partial(_rounded_and_counted, exact, scale, chance)
        )
        columns[name] = _typed(rounded, column, scale)
    return treated("rounding", chosen, columns, settings, figures, source, keep_order=keep_order)


def _scale(name: str, base: Any, values: Any, exact: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the base and no values, or no base and the values, sorted."""
    if (base is None) == (values is None):
        raise ArgumentError(f"give attribute {shown(name)} a base or a list of values to round to, and not both.")
    if base is not None:
        step = checked_number(f"the base of {shown(name)}", base, above=0.0)
        if np.nanmax(np.abs(exact), initial=0.0) / step > 2.0**52:
            raise ArgumentError(f"the base of {shown(name)} is too small for values of this size; use a larger one.")
        return step, np.empty(0)
    wanted = np.unique([checked_number(f"a value to round {shown(name)} to", value) for value in values])
    if not len(wanted):
        raise ArgumentError(f"the list of values to round {shown(name)} to is empty.")
    return 0.0, wanted


def _rounded_and_counted(
    exact: NDArray[np.float64], scale: tuple[float, NDArray[np.float64]], chance: NDArray[np.float64] | float
) -> tuple[NDArray[np.float64], float, int]:
    """Return the rounded numbers, the share of them that changed, and the number of distinct ones."""
    rounded, present = _rounded(exact, scale, chance), ~np.isnan(exact)
    changed = float(np.mean(rounded[present] != exact[present])) if present.any() else 0.0
    return rounded, changed, len(np.unique(rounded[present]))


def _rounded(
    exact: NDArray[np.float64], scale: tuple[float, NDArray[np.float64]], chance: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the round value above if a number's relative distance from that below reaches its chance, else that below."""
    base, values = scale
    if base:
        steps = exact / base
        low = np.floor(steps)
        way = steps - low
        return np.asarray(np.round((low + ((way >= chance) & (way > 0.0))) * base, _decimals(base)))
    inside = np.clip(exact, values[0], values[-1])
    at = np.clip(np.searchsorted(values, inside, side="right") - 1, 0, max(len(values) - 2, 0))
    below, above = values[at], values[np.minimum(at + 1, len(values) - 1)]
    gap = np.where(above > below, above - below, 1.0)
    way = (inside - below) / gap
    return np.where(np.isnan(exact), np.nan, np.where((way >= chance) & (way > 0.0), above, below))


def _decimals(base: float) -> int:
    """Return the number of decimals that a multiple of the base can have, given how the base is written."""
    exponent = Decimal(repr(base)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _typed(rounded: NDArray[np.float64], column: Any, scale: tuple[float, NDArray[np.float64]]) -> Any:
    """Return integers if the column and all round values are integers."""
    whole = scale[0].is_integer() if scale[0] else bool(np.all(scale[1] == np.floor(scale[1])))
    if not column.dtype.is_integer() or not whole:
        return rounded
    missing = np.isnan(rounded)
    if missing.any():
        return [None if gone else int(value) for value, gone in zip(rounded, missing, strict=True)]
    return rounded.astype(np.int64)
