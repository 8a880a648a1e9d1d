"""The crosstab of a table: the last dimension across, the others down, groups before their members, which are indented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.results import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.classification import Classification

__all__ = ["crosstab", "crosstab_rows"]

_MOST_ROWS = 200
_MOST_COLUMNS = 40
_INDENT = "\u2007"
"""A space as wide as a digit, which neither terminals nor browsers collapse."""


def crosstab(
    dimensions: Sequence[Classification],
    entries: Sequence[Any],
    kept: NDArray[np.bool_] | None = None,
    *,
    title: str = "",
    note: str = "",
) -> tuple[Table, ...]:
    """Return the entries of all cells as one table to show; for a very large table, its first rows and columns."""
    header, rows = crosstab_rows(dimensions, entries, kept, indent=True)
    cut = []
    if len(rows) > _MOST_ROWS:
        cut.append(f"the first {_MOST_ROWS} of {len(rows):,} rows")
    if len(header) > _MOST_COLUMNS:
        cut.append(f"the first {_MOST_COLUMNS} of {len(header):,} columns")
    notes = " ".join([*([note] if note else []), *([f"Shown are {' and '.join(cut)}; a file has all."] if cut else [])])
    shown = tuple(tuple(row[:_MOST_COLUMNS]) for row in rows[:_MOST_ROWS])
    return (Table(tuple(header[:_MOST_COLUMNS]), shown, title=title, note=notes),)


def crosstab_rows(
    dimensions: Sequence[Classification], entries: Sequence[Any], kept: NDArray[np.bool_] | None = None, *, indent: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the rows of a crosstab; cells that are not part of the table are None."""
    *down, across = dimensions
    width = len(across)
    header = [" / ".join(one.name for one in down) or across.name, *across.codes]
    rows = []
    for at in range(len(entries) // width):
        cells = range(at * width, (at + 1) * width)
        row = [entries[cell] if kept is None or kept[cell] else None for cell in cells]
        if kept is None or kept[at * width : (at + 1) * width].any():
            rows.append([_label(down, at, indent=indent), *row])
    return header, rows


def _label(down: Sequence[Classification], at: int, *, indent: bool) -> str:
    """Return the label of a row: the codes of its dimensions, the last one indented by its depth."""
    if not down:
        return ""
    places = np.unravel_index(at, [len(one) for one in down])
    codes = [one.codes[int(place)] for one, place in zip(down, places, strict=True)]
    space = _INDENT * 2 * down[-1].depth[int(places[-1])] if indent else ""
    return " / ".join([*codes[:-1], space + codes[-1]] if len(codes) > 1 else [space + codes[0]])
