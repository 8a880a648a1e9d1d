"""Declared domains: the values that an attribute may have, independent of the data, and the position of each record in them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.sources import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["checked_bounds", "checked_domain", "places", "require_labels"]


_LARGEST = 1e100
"""Bounds beyond this, or closer together than its inverse, leave no room for arithmetic."""


def checked_bounds(bounds: Any, what: str = "bounds") -> tuple[float, float]:
    """Return two finite numbers, the lower one first, or refuse them."""
    try:
        low, high = bounds
        fine = low < high and max(abs(low), abs(high)) <= _LARGEST and high - low >= 1.0 / _LARGEST
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise ArgumentError(f"{what} are two numbers, the lower one first: the lowest and the highest value of a record.")
    return low, high


def checked_domain(name: str, values: Any) -> tuple[Any, ...]:
    """Return the declared values of an attribute: at least one, and each once."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ArgumentError(f"the values of {shown(name)} are not given as a list; list all that it may have.")
    domain = tuple(values)
    if not domain or not all(isinstance(value, Hashable) for value in domain) or len(set(domain)) < len(domain):
        raise ArgumentError(f"the values of {shown(name)} are a list of at least one value, each named once.")
    return domain


def require_labels(name: str, domain: tuple[Any, ...]) -> None:
    """Refuse values with the same text, such as the number 1 and the text "1", because their bins would be merged in a file."""
    if alike := len(domain) - len(set(map(str, domain))):
        raise ArgumentError(
            f"{alike:,} of the {len(domain):,} values of {shown(name)} are written in the same way as another of them; "
            "ask for them in histograms of their own, or turn the column into text first."
        )


def places(column: Any, domain: tuple[Any, ...]) -> NDArray[np.int64]:
    """Return the position of each record's value in the domain, -1 for a value outside."""
    coded = encode(column)
    at = {value: place for place, value in enumerate(domain)}
    return np.asarray(np.array([at.get(value, -1) for value in coded.values], dtype=np.int64)[coded.codes])
