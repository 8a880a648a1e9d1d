"""The verbs, in the order of the data's path. Each reads its options, calls one public function and shows the answer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.cli.application import Program, app

__all__ = ["VERBS", "app", "with_verb"]

VERBS = {
    "app": "browser",
    "init": "init",
    "assess": "assess",
    "dr": "dr",
    "scan": "scan",
    "identifiers": "identifiers",
    "measure": "measure",
    "attack": "attack",
    "utility": "utility",
    "loss": "loss",
    "anonymize": "anonymize",
    "front": "front",
    "compare": "compare",
    "check": "check",
    "query": "query",
    "watch": "watch",
    "unicity": "unicity",
    "hierarchy": "hierarchy",
    "mechanisms": "mechanisms",
    "reproduce": "reproduce",
    "datasets": "datasets",
    "table": "table",
    "warm-up": "warm_up",
}
"""The module of each verb."""


def with_verb(verb: str | None = None) -> Program:
    """Return the program with one verb at least, which alone is loaded; without one, with all of them, in order."""
    from unveil.cli.application import app

    for name in VERBS if verb is None else [verb]:
        import_module(f"{__name__}.{VERBS[name]}")
    order = list(VERBS)
    app.registered_commands.sort(key=lambda one: order.index(str(one.name or getattr(one.callback, "__name__", ""))))
    return app


def __getattr__(name: str) -> Any:
    """Load all verbs for a caller that needs the program."""
    if name == "app":
        return with_verb()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
