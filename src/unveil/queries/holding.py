"""The data behind a gate: its atoms, which are records that no question can distinguish, and the selection of atoms."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count
from unveil.attributes import require_columns
from unveil.counts import group
from unveil.errors import ArgumentError, NullsError, UnsupportedDataError, shown
from unveil.queries.inquiry import Statistic
from unveil.queries.predicates import All, Missing, Negated, Predicate
from unveil.queries.problems import QuestionError
from unveil.sources import CellAmounts, open_source, tabulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["Holding", "Selection"]

_MOST_GROUPS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The records of a number: a set of atoms or, for a condition on a sensitive column, the records of each cell that meet it.

    Attributes
    ----------
    statistic
        The number.
    members
        The atoms in the set; None for an indicator.
    hits
        For an indicator, the number of records of each cell that meet the condition.
    sizes
        The number of records of each atom that count: those with a value in the column of the aggregate.
    in_cells
        Whether the condition is on columns that distinguish cells, so that whole cells meet it.
    """

    statistic: Statistic
    members: NDArray[np.bool_] | None
    hits: NDArray[np.int64] | None
    sizes: NDArray[np.int64]
    in_cells: bool = True

    @property
    def function(self) -> str:
        """The function of the aggregate."""
        return self.statistic.aggregate.function

    @property
    def column(self) -> str | None:
        """The column that is aggregated; None for a count."""
        return None if self.function == "count" else self.statistic.aggregate.column

    @property
    def indicator(self) -> bool:
        """Whether the condition is on a sensitive column, so that the count is a sum of sensitive zeros and ones."""
        return self.hits is not None

    @property
    def size(self) -> int:
        """The number of records in the set."""
        if self.members is None:
            return int(0 if self.hits is None else self.hits.sum())
        return int(self.sizes[self.members].sum())

    def mark(self) -> bytes:
        """Return a digest of the function, the column and the set."""
        content = np.packbits(self.members) if self.members is not None else self.hits
        what = f"{self.function}\0{self.statistic.aggregate.column}\0{self.indicator}\0".encode()
        return hashlib.sha256(what + (b"" if content is None else content.tobytes())).digest()


class Holding:
    """The cells and atoms of a table, with the roles of its columns.

    Parameters
    ----------
    data
        The table.
    key, sensitive
        The columns that conditions may use, and those to protect; without a key, all others.
    bounds
        Declared bounds of sensitive columns.
    nulls
        "error": refuse sensitive columns with nulls. "drop": the lack of a value is not sensitive, and such records do not
        count.
    person, contribution
        The column that identifies the person of a record, and the most records of one person that count.
    """

    def __init__(
        self,
        data: Data,
        *,
        key: Sequence[str],
        sensitive: Sequence[str],
        bounds: Mapping[str, tuple[float, float]],
        nulls: str = "error",
        person: str | None = None,
        contribution: int = 1,
    ) -> None:
        source = open_source(data)
        require_columns([*key, *sensitive, *bounds, *([person] if person else [])], source.names)
        self.sensitive = tuple(sensitive)
        self.key = tuple(key) or tuple(name for name in source.names if name not in sensitive and name != person)
        if outside := set(bounds) - set(self.sensitive):
            raise ArgumentError(f"bounds are declared for column {shown(min(outside))}, which is not sensitive.")
        if both := set(self.key) & set(self.sensitive):
            raise ArgumentError.key_is_sensitive(min(both))
        if not self.key:
            raise ArgumentError("no column is left for conditions; name key columns in addition to the sensitive ones.")
        self.cells = tabulate(source, [*self.key, *([person] if person else [])], self.sensitive, bounds)
        if person and not self.cells.in_hand:
            raise UnsupportedDataError(
                "a column of persons requires records, but an engine provides only cells; give a file or a frame."
            )
        self.person, self.contribution = person, checked_count("contribution", contribution, least=1)
        self.place, self.records, self.bounds = source.place, self.cells.records, dict(bounds)
        self._check_values(nulls)
        codes = [self.cells.columns[name].codes for name in self.key]
        self.atom_of_cell, atom_codes = group(codes, [len(self.cells.columns[name].values) for name in self.key])
        self._atom_codes = dict(zip(self.key, atom_codes, strict=True))
        self.atoms = len(atom_codes[0])
        self.sizes = self.over_atoms(self.cells.n)
        self._amounts = cache(self._amounts_of)

    def _check_values(self, nulls: str) -> None:
        """Refuse infinite numbers and, unless they are to be dropped, nulls."""
        missing = {}
        for name, amounts in self.cells.amounts.items():
            if not np.isfinite(amounts.total).all():
                raise UnsupportedDataError(f"column {shown(name)} contains infinite numbers; turn them into nulls.")
            missing[name] = int(self.cells.n.sum() - amounts.present.sum())
        if nulls == "error" and any(missing.values()):
            columns = ", ".join(shown(name) for name, n in missing.items() if n)
            raise NullsError(
                f"sensitive columns contain nulls: {columns}. If everyone may know who has no value, give nulls='drop': such "
                "records are then not counted in sums and averages of that column."
            )

    def over_atoms(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Return amounts per cell, summed per atom; sums of whole numbers are exact."""
        total = np.zeros(self.atoms, dtype=amounts.dtype)
        np.add.at(total, self.atom_of_cell, amounts)
        return total

    def amounts(self, column: str) -> CellAmounts:
        """Return the amounts of a numeric column in each atom."""
        return self._amounts(column)

    def numeric(self, column: str) -> bool:
        """Whether a column can be summed."""
        if column not in self._atom_codes:
            return column in self.cells.amounts
        values = self.cells.columns[column].values
        return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)

    def _amounts_of(self, column: str) -> CellAmounts:
        """Return the amounts of a sensitive column, summed over cells, or of a key column, which has one value per atom."""
        if column in self._atom_codes:
            values = [np.nan if value is None else float(value) for value in self.cells.columns[column].values]
            value = np.asarray(values)[self._atom_codes[column]]
            there = ~np.isnan(value)
            present, number = np.where(there, self.sizes, 0), np.where(there, value, 0.0)
            with np.errstate(over="ignore"):  # infinite, as in an engine; such a column has no variance
                return CellAmounts(present, number * self.sizes, number**2 * self.sizes, value, value)
        cells = self.cells.amounts[column]
        least, greatest = np.full(self.atoms, np.inf), np.full(self.atoms, -np.inf)
        np.fmin.at(least, self.atom_of_cell, cells.least)
        np.fmax.at(greatest, self.atom_of_cell, cells.greatest)
        bounded = None if cells.bounded is None else self.over_atoms(cells.bounded)
        present, squares = self.over_atoms(cells.present), self.over_atoms(cells.squares)
        return CellAmounts(present, self.over_atoms(cells.total), squares, least, greatest, bounded)

    def select(self, statistic: Statistic) -> Selection:
        """Return the records that a number is about; refuse columns in places where they are not allowed."""
        aggregate, where = statistic.aggregate, statistic.condition
        open_columns = (*self.key, *self.sensitive)
        for name in sorted(where.columns):
            if name not in open_columns:
                raise QuestionError.closed_column(name, "in a condition", self.key)
        sensitive = where.columns & set(self.sensitive)
        if aggregate.column is not None:
            where = self._on_column(aggregate.function, aggregate.column, where)
        if sensitive and aggregate.function != "count":
            raise QuestionError.closed_column(min(sensitive), "in the condition of a sum or an average", self.key)
        if sensitive:
            return Selection(statistic, None, self._hits(where), self.sizes, where.columns <= set(self.cells.columns))
        counted = aggregate.column is not None and aggregate.column in self.cells.amounts
        sizes = self.amounts(str(aggregate.column)).present if counted else self.sizes
        return Selection(statistic, self.atoms_where(where), None, sizes)

    def _on_column(self, function: str, column: str, where: Predicate) -> Predicate:
        """Check the column of an aggregate, and return the condition; a count of values also requires a value."""
        if column not in (*self.key, *self.sensitive):
            raise QuestionError.closed_column(column, "in an aggregate", (*self.key, *self.sensitive))
        if function != "count" and not self.numeric(column):
            raise QuestionError(f"column {shown(column)} contains no numbers; it can be counted, but not added up.")
        if column in self.cells.amounts:
            return where
        return All((where, Negated(Missing(column))))

    def atoms_where(self, where: Predicate) -> NDArray[np.bool_]:
        """Return the atoms that meet a condition on key columns."""
        true, _ = where.truth(lambda name: (self.cells.columns[name].values, self._atom_codes[name]))
        return np.array(np.broadcast_to(true, self.atoms))

    def _hits(self, where: Predicate) -> NDArray[np.int64]:
        """Return the number of records of each cell that meet a condition; for columns not in the cells, the engine counts."""
        if not where.columns <= set(self.cells.columns):
            return self.cells.holding(where)
        true, _ = where.truth(lambda name: (self.cells.columns[name].values, self.cells.columns[name].codes))
        return np.where(np.broadcast_to(true, len(self.cells.n)), self.cells.n, 0)

    def groups(self, by: Sequence[str], where: Predicate) -> list[tuple[tuple[str, Any], ...]]:
        """Return the groups of the records that meet a condition on key columns."""
        if not by:
            return [()]
        on_keys = where.columns <= set(self.key)
        kept = np.flatnonzero(self.atoms_where(where)) if on_keys else np.arange(self.atoms)
        columns = [self.cells.columns[name].values for name in by]
        codes = np.unique(np.stack([self._atom_codes[name][kept] for name in by], axis=1), axis=0)
        if len(codes) > _MOST_GROUPS:
            raise QuestionError(f"GROUP BY would give more than {_MOST_GROUPS:,} groups; group by fewer columns.")
        return [tuple((name, values[at]) for name, values, at in zip(by, columns, row, strict=True)) for row in codes.tolist()]
