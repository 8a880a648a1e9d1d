"""PostgreSQL: a table counted in a read-only transaction, at an address as libpq understands it.

Only a release is written, in a transaction of its own, so that its table is written completely or not at all.

User, password, service and encryption come from the address, the environment (``PGUSER``, ``PGPASSWORD``, ``PGPASSFILE``,
``PGSERVICE`` ...) or a service file, as in every program that uses libpq; none of them is ever shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.errors import ArgumentError, EngineError, MissingExtraError, UnsupportedDataError
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
    tally,
    tally_of,
)

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address
    from unveil.sources.engines.contributors import Contribution

__all__ = ["PostgresTable"]

_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
_BY_HASH = "SET LOCAL enable_mergejoin = off"
"""Small tables are joined with all records; sorting the records first, as the planner would, takes several times as long."""
_ONE_ORDER = ("SET LOCAL synchronize_seqscans = off", "SET LOCAL max_parallel_workers_per_gather = 0")
_COLUMNS = """
WITH RECURSIVE wanted AS (
  SELECT a.attnum AS at, a.attname::text AS name, a.atttypid AS kind, a.atttypmod AS modifier FROM pg_catalog.pg_attribute a
  WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT wanted.at, wanted.name, t.typbasetype, greatest(wanted.modifier, t.typtypmod)
  FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.kind WHERE t.typtype = 'd'
)
SELECT wanted.name, t.typname::text, t.typcategory::text, wanted.modifier
FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.kind WHERE t.typtype <> 'd' ORDER BY wanted.at
"""
"""Domains are followed to their base type; a modifier, such as the digits of an exact number, may occur at any step."""
_TABLES = """
SELECT c.relname::text FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_catalog.pg_table_is_visible(c.oid)
AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) ORDER BY 1
"""
_FLOATS = ("float4", "float8", "numeric")
_NUMBERS = ("int2", "int4", "int8", *_FLOATS)
_TYPMOD = 4
"""The number that PostgreSQL adds to digits and scale when it stores them for a column of exact numbers."""
_MOST_DIGITS = 38
_AS_IS = ("bool", "int2", "int4", "int8", "float4", "float8", "date", "timestamp", "timestamptz", "time")
_REASONS = {
    "28": "the server does not accept the user or the password; see PGUSER, PGPASSWORD and the password file",
    "3D": "the server has no such database",
    "42501": "the user may not read the table, or not make one there",
    "42P07": "there is a table of that name already; name another one, or drop it first",
    "3F": "the database has no such schema",
    "57P": "the server was shut down, or is starting",
    "53": "the server has run out of memory, disk or connections",
    "08": "the connection to the server was lost",
}
_CONNECTING = {
    "password": _REASONS["28"],
    "authentication": _REASONS["28"],
    "role": _REASONS["28"],
    "database": _REASONS["3D"],
    "refused": "nothing listens there, or it refuses the connection; look at host, port and whether the server runs",
    "translate host": "there is no host of that name",
    "service": "the service file has no such service, or there is none; see PGSERVICEFILE",
    "timeout": "the server did not answer in time",
    "invalid": "the address holds a setting that libpq does not know, or a wrong value",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the catalogue: its name, its type or the base type of its domain, the type's category and modifier."""

    name: str
    kind: str
    category: str
    modifier: int

    @property
    def countable(self) -> bool:
        return self.category not in "AC" and self.kind != "bytea"

    @property
    def key(self) -> str:
        """The expression to group by: numbers and dates as they are, anything else as exact text, whatever its collation."""
        if self.kind in (*_AS_IS, "numeric") or not self.countable:
            return quoted(self.name)
        return f'{quoted(self.name)}::text COLLATE "C"'

    @property
    def shown(self) -> str:
        """The expression to select: exact decimal numbers as text, without trailing zeros."""
        return f"trim_scale({self.key})::text" if self.kind == "numeric" else self.key

    @property
    def counted(self) -> str:
        """The expression to count, in which a NaN is a null."""
        return f"nullif({self.key}, 'NaN')" if self.kind in _FLOATS else self.key

    @property
    def released(self) -> str:
        """The expression to release, with one form per counted value: no NaN besides nulls, and no -0.0 besides 0.0."""
        if self.kind not in _FLOATS:
            return quoted(self.name)
        if self.kind != "numeric":
            return f"{self.counted} + 0::{self.kind}"
        return self.counted if self.scale is None else f"{self.counted}::{self.declared}"

    @property
    def declared(self) -> str:
        """The type of an exact number, with the digits that the table declares."""
        digits, scale = divmod(self.modifier - _TYPMOD, 1 << 16)
        return f"numeric({digits}, {scale})"

    @property
    def named(self) -> str:
        """The expression that identifies contributors; it needs a type for which max() exists, unlike truth values."""
        return f"({self.key})::text" if self.kind == "bool" else self.counted

    @property
    def scale(self) -> int | None:
        """The digits after the point that the table declares for an exact number; None if it declares none."""
        digits, scale = divmod(max(self.modifier - _TYPMOD, 0), 1 << 16)
        return scale if self.kind == "numeric" and 0 < digits <= _MOST_DIGITS and scale <= digits else None


class PostgresTable(EngineSource):
    """A table, a view or anything else with columns."""

    def __init__(self, address: Address, held: ExitStack | None = None) -> None:
        if address.table is None or address.path is not None:
            raise ArgumentError(f"{address.place}: name the table with ?table=NAME, and &schema=NAME if it needs one.")
        self._address, self._name = address, _name(address)
        self._session = Session(lambda: _transaction(address))
        if held is not None:
            held.enter_context(self._session.held())
            self.connected = False  # a block keeps the connection already
        with self._cursor() as cursor:
            self._columns = _columns(cursor, self._name)
            if not self._columns:
                cursor.execute(_TABLES)
                raise EngineError.no_table(address.place, [row[0] for row in cursor.fetchall()])
        super().__init__(address.place, text_names(list(self._columns), address.place))

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep one connection for all queries of a block."""
        return self._session.held(given)

    def rewrite(self, out: Address) -> Write:
        """Return a function that writes a release into a new table of the database."""
        if out.engine != self._address.engine or out.server() != self._address.server():
            raise ArgumentError.other_database(self.place)
        out.named()
        with self._cursor() as cursor:
            if _columns(cursor, _name(out)):
                raise EngineError.table_exists(out.place)
            if out.schema is not None and not _has_schema(cursor, out.schema):
                raise EngineError.no_schema(out.place)

        def write(what: EngineRecoding) -> tuple[EngineSource, int]:
            with _failure_reported(self.place), _transaction(self._address, writing=True) as cursor:
                records = self._rewritten(cursor, what, _name(out))
            return PostgresTable(replace(self._address, table=out.table, schema=out.schema)), records

        return write

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
        return {one.name: one.kind.startswith("int") for one in self._columns.values() if one.kind in _NUMBERS}

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        keys = [self._columns[column] for column in columns]
        sums = aggregates(lambda column: self._columns[column].counted, quoted_text)
        shown = selection([*(column.shown for column in keys), "count(*)", *sums])
        grouped = f" GROUP BY {', '.join(column.key for column in keys)}" if keys else ""
        with self._cursor() as cursor:
            cursor.execute(f"SELECT {shown} FROM {self._name}{grouped}")  # noqa: S608 - quoted
            answer, width = pl.DataFrame(cursor.fetch_arrow_table()), len(columns) + 1
        return tally_of(answer[:, :width], columns, numeric=_numeric(keys)), answer[:, width:]

    def answered(
        self, columns: Sequence[str], what: Contribution, query: Callable[[str], str]
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the result of a query on records with the columns that `engines.contributors` describes."""
        selected = [self._columns[column] for column in columns]
        holding, request = (None if one is None else self._columns[one] for one in (what.holding, what.request))
        for column in (*selected, holding, request):
            if column is not None and not column.countable:
                raise UnsupportedDataError.uncountable(column.name, column.kind)
        listed = [f"{one.shown} AS s{at}, {one.key} AS g{at}" for at, one in enumerate(selected)]
        listed += [f"{self._number(what.value)} AS v", f"{self._number(what.weights)} AS w"]
        listed.append("''::text AS f" if request is None else f"lower(({request.shown})::text) AS f")
        listed.append("''::text AS h" if holding is None else f"{holding.named} AS h")
        for at, name in enumerate(what.nullable(columns)):
            listed.append(f"CASE WHEN {self._columns[name].counted} IS NULL THEN 1 ELSE 0 END AS z{at}")
        with self._cursor() as cursor:
            cursor.execute(query(f"(SELECT {', '.join(listed)} FROM {self._name})"))  # noqa: S608 - quoted
            return pl.DataFrame(cursor.fetch_arrow_table()), _numeric(selected)

    def _number(self, name: str | None) -> str:
        """Return the expression for a column as finite floating-point numbers; without a column, 1."""
        if name is None:
            return "1::float8"
        if self._columns[name].category != "N":
            raise UnsupportedDataError.no_number(name, self._columns[name].kind)
        return f"nullif(nullif(nullif({quoted(name)}::float8, 'NaN'), 'Infinity'), '-Infinity')"

    def _rewritten(self, cursor: Any, what: EngineRecoding, target: str) -> int:
        """Write the table of a release, and return its number of records."""
        require_unchanged(self.place, (*what.names, *what.counted), self._columns, _columns(cursor, self._name))
        cursor.execute(_BY_HASH)
        tables = _Held(cursor, self._name, self._columns, what)
        cursor.execute(released(target, recode(tables, what), what.names))
        tables.drop()
        return what.check(_tallied(cursor, target, _columns(cursor, target), what.counted))

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        selected = [self._columns[column] for column in columns]
        with self._cursor() as cursor:
            _ask_records(cursor, self._name, selected)
            answer = pl.DataFrame(cursor.fetch_arrow_table())
        return named(answer, columns, numeric=_numeric(selected))

    def _count(self, columns: Sequence[str]) -> Tally:
        with self._cursor() as cursor:
            return _tallied(cursor, self._name, self._columns, columns)

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        selected = [self._columns[name] for name in columns]
        listed = (rank(one.counted) if one.name in owners else quoted(one.name) for one in selected)
        shown = ", ".join(f"{one} AS {quoted(name)}" for one, name in zip(listed, columns, strict=True))
        known = {one.name: _Column(one.name, "int8", "N", -1) if one.name in owners else one for one in selected}
        with self._cursor() as cursor:
            return _tallied(cursor, f"(SELECT {shown} FROM {self._name}) AS q", known, columns)  # noqa: S608 - quoted

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with _failure_reported(self.place), _transaction(self._address) as cursor:  # its own: another query would end it
            require_unchanged(self.place, columns, self._columns, _columns(cursor, self._name))
            _ask_records(cursor, self._name, [self._columns[column] for column in columns])
            for batch in batches_of(cursor.fetch_record_batch(), columns):
                yield _scaled(batch, self._columns)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with _failure_reported(self._address.place), self._session.connection() as cursor:
            yield cursor


def _name(address: Address) -> str:
    return ".".join(quoted(part) for part in (address.schema, address.table) if part is not None)


def _columns(cursor: Any, name: str) -> dict[str, _Column]:
    """Return the columns of a table; none if there is no such table."""
    cursor.execute(_COLUMNS, (name,))
    return {row[0]: _Column(*row) for row in cursor.fetchall()}


def _has_schema(cursor: Any, name: str) -> bool:
    cursor.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", (name,))
    return bool(cursor.fetchall())


def _ask_records(cursor: Any, name: str, selected: Sequence[_Column]) -> None:
    """Query the records, in the order of the table."""
    for setting in _ONE_ORDER:
        cursor.execute(setting)
    cursor.execute(f"SELECT {selection([column.shown for column in selected])} FROM {name}")  # noqa: S608 - quoted


def _tallied(cursor: Any, name: str, columns: Mapping[str, _Column], wanted: Sequence[str]) -> Tally:
    selected = [columns[column] for column in wanted]
    for column in selected:
        if not column.countable:
            kind = f"{column.kind.removeprefix('_')}[]" if column.category == "A" else column.kind
            raise UnsupportedDataError.uncountable(column.name, kind)
    cursor.execute(tally(name, [column.shown for column in selected], [column.key for column in selected]))
    answer = pl.DataFrame(cursor.fetch_arrow_table())  # through pyarrow, which keeps the SQLSTATE of a failure
    return tally_of(answer, wanted, numeric=_numeric(selected))


def _scaled(batch: pl.DataFrame, columns: Mapping[str, _Column]) -> pl.DataFrame:
    """Return exact numbers, which were fetched as text, as numbers if the table declares their digits after the point."""
    scales = {name: columns[name].scale for name in batch.columns}
    return pl.DataFrame(
        {
            name: batch[name] if scale is None else batch[name].set(batch[name] == "NaN", None).str.to_decimal(scale=scale)
            for name, scale in scales.items()
        }
    )


class _Held:
    """Temporary tables that a connection holds until they are dropped."""

    row_number = "row_number() OVER ()"
    keyed_hash = "sha256(o.k || int8send(q.n))"

    def __init__(self, cursor: Any, table: str, columns: Mapping[str, _Column], what: EngineRecoding) -> None:
        self.own, self._cursor, self._columns = own_word(), cursor, columns
        self._names: list[str] = []
        keys = [columns[column.name].counted for column in what.changed]
        whole = [columns[name].counted for name in what.complete]
        self.records = f"({numbered(table, k=keys, w=whole, c=[columns[name].released for name in what.names])})"

    def hold(self, name: str, query: str) -> None:
        self._cursor.execute(f"CREATE TEMP TABLE {name} AS {query}")
        self._keep(name)

    def put(self, name: str, frame: pl.DataFrame) -> None:
        self._cursor.adbc_ingest(name, frame.to_arrow(), mode="create", temporary=True)
        self._keep(name)

    def values(self, name: str, column: str) -> pl.Series:
        exact = self._columns[column].kind == "numeric"
        self._cursor.execute(f"SELECT {'trim_scale(v)::text' if exact else 'v'} FROM {name} ORDER BY id")  # noqa: S608 - our own name
        answer = pl.DataFrame(self._cursor.fetch_arrow_table())
        return named(answer, [column], numeric={column: self._columns[column].scale} if exact else {}).to_series()

    def drop(self) -> None:
        """Drop the tables."""
        for name in self._names:
            self._cursor.execute(f"DROP TABLE {name}")

    def _keep(self, name: str) -> None:
        self._names.append(name)
        self._cursor.execute(f"ANALYZE {name}")


def _numeric(columns: Sequence[_Column]) -> dict[str, int | None]:
    """Return the columns of exact numbers, which are fetched as text, with their declared digits after the point."""
    return {column.name: column.scale for column in columns if column.kind == "numeric"}


@contextmanager
def _transaction(address: Address, *, writing: bool = False) -> Iterator[Any]:
    """Connect for one read-only transaction, or one that writes and is rolled back on failure, and yield its cursor."""
    dbapi = _library()
    try:
        connection = dbapi.connect(address.uri())
    except dbapi.Error as error:
        raise _refused(address.place, str(error)) from None
    with connection, connection.cursor() as plain:
        cursor = _Cursor(plain)
        cursor.execute(_WRITING if writing else _READ_ONLY)
        yield cursor
        if writing:
            connection.commit()


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn the server's message, which may quote values, into one line that does not."""
    dbapi = _library()
    try:
        yield
    except dbapi.Error as error:
        raise _failed(place, error.sqlstate or "") from None


def _library() -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError.needed("reading from PostgreSQL", extra="postgres") from None
    return dbapi


class _Cursor:
    """A cursor whose calls are cancelled on the server if the run is cancelled, and on Ctrl-C."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        STATEMENTS.debug("%s", statement)
        cancellable(partial(self._cursor.execute, statement, *([values] if values else [])), self._cursor.adbc_cancel)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._cursor, name)
        return lambda *arguments, **options: cancellable(partial(call, *arguments, **options), self._cursor.adbc_cancel)


def _refused(place: str, message: str) -> EngineError:
    """Return the reason for a failed connection in our words, because libpq's may name the user."""
    reason = next((reason for word, reason in _CONNECTING.items() if word in message), "the connection could not be made")
    return EngineError(f"{place}: {reason}.")


def _failed(place: str, state: str) -> EngineError:
    """Return the reason for a failed query by its SQLSTATE, because the server's own words may quote values."""
    if state == "57014":
        return EngineError.cancelled(place)
    reason = next((reason for start, reason in _REASONS.items() if state.startswith(start)), None)
    return (
        EngineError.failed(place, "PostgreSQL", f"SQLSTATE {state or 'unknown'}")
        if reason is None
        else EngineError(f"{place}: {reason}.")
    )
