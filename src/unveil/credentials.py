"""Credentials in addresses, which no printed or written text repeats.

An address such as ``postgresql://user:password@host/database`` may be mistyped in many ways: a missing colon or slash, or an
unknown scheme. Then it is treated as the name of a file or a column and named in a message. So every name in a message, an
answer or a report passes through this module first. The hidden parts are:

- the text between ``//`` and the last ``@``, for any scheme;
- the text between a colon and the last ``@``, if only the slashes are missing;
- the text after ``//name:``, up to the next slash, if the ``@`` is missing and that text is not a port;
- the value of a setting whose name ends in password, passwd, passphrase, pwd, secret or token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["HIDDEN", "hidden_in_message", "without_credentials"]

HIDDEN = "***"
"""The text that replaces credentials."""

_SECRETS = r"((?:password|passwd|passphrase|pwd|secret|token)\s*=\s*)"
_NAMED = [
    (re.compile(r"([/\\]{2}).*@", re.DOTALL), rf"\1{HIDDEN}@"),
    (re.compile(r"(:[/\\]?)(?=[^\s/\\])(?!\*{3}@).*@", re.DOTALL), rf"\1{HIDDEN}@"),
    (re.compile(r"([/\\]{2}[^/\\:@\s]*:)(?!\d{1,5}(?:[^\w]|$))[^/\\@]+(?=[/\\]|$)"), rf"\1{HIDDEN}"),
    (re.compile(rf"{_SECRETS}(?:'[^']*'|\"[^\"]*\"|[^&]*)", re.IGNORECASE), rf"\1{HIDDEN}"),
]
_SAID = [
    (re.compile(r"([/\\]{2})(?:(?!: )[^\n])*@"), rf"\1{HIDDEN}@"),
    (re.compile(r"(:[/\\]{0,2})(?=[^\s/\\])(?!\*{3}@)[^\s]*@"), rf"\1{HIDDEN}@"),
    (re.compile(r"([/\\]{2}[^/\\:@\s]*:)(?!\d{1,5}(?:[^\w]|$)|\s)[^/\\@\s'\"]+(?=[/\\\s'\"]|$)"), rf"\1{HIDDEN}"),
    (re.compile(rf"{_SECRETS}(?:'[^']*'|\"[^\"]*\"|[^&\s'\"]*)", re.IGNORECASE), rf"\1{HIDDEN}"),
]
_QUOTED = re.compile(r"'([^'\n]*)'")
_SHORTEST_PIECE = 4
_OURS = "unveil"
"""The name of the program, which a hint may say, and which a user of a database may have, too."""


def without_credentials(named: object) -> str:
    """Return a path, an address or any other name in the form that may be repeated.

    Examples
    --------
    >>> without_credentials("postgresql//ann:hunter2@host/people")
    'postgresql//***@host/people'
    >>> without_credentials("postgresql://host:5432/people?table=t&password=hunter2")
    'postgresql://host:5432/people?table=t&password=***'
    >>> without_credentials("data/people.csv")
    'data/people.csv'
    """
    return _hidden(str(named), _NAMED)


def hidden_in_message(message: str, words: Iterable[str] = ()) -> str:
    """Return a message without credentials, including those in words that it may repeat in whole or in part.

    Parameters
    ----------
    message
        The message, which may repeat what the user typed.
    words
        The words that the user typed.

    Examples
    --------
    >>> hidden_in_message("column 'hunter2@host' not found", ["--key", "pg://ann:hunter2@host"])
    "column '***@host' not found"
    """
    pieces: set[str] = set()
    for word in words:
        shown = without_credentials(word)
        if shown != word:
            message = message.replace(word, shown).replace(repr(word)[1:-1], shown)
            pieces |= {piece for piece in re.split(r"[^\w]+", word) if piece not in shown and len(piece) >= _SHORTEST_PIECE}
    place, colon, rest = message.partition(": ")
    message = _QUOTED.sub(lambda name: f"'{without_credentials(name[1])}'", without_credentials(place) + colon + rest)
    message = _hidden(message, _SAID)
    for piece in sorted(pieces - {_OURS}, key=len, reverse=True):
        message = message.replace(piece, HIDDEN)
    return _QUOTED.sub(lambda name: name[0].replace(_OURS, HIDDEN), message) if _OURS in pieces else message


def _hidden(text: str, rules: list[tuple[re.Pattern[str], str]]) -> str:
    if "@" not in text and "=" not in text and "//" not in text and "\\\\" not in text:
        return text
    for pattern, instead in rules:
        text = pattern.sub(instead, text)
    return text
