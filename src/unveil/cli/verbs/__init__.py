"""The verbs, in the data's order. Each reads its words, calls one public function and gives the answer."""

from importlib import import_module

from unveil.cli.application import app

__all__ = ["app"]

for _verbs in (
    "init",
    "assess",
    "look",
    "measure",
    "attack",
    "utility",
    "anonymize",
    "front",
    "compare",
    "check",
    "hierarchy",
    "reproduce",
    "datasets",
):
    import_module(f"{__name__}.{_verbs}")
