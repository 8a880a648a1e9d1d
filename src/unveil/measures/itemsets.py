"""How many records hold some items together? Supports of small sets of items, in a column of sets.

A set is written as a list, or as a text whose items are between separators. An item that is listed twice counts once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.arguments import checked_count
from unveil.errors import ArgumentError
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_KNOWN", "Items", "checked_separator", "is_collection", "items_of", "least_supports", "subsets", "supports"]

Items: TypeAlias = tuple[str, ...]
"""Distinct items, in order."""

MOST_KNOWN = 10
_MOST_SUBSETS = 30_000_000
"""More subsets than this are not counted: they would take gigabytes."""


def checked_separator(separator: Any) -> str:
    """Return the separator of items, or refuse it if it is not a text."""
    if not isinstance(separator, str) or not separator:
        raise ArgumentError("the separator is the text between items, such as ';'.")
    return separator


def items_of(value: Any, separator: str) -> Items:
    """Return the items of a set: the entries of a list, the parts of a text between separators, none for a null.

    Examples
    --------
    >>> items_of("bread; milk;bread;", ";"), items_of(["b", "a"], ";"), items_of(None, ";")
    (('bread', 'milk'), ('a', 'b'), ())
    """
    if value is None:
        return ()
    parts: Iterable[Any] = value if is_collection(value) else str(value).split(separator)
    return tuple(sorted({str(part).strip() for part in parts if part is not None} - {""}))


def is_collection(value: Any) -> bool:
    """Whether a value lists its items itself; a structure of named fields does not."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def subsets(items: Items, most: int) -> Iterator[Items]:
    """Yield the subsets of at least one and at most this many items."""
    for size in range(1, min(most, len(items)) + 1):
        yield from combinations(items, size)


def supports(sets: Sequence[Items], records: Sequence[int], most: int) -> Counter[Items]:
    """Return how many records hold each set of at most this many items that any record holds.

    Parameters
    ----------
    sets, records
        The sets that occur, and how many records hold each.
    most
        Sets of at most this many items are counted.
    """
    checked_count("m", most, least=1, most=MOST_KNOWN)
    cost = sum(math.comb(len(items), size) for items in sets for size in range(1, most + 1))
    if cost > _MOST_SUBSETS:
        raise ArgumentError(
            f"the sets have {cost:,} subsets of at most {most} items, and up to {_MOST_SUBSETS:,} are counted; ask for a lower "
            "m, or group items first."
        )
    counts: Counter[Items] = Counter()
    for items, n in active_run().through("items", list(zip(sets, records, strict=True))):
        for known in subsets(items, most):
            counts[known] += n
    return counts


def least_supports(sets: Sequence[Items], records: Sequence[int], most: int) -> NDArray[np.int64]:
    """Return, for each set, the fewest records that fit what somebody may know about it: at most `most` of its items.

    Knowing more leaves fewer records, so the largest subsets decide. Nothing can be known about an empty set: all records fit.

    Examples
    --------
    >>> least_supports([("a", "b"), ("a",), ()], [1, 3, 2], 2).tolist()
    [1, 4, 6]
    """
    support, everybody = supports(sets, records, most), sum(records)
    decisive = ((items, combinations(items, min(most, len(items)))) for items in active_run().through("sets", sets))
    least = [min(map(support.__getitem__, known)) if items else everybody for items, known in decisive]
    return np.array(least, dtype=np.int64)
