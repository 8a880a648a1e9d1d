r"""Which marginals are worth their noise? Tables are chosen one by one where the distribution so far is farthest from the data.

Every round gets a part of the budget. A pair is chosen by the exponential mechanism, with the score

.. math:: s(a, b) = w_{ab} \left( \sum_{x, y} | n_{xy} - \hat n_{xy} | - \sqrt{2 / \pi} \, \sigma \, m_{ab} \right),
          \qquad \Delta_s = c \max w

which is the distance between its table and the one that the distribution expects, less the error that noise will add to its m
cells; so a large table is chosen only if more can be learnt from it than its noise would get wrong. Its counts get discrete
Gaussian noise, and the distribution is fitted again to all tables so far. If noise drowned the result of a round, the following
rounds get more of the budget.

References
----------
R. McKenna, B. Mullins, D. Sheldon, G. Miklau (2022), AIM: an adaptive and iterative mechanism for differentially private
synthetic data, Proceedings of the VLDB Endowment 15(11), 2599-2612.
Z. Zhang, T. Wang, N. Li, J. Honorio, M. Backes, S. He, J. Chen, Y. Zhang (2021), PrivSyn: differentially private data synthesis,
USENIX Security, 929-946.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unveil.mechanisms.differential_privacy.budget import Spent, concentrated, noisy_greatest
from unveil.mechanisms.differential_privacy.junction import JunctionTree, clique_cells
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NoisyTable", "NoisyTables", "select"]

_ROUNDS = 4
"""The number of rounds per attribute that are planned at first."""
_ON_CHOICE = 0.1
"""The share of a round's budget that is spent on its choice."""
_DROWNED = 4.0
"""If noise drowned the result of a round, the next round has this many times the budget, and so half the noise."""
_MOST_CELLS = 60_000
"""The largest total number of cells in all cliques: fitting takes time in proportion to it."""
_SWEEPS, _LAST_SWEEPS = 12, 60
_AGREEMENTS = 3
_FLOOR = 1e-3
"""The records assumed in a cell whose noisy count is zero, because noise rules nothing out."""
_MEAN_ERROR = math.sqrt(2.0 / math.pi)
"""The mean absolute error of a cell, in standard deviations."""

Set: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """A table in which the noise of every cell has the same standard deviation."""

    counts: NDArray[np.float64]
    deviation: float

    def averaged(self, other: NoisyTable) -> NoisyTable:
        """Return the average of two tables of the same counts, in which the more precise one weighs more."""
        one, two = self.deviation**-2, other.deviation**-2
        return NoisyTable((self.counts * one + other.counts * two) / (one + two), (one + two) ** -0.5)


@dataclass(slots=True)
class NoisyTables:
    """The tables measured so far, and the distribution that follows from them.

    Attributes
    ----------
    shape
        The number of values of each attribute.
    total
        The number of records, with noise.
    tables
        For each set of attributes, in rising order, its table.
    """

    shape: tuple[int, ...]
    total: float
    tables: dict[Set, NoisyTable]
    tree: JunctionTree = field(init=False)

    def __post_init__(self) -> None:
        """Fit the distribution."""
        self.fit(_SWEEPS)

    def add(self, names: Set, table: NoisyTable) -> None:
        """Add a table, or average it with an existing one, and fit again."""
        self.tables[names] = self.tables[names].averaged(table) if names in self.tables else table
        self.fit(_SWEEPS)

    def fit(self, sweeps: int = _LAST_SWEEPS) -> None:
        """Fit the distribution to the tables, after they are made to agree and to have no negative counts."""
        agreed = _agreed(self.tables, self.shape, self.total)
        wanted = {}
        for names in sorted(agreed, key=len, reverse=True):  # the one-way tables last: they are the most precise
            counts = _nonnegative(agreed[names], self.total) + _FLOOR
            wanted[names] = counts / counts.sum()
        self.tree = JunctionTree(self.shape, self.tables)
        self.tree.fit(wanted, sweeps)

    def pair(self, names: Set) -> NDArray[np.float64]:
        """Return the number of records that the distribution expects in each cell of a pair."""
        return self.tree.pairs_with(names[0])[names[1]] * self.total


def select(
    tables: NoisyTables, true: Callable[[Set], NDArray[np.int64]], weights: Mapping[Set, float], rho: float, most: int
) -> list[Spent]:
    """Measure pairs, one per round, until the budget is spent; return the account.

    Parameters
    ----------
    tables
        The one-way tables; pairs are added to them.
    true
        The counts of a pair without noise.
    weights
        The pairs that may be measured, and the weight of each one's error.
    rho
        The budget.
    most
        The largest number of records of one person.
    """
    left, part = rho, rho / (_ROUNDS * len(tables.shape))
    counted, run = {}, active_run()
    for pair in run.each("pairs", weights):
        if math.prod(tables.shape[at] for at in pair) <= _MOST_CELLS:
            counted[pair] = true(pair)
    spent = []
    while left > 0.0:
        run.at("tables", round(100 * (1.0 - left / rho)), 100)
        if left < 2.0 * part:
            part = left
        left -= part
        on_choice, on_table = part * _ON_CHOICE, part * (1.0 - _ON_CHOICE)
        deviation = most / math.sqrt(2.0 * on_table)
        scores = _scores(tables, counted, weights, deviation)
        if not scores:
            break
        sensitivity = most * max(weights.values())
        pair = list(scores)[noisy_greatest(list(scores.values()), on_choice, sensitivity)]
        before = tables.pair(pair)
        noisy, scale = concentrated(counted[pair].ravel().tolist(), on_table, most)
        tables.add(pair, NoisyTable(np.array(noisy, dtype=np.float64).reshape(before.shape), scale))
        spent += [
            Spent("choice of a pair", "noisy max", sensitivity, sensitivity / math.sqrt(2.0 * on_choice), rho=on_choice),
            Spent("two-way table", "discrete gaussian", float(most), scale, rho=on_table),
        ]
        if np.abs(tables.pair(pair) - before).sum() <= _MEAN_ERROR * deviation * before.size:
            part *= _DROWNED
    tables.fit()
    run.at("tables", 100, 100)
    return spent


def _scores(
    tables: NoisyTables, counted: Mapping[Set, NDArray[np.int64]], weights: Mapping[Set, float], deviation: float
) -> dict[Set, float]:
    """Return the scores of the pairs for which the cliques have room."""
    scores = {}
    expected = {first: tables.tree.pairs_with(first) for first in {pair[0] for pair in counted}}
    run = active_run()
    for pair, counts in counted.items():
        run.check()
        if pair in tables.tables or clique_cells(tables.shape, [*tables.tables, pair]) <= _MOST_CELLS:
            apart = np.abs(counts - expected[pair[0]][pair[1]] * tables.total).sum()
            scores[pair] = weights[pair] * float(apart - _MEAN_ERROR * deviation * counts.size)
    return scores


def _agreed(tables: Mapping[Set, NoisyTable], shape: tuple[int, ...], total: float) -> dict[Set, NDArray[np.float64]]:
    """Make tables agree on the counts of each attribute by using their average, weighted by precision."""
    agreed = {names: table.counts.copy() for names, table in tables.items()}
    for _ in range(_AGREEMENTS):
        for name, values in enumerate(shape):
            holding = [names for names in tables if name in names]
            others = {names: tuple(at for at, other in enumerate(names) if other != name) for names in holding}
            margins = [agreed[names].sum(axis=others[names]) for names in holding]
            cells = [agreed[names].size // values for names in holding]
            sure = [1.0 / (tables[names].deviation ** 2 * several) for names, several in zip(holding, cells, strict=True)]
            average = np.average(margins, axis=0, weights=sure)
            average += (total - average.sum()) / values
            for names, own, several in zip(holding, margins, cells, strict=True):
                agreed[names] += np.expand_dims((average - own) / several, others[names])
    return agreed


def _nonnegative(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the nearest counts, by the sum of squares, that are not negative and add up to a total."""
    falling = np.sort(counts, axis=None)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    return np.asarray(np.maximum(counts - lowered[np.flatnonzero(falling > lowered)[-1]], 0.0))
