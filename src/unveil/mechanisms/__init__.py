"""Protect a table: each mechanism takes a frame, named attributes and a seed, and returns a protected frame."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

_HOMES: dict[str, str] = {
    "add_noise": "noise",
    "microaggregate": "microaggregation",
    "rank_swap": "swapping",
    "resample": "resampling",
    "round_values": "rounding",
    "sample": "sampling",
    "swap": "swapping",
    "top_bottom_code": "coding",
    "pram": "post_randomisation",
    "anatomize": "anatomy",
    "Anatomy": "anatomy",
    "dp_count": "differential_privacy.queries",
    "dp_sum": "differential_privacy.queries",
    "dp_mean": "differential_privacy.queries",
    "dp_histogram": "differential_privacy.queries",
    "dp_marginals": "differential_privacy.marginals",
    "dp_synthesize": "differential_privacy.microdata",
    "Private": "differential_privacy.answers",
    "pseudonymize": "pseudonyms",
    "synthesize": "synthesis",
    "massc": "agglomeration",
    "safepub": "differential_privacy.safety",
    "safepub_delta": "differential_privacy.safety",
    "dp_microaggregate": "differential_privacy.centroids",
}
"""Each mechanism's name and the module that holds it."""

__all__ = [*_HOMES]  # noqa: PLE0604 - the keys are names

_OWN: dict[str, Callable[..., Any]] = {}
_Mechanism = TypeVar("_Mechanism", bound=Callable[..., Any])


def register(mechanism: _Mechanism) -> _Mechanism:
    """Add a mechanism of your own, as a decorator of its function: steps of a protection may then name it."""
    _OWN[mechanism.__name__] = mechanism
    return mechanism


def names() -> tuple[str, ...]:
    """Return the functions that protect records, those registered last."""
    return (*(name for name in _HOMES if not name[0].isupper() and name != "safepub_delta"), *_OWN)


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return _OWN[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'unveil.mechanisms' has no attribute {name!r}")
    return getattr(import_module(f"unveil.mechanisms.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
