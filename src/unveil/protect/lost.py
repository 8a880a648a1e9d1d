"""Which key attributes does a generalisation erase, and would a finer recoding keep some of them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import listed
from unveil.results.numbers import counted
from unveil.search.lattice.choice import Choice
from unveil.search.splitting.foretold import labels_by_mondrian

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lost_attributes", "on_lost"]

_FEW = 200_000
"""The most records for which Mondrian is run to say what it would keep."""


def lost_attributes(choice: Choice) -> dict[str, int | None]:
    """Return the key attributes that have one value in all remaining records, although the data has several.

    Each comes with the number of groups that Mondrian would keep of it under the same models; None if the table is too large
    to try.
    """
    request, space = choice.request, choice.lattice.space
    kept = np.flatnonzero(~choice.gone)
    fields = zip(space.attributes, space.fields, strict=True)
    alike = {one.name for one, field in fields if _alike(choice.classes.codes(field, kept))}
    gone = [name for name in request.keys if name in alike and len(request.values(name)) > 1]
    if not gone or request.cells.n.sum() > _FEW:
        return dict.fromkeys(gone)
    labels = labels_by_mondrian(request)
    return {name: labels[name] for name in gone}


def _alike(codes: NDArray[Any]) -> bool:
    """Whether all are the same, and there is at least one."""
    return bool(len(codes) and (codes == codes[0]).all())


def on_lost(lost: Mapping[str, int | None], suppressed: int) -> list[str]:
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
