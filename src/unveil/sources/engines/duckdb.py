"""DuckDB: a table of a database file, or a relation that the caller holds.

A file is opened only for reading, unless a release is written into it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import polars as pl

from unveil.errors import ArgumentError, DataFileError, EngineError, MissingExtraError, UnsupportedDataError, listed
from unveil.run import active_run
from unveil.sources.base import Tally, text_names
from unveil.sources.engines.recoding import EngineRecoding, own_word, recode
from unveil.sources.engines.table import (
    STATEMENTS,
    Aggregates,
    EngineSource,
    Session,
    Write,
    batches_of,
    cancellable,
    named,
    numbered,
    quoted,
    quoted_text,
    rank,
    released,
    require_unchanged,
    selection,
    tally_of,
)
from unveil.sources.files.inputs import locate

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address
    from unveil.sources.engines.contributors import Contribution

__all__ = ["FileTable", "RelationSource"]

_Answer = TypeVar("_Answer")

_UNCOUNTABLE = ("array", "blob", "list", "map", "struct", "union", "variant")
_AS_TEXT = ("bignum", "bit", "geometry", "hugeint", "interval", "time with time zone", "uhugeint", "varint")
_LONG = ("bignum", "hugeint", "uhugeint", "varint")
_FLOATS = ("float", "double")
_NUMBERS = (*_FLOATS, "decimal", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint")
_INTERRUPTED = "Query interrupted"
"""DuckDB's message after Ctrl-C."""
_TABLES = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() AND lower(table_schema) = lower(coalesce(?, current_schema())) ORDER BY table_name"
)
_SCHEMA = "SELECT 1 FROM information_schema.schemata WHERE catalog_name = current_database() AND lower(schema_name) = lower(?)"


class RelationSource(EngineSource):
    """A relation; its queries run on the caller's connection, and are interrupted there."""

    def __init__(self, relation: Any, place: str = "the DuckDB relation") -> None:
        _library()
        super().__init__(place, text_names(relation.columns, place))
        self._relation = relation

    def __reduce__(self) -> NoReturn:
        """Refuse to be sent to another process."""
        raise UnsupportedDataError.held_here(self.place, "name the table of a file, such as data.duckdb?table=NAME")

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
        return _numbers(_kinds(self._relation))

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        return self._query(lambda relation: _aggregated(relation, columns, aggregates, self.place))

    def answered(
        self, columns: Sequence[str], what: Contribution, query: Callable[[str], str]
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the result of a query on records with the columns that `engines.contributors` describes."""
        return self._query(lambda relation: _answered(relation, columns, what, query, self.place))

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return self._query(lambda relation: _collected(relation, columns, self.place))

    def _count(self, columns: Sequence[str]) -> Tally:
        return self._query(lambda relation: _tallied(relation, columns, self.place))

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        return self._query(lambda relation: _tallied(_numbered(relation, columns, owners), columns, self.place))

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        answer = _batches(self._relation, columns, self.place)
        while (batch := self._query(lambda _: next(answer, None))) is not None:
            yield batch

    def _query(self, question: Callable[[Any], _Answer]) -> _Answer:
        """Run a query on the relation."""
        connection = getattr(self._relation, "_con", None)  # DuckDB has no public name for it
        if connection is None:
            return active_run().watching(lambda: question(self._relation))
        return cancellable(lambda: question(self._relation), connection.interrupt)


class FileTable(EngineSource):
    """A table of a database file: the named one, or the only one."""

    def __init__(self, address: Address, held: ExitStack | None = None) -> None:
        self._file, self._address = Path(address.target), address
        if not self._file.is_file():  # otherwise not opened: closing a file drops another connection's lock
            locate(self._file)
        if address.rest or address.path is not None:
            raise ArgumentError(f"{address.place}: a DuckDB file is followed by ?table=NAME, and &schema=NAME if it has several.")
        self._session = Session(self._reading)
        if held is not None:
            held.enter_context(self._session.held())
            self.connected = False  # a block keeps the connection already
        with self._session.connection() as connection, _failure_reported(address.place):
            relation = self._relation(connection)
            names, self._kinds = text_names(relation.columns, address.place), _kinds(relation)
        super().__init__(address.place, names)

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep one connection for all queries of a block."""
        return self._session.held(given)

    def rewrite(self, out: Address) -> Write:
        """Return a function that writes a release into a new table of the file."""
        if out.engine != "duckdb" or Path(out.target).resolve() != self._file.resolve():
            raise ArgumentError.other_database(self.place)
        table = out.named()
        with self._session.connection() as connection, _failure_reported(self.place):
            if table.casefold() in map(str.casefold, _present(connection, out)):
                raise EngineError.table_exists(out.place)
            if out.schema is not None and not connection.execute(_SCHEMA, [out.schema]).fetchall():
                raise EngineError.no_schema(out.place)

        def write(what: EngineRecoding) -> tuple[EngineSource, int]:
            self._session.close()  # DuckDB opens a file for reading only, or for writing
            with _connection(self._file, out, read_only=False) as connection, _failure_reported(out.place):
                records = cancellable(lambda: self._rewritten(connection, what, out), connection.interrupt)
            return FileTable(replace(self._address, table=table, schema=out.schema)), records

        return write

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
        return _numbers(self._kinds)

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        return self._query(lambda relation: _aggregated(relation, columns, aggregates, self.place))

    def answered(
        self, columns: Sequence[str], what: Contribution, query: Callable[[str], str]
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the result of a query on records with the columns that `engines.contributors` describes."""
        return self._query(lambda relation: _answered(relation, columns, what, query, self.place))

    def _rewritten(self, connection: Any, what: EngineRecoding, out: Address) -> int:
        """Write the table of a release in one transaction, and return its number of records."""
        connection.begin()
        require_unchanged(self.place, (*what.names, *what.counted), self._kinds, _kinds(self._relation(connection)))
        name, tables = _name(out.schema, out.named()), _Held(connection, _table(connection, self._address), self._kinds, what)
        connection.execute(released(name, recode(tables, what), what.names))
        tables.drop()
        release = connection.sql(f"SELECT * FROM {name}")  # noqa: S608 - quoted
        records = what.check(_tallied(release, what.counted, out.place))
        connection.commit()
        return records

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return self._query(lambda relation: _collected(relation, columns, self.place))

    def _count(self, columns: Sequence[str]) -> Tally:
        return self._query(lambda relation: _tallied(relation, columns, self.place))

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        return self._query(lambda relation: _tallied(_numbered(relation, columns, owners), columns, self.place))

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with self._reading() as connection, _failure_reported(self.place):  # its own: another query would end this result
            relation = self._relation(connection)
            require_unchanged(self.place, columns, self._kinds, _kinds(relation))
            answer = _batches(relation, columns, self.place)
            while (batch := cancellable(lambda: next(answer, None), connection.interrupt)) is not None:
                yield batch

    def _query(self, question: Callable[[Any], _Answer]) -> _Answer:
        """Run a query on the table."""
        with self._session.connection() as connection, _failure_reported(self.place):
            relation = self._relation(connection)
            return cancellable(lambda: question(relation), connection.interrupt)

    def _relation(self, connection: Any) -> Any:
        return connection.sql(f"SELECT * FROM {_table(connection, self._address)}")  # noqa: S608 - quoted

    def _reading(self) -> AbstractContextManager[Any]:
        return _connection(self._file, self._address, read_only=True)


def _library() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError.needed("reading from DuckDB", extra="duckdb") from None
    return duckdb


@contextmanager
def _connection(file: Path, address: Address, *, read_only: bool) -> Iterator[Any]:
    """Open the file, and yield the connection."""
    duckdb = _library()
    try:
        connection = duckdb.connect(str(file.absolute()), read_only=read_only, config={"autoinstall_known_extensions": False})
    except duckdb.IOException as error:
        if "lock" in str(error):
            use = "open for writing" if read_only else "open"
            raise EngineError(f"{address.place}: another program has the file {use}; close it there.") from None
        raise DataFileError(f"{address.place}: the file is damaged or no DuckDB database.") from None
    except duckdb.OperationalError:  # through a connection of its own, or attached to another
        raise EngineError(f"{address.place}: this program has the file open already; give the relation itself instead.") from None
    with connection:
        logged = _Logged(connection)
        logged.execute("SET enable_progress_bar = false")  # otherwise it is drawn on standard output
        if (threads := active_run().limits.threads) is not None:
            logged.execute(f"SET threads = {threads:d}")
        yield logged


class _Logged:
    """A connection that logs the statements it executes; queries of relations are logged by `_said`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        STATEMENTS.debug("%s", statement)
        return self._connection.execute(statement, *([values] if values else []))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _present(connection: Any, address: Address) -> list[str]:
    return [name for (name,) in connection.execute(_TABLES, [address.schema]).fetchall()]


def _table(connection: Any, address: Address) -> str:
    """Return the quoted name of the table, which must exist."""
    present = _present(connection, address)
    if address.table is None and len(present) != 1:
        raise ArgumentError(f"{address.place}: name the table with ?table=NAME; there are: {listed(present) or 'none'}.")
    table = present[0] if address.table is None else address.table
    if table not in present:
        raise EngineError.no_table(address.place, present)
    return _name(address.schema, table)


def _name(schema: str | None, table: str) -> str:
    return quoted(table) if schema is None else f"{quoted(schema)}.{quoted(table)}"


class _Held:
    """Temporary tables that a connection holds until they are dropped."""

    row_number = "row_number() OVER ()"
    keyed_hash = "sha256(o.k || q.n::UBIGINT::BIT::BLOB)"

    def __init__(self, connection: Any, table: str, kinds: Mapping[str, str], what: EngineRecoding) -> None:
        self.own, self._connection, self._kinds = own_word(), connection, kinds
        self._names: list[str] = []
        keys = [_without_nan(column.name, kinds[column.name]) for column in what.changed]
        whole = [_without_nan(name, kinds[name]) for name in what.complete]
        plain = [_in_one_form(name, kinds[name]) for name in what.names]
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
        answer = _said(self._connection.sql(f'SELECT v AS "0" FROM {name} ORDER BY id')).pl()  # noqa: S608 - our own name
        return named(answer, [column], numeric=_numeric([column], self._kinds)).to_series()

    def drop(self) -> None:
        """Drop the tables."""
        for name in self._names:
            self._connection.execute(f"DROP TABLE {name}")


def _collected(relation: Any, columns: Sequence[str], place: str) -> pl.DataFrame:
    kinds = _kinds(relation)
    with _failure_reported(place):
        answer = _said(relation.project(selection([_expression(name, kinds[name]) for name in columns]))).pl()
    return named(answer, columns, numeric=_numeric(columns, kinds))


def _batches(relation: Any, columns: Sequence[str], place: str) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    kinds = _kinds(relation)
    with _failure_reported(place):
        query = _said(relation.project(selection([_expression(name, kinds[name]) for name in columns])))
        with pa.RecordBatchReader.from_stream(query) as answer:  # otherwise a stored exception would keep the file open
            yield from batches_of(answer, columns)


def _tallied(relation: Any, columns: Sequence[str], place: str) -> Tally:
    kinds = _kinds(relation)
    for name in columns:
        if kinds[name] in _UNCOUNTABLE:
            raise UnsupportedDataError.uncountable(name, kinds[name])
    keys = [_expression(name, kinds[name]) for name in columns]
    with _failure_reported(place):
        answer = _said(relation.aggregate(f'{selection(keys)}, count(*) AS "n"', ", ".join(keys))).pl()
    return tally_of(answer, columns, numeric=_numeric(columns, kinds))


def _numbered(relation: Any, columns: Sequence[str], owners: Collection[str]) -> Any:
    """Return some columns of a relation, with numbers for the values of columns that identify somebody; nulls stay nulls."""
    kinds = _kinds(relation)
    shown = [f"{rank(_without_nan(name, kinds[name]))} AS {quoted(name)}" if name in owners else quoted(name) for name in columns]
    return relation.project(", ".join(shown))


def _said(query: Any) -> Any:
    """Return the relation, after logging its statement."""
    if STATEMENTS.isEnabledFor(logging.DEBUG):
        STATEMENTS.debug("%s", query.sql_query())
    return query


def _aggregated(relation: Any, columns: Sequence[str], aggregates: Aggregates, place: str) -> tuple[Tally, pl.DataFrame]:
    kinds = _kinds(relation)
    keys = [_expression(name, kinds[name]) for name in columns]
    sums = aggregates(lambda name: _without_nan(name, kinds[name]), quoted_text)
    with _failure_reported(place):
        answer = _said(relation.aggregate(f"{selection([*keys, 'count(*)', *sums])}", ", ".join(keys))).pl()
    width = len(columns) + 1
    tally = tally_of(answer[:, :width], columns, numeric=_numeric(columns, kinds))
    return tally, answer[:, width:]


def _answered(
    relation: Any, columns: Sequence[str], what: Contribution, query: Callable[[str], str], place: str
) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
    kinds = _kinds(relation)
    for name in (*columns, *(one for one in (what.holding, what.request) if one is not None)):
        if kinds[name] in _UNCOUNTABLE:
            raise UnsupportedDataError.uncountable(name, kinds[name])
    keys = [f"{_expression(name, kinds[name])} AS {letter}{at}" for letter in "sg" for at, name in enumerate(columns)]
    word = "''" if what.request is None else f"lower(CAST({quoted(what.request)} AS VARCHAR))"
    holding = "''" if what.holding is None else _without_nan(what.holding, kinds[what.holding])
    numbers = [f"{_number(what.value, kinds)} AS v", f"{_number(what.weights, kinds)} AS w"]
    missing = [
        f"CASE WHEN {_without_nan(name, kinds[name])} IS NULL THEN 1 ELSE 0 END AS z{at}"
        for at, name in enumerate(what.nullable(columns))
    ]
    listed = ", ".join([*keys, *numbers, f"{word} AS f", f"{holding} AS h", *missing])
    records = f"(SELECT {listed} FROM unveil_records)"  # noqa: S608 - quoted
    with _failure_reported(place):
        answer = _said(relation.query("unveil_records", query(records))).pl()
    return answer, _numeric(columns, kinds)


def _numeric(columns: Sequence[str], kinds: Mapping[str, str]) -> dict[str, int | None]:
    """Return the columns whose numbers are fetched as text."""
    return {name: None for name in columns if kinds[name] in _LONG}


def _number(name: str | None, kinds: Mapping[str, str]) -> str:
    """Return the expression for a column as finite floating-point numbers; without a column, 1."""
    if name is None:
        return "1::DOUBLE"
    if kinds[name] not in (*_NUMBERS, "hugeint", "uhugeint"):
        raise UnsupportedDataError.no_number(name, kinds[name])
    return f"CASE WHEN isfinite({quoted(name)}::DOUBLE) THEN {quoted(name)}::DOUBLE END"


def _numbers(kinds: Mapping[str, str]) -> dict[str, bool]:
    return {name: kind.endswith(("int", "integer")) for name, kind in kinds.items() if kind in _NUMBERS}


def _kinds(relation: Any) -> dict[str, str]:
    return {name: kind.id for name, kind in zip(relation.columns, relation.types, strict=True)}


def _expression(name: str, kind: str) -> str:
    """Return the expression to select a column: exact texts, whatever their collation, and unusual types as text."""
    if kind == "varchar":
        return f'{quoted(name)} COLLATE "C"'
    return f"CAST({quoted(name)} AS VARCHAR)" if kind in _AS_TEXT else quoted(name)


def _without_nan(name: str, kind: str) -> str:
    """Return the expression to count a column, in which a NaN is a null."""
    return f"CASE WHEN isnan({quoted(name)}) THEN NULL ELSE {quoted(name)} END" if kind in _FLOATS else _expression(name, kind)


def _in_one_form(name: str, kind: str) -> str:
    """Return the expression to release a column, with one form per counted value: no NaN besides nulls, no -0.0 besides 0.0."""
    return f"{_without_nan(name, kind)} + 0" if kind in _FLOATS else quoted(name)


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn DuckDB's message, which may quote values, into one line that does not."""
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
