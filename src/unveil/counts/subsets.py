"""How many sets of columns there are, and how many are looked at."""

from __future__ import annotations

import math

from unveil.arguments import checked_count
from unveil.errors import ArgumentError

__all__ = ["largest_subsets", "subsets_up_to"]

_MOST_SUBSETS = 1 << 20


def subsets_up_to(columns: int, largest: int) -> int:
    """Return how many sets of one to `largest` columns there are."""
    return sum(math.comb(columns, size) for size in range(1, largest + 1))


def largest_subsets(attributes: int, max_size: int | None) -> int:
    """Return how many key attributes are taken together at most, or refuse more sets of them than can be looked at."""
    largest = attributes if max_size is None else min(checked_count("max_size", max_size, least=1), attributes)
    number = subsets_up_to(attributes, largest)
    if number > _MOST_SUBSETS:
        raise ArgumentError(
            f"{attributes} key attributes have {number:,} subsets of up to {largest}, more than {_MOST_SUBSETS:,}; "
            "name fewer, or give a smaller max_size."
        )
    return largest
