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

_NAMED_FIRST = re.compile(r"^[a-z_]+(?= '.*' is unknown; | is [^;]*; it must )", re.DOTALL)
"""The argument with which a refusal begins."""
_ENDINGS = (("y", "ies"), ("", "s"))
"""How an argument that takes several values is named after the option that is repeated for it."""
_WHOLE = "the whole answer has"


def remember_options(parameters: Iterable[Any]) -> None:
    """Take over the options of a verb."""
    names = [name for one in parameters for name in one.opts if name.startswith("--")]
    options = {name.removeprefix("--").replace("-", "_"): name for name in names}
    several = {
        one.removesuffix(ending) + plural: option
        for one, option in options.items()
        for ending, plural in _ENDINGS
        if one.endswith(ending)
    }
    _options.set(several | options)


def said_in_options(text: str) -> str:
    """Return a text of the library with an option for each argument that the verb has one for."""
    from unveil.results.wording import reworded

    phrases, options = _words()
    return reworded(_NAMED_FIRST.sub(lambda named: options.get(named[0], named[0]), text), phrases, options)


def in_options(view: View) -> View:
    """Return a view whose words are those of the command line."""
    from unveil.results.wording import in_words

    return in_words(view, *_words())


def _words() -> tuple[dict[str, str], dict[str, str]]:
    """Return the phrases and the arguments for which the command line has other words."""
    options = _options.get()
    return {_WHOLE: "--json has"} if "json" in options else {}, options
