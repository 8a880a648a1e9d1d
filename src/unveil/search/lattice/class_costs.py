r"""Costs of a generalisation that depend on its classes, as figures to minimise, or as losses of attributes to combine into one.

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
  if two values are; a suppressed record counts as the factor says (half of one unless set otherwise);
- "entropy-based" is the share of a record's information that is lost, on average: bits out of those of all combinations of
  leaves, as in `models.profitability`; a suppressed record counts f, which is 1, or 2 x factor below 0.5;
- "payoff:BENEFIT:LOSS:GAIN:COST[:ATTACKER]" is the share of the benefit of all records that their publisher does not get: a
  suppressed record loses all of its benefit, and a kept one the amount by which its payoff (see `models.profitability`) falls
  short of it.

The losses of attributes are for objectives under which suppression does not cost full generalisation. With :math:`n_v` records
of an attribute's value, :math:`n_g` of its generalised value, and :math:`s_g` of the s suppressed ones,

- "entropy-arx" is the non-uniform entropy as ARX charges it: every record costs what its generalisation costs,
  :math:`\sum_r \log_2 (n_g / n_v)`, and the suppressed ones add :math:`\sum_{r\ suppressed} \log_2 (s / s_g)`, by
  :math:`n \log_2 n`; a geometric mean is taken of the bits themselves, without the division;
- "entropy-normalized" is the same divided by the cost of full generalisation, :math:`\sum_r \log_2 (n / n_v)`;
- "precision-arx" is :math:`\frac{1}{n} (g \sum_{r\ kept} h_j + f \sum_{r\ suppressed} 1)`, where :math:`h_j` is the level over
  the height of attribute j: a suppressed record costs f, whatever its level;
- "height" is the level, whatever is suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.counts import summed
from unveil.models import Game
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.lattice_sizes import LatticeSizes
from unveil.search.lattice.rollup import classes_of
from unveil.search.lattice.space import KeyAttribute, Node, Space

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from unveil.search.lattice.objectives import Factors, Joining

__all__ = [
    "ATTRIBUTE_COSTS", "CLASS_COSTS", "AttributeLosses", "ClassBased", "ClassCost", "Survey", "bits_cost", "class_payoffs",
    "class_size", "classification", "key_classification", "payoff_cost", "surveyed_class_size", "surveyed_discernibility",
]  # fmt: skip

ClassCost: TypeAlias = "Callable[[Space, Node, ClassTable, NDArray[np.bool_]], float]"
"""The figure of a node, given its classes and which of them are suppressed."""
Survey: TypeAlias = "Callable[[LatticeSizes, int], NDArray[np.float64]]"
"""The figures of all nodes of a lattice, given the sizes of their classes and the number of records."""
AttributeLosses: TypeAlias = "Callable[[Space, Node, ClassTable, NDArray[np.bool_]], NDArray[np.float64]]"
"""What every attribute loses at a node, given its classes and which of them are suppressed."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassBased:
    """An objective that depends on the classes.

    Attributes
    ----------
    name
        As the user writes it.
    score
        The figure of a node whose classes `gone` are suppressed.
    rises
        How the score changes as classes are suppressed. "more": it is at least the score with any subset of them suppressed;
        "first": at least the score with none suppressed (suppressing one more may lower it); "never": nothing is known.
    needs_population
        Whether it uses the sizes of classes in the population.
    survey
        Returns the figures of all nodes at once from the sizes of their classes; None: nodes are examined one by one.
    ranks
        Returns the figures that break ties between nodes, the lowest first; None: ties are not broken.
    """

    name: str
    score: ClassCost
    rises: Literal["more", "first", "never"] = "more"
    needs_population: bool = False
    survey: Survey | None = None
    ranks: Callable[[Space, Node, ClassTable, NDArray[np.bool_]], tuple[float, ...]] | None = None

    @property
    def ranked(self) -> bool:
        """Whether ties between nodes are broken."""
        return self.ranks is not None

    def ranking(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> tuple[float, ...]:
        """Return the figures that break ties between nodes of the same score."""
        return () if self.ranks is None else self.ranks(space, node, table, gone)


def xlog2(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n log2 n; 0 if n is 0."""
    return np.asarray(n * np.log2(np.where(n > 0.0, n, 1.0)))


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


def bits_cost(factors: Factors) -> ClassCost:
    """Return the share of the records' information that is lost at a node."""

    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        n, lost = table.n.astype(np.float64), factors.generalising * _shares_lost(space, node, table)
        return float(n @ np.where(gone, factors.suppressing, lost)) / space.records

    return score


def payoff_cost(game: Game, factors: Factors) -> ClassCost:
    """Return the share of the benefit of all records that a publisher does not get at a node."""

    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        n = table.n.astype(np.float64)
        short = factors.generalising * (game.benefit - class_payoffs(game, space, node, table))
        missing = n @ np.where(gone | (n == 0.0), factors.suppressing * game.benefit, short)
        return float(missing) / (game.benefit * space.records)

    return score


def class_payoffs(game: Game, space: Space, node: Node, table: ClassTable) -> NDArray[np.float64]:
    """Return the publisher's payoff for a record of each class of a node; a journalist looks for the record in the population."""
    size = space.population(table) if game.needs_population else table.n
    return game.payoff(np.maximum(size, 1).astype(np.float64), _shares_lost(space, node, table))


def _shares_lost(space: Space, node: Node, table: ClassTable) -> NDArray[np.float64]:
    """Return the share of its information that a record of each class of a node has lost."""
    volume, everything = class_volumes(space, node, table)
    return np.clip(volume / everything, 0.0, 1.0) if everything > 0.0 else np.zeros(len(volume))


def _entropies(factors: Factors, joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        most = 1.0 if joined == "geometric" else max(space.records * math.log2(space.records), 1.0)
        return _bits_lost(space, node, table, gone, factors) / most

    return losses


def _normalised_entropies(factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        most = np.array([_all_bits(one, space.records) for one in space.attributes])
        return _bits_lost(space, node, table, gone, factors) / np.where(most > 0.0, most, 1.0)

    return losses


def _precisions(factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        suppressed = int(table.n[gone].sum())
        kept = factors.generalising * (space.records - suppressed)
        heights = np.array([max(one.levels.height, 1) for one in space.attributes])
        return np.asarray((kept * _levels(space, node) / heights + factors.suppressing * suppressed) / space.records)

    return losses


def _heights(_factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, _table: ClassTable, _gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        return _levels(space, node)

    return losses


def _levels(space: Space, node: Node) -> NDArray[np.float64]:
    return np.array([one.lowest + level for one, level in zip(space.attributes, node, strict=True)], dtype=np.float64)


def _bits_lost(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], factors: Factors) -> NDArray[np.float64]:
    """Return, for each attribute, the bits lost by generalisation and the bits that suppression adds."""
    bits, dropped = np.zeros(len(space.attributes)), table.n[gone].astype(np.float64)
    for at, (one, level, field) in enumerate(zip(space.attributes, node, space.fields, strict=True)):
        groups = one.group_records(one.lowest + level).astype(np.float64)
        generalised = xlog2(groups).sum() - xlog2(one.records.astype(np.float64)).sum()
        suppressed = np.bincount(table.codes(field)[gone], weights=dropped).astype(np.float64)
        added = xlog2(suppressed.sum(keepdims=True))[0] - xlog2(suppressed).sum()
        bits[at] = factors.generalising * generalised + factors.suppressing * added
    return bits


def _all_bits(one: KeyAttribute, records: int) -> float:
    return float(records * math.log2(records) - xlog2(one.records.astype(np.float64)).sum())


ATTRIBUTE_COSTS: dict[str, Callable[[Factors, Joining], AttributeLosses]] = {
    "height": _heights,
    "entropy-arx": _entropies,
    "entropy-normalized": _normalised_entropies,
    "precision-arx": _precisions,
}
CLASS_COSTS: dict[str, ClassCost] = {
    "discernibility": _discernibility,
    "discernibility-monotone": _all_pairs,
    "kl": _divergence,
    "ambiguity": _ambiguity,
}
