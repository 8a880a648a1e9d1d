"""A view for the terminal: cells that cannot mislead, in figures, sentences and tables that fit the available width.

A value is written in one way, however long or odd it is: a page starts from the same cells (`html_view`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from rich.align import Align
from rich.box import Box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from unveil.formats import number, visible
from unveil.results.views import Between, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from unveil.results.views import Figure, Table, View

_LONGEST = 500


_INFINITE = {"inf": math.inf, "-inf": -math.inf}


_GAP = 2


_MOST_LINES = 5


HEADER = 16


WORD = 24


_BARS = (10, 5, 0)


_PROSE = 100


_EIGHTHS = " ▏▎▍▌▋▊▉"


_RULE = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")


_ASCII_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


_ASCII = str.maketrans({"∞": "inf", "…": "...", "•": "*", "█": "#"})


def risk_colour(share: float) -> tuple[int, int, int]:
    """Return the colour of a share from 0 to 1: green, amber, red."""
    green, amber, red = (46, 160, 67), (212, 150, 20), (218, 54, 51)
    (low, high), x = ((green, amber), 2 * share) if share < 0.5 else ((amber, red), 2 * share - 1)  # noqa: PLR2004
    r, g, b = (round(a + (b - a) * x) for a, b in zip(low, high, strict=True))
    return r, g, b


@dataclass(frozen=True, slots=True)
class WrittenCell:
    """A value in its displayed form."""

    text: str
    kind: Literal["number", "null", "text"]
    share: float | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column of displayed values; it is right-aligned if it holds numbers only."""

    name: str
    cells: tuple[WrittenCell, ...]
    is_number: bool
    has_bar: bool


def _cell(value: Any) -> WrittenCell:
    if getattr(value, "shape", None) == ():
        value = value.item()  # a numpy scalar
    if isinstance(value, Between):
        value = f"{number(value.low)} to {number(value.high)}"
    if value is None:
        return WrittenCell("-", "null")
    if isinstance(value, Mark):
        return WrittenCell(visible(_cut(value.text)), "number", mark=value)
    if isinstance(value, bool):
        return WrittenCell("yes" if value else "no", "text")
    if isinstance(value, Real | Decimal):
        return WrittenCell(number(value), "number", None if value != value else float(min(max(value, 0), 1)))  # noqa: PLR0124
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return WrittenCell(_cut(", ".join(_cell(item).text for item in items)), "text")
    return WrittenCell(visible(_cut(str(value))) or '""', "text")


def _cut(text: str) -> str:
    """Return a text truncated to what a person would read."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def columns_of(table: Table) -> list[WrittenColumn]:
    """Return the columns of a table with their cells written."""
    names = range(len(table.columns))
    return [_column(table.columns[j], [row[j] for row in table.rows], table.bars) for j in names]


def _column(name: str, values: Sequence[Any], bars: frozenset[str]) -> WrittenColumn:
    cells = [_cell(value) for value in values]
    infinite = {j for j, value in enumerate(values) if isinstance(value, str) and value in _INFINITE}
    kinds = {cell.kind for j, cell in enumerate(cells) if j not in infinite}
    is_number = "number" in kinds and "text" not in kinds
    if is_number:
        for j in infinite:  # how JSON writes it
            cells[j] = _cell(_INFINITE[values[j]])
    return WrittenColumn(visible(_cut(name)), tuple(cells), is_number, is_number and name in bars)


def figure_cell(figure: Figure) -> WrittenCell:
    """Return the cell of a figure's value; infinity may be given in its JSON form."""
    value = figure.value
    return _cell(_INFINITE.get(value, value) if isinstance(value, str) else value)


def to_rich(view: View) -> RenderableType:
    """Return a view in the form that `rich` prints; it adapts to the terminal's width, colours and encoding when printed."""
    return _Terminal(view)


@dataclass(frozen=True, slots=True)
class _Terminal:
    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        page = _Pen(console, options)
        if self.view.banner:
            yield page.fitted(self.view.banner, "bold red")
            yield Text()
        yield page.text(visible(self.view.title), "bold")
        if self.view.lead:
            yield page.fitted(self.view.lead, "")
        if self.view.figures:
            yield Text()
            yield page.figures(self.view.figures)
        for table in self.view.tables:
            yield Text()
            yield from page.table(table)
        if self.view.notes:
            yield Text()
            yield page.notes(self.view.notes)
        for part in self.view.parts:
            yield Text()
            yield from _Terminal(part).__rich_console__(console, options)


@dataclass(frozen=True, slots=True)
class _Pen:
    """A writer of the parts of a view for one console."""

    console: Console
    options: ConsoleOptions

    def text(self, text: str, style: str = "") -> Text:
        """Return literal text, in characters that the output can represent."""
        encoding = self.options.encoding
        if not encoding.startswith("utf"):
            text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
        return Text(text, style)

    def figures(self, figures: Sequence[Figure]) -> RichTable:
        grid = RichTable.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(overflow="fold")
        grid.add_column(overflow="fold")
        grid.add_column(overflow="fold")
        for figure in figures:
            value = figure_cell(figure)
            grid.add_row(
                self.text(visible(figure.label)),
                self.text(value.text, "dim" if value.kind == "null" else "bold"),
                self.text(visible(figure.meaning), "dim"),
            )
        return grid

    def notes(self, notes: Sequence[str]) -> RichTable:
        grid = RichTable.grid(padding=(0, 1, 0, 0))
        grid.add_column()
        grid.add_column(overflow="fold", max_width=min(self.options.max_width - _GAP, _PROSE))
        for note in notes:
            grid.add_row(self.text("•", "dim"), self.text(visible(note)))
        return grid

    def table(self, table: Table) -> Iterator[RenderableType]:
        if table.title:
            yield self.text(visible(table.title), "bold")
        columns = columns_of(table)
        bar, blocks = _blocks(columns, self.options.max_width)
        for j, block in enumerate(blocks):
            if j:
                yield Text()
            yield self.block(block, bar)
        if not table.rows:
            yield self.text("no rows", "dim")
        if table.note:
            yield self.fitted(table.note, "dim")

    def fitted(self, note: str, style: str) -> Text:
        width = min(self.options.max_width, _PROSE)
        lines = self.text(visible(note), style).wrap(self.console, width)
        for line in lines:
            line.rstrip()
        return Text("\n").join(lines)

    def block(self, columns: Sequence[WrittenColumn], bar: int) -> RichTable:
        """Return some columns of a table, side by side."""
        box = _ASCII_RULE if self.options.ascii_only else _RULE
        drawn = RichTable(box=box, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
        cells: list[list[Text]] = []
        for column, width in zip(columns, _widths(columns, self.options.max_width, bar), strict=True):
            justify: Literal["left", "right"] = "right" if column.is_number else "left"
            header = Align(self.cut(column.name, width, "bold"), justify, vertical="bottom")
            drawn.add_column(header, width=width, justify=justify)
            cells.append([self.cut(cell.text, width, "dim" if cell.kind == "null" else "") for cell in column.cells])
            if column.has_bar and bar:
                drawn.add_column(width=bar)
                cells.append([self.bar(cell.share, bar) for cell in column.cells])
        for row in zip(*cells, strict=True):
            drawn.add_row(*row)
        return drawn

    def cut(self, text: str, width: int, style: str) -> Text:
        """Return text in at most five lines of `width`; longer text ends in an ellipsis."""
        whole = self.text(text, style)
        lines = list(whole.wrap(self.console, width, overflow="fold"))
        for line in lines:
            line.rstrip()
        if len(lines) > _MOST_LINES:
            ellipsis = self.text("…", style)
            lines = lines[:_MOST_LINES]
            lines[-1].truncate(max(width - len(ellipsis), 0), overflow="crop")
            lines[-1].append_text(ellipsis)
        return Text("\n").join(lines)

    def bar(self, share: float | None, width: int) -> Text:
        if share is None:
            return Text()
        full, eighths = divmod(round(share * width * 8), 8)
        drawn = "█" * full
        if eighths and not self.options.ascii_only:
            drawn += _EIGHTHS[eighths]
        r, g, b = risk_colour(share)
        return self.text(drawn, f"rgb({r},{g},{b})")


def _blocks(columns: Sequence[WrittenColumn], room: int) -> tuple[int, list[Sequence[WrittenColumn]]]:
    """Return the bars' width, and the columns in blocks that fit; every block starts with the first column.

    A truncated text is worse than a missing bar, so bars are as wide as possible without truncating more texts.
    """
    fitting = [bar for bar in _BARS if _least_of(columns, bar) <= room]
    if fitting:
        return min(fitting, key=lambda bar: _cuts(columns, _widths(columns, room, bar))), [columns]
    first, *others = columns
    blocks: list[Sequence[WrittenColumn]] = []
    block = [first]
    for column in others:
        if len(block) > 1 and _least_of([*block, column], 0) > room:
            blocks.append(block)
            block = [first]
        block.append(column)
    return 0, [*blocks, block]


def _widths(columns: Sequence[WrittenColumn], room: int, bar: int) -> list[int]:
    """Distribute the room: each column has its least width, and the narrowest that needs more gets it first."""
    spare = room - _between(columns, bar)
    widths = [_least(column) for column in columns]
    for wanted in ([_longest(column) for column in columns], [min(cell_len(c.name), HEADER) for c in columns]):
        while sum(widths) < spare:
            wanting = [j for j, width in enumerate(widths) if width < wanted[j]]
            if not wanting:
                break
            widths[min(wanting, key=widths.__getitem__)] += 1
    while sum(widths) > spare and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cuts(columns: Sequence[WrittenColumn], widths: Sequence[int]) -> int:
    """Return the number of texts that would be truncated, if wrapping leaves about one line of each empty."""
    most = [width * (_MOST_LINES - 1) for width in widths]
    return sum(cell_len(cell.text) > n for column, n in zip(columns, most, strict=True) for cell in column.cells)


def _least_of(columns: Sequence[WrittenColumn], bar: int) -> int:
    return sum(map(_least, columns)) + _between(columns, bar)


def _between(columns: Sequence[WrittenColumn], bar: int) -> int:
    """Return the room used by gaps and bars."""
    barred = sum(column.has_bar for column in columns) if bar else 0
    return _GAP * (len(columns) - 1) + barred * (bar + _GAP)


def _least(column: WrittenColumn) -> int:
    """Return the least width of a column: a number is never truncated, a text and a header only in a very long word."""
    words = [column.name] if column.is_number else [column.name, *(cell.text for cell in column.cells)]
    word = max((cell_len(word) for text in words for word in text.split()), default=1)
    return max(min(word, WORD), _longest(column) if column.is_number else 1)


def _longest(column: WrittenColumn) -> int:
    return max((cell_len(cell.text) for cell in column.cells), default=0)
