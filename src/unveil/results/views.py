"""Views of results: figures, tables and charts for a reader, which `terminal` and `html_view` turn into text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Between", "Chart", "Figure", "Mark", "Table", "View"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the values shown first, with its meaning in a few words; the renderer formats a number.

    A definition, of a figure, a table or a chart, states exactly what was computed; a page keeps it one click away.
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
class Between:
    """An entry of a table that is an interval; the renderer writes both ends as numbers."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry of a table that is more than a value; it is aligned as a number.

    Attributes
    ----------
    text
        The text shown.
    hint
        The hint that a page shows when the pointer rests on it.
    shade
        The risk, from 0 to 1; None: no shade.
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
        The contents of `rows`. "bars": a label, a share from 0 to 1, and optionally a second one, drawn as a mark. "columns": a
        label and an amount. "dots": a label, the meaning of the dot, its position up to 1, and the number of its records.
        "heat": a row, a column and a share. "points": a label, its positions across and upwards, and whether it is marked
        (None: it is the reference with which the others are compared). "lines": the line, and the positions across and upwards
        of a point of it. "spark": as "columns", small and without labels.
    title, note, definition
        Its subject, how to read it, and exactly what was computed.
    columns
        The names of the entries of a row.
    rows
        The figures, in the order drawn.
    rules
        For points: the requirements, each with its axis ("across" or "up"), its words and its position; drawn as lines.
    better
        For points: whether "higher" or "lower" is better, across and upwards; stated at the ends of the axes.
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
    """The view of a result, in order: its title, its summary, its first figures, charts, tables, remarks, and its parts.

    A banner comes before all of it: something that the reader must know before anything else.
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
