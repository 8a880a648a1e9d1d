"""Is a published table safe? The audit of a pattern, whichever tool or person chose it.

The published table shows which cells are blank. With the original data and the rules, the required uncertainty of each
sensitive cell is known; without them, only the cells that can be computed exactly, and the widths of the other intervals.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, in_line
from unveil.errors import ArgumentError, TableError, listed
from unveil.errors import shown as quoted
from unveil.formats import counted, jsonable, number
from unveil.results import Figure, Mark, Result, Table, View
from unveil.run import looks
from unveil.sources import Data
from unveil.tables.apriori import Apriori
from unveil.tables.cells import misfit
from unveil.tables.classification import TOTAL
from unveil.tables.crosstab import crosstab
from unveil.tables.crosstable import CrossTable
from unveil.tables.files.published import PublishedTable, read_published
from unveil.tables.findings import Depth, Findings, audited
from unveil.tables.problem import Aim, CellProblem, Insiders, Zeros, posed
from unveil.tables.reasons import Reasons
from unveil.tables.rules import On, TableRule, rules_of
from unveil.tables.solver import LinearProgram
from unveil.tables.suppression.result import CROSS, SuppressedTable, plain_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["TableAudit", "audit", "reordered"]

_MOST_REASONS = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableAudit(Result):
    """The intervals that an attacker can compute from a published table.

    Attributes
    ----------
    table
        The table as published; it has the true figures of suppressed cells only if the original was given.
    cells
        The suppressed cells, and sensitive cells that are published.
    low, high
        The interval of each; for a published cell, its figure.
    exposed
        A mask of those that are exposed.
    sensitive
        A mask of those that are sensitive by the rules; None if unknown, because no original was given.
    exact
        Whether the intervals are exact; otherwise they are at least this wide.
    reasons
        The sums that disclose exposed cells, by the number of the cell.
    on
        Whether counts or values were published.
    """

    table: CrossTable
    cells: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exposed: NDArray[np.bool_]
    sensitive: NDArray[np.bool_] | None
    exact: bool
    reasons: Mapping[int, str]
    on: str

    @property
    def safe(self) -> bool:
        """Whether no cell is exposed."""
        return not self.exposed.any()

    def __repr__(self) -> str:
        """Return one line: the numbers of suppressed and of exposed cells."""
        names = in_line(self.table.names, " x ")
        return f"TableAudit({names}: {counted(len(self.cells), 'suppressed cell')}, {int(self.exposed.sum()):,} exposed)"

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals of all cells of the audit, and the reasons for exposed ones."""
        rows = []
        for at, by in enumerate(self.table.codes_of(self.cells)):
            rows.append(
                {
                    "by": by,
                    "low": jsonable(plain_number(self.low[at])),
                    "high": jsonable(plain_number(self.high[at])),
                    "sensitive": None if self.sensitive is None else bool(self.sensitive[at]),
                    "exposed": bool(self.exposed[at]),
                    "because": self.reasons.get(int(self.cells[at])),
                }
            )
        return {
            "safe": self.safe,
            "suppressed": len(self.cells),
            "exposed": int(self.exposed.sum()),
            "exact_intervals": self.exact,
            "levels_known": self.sensitive is not None,
            "on": self.on,
            "cells": rows,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per cell of the audit."""
        by = self.table.codes_of(self.cells)
        rows: dict[str, Sequence[Any]] = {name: [one[name] for one in by] for name in self.table.names}
        rows["low"] = [jsonable(plain_number(one)) for one in self.low]
        rows["high"] = [jsonable(plain_number(one)) for one in self.high]
        rows["exposed"] = self.exposed.tolist()
        return rows

    def view(self) -> View:
        """Return the displayed verdict, the reasons if the table is not safe, and the intervals."""
        figures = (
            Figure("suppressed cells", len(self.cells)),
            Figure("exposed", int(self.exposed.sum()), "cells that an attacker can compute too closely"),
        )
        order = np.argsort(~self.exposed, kind="stable")
        names = [self.table.name_of(int(cell)) for cell in self.cells]
        rows = tuple(
            (names[at], plain_number(self.low[at]), plain_number(self.high[at]), bool(self.exposed[at])) for at in order[:200]
        )
        intervals = Table(("cell", "low", "high", "exposed"), rows, "What an attacker can compute", self._cut())
        tables = crosstab(self.table.dimensions, self._entries(), self.table.shown, title="As published")
        notes = [] if self.sensitive is not None else [_UNKNOWN]
        lead = "No cell can be computed too closely." if self.safe else "The table is NOT safe."
        return View("Audit of a published table", figures, (*tables, intervals), (*self.reasons.values(), *notes), lead=lead)

    def _cut(self) -> str:
        return f"The first 200 of {len(self.cells):,}; a file has all." if len(self.cells) > 200 else ""  # noqa: PLR2004

    def _entries(self) -> list[Any]:
        amounts = self.table.amounts(self.on)
        entries: list[Any] = [plain_number(one) for one in amounts.tolist()]
        for at, cell in enumerate(self.cells.tolist()):
            interval = f"{number(plain_number(self.low[at]))} to {number(plain_number(self.high[at]))}"
            entries[cell] = Mark(CROSS, f"an attacker can compute {interval}", 1.0 if self.exposed[at] else 0.4)
        return entries


_UNKNOWN = (
    "Without the original data and rules, it is unknown how far each cell must stay uncertain: exposed are the cells that can "
    "be computed exactly, or more closely than the required width."
)


@looks
@checked_arguments
def audit(  # noqa: PLR0913 - a public door
    published: Data,
    *,
    by: Names | None = None,
    figures: str | None = None,
    value: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    original: Data | CrossTable | None = None,
    signed: bool = False,
    apriori: Apriori | None = None,
    rules: str | TableRule | Sequence[str | TableRule] = (),
    on: On | None = None,
    attacker: str | None = None,
    zeros: Zeros = "publish",
    insiders: Insiders = "singletons",
    level: Literal["rule", "none"] | float = "rule",
    width: float | None = None,
    total: str = TOTAL,
    intervals: Depth = "auto",
    **options: Any,
) -> TableAudit:
    """Attack a published table: find the interval that can be computed for every blank cell.

    Parameters
    ----------
    published
        The table, with one row per cell: a file or a data frame, or a `SuppressedTable`. A cell without a figure, or without a
        row, is suppressed. A crosstab as written by this package can be read if `by` names its dimensions, the one across last;
        its figures are counts if all are whole, unless `value` or `on` say that they are values.
    by, figures
        The columns of its dimensions, and of the figures; by default found by their names (``value`` or ``n``, depending on
        `on`). Figures of another name are values unless `on` says that they are counts.
    value
        The column of the original of which the figures are sums; not needed if the figures are counts, or the original is a
        `CrossTable`.
    hierarchies
        The groups above the values of a dimension; by default one total.
    original
        The records behind it, or their `CrossTable`; with `rules`, the required uncertainty of each cell is then known.
    signed
        Whether the figures may be negative.
    apriori
        Decisions about single cells; they require the original.
    rules, on, attacker, zeros, insiders, level, width
        The sensitive cells and the aim of protection, as for `suppress`.
    total
        The code of a margin that no hierarchy names.
    intervals
        The depth of computation: "exact", "enough", or "auto".
    **options
        As for `table`, if `original` is records: `holding`, `request`, `weights`, `nulls`, `tables`, `top`.

    Returns
    -------
    TableAudit
        The interval of every suppressed cell, the exposed cells, and the reasons.
    """
    aim = Aim(on, attacker, zeros, insiders, level, width)
    if isinstance(published, SuppressedTable):
        rows = PublishedTable.of(published)
    else:
        rows = read_published(published, by, figures or value, dict(hierarchies or {}), total, on)
    if original is None:
        _refuse_unused(rules, apriori, options)
        return _blind(rows, aim, intervals, signed=signed)
    table = _original(original, rows, {"value": value, "hierarchies": hierarchies, "total": total, "signed": signed, **options})
    decided = {} if apriori is None else apriori.masks(table)
    problem = posed(table, rules_of(rules), replace(aim, on=aim.on or rows.on), **decided)
    if apriori is not None:
        problem = apriori.applied(table, problem)
    _compared(table, problem, rows)
    suppressed = rows.suppressed[problem.cells]
    unprotected = np.flatnonzero(problem.primary & ~suppressed)
    return _with_reasons(table, problem, audited(problem, suppressed, depth=intervals), unprotected, known=True)


def _refuse_unused(rules: Any, apriori: Apriori | None, options: Mapping[str, Any]) -> None:
    """Refuse arguments that concern records, of which there are none."""
    if rules:
        raise ArgumentError("rules require the contributors of each cell; give the original data (`original`).")
    if apriori is not None:
        raise ArgumentError("decisions about single cells require the true figures; give the original data (`original`).")
    if options:
        raise ArgumentError(f"{quoted(next(iter(options)))} concerns the records; give the original data (`original`).")


def _original(original: Data | CrossTable, rows: PublishedTable, made_of: dict[str, Any]) -> CrossTable:
    """Return the original table in the dimensions of the published one."""
    from unveil.tables.build import table as build

    if isinstance(original, CrossTable):
        made = original
    else:
        if rows.on == "value" and made_of["value"] is None:
            raise ArgumentError("the published figures are sums; name the column of the original that was summed (`value`).")
        known = inspect.signature(build).parameters
        if unknown := [name for name in made_of if name not in known]:
            raise ArgumentError(f"a table does not take {quoted(unknown[0])}; it takes: {listed(list(known))}.")
        made = build(original, [one.name for one in rows.dimensions], **made_of)
    reordered(made, rows)
    return made


def reordered(made: CrossTable, rows: PublishedTable) -> None:
    """Reorder the codes of a published table like those of the original."""
    if made.names != tuple(one.name for one in rows.dimensions):
        raise TableError(
            f"the dimensions of the published table differ from those of the original: {in_line(made.names, ' x ')}."
        )
    if [one.codes for one in made.dimensions] == [one.codes for one in rows.dimensions]:
        return
    places = [
        [one.place.get(code, -1) for code in other.codes] for one, other in zip(rows.dimensions, made.dimensions, strict=True)
    ]
    if any(-1 in some for some in places):
        raise TableError("the published table does not have all codes of the original; give both the same hierarchies.")
    shape = [len(one) for one in rows.dimensions]
    order = np.ravel_multi_index(np.ix_(*map(np.array, places)), shape).ravel()
    left = np.ones(len(rows.figure), dtype=bool)
    left[order] = False
    if (left & (rows.suppressed | (rows.figure != 0))).any():  # figures there belong to other cells
        raise TableError("the published table has codes that the original does not have; give both the same hierarchies.")
    rows.reorder(made.dimensions, order)


def _compared(table: CrossTable, problem: CellProblem, rows: PublishedTable) -> None:
    """Refuse a published table with figures that differ from those of the original."""
    known = ~rows.suppressed[problem.cells]
    differs = known & (np.abs(rows.figure[problem.cells] - problem.value) > 1e-6 * np.maximum(1, np.abs(problem.value)))
    if differs.any():
        first = int(problem.cells[np.flatnonzero(differs)[0]])
        raise TableError(
            f"{counted(int(differs.sum()), 'published figure')} not as in the original, the first in "
            f"{table.name_of(first)}; for a table that was rounded or adjusted, use `compare_tables`."
        )


def _blind(rows: PublishedTable, aim: Aim, depth: Depth, *, signed: bool) -> TableAudit:
    """Attack a table of which only the published figures are known."""
    if not signed:
        rows.publish_empty()
    table = rows.table(signed=signed)
    problem = posed(table, (), replace(aim, on=rows.on, insiders="none", zeros="publish"))
    suppressed = rows.suppressed[problem.cells]
    problem = replace(problem, fixed=~suppressed, primary=suppressed, hidden=suppressed)
    width = aim.width if aim.width is not None else float(rows.on == "count")
    level = 0.0 if isinstance(aim.level, str) else aim.level
    if level:
        raise ArgumentError(
            "a level is a distance from the true value, which requires the original; give it, or a width instead."
        )
    problem = replace(problem, width=np.where(suppressed, width, 0.0), value=_solution(table, problem, suppressed))
    return _with_reasons(table, problem, audited(problem, suppressed, depth=depth), np.zeros(0, dtype=np.int64), known=False)


def _solution(table: CrossTable, problem: CellProblem, suppressed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return figures for the blank cells that make the table add up."""
    cells, value = np.flatnonzero(suppressed), np.where(suppressed, 0.0, problem.value)
    rest = -(problem.equations @ value)
    matrix = problem.equations[:, cells].tocsr()
    sums = np.diff(matrix.indptr) == 0
    if (wrong := misfit(problem.equations[np.flatnonzero(sums)], value)) is not None:
        raise TableError.does_not_add_up(table.name_of(int(problem.cells[wrong[0]])), *wrong[1:])
    if len(cells):
        program = LinearProgram(matrix[~sums], rest[~sums], problem.lower[cells], problem.upper[cells])
        solution = program.solve()
        if solution is None:
            raise TableError(
                "no figures for the blank cells make the table add up within the attacker's bounds; its totals contradict them."
            )
        value[cells] = solution
    return value


def _with_reasons(
    table: CrossTable, problem: CellProblem, findings: Findings, unprotected: NDArray[np.int64], *, known: bool
) -> TableAudit:
    """Return the findings of an attack, with the reasons for the first exposed cells.

    Parameters
    ----------
    table, problem, findings
        The table, its protection problem, and the findings on its suppressed cells.
    unprotected
        The sensitive cells that are published, and therefore exposed.
    known
        Whether it is known which cells are sensitive.
    """
    places = np.concatenate([findings.suppressed, unprotected])
    order, bare = np.argsort(places, kind="stable"), problem.value[unprotected]
    low, high = np.concatenate([findings.low, bare])[order], np.concatenate([findings.high, bare])[order]
    exposed = np.concatenate([findings.exposed, np.ones(len(bare), dtype=bool)])[order]
    places = places[order]
    reasons: dict[int, str] = {}
    inside, published = {one.cell: one for one in findings.insiders}, frozenset(unprotected.tolist())
    why = Reasons(table, problem, findings.suppressed) if findings.exposed.any() else None
    for cell in places[exposed][:_MOST_REASONS].tolist():
        number_of = int(problem.cells[cell])
        if cell in published:
            reasons[number_of] = f"{table.name_of(number_of)} is sensitive, but published."
        elif cell in inside:
            other = table.name_of(int(problem.cells[inside[cell].insider]))
            reasons[number_of] = f"The only contributor of {other} can compute {table.name_of(number_of)}."
        elif why is not None:
            reasons[number_of] = why.words(cell)
    sensitive = problem.primary[places] if known else None
    return TableAudit(table, problem.cells[places], low, high, exposed, sensitive, findings.exact, reasons, problem.on)
