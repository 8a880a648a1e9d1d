"""The page and the chart of speed in the documentation, made from the stored figures, so that none is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.record import Record
from unveil.formats import visible
from unveil.results import Chart
from unveil.results.svg import svg

__all__ = ["DOCS", "chart", "page", "write_page"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
_HEAD = """\
# Speed

How long does `unveil` take for a job, compared with the tool that one would use instead? Each ratio is of two times taken one
after the other in the same run; a star marks a tool that was not run, whose time was taken earlier on a similar machine. `make
bench` measures everything again, `python -m benchmarks --store` accepts the figures and writes this page, and
`benchmarks/README.md` says what is compared with what.

## Against other tools

![Time of unveil as a share of the other tool's](speed.svg)

The grey bar is the other tool's time, the blue one that of `unveil` for the same job; the number is its share. A number over 1,
with a full bar, says that `unveil` takes longer, as it may if the other tool does only a part of the job, such as a plain
group-by. That is so for the rate computed by hand with pandas, which is one number, while `unveil` also gives the rate of every
value, the kind of identifier and what chance alone would give. ARX's local recoding in rounds of 0.1 % of the records takes
longer, but loses less for k = 5: every round searches all remaining records, and `unveil` gathers records within blocks. The
memory of a count grows little with the file: small files take less elsewhere, large ones less here.

## All figures

| what | measured | goal | met |
| --- | --- | --- | --- |
"""
_SPACE = 16
_STYLE = """<style>
  svg { font: 12.5px system-ui, sans-serif; fill: #1f2328 }
  .card { fill: #fff; stroke: #d1d9e0 }
  .unveil-mark { fill: #2f6ab5 }
  .unveil-rest { fill: #8080804d }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3 }
    .card { fill: #12161c; stroke: #3d444d }
    .unveil-mark { fill: #4a8ae0 }
  }
</style>
"""


def write_page(parts: Mapping[str, Record], folder: Path = DOCS) -> None:
    """Write the page and the chart."""
    folder.joinpath("speed.md").write_text(page(parts), encoding="utf-8")
    folder.joinpath("speed.svg").write_text(chart(parts), encoding="utf-8")


def page(parts: Mapping[str, Record]) -> str:
    """Return the page: every stored figure with its goal, and the machines they were measured on."""
    words = {True: "yes", False: "no", None: ""}
    lines = (f"| {row['what']} | {row['measured']} | {row['goal']} | {words[row['met']]} |\n" for row in _rows(parts))
    return _HEAD + "".join(lines) + "\n## Measured on\n\n" + "".join(_places(parts))


def _rows(parts: Mapping[str, Record]) -> Iterator[Mapping[str, Any]]:
    for record in parts.values():
        yield from record["rows"]


def _places(parts: Mapping[str, Record]) -> Iterator[str]:
    """Yield a line for each machine, day and version, with the parts that were measured there."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for part, record in parts.items():
        places.setdefault((record["machine"], record["date"], record["version"]), []).append(part)
    for (machine, date, version), names in places.items():
        yield f"- {machine}; `unveil` {version}, {date}: {', '.join(f'`{name}`' for name in names)}\n"


def chart(parts: Mapping[str, Record]) -> str:
    """Return a bar for each comparison with another tool, the largest gain first, on a card of its own colour."""
    shares = [
        (row["against"], 1.0 / row["value"] if row["better"] == "higher" else row["value"])
        for row in _rows(parts)
        if row["against"] and row["value"] is not None
    ]
    ordered = tuple(sorted(shares, key=lambda row: row[1]))
    drawn = svg(Chart("speed", "bars", "Time of unveil as a share of the other tool's", ("tool", "share"), ordered), visible)
    width, height = (float(side) + 2 * _SPACE for side in re.findall(r'viewBox="0 0 (\S+) (\S+)"', drawn)[0])
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-_SPACE} {-_SPACE} {width:g} {height:g}" width="{width:g}"'
    card = f'<rect class="card" x="{0.5 - _SPACE}" y="{0.5 - _SPACE}" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>\n'
    head, body = re.sub(r'<svg class="\S+" viewBox="[^"]+"', opening, drawn).split("</desc>\n", 1)
    return f"{head}</desc>\n{_STYLE}{card}{body}"
