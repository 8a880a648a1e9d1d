"""Everything here is made up: numbers are computed from their check digits, addresses lie in ranges reserved for examples."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, UnsupportedDataError
from unveil.identifiers import CATEGORIES, Finding, column_findings, direct_identifiers
from unveil.identifiers.column import numbered, read_column
from unveil.identifiers.contacts import emails, ip_addresses, mac_addresses, urls
from unveil.identifiers.dates import birth_dates
from unveil.identifiers.numbers import NATIONAL, NOT_PEOPLE, Register, card_numbers, device_numbers, ibans, national_numbers
from unveil.identifiers.phones import phones
from unveil.identifiers.places import coordinates, postal_addresses
from unveil.identifiers.texts import account_names, free_text, person_names
from unveil.naming import hints_of, words_of

TODAY = dt.date(2025, 6, 1)
TELLING = (
    emails, urls, ip_addresses, mac_addresses, ibans, card_numbers, device_numbers, national_numbers, birth_dates, coordinates,
    phones, postal_addresses,
)  # fmt: skip
GENERAL = (person_names, account_names, free_text, numbered)
SYLLABLES = ("ba", "ko", "li", "mu", "ne", "ri", "sa", "to", "vu", "ze", "dor", "fen", "gal", "hin", "jor", "lum")


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def found(name: str, values: Sequence[Any], records: int | None = None) -> list[Finding]:
    return column_findings(name, values, len(values) if records is None else records, today=TODAY)


def verdicts(name: str, values: Sequence[Any], records: int | None = None) -> dict[str, str]:
    return {finding.category: finding.confidence for finding in found(name, values, records)}


def digits(rng: np.random.Generator, number: int) -> str:
    return "".join(map(str, rng.integers(0, 10, number)))


def letters(rng: np.random.Generator, number: int, among: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ") -> str:
    return "".join(among[at] for at in rng.integers(0, len(among), number))


def word(rng: np.random.Generator) -> str:
    return "".join(SYLLABLES[at] for at in rng.integers(0, len(SYLLABLES), int(rng.integers(2, 5)))).capitalize()


def different(make: Callable[[np.random.Generator], Any], number: int = 60, seed: int = 1) -> list[Any]:
    rng = chance(seed)
    values: dict[Any, None] = {}
    while len(values) < number:
        values[make(rng)] = None
    return list(values)


def birth(rng: np.random.Generator) -> dt.date:
    """A day on which somebody between 18 and 90 was born."""
    return dt.date(1935, 1, 1) + dt.timedelta(days=int(rng.integers(0, 72 * 365)))


def obeying(module: str, make: Callable[[np.random.Generator], str]) -> Callable[[np.random.Generator], str]:
    """Draw until the rules of the register accept the number."""
    valid = import_module(f"stdnum.{module}").is_valid

    def draw(rng: np.random.Generator) -> str:
        text = make(rng)
        while not valid(text):
            text = make(rng)
        return text

    return draw


def luhn(partial: str) -> str:
    from stdnum import luhn as rule

    return partial + rule.calc_check_digit(partial)


def iban(rng: np.random.Generator) -> str:
    account = digits(rng, 18)
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


def nir(rng: np.random.Generator) -> str:
    born = birth(rng)
    first = f"{rng.integers(1, 3)}{born:%y%m}{rng.integers(1, 95):02}{rng.integers(1, 990):03}{rng.integers(1, 999):03}"
    return f"{first}{97 - int(first) % 97:02}"


def resident_identity(rng: np.random.Generator) -> str:
    from stdnum.cn import ric

    first = f"110101{birth(rng):%Y%m%d}{digits(rng, 3)}"
    return first + ric.calc_check_digit(first + "0")


def code_of_taxes(rng: np.random.Generator) -> str:
    from stdnum.it import codicefiscale

    born = f"{digits(rng, 2)}{letters(rng, 1, 'ABCDEHLMPRST')}{rng.integers(1, 29):02}"
    first = f"{letters(rng, 6)}{born}{letters(rng, 1)}{digits(rng, 3)}"
    return first + codicefiscale.calc_check_digit(first)


def hetu(rng: np.random.Generator) -> str:
    born, number = birth(rng), int(rng.integers(2, 900))
    sign = "-" if born.year < 2000 else "A"
    control = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(f"{born:%d%m%y}{number:03}") % 31]
    return f"{born:%d%m%y}{sign}{number:03}{control}"


NATIONAL_NUMBERS: dict[str, tuple[str, Callable[[np.random.Generator], str]]] = {
    "Canadian social insurance": ("sin", lambda rng: luhn(str(rng.integers(1, 8)) + digits(rng, 7))),
    "Brazilian CPF": ("cpf", obeying("br.cpf", lambda rng: digits(rng, 11))),
    "British NHS": ("nhs_number", obeying("gb.nhs", lambda rng: digits(rng, 10))),
    "French NIR": ("nir", nir),
    "German tax identification": ("steuer_id", obeying("de.idnr", lambda rng: digits(rng, 11))),
    "Austrian social insurance": ("svnr", obeying("at.vnr", lambda rng: digits(rng, 4) + f"{birth(rng):%d%m%y}")),
    "Swiss social insurance": ("ahv", obeying("ch.ssn", lambda rng: "756" + digits(rng, 10))),
    "Belgian national": ("niss", obeying("be.nn", lambda rng: f"{birth(rng):%y%m%d}" + digits(rng, 5))),
    "Dutch BSN": ("bsn", obeying("nl.bsn", lambda rng: digits(rng, 9))),
    "Spanish DNI": ("dni", obeying("es.dni", lambda rng: digits(rng, 8) + letters(rng, 1))),
    "Portuguese tax": ("nif", obeying("pt.nif", lambda rng: digits(rng, 9))),
    "Italian codici fiscali": ("codiceFiscale", code_of_taxes),
    "Swedish personal": ("personnummer", lambda rng: _dashed(luhn(f"{birth(rng):%y%m%d}" + digits(rng, 3)))),
    "Norwegian birth": ("fodselsnummer", obeying("no.fodselsnummer", lambda rng: f"{birth(rng):%d%m%y}" + digits(rng, 5))),
    "Finnish personal": ("hetu", hetu),
    "Polish PESEL": ("pesel", obeying("pl.pesel", lambda rng: f"{digits(rng, 2)}{birth(rng):%m%d}" + digits(rng, 5))),
    "Romanian CNP": ("cnp", obeying("ro.cnp", lambda rng: f"1{birth(rng):%y%m%d}12" + digits(rng, 4))),
    "Turkish identity": ("tckn", obeying("tr.tckimlik", lambda rng: digits(rng, 11))),
    "Indian Aadhaar": ("aadhaar", obeying("in_.aadhaar", lambda rng: digits(rng, 12))),
    "Chinese resident": ("resident_id", resident_identity),
    "South African identity": ("identity_number", lambda rng: luhn(f"{birth(rng):%y%m%d}{digits(rng, 4)}08")),
}


@cache
def national(label: str, number: int = 60) -> list[str]:
    return different(NATIONAL_NUMBERS[label][1], number)


def _article(partial: str) -> str:
    from stdnum import ean

    return partial + ean.calc_check_digit(partial)


def _grouped(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def _dashed(number: str) -> str:
    return f"{number[:-4]}-{number[-4:]}"


def street(rng: np.random.Generator) -> str:
    return f"{rng.integers(1, 200)} {word(rng)} Street"


def sentence(rng: np.random.Generator) -> str:
    return " ".join(word(rng).lower() for _ in range(int(rng.integers(7, 20)))) + "."


def coordinate(rng: np.random.Generator) -> float:
    return round(float(rng.uniform(40, 60)), 6)


def uuid(rng: np.random.Generator) -> str:
    text = rng.bytes(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


POSITIVE: dict[str, tuple[str, list[Any], str, str]] = {
    "e-mail, named": ("email", different(lambda rng: f"{word(rng)}.{word(rng)}@example.com"), "email", "certain"),
    "e-mail, unnamed": ("x1", different(lambda rng: f"{word(rng)}{digits(rng, 2)}@mail.example.org"), "email", "certain"),
    "phone, international": ("x", [f"+1 202-555-01{n:02}" for n in range(100)], "phone", "certain"),
    "phone, international, not in any plan": ("tel", [f"+44 7700 900{n:03}" for n in range(100)], "phone", "likely"),
    "phone, American groups": ("x", [f"(202) 555-01{n:02}" for n in range(100)], "phone", "likely"),
    "phone, American groups, named": ("cellPhone", [f"202-555-01{n:02}" for n in range(100)], "phone", "certain"),
    "phone, French": ("telephone", [f"01 99 00 {n:02} {n:02}" for n in range(100)], "phone", "certain"),
    "phone, British, unnamed": ("x", [f"020 7946 0{n:03}" for n in range(100)], "phone", "possible"),
    "phone, integers, named": ("Telefono", [2025550100 + n for n in range(100)], "phone", "likely"),
    "phone, odd integers, named": ("mobile", [10**14 + 7 * n for n in range(100)], "phone", "possible"),
    "card": ("x", different(lambda rng: luhn("4" + digits(rng, 14))), "card-number", "certain"),
    "card, grouped": ("payment", different(lambda rng: _grouped(luhn("51" + digits(rng, 13)))), "card-number", "certain"),
    "card, integers": (
        "x",
        [int(text) for text in different(lambda rng: luhn("37" + digits(rng, 12)))],
        "card-number",
        "certain",
    ),
    "IMEI": ("x", different(lambda rng: luhn("35" + digits(rng, 12))), "device-number", "certain"),
    "IBAN": ("x", different(iban), "iban", "certain"),
    "IBAN, grouped": ("account", different(lambda rng: _grouped(iban(rng))), "iban", "certain"),
    "IPv4": ("x", [f"203.0.113.{n}" for n in range(200)], "ip-address", "certain"),
    "IPv6": ("client", [f"2001:db8::{n:x}" for n in range(200)], "ip-address", "certain"),
    "MAC": ("x", [f"00:00:5E:00:53:{n:02X}" for n in range(200)], "mac-address", "certain"),
    "MAC, bare": ("mac", [f"00005e0053{n:02x}" for n in range(200)], "mac-address", "certain"),
    "URL": ("homepage", [f"https://example.com/people/{n}" for n in range(50)], "url", "likely"),
    "birth, dates": ("dob", different(birth), "birth-date", "certain"),
    "birth, day first": ("geburtsdatum", different(lambda rng: f"{birth(rng):%d.%m.%Y}"), "birth-date", "certain"),
    "birth, month first": ("Birth Date", different(lambda rng: f"{birth(rng):%m/%d/%Y}"), "birth-date", "certain"),
    "birth, two-digit years": ("date_naissance", different(lambda rng: f"{birth(rng):%d/%m/%y}"), "birth-date", "certain"),
    "birth, month names": (
        "fechaNacimiento",
        different(lambda rng: f"{birth(rng).day} de agosto de 19{digits(rng, 2)}"),
        "birth-date",
        "certain",
    ),
    "birth, eight digits": ("geboortedatum", different(lambda rng: int(f"{birth(rng):%Y%m%d}")), "birth-date", "certain"),
    "birth, midnight": (
        "data_nascita",
        different(lambda rng: dt.datetime.combine(birth(rng), dt.time())),
        "birth-date",
        "certain",
    ),
    "birth, unnamed": ("d1", different(birth, 500), "birth-date", "possible"),
    "names": ("last_name", different(word), "person-name", "likely"),
    "names, full": ("name", different(lambda rng: f"{word(rng)} van {word(rng)}"), "person-name", "likely"),
    "names, of a patient": (
        "Patient.Name",
        different(lambda rng: f"{word(rng)}, {word(rng)}-{word(rng)}"),
        "person-name",
        "likely",
    ),
    "names, with titles": (
        "Name",
        different(lambda rng: f"{word(rng)}, Mrs. {word(rng)} ({word(rng)} {word(rng)})"),
        "person-name",
        "likely",
    ),
    "names, of a person": ("physician", different(lambda rng: f"{word(rng)} {word(rng)}"), "person-name", "likely"),
    "names, single": ("nom", different(word), "person-name", "possible"),
    "names, unnamed": ("v7", different(lambda rng: f"{word(rng)} {word(rng)}"), "person-name", "possible"),
    "account": ("username", different(lambda rng: f"{word(rng).lower()}_{digits(rng, 2)}"), "account-name", "likely"),
    "address": ("street_address", different(street), "postal-address", "certain"),
    "address, unnamed": ("v3", different(lambda rng: f"{word(rng)}straße {rng.integers(1, 99)}"), "postal-address", "likely"),
    "address, no street word": (
        "adresse",
        different(lambda rng: f"{rng.integers(1, 99)} {word(rng)}"),
        "postal-address",
        "likely",
    ),
    "address, no number": ("calle", different(word), "postal-address", "possible"),
    "latitude": ("lat", different(coordinate), "coordinates", "likely"),
    "longitude, text": ("longitude", different(lambda rng: f"{coordinate(rng):.5f}"), "coordinates", "likely"),
    "latitude, coarse": ("Latitud", different(lambda rng: f"{coordinate(rng):.3f}"), "coordinates", "possible"),
    "pair": ("where", different(lambda rng: f"{coordinate(rng):.5f}, {coordinate(rng):.5f}"), "coordinates", "likely"),
    "free text": ("v9", different(sentence), "free-text", "likely"),
    "free text, named": ("Bemerkung", different(lambda rng: f"{word(rng)} {word(rng)} {word(rng)} 1"), "free-text", "likely"),
    "UUID": ("x", different(uuid), "code", "certain"),
    "hash": ("email_hash", different(lambda rng: rng.bytes(32).hex()), "code", "certain"),
    "code": ("x", different(lambda rng: letters(rng, 3) + digits(rng, 5)), "code", "likely"),
    "code, prefix": ("x", [f"CUST-{n * n}" for n in range(3, 80)], "code", "likely"),
    "code, leading zeros": ("x", different(lambda rng: digits(rng, 8)), "code", "possible"),
    "code, integers": ("x", different(lambda rng: int(rng.integers(10**7, 10**8)), 200), "code", "possible"),
    "code, integers, named": ("patient_id", different(lambda rng: int(rng.integers(0, 10**5)), 200), "code", "likely"),
    "row number": ("x", list(range(1, 101)), "row-number", "likely"),
    "row number, floats": ("x", [float(n) for n in range(100)], "row-number", "likely"),
    "row number, elsewhere": ("x", list(range(5000, 5100)), "row-number", "possible"),
    "row number, gaps": ("id", [n for n in range(5000, 5200) if n % 5], "row-number", "likely"),
}


def days(first: dt.date, number: int) -> list[dt.date]:
    return [first + dt.timedelta(days=n) for n in range(number)]


NEGATIVE: dict[str, tuple[str, list[Any], int]] = {
    "ages": ("age", list(range(17, 91)), 30_000),
    "years": ("year", list(range(1950, 2020)), 70),
    "years, unnamed": ("v", list(range(1950, 2020)), 70),
    "birth years": ("birth_year", list(range(1930, 2010)), 1_000),
    "days of orders": ("order_date", days(dt.date(2022, 1, 1), 1_000), 5_000),
    "texts of days of orders": ("delivered", [f"{day:%Y-%m-%d}" for day in days(dt.date(2024, 1, 1), 365)], 365),
    "moments": ("created_at", [dt.datetime(2025, 1, 1) + dt.timedelta(minutes=7 * n) for n in range(500)], 500),  # noqa: DTZ001
    "days of hiring": ("hired", different(lambda rng: TODAY - dt.timedelta(days=int(rng.exponential(2500))), 500), 600),
    "days of forty years": ("delivered", days(dt.date(1983, 1, 1), 15_000)[::11], 1_500),
    "days of expiry": ("until", days(dt.date(1950, 1, 1), 29_000)[::11], 2_700),
    "days to come": ("due", days(dt.date(2026, 1, 1), 400), 400),
    "days of long ago": ("battle", days(dt.date(1650, 1, 1), 20_000)[::40], 500),
    "seconds": ("logged", [1_700_000_000 + 13 * n * n for n in range(300)], 300),
    "times of day": ("at", [f"{n // 60:02}:{n % 60:02}" for n in range(500)], 500),
    "months": ("v", [f"{year}-{month:02}" for year in range(1990, 2020) for month in range(1, 13)], 360),
    "weeks": ("v", [f"{year}W{week:02}" for year in range(2000, 2020) for week in range(1, 53)], 1_040),
    "school years": ("v", [f"{year}/{year + 1}" for year in range(1950, 2020)], 70),
    "ends of school": ("left", [dt.date(year, 6, 30) for year in range(1950, 2020)], 70),
    "working days": ("signed", [day for day in days(dt.date(1950, 1, 2), 22_000)[::11] if day.weekday() < 5], 1_700),
    "lengths": ("v", [f"{n}mm" for n in range(100, 400)], 300),
    "durations": ("took", [dt.timedelta(seconds=n) for n in range(300)], 300),
    "postal codes": ("zip", different(lambda rng: int(rng.integers(10_000, 99_999)), 300), 300),
    "postal codes, text": ("postal_code", different(lambda rng: digits(rng, 5), 300), 300),
    "postal codes, extended": ("zipCode", different(lambda rng: f"9{digits(rng, 4)}-{digits(rng, 4)}", 300), 300),
    "postal codes, unnamed": ("v", different(lambda rng: digits(rng, 5), 300), 5_000),
    "few product codes": ("product_code", [f"AB-{n:05}" for n in range(12)], 10_000),
    "article numbers": ("ean", different(lambda rng: _article("40" + digits(rng, 10)), 100), 100),
    "prices": ("price", different(lambda rng: round(float(rng.lognormal(3, 1)), 2), 500), 500),
    "prices, text": ("v", different(lambda rng: f"{rng.lognormal(7, 1):.2f}", 500), 500),
    "prices, decimals": ("v", [Decimal(n) / 100 for n in different(lambda rng: int(rng.integers(1, 10**6)), 300)], 300),
    "incomes": ("income", different(lambda rng: int(rng.integers(1_000_000, 9_999_999)), 300), 300),
    "incomes, unnamed": ("v", different(lambda rng: int(rng.lognormal(10, 1)), 300), 300),
    "integers": ("v", different(lambda rng: int(rng.integers(10_000, 99_999)), 300), 300),
    "integers of eight digits, mostly": ("v", different(lambda rng: int(rng.integers(0, 10**8)), 10_000), 10_000),
    "integers that records share": ("v", different(lambda rng: int(rng.integers(10**8, 10**9)), 300), 450),
    "integers that few records share": ("v", different(lambda rng: int(rng.integers(10**8, 10**9)), 300), 310),
    "integers with gaps": ("v", list(range(3000, 3400, 2)), 200),
    "codes that records share": ("v", different(lambda rng: letters(rng, 3) + digits(rng, 5), 300), 450),
    "measurements": ("v", different(lambda rng: float(rng.normal()), 300), 300),
    "measurements near a map": ("ratio", different(coordinate, 300), 300),
    "coordinates of a few shops": ("lat", different(lambda rng: f"{coordinate(rng):.2f}", 60), 60),
    "words": ("occupation", ["Clerk", "Farmer", "Exec-managerial", "Tech-support", "Other service"], 30_000),
    "cities": ("city", different(lambda rng: f"New {word(rng)}", 100), 110),
    "countries": ("country_name", different(word, 100), 110),
    "companies": ("companyName", different(lambda rng: f"{word(rng)} {word(rng)}", 100), 100),
    "files": ("filename", [f"report {n} final.pdf" for n in range(100)], 100),
    "kinds of address": ("address_type", ["home", "work", "holiday"], 500),
    "kinds of phone": ("phone_type", ["mobile", "fixed"], 500),
    "checked addresses": ("email_verified", [True, False], 500),
    "first names, few": ("first_name", ["Bako", "Lumzeli"], 500),
    "versions": ("version", [f"{a}.{b}.0.{c}" for a in range(3) for b in range(5) for c in range(9)], 500),
    "few descriptions": ("product_text", different(sentence, 12), 5_000),
    "ranges": ("bracket", [f"[{n}, {n + 10})" for n in range(0, 100, 10)], 500),
    "levels": ("level", [f"L{n}" for n in range(30)], 30),
    "flags": ("has_ssn", [0, 1], 500),
    "numbers of children": ("nombre_enfants", list(range(9)), 500),
    "zero": ("x", [0], 1_000),
    "one record": ("x", ["Bako"], 1),
    "all null": ("email", [None], 0),
    "nothing": ("email", [], 0),
    "blanks": ("email", ["", "  ", None], 3),
}


@pytest.mark.parametrize("case", POSITIVE)
def test_every_category_is_found(case: str) -> None:
    name, values, category, confidence = POSITIVE[case]
    best = found(name, values)[0]
    assert (best.category, best.confidence) == (category, confidence)
    assert best.column == name
    assert best.distinct == best.records == len(values)
    assert best.share >= 0.9
    assert best.evidence


def test_the_cases_cover_every_category() -> None:
    assert {category for _, _, category, _ in POSITIVE.values()} == set(CATEGORIES) - {"national-number"}


@pytest.mark.parametrize("case", NEGATIVE)
def test_what_is_no_direct_identifier_is_left_alone(case: str) -> None:
    assert found(*NEGATIVE[case]) == []


@pytest.mark.parametrize("label", NATIONAL_NUMBERS)
def test_national_numbers_are_found_by_their_check_digits(label: str) -> None:
    name, values = NATIONAL_NUMBERS[label][0], national(label)
    unnamed, named = found("x", values)[0], found(name, values)[0]
    assert (named.category, named.confidence) == ("national-number", "certain")
    assert label in named.evidence[0]
    assert unnamed.category == "national-number"
    shares_its_check = label in ("Canadian social insurance", "British NHS")
    assert unnamed.confidence == ("likely" if shares_its_check else "certain")
    assert ("the same check serves" in " ".join(unnamed.evidence)) == shares_its_check


@pytest.mark.parametrize("label", NATIONAL_NUMBERS)
def test_national_numbers_with_wrong_check_digits_are_not(label: str) -> None:
    rng = chance(5)
    values = [_spoilt(text, rng) for text in national(label)]
    assert "national-number" not in verdicts("x", values)


def _spoilt(text: str, rng: np.random.Generator) -> str:
    """Replace one digit by another."""
    at = next(at for at in rng.permutation(len(text)) if text[at].isdecimal())
    return f"{text[:at]}{(int(text[at]) + int(rng.integers(1, 10))) % 10}{text[at + 1 :]}"


@pytest.mark.parametrize("label", ["Brazilian CPF", "Dutch BSN", "Polish PESEL", "French NIR", "Turkish identity"])
def test_national_numbers_survive_being_read_as_integers(label: str) -> None:
    values = [int(text) for text in national(label)]
    best = found("x", values)[0]
    assert (best.category, best.confidence) == ("national-number", "certain")
    assert label in best.evidence[0]


@pytest.mark.parametrize("register", [*NATIONAL, *NOT_PEOPLE], ids=lambda one: one.label)
def test_texts_that_are_passed_over_as_too_short_have_no_form_of_a_register(register: Register) -> None:
    """The form is tried on every shorter run of digits and letters of one kind, with the zeros that an integer may have lost."""
    for length in range(register.shortest):
        assert not any(re.fullmatch(register.form, sign * length) for sign in "0159AHMXZ")
    assert register.shortest in (0, register.width)


def test_national_numbers_of_two_kinds_and_with_separators() -> None:
    foreigners = obeying("es.nie", lambda rng: letters(rng, 1, "XYZ") + digits(rng, 7) + letters(rng, 1))
    mixed = [*national("Spanish DNI", 30), *different(foreigners, 30)]
    assert verdicts("x", [f"{text[:-1]}-{text[-1].lower()}" for text in mixed])["national-number"] == "certain"
    punctuated = [f"{t[:3]}.{t[3:6]}.{t[6:9]}-{t[9:]}" for t in national("Brazilian CPF")]
    assert verdicts("x", punctuated)["national-number"] == "certain"


def test_a_number_without_check_digit_needs_a_name_or_a_writing_of_its_own() -> None:
    numbers = different(lambda rng: f"{rng.integers(100, 600)}{rng.integers(10, 99)}{rng.integers(1000, 9999)}", 300)
    dashed = [f"{text[:3]}-{text[3:5]}-{text[5:]}" for text in numbers]
    assert "national-number" not in verdicts("x", numbers)
    assert "national-number" not in verdicts("x", [int(text) for text in numbers])
    assert verdicts("x", dashed)["national-number"] == "likely"
    assert verdicts("SSN", [int(text) for text in numbers])["national-number"] == "likely"
    assert verdicts("socialSecurityNumber", numbers)["national-number"] == "likely"


def test_letters_in_the_right_places_are_worth_a_remark() -> None:
    numbers = different(lambda rng: f"{letters(rng, 2, 'ABCEHJKLMPRSTWXY')}{digits(rng, 6)}{letters(rng, 1, 'ABCD')}")
    assert verdicts("x", numbers)["national-number"] == "possible"
    assert verdicts("nino", numbers)["national-number"] == "likely"


def test_a_check_needs_seven_values() -> None:
    values = national("Dutch BSN")
    assert verdicts("x", values[:1]) == {}
    assert verdicts("bsn", values[:1]) == {"national-number": "likely"}
    assert verdicts("x", values[:5]) == {}
    assert verdicts("x", values[:20])["national-number"] == "certain"


def test_books_and_companies_are_not_people() -> None:
    isbn = obeying("isbn", lambda rng: digits(rng, 9) + letters(rng, 1, "0123456789X"))
    books = different(isbn, 400)
    assert sum(not text.endswith("X") for text in books) > 0.9 * len(books) * 0.9
    assert "national-number" not in verdicts("x", books)
    companies = different(lambda rng: luhn(digits(rng, 8)), 100)
    assert verdicts("x", companies)["national-number"] == "likely"
    assert "national-number" not in verdicts("siren", companies)


def test_digits_that_pass_no_more_often_than_chance_are_no_cards() -> None:
    random = different(lambda rng: "4" + digits(rng, 15), 300)
    assert "card-number" not in verdicts("x", random)
    assert "card-number" not in verdicts("card_number", random)
    wrong_length = different(lambda rng: luhn("4" + digits(rng, 12)), 100)
    assert "card-number" not in verdicts("x", wrong_length)


def test_dirt_is_tolerated_up_to_one_in_ten() -> None:
    clean = national("Dutch BSN", 100)
    assert verdicts("x", [*clean[:95], "unknown", "n/a", "?", "-", "none"])["national-number"] == "certain"
    assert "national-number" not in verdicts("x", [*clean[:70], *different(word, 30)])


def test_a_column_with_some_addresses_is_worth_a_remark() -> None:
    addresses = different(lambda rng: f"{word(rng)}@example.net", 60)
    others = [f"room {n}" for n in range(100)]
    assert verdicts("contact", [*addresses, *others[:40]])["email"] == "likely"
    assert verdicts("contact", [*addresses[:25], *others])["email"] == "possible"
    assert "email" not in verdicts("contact", [*addresses[:4], *others])


def test_free_text_tells_of_addresses_within() -> None:
    notes = different(lambda rng: f"{sentence(rng)} Write to {word(rng).lower()}@example.com, please.")
    best = found("notes", notes)[0]
    assert best.category == "free-text"
    assert "100 % of them hold an e-mail address" in best.evidence
    assert not any("e-mail" in piece for piece in found("notes", different(sentence))[0].evidence)


@pytest.mark.parametrize(
    ("values", "confidence"),
    [([f"1.2.{n % 9}.{n // 9}" for n in range(80)], "possible"), (["10.0.0.1", "192.0.2.77"], "certain")],
)
def test_small_numbers_with_points_may_be_versions(values: list[str], confidence: str) -> None:
    assert verdicts("x", values) == {"ip-address": confidence} | ({"code": "likely"} if len(values) > 20 else {})
    assert verdicts("ip", values)["ip-address"] == "certain"


@pytest.mark.parametrize("text", ["256.1.1.1", "1.2.3", "12:30", "01:02:03", "::g", "1.2.3.4.5", "a.b.c.d", "192.0.2.1:80000"])
def test_near_misses_of_ip_addresses(text: str) -> None:
    assert "ip-address" not in verdicts("ip", [text])


@pytest.mark.parametrize("text", ["a@b", "@example.com", "a b@example.com", "me@", "a@@example.com", "a@example.c0m", "5 @ 3.50"])
def test_near_misses_of_email_addresses(text: str) -> None:
    assert "email" not in verdicts("email", [text])


def test_telephone_like_integers_are_not_telephone_numbers() -> None:
    numbers = different(lambda rng: int(rng.integers(2_000_000_000, 9_999_999_999)), 300)
    assert "phone" not in verdicts("x", numbers)
    assert "phone" not in verdicts("x", [str(number) for number in numbers])
    assert "phone" not in verdicts("x", [f"{n:012}" for n in numbers])
    assert "phone" not in verdicts("phone", [10**19 + n for n in range(50)])
    assert "phone" not in verdicts("change", [f"+{n / 1000:.3f}" for n in range(1000, 900_000, 977)])


def test_codes_that_records_share_are_found_by_name_only() -> None:
    numbers = different(lambda rng: int(rng.integers(0, 10**6)), 400)
    assert verdicts("customer_id", numbers, records=4_000) == {"code": "likely"}
    assert verdicts("Kundennummer", numbers, records=4_000) == {"code": "likely"}
    assert verdicts("store_id", numbers[:30], records=4_000) == {}
    assert verdicts("v", numbers, records=4_000) == {}
    assert verdicts("user", different(uuid, 300), records=10_000) == {"code": "likely"}
    assert verdicts("kind", different(uuid, 9), records=10_000) == {}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("first_name", "person-name"),
        ("lastName", "person-name"),
        ("Surname", "person-name"),
        ("PRENOM", "person-name"),
        ("Prénom", "person-name"),
        ("nom_de_famille", "person-name"),
        ("Vorname", "person-name"),
        ("apellidos", "person-name"),
        ("cognome", "person-name"),
        ("sobrenome", "person-name"),
        ("achternaam", "person-name"),
        ("nom", "some-name"),
        ("eMail", "email"),
        ("E-Mail-Adresse", "email"),
        ("courriel", "email"),
        ("correo_electrónico", "email"),
        ("Telefonnummer", "phone"),
        ("teléfono", "phone"),
        ("telemóvel", "phone"),
        ("phone2", "phone"),
        ("dateOfBirth", "birth-date"),
        ("DOB", "birth-date"),
        ("date-de-naissance", "birth-date"),
        ("Geburtsdatum", "birth-date"),
        ("fecha.nacimiento", "birth-date"),
        ("data di nascita", "birth-date"),
        ("DataNascimento", "birth-date"),
        ("geboortedatum", "birth-date"),
        ("Straße", "postal-address"),
        ("dirección", "postal-address"),
        ("endereço", "postal-address"),
        ("straatnaam", "postal-address"),
        ("IPAddress", "ip-address"),
        ("codice_fiscale", "national-number"),
        ("PatientID", "person"),
        ("Breitengrad", "coordinates"),
        ("Längengrad", "coordinates"),
    ],
)
def test_names_hint_in_seven_languages_and_every_writing(name: str, hint: str) -> None:
    assert hint in hints_of(name)


@pytest.mark.parametrize(
    "name", ["filename", "rename", "education-num", "tournament", "hotel", "shipment", "collation", "zippy", "plating"]
)
def test_hints_match_whole_words(name: str) -> None:
    assert hints_of(name) <= {"id", "thing"}
    assert "name" not in words_of(name)


def test_no_evidence_repeats_a_value() -> None:
    cases = [(name, values) for name, values, *_ in POSITIVE.values()]
    cases += [(name, national(label)) for label, (name, _) in NATIONAL_NUMBERS.items()]
    for name, values in cases:
        for finding in found(name, values):
            said = " ".join(finding.evidence)
            assert not any(len(str(value)) >= 4 and str(value) in said for value in values), (name, said)


def test_nulls_blanks_and_types_are_mixed() -> None:
    addresses = different(lambda rng: f"{word(rng)}@example.com", 50)
    best = found("x", [None, "", *addresses, "   ", math.nan, 5])[0]
    assert (best.category, best.confidence, best.distinct) == ("email", "certain", 51)
    assert best.share == pytest.approx(50 / 51)
    assert found("x", [b"ab", object(), dt.time(3), (1, 2), 2.5, True]) == []


def test_huge_texts_are_cut() -> None:
    huge = [f"{n} " + "bako lumze " * 100_000 for n in range(3)]
    assert verdicts("x", huge) == {"free-text": "possible"}
    assert verdicts("x", ["9" * 1_000_000, "a@" * 500_000]) == {}
    assert verdicts("x", [10**400, -(10**400), math.inf]) == {}


def test_a_sample_is_said_to_be_one_and_depends_on_the_seed_only() -> None:
    values = [f"p{n:05}@example.com" for n in range(20_000)]
    best = column_findings("x", values, 20_000, sample=500)[0]
    assert best.evidence == ("100 % of a sample of 500 from 20,000 distinct values read as e-mail addresses",)
    assert best.distinct == 20_000
    dirty = [*values[:18_500], *(f"room {n}" for n in range(1_500))]
    shares = [column_findings("x", dirty, 20_000, sample=500, seed=seed)[0].share for seed in (1, 1, 2)]
    assert shares[0] == shares[1] != shares[2]


def test_infinity_beside_whole_numbers_that_the_sample_missed_is_no_end_of_their_range() -> None:
    whole = [float(n) for n in range(2_000)]
    best = column_findings("x", [-math.inf, *whole, math.inf], 2_002, sample=5)[0]
    assert best.category == "row-number"
    assert best.evidence[0].startswith("the 2,002 integers are consecutive")


def test_a_table_is_looked_at_column_by_column(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "patient": list(range(1, 101)),
            "mail": [f"p{n}@example.com" if n % 3 else None for n in range(100)],
            "age": [20 + n % 50 for n in range(100)],
            "visits": [[n] for n in range(100)],
            "nothing": [None] * 100,
        }
    )
    answer = direct_identifiers(frame)
    assert {f.column: (f.category, f.confidence) for f in answer.findings} == {
        "patient": ("row-number", "likely"),
        "mail": ("email", "certain"),
    }
    assert answer.findings[1].records == answer.findings[1].distinct == 66
    assert (answer.skipped, answer.examined, answer.records) == (("visits",), ("patient", "mail", "age", "nothing"), 100)
    assert repr(answer) == "DirectIdentifiers(2 of 4 columns: patient, mail)"
    assert json.loads(json.dumps(answer.to_dict()))["findings"][1]["evidence"] == list(answer.findings[1].evidence)
    path = tmp_path / "people.csv"
    frame.select("patient", "mail", "age").write_csv(path)
    for same in (path, frame.select("patient", "mail", "age").to_pandas(), frame.select("patient", "mail", "age").lazy()):
        assert direct_identifiers(same).findings == answer.findings


def test_columns_can_be_named() -> None:
    frame = pl.DataFrame({"mail": ["a@example.com", "", None], "lists": [[1], [2], [3]]})
    answer = direct_identifiers(frame, "mail")
    assert (answer.examined, answer.findings[0].records) == (("mail",), 1)
    with pytest.raises(ColumnNotFoundError, match="mail"):
        direct_identifiers(frame, ["mial"])
    with pytest.raises(UnsupportedDataError):
        direct_identifiers(frame, ["lists"])
    with pytest.raises(ArgumentError, match="no column"):
        direct_identifiers(frame, [])
    with pytest.raises(ArgumentError, match="sample"):
        direct_identifiers(frame, sample=0)
    with pytest.raises(EmptyDataError):
        direct_identifiers(frame.head(0))


def test_objects_of_pandas_are_read() -> None:
    frame = pd.DataFrame({"x": ["a@example.com", 7, None, "b@example.com"] * 5}, dtype=object)
    best = direct_identifiers(frame).findings[0]
    assert (best.category, best.confidence, best.records, best.distinct) == ("email", "likely", 15, 3)


@pytest.mark.parametrize("data", ["adult", "adult-raw"])
def test_adult_has_no_direct_identifier(data: str) -> None:
    answer = direct_identifiers(data)
    assert len(answer.examined) == 15
    assert answer.findings == ()


@pytest.mark.parametrize("records", [50, 500, 2_000])
def test_a_small_part_of_adult_has_none_either(records: int) -> None:
    from unveil.sources import datasets

    assert direct_identifiers(datasets.adult().head(records)).findings == ()


def test_every_rule_exists() -> None:
    for register in (*NATIONAL, *NOT_PEOPLE):
        for module in register.modules:
            assert module == "gb.nino" or import_module(f"stdnum.{module}").is_valid("") is False


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.dates(),
    st.datetimes(),
    st.decimals(),
    st.binary(max_size=5),
)
NAMES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["ssn", "email", "phone", "lat", "dob", "name", "address", "iban", "card number", "id", "notes"]),
)


VALUES = st.one_of(
    st.lists(CELLS, max_size=30),
    st.lists(st.text("0123456789-+. ()/", max_size=20), max_size=30),
    st.lists(st.integers(0, 10**18), max_size=30, unique=True),
    st.lists(st.from_regex(r"[A-Z0-9]{8,18}", fullmatch=True), max_size=30),
)


@given(name=NAMES, values=VALUES, seed=st.integers(0, 99))
@example(name="resident_id", values=["110300198001010001"] * 3, seed=0)
@example(name="latitude", values=["٤٥.١٢٣٤٥", "१२.३४५६७"], seed=0)
@example(name="phone", values=["٠١٢٣٤٥٦٧٨٩", "²³⁴⁵⁶⁷⁸⁹"], seed=0)
def test_anything_is_looked_at_without_trouble(name: str, values: list[Any], seed: int) -> None:
    answers = [column_findings(name, values, len(values), seed=seed, today=TODAY) for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(answers[0]) <= 3
    for finding in answers[0]:
        assert finding.category in CATEGORIES
        assert 0.0 <= finding.share <= 1.0
        assert 0 < finding.distinct <= finding.records
        assert finding.evidence


@given(name=NAMES, values=VALUES, seed=st.integers(0, 99))
@example(name="mac", values=["0242ac120002"], seed=0)
@example(name="x", values=["DE89 3704 0044 0532 0130 00"], seed=0)
@example(name="x", values=[12_345_678], seed=0)
def test_a_detector_that_is_left_out_would_find_nothing(name: str, values: list[Any], seed: int) -> None:
    column = read_column(name, values, len(values), sample=10_000, seed=seed, today=TODAY)
    every = [finding for detector in TELLING if (finding := detector(column))] if column.values and column.kind != "other" else []
    if column.values and column.kind != "other" and all(finding.confidence == "possible" for finding in every):
        every += [finding for detector in GENERAL if (finding := detector(column))]
    ranks = ("certain", "likely", "possible")
    every.sort(key=lambda finding: (ranks.index(finding.confidence), CATEGORIES.index(finding.category)))
    assert column_findings(name, values, len(values), seed=seed, today=TODAY) == every[:3]


def test_columns_that_differ_in_anything_are_judged_by_themselves() -> None:
    """What was found is kept for columns that are the same; 1, True, 1.0 and "1" are not."""
    mails = [f"p{at}@example.com" for at in range(30)]
    assert column_findings("x", mails, 30)[0].category == "email"
    assert column_findings("x", mails, 30) == column_findings("x", mails, 30)
    assert column_findings("y", mails, 30)[0].column == "y"
    assert column_findings("x", mails, 60)[0].records == 60
    assert not column_findings("x", [f"p{at}" for at in range(30)], 3000)
    alike: list[list[Any]] = [[1, 0], [True, False], [1.0, 0.0], ["1", "0"]]
    kinds = [tuple(f.category for f in column_findings("row id", values, 2)) for values in alike]
    assert kinds == [tuple(f.category for f in column_findings("row id", values, 2)) for values in alike]
    once = column_findings("x", mails, 30)
    once.clear()
    assert column_findings("x", mails, 30)
