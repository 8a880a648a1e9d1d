"""The proof that a publication of a stream is safe, from its labels alone; it shares no code with what made the groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from unveil.errors import UnveilError

__all__ = ["Monitor", "UnsafePublicationError"]

_Labels: TypeAlias = "tuple[Any, ...]"


class UnsafePublicationError(UnveilError, RuntimeError):
    """A publication that would hold fewer persons than it must; it is never written."""


class Monitor:
    """Proves of every publication, from its labels alone, that each class holds k persons and enough sensitive values."""

    def __init__(self, k: int, diverse: int) -> None:
        self._k, self._diverse = k, diverse
        self._proven: set[_Labels] = set()

    def check(
        self, labels: Sequence[_Labels], persons: Sequence[Any], sensitive: Sequence[Sequence[Any]], alone: Sequence[bool]
    ) -> tuple[int, int]:
        """Return the persons of the smallest class, and the classes; refuse a publication with one that is too small.

        A record that leaves alone must have the label of a class that was proven in an earlier publication.
        """
        smallest, classes = _fewest(labels, persons, alone)
        if classes and (smallest < self._k or any(_fewest(labels, one, alone)[0] < self._diverse for one in sensitive)):
            raise UnsafePublicationError("a publication would hold a class of too few persons; it is not written.")
        if any(row not in self._proven for row, one in zip(labels, alone, strict=True) if one):
            raise UnsafePublicationError("a record would leave alone with a label that no earlier class had; it is not written.")
        return smallest, classes

    def remember(self, labels: Iterable[_Labels]) -> None:
        """Take note of classes that were proven, for records that will leave alone."""
        self._proven.update(labels)

    def state(self) -> list[list[Any]]:
        """Return the classes that were proven, for records that will leave alone."""
        return [list(row) for row in sorted(self._proven, key=str)]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Put back what `state` gave."""
        self._proven = {tuple(row) for row in state}


def _fewest(labels: Sequence[_Labels], things: Sequence[Any], alone: Sequence[bool]) -> tuple[int, int]:
    """Return the fewest different things of a class, 0 without classes, and the classes; records alone are in none."""
    held: dict[_Labels, set[Any]] = {}
    for row, thing, one in zip(labels, things, alone, strict=True):
        if not one:
            held.setdefault(row, set()).add(thing)
    return min(map(len, held.values()), default=0), len(held)
