"""A generalisation chosen from a lattice: its levels, its score, and the figures of the models before and after."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.attributes import in_line
from unveil.errors import ArgumentError, EmptyDataError, ModelNotMetError, listed
from unveil.formats import counted, jsonable, number
from unveil.models import Measured, Place, published
from unveil.releases import Protection, Release
from unveil.results import Figure, Table, View
from unveil.search.lattice.applied import Applied, applied, recoded_cells, suppressed_classes
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.class_costs import class_payoffs
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.full_domain import SearchResult, search
from unveil.search.lattice.objectives import Candidate, ClassBased, Objective, objective_of, targets_of
from unveil.search.lattice.space import Node, Space
from unveil.search.request import Request, not_met
from unveil.search.requirements import NodeRequirements, limit_of
from unveil.time_limit import SearchBudget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Counts
    from unveil.sources import Microdata

__all__ = ["Choice", "Generalisation", "Lattice", "Searched", "generalisation_of", "notes_on", "on_suppressed", "stated_settings"]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The possible generalisations of a table, the requirements on them, and the objective to minimise.

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
        capacity: Capacity = USUAL,
    ) -> Lattice:
        """Build the lattice of a request, within a capacity; the other arguments are those of `anonymize`."""
        attributes = request.key_attributes(levels)
        predicted = [(target,) for target in targets_of(objective) if target and target not in request.keys]
        groups = dict.fromkeys([*request.sensitive_groups, *predicted])
        space = Space(request.cells, attributes, list(groups), request.population, capacity)
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
        """Return the best node; refuse, with the reason, if there is none or if it leaves no records."""
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
        """Return an error that says which model cannot be met, and by how much."""
        if not best.optimal:
            looked = counted(best.evaluated, "generalisation")
            return ModelNotMetError(f"none of the {looked} looked at within the limits meets the models; allow more time.")
        _, lost = best.closest
        return self._fails_at_the_top() or ModelNotMetError(
            f"the models cannot be met together: at best {counted(lost, 'record')} would have to be suppressed, "
            f"and {self.limit:,} may be. Allow more suppression, or require less."
        )

    def _fails_at_the_top(self) -> ModelNotMetError | None:
        """Return which model fails even at the highest levels, in as few classes as these allow and with nothing suppressed."""
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
        """Return the publisher's payoff for a record of the worst class kept, given the information lost at this node."""
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
        The possible generalisations, and the request: the table and its requirements.
    best
        The result of the search.
    node, classes, gone
        The node, its classes, and which of them are suppressed.
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
        """Return the recoded records, given the code of every record's value for each key attribute."""
        return applied(self.lattice.space, self.node, self.classes, self.gone, codes)

    def changed(self) -> list[str]:
        """Return the key attributes that are changed; suppressing a record changes all of them."""
        pairs = zip(self.request.keys, self.levels, strict=True)
        return [name for name, level in pairs if level > 0 or self.gone.any()]

    def recoded(self, without: Sequence[str]) -> Microdata:
        """Return the records in memory, recoded and without some columns; a column that is not changed keeps its type."""
        what = self.applied(self.request.record_codes())
        labels = {name: what.labels[name] for name in self.changed()}
        return self.request.records.relabelled(labels, what.codes, without)

    def erased(self) -> list[str]:
        """Return the key attributes that have one value in all remaining records, although the data has several."""
        kept, space = np.flatnonzero(~self.gone), self.lattice.space
        codes = {one.name: self.classes.codes(field, kept) for one, field in zip(space.attributes, space.fields, strict=True)}
        alike = {name for name, held in codes.items() if len(held) and (held == held[0]).all()}
        return [name for name in self.request.keys if name in alike and len(self.request.values(name)) > 1]

    def judged(self) -> tuple[dict[Place, Measured], dict[Place, Measured]]:
        """Return the figures of the models for the release, and for the data."""
        request, lattice = self.request, self.lattice
        released = lattice.released(self.node, self.classes, self.gone)
        after, before = request.measured_each([released, (request.cells, request.population)])
        return {**after, **lattice.paid(self.node, self.classes, self.gone)}, before


@dataclass(frozen=True, slots=True, eq=False)
class Searched(Protection):
    """The report that all searches for a recoding have in common.

    Attributes
    ----------
    score
        The cost of the release under the objective.
    suppressed
        How many records are suppressed.
    models, before
        The figure of each required model, for the release and for the data.
    seconds
        How long the search took.
    """

    score: float
    suppressed: int
    models: Mapping[Place, Measured]
    before: Mapping[Place, Measured]
    seconds: float

    def treated(self, release: Release[Any]) -> Collection[str]:
        """Return the key attributes and the sensitive ones."""
        return (*release.settings["key"], *release.settings["sensitive"])

    def stated(self, release: Release[Any]) -> list[dict[str, Any]]:
        """Return the models, each with its figure and the intruders against whom it holds."""
        return [
            {
                "model": place[0],
                "of": list(place[1:]),
                "requirement": one.requirement,
                "value": one.value,
                "met": one.met,
                "against": _against(place[0], release.settings, population=one.of_population),
            }
            for place, one in self.models.items()
        ]

    def account(self, release: Release[Any]) -> dict[str, Any]:  # noqa: ARG002 - as every protection
        """Return the part of the JSON that all searches have in common."""
        return {
            "score": jsonable(self.score),
            "suppressed": self.suppressed,
            "models": published(self.models),
            "before": published(self.before, original=True),
            "seconds": self.seconds,
        }

    def model_table(self) -> Table:
        """Return the models before and after, to be shown."""
        rows = tuple(
            (" ".join(place), before.value, after.value, after.requirement, "yes" if after.met else "no")
            for (place, after), before in zip(self.models.items(), self.before.values(), strict=True)
        )
        return Table(("model", "before", "after", "required", "met"), rows, title="Models")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Generalisation(Searched):
    """The full-domain generalisation that a search of the lattice chose.

    Attributes
    ----------
    transformation
        The level of every key attribute.
    heights
        The highest level of each.
    objective
        What the score measures.
    optimal, bound
        Whether no other generalisation costs less, and a lower bound of what any costs.
    lattice, evaluated
        The numbers of generalisations in the lattice and of those examined.
    lost
        The key attributes that have a single value in all remaining records although the data has several, each with the number
        of groups that Mondrian would keep; None if the table is too large to try.
    """

    transformation: Mapping[str, int]
    heights: Mapping[str, int]
    objective: str
    optimal: bool
    bound: float
    lattice: int
    evaluated: int
    made_by: ClassVar[str] = "generalisation"
    lost: Mapping[str, int | None] = field(default_factory=dict)

    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the JSON of the generalisation."""
        common = Searched.account(self, release)
        return {
            "transformation": dict(self.transformation),
            "heights": dict(self.heights),
            "objective": self.objective,
            "score": common["score"],
            "optimal": self.optimal,
            "bound": jsonable(self.bound),
            "suppressed": self.suppressed,
            "records": release.records.records,
            "nodes": {"lattice": self.lattice, "evaluated": self.evaluated},
            "lost": dict(self.lost),
            **common,
        }

    def line(self, release: Release[Any]) -> str:
        """Return a line with the generalisation, its cost, and whether it is certain to be optimal."""
        levels = in_line(f"{name} {level}/{self.heights[name]}" for name, level in self.transformation.items())
        sure = "optimal" if self.optimal else f"at least {number(self.bound)}"
        kept = counted(release.records.records, "record")
        return f"{levels}; {self.objective} {number(self.score)}, {sure}; {kept}, {self.suppressed:,} suppressed"

    def view(self, release: Release[Any]) -> View:
        """Return the displayed tables and notes."""
        sure = "no generalisation costs less" if self.optimal else f"stopped early: the best costs at least {number(self.bound)}"
        figures = (
            Figure(self.objective, self.score, sure),
            Figure("suppressed", self.suppressed, f"of {counted(release.records.records, 'record')}"),
            Figure("generalisations", self.lattice, f"{self.evaluated:,} looked at in {self.seconds:.2f} s"),
        )
        levels = tuple((name, level, self.heights[name]) for name, level in self.transformation.items())
        table = Table(("attribute", "level", "of"), levels, title="Generalisation")
        return View("Release", figures, (table, self.model_table()), release.notes)


def on_suppressed(suppressed: int, models: Mapping[Place, Measured]) -> list[str]:
    """Warn if fewer records are suppressed than the smallest class holds: they form a small class that someone may recognise."""
    k = models["k_anonymity",].value if ("k_anonymity",) in models else None
    if k is None or not 0 < suppressed < k:
        return []
    few = counted(suppressed, "record")
    note = f"Only {few} suppressed: someone who knows such a person sees that no class fits, and has these to choose from"
    return [f"{note}, fewer than the {k:,.0f} of a class. Leave them out of what you publish, or allow more suppression."]


def _against(model: str, settings: Mapping[str, Any], *, population: bool) -> str:
    """Return the intruder against whom a model holds; if nulls match anything, records are matched within the release alone."""
    if model == "k_anonymity" and settings.get("nulls") == "wildcard":
        return "someone who has the release alone, and takes a null for any value"
    whole = "population" if population else "data"
    known = listed(settings["key"])
    return f"someone who knows {known} of a person in the {whole} and looks for the records of the release that fit"


def generalisation_of(choice: Choice, lost: Mapping[str, int | None]) -> Generalisation:
    """Return the report of a search that ended in a choice, with the attributes lost."""
    best, space = choice.best, choice.lattice.space
    after, before = choice.judged()
    return Generalisation(
        transformation=space.transformation(choice.node),
        heights={one.name: one.levels.height for one in space.attributes},
        score=best.score,
        objective=choice.lattice.objective.name,
        optimal=best.optimal,
        bound=best.bound,
        suppressed=best.suppressed,
        lattice=best.lattice,
        evaluated=best.evaluated,
        models=after,
        before=before,
        seconds=choice.seconds,
        lost=lost,
    )


def stated_settings(choice: Choice, models: Mapping[Place, Measured]) -> dict[str, Any]:
    """Return the requirements on a generalisation, as its release reports them."""
    request = choice.request
    return {
        "models": [" ".join([*place[1:2], str(one.requirement)]) for place, one in models.items()],
        "key": list(request.keys),
        "sensitive": list(request.sensitive),
        "hierarchies": {name: "proposed" if name in request.proposed else "given" for name in request.keys},
        "objective": choice.lattice.objective.name,
    }


def notes_on(choice: Choice, made: Generalisation, *, limited: bool, pseudonymised: str = "") -> list[str]:
    """Return the notes for the user on a generalisation.

    Parameters
    ----------
    choice, made
        The choice, and the report of its search.
    limited
        Whether the search had a limit of time or of generalisations.
    pseudonymised
        The notes on columns that got pseudonyms.
    """
    notes, best, request, space = [], choice.best, choice.request, choice.lattice.space
    if request.proposed:
        notes.append(f"Hierarchies were proposed from the values of {listed([*request.proposed])}; write your own for meaning.")
    if pseudonymised:
        notes.append(pseudonymised)
    if best.node == space.top and all(one.highest == one.levels.height for one in space.attributes):
        notes.append("Every key attribute is fully generalised: all records are one class (measure it with suppressed='class').")
    if not best.optimal:
        why = "The search stopped at its limit" if limited else "The lattice is too large to be searched to the end"
        known = math.isfinite(best.bound)  # nothing is known about a user's own objective before it is called
        notes.append(f"{why}; the best generalisation may cost {f'as little as {number(best.bound)}' if known else 'less'}.")
    return [*notes, *_on_lost(made.lost, made.suppressed), *on_suppressed(made.suppressed, made.models)]


def _on_lost(lost: Mapping[str, int | None], suppressed: int) -> list[str]:
    """Return a note that attributes are lost entirely, and how some of them could be kept."""
    if not lost:
        return []
    who = "every record that is not suppressed has" if suppressed else "every record has"
    one = len(lost) == 1
    sentence = f"{_and([*lost])} {'is' if one else 'are'} gone: {who} the same value{'' if one else ' of each'}."
    if None in lost.values():
        return [f"{sentence} Mondrian, which splits the table where it can, may keep more."]
    more = [f"{counted(groups, 'group')} of {name}" for name, groups in lost.items() if groups is not None and groups > 1]
    if more:
        return [f"{sentence} Under the same models, Mondrian would keep {_and(more)}."]
    return [f"{sentence} Mondrian would keep no more of {'it' if one else 'them'}: ask for less, or name fewer key attributes."]


def _and(words: Sequence[str]) -> str:
    """Join words by commas, with "and" before the last."""
    return words[0] if len(words) == 1 else f"{listed(words[:-1])} and {words[-1]}"
