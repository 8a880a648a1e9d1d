"""Redaction of a measurement for a report: every figure, and the deciding classes as far as `results.masking` allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from unveil.results.masking import DecidingClass, is_masked, masked_class, without_values

if TYPE_CHECKING:
    from unveil.models.measure import Measurement
    from unveil.models.risk_sections import Uniqueness

__all__ = ["masks", "redacted"]


def redacted(measured: Measurement, small: int, hidden: Mapping[str, frozenset[Any]]) -> Measurement:
    """Return a measurement whose classes may be shown.

    Parameters
    ----------
    measured
        What was measured.
    small
        Classes of fewer records are small; 0: nothing is masked.
    hidden
        Values of attributes that are masked elsewhere although they are not small; a class that has one would name it.
    """
    classes = list(_deciding(measured))
    named = {tuple(one.key.items()) for one in classes if not is_masked(one, small) and not _names_hidden(one, hidden)}
    left = measured.classes - len(named)
    by_elimination = any(is_masked(one, small) for one in classes) and left < small
    hide = partial(without_values, small=small) if by_elimination else partial(_masked, small=small, hidden=hidden)
    return replace(
        measured,
        models={place: replace(one, worst_class=hide(one.worst_class)) for place, one in measured.models.items()},
        risk=measured.risk.with_classes(hide),
        uniqueness=_without_singles(measured.uniqueness) if small else measured.uniqueness,
    )


def masks(measured: Measurement) -> bool:
    """Whether a class that decides is shown without its values."""
    return any(one.masked for one in _deciding(measured))


def _without_singles(uniqueness: Uniqueness) -> Uniqueness:
    """Return the uniqueness without the values of the special uniques, each of which is one person."""
    if uniqueness.special is None:
        return uniqueness
    return replace(uniqueness, special=uniqueness.special.without_values())


def _names_hidden(shown: DecidingClass, hidden: Mapping[str, frozenset[Any]]) -> bool:
    return any(value in hidden.get(name, ()) for name, value in shown.key.items())


def _masked(shown: DecidingClass | None, small: int, hidden: Mapping[str, frozenset[Any]]) -> DecidingClass | None:
    if small and shown is not None and _names_hidden(shown, hidden):
        return without_values(shown, small)
    return masked_class(shown, small)


def _deciding(measured: Measurement) -> Iterator[DecidingClass]:
    """Yield the classes that decide a model or a risk."""
    yield from (model.worst_class for model in measured.models.values() if model.worst_class is not None)
    yield from (risk.worst_class for risk in measured.risk.intruders.values() if risk.worst_class is not None)
