"""Findings: what a column appears to hold, with its confidence and its evidence.

Evidence is written for people and states what was counted, never a value of the data: a report about personal data must not
repeat it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

__all__ = ["CATEGORIES", "CONFIDENCES", "Category", "Confidence", "Finding", "percent"]

Category: TypeAlias = Literal[
    "national-number",
    "card-number",
    "iban",
    "email",
    "phone",
    "mac-address",
    "ip-address",
    "device-number",
    "birth-date",
    "person-name",
    "account-name",
    "postal-address",
    "coordinates",
    "url",
    "free-text",
    "code",
    "row-number",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""Every category, the most specific first."""

Confidence: TypeAlias = Literal["certain", "likely", "possible"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
"""Every confidence, the surest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to regard a column as a direct identifier.

    Attributes
    ----------
    column, category
        The column, and what it appears to hold.
    confidence
        "certain": the values themselves prove it. "likely": values and name, or a distinctive form, suggest it. "possible": a
        person should check.
    evidence
        The observations, in words with figures.
    share
        The share of the examined distinct values that read as the category, from 0 to 1.
    distinct, records
        The number of distinct values in the column, and of the records that hold them, without nulls and blanks.
    """

    column: str
    category: Category
    confidence: Confidence
    evidence: tuple[str, ...]
    share: float
    distinct: int
    records: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "column": self.column,
            "category": self.category,
            "confidence": self.confidence,
            "evidence": list(self.evidence),
            "share": self.share,
            "distinct": self.distinct,
            "records": self.records,
        }


def percent(share: float) -> str:
    """Return a share as a percentage; only all of them is called 100 %, and only none 0 %.

    Examples
    --------
    >>> percent(0.987), percent(1.0), percent(0.99999), percent(0.0001)
    ('98.7 %', '100 %', 'over 99.9 %', 'under 0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    shown = f"{100 * share:.1f}"
    if shown in ("100.0", "0.0"):
        return "over 99.9 %" if share > 0.5 else "under 0.1 %"  # noqa: PLR2004 - nearer to all than to none
    return f"{shown} %"
