r"""ARX's costs that do not depend on the remains of suppressed records: the bits lost, and the publisher's payoff.

- "entropy-based" is the share of a record's information that is lost, on average: bits out of those of all combinations of
  leaves, as in `models.profitability`; f for a suppressed record.
- "payoff:BENEFIT:LOSS:GAIN:COST[:ATTACKER]" is the share of the benefit of all records that their publisher does not get: a
  suppressed record loses all of its benefit, and a kept one the amount by which its payoff (see `models.profitability`) falls
  short of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.models.profitability import Game
from unveil.search.lattice.attribute_costs import Factors
from unveil.search.lattice.class_costs import ClassCost, class_volumes
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.space import Node, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bits_cost", "class_payoffs", "payoff_cost"]


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
