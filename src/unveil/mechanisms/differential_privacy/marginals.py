"""How often does each combination of values occur, with noise? Marginal tables over declared domains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.columns import choose
from unveil.mechanisms.differential_privacy.accounting import loss_of
from unveil.mechanisms.differential_privacy.answers import Private, answer_notes
from unveil.mechanisms.differential_privacy.budget import Budget, Spent, noisy
from unveil.mechanisms.differential_privacy.domains import checked_domain, places
from unveil.mechanisms.differential_privacy.ledger import Account, charged
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.mechanisms.door import heeds_study
from unveil.run import watched
from unveil.sources import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["Placed", "dp_marginals"]

_MOST_CELLS = 1_000_000
"""Adding noise to more cells than this takes too long."""
_BY, _COUNT = " x ", "n"
"""The separator between the attributes in a table's name, and the name of the counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Records as positions in declared domains.

    Attributes
    ----------
    domains
        The declared values of each attribute.
    at
        For each attribute, the position of every record's value in its domain; -1 if it is outside.
    """

    domains: Mapping[str, tuple[Any, ...]]
    at: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, records: Microdata, names: Sequence[str], domains: Mapping[str, Any]) -> Placed:
        """Look up every record in the declared domains."""
        if missing := [name for name in names if name not in domains]:
            raise ArgumentError(
                f"the values of {shown(missing[0])} are not declared; list in domains all that an attribute may have, "
                "without looking at the data."
            )
        checked = {name: checked_domain(name, domains[name]) for name in names}
        return cls(checked, {name: places(records.column(name), checked[name]) for name in names})

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the number of declared values of some attributes."""
        return tuple(len(self.domains[name]) for name in names)

    def table(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the counts of all combinations of some attributes; records outside a domain are not counted."""
        return watched(len(self.at[names[0]]), lambda: self._table(names))

    def _table(self, names: Sequence[str]) -> NDArray[np.int64]:
        shape = self.shape(names)
        inside = np.logical_and.reduce([self.at[name] >= 0 for name in names])
        cells = np.ravel_multi_index([self.at[name][inside] for name in names], shape)
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)

    def require_room(self, wanted: Sequence[tuple[str, ...]]) -> None:
        """Refuse tables with too many cells."""
        cells = sum(math.prod(self.shape(names)) for names in wanted)
        if cells > _MOST_CELLS:
            raise ArgumentError(
                f"the tables have {cells:,} cells together; at most {_MOST_CELLS:,} are possible: group values first."
            )

    def noisy_tables(
        self, what: str, wanted: Sequence[tuple[str, ...]], budget: Budget, most: int
    ) -> tuple[dict[tuple[str, ...], NDArray[np.float64]], Spent]:
        """Add noise to several tables at once: a record is in one cell of each."""
        flat = np.concatenate([self.table(names).ravel() for names in wanted])
        counts, spent = noisy(what, flat.tolist(), budget, l1=most * len(wanted), l2=most * math.sqrt(len(wanted)))
        parts = np.split(np.array(counts), np.cumsum([math.prod(self.shape(names)) for names in wanted])[:-1])
        return {names: part.reshape(self.shape(names)) for names, part in zip(wanted, parts, strict=True)}, spent


@heeds_study
@checked_arguments
def dp_marginals(
    data: Data,
    tables: Sequence[Names],
    *,
    domains: Mapping[str, Sequence[Any]],
    epsilon: float,
    mechanism: str = "geometric",
    delta: float | None = None,
    person: str | None = None,
    contribution: int = 1,
    nulls: str = "error",
    ledger: Account | None = None,
) -> Private:
    r"""Count every combination of declared values in several tables, with noise in every cell, including empty ones.

    .. math:: \Delta_1 = c \, T, \qquad \Delta_2 = c \sqrt{T}

    for T tables, because a record is in one cell of each.

    Parameters
    ----------
    data
        The records.
    tables
        The attributes of each table.
    domains
        All values that each attribute may have, known without looking at the data; None among them counts nulls. A record with
        another value is not counted in any table of that attribute.
    epsilon, mechanism, delta, person, contribution, ledger
        As for `dp_count`.
    nulls
        "keep": nulls count if None is declared. "drop": a record with a null is left out. "error": refuse.

    Returns
    -------
    Private
        `value` maps each table's attributes, joined by " x ", to its cells: each with its values and noisy count.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> sexes = {"sex": ["Female", "Male"]}
    >>> answer = mechanisms.dp_marginals("adult", ["sex"], domains=sexes, epsilon=50)
    >>> [(cell["sex"], round(cell["n"], -2)) for cell in answer.value["sex"]]
    [('Female', 9800), ('Male', 20400)]
    """
    budget, unit = Budget.requested(mechanism, epsilon, delta), Unit.requested(data, person, contribution)
    wanted = [names_of(names) for names in ([tables] if isinstance(tables, str) else tables)]
    if not wanted or len(set(wanted)) < len(wanted):
        raise ArgumentError("name at least one table, each once.")
    _require_names(wanted)
    chosen = unit.cut(choose(data, tuple(dict.fromkeys(name for names in wanted for name in names)), nulls))
    placed = Placed.of(chosen.records, chosen.names, domains)
    placed.require_room(wanted)
    notes = charged(ledger, "marginals", [loss_of(budget)], unit)
    noisy, spent = placed.noisy_tables("marginals", wanted, budget, unit.contribution)
    value = {_BY.join(names): _cells(placed, names, table) for names, table in noisy.items()}
    settings = {"tables": [list(names) for names in wanted], **unit.settings, "nulls": nulls}
    return Private("marginals", value, (spent,), settings, (*answer_notes(unit), *notes))


def _require_names(wanted: Sequence[tuple[str, ...]]) -> None:
    """Refuse tables and columns that would have the same name in the answer, because one would hide the other."""
    if len({_BY.join(names) for names in wanted}) < len(wanted):
        raise ArgumentError(f"two tables have the same name once their attributes are joined by {_BY!r}; rename a column.")
    if any(_COUNT in names for names in wanted):
        raise ArgumentError(f"a column is named {_COUNT!r}, like the noisy counts of the answer; rename the column.")


def _cells(placed: Placed, names: tuple[str, ...], table: NDArray[Any]) -> list[dict[str, Any]]:
    return [
        {**{name: placed.domains[name][place] for name, place in zip(names, at, strict=True)}, _COUNT: n.item()}
        for at, n in np.ndenumerate(table)
    ]
