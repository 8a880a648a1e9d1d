r"""Costs of a generalisation that depend on its classes, as figures to minimise.

With :math:`n_C` the records of a class C, and n those of the table,

- "discernibility" is :math:`\sum_C n_C^2` over the classes kept, and n for every suppressed record; "discernibility-monotone" is
  :math:`\sum_C n_C^2` over all classes, as if none were suppressed;
- "class-size" is n divided by the number of classes, where all suppressed ones together count as one; below a factor of 0.5 a
  class that is kept counts 2 x factor, above it the suppressed ones count 2 - 2 x factor;
- "kl" is the Kullback-Leibler divergence, in bits, of the table's cells from the release's, where the records of a class are
  spread evenly over all leaves that it covers;
- "ambiguity" is the sum over the records of how many combinations of leaves they may stand for, all of them if a record is
  suppressed (Goldberger and Tassa 2010);
- "classification:COLUMN" is the share of records whose value of the column is not the most frequent of their class, all of them
  if two values are; a suppressed record counts as the factor says (half of one unless set otherwise).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unveil.counts.grouping import summed
from unveil.search.lattice.attribute_costs import Factors, xlog2
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.lattice_sizes import LatticeSizes
from unveil.search.lattice.rollup import classes_of
from unveil.search.lattice.space import Node, Space

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CLASS_COSTS",
    "ClassCost",
    "Survey",
    "class_size",
    "class_volumes",
    "classification",
    "key_classification",
    "surveyed_class_size",
    "surveyed_discernibility",
]

ClassCost: TypeAlias = "Callable[[Space, Node, ClassTable, NDArray[np.bool_]], float]"
"""The figure of a node, given its classes and which of them are suppressed."""
Survey: TypeAlias = "Callable[[LatticeSizes, int], NDArray[np.float64]]"
"""The figures of all nodes of a lattice, given the sizes of their classes and the number of records."""


def _discernibility(space: Space, _node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    kept = table.n[~gone].astype(np.float64)
    return float(kept @ kept + float(table.n[gone].sum()) * space.records)


def _all_pairs(_space: Space, _node: Node, table: ClassTable, _gone: NDArray[np.bool_]) -> float:
    n = table.n.astype(np.float64)
    return float(n @ n)


def surveyed_discernibility(sizes: LatticeSizes, records: int) -> NDArray[np.float64]:
    """Return the discernibility of every node of a lattice, with its classes that are too small suppressed."""
    return np.asarray(sizes.squares + sizes.small.astype(np.float64) * records)


def class_size(factors: Factors) -> ClassCost:
    """Return the mean size of the classes; the two factors swap places, as more classes are better."""

    def score(space: Space, _node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        n = table.n
        return float(_mean_size(np.count_nonzero(n[~gone]), n[gone].any(), space.records, factors))

    return score


def surveyed_class_size(factors: Factors) -> Survey:
    """Return the mean size of the classes of every node of a lattice."""

    def scores(sizes: LatticeSizes, records: int) -> NDArray[np.float64]:
        return _mean_size(sizes.classes, sizes.small > 0, records, factors)

    return scores


def _mean_size(kept: ArrayLike, suppressed: ArrayLike, records: int, factors: Factors) -> NDArray[np.float64]:
    classes = factors.suppressing * np.asarray(kept) + factors.generalising * np.asarray(suppressed)
    return np.asarray(np.where(classes > 0.0, records / np.where(classes > 0.0, classes, 1.0), np.inf))


def _divergence(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    n, (volume, everything) = table.n.astype(np.float64), class_volumes(space, node, table)
    dropped = n[gone].sum(keepdims=True)
    spread = xlog2(n[~gone]).sum() - n[~gone] @ volume[~gone] + float(xlog2(dropped)[0] - dropped[0] * everything)
    return float(xlog2(space.cells.astype(np.float64)).sum() - spread) / space.records


def _ambiguity(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    volume, everything = class_volumes(space, node, table)
    return float(table.n.astype(np.float64) @ np.exp2(np.where(gone, everything, volume)))


def class_volumes(space: Space, node: Node, table: ClassTable) -> tuple[NDArray[np.float64], float]:
    """Return the number of combinations of leaves that each class stands for, and that of all combinations, in bits."""
    volume, everything = np.zeros(len(table.n)), 0.0
    for one, level, field in zip(space.attributes, node, space.fields, strict=True):
        volume += np.log2(one.levels.shares[one.lowest + level] * one.levels.leaves)[table.codes(field)]
        everything += math.log2(one.levels.leaves)
    return volume, everything


def classification(target: str, factors: Factors, suppressed: float) -> ClassCost:
    """Return how badly the classes predict a column.

    Parameters
    ----------
    target
        The column.
    factors
        The weights of a record whose value is not the most frequent one of its class, and of a record in a class with several
        most frequent values.
    suppressed
        How much a suppressed record counts.
    """
    most = max(factors.generalising, factors.suppressing, suppressed)

    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        first, second = _most_frequent(space, node, table, target)
        n = table.n.astype(np.float64)
        wrong = np.where(first > second, factors.generalising * (n - first), factors.suppressing * n)
        return float(np.where(gone, suppressed * n, wrong).sum()) / (most * space.records)

    return score


def key_classification(target: str, factors: Factors, suppressed: float) -> ClassCost:
    """Return how badly the other key attributes predict one of them; the parameters are those of `classification`."""
    most = max(factors.generalising, factors.suppressing, suppressed)

    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        at = next(at for at, one in enumerate(space.attributes) if one.name == target)
        blurred = _blurred(space, node, at)
        n, kept = table.n.astype(np.float64), ~gone & (table.n > 0)
        total = suppressed * float(n[gone].sum())
        if blurred == 1.0:
            return (total + most * float(n[kept].sum())) / (most * space.records)
        first, second, size = _by_others(space, table, at, kept)
        plain, even = (one * (1.0 - blurred) + most * blurred for one in (factors.generalising, factors.suppressing))
        total += float(np.where(first > second, plain * (size - first), even * size).sum())
        return total / (most * space.records)

    return score


def _blurred(space: Space, node: Node, at: int) -> float:
    """Return the share of an attribute's values that are lost at its level: 0 if all are left, 1 if only one is."""
    one = space.attributes[at]
    values, left = len(one.levels.labels[0]), len(one.levels.labels[one.lowest + node[at]])
    return 0.0 if values == 1 else 1.0 - (left - 1) / (values - 1)


def _by_others(
    space: Space, table: ClassTable, at: int, kept: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, for records that agree in all other attributes, the sizes of their two largest classes, and the total."""
    others = [field for number, field in enumerate(space.fields) if number != at]
    if others:
        of_row, _ = classes_of(tuple(word[kept] for word in table.keys), others)
    else:
        of_row = np.zeros(int(kept.sum()), dtype=np.int64)
    n = table.n[kept].astype(np.float64)
    number = int(of_row.max()) + 1 if len(of_row) else 0
    first, second = np.zeros(number), np.zeros(number)
    order = np.lexsort((-n, of_row))
    starts = np.flatnonzero(np.diff(of_row[order], prepend=-1))
    first[of_row[order][starts]] = n[order][starts]
    again = starts[np.diff(starts, append=len(order)) > 1]
    second[of_row[order][again]] = n[order][again + 1]
    return first, second, summed(of_row, n, number)


def _most_frequent(space: Space, node: Node, table: ClassTable, target: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each class holds its most frequent value of a column, and its second."""
    if space.dense:
        held = np.sort(space.held(table, target), axis=1).astype(np.float64)
        return held[:, -1], held[:, -2] if held.shape[1] > 1 else np.zeros(len(held))
    of_class, codes, n = space.joint(node, table)
    pairs, inverse = np.unique(np.stack([of_class, codes[target]]), axis=1, return_inverse=True)
    held = np.bincount(inverse.ravel(), weights=n).astype(np.float64)
    first, second = np.zeros(len(table.n)), np.zeros(len(table.n))
    order = np.lexsort((-held, pairs[0]))
    starts = np.flatnonzero(np.diff(pairs[0][order], prepend=-1))
    first[pairs[0][order][starts]] = held[order][starts]
    again = starts[np.diff(starts, append=len(order)) > 1]
    second[pairs[0][order][again]] = held[order][again + 1]
    return first, second


CLASS_COSTS: dict[str, ClassCost] = {
    "discernibility": _discernibility,
    "discernibility-monotone": _all_pairs,
    "kl": _divergence,
    "ambiguity": _ambiguity,
}
