r"""How much does an attack on a table gain? The Discrimination Rate of the attacker's view for the attacked figure.

:math:`DR = 1 - H(X|Y)/H(X)`, with X the figure, all of whose possible values are equally likely, and Y the attacker's view.
Beforehand, X is any number from 0 to the total of the table, within the bounds that everyone knows; with Y, any number in the
attacker's interval. So :math:`DR = 1 - \log_2 N_{left} / \log_2 N_{beforehand}`, with N the number of possible values: whole
numbers, or steps of the last decimal of the figures. 1 means that the figure is known. If a total is suppressed, or only a
lower or an upper limit for the width of an interval is known, the rate lies between two bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.tables.problem import attacker_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable
    from unveil.tables.suppression.result import SuppressedTable

__all__ = ["Ends", "Reached", "TableGains", "bits", "step_of"]

Ends: TypeAlias = Literal["exact", "inner", "outer"]
"""Whether an interval is exactly the attacker's, lies within it, or contains it."""
_MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Reached:
    """An interval that an attacker can compute, and whether its ends are exact."""

    low: float
    high: float
    ends: Ends = "exact"

    def less(self, own: float) -> Reached:
        """Return the interval after subtracting one's own contribution; it does not fall below 0."""
        return Reached(max(0.0, self.low - own), max(0.0, self.high - own), self.ends)


def step_of(*amounts: NDArray[np.float64] | None) -> float:
    """Return the step in which figures are written: 1, or the last decimal of any of them."""
    figures = np.concatenate([one.ravel() for one in amounts if one is not None])
    for decimals in range(_MOST_DECIMALS):
        scaled = figures * 10**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.abs(scaled) + 1e-6).all():
            return float(10.0**-decimals)
    return float(10.0**-_MOST_DECIMALS)


def bits(low: float, high: float, step: float) -> float:
    """Return the uncertainty, in bits, about a figure between two bounds: the logarithm of the number of its possible values."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.inf
    first = math.ceil(low / step - 1e-9 * abs(low / step) - 1e-6)
    last = math.floor(high / step + 1e-9 * abs(high / step) + 1e-6)
    return math.log2(max(1, last - first + 1))


class TableGains:
    """The Discrimination Rates of attacks on the cells of one table.

    Parameters
    ----------
    table
        The table.
    protected
        The table as published; None if it is published whole.
    on
        Whether the figures are counts or values.
    """

    def __init__(self, table: CrossTable, protected: SuppressedTable | None, on: str) -> None:
        self._table, self._protected, amounts = table, protected, table.amounts(on)
        self._known = protected is not None and protected.on == on
        self._amounts = amounts
        self._hidden = np.zeros(len(amounts), dtype=bool) if protected is None else protected.suppressed
        self._step = step_of(amounts, table.top if on == "value" else None)
        attacker = protected.aim.attacker if protected is not None and self._known else None
        signed = table.signed and on == "value"
        self._lower, self._upper = attacker_bounds(amounts, attacker, table.n == 0, signed=signed)
        inner = np.ix_(*[list(one.leaves) for one in table.dimensions])
        self._inner = np.arange(len(amounts)).reshape([len(one) for one in table.dimensions])[inner].ravel()
        self._total = float(amounts[self._inner].sum())
        self._published = self._totals()

    def cell(self, cell: int) -> Reached:
        """Return the interval that everyone can compute for a cell of the table."""
        if self._protected is None or not self._hidden[cell]:
            return Reached(float(self._amounts[cell]), float(self._amounts[cell]))
        if not self._known:
            return Reached(float(self._lower[cell]), math.inf, "outer")
        return Reached(
            float(self._protected.low[cell]), float(self._protected.high[cell]), "exact" if self._protected.exact else "inner"
        )

    def whole(self, cell: int, reached: Reached, *, contribution: bool = False) -> tuple[float, float] | None:
        """Return the rate of an attack on a cell of the whole table; None if undefined."""
        return self._rate(cell, reached, (self._total, self._total), contribution=contribution)

    def published(self, cell: int, reached: Reached, *, contribution: bool = False) -> tuple[float, float] | None:
        """Return bounds of the rate of an attack on a cell of the table as published; None if undefined."""
        return self._rate(cell, reached, self._published, contribution=contribution)

    def _totals(self) -> tuple[float, float]:
        """Return the bounds that everyone knows for the total of the table."""
        roots = [one.root for one in self._table.dimensions]
        if None not in roots:
            root = int(np.ravel_multi_index([at or 0 for at in roots], [len(one) for one in self._table.dimensions]))
            cells = np.array([root])
        else:
            cells = self._inner
        if self._table.shown is not None and not self._table.shown[cells].all():
            return 0.0, math.inf
        parts = [self.cell(cell) for cell in cells.tolist()] if self._protected is not None else []
        if any(one.ends == "inner" for one in parts):
            return 0.0, math.inf
        return (sum(one.low for one in parts), sum(one.high for one in parts)) if parts else (self._total, self._total)

    def _rate(
        self, cell: int, reached: Reached, totals: tuple[float, float], *, contribution: bool
    ) -> tuple[float, float] | None:
        low, high = float(self._lower[cell]), float(self._upper[cell])
        if contribution:
            low = min(low, 0.0)
        totals = max(totals[0], reached.low), totals[1]
        ends = [high if low < 0 else min(high, one) for one in totals]  # parts of both signs may exceed their total
        least, most = (bits(low, max(end, low), self._step) for end in ends)
        left = bits(reached.low, reached.high, self._step)
        if most <= 0 or (math.isinf(least) and left > 0):
            return None
        bottom, top = _share(left, least), _share(left, most)
        return (0.0 if reached.ends == "inner" else bottom), (1.0 if reached.ends == "outer" else top)


def _share(left: float, before: float) -> float:
    """Return the share of the initial uncertainty, in bits, that is removed."""
    if left <= 0:
        return 1.0 if before > 0 else 0.0
    return 0.0 if left >= before else 1 - left / before
