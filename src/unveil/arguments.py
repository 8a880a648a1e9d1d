"""Checks of arguments, each written once: a count, a number, a share, a word of a list, a seed.

A check returns the value in its plain Python type, or raises `ArgumentError` with what was given and what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from unveil.errors import ArgumentError

__all__ = ["LARGEST_SEED", "checked_count", "checked_number", "checked_seed", "checked_share", "checked_word"]

LARGEST_SEED = 2**63 - 1
"""What a command line, a project file and every generator can hold."""


def checked_word(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a word outside the list of those allowed."""
    if not isinstance(value, str) or value not in known:
        raise ArgumentError.not_one_of(name, value, known)


def checked_number(name: str, value: Any, *, above: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number above one bound and at most another, or refuse it."""
    bounds = " and ".join(
        [*([f"above {above:g}"] if above > -math.inf else []), *([f"at most {most:g}"] if most < math.inf else [])]
    )
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not known or not _finite(value) or not above < value <= most:
        raise ArgumentError(f"{name} is {value!r}; it must be a number {bounds}".rstrip() + ".")
    return float(value)


def checked_count(name: str, value: Any, *, least: int, most: int | None = None, of: str = "") -> int:
    """Return an integer within its bounds, or refuse it; `of` says what bounds it from above."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ArgumentError(f"{name} is {value!r}; it must be an integer of at least {least}.")
    if most is not None and value > most:
        raise ArgumentError(f"{name} is {value:,}, and there are only {most:,} {of}.")
    return int(value)


def checked_share(name: str, value: Any) -> float:
    """Return a number from 0 to 1, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ArgumentError(f"{name} is {value!r}; it must be a number from 0 to 1.")
    return float(value)


def checked_seed(seed: Any) -> int:
    """Return a seed, or refuse what is none."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= LARGEST_SEED:
        raise ArgumentError(f"seed is {seed!r}; it must be a whole number from 0 to {LARGEST_SEED:,}.")
    return int(seed)


def _finite(value: Any) -> bool:
    """Return whether a number is one that floating point holds."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
