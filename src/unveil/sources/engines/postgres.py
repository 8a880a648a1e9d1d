"""How does PostgreSQL count? One read-only transaction per question, over the address that libpq understands.

User, password, service and encryption come from the address, the environment (``PGUSER``, ``PGPASSWORD``, ``PGPASSFILE``,
``PGSERVICE`` ...) or a service file, as in every program on libpq; none of them is ever shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.errors import ArgumentError, EngineError, MissingExtraError, UnsupportedDataError
from unveil.sources.engines.answers import named, tally_of
from unveil.sources.engines.sql import quoted, selection, tally
from unveil.sources.frames import Source, Tally, text_names

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address

__all__ = ["open_table"]

_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_ONE_ORDER = ("SET LOCAL synchronize_seqscans = off", "SET LOCAL max_parallel_workers_per_gather = 0")
_COLUMNS = """
SELECT a.attname::text, coalesce(b.typname, t.typname)::text, t.typcategory::text
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_TABLES = """
SELECT c.relname::text FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_catalog.pg_table_is_visible(c.oid)
AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) ORDER BY 1
"""
_AS_IS = ("bool", "int2", "int4", "int8", "float4", "float8", "date", "timestamp", "timestamptz", "time")
_REASONS = {
    "28": "the server does not accept the user or the password; see PGUSER, PGPASSWORD and the password file",
    "3D": "the server has no such database",
    "42501": "the user may not read the table",
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
    """A column as the catalogue knows it: its name, its type or that under its domain, and the type's category."""

    name: str
    kind: str
    category: str

    @property
    def countable(self) -> bool:
        return self.category not in "AC" and self.kind != "bytea"

    @property
    def key(self) -> str:
        """What is grouped by: numbers and dates as they are, anything else as text to the letter, whatever its collation."""
        if self.kind in (*_AS_IS, "numeric") or not self.countable:
            return quoted(self.name)
        return f'{quoted(self.name)}::text COLLATE "C"'

    @property
    def shown(self) -> str:
        """What is asked for: exact decimal numbers come as text, without zeros at their end."""
        return f"trim_scale({self.key})::text" if self.kind == "numeric" else self.key


def open_table(address: Address) -> Source:
    """Open a table, a view or anything else with columns."""
    if address.table is None or address.path is not None:
        raise ArgumentError(f"{address.place}: name the table with ?table=NAME, and &schema=NAME where it needs one.")
    name = ".".join(quoted(part) for part in (address.schema, address.table) if part is not None)
    with _transaction(address) as cursor:
        cursor.execute(_COLUMNS, (name,))
        columns = {row[0]: _Column(*row) for row in cursor.fetchall()}
        if not columns:
            cursor.execute(_TABLES)
            raise EngineError.no_table(address.place, [row[0] for row in cursor.fetchall()])

    def collect(wanted: Sequence[str]) -> pl.DataFrame:
        asked = [columns[column] for column in wanted]
        with _transaction(address) as cursor:
            for setting in _ONE_ORDER:
                cursor.execute(setting)
            cursor.execute(f"SELECT {selection([column.shown for column in asked])} FROM {name}")  # noqa: S608 - quoted
            answer = pl.DataFrame(cursor.fetch_arrow_table())
        return named(answer, wanted, numeric=_numeric(asked))

    def count(wanted: Sequence[str]) -> Tally:
        asked = [columns[column] for column in wanted]
        for column in asked:
            if not column.countable:
                raise UnsupportedDataError.uncountable(column.name, column.kind.removeprefix("_"))
        with _transaction(address) as cursor:
            cursor.execute(tally(name, [column.shown for column in asked], [column.key for column in asked]))
            answer = pl.DataFrame(cursor.fetch_arrow_table())  # through pyarrow, which keeps the SQLSTATE of a failure
        return tally_of(answer, wanted, numeric=_numeric(asked))

    return Source(address.place, text_names(list(columns), address.place), collect, count)


def _numeric(columns: Sequence[_Column]) -> list[str]:
    return [column.name for column in columns if column.kind == "numeric"]


@contextmanager
def _transaction(address: Address) -> Iterator[Any]:
    """Connect, read in one transaction that can change nothing, and go."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError.needed("reading from PostgreSQL", extra="postgres") from None
    try:
        connection = dbapi.connect(address.uri())
    except dbapi.Error as error:
        raise _refused(address.place, str(error)) from None
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(_READ_ONLY)
            yield cursor
    except dbapi.Error as error:
        raise _failed(address.place, error.sqlstate or "") from None


def _refused(place: str, said: str) -> EngineError:
    """Say why there is no connection, in our words: libpq's may name the user."""
    reason = next((reason for word, reason in _CONNECTING.items() if word in said), "the connection could not be made")
    return EngineError(f"{place}: {reason}.")


def _failed(place: str, state: str) -> EngineError:
    """Say why a query failed, by its SQLSTATE: the server's own words may quote values."""
    if state == "57014":
        return EngineError.cancelled(place)
    reason = next((reason for start, reason in _REASONS.items() if state.startswith(start)), None)
    return (
        EngineError.failed(place, "PostgreSQL", f"SQLSTATE {state or 'unknown'}")
        if reason is None
        else EngineError(f"{place}: {reason}.")
    )
