"""A table as a file to publish: long or as a crosstab, as text, Parquet or a spreadsheet."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.sax.saxutils import escape

from unveil.errors import ArgumentError, listed, shown
from unveil.output import atomic_write, check_replaceable
from unveil.results import Mark

__all__ = ["FORMS", "Form", "check_table_path", "write_crosstab", "write_long"]

Form: TypeAlias = Literal["long", "crosstab"]
FORMS = (".csv", ".parquet", ".xlsx")
"""The endings of a table to publish."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_table_path(path: Path, form: Form) -> None:
    """Refuse a place where a table cannot be written."""
    known = FORMS if form == "long" else (".csv", ".xlsx")
    if path.suffix.lower() not in known:
        raise ArgumentError(f"the file name {shown(path)} ends in no form of a {form} table; it is one of: {listed(known)}.")
    check_replaceable(path)


def write_long(columns: dict[str, Sequence[Any]], path: Path, *, spreadsheet_safe: bool = True) -> None:
    """Write one row per cell."""
    check_table_path(path, "long")
    ending = path.suffix.lower()
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if ending == ".parquet":
        import narwhals as nw

        buffer = io.BytesIO()
        nw.from_dict({name: list(values) for name, values in columns.items()}, backend="polars").write_parquet(buffer)
        with atomic_write(path) as file:
            file.write(buffer.getvalue())
        return
    _write_rows([list(columns), *rows], path, spreadsheet_safe=spreadsheet_safe)


def write_crosstab(header: Sequence[str], rows: Sequence[Sequence[Any]], path: Path, *, spreadsheet_safe: bool = True) -> None:
    """Write a crosstab: a row of codes, then one row per combination of the others."""
    check_table_path(path, "crosstab")
    _write_rows([list(header), *map(list, rows)], path, spreadsheet_safe=spreadsheet_safe)


def _write_rows(rows: Sequence[Sequence[Any]], path: Path, *, spreadsheet_safe: bool) -> None:
    plain = [[_plain(cell) for cell in row] for row in rows]
    if path.suffix.lower() == ".xlsx":
        with atomic_write(path) as file:
            file.write(_workbook(plain))
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[_harmless(cell) if spreadsheet_safe else cell for cell in row] for row in plain])
    with atomic_write(path) as file:
        file.write(buffer.getvalue().encode())


def _plain(cell: Any) -> Any:
    """Return what stands in a cell of a file: a mark is a blank there."""
    if isinstance(cell, Mark) or cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else cell  # noqa: PLR2004


def _harmless(cell: Any) -> Any:
    """Return a text that a spreadsheet would compute with an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return a workbook of one sheet: texts in the cells themselves, nothing that is computed."""
    sheet = "".join(
        f'<row r="{at}">{"".join(_sheet_cell(at, number, cell) for number, cell in enumerate(row))}</row>'
        for at, row in enumerate(rows, start=1)
    )
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS.format("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": _BOOK,
        "xl/_rels/workbook.xml.rels": _RELATIONS.format("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


def _sheet_cell(row: int, column: int, cell: Any) -> str:
    place = f"{_letters(column)}{row}"
    if isinstance(cell, int | float):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    text = escape("".join(char for char in str(cell) if char.isprintable()))
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>' if text else ""


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
_SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    f'{_HEAD}<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SPREADSHEET}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SPREADSHEET}.worksheet+xml"/></Types>'
)
_RELATIONS = (
    f'{_HEAD}<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument/2006/relationships/{{}}" Target="{{}}"/></Relationships>'
)
_BOOK = (
    f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}/officeDocument/2006/relationships"><sheets>'
    '<sheet name="table" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
