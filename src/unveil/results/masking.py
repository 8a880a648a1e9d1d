"""The masking of small classes in reports, so that a report about people discloses nobody.

A class is a combination of key values, or one value of one attribute, with the records that hold it. Anyone who reads a report
may know that a certain person is in the class. So the class is shown without its values where

- it is *small*: fewer than `SMALL` records hold it (the caller may choose another number); or
- it *discloses*: it lets the reader infer a sensitive value of its members, whatever its size (`disclosing` in
  `measures.by_value` defines it).

Figures stay (they are what the report is for), and so does the size of a small class. The size of a class that discloses is left
out: elsewhere a class of that size may be shown with its values.

What is masked must not follow from the rest. Anyone who knows all classes there are finds a single masked one by elimination, and
its figures by subtracting the others from the whole. So with the values of an attribute that must be masked goes one that need
not be. Which one that is depends on all records, so that anyone who knows this rule cannot tell it from the others; and it is the
same wherever the attribute occurs, so that two tables say no more than one. A class that decides is named only if at least
`small` classes stay unnamed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MASK",
    "SMALL",
    "UNMASKED",
    "is_masked",
    "masked_class",
    "masked_values",
    "masking_in_words",
    "without_values",
]

MASK = "(masked)"
"""What stands for values that are not shown."""
UNMASKED = "UNMASKED: classes of single people are shown with their values. For the steward's own eyes; do not pass it on."
"""What every form of an answer says that is not masked."""
SMALL = 5
"""Classes of fewer records are small, unless another number is chosen."""


def masking_in_words(small: int) -> str:
    """Say which classes are masked."""
    return f"Classes of fewer than {small} records, and those that give a sensitive value away, are shown without their values."


def is_masked(shown: dict[str, Any] | None, small: int = SMALL) -> bool:
    """Return whether a class, described by its key values, its size and what it discloses, has to be masked; 0: never."""
    if not small or shown is None:
        return False
    return bool(shown.get("masked") or shown.get("discloses")) or shown["size"] < small


def masked_class(shown: dict[str, Any] | None, small: int = SMALL) -> dict[str, Any] | None:
    """Return a class as it may be shown: with its values, or `masked` and without.

    Examples
    --------
    >>> masked_class({"key": {"age": 90}, "size": 1})
    {'key': {}, 'size': 1, 'masked': True}
    >>> masked_class({"key": {"age": 30}, "size": 50, "discloses": ["disease"]})
    {'key': {}, 'size': None, 'masked': True}
    >>> masked_class({"key": {"age": 30}, "size": 5})
    {'key': {'age': 30}, 'size': 5}
    """
    return without_values(shown, small) if is_masked(shown, small) else shown


def without_values(shown: dict[str, Any] | None, small: int = SMALL) -> dict[str, Any] | None:
    """Return a class without its values, and without its size unless it is small."""
    if shown is None or shown.get("masked"):
        return shown
    return {"key": {}, "size": shown["size"] if shown["size"] < small else None, "masked": True}


def masked_values(n: NDArray[np.int64], telling: NDArray[np.bool_], small: int, salt: bytes = b"") -> NDArray[np.bool_]:
    """Return which values of an attribute are masked.

    Parameters
    ----------
    n, telling
        The records that hold each value, and whether the value discloses.
    small
        Values of fewer records are small; 0: nothing is masked.
    salt
        What the choice of the value that is masked with the others depends on; no reader may know it.

    Examples
    --------
    >>> import numpy as np
    >>> masked_values(np.array([50, 1, 9, 7]), np.zeros(4, dtype=bool), 5).sum()
    np.int64(2)
    """
    import numpy as np

    if not small:
        return np.zeros(len(n), dtype=bool)
    masked = (n < small) | telling
    if masked.any() and not masked.all():
        free = np.flatnonzero(~masked)
        masked[free[np.argmin(_drawn(free.astype(np.uint64), salt))]] = True
    return masked


def _drawn(places: NDArray[np.uint64], salt: bytes) -> NDArray[np.uint64]:
    """Return where values are in an order that nobody without the salt can tell."""
    import numpy as np

    first, second, third = np.frombuffer(hashlib.blake2b(key=salt, digest_size=24).digest(), dtype=np.uint64)
    mixed = (places + first) * (second | np.uint64(1))  # unsigned integers wrap around
    return np.asarray((mixed ^ (mixed >> np.uint64(29))) * (third | np.uint64(1)))
