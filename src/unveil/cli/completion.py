"""Values that a shell completes: names of built-in data, mechanisms, policies for nulls, presets, and columns.

A shell waits for them at every Tab, so nothing is read that is not needed, and what goes wrong completes nothing: the shell then
offers files, as it does by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

__all__ = ["class_null_words", "column_names", "data_names", "mechanism_names", "null_words", "preset_names"]

_NULLS = ("category", "drop", "error")
_PLACES = ("data", "original", "release")
"""Arguments that name a table."""


def data_names(incomplete: str) -> list[str]:
    """Return the built-in data sets that begin so."""
    from unveil.sources import datasets

    return _beginning(datasets.names(), incomplete)


def mechanism_names(incomplete: str) -> list[str]:
    """Return the mechanisms that begin so."""
    from unveil.mechanisms import names

    return _beginning(("any", *names()), incomplete)


def null_words(incomplete: str) -> list[str]:
    """Return the null policies that begin so."""
    return _beginning(_NULLS, incomplete)


def class_null_words(incomplete: str) -> list[str]:
    """Return the null policies that begin so, where nulls may match anything."""
    return _beginning((*_NULLS, "wildcard"), incomplete)


def preset_names(incomplete: str) -> list[str]:
    """Return the presets of policies that begin so."""
    from unveil.project.presets import PRESETS

    return _beginning(PRESETS, incomplete)


def column_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns that begin so, of the built-in data set or the file that the command names; an engine is not asked."""
    named = [ctx.params.get(name) for name in _PLACES]  # unless the words are not complete, as after an option without its value
    place = next((one for one in (*named, *ctx.args) if isinstance(one, str) and not one.startswith("-")), None)
    if place is None:
        return []
    from unveil.sources import datasets, open_source

    with suppress(Exception):  # whatever it is, the command itself says it
        if place in datasets.names() or Path(place).is_file():
            return _beginning(open_source(place).names, incomplete)
    return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
