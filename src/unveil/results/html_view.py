r"""A view as HTML, with its style sheet.

Terminal and HTML start from the same cells (`results.terminal`), so a value is written in one way. A value is data, so it is
never read as markup: it goes into the terminal as `rich.text.Text`, into HTML escaped, and anything that would control a
terminal or change the reading direction (control characters, escapes, line breaks) is written out, as in ``\x1b``.

Bars run from 0 to 1; longer and redder is riskier.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from unveil.formats import visible
from unveil.results.terminal import HEADER, WORD, WrittenCell, WrittenColumn, columns_of, figure_cell, risk_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.results.views import Chart, Figure, Table, View

__all__ = ["html_parts", "html_table", "style_sheet", "to_html"]


_STEPS = 40
_SHADES = 4
"""The number of steps of the shade behind a cell."""
_LOWEST_HEADING = 6
_CODE, _WORD_OF_CODE = re.compile("`([^`]+)`"), re.compile(r"\S+")

# Text and lines take the colours of what surrounds them: a notebook's theme need not be the system's.
_CSS = """\
.unveil-view { line-height: 1.45; text-align: left; }
.unveil-view .unveil-title { font-size: 1.4em; line-height: 1.25; margin: 0 0 0.8em; font-weight: 650; }
.unveil-view .unveil-banner { border: 2px solid #b5542f; padding: 0.5em 0.8em; margin: 0 0 1.2em; font-weight: 650; }
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
.unveil-view .unveil-chart .unveil-rule { fill: none; stroke: #b5542f; stroke-dasharray: 5 3; }
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


# A notebook has a style for every table, list and heading in an output. Our rules name the card three times, so that they take
# precedence, and what they leave open is as a browser has it, not as the notebook does.
_RESET = """\
.unveil-view :is(table, thead, tbody, tr, th, td, dl, dt, dd, figure, figcaption, p, ul, li, h1, h2, h3, h4, h5, h6, section,
  details, summary, code, span) { all: revert; }
"""


def to_html(view: View) -> str:
    """Return an HTML fragment of a view for a notebook: one element with its own style, no script, and nothing fetched."""
    css, markup = html_parts(view)
    own = (_RESET + css).replace(".unveil-view", ".unveil-view" * 3)
    return f'<div class="unveil-view">\n<style>\n{own}</style>\n{markup}</div>\n'


def html_parts(view: View, *, level: int = 2) -> tuple[str, str]:
    """Return the style sheet and the markup of a view, for an element of class `unveil-view`.

    No element has a `style` attribute, so that a page can forbid every style except its own sheet.
    """
    steps: set[int] = set()
    markup = _html_view(view, level, steps)
    shades = "".join(_shade_rule(step) for step in range(_SHADES + 1) if f"unveil-h{step}" in markup)
    return _CSS + "".join(map(_step_rule, sorted(steps))) + shades, markup


def style_sheet() -> str:
    """Return the style sheet of every view, for a page that shows several."""
    return _CSS + "".join(map(_step_rule, range(_STEPS + 1))) + "".join(map(_shade_rule, range(_SHADES + 1)))


def html_table(table: Table) -> str:
    """Return the markup of one table, for an element of class `unveil-view`; its style is in `style_sheet`."""
    return _html_table(table, set())


def _html_view(view: View, level: int, steps: set[int]) -> str:
    """Return the markup of a view and of its parts; the steps of their bars are added to `steps`."""
    heading = min(level, _LOWEST_HEADING)
    parts = [f'<p class="unveil-banner">{_prose(view.banner)}</p>\n'] if view.banner else []
    parts.append(f'<h{heading} class="unveil-title">{_escaped(view.title)}</h{heading}>\n')
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
    """Return a remark in which text between backticks is code, whose lines break only between its words."""
    return _CODE.sub(lambda code: "<code>" + _WORD_OF_CODE.sub(r"<span>\g<0></span>", code[1]) + "</code>", _escaped(text))


def _html_definition(definition: str) -> str:
    if not definition:
        return ""
    return f'<details class="unveil-definition"><summary>definition</summary><p>{_prose(definition)}</p></details>\n'


def _html_charts(charts: Sequence[Chart]) -> str:
    """Return the charts side by side, if there is room."""
    if not charts:
        return ""
    from unveil.results.svg import svg

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
        value = figure_cell(figure)
        words = " unveil-words" if len(value.text) > WORD else " unveil-null" if value.kind == "null" else ""
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
    columns = columns_of(table)
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


def _html_header(column: WrittenColumn) -> str:
    marks = _marks({"unveil-number": column.is_number, "unveil-long": len(column.name) > HEADER})
    bar = '<td class="unveil-meter"></td>' if column.has_bar else ""
    return f'<th scope="col"{marks}>{html.escape(column.name)}</th>{bar}'


def _html_cell(cell: WrittenCell, column: WrittenColumn, steps: set[int]) -> str:
    is_null, is_long = cell.kind == "null", not column.is_number and len(cell.text) > WORD
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


def _html_hint(cell: WrittenCell) -> str:
    """Return the hint that is shown when the pointer rests on a cell."""
    return f' title="{_escaped(cell.mark.hint)}"' if cell.mark is not None and cell.mark.hint else ""


def _shade_rule(step: int) -> str:
    r, g, b = risk_colour(step / _SHADES)
    return (
        f".unveil-view td.unveil-h{step} {{ background: rgba({r}, {g}, {b}, 0.28); padding-left: 0.5em; "
        "-webkit-print-color-adjust: exact; print-color-adjust: exact; }\n"
    )


def _marks(marks: dict[str, bool]) -> str:
    """Return a class attribute with the marks that are set."""
    classes = " ".join(name for name, holds in marks.items() if holds)
    return f' class="{classes}"' if classes else ""
