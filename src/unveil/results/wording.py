"""A view in the words of its reader: where a page or a terminal shows commands, a notebook has Python calls.

Only what we say ourselves is translated (titles, remarks, definitions), never a cell of a table, which is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unveil.results.views import View

__all__ = ["in_python", "in_words", "reworded"]

_PHRASES = {
    "the whole answer has": "`to_dict()` has",
    "Run: `": "In Python: `",
}
_ARGUMENT = re.compile(r"`([a-z][a-z_]*)`")
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")


def in_python(view: View, calls: Mapping[str, str]) -> View:
    """Return a view whose words are those of Python.

    Parameters
    ----------
    view
        What a person should see.
    calls
        The call that does what a command does, by the command.
    """
    phrases = {**calls, **_PHRASES}

    def said(text: str) -> str:
        for command, python in phrases.items():
            text = text.replace(command, python)
        return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", text)

    return _worded(view, said)


def in_words(view: View, phrases: Mapping[str, str], names: Mapping[str, str]) -> View:
    """Return a view whose words are those of its reader: phrases, and the names of arguments, as `reworded` has them."""
    return _worded(view, lambda text: reworded(text, phrases, names))


def reworded(text: str, phrases: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return a text with other phrases, and with a name of the reader's for each argument in backticks that has one.

    Examples
    --------
    >>> reworded("name `hierarchies` or a `seed`", {"name": "give"}, {"hierarchies": "--hierarchy"})
    'give --hierarchy or a `seed`'
    """
    for phrase, other in phrases.items():
        text = text.replace(phrase, other)
    return _ARGUMENT.sub(lambda named: names.get(named[1], named[0]), text)


def _worded(view: View, said: Callable[[str], str]) -> View:
    """Return a view with other words for what we say ourselves, never for data."""
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
