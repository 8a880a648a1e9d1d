"""Which generalisations are on the front? The lattice is searched as far as needed to know every undominated release.

If nothing is suppressed, rates never rise from a node to one above it (`node_rates` says when and why), and every model that
fails at a node fails below it. So:

- of several levels of an attribute that no need distinguishes, only the highest is examined: it gives less away for the same use;
- a node whose plain degree misses a need rules out all nodes above it (the degree adjusted for chance may rise, but not above the
  plain one, so it is checked for each node left); a node that breaks a model or gives too much away rules out all nodes below it;
- from the top down, a node's homogeneity risk is at least that of the nodes just above it, while its identity risk and its
  degrees are known without its classes: if a release already found is better even then, the classes of the node are not examined.

If something is suppressed, none of this holds, except that sizes and distinct values of classes only grow: every other node is
examined. Little is suppressed there, so the figures of a node are those of its classes minus the suppressed cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from unveil.errors import ArgumentError
from unveil.run import active_run
from unveil.search.lattice.applied import SuppressedCells, suppressed_classes
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.node_rates import Identity, Rate
from unveil.search.lattice.objectives import Separable
from unveil.search.lattice.space import Node, Space
from unveil.search.lattice.undominated import FrontPoint, Thresholds, Undominated, exceeds
from unveil.search.requirements import NodeRequirements
from unveil.time_limit import OutOfTime, SearchBudget, check_time, limited, time_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Frontier", "Question", "frontier"]

_MOST_NODES = 1 << 24
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is required of every node.

    Attributes
    ----------
    space, requirements, limit
        The lattice, the models, and how many records may be suppressed.
    cells
        The index of the cells of the count table that are suppressed with given classes.
    identity, homogeneity, needs
        The rates: of the original attributes, of each sensitive attribute, and of each need.
    loss
        What a generalisation costs.
    thresholds
        The highest risks and the lowest degrees.
    """

    space: Space
    requirements: NodeRequirements
    limit: int
    cells: SuppressedCells
    identity: Identity
    homogeneity: Mapping[str, Rate]
    needs: Mapping[str, Rate]
    loss: Separable
    thresholds: Thresholds

    def gone(self, node: Node, table: ClassTable, classes: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows of the count table's cells that are suppressed with these classes."""
        return self.cells.among(node, table, classes)

    def combined(self, point: FrontPoint) -> float | None:
        """Return the rate of all original key attributes together given all protected ones."""
        if not point.suppressed:
            return self.identity.combined(point.node, None)
        classes, violating = suppressed_classes(self.space, self.requirements, point.node)
        return self.identity.combined(point.node, self.gone(point.node, classes, violating))

    def adjusted(self, point: FrontPoint) -> dict[str, float | None]:
        """Return the degrees of a release, adjusted for chance."""
        gone = None
        if point.suppressed:
            gone = self.gone(point.node, *suppressed_classes(self.space, self.requirements, point.node))
        return self.adjusted_at(point.node, gone)

    def adjusted_at(self, node: Node, gone: NDArray[np.int64] | None) -> dict[str, float | None]:
        """Return the adjusted degrees at a node, some cells of the count table suppressed, or none."""
        return {name: rate.adjusted(node, gone) for name, rate in self.needs.items()}

    def without_thresholds(self) -> Question:
        """Return the same question without any threshold."""
        return replace(self, thresholds=Thresholds())


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """The front, whether it is complete, and how many nodes were examined."""

    points: Sequence[FrontPoint]
    complete: bool
    evaluated: int


def frontier(question: Question, budget: SearchBudget) -> Frontier:
    """Return the releases that meet the models and thresholds and that no other such release dominates.

    Parameters
    ----------
    question
        What is required of every node.
    budget
        When to stop early.
    """
    with limited(budget.seconds), ThreadPoolExecutor(1) as pool:
        return _Search(question, budget, pool).run()


class _Search:
    def __init__(self, question: Question, budget: SearchBudget, pool: ThreadPoolExecutor) -> None:
        self.ask, self.budget, self.pool = question, budget, pool
        self.sound = question.limit == 0 and question.identity.monotone and question.requirements.closed
        shape = question.space.shape
        self.levels = [self._telling(at) if self.sound else [*range(size)] for at, size in enumerate(shape)]
        self.shape = tuple(len(levels) for levels in self.levels)
        size = int(np.prod(self.shape, dtype=np.float64))
        if size > _MOST_NODES:
            raise ArgumentError(f"{size:,} generalisations are too many for a front; bound the levels of attributes.")
        self.closed = np.zeros(self.shape, dtype=bool)
        self.risks = np.zeros((*self.shape, len(question.homogeneity)))  # a lower bound, so far, of what is disclosed
        self.front = Undominated()
        self.evaluated = 0

    def run(self) -> Frontier:
        """Search for the front as far as the budget allows."""
        try:
            complete = self._look_through()
        except OutOfTime:
            complete = False
        active_run().at("generalisations", self.closed.size, self.closed.size)
        return Frontier(self.front.sorted(), complete=complete, evaluated=self.evaluated)

    def _look_through(self) -> bool:
        """Go through the nodes, each after all nodes above it; return whether all relevant nodes were examined."""
        order, run = self._order(), active_run()
        for done, at in enumerate(order.tolist()):
            if done % 256 == 0:
                run.at("generalisations", done, len(order))
            place = tuple(int(level) for level in np.unravel_index(at, self.shape))
            if self.closed[place]:
                continue
            if self.budget.nodes is not None and self.evaluated >= self.budget.nodes:
                return False
            if self.evaluated:
                check_time()
            self.evaluated += 1
            run.check()
            self._look(place)
        return True

    def _order(self) -> NDArray[np.int64]:
        """Return the nodes, the most general first, or, if all of them can be examined, in the order of rolling up attributes.

        In both orders, the same nodes are ruled out by nodes above them. In the second, neighbours share finer classes.
        """
        if self.sound or self.budget.nodes is not None or time_left() < math.inf:
            height = reduce(np.add.outer, [np.arange(size, dtype=np.int32) for size in self.shape])
            return np.argsort(-height.ravel(), kind="stable")
        places = np.arange(self.closed.size).reshape(self.shape)
        return places.transpose(self.ask.space.rolled.order).ravel()[::-1]

    def _telling(self, at: int) -> list[int]:
        """Return the levels of an attribute to examine: of levels that no need distinguishes, the highest and any equal to it."""
        highest: dict[tuple[bytes | None, ...], int] = {}
        signatures = []
        for level in range(self.ask.space.shape[at]):
            used = [rate.codings[at] for rate in self.ask.needs.values() if at in rate.codings]
            signatures.append(tuple(coding.signature(level) for coding in used))
            highest[signatures[-1]] = level
        rates = self.ask.identity.rates[at]
        return [level for level, one in enumerate(signatures) if None not in one and rates[level] == rates[highest[one]]]

    def _node(self, place: Node) -> Node:
        return tuple(levels[level] for levels, level in zip(self.levels, place, strict=True))

    def _look(self, place: Node) -> None:
        """Examine a node, and offer it to the front if it meets all requirements."""
        node = self._node(place)
        if self.sound and self._settled(place, node):
            return
        table = self.ask.space.classes(node)
        suppressed = self._suppressed(place, node, table)
        if suppressed is None:
            return
        table = table.copy()
        point, gone = self._point(node, table, suppressed)
        if self.sound:
            self.risks[place] = [risk or 0.0 for risk in point.homogeneity.values()]
        if self._judged(point.degrees) and self._kept_to(point, gone):
            self.front.offer(point)
        elif self.sound and any(exceeds(risk, self.ask.thresholds.homogeneity) for risk in point.homogeneity.values()):
            self.closed[_below(place)] = True

    def _kept_to(self, point: FrontPoint, gone: NDArray[np.int64] | None) -> bool:
        """Whether a release meets the thresholds and is not dominated; chance is computed only if the rest is met."""
        thresholds = self.ask.thresholds
        missed = any(thresholds.misses(name, degree) for name, degree in point.degrees.items())
        if missed or (thresholds.degrees and self.front.dominates(point.figures)):
            return False
        return not thresholds.missed(point, self.ask.adjusted_at(point.node, gone) if thresholds.degrees else {})

    def _settled(self, place: Node, node: Node) -> bool:
        """Whether a node can be ruled out, as failing or dominated, without its classes."""
        identity = self.ask.identity.at(node)
        if exceeds(identity, self.ask.thresholds.identity):
            self.closed[_below(place)] = True
            return True
        degrees = {name: rate.at(node) for name, rate in self.ask.needs.items()}
        for name, degree in degrees.items():
            if self.ask.thresholds.misses(name, degree):
                self._close_above(name, place)
                return True
        above = [self.risks[(*place[:at], level + 1, *place[at + 1 :])] for at, level in self._raisable(place)]
        floor = np.max([self.risks[place], *above], axis=0)
        self.risks[place] = floor
        known = zip(self.ask.homogeneity.items(), floor.tolist(), strict=True)
        least = {name: risk if rate.defined else None for (name, rate), risk in known}
        best = FrontPoint(node, identity, least, degrees, 0.0, 0)
        return not self._judged(degrees) or self.front.dominates(best.figures)

    def _judged(self, degrees: Mapping[str, float | None]) -> bool:
        """Whether every need that can be served somewhere has a degree here."""
        return all(degrees[name] is not None for name, rate in self.ask.needs.items() if rate.defined)

    def _raisable(self, place: Node) -> Iterator[tuple[int, int]]:
        return ((at, level) for at, level in enumerate(place) if level + 1 < self.shape[at])

    def _close_above(self, name: str, place: Node) -> None:
        """Find the lowest node on a path up to this one that also misses the need, and rule out all nodes above it."""
        rate = self.ask.needs[name]
        if not rate.monotone:
            return
        steps = max(place)
        low, high = 0, steps
        while low < high:
            middle = (low + high) // 2
            misses = self.ask.thresholds.misses(name, rate.at(self._node(_scaled(place, middle, steps))))
            low, high = (low, middle) if misses else (middle + 1, high)
        lowest = _scaled(place, high, steps)
        self.closed[tuple(slice(level if at in rate.codings else 0, None) for at, level in enumerate(lowest))] = True

    def _suppressed(self, place: Node, node: Node, table: ClassTable) -> NDArray[np.bool_] | None:
        """Return the classes to suppress; None if this node has no release; nodes below that must also fail are ruled out."""
        verdict = self.ask.requirements.verdict(node, table, self.ask.requirements.small(table))
        lost = int(table.n[verdict.violating].sum())
        if lost == self.ask.space.records:
            return None  # nothing would be left
        if lost <= self.ask.limit and not verdict.fails:
            return verdict.violating
        if (self.ask.limit == 0 and self.ask.requirements.closed) or verdict.lasting > self.ask.limit + _ROUNDING:
            self.closed[_below(place)] = True
        return None

    def _point(self, node: Node, table: ClassTable, classes: NDArray[np.bool_]) -> tuple[FrontPoint, NDArray[np.int64] | None]:
        """Return the figures of a node with the given classes suppressed, and the rows of the cells in them.

        The homogeneity risks take most of the time, so another thread computes them meanwhile.
        """
        ask, lost = self.ask, int(table.n[classes].sum())
        if not lost:
            return self._figures(node, table, classes, lost, lambda rate: rate.at(node), {}), None
        cells: Future[NDArray[np.int64]] = Future()
        risks = {name: self.pool.submit(rate.suppressed, node, cells.result) for name, rate in ask.homogeneity.items()}
        try:
            gone = ask.gone(node, table, classes)
            cells.set_result(gone)
        except BaseException as error:
            cells.set_exception(error)
            raise
        return self._figures(node, table, classes, lost, lambda rate: rate.suppressed(node, lambda: gone), risks), gone

    def _figures(
        self,
        node: Node,
        table: ClassTable,
        classes: NDArray[np.bool_],
        lost: int,
        figure: Callable[[Rate | Identity], float | None],
        risks: Mapping[str, Future[float | None]],
    ) -> FrontPoint:
        """Return a node with its figures, waiting for any that another thread still computes."""
        ask = self.ask
        identity, degrees = figure(ask.identity), {name: figure(rate) for name, rate in ask.needs.items()}
        loss = ask.loss.score(ask.space, node, table, classes)
        known = {name: risks[name].result() if name in risks else figure(rate) for name, rate in ask.homogeneity.items()}
        return FrontPoint(node, identity, known, degrees, loss, lost)


def _below(place: Node) -> tuple[slice, ...]:
    return tuple(slice(0, level + 1) for level in place)


def _scaled(place: Node, step: int, steps: int) -> Node:
    """Return a node on the path from the bottom to this one."""
    return tuple(level * step // steps if steps else 0 for level in place)
