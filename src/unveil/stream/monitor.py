"""A monitor that proves from labels alone that a publication is safe; it shares no code with the methods that form groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from unveil.errors import UnveilError

__all__ = ["Monitor", "UnsafePublicationError"]

_Labels: TypeAlias = "tuple[Any, ...]"


class UnsafePublicationError(UnveilError, RuntimeError):
    """A publication with a class of too few persons or values; it is never written."""


class Monitor:
    """A check that proves for every publication, from its labels alone, that each class has k persons and is diverse enough."""

    def __init__(self, k: int, diverse: int) -> None:
        self._k, self._diverse = k, diverse
        self._proven: set[_Labels] = set()

    def check(
        self, labels: Sequence[_Labels], persons: Sequence[Any], sensitive: Sequence[Sequence[Any]], alone: Sequence[bool]
    ) -> tuple[int, int]:
        """Return the number of persons of the smallest class and the number of classes; refuse a publication that is not safe.

        A record that leaves alone must have the label of a class that was proven safe in an earlier publication.
        """
        smallest, classes = _fewest(labels, persons, alone)
        if classes and (smallest < self._k or any(_fewest(labels, one, alone)[0] < self._diverse for one in sensitive)):
            raise UnsafePublicationError("a publication would contain a class of too few persons; it is not written.")
        if any(row not in self._proven for row, one in zip(labels, alone, strict=True) if one):
            raise UnsafePublicationError(
                "a record would be published alone, under a label that no earlier class had; the publication is not written."
            )
        return smallest, classes

    def remember(self, labels: Iterable[_Labels]) -> None:
        """Remember classes that were proven safe, for records that will leave alone."""
        self._proven.update(labels)

    def state(self) -> list[list[Any]]:
        """Return the classes that were proven safe, for records that will leave alone."""
        return [list(row) for row in sorted(self._proven, key=str)]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Restore what `state` returned."""
        self._proven = {tuple(row) for row in state}


def _fewest(labels: Sequence[_Labels], items: Sequence[Any], alone: Sequence[bool]) -> tuple[int, int]:
    """Return the smallest number of distinct items in a class (0 without classes) and the number of classes.

    Records that leave alone are in no class.
    """
    classes: dict[_Labels, set[Any]] = {}
    for row, item, one in zip(labels, items, alone, strict=True):
        if not one:
            classes.setdefault(row, set()).add(item)
    return min(map(len, classes.values()), default=0), len(classes)
