"""How the answer of the verb for tables is given: as JSON, as a file to publish, as a report, or on the terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from unveil.cli.options import give
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, TableError, shown

__all__ = ["Answer", "checked_out", "level_of", "written"]

_TO_PUBLISH = (".csv", ".parquet", ".xlsx")


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the answer goes, and in which form."""

    as_json: bool
    out: Path | None
    form: str
    intervals: bool
    spreadsheet_safe: bool


def checked_out(out: Path | None) -> Path | None:
    """Refuse a place where nothing can be written before the work begins."""
    if out is not None:
        from unveil.report import checked_path
        from unveil.tables.files.writing import check_table_path

        if out.suffix.lower() == ".xlsx":
            check_table_path(out, "long")
        else:
            checked_path(out)
    return out


def level_of(text: str) -> Any:
    """Read a level: a word, or a number."""
    if text in ("rule", "none"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--level is rule, none or a number, not {shown(text)}.") from None


def written(result: Any, answer: Answer) -> None:
    """Give an answer; a table that is not safe is not written for publication, and ends with exit code 1."""
    from unveil.tables.crosstable import CrossTable

    exposed = not getattr(result, "safe", True)
    out = answer.out
    to_publish = out is not None and out.suffix.lower() in _TO_PUBLISH and hasattr(result, "table") and hasattr(result, "entries")
    if to_publish or (isinstance(result, CrossTable) and out is not None and out.suffix.lower() in _TO_PUBLISH):
        if exposed:
            raise TableError(
                "the table is not safe, so it is not written for publication; write a report (.html, .json) instead."
            )
        _publish(result, answer)
        if answer.as_json:
            give(result, as_json=True, out=None)
    else:
        give(result, as_json=answer.as_json, out=out, spreadsheet_safe=answer.spreadsheet_safe)
    if exposed:
        raise typer.Exit(1)


def _publish(result: Any, answer: Answer) -> None:
    """Write the table to publish."""
    from unveil.arguments import checked_word
    from unveil.tables.crosstab import crosstab_rows
    from unveil.tables.files.writing import write_crosstab, write_long

    out = answer.out
    if out is None:
        return
    checked_word("--form", answer.form, ("long", "crosstab"))
    if answer.form == "crosstab":
        table = getattr(result, "table", result)
        entries = result.entries() if hasattr(result, "entries") else (table.n if table.value is None else table.value).tolist()
        header, rows = crosstab_rows(table.dimensions, entries, table.shown)
        write_crosstab(header, rows, out, spreadsheet_safe=answer.spreadsheet_safe)
    else:
        columns = result.with_intervals() if answer.intervals and hasattr(result, "with_intervals") else result.columns()
        write_long(columns, out, spreadsheet_safe=answer.spreadsheet_safe)
    sys.stderr.write(f"written: {without_credentials(out)}\n")
