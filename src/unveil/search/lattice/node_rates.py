r"""What does a generalisation give away, and what is it still good for? Discrimination Rates at every node of a lattice.

Each rate is a sum over the count table at a node, rolled up from finer nodes. The figures are those that `unveil.attack` and
`unveil.utility` find in the release: values are distinguished by the labels that the release shows, and a need's partitions are
fitted to these labels.

*Rates never rise from a node to one above it.* Let Y be the key as the release shows it at a node, and Y' = f(Y) the key at a
node above. Then Y' adds nothing to Y, and knowing more never raises entropy, so for every X

.. math:: H(X \mid Y') \ge H(X \mid Y', Y) = H(X \mid Y), \qquad\text{hence}\qquad DR_X(Y') \le DR_X(Y) ,

as H(X) is the same (the data processing inequality). This needs three things, and `monotone` says whether they hold. X is not
generalised itself: a need whose target is a key attribute may rise. Y' is a function of Y: labels are, as a hierarchy is a chain;
under a partition a label that straddles two blocks has a block of its own, so one block may split into several at a node above.
And nothing is suppressed: whether a record is suppressed depends on its class, which Y' does not determine.

*Adjusted for chance* a rate may rise, as chance gives less to coarser values. It never exceeds the plain rate: with e the rate
that chance gives, (r - e) / (1 - e) <= r. So at every node above one whose plain rate is too low, the adjusted rate is too low as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import Counts, group, summed
from unveil.errors import PartitionError
from unveil.measures import SUPPRESSED, adjusted_rate, entropy_bits, entropy_by_class, mean
from unveil.partitions import Partition, fitted
from unveil.search.lattice.class_table import packed
from unveil.search.lattice.rollup import RollUp, rows_among
from unveil.search.lattice.space import KeyAttribute, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DECIMALS", "Coding", "Identity", "Rate", "adjusted_between", "rate_between"]

_Shown: TypeAlias = tuple[list["NDArray[Any]"], "NDArray[Any]"]
"""The codes of the attributes, column by column, and the records of each row."""

Cells: TypeAlias = Callable[[], "NDArray[np.int64]"]
"""A function that returns the rows of the suppressed cells as soon as they are known."""

DECIMALS = 12
"""Rates that agree to this many decimals are equal: sums may differ in the last bits, depending on the order of the records."""


def rate_between(known: Sequence[NDArray[Any]], hidden: NDArray[Any], n: NDArray[Any]) -> float | None:
    r"""Return :math:`DR_X(Y) = 1 - H(X|Y) / H(X)` from rows of codes; None if X holds one value only.

    Parameters
    ----------
    known, hidden
        The codes of Y, column by column, and those of X.
    n
        The records of each row, all above zero; rows may repeat.
    """
    joint = _Joint.of(known, hidden, n)
    return None if len(joint.totals) == 1 else round(joint.rate(), DECIMALS)


def adjusted_between(known: Sequence[NDArray[Any]], hidden: NDArray[Any], n: NDArray[Any]) -> float | None:
    """Return the rate adjusted for chance; None if it is undefined, or cannot be distinguished from chance."""
    joint = _Joint.of(known, hidden, n)
    if len(joint.totals) == 1:
        return None
    sizes, totals = joint.sizes.astype(np.int64), joint.totals.astype(np.int64)
    rate = adjusted_rate(joint.rate(), entropy_bits(joint.totals), sizes, totals)
    return None if rate is None else round(rate, DECIMALS)


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """The records of every class of Y, of every value of X, and of every pair of these, and the class of each pair."""

    sizes: NDArray[Any]
    totals: NDArray[Any]
    cells: NDArray[Any]
    of_cell: NDArray[np.int64]

    @classmethod
    def of(cls, known: Sequence[NDArray[Any]], hidden: NDArray[Any], n: NDArray[Any]) -> _Joint:
        """Count rows of codes."""
        of_class, _ = group(known, [int(column.max()) + 1 for column in known])
        of_cell, (classes, values) = group([of_class, hidden], [int(of_class.max()) + 1, int(hidden.max()) + 1])
        cells = summed(of_cell, n, len(classes))
        totals = np.bincount(values, weights=cells)
        return cls(np.bincount(classes, weights=cells), totals[totals > 0.0], cells, classes.astype(np.int64))

    def rate(self) -> float:
        """Return the rate, if X holds more than one value."""
        left = float((entropy_by_class(self.cells, self.of_cell, self.sizes) * self.sizes).sum() / self.sizes.sum())
        return max(0.0, 1.0 - left / entropy_bits(self.totals))


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """The code that each value of a key attribute has at each level.

    Attributes
    ----------
    groups
        For each allowed level, the group of every value.
    kept, starred
        For each level, the code of every group; if records are suppressed, followed by the code of the suppressed value. None
        if a partition does not cover the labels.
    nested
        Whether each level's code follows from that of the level before.
    """

    groups: tuple[NDArray[np.int64], ...]
    kept: tuple[NDArray[np.int64] | None, ...]
    starred: tuple[NDArray[np.int64] | None, ...]
    nested: bool

    @classmethod
    def of(cls, one: KeyAttribute, values: Sequence[Any], partition: Partition | None = None) -> Coding:
        """Distinguish an attribute's labels, or sort them into the blocks of a partition."""
        levels = range(one.lowest, one.highest + 1)
        groups = tuple(one.levels.groups[level] for level in levels)
        shown = [one.levels.labels[level] if level else values for level in levels]
        kept = tuple(_codes(labels, partition, one.name) for labels in shown)
        if partition is not None and kept[0] is None:
            fitted(partition, shown[0], one.name)[0].apply(shown[0], one.name)  # says what is wrong
        starred = tuple(_codes([*one.levels.labels[level], SUPPRESSED], partition, one.name) for level in levels)
        codings = [codes[of_value] for codes, of_value in zip(kept, groups, strict=True) if codes is not None]
        return cls(groups, kept, starred, all(_follows(coarse, fine) for fine, coarse in pairwise(codings)))

    def signature(self, level: int) -> bytes | None:
        """Return a signature that levels share if they merge the same values; None if it is undefined."""
        codes = self.kept[level]
        return None if codes is None else np.unique(codes[self.groups[level]], return_inverse=True)[1].astype(np.int64).tobytes()


def _codes(labels: Sequence[Any], partition: Partition | None, name: str) -> NDArray[np.int64] | None:
    """Return a number for each label; labels in the same block of the partition share it."""
    if partition is None:
        number: dict[Any, int] = {}
        return np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
    try:
        return fitted(partition, labels, name)[0].apply(labels, name)[0]
    except PartitionError:
        return None


def _follows(coarse: NDArray[np.int64], fine: NDArray[np.int64]) -> bool:
    """Whether the fine code determines the coarse one."""
    pairs, _ = group([fine, coarse], [int(fine.max()) + 1, int(coarse.max()) + 1])
    return int(pairs.max()) + 1 == len(np.unique(fine))


class Rate:
    """The Discrimination Rate of one attribute given others, at every node.

    Parameters
    ----------
    counts
        The count table over all attributes.
    attributes
        The key attributes; other attributes keep their values.
    target, given
        The attribute to infer, and those to infer it from.
    partitions
        Semantic partitions by attribute.
    """

    def __init__(
        self,
        counts: Counts,
        attributes: Sequence[KeyAttribute],
        target: str,
        given: Sequence[str],
        partitions: Mapping[str, Partition] | None = None,
    ) -> None:
        blocks, wanted = partitions or {}, (*given, target)
        self._used = [at for at, one in enumerate(attributes) if one.name in wanted]
        keys = [attributes[at].name for at in self._used]
        fixed = [name for name in dict.fromkeys(wanted) if name not in keys]
        values = {name: counts.columns[counts.names.index(name)].values for name in wanted}
        self.codings = {
            at: Coding.of(attributes[at], values[name], blocks.get(name)) for at, name in zip(self._used, keys, strict=True)
        }
        self._n = counts.n
        self._columns = [counts.codes[counts.names.index(name)] for name in keys]
        self._fixed = [_fixed(values[name], blocks.get(name), name)[counts.codes[counts.names.index(name)]] for name in fixed]
        self._target = [*keys, *fixed].index(target)
        self.monotone = target in fixed and all(coding.nested for coding in self.codings.values())
        self.defined = self._varies(target in fixed)
        self._roll = self._rolled_up([len(values[name]) for name in keys])
        self._seen: dict[Node, float | None] = {}
        self._adjusted: dict[Node, float | None] = {}

    def _varies(self, fixed: bool) -> bool:  # noqa: FBT001
        """Whether the target holds more than one value at some level."""
        if fixed:
            return len(np.unique(self._fixed[self._target - len(self._used)])) > 1
        coding = self.codings[self._used[self._target]]
        return any(codes is not None and len(np.unique(codes)) > 1 for codes in coding.kept)

    def _rolled_up(self, sizes: Sequence[int]) -> RollUp:
        sizes = [*sizes, *(int(column.max()) + 1 for column in self._fixed)]
        of_cell, cells = group([*self._columns, *self._fixed], sizes)
        n = summed(of_cell, self._n, len(cells[0])).astype(np.int64)[:, np.newaxis]
        return RollUp(cells, sizes, np.ascontiguousarray(n), [self.codings[at].groups for at in self._used])

    def at(self, node: Node) -> float | None:
        """Return the rate at a node, nothing suppressed; None if it is undefined."""
        levels = tuple(node[at] for at in self._used)
        if levels not in self._seen:
            self._seen[levels] = self._of(rate_between, self._shown(levels))
        return self._seen[levels]

    def suppressed(self, node: Node, gone: Cells) -> float | None:
        """Return the rate at a node where some cells of the count table are suppressed."""
        return self._of(rate_between, self._starred(node, gone))

    def adjusted(self, node: Node, gone: NDArray[np.int64] | None) -> float | None:
        """Return the rate at a node, adjusted for chance; None if nothing can be said."""
        if gone is not None:
            return self._of(adjusted_between, self._starred(node, lambda: gone))
        levels = tuple(node[at] for at in self._used)
        if levels not in self._adjusted:
            self._adjusted[levels] = self._of(adjusted_between, self._shown(levels))
        return self._adjusted[levels]

    def _shown(self, levels: Node) -> _Shown | None:
        """Return the values shown by the release at given levels of the attributes used; None if a partition misses some."""
        codings = [self.codings[at].kept[level] for at, level in zip(self._used, levels, strict=True)]
        table = self._roll.table(levels)
        columns = [table.codes(field) for field in self._roll.fields]
        shown = [codes[column] for codes, column in zip(codings, columns, strict=False) if codes is not None]
        return ([*shown, *columns[len(codings) :]], table.n) if len(shown) == len(codings) else None

    def _starred(self, node: Node, cells: Cells) -> _Shown | None:
        """Return the values shown by the release at a node where some cells are suppressed: labels, and stars for those cells."""
        levels = tuple(node[at] for at in self._used)
        codings = [self.codings[at].starred[level] for at, level in zip(self._used, levels, strict=True)]
        stars = [codes[-1] for codes in codings if codes is not None]
        if len(stars) < len(codings):
            return None
        table, fields = self._roll.table(levels), self._roll.fields
        gone = cells()
        groups = [self.codings[at].groups[level] for at, level in zip(self._used, levels, strict=True)]
        fixed = [column[gone] for column in self._fixed]
        lost = [*(of_value[column[gone]] for of_value, column in zip(groups, self._columns, strict=True)), *fixed]
        at_row = rows_among(table, packed(lost, fields, len(gone)), fields)
        left = table.n - summed(at_row, self._n[gone], len(table)).astype(np.int64)
        rows = np.flatnonzero(left)
        columns = [table.codes(field, rows) for field in fields]
        shown = [codes[column] for codes, column in zip(codings, columns, strict=False) if codes is not None]
        starred = [np.append(column, np.full(len(gone), star)) for column, star in zip(shown, stars, strict=True)]
        kept = [np.append(column, own) for column, own in zip(columns[len(codings) :], fixed, strict=True)]
        return [*starred, *kept], np.append(left[rows], self._n[gone])

    def _of(
        self, figure: Callable[[Sequence[NDArray[Any]], NDArray[Any], NDArray[Any]], float | None], shown: _Shown | None
    ) -> float | None:
        if shown is None:
            return None
        columns, n = shown
        return figure([column for at, column in enumerate(columns) if at != self._target], columns[self._target], n)


def _fixed(values: Sequence[Any], partition: Partition | None, name: str) -> NDArray[np.int64]:
    """Return the code of every value of an attribute that stays as it is."""
    return np.arange(len(values)) if partition is None else fitted(partition, values, name)[0].apply(values, name)[0]


class Identity:
    """The rate of every original key attribute given its protected version, and their mean: the white-box identity risk.

    Without suppression, each rate depends only on the level of its own attribute.
    """

    def __init__(self, counts: Counts, attributes: Sequence[KeyAttribute]) -> None:
        self._n = counts.n
        self._columns = [counts.codes[counts.names.index(one.name)].astype(np.int64) for one in attributes]
        self._cells = group(self._columns, [len(one.records) for one in attributes])[0]
        self._codings = [Coding.of(one, counts.columns[counts.names.index(one.name)].values) for one in attributes]
        self._records = [one.records for one in attributes]
        self.monotone = all(coding.nested for coding in self._codings)
        self.rates = [
            [_alone(coding, level, one.records) for level in range(len(coding.groups))]
            for coding, one in zip(self._codings, attributes, strict=True)
        ]

    def at(self, node: Node) -> float | None:
        """Return the risk at a node, nothing suppressed; None if every attribute is constant."""
        return _mean([rates[level] for rates, level in zip(self.rates, node, strict=True)])

    def suppressed(self, node: Node, gone: Cells) -> float | None:
        """Return the risk at a node where some cells of the count table are suppressed."""
        rows = gone()
        parts = zip(self._codings, node, self._columns, self._records, strict=True)
        return _mean([self._given_stars(*part, rows) for part in parts])

    def _given_stars(
        self, coding: Coding, level: int, column: NDArray[np.int64], records: NDArray[np.int64], gone: NDArray[np.int64]
    ) -> float | None:
        """Return the rate of one attribute if some records of its values are suppressed."""
        codes = coding.starred[level]
        if codes is None:  # labels alone are always distinguished
            return None
        lost = summed(column[gone], self._n[gone], len(records)).astype(np.int64)
        left = records - lost
        kept, starred = np.flatnonzero(left), np.flatnonzero(lost)
        shown = np.append(codes[coding.groups[level][kept]], np.full(len(starred), codes[-1]))
        return rate_between([shown], np.append(kept, starred), np.append(left[kept], lost[starred]))

    def combined(self, node: Node, gone: NDArray[np.int64] | None) -> float | None:
        """Return the rate of all original attributes together given all protected ones."""
        suppressed = np.zeros(len(self._n), dtype=bool)
        if gone is not None:
            suppressed[gone] = True
        return rate_between(self._shown(node, suppressed), self._cells, self._n)

    def _shown(self, node: Node, gone: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        shown = []
        for coding, level, column in zip(self._codings, node, self._columns, strict=True):
            codes = coding.starred[level]
            if codes is not None:  # labels alone are always distinguished
                shown.append(np.where(gone, codes[-1], codes[coding.groups[level][column]]))
        return shown


def _alone(coding: Coding, level: int, records: NDArray[np.int64]) -> float | None:
    codes = coding.kept[level]
    return None if codes is None else rate_between([codes[coding.groups[level]]], np.arange(len(records)), records)


def _mean(rates: Sequence[float | None]) -> float | None:
    value = mean(rates)
    return None if value is None else round(value, DECIMALS)
