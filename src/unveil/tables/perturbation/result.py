"""Tables whose cells are all published, some with changed figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.formats import counted, jsonable, number
from unveil.randomness import NOT_FOR_PUBLICATION, Repeatable
from unveil.results import Figure, Mark, Result, View
from unveil.tables.crosstab import crosstab
from unveil.tables.suppression.result import plain_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["PerturbedTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerturbedTable(Result):
    """A table whose figures were changed.

    Attributes
    ----------
    table
        The table, with its true figures.
    figure
        The published figure of every cell.
    on
        Whether the figures are counts or values.
    way, settings
        The method of the change, and its settings.
    additive
        Whether totals are still the sums of their parts.
    repeatable
        Whether a "seed" or a "key" repeats the random draws; False if they cannot be repeated, or nothing was drawn.
    notes
        Notes for readers.
    """

    table: CrossTable
    figure: NDArray[np.float64]
    on: str
    way: str
    settings: dict[str, Any] = field(default_factory=dict)
    additive: bool = True
    repeatable: Repeatable = False
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> NDArray[np.float64]:
        """The difference of every published figure from the true one."""
        return self.figure - self.table.amounts(self.on)

    def __repr__(self) -> str:
        """Return one line: the method, the number of changed cells, and the mean change."""
        moved = np.abs(self.change[self.table.cells])
        return (
            f"PerturbedTable({in_line(self.table.names, ' x ')}: {self.way}, {counted(int((moved > 0).sum()), 'cell')} changed, "
            f"by {number(float(moved.mean()) if len(moved) else 0.0)} on average)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the published figures and the method of the change, without the true figures."""
        cells = self.table.cells
        word = "n" if self.on == "count" else "value"
        rows = [
            {"by": by, word: jsonable(plain_number(self.figure[cell]))}
            for cell, by in zip(cells.tolist(), self.table.codes_of(cells), strict=True)
        ]
        return {
            "cells": rows,
            "way": self.way,
            "settings": jsonable(self.settings),
            "additive": self.additive,
            "on": self.on,
            "repeatable": self.repeatable,
            "made": self.table.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the published table: one row per cell."""
        cells = self.table.cells
        by = self.table.codes_of(cells)
        rows: dict[str, Sequence[Any]] = {name: [one[name] for one in by] for name in self.table.names}
        rows["n" if self.on == "count" else "value"] = [plain_number(one) for one in self.figure[cells]]
        return rows

    def entries(self) -> list[Any]:
        """Return the entry of every cell of a crosstab."""
        return [plain_number(one) for one in self.figure.tolist()]

    def view(self) -> View:
        """Return the displayed size of the changes, and the table."""
        moved = np.abs(self.change[self.table.cells])
        figures = (
            Figure("cells changed", int((moved > 1e-9).sum()), f"of {len(self.table):,}"),  # noqa: PLR2004 - rounding
            Figure("mean change", float(moved.mean()) if len(moved) else 0.0),
            Figure("largest change", plain_number(float(moved.max(initial=0)))),
            Figure("additive", "yes" if self.additive else "no", "whether totals are the sums of their parts"),
        )
        what = "records" if self.on == "count" else f"sum of {in_line(self.table.made.sensitive)}"
        entries = [Mark(number(one)) for one in self.entries()]
        tables = crosstab(self.table.dimensions, entries, self.table.shown, title=f"{what}, as published")
        warning = (NOT_FOR_PUBLICATION,) if self.repeatable == "seed" else ()
        return View(f"Table of {in_line(self.table.names, ' x ')}, {self.way}", figures, tables, (*warning, *self.notes))
