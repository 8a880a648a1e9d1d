"""The output of the verb for tables: as JSON, as a file to publish, as a report, or on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli.application import refuse_without
from unveil.cli.options import Json, SpreadsheetSafe, give, pair_of
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, TableError, shown

__all__ = [
    "RULE_FORMS",
    "TableAnswer",
    "checked_out",
    "compared",
    "hierarchies_of",
    "level_of",
    "perturbed",
    "read_foreign",
    "written",
]

RULE_FORMS = ("threshold=K", "p=P", "pq=P:Q", "dominance=N:K", "group", "request")
"""The rules that define which cells are sensitive."""
_TO_PUBLISH = (".csv", ".parquet", ".xlsx")


def checked_out(out: Path | None) -> Path | None:
    """Refuse, before the work begins, a place to which nothing can be written."""
    if out is not None:
        from unveil.report import checked_path
        from unveil.tables import check_table_path

        if out.suffix.lower() == ".xlsx":
            check_table_path(out, "long")
        else:
            checked_path(out)
    return out


TableOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the table to publish (.csv, .parquet, .xlsx), or the report (.html, .json, .txt).",
        callback=checked_out,
    ),
]


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The output of the answer, and its form."""

    publish_intervals: Annotated[bool, typer.Option("--publish-intervals", help="Write intervals instead of blanks.")] = False
    form: Annotated[str, typer.Option(metavar="long|crosstab", help="The form of the table written.")] = "long"
    as_json: Json = False
    out: TableOut = None
    spreadsheet_safe: SpreadsheetSafe = True


def level_of(text: str) -> Any:
    """Read a level: a word, or a number."""
    if text in ("rule", "none"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--level is rule, none or a number, not {shown(text)}.") from None


def hierarchies_of(texts: Sequence[str] | None, columns: Sequence[str]) -> dict[str, Any]:
    """Read COLUMN=FILE; the groups of several files for one column need not be nested."""
    hierarchies: dict[str, list[Any]] = {}
    for text in texts or ():
        column, file = pair_of(text, columns, "--hierarchy", "COLUMN=FILE")
        hierarchies.setdefault(column, []).append(Path(file))
    return {column: files[0] if len(files) == 1 else files for column, files in hierarchies.items()}


def read_foreign(data: str | None) -> tuple[Any, Any] | None:
    """Read a table or a problem of tau-Argus: a .jj file, or a .tab file with its .rda beside it; None: it is neither."""
    place = Path(data or "")
    if place.suffix.lower() == ".jj":
        from unveil.tables import read_jj

        return read_jj(place)
    if place.suffix.lower() == ".tab" and place.with_suffix(".rda").is_file():
        from unveil.tables import read_tab

        return read_tab(place)
    return None


def perturbed(
    way: str, made: Any, rules: Sequence[str], method: str | None, base: float, aim: dict[str, Any], **more: Any
) -> Any:
    """Perturb a table by the requested method."""
    from unveil import tables
    from unveil.arguments import checked_word

    checked_word("--protect", way, ("suppress", "round", "adjust", "small-counts", "cell-key"))
    if way == "round":
        chosen: Any = method or "controlled"
        return tables.round_table(made, base=base, method=chosen, on=aim["on"], seed=more["seed"], key_file=more["key_file"])
    if way == "small-counts":
        if base != int(base):
            raise ArgumentError("--base of small counts is a whole number.")
        return tables.round_small_counts(made, base=int(base))
    if not rules:
        raise ArgumentError("nothing says which cells are sensitive; give a --rule, such as threshold=3.")
    options = {name: aim[name] for name in ("on", "attacker", "zeros", "level", "width")}
    return tables.adjust(made, list(rules), **options)


def compared(original: Any, by: Sequence[str], files: dict[str, str], rules: Sequence[str], made_of: dict[str, Any]) -> Any:
    """Compare published tables with the table of the records; `made_of` holds its arguments, as for `table`."""
    from unveil import tables
    from unveil.tables import contributors_of, read_published, reordered

    table = tables.table(original, list(by), top=contributors_of(rules), **made_of)
    value, hierarchies, total = (made_of[name] for name in ("value", "hierarchies", "total"))
    read = {name: read_published(file, list(by), value, dict(hierarchies), total) for name, file in files.items()}
    for one in read.values():
        reordered(table, one)
    return tables.compare_tables(table, read, rules=list(rules))


def written(result: Any, answer: TableAnswer) -> None:
    """Show an answer; a table that is not safe is not written for publication, and the exit code is 1."""
    from unveil.arguments import checked_word
    from unveil.tables import CrossTable

    checked_word("--form", answer.form, ("long", "crosstab"))
    exposed = not getattr(result, "safe", True)
    out = answer.out
    if out is None or out.suffix.lower() not in _TO_PUBLISH:
        refuse_without("--out FILE.csv, .parquet or .xlsx", answer, "publish_intervals", "form")
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


def _publish(result: Any, answer: TableAnswer) -> None:
    """Write the table to publish."""
    from unveil.tables import crosstab_rows, write_crosstab, write_long

    out = answer.out
    if out is None:
        return
    if answer.publish_intervals and not hasattr(result, "with_intervals"):
        raise ArgumentError("--publish-intervals goes with --protect suppress: no other table has blanks.")
    if answer.form == "crosstab":
        table = getattr(result, "table", result)
        shown_as = result.interval_entries if answer.publish_intervals else getattr(result, "entries", None)
        entries = shown_as() if shown_as is not None else (table.n if table.value is None else table.value).tolist()
        header, rows = crosstab_rows(table.dimensions, entries, table.shown)
        write_crosstab(header, rows, out, spreadsheet_safe=answer.spreadsheet_safe)
    else:
        columns = result.with_intervals() if answer.publish_intervals else result.columns()
        write_long(columns, out, spreadsheet_safe=answer.spreadsheet_safe)
    sys.stderr.write(f"written: {without_credentials(out)}\n")
