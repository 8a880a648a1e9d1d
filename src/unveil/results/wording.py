"""The words of a view: cells that cannot mislead, however long or odd they are, and commands or Python calls.

A page or a terminal shows commands, a notebook Python calls. Only our own words are translated (titles, remarks, definitions),
never a cell of a table, which is data.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from unveil.formats import number
from unveil.results.views import Between, Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.results.views import Figure, Table, View

__all__ = [
    "in_python",
    "in_words",
    "reworded",
]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


_JOINERS = "\u200c\u200d"  # they join emoji and Persian words, and control nothing


_LONGEST = 500


_INFINITE = {"inf": math.inf, "-inf": -math.inf}


def visible(text: str) -> str:
    r"""Return the text with all invisible characters written out.

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


_PHRASES = {
    "the whole answer has": "`to_dict()` has",
    "Run: `": "In Python: `",
}
_ARGUMENT = re.compile(r"`([a-z][a-z_]*)`")
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")


def in_python(view: View, calls: Mapping[str, str]) -> View:
    """Return a view in the words of Python.

    Parameters
    ----------
    view
        The view to translate.
    calls
        For each command, the equivalent Python call.
    """
    phrases = {**calls, **_PHRASES}

    def said(text: str) -> str:
        for command, python in phrases.items():
            text = text.replace(command, python)
        return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", text)

    return _worded(view, said)


def in_words(view: View, phrases: Mapping[str, str], names: Mapping[str, str]) -> View:
    """Return a view in the words of its reader: phrases, and the names of arguments, as in `reworded`."""
    return _worded(view, lambda text: reworded(text, phrases, names))


def reworded(text: str, phrases: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return a text with other phrases, and with the reader's names for the arguments in backticks that have one.

    Examples
    --------
    >>> reworded("name `hierarchies` or a `seed`", {"name": "give"}, {"hierarchies": "--hierarchy"})
    'give --hierarchy or a `seed`'
    """
    for phrase, other in phrases.items():
        text = text.replace(phrase, other)
    return _ARGUMENT.sub(lambda named: names.get(named[1], named[0]), text)


def _worded(view: View, said: Callable[[str], str]) -> View:
    """Return a view with other words in our own texts, never in data."""
    return replace(
        view,
        banner=said(view.banner),
        lead=said(view.lead),
        figures=tuple(replace(one, meaning=said(one.meaning), definition=said(one.definition)) for one in view.figures),
        tables=tuple(
            replace(one, title=said(one.title), note=said(one.note), definition=said(one.definition)) for one in view.tables
        ),
        charts=tuple(replace(one, note=said(one.note), definition=said(one.definition)) for one in view.charts),
        notes=tuple(map(said, view.notes)),
        parts=tuple(_worded(part, said) for part in view.parts),
    )
