"""Declared bounds of numeric columns, in the form of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from unveil.errors import ArgumentError

__all__ = ["Bounds", "bounds_of"]

Bounds = Annotated[
    list[str] | None,
    typer.Option("--bounds", metavar="COLUMN=LOW:HIGH", help="The smallest and the largest possible value."),
]


def bounds_of(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Return the bounds by column."""
    return dict(_pair(text) for text in texts or ())


def _pair(text: str) -> tuple[str, tuple[float, float]]:
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        return name, (float(low), float(high if colon else ""))
    except ValueError:
        raise ArgumentError("--bounds takes COLUMN=LOW:HIGH, two numbers.") from None
