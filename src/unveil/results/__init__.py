"""What every answer has in common: it is frozen, shows itself, and says how it was made.

A result holds data only. Its `view` says once what a person should see of it; `terminal` and `html_view` turn a view into text
and HTML, and are imported when something is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any, Literal

from unveil.arguments import checked_arguments, checked_count
from unveil.errors import ArgumentError, MissingExtraError
from unveil.results.dates import today
from unveil.results.masking import SMALL

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Chart", "Figure", "Mark", "Provenance", "Result", "Table", "View", "jsonable"]

OPEN_MODULES = (
    "cells",
    "dates",
    "displayed",
    "figures",
    "html_view",
    "masked_rows",
    "masking",
    "numbers",
    "wording",
    "svg",
    "terminal",
)
"""Modules of this room that others may import from; the rest is its own."""


_WIDEST = (1 << 63) - 1
"""The largest integer that every library holds."""
_HELD = (bool, int, float, str, bytes, list, tuple, dict, date, time, timedelta)
"""What every library holds as it is; all else becomes text."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One value that a person should see first, with what it means in a few words; the renderer formats a number.

    A definition, be it of a figure, a table or a chart, says exactly what was computed; a page keeps it one click away.
    """

    label: str
    value: Any
    meaning: str = ""
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to show; the renderer formats and aligns numbers, and draws the columns named in `bars`, from 0 to 1."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    note: str = ""
    bars: frozenset[str] = frozenset()
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry of a table that says more than a value; it is aligned as a number.

    Attributes
    ----------
    text
        What is shown.
    hint
        What a page shows when the pointer rests on it.
    shade
        How risky it is, from 0 to 1; None: no shade.
    """

    text: str
    hint: str = ""
    shade: float | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of some figures, drawn in a page and in a notebook; a terminal shows tables only.

    Attributes
    ----------
    name
        The word by which it is requested.
    kind
        What `rows` hold. "bars": a label, a share from 0 to 1, and perhaps a second one, drawn as a mark. "columns": a label and
        an amount. "dots": a label, what the dot stands for, its position up to 1, and how many records it stands for. "heat": a
        row, a column and a share. "points": a label, its places across and upwards, and whether it is marked (None: it is what
        the others are compared with). "lines": which line, and the places across and upwards of a point of it.
        "spark": as "columns", small and without labels.
    title, note, definition
        What it shows, how to read it, and what exactly was computed.
    columns
        What each entry of a row is.
    rows
        The figures, in the order drawn.
    rules
        Of points: what is required, each with its axis ("across" or "up"), its words and its place; drawn as lines.
    better
        Of points: whether "higher" or "lower" is better, across and upwards; the ends of the axes say so.
    """

    name: str
    kind: Literal["bars", "columns", "dots", "heat", "lines", "points", "spark"]
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    definition: str = ""
    rules: tuple[tuple[str, str, float], ...] = ()
    better: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class View:
    """What to show of a result, in order: its title, what it comes to, its first figures, charts, tables, remarks, its parts.

    A banner comes before all of it: what the reader must know before anything else.
    """

    title: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    lead: str = ""
    parts: tuple[View, ...] = ()
    banner: str = ""

    def every_chart(self) -> dict[str, Chart]:
        """Return the charts by name, including those of the parts."""
        charts = {chart.name: chart for chart in self.charts}
        for part in self.parts:
            charts |= part.every_chart()
        return charts


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a result was made: enough to repeat it."""

    records: int
    nulls: str
    dropped: int = 0
    key: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    partitions: Mapping[str, Any] = field(default_factory=dict)
    weights: str | None = None
    person: str | None = None
    household: str | None = None
    seed: int | None = None
    version: str = ""
    date: str = field(default_factory=today)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "key": list(self.key),
            "sensitive": list(self.sensitive),
            "partitions": {name: jsonable(value) for name, value in self.partitions.items()},
            "nulls": self.nulls,
            "dropped": self.dropped,
            "weights": self.weights,
            **{name: getattr(self, name) for name in ("person", "household") if getattr(self, name) is not None},
            "seed": self.seed,
            "version": self.version,
            "date": self.date,
        }


class Result:
    """The base of every answer; a subclass is a frozen dataclass that gives `to_dict`, `columns` and `view`.

    It holds true figures, including values of single people. What it shows of itself is for others, so it is masked: `masked`
    takes the values out, and a subclass that holds any says how.
    """

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

    def terminal_view(self) -> View:
        """Return what a person should see in a terminal."""
        return self.view()

    def terminal_form(self, view: View) -> RenderableType:
        """Return what a terminal prints of a view."""
        from unveil.results.terminal import to_rich

        return to_rich(view)

    def masked(self, small: int = SMALL) -> Result:  # noqa: ARG002 - one that names nobody is as it is
        """Return the answer without the values of classes of fewer than `small` records, and of those that disclose."""
        return self

    @checked_arguments
    def displayed(self, *, unmasked: bool = False, small: int = SMALL) -> Result:
        """Return the answer as it is shown, printed and written.

        Parameters
        ----------
        unmasked
            As it is, and marked as such in every form: for the steward's own eyes.
        small
            Else classes of fewer records are masked, and those that give a sensitive value away.

        Examples
        --------
        >>> import unveil
        >>> rate = unveil.discrimination_rate("paper-4", key="Age", sensitive="Disease")
        >>> rate.displayed().to_dict()["by_value"][0]["Age"]
        '(masked)'
        >>> rate.displayed(unmasked=True).to_dict()["unmasked"]
        True
        """
        from unveil.results.displayed import Displayed

        checked_count("small", small, least=1)
        return Displayed(self, unmasked=True) if unmasked else Displayed(self.masked(small))

    @checked_arguments
    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the answer's table as a data frame of the library named.

        Values of several types in one column, and numbers that not every library holds, become text.
        """
        import narwhals as nw

        columns = {_whole(name): _of_one_type(values) for name, values in self.columns().items()}
        numbered = {str(at): values for at, values in enumerate(columns.values())}  # some names are patterns to Polars
        try:
            frame = nw.from_dict(numbered, backend=backend)
        except ModuleNotFoundError:
            raise MissingExtraError.library(backend) from None
        except UnicodeEncodeError:  # halves of surrogate pairs, which few libraries hold
            frame = nw.from_dict({at: list(map(_whole, values)) for at, values in numbered.items()}, backend=backend)
        return frame.rename(dict(zip(numbered, columns, strict=True))).to_native()

    @checked_arguments
    def chart(self, name: str) -> Any:
        """Return one of the answer's charts as an `altair.Chart`, to be changed or stored (extra `charts`).

        Parameters
        ----------
        name
            Which chart; an unknown name is refused with a list of those there are.
        """
        known = self.displayed().view().every_chart()
        if name not in known:
            raise ArgumentError.not_one_of("chart", name, tuple(known)) if known else ArgumentError("this answer has no charts.")
        from unveil.results._altair import altair_chart

        return altair_chart(known[name])

    def __rich__(self) -> RenderableType:
        """Show the answer in a terminal, masked."""
        return self.terminal_form(self.displayed().terminal_view())

    def python_calls(self) -> Mapping[str, str]:
        """Return, for each command that the view names, the Python call that does the same; a notebook shows these."""
        return {}

    def _repr_html_(self) -> str:
        """Show the answer in a notebook, masked and in the words of Python."""
        from unveil.results.html_view import to_html
        from unveil.results.wording import in_python

        return to_html(in_python(self.displayed().view(), self.python_calls()))


def _whole(text: Any) -> Any:
    """Return a text with halves of surrogate pairs as escapes; anything else as it is."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


def _of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """Return values that one column can hold: as they are, or as text if they are of several types."""
    kinds = {type(value) for value in values if value is not None}
    wide = int in kinds and any(isinstance(value, int) and abs(value) > _WIDEST for value in values)
    if (
        not wide
        and all(issubclass(kind, _HELD) or kind.__module__ == "numpy" for kind in kinds)
        and (len(kinds) <= 1 or kinds <= {int, float})
    ):
        return [None if value is None else float(value) for value in values] if len(kinds) > 1 else values
    return [None if value is None else str(value) for value in values]


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
