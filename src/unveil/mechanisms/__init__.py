"""Protect a table: each mechanism takes a frame, named attributes and a seed, and returns a protected frame."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unveil.mechanisms.facts import FACTS

_HOMES: dict[str, str] = {
    **{name: facts.home for name, facts in FACTS.items()},
    "Anatomy": "anatomy",
    "Private": "differential_privacy.answers",
    "safepub_delta": "differential_privacy.safety",
}
"""Each public name and the module that holds it; mechanisms are registered in `facts`."""

__all__ = [*_HOMES]  # noqa: PLE0604 - the keys are names


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unveil.mechanisms' has no attribute {name!r}")
    return getattr(import_module(f"unveil.mechanisms.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
