"""Cells and columns of a table as every rendering shows them: text that cannot mislead, cut if it is long."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from unveil.results.numbers import number
from unveil.results.views import Between, Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.results.views import Figure, Table

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


_JOINERS = "\u200c\u200d"  # they hold emoji and Persian words together, and steer nothing


_LONGEST = 500


_INFINITE = {"inf": math.inf, "-inf": -math.inf}


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
class WrittenCell:
    """A value as it is shown."""

    text: str
    kind: Literal["number", "null", "text"]
    share: float | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column of shown values; it is right-aligned when it holds numbers only."""

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
    """Return what a person would read of a text."""
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
    """Return the cell of a figure's value; infinity may come as JSON writes it."""
    value = figure.value
    return _cell(_INFINITE.get(value, value) if isinstance(value, str) else value)
