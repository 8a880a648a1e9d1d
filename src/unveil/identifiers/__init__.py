"""Which columns name people outright? Direct identifiers, found by the names and the contents of columns."""

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

OPEN_MODULES = ("column", "within")
"""Modules of this room that other rooms may import from; all others are private to it."""
