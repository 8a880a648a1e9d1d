"""Addresses of tables in engines, and the functions that open them.

``postgresql://host:port/database?table=people``, ``duckdb:///folder/file.duckdb?table=people`` or ``file.duckdb?table=people``,
``spark://host:port?table=people`` or ``spark://local?path=people.parquet``. An address may hold a password, so no message
repeats it: the `place` of an address is composed only of parts known to be harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from unveil.credentials import without_credentials
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.sources.base import Source

__all__ = ["OPENERS", "Address", "open_address", "parse_address", "register"]

_OTHER_SCHEMES = {"postgres": "postgresql"}
_FILES = (".duckdb", ".ddb")
_SERVER = re.compile(r"(?:(?:\[[0-9a-fA-F:.]+\]|local\[[0-9*]+\]|[\w.%-]*)(?::[0-9]+)?,?)*")

_PAIR = re.compile(r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=", re.IGNORECASE)
"""A setting in the other form of addresses that libpq accepts, `host=... dbname=...`."""


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a table.

    Attributes
    ----------
    engine
        The engine that holds it.
    target
        The part before the question mark, without the scheme; it may hold credentials.
    table, schema, path
        The name of the table, its schema if one is given, or, for Spark, the path of files.
    rest
        The other settings, unchanged, for the engine itself; they may hold credentials.
    """

    engine: str
    target: str = field(repr=False)
    table: str | None = None
    schema: str | None = None
    path: str | None = None
    rest: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """The address for messages, also valid as an address: without user, password and other settings."""
        holder = _file(self.target) if self.engine == "duckdb" else _harmless(self.engine, self.target, self.rest)
        named = {"schema": self.schema, "table": self.table, "path": self.path}
        settings = [f"{name}={without_credentials(_escaped(value))}" for name, value in named.items() if value is not None]
        return without_credentials(holder) + ("?" if settings else "") + "&".join(settings)

    def server(self) -> tuple[str, str, tuple[str, ...]]:
        """Return the parts that identify a database: host, port and database, or a service; not the user."""
        server, _, database = self.target.rpartition("@")[2].partition("/")
        services = tuple(setting for setting in self.rest if setting.partition("=")[0] in ("service", "host", "port", "dbname"))
        return server, unquote(database), services

    def named(self) -> str:
        """Return the name of the table to write; refuse an address without one."""
        if not self.table or self.path is not None:
            raise ArgumentError(f"{self.place}: name the table to write with ?table=NAME, and &schema=NAME if it needs one.")
        return self.table

    def uri(self) -> str:
        """Return the address for the engine's own library, without the settings that only we understand."""
        return f"{self.engine}://{self.target}{'?' if self.rest else ''}{'&'.join(self.rest)}"


OPENERS: dict[str, str | Callable[[Address, ExitStack | None], Source]] = {
    "duckdb": "duckdb.FileTable",
    "postgresql": "postgres.PostgresTable",
    "spark": "spark.open_address",
}
"""The opener for each engine, by the scheme of its addresses: a function of the address and the holder of connections, or its
module and name."""


def register(scheme: str, opener: Callable[[Address], Source]) -> None:
    """Add an engine of your own: `opener` turns addresses that begin with its scheme into sources."""
    OPENERS[scheme] = lambda address, _: opener(address)


def open_address(text: str, held: ExitStack | None = None) -> Source | None:
    """Open an address of an engine; None if the text is the path of a plain file.

    If `held` is given, a connection that is needed to look at the columns is kept until `held` is closed.
    """
    address = parse_address(text)
    if address is None:
        return None
    opener = OPENERS[address.engine]
    if isinstance(opener, str):  # imported only when needed
        module, _, function = opener.rpartition(".")
        opener = getattr(import_module(f"unveil.sources.engines.{module}"), function)
    return opener(address, held)


def parse_address(text: str) -> Address | None:
    """Read an address; None if the text is the path of a plain file."""
    before, _, query = text.partition("?")
    scheme, separator, target = before.partition("://")
    if not separator:
        _require_no_address(text)
        return _address("duckdb", before, query) if before.lower().endswith(_FILES) else None
    engine = _OTHER_SCHEMES.get(scheme.lower(), scheme.lower())
    if engine not in OPENERS:
        raise ArgumentError.not_one_of("scheme", scheme, (*OPENERS, *_OTHER_SCHEMES))
    return _address(engine, unquote(target) if engine == "duckdb" else target, query)


def _require_no_address(text: str) -> None:
    """Refuse a text meant as an address that would be taken for a file, so that messages would repeat its password."""
    mistyped = text.partition(":")[0].lower() in (*OPENERS, *_OTHER_SCHEMES) and ":" in text
    if mistyped or len(_PAIR.findall(text)) > 1:
        raise ArgumentError(
            "this is not an address that can be read; one of PostgreSQL is postgresql://host:port/database?table=NAME, one of a "
            "DuckDB file duckdb:///folder/file?table=NAME, one of Spark spark://host:port?table=NAME."
        )


def _escaped(value: str) -> str:
    """Escape characters that would end a setting or a line."""
    return "".join(letter if letter.isprintable() and letter not in "%&" else quote(letter) for letter in value)


def _file(path: str) -> str:
    return path if path.lower().endswith(_FILES) else f"duckdb://{_escaped(path)}"


def _harmless(engine: str, target: str, rest: Sequence[str]) -> str:
    """Return a server's host, port and database; none of them if they may contain an unescaped password."""
    server, _, database = target.rpartition("@")[2].partition("/")
    if any("@" in setting for setting in rest) or not _SERVER.fullmatch(server):
        return f"the {engine} server"
    return f"{engine}://{server}{'/' if database else ''}{unquote(database)}"


def _address(engine: str, target: str, query: str) -> Address:
    """Return the address, with the settings that name the table separated from those for the engine."""
    ours: dict[str, str] = {}
    rest = []
    for setting in filter(None, query.split("&")):
        name, _, value = setting.partition("=")
        if name in ("table", "schema", "path"):
            ours[name] = unquote(value)
        else:
            rest.append(setting)
    return Address(engine, target, ours.get("table"), ours.get("schema"), ours.get("path"), tuple(rest))
