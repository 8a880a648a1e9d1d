r"""Which values are used in the same way? Groups of values that keep most of what the values tell about other columns.

Two values are alike if the records that hold them look alike in the other columns. With :math:`n_a` the records of a value and
:math:`H_a(Z)` the entropy of another column among them, merging a and b loses

.. math:: \sum_Z \left[ n_{ab} H_{ab}(Z) - n_a H_a(Z) - n_b H_b(Z) \right] \ge 0

bits. The pair that loses least is merged, again and again (the agglomerative information bottleneck of Slonim and Tishby, 1999);
there is a level at each halving of the number of groups. Rare values cost little and are merged first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.errors import HierarchyError
from unveil.partitions import Builder, Hierarchy, column_said, number_of, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.study import Columns

__all__ = ["Similar", "similar_values"]

_MOST_VALUES = 400
_FEWEST_GROUPS = 2
_BINS = 10
_MOST_BINS = 20


@dataclass(frozen=True)
class Similar(Builder):
    """A rule that groups values whose records look alike in other columns.

    Parameters
    ----------
    by
        The columns in which they are compared.
    groups
        For each level, the label of each value's group, by the value's text.
    """

    name: ClassVar[str] = "similar"
    by: tuple[str, ...]
    groups: tuple[Mapping[str, str], ...] = field(repr=False)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values, similar ones next to each other, with their group at each level."""
        present = [value for value in values if value is not None]
        present.sort(key=lambda value: tuple(level[text_of(value)] for level in reversed(self.groups)))
        levels = [[level[text_of(value)] for value in present] for level in self.groups]
        return Hierarchy.from_levels(present, *levels, column=column).with_root()

    def to_dict(self) -> dict[str, Any]:
        """Return the rule's name and the columns."""
        return {"rule": self.name, "by": list(self.by)}


def similar_values(columns: Columns, column: str, others: Sequence[str]) -> Similar:
    """Group the values of a column by what other columns of the same records look like.

    Parameters
    ----------
    columns
        The columns of the table.
    column
        The column whose values are grouped; a null stays apart.
    others
        The columns in which they are compared; numbers are compared in ten classes of about equal size.
    """
    values = [text_of(value) for value in columns.values(column) if value is not None]
    if len(values) > _MOST_VALUES:
        raise HierarchyError(
            f"{column_said(column)}{len(values):,} values are too many to be compared; the most are {_MOST_VALUES:,}."
        )
    table = np.hstack([_table(columns, column, other)[: len(values)] for other in others])
    members = {code: [code] for code in range(len(values))}
    levels: list[Mapping[str, str]] = []
    wanted = len(values)
    for group, joined in _merges(table, len(others)):
        members[group] += members.pop(joined)
        if len(members) <= (wanted + 1) // 2 and len(members) >= _FEWEST_GROUPS:
            wanted = len(members)
            levels.append({values[code]: _label(values, codes) for codes in members.values() for code in codes})
    return Similar(tuple(others), tuple(levels))


def _table(columns: Columns, column: str, other: str) -> NDArray[np.float64]:
    """Return how many records hold each value of the column together with each class of another."""
    classes = _classes(columns.values(other), columns.counts(other))
    width, cells = int(classes.max()) + 1, columns.joint(column, other)
    size = len(columns.values(column)) * width
    held = np.bincount(cells.first * width + classes[cells.second], weights=cells.n, minlength=size)
    return held.reshape(-1, width).astype(np.float64)


def _classes(values: Sequence[Any], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of each value: itself, or, with very many values, its tenth, or one for all but the most frequent."""
    if len(values) <= _MOST_BINS:
        return np.arange(len(values))
    numbers = [number_of(value) for value in values]
    if all(number is not None for number, value in zip(numbers, values, strict=True) if value is not None):
        order = np.argsort([np.inf if number is None else float(number) for number in numbers], kind="stable")
        before = np.empty(len(counts))
        before[order] = np.cumsum(counts[order]) - counts[order]
        return np.asarray(np.minimum(before * _BINS // counts.sum(), _BINS - 1), dtype=np.int64)
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(rank, _MOST_BINS - 1)


def _merges(table: NDArray[np.float64], columns: int) -> list[tuple[int, int]]:
    """Return the pairs in the order of merging: the group of the second value joins that of the first."""
    rows, left = table.copy(), list(range(len(table)))
    known = _known(rows, columns)
    losses = np.full((len(rows), len(rows)), np.inf)
    for one in range(len(rows)):
        losses[one, one + 1 :] = known[one] + known[one + 1 :] - _known(rows[one] + rows[one + 1 :], columns)
    merges = []
    while len(left) > 1:
        one, other = (int(place) for place in np.unravel_index(np.argmin(losses), losses.shape))
        merges.append((one, other))
        left.remove(other)
        rows[one] += rows[other]
        known[one] = _known(rows[one][None], columns)[0]
        losses[other, :] = losses[:, other] = np.inf
        rest = np.array([at for at in left if at != one], dtype=np.int64)
        loss = known[one] + known[rest] - _known(rows[one] + rows[rest], columns)
        low, high = np.minimum(rest, one), np.maximum(rest, one)
        losses[low, high] = loss
    return merges


def _known(rows: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """Return the negated sum of the columns' entropies among the records, multiplied by the number of records, in bits."""
    held = rows.sum(axis=1) / columns
    return np.asarray(_plogp(rows).sum(axis=1) - columns * _plogp(held))


def _plogp(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts * np.log2(np.maximum(counts, 1.0)))


def _label(values: Sequence[str], codes: Sequence[int]) -> str:
    """Return the name of a group: its values, written as a set that other verbs can read."""
    names = sorted(values[code] for code in codes)
    if len(names) == 1:
        return names[0]
    return f"{{{', '.join(names)}}}" if not any(sign in name for name in names for sign in ",|{}") else " + ".join(names)
