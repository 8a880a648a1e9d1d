"""Which columns name people outright? Direct identifiers, found by the names and the contents of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
from unveil.identifiers.direct import DirectIdentifiers, column_findings, direct_identifiers, found_among, found_in
from unveil.identifiers.finding import CATEGORIES, Category, Confidence, Finding

__all__ = [
    "CATEGORIES",
    "Category",
    "Confidence",
    "DirectIdentifiers",
    "Finding",
    "column_findings",
    "direct_identifiers",
    "found_among",
    "found_in",
]

if TYPE_CHECKING:
    from unveil.identifiers.column import read_column
    from unveil.identifiers.within import KINDS, redacted
else:
    __getattr__ = lazily(
        __name__,
        {
            "column": ("read_column",),
            "within": ("KINDS", "redacted"),
        },
    )
