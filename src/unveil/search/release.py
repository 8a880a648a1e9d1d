"""What does anonymising give? The protected records, the transformation, its score, and the models before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.attributes import in_line
from unveil.errors import ArgumentError, listed, shown
from unveil.models.asked import Place, published
from unveil.models.base import Measured
from unveil.output import check_replaceable
from unveil.randomness import Repeatable
from unveil.releases import against_key, recorded, uniform_count, write_recorded
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.results.numbers import counted, number
from unveil.sources.alignment import write_link

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy
    from unveil.sources.microdata import Microdata
    from unveil.sources.passing import Unwritten, WrittenFile, WrittenTable

__all__ = ["Release", "checked_place", "on_suppressed", "record_of"]

_OF_POPULATION = ("k_map", "delta_presence")
"""Models that are about the people of a population."""
_ENDINGS = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".arrow", ".feather", ".ipc")


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
        What was asked for.
    notes
        What a user should know.
    repeatable
        Who can repeat the order of the records: nobody (False), whoever has the "key", or, from a "seed", everybody.
    left_out
        The columns of the data that the release does not have.
    """

    records: Microdata | WrittenFile | WrittenTable | Unwritten
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
    repeatable: Repeatable = False
    left_out: tuple[str, ...] = ()

    @property
    def data(self) -> Any:
        """The protected records as a data frame of the caller's library."""
        return self.records.native()

    @property
    def report(self) -> dict[str, Any]:
        """Everything but the records: what `to_dict` gives."""
        return self.to_dict()

    @property
    def record(self) -> dict[str, Any]:
        """What may be said of the release beside it: how it was made, what it meets and against whom, and who can repeat that."""
        return record_of("generalisation", self.records, self.settings, self.models, self.repeatable, self.left_out)

    def count(
        self,
        where: Mapping[str, Any],
        *,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> float:
        """Estimate how many records meet a query, under the uniform assumption: see `unveil.releases.uniform_count`."""
        return uniform_count(self.data, where, hierarchies=hierarchies, domains=domains)

    def __repr__(self) -> str:
        """Return one line: what was done, at what cost, and how sure that is."""
        levels = in_line(f"{name} {level}/{self.heights[name]}" for name, level in self.transformation.items())
        sure = "optimal" if self.optimal else f"at least {number(self.bound)}"
        kept = counted(self.records.records, "record")
        seeded = "; repeatable" if self.repeatable == "seed" else ""
        return f"Release({levels}; {self.objective} {number(self.score)}, {sure}; {kept}, {self.suppressed:,} suppressed{seeded})"

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, without the records; classes that decide are masked, those of the data left out."""
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
            "models": published(self.models),
            "before": published(self.before, original=True),
            "seconds": self.seconds,
            "settings": jsonable(self.settings),
            "notes": list(self.notes),
            "repeatable": self.repeatable,
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
            Figure("suppressed", self.suppressed, f"of {counted(self.records.records, 'record')}"),
            Figure("generalisations", self.lattice, f"{self.evaluated:,} looked at in {self.seconds:.2f} s"),
        )
        levels = tuple((name, level, self.heights[name]) for name, level in self.transformation.items())
        rows = tuple(
            (" ".join(place), before.value, after.value, after.requirement, "yes" if after.met else "no")
            for (place, after), before in zip(self.models.items(), self.before.values(), strict=True)
        )
        tables = (
            Table(("attribute", "level", "of"), levels, title="Generalisation"),
            Table(("model", "before", "after", "required", "met"), rows, title="Models"),
        )
        return View("Release", figures, tables, self.notes)

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the protected records to a .csv, .tsv, .parquet or .arrow file, and their record beside it; both whole or none.

        Parameters
        ----------
        path
            Where they go.
        spreadsheet_safe
            Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
        """
        place = checked_place(path)
        write_recorded(place, self.record, partial(self.records.write, place, spreadsheet_safe=spreadsheet_safe))

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write which release record was made from which original one; the file undoes the protection and must stay private."""
        write_link(str(path), self.origin)


def record_of(
    made_by: str,
    records: Microdata | WrittenFile | WrittenTable | Unwritten,
    settings: Mapping[str, Any],
    models: Mapping[Place, Measured],
    repeatable: Repeatable,
    left_out: Sequence[str],
) -> dict[str, Any]:
    """Return the record of a release that a search made."""
    key, sensitive = settings["key"], settings["sensitive"]
    stated = [
        {
            "model": place[0],
            "of": list(place[1:]),
            "requirement": one.requirement,
            "value": one.value,
            "met": one.met,
            "against": _against(place[0], settings),
        }
        for place, one in models.items()
    ]
    unmeasured = [name for name in records.names if name not in (*key, *sensitive)]
    columns = {"kept": records.names, "left_out": left_out, "never_measured": unmeasured}
    return recorded(made_by, settings, records=records.records, models=stated, repeatable=repeatable, columns=columns)


def on_suppressed(suppressed: int, models: Mapping[Place, Measured]) -> list[str]:
    """Warn of suppressed records that are fewer than the smallest class: who knows such a person finds them among these."""
    k = models["k_anonymity",].value if ("k_anonymity",) in models else None
    if k is None or not 0 < suppressed < k:
        return []
    few = counted(suppressed, "record")
    found = f"Only {few} suppressed: someone who knows such a person sees that no class fits, and has these to choose from"
    return [f"{found}, fewer than the {k:,.0f} of a class. Leave them out of what you publish, or allow more suppression."]


def _against(model: str, settings: Mapping[str, Any]) -> str:
    """Say against whom a model holds; where nulls match anything, k is matched within the release alone."""
    if model == "k_anonymity" and settings.get("nulls") == "wildcard":
        return "someone who has the release alone, and takes a null for any value"
    return against_key(settings["key"], population=model in _OF_POPULATION)


def checked_place(path: str | os.PathLike[str]) -> Path:
    """Return where a release goes, or refuse an ending that no form of it has and a place where no file can be put."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        raise ArgumentError(f"the file name {shown(path)} ends in no form of a release; it is one of: {listed(_ENDINGS)}.")
    check_replaceable(place)
    return place
