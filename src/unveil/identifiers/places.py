"""Which columns reveal exactly where a person lives? Postal addresses and precise coordinates."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from unveil.identifiers.column import MOST

if TYPE_CHECKING:
    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Finding

__all__ = ["coordinates", "postal_addresses"]

_PRECISE = 4
"""The number of decimals of a degree from which a point is as precise as a house: 0.0001 degrees are 11 metres."""
_COARSE = 3
_PAIR = re.compile(r"(?:POINT ?(?:Z ?)?)?[(\[]?\s*[-+]?\d{1,3}\.\d{4,}\s*[,; ]\s*[-+]?\d{1,3}\.\d{4,}\s*[)\]]?", re.IGNORECASE)
_DECIMAL = re.compile(r"[-+]?\d{1,3}[.,](\d+)")
_HALF_TURN = 180

_STREET = re.compile(
    r"\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|square|close|terrace|"
    r"rue|allee|allée|impasse|chemin|quai|place|calle|avenida|avda|paseo|plaza|carrer|via|viale|piazza|corso|vicolo|"
    r"rua|travessa|praça|praca|largo|weg|platz|gasse|laan|plein|gracht|kade)\b"
    r"|[^\W\d_]{3,}(?:straße|strasse|str\b|weg|gasse|platz|allee|straat|laan|plein|gracht|kade)",
    re.IGNORECASE,
)
_HOUSE_NUMBER = re.compile(r"\b\d{1,5}[a-zA-Z]?\b")
_LONGEST_ADDRESS = 250
_HALF, _SOME = 0.5, 0.6
_FEWEST, _SPREAD = 20, 0.2


def postal_addresses(column: LookedColumn) -> Finding | None:
    """Find postal addresses: by the column's name, or by house numbers next to words for streets in seven languages."""
    other = ("email", "ip-address", "mac-address", "url", "about", "free-text", "postcode", "quantity")
    if column.kind != "text" or column.says(*other) or not _differ(column) or column.holds_dates:
        return None
    streets = column.share(_is_street)
    numbered = column.share(lambda text: _letters(text) and _HOUSE_NUMBER.search(text))
    named = column.says("postal-address")
    says = column.name_says("postal address", "postal-address")
    if streets >= _SOME or (named and numbered >= _HALF):
        share = max(streets, numbered) if named else streets
        what = "hold a house number beside words" if share > streets else "hold a house number beside a word for a street"
        certain = named and streets >= MOST
        return column.finding("postal-address", "certain" if certain else "likely", share, column.seen(share, what), says)
    words = column.share(_letters)
    if named and words >= MOST:
        return column.finding("postal-address", "possible", words, column.seen(words, "are words, few with a number"), says)
    return None


def coordinates(column: LookedColumn) -> Finding | None:
    """Find points on the map that are as precise as a house: two decimals in one text, or degrees in a column so named."""
    if column.kind == "text" and (share := column.share(_PAIR.fullmatch)) >= MOST:
        seen = column.seen(share, f"are pairs of numbers with {_PRECISE} decimals or more")
        return column.finding("coordinates", "likely" if _differ(column) else "possible", share, seen, _says(column))
    if not column.says("coordinates") or column.says("quantity", "about") or column.kind not in ("decimal", "text"):
        return None
    precise = column.share(lambda text: _decimals(text) >= _PRECISE)
    coarse = column.share(lambda text: _decimals(text) >= _COARSE)
    if coarse < MOST:
        return None
    share, decimals = (precise, _PRECISE) if precise >= MOST else (coarse, _COARSE)
    seen = column.seen(share, f"lie within 180 degrees and have {decimals} decimals or more")
    metres = "a fourth decimal is worth 11 metres" if decimals == _PRECISE else "a third decimal is worth 111 metres"
    likely = decimals == _PRECISE and _differ(column)
    return column.finding("coordinates", "likely" if likely else "possible", share, seen, metres, _says(column))


def _says(column: LookedColumn) -> str:
    return column.name_says("coordinate", "coordinates")


def _differ(column: LookedColumn) -> bool:
    """Whether there are enough distinct values to be people's places rather than a few sites."""
    return column.distinct >= _FEWEST or column.uniqueness >= _SPREAD


def _is_street(text: str) -> bool:
    return len(text) <= _LONGEST_ADDRESS and bool(_HOUSE_NUMBER.search(text)) and bool(_STREET.search(text))


def _letters(text: str) -> bool:
    return sum(map(str.isalpha, text[:_LONGEST_ADDRESS])) >= 3  # noqa: PLR2004 - the shortest street name


def _decimals(text: str) -> int:
    """Return the number of decimals of a number of degrees, for a float in its shortest form; -1 for anything else."""
    match = _DECIMAL.fullmatch(text)
    if match is None or abs(Decimal(text.replace(",", "."))) > _HALF_TURN:
        return -1
    return len(match[1])
