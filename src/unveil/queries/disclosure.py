r"""How much do all answers together disclose? For every atom, the remaining interval, and its Discrimination Rate.

The intruder knows everyone's keys, and therefore which atoms each answered number was about, and a range of the values: the
declared bounds or, if there are none, the range of the data. Exact answers are equations, intervals and bounded noise are
inequalities, and a least or greatest value of a set bounds the values of everyone in it; the least and the greatest value that
are consistent with all of them follow by linear programming. Atoms in the same answers are interchangeable, so there is one
program per class of atoms.

If m of M initially equally likely values are left, the Discrimination Rate of the answers for that atom is

.. math:: DR = 1 - \log_2 m / \log_2 M

It is 1 if the value is determined. Differentially private noise has no bound, so it rules out no value; the budget limits how
much an intruder can learn from it. Intruders who also know values, such as their own or a neighbour's, learn more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.formats import jsonable
from unveil.ledger import Entry
from unveil.queries.holding import Holding
from unveil.queries.inquiry import Statistic
from unveil.queries.policies.base import GatePolicy
from unveil.queries.predicates import All, Predicate
from unveil.results import Figure, Result, Table, View

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnDisclosure", "LedgerDisclosure", "disclosed"]

_VALUES = 1024
_MOST_CLASSES = 300
_TOLERANCE = 1e-7
_TELLING = ("sum", "avg", "min", "max")
_ANY = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnDisclosure:
    """The disclosure by answers about one column, or about one condition on a sensitive column.

    Attributes
    ----------
    about
        The column, or the condition.
    numbers
        The number of answers that concern it.
    low, high
        For each atom, the least and the greatest mean value of its records that is consistent with all answers.
    prior
        The range of values that was known beforehand.
    records
        The number of records of each atom.
    """

    about: str
    numbers: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    prior: tuple[float, float]
    records: NDArray[np.int64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """The Discrimination Rate for each atom."""
        whole = max(self.prior[1] - self.prior[0], 1e-300)
        left = 1.0 + np.floor((self.high - self.low) / whole * (_VALUES - 1) + _TOLERANCE)
        return np.asarray(1.0 - np.log2(np.clip(left, 1.0, _VALUES)) / math.log2(_VALUES))

    @property
    def rate(self) -> float:
        """The Discrimination Rate over all records."""
        return float(np.average(self.rates, weights=self.records)) if len(self.records) else 0.0

    @property
    def determined(self) -> int:
        """The number of single records with a determined value."""
        return int(np.count_nonzero((self.rates >= 1.0) & (self.records == 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures."""
        rates = self.rates
        return {
            "about": self.about,
            "numbers": self.numbers,
            "atoms": len(self.records),
            "determined": self.determined,
            "rate": self.rate,
            "greatest_rate": float(rates.max()) if len(rates) else 0.0,
            "prior": list(self.prior),
        }


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LedgerDisclosure(Result):
    """The disclosure by all answers of a ledger together; for the data steward, not for analysts.

    Attributes
    ----------
    columns_
        The disclosure about each column or condition.
    budget
        For differentially private answers, the most that they may have disclosed.
    notes
        The assumptions on the intruder's knowledge.
    """

    columns_: tuple[ColumnDisclosure, ...]
    budget: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def determined(self) -> int:
        """The number of determined values of records, summed over columns."""
        return sum(one.determined for one in self.columns_)

    def __repr__(self) -> str:
        """Return one line."""
        return f"LedgerDisclosure({len(self.columns_):,} columns; {self.determined:,} values determined)"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, without intervals of single atoms."""
        columns = [one.to_dict() for one in self.columns_]
        return {"columns": columns, "determined": self.determined, "budget": jsonable(self.budget), "notes": list(self.notes)}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return every atom with its interval, for the data steward."""
        return {
            "about": [one.about for one in self.columns_ for _ in one.records],
            "records": [int(n) for one in self.columns_ for n in one.records],
            "low": [float(x) for one in self.columns_ for x in one.low],
            "high": [float(x) for one in self.columns_ for x in one.high],
            "rate": [float(x) for one in self.columns_ for x in one.rates],
        }

    def view(self) -> View:
        """Return the displayed figures, by column or condition."""
        names = ("about", "numbers", "atoms", "determined", "rate", "greatest_rate")
        rows = tuple(tuple(one.to_dict()[name] for name in names) for one in self.columns_)
        figures = (Figure("values determined", self.determined, "single records whose value follows from the answers"),)
        table = Table(names, rows, bars=frozenset(("rate", "greatest_rate")))
        return View("what all answers together disclose", figures, (table,) if rows else (), self.notes)


@dataclass(slots=True)
class _System:
    """The answers about one column or condition: the ranges of sums and, for extremes, of each record of a set."""

    sizes: NDArray[np.int64]
    sets: list[NDArray[np.bool_]] = field(default_factory=list)
    sums: list[tuple[float, float]] = field(default_factory=list)
    each: list[tuple[float, float]] = field(default_factory=list)


def disclosed(holding: Holding, entries: Sequence[Entry], policies: dict[str, GatePolicy]) -> LedgerDisclosure:
    """Compute the disclosure by all answers of a ledger together."""
    systems: dict[str, _System] = {}
    for entry in entries:
        policy = policies[entry.account]
        if entry.decision == "answered" and policy.discloses_values:
            _add(systems, holding, policy, Statistic.read(entry.question), json.loads(entry.answer))
    columns = tuple(_left(name, system, _prior(holding, name)) for name, system in systems.items())
    spent = {name: sum(entry.cost for entry in entries if entry.account == name) for name in policies}
    budget = {name: policies[name].disclosed(units) for name, units in spent.items() if policies[name].disclosed(units)}
    notes = (
        "The intruder knows everyone's keys and the range of values (prior); one who also knows values learns more.",
        *(policy.notes()[-1] for policy in policies.values()),
    )
    return LedgerDisclosure(columns, budget, notes)


def _add(systems: dict[str, _System], holding: Holding, policy: GatePolicy, statistic: Statistic, answer: dict[str, Any]) -> None:
    """Add an answer to the system of its column or condition, if it is linear in unknown values."""
    selection = holding.select(statistic)
    if selection.indicator:
        parts = _parts(statistic.condition)
        sensitive = [part for part in parts if part.columns <= set(holding.sensitive)]
        open_ = [part for part in parts if part.columns <= set(holding.key)]
        if len(sensitive) + len(open_) < len(parts):
            return
        name = " AND ".join(sorted(part.sql(str, repr) for part in sensitive))
        members, sizes, n = holding.atoms_where(All(tuple(open_))), holding.sizes, 1
    elif selection.function in _TELLING and selection.members is not None and str(selection.column) in holding.sensitive:
        name, members, sizes = str(selection.column), selection.members, selection.sizes
        n = selection.size if selection.function == "avg" else 1
    else:
        return
    low, high = _ends(answer, policy.noise_bound(holding, selection))
    system = systems.setdefault(name, _System(sizes))
    system.sets.append(members)
    bounding = selection.function in ("min", "max") and selection.size > 1
    system.sums.append(_ANY if bounding else (low * n, high * n))
    system.each.append((low, math.inf) if bounding and selection.function == "min" else (-math.inf, high) if bounding else _ANY)


def _parts(condition: Predicate) -> list[Predicate]:
    """Return the conditions that must all hold."""
    return [one for part in condition.parts for one in _parts(part)] if isinstance(condition, All) else [condition]


def _ends(answer: dict[str, Any], bound: float) -> tuple[float, float]:
    if answer.get("low") is not None:
        return float(answer["low"]), float(answer["high"])
    value = float(answer["value"] or 0.0)
    return value - bound, value + bound


def _prior(holding: Holding, name: str) -> tuple[float, float]:
    """Return the range that is known to contain all values."""
    if name not in holding.cells.amounts:
        return 0.0, 1.0
    amounts = holding.cells.amounts[name]
    return holding.bounds.get(name) or (float(np.nanmin(amounts.least)), float(np.nanmax(amounts.greatest)))


def _left(name: str, system: _System, prior: tuple[float, float]) -> ColumnDisclosure:
    """Compute the interval of every atom; atoms in the same answers form a class."""
    there = np.flatnonzero(system.sizes > 0)
    sizes = system.sizes[there]
    table = np.stack([members[there] for members in system.sets])
    classes, of_atom = np.unique(table, axis=1, return_inverse=True)
    of_atom = of_atom.reshape(-1)
    n = np.bincount(of_atom, sizes.astype(np.float64)).astype(np.float64)
    ends = np.array([prior, *system.each])[:, :, None]
    known = np.vstack([np.ones((1, len(n)), dtype=bool), classes])
    bottom = np.where(known, ends[:, 0], -np.inf).max(axis=0)
    top = np.where(known, ends[:, 1], np.inf).min(axis=0)
    least, most = _extremes(classes, np.array(system.sums), n * bottom, n * top)
    rest = n[of_atom] - sizes
    low = np.maximum(sizes * bottom[of_atom], least[of_atom] - rest * top[of_atom]) / sizes
    high = np.minimum(sizes * top[of_atom], most[of_atom] - rest * bottom[of_atom]) / sizes
    return ColumnDisclosure(name, len(system.sets), np.minimum(low, high), np.maximum(low, high), prior, sizes)


def _extremes(
    classes: NDArray[np.bool_], sums: NDArray[np.float64], bottom: NDArray[np.float64], top: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of the sum of every class; if there are many classes, programs tighten only those of the narrowest."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    linear = np.isfinite(sums).any(axis=1)
    low, high = sums[linear].T
    slack = _TOLERANCE * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    system = csr_array(classes[linear].astype(np.float64))
    both, limits = vstack([system, -system]), np.concatenate([high + slack, slack - low])
    bounds = np.stack([bottom, top], axis=1)
    least, most = bottom.copy(), top.copy()
    for at in np.argsort(top - bottom, kind="stable")[: _MOST_CLASSES if linear.any() else 0]:
        goal = np.zeros(len(bottom))
        for sign, ends in ((1.0, least), (-1.0, most)):
            goal[at] = sign
            solved = linprog(goal, A_ub=both, b_ub=limits, bounds=bounds, method="highs")
            if solved.status == 0:
                ends[at] = sign * solved.fun
    return least, most
