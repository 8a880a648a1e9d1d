"""The verbs, in the data's order. Each reads its words, calls one public function and gives the answer."""

from importlib import import_module

from unveil.cli.application import app

__all__ = ["app"]

for _verbs in (
    "browser",
    "init",
    "assess",
    "dr",
    "scan",
    "identifiers",
    "measure",
    "attack",
    "utility",
    "loss",
    "anonymize",
    "front",
    "compare",
    "check",
    "query",
    "watch",
    "unicity",
    "hierarchy",
    "mechanisms",
    "reproduce",
    "datasets",
    "table",
    "warm_up",
):
    import_module(f"{__name__}.{_verbs}")
