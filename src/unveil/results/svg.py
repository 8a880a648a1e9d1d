"""Charts as small SVG pictures inside the page: crisp, printable, read aloud by title and description.

No script, no style of its own and nothing fetched: classes take their colours from the sheet in `html_view`, text takes the
colour of its surroundings. Every value of the data is escaped. A picture is 480 units wide, so that it can be read on a
telephone.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.formats import number

if TYPE_CHECKING:
    from unveil.results.views import Chart

__all__ = ["svg"]

_WIDTH = 480
_LEFT = 140
_ROW = 25
_LONGEST_LABEL = 19
_STRONG = 0.85
"""From this share on, a cell of the heat map is dark, and its text light."""
_CELL_WITH_TEXT = 24
_TICKS = 4
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""The dashes that distinguish the lines of one picture."""
_FEWEST_COLUMNS = 8
"""Columns without labels are as wide as if there were at least this many."""
_LETTER, _LINE = 7.2, 13.0
"""The largest average width of a letter in a label, and the height of a line."""
_AXIS = 64
"""The position of the vertical axis of points."""
_LONGEST_SMALL = 22
"""The number of letters of a small line that fit beside a picture."""


def svg(chart: Chart, visible: Callable[[str], str]) -> str:
    """Return a chart as an SVG element of an HTML page.

    Parameters
    ----------
    chart
        The chart to draw.
    visible
        A function that writes out everything in a text that cannot be seen.
    """
    said = _Words(visible)
    parts, height = _DRAWN[chart.kind](chart, said)
    return (
        f'<svg class="unveil-chart" viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{said.plain(chart.title)}">\n'
        f"<title>{said.plain(chart.title)}</title><desc>{said.plain(_described(chart))}</desc>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


class _Words:
    """A writer of data into the picture."""

    def __init__(self, visible: Callable[[str], str]) -> None:
        self._visible = visible

    def plain(self, value: object) -> str:
        """Return a text escaped, with nothing hidden in it."""
        return html.escape(self._visible(str(value)))

    def label(self, value: object) -> str:
        """Return a text truncated to fit beside a picture; the whole text is a title that a pointer shows."""
        text = str(value)
        if len(text) <= _LONGEST_LABEL:
            return self.plain(text)
        return f"{self.plain(text[: _LONGEST_LABEL - 1])}…<title>{self.plain(text)}</title>"

    def side(self, y: float, value: object) -> str:
        """Return the label left of a row: one line, or two small ones if it is long."""
        text = str(value)
        if len(text) <= _LONGEST_LABEL:
            return _text(_LEFT - 8, y, self.plain(text), "end")
        first, rest = _broken(text)
        second = rest if len(rest) <= _LONGEST_SMALL else f"{rest[: _LONGEST_SMALL - 1]}…"
        title = f"<title>{self.plain(text)}</title>"
        return _text(_LEFT - 8, y - 6, self.plain(first) + title, "end", "unveil-small") + _text(
            _LEFT - 8, y + 6, self.plain(second) + title, "end", "unveil-small"
        )


def _broken(text: str) -> tuple[str, str]:
    """Break a long name into two lines, after a separator between its words if possible."""
    places = [at + 1 for at, sign in enumerate(text[:_LONGEST_SMALL]) if sign in " -_/.,:+"]
    at = places[-1] if places and len(text) - places[-1] <= _LONGEST_SMALL else _LONGEST_SMALL
    return text[:at], text[at:]


def _described(chart: Chart) -> str:
    """Return a description of the picture in words, for those who do not see it."""
    if not chart.rows:
        return "nothing to show"
    if chart.kind == "lines":
        labels = list(dict.fromkeys(str(row[0]) for row in chart.rows))
        ends = {row[0]: row[2] for row in chart.rows}
        return "; ".join(f"{label}: ends at {number(ends[label])}" for label in labels) + f"; by {chart.columns[1]}"
    if chart.kind == "points":
        return f"{chart.columns[2]} against {chart.columns[1]} of {', '.join(str(row[0]) for row in chart.rows)}"
    if chart.kind == "dots":
        return f"{len(chart.rows):,} values of {len({row[0] for row in chart.rows}):,} attributes; {chart.note}"
    highest = max(chart.rows, key=lambda row: row[2] if chart.kind == "heat" else row[1])
    where = " and ".join(map(str, highest[:2])) if chart.kind == "heat" else highest[0]
    return f"{len(chart.rows):,} figures; the highest is {number(highest[2 if chart.kind == 'heat' else 1])}, of {where}"


def _text(x: float, y: float, content: str, anchor: str = "start", mark: str = "") -> str:
    marked = f' class="{mark}"' if mark else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{marked}>{content}</text>'


def _bars(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw one bar per row, its length a share; a second share is a mark across it."""
    room, parts = _WIDTH - _LEFT - 62, []
    for at, (label, share, *mark) in enumerate(chart.rows):
        top = at * _ROW
        length = room * min(max(share, 0.0), 1.0)
        parts += [
            said.side(top + 17, label),
            f'<rect class="unveil-rest" x="{_LEFT}" y="{top + 5}" width="{room}" height="15" rx="2"/>',
            f'<rect class="unveil-mark" x="{_LEFT}" y="{top + 5}" width="{length:.1f}" height="15" rx="2"/>',
            _text(_WIDTH, top + 17, said.plain(number(share)), "end"),
        ]
        if mark and mark[0] is not None:
            across = _LEFT + room * min(max(mark[0], 0.0), 1.0)
            parts.append(
                f'<rect class="unveil-line" x="{across - 1:.1f}" y="{top + 2}" width="2" height="21">'
                f"<title>{said.plain(f'{chart.columns[2]}: {number(mark[0])}')}</title></rect>"
            )
    return parts, max(len(chart.rows), 1) * _ROW + 4


def _columns(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw one column per row, its height an amount above it."""
    bottom, top = 190, 24
    highest = max((row[1] for row in chart.rows), default=0) or 1
    step = _WIDTH / max(len(chart.rows), 1)
    parts = [f'<path class="unveil-axis" d="M0 {bottom}H{_WIDTH}"/>']
    for at, (label, amount) in enumerate(chart.rows):
        height = (bottom - top) * amount / highest
        middle = (at + 0.5) * step
        parts += [
            (
                f'<rect class="unveil-mark" x="{middle - step * 0.38:.1f}" y="{bottom - height:.1f}" width="{step * 0.76:.1f}" '
                f'height="{height:.1f}"/>'
            ),
            _text(middle, bottom - height - 6, said.plain(_amount(amount)), "middle", "unveil-small"),
            _text(middle, bottom + 17, said.plain(label), "middle", "unveil-small"),
        ]
    parts.append(_text(_WIDTH / 2, bottom + 38, said.plain(chart.columns[0]), "middle", "unveil-faint"))
    return parts, bottom + 46


def _spark(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw small columns side by side; the meaning of each is a title that a pointer shows."""
    bottom = 58
    highest = max((row[1] for row in chart.rows), default=0) or 1
    step = _WIDTH / max(len(chart.rows), _FEWEST_COLUMNS)
    parts = [f'<path class="unveil-axis" d="M0 {bottom + 0.5}H{_WIDTH}"/>']
    for at, (label, amount) in enumerate(chart.rows):
        height = max(bottom * amount / highest, 1.5 if amount else 0.0)
        parts.append(
            f'<rect class="unveil-mark" x="{at * step + 1:.1f}" y="{bottom - height:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height:.1f}" rx="1.5"><title>{said.plain(f"{label}: {_amount(amount)}")}</title></rect>'
        )
    return parts, bottom + 2


def _amount(value: float) -> str:
    """Return a share as a percentage, and a count unchanged."""
    if isinstance(value, int):
        return number(value)
    percent = 100 * value
    return "0" if not value else "<0.1 %" if percent < 0.05 else f"{percent:.1f} %"  # noqa: PLR2004 - it would read 0.0


def _dots(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw one line per label with its dots: the larger, the more records."""
    labels = list(dict.fromkeys(row[0] for row in chart.rows))
    low = min((min(row[2] for row in chart.rows), 0.0)) if chart.rows else 0.0
    most = max((row[3] for row in chart.rows), default=1)
    left, right = _LEFT + 8, _WIDTH - 12

    def place(value: float) -> float:
        return left + (value - low) / (1.0 - low) * (right - left)

    bottom = len(labels) * (_ROW + 2) + 4
    parts = [
        f'<path class="unveil-axis" d="M{place(tick):.1f} 0V{bottom}"/>'
        + _text(place(tick), bottom + 16, f"{tick:g}", "middle", "unveil-small")
        for tick in _ticks(low)
    ]
    for at, name in enumerate(labels):
        middle = at * (_ROW + 2) + 16
        parts.append(said.side(middle + 4, name))
        parts.append(f'<path class="unveil-axis" d="M{left} {middle}H{right}"/>')
        for _, what, position, records in sorted((row for row in chart.rows if row[0] == name), key=lambda row: -row[3]):
            size = 2.5 + 7 * math.sqrt(records / most)
            tip = f"{what}: {number(position)}, {number(records)} records"
            parts.append(
                f'<circle class="unveil-dot" cx="{place(position):.1f}" cy="{middle}" r="{size:.1f}"><title>{said.plain(tip)}'
                "</title></circle>"
            )
    parts.append(_text((left + right) / 2, bottom + 36, said.plain(chart.columns[2]), "middle", "unveil-faint"))
    return parts, bottom + 44


def _ticks(low: float) -> Iterator[float]:
    """Return round numbers from `low` to 1, including 1."""
    step = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e6) if (1.0 - low) / step <= _TICKS + 1)
    for at in range(math.floor((1.0 - low) / step) + 1):
        yield 1.0 - at * step + 0.0


def _heat(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw one cell per pair, the darker the higher its share."""
    names = list(dict.fromkeys(row[0] for row in chart.rows))
    side = min((_WIDTH - _LEFT - 4) / max(len(names), 1), 46.0)
    parts = []
    for row, column, share in chart.rows:
        x, y = _LEFT + names.index(column) * side, names.index(row) * side
        tip = row if row == column else f"{row} + {column}"
        parts.append(
            f'<rect class="unveil-mark" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{side - 2:.1f}" height="{side - 2:.1f}" rx="2" '
            f'fill-opacity="{0.06 + 0.94 * share:.3f}"><title>{said.plain(f"{tip}: {number(share)}")}</title></rect>'
        )
        if side >= _CELL_WITH_TEXT:
            mark = "unveil-small unveil-strong" if share >= _STRONG else "unveil-small"
            parts.append(_text(x + side / 2, y + side / 2 + 4, said.plain(_short(share)), "middle", mark))
    for at, name in enumerate(names):
        parts.append(said.side((at + 0.5) * side + 4, name))
        turned = f'transform="translate({_LEFT + (at + 0.5) * side + 4:.1f} {len(names) * side + 10:.1f}) rotate(-50)"'
        parts.append(f'<text {turned} text-anchor="end">{said.label(name)}</text>')
    longest = min(max(map(len, names), default=0), _LONGEST_LABEL)
    return parts, len(names) * side + 24 + 5.2 * longest


def _points(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw one circle per row with its label, filled if it is marked; requirements as lines; and which direction is better."""
    left, right, top, bottom = _AXIS, _WIDTH - 16, 20, 268
    rules = {axis: [place for name, _, place in chart.rules if name == axis] for axis in ("across", "up")}
    across = _Scale.over([*(row[1] for row in chart.rows), *rules["across"]], left, right)
    up = _Scale.over([*(row[2] for row in chart.rows), *rules["up"]], bottom, top)
    parts = [f'<path class="unveil-axis" d="M{left} {top}V{bottom}H{right}"/>']
    parts += [_text(across.at(tick), bottom + 16, f"{tick:g}", "middle", "unveil-small") for tick in across.ticks()]
    parts += [_text(left - 6, up.at(tick) + 4, f"{tick:g}", "end", "unveil-small") for tick in up.ticks()]
    for axis, words, place in chart.rules:
        if axis == "up":
            path, x, y, anchor = f"M{left} {up.at(place):.1f}H{right}", float(right), up.at(place) - 5, "end"
        else:
            path, x, y, anchor = f"M{across.at(place):.1f} {top}V{bottom}", across.at(place) + 4, top + 10.0, "start"
        parts.append(f'<path class="unveil-rule" d="{path}"/>')
        parts.append(_text(x, y, said.plain(words), anchor, "unveil-faint"))
    taken = [(across.at(x) - 6, across.at(x) + 6, up.at(y) + 4) for _, x, y, _ in chart.rows]
    for label, x, y, marked in sorted(chart.rows, key=lambda row: row[3] is True):
        parts.append(_point(across.at(x), up.at(y), marked=marked))
        parts.append(_beside(across.at(x), up.at(y), said, label, taken, faint=not marked))
    parts.append(_text((left + right) / 2, bottom + 36, said.plain(chart.columns[1]), "middle", "unveil-faint"))
    turned = f'transform="translate(12 {(top + bottom) / 2:.0f}) rotate(-90)"'
    parts.append(f'<text {turned} text-anchor="middle" class="unveil-faint">{said.plain(chart.columns[2])}</text>')
    parts += _better(chart.better, left, right, top, bottom)
    return parts, bottom + 44


def _point(x: float, y: float, *, marked: bool | None) -> str:
    """Return a filled circle, a hollow one, or a hollow square for the reference with which the others are compared."""
    if marked is None:
        return f'<rect class="unveil-hollow" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'
    return f'<circle class="{"unveil-mark" if marked else "unveil-hollow"}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _beside(x: float, y: float, said: _Words, label: object, taken: list[tuple[float, float, float]], *, faint: bool) -> str:
    """Return the label of a point where there is room: right of it, left, above, below, or further down; never outside."""
    whole = _LETTER * len(str(label))
    fits = whole <= max(_WIDTH - x - 9, x - _AXIS - 9)
    width = whole if fits else _LETTER * min(len(str(label)), _LONGEST_LABEL)
    right, left, middle = (x + 9, "start"), (x - 9 - width, "end"), (x - width / 2, "middle")
    side = right if x + 9 + width <= _WIDTH else (max(left[0], 0.0), "end")
    ending, beginning = (x + 5 - width, "end"), (x - 5, "start")
    places = [(*right, y + 4), (*left, y + 4)]
    places += [(*place, line) for place in (middle, ending, beginning) for line in (y - 11, y + 19)]
    places += [(*side, y + 4 + _LINE * down) for down in range(len(taken) + 1)]
    inside = [place for place in places if 0 <= place[0] <= _WIDTH - width]
    start, anchor, line = next((place for place in inside if not _covered(place[0], width, place[2], taken)), places[-1])
    taken.append((start, start + width, line))
    words = said.plain(label) if fits else said.label(label)
    at = start + width * ("start", "middle", "end").index(anchor) / 2
    return _text(at, line, words, anchor, "unveil-faint" if faint else "")


def _covered(start: float, width: float, line: float, taken: list[tuple[float, float, float]]) -> bool:
    """Whether a label would lie over a point or another label."""
    return any(abs(line - other) < _LINE and start < end and begin < start + width for begin, end, other in taken)


def _better(better: tuple[str, str], left: float, right: float, top: float, bottom: float) -> list[str]:
    """Return the words at the ends of the axes that state which direction is better."""
    across, up = better
    parts = []
    if across:
        place, anchor = (right, "end") if across == "higher" else (left, "start")
        words = "better \N{RIGHTWARDS ARROW}" if across == "higher" else "\N{LEFTWARDS ARROW} better"
        parts.append(_text(place, bottom + 36, words, anchor, "unveil-small"))
    if up:
        words = "\N{UPWARDS ARROW} safer" if up == "higher" else "\N{DOWNWARDS ARROW} safer"
        parts.append(_text(4, top - 8 if up == "higher" else bottom + 20, words, "start", "unveil-small"))
    return parts


def _lines(chart: Chart, said: _Words) -> tuple[list[str], float]:
    """Draw a line for each label, distinguished by their dashes, and the label at its end."""
    left, right, top, bottom = 64, _WIDTH - 16, 12, 200
    across = _Scale.over([row[1] for row in chart.rows], left, right)
    up = _Scale(min(row[2] for row in chart.rows), max(row[2] for row in chart.rows), bottom, top).from_zero()
    parts = [f'<path class="unveil-axis" d="M{left} {top}V{bottom}H{right}"/>']
    parts += [_text(across.at(tick), bottom + 16, f"{tick:g}", "middle", "unveil-small") for tick in across.ticks()]
    parts += [_text(left - 6, up.at(tick) + 4, f"{tick:g}", "end", "unveil-small") for tick in up.ticks()]
    labels = list(dict.fromkeys(row[0] for row in chart.rows))
    for at, label in enumerate(labels):
        points = [(across.at(x), up.at(y)) for name, x, y in chart.rows if name == label]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{_DASHES[at % len(_DASHES)]}"' if at else ""
        if len(points) == 1:
            parts.append(f'<circle class="unveil-mark" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3"/>')
        parts.append(f'<path class="unveil-hollow" d="M{path}"{dashes}/>')
        if len(labels) > 1:
            parts.append(f'<path class="unveil-hollow" d="M{left} {bottom + 54 + 16 * at}h28"{dashes}/>')
            parts.append(_text(left + 36, bottom + 58 + 16 * at, said.plain(label), "start", "unveil-small"))
    parts.append(_text((left + right) / 2, bottom + 36, said.plain(chart.columns[1]), "middle", "unveil-faint"))
    turned = f'transform="translate(12 {(top + bottom) / 2:.0f}) rotate(-90)"'
    parts.append(f'<text {turned} text-anchor="middle" class="unveil-faint">{said.plain(chart.columns[2])}</text>')
    return parts, bottom + 44 + (16 * len(labels) + 8 if len(labels) > 1 else 0)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The position of numbers on an axis that runs from `start` to `end` in the picture."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Scale:
        """Return a scale that contains all values, with some room around them."""
        low, high = min(values, default=0.0), max(values, default=1.0)
        room = (high - low) * 0.08 or max(abs(high) * 0.08, 0.5)
        return cls(low - room, high + room, start, end)

    def from_zero(self) -> _Scale:
        """Return the scale that begins at 0, or below if there are lower values, with some room above."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        return _Scale(low, high + ((high - low) * 0.08 or 1.0), self.start, self.end)

    def at(self, value: float) -> float:
        """Return the position of a number."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round numbers inside."""
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough)
        marks = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return [float(f"{step * at:.10g}") + 0.0 for at in marks]


def _short(share: float) -> str:
    """Return a share in two digits; a share that is not quite 0 or 1 is never written as such."""
    if share in (0.0, 1.0):
        return f"{share:g}"
    rounded = f"{share:.2f}"
    return ">.99" if rounded == "1.00" else "<.01" if rounded == "0.00" else rounded.removeprefix("0")


_DRAWN: dict[str, Callable[[Chart, _Words], tuple[Sequence[Any], float]]] = {
    "bars": _bars,
    "columns": _columns,
    "dots": _dots,
    "heat": _heat,
    "lines": _lines,
    "points": _points,
    "spark": _spark,
}
