"""What does a set of labelled points look like? A small SVG picture: no script, nothing fetched, colours of what surrounds it."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Dot", "scatter"]

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 20, 60
_TICKS = 5
_MARKED = "#0969da"
_FLIP = 0.7
"""Beyond this share of the width a label stands left of its dot."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point with its name; a marked one is filled."""

    label: str
    x: float
    y: float
    marked: bool


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a number stands on an axis that runs from `start` to `end` in the picture."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round numbers inside."""
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough)
        return [step * at for at in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def scatter(dots: Sequence[Dot], *, x: str, y: str) -> str:
    """Return the points as an SVG picture.

    Parameters
    ----------
    dots
        The points; their numbers are finite.
    x, y
        What the axes say.
    """
    across = _scale([dot.x for dot in dots], _LEFT, _WIDTH - _RIGHT)
    up = _scale([dot.y for dot in dots], _HEIGHT - _BOTTOM, _TOP)
    parts = [*_axes(across, up, x, y)]
    for dot in sorted(dots, key=lambda dot: dot.marked):
        parts += _drawn(dot, across.at(dot.x), up.at(dot.y))
    said = html.escape(f"{y} against {x}")
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="currentColor" aria-label="{said}">\n{body}\n</svg>\n'
    )


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.08 or max(abs(high) * 0.08, 0.5)
    return _Scale(low - room, high + room, start, end)


def _axes(across: _Scale, up: _Scale, x: str, y: str) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - _RIGHT}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:g}" y="{_HEIGHT - 14}" text-anchor="middle">{html.escape(x)}</text>',
        f'<text transform="translate(16 {(_TOP + bottom) / 2:g}) rotate(-90)" text-anchor="middle">{html.escape(y)}</text>',
    ]
    parts += [
        f'<text x="{across.at(tick):.1f}" y="{bottom + 18}" text-anchor="middle" opacity="0.75">{tick:g}</text>'
        for tick in map(_plain, across.ticks())
    ]
    parts += [
        f'<text x="{_LEFT - 8}" y="{up.at(tick) + 4:.1f}" text-anchor="end" opacity="0.75">{tick:g}</text>'
        for tick in map(_plain, up.ticks())
    ]
    return parts


def _plain(tick: float) -> float:
    """Return a tick without what rounding left behind."""
    return float(f"{tick:.10g}") + 0.0


def _drawn(dot: Dot, x: float, y: float) -> list[str]:
    fill = _MARKED if dot.marked else "none"
    left = x > _LEFT + _FLIP * (_WIDTH - _LEFT - _RIGHT)
    anchor, shift = ("end", -10) if left else ("start", 10)
    weight = ' font-weight="bold"' if dot.marked else ' opacity="0.75"'
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{_MARKED}" stroke-width="1.5"/>',
        f'<text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}"{weight}>{html.escape(dot.label)}</text>',
    ]
