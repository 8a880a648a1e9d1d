"""How does DuckDB count? A table of a database file, opened for reading only, or a relation in the caller's hands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.errors import ArgumentError, DataFileError, EngineError, MissingExtraError, UnsupportedDataError, listed
from unveil.sources.engines.answers import named, tally_of
from unveil.sources.engines.sql import quoted, selection
from unveil.sources.frames import Source, Tally, text_names
from unveil.sources.inputs import locate

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address

__all__ = ["open_database", "open_relation"]

_UNCOUNTABLE = ("array", "blob", "list", "map", "struct", "union", "variant")
_AS_TEXT = ("bignum", "bit", "geometry", "hugeint", "interval", "time with time zone", "uhugeint", "varint")
_LONG = ("bignum", "hugeint", "uhugeint", "varint")
_TABLES = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() AND table_schema = coalesce(?, current_schema()) ORDER BY table_name"
)


def open_relation(relation: Any, place: str = "the DuckDB relation") -> Source:
    """Open a relation; its queries run on the caller's connection."""
    _library()
    names = text_names(relation.columns, place)
    return Source(
        place, names, lambda columns: _collected(relation, columns, place), lambda columns: _tallied(relation, columns, place)
    )


def open_database(address: Address) -> Source:
    """Open a table of a database file: the one named, or the only one there is."""
    file = Path(address.target)
    if not file.is_file():  # else it is not touched: to close a file drops the lock of a connection that this program may have
        locate(file)
    if address.rest or address.path is not None:
        raise ArgumentError(f"{address.place}: a DuckDB file is followed by ?table=NAME, and &schema=NAME where it has several.")
    with _relation(file, address) as relation:
        names = text_names(relation.columns, address.place)

    def collect(columns: Sequence[str]) -> pl.DataFrame:
        with _relation(file, address) as relation:
            return _collected(relation, columns, address.place)

    def count(columns: Sequence[str]) -> Tally:
        with _relation(file, address) as relation:
            return _tallied(relation, columns, address.place)

    return Source(address.place, names, collect, count)


def _library() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError.needed("reading from DuckDB", extra="duckdb") from None
    return duckdb


@contextmanager
def _relation(file: Path, address: Address) -> Iterator[Any]:
    """Open the file for reading only, and give the table of the address."""
    duckdb = _library()
    try:
        connection = duckdb.connect(str(file.absolute()), read_only=True, config={"autoinstall_known_extensions": False})
    except duckdb.ConnectionException:
        raise EngineError(f"{address.place}: this program has the file open already; give the relation itself instead.") from None
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise EngineError(f"{address.place}: another program has the file open for writing; close it there.") from None
        raise DataFileError(f"{address.place}: the file is damaged or no DuckDB database.") from None
    with connection, _failure_reported(address.place):
        connection.execute("SET enable_progress_bar = false")  # it would be drawn on standard output
        yield connection.sql(f"SELECT * FROM {_table(connection, address)}")  # noqa: S608 - quoted


def _table(connection: Any, address: Address) -> str:
    """Return the quoted name of the table, which has to be there."""
    present = [name for (name,) in connection.execute(_TABLES, [address.schema]).fetchall()]
    if address.table is None and len(present) != 1:
        raise ArgumentError(f"{address.place}: name the table with ?table=NAME; there are: {listed(present) or 'none'}.")
    table = present[0] if address.table is None else address.table
    if table not in present:
        raise EngineError.no_table(address.place, present)
    return quoted(table) if address.schema is None else f"{quoted(address.schema)}.{quoted(table)}"


def _collected(relation: Any, columns: Sequence[str], place: str) -> pl.DataFrame:
    kinds = _kinds(relation)
    with _failure_reported(place):
        answer = relation.project(selection([_expression(name, kinds[name]) for name in columns])).pl()
    return named(answer, columns, numeric=[name for name in columns if kinds[name] in _LONG])


def _tallied(relation: Any, columns: Sequence[str], place: str) -> Tally:
    kinds = _kinds(relation)
    for name in columns:
        if kinds[name] in _UNCOUNTABLE:
            raise UnsupportedDataError.uncountable(name, kinds[name])
    keys = [_expression(name, kinds[name]) for name in columns]
    with _failure_reported(place):
        answer = relation.aggregate(f'{selection(keys)}, count(*) AS "n"', ", ".join(keys)).pl()
    return tally_of(answer, columns, numeric=[name for name in columns if kinds[name] in _LONG])


def _kinds(relation: Any) -> dict[str, str]:
    return {name: kind.id for name, kind in zip(relation.columns, relation.types, strict=True)}


def _expression(name: str, kind: str) -> str:
    """Return a column as it is asked for: texts to the letter, whatever their collation, and unusual types as text."""
    if kind == "varchar":
        return f'{quoted(name)} COLLATE "C"'
    return f"CAST({quoted(name)} AS VARCHAR)" if kind in _AS_TEXT else quoted(name)


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn what DuckDB says, which may quote values, into one line that does not."""
    duckdb = _library()
    try:
        yield
    except duckdb.InterruptException:
        raise EngineError.cancelled(place) from None
    except duckdb.OutOfMemoryException:
        raise EngineError(
            f"{place}: DuckDB has too little memory for the count; count over fewer columns, or raise its limit."
        ) from None
    except duckdb.Error as error:
        raise EngineError.failed(place, "DuckDB", type(error).__name__) from None
