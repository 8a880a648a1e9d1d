"""Files of Stata, SPSS and SAS.

Value labels are applied: a labelled code becomes its label, and a code of the same column without a label becomes its
own text. Whole numbers, which these programs store as floating-point numbers, become integers. Values that the file
declares missing, and the empty text, are nulls. Reading needs the extra `stats-files`.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, EmptyDataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unveil.sources.files.inputs import Input
    from unveil.sources.options import ReadOptions

__all__ = ["SUFFIXES", "column_names", "read", "whole_numbers"]

SUFFIXES = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The suffixes, with the functions of pyreadstat that read such files."""

_EXACT = float(1 << 53)


def column_names(source: Input, options: ReadOptions) -> list[str]:
    """Read only the names of the variables."""
    return list(_meta(source, options).column_names)


def read(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    """Read the columns, with labels applied."""
    meta = _meta(source, options)
    wanted = list(meta.column_names if columns is None else columns)
    require_columns(wanted, meta.column_names)
    values, _ = _run(source, options, usecols=wanted)
    frame = pl.DataFrame({name: _labelled(_series(values[name]), _labels(meta, name)) for name in wanted})
    if frame.is_empty():
        raise EmptyDataError.no_records(source.place)
    return frame


def _meta(source: Input, options: ReadOptions) -> Any:
    """Read the file's metadata on its columns; for an SPSS file, also the codes that stand for missing values."""
    declared = {"user_missing": True} if source.suffix in (".sav", ".zsav") else {}
    return _run(source, options, metadataonly=True, **declared)[1]


def _run(source: Input, options: ReadOptions, **arguments: Any) -> tuple[dict[str, Any], Any]:
    """Read the file into a dictionary of columns with pyreadstat."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError.needed(f"reading {source.suffix} files", extra="stats-files") from None
    if options.encoding is not None and source.suffix != ".por":
        arguments["encoding"] = codecs.lookup(options.encoding).name
    reader: Callable[..., tuple[dict[str, Any], Any]] = getattr(pyreadstat, SUFFIXES[source.suffix])
    try:
        return reader(source.plain_path(), output_format="dict", **arguments)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError):
        raise DataFileError(
            f"{source.place}: the file cannot be read as {source.suffix} data; it is damaged, or give its encoding."
        ) from None


def _series(cells: Sequence[Any]) -> pl.Series:
    """Return a column without NaN, with whole numbers as integers, and with the empty text as null."""
    column = pl.Series(cells, strict=False)
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype == pl.String:
        return column.set(column == "", None)
    return whole_numbers(column) if column.dtype.is_float() else column


def whole_numbers(column: pl.Series) -> pl.Series:
    """Return a column of floating-point numbers without NaN, as integers if all are whole."""
    column = column.cast(pl.Float64).fill_nan(None)
    whole = (column == column.round()) & (column.abs() <= _EXACT)
    return column.cast(pl.Int64) if whole.all() else column


def _labels(meta: Any, name: str) -> dict[Any, str]:
    """Return the labels of a column's codes, except codes declared missing, which are nulls."""
    ranges = getattr(meta, "missing_ranges", {}).get(name, [])
    labels: dict[Any, str] = meta.variable_value_labels.get(name, {})
    return {code: label for code, label in labels.items() if not any(r["lo"] <= code <= r["hi"] for r in ranges)}


def _labelled(column: pl.Series, labels: dict[Any, str]) -> pl.Series:
    """Return a column with codes replaced by their labels."""
    kind = str if column.dtype == pl.String else (int, float)
    fitting = {code: label for code, label in labels.items() if isinstance(code, kind)}
    if not fitting:
        return column
    codes = pl.Series(list(fitting), dtype=column.dtype, strict=False)
    return column.replace_strict(codes, list(fitting.values()), default=column.cast(pl.String), return_dtype=pl.String)
