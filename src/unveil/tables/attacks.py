"""Who can compute what from a table: the attacks of outsiders, of contributors, and of those who compare tables.

external: a cell of one contributor is that contributor's value. internal: of two contributors each computes the other's value.
dominance: anyone who makes up most of a cell bounds all others. group disclosure: all of a class have one category. differencing:
cells that no table shows follow from those that the tables show. insider: who is alone in a suppressed cell computes another.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_number
from unveil.attributes import Names, in_line
from unveil.errors import ArgumentError, listed
from unveil.errors import shown as quoted
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.results.numbers import counted
from unveil.sources import Data
from unveil.tables.build import table as build
from unveil.tables.cells import equations
from unveil.tables.crosstable import CrossTable
from unveil.tables.elimination import directions
from unveil.tables.perturbation.result import PerturbedTable
from unveil.tables.problem import NARROW
from unveil.tables.propagation import propagated
from unveil.tables.rates import rate_interval
from unveil.tables.rules.group_disclosure import GroupRule
from unveil.tables.suppression.result import SuppressedTable, plain_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CellAttack", "TableAttack", "attack_table"]

_SMALL = 3
"""Fewer contributors than this can compute one another's values."""


@dataclass(frozen=True, slots=True)
class CellAttack:
    """What somebody can compute from one cell.

    Attributes
    ----------
    attack
        external, internal, dominance, group disclosure, differencing or insider.
    cell
        The cell, by its number.
    who
        Who computes.
    learns
        What is computed.
    low, high
        The bounds they reach.
    n
        The contributors of the cell.
    share
        The share of the largest contributor; None in a frequency table.
    """

    attack: str
    cell: int
    who: str
    learns: str
    low: float
    high: float
    n: int
    share: float | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableAttack(Result):
    """What a table gives away, attack by attack.

    Attributes
    ----------
    table
        The table.
    found
        What can be computed, cell by cell.
    rate_before, rate_after
        Bounds of the Discrimination Rate of the other dimensions for the sensitive one: of the table published whole, and as it
        is published; None: undefined.
    sensitive
        The sensitive dimension.
    """

    table: CrossTable
    found: tuple[CellAttack, ...]
    sensitive: str
    rate_before: tuple[float, float] | None
    rate_after: tuple[float, float] | None

    def __repr__(self) -> str:
        """Return one line: how many cells fall to each attack."""
        kinds = Counter(one.attack for one in self.found)
        summary = ", ".join(f"{name} {n:,}" for name, n in kinds.items()) or "nothing"
        return f"TableAttack({in_line(self.table.names, ' x ')}: {summary})"

    def to_dict(self) -> dict[str, Any]:
        """Return what can be computed, and the rates."""
        by = self.table.codes_of(np.array([one.cell for one in self.found], dtype=np.int64))
        rows = [
            {
                "attack": one.attack,
                "by": codes,
                "who": one.who,
                "learns": one.learns,
                "low": jsonable(plain_number(one.low)),
                "high": jsonable(plain_number(one.high)),
                "n": one.n,
                "share": one.share,
            }
            for one, codes in zip(self.found, by, strict=True)
        ]
        return {
            "attacks": dict(Counter(one.attack for one in self.found)),
            "cells": rows,
            "discrimination_rate": {
                "sensitive": self.sensitive,
                "before": None if self.rate_before is None else list(self.rate_before),
                "after": None if self.rate_after is None else list(self.rate_after),
            },
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per cell and attack."""
        names = ("attack", "who", "learns", "low", "high", "n", "share")
        cells = [self.table.name_of(one.cell) for one in self.found]
        return {"cell": cells, **{name: [getattr(one, name) for one in self.found] for name in names}}

    def view(self) -> View:
        """Return what a person should see: how many cells fall to each attack, and the first of each."""
        kinds = Counter(one.attack for one in self.found)
        figures = [Figure(name, n, _MEANING[name]) for name, n in kinds.items()]
        if self.rate_before is not None:
            figures.append(
                Figure("Discrimination Rate, whole", _bounds(self.rate_before), f"of the other dimensions for {self.sensitive}")
            )
        if self.rate_after is not None and self.rate_after != self.rate_before:
            figures.append(Figure("Discrimination Rate, as published", _bounds(self.rate_after), "outer bounds"))
        tables = tuple(self._shown(name) for name in kinds)
        lead = f"{counted(len(self.found), 'finding')}." if self.found else "No cell falls to these attacks."
        return View(f"Attack on the table of {in_line(self.table.names, ' x ')}", tuple(figures), tables, lead=lead)

    def _shown(self, attack: str) -> Table:
        some = [one for one in self.found if one.attack == attack]
        rows = tuple(
            (self.table.name_of(one.cell), one.n, one.who, one.learns, plain_number(one.low), plain_number(one.high))
            for one in some[:20]
        )
        note = f"The first 20 of {len(some):,}." if len(some) > 20 else ""  # noqa: PLR2004
        return Table(("cell", "n", "who", "learns", "low", "high"), rows, attack, note)


_MEANING = {
    "external": "cells of one contributor",
    "internal": "cells of two contributors",
    "dominance": "cells that one contributor dominates",
    "group disclosure": "classes that are in one category",
    "differencing": "cells that no table shows and that follow from those shown",
    "insider": "suppressed cells that somebody who is alone in another can compute",
}


def _bounds(rate: tuple[float, float]) -> Any:
    return rate[0] if abs(rate[1] - rate[0]) < 1e-9 else f"{rate[0]:.4f} to {rate[1]:.4f}"  # noqa: PLR2004 - rounding


@checked_arguments
def attack_table(
    data: Data | CrossTable | SuppressedTable,
    by: Names | None = None,
    *,
    value: str | None = None,
    holding: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    share: float = 90.0,
    coalition: int = 0,
    **options: Any,
) -> TableAttack:
    """Say who can compute what from a table.

    Parameters
    ----------
    data
        A table, a table with suppressed cells, or the records and the columns of a table.
    by, value, holding, hierarchies, **options
        As for `table`, where records are given.
    sensitive
        The dimension whose categories are sensitive; none: the last.
    share
        From which share of a cell, in per cent, a contributor dominates it.
    coalition
        How many members of a class share what they know about themselves (group disclosure).

    Returns
    -------
    TableAttack
        What can be computed from which cell, and the Discrimination Rate before and after.

    Examples
    --------
    >>> import unveil
    >>> unveil.attack_table("paper-2", ["Age*", "Disease"])
    TableAttack(Age* x Disease: external ..., group disclosure ...)
    """
    checked_number("share", share, above=0, most=100)
    checked_count("coalition", coalition, least=0)
    protected = data if isinstance(data, SuppressedTable) else None
    if isinstance(data, PerturbedTable):
        raise ArgumentError(
            "these attacks compute with exact figures, and those of this table were changed; `compare_tables` says how near its "
            "sensitive cells still are."
        )
    if isinstance(data, SuppressedTable):
        table = data.table
    elif isinstance(data, CrossTable):
        table = data
    else:
        if by is None:
            raise ArgumentError("no dimension is named; name the columns that span the table (`by`).")
        known = inspect.signature(build).parameters
        if unknown := [name for name in options if name not in known]:
            raise ArgumentError(f"a table takes no {quoted(unknown[0])}; it takes: {listed(list(known))}.")
        table = build(data, by, value=value, holding=holding, hierarchies=hierarchies, **options)
    shown = np.zeros(len(table.n), dtype=bool)
    shown[table.cells] = True
    if protected is not None:
        shown &= ~protected.suppressed
    inferred = [
        *_contributors(table, shown, share),
        *_groups(table, shown, sensitive, coalition),
        *_differences(table, shown),
        *([] if protected is None else _insiders(protected)),
    ]
    rule = GroupRule(sensitive, coalition)
    axis = rule.axis(table)
    count = table.n.astype(np.float64)
    before = rate_interval(table, axis, count, count)
    after = before
    if protected is not None:
        after = rate_interval(table, axis, *_count_bounds(protected))
    return TableAttack(table, tuple(inferred), table.names[axis], before, after)


def _count_bounds(protected: SuppressedTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what is known about every count: intervals where counts were protected, else nothing of what is suppressed."""
    count = protected.table.n.astype(np.float64)
    if protected.on == "count":
        return np.maximum(protected.low, 0.0), np.minimum(protected.high, float(protected.table.made.records))
    hidden = protected.suppressed
    return np.where(hidden, 0.0, count), np.where(hidden, float(protected.table.made.records), count)


def _contributors(table: CrossTable, shown: NDArray[np.bool_], share: float) -> list[CellAttack]:
    """Return the external, internal and dominance attacks on the cells that are shown."""
    attacks = []
    for cell in np.flatnonzero(shown & (table.units == 1)).tolist():
        worth = float(table.n[cell] if table.value is None else table.value[cell])
        learns = "that there is one such contributor" if table.value is None else "the contributor's value"
        attacks.append(CellAttack("external", cell, "anybody", learns, worth, worth, 1, None if table.value is None else 1.0))
    if table.value is None or table.top is None or table.size is None:
        return attacks
    first = table.top[:, 0]
    for cell in np.flatnonzero(shown & (table.units == 2)).tolist():  # noqa: PLR2004 - two contributors
        rest = float(table.size[cell] - first[cell])
        part = float(first[cell] / table.size[cell]) if table.size[cell] else None
        attacks.append(CellAttack("internal", cell, "the largest contributor", "the other's value", rest, rest, 2, part))
    dominated = shown & (table.units >= _SMALL) & (table.size > 0) & (100 * first >= share * table.size)
    for cell in np.flatnonzero(dominated).tolist():
        rest = float(table.size[cell] - first[cell])
        part = float(first[cell] / table.size[cell])
        who, learns = "the largest contributor", "each other's value"
        attacks.append(CellAttack("dominance", cell, who, learns, 0.0, rest, int(table.units[cell]), part))
    return attacks


def _groups(table: CrossTable, shown: NDArray[np.bool_], sensitive: str | None, coalition: int) -> list[CellAttack]:
    """Return the classes of which all members have one category."""
    marked = GroupRule(sensitive, coalition).primary(table) & shown & (table.n > 0)
    return [
        CellAttack("group disclosure", cell, "anybody", "the category of everybody in the class", float(n), float(n), int(n))
        for cell, n in zip(np.flatnonzero(marked).tolist(), table.n[marked], strict=True)
    ]


def _differences(table: CrossTable, shown: NDArray[np.bool_]) -> list[CellAttack]:
    """Return the cells of few contributors that no table shows and that follow from those published."""
    if table.shown is None:
        return []
    unknown = np.flatnonzero(~shown)
    matrix = equations(table.dimensions)[:, unknown].tocsr()
    matrix = matrix[np.diff(matrix.indptr) > 0]
    worth = table.n if table.value is None else table.value
    least = np.full(len(unknown), -np.inf if table.signed and table.value is not None else 0.0)
    low, high = propagated(matrix, matrix @ worth[unknown], least, np.full(len(unknown), np.inf))
    determined = unknown[directions(matrix).determined() | (high - low <= NARROW * np.maximum(1.0, np.abs(worth[unknown])))]
    few = determined[~table.shown[determined] & (table.units[determined] > 0) & (table.units[determined] < _SMALL)]
    return [
        CellAttack("differencing", cell, "anybody", "the cell", float(worth[cell]), float(worth[cell]), int(table.units[cell]))
        for cell in few.tolist()
    ]


def _insiders(protected: SuppressedTable) -> list[CellAttack]:
    """Return what those can compute who are alone in a suppressed cell."""
    table = protected.table
    return [
        CellAttack(
            "insider", cell, f"the only contributor of {table.name_of(other)}", "the cell", low, high, int(table.units[cell])
        )
        for cell, other, low, high in protected.insiders
    ]
