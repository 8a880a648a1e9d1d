"""Texts that a spreadsheet takes for formulas, made harmless in a delimited file.

A spreadsheet that opens a CSV file evaluates every cell that begins with ``=``, ``+``, ``-`` or ``@``, or with a tab or a
line end before one of them; such a formula can start programs or send cells elsewhere. An apostrophe before it makes the cell
a text. Only columns of texts, and the names of columns, can hold a formula: in a column of numbers, ``-5`` is a number and
is kept.
"""

from __future__ import annotations

import os

import polars as pl

from unveil.errors import ArgumentError, DuplicateColumnError, shown
from unveil.sources.engines.address import Address

__all__ = ["HarmlessTexts", "harmless", "require_delimited"]

_FORMULA = r"^[=+\-@\t\r\n]"
_APOSTROPHE = "'"
_DELIMITED = (".csv", ".tsv", ".tab", ".txt")


class HarmlessTexts:
    """Makes texts harmless batch by batch, after all have been seen: a column that holds only numbers has no formula."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def see(self, frame: pl.DataFrame) -> None:
        """Note the columns that hold a text that is not a number."""
        for name, dtype in frame.schema.items():
            if name not in self._texts and isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
                column = frame.get_column(name).cast(pl.String)
                if column.cast(pl.Float64, strict=False).null_count() > column.null_count():
                    self._texts.add(name)

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return records in which no text, and no name of a column, is a formula."""
        columns: dict[str, pl.Series] = {}
        for name in frame.columns:
            column = frame.get_column(name)
            named = pl.Series([name]).str.replace(_FORMULA, rf"{_APOSTROPHE}$0").item()
            if named in columns:
                raise DuplicateColumnError.named(named, "the file, with an apostrophe before formulas")
            columns[named] = _harmless(column) if name in self._texts else column
        return pl.DataFrame(columns)


def harmless(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records in which no text, and no name of a column, is a formula.

    Examples
    --------
    >>> harmless(pl.DataFrame({"=a": ["=1+1", "plain", "-x"], "n": [-5, 0, 5]})).rows(named=True)[0]
    {"'=a": "'=1+1", 'n': -5}
    """
    texts = HarmlessTexts()
    texts.see(frame)
    return texts.of(frame)


def require_delimited(place: str | os.PathLike[str] | Address) -> None:
    """Refuse an output that no spreadsheet opens as text: a table of an engine, or a file in another format."""
    if isinstance(place, Address):
        named, kind = place.place, "a table of a database"
    elif os.fspath(place).lower().endswith(_DELIMITED):
        return
    else:
        named, kind = os.fspath(place), "no delimited text"
    raise ArgumentError(
        f"{shown(named)} is {kind}, and only cells of delimited text are taken for formulas; leave "
        "`spreadsheet_safe` out, or write a .csv or .tsv file."
    )


def _harmless(column: pl.Series) -> pl.Series:
    return column.cast(pl.String).alias("text").str.replace(_FORMULA, rf"{_APOSTROPHE}$0").alias(column.name)
