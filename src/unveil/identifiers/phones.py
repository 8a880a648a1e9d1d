"""Which columns hold telephone numbers? Decided by the numbering plans of the `phonenumbers` library.

An international number (+ and a country's code) is sufficient evidence. A national one is a few digits, and plans leave so few
gaps that many integers would pass: so digits alone count only if the column's name suggests telephones, and grouped digits only
if the grouping or a leading 0 is that of telephones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unveil.identifiers.column import MOST
from unveil.identifiers.finding import percent

if TYPE_CHECKING:
    import phonenumbers

    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Confidence, Finding

__all__ = ["phones"]

_EXTENSION = r"(?:\s*(?:x|ext\.?|extension|poste|durchwahl)\s*\d{1,6})?"
_INTERNATIONAL = re.compile(rf"(?:tel:)?(?:\+|00(?=\d*[\s().\-/]))\s?[1-9][\d\s().\-/]{{6,22}}\d{_EXTENSION}", re.IGNORECASE)
_NATIONAL = re.compile(rf"\(?\d[\d\s().\-/]{{5,20}}\d{_EXTENSION}", re.IGNORECASE)
_NORTH_AMERICAN = re.compile(rf"(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{{3}}[ .-]\d{{4}}{_EXTENSION}", re.IGNORECASE)
_TRUNK = re.compile(r"\(?0[1-9][\d\s().\-/]{6,18}\d")
_DIGITS = range(7, 16)
_SOME = 0.3
_FEWEST = 20
_SCREEN = 100

_TRUNK_REGIONS = ("GB", "FR", "NL", "BE", "IT", "CH", "AU", "IN", "JP", "SE", "IE", "TR", "DE", "AT")
_OTHER_REGIONS = ("US", "ES", "PT", "PL", "DK", "NO", "FI", "GR", "BR", "MX", "AR", "CN", "CZ", "HU", "RO", "ZA")
_LOOSE_REGIONS = frozenset({"DE", "AT", "IT", "SE", "FI"})
"""Countries whose numbers vary so much in length that nearly any digits after a 0 pass."""


def phones(column: LookedColumn) -> Finding | None:
    """Find telephone numbers, written internationally or as in one country."""
    if (
        column.kind not in ("text", "integer")
        or column.holds_dates
        or column.says("postcode", "national-number", "about", "quantity")
    ):
        return None
    return _international(column) or _grouped(column) or _named(column)


def _international(column: LookedColumn) -> Finding | None:
    shaped = column.share(_INTERNATIONAL.fullmatch)
    if column.kind != "text" or shaped < _SOME:
        return None
    valid = column.share(_is_valid)
    possible = column.share(_is_possible)
    if possible < _SOME:
        return None
    says = column.name_says("telephone", "phone")
    if valid >= MOST:
        seen = column.seen(valid, "are valid international telephone numbers")
        return column.finding("phone", "certain", valid, seen, says)
    seen = column.seen(possible, "have the form and length of international telephone numbers")
    confidence: Confidence = "likely" if possible >= MOST else "possible"
    return column.finding("phone", confidence, possible, seen, f"{percent(valid)} are in a numbering plan", says)


def _grouped(column: LookedColumn) -> Finding | None:
    """Find national numbers by how they are written: in North American groups, or with a leading 0 that fits a country."""
    if column.kind != "text":
        return None
    named = column.says("phone")
    says = column.name_says("telephone", "phone")
    share = column.share(_NORTH_AMERICAN.fullmatch)
    if share >= MOST:
        seen = column.seen(share, "are grouped as North American telephone numbers")
        return column.finding("phone", "certain" if named else "likely", share, seen, says)
    if column.share(_TRUNK.fullmatch) < MOST or column.distinct < _FEWEST:
        return None
    region, valid = _best_region(column, _TRUNK_REGIONS)
    separated = column.share(lambda text: not text.isdecimal()) >= MOST
    if valid < MOST or not (named or (separated or region not in _LOOSE_REGIONS)):
        return None
    seen = column.seen(valid, f"are valid telephone numbers as written in one country ({region})")
    return column.finding("phone", "certain" if named else "possible", valid, seen, says)


def _named(column: LookedColumn) -> Finding | None:
    """Find digits in a column whose name suggests telephones."""
    if not column.says("phone"):
        return None
    shaped = column.share(lambda text: _is_national(text) or _INTERNATIONAL.fullmatch(text))
    if shaped < MOST:
        return None
    region, valid = _best_region(column, (*_OTHER_REGIONS, *_TRUNK_REGIONS))
    says = "the column name says telephone"
    if valid >= MOST:
        seen = column.seen(valid, f"are valid telephone numbers as written in one country ({region})")
        return column.finding("phone", "likely", valid, seen, says)
    seen = column.seen(shaped, "have as many digits as telephone numbers")
    return column.finding("phone", "possible", shaped, seen, says, "they fit no one country's numbering plan")


def _best_region(column: LookedColumn, regions: tuple[str, ...]) -> tuple[str, float]:
    """Return the country in which most values are valid (of several, the first), and the share of valid values."""
    first = column.first_texts[:_SCREEN]
    shares = {region: sum(_is_valid(text, region) for text in first) / len(first) for region in regions}
    best = max(regions, key=shares.__getitem__)
    return best, column.share(lambda text: _is_valid(text, best))


def _is_national(text: str) -> bool:
    return _NATIONAL.fullmatch(text) is not None and sum(sign.isdecimal() for sign in text) in _DIGITS


def _is_valid(text: str, region: str | None = None) -> bool:
    import phonenumbers

    number = _parsed(text, region)
    return number is not None and phonenumbers.is_valid_number(number)


def _is_possible(text: str) -> bool:
    import phonenumbers

    number = _parsed(text, None)
    return number is not None and phonenumbers.is_possible_number(number)


def _parsed(text: str, region: str | None) -> phonenumbers.PhoneNumber | None:
    import phonenumbers

    if not (_INTERNATIONAL.fullmatch(text) or (region is not None and _is_national(text))):
        return None
    try:
        return phonenumbers.parse(f"+{text[2:]}" if text.startswith("00") else text, region)
    except phonenumbers.NumberParseException:
        return None
