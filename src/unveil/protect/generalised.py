"""The release that a chosen generalisation makes of its records, with all notes on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.randomness import Chance, Repeatable
from unveil.releases import ColumnScreen, Release, ReleaseRecords, drawn_order, marked, repeatable_of
from unveil.search.lattice.choice import Choice
from unveil.search.lattice.generalisation import Generalisation, generalisation_of, notes_on, stated_settings
from unveil.search.splitting.foretold import lost_attributes

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
    """Generalise records that are in memory."""
    settings, keep_order = options.settings(), options.keep_order
    protected = choice.recoded([*options.screen.left_out])
    order = np.arange(protected.records) if keep_order else drawn_order(protected, chance, settings)
    repeatable = repeatable_of(chance, protected.place, drawn=not keep_order)
    return generalised(choice, protected.taken(order), choice.request.rows[order], options, repeatable)


def generalised(
    choice: Choice, records: ReleaseRecords, origin: NDArray[np.int64], options: Options, repeatable: Repeatable
) -> Release[Generalisation]:
    """Return the release made of protected records."""
    own, made = options.settings(), generalisation_of(choice, lost_attributes(choice))
    settings = {**stated_settings(choice, made.models), **own}
    said = notes_on(
        choice,
        made,
        limited=options.time_limit is not None or options.node_limit is not None,
        pseudonymised=options.pseudonymised,
    )
    screen = options.screen.beside(ColumnScreen.of_identifiers(options.identifiers).left_out)
    notes = marked([*said, *screen.notes()], repeatable)
    return Release(
        records, made, origin, settings, notes, repeatable, screen.left_out, screen.vouched, screen.unmeasured
    )  # fmt: skip
