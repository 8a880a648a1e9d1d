"""What does anonymising give? The protected records, the transformation, its score, and the models before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.models.asked import Place, nested
from unveil.models.base import Measured
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.results.numbers import counted, number
from unveil.sources.alignment import write_link

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources.microdata import Microdata

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Result):
    """A protected table and how it came about.

    Attributes
    ----------
    records
        The protected records; `data` gives them in the caller's library.
    transformation
        The level of every key attribute.
    heights
        The highest level of each.
    score, objective
        What it costs, and by which measure.
    optimal, bound
        Whether no other generalisation costs less, and a cost below which none lies.
    suppressed
        How many records are suppressed.
    lattice, evaluated
        The generalisations there are, and those looked at.
    models, before
        What each required model says of the release, and of the data.
    seconds
        How long the search took.
    origin
        For every protected record the row of the one it was made from: the steward's secret.
    settings
        What was asked for: enough to repeat it.
    notes
        What a user should know.
    """

    records: Microdata
    transformation: Mapping[str, int]
    heights: Mapping[str, int]
    score: float
    objective: str
    optimal: bool
    bound: float
    suppressed: int
    lattice: int
    evaluated: int
    models: Mapping[Place, Measured]
    before: Mapping[Place, Measured]
    seconds: float
    origin: NDArray[np.int64]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> Any:
        """The protected records as a data frame of the caller's library."""
        return self.records.native()

    @property
    def report(self) -> dict[str, Any]:
        """Everything but the records: what `to_dict` gives."""
        return self.to_dict()

    def __repr__(self) -> str:
        """Return one line: what was done, at what cost, and how sure that is."""
        levels = ", ".join(f"{name} {level}/{self.heights[name]}" for name, level in self.transformation.items())
        sure = "optimal" if self.optimal else f"at least {number(self.bound)}"
        kept = counted(self.records.records, "record")
        return f"Release({levels}; {self.objective} {number(self.score)}, {sure}; {kept}, {self.suppressed:,} suppressed)"

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, without the records."""
        return {
            "transformation": dict(self.transformation),
            "heights": dict(self.heights),
            "objective": self.objective,
            "score": jsonable(self.score),
            "optimal": self.optimal,
            "bound": jsonable(self.bound),
            "suppressed": self.suppressed,
            "records": self.records.records,
            "nodes": {"lattice": self.lattice, "evaluated": self.evaluated},
            "models": nested(self.models),
            "before": nested(self.before),
            "seconds": self.seconds,
            "settings": jsonable(self.settings),
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the protected records, column by column."""
        return {name: self.records.column(name).to_list() for name in self.records.names}

    def view(self) -> View:
        """Return what a person should see."""
        sure = "no generalisation costs less" if self.optimal else f"stopped early: the best costs at least {number(self.bound)}"
        figures = (
            Figure(self.objective, self.score, sure),
            Figure("Suppressed", self.suppressed, f"of {counted(self.records.records, 'record')}"),
            Figure("Generalisations", self.lattice, f"{self.evaluated:,} looked at in {self.seconds:.2f} s"),
        )
        levels = tuple((name, level, self.heights[name]) for name, level in self.transformation.items())
        rows = tuple(
            (" ".join(place), before.value, after.value, after.requirement, "yes" if after.met else "no")
            for (place, after), before in zip(self.models.items(), self.before.values(), strict=True)
        )
        tables = (
            Table(("Attribute", "Level", "Of"), levels, title="Generalisation"),
            Table(("Model", "Before", "After", "Required", "Met"), rows, title="Models"),
        )
        return View("Release", figures, tables, self.notes)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the protected records to a file, whole or not at all: CSV, or Parquet and Arrow by the file's ending."""
        self.records.write(path)

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write which release record was made from which original one; the file undoes the protection and must stay private."""
        write_link(str(path), self.origin)
