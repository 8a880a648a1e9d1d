"""The policy of restriction: exact answers or none. A set must be large enough, and no sequence of sums may determine a value.

Size control checks the set and its complement. Alone it is defeated by trackers, so the audit considers all answered sums
together, for all analysts, because they may share their answers.

A refusal depends on the sets alone and never on a value, so that nobody learns a value from a refusal. The guarantee is for
values that could be any number. If values are known to lie between bounds, a sum at a bound discloses everyone's value, and no
audit of sets can detect that. Whole numbers in a small range follow from fewer sums than there are people, so fewer of their
sums are answered. Counts by a sensitive column, and sums of a column with two values, are sums of zeros and ones, and are
therefore refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from unveil.arguments import checked_count, checked_number
from unveil.queries.audit import Audit
from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret, exact, refused

__all__ = ["Restriction"]

_TWO = 2
_PAIR = 3
"""The least k that keeps single records and pairs of records from being determined."""


@dataclass(frozen=True, slots=True)
class Restriction(GatePolicy):
    """Answer exactly if the set and its complement have at least k records and no value can be determined.

    Attributes
    ----------
    k
        The least size of a set and of its complement, at least 3. It also applies to sums over one or two atoms that follow from
        several answers together.
    share
        The most independent sums of a column that are answered, as a share of the atoms.

    Examples
    --------
    >>> Restriction(k=5).settings()
    {'policy': 'restriction', 'k': 5, 'share': 1.0}
    """

    k: int = 5
    share: float = 1.0
    name: ClassVar[str] = "restriction"
    by_set: ClassVar[bool] = True
    weakness: ClassVar[str] = "values with known bounds; counts over keys reveal who is present."

    def __post_init__(self) -> None:
        """Refuse a size that would let a pair be determined."""
        checked_count("k", self.k, least=_PAIR)
        checked_number("share", self.share, above=0.0, most=1.0)

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:  # noqa: ARG002 - its primes are drawn anew
        """Return the policy applied to the data."""
        return _Restricted(holding, self)


class _Restricted:
    def __init__(self, holding: Holding, policy: Restriction) -> None:
        self._holding, self._k, self._share = holding, policy.k, policy.share
        self._audits: dict[str, Audit] = {}
        self._most = cache(self._most_of)

    def offers(self, selection: Selection) -> str:
        if selection.indicator or self._holding.cells.distinct.get(str(selection.column), _TWO + 1) <= _TWO:
            return "indicator"
        return "" if selection.function in ("count", "sum", "avg") else "aggregate"

    def price(self, selection: Selection) -> int:  # noqa: ARG002
        return 1

    def decide(self, selection: Selection) -> Decision:
        if not self._k <= selection.size <= int(selection.sizes.sum()) - self._k:
            return refused("size")
        if selection.column is not None and not self._add(selection):
            return refused("audit")
        return Decision(value=exact(self._holding, selection))

    def accept(self, selection: Selection) -> None:
        if selection.column is not None:
            self._add(selection)

    def accuracy(self, selection: Selection) -> float | None:  # noqa: ARG002
        return 0.0

    def _add(self, selection: Selection) -> bool:
        """Add a sum to the audit of its column, over the atoms that have values."""
        name = str(selection.column)
        if name not in self._audits:
            self._audits[name] = Audit(selection.sizes[selection.sizes > 0], self._k)
        if selection.members is None:
            return False
        members, audit = selection.members[selection.sizes > 0], self._audits[name]
        return audit.follows(members) if audit.rank >= self._most(name, len(members)) else audit.add(members)

    def _most_of(self, name: str, atoms: int) -> float:
        """Return the most independent sums of a column that are answered.

        n whole numbers of b bits have n b bits; a sum over a random half reveals b + log2(n) / 2 of them. Only as many sums are
        answered as leave b bits unknown: then more than one solution in whole numbers remains, on average as many as there are
        values.
        """
        amounts = self._holding.amounts(name)
        most = self._share * atoms
        if not amounts.present.any() or not np.array_equal(amounts.total, np.rint(amounts.total)):
            return most
        low, high = self._holding.bounds.get(name) or (float(np.nanmin(amounts.least)), float(np.nanmax(amounts.greatest)))
        if not math.isfinite(high - low):
            return most
        bits = math.ceil(math.log2(max(high - low + 1.0, 2.0)))
        return min(most, (atoms - 1) * bits / (bits + math.log2(max(atoms, 2)) / 2.0))
