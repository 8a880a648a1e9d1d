"""Checks of arguments, each defined once: their types in public calls; counts, numbers, shares, words of a list, seeds.

`checked_arguments` decorates every public function and refuses arguments that its annotations do not allow. The other checks
return the value in its plain Python type, or raise an `ArgumentError` that states the given value and the allowed ones.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.errors import ArgumentError, shown
from unveil.fitting import fits, hints_of, kind_of, listed_array, misfit, plain, said, words_of

__all__ = [
    "LARGEST_SEED",
    "DefaultNumber",
    "DefaultText",
    "checked_arguments",
    "checked_array",
    "checked_count",
    "checked_number",
    "checked_seed",
    "checked_share",
    "checked_size",
    "checked_time_limit",
    "checked_word",
    "named",
    "shown_number",
]

_Door = TypeVar("_Door", bound=Callable[..., Any])

_MOST_RECORDS = 10**8
_LONGEST = 10**30
_BEYOND = 2**1024
"""The smallest power of two that a floating-point number cannot hold."""
_WRITTEN_OUT = 10**15
"""Bounds of at least this size are written with an exponent."""
LARGEST_SEED = 2**63 - 1
"""The largest seed that a command line, a project file and every generator can hold."""


class DefaultText(str):
    """The default of an argument that a study or project may state; any value from the caller takes precedence over it."""

    __slots__ = ()


class DefaultNumber(int):
    """The default of a number; a study or project may state another."""


def named(value: Any) -> Any:
    """Return an argument of the caller unchanged, or None for a default that a study or project may replace.

    Examples
    --------
    >>> named("drop"), named(DefaultText("error"))
    ('drop', None)
    """
    return None if isinstance(value, DefaultText | DefaultNumber) else value


def checked_arguments(door: _Door) -> _Door:
    """Make a function, or the constructor of a class, refuse arguments of types that its annotations do not allow.

    Examples
    --------
    >>> @checked_arguments
    ... def halved(amount: float) -> float:
    ...     return amount / 2
    >>> halved("much")
    Traceback (most recent call last):
    unveil.errors.ArgumentError: amount must be a number, not a text.
    """
    if isinstance(door, type):
        door.__init__ = checked_arguments(door.__init__)  # type: ignore[misc]
        return door
    places: list[str] = []

    @wraps(door)
    def checked(*values: Any, **named: Any) -> Any:
        if not places:
            places.extend(_places(door))
        hints = hints_of(door)
        fitting = [_fitting(places[min(at, len(places) - 1)], value, hints) for at, value in enumerate(values)]
        return door(*fitting, **{name: _fitting(name, value, hints) for name, value in named.items()})

    return checked  # type: ignore[return-value]


def _places(door: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that may be given by position."""
    return [one.name for one in inspect.signature(door).parameters.values() if one.kind is not one.KEYWORD_ONLY] or [""]


def _fitting(name: str, value: Any, hints: dict[str, Any]) -> Any:
    """Return an argument that its annotation allows, with an array or column as a list if one is expected; refuse any other."""
    if name not in hints:
        return value
    if fits(value, hints[name]):
        if isinstance(value, int) and not -_BEYOND < value < _BEYOND:
            raise ArgumentError(f"{name} is {shown_number(value)}, more than any calculation here can hold.")
        return plain(listed_array(value, hints[name]), hints[name])
    part, kind, hint = misfit(value, hints[name])
    place = f"{name}: {part}" if part else name
    if isinstance(kind, str) and (words := words_of(hint)):
        raise ArgumentError.not_one_of(place, kind, words)
    raise ArgumentError(f"{place} must be {said(hint) or 'something else'}, not {kind_of(kind)}.")


def checked_word(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a word that is not in the list of allowed ones."""
    if not isinstance(value, str) or value not in known:
        raise ArgumentError.not_one_of(name, value, known)


def checked_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
) -> float:
    """Return a finite number above or at least one bound and below or at most another, or refuse it.

    Examples
    --------
    >>> checked_number("confidence", 2.0, above=0, below=1)
    Traceback (most recent call last):
    unveil.errors.ArgumentError: confidence is 2.0; it must be above 0 and below 1.
    """
    number = fits(value, float) and _finite(value)
    if not number or not (above < value < below and least <= value <= most):
        bounds = _bounds(above, least, below, most)
        raise ArgumentError(f"{name} is {shown_number(value)}; it must be {bounds if number else _of_kind('a number', bounds)}.")
    return float(value)


def checked_share(name: str, value: Any) -> float:
    """Return a number from 0 to 1, or refuse it."""
    return checked_number(name, value, least=0.0, most=1.0)


def checked_count(name: str, value: Any, *, least: int, most: int | None = None, of: str = "", note: str = "") -> int:
    """Return a whole number within its bounds, or refuse it.

    `of` names the upper bound, and `note` ends the sentence that refuses a number below its minimum.

    Examples
    --------
    >>> checked_count("folds", 1, least=2, note=": one to test on and one to train on")
    Traceback (most recent call last):
    unveil.errors.ArgumentError: folds is 1; it must be at least 2: one to test on and one to train on.
    """
    whole = fits(value, int)
    if whole and most is not None and value > most and of:
        raise ArgumentError(f"{name} is {shown_number(value)}, and there are only {most:,} {of}.")
    if not whole or value < least or (most is not None and value > most):
        bounds = _bounds(-math.inf, least, math.inf, math.inf if most is None or of else most)
        place = bounds if whole else _of_kind("a whole number", bounds)
        raise ArgumentError(f"{name} is {shown_number(value)}; it must be {place}{note}.")
    return int(value)


def checked_size(name: str, value: Any) -> int:
    """Return a number of records to make, at least one and no more than a computer can hold, or refuse it."""
    return checked_count(name, value, least=1, most=_MOST_RECORDS)


def checked_time_limit(seconds: float | None) -> float | None:
    """Return a time limit, a number of seconds or none, or refuse it."""
    return None if seconds is None else checked_number("time_limit", seconds, least=0.0)


def checked_seed(seed: Any, *, of: str = "") -> int:
    """Return a seed, or refuse a value that is not one; `of` names the purpose of the seed."""
    if not fits(seed, int) or not 0 <= seed <= LARGEST_SEED:
        name = f"the seed of {of}" if of else "seed"
        raise ArgumentError(f"{name} is {shown_number(seed)}; it must be a whole number from 0 to {LARGEST_SEED:,}.")
    return int(seed)


def checked_array(name: str, values: Any) -> NDArray[Any]:
    """Return values as an array, or refuse them if they do not form one."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} must be a list or an array of numbers, not {kind_of(values)}.") from None


def shown_number(value: Any) -> str:
    """Write a number for a message with thousands separators; describe a very long one by its size, other values by type."""
    if not fits(value, float):
        return shown(value) if isinstance(value, str) else kind_of(value)
    if _LONGEST <= abs(value) < math.inf:
        return "a number of more than 30 digits"
    return f"{value:,}" if fits(value, int) else f"{value}"


def _finite(value: Any) -> bool:
    """Whether a number is finite and within the range of floating point."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _bounds(above: float, least: float, below: float, most: float) -> str:
    """Return the allowed numbers in words: from one bound to another, or above, at least, below or at most a bound."""
    if math.isfinite(least) and math.isfinite(most):
        return f"from {_bound(least)} to {_bound(most)}"
    limits = (("above", above), ("at least", least), ("below", below), ("at most", most))
    return " and ".join(f"{word} {_bound(bound)}" for word, bound in limits if math.isfinite(bound))


def _of_kind(kind: str, bounds: str) -> str:
    return f"{kind} {'of ' if bounds.startswith('at') else ''}{bounds}".rstrip()


def _bound(bound: float) -> str:
    return f"{int(bound):,}" if bound == int(bound) and abs(bound) < _WRITTEN_OUT else f"{bound:g}"
