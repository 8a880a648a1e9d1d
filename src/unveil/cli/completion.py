"""Values that a shell completes, by the form of an option: words, columns, data sets, mechanisms, presets and others.

The metavar of an option states its form. Words in lower case stand for themselves, `COLUMN` for a column of the data that the
command names, `COLUMN=FILE` for a column followed by more, `COLUMN,...` for a list of columns. An option whose metavar is too
vague has a completion of its own, made by `offering` or `beginning`. Files are completed by the shell.

A shell waits for completions at every Tab, so only necessary files are read, and a failure completes nothing: the shell then
offers files, as is its default.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints

import typer
from typer.models import ArgumentInfo, ParameterInfo

__all__ = ["beginning", "completing", "offering"]

Completion: TypeAlias = Callable[[typer.Context, str], list[str]]
_Words: TypeAlias = Callable[[typer.Context], Iterable[str]]

_PLACES = ("data", "original", "release", "source", "project")
"""Arguments and options that name a table, or a project that has one."""
_OWN = ("key_file", "keep_order", "ledger", "progress", "seed", "testing", "workload")
"""Settings of mechanisms for which the command line has options."""
_PROJECT = "unveil.toml"
_OPEN = re.compile(r"[^\w@%+=:,./-]")
"""Characters that have a special meaning in bash."""
_FORM = re.compile(r"([^=:]*[=:]?)(.*)", re.DOTALL)
"""A form: the part that is completed, and the part that the user adds."""


def completing(verb: Callable[..., Any]) -> None:
    """Give each option of a verb the completion for its metavar, unless it has one of its own."""
    hints = verb.__annotations__ = get_type_hints(verb, include_extras=True)  # resolved once, for the program as well
    for name in inspect.signature(verb).parameters:
        for info in getattr(hints.get(name), "__metadata__", ()):
            if not isinstance(info, ParameterInfo):
                continue
            if isinstance(info, ArgumentInfo):
                info.metavar = info.metavar or name.upper()
            if info.autocompletion is None:
                info.autocompletion = _by_metavar(info.metavar or name.upper())


def offering(*words: str | Callable[[], Iterable[str]]) -> Completion:
    """Return the completion of words, or of the words that functions return on demand."""
    return _offered(_given(words))


def beginning(*forms: str | Callable[[], Iterable[str]]) -> Completion:
    """Return the completion of the beginnings of forms, such as `threshold=` of `threshold=K`."""
    return _begun(_given(forms))


def _given(words: Iterable[str | Callable[[], Iterable[str]]]) -> _Words:
    return lambda _: (word for one in words for word in ([one] if isinstance(one, str) else one()))


def _offered(words: _Words) -> Completion:
    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        return [_written(word) for word in words(ctx) if word.startswith(incomplete)]

    return completion


def _listed(words: _Words) -> Completion:
    """Return the completion of the last of several words that commas separate."""

    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [_written(before + comma + word) for word in words(ctx) if word.startswith(last)]

    return completion


def _begun(words: _Words) -> Completion:
    """Return the completion of beginnings; a single one is offered with its form, so that bash adds no space after it."""

    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        forms = [_FORM.fullmatch(form) for form in words(ctx)]
        found = {one[1]: one[2] for one in forms if one is not None and one[1].startswith(incomplete)}
        written = [_written(beginning) for beginning in found]
        return [*written, *(f"{written[0]}{rest}" for rest in found.values() if rest)] if len(found) == 1 else written

    return completion


def _written(word: str) -> str:
    """Return a word in the form that bash reads; other shells quote it themselves."""
    in_bash = os.environ.get("_UNVEIL_COMPLETE") == "complete_bash"
    return _OPEN.sub(lambda one: f"\\{one[0]}", word) if in_bash else word


def _by_metavar(metavar: str) -> Completion | None:
    """Return the completion of an option by its metavar; None if its values are unknown."""
    name, equals, rest = metavar.partition("=")
    if equals:
        return _begun(lambda ctx: (f"{one}={rest}" for one in _VALUES[name](ctx))) if name in _VALUES else None
    if metavar.endswith(",..."):
        return _listed(_VALUES[metavar.removesuffix(",...")]) if metavar.removesuffix(",...") in _VALUES else None
    parts = [one for one in metavar.split("|") if one.islower() or one in _VALUES]
    if not parts:
        return None
    return _offered(lambda ctx: (word for one in parts for word in (_VALUES[one](ctx) if one in _VALUES else [one])))


def _columns(ctx: typer.Context) -> Iterable[str]:
    """Return the columns of the built-in data sets, files and projects that the command names; engines are not queried."""
    named = [place for name in _PLACES if isinstance(place := ctx.params.get(name), str | Path)]
    words = named or [one for one in ctx.args if not one.startswith("-")]  # the latter if an option lacks its value
    places = [str(one) for one in words] or [_PROJECT]
    return dict.fromkeys(column for place in places for column in _columns_of(place))


def _columns_of(place: str) -> Iterator[str]:
    from unveil.sources import datasets, open_source

    with suppress(Exception):  # any problem is reported by the command itself
        if place in datasets.names() or Path(place).is_file():
            yield from open_source(place).names


def _data(_: typer.Context) -> Iterable[str]:
    from unveil.sources import datasets

    return datasets.names()


def _mechanisms(_: typer.Context) -> Iterable[str]:
    from unveil.protect import mechanism_names

    return mechanism_names()


def _settings(ctx: typer.Context) -> Iterable[str]:
    """Return the settings of the mechanism that the command names."""
    from unveil.protect import mechanism_names, step_function

    named = str(ctx.params.get("mechanism"))
    known = inspect.signature(step_function(named)).parameters.values() if named in mechanism_names() else ()
    return [one.name for one in known if one.kind is one.KEYWORD_ONLY and one.name not in _OWN]


def _presets(_: typer.Context) -> Iterable[str]:
    from unveil.project import PRESETS

    return PRESETS


def _figures(_: typer.Context) -> Iterable[str]:
    from unveil.assess import PRIVACY
    from unveil.models import figure_models

    return (*PRIVACY, *figure_models())


def _losses(_: typer.Context) -> Iterable[str]:
    from unveil.assess import LOSSES

    return LOSSES


def _objectives(_: typer.Context) -> Iterable[str]:
    from unveil.search import JOINED_OBJECTIVES, OBJECTIVES

    return (*OBJECTIVES, *JOINED_OBJECTIVES, "classification:")


def _periods(_: typer.Context) -> Iterable[str]:
    from unveil.partitions import UNITS

    return UNITS


_VALUES: dict[str, _Words] = {
    "COLUMN": _columns,
    "DATA": _data,
    "FIGURE": _figures,
    "LOSS": _losses,
    "MECHANISM": _mechanisms,
    "OBJECTIVE": _objectives,
    "OPTION": _settings,
    "ORIGINAL": _data,
    "PERIOD": _periods,
    "PRESET": _presets,
    "RELEASE": _data,
    "SOURCE": _data,
}
"""The values of each word in capitals."""
