"""Lines of JSON, or messages, as columns: read a whole batch at once, or line by line if some part of it cannot be read.

Columns have the types of the first batch; if a later batch contradicts a type, it widens to decimal numbers or to text, as it
would in a table of all lines. A key that a record lacks is a null. A line that is not a JSON object is malformed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from unveil.errors import ColumnNotFoundError
from unveil.sources.files.jsonlines import cell_of, series_of
from unveil.sources.streams.base import text_of_value

__all__ = ["JsonRecords"]

_NUMBERS = (pl.Int64, pl.Float64)


class JsonRecords:
    """A reader of JSON objects, one on each line."""

    def __init__(self, place: str, columns: Sequence[str], missing: Sequence[str] = ()) -> None:
        self._place = place
        self._columns = list(columns)
        self._missing = frozenset(missing)
        self.types: dict[str, Any] = {}

    def frame(self, lines: bytes) -> tuple[pl.DataFrame, list[bytes]]:
        """Return the columns of all lines that are objects, and the other lines."""
        if not lines or lines.isspace():
            return self._empty(), []
        frame = self._at_once(lines)
        if frame is not None:
            return self._without_missing(frame), []
        return self._one_by_one(lines)

    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame({name: [] for name in self._columns}, schema={n: self.types.get(n, pl.String) for n in self._columns})

    def _at_once(self, lines: bytes) -> pl.DataFrame | None:
        """Read all lines with the known types; None if a line does not fit."""
        if not self.types:
            return self._first(lines)
        try:
            return pl.read_ndjson(io.BytesIO(lines), schema=self.types)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None

    def _first(self, lines: bytes) -> pl.DataFrame | None:
        """Read the first lines, and determine the types of the columns from them; None if that is not possible."""
        try:
            frame = pl.read_ndjson(io.BytesIO(lines), infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None
        if any(name not in frame.columns for name in self._columns):
            return None
        picked = pl.DataFrame({name: _known(frame[name]) for name in self._columns})
        if any(dtype not in (pl.Int64, pl.Float64, pl.Boolean, pl.String) for dtype in picked.schema.values()):
            return None
        self.types = dict(picked.schema)
        return picked

    def _one_by_one(self, lines: bytes) -> tuple[pl.DataFrame, list[bytes]]:
        records: list[dict[str, Any]] = []
        malformed: list[bytes] = []
        for line in lines.split(b"\n"):
            if not line.strip():
                continue
            try:
                record = json.loads(line, parse_constant=_constant)
            except (ValueError, RecursionError):
                malformed.append(line)
                continue
            records.append(record) if isinstance(record, dict) else malformed.append(line)
        self._require_columns(records)
        cells = {name: [cell_of(record.get(name), self._missing) for record in records] for name in self._columns}
        frame = pl.DataFrame({name: self._typed(name, values) for name, values in cells.items()})
        return frame, malformed

    def _typed(self, name: str, values: list[Any]) -> pl.Series:
        """Return a column in the known type, widened if necessary."""
        series = series_of(self._place, name, values)
        if series.null_count() == len(series):
            return series.cast(self.types.setdefault(name, pl.String))
        known = self.types.get(name, series.dtype)
        if known != series.dtype:
            known = pl.Float64 if known in _NUMBERS and series.dtype in _NUMBERS else pl.String
        self.types[name] = known
        return (
            series_of(self._place, name, [text_of_value(value) for value in values]) if known == pl.String else series.cast(known)
        )

    def _require_columns(self, records: Sequence[dict[str, Any]]) -> None:
        """Refuse a column that none of the first records has."""
        if self.types or not records:
            return
        keys = list(dict.fromkeys(key for record in records for key in record))
        for name in self._columns:
            if name not in keys:
                raise ColumnNotFoundError.among(name, keys)

    def _without_missing(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not self._missing:
            return frame
        texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        return frame.with_columns(*(frame[name].set(frame[name].is_in(list(self._missing)), None) for name in texts))


def _known(column: pl.Series) -> pl.Series:
    return column.cast(pl.String) if column.dtype == pl.Null else column


def _constant(name: str) -> None:
    """Return a null for NaN; refuse an infinity, which has no value here."""
    if name != "NaN":
        raise ValueError
