"""The result of a search for a generalisation: the models before and after, the levels and their score."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from unveil.attributes import in_line
from unveil.errors import listed
from unveil.models.base import Measured, Place
from unveil.models.required import published
from unveil.releases import Protection, Release
from unveil.results import Figure, Table, View, jsonable
from unveil.results.wording import counted, number
from unveil.search.lattice.choice import Choice

__all__ = ["Generalisation", "Searched", "generalisation_of", "notes_on", "on_suppressed", "stated_settings"]


@dataclass(frozen=True, slots=True, eq=False)
class Searched(Protection):
    """What every search for a recoding that meets models reports.

    Attributes
    ----------
    score
        What the release costs, by the objective.
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
        """Return the JSON of every search."""
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
        The generalisations there are, and those looked at.
    lost
        The key attributes that have one value in all records left, although the data has several, each with the number of groups
        that Mondrian would keep of it; None if the table is too large to try.
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
        """Return what was done, at what cost, and how sure that is."""
        levels = in_line(f"{name} {level}/{self.heights[name]}" for name, level in self.transformation.items())
        sure = "optimal" if self.optimal else f"at least {number(self.bound)}"
        kept = counted(release.records.records, "record")
        return f"{levels}; {self.objective} {number(self.score)}, {sure}; {kept}, {self.suppressed:,} suppressed"

    def view(self, release: Release[Any]) -> View:
        """Return what a person should see."""
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
    """Warn about suppressed records that are fewer than the smallest class: someone who knows such a person finds them there."""
    k = models["k_anonymity",].value if ("k_anonymity",) in models else None
    if k is None or not 0 < suppressed < k:
        return []
    few = counted(suppressed, "record")
    note = f"Only {few} suppressed: someone who knows such a person sees that no class fits, and has these to choose from"
    return [f"{note}, fewer than the {k:,.0f} of a class. Leave them out of what you publish, or allow more suppression."]


def _against(model: str, settings: Mapping[str, Any], *, population: bool) -> str:
    """Say against whom a model holds; if nulls match anything, records are matched within the release alone."""
    if model == "k_anonymity" and settings.get("nulls") == "wildcard":
        return "someone who has the release alone, and takes a null for any value"
    whole = "population" if population else "data"
    known = listed(settings["key"])
    return f"someone who knows {known} of a person in the {whole} and looks for the records of the release that fit"


def generalisation_of(choice: Choice, lost: Mapping[str, int | None]) -> Generalisation:
    """Return what the search that made a choice reports, and which attributes are lost by it."""
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
    """Return what was required of a generalisation, as its release reports it."""
    request = choice.request
    return {
        "models": [" ".join([*place[1:2], str(one.requirement)]) for place, one in models.items()],
        "key": list(request.keys),
        "sensitive": list(request.sensitive),
        "hierarchies": {name: "proposed" if name in request.proposed else "given" for name in request.keys},
        "objective": choice.lattice.objective.name,
    }


def notes_on(choice: Choice, made: Generalisation, *, limited: bool, pseudonymised: str = "") -> list[str]:
    """Return what a user should know about a generalisation.

    Parameters
    ----------
    choice, made
        The choice, and what its search reports.
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
    """Say that attributes are gone, and what would keep some of them."""
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
    """Join words by commas, the last one by "and"."""
    return words[0] if len(words) == 1 else f"{listed(words[:-1])} and {words[-1]}"
