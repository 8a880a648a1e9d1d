"""Options for reading a file, if the file itself does not say."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from unveil.errors import ArgumentError, is_unicode, shown

__all__ = ["AS_FOUND", "ReadOptions"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a reader cannot see in the file; the defaults find it out.

    Parameters
    ----------
    separator
        The one ASCII character between fields of delimited text; none: found in the first records.
    encoding
        A Python codec name; none: UTF-8, or what a byte order mark says.
    missing
        Texts that stand for a null, besides the empty field; in a table with types of its own, also numbers written like that.
    text
        Columns of codes, read as text with the zeros in front that a spreadsheet lost.
    missing_in
        Texts that stand for a null in one column, by its name.

    Raises
    ------
    ArgumentError
        If the separator cannot separate, or no codec has this name.
    """

    separator: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    missing_in: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        """Check the separator, the texts for a null and the encoding."""
        if self.separator is not None:
            _check_separator(self.separator)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        _check_missing(self.missing)


def _check_separator(separator: str) -> None:
    """Refuse what is not a single ASCII character, or has another meaning in delimited text."""
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise ArgumentError(
            f"separator {shown(separator)} cannot separate fields; give one ASCII character other than a quote or a "
            "line break, such as ',', ';', '|' or a tab."
        )


def _check_missing(missing: object) -> None:
    """Refuse a single text, whose characters would each be taken for a text."""
    if isinstance(missing, str):
        raise ArgumentError("missing is one text; give a tuple of texts, such as ('?', 'NA').")
    for text in missing if isinstance(missing, tuple) else ():
        if not is_unicode(text):
            raise ArgumentError(f"missing {shown(text)} holds half a surrogate pair, which is not a character; give a text.")


def _check_encoding(encoding: str) -> None:
    """Refuse a name that no text codec has."""
    try:
        codecs.getincrementaldecoder(encoding)
        b"a".decode(encoding)
    except UnicodeDecodeError:
        return  # the codec exists; one byte is too short for it
    except (LookupError, ValueError):
        raise ArgumentError(
            f"encoding {shown(encoding)} is unknown; give a Python codec name, such as utf-8, cp1252 or latin-1."
        ) from None


AS_FOUND = ReadOptions()
"""Nothing is said: all is found out from the file."""
