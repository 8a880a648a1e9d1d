"""The order of the records in a release, and who can repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil.randomness import NOT_FOR_PUBLICATION, Chance, Repeatable, weakest
from unveil.releases.record import inherited
from unveil.run import watched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.sources.microdata import Microdata

__all__ = ["drawn_order", "marked", "repeatable_of"]


def drawn_order(records: Microdata, chance: Chance, settings: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the rows of protected records in random order; with a key file, it is derived from the settings and the records."""
    fingerprint = records.fingerprint() if chance.keyed else b""
    random = chance.draws("row order", settings, fingerprint)
    return watched(records.records, lambda: random.permutation(records.records))


def repeatable_of(chance: Chance, place: str, *, drawn: bool) -> Repeatable:
    """Return who can repeat a release of the data at a place or, if the data is a release itself, the draws that made it.

    Even if nothing was drawn, a seed marks the release; a key file does not.
    """
    own = chance.repeatable if drawn or chance.repeatable == "seed" else False
    return weakest([own, inherited(place)])


def marked(notes: Sequence[str], repeatable: Repeatable) -> tuple[str, ...]:
    """Return the notes and, if everybody can repeat the draws, a warning."""
    return (*notes, NOT_FOR_PUBLICATION) if repeatable == "seed" else tuple(notes)
