"""Requirements written as text: the numbers and the attribute between colons; an invalid one is refused with its text."""

from __future__ import annotations

from collections.abc import Sequence

from unveil.errors import ArgumentError, listed, shown

__all__ = ["attribute_of", "number_of", "positive", "share", "split", "whole_number"]


def split(text: str) -> tuple[str, str | None]:
    """Return the part before the first colon and the part after it; None for the latter if there is no colon."""
    first, colon, rest = text.partition(":")
    return first.strip(), rest if colon else None


def attribute_of(name: str | None, sensitive: Sequence[str], text: str) -> str:
    """Return the sensitive attribute that a text names, or the only one if it names none."""
    if name is None or not name.strip():
        if len(sensitive) == 1:
            return sensitive[0]
        raise ArgumentError(
            f"{shown(text)} does not name its sensitive attribute; sensitive attributes are: {listed(sensitive) or 'none'}."
        )
    joint = " + ".join(sensitive)
    if name not in sensitive and name != joint:
        raise ArgumentError.not_one_of("sensitive attribute", name, sensitive)
    return name


def number_of(number: str, option: str, text: str) -> float:
    """Return a number, refusing a text that is not one."""
    if not number:
        raise ArgumentError(f"{option} {shown(text)}: a number is missing.")
    try:
        return float(number)
    except ValueError:
        raise ArgumentError(f"{option} {shown(text)}: {shown(number)} is not a number.") from None


def positive(number: str, option: str, text: str) -> float:
    """Return a number above 0."""
    value = number_of(number, option, text)
    if not value > 0:
        raise ArgumentError(f"{option} {shown(text)}: the number must be above 0.")
    return value


def share(number: str, option: str, text: str, *, above: bool = False) -> float:
    """Return a number from 0 to 1, or, if `above`, any from 0."""
    value = number_of(number, option, text)
    if not (0 <= value <= 1 or (above and value > 1)):
        raise ArgumentError(f"{option} {shown(text)}: the number must lie between 0 and 1.")
    return value


def whole_number(number: str, option: str, text: str) -> int:
    """Return a whole number of at least 1."""
    value = number_of(number, option, text)
    if value < 1 or not value.is_integer():
        raise ArgumentError(f"{option} {shown(text)}: the number must be whole, and at least 1.")
    return int(value)
