"""What may a report show of small classes? Nothing by which those in them could be recognised.

A class of fewer records than a threshold is shown without its values; its size and its figures stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unveil.models.measure import Measurement

__all__ = ["MASK", "masked_class", "redacted"]

MASK = "(masked)"
"""What stands for values that are not shown."""


def redacted(found: Measurement, small: int) -> Measurement:
    """Return a measurement whose small classes have no values.

    Parameters
    ----------
    found
        What was measured.
    small
        Classes of fewer records are masked; 0: none.
    """
    return replace(
        found,
        models={place: replace(one, worst_class=masked_class(one.worst_class, small)) for place, one in found.models.items()},
        risk={name: _without_values(risk, small) for name, risk in found.risk.items()},
    )


def masked_class(shown: dict[str, Any] | None, small: int) -> dict[str, Any] | None:
    """Return a class as it may be shown: with its values, or, where it is small, `masked` and none.

    Examples
    --------
    >>> masked_class({"key": {"age": 90}, "size": 1}, 5)
    {'key': {}, 'size': 1, 'masked': True}
    >>> masked_class({"key": {"age": 30}, "size": 5}, 5)
    {'key': {'age': 30}, 'size': 5}
    """
    if shown is None or shown["size"] >= small:
        return shown
    return {"key": {}, "size": shown["size"], "masked": True}


def _without_values(risk: Mapping[str, Any], small: int) -> dict[str, Any]:
    kept = dict(risk)
    return kept | {"worst_class": masked_class(kept["worst_class"], small)} if "worst_class" in kept else kept
