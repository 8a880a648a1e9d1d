"""Is there a better generalisation nearby? A walk over the nodes that meet the requirements, out of local optima and down again.

From a node, some attributes are raised at random; then attributes are lowered, those that gain most first, as long as the
requirements hold. The walk continues from the node reached if that costs less than before or, now and then, a little more. After
many rounds that found nothing better, the walk begins again on a way down from the most general node. Privacy does not depend on
these random draws: they always start from the same seed, so that a search can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.search.lattice.space import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LatticeWalk"]

_MOST_RAISED = 3
_WORSE = 0.003
"""The walk also continues from a node that is worse by this share of its cost, on average."""
_LEAST_WEIGHT = 0.3
_BLIND = 0.2
"""How often a step down is taken regardless of what it gains."""
_PATIENCE = 8
"""After this many rounds without a better node the walk begins again elsewhere."""


class LatticeWalk:
    """A walk over the nodes that meet the requirements.

    Parameters
    ----------
    start
        A node that meets them.
    gains
        What a step down gains, attribute by attribute and level by level.
    cost
        What a node costs; infinite if it does not meet the requirements.
    """

    def __init__(self, start: Node, gains: Sequence[NDArray[np.float64]], cost: Callable[[Node], float]) -> None:
        self._gains, self._cost = gains, cost
        self._random = np.random.default_rng(0)
        self._at, self._now = start, cost(start)
        self.stale = 0
        """Rounds since the walk last found something better than ever."""
        self._best = self._lowest_here = self._now
        self._stale_here = 0

    def round(self) -> None:
        """Go up and down once; from the most general node, if nothing better was found for a long time."""
        if self._stale_here > _PATIENCE:
            self._at = self._lowered(tuple(len(steps) for steps in self._gains))
            self._now = self._lowest_here = self._cost(self._at)
            self._stale_here = 0
        node = self._lowered(self._raised())
        score = self._cost(node)
        if score <= self._now + self._random.exponential(_WORSE * abs(self._now)):
            self._at, self._now = node, score
        self.stale = 0 if score < self._best else self.stale + 1
        self._stale_here = 0 if score < self._lowest_here else self._stale_here + 1
        self._best, self._lowest_here = min(self._best, score), min(self._lowest_here, score)

    def _raised(self) -> Node:
        node = list(self._at)
        for _ in range(int(self._random.integers(1, _MOST_RAISED + 1))):
            at = int(self._random.integers(len(node)))
            node[at] = int(self._random.integers(node[at], len(self._gains[at]) + 1))
        return tuple(node)

    def _lowered(self, node: Node) -> Node:
        """Go down while a node one step below meets the requirements."""
        blind = self._random.random() < _BLIND
        while True:
            gains = [1.0 if blind or not level else steps[level - 1] for steps, level in zip(self._gains, node, strict=True)]
            drawn = np.array(gains) * self._random.uniform(0.0 if blind else _LEAST_WEIGHT, 1.0, len(node))
            below = ((*node[:at], node[at] - 1, *node[at + 1 :]) for at in np.argsort(-drawn).tolist() if node[at])
            lower = next((one for one in below if np.isfinite(self._cost(one))), None)
            if lower is None:
                return node
            node = lower
