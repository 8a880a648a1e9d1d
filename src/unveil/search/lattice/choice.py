"""A request as a lattice of generalisations, and the generalisation that is chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, EmptyDataError, ModelNotMetError
from unveil.models.base import Measured, Place
from unveil.results.wording import counted
from unveil.search.checks import SearchBudget, limit_of
from unveil.search.lattice.applied import Applied, applied, recoded_cells, suppressed_classes
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.full_domain import SearchResult, search
from unveil.search.lattice.objectives import Candidate, ClassBased, Objective, objective_of, targets_of
from unveil.search.lattice.payoffs import class_payoffs
from unveil.search.lattice.space import Node, Space
from unveil.search.request import Request, not_met
from unveil.search.requirements import NodeRequirements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Counts
    from unveil.sources.microdata import Microdata

__all__ = ["Choice", "Lattice"]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The generalisations of a table, what each must meet, and what to minimise.

    Attributes
    ----------
    request
        The table and its models.
    space, requirements, objective
        The lattice, the requirements, and the cost of a node.
    limit
        How many records may be suppressed.
    """

    request: Request
    space: Space
    requirements: NodeRequirements
    objective: Objective
    limit: int

    @classmethod
    def of(
        cls,
        request: Request,
        *,
        levels: Mapping[str, tuple[int, int]] | None = None,
        suppression: float = 0.0,
        objective: str | Callable[[Candidate], float] = "loss",
        weights: Mapping[str, float] | None = None,
        factor: float = 0.5,
    ) -> Lattice:
        """Lay out the lattice of a request; the other arguments are those of `anonymize`."""
        attributes = request.key_attributes(levels)
        predicted = [(target,) for target in targets_of(objective) if target and target not in request.keys]
        groups = dict.fromkeys([*request.sensitive_groups, *predicted])
        space = Space(request.cells, attributes, list(groups), request.population)
        limit = limit_of(suppression, space.records)
        requirements = NodeRequirements(space, list(request.models.values()), limit)
        goal = objective_of(objective, attributes, space.records, weights=weights, factor=factor)
        if isinstance(goal, ClassBased) and goal.needs_population and request.population is None:
            raise ArgumentError(f"the objective {goal.name} needs a population; give the population's table.")
        return cls(request, space, requirements, goal, limit)

    def searched(self, budget: SearchBudget | None = None) -> SearchResult:
        """Search for the best node."""
        return search(self.space, self.requirements, self.objective, self.limit, budget=budget)

    def chosen(self, budget: SearchBudget | None = None) -> Choice:
        """Search for the best node, and say why if there is none, or if it leaves no record."""
        began = time.perf_counter()
        best = self.searched(budget)
        if best.node is None:
            raise self._unmet(best)
        if best.suppressed == self.space.records:
            raise self._fails_at_the_top() or EmptyDataError(
                f"the cheapest generalisation suppresses all {self.space.records:,} records, so nothing is left; "
                "allow less suppression, or let it cost more."
            )
        classes, gone = suppressed_classes(self.space, self.requirements, best.node)
        return Choice(self, self.request, best, best.node, classes, gone, time.perf_counter() - began)

    def _unmet(self, best: SearchResult) -> ModelNotMetError:
        """Say which model cannot be met, and by how much."""
        if not best.optimal:
            looked = counted(best.evaluated, "generalisation")
            return ModelNotMetError(f"none of the {looked} looked at within the limits meets the models; allow more time.")
        _, lost = best.closest
        return self._fails_at_the_top() or ModelNotMetError(
            f"the models cannot be met together: at best {counted(lost, 'record')} would have to be suppressed, "
            f"and {self.limit:,} may be. Allow more suppression, or require less."
        )

    def _fails_at_the_top(self) -> ModelNotMetError | None:
        """Say which model fails even at the highest levels, in one class or as few as they allow, with nothing suppressed."""
        classes = self.space.classes(self.space.top).copy()
        nothing = np.zeros(len(classes), dtype=bool)
        figures = self.request.measured(*self.released(self.space.top, classes, nothing))
        paid = self.paid(self.space.top, classes, nothing)
        return not_met({**figures, **paid}, "with every key attribute at its highest level")

    def released(self, node: Node, classes: ClassTable, gone: NDArray[np.bool_]) -> tuple[Counts, Counts | None]:
        """Return the count table of the release at a node with some of its classes suppressed, and that of its population."""
        cells, whole = self.request.cells, self.request.population
        counts = recoded_cells(self.space, node, classes, gone, cells, self._codes(cells))
        if whole is not None:
            whole = recoded_cells(self.space, node, classes, np.zeros_like(gone), whole, self._codes(whole))
        return counts, whole

    def paid(self, node: Node, classes: ClassTable, gone: NDArray[np.bool_]) -> dict[Place, Measured]:
        """Return what a record of the worst class kept pays its publisher, given what records lose at this node."""
        payoffs: dict[Place, Measured] = {}
        kept = ~gone & (classes.n > 0)
        for model in self.requirements.paying:
            figures = class_payoffs(model.game, self.space, node, classes)[kept]
            wrong = model.violated(figures)
            payoffs[model.place] = Measured(
                float(figures.min()) if len(figures) else None,
                requirement=model.requirement,
                met=not wrong.any(),
                violating_classes=int(wrong.sum()),
                violating_records=int(classes.n[kept][wrong].sum()),
                of_population=model.needs_population,
            )
        return payoffs

    def _codes(self, counts: Counts) -> list[NDArray[Any]]:
        return [counts.codes[counts.names.index(name)] for name in self.request.keys]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The node that was chosen.

    Attributes
    ----------
    lattice, request
        The generalisations that it was chosen from; the table, and what was required of it.
    best
        What the search found.
    node, classes, gone
        The node, its classes, and those of them that are suppressed.
    seconds
        How long the search took.
    """

    lattice: Lattice
    request: Request
    best: SearchResult
    node: Node
    classes: ClassTable
    gone: NDArray[np.bool_]
    seconds: float

    @property
    def levels(self) -> Sequence[int]:
        """The level of each key attribute."""
        return [one.lowest + level for one, level in zip(self.lattice.space.attributes, self.node, strict=True)]

    def applied(self, codes: Sequence[NDArray[Any]]) -> Applied:
        """Return what records become, given for each key attribute the code of every record's value."""
        return applied(self.lattice.space, self.node, self.classes, self.gone, codes)

    def changed(self) -> list[str]:
        """Return the key attributes that do not stay as they are; what is suppressed changes all of them."""
        pairs = zip(self.request.keys, self.levels, strict=True)
        return [name for name, level in pairs if level > 0 or self.gone.any()]

    def recoded(self, without: Sequence[str]) -> Microdata:
        """Return the records in hand as the node recodes them, without some columns; one that stays as it is keeps its type."""
        what = self.applied(self.request.record_codes())
        labels = {name: what.labels[name] for name in self.changed()}
        return self.request.records.relabelled(labels, what.codes, without)

    def judged(self) -> tuple[dict[Place, Measured], dict[Place, Measured]]:
        """Return the figures of the models for the release, and for the data."""
        request, lattice = self.request, self.lattice
        released = lattice.released(self.node, self.classes, self.gone)
        after, before = request.measured_each([released, (request.cells, request.population)])
        return {**after, **lattice.paid(self.node, self.classes, self.gone)}, before
