"""Which states number their people, and what do the numbers look like?

Each entry has a form, matched on upper case without blanks, points, slashes and hyphens, so that the slower rules of
`python-stdnum` are only tried on values that may fit; the rules themselves are those of that library.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NATIONAL", "NOT_PEOPLE", "Register"]


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
