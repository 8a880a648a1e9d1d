"""The release that a chosen generalisation makes of its records, with all notes on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import listed
from unveil.randomness import Chance, Repeatable
from unveil.releases import ColumnScreen, Release, ReleaseRecords, drawn_order, marked, repeatable_of
from unveil.results.numbers import counted, number
from unveil.search.lattice.choice import Choice
from unveil.search.lattice.generalisation import Generalisation, on_suppressed
from unveil.search.splitting.foretold import lost_attributes
from unveil.sources.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Options", "generalised", "generalised_in_hand"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a generalisation besides the table, its key and its models; the release reports them.

    Attributes
    ----------
    pseudonymised
        The notes on the columns that got pseudonyms.
    screen
        What happens to the columns that are neither key nor sensitive.
    """

    identifiers: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    suppression: float = 0.0
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    factor: float = 0.5
    nulls: str = "category"
    keep_order: bool = False
    time_limit: float | None = None
    node_limit: int | None = None
    pseudonymised: str = ""
    screen: ColumnScreen = field(default_factory=ColumnScreen)

    @property
    def limited(self) -> bool:
        """Whether the search had a limit of time or of generalisations."""
        return self.time_limit is not None or self.node_limit is not None

    def settings(self) -> dict[str, Any]:
        """Return the options as a release reports them."""
        return {
            "identifiers": list(self.identifiers),
            "pseudonyms": list(self.pseudonyms),
            "suppression": self.suppression,
            "levels": self.levels,
            "weights": self.weights,
            "factor": self.factor,
            "nulls": self.nulls,
            "keep_order": self.keep_order,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
        }


def generalised_in_hand(choice: Choice, options: Options, chance: Chance) -> Release[Generalisation]:
    """Generalise records that are in memory; a column that stays as it is keeps its type."""
    records = choice.request.records.without(list(options.screen.left_out))
    what = choice.applied(choice.request.record_codes())
    changed = {name: records.labelled(name, what.labels[name], what.codes[name]) for name in choice.changed()}
    protected: Microdata = records.replaced(changed)
    keep_order = options.keep_order
    order = np.arange(records.records) if keep_order else drawn_order(protected, chance, options.settings())
    repeatable = repeatable_of(chance, records.place, drawn=not keep_order)
    return generalised(choice, protected.taken(order), choice.request.rows[order], options, repeatable)


def generalised(
    choice: Choice, records: ReleaseRecords, origin: NDArray[np.int64], options: Options, repeatable: Repeatable
) -> Release[Generalisation]:
    """Return the release made of protected records."""
    best, request, space = choice.best, choice.request, choice.lattice.space
    after, lost = choice.after(), lost_attributes(choice)
    generalisation = Generalisation(
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
        before=choice.before(),
        seconds=choice.seconds,
        lost=lost,
    )
    settings = {
        "models": [" ".join([*place[1:2], str(one.requirement)]) for place, one in after.items()],
        "key": list(request.keys),
        "sensitive": list(request.sensitive),
        "hierarchies": {name: "proposed" if name in request.proposed else "given" for name in request.keys},
        "objective": choice.lattice.objective.name,
        **options.settings(),
    }
    screen = options.screen.beside(ColumnScreen.of_identifiers(options.identifiers).left_out)
    said = [*_notes(choice, options), *_on_lost(lost, best.suppressed), *on_suppressed(best.suppressed, after)]
    notes = marked([*said, *screen.notes()], repeatable)
    return Release(
        records, generalisation, origin, settings, notes, repeatable, screen.left_out, screen.vouched,
        screen.unmeasured,
    )  # fmt: skip


def _notes(choice: Choice, options: Options) -> list[str]:
    """Return what a user should know about the release."""
    notes, best, request, space = [], choice.best, choice.request, choice.lattice.space
    if request.proposed:
        notes.append(f"Hierarchies were proposed from the values of {listed([*request.proposed])}; write your own for meaning.")
    if options.pseudonymised:
        notes.append(options.pseudonymised)
    if best.node == space.top and all(one.highest == one.levels.height for one in space.attributes):
        notes.append("Every key attribute is fully generalised: all records are one class (measure it with suppressed='class').")
    if not best.optimal:
        why = "The search stopped at its limit" if options.limited else "The lattice is too large to be searched to the end"
        known = math.isfinite(best.bound)  # nothing is known about a user's own objective before it is called
        notes.append(f"{why}; the best generalisation may cost {f'as little as {number(best.bound)}' if known else 'less'}.")
    return notes


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
