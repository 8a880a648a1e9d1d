"""The common base of all answers: each is frozen, displays itself, and states how it was made.

A result holds data only. Its `view` defines once what is displayed of it; `terminal` and `html_view` turn a view into text and
HTML, and are imported when something is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
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

if TYPE_CHECKING:
    from unveil.results.html_view import html_parts, html_table, style_sheet
    from unveil.results.masking import (
        MASK,
        SMALL,
        DecidingClass,
        Rows,
        masked_class,
        masked_parts,
        masked_together,
        masked_values,
        masking_in_words,
    )
    from unveil.results.terminal import to_rich
else:
    __getattr__ = lazily(
        __name__,
        {
            "html_view": ("html_parts", "html_table", "style_sheet"),
            "masking": (
                "DecidingClass",
                "MASK",
                "Rows",
                "SMALL",
                "masked_class",
                "masked_parts",
                "masked_together",
                "masked_values",
                "masking_in_words",
            ),
            "terminal": ("to_rich",),
        },
    )
