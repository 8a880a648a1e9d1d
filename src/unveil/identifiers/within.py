"""Where does a text name somebody? The forms of the recognisers, found within texts: addresses, numbers, dates, names.

A form with a check (a card number, a bank account) counts only if it passes. People's names are recognised by a title before
them, or as two or more capitalised words in a row; no list of names is consulted, so some names are missed, and some words that
name nobody are mistaken for names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unveil.identifiers.contacts import EMAIL_WITHIN, is_ip_address
from unveil.identifiers.numbers import is_card_number, is_iban

__all__ = ["KINDS", "TextKind", "redacted"]

_TITLES = r"Mrs?|Ms|Miss|Mx|Dr|Prof|Sir|Lady|Herrn?|Frau|Mme|Mlle|Madame|Monsieur|M\.|Sra?|Se[nñ]ora?|Sig(?:nora?)?|Dott|Dhr|Mevr"
_NAME_WORD = r"[^\W\d_a-zà-öø-ÿ][^\W\d_]*(?:['\u2019-][^\W\d_]+)*"
_PARTICLES = r"(?:(?:de|da|do|di|del|della|der|den|van|von|zu|la|le|el|al|bin|ben|ibn|ten|ter)\s+){0,2}"
_STREETS = (
    r"street|st|avenue|ave|road|rd|lane|ln|drive|boulevard|blvd|court|square|close|terrace|rue|all[eé]e|impasse|chemin|quai|"
    r"calle|avenida|paseo|plaza|via|viale|piazza|corso|rua|travessa|weg|platz|gasse|laan|plein|gracht"
)
_MONTHS = (
    r"jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|f[ée]v(?:rier)?|mar(?:ch|s|zo)?|m[äa]rz|apr(?:il)?|avr(?:il)?|may|mai|june?|juin|"
    r"juni|july?|juil(?:let)?|juli|aug(?:ust)?|ao[uû]t|sep(?:t(?:ember|embre)?)?|o[ck]t(?:ober|obre)?|nov(?:ember|embre)?|"
    r"de[czc](?:ember)?|d[ée]c(?:embre)?"
)


@dataclass(frozen=True, slots=True)
class TextKind:
    """A kind of item that texts may contain: its form, and the check that a match must pass."""

    name: str
    form: re.Pattern[str]
    passes: Callable[[str], bool] = bool

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of this kind in a text."""
        return (match for match in self.form.finditer(text) if self.passes(match[0]))


def _form(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(pattern, flags)


KINDS: dict[str, TextKind] = {
    one.name: one
    for one in (
        TextKind("email", EMAIL_WITHIN),
        TextKind("url", _form(r"(?:(?:https?|ftp)://|www\.)[^\s/?#]+\.\S+")),
        TextKind("mac-address", _form(r"\b(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}\b")),
        TextKind(
            "ip-address",
            _form(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:])"),
            is_ip_address,
        ),
        TextKind("iban", _form(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", 0), is_iban),
        TextKind("card-number", _form(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])"), is_card_number),
        TextKind(
            "date",
            _form(
                r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}([-/.])\s?\d{1,2}\1\s?\d{2,4}\b"
                rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+)?(?:{_MONTHS})\.?,?\s+\d{{2,4}}\b"
                rf"|\b(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{2,4}}\b"
            ),
        ),
        TextKind("national-number", _form(r"\b\d{3}-\d{2}-\d{4}\b|\b[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b", 0)),
        TextKind(
            "phone",
            _form(
                r"(?<![\w+])(?:\+|00|\(?0)[\d\s().\-/]{6,20}\d"
                r"|(?<!\w)(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}\b"
            ),
        ),
        TextKind(
            "postal-address",
            _form(
                rf"\b\d{{1,5}}[a-z]?,?\s+(?:[^\W\d_][\w'\u2019.-]*\s+){{0,4}}?(?:{_STREETS})\b\.?"
                rf"|\b(?:(?:{_STREETS})\s+(?:[^\W\d_][\w'\u2019.-]*\s+){{1,4}}?"
                r"|[^\W\d_]{3,}(?:stra(?:ß|ss)e|str\.|weg|gasse|platz|allee|straat|laan|plein)\s+)"
                r"\d{1,5}[a-z]?\b"
            ),
        ),
        TextKind("postcode", _form(r"\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|\b\d{5}(?:-\d{4})?\b(?=,?\s+[A-ZÀ-Þ])", 0)),
        TextKind(
            "person-name",
            _form(
                rf"\b(?:{_TITLES})\.?\s+{_PARTICLES}{_NAME_WORD}(?:\s+{_PARTICLES}{_NAME_WORD}){{0,3}}"
                rf"|\b{_NAME_WORD}(?:\s+(?:[A-Z]\.\s+)?{_PARTICLES}{_NAME_WORD}){{1,3}}",
                0,
            ),
        ),
        TextKind("number", _form(r"\b\w*\d{5,}\w*(?:[/-]\w+)*|\b[A-Z]{1,4}[-/]?\d{3,}\w*(?:[/-]\w+)*", 0)),
    )
}
"""The kinds by name, in the order in which they are searched: the most reliable forms first."""


def redacted(text: str, kinds: Sequence[str]) -> tuple[str, dict[str, int]]:
    """Replace everything that is recognised by the name of its kind in brackets; return how often each kind occurred.

    Examples
    --------
    >>> redacted("Mrs Ann Lee (ann@lee.org) called on 3 May 2021 from 020 7946 0018.", list(KINDS))[0]
    '[person-name] ([email]) called on [date] from [phone].'
    """
    counts: dict[str, int] = {}
    parts = [text]
    for kind in (KINDS[name] for name in KINDS if name in kinds):
        split: list[str] = []
        for part in parts:
            split.extend([part] if _is_marked(part) else _parted(part, kind))
        counts[kind.name] = sum(part == f"[{kind.name}]" for part in split) - sum(part == f"[{kind.name}]" for part in parts)
        parts = split
    return "".join(parts), {name: n for name, n in counts.items() if n}


def _is_marked(part: str) -> bool:
    return part[:1] == "[" and part[1:-1] in KINDS


def _parted(text: str, kind: TextKind) -> list[str]:
    """Cut a text into the parts between matches and the marks that replace the matches."""
    parts, at = [], 0
    for match in kind.matches(text):
        parts += [text[at : match.start()], f"[{kind.name}]"]
        at = match.end()
    return [*parts, text[at:]]
