"""The common base of all answers: each is frozen, displays itself, and states how it was made.

A result holds data only. Its `view` defines once what is displayed of it; `terminal` and `html_view` turn a view into text and
HTML, and are imported when something is shown.
"""

from __future__ import annotations

from unveil.results.result import Displayed, Provenance, Result
from unveil.results.views import Between, Chart, Figure, Mark, Table, View

__all__ = ["Between", "Chart", "Displayed", "Figure", "Mark", "Provenance", "Result", "Table", "View"]

OPEN_MODULES = (
    "figures",
    "html_view",
    "masking",
    "wording",
    "svg",
    "terminal",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
