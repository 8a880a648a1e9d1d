"""Which generalisation is best? The whole lattice, searched as far as needed to be sure, or as far as a budget goes.

What generalisation alone costs is known for every node beforehand; suppression only adds to it. So a node whose bound reaches
the best score found need not be looked at. A node where a lasting requirement fails rules out all nodes below it. First a chain
from the bottom to the top is bisected for a good solution (several, where a lattice is too large to be held); then the nodes that
are left are visited, the most general first, until none can be better: the solution is the best there is.

Of nodes that cost the same the one with the lowest levels is taken: that of the smallest sum, and of equal sums the one whose
first attributes are lower. Where too many nodes may cost the same (generalisation costs nothing, say), or a lattice is too large
to be held, only neighbours are compared in this way.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_count, shown_number
from unveil.errors import ArgumentError
from unveil.run import active_run
from unveil.search.lattice.objectives import Objective, Separable
from unveil.search.lattice.rollup import ClassTable
from unveil.search.lattice.space import Node, Space
from unveil.search.requirements import NodeRequirements

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Found", "SearchBudget", "budget_of", "lowest_first", "search"]

_MOST_NODES = 1 << 26
"""Lattices up to this many nodes are held as a whole; larger ones are searched best first, one node after the other."""
_PATIENCE = 60.0
"""Seconds after which the search of a larger one stops where no limit is given."""
_MOST_FAILING = 4096
_ROUNDING = 1e-6
_ALIKE = 1e-12
"""Scores that differ by no more, relative to them, are equal: the same costs may be summed in another order."""
_MOST_TIED = 1 << 14
"""Of more nodes than this that may cost as much as the best one only its neighbours are looked at."""
_MOST_RAISED = 1 << 17
"""Bounds of more nodes than this are not raised at once: it would take longer than looking at the nodes that it spares."""


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How far a search may go: seconds, and nodes looked at; None: as far as it takes."""

    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no number of seconds."""
        if self.seconds is not None and not self.seconds >= 0.0:
            raise ArgumentError(f"the time limit is a number of seconds from 0 on, so it is not {shown_number(self.seconds)}.")


def budget_of(seconds: float | None, nodes: int | None) -> SearchBudget:
    """Return how far a search may go, or refuse what is no limit."""
    return SearchBudget(seconds, None if nodes is None else checked_count("node_limit", nodes, least=1))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search ends with.

    Attributes
    ----------
    node
        The best node; None where none meets the requirements.
    score
        Its score.
    suppressed
        Its records in violating classes.
    bound
        No node has a score below this.
    optimal
        Whether that is certain to be the best, or that there is none.
    lattice, evaluated
        The nodes there are, and those looked at.
    closest
        Where none meets the requirements: of the nodes looked at that with the fewest records in violating classes.
    """

    node: Node | None
    score: float
    suppressed: int
    bound: float
    optimal: bool
    lattice: int
    evaluated: int
    closest: tuple[Node, int]


@dataclass(slots=True, eq=False)
class _Seen:
    """The best so far, and what has been looked at."""

    score: float = math.inf
    node: Node | None = None
    suppressed: int = 0
    feasible: dict[Node, bool] = field(default_factory=dict)
    closest: tuple[Node, int] | None = None


class _Spent(Exception):  # noqa: N818 - no error: the budget is used up
    """The budget is used up."""


def search(
    space: Space,
    requirements: NodeRequirements,
    objective: Objective,
    limit: int,
    *,
    budget: SearchBudget | None = None,
) -> Found:
    """Return the node of the lowest score that meets the requirements with at most `limit` records suppressed.

    Parameters
    ----------
    space, requirements, objective
        The lattice, the requirements and what to make small.
    limit
        How many records may be suppressed.
    budget
        When to stop early; the answer then says how far from the best it may be.
    """
    return _Search(space, requirements, objective, limit, budget or SearchBudget()).run()


class _Search:
    def __init__(
        self,
        space: Space,
        requirements: NodeRequirements,
        objective: Objective,
        limit: int,
        budget: SearchBudget,
    ) -> None:
        self.space, self.requirements, self.objective, self.limit, self.budget = space, requirements, objective, limit, budget
        self.active = active_run()
        self.seen = _Seen()
        self.began = time.monotonic()
        self.whole = space.size <= _MOST_NODES
        self.closed: NDArray[np.bool_] = np.zeros(space.shape if self.whole else (), dtype=bool)
        self.lowest = self._bottom_bound()
        self.bounds: NDArray[np.float64] = self._first_bounds()
        self.failing: NDArray[np.int64] = np.zeros((0, len(space.shape)), dtype=np.int64)
        self.most = math.inf  # what a node may cost at the most to be as good as the best so far
        self.tying = False  # whether the lowest cost is known, and only lower levels are looked for

    def run(self) -> Found:
        """Search until nothing better can be left, or the budget is used up."""
        if (surveyed := self._survey()) is not None:
            return surveyed
        optimal = False
        try:
            self.look(self.space.top)
            for chain in islice(self._chains(), 1 if self.whole else None):  # one is enough where all nodes are visited
                self._bisect(chain)
            self._descend()
            if self.whole:
                self._visit_rest()
                optimal = True
                self._visit_ties()
            else:
                optimal = self._best_first()
        except _Spent:
            pass
        seen = self.seen
        bound = seen.score if optimal else self._lowest_left()
        optimal = optimal or (seen.node is not None and bound >= seen.score - self._slack(seen.score))
        closest = seen.closest if seen.closest is not None else (self.space.top, self.space.records)
        return Found(
            seen.node, seen.score, seen.suppressed, bound, optimal, self.space.size, len(seen.feasible), closest,
        )  # fmt: skip

    def _survey(self) -> Found | None:
        """Settle all nodes in one pass, where class sizes are all that requirements and objective ask for."""
        least, name = self.requirements.least, self.objective.name
        limited = self.budget.seconds is not None or self.budget.nodes is not None
        if limited or least is None or name not in ("discernibility", "class-size") or self.space.size > _MOST_RAISED:
            return None
        found = self.space.survey(least)
        if found is None:
            return None
        costs = found.squares + found.small.astype(np.float64) * self.space.records
        if name == "class-size":
            costs = self.space.records / np.maximum(found.classes + (found.small > 0), 1)
        costs = np.where(found.small <= self.limit, costs, np.inf)
        closest = np.unravel_index(int(found.small.argmin()), self.space.shape)
        least_small = (tuple(int(level) for level in closest), int(found.small.min()))
        if not np.isfinite(costs).any():
            return self._settled(None, math.inf, 0, least_small)
        tied = zip(*np.nonzero(costs == costs.min()), strict=True)
        node = min((tuple(int(level) for level in one) for one in tied), key=lowest_first)
        return self._settled(node, float(costs[node]), int(found.small[node]), least_small)

    def _settled(self, node: Node | None, score: float, lost: int, closest: tuple[Node, int]) -> Found:
        size = self.space.size
        return Found(node, score, lost, score, optimal=True, lattice=size, evaluated=size, closest=closest)

    def look(self, node: Node) -> bool:
        """Evaluate a node, once; return whether it meets the requirements."""
        if node in self.seen.feasible:
            return self.seen.feasible[node]
        self.active.check()
        self._spend()
        found = self._evaluate(node)
        self.seen.feasible[node] = found
        if self.whole:
            self.closed[node] = True
        return found

    def _spend(self) -> None:
        nodes, seconds = self.budget.nodes, self.budget.seconds
        if nodes is not None and len(self.seen.feasible) >= nodes:
            raise _Spent
        if seconds is not None and self.seen.feasible and time.monotonic() - self.began > seconds:
            raise _Spent

    def _evaluate(self, node: Node) -> bool:
        table = self.space.classes(node)
        small = self.requirements.small(table)
        lost = int(table.n[small].sum())
        if lost > self.limit:
            self._close_below(node, lost)
            return False
        floor = self._floor(node, table, small)
        if self.requirements.only_small:
            self._offer(node, self.objective.score(self.space, node, table, small), lost)
            return True
        if not self._hopeful(node, floor):
            return True  # it may or may not meet the other requirements: it is no better in any case
        verdict = self.requirements.verdict(node, table, small)
        lost = int(table.n[verdict.violating].sum())
        if lost > self.limit or verdict.fails:
            lasting = verdict.lasting > self.limit + _ROUNDING or (self.limit == 0 and lost > 0)
            self._close_below(node if lasting else None, lost, node)
            return False
        self._offer(node, self.objective.score(self.space, node, table, verdict.violating), lost)
        return True

    def _offer(self, node: Node, score: float, lost: int) -> None:
        """Take a node that meets the requirements for the best one if it costs less, or the same at lower levels."""
        if math.isnan(score):
            raise ArgumentError("the objective gave NaN for a generalisation; give a number, infinite where it is to be avoided.")
        best = self.seen.score
        slack = self._slack(best) if self.seen.node is not None else 0.0
        if score < best - slack or (score <= self.most < math.inf and self._lower(node)):
            self.seen.score, self.seen.node, self.seen.suppressed = score, node, lost
            self.most = score + self._slack(score)

    def _hopeful(self, node: Node, bound: float) -> bool:
        """Whether a node that costs so much, or more, may be better than the best so far, if only by lower levels."""
        return bound < self.seen.score or (bound <= self.most and self._lower(node))

    def _lower(self, node: Node) -> bool:
        """Whether a node has lower levels than the best so far."""
        return self.seen.node is not None and lowest_first(node) < lowest_first(self.seen.node)

    def _slack(self, score: float) -> float:
        """Return by how much scores differ that are equal; those of separable objectives add up to 1."""
        return _ALIKE * max(abs(score), 1.0 if isinstance(self.objective, Separable) else 0.0)

    def _close_below(self, node: Node | None, lost: int, looked_at: Node | None = None) -> None:
        """Note that a node fails, and with it, where a lasting requirement does, all nodes below."""
        at = node if node is not None else looked_at
        if at is not None and (self.seen.closest is None or lost < self.seen.closest[1]):
            self.seen.closest = (at, lost)
        if node is not None and self.whole:
            self.closed[_below(node)] = True
        elif node is not None:
            self.failing = np.vstack([self.failing[-_MOST_FAILING:], [node]])

    def _first_bounds(self) -> NDArray[np.float64]:
        if not self.whole:
            return np.zeros(())
        if isinstance(self.objective, Separable):
            return self.objective.bounds(self.space.top)
        return np.full(self.space.shape, self.lowest)

    def _floor(self, node: Node, table: ClassTable, small: NDArray[np.bool_]) -> float:
        """Return what a node costs at least, and raise the bounds of all nodes below: what is too small there is so in them."""
        if not isinstance(self.objective, Separable):
            if self.objective.rises == "never":
                return -math.inf
            gone = small if self.objective.rises == "more" else np.zeros_like(small)
            return self.objective.score(self.space, node, table, gone)
        added = self.objective.added(self.space, node, table, small)
        if self.whole and self.requirements.only_small and added.any() and math.prod(level + 1 for level in node) <= _MOST_RAISED:
            part = self.bounds[_below(node)]
            np.maximum(part, self.objective.bounds(node, added), out=part)
        return self.objective.floor(node, added)

    def _chains(self) -> Iterator[list[Node]]:
        """Return chains from the bottom to the top, cheapest steps first; in all but the first one attribute is kept for last."""
        costs = self._step_costs()
        for kept in (None, *range(len(self.space.shape))):
            node, chain = list(self.space.bottom), [self.space.bottom]
            while tuple(node) != self.space.top:
                open_ = [at for at, size in enumerate(self.space.shape) if node[at] < size - 1]
                free = [at for at in open_ if at != kept] or open_
                raised = min(free, key=lambda at: (costs[at][node[at]], at))
                node[raised] += 1
                chain.append(tuple(node))
            yield chain

    def _step_costs(self) -> list[NDArray[np.float64]]:
        """Return what every step up costs, attribute by attribute."""
        if isinstance(self.objective, Separable):
            one = self.objective
            return [weight * np.diff(sums) / scale for weight, sums, scale in zip(one.weights, one.least, one.scale, strict=True)]
        return [np.arange(1, size) / size for size in self.space.shape]

    def _bisect(self, chain: Sequence[Node]) -> None:
        """Look for the lowest node of a chain that meets the requirements."""
        low, high = 0, len(chain) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.look(chain[middle]) else (middle + 1, high)

    def _descend(self) -> None:
        """Go down from the best node as long as a neighbour below is better."""
        before = None
        while self.seen.node is not None and self.seen.node != before:
            before = self.seen.node
            for node in _neighbours(before, self.space.shape):
                if not self.whole or (not self.closed[node] and self._worth_a_step(node)):
                    self.look(node)

    def _worth_a_step(self, node: Node) -> bool:
        """Whether a neighbour may be better; those that cost the same wait until the lowest cost is known."""
        bound = float(self.bounds[node])
        return self._hopeful(node, bound) if self.tying else bound < self.seen.score

    def _visit_rest(self) -> None:
        """Look at every node that may be better, the most general first."""
        left = np.flatnonzero(~self.closed.ravel() & (self.bounds.ravel() < self.seen.score))
        order = left[np.argsort(-self.bounds.ravel()[left], kind="stable")]
        closed, bounds = self.closed.ravel(), self.bounds.ravel()
        for done, at in enumerate(order.tolist()):
            if done % 256 == 0:
                self.active.at("generalisations", done, len(order))
            if not closed[at] and bounds[at] < self.seen.score:
                self.look(self._node(at))

    def _visit_ties(self) -> None:
        """Look at the nodes that may cost as much as the best one at lower levels, the lowest first, until one does."""
        self.tying = True
        tied = np.flatnonzero(~self.closed.ravel() & (self.bounds.ravel() <= self.most))
        if self.seen.node is None or len(tied) > _MOST_TIED:
            self._descend()
            return
        for node in sorted((self._node(at) for at in tied.tolist()), key=lowest_first):
            if not self.closed[node] and self._hopeful(node, float(self.bounds[node])):
                self.look(node)

    def _node(self, at: int) -> Node:
        """Return the node at a place of the flattened lattice."""
        return tuple(int(level) for level in np.unravel_index(at, self.space.shape))

    def _best_first(self) -> bool:
        """Look at the nodes of a lattice too large to hold, those of the lowest bound first, until none can be better.

        Bounds rise with the levels, so when a node is taken, no node with a lower bound is left.
        """
        if not isinstance(self.objective, Separable):
            return False
        nothing = np.zeros(len(self.space.shape))
        waiting: list[tuple[float, Node, int]] = [(self.lowest, self.space.bottom, 0)]
        while waiting:
            self.lowest, node, first = heapq.heappop(waiting)
            if self.lowest >= self.seen.score:
                self.tying = True
                self._descend()
                return True
            if not self.budget.nodes and not self.budget.seconds and time.monotonic() - self.began > _PATIENCE:
                raise _Spent
            self._spend()
            if not (self.failing >= node).all(axis=1).any():
                self.look(node)
            for at in range(first, len(node)):
                if node[at] < self.space.shape[at] - 1:
                    raised = (*node[:at], node[at] + 1, *node[at + 1 :])
                    heapq.heappush(waiting, (self.objective.floor(raised, nothing), raised, at))
        return True

    def _lowest_left(self) -> float:
        """Return a bound on the score of what was not looked at."""
        if not self.whole:
            return min(self.seen.score, self.lowest)
        open_ = self.bounds[~self.closed]
        return min(self.seen.score, float(open_.min())) if open_.size else self.seen.score

    def _bottom_bound(self) -> float:
        if isinstance(self.objective, Separable):
            return float(self.objective.bounds(self.space.bottom).min())
        return -math.inf if self.objective.rises == "never" else 0.0


def lowest_first(node: Node) -> tuple[int, Node]:
    """Return what nodes of equal cost are sorted by: the sum of their levels, then the levels one by one."""
    return sum(node), node


def _below(node: Node) -> tuple[slice, ...]:
    return tuple(slice(0, level + 1) for level in node)


def _neighbours(node: Node, shape: Sequence[int]) -> Iterator[Node]:
    """Return the nodes one step below, and those where one attribute goes down and another up."""
    for down, level in enumerate(node):
        if level == 0:
            continue
        lower = (*node[:down], level - 1, *node[down + 1 :])
        yield lower
        for up, size in enumerate(shape):
            if up != down and lower[up] < size - 1:
                yield (*lower[:up], lower[up] + 1, *lower[up + 1 :])
