"""Tables with suppressed cells: the published and the suppressed cells, and the intervals that an attacker can compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.errors import TableError
from unveil.formats import counted, jsonable, number
from unveil.results import Figure, Mark, Result, Table, View
from unveil.tables.crosstab import crosstab
from unveil.tables.propagation import propagated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable
    from unveil.tables.problem import Aim, CellProblem
    from unveil.tables.rules import TableRule
    from unveil.tables.suppression.methods import ChosenPattern

__all__ = ["CROSS", "SuppressedTable", "plain_number"]

CROSS = "\u00d7"
"""The mark of a suppressed cell."""
_FOR_STEWARDS = (
    "This page distinguishes sensitive cells from others, so it is for data stewards only. To publish the table, write it "
    "as .csv, .parquet or .xlsx."
)
_MOST = 50
_STATUS = ("published", "primary", "secondary", "zero")
_PUBLISHED, _PRIMARY, _SECONDARY, _ZERO = range(4)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SuppressedTable(Result):
    """A table with some cells that are not published.

    Attributes
    ----------
    table
        The table, with its true figures.
    status
        For every cell: 0 (published), 1 (sensitive), 2 (suppressed to protect others) or 3 (published as empty).
    low, high
        The interval of every cell that an attacker can compute; for a published cell, its value.
    exposed
        A mask of the cells that an attacker can compute too closely.
    exact
        Whether the intervals are exact; otherwise they are at least this wide.
    method, cost, cost_by, bound
        The method that chose the pattern, its cost, the kind of cost, and a lower bound of any pattern's cost; None if unknown.
    rules, aim, on
        The rules for sensitive cells, the aim of protection, and whether counts or values are protected.
    insiders
        The cells that the only contributors of others can compute: the cell, their own cell, and the interval.
    timed_out
        Whether the time limit cut the search or the audit short; the pattern is then the best that had passed the audit.
    """

    table: CrossTable
    status: NDArray[np.int8]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exposed: NDArray[np.bool_]
    exact: bool
    method: str
    cost: float
    cost_by: str
    bound: float | None
    rules: tuple[TableRule, ...]
    aim: Aim
    on: str
    insiders: tuple[tuple[int, int, float, float], ...] = ()
    timed_out: bool = False

    @classmethod
    def of(
        cls,
        table: CrossTable,
        problem: CellProblem,
        pattern: ChosenPattern,
        *,
        method: str,
        rules: tuple[TableRule, ...],
        aim: Aim,
        cost: str,
    ) -> SuppressedTable:
        """Return the table of a pattern that was chosen and attacked."""
        value = table.amounts(problem.on)
        low, high = value.copy(), value.copy()
        status = np.where(table.n == 0, _ZERO, _PUBLISHED).astype(np.int8)
        cells, findings = problem.cells, pattern.findings
        suppressed = cells[findings.suppressed]
        status[suppressed] = np.where(problem.primary[findings.suppressed], _PRIMARY, _SECONDARY)
        low[suppressed], high[suppressed] = findings.low, findings.high
        exposed = np.zeros(len(value), dtype=bool)
        exposed[suppressed] = findings.exposed
        inside = tuple((int(cells[one.cell]), int(cells[one.insider]), one.low, one.high) for one in findings.insiders)
        return cls(
            table,
            status,
            low,
            high,
            exposed,
            findings.exact,
            method,
            pattern.cost,
            cost,
            pattern.bound,
            rules,
            aim,
            problem.on,
            inside,
            pattern.timed_out,
        )

    @property
    def primary(self) -> int:
        """The number of sensitive cells."""
        return int((self.status == _PRIMARY).sum())

    @property
    def secondary(self) -> int:
        """The number of cells that are suppressed to protect others."""
        return int((self.status == _SECONDARY).sum())

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """Which cells are not published."""
        return np.asarray((self.status == _PRIMARY) | (self.status == _SECONDARY))

    @property
    def safe(self) -> bool:
        """Whether no cell is exposed."""
        return not self.exposed.any()

    @property
    def gap(self) -> float | None:
        """The largest possible distance of the cost above the optimum, as a share of the cost; None if unknown."""
        return None if self.bound is None else 0.0 if self.cost <= 0 else max(0.0, (self.cost - self.bound) / self.cost)

    def __repr__(self) -> str:
        """Return one line: the number of suppressed cells, and whether the pattern is safe."""
        state = "safe" if self.safe else f"{int(self.exposed.sum()):,} EXPOSED"
        return (
            f"SuppressedTable({in_line(self.table.names, ' x ')}: {counted(len(self.table), 'cell')}, {self.primary:,} primary, "
            f"{self.secondary:,} secondary, {state})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result for the data steward, including the true figures of suppressed cells."""
        cells = self.table.cells
        value = None if self.table.value is None else self.table.value
        rows = [
            {
                "by": by,
                "n": int(self.table.n[cell]),
                "value": None if value is None else jsonable(float(value[cell])),
                "status": _STATUS[self.status[cell]],
                "low": jsonable(plain_number(self.low[cell])),
                "high": jsonable(plain_number(self.high[cell])),
            }
            for cell, by in zip(cells.tolist(), self.table.codes_of(cells), strict=True)
        ]
        return {
            "cells": rows,
            "primary": self.primary,
            "secondary": self.secondary,
            "exposed": int(self.exposed.sum()),
            "cost": plain_number(self.cost),
            "bound": None if self.bound is None else plain_number(self.bound),
            "gap": self.gap,
            "method": self.method,
            "cost_by": self.cost_by,
            "on": self.on,
            "rules": [rule.words() for rule in self.rules],
            "attacker": self.aim.attacker,
            "zeros": self.aim.zeros,
            "insiders": self.aim.insiders,
            "exact_intervals": self.exact,
            "timed_out": self.timed_out,
            "made": self.table.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the published table: one row per cell, without figures for suppressed cells."""
        cells = self.table.cells
        hidden = self.suppressed[cells]
        by = self.table.codes_of(cells)
        rows: dict[str, Sequence[Any]] = {name: [one[name] for one in by] for name in self.table.names}
        rows["n"] = [None if gone else int(n) for n, gone in zip(self.table.n[cells], hidden, strict=True)]
        if self.table.value is not None:
            rows["value"] = [None if gone else float(x) for x, gone in zip(self.table.value[cells], hidden, strict=True)]
        rows["suppressed"] = hidden.tolist()
        return rows

    def with_intervals(self) -> dict[str, Sequence[Any]]:
        """Return the published table, with the interval that everyone can compute for every blank."""
        self._require_ends()
        cells = self.table.cells
        return {
            **self.columns(),
            "low": [jsonable(plain_number(one)) for one in self.low[cells]],
            "high": [jsonable(plain_number(one)) for one in self.high[cells]],
        }

    def entries(self) -> list[Any]:
        """Return the entry of every cell of a crosstab: a figure, or a mark with the interval."""
        amounts = self.table.n if self.table.value is None else self.table.value
        hidden = self.suppressed
        return [self._mark(cell) if hidden[cell] else plain_number(amounts[cell]) for cell in range(len(amounts))]

    def interval_entries(self) -> list[Any]:
        """Return the entry of every cell of a crosstab, with the interval that everyone can compute in place of each blank."""
        self._require_ends()
        return [
            f"[{plain_number(self.low[cell])}; {plain_number(self.high[cell])}]" if isinstance(entry, Mark) else entry
            for cell, entry in enumerate(self.entries())
        ]

    def _require_ends(self) -> None:
        """Refuse intervals that may be narrower than everyone's, because publishing them would disclose more."""
        if not self.exact:
            raise TableError(
                "the intervals were computed only until every sensitive cell was known to be safe, not to their ends; such "
                "narrower intervals must not be published. Protect the table with exact ones (`intervals` of 'exact')."
            )

    def _mark(self, cell: int) -> Mark:
        least = "" if self.exact else "at least "
        interval = f"{least}{number(plain_number(self.low[cell]))} to {number(plain_number(self.high[cell]))}"
        if self.exposed[cell]:
            return Mark(CROSS, f"exposed: an attacker can compute {interval}", 1.0)
        words = "sensitive" if self.status[cell] == _PRIMARY else "suppressed to protect others"
        return Mark(CROSS, f"{words}: an attacker can compute {interval}", 0.75 if self.status[cell] == _PRIMARY else 0.4)

    def view(self) -> View:
        """Return the displayed numbers of suppressed cells, their cost, and the crosstab."""
        figures = (
            Figure("sensitive cells", self.primary, in_line([rule.words() for rule in self.rules])),
            Figure("suppressed with them", self.secondary, f"method {self.method}"),
            Figure("exposed", int(self.exposed.sum()), "sensitive cells that an attacker can compute too closely"),
            Figure("cost", plain_number(self.cost), self._bound_words()),
        )
        what = "records" if self.table.value is None else f"sum of {in_line(self.table.made.sensitive)}"
        note = f"{CROSS}: not published."
        tables = crosstab(self.table.dimensions, self.entries(), self.table.shown, title=what, note=note)
        tables = (*tables, self._intervals())
        lead = (
            "No sensitive cell can be computed more closely than allowed."
            if self.safe
            else "The pattern is NOT safe: at least one sensitive cell can be computed too closely."
        )
        return View(f"Table of {in_line(self.table.names, ' x ')}, protected", figures, tables, self._notes(), lead=lead)

    def _intervals(self) -> Table:
        """Return the intervals that an attacker can compute for the sensitive cells, exposed ones first."""
        cells = np.flatnonzero(self.status == _PRIMARY)
        cells = cells[np.argsort(~self.exposed[cells], kind="stable")]
        rows = tuple(
            (self.table.name_of(cell), plain_number(self.low[cell]), plain_number(self.high[cell]), bool(self.exposed[cell]))
            for cell in cells[:_MOST].tolist()
        )
        cut = f"The first {_MOST} of {len(cells):,} sensitive cells; a file has all." if len(cells) > _MOST else ""
        least = "" if self.exact else "Intervals are at least this wide. "
        return Table(("sensitive cell", "low", "high", "exposed"), rows, "What an attacker can compute", least + cut)

    def _bound_words(self) -> str:
        unit = {"cells": "suppressed cells", "count": "records", "value": "value"}.get(self.cost_by, "cost")
        if self.bound is None:
            return f"by {unit}; the least possible cost is not known"
        if self.gap is not None and self.gap < 1e-9:  # noqa: PLR2004 - rounding
            return f"by {unit}; no pattern costs less"
        return f"by {unit}; no pattern costs less than {number(plain_number(self.bound))}"

    def told_by_not_being_empty(self) -> NDArray[np.int64]:
        """Return the sensitive cells that single sums disclose to someone who assumes that no blank is empty.

        Blanks are not empty if empty cells are shown; bounds of 1:inf for the attacker protect against this.
        """
        if self.on != "count" or self.aim.attacker is not None or self.aim.zeros == "suppress":
            return np.zeros(0, dtype=np.int64)
        hidden = np.flatnonzero(self.suppressed)
        matrix = self.table.equations()[:, hidden].tocsr()
        n = self.table.n[hidden].astype(np.float64)
        low, high = propagated(matrix, matrix @ n, np.minimum(n, 1.0), np.full(len(n), np.inf))
        return np.asarray(hidden[(high - low < 1 / 2) & (self.status[hidden] == _PRIMARY)])

    def _notes(self) -> tuple[str, ...]:
        who = "the only contributor of a cell knows it" if self.aim.insiders == "singletons" else "nobody knows a cell beforehand"
        sentence = (
            f"The {self.on}s are protected; the attacker knows that each lies in {self.aim.attacker or '0:inf'}, and {who}.",
            _FOR_STEWARDS,
        )
        names = [
            f"The only contributor of {self.table.name_of(other)} can compute {self.table.name_of(cell)}."
            for cell, other, _, _ in self.insiders[:5]
        ]
        known = len(self.told_by_not_being_empty())
        empty = (
            f"Empty cells are shown, so a blank is known not to be empty; with that, {counted(known, 'sensitive cell')} can be "
            "computed from single sums. Bounds of 1:inf for the attacker protect against it."
        )
        late = ("The time was up: this is the best pattern that had passed the audit by then.",) if self.timed_out else ()
        return (*names, *late, *((empty,) if known else ()), *sentence)


def plain_number(value: float) -> float | int:
    """Return a whole number, or one that rounding has slightly changed, as an integer."""
    if not np.isfinite(value):
        return float(value)
    near = round(float(value))
    return near if abs(near - value) <= 1e-6 * max(1.0, abs(near)) else float(value)
