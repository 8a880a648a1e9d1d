"""The common base of all answers: each is frozen, displays itself, and states how it was made.

A result holds data only. Its `view` defines once what is displayed of it; `terminal` and `html_view` turn a view into text and
HTML, and are imported when something is shown.
"""

from __future__ import annotations

from unveil.results.masking import Figures, plain
from unveil.results.result import Displayed, Provenance, Result, reworded
from unveil.results.views import Between, Chart, Figure, Mark, Table, View

__all__ = [
    "Between",
    "Chart",
    "Displayed",
    "Figure",
    "Figures",
    "Mark",
    "Provenance",
    "Result",
    "Table",
    "View",
    "plain",
    "reworded",
]

OPEN_MODULES = (
    "html_view",
    "masking",
    "svg",
    "terminal",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
