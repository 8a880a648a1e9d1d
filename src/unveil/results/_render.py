r"""What a view looks like in a terminal, and as HTML.

Both forms start from the same cells: `number` and `_cell` decide how a value is written, once. A value is data, so it
is never read as markup: it goes into the terminal as `rich.text.Text`, into HTML escaped, and what would steer a
terminal or turn the reading direction (control characters, escapes, line breaks) is written out, as in ``\x1b``.

Bars run from 0 to 1; longer and redder is riskier.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from rich.align import Align
from rich.box import Box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from unveil.results import Mark
from unveil.results.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from unveil.results import Chart, Figure, Table, View

__all__ = ["html_parts", "risk_colour", "to_html", "to_rich", "visible"]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # they hold emoji and Persian words together, and steer nothing

_LONGEST = 500
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


# Values ---------------------------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    r"""Return the text with everything in it that cannot be seen written out.

    Examples
    --------
    >>> print(visible("two\nlines \x1b[31mred"))
    two\nlines \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN and char not in _JOINERS else char
        for char in text
    )


def risk_colour(share: float) -> tuple[int, int, int]:
    """Return the colour of a share from 0 to 1: green, amber, red."""
    green, amber, red = (46, 160, 67), (212, 150, 20), (218, 54, 51)
    (low, high), x = ((green, amber), 2 * share) if share < 0.5 else ((amber, red), 2 * share - 1)  # noqa: PLR2004
    r, g, b = (round(a + (b - a) * x) for a, b in zip(low, high, strict=True))
    return r, g, b


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value as it is shown."""

    text: str
    kind: Literal["number", "null", "text"]
    share: float | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of shown values; it is right-aligned when it holds numbers only."""

    name: str
    cells: tuple[_Cell, ...]
    is_number: bool
    has_bar: bool


def _cell(value: Any) -> _Cell:
    if getattr(value, "shape", None) == ():
        value = value.item()  # a numpy scalar
    if value is None:
        return _Cell("-", "null")
    if isinstance(value, Mark):
        return _Cell(visible(_cut(value.text)), "number", mark=value)
    if isinstance(value, bool):
        return _Cell("yes" if value else "no", "text")
    if isinstance(value, Real | Decimal):
        return _Cell(number(value), "number", None if value != value else float(min(max(value, 0), 1)))  # noqa: PLR0124
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return _Cell(_cut(", ".join(_cell(item).text for item in items)), "text")
    return _Cell(visible(_cut(str(value))) or '""', "text")


def _cut(text: str) -> str:
    """Return what a person would read of a text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _columns(table: Table) -> list[_Column]:
    names = range(len(table.columns))
    return [_column(table.columns[j], [row[j] for row in table.rows], table.bars) for j in names]


def _column(name: str, values: Sequence[Any], bars: frozenset[str]) -> _Column:
    cells = [_cell(value) for value in values]
    infinite = {j for j, value in enumerate(values) if isinstance(value, str) and value in _INFINITE}
    kinds = {cell.kind for j, cell in enumerate(cells) if j not in infinite}
    is_number = "number" in kinds and "text" not in kinds
    if is_number:
        for j in infinite:  # how JSON writes it
            cells[j] = _cell(_INFINITE[values[j]])
    return _Column(visible(_cut(name)), tuple(cells), is_number, is_number and name in bars)


def _figure(figure: Figure) -> _Cell:
    value = figure.value
    return _cell(_INFINITE.get(value, value) if isinstance(value, str) else value)


# Terminal -------------------------------------------------------------------------------------------------------------

_GAP = 2
_MOST_LINES = 5
_HEADER = 16
_WORD = 24
_BARS = (10, 5, 0)
_PROSE = 100
_EIGHTHS = " ▏▎▍▌▋▊▉"
_RULE = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
_ASCII_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_ASCII = str.maketrans({"∞": "inf", "…": "...", "•": "*", "█": "#"})


def to_rich(view: View) -> RenderableType:
    """Return what `rich` prints for a view; it adapts to the terminal's width, colours and encoding when printed."""
    return _Terminal(view)


@dataclass(frozen=True, slots=True)
class _Terminal:
    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        page = _Pen(console, options)
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
    """Writes the parts of a view for one console."""

    console: Console
    options: ConsoleOptions

    def text(self, text: str, style: str = "") -> Text:
        """Return literal text, in characters that the output can hold."""
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
            value = _figure(figure)
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
        columns = _columns(table)
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

    def block(self, columns: Sequence[_Column], bar: int) -> RichTable:
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
        """Return text in at most five lines of `width`; what does not fit ends in an ellipsis."""
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


def _blocks(columns: Sequence[_Column], room: int) -> tuple[int, list[Sequence[_Column]]]:
    """Return the bars' width, and the columns in blocks that fit; every block starts with the first column.

    A cut text tells less than a missing bar, so bars are as wide as they can be without cutting more texts.
    """
    fitting = [bar for bar in _BARS if _least_of(columns, bar) <= room]
    if fitting:
        return min(fitting, key=lambda bar: _cuts(columns, _widths(columns, room, bar))), [columns]
    first, *others = columns
    blocks: list[Sequence[_Column]] = []
    block = [first]
    for column in others:
        if len(block) > 1 and _least_of([*block, column], 0) > room:
            blocks.append(block)
            block = [first]
        block.append(column)
    return 0, [*blocks, block]


def _widths(columns: Sequence[_Column], room: int, bar: int) -> list[int]:
    """Share the room out: each column has its least width, and the narrowest that wants more gets it first."""
    spare = room - _between(columns, bar)
    widths = [_least(column) for column in columns]
    for wanted in ([_longest(column) for column in columns], [min(cell_len(c.name), _HEADER) for c in columns]):
        while sum(widths) < spare:
            wanting = [j for j, width in enumerate(widths) if width < wanted[j]]
            if not wanting:
                break
            widths[min(wanting, key=widths.__getitem__)] += 1
    while sum(widths) > spare and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cuts(columns: Sequence[_Column], widths: Sequence[int]) -> int:
    """Return how many texts would be cut, as wrapping leaves about one line of them empty."""
    most = [width * (_MOST_LINES - 1) for width in widths]
    return sum(cell_len(cell.text) > n for column, n in zip(columns, most, strict=True) for cell in column.cells)


def _least_of(columns: Sequence[_Column], bar: int) -> int:
    return sum(map(_least, columns)) + _between(columns, bar)


def _between(columns: Sequence[_Column], bar: int) -> int:
    """Return the room that gaps and bars take."""
    barred = sum(column.has_bar for column in columns) if bar else 0
    return _GAP * (len(columns) - 1) + barred * (bar + _GAP)


def _least(column: _Column) -> int:
    """Return the least width of a column: a number is never cut, a text and a header only in a very long word."""
    words = [column.name] if column.is_number else [column.name, *(cell.text for cell in column.cells)]
    word = max((cell_len(word) for text in words for word in text.split()), default=1)
    return max(min(word, _WORD), _longest(column) if column.is_number else 1)


def _longest(column: _Column) -> int:
    return max((cell_len(cell.text) for cell in column.cells), default=0)


# HTML -----------------------------------------------------------------------------------------------------------------

_STEPS = 40
_SHADES = 4
"""The steps of a shade behind a cell."""
_LOWEST_HEADING = 6
_CODE, _WORD_OF_CODE = re.compile("`([^`]+)`"), re.compile(r"\S+")

# Text and lines take the colours of what surrounds them: a notebook's theme need not be the system's.
_CSS = """\
.unveil-view { line-height: 1.45; text-align: left; }
.unveil-view .unveil-title { font-size: 1.4em; line-height: 1.25; margin: 0 0 0.8em; font-weight: 650; }
.unveil-view .unveil-figures { display: grid; gap: 0.9em 2em; margin: 0 0 1.6em; padding: 0;
  grid-template-columns: repeat(auto-fit, minmax(11em, 1fr)); }
.unveil-view .unveil-figures > div { border-left: 3px solid rgba(128, 128, 128, 0.4); padding-left: 0.8em; }
.unveil-view .unveil-figures dt { font-size: 0.85em; font-weight: 400; margin: 0; opacity: 0.75; }
.unveil-view .unveil-figures dd { margin: 0; overflow-wrap: anywhere; }
.unveil-view .unveil-figures .unveil-value { font-size: 1.5em; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.unveil-view .unveil-figures .unveil-words { font-size: 1.1em; line-height: 1.4; padding: 0.15em 0; }
.unveil-view .unveil-figures .unveil-meaning { font-size: 0.85em; opacity: 0.75; }
.unveil-view .unveil-lead { font-size: 1.05em; margin: 0 0 1.4em; max-width: 46em; }
.unveil-view .unveil-part { margin: 2.4em 0 0; }
.unveil-view .unveil-part .unveil-title { font-size: 1.3em; }
.unveil-view .unveil-part .unveil-part { margin: 1.8em 0 0; }
.unveil-view .unveil-part .unveil-part .unveil-title { font-size: 1.1em; }
.unveil-view code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.9em;
  background: rgba(128, 128, 128, 0.14); border-radius: 0.25em; padding: 0.1em 0.3em; overflow-wrap: anywhere; }
.unveil-view code span { display: inline-block; max-width: 100%; }
.unveil-view .unveil-charts { display: grid; gap: 1.6em 2.4em; margin: 0 0 1.6em; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(24em, 100%), 1fr)); }
.unveil-view .unveil-charts figure { margin: 0; max-width: 36em; break-inside: avoid; }
.unveil-view .unveil-chart { display: block; width: 100%; height: auto; font-size: 12.5px; fill: currentColor; }
.unveil-view .unveil-chart .unveil-mark, .unveil-view .unveil-chart .unveil-dot { fill: #2f6ab5; }
.unveil-view .unveil-chart .unveil-dot { fill-opacity: 0.5; stroke: #2f6ab5; }
.unveil-view .unveil-chart .unveil-hollow { fill: none; stroke: #2f6ab5; stroke-width: 1.5; }
.unveil-view .unveil-chart .unveil-rest { fill: rgba(128, 128, 128, 0.16); }
.unveil-view .unveil-chart .unveil-axis { fill: none; stroke: rgba(128, 128, 128, 0.4); }
.unveil-view .unveil-chart .unveil-small { font-size: 11px; }
.unveil-view .unveil-chart .unveil-faint { opacity: 0.75; font-size: 11px; }
.unveil-view .unveil-chart .unveil-strong { fill: #fff; }
.unveil-view .unveil-definition { font-size: 0.85em; margin: 0.3em 0 0; max-width: 46em; }
.unveil-view .unveil-definition summary { cursor: pointer; opacity: 0.75; width: max-content; }
.unveil-view .unveil-definition p { margin: 0.3em 0 0; }
.unveil-view .unveil-table { margin: 0 0 1.6em; }
.unveil-view .unveil-caption { font-weight: 650; margin: 0 0 0.3em; }
.unveil-view .unveil-scroll { overflow-x: auto; }
.unveil-view table { border-collapse: collapse; border: 0; margin: 0; font-size: 0.92em; width: auto; max-width: 100%; }
.unveil-view th, .unveil-view td { border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.25); text-align: left;
  padding: 0.3em 1.4em 0.3em 0; vertical-align: top; white-space: nowrap; max-width: none; }
.unveil-view th:last-child, .unveil-view td:last-child { padding-right: 0.2em; }
.unveil-view thead th, .unveil-view thead td { border-bottom: 2px solid rgba(128, 128, 128, 0.5); font-weight: 650;
  vertical-align: bottom; }
.unveil-view tbody tr:hover { background: rgba(128, 128, 128, 0.1); }
.unveil-view .unveil-number { text-align: right; font-variant-numeric: tabular-nums; }
.unveil-view thead .unveil-long { white-space: normal; }
.unveil-view tbody .unveil-long { white-space: normal; overflow-wrap: anywhere; min-width: 13em; }
.unveil-view .unveil-null { opacity: 0.5; }
.unveil-view td.unveil-meter, .unveil-view th.unveil-meter { width: 6em; }
.unveil-view .unveil-track { display: block; width: 6em; height: 0.6em; margin-top: 0.42em; overflow: hidden;
  border-radius: 0.15em; background: rgba(128, 128, 128, 0.18); }
.unveil-view .unveil-bar { display: block; height: 100%; -webkit-print-color-adjust: exact;
  print-color-adjust: exact; }
.unveil-view .unveil-note { font-size: 0.85em; margin: 0.5em 0 0; max-width: 46em; opacity: 0.75; }
.unveil-view .unveil-notes { margin: 0; padding-left: 1.2em; max-width: 42em; }
.unveil-view .unveil-notes li { margin: 0.2em 0; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .unveil-view .unveil-bar { filter: brightness(1.15); } }
@media (max-width: 40em) {
  .unveil-view .unveil-figures { grid-template-columns: repeat(auto-fit, minmax(8.5em, 1fr)); gap: 0.9em 1.2em; }
  .unveil-view th, .unveil-view td { padding-right: 0.9em; }
  .unveil-view td.unveil-meter, .unveil-view th.unveil-meter, .unveil-view .unveil-track { width: 3em; }
}
@media print {
  .unveil-view .unveil-scroll { overflow: visible; }
  .unveil-view table { font-size: 0.85em; }
  .unveil-view th, .unveil-view td { white-space: normal; padding-right: 0.8em; }
  .unveil-view tr, .unveil-view .unveil-figures > div { break-inside: avoid; }
  .unveil-view .unveil-mark, .unveil-view .unveil-dot { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .unveil-view .unveil-title, .unveil-view .unveil-caption { break-after: avoid; }
  .unveil-view .unveil-definition::details-content { content-visibility: visible; height: auto; }
  .unveil-view .unveil-definition summary { list-style: none; }
}
"""


def to_html(view: View) -> str:
    """Return an HTML fragment of a view for a notebook: one element with its own style, no script, nothing fetched."""
    css, markup = html_parts(view)
    return f'<div class="unveil-view">\n<style>\n{css}</style>\n{markup}</div>\n'


def html_parts(view: View, *, level: int = 2) -> tuple[str, str]:
    """Return the style sheet and the markup of a view, to be put in an element of class `unveil-view`.

    No element has a `style` attribute, so that a page can forbid every style but its own sheet.
    """
    steps: set[int] = set()
    markup = _html_view(view, level, steps)
    shades = "".join(_shade_rule(step) for step in range(_SHADES + 1) if f"unveil-h{step}" in markup)
    return _CSS + "".join(map(_step_rule, sorted(steps))) + shades, markup


def _html_view(view: View, level: int, steps: set[int]) -> str:
    """Return the markup of a view and of its parts; the steps of their bars are added to `steps`."""
    heading = min(level, _LOWEST_HEADING)
    parts = [f'<h{heading} class="unveil-title">{_escaped(view.title)}</h{heading}>\n']
    if view.lead:
        parts.append(f'<p class="unveil-lead">{_prose(view.lead)}</p>\n')
    parts += [_html_figures(view.figures), _html_charts(view.charts)]
    parts += [_html_table(table, steps) for table in view.tables]
    if view.notes:
        items = "".join(f"<li>{_prose(note)}</li>\n" for note in view.notes)
        parts.append(f'<ul class="unveil-notes">\n{items}</ul>\n')
    parts += [f'<section class="unveil-part">\n{_html_view(part, level + 1, steps)}</section>\n' for part in view.parts]
    return "".join(parts)


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _prose(text: str) -> str:
    """Return a remark with what stands between backticks as code, whose lines break between its words only."""
    return _CODE.sub(lambda code: "<code>" + _WORD_OF_CODE.sub(r"<span>\g<0></span>", code[1]) + "</code>", _escaped(text))


def _html_definition(definition: str) -> str:
    if not definition:
        return ""
    return f'<details class="unveil-definition"><summary>definition</summary><p>{_prose(definition)}</p></details>\n'


def _html_charts(charts: Sequence[Chart]) -> str:
    """Return the charts side by side, where there is room."""
    if not charts:
        return ""
    from unveil.results._svg import svg

    drawn = []
    for chart in charts:
        note = f'<p class="unveil-note">{_prose(chart.note)}</p>\n' if chart.note else ""
        drawn.append(
            f'<figure>\n<figcaption class="unveil-caption">{_escaped(chart.title)}</figcaption>\n'
            f"{svg(chart, visible)}{note}{_html_definition(chart.definition)}</figure>\n"
        )
    return f'<div class="unveil-charts">\n{"".join(drawn)}</div>\n'


def _step_rule(step: int) -> str:
    r, g, b = risk_colour(step / _STEPS)
    return f".unveil-view .unveil-s{step} {{ width: {100 * step / _STEPS:g}%; background: rgb({r}, {g}, {b}); }}\n"


def _html_figures(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    boxes = []
    for figure in figures:
        value = _figure(figure)
        words = " unveil-words" if len(value.text) > _WORD else " unveil-null" if value.kind == "null" else ""
        meaning = f'<dd class="unveil-meaning">{_escaped(figure.meaning)}</dd>' if figure.meaning else ""
        boxes.append(
            f"<div><dt>{_escaped(figure.label)}</dt>"
            f'<dd class="unveil-value{words}">{html.escape(value.text)}</dd>{meaning}'
            f"{_html_figure_definition(figure.definition)}</div>\n"
        )
    return f'<dl class="unveil-figures">\n{"".join(boxes)}</dl>\n'


def _html_figure_definition(definition: str) -> str:
    return f"<dd>{_html_definition(definition)}</dd>" if definition else ""


def _html_table(table: Table, steps: set[int]) -> str:
    """Return the markup of a table; the steps of its bars are added to `steps`."""
    columns = _columns(table)
    rows = []
    for j in range(len(table.rows)):
        cells = [_html_cell(column.cells[j], column, steps) for column in columns]
        rows.append(f"<tr>{''.join(cells)}</tr>\n")
    if not rows:
        rows.append(f'<tr><td class="unveil-null" colspan="{max(len(columns), 1)}">no rows</td></tr>\n')
    caption = f'<figcaption class="unveil-caption">{_escaped(table.title)}</figcaption>\n' if table.title else ""
    note = f'<p class="unveil-note">{_prose(table.note)}</p>\n' if table.note else ""
    return (
        f'<figure class="unveil-table">\n{caption}'
        f'<div class="unveil-scroll" role="region" tabindex="0" aria-label="{_escaped(table.title or "table")}">\n'
        f"<table>\n<thead><tr>{''.join(map(_html_header, columns))}</tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody>\n</table>\n</div>\n{note}{_html_definition(table.definition)}</figure>\n"
    )


def _html_header(column: _Column) -> str:
    marks = _marks({"unveil-number": column.is_number, "unveil-long": len(column.name) > _HEADER})
    bar = '<td class="unveil-meter"></td>' if column.has_bar else ""
    return f'<th scope="col"{marks}>{html.escape(column.name)}</th>{bar}'


def _html_cell(cell: _Cell, column: _Column, steps: set[int]) -> str:
    is_null, is_long = cell.kind == "null", not column.is_number and len(cell.text) > _WORD
    shade = {} if cell.mark is None or cell.mark.shade is None else {f"unveil-h{round(cell.mark.shade * _SHADES)}": True}
    marks = _marks({"unveil-number": column.is_number, "unveil-null": is_null, "unveil-long": is_long, **shade})
    bar = ""
    if column.has_bar:
        if cell.share is not None:
            step = round(cell.share * _STEPS)
            steps.add(step)
            bar = f'<span class="unveil-track"><span class="unveil-bar unveil-s{step}"></span></span>'
        bar = f'<td class="unveil-meter" aria-hidden="true">{bar}</td>'
    return f"<td{marks}{_html_hint(cell)}>{html.escape(cell.text)}</td>{bar}"


def _html_hint(cell: _Cell) -> str:
    """Return what is shown when the pointer rests on a cell."""
    return f' title="{_escaped(cell.mark.hint)}"' if cell.mark is not None and cell.mark.hint else ""


def _shade_rule(step: int) -> str:
    r, g, b = risk_colour(step / _SHADES)
    return (
        f".unveil-view td.unveil-h{step} {{ background: rgba({r}, {g}, {b}, 0.28); padding-left: 0.5em; "
        "-webkit-print-color-adjust: exact; print-color-adjust: exact; }\n"
    )


def _marks(marks: dict[str, bool]) -> str:
    """Return a class attribute of the marks that hold."""
    classes = " ".join(name for name, holds in marks.items() if holds)
    return f' class="{classes}"' if classes else ""
