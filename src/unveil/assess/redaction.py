"""What may a report show of a measurement? Every figure, and the classes that decide as far as `results.masking` allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from unveil.models.measure import Measurement
from unveil.results.masking import is_masked, masked_class, without_values

__all__ = ["redacted"]

_Class: TypeAlias = dict[str, Any] | None


def redacted(found: Measurement, small: int) -> Measurement:
    """Return a measurement whose classes may be shown.

    Parameters
    ----------
    found
        What was measured.
    small
        Classes of fewer records are small; 0: nothing is masked.
    """
    classes = list(_deciding(found))
    named = {tuple(one["key"].items()) for one in classes if not is_masked(one, small)}
    left = found.classes - len(named)
    by_elimination = any(is_masked(one, small) for one in classes) and left < small
    hide = partial(without_values if by_elimination else masked_class, small=small)
    return replace(
        found,
        models={place: replace(one, worst_class=hide(one.worst_class)) for place, one in found.models.items()},
        risk={name: _without_values(risk, hide) for name, risk in found.risk.items()},
    )


def _deciding(found: Measurement) -> Iterator[dict[str, Any]]:
    """Give the classes that decide a model or a risk."""
    yield from (model.worst_class for model in found.models.values() if model.worst_class is not None)
    yield from (risk["worst_class"] for risk in found.risk.values() if risk.get("worst_class") is not None)


def _without_values(risk: Mapping[str, Any], hide: Callable[[_Class], _Class]) -> dict[str, Any]:
    kept = dict(risk)
    return kept | {"worst_class": hide(kept["worst_class"])} if "worst_class" in kept else kept
