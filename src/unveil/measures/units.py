"""What figures count, and the words for it: people if a column says whose record it is, else records."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["RATE_OF_RECORDS", "Unit", "noun", "people", "unit_of"]

RATE_OF_RECORDS = "The rate is an entropy of records, though a column tells persons apart; unveil measure counts persons."

Unit: TypeAlias = Literal["records", "persons"]
"""persons: a column says whose record it is, and everyone counts once; records: none does, and every record counts."""


def unit_of(person: str | None) -> Unit:
    """Return what is counted: persons if a column says whose record it is, else records."""
    return "records" if person is None else "persons"


def noun(unit: str, *, one: bool = False) -> str:
    """Return the word for what is counted.

    Examples
    --------
    >>> noun("persons"), noun("records"), noun("persons", one=True)
    ('people', 'records', 'person')
    """
    if unit == "persons":
        return "person" if one else "people"
    return "record" if one else "records"


def people(number: int, unit: str) -> str:
    """Say how many: people if persons were counted, else records.

    Examples
    --------
    >>> people(2, "persons"), people(1, "records")
    ('2 people', '1 record')
    """
    return f"{number:,} {noun(unit, one=number == 1)}"
