"""Findings: what a column seems to hold, how sure that is, and on what evidence.

Evidence is written for people and says what was counted, never a value of the data: a report about personal data must not
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
"""Every category, the most telling first."""

Confidence: TypeAlias = Literal["certain", "likely", "possible"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
"""Every confidence, the surest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to take a column for a direct identifier.

    Attributes
    ----------
    column, category
        The column, and what it seems to hold.
    confidence
        "certain": the values themselves prove it. "likely": values and name, or a telling form, speak for it. "possible":
        a person should look.
    evidence
        What was seen, in words with figures.
    share
        The share of the distinct values looked at that read as the category, from 0 to 1.
    distinct, records
        How many different values the column holds, and in how many records; nulls and blanks left out.
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
    """Write a share in per cent; only all of them is called 100 %, and only none 0 %.

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
