r"""How many records of a generalised table meet a query? An estimate under the uniform assumption.

A generalised value covers several values, which are assumed to be equally likely. A record counts with the share of them that
meets the condition or, for conditions on several columns, with the product of the shares:

.. math:: \sum_r \prod_c \frac{|\{v \in r_c : v \text{ meets } c\}|}{|r_c|}

The values that a generalised value covers follow from its hierarchy, from a domain of values, or from itself: an interval of
whole numbers, a masked number, a set. `Anatomy.count` answers the same queries from tables that kept every value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.partitions import Generalised, is_suppressed, parse_generalised, point_of
from unveil.study import count

if TYPE_CHECKING:
    from unveil.partitions import Hierarchy
    from unveil.sources import Data

__all__ = ["uniform_count"]

_MOST_VALUES = 1_000_000
"""The largest number of integers that an interval may cover."""


def uniform_count(
    data: Data,
    where: Mapping[str, Any],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
) -> float:
    """Estimate the number of records of a generalised table that meet a query.

    Parameters
    ----------
    data
        The generalised table.
    where
        By column, a value, several values, or a function that returns whether a value meets the condition. A text that reads as
        a number is passed to the function as a number.
    hierarchies
        The hierarchies by which columns were generalised.
    domains
        The possible values of columns, which an interval without an end, or a suppressed value, requires.

    Returns
    -------
    float
        The estimate.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"Age*": ["[20, 29]", "[30, 39]", "[30, 39]"], "Disease": ["flu", "aids", "flu"]})
    >>> uniform_count(table, {"Age*": lambda age: age >= 35, "Disease": "aids"})
    0.5
    """
    if not where:
        raise ArgumentError("the query asks about no column; name at least one.")
    counts = count(data, list(where))
    weight = counts.n.astype(np.float64)
    for column, codes in zip(counts.columns, counts.codes, strict=True):
        met = _test(column.name, where[column.name])
        hierarchy, domain = (hierarchies or {}).get(column.name), (domains or {}).get(column.name)
        shares = [_share(column.name, value, met, hierarchy, domain) for value in column.values]
        weight *= np.asarray(shares)[codes]
    return float(weight.sum())


def _test(name: str, condition: Any) -> Callable[[Any], bool]:
    """Return the test of a condition on one plain value."""
    if isinstance(condition, Mapping):
        raise ArgumentError(f"the condition on column {shown(name)} is a mapping; give a value, several values or a function.")
    if callable(condition):
        return lambda value: bool(condition(value))
    several = condition if isinstance(condition, Collection) and not isinstance(condition, str | bytes) else (condition,)
    return lambda value: value in several or str(value) in several


def _share(name: str, value: Any, met: Callable[[Any], bool], hierarchy: Hierarchy | None, domain: Sequence[Any] | None) -> float:
    """Return the share of the values covered by a released one that meet a condition; a null outside the domain meets none."""
    if hierarchy is not None:
        leaves = [row[0] for row in hierarchy.labels if str(value) in row]
        if leaves and str(value) not in leaves:
            return _mean(met, leaves)
    covered = None if value is None and domain is None else Generalised() if is_suppressed(value) else parse_generalised(value)
    if covered is None:
        return float(value is not None and met(_plain(value)))
    if domain is not None:
        within = [one for one in domain if covered.covers(one)]
        if not within:
            raise ArgumentError(f"the domain of column {shown(name)} has no value that one of its generalised values covers.")
        return _mean(met, within)
    return _mean(met, _values(name, covered))


def _values(name: str, covered: Generalised) -> Sequence[Any]:
    """Return the values that a generalised value covers by itself."""
    if covered.values is not None:
        return sorted(covered.values)
    if covered.low is None or covered.high is None or math.isinf(covered.low) or math.isinf(covered.high):
        raise ArgumentError(
            f"column {shown(name)} has generalised values that do not say what they cover; give its hierarchy or its domain."
        )
    low = math.ceil(covered.low) + (not covered.with_low and covered.low == math.ceil(covered.low))
    high = math.floor(covered.high) - (not covered.with_high and covered.high == math.floor(covered.high))
    if not 0 <= high - low < _MOST_VALUES:
        raise ArgumentError(f"column {shown(name)} has intervals with no whole numbers or too many; give its domain.")
    return range(low, high + 1)


def _mean(met: Callable[[Any], bool], values: Sequence[Any]) -> float:
    return sum(met(_plain(value)) for value in values) / len(values)


def _plain(value: Any) -> Any:
    """Return a value, with a text that reads as a number as that number, so that functions can compare it."""
    if not isinstance(value, str):
        return value
    point = point_of(value) if value.strip().lstrip("+-").replace(".", "", 1).isdigit() else None
    if point is None:
        return value
    return int(point) if point.is_integer() else point
