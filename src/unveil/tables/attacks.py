"""Who can compute what from a table? The attacks of outsiders, of contributors, and of those who compare tables.

external: a cell of one contributor is that contributor's value. internal: each of two contributors can compute the other's value.
dominance: a contributor who makes up most of a cell can bound all others. group disclosure: all members of a class have the same
category. differencing: cells that no table shows follow from those that the tables show. insider: the only contributor of a
suppressed cell can compute another.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_number
from unveil.attributes import Names, in_line
from unveil.errors import ArgumentError, listed
from unveil.errors import shown as quoted
from unveil.formats import counted, jsonable
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, in_run
from unveil.sources import Data
from unveil.tables.build import table as build
from unveil.tables.cells import equations
from unveil.tables.crosstable import CrossTable
from unveil.tables.elimination import directions
from unveil.tables.gains import Reached, TableGains
from unveil.tables.perturbation.result import PerturbedTable
from unveil.tables.problem import NARROW
from unveil.tables.propagation import propagated
from unveil.tables.rates import ClassRates, rate_interval
from unveil.tables.rules.group_disclosure import GroupRule
from unveil.tables.suppression.result import SuppressedTable, plain_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CellAttack", "TableAttack", "attack_table"]

_SMALL = 3
"""In a cell with fewer contributors than this, they can compute one another's values."""


@dataclass(frozen=True, slots=True)
class CellAttack:
    """The result of an attack on one cell.

    Attributes
    ----------
    attack
        external, internal, dominance, group disclosure, differencing or insider.
    cell
        The cell, by its number.
    who
        The attacker.
    learns
        The object of the computation.
    low, high
        The bounds they obtain.
    n
        The number of contributors of the cell.
    share
        The share of the largest contributor; None in a frequency table.
    rate_before, rate_after
        Bounds of the Discrimination Rate for the attacked figure, from the whole table and from the table as published; None if
        undefined.
    """

    attack: str
    cell: int
    who: str
    learns: str
    low: float
    high: float
    n: int
    share: float | None = None
    rate_before: tuple[float, float] | None = None
    rate_after: tuple[float, float] | None = None

    @property
    def succeeds(self) -> bool:
        """Whether the attacker learns as much from the published table as from the whole one."""
        if self.rate_before is None or self.rate_after is None:
            return self.high - self.low <= NARROW * max(1.0, abs(self.high))
        return self.rate_after[0] >= self.rate_before[1] - NARROW


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableAttack(Result):
    """The successful attacks on a table.

    Attributes
    ----------
    table
        The table.
    found
        The successful attacks, cell by cell.
    rate_before, rate_after
        Bounds of the Discrimination Rate of the other dimensions for the sensitive one, for the whole table and for the table as
        published; None if undefined.
    sensitive
        The sensitive dimension.
    prevented
        The attacks that succeed on the whole table but not on the table as published, with the remaining bounds.
    protected
        Whether cells are suppressed, so that less than the whole table is published.
    """

    table: CrossTable
    found: tuple[CellAttack, ...]
    sensitive: str
    rate_before: tuple[float, float] | None
    rate_after: tuple[float, float] | None
    prevented: tuple[CellAttack, ...] = ()
    protected: bool = False

    def __repr__(self) -> str:
        """Return one line: the number of cells that fall to each attack."""
        kinds = Counter(one.attack for one in self.found)
        summary = ", ".join(f"{name} {n:,}" for name, n in kinds.items()) or "nothing"
        return f"TableAttack({in_line(self.table.names, ' x ')}: {summary})"

    def to_dict(self) -> dict[str, Any]:
        """Return the attacks and the rates."""
        return {
            "attacks": dict(Counter(one.attack for one in self.found)),
            "cells": self._rows(self.found),
            "prevented": self._rows(self.prevented),
            "discrimination_rate": {
                "sensitive": self.sensitive,
                "before": _listed(self.rate_before),
                "after": _listed(self.rate_after),
            },
        }

    def _rows(self, attacks: Sequence[CellAttack]) -> list[dict[str, Any]]:
        by = self.table.codes_of(np.array([one.cell for one in attacks], dtype=np.int64))
        return [
            {
                "attack": one.attack,
                "by": codes,
                "who": one.who,
                "learns": one.learns,
                "low": jsonable(plain_number(one.low)),
                "high": jsonable(plain_number(one.high)),
                "n": one.n,
                "share": one.share,
                "rate_before": _listed(one.rate_before),
                "rate_after": _listed(one.rate_after),
            }
            for one, codes in zip(attacks, by, strict=True)
        ]

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per cell and attack."""
        names = ("attack", "who", "learns", "low", "high", "n", "share")
        cells = [self.table.name_of(one.cell) for one in self.found]
        rows: dict[str, Sequence[Any]] = {name: [getattr(one, name) for one in self.found] for name in names}
        for name in ("rate_before", "rate_after"):
            for side, end in enumerate(("low", "high")):
                rates = [getattr(one, name) for one in self.found]
                rows[f"{name}_{end}"] = [None if rate is None else rate[side] for rate in rates]
        return {"cell": cells, **rows}

    def view(self) -> View:
        """Return the displayed numbers of cells that fall to each attack, and the first of each."""
        kinds = Counter(one.attack for one in self.found)
        figures = [Figure(name, n, _MEANING[name]) for name, n in kinds.items()]
        if self.rate_before is not None:
            figures.append(
                Figure("Discrimination Rate, whole", _bounds(self.rate_before), f"of the other dimensions for {self.sensitive}")
            )
        if self.rate_after is not None and self.rate_after != self.rate_before:
            figures.append(Figure("Discrimination Rate, as published", _bounds(self.rate_after), "outer bounds"))
        tables = tuple(self._shown(name, [one for one in self.found if one.attack == name]) for name in kinds)
        if self.prevented:
            figures.append(Figure("prevented", len(self.prevented), "attacks on the whole table that fail on the published one"))
            tables = (*tables, self._shown("prevented", self.prevented, named=True))
        lead = f"{counted(len(self.found), 'finding')}." if self.found else "No cell falls to these attacks."
        return View(f"Attack on the table of {in_line(self.table.names, ' x ')}", tuple(figures), tables, lead=lead)

    def _shown(self, title: str, some: Sequence[CellAttack], *, named: bool = False) -> Table:
        rows = tuple(
            (
                *((one.attack,) if named else ()),
                self.table.name_of(one.cell),
                *(one.n, one.who, one.learns, plain_number(one.low), plain_number(one.high)),
                *(None if rate is None else _bounds(rate) for rate in self._rates(one)),
            )
            for one in some[:20]
        )
        note = f"The first 20 of {len(some):,}." if len(some) > 20 else ""  # noqa: PLR2004
        rates = ("rate, whole", "rate, as published") if self.protected else ("rate",)
        return Table((*(("attack",) if named else ()), "cell", "n", "who", "learns", "low", "high", *rates), rows, title, note)

    def _rates(self, one: CellAttack) -> tuple[tuple[float, float] | None, ...]:
        return (one.rate_before, one.rate_after) if self.protected else (one.rate_before,)


_MEANING = {
    "external": "cells of one contributor",
    "internal": "cells of two contributors",
    "dominance": "cells dominated by one contributor",
    "group disclosure": "classes whose members are all in one category",
    "differencing": "cells that no table shows but that follow from those shown",
    "insider": "suppressed cells that the only contributor of another cell can compute",
}


def _bounds(rate: tuple[float, float]) -> Any:
    return rate[0] if abs(rate[1] - rate[0]) < 1e-9 else f"{rate[0]:.4f} to {rate[1]:.4f}"  # noqa: PLR2004 - rounding


def _listed(rate: tuple[float, float] | None) -> list[float] | None:
    return None if rate is None else list(rate)


@checked_arguments
@in_run
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
    """Attack a table: find out who can compute what from it.

    Parameters
    ----------
    data
        A table, a table with suppressed cells, or the records and the columns of a table.
    by, value, holding, hierarchies, **options
        As for `table`, if records are given.
    sensitive
        The dimension whose categories are sensitive; by default the last one.
    share
        The share of a cell, in per cent, from which a contributor dominates it.
    coalition
        For group disclosure: the number of members of a class who share what they know about themselves.

    Returns
    -------
    TableAttack
        The successful attacks on each cell, and the Discrimination Rate before and after suppression.

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
            "these attacks require exact figures, but those of this table were changed; `compare_tables` says how close its "
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
            raise ArgumentError(f"a table does not take {quoted(unknown[0])}; it takes: {listed(list(known))}.")
        table = build(data, by, value=value, holding=holding, hierarchies=hierarchies, **options)
    axis = GroupRule(sensitive, coalition).axis(table)
    count = table.n.astype(np.float64)
    before = rate_interval(table, axis, count, count)
    attacks = _Attacks(table, protected, axis, share, coalition)
    if protected is None:
        return TableAttack(table, tuple(attacks.on(attacks.part)), table.names[axis], before, before)
    after = rate_interval(table, axis, *_count_bounds(protected))
    successful = (*attacks.on(attacks.part & ~protected.suppressed), *attacks.insiders(protected))
    direct = {(one.attack, one.cell) for one in successful}
    others = [attacks.left(one) for one in attacks.on(attacks.part) if (one.attack, one.cell) not in direct]
    successful = (*successful, *(one for one in others if one.succeeds))
    prevented = tuple(one for one in others if not one.succeeds)
    return TableAttack(table, successful, table.names[axis], before, after, prevented, protected=True)


def _count_bounds(protected: SuppressedTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the known bounds of every count: intervals if counts were protected, else trivial bounds for suppressed ones."""
    count = protected.table.n.astype(np.float64)
    if protected.on == "count" and protected.exact:
        return np.maximum(protected.low, 0.0), np.minimum(protected.high, float(protected.table.made.records))
    hidden = protected.suppressed
    return np.where(hidden, 0.0, count), np.where(hidden, float(protected.table.made.records), count)


_Unknowns: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]"


class _Attacks:
    """The attacks on the cells of one table, each with its rates."""

    unseen: _Unknowns | None

    def __init__(self, table: CrossTable, protected: SuppressedTable | None, axis: int, share: float, coalition: int) -> None:
        self.table, self.axis, self.share, self.coalition = table, axis, share, coalition
        self.on_value = table.value is not None
        self.part = np.zeros(len(table.n), dtype=bool)
        self.part[table.cells] = True
        self.protected, self.unseen = protected, None
        self.gains = TableGains(table, protected, "value" if self.on_value else "count")
        count = table.n.astype(np.float64)
        self.counts = (count, count) if protected is None else _count_bounds(protected)
        whole = ClassRates(table, axis, count, count)
        self.classes = whole, whole if protected is None else ClassRates(table, axis, *self.counts)

    def on(self, shown: NDArray[np.bool_]) -> list[CellAttack]:
        """Return the attacks that succeed on the cells that are shown."""
        return [*self._contributors(shown), *self._groups(shown), *self._differences(shown)]

    def insiders(self, protected: SuppressedTable) -> list[CellAttack]:
        """Return the attacks by the only contributors of suppressed cells."""
        gains = TableGains(self.table, protected, protected.on)
        worth = self.table.amounts(protected.on)
        return [
            CellAttack(
                "insider",
                cell,
                f"the only contributor of {self.table.name_of(other)}",
                "the cell",
                low,
                high,
                int(self.table.units[cell]),
                rate_before=gains.whole(cell, Reached(float(worth[cell]), float(worth[cell]))),
                rate_after=gains.published(cell, Reached(low, high)),
            )
            for cell, other, low, high in protected.insiders
        ]

    def left(self, attack: CellAttack) -> CellAttack:
        """Return the remainder of an attack that succeeds only on the whole table: the interval, and its rate."""
        cell = attack.cell
        if attack.attack == "group disclosure":
            low, high = self.counts
            bounds = self.classes[1].rate(cell, among=False)
            top = bounds and (bounds[0], 1.0 if self.coalition else bounds[1])  # a coalition may learn more
            return replace(attack, low=float(low[cell]), high=float(high[cell]), rate_after=top)
        contribution = attack.attack in ("internal", "dominance")
        reached = self._unseen(cell) if attack.attack == "differencing" else self.gains.cell(cell)
        if contribution:
            reached = self._others(cell, reached)
        if attack.attack == "dominance":
            reached = replace(reached, low=0.0)
        rate = self.gains.published(cell, reached, contribution=contribution)
        return replace(attack, low=reached.low, high=reached.high, rate_after=rate)

    def _others(self, cell: int, reached: Reached) -> Reached:
        """Return the largest contributor's bounds for the sum of the others; infinite if values may have either sign."""
        if self.table.signed or self.table.top is None:
            return Reached(-math.inf, math.inf, "outer")
        return reached.less(float(self.table.top[cell, 0]))

    def _unseen(self, cell: int) -> Reached:
        """Return the bounds from single sums for a cell that no table shows."""
        if self.unseen is None:
            hidden = np.zeros(len(self.part), dtype=bool) if self.protected is None else self.protected.suppressed
            self.unseen = self._unknowns(self.part & ~hidden)
        unknown, low, high, _ = self.unseen
        at = int(np.searchsorted(unknown, cell))
        return Reached(float(low[at]), float(high[at]), "outer")

    def _attack(self, attack: str, cell: int, learns: str, reached: Reached, part: float | None) -> CellAttack:
        """Return an attack on a cell that is shown, which gives the same interval as the whole table."""
        active_run().check()
        contribution = attack in ("internal", "dominance")
        who = "the largest contributor" if contribution else "anyone"
        rates = [rate(cell, reached, contribution=contribution) for rate in (self.gains.whole, self.gains.published)]
        return CellAttack(attack, cell, who, learns, reached.low, reached.high, int(self.table.units[cell]), part, *rates)

    def _contributors(self, shown: NDArray[np.bool_]) -> list[CellAttack]:
        """Return the external, internal and dominance attacks on the shown cells."""
        table, attacks = self.table, []
        for cell in np.flatnonzero(shown & (table.units == 1)).tolist():
            worth = float(table.n[cell] if table.value is None else table.value[cell])
            learns = "that there is one such contributor" if table.value is None else "the contributor's value"
            attacks.append(self._attack("external", cell, learns, Reached(worth, worth), 1.0 if self.on_value else None))
        if table.value is None or table.top is None or table.size is None:
            return attacks
        first = table.top[:, 0]
        for cell in np.flatnonzero(shown & (table.units == 2)).tolist():  # noqa: PLR2004 - two contributors
            rest = float(table.size[cell] - first[cell])
            part = float(first[cell] / table.size[cell]) if table.size[cell] else None
            attacks.append(self._attack("internal", cell, "the other's value", Reached(rest, rest), part))
        dominated = shown & (table.units >= _SMALL) & (table.size > 0) & (100 * first >= self.share * table.size)
        for cell in np.flatnonzero(dominated).tolist():
            rest = float(table.size[cell] - first[cell])
            part = float(first[cell] / table.size[cell])
            attacks.append(self._attack("dominance", cell, "each other's value", Reached(0.0, rest), part))
        return attacks

    def _groups(self, shown: NDArray[np.bool_]) -> list[CellAttack]:
        """Return the classes whose members all have the same category."""
        table, learns = self.table, "the category of everyone in the class"
        marked = GroupRule(table.names[self.axis], self.coalition).primary(table) & shown & (table.n > 0)
        attacks = []
        for cell in np.flatnonzero(marked).tolist():
            active_run().check()
            n = int(table.n[cell])
            rates = [one.rate(cell, among=True) for one in self.classes]
            attacks.append(CellAttack("group disclosure", cell, "anyone", learns, float(n), float(n), n, None, *rates))
        return attacks

    def _differences(self, shown: NDArray[np.bool_]) -> list[CellAttack]:
        """Return the cells with few contributors that no table shows but that follow from those published."""
        table = self.table
        if table.shown is None:
            return []
        unknown, low, high, determined = self._unknowns(shown)
        worth = table.n if table.value is None else table.value
        narrow = high - low <= NARROW * np.maximum(1.0, np.abs(worth[unknown]))
        cells = unknown[determined | narrow]
        few = cells[~table.shown[cells] & (table.units[cells] > 0) & (table.units[cells] < _SMALL)]
        return [
            self._attack("differencing", cell, "the cell", Reached(float(worth[cell]), float(worth[cell])), None)
            for cell in few.tolist()
        ]

    def _unknowns(self, shown: NDArray[np.bool_]) -> _Unknowns:
        """Return the cells that are not shown, their bounds from single sums, and which of them all sums together determine."""
        table = self.table
        unknown = np.flatnonzero(~shown)
        matrix = equations(table.dimensions)[:, unknown].tocsr()
        matrix = matrix[np.diff(matrix.indptr) > 0]
        worth = table.n if table.value is None else table.value
        least = np.full(len(unknown), -np.inf if table.signed and table.value is not None else 0.0)
        low, high = propagated(matrix, matrix @ worth[unknown], least, np.full(len(unknown), np.inf))
        return unknown, low, high, directions(matrix).determined()
