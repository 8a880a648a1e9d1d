"""What does each protection of a table cost, and what does it leave exposed? Suppressed and perturbed tables on one scale.

Loss: the cells that are not published and their share of the whole, the distance of the published figures from the true ones,
and whether cells keep their ranks. Risk: the sensitive cells that can be computed too closely, or whose figures are closer to
the true ones than their rule allows, and the Discrimination Rate of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from unveil.arguments import checked_arguments
from unveil.attributes import in_line
from unveil.errors import ArgumentError, TableError, shown
from unveil.formats import jsonable
from unveil.results import Result, Table, View
from unveil.run import looks
from unveil.tables.crosstable import CrossTable
from unveil.tables.files.published import PublishedTable
from unveil.tables.findings import audited
from unveil.tables.perturbation.result import PerturbedTable
from unveil.tables.problem import NARROW, Aim, posed
from unveil.tables.propagation import propagated
from unveil.tables.rates import rate_interval
from unveil.tables.rules import TableRule, rules_of
from unveil.tables.suppression.result import SuppressedTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ProtectedTable", "TableComparison", "TableFigures", "compare_tables"]

ProtectedTable: TypeAlias = SuppressedTable | PerturbedTable | CrossTable | PublishedTable
"""A table as it would be published, however it was protected."""


@dataclass(frozen=True, slots=True)
class TableFigures:
    """The loss and the remaining risk of one protection.

    Attributes
    ----------
    lost, lost_share
        The number of cells that are not published, and their share of the sum over all inner cells and totals.
    deviation, largest
        The mean and the largest distance of the published figures from the true ones.
    ranks
        The extent to which cells keep their ranks: Spearman's correlation over the published cells; None if undefined.
    sensitive, exposed
        The number of sensitive cells, and of those that can be computed too closely, or whose figure is unchanged or closer to
        the true one than the rule allows; None if no rule was given.
    rate
        Bounds of the Discrimination Rate for the last dimension; None if undefined, or if no counts are published.
    """

    lost: int
    lost_share: float
    deviation: float
    largest: float
    ranks: float | None
    sensitive: int | None
    exposed: int | None
    rate: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        return {name: jsonable(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableComparison(Result):
    """Protections of one table side by side.

    Attributes
    ----------
    table
        The table, with its true figures.
    figures
        The loss and the remaining risk of each protection, by its name.
    """

    table: CrossTable
    figures: Mapping[str, TableFigures]

    def __repr__(self) -> str:
        """Return one line: the dimensions of the table and the names of its protections."""
        return f"TableComparison({in_line(self.table.names, ' x ')}: {in_line(self.figures)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of every protection."""
        return {"cells": len(self.table), "tables": {name: one.to_dict() for name, one in self.figures.items()}}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per protection."""
        words = [word for word in TableFigures.__slots__ if word != "rate"]
        rates = [one.rate for one in self.figures.values()]
        return {
            "table": list(self.figures),
            **{word: [getattr(one, word) for one in self.figures.values()] for word in words},
            "rate_low": [None if rate is None else rate[0] for rate in rates],
            "rate_high": [None if rate is None else rate[1] for rate in rates],
        }

    def view(self) -> View:
        """Return the displayed figures, with one row per protection."""
        rows = tuple(
            (name, one.lost, one.lost_share, one.deviation, one.largest, one.ranks, one.exposed, *(one.rate or (None, None)))
            for name, one in self.figures.items()
        )
        names = (
            "table",
            "cells lost",
            "value lost",
            "mean deviation",
            "largest",
            "ranks kept",
            "exposed",
            "rate from",
            "rate to",
        )
        note = (
            "Value lost: the share of all figures that is not published. Ranks kept: Spearman's correlation of the published "
            "cells. Exposed: sensitive cells that can be computed too closely, or whose figure is unchanged or closer to the "
            "true one than the rule allows."
        )
        return View(f"Protections of the table of {in_line(self.table.names, ' x ')}", (), (Table(names, rows, note=note),))


@looks
@checked_arguments
def compare_tables(
    table: CrossTable,
    protected: Mapping[str, ProtectedTable],
    *,
    rules: str | TableRule | Sequence[str | TableRule] = (),
    attacker: str | None = None,
    insiders: str = "singletons",
) -> TableComparison:
    """Compare protections of one table.

    Parameters
    ----------
    table
        The table, with its true figures.
    protected
        Its protections, by name.
    rules
        The rules for sensitive cells; by default those of the first suppressed table.
    attacker, insiders
        The attacker's prior knowledge, as for `suppress`.

    Examples
    --------
    >>> import unveil
    >>> table = unveil.table("adult", ["race", "marital-status"])
    >>> ways = {"suppressed": table.suppress("threshold=5"), "rounded": unveil.tables.round_table(table, base=5)}
    >>> unveil.tables.compare_tables(table, ways)
    TableComparison(race x marital-status: suppressed, rounded)
    """
    required = rules_of(rules) or next((one.rules for one in protected.values() if isinstance(one, SuppressedTable)), ())
    aim = Aim(attacker=attacker, insiders="none" if insiders == "none" else "singletons")
    points = {}
    for name, one in protected.items():
        figure, hidden, on = _published(name, table, one)
        points[name] = _figures(table, figure, hidden, replace(aim, on=on), required)
    return TableComparison(table, points)


def _published(name: str, table: CrossTable, one: ProtectedTable) -> tuple[NDArray[np.float64], NDArray[np.bool_], Any]:
    """Return the figures that a protection publishes, the cells it hides, and whether the figures are counts or values."""
    nothing = np.zeros(len(table.n), dtype=bool)
    dimensions = one.dimensions if isinstance(one, CrossTable | PublishedTable) else one.table.dimensions
    if [codes.codes for codes in dimensions] != [codes.codes for codes in table.dimensions]:
        raise ArgumentError(f"the table {shown(name)} has dimensions or codes that differ from those of the original.")
    if isinstance(one, PublishedTable):
        return one.figure, one.suppressed, one.on
    if isinstance(one, SuppressedTable):
        return one.table.amounts(one.on), one.suppressed, one.on
    if isinstance(one, PerturbedTable):
        return one.figure, nothing, one.on
    on = "count" if one.value is None else "value"
    return one.amounts(on), nothing, on


def _figures(
    table: CrossTable, figure: NDArray[np.float64], hidden: NDArray[np.bool_], aim: Aim, rules: tuple[TableRule, ...]
) -> TableFigures:
    cells = table.cells
    true = table.amounts(aim.on or "count")
    shown_cells = cells[~hidden[cells]]
    change = np.abs(figure - true)[shown_cells]
    whole = float(np.abs(true[cells]).sum())
    sensitive, exposed = _risk(table, figure, hidden, aim, rules) if rules else (None, None)
    return TableFigures(
        lost=int(hidden[cells].sum()),
        lost_share=float(np.abs(true[cells[hidden[cells]]]).sum()) / whole if whole else 0.0,
        deviation=float(change.mean()) if len(change) else 0.0,
        largest=float(change.max(initial=0)),
        ranks=_ranks(true[shown_cells], figure[shown_cells]),
        sensitive=sensitive,
        exposed=exposed,
        rate=_rate(table, figure, hidden, aim) if aim.on == "count" else None,
    )


def _risk(
    table: CrossTable, figure: NDArray[np.float64], hidden: NDArray[np.bool_], aim: Aim, rules: tuple[TableRule, ...]
) -> tuple[int, int]:
    """Return the numbers of sensitive cells and of exposed ones among them."""
    problem = posed(table, rules, aim)
    gone = hidden[problem.cells]
    change = figure[problem.cells] - problem.value
    slack = NARROW * np.maximum(1.0, np.abs(problem.value))
    near = np.abs(change) < np.maximum(np.where(change < 0, problem.down, problem.up) - slack, slack)
    exposed = int((problem.primary & ~gone & near).sum())
    if gone.any() and not (figure != table.amounts(problem.on))[problem.cells[~gone]].any():
        findings = audited(replace(problem, primary=problem.primary & gone), gone, depth="enough")
        exposed += int(findings.exposed.sum())
    elif gone.any():
        raise TableError("a table with both suppressed and changed cells cannot be attacked here.")
    return int(problem.primary.sum()), exposed


def _ranks(true: NDArray[np.float64], figure: NDArray[np.float64]) -> float | None:
    """Return Spearman's correlation; None if all cells are equal."""
    a, b = rankdata(true), rankdata(figure)
    if len(a) < 2 or a.std() == 0 or b.std() == 0:  # noqa: PLR2004 - two make a rank
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _rate(table: CrossTable, figure: NDArray[np.float64], hidden: NDArray[np.bool_], aim: Aim) -> tuple[float, float] | None:
    """Return bounds of the rate of the published table; suppressed cells have outer bounds from single equations."""
    lower, upper = np.maximum(figure, 0.0), np.maximum(figure, 0.0)
    if hidden.any():
        problem = posed(table, (), replace(aim, insiders="none"))
        gone = np.flatnonzero(hidden[problem.cells])
        matrix = problem.equations[:, gone].tocsr()
        low, high = propagated(matrix, matrix @ problem.value[gone], problem.lower[gone], problem.upper[gone])
        lower[problem.cells[gone]], upper[problem.cells[gone]] = low, np.minimum(high, table.made.records)
    return rate_interval(table, len(table.dimensions) - 1, lower, upper)
