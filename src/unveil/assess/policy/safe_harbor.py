"""Which columns hold one of the 18 identifiers of the US Safe Harbor rule, 45 CFR 164.514(b)(2)(i)?

Each is sought in the same way as direct identifiers, by the column's name, and, for dates, ages and ZIP codes, by the values.
Dates may keep only their year, ages over 89 must form one group, and the first three digits of a ZIP code may stay if more than
20,000 people live in the area that they name; only the current census can show that, not the table.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Counts, count_table
from unveil.identifiers import read_column
from unveil.naming import hints_of, words_of
from unveil.sources import CodedTable
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.identifiers import DirectIdentifiers
    from unveil.sources import Coded

__all__ = ["ITEMS", "Item", "Sighting", "sightings"]


@dataclass(frozen=True, slots=True)
class Item:
    """One of the 18: its name, the categories of direct identifiers that it covers, and the words that name it in columns."""

    title: str
    categories: frozenset[str] = frozenset()
    words: str = ""

    def named_by(self, column: str) -> bool:
        """Whether the column's name contains it, in whole words; a plural s is ignored."""
        words = " ".join(words_of(column))
        return bool(self.words) and re.search(rf"\b(?:{'|'.join(self.words.split(', '))})s?\b", words) is not None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A column that holds an identifier, or may hold one, and the evidence."""

    column: str
    why: str
    sure: bool = True


def _of(*categories: str) -> frozenset[str]:
    return frozenset(categories)


ITEMS: dict[str, Item] = {
    "A": Item("names", _of("person-name")),
    "B": Item(
        "places smaller than a state",
        _of("postal-address", "coordinates"),
        "city, town, county, precinct, parish, borough, municipality, village, neighborhood, neighbourhood, census tract, "
        "census block, ward, district, geocode, street",
    ),
    "C": Item("dates but years, ages over 89", _of("birth-date")),
    "D": Item("telephone numbers", _of("phone")),
    "E": Item("fax numbers", words="fax, fax number"),
    "F": Item("e-mail addresses", _of("email")),
    "G": Item("social security numbers", _of("national-number"), "ssn, social security"),
    "H": Item("medical record numbers", words="mrn, medical record, chart number, patient number, patient id, hospital number"),
    "I": Item(
        "health plan beneficiary numbers",
        words="health plan, beneficiary, insurance number, insurance id, policy number, member id, subscriber id",
    ),
    "J": Item("account numbers", _of("iban", "card-number"), "account, account number, bank account, card number"),
    "K": Item(
        "certificate and license numbers",
        words="certificate, license number, licence number, driver license, driver licence, drivers license, driving licence, "
        "passport",
    ),
    "L": Item("vehicle identifiers", words="vin, vehicle id, vehicle number, license plate, licence plate, number plate"),
    "M": Item("device identifiers", _of("device-number", "mac-address"), "device id, serial number, serial, udid, imei"),
    "N": Item("web addresses", _of("url")),
    "O": Item("IP addresses", _of("ip-address")),
    "P": Item("biometric identifiers", words="fingerprint, finger print, voiceprint, voice print, faceprint, biometric"),
    "Q": Item("full-face photographs", words="photo, photograph, picture, portrait, face image"),
    "R": Item("any other unique number or code", _of("code", "row-number", "account-name", "free-text")),
}
"""The 18 identifiers by their letter in the rule."""

_NUMBERED = "HIJKLMPQ"
"""Items that a column's name may state for a code, which is then not an "other" one."""

_OLDEST = 89
_SMALL_AREAS = frozenset("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())  # noqa: SIM905
"""Three digits of areas with 20,000 people or fewer by the census of 2000, as listed in the guidance of 2012."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MERGED = "000"
_ZIP_PREFIX = 3


def sightings(release: Study, identifiers: DirectIdentifiers, item: str, excepted: Sequence[str]) -> list[Sighting]:
    """Return the columns in which an identifier is detected, except those that were excepted by name."""
    seen: list[Sighting] = []
    for column in release.names:
        if column not in excepted:
            sighting = next(_seen(release, identifiers, item, column), None)
            seen += [] if sighting is None else [sighting]
    return seen


def _seen(release: Study, identifiers: DirectIdentifiers, item: str, column: str) -> Iterator[Sighting]:
    """Yield the evidence of an identifier in a column, the most certain first."""
    wanted = ITEMS[item]
    findings = [one for one in identifiers.findings if one.column == column and one.category in _categories(item, column)]
    yield from (Sighting(column, one.category) for one in findings if one.confidence != "possible")
    if wanted.named_by(column):
        yield Sighting(column, "by its name")
    if item == "Q" and column in identifiers.skipped:
        yield Sighting(column, "values that cannot be read", sure=False)
    if item in "BC" and column not in identifiers.skipped:
        table = release.table([column], nulls="category")
        yield from _places(column, table.columns[0]) if item == "B" else _times(column, table)
    yield from (Sighting(column, f"perhaps {one.category}", sure=False) for one in findings)


def _categories(item: str, column: str) -> frozenset[str]:
    """Return the categories that count for an item; a fax number is no phone number, a named code is not an "other" one."""
    if item in "DE":
        fax = ITEMS["E"].named_by(column)
        return _of("phone") if fax == (item == "E") else frozenset()
    if item == "R" and any(ITEMS[other].named_by(column) for other in _NUMBERED):
        return _of("free-text")
    return ITEMS[item].categories


def _places(column: str, coded: Coded) -> Iterator[Sighting]:
    """Examine ZIP codes: three digits may stay, if the area that they name has more than 20,000 people."""
    if "postcode" not in hints_of(column):
        return
    digits = ["".join(re.findall(r"\d", str(value))) for value in coded.values if value is not None]
    if any(len(code) > _ZIP_PREFIX for code in digits):
        yield Sighting(column, "ZIP codes of more than three digits")
    elif any(code.zfill(_ZIP_PREFIX) in _SMALL_AREAS for code in digits if code):
        yield Sighting(column, "three digits that the guidance lists as areas of 20,000 people or fewer; they become 000")
    elif any(code and code != _MERGED for code in digits):
        yield Sighting(column, "three digits: does each area hold over 20,000 people in the current census?", sure=False)


def _times(column: str, table: CodedTable) -> Iterator[Sighting]:
    """Look for dates finer than a year, ages over 89, and years of birth that reveal such an age."""
    today = dt.datetime.now(tz=dt.UTC).date()
    values = table.columns[0].values
    looked_at = read_column(column, values, table.records, sample=10_000, seed=0, today=today)
    if looked_at.values and looked_at.kind != "other" and looked_at.holds_dates:
        yield Sighting(column, "dates finer than a year")
    words = set(words_of(column))
    if words & {"age", "ages"}:
        yield from _ages(column, count_table(table))
    if "birth-date" in hints_of(column) and looked_at.kind == "integer" and 0 < looked_at.low < today.year - _OLDEST:
        yield Sighting(column, "years of birth of people over 89")


def _ages(column: str, counts: Counts) -> Iterator[Sighting]:
    values = counts.columns[0].values
    old = [at for at, value in enumerate(values) if _is_number(value) and float(value) > _OLDEST]
    if old:
        records = int(counts.n[np.isin(counts.codes[0], old)].sum())
        yield Sighting(column, f"ages over 89 in {records:,} record{'' if records == 1 else 's'}")
    texts = [_NUMBER.findall(value) for value in values if isinstance(value, str)]
    if any(float(number) > _OLDEST + 1 for numbers in texts for number in numbers):
        yield Sighting(column, "age groups that may divide people over 89", sure=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
