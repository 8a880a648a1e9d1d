"""Class sizes of the keys, and what would be left without each key attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Counts
from unveil.counts.grouping import group, summed
from unveil.counts.owners import Owners
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""The class sizes at which the bands begin."""


@dataclass(frozen=True, slots=True)
class Without:
    """What would be left without one key attribute: who is alone in a class, the smallest class, the average risk."""

    name: str
    uniques: int
    k: int
    average_risk: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"attribute": self.name, "uniques": self.uniques, "k": self.k, "average_risk": self.average_risk}


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """How many classes have how many records, in the bands of `CLASS_SIZES`, and how many records are in them.

    If persons are distinguished, persons are counted, each in the smallest of their classes.
    """

    classes: tuple[int, ...]
    records: tuple[int, ...]

    def to_dict(self) -> list[dict[str, int]]:
        """Return one object per band."""
        bands = zip(CLASS_SIZES, self.classes, self.records, strict=True)
        return [{"from": start, "classes": classes, "records": records} for start, classes, records in bands]


def without(counts: Counts, keys: Sequence[str], person: str | None = None) -> list[Without]:
    """Return what would be left without each key attribute: the classes of those before it, crossed with those after it.

    If the table has a column that says whose record it is, persons are counted.
    """
    if len(keys) == 1:
        return []
    step = active_run().counting("where it comes from", len(keys))
    behind = _refined(counts, keys[::-1])[::-1]
    rows = []
    for at, (name, before) in enumerate(zip(keys, _refined(counts, keys), strict=True)):
        (one, ones), (other, others) = before, behind[at]
        of_cell, codes = group([one, other], [ones, others])
        sizes, own = _sizes(counts, of_cell, len(codes[0]), person)
        rows.append(Without(name, int(own[sizes == 1].sum()), int(sizes.min()), float((own / sizes).sum() / own.sum())))
        step()
    return rows


def _refined(counts: Counts, keys: Sequence[str]) -> list[tuple[NDArray[np.int64], int]]:
    """Return for each attribute the class of every cell by the attributes before it, and the number of classes."""
    levels, of_cell, classes = [], np.zeros(len(counts), dtype=np.int64), 1
    for name in keys:
        levels.append((of_cell, classes))
        at = counts.names.index(name)
        of_cell, codes = group([of_cell, counts.codes[at]], [classes, len(counts.columns[at].values)])
        classes = len(codes[0])
    return levels


def class_sizes(counts: Counts, keys: Sequence[str], person: str | None = None) -> ClassSizes:
    """Return how many classes of the keys, and records or persons in them, fall into each band."""
    partition = counts.classes(keys)
    sizes, own = _sizes(counts, partition.of_cell, len(partition), person)
    band = np.searchsorted(CLASS_SIZES, sizes, side="right") - 1
    number = len(CLASS_SIZES)
    classes, records = np.bincount(band, minlength=number), np.bincount(band, weights=own, minlength=number)
    return ClassSizes(tuple(classes.tolist()), tuple(int(some) for some in records))


def _sizes(
    counts: Counts, of_cell: NDArray[np.int64], classes: int, person: str | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the size of each class, and the records in it, or the persons whose smallest class it is."""
    if person is None:
        sizes = summed(of_cell, counts.n, classes).astype(np.int64)
        return sizes, sizes
    at = counts.names.index(person)
    owners = Owners.of(of_cell, counts.codes[at], classes, len(counts.columns[at].values))
    return owners.sizes, owners.worst(owners.sizes)
