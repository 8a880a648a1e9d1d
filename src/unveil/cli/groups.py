"""Options in groups, a few dataclasses for each verb; the library's words for them; and the files that they name.

An answer never overwrites the data that a verb reads.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from unveil.errors import ArgumentError, shown

__all__ = [
    "check_parameters",
    "check_read",
    "grouped",
    "option_words",
    "refuse_with",
    "refuse_without",
    "remember_options",
    "said_in_options",
    "typed",
]


def grouped(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Spread each parameter of a verb that is a dataclass of options into these options, for the command line.

    A group may contain another. No two groups of a verb may have options of the same name.
    """
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, kind in get_type_hints(verb, include_extras=True).items():
        if name == "return":
            continue
        if _is_group(kind):
            groups[name] = kind
            parameters += _options(kind)
        else:
            parameters.append(inspect.signature(verb).parameters[name].replace(annotation=kind, kind=_KEYWORD))

    def spread(**words: Any) -> Any:
        taken = {name: _filled(kind, words) for name, kind in groups.items()}
        return verb(**taken, **words)

    spread.__name__, spread.__doc__, spread.__module__ = verb.__name__, verb.__doc__, verb.__module__
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread


def typed(group: Any) -> dict[str, str]:
    """Return the fields of a group that differ from their defaults, with the words of their options."""
    return {
        one.name: f"--{_WORDS.get(one.name, one.name.replace('_', '-'))}"
        for one in fields(group)
        if getattr(group, one.name) not in (None, one.default) and not is_dataclass(getattr(group, one.name))
    }


def refuse_without(option: str, group: Any, *names: str) -> None:
    """Refuse options of a group that have no effect without another one, so that nobody believes that they had one."""
    for name, word in typed(group).items():
        if name in names:
            raise ArgumentError(f"{word} goes with {option}.")


def refuse_with(option: str, group: Any, *names: str) -> None:
    """Refuse options of a group, all or the named ones, that have no effect beside another one."""
    for name, word in typed(group).items():
        if not names or name in names:
            raise ArgumentError(f"{word} does not go with {option}.")


_WORDS = {
    "identity": "id", "mapping": "map", "record_id": "id", "settings": "set", "l_diversity": "l", "share": "alpha",
}  # fmt: skip
"""Options whose names differ from those of their fields."""
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind) and isinstance(kind, type)


def _members(group: type[Any]) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields of a group with their types."""
    hints = get_type_hints(group, include_extras=True)
    return ((one, hints[one.name]) for one in fields(group))


def _options(group: type[Any]) -> list[inspect.Parameter]:
    """Return the options of a group, including those of the groups that it contains, in order."""
    options: list[inspect.Parameter] = []
    for one, kind in _members(group):
        options += _options(kind) if _is_group(kind) else [_option(one, kind)]
    return options


def _option(one: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    return inspect.Parameter(one.name, _KEYWORD, default=default, annotation=annotation)


def _filled(group: type[Any], words: dict[str, Any]) -> Any:
    """Return a group with the values of the command line, which are removed from the words."""
    return group(**{one.name: _filled(kind, words) if _is_group(kind) else words.pop(one.name) for one, kind in _members(group)})


_arguments_options: ContextVar[dict[str, str]] = ContextVar("_arguments_options", default={})  # noqa: B039 - it is replaced, never changed
"""The options of the running verb, by the arguments that they represent."""

_NAMED_FIRST = re.compile(r"^[a-z_]+(?= '.*' is unknown; | is [^;]*; it must )", re.DOTALL)
"""The argument with which a refusal begins."""
_ENDINGS = (("y", "ies"), ("", "s"))
"""The endings that turn the name of a repeatable option into that of its argument."""
_WHOLE = "the whole answer has"


def remember_options(parameters: Iterable[Any]) -> None:
    """Store the options of a verb."""
    names = [name for one in parameters for name in one.opts if name.startswith("--")]
    options = {name.removeprefix("--").replace("-", "_"): name for name in names}
    several = {
        one.removesuffix(ending) + plural: option
        for one, option in options.items()
        for ending, plural in _ENDINGS
        if one.endswith(ending)
    }
    _arguments_options.set(several | options)


def said_in_options(text: str) -> str:
    """Return a text of the library with arguments replaced by the options that the verb has for them."""
    from unveil.results import reworded

    phrases, options = option_words()
    return reworded(_NAMED_FIRST.sub(lambda named: options.get(named[0], named[0]), text), phrases, options)


def option_words() -> tuple[dict[str, str], dict[str, str]]:
    """Return the phrases and the arguments for which the command line has other words, with these."""
    options = _arguments_options.get()
    return {_WHOLE: "--json has"} if "json" in options else {}, options


_WRITTEN = ("out", "link", "junit", "checkpoint", "sheet")
"""Options that name a file to write, if their value is a path; a correspondence to read is given as text."""

_UPDATED = ("baseline",)
"""Options whose file may be read and then written again."""

_TEXTS = ("separator", "missing", "settings")
"""Options that name no file, and whose value may be a dash."""

_outputs: ContextVar[tuple[Path, ...]] = ContextVar("outputs", default=())


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse a command that would write two outputs to one file, read a file that it writes, or read standard input twice."""
    outputs = {name: place for name in _WRITTEN if isinstance(place := parameters.get(name), Path)}
    if len({place.resolve() for place in outputs.values()}) < len(outputs):
        raise ArgumentError(f"{' and '.join(f'--{name}' for name in outputs)} name the same file; name two different ones.")
    _outputs.set(tuple(outputs.values()))
    read = [text for name, value in parameters.items() if name not in {*outputs, *_UPDATED, *_TEXTS} for text in _texts(value)]
    if sum(text == "-" or text.endswith("=-") for text in read) > 1:
        raise ArgumentError("standard input (-) is named twice but can be read only once; write one of the tables to a file.")
    for text in read:
        check_read(text)


def check_read(named: str) -> None:
    """Refuse to read a file, named by itself or after an equals sign, that this run will write."""
    places = [named, *(named[at + 1 :] for at, sign in enumerate(named) if sign == "=")]
    for output in _outputs.get():
        if any(_same(Path(place), output) for place in places if place):
            raise ArgumentError(f"{shown(output)} is read by this command, so it is not overwritten; name another file.")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
