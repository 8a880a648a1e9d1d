"""The values of two count tables, matched and put into one order.

To Python, 1, True and 1.0 are equal, and so are 1.10 and 1.1; in a column of mixed objects each of them is a value of its own.
So if a table has values that are equal to Python, they are matched by type and text; all others are matched as Python does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.sources.coding import encode_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["places_among", "united"]


def places_among(known: Sequence[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    """Return where each value is among the known ones; -1 if it is none of them.

    Examples
    --------
    >>> places_among(["flu", "hiv"], ["hiv", "cold"]).tolist()
    [1, -1]
    >>> places_among([1, True, 1.0], [1.0, 1]).tolist()
    [2, 0]
    """
    place: dict[Hashable, int] = {value: at for at, value in enumerate(known)}
    if len(place) < len(known):
        place = {_type_and_text(value): at for at, value in enumerate(known)}
        values = [_type_and_text(value) for value in values]
    return np.fromiter((place.get(value, -1) for value in values), dtype=np.int64, count=len(values))


def united(mine: Sequence[Any], theirs: Sequence[Any]) -> tuple[Sequence[Any], NDArray[Any], NDArray[Any]]:
    """Return the values of two columns in the order of one column that holds both, and where the values of each are in it."""
    equal = len(set(mine)) < len(mine) or len(set(theirs)) < len(theirs)
    both = encode_values([*mine, *theirs], as_objects=equal)
    return both.values, both.codes[: len(mine)], both.codes[len(mine) :]


def _type_and_text(value: Any) -> Hashable:
    return tuple(map(_type_and_text, value)) if isinstance(value, tuple) else (type(value).__name__, str(value))
