"""Masked values, which show the form of a value without the value itself."""

from __future__ import annotations

from typing import Any

__all__ = ["masked"]

_LONGEST = 24


def masked(value: Any) -> str:
    """Return a value with every letter as x and every digit as 9; a missing value is empty.

    Examples
    --------
    >>> masked("Ann-Lee 07"), masked(41), masked(None)
    ('xxx-xxx 99', '99', '')
    """
    if value is None:
        return ""
    text = str(value)
    form = "".join("9" if sign.isdigit() else "x" if sign.isalpha() else sign for sign in text[:_LONGEST])
    return form if len(text) <= _LONGEST else f"{form}…"
