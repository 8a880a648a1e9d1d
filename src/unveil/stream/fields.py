"""The columns that a window counts: columns of the records, unchanged or in the blocks of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unveil.errors import PartitionError
from unveil.partitions import Partition
from unveil.sources import Coded, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Field", "Fields"]

_MOST_KNOWN = 1 << 16
"""The most values whose blocks are remembered."""


@dataclass
class Field:
    """One column that is counted.

    Attributes
    ----------
    label
        Its name in the count table.
    column
        The column of the records.
    partition
        The blocks that its values fall into; without one, the values themselves are counted.
    example
        A value of each block that has occurred, from which the order of the blocks is derived.
    """

    label: str
    column: str
    partition: Partition | None = None
    example: dict[str | None, Any] = field(default_factory=dict)
    _known: dict[Any, str | None] = field(default_factory=dict, repr=False)

    def coded(self, series: pl.Series) -> tuple[Coded, NDArray[np.bool_] | None]:
        """Return the coded column and, if some values are in no block, the records with such values."""
        raw = encode(series)
        if self.partition is None:
            return raw, None
        labels, lost = self._blocks(raw.values)
        places = {label: at for at, label in enumerate(dict.fromkeys(labels))}
        of_value = np.array([places[label] for label in labels], dtype=np.uint32)
        outside = None if not lost else np.isin(raw.codes, lost)
        return Coded(self.label, tuple(places), of_value[raw.codes]), outside

    def rank(self, labels: Sequence[str | None]) -> NDArray[np.int64]:
        """Return the rank of each block in the order of the partition; the label of values in no block is last."""
        assert self.partition is not None  # noqa: S101 - only blocks have an order of their own
        known = np.array([label in self.example for label in labels], dtype=bool)
        places = np.full(len(labels), known.sum(), dtype=np.int64)
        if known.any():
            places[known], _ = self.partition.apply([self.example[one] for one in labels if one in self.example], self.column)
        return places

    def _blocks(self, values: Sequence[Any]) -> tuple[list[str | None], list[int]]:
        """Return the block of each value, and the positions of values that are in no block."""
        new = [value for value in values if _key(value) not in self._known]
        if len(self._known) + len(new) > _MOST_KNOWN:
            self._known.clear()
            new = list(values)
        lost = self._learn(new)
        labels = [self._known.get(_key(value)) for value in values]
        return labels, [at for at, value in enumerate(values) if _key(value) in lost]

    def _learn(self, values: Sequence[Any]) -> set[Any]:
        """Look up the blocks of values; return the values that are in no block."""
        lost: set[Any] = set()
        try:
            self._remember(values)
        except PartitionError:
            for value in values:
                try:
                    self._remember([value])
                except PartitionError:
                    lost.add(_key(value))
        return lost

    def _remember(self, values: Sequence[Any]) -> None:
        assert self.partition is not None  # noqa: S101
        if not values:
            return
        blocks, labels = self.partition.apply(values, self.column)
        for value, block in zip(values, blocks.tolist(), strict=True):
            self._known[_key(value)] = labels[block]
            self.example.setdefault(labels[block], value)


class Fields:
    """The columns that a window counts, with each pair of a column and a partition once."""

    def __init__(self) -> None:
        self.all: list[Field] = []

    def label(self, column: str, partition: Partition | None) -> str:
        """Return the label of a column in the blocks of a partition; it is counted from now on."""
        for one in self.all:
            if one.column == column and one.partition == partition:
                return one.label
        taken = {one.label for one in self.all}
        label = column
        while label in taken:
            label += "\x00"  # no column name contains it
        self.all.append(Field(label, column, partition))
        return label

    def labels(self, columns: Sequence[str], partitions: Mapping[str, Partition]) -> tuple[str, ...]:
        """Return the labels of several columns."""
        return tuple(self.label(column, partitions.get(column)) for column in columns)

    @property
    def columns(self) -> list[str]:
        """The columns of the records that are counted, each named once."""
        return list(dict.fromkeys(one.column for one in self.all))


def _key(value: Any) -> Any:
    return (value,) if isinstance(value, bool) else value
