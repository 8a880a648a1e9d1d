"""Frequency and magnitude tables: their cells, the equations between them, and how they are shown.

The cells of a `CrossTable` contain the true figures. `suppress`, `round_table` and the other methods return tables with the
figures that may be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.errors import TableError
from unveil.formats import counted
from unveil.results import Figure, Provenance, Result, View
from unveil.tables.cells import coordinates, equations, named_cell
from unveil.tables.crosstab import crosstab

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from unveil.tables.classification import Classification
    from unveil.tables.suppression.result import SuppressedTable

__all__ = ["CrossTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CrossTable(Result):
    """A table of counts, or of sums, over the codes of some dimensions.

    Attributes
    ----------
    dimensions
        The codes along each dimension.
    n
        The number of records of every cell, in row-major order of the codes.
    units
        The number of contributors of every cell: its records, or its holdings if they are known.
    value
        The sum of the value in every cell; None in a frequency table.
    size
        The sum of the absolute values of all contributions, which for signed values is not their sum.
    top
        The largest contributions to every cell, largest first; None in a frequency table.
    asked
        The largest contribution of someone who requested protection.
    holder
        The number of the only contributor of a cell; -1 elsewhere.
    shown
        The cells that are part of the publication; None: all.
    signed
        Whether values may be negative.
    made
        The provenance of the table.
    """

    dimensions: tuple[Classification, ...]
    n: NDArray[np.int64]
    units: NDArray[np.int64]
    value: NDArray[np.float64] | None = None
    size: NDArray[np.float64] | None = None
    top: NDArray[np.float64] | None = None
    asked: NDArray[np.float64] | None = None
    holder: NDArray[np.int64] | None = None
    shown: NDArray[np.bool_] | None = None
    signed: bool = False
    made: Provenance = field(default_factory=lambda: Provenance(0, "category"))

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions."""
        return tuple(one.name for one in self.dimensions)

    @property
    def cells(self) -> NDArray[np.int64]:
        """The numbers of the cells that are part of the table."""
        return np.arange(len(self.n)) if self.shown is None else np.flatnonzero(self.shown)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.n) if self.shown is None else int(self.shown.sum())

    def __repr__(self) -> str:
        """Return one line: dimensions, cells, records."""
        return f"CrossTable({in_line(self.names, ' x ')}: {counted(len(self), 'cell')}, {counted(self.made.records, 'record')})"

    def amounts(self, on: str) -> NDArray[np.float64]:
        """Return the content of the cells: the numbers of records, or the values."""
        if on == "count":
            return self.n.astype(np.float64)
        if self.value is None:
            raise TableError("a frequency table has no values to protect; name a column of values, or protect the counts.")
        return self.value

    def equations(self) -> sp.csr_matrix:
        """Return the equations between the cells, one per row."""
        return equations(self.dimensions, self.shown)

    def name_of(self, cell: int) -> str:
        """Return a cell by its codes."""
        return named_cell(self.dimensions, cell)

    def codes_of(self, cells: NDArray[np.int64]) -> list[dict[str, str]]:
        """Return the codes of cells, by dimension."""
        places = coordinates(self.dimensions, cells)
        columns = [[one.codes[at] for at in some.tolist()] for one, some in zip(self.dimensions, places, strict=True)]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def suppress(self, rules: Any, **options: Any) -> SuppressedTable:
        """Suppress sensitive cells, and others to keep anyone from computing them; see `unveil.tables.suppress`.

        Examples
        --------
        >>> import unveil
        >>> unveil.table("paper-2", ["Age*", "Disease"]).suppress("threshold=2", cost="count")
        SuppressedTable(Age* x Disease: 24 cells, ... primary, ... secondary, safe)
        """
        from unveil.tables.suppression.suppress import suppress

        return suppress(self, rules, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the cells as plain objects, and the provenance of the table."""
        values = [None] * len(self.n) if self.value is None else self.value.tolist()
        cells = self.cells
        rows = [
            {"by": by, "n": int(self.n[cell]), "value": values[cell], "status": "zero" if self.n[cell] == 0 else "published"}
            for cell, by in zip(cells.tolist(), self.codes_of(cells), strict=True)
        ]
        return {"dimensions": list(self.names), "records": self.made.records, "cells": rows, "made": self.made.to_dict()}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per cell."""
        cells = self.cells
        by = self.codes_of(cells)
        rows: dict[str, Sequence[Any]] = {name: [one[name] for one in by] for name in self.names}
        rows["n"] = self.n[cells].tolist()
        if self.value is not None:
            rows["value"] = self.value[cells].tolist()
        return rows

    def view(self) -> View:
        """Return the displayed crosstab."""
        figures = (
            Figure("records", self.made.records),
            Figure("cells", len(self), f"{int((self.n[self.cells] == 0).sum()):,} of them empty"),
        )
        what = "records" if self.value is None else f"sum of {in_line(self.made.sensitive)}"
        entries = self.n if self.value is None else self.value
        tables = crosstab(self.dimensions, [_plain(one) for one in entries.tolist()], self.shown, title=what)
        return View(f"Table of {in_line(self.names, ' x ')}", figures, tables)


def _plain(value: float) -> float | int:
    """Return a whole number as an integer, so that it is shown as one."""
    return int(value) if float(value).is_integer() and abs(value) < 1e15 else value  # noqa: PLR2004 - exact as a float
