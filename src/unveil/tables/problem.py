"""The protection problem: the cells, the equations between them, the attacker's bounds, and the need of each cell.

All protections and attacks work on it. Its cells are those that are part of the table, renumbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.arguments import checked_number
from unveil.errors import ArgumentError, TableError, shown

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable
    from unveil.tables.rules import On, TableRule

__all__ = ["Aim", "CellProblem", "Insiders", "Zeros", "attacker_bounds", "posed"]

Zeros: TypeAlias = Literal["publish", "suppress", "structural"]
"""publish: an empty cell is shown; suppress: it is sensitive; structural: everyone knows that it must be empty."""
Insiders: TypeAlias = Literal["singletons", "none"]
"""singletons: the only contributor of a cell knows its value; none: nobody does."""

NARROW = 1e-6
"""An interval narrower than this, relative to the value, counts as exact."""
_OPEN = 1e-3
"""The relative width required of a cell whose only need is not to be known exactly."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of protection.

    Attributes
    ----------
    on
        The figures to protect; None: those that the rules are about.
    attacker
        The bounds of every cell that everyone knows beforehand, as numbers or, with %, as parts of its value.
    zeros, insiders
        The treatment of empty cells, and who knows cells beforehand.
    level
        "rule": as far as the rules require; "none": not known exactly; a number: that far on both sides.
    width
        The least width of every sensitive cell's interval; None: 1 for counts and any for values.
    """

    on: On | None = None
    attacker: str | None = None
    zeros: Zeros = "publish"
    insiders: Insiders = "singletons"
    level: str | float = "rule"
    width: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CellProblem:
    """Cells, equations, bounds and needs.

    Attributes
    ----------
    cells
        The number of each cell in its table.
    equations
        M: the equations between the cells, M a = 0.
    value
        The value of each cell.
    lower, upper
        The bounds of each cell that everyone knows beforehand.
    primary
        The sensitive cells.
    down, up, width
        The required uncertainty of each sensitive cell below and above its value, and the required width of its interval.
    fixed
        Cells that must be published.
    hidden
        Cells that must not be published.
    cost
        The cost of suppressing each cell.
    insiders
        For each person who is the only contributor of some cells, these cells.
    on
        Whether the cells contain counts or values.
    """

    cells: NDArray[np.int64]
    equations: sp.csr_matrix
    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    primary: NDArray[np.bool_]
    down: NDArray[np.float64]
    up: NDArray[np.float64]
    width: NDArray[np.float64]
    fixed: NDArray[np.bool_]
    hidden: NDArray[np.bool_]
    cost: NDArray[np.float64]
    insiders: tuple[NDArray[np.int64], ...] = ()
    on: On = "count"

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.cells)

    def exposed(
        self, low: NDArray[np.float64], high: NDArray[np.float64], cells: NDArray[np.int64] | None = None
    ) -> NDArray[np.bool_]:
        """Return which sensitive cells, of all or of some, the intervals [low, high] expose; equality protects."""
        some = slice(None) if cells is None else cells
        value, width = self.value[some], self.width[some]
        slack = NARROW * np.maximum(1.0, np.abs(value))
        near = (low > value - self.down[some] + slack) | (high < value + self.up[some] - slack)
        narrow = high - low < np.maximum(width - slack, 0)
        exact = high - low <= np.where(width > 0, 0, slack)
        return np.asarray(self.primary[some] & (near | narrow | exact))

    def need(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest move that each of some cells must be capable of: its level, its width, or a little."""
        little = _OPEN * np.maximum(1.0, np.abs(self.value[cells]))
        return np.maximum(np.maximum(self.up[cells], self.down[cells]), np.maximum(self.width[cells], little))

    def aimed(self) -> CellProblem:
        """Return the problem with a small width for cells that need only not be known exactly, as methods need a number."""
        bare = self.primary & (self.down <= 0) & (self.up <= 0) & (self.width <= 0)
        little = _OPEN * np.maximum(1.0, np.abs(self.value))
        return replace(self, width=np.where(bare, little, self.width))

    def with_cost(self, cost: NDArray[np.float64]) -> CellProblem:
        """Return the problem with other costs."""
        return replace(self, cost=cost)


def posed(
    table: CrossTable,
    rules: Sequence[TableRule],
    aim: Aim,
    *,
    primary: NDArray[np.bool_] | None = None,
    fixed: NDArray[np.bool_] | None = None,
    hidden: NDArray[np.bool_] | None = None,
    safe: NDArray[np.bool_] | None = None,
) -> CellProblem:
    """Return the protection problem of a table.

    Parameters
    ----------
    table, rules, aim
        The table, the rules for sensitive cells, and the aim of protection.
    primary, safe
        Cells that are sensitive, or not, whatever the rules say.
    fixed, hidden
        Cells that must be published, or must not.
    """
    on: On = aim.on or ("value" if any(rule.on == "value" for rule in rules) and table.value is not None else "count")
    value = table.amounts(on)
    sensitive, level = _sensitive(table, rules, aim, on)
    empty = table.n == 0
    if primary is not None:
        sensitive |= primary
    if safe is not None:
        sensitive &= ~safe
    if hidden is not None:
        sensitive |= hidden & ~empty
    published = empty & ~sensitive
    if fixed is not None:
        published |= fixed & ~sensitive
    lower, upper = attacker_bounds(value, aim.attacker, empty & ~sensitive, signed=table.signed and on == "value")
    width = checked_number("width", aim.width, least=0) if aim.width is not None else float(on == "count")
    cells = table.cells
    level = np.where(sensitive, np.maximum(level, 0.0), 0.0)
    whole = CellProblem(
        cells=cells,
        equations=table.equations()[:, cells],
        value=value[cells],
        lower=lower[cells],
        upper=upper[cells],
        primary=sensitive[cells],
        down=level[cells],
        up=level[cells],
        width=np.where(sensitive, width, 0.0)[cells],
        fixed=published[cells],
        hidden=np.zeros(len(cells), dtype=bool) if hidden is None else hidden[cells],
        cost=np.ones(len(cells)),
        on=on,
    )
    return replace(whole, insiders=_insiders(table, cells) if aim.insiders == "singletons" else ())


def _sensitive(table: CrossTable, rules: Sequence[TableRule], aim: Aim, on: On) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the sensitive cells and their levels, which are the highest of all rules."""
    sensitive, level = np.zeros(len(table.n), dtype=bool), np.zeros(len(table.n))
    for rule in rules:
        marked = rule.primary(table)
        sensitive |= marked
        if aim.level == "rule" and rule.on == on:
            level = np.where(marked, np.maximum(level, rule.level(table)), level)
    if aim.zeros == "suppress":
        sensitive |= table.n == 0
    elif aim.zeros == "structural":
        sensitive &= table.n > 0
    if not isinstance(aim.level, str):
        level = np.where(sensitive, checked_number("level", aim.level, least=0), 0.0)
    return sensitive, level


def _insiders(table: CrossTable, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return, for every person who is the only contributor of some cells, these cells."""
    if table.holder is None:
        return ()
    alone = np.flatnonzero(table.units[cells] == 1)
    holders = table.holder[cells[alone]]
    order = np.argsort(holders, kind="stable")
    _, starts = np.unique(holders[order], return_index=True)
    return tuple(np.split(alone[order], starts[1:])) if len(alone) else ()


def attacker_bounds(
    value: NDArray[np.float64], attacker: str | None, shown_empty: NDArray[np.bool_], *, signed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of every cell that everyone knows beforehand, widened for cells that are shown as empty."""
    if attacker is None:
        return np.full(len(value), -np.inf if signed else 0.0), np.full(len(value), np.inf)
    low, separator, high = attacker.partition(":")
    if not separator:
        raise ArgumentError(f"the attacker's bounds must be written as LO:HI, such as 0:inf or 50%:150%, not {shown(attacker)}.")
    lower, upper = _bound(low, value), _bound(high, value)
    lower[shown_empty], upper[shown_empty] = np.minimum(lower, value)[shown_empty], np.maximum(upper, value)[shown_empty]
    outside = (value < lower) | (value > upper)
    if outside.any():
        raise TableError(
            f"{int(outside.sum()):,} cells lie outside the attacker's bounds ({attacker}); give bounds that contain every cell."
        )
    return lower, upper


def _bound(text: str, value: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        raise ArgumentError(
            f"the attacker's bounds must be numbers, inf, or parts of the value such as 50%, not {shown(text)}."
        ) from None
    return number / 100 * value if text.endswith("%") else np.full(len(value), number)
