"""Workbooks: sheets of Excel and OpenDocument files to read (extra `excel`), and workbooks to write.

A sheet is a table whose first row names the columns. A column holds numbers, dates, texts or truth values, as its cells do;
cells of several kinds are read as text. Whole numbers, which a workbook stores as floating-point numbers, become integers, and
times at midnight become dates. A workbook that is written contains only texts, numbers and truth values, and no formulas.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import ArgumentError, DataFileError, DuplicateColumnError, EmptyDataError, MissingExtraError, listed, shown
from unveil.sources.files.statistical import whole_numbers

if TYPE_CHECKING:
    from unveil.sources.files.inputs import Input
    from unveil.sources.options import ReadOptions

__all__ = ["SUFFIXES", "column_names", "read", "sheet_names", "workbook"]

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

_MOST_ROWS, _MOST_COLUMNS, _LONGEST_CELL, _LONGEST_NAME = 1 << 20, 1 << 14, 32_767, 31
"""The limits of a sheet."""
_EXACT = 1 << 53


# Reading --------------------------------------------------------------------------------------------------------------


def column_names(source: Input, options: ReadOptions) -> list[str]:  # noqa: ARG001 - a workbook needs no such settings
    """Read the names of the columns, which are the first row."""
    return _names(source, _opened(source))


def sheet_names(source: Input) -> list[str]:
    """Read the names of the sheets."""
    return [str(name) for name in _opened(source).sheet_names]


def read(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    """Read the columns of a sheet."""
    book = _opened(source)
    names = _names(source, book)
    wanted = list(names if columns is None else columns)
    require_columns(wanted, names)
    cells = _loaded(source, book, header_row=None, skip_rows=1, schema_sample_rows=None)
    if cells.is_empty():
        raise EmptyDataError.no_records(source.place)
    places = {name: cells.get_columns()[at] for at, name in enumerate(names) if at < cells.width}
    empty = pl.Series([None] * cells.height, dtype=pl.String)
    return pl.DataFrame({name: _column(places.get(name, empty), options.missing) for name in wanted})


def _opened(source: Input) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError.needed(f"reading {source.suffix} files", extra="excel") from None
    try:
        readable = source.for_engine()
        return fastexcel.read_excel(readable if isinstance(readable, str) else readable.getvalue())
    except fastexcel.FastExcelError:
        raise DataFileError(
            f"{source.place}: the file cannot be read as a workbook ({source.suffix}); it is damaged, encrypted or no workbook."
        ) from None


def _sheet(source: Input, book: Any) -> str:
    """Return the sheet to read: the named one, or the only one."""
    known = list(book.sheet_names)
    if source.part is not None:
        if source.part not in known:
            raise ArgumentError(f"{source.place}: there is no sheet {shown(source.part)}; sheets are: {listed(known)}.")
        return source.part
    if len(known) > 1:
        raise ArgumentError(
            f"{source.place}: the workbook has {len(known):,} sheets; name one, as '{source.place}?sheet={known[0]}'. "
            f"Sheets are: {listed(known)}."
        )
    return str(known[0])


def _loaded(source: Input, book: Any, **how: Any) -> pl.DataFrame:
    import fastexcel

    try:
        frame: pl.DataFrame = book.load_sheet(_sheet(source, book), **how).to_polars()
    except fastexcel.FastExcelError:
        raise DataFileError(f"{source.place}: the sheet cannot be read; save the workbook again.") from None
    return frame


def _names(source: Input, book: Any) -> list[str]:
    """Return the cells of the first row, each the name of a column."""
    first = _loaded(source, book, header_row=None, n_rows=1, dtypes="string")
    if first.is_empty():
        raise EmptyDataError(f"{source.place}: the sheet is empty; there is nothing to read.")
    names: list[str] = []
    for at, name in enumerate(first.row(0)):
        if name is None or not str(name).strip():
            raise DataFileError(
                f"{source.place}: column {at + 1:,} of the sheet has no name in the first row; the table begins there, "
                "with a name above every column."
            )
        if name in names:
            raise DuplicateColumnError.named(name, source.place)
        names.append(str(name))
    return names


def _column(cells: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Return a column as intended: whole numbers as integers, midnights as dates, and empty texts as nulls."""
    if cells.dtype == pl.Null:
        return cells.cast(pl.String)
    if cells.dtype == pl.String:
        return cells.set(cells.is_in(["", *missing]), None)
    if cells.dtype.is_float():
        return whole_numbers(cells)
    if isinstance(cells.dtype, pl.Datetime) and (cells.dt.truncate("1d") == cells).all():
        return cells.dt.date()
    return cells


# Writing --------------------------------------------------------------------------------------------------------------


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """Return a workbook with the given sheets, each a list of rows.

    Texts are written without unprintable characters, numbers as numbers if a spreadsheet can hold them exactly, and anything
    else as text.

    Raises
    ------
    ArgumentError
        If a sheet is larger than a spreadsheet can hold.
    """
    names = _sheet_names(list(sheets))
    parts = {
        "[Content_Types].xml": _types(len(names)),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": _book(names),
        "xl/_rels/workbook.xml.rels": _relations([("worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(names) + 1)]),
    }
    for at, rows in enumerate(sheets.values(), start=1):
        parts[f"xl/worksheets/sheet{at}.xml"] = _sheet_text(rows)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


def _sheet_names(names: Sequence[str]) -> list[str]:
    """Return valid names of sheets: short, without special characters, and all different."""
    titles: list[str] = []
    for name in names:
        plain = "".join(" " if sign in "[]:*?/\\'" or not sign.isprintable() else sign for sign in name).strip() or "table"
        short, at = plain[:_LONGEST_NAME], 1
        while short.lower() in {one.lower() for one in titles}:
            at += 1
            short = f"{plain[: _LONGEST_NAME - len(str(at)) - 1]} {at}"
        titles.append(short)
    return titles


def _sheet_text(rows: Sequence[Sequence[Any]]) -> str:
    if len(rows) > _MOST_ROWS or max(map(len, rows), default=0) > _MOST_COLUMNS:
        raise ArgumentError(
            f"a sheet of a workbook holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns; write .parquet or .csv instead."
        )
    body = "".join(
        f'<row r="{at}">{"".join(_cell(at, number, cell) for number, cell in enumerate(row))}</row>'
        for at, row in enumerate(rows, start=1)
    )
    return f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'


def _cell(row: int, column: int, cell: Any) -> str:
    place = f"{_letters(column)}{row}"
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if (isinstance(cell, int) and abs(cell) < _EXACT) or (isinstance(cell, float) and math.isfinite(cell)):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    whole = "" if cell is None or (isinstance(cell, float) and math.isnan(cell)) else str(cell)
    text = "".join(sign for sign in whole if sign.isprintable() or sign in "\n\t")
    if len(text) > _LONGEST_CELL:
        raise ArgumentError(f"a cell of a workbook holds {_LONGEST_CELL:,} characters; write .parquet or .csv instead.")
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{_escaped(text)}</t></is></c>' if text else ""


def _escaped(text: str) -> str:
    """Return a text escaped for use between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _letters(column: int) -> str:
    """Return a column's letters: A, B, ..., Z, AA, ..."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_OFFICE = "http://schemas.openxmlformats.org"
_MAIN = f"{_OFFICE}/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def _types(sheets: int) -> str:
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="{_KIND}.worksheet+xml"/>' for at in range(1, sheets + 1)
    )
    return (
        f'{_HEAD}<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>{parts}</Types>'
    )


def _relations(parts: Sequence[tuple[str, str]]) -> str:
    one = f'Type="{_OFFICE}/officeDocument/2006/relationships/'
    relations = "".join(
        f'<Relationship Id="rId{at}" {one}{kind}" Target="{to}"/>' for at, (kind, to) in enumerate(parts, start=1)
    )
    return f'{_HEAD}<Relationships xmlns="{_OFFICE}/package/2006/relationships">{relations}</Relationships>'


def _book(names: Sequence[str]) -> str:
    quoted = [_escaped(name).replace('"', "&quot;") for name in names]
    sheets = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="rId{at}"/>' for at, name in enumerate(quoted, start=1))
    kinds = f'xmlns="{_MAIN}" xmlns:r="{_OFFICE}/officeDocument/2006/relationships"'
    return f"{_HEAD}<workbook {kinds}><sheets>{sheets}</sheets></workbook>"
