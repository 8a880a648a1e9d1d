"""Whom do a few known items single out? The intruder knows some purchases, places or illnesses of somebody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import require_columns
from unveil.errors import one_line
from unveil.measures import MOST_KNOWN, Items, checked_separator, items_of, supports
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, in_blocks, looks
from unveil.sources import open_microdata
from unveil.study import require_as_they_are, study_of

if TYPE_CHECKING:
    from collections import Counter

    from unveil.sources import Data

__all__ = ["KnownItems", "known_items"]

_LOOK = 1 << 16
"""The number of sets of items between two checks of the run."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KnownItems(Result):
    """The gain of an intruder who knows up to m items of a record.

    Attributes
    ----------
    attribute, records, m
        The column of sets, its number of records, and the largest number of known items.
    worst
        For 1 to m items, the share of records that are singled out by some set of that many of their items.
    drawn
        For 1 to m items, the chance that this many items, drawn at random from a random record, single it out.
    least
        For 1 to m items, the smallest number of records that hold some set of that many items: k of k^m-anonymity.
    """

    attribute: str
    records: int
    m: int
    worst: tuple[float, ...]
    drawn: tuple[float, ...]
    least: tuple[int, ...]

    def __repr__(self) -> str:
        """Return one line: the share singled out."""
        return (
            f"KnownItems({one_line(self.attribute)}: {self.m} items single out {self.worst[-1]:.4f} of {self.records:,} records)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures."""
        from unveil import __version__

        return {
            "attribute": self.attribute, "records": self.records, "m": self.m, "worst": list(self.worst),
            "drawn": list(self.drawn), "least": list(self.least), "version": __version__,
        }  # fmt: skip

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return a row for each number of known items."""
        known = list(range(1, self.m + 1))
        return {"known": known, "worst": list(self.worst), "drawn": list(self.drawn), "least": list(self.least)}

    def view(self) -> View:
        """Return the displayed shares."""
        rows = tuple(zip(range(1, self.m + 1), self.worst, self.drawn, self.least, strict=True))
        table = Table(("items known", "worst items", "items by chance", "fewest records"), rows)
        return View(f"Known items of {self.attribute}", (Figure("singled out", self.worst[-1]),), (table,), ())


@looks
@checked_arguments
def known_items(data: Data, attribute: str, *, m: int = 2, separator: str = ";") -> KnownItems:
    """Measure how many records are singled out by anyone who knows a few of their items.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame: the release.
    attribute
        The column of sets: lists, or texts with separators between items.
    m
        The largest number of known items.
    separator
        The separator between the items of a text.

    References
    ----------
    .. [1] Terrovitis, Mamoulis, Kalnis (2008), Privacy-preserving anonymization of set-valued data, Proceedings of the VLDB
       Endowment 1(1), 115-125. doi:10.14778/1453856.1453874

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import attacks
    >>> carts = pl.DataFrame({"cart": ["beer;milk", "beer;milk", "beer;tea", "beer"]})
    >>> attacks.known_items(carts, "cart")
    KnownItems(cart: 2 items single out 0.2500 of 4 records)
    """
    most, between = checked_count("m", m, least=1, most=MOST_KNOWN), checked_separator(separator)
    records = open_microdata(data)
    require_columns((attribute,), records.names)
    require_as_they_are(data, (attribute,))
    if (study := study_of(data)) is not None and study.policy == "drop":
        records = records.taken(np.flatnonzero(records.complete([attribute])))
    sets = [items_of(value, between) for block in in_blocks(records.column(attribute)) for value in block.to_list()]
    support = supports(sets, [1] * len(sets), most)
    rates = [_rates(sets, support, known) for known in range(1, most + 1)]
    worst, drawn = zip(*rates, strict=True)
    return KnownItems(attribute, len(sets), most, worst, drawn, _fewest(support, most, len(sets)))


def _fewest(support: Counter[Items], most: int, records: int) -> tuple[int, ...]:
    """Return, for 1 to m items, the fewest records that hold some set of at most that many; all, if there is no set."""
    fewest, run = [records] * (most + 1), active_run()
    for at, (items, n) in enumerate(support.items()):
        if not at % _LOOK:
            run.check()
        fewest[len(items)] = min(fewest[len(items)], n)
    return tuple(accumulate(fewest[1:], min))


def _rates(sets: Sequence[Items], support: Counter[Items], known: int) -> tuple[float, float]:
    """Return the shares of records that are singled out by their worst items, and by items drawn at random."""
    alone = np.array(
        [
            np.mean([support[some] == 1 for some in combinations(items, min(known, len(items)))]) if items else 0.0
            for items in active_run().through("records", sets)
        ]
    )
    return float(np.mean(alone > 0.0)), float(alone.mean())
