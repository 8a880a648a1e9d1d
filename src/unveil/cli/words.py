"""The words of the command line: where the library names an argument, the command line has an option."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.results import View

__all__ = ["in_options", "remember_options", "said_in_options"]

_options: ContextVar[dict[str, str]] = ContextVar("_options", default={})  # noqa: B039 - it is replaced, never changed
"""The options of the verb that runs, by the arguments that they stand for."""

_ARGUMENT = re.compile(r"`([a-z][a-z_]*)`")
_PLURALS = (("ies", "y"), ("s", ""))
_WHOLE = "the whole answer has"


def remember_options(parameters: Iterable[Any]) -> None:
    """Take over the options of a verb."""
    names = [name for one in parameters for name in one.opts if name.startswith("--")]
    _options.set({name.removeprefix("--").replace("-", "_"): name for name in names})


def said_in_options(text: str) -> str:
    """Return a text of the library with an option for each argument that the verb has one for."""
    options = _options.get()
    if "json" in options:
        text = text.replace(_WHOLE, "--json has")
    return _ARGUMENT.sub(lambda named: options.get(_singular(named[1], options), named[0]), text)


def in_options(view: View) -> View:
    """Return a view whose words are those of the command line."""
    from unveil.results.python_words import worded

    return worded(view, said_in_options)


def _singular(word: str, options: dict[str, str]) -> str:
    """Return the name of the option that is repeated for an argument that takes several values, if there is one."""
    forms = [word, *(word.removesuffix(ending) + short for ending, short in _PLURALS if word.endswith(ending))]
    return next((form for form in forms if form in options), word)
