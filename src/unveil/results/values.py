"""Values as JSON and data frames can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import Any

__all__ = ["jsonable", "of_one_type", "whole"]

_WIDEST = (1 << 63) - 1
"""The largest integer that every library holds."""
_HELD = (bool, int, float, str, bytes, list, tuple, dict, date, time, timedelta)
"""What every library holds as it is; all else becomes text."""


def jsonable(value: Any) -> Any:
    """Return a value as JSON can hold it: an infinite figure is "inf", a date its ISO form."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if hasattr(value, "item"):
        return jsonable(value.item())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def whole(text: Any) -> Any:
    """Return a text with halves of surrogate pairs as escapes; anything else as it is."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


def of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """Return values that one column can hold: as they are, or as text if they are of several types."""
    kinds = {type(value) for value in values if value is not None}
    wide = int in kinds and any(isinstance(value, int) and abs(value) > _WIDEST for value in values)
    if (
        not wide
        and all(issubclass(kind, _HELD) or kind.__module__ == "numpy" for kind in kinds)
        and (len(kinds) <= 1 or kinds <= {int, float})
    ):
        return [None if value is None else float(value) for value in values] if len(kinds) > 1 else values
    return [None if value is None else str(value) for value in values]
