"""What does the README show? A chart of `unveil assess` as a file of its own: python website/picture.py > docs/pairs.svg."""  # noqa: INP001

from __future__ import annotations

import re
import sys

import unveil
from unveil.formats import visible
from unveil.results.svg import svg

_KEY = ["age", "sex", "race", "education", "marital-status", "native-country", "occupation", "workclass"]
_STYLE = """<style>
  svg { font: 12.5px system-ui, sans-serif; fill: #1f2328 }
  .card { fill: #fff; stroke: #d1d9e0 }
  .unveil-mark { fill: #2f6ab5 }
  .unveil-small { font-size: 11px }
  .unveil-strong { fill: #fff }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3 }
    .card { fill: #12161c; stroke: #3d444d }
    .unveil-mark { fill: #4a8ae0 }
  }
</style>
"""
_SPACE = 16


def picture() -> str:
    """Return the heat map of Adult's pairs, on a card of its own colour, so that it can be read on any page."""
    chart = unveil.assess("adult", key=_KEY).view().every_chart()["pairs"]
    drawn = svg(chart, visible)
    width, height = (float(side) + 2 * _SPACE for side in re.findall(r'viewBox="0 0 (\S+) (\S+)"', drawn)[0])
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-_SPACE} {-_SPACE} {width:g} {height:g}" width="{width:g}"'
    card = f'<rect class="card" x="{0.5 - _SPACE}" y="{0.5 - _SPACE}" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>\n'
    head, body = re.sub(r'<svg class="\S+" viewBox="[^"]+"', opening, drawn).split("</desc>\n", 1)
    return f"{head}</desc>\n{_STYLE}{card}{body}"


if __name__ == "__main__":
    sys.stdout.write(picture())
