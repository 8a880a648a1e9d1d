"""JSON lines: one object on every line.

Columns are the keys of all objects, in the order of their first appearance; a key that an object lacks is a null there,
and so is the NaN that some programs write. A list or an object as a value is kept as its JSON text. Blank lines are
ignored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DuplicateColumnError, EmptyDataError, shown
from unveil.sources.files.inputs import encoding_of, line_blocks, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unveil.sources.files.inputs import Input
    from unveil.sources.options import ReadOptions

__all__ = ["cell_of", "column_names", "read", "series_of"]

_EXACT = 1 << 53
_LARGEST = 1 << 63


def column_names(source: Input, options: ReadOptions) -> list[str]:
    """Read the keys of all objects; this reads the whole file, because any line may contain a new one."""
    names: dict[str, None] = {}
    for record in _objects(source, options):
        names.update(dict.fromkeys(record))
    return _not_empty(source, names)


def read(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    """Read the columns; texts stay texts, even the empty text and texts that look like numbers."""
    names: dict[str, None] = {}
    values: dict[str, list[Any]] = {name: [] for name in columns or ()}
    missing = frozenset(options.missing)
    for row, record in enumerate(_objects(source, options)):
        if columns is None:
            values.update((name, [None] * row) for name in record if name not in values)
        names.update(dict.fromkeys(record))
        for name, cells in values.items():
            cells.append(cell_of(record.get(name), missing))
    require_columns(list(values), _not_empty(source, names))
    return pl.DataFrame({name: series_of(source.place, name, cells) for name, cells in values.items()})


def _not_empty(source: Input, names: dict[str, None]) -> list[str]:
    if not names:
        raise EmptyDataError(f"{source.place}: the file is empty; there is nothing to read.")
    return list(names)


class _RepeatedKeyError(ValueError):
    """A key that occurs twice in one object."""


def _objects(source: Input, options: ReadOptions) -> Iterator[dict[str, Any]]:
    """Yield the object of every line."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_constant)
    for line, text in text_lines(line_blocks(source, encoding_of(source, options.encoding))):
        if not text or text.isspace():
            continue
        try:
            record = decoder.decode(text)
        except _RepeatedKeyError as error:
            raise DuplicateColumnError.named(str(error), f"{source.place}, line {line:,}") from None
        except (ValueError, RecursionError):
            raise DataFileError.at_line(
                source.place, line, "this is not valid JSON; one whole object is expected on every line."
            ) from None
        if not isinstance(record, dict):
            raise DataFileError.at_line(source.place, line, "a JSON object is expected on every line, in braces.")
        yield record


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return record


def _constant(name: str) -> None:
    """Return a null for NaN; refuse an infinity, which has no value here."""
    if name != "NaN":
        raise ValueError


def cell_of(value: Any, missing: frozenset[str]) -> Any:
    """Return a value as a cell of a table: lists and objects as JSON text, and a text that stands for a null as a null."""
    if isinstance(value, str):
        return None if value in missing else value
    return _text(value) if isinstance(value, (dict, list)) else value


def _text(value: Any) -> str:
    """Return a value as JSON, the same for equal values; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def series_of(place: str, name: str, cells: list[Any]) -> pl.Series:
    """Return a column typed by the types of its values; if these cannot be combined, a column of their texts."""
    dtype = _type_of(cells)
    if dtype == pl.String:
        cells = [None if cell is None else _text(cell) for cell in cells]
    try:
        return pl.Series(name, cells, dtype=dtype, strict=False)
    except UnicodeError:
        raise DataFileError(f"{place}: column {shown(name)} holds half a surrogate pair, which is not a character.") from None


def _type_of(cells: list[Any]) -> type[pl.DataType]:
    types = {type(cell) for cell in cells} - {type(None)}
    if types == {bool}:
        return pl.Boolean
    if types == {int} and all(cell is None or -_LARGEST <= cell < _LARGEST for cell in cells):
        return pl.Int64
    if types in ({float}, {int, float}) and not any(isinstance(cell, int) and abs(cell) > _EXACT for cell in cells):
        return pl.Float64
    return pl.String
