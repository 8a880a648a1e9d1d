"""What every answer has in common: it is frozen, shows itself, and says how it was made.

A result holds data only. Its `view` says what a person should see of it, once; `_render` turns a view into a terminal
table or HTML and is imported when something is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Figure", "Made", "Result", "Table", "View", "jsonable"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One value that a person should see first, with what it means in a few words; the renderer formats a number."""

    label: str
    value: Any
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to show; the renderer formats and aligns numbers, and draws the columns named in `bars`, from 0 to 1."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    note: str = ""
    bars: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class View:
    """What to show of a result, in order: its title, its first figures, its tables, its remarks."""

    title: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """How a result was made: enough to repeat it."""

    records: int
    nulls: str
    dropped: int = 0
    key: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    partitions: Mapping[str, Any] = field(default_factory=dict)
    weights: str | None = None
    seed: int | None = None
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "key": list(self.key),
            "sensitive": list(self.sensitive),
            "partitions": {name: jsonable(value) for name, value in self.partitions.items()},
            "nulls": self.nulls,
            "dropped": self.dropped,
            "weights": self.weights,
            "seed": self.seed,
            "version": self.version,
        }


class Result:
    """The base of every answer; a subclass is a frozen dataclass that gives `to_dict`, `rows` and `view`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values, ready for JSON."""
        raise NotImplementedError

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the answer's table, column by column."""
        raise NotImplementedError

    def view(self) -> View:
        """Return what a person should see."""
        raise NotImplementedError

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the answer's table as a data frame of the library named (polars, pandas or pyarrow)."""
        import narwhals as nw

        return nw.from_dict(dict(self.columns()), backend=backend).to_native()

    def __rich__(self) -> RenderableType:
        """Show the answer in a terminal."""
        from unveil.results._render import to_rich

        return to_rich(self.view())

    def _repr_html_(self) -> str:
        """Show the answer in a notebook."""
        from unveil.results._render import to_html

        return to_html(self.view())


def jsonable(value: Any) -> Any:
    """Return a value as JSON can hold it: an infinite figure is "inf", a date its ISO form."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if hasattr(value, "item"):
        return jsonable(value.item())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
