"""The masking of small classes in reports, so that a report about people discloses nobody.

A class is a combination of key values, or one value of one attribute, with the records that hold it. Anyone who reads a report
may know that a certain person is in the class. So the class is shown without its values if

- it is *small*: fewer than `SMALL` records hold it (the caller may choose another number); or
- it *discloses*: it lets the reader infer a sensitive value of its members, whatever its size (`disclosing` in
  `measures.by_value` defines it).

Figures stay (they are what the report is for), and so does the size of a small class. The size of a class that discloses is left
out: elsewhere a class of that size may be shown with its values.

What is masked must not follow from the rest. Anyone who knows all classes there are finds a single masked one by elimination, and
its figures by subtracting the others from the whole. So along with the values of an attribute that must be masked, one is masked
that need not be. Which one that is depends on all records, so that anyone who knows this rule cannot tell it from the others; and
it is the same wherever the attribute occurs, so that two tables say no more than one. A class that decides is named only if at
least `small` classes stay unnamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.results.figures import Figures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MASK",
    "SMALL",
    "UNMASKED",
    "DecidingClass",
    "is_masked",
    "masked_class",
    "masked_together",
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecidingClass(Figures):
    """The class that decides a figure, as an answer names it.

    Attributes
    ----------
    key, size
        Its values of the key attributes, and the number of its records or persons; once it is masked, no values, and a size only
        if it is small.
    discloses
        The sensitive attributes of which it gives a value away.
    population, lowest
        Of a model that compares with the population: the people there who share the key, and the lowest chance of presence.
    masked
        Whether its values are taken out.

    Examples
    --------
    >>> worst = DecidingClass({"age": 30}, 5)
    >>> worst, worst.size, worst["size"]
    (DecidingClass(key={'age': 30}, size=5), 5, 5)
    """

    key: Mapping[str, Any]
    size: float | None
    discloses: Sequence[str] = ()
    population: int | None = None
    lowest: float | None = None
    masked: bool = False

    def __repr__(self) -> str:
        """Return one line with the fields that say something."""
        return f"DecidingClass({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def masking_in_words(small: int) -> str:
    """Say which classes are masked."""
    return f"Classes of fewer than {small} records, and those that give a sensitive value away, are shown without their values."


def is_masked(shown: DecidingClass | None, small: int = SMALL) -> bool:
    """Return whether a class has to be masked; if `small` is 0, none has."""
    if not small or shown is None:
        return False
    return shown.masked or bool(shown.discloses) or shown.size is None or shown.size < small


def masked_class(shown: DecidingClass | None, small: int = SMALL) -> DecidingClass | None:
    """Return a class as it may be shown: with its values, or `masked` and without.

    Examples
    --------
    >>> dict(masked_class(DecidingClass({"age": 90}, 1)))
    {'key': {}, 'size': 1, 'masked': True}
    >>> dict(masked_class(DecidingClass({"age": 30}, 50, ["disease"])))
    {'key': {}, 'size': None, 'masked': True}
    >>> dict(masked_class(DecidingClass({"age": 30}, 5)))
    {'key': {'age': 30}, 'size': 5}
    """
    return without_values(shown, small) if shown is not None and is_masked(shown, small) else shown


def without_values(shown: DecidingClass, small: int = SMALL) -> DecidingClass:
    """Return a class without its values, and without its size unless it is small."""
    if shown.masked:
        return shown
    return DecidingClass({}, shown.size if shown.size is not None and shown.size < small else None, masked=True)


def masked_together(
    shown: Sequence[DecidingClass], among: int, small: int, hidden: Mapping[str, frozenset[Any]]
) -> list[DecidingClass]:
    """Return the classes that decide the figures of one table as they may be shown beside each other.

    Parameters
    ----------
    shown, among
        The classes that decide, and how many classes the table has.
    small
        Classes of fewer records are small; 0: nothing is masked.
    hidden
        Values of attributes that are masked elsewhere although they are not small; a class that has one would name it.
    """
    if not small:
        return list(shown)
    masked = [is_masked(one, small) for one in shown]
    elsewhere = [any(value in hidden.get(name, ()) for name, value in one.key.items()) for one in shown]
    named = [not (own or other) for own, other in zip(masked, elsewhere, strict=True)]
    unnamed = among - len({tuple(one.key.items()) for one, kept in zip(shown, named, strict=True) if kept})
    by_elimination = any(masked) and unnamed < small
    return [one if kept and not by_elimination else without_values(one, small) for one, kept in zip(shown, named, strict=True)]


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
    """Return the positions of values in an order that nobody can tell without the salt."""
    import numpy as np

    first, second, third = np.frombuffer(hashlib.blake2b(key=salt, digest_size=24).digest(), dtype=np.uint64)
    mixed = (places + first) * (second | np.uint64(1))  # unsigned integers wrap around
    return np.asarray((mixed ^ (mixed >> np.uint64(29))) * (third | np.uint64(1)))
