"""Values that a shell completes, by what an option takes: words, columns, data sets, mechanisms, presets and the like.

The metavar of an option says what it takes. Words in lower case stand for themselves, `COLUMN` for a column of the data that the
command names, `COLUMN=FILE` for one with more to come, `COLUMN,...` for a list of them. An option whose metavar says too little
has a completion of its own, made by `offering` or `beginning`. Files are completed by the shell.

A shell waits for them at every Tab, so nothing is read that is not needed, and what goes wrong completes nothing: the shell then
offers files, as it does by itself.
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
"""What bash takes for more than a letter."""
_FORM = re.compile(r"([^=:]*[=:]?)(.*)", re.DOTALL)
"""A form: what is completed of it, and what the user adds."""


def completing(verb: Callable[..., Any]) -> None:
    """Give each option of a verb the completion that its metavar calls for, unless it has one of its own."""
    hints = verb.__annotations__ = get_type_hints(verb, include_extras=True)  # resolved once, so that the program reads these
    for name in inspect.signature(verb).parameters:
        for info in getattr(hints.get(name), "__metadata__", ()):
            if not isinstance(info, ParameterInfo):
                continue
            if isinstance(info, ArgumentInfo):
                info.metavar = info.metavar or name.upper()
            if info.autocompletion is None:
                info.autocompletion = _by_metavar(info.metavar or name.upper())


def offering(*words: str | Callable[[], Iterable[str]]) -> Completion:
    """Return the completion of some words, or of what functions return when they are needed."""
    return _offered(_given(words))


def beginning(*forms: str | Callable[[], Iterable[str]]) -> Completion:
    """Return the completion of the beginnings of some forms, such as `threshold=` of `threshold=K`."""
    return _begun(_given(forms))


def _given(words: Iterable[str | Callable[[], Iterable[str]]]) -> _Words:
    return lambda _: (word for one in words for word in ([one] if isinstance(one, str) else one()))


def _offered(words: _Words) -> Completion:
    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        return [_written(word) for word in words(ctx) if word.startswith(incomplete)]

    return completion


def _listed(words: _Words) -> Completion:
    """Complete the last of several words with commas between them."""

    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [_written(before + comma + word) for word in words(ctx) if word.startswith(last)]

    return completion


def _begun(words: _Words) -> Completion:
    """Complete the beginnings of forms; a single one with its form beside it, so that bash adds no space after it."""

    def completion(ctx: typer.Context, incomplete: str) -> list[str]:
        forms = [_FORM.fullmatch(form) for form in words(ctx)]
        found = {one[1]: one[2] for one in forms if one is not None and one[1].startswith(incomplete)}
        written = [_written(beginning) for beginning in found]
        return [*written, *(f"{written[0]}{rest}" for rest in found.values() if rest)] if len(found) == 1 else written

    return completion


def _written(word: str) -> str:
    """Return a word as the shell reads it; the others quote it themselves."""
    in_bash = os.environ.get("_UNVEIL_COMPLETE") == "complete_bash"
    return _OPEN.sub(lambda one: f"\\{one[0]}", word) if in_bash else word


def _by_metavar(metavar: str) -> Completion | None:
    """Return the completion of an option that takes what its metavar says; None if nobody knows its values."""
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
    """Return the columns of the built-in data sets, files and projects that the command names; an engine is not asked."""
    named = [place for name in _PLACES if isinstance(place := ctx.params.get(name), str | Path)]
    words = named or [one for one in ctx.args if not one.startswith("-")]  # these, where an option lacks its value
    places = [str(one) for one in words] or [_PROJECT]
    return dict.fromkeys(column for place in places for column in _columns_of(place))


def _columns_of(place: str) -> Iterator[str]:
    from unveil.sources import datasets, open_source

    with suppress(Exception):  # whatever it is, the command itself says it
        if place in datasets.names() or Path(place).is_file():
            yield from open_source(place).names


def _data(_: typer.Context) -> Iterable[str]:
    from unveil.sources import datasets

    return datasets.names()


def _mechanisms(_: typer.Context) -> Iterable[str]:
    from unveil.protect.steps import mechanism_names

    return mechanism_names()


def _settings(ctx: typer.Context) -> Iterable[str]:
    """Return the settings of the mechanism that the command names."""
    from unveil.protect.steps import mechanism_names, step_function

    named = str(ctx.params.get("mechanism"))
    known = inspect.signature(step_function(named)).parameters.values() if named in mechanism_names() else ()
    return [one.name for one in known if one.kind is one.KEYWORD_ONLY and one.name not in _OWN]


def _presets(_: typer.Context) -> Iterable[str]:
    from unveil.project.presets import PRESETS

    return PRESETS


def _figures(_: typer.Context) -> Iterable[str]:
    from unveil.assess.release_figures import PRIVACY
    from unveil.models.registry import figure_models

    return (*PRIVACY, *figure_models())


def _losses(_: typer.Context) -> Iterable[str]:
    from unveil.assess.release_figures import LOSSES

    return LOSSES


def _objectives(_: typer.Context) -> Iterable[str]:
    from unveil.search.lattice.objectives import JOINED_OBJECTIVES, OBJECTIVES

    return (*OBJECTIVES, *JOINED_OBJECTIVES, "classification:")


def _periods(_: typer.Context) -> Iterable[str]:
    from unveil.partitions.builders.dates import UNITS

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
"""What stands for a word in capitals."""
