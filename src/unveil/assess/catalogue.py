"""Which data is built in, and what is in it? The built-in data sets as results that show and write themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unveil.results import Figure, Result, Table, View, jsonable
from unveil.sources import datasets

__all__ = ["Catalogue", "Records", "catalogue", "records"]

_SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalogue(Result):
    """The built-in data sets."""

    entries: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        """Return one line."""
        return f"Catalogue({len(self.entries)} data sets)"

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as plain Python values."""
        return {"datasets": list(self.entries)}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per data set."""
        rows = [{**entry, "columns": ", ".join(entry["columns"])} for entry in self.entries]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def view(self) -> View:
        """Return what a person should see."""
        rows = tuple((entry["name"], entry["records"], ", ".join(entry["columns"])) for entry in self.entries)
        notes = tuple(dict.fromkeys(entry["origin"].rpartition(", Table")[0] or entry["origin"] for entry in self.entries))
        return View("Built-in data sets", (), (Table(("name", "records", "columns"), rows),), notes)


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
        found: dict[str, Sequence[Any]] = self.frame.to_dict(as_series=False)
        return found

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
    return Catalogue(tuple(datasets.describe()))


def records(name: str) -> Records:
    """Return a built-in data set, to be shown or written."""
    return Records(name, datasets.load(name))
