"""Which columns hold numbers that a state or a bank assigned to a person? National numbers, card numbers, IBANs, IMEIs.

The rules of each are those of the `python-stdnum` library. Each entry of a register has a form, matched on upper case without
blanks, points, slashes and hyphens, so that the slower rules are only tried on values that may fit. A finding is certain if at
least 90 % of the column's distinct values pass, and neither random texts of the same form nor the column's own characters
reshuffled would (see `controls`): seven values that all pass a check digit are enough. Rules without a check digit, such as those
of a US social security number, prove little: they count only if the column's name supports them, or if the numbers are written in
a particular way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from unveil.identifiers.column import MOST
from unveil.identifiers.controls import Passed, passes
from unveil.identifiers.finding import percent

if TYPE_CHECKING:
    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Category, Confidence, Finding

__all__ = [
    "NATIONAL",
    "NOT_PEOPLE",
    "Register",
    "card_numbers",
    "device_numbers",
    "ibans",
    "is_card_number",
    "is_iban",
    "national_numbers",
]


@dataclass(frozen=True, slots=True)
class Register:
    """A kind of number.

    Attributes
    ----------
    label
        The name of the numbers, in the plural.
    modules
        The modules of `stdnum`, one of which must accept a number.
    form
        A regular expression for the number without separators.
    width
        The number of digits of a number that may have lost leading zeros as an integer; 0: it cannot have lost any.
    telling
        Whether the form is rare enough (a date, letters in certain places) to be worth a remark even without a check.
    shortest
        The smallest number of characters of a number; 0: not stated.
    """

    label: str
    modules: tuple[str, ...]
    form: str
    width: int = 0
    telling: bool = False
    shortest: int = 0


def _digits(label: str, modules: str, number: int, *, telling: bool = False) -> Register:
    return Register(label, tuple(modules.split()), rf"\d{{{number}}}", number, telling, shortest=number)


NATIONAL: tuple[Register, ...] = (
    _digits("US social security numbers", "us.ssn", 9),
    _digits("US individual taxpayer numbers", "us.itin", 9),
    _digits("Canadian social insurance numbers", "ca.sin", 9),
    _digits("British Columbian health numbers", "ca.bc_phn", 10),
    Register("Mexican CURP codes", ("mx.curp",), r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d", telling=True),
    _digits("Brazilian CPF numbers", "br.cpf", 11),
    Register("Chilean RUT numbers", ("cl.rut",), r"\d{7,8}[\dK]"),
    _digits("Argentinian CUIT numbers", "ar.cuit", 11),
    _digits("Ecuadorian identity numbers", "ec.ci", 10),
    _digits("Dominican cedula numbers", "do.cedula", 11),
    _digits("Cuban identity numbers", "cu.ni", 11),
    _digits("British NHS numbers", "gb.nhs", 10),
    Register("British national insurance numbers", ("gb.nino",), r"(?![DFIQUV])[A-Z](?![DFIQUVO])[A-Z]\d{6}[A-D]", telling=True),
    Register("English pupil numbers", ("gb.upn",), r"[A-Z]\d{11}[A-Z0-9]"),
    Register("Irish PPS numbers", ("ie.pps",), r"\d{7}[A-W][A-IW]?"),
    Register("French NIR numbers", ("fr.nir",), r"[12378]\d{4}(?:\d\d|2[AB])\d{8}", 15),
    _digits("French tax numbers", "fr.nif", 13),
    _digits("German tax identification numbers", "de.idnr", 11),
    _digits("Austrian social insurance numbers", "at.vnr", 10),
    Register("Swiss social insurance numbers", ("ch.ssn",), r"756\d{10}", 13),
    _digits("Belgian national numbers", "be.ssn", 11),
    _digits("Dutch BSN numbers", "nl.bsn", 9),
    _digits("Dutch education numbers", "nl.onderwijsnummer", 9),
    Register("Spanish DNI or NIE numbers", ("es.dni", "es.nie"), r"[\dXYZ]\d{7}[A-Z]"),
    _digits("Portuguese tax numbers", "pt.nif", 9),
    Register("Portuguese citizen card numbers", ("pt.cc",), r"\d{9}[A-Z0-9]{2}\d"),
    Register(
        "Italian codici fiscali",
        ("it.codicefiscale",),
        r"[A-Z]{6}[\dL-NP-V]{2}[A-Z][\dL-NP-V]{2}[A-Z][\dL-NP-V]{3}[A-Z]",
        telling=True,
    ),
    _digits("Greek AMKA numbers", "gr.amka", 11),
    Register("Swedish personal numbers", ("se.personnummer",), r"(?:\d\d)?\d{6}\+?\d{4}", 10),
    _digits("Norwegian birth numbers", "no.fodselsnummer", 11),
    _digits("Danish CPR numbers", "dk.cpr", 10, telling=True),
    Register("Finnish personal identity codes", ("fi.hetu",), r"\d{6}[+A-FU-Y]?\d{3}[0-9A-Y]"),
    _digits("Icelandic kennitala numbers", "is_.kennitala", 10),
    _digits("Estonian or Lithuanian personal codes", "ee.ik", 11),
    Register("Latvian personal codes", ("lv.pvn",), r"[0-3]\d{10}", 11),
    _digits("Polish PESEL numbers", "pl.pesel", 11),
    Register("Czech or Slovak birth numbers", ("cz.rc",), r"\d{9,10}", 10),
    _digits("Bulgarian personal numbers", "bg.egn", 10),
    _digits("Bulgarian numbers of foreigners", "bg.pnf", 10),
    _digits("Romanian CNP numbers", "ro.cnp", 13),
    _digits("Croatian OIB numbers", "hr.oib", 11),
    _digits("Slovenian or former Yugoslav EMSO numbers", "si.emso", 13),
    _digits("Turkish identity numbers", "tr.tckimlik", 11),
    _digits("Ukrainian taxpayer numbers", "ua.rntrc", 10),
    _digits("Russian taxpayer numbers", "ru.inn", 12),
    _digits("Israeli identity numbers", "il.idnr", 9),
    _digits("South African identity numbers", "za.idnr", 13),
    _digits("Indian Aadhaar numbers", "in_.aadhaar", 12),
    Register("Indian permanent account numbers", ("in_.pan",), r"[A-Z]{3}[ABCFGHLJPTK][A-Z]\d{4}[A-Z]", telling=True),
    Register("Chinese resident identity numbers", ("cn.ric",), r"\d{17}[\dX]"),
    _digits("Japanese individual numbers", "jp.in_", 12),
    _digits("South Korean resident numbers", "kr.rrn", 13),
    _digits("Thai personal numbers", "th.pin", 13),
    _digits("Malaysian identity card numbers", "my.nric", 12),
    _digits("Indonesian identity numbers", "id.nik", 16),
    _digits("Australian tax file numbers", "au.tfn", 9),
    _digits("New Zealand tax numbers", "nz.ird", 9),
    Register("Mauritian identity numbers", ("mu.nid",), r"[A-Z]\d{12}[\dA-Z]"),
)

NOT_PEOPLE: tuple[Register, ...] = (
    Register("book numbers (ISBN)", ("isbn",), r"\d{9}[\dX]|97[89]\d{10}", 10),
    _digits("article numbers (EAN)", "ean", 13),
    _digits("French company numbers (SIREN)", "fr.siren", 9),
    _digits("Norwegian company numbers", "no.orgnr", 9),
    _digits("US bank routing numbers", "us.rtn", 9),
    _digits("Australian company numbers", "au.acn", 9),
    _digits("Polish company tax numbers", "pl.nip", 10),
)
"""Numbers of things and companies whose check a person's number may share."""


_SEPARATORS = re.compile(r"[\s./-]+")
_LOST_ZEROS = 2
"""The largest number of leading zeros that a number read as an integer may have lost."""
_AS_EASY = 3
"""Another rule that accepts up to this many times as many random texts is still as good an explanation."""
_SCREEN = 100
_SOME = 0.5
_LONGEST = 40

_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners Club
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|6(?:011|4[4-9]\d|5\d\d|2\d\d)\d{12}(?:\d{1,3})?"  # Discover, UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"  # Maestro
)
_IMEI = re.compile(r"(?:01|35|86|91|98|99)\d{13}")
_DASHED_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A kind of number whose rules most values satisfy."""

    register: Register
    passed: Passed


def national_numbers(column: LookedColumn) -> Finding | None:
    """Find the numbers by which states identify people."""
    if not _may_hold_numbers(column) or column.says("organisation-number", "quantity"):
        return None
    candidates = [candidate for register in NATIONAL if (candidate := _candidate(column, register))]
    if not candidates:
        return None
    candidates.sort(key=lambda one: (not one.passed.checked, not one.passed.structured, -one.passed.share, one.passed.by_form))
    best = candidates[0]
    named = column.says("national-number")
    says = column.name_says("national number", "national-number")
    others = [one.register.label for one in candidates[1:] if one.passed.checked]
    also = f"the same numbers pass as {' and as '.join(others)}" if others else ""
    if not best.passed.checked:
        return _by_structure(column, best, says)
    twin = _twin(column, best.passed)
    if twin and twin.passed.share > best.passed.share and not named:
        return None
    shared = f"the same check serves {twin.register.label}" if twin else ""
    confidence: Confidence = "likely" if twin and not named else "certain"
    evidence = (*_against_chance(column, best), also, shared, says)
    return column.finding("national-number", confidence, best.passed.share, *evidence)


def card_numbers(column: LookedColumn) -> Finding | None:
    """Find the numbers of payment cards: length and first digits of an issuer, and Luhn's check digit."""
    return _one_check(column, "card-number", Register("payment card numbers", (), _CARD.pattern, shortest=12), _is_luhn)


def device_numbers(column: LookedColumn) -> Finding | None:
    """Find the numbers of mobile devices (IMEI): fifteen digits with an allocating body's prefix and Luhn's check digit."""
    imei = Register("IMEI numbers of mobile devices", (), _IMEI.pattern, shortest=15)
    return _one_check(column, "device-number", imei, _is_luhn)


def ibans(column: LookedColumn) -> Finding | None:
    """Find international bank account numbers: a country's structure, and two check digits."""
    return _one_check(
        column, "iban", Register("international bank account numbers", (), r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"), is_iban
    )


def _may_hold_numbers(column: LookedColumn) -> bool:
    return column.kind in ("text", "integer") and not column.holds_dates


def _one_check(column: LookedColumn, category: Category, register: Register, check: Callable[[str], bool]) -> Finding | None:
    if not _may_hold_numbers(column) or column.says("organisation-number", "quantity"):
        return None
    candidate = _candidate(column, register, check)
    named = column.says(category)
    if candidate is None or not (candidate.passed.checked or named):
        return None
    evidence = (*_against_chance(column, candidate), "the column name says so" if named else "")
    return column.finding(category, "certain" if candidate.passed.checked else "likely", candidate.passed.share, *evidence)


def _by_structure(column: LookedColumn, best: _Candidate, says: str) -> Finding | None:
    """Judge numbers that fit the rules although a control does too: rules without a check digit, or too few values."""
    dashed = best.register.label.startswith("US social") and column.share(_DASHED_SSN.fullmatch) >= MOST
    if says or dashed:
        return column.finding("national-number", "likely", best.passed.share, *_against_chance(column, best), says)
    if best.passed.structured and best.register.telling:
        return column.finding("national-number", "possible", best.passed.share, *_against_chance(column, best))
    return None


def _against_chance(column: LookedColumn, candidate: _Candidate) -> tuple[str, str]:
    passed = candidate.passed
    controls = (
        f"random texts of the same form would pass at {percent(passed.by_form)}, "
        f"the column's own characters dealt out anew at {percent(passed.by_position)}"
    )
    return column.seen(passed.share, f"pass as {candidate.register.label}"), controls


def _candidate(column: LookedColumn, register: Register, check: Callable[[str], bool] | None = None) -> _Candidate | None:
    """Return the register as a candidate if most values have its form and pass its rules."""
    width = register.width if column.kind == "integer" else 0
    if column.longest < register.shortest - (_LOST_ZEROS if width else 0):
        return None
    form = re.compile(register.form)
    squeezed = _screen(column, width)
    half = len(squeezed) // 2 + 1
    if not any(map(form.fullmatch, squeezed[:half])) or sum(map(bool, map(form.fullmatch, squeezed))) < _SOME * len(squeezed):
        return None

    def fits(text: str) -> bool:
        return len(text) <= _LONGEST and form.fullmatch(_squeezed(text)) is not None

    pad = partial(_padded, width=width)
    first = [pad(text) for text in column.first_texts[:_SCREEN]]
    rule = check or partial(_passes_any, register.modules)

    def passing(text: str) -> bool:
        return fits(text) and rule(text if check is None else _squeezed(text))

    if sum(map(passing, first)) < _SOME * len(first):
        return None
    texts = [pad(text) for text in column.texts]
    share = column.share(passing, texts)
    return _Candidate(register, passes(texts, passing, share, column.seed)) if share >= MOST else None


def _screen(column: LookedColumn, width: int) -> list[str]:
    """Return the first texts in matching form, prepared once for all registers of a width; too long ones are empty."""
    width = width if column.longest >= width - _LOST_ZEROS else 0  # none is long enough to have lost zeros
    if width not in column.screens:
        padded = (_padded(text, width) for text in column.first_texts[:_SCREEN])
        column.screens[width] = [_squeezed(text) if len(text) <= _LONGEST else "" for text in padded]
    return column.screens[width]


def _padded(text: str, width: int) -> str:
    """Restore the leading zeros that an integer may have lost."""
    return text.zfill(width) if 0 < width - _LOST_ZEROS <= len(text) else text


def _squeezed(text: str) -> str:
    return text if text.isdecimal() else _SEPARATORS.sub("", text).upper()


def _twin(column: LookedColumn, passed: Passed) -> _Candidate | None:
    """Return numbers of books or companies with the same check that the values pass at least as often, and as easily."""
    twins = [one for register in NOT_PEOPLE if (one := _candidate(column, register))]
    alike = [one for one in twins if one.passed.share >= passed.share and one.passed.by_form <= _AS_EASY * passed.by_form]
    return max(alike, key=lambda one: one.passed.share, default=None)


def _passes_any(modules: Sequence[str], text: str) -> bool:
    return any(_obeys(_rule(module), text) for module in modules)


def _obeys(rule: Callable[..., bool], text: str) -> bool:
    """Whether a text satisfies a rule; False if the rule raises an error (as some place names of stdnum do)."""
    try:
        return rule(text)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


@cache
def _rule(module: str) -> Callable[..., bool]:
    if module == "gb.nino":
        return _is_nino
    return cast("Callable[..., bool]", import_module(f"stdnum.{module}").is_valid)


def _is_nino(text: str) -> bool:
    """Whether a text has the form of a British national insurance number, which has no check digit."""
    number = _squeezed(text)
    return number[:2] not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")


def is_card_number(text: str) -> bool:
    """Whether a text has the digits of a payment card, with its check digit."""
    digits = _squeezed(text)
    return _CARD.fullmatch(digits) is not None and _is_luhn(digits)


def is_iban(text: str) -> bool:
    """Whether a text is an international bank account number, by its check digits."""
    return _obeys(partial(_rule("iban"), check_country=False), text)


def _is_luhn(digits: str) -> bool:
    return _rule("luhn")(digits)
