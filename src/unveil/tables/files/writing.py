"""Files of tables to publish: long or as a crosstab, as text, Parquet or a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from unveil.errors import ArgumentError, listed, shown
from unveil.output import atomic_write, check_replaceable
from unveil.results import Mark
from unveil.run import active_run
from unveil.sources import workbook

__all__ = ["FORMS", "Form", "check_table_path", "write_crosstab", "write_long"]

Form: TypeAlias = Literal["long", "crosstab"]
FORMS = (".csv", ".parquet", ".xlsx")
"""The suffixes of files of tables to publish."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_table_path(path: Path, form: Form) -> None:
    """Refuse a path to which a table cannot be written."""
    known = FORMS if form == "long" else (".csv", ".xlsx")
    if path.suffix.lower() not in known:
        raise ArgumentError(f"the file name {shown(path)} has the wrong ending for a {form} table; use one of: {listed(known)}.")
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
        _write(buffer.getvalue(), path)
        return
    _write_rows([list(columns), *rows], path, spreadsheet_safe=spreadsheet_safe)


def write_crosstab(header: Sequence[str], rows: Sequence[Sequence[Any]], path: Path, *, spreadsheet_safe: bool = True) -> None:
    """Write a crosstab: a row of codes, then one row per combination of the others."""
    check_table_path(path, "crosstab")
    _write_rows([list(header), *map(list, rows)], path, spreadsheet_safe=spreadsheet_safe)


def _write_rows(rows: Sequence[Sequence[Any]], path: Path, *, spreadsheet_safe: bool) -> None:
    plain = [[_plain(cell) for cell in row] for row in rows]
    if path.suffix.lower() == ".xlsx":
        _write(workbook({"table": plain}), path)
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[_harmless(cell) if spreadsheet_safe else cell for cell in row] for row in plain])
    _write(buffer.getvalue().encode(), path)


def _write(content: bytes, path: Path) -> None:
    """Write a file, whole or not at all, unless the active run is cancelled."""
    run = active_run()
    run.check()
    with atomic_write(path) as file:
        file.write(content)
        run.check()


def _plain(cell: Any) -> Any:
    """Return the content of a cell of a file, in which a mark becomes a blank."""
    if isinstance(cell, Mark) or cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else cell  # noqa: PLR2004


def _harmless(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would read as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
