"""How does DuckDB count? A table of a database file, or a relation in the caller's hands.

A file is opened for reading only, but to write a release into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.errors import ArgumentError, DataFileError, EngineError, MissingExtraError, UnsupportedDataError, listed
from unveil.sources.engines.answers import batches_of, named, tally_of
from unveil.sources.engines.patience import patiently
from unveil.sources.engines.recoding import Recoding, own_word, recode
from unveil.sources.engines.sql import amounts as sql_amounts
from unveil.sources.engines.sql import numbered, quoted, released, selection
from unveil.sources.engines.table import EngineSource, Write, require_unchanged
from unveil.sources.frames import Tally, text_names
from unveil.sources.inputs import locate

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address

__all__ = ["open_database", "open_relation"]

_UNCOUNTABLE = ("array", "blob", "list", "map", "struct", "union", "variant")
_AS_TEXT = ("bignum", "bit", "geometry", "hugeint", "interval", "time with time zone", "uhugeint", "varint")
_LONG = ("bignum", "hugeint", "uhugeint", "varint")
_FLOATS = ("float", "double")
_NUMBERS = (
    *_FLOATS, "bigint", "decimal", "hugeint", "integer", "smallint", "tinyint", "ubigint", "uhugeint", "uinteger", "usmallint",
    "utinyint",
)  # fmt: skip
_INTERRUPTED = "Query interrupted"
"""What DuckDB says when it hears Ctrl-C."""
_TABLES = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() AND lower(table_schema) = lower(coalesce(?, current_schema())) ORDER BY table_name"
)
_SCHEMA = "SELECT 1 FROM information_schema.schemata WHERE catalog_name = current_database() AND lower(schema_name) = lower(?)"


def open_relation(relation: Any, place: str = "the DuckDB relation") -> EngineSource:
    """Open a relation; its queries run on the caller's connection."""
    _library()
    return EngineSource(
        place,
        text_names(relation.columns, place),
        lambda columns: _collected(relation, columns, place),
        lambda columns: _tallied(relation, columns, place),
        _batches=lambda columns: _batches(relation, columns, place),
        _amounts=lambda columns, value, top: _amounts(relation, columns, value, top, place),
    )


def open_database(address: Address) -> EngineSource:
    """Open a table of a database file: the one named, or the only one there is."""
    file = Path(address.target)
    if not file.is_file():  # else it is not touched: to close a file drops the lock of a connection that this program may have
        locate(file)
    if address.rest or address.path is not None:
        raise ArgumentError(f"{address.place}: a DuckDB file is followed by ?table=NAME, and &schema=NAME where it has several.")
    with _relation(file, address) as (relation, _):
        names, kinds = text_names(relation.columns, address.place), _kinds(relation)

    def collect(columns: Sequence[str]) -> pl.DataFrame:
        with _relation(file, address) as (relation, connection):
            return patiently(lambda: _collected(relation, columns, address.place), connection.interrupt)

    def count(columns: Sequence[str]) -> Tally:
        with _relation(file, address) as (relation, connection):
            return patiently(lambda: _tallied(relation, columns, address.place), connection.interrupt)

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with _relation(file, address) as (relation, connection):
            require_unchanged(address.place, columns, kinds, _kinds(relation))
            answer = _batches(relation, columns, address.place)
            while (batch := patiently(lambda: next(answer, None), connection.interrupt)) is not None:
                yield batch

    def amounts(columns: Sequence[str], value: str, top: int) -> tuple[pl.DataFrame, list[str]]:
        with _relation(file, address) as (relation, connection):
            return patiently(lambda: _amounts(relation, columns, value, top, address.place), connection.interrupt)

    into = lambda out: _into(file, address, kinds, out)  # noqa: E731 - the file and its types are at hand here
    return EngineSource(address.place, names, collect, count, into, _batches=batches, _amounts=amounts)


def _library() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError.needed("reading from DuckDB", extra="duckdb") from None
    return duckdb


@contextmanager
def _relation(file: Path, address: Address) -> Iterator[Any]:
    """Open the file for reading only, and give the table of the address and the connection."""
    with _connection(file, address, read_only=True) as connection:
        yield connection.sql(f"SELECT * FROM {_table(connection, address)}"), connection  # noqa: S608 - quoted


@contextmanager
def _connection(file: Path, address: Address, *, read_only: bool) -> Iterator[Any]:
    """Open the file."""
    duckdb = _library()
    try:
        connection = duckdb.connect(str(file.absolute()), read_only=read_only, config={"autoinstall_known_extensions": False})
    except duckdb.IOException as error:
        if "lock" in str(error):
            use = "open for writing" if read_only else "open"
            raise EngineError(f"{address.place}: another program has the file {use}; close it there.") from None
        raise DataFileError(f"{address.place}: the file is damaged or no DuckDB database.") from None
    except duckdb.OperationalError:  # by a connection of its own, or attached to another
        raise EngineError(f"{address.place}: this program has the file open already; give the relation itself instead.") from None
    with connection, _failure_reported(address.place):
        connection.execute("SET enable_progress_bar = false")  # it would be drawn on standard output
        yield connection


def _present(connection: Any, address: Address) -> list[str]:
    return [name for (name,) in connection.execute(_TABLES, [address.schema]).fetchall()]


def _table(connection: Any, address: Address) -> str:
    """Return the quoted name of the table, which has to be there."""
    present = _present(connection, address)
    if address.table is None and len(present) != 1:
        raise ArgumentError(f"{address.place}: name the table with ?table=NAME; there are: {listed(present) or 'none'}.")
    table = present[0] if address.table is None else address.table
    if table not in present:
        raise EngineError.no_table(address.place, present)
    return _name(address.schema, table)


def _name(schema: str | None, table: str) -> str:
    return quoted(table) if schema is None else f"{quoted(schema)}.{quoted(table)}"


def _into(file: Path, address: Address, kinds: Mapping[str, str], out: Address) -> Write:
    """Return what writes a release into a new table of the file."""
    if out.engine != "duckdb" or Path(out.target).resolve() != file.resolve():
        raise ArgumentError.other_database(address.place)
    table = out.named()
    with _connection(file, address, read_only=True) as connection:
        if table.casefold() in map(str.casefold, _present(connection, out)):
            raise EngineError.table_exists(out.place)
        if out.schema is not None and not connection.execute(_SCHEMA, [out.schema]).fetchall():
            raise EngineError.no_schema(out.place)

    def rewrite(connection: Any, what: Recoding) -> int:
        connection.begin()
        source = _table(connection, address)
        now = _kinds(connection.sql(f"SELECT * FROM {source}"))  # noqa: S608 - quoted
        require_unchanged(address.place, (*what.names, *what.counted), kinds, now)
        name, held = _name(out.schema, table), _Held(connection, source, kinds, what)
        connection.execute(released(name, recode(held, what), what.names))
        held.drop()
        release = connection.sql(f"SELECT * FROM {name}")  # noqa: S608 - quoted
        records = what.check(_tallied(release, what.counted, out.place))
        connection.commit()
        return records

    def write(what: Recoding) -> tuple[EngineSource, int]:
        with _connection(file, out, read_only=False) as connection:
            records = patiently(lambda: rewrite(connection, what), connection.interrupt)
        return open_database(replace(address, table=table, schema=out.schema)), records

    return write


class _Held:
    """Tables that a connection holds until they are dropped."""

    row_number = "row_number() OVER ()"
    keyed_hash = "sha256(o.k || q.n::UBIGINT::BIT::BLOB)"

    def __init__(self, connection: Any, table: str, kinds: Mapping[str, str], what: Recoding) -> None:
        self.own, self._connection, self._kinds = own_word(), connection, kinds
        self._names: list[str] = []
        keys = [_without_nan(column.name, kinds[column.name]) for column in what.changed]
        whole = [_without_nan(name, kinds[name]) for name in what.complete]
        plain = [quoted(name) for name in what.names]
        self.records = f"({numbered(table, k=keys, w=whole, c=plain)})"

    def hold(self, name: str, query: str) -> None:
        self._connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
        self._names.append(name)

    def put(self, name: str, frame: pl.DataFrame) -> None:
        sent = f"{self.own}sent"
        self._connection.register(sent, frame.to_arrow())
        self.hold(name, f"SELECT * FROM {sent}")  # noqa: S608 - our own name
        self._connection.unregister(sent)

    def values(self, name: str, column: str) -> pl.Series:
        answer = self._connection.sql(f'SELECT v AS "0" FROM {name} ORDER BY id').pl()  # noqa: S608 - our own name
        return named(answer, [column], numeric=[column] if self._kinds[column] in _LONG else ()).to_series()

    def drop(self) -> None:
        """Forget the tables."""
        for name in self._names:
            self._connection.execute(f"DROP TABLE {name}")


def _collected(relation: Any, columns: Sequence[str], place: str) -> pl.DataFrame:
    kinds = _kinds(relation)
    with _failure_reported(place):
        answer = relation.project(selection([_expression(name, kinds[name]) for name in columns])).pl()
    return named(answer, columns, numeric=[name for name in columns if kinds[name] in _LONG])


def _batches(relation: Any, columns: Sequence[str], place: str) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    kinds = _kinds(relation)
    with _failure_reported(place):
        asked = relation.project(selection([_expression(name, kinds[name]) for name in columns]))
        with pa.RecordBatchReader.from_stream(asked) as answer:  # else a failure that is kept would keep the file open
            yield from batches_of(answer, columns)


def _tallied(relation: Any, columns: Sequence[str], place: str) -> Tally:
    kinds = _kinds(relation)
    for name in columns:
        if kinds[name] in _UNCOUNTABLE:
            raise UnsupportedDataError.uncountable(name, kinds[name])
    keys = [_expression(name, kinds[name]) for name in columns]
    with _failure_reported(place):
        answer = relation.aggregate(f'{selection(keys)}, count(*) AS "n"', ", ".join(keys)).pl()
    return tally_of(answer, columns, numeric=[name for name in columns if kinds[name] in _LONG])


def _amounts(relation: Any, columns: Sequence[str], value: str, top: int, place: str) -> tuple[pl.DataFrame, list[str]]:
    """Ask for the sums and the largest contributions of combinations."""
    kinds = _kinds(relation)
    for name in columns:
        if kinds[name] in _UNCOUNTABLE:
            raise UnsupportedDataError.uncountable(name, kinds[name])
    if kinds[value] not in _NUMBERS:
        raise UnsupportedDataError.no_number(value, kinds[value])
    keys = [_expression(name, kinds[name]) for name in columns]
    number = f"CASE WHEN isfinite({quoted(value)}::DOUBLE) THEN {quoted(value)}::DOUBLE END"
    with _failure_reported(place):
        answer = relation.query("unveil_records", sql_amounts("unveil_records", keys, keys, number, top)).pl()
    return answer, [name for name in columns if kinds[name] in _LONG]


def _kinds(relation: Any) -> dict[str, str]:
    return {name: kind.id for name, kind in zip(relation.columns, relation.types, strict=True)}


def _expression(name: str, kind: str) -> str:
    """Return a column as it is asked for: texts to the letter, whatever their collation, and unusual types as text."""
    if kind == "varchar":
        return f'{quoted(name)} COLLATE "C"'
    return f"CAST({quoted(name)} AS VARCHAR)" if kind in _AS_TEXT else quoted(name)


def _without_nan(name: str, kind: str) -> str:
    """Return a column as it is counted: a NaN is a null."""
    return f"CASE WHEN isnan({quoted(name)}) THEN NULL ELSE {quoted(name)} END" if kind in _FLOATS else _expression(name, kind)


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn what DuckDB says, which may quote values, into one line that does not."""
    duckdb = _library()
    try:
        yield
    except duckdb.InterruptException:
        raise EngineError.cancelled(place) from None
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    except duckdb.OutOfMemoryException:
        raise EngineError(
            f"{place}: DuckDB has too little memory for the count; count over fewer columns, or raise its limit."
        ) from None
    except duckdb.Error as error:
        raise EngineError.failed(place, "DuckDB", type(error).__name__) from None
