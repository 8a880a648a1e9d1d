"""Which generalisation is best? The lattice is searched until the optimum is certain or the budget is spent.

The cost of generalisation alone is known for every node beforehand; suppression only adds to it. So a node whose bound reaches
the best score found need not be examined. A node where a lasting requirement fails rules out all nodes below it. First a chain
from the bottom to the top is bisected for a good solution; then the nodes that are left are visited, the most general first,
until none can be better: the solution is the optimum. If a lattice is too large to be held, a walk from that solution
(`wandering`) looks for better ones, in turn with boxes of nodes (`boxes`) that are split until none can hold one.

Of nodes that cost the same, the one with the lowest levels is taken: the one with the smallest sum of levels and, if sums are
equal, the one whose first attributes are lower. If too many nodes may cost the same (generalisation costs nothing, say), or a
lattice is too large to be held, only neighbours are compared in this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unveil.errors import ArgumentError
from unveil.run import active_run
from unveil.search.lattice.boxes import Boxes, LookedAt, Sizes
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.objectives import Objective, Separable
from unveil.search.lattice.space import Node, Space, lowest_first, neighbours, node_at, nodes_below
from unveil.search.lattice.wandering import LatticeWalk
from unveil.search.requirements import NodeRequirements
from unveil.time_limit import OutOfTime, SearchBudget, check_time, limited

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SearchResult", "search"]

_PATIENCE = 60.0
"""Seconds after which the search of a lattice that is not held as a whole stops if no limit is given."""
_MOST_FAILING = 4096
_FIRST_ROUNDS = 256
"""The number of rounds of the walk before the first box is split."""
_BOXES = 1
"""The number of boxes split after each further round; splitting one takes about as long as a round."""
_STALE = 256
"""After this many rounds in a row without a better node the walk ends, if no box can show that none is left."""
_ROUNDING = 1e-6
_ALIKE = 1e-12
"""Scores with no larger relative difference are equal: the same costs may be summed in another order."""
_MOST_TIED = 1 << 14
"""If more nodes than this may cost as much as the best one, only its neighbours are looked at."""
_MOST_RAISED = 1 << 17
"""Bounds of more nodes than this are not raised at once: that would take longer than looking at the nodes it saves."""
_BATCH = 256
"""Nodes that need not be looked at are removed from this many at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The result of a search.

    Attributes
    ----------
    node
        The best node; None if none meets the requirements.
    score
        Its score.
    suppressed
        The number of its records in violating classes.
    bound
        No node has a score below this.
    optimal
        Whether it is certain that this node is the best, or that no node meets the requirements.
    lattice, evaluated
        The numbers of nodes in the lattice and of those examined.
    closest
        If no node meets the requirements: the examined node with the fewest records in violating classes.
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
    """The best node so far, and what is known of the nodes examined."""

    score: float = math.inf
    node: Node | None = None
    suppressed: int = 0
    ranking: tuple[float, ...] = ()
    """The losses of the best node's attributes, the largest first, if the objective breaks ties by them."""
    costs: dict[Node, float] = field(default_factory=dict)
    """The cost of each examined node, or a lower bound of it; infinite if the node does not meet the requirements."""
    closest: tuple[Node, int] | None = None


class _Spent(Exception):  # noqa: N818 - no error: the budget is used up
    """Raised when the budget is spent."""


def search(
    space: Space,
    requirements: NodeRequirements,
    objective: Objective,
    limit: int,
    *,
    budget: SearchBudget | None = None,
) -> SearchResult:
    """Return the node of the lowest score that meets the requirements with at most `limit` records suppressed.

    Parameters
    ----------
    space, requirements, objective
        The lattice, the requirements and what to minimise.
    limit
        How many records may be suppressed.
    budget
        When to stop early; the result then says how far from the optimum it may be.
    """
    budget = budget or SearchBudget()
    hurried = budget.seconds is not None and isinstance(objective, Separable)
    most = space.capacity.nodes
    whole = space.size <= (min(most, space.capacity.nodes_in_time) if hurried else most)
    patience = None if whole or budget.nodes is not None else _PATIENCE
    with limited(patience if budget.seconds is None else budget.seconds):
        return _Search(space, requirements, objective, limit, budget, whole=whole).run()


class _Search:
    def __init__(
        self,
        space: Space,
        requirements: NodeRequirements,
        objective: Objective,
        limit: int,
        budget: SearchBudget,
        *,
        whole: bool,
    ) -> None:
        self.space, self.requirements, self.objective, self.limit, self.budget = space, requirements, objective, limit, budget
        self.active = active_run()
        self.seen, self.whole = _Seen(), whole
        self.closed: NDArray[np.bool_] = np.zeros(space.shape if self.whole else (), dtype=bool)
        self.lowest = self._bottom_bound()
        self.bounds: NDArray[np.float64] = self._first_bounds()
        self.failing: NDArray[np.int64] = np.zeros((0, len(space.shape)), dtype=np.int64)
        self.below: set[Node] = set()  # all nodes below these need not be looked at
        self.boxes: Boxes | None = None
        self.first = space.bottom  # no node with a lower level of an attribute meets the requirements
        self.most = math.inf  # the most that a node may cost to be as good as the best so far
        self.tying = False  # whether the lowest cost is known, and only lower levels are looked for

    def run(self) -> SearchResult:
        """Search until no better node can be left, or the budget is spent."""
        if (surveyed := self._survey()) is not None:
            return surveyed
        self._raise_lowest()
        optimal = False
        try:
            self.look(self.space.top)
            self._bisect(self._chain())
            if self.whole:
                self._descend()
                self._visit_rest()
                optimal = True
                self._visit_ties()
            else:
                optimal = self._visit_boxes()
                self.tying = optimal
                self._descend()
        except (_Spent, OutOfTime):
            pass
        seen = self.seen
        bound = seen.score if optimal else self._lowest_left()
        optimal = optimal or (seen.node is not None and bound >= seen.score - self._slack(seen.score))
        closest = seen.closest if seen.closest is not None else (self.space.top, self.space.records)
        return SearchResult(seen.node, seen.score, seen.suppressed, bound, optimal, self.space.size, self._evaluated(), closest)

    def _survey(self) -> SearchResult | None:
        """Score all nodes in one pass, if requirements and objective depend on nothing but class sizes."""
        least, survey = self.requirements.least, None if isinstance(self.objective, Separable) else self.objective.survey
        limited = self.budget.seconds is not None or self.budget.nodes is not None
        many = self.space.size > _MOST_RAISED or len(self.space.cells) > self.space.capacity.surveyed
        if limited or many or least is None or survey is None:
            return None
        sizes = self.space.survey(least)
        if sizes is None:
            return None
        costs = np.where(sizes.small <= self.limit, survey(sizes, self.space.records), np.inf)
        closest = np.unravel_index(int(sizes.small.argmin()), self.space.shape)
        least_small = (tuple(int(level) for level in closest), int(sizes.small.min()))
        if not np.isfinite(costs).any():
            return self._settled(None, math.inf, 0, least_small)
        tied = zip(*np.nonzero(costs == costs.min()), strict=True)
        node = min((tuple(int(level) for level in one) for one in tied), key=lowest_first)
        return self._settled(node, float(costs[node]), int(sizes.small[node]), least_small)

    def _raise_lowest(self) -> None:
        """If nothing may be suppressed, leave out the levels of an attribute that fail even by themselves."""
        if self.limit or not self.whole or self.requirements.only_small:
            return
        self.first = self.space.rolled.raise_lowest(self.requirements.fails_below)
        for at, level in enumerate(self.first):
            self.closed[(slice(None),) * at + (slice(0, level),)] = True

    def _settled(self, node: Node | None, score: float, lost: int, closest: tuple[Node, int]) -> SearchResult:
        size = self.space.size
        return SearchResult(node, score, lost, score, optimal=True, lattice=size, evaluated=size, closest=closest)

    def look(self, node: Node) -> bool:
        """Evaluate a node, once; return whether it meets the requirements."""
        return self._cost(node) < math.inf

    def _cost(self, node: Node) -> float:
        """Return the cost of a node, infinite if it fails the requirements; a lower bound is enough if it cannot be the best."""
        if node in self.below:
            return math.inf
        if node not in self.seen.costs:
            self._spend()
            if not self.whole and (self.failing >= node).all(axis=1).any():
                self.below.add(node)
                return math.inf
            self.seen.costs[node] = self._evaluate(node)
            if self.whole:
                self.closed[node] = True
        return self.seen.costs[node]

    def _evaluated(self) -> int:
        return len(self.seen.costs) + (self.boxes.probes if self.boxes is not None else 0)

    def _spend(self) -> None:
        """Stop if the run is cancelled, or the time or the budget is spent; one node is examined in any case."""
        self.active.check()
        if self.budget.nodes is not None and self._evaluated() >= self.budget.nodes:
            raise _Spent
        if self.seen.costs:
            check_time()

    def _evaluate(self, node: Node) -> float:
        table = self.space.classes_within(node, self.requirements.most_classes)
        if table is None:  # too many classes, so too many small ones; at the top node they cannot be too many
            self._close_below(node, self.space.records)
            return math.inf
        small = self.requirements.small(table)
        lost = int(table.n[small].sum())
        if lost > self.limit:
            self._close_below(node, lost)
            return math.inf
        floor = self._floor(node, table, small)
        if self.requirements.only_small:
            return self._offer(node, table, small, lost)
        if not self._hopeful(node, floor):
            return floor  # it may or may not meet the other requirements: it is no better in any case
        verdict = self.requirements.verdict(node, table, small)
        lost = int(table.n[verdict.violating].sum())
        if lost > self.limit or verdict.fails:
            settled = self.limit == 0 and lost > 0 and self.requirements.closed
            lasting = verdict.lasting > self.limit + _ROUNDING or settled
            self._close_below(node if lasting else None, lost, node)
            return math.inf
        return self._offer(node, table, verdict.violating, lost)

    def _offer(self, node: Node, table: ClassTable, gone: NDArray[np.bool_], lost: int) -> float:
        """Take a node that meets the requirements if it beats the best, in cost or by lower levels; return its cost."""
        score = self.objective.score(self.space, node, table, gone)
        ranking: tuple[float, ...] = ()
        if math.isnan(score):
            raise ArgumentError("the objective returned NaN for a generalisation; return a number, infinite to rule it out.")
        best = self.seen.score
        slack = self._slack(best) if self.seen.node is not None else 0.0
        if self.objective.ranked:
            ranking = self.objective.ranking(self.space, node, table, gone)
        before = ranking < self.seen.ranking or (ranking == self.seen.ranking and self._lower(node))
        if score < best - slack or (score <= self.most < math.inf and before):
            self.seen.score, self.seen.node, self.seen.suppressed, self.seen.ranking = score, node, lost, ranking
            self.most = score + self._slack(score)
        return score

    def _hopeful(self, node: Node, bound: float) -> bool:
        """Whether a node whose cost has this lower bound may be better than the best so far, if only by lower levels."""
        return bound < self._ceiling() or (bound <= self.most and self._lower(node))

    def _ceiling(self) -> float:
        """Return the score that a better node must stay below; nodes of equal score count as better if ties are broken."""
        return math.nextafter(self.most, math.inf) if self.objective.ranked else self.seen.score

    def _lower(self, node: Node) -> bool:
        """Whether a node has lower levels than the best so far."""
        return self.seen.node is not None and lowest_first(node) < lowest_first(self.seen.node)

    def _slack(self, score: float) -> float:
        """Return the largest difference between scores that count as equal; the terms of separable objectives add up to 1."""
        return _ALIKE * max(abs(score), 1.0 if isinstance(self.objective, Separable) else 0.0)

    def _close_below(self, node: Node | None, lost: int, looked_at: Node | None = None) -> None:
        """Note that a node fails and, if a lasting requirement does, that all nodes below it fail too."""
        at = node if node is not None else looked_at
        if at is not None and (self.seen.closest is None or lost < self.seen.closest[1]):
            self.seen.closest = (at, lost)
        if node is not None and self.whole:
            self.closed[nodes_below(node)] = True
        elif node is not None:
            self.failing = np.vstack([self.failing[-_MOST_FAILING:], [node]])

    def _first_bounds(self) -> NDArray[np.float64]:
        if not self.whole:
            return np.zeros(())
        if isinstance(self.objective, Separable):
            return self.objective.bounds(self.space.top)
        return np.full(self.space.shape, self.lowest)

    def _floor(self, node: Node, table: ClassTable, small: NDArray[np.bool_]) -> float:
        """Return a lower bound of a node's cost, and raise that of all nodes below, where small classes stay small."""
        if not isinstance(self.objective, Separable):
            if self.objective.rises == "never":
                return -math.inf
            gone = small if self.objective.rises == "more" else np.zeros_like(small)
            return self.objective.score(self.space, node, table, gone)
        added = self.objective.added(self.space, node, table, small)
        if self.whole and self.requirements.only_small and added.any() and math.prod(level + 1 for level in node) <= _MOST_RAISED:
            part = self.bounds[nodes_below(node)]
            np.maximum(part, self.objective.bounds(node, added), out=part)
        return self.objective.floor(node, added)

    def _chain(self) -> list[Node]:
        """Return a chain from the lowest node left to the top, cheapest steps first."""
        costs = self._step_costs()
        node, chain = list(self.first), [self.first]
        while tuple(node) != self.space.top:
            free = [at for at, size in enumerate(self.space.shape) if node[at] < size - 1]
            raised = min(free, key=lambda at: (costs[at][node[at]], at))
            node[raised] += 1
            chain.append(tuple(node))
        return chain

    def _step_costs(self) -> list[NDArray[np.float64]]:
        """Return the cost of every step up, attribute by attribute."""
        if isinstance(self.objective, Separable):
            one = self.objective
            parts = zip(one.weights, one.totals, one.scale, strict=True)
            return [weight * np.diff(sums) / scale for weight, sums, scale in parts]
        return [np.arange(1, size) / size for size in self.space.shape]

    def _bisect(self, chain: Sequence[Node]) -> None:
        """Find the lowest node of a chain that meets the requirements by bisection."""
        low, high = 0, len(chain) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.look(chain[middle]) else (middle + 1, high)

    def _descend(self) -> None:
        """Go down from the best node as long as a neighbour below is better."""
        before = None
        while self.seen.node is not None and self.seen.node != before:
            before = self.seen.node
            for node in neighbours(before, self.space.shape):
                if not self.whole or (not self.closed[node] and self._worth_a_step(node)):
                    self.look(node)

    def _worth_a_step(self, node: Node) -> bool:
        """Whether a neighbour may be better; those that cost the same wait until the lowest cost is known."""
        bound = float(self.bounds[node])
        return self._hopeful(node, bound) if self.tying else bound < self._ceiling()

    def _visit_rest(self) -> None:
        """Examine every node that may be better, the most general first."""
        left = np.flatnonzero(~self.closed.ravel() & (self.bounds.ravel() < self._ceiling()))
        order = left[np.argsort(-self.bounds.ravel()[left], kind="stable")]
        closed, bounds = self.closed.ravel(), self.bounds.ravel()
        for done in range(0, len(order), _BATCH):
            self.active.at("generalisations", done, len(order))
            batch = order[done : done + _BATCH]
            for at in batch[~closed[batch] & (bounds[batch] < self._ceiling())].tolist():
                if not closed[at] and bounds[at] < self._ceiling():
                    self.look(node_at(at, self.space.shape))
        if len(order):
            self.active.at("generalisations", len(order), len(order))

    def _visit_ties(self) -> None:
        """Examine nodes at lower levels that may cost as little as the best one, the lowest first, until one does."""
        self.tying = True
        tied = np.flatnonzero(~self.closed.ravel() & (self.bounds.ravel() <= self.most))
        if self.seen.node is None or len(tied) > _MOST_TIED:
            self._descend()
            return
        for node in sorted((node_at(at, self.space.shape) for at in tied.tolist()), key=lowest_first):
            if not self.closed[node] and self._hopeful(node, float(self.bounds[node])):
                self.look(node)

    def _visit_boxes(self) -> bool:
        """Walk over a large lattice and split its boxes in turn; return whether no box can hold a better node."""
        if isinstance(self.objective, Separable):
            k = self.requirements.least
            probe = LookedAt(self._fails_lastingly) if k is None else Sizes(self.space.rolled, k, self.limit)
            self.boxes = Boxes(self.space, self.objective, probe, self._ceiling, self.look)
        steps, walk = self._step_costs(), None
        while self.boxes is None or not self.boxes.done:
            if walk is None and self.seen.node is not None:
                walk = LatticeWalk(self.seen.node, steps, self._cost)
                for _ in range(_FIRST_ROUNDS):
                    walk.round()
            elif walk is not None:
                walk.round()
            if self.boxes is None and (walk is None or walk.stale > _STALE):
                return False
            self._split_boxes(_BOXES)
        return True

    def _split_boxes(self, number: int) -> None:
        for _ in range(number):
            if self.boxes is None or self.boxes.done:
                return
            self._spend()
            self.boxes.split()

    def _fails_lastingly(self, node: Node) -> bool:
        """Whether a node and all nodes below it are certain to fail."""
        return not self.look(node) and bool((self.failing >= node).all(axis=1).any())

    def _lowest_left(self) -> float:
        """Return a lower bound of the scores of the nodes not examined."""
        if not self.whole:
            return min(self.seen.score, self.lowest if self.boxes is None else self.boxes.bound)
        open_ = self.bounds[~self.closed]
        return min(self.seen.score, float(open_.min())) if open_.size else self.seen.score

    def _bottom_bound(self) -> float:
        if isinstance(self.objective, Separable):
            return float(self.objective.bounds(self.space.bottom).min())
        return -math.inf if self.objective.rises == "never" else 0.0
