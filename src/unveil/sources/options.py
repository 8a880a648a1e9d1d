"""Options for reading a file that cannot be detected from it."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from unveil.errors import ArgumentError, is_unicode, shown

__all__ = ["AS_FOUND", "ReadOptions"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Settings for reading a file; with the defaults, they are detected from it.

    Parameters
    ----------
    separator
        The ASCII character between fields of delimited text; None: detected in the first records.
    encoding
        A Python codec name; None: UTF-8, or the encoding of a byte order mark.
    missing
        Texts that stand for a null, besides the empty field; in a table with types of its own, also numbers written that way.
    text
        Columns of codes, read as text with the leading zeros that a spreadsheet lost.
    missing_in
        Texts that stand for a null in single columns, by column name.

    Raises
    ------
    ArgumentError
        If the separator cannot separate fields, or no codec has the name.
    """

    separator: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    missing_in: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        """Check the separator, the texts for nulls and the encoding."""
        if self.separator is not None:
            _check_separator(self.separator)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        _check_missing(self.missing)


def _check_separator(separator: str) -> None:
    """Refuse a separator that is not a single ASCII character, or has another meaning in delimited text."""
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise ArgumentError(
            f"separator {shown(separator)} cannot separate fields; give one ASCII character other than a quote or a "
            "line break, such as ',', ';', '|' or a tab."
        )


def _check_missing(missing: object) -> None:
    """Refuse a single text, because each of its characters would be taken for a text."""
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
"""The default options: everything is detected from the file."""
