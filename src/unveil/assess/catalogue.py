"""The catalogue of the built-in data sets, as results that can be displayed and written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil.formats import jsonable
from unveil.results import Figure, Result, Table, View
from unveil.sources import datasets

__all__ = ["Catalogue", "Records", "catalogue", "records"]

_SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalogue(Result):
    """The built-in data sets, with the built-in partitions and hierarchies."""

    entries: tuple[dict[str, Any], ...]
    partitions: Mapping[str, Sequence[Sequence[Any]]]
    hierarchies: Mapping[str, Sequence[Sequence[str]]]

    def __repr__(self) -> str:
        """Return one line."""
        return f"Catalogue({len(self.entries)} data sets)"

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as plain Python values."""
        return {
            "datasets": list(self.entries),
            "partitions": {name: [list(block) for block in blocks] for name, blocks in self.partitions.items()},
            "hierarchies": {name: [list(row) for row in rows] for name, rows in self.hierarchies.items()},
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per data set."""
        rows = [{**entry, "columns": ", ".join(entry["columns"])} for entry in self.entries]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def view(self) -> View:
        """Return the displayed view."""
        rows = tuple((entry["name"], entry["records"], ", ".join(entry["columns"])) for entry in self.entries)
        notes = tuple(dict.fromkeys(re.split(r", (?:Table|section) ", entry["origin"])[0] for entry in self.entries))
        blocks = tuple(
            (name, " | ".join(", ".join(map(str, block)) for block in blocks)) for name, blocks in self.partitions.items()
        )
        hierarchies = tuple((name, len(rows), len(rows[0]) - 1) for name, rows in self.hierarchies.items())
        tables = (
            Table(("name", "records", "columns"), rows),
            Table(("partition", "blocks"), blocks, title="Semantic partitions, for `partitions`"),
            Table(("hierarchy", "values", "height"), hierarchies, title="Hierarchies, for `hierarchies`"),
        )
        return View("Built-in data sets", (), tables, notes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records(Result):
    """The records of one built-in data set."""

    name: str
    frame: Any

    def __repr__(self) -> str:
        """Return one line."""
        return f"Records({self.name}: {self.frame.height:,} records)"

    def to_dict(self) -> dict[str, Any]:
        """Return the records as plain Python values."""
        return {
            "name": self.name,
            "records": [{name: jsonable(value) for name, value in row.items()} for row in self.frame.to_dicts()],
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the records by column."""
        columns: dict[str, Sequence[Any]] = self.frame.to_dict(as_series=False)
        return columns

    def view(self) -> View:
        """Return the first records."""
        more = self.frame.height - _SHOWN_ROWS
        table = Table(
            tuple(self.frame.columns),
            tuple(tuple(None if v is None else str(v) for v in row) for row in self.frame.head(_SHOWN_ROWS).rows()),
            note=f"and {more:,} more" if more > 0 else "",
        )
        return View(self.name, (Figure("records", f"{self.frame.height:,}"),), (table,))


def catalogue() -> Catalogue:
    """Return the list of the built-in data sets."""
    return Catalogue(
        tuple(datasets.describe()),
        {name: datasets.partition(name).to_dict()["blocks"] for name in datasets.partitions()},
        {name: datasets.hierarchy(name).labels for name in datasets.hierarchies()},
    )


def records(name: str) -> Records:
    """Return a built-in data set, for display or export."""
    return Records(name, datasets.load(name))
