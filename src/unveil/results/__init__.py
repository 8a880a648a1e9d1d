"""What every answer has in common: it is frozen, shows itself, and says how it was made.

A result holds data only. Its `view` says once what a person should see of it; `terminal` and `html_view` turn a view into text
and HTML, and are imported when something is shown.
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
"""Modules of this room that others may import from; the rest is its own."""
