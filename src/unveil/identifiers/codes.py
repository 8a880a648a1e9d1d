"""Which columns number the records, or give each a code of its own?

A code need not be a name to identify: anyone who has another table with the same code knows the person. Codes are distinguished
from measurements by their form (constant length, letters between digits) and because nearly every record has a code of its own.
A continuous figure may be unique too, so decimals never count, and integers only if they are consecutive, all of one length, or
if the column's name suggests a code.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from unveil.identifiers.column import MOST
from unveil.identifiers.finding import percent

if TYPE_CHECKING:
    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Confidence, Finding

__all__ = ["numbered"]

_UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_HASH = re.compile(
    r"(?=.*[a-f])(?=.*\d)(?:[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?=.*\d)[^\W_]+(?:[-_/.:#+=]+[^\W_]+)*=*")
_FIGURE = re.compile(
    r"[-+]?[\d ]*[.,]\d+"  # a decimal
    r"|\d{1,4}[^\W\d_]{1,3}"  # with a unit
    r"|\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"  # a time of day
    r"|(?:19|20)\d{2}[-/.]?[A-Z]{0,2}\d{1,2}|[A-Z]{0,2}\d{1,2}[-/.]?(?:19|20)\d{2}"  # a month, a week
    r"|(?:19|20)\d{2}[-/](?:19|20)\d{2}"  # two years
)
_DIGIT_RUN = re.compile(r"\d+")

_NEAR_UNIQUE, _UNIQUE = 0.95, 0.99
_CONSTANT = 0.98
_SHARED = 0.05
_FEWEST, _MANY = 20, 100
_SHORTEST, _LONGEST = 5, 128
_SHORTEST_NUMBER = 7
_SHORTEST_TEXT_NUMBER = 6
_DENSE = 0.99
_GAPPY = 0.5
_YEARS = (1500, 2100)
_SECONDS = (946_684_800, 2_208_988_800)
"""The years 2000 to 2040 in seconds since 1970: such integers are times, not codes."""


def numbered(column: LookedColumn) -> Finding | None:
    """Find numbers that count the records, codes that differ for nearly every record, and codes of people."""
    other = ("postcode", "quantity", "organisation-number")
    if column.kind not in ("text", "integer") or column.holds_dates or column.says(*other):
        return None
    if column.kind == "integer":
        return _row_numbers(column) or _integer_codes(column)
    return _random_codes(column) or _text_codes(column)


def _row_numbers(column: LookedColumn) -> Finding | None:
    """Find integers that count the records: each its own, without gaps."""
    if column.distinct < max(_FEWEST, column.records):
        return None
    named = column.says("id", "person-id")
    if not named and _YEARS[0] <= column.low and column.high <= _YEARS[1]:
        return None
    density = min(column.distinct / (column.high - column.low + 1), 1.0)  # infinity is not an integer, but was counted
    if density < (_GAPPY if named else _DENSE):
        return None
    what = "are consecutive" if density == 1.0 else f"fill {percent(density)} of the range they span"
    seen = f"the {column.distinct:,} integers {what}, and no two of {column.records:,} records share one"
    start = "they count from the beginning" if column.low in (0, 1) else ""
    confidence: Confidence = "likely" if named or start else "possible"
    return column.finding("row-number", confidence, 1.0, seen, start, _says_id(column))


def _random_codes(column: LookedColumn) -> Finding | None:
    """Find UUIDs and hash values, which are made to be unique, so they need not be nearly unique in the table."""
    for form, what in ((_UUID, "are UUIDs"), (_HASH, "have the length and digits of hash values")):
        share = column.share(form.fullmatch)
        if share < MOST:
            continue
        unique, many = column.uniqueness >= MOST, column.distinct >= _FEWEST
        if not (unique or (many and column.uniqueness >= _SHARED) or column.distinct >= _MANY):
            return None
        confidence: Confidence = "certain" if unique and many else "likely"
        return column.finding("code", confidence, share, column.seen(share, what), _spread(column), _says_id(column))
    return None


def _text_codes(column: LookedColumn) -> Finding | None:
    share = column.share(_is_code)
    if share < MOST or (column.says("about") and not column.says("person-id")):
        return None
    lengths = Counter(map(len, column.texts)).most_common(1)[0]
    skeletons = Counter(_DIGIT_RUN.sub("0", text) for text in column.texts).most_common(1)[0]
    digits_only = skeletons[0] == "0"
    constant = lengths[1] >= MOST * len(column.texts) and lengths[0] >= (_SHORTEST_TEXT_NUMBER if digits_only else _SHORTEST)
    prefixed = skeletons[0][0] != "0" or (_is_named(column) and not digits_only)
    alike = skeletons[1] >= MOST * len(column.texts) and lengths[0] >= _SHORTEST - 1 and prefixed
    if not (constant or alike):
        return _people_codes(column, share)
    form = f"of {lengths[0]} characters" if constant else "letters and digits in the same places"
    seen = column.seen(share, f"are codes, {form}")
    if column.uniqueness >= _NEAR_UNIQUE and column.distinct >= _FEWEST:
        confidence: Confidence = "likely" if _is_named(column) or not digits_only else "possible"
        return column.finding("code", confidence, share, seen, _spread(column), _says_id(column))
    return _people_codes(column, share)


def _integer_codes(column: LookedColumn) -> Finding | None:
    if column.uniqueness < _NEAR_UNIQUE or column.distinct < _FEWEST or column.low < 0:
        return _people_codes(column, 1.0)
    named = _is_named(column)
    if not named and _SECONDS[0] <= column.low and column.high <= _SECONDS[1]:
        return None
    width, number = Counter(map(len, column.texts)).most_common(1)[0]
    constant = number >= _CONSTANT * len(column.texts) and width >= _SHORTEST_NUMBER
    if named or (constant and column.distinct >= _MANY and column.uniqueness >= _UNIQUE):
        what = f"are integers of {width} digits" if constant else "are integers"
        share = number / len(column.texts) if constant else 1.0
        confidence: Confidence = "likely" if named else "possible"
        return column.finding("code", confidence, share, column.seen(share, what), _spread(column), _says_id(column))
    return _people_codes(column, 1.0)


def _people_codes(column: LookedColumn, share: float) -> Finding | None:
    """Find the codes of people who have several records, by the column's name alone."""
    person = column.says("person-id") or (column.says("person") and column.says("id"))
    if not person or column.says("about") or column.distinct < _FEWEST or column.uniqueness < _SHARED:
        return None
    confidence: Confidence = "likely" if column.distinct >= _MANY else "possible"
    return column.finding("code", confidence, share, "the column name says a person's number", _spread(column))


def _is_code(text: str) -> bool:
    return len(text) <= _LONGEST and _CODE.fullmatch(text) is not None and _FIGURE.fullmatch(text) is None


def _is_named(column: LookedColumn) -> bool:
    return column.says("id", "person-id", "national-number", "card-number", "device-number") and not column.says("about")


def _says_id(column: LookedColumn) -> str:
    return "the column name says an identifier" if _is_named(column) else ""


def _spread(column: LookedColumn) -> str:
    return f"{column.distinct:,} different ones in {column.records:,} records"
