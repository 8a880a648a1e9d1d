"""Which columns hold people's names, account names, or free text that may hold anything?

No list of names is consulted, so a person's name is never certain: the finding is based on the column's name and on the form of
the values (a few capitalised words of letters), as its evidence states.
"""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING

from unveil.identifiers.column import MOST
from unveil.identifiers.contacts import EMAIL_WITHIN
from unveil.identifiers.finding import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Finding

__all__ = ["account_names", "free_text", "person_names"]

_WEAK = "weak: no list of names was consulted"
_NAME_SIGNS = re.compile(r"[^\W\d_]+(?:['\u2019.-][^\W\d_]*)*,?")
_PARTICLES = frozenset("de da do dos das di del della der den van von zu la le el al bin ben ibn y e of ten ter te".split())  # noqa: SIM905
_MOST_WORDS, _MOST_OWN_WORDS = 9, 4
_LONGEST_NAME = 90
_BRACKETS = str.maketrans("", "", '()"\u201c\u201d')
_FEWEST_NAMES, _NAMES_SPREAD, _RARE_REPEAT = 20, 0.2, 0.02
_FULL_NAMES, _MANY = 0.8, 50
_HANDLE = re.compile(r"@?[^\W_](?:[\w.-]{1,38}[\w])?")

_LONG_WORDS, _LONG_SIGNS, _SHORT_WORDS = 6, 30, 3
_MOSTLY_DISTINCT, _OFTEN_DISTINCT = 0.5, 0.2
_FEWEST_TEXTS = 20
_ADDRESS_WITHIN = 0.01


def person_names(column: LookedColumn) -> Finding | None:
    """Find people's names: likely if the column's name suggests them, possible by the form of the values alone."""
    other = ("about", "account-name", "email", "free-text", "url", "postal-address")
    if column.kind != "text" or column.says(*other) or (shaped := column.share(_is_name)) < MOST:
        return None
    seen = column.seen(shaped, "are a few capitalised words of letters")
    if column.says("person-name") or (column.says("some-name") and column.says("person")):
        differ = column.distinct >= _FEWEST_NAMES or column.uniqueness >= _NAMES_SPREAD
        says = "the column name says a person's name"
        return column.finding("person-name", "likely", shaped, says, seen, _WEAK) if differ else None
    if column.says("thing"):
        return None
    if column.says("person") and column.distinct >= _FEWEST_NAMES and column.share(_is_full_name) >= _FULL_NAMES:
        return column.finding("person-name", "likely", shaped, "the column name says a person", seen, _WEAK)
    if column.says("some-name") and column.distinct >= _FEWEST_NAMES and column.uniqueness >= _RARE_REPEAT:
        full = column.share(_is_longer_name) >= _FULL_NAMES and column.uniqueness >= _MOSTLY_DISTINCT
        says = "the column name says a name"
        return column.finding("person-name", "likely" if full else "possible", shaped, says, seen, _WEAK)
    return _by_shape(column)


def account_names(column: LookedColumn) -> Finding | None:
    """Find the names under which people log in: by the column's name, and words without blanks that mostly differ."""
    if column.kind != "text" or not column.says("account-name") or column.says("about"):
        return None
    share = column.share(lambda text: _HANDLE.fullmatch(text) and any(map(str.isalpha, text)))
    if share < MOST or not (column.distinct >= _FEWEST_NAMES and column.uniqueness >= _RARE_REPEAT):
        return None
    seen = column.seen(share, "are single words, as account names are")
    return column.finding("account-name", "likely", share, "the column name says an account", seen)


def free_text(column: LookedColumn) -> Finding | None:
    """Find free text, which is long, of many words and mostly different; it may hold names, addresses, anything."""
    if column.kind != "text":
        return None
    words = median(len(text.split()) for text in column.texts)
    signs = median(map(len, column.texts))
    long = words >= _LONG_WORDS and signs >= _LONG_SIGNS and column.uniqueness >= _MOSTLY_DISTINCT
    named = column.says("free-text") and not column.says("about")
    if not (long or (named and words >= _SHORT_WORDS and column.uniqueness >= _OFTEN_DISTINCT)):
        return None
    share = column.share(lambda text: len(text.split()) >= _SHORT_WORDS)
    sure = column.distinct >= _FEWEST_TEXTS
    evidence = (
        f"half of {column.distinct:,} distinct texts have {words:.0f} words or more",
        f"{percent(column.uniqueness)} as many different texts as records",
        column.name_says("free text", "free-text"),
        _addresses_within(column),
    )
    return column.finding("free-text", "likely" if sure else "possible", share, *evidence)


def _by_shape(column: LookedColumn) -> Finding | None:
    """Judge full names in a column whose name suggests nothing."""
    full = column.share(_is_full_name)
    if full < MOST or column.distinct < _MANY or column.uniqueness < _FULL_NAMES:
        return None
    seen = column.seen(full, "are two to four capitalised words of letters, mostly different from record to record")
    return column.finding("person-name", "possible", full, seen, _WEAK, "the column name does not say so")


def _is_name(text: str) -> bool:
    """Whether a text is a few words of letters, each capitalised (or all in one case), particles aside."""
    if len(text) > _LONGEST_NAME:
        return False
    words = text.translate(_BRACKETS).split()
    if len(words) > _MOST_WORDS or not all(_NAME_SIGNS.fullmatch(word) for word in words):
        return False
    own = _own_words(words)
    return len(own) > 0 and (all(not word[0].islower() for word in own) or text.islower())


def _is_longer_name(text: str) -> bool:
    """Whether a text is a name of two words or more: a first and a last name."""
    return len(_own_words(text.split())) > 1 and _is_name(text)


def _is_full_name(text: str) -> bool:
    """Whether a text is two to four words of letters, each capitalised."""
    return len(_own_words(text.split())) <= _MOST_OWN_WORDS and not text.islower() and _is_longer_name(text)


def _own_words(words: Sequence[str]) -> list[str]:
    return [word for word in words if word.casefold() not in _PARTICLES]


def _addresses_within(column: LookedColumn) -> str:
    share = sum(1 for text in column.texts if "@" in text and EMAIL_WITHIN.search(text)) / len(column.texts)
    return f"{percent(share)} of them hold an e-mail address" if share >= _ADDRESS_WITHIN else ""
