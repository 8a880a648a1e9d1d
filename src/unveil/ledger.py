"""A ledger of questions, with analysts, answers and costs; no answer is given before the ledger holds it.

It is a SQLite file in write-ahead mode, synchronous to the disk. A decision is made, written and committed in one transaction
that only one process at a time can hold; the answer is given afterwards. So a process that is killed has either written the
answer, which a repeated question receives at no cost, or has neither answered nor spent.

Every row carries an HMAC over itself and the previous row, under a key outside the ledger: somebody who can write the file but
does not have the key cannot change, insert or remove a row undetected. A truncated end, or a restored older copy of the file,
is detected by comparison with the `head`, which may be printed and kept elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unveil.errors import ArgumentError, OutputError, UnveilError, is_unicode, reason_of, shown
from unveil.randomness import fresh_key, read_key

__all__ = ["Book", "Entry", "Ledger", "LedgerError", "key_place"]

_PATIENCE = 60.0
"""The seconds that a process waits for its turn."""
_OTHER = {"policy": "another policy", "data": "other data"}
_START = b"\0" * 32
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, analyst TEXT NOT NULL, account TEXT NOT NULL, question TEXT NOT NULL,
  mark TEXT NOT NULL, decision TEXT NOT NULL, reason TEXT NOT NULL, answer TEXT NOT NULL, cost INTEGER NOT NULL,
  mac BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS marks ON entries (mark, decision);
CREATE INDEX IF NOT EXISTS costs ON entries (account, analyst, cost);
"""


class LedgerError(UnveilError, RuntimeError):
    """A ledger that cannot be used: another policy, other data, another budget, a broken chain, or not a ledger."""

    @classmethod
    def at_row(cls, ledger: object, row: int) -> LedgerError:
        """Report a row that does not follow from the previous one."""
        return cls(
            f"the ledger {shown(ledger)} was changed by something else: its chain is broken at row {row:,}. Nothing was "
            "answered; put back an intact copy, or start a new ledger."
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: one requested number.

    Attributes
    ----------
    id, at, analyst
        Its number, the time of writing, and the analyst.
    account
        The policy that made the decision, from whose budget the cost was taken.
    question
        The requested number in its canonical form.
    mark
        A keyed hash of the figure and of its set of records: equal for equal sets.
    decision, reason
        "answered", "repeated" or "refused", and the reason for a refusal.
    answer
        The answer, as JSON.
    cost
        The part of the budget that it spent, in whole units of the account.
    """

    id: int
    at: str
    analyst: str
    account: str
    question: str
    mark: str
    decision: str
    reason: str
    answer: str
    cost: int

    def content(self) -> bytes:
        """Return the content that the chain covers."""
        return json.dumps(list(asdict(self).values()), ensure_ascii=False).encode(errors="surrogatepass")


_COLUMNS = ", ".join(one.name for one in fields(Entry))


def key_place(ledger: str | os.PathLike[str]) -> Path:
    """Return the default path of the key of a ledger.

    Examples
    --------
    >>> key_place("gate.db").name
    'gate.db.key'
    """
    return Path(f"{os.fspath(ledger)}.key")


def _keep_log_ahead(connection: sqlite3.Connection) -> None:
    """Let changes be logged ahead; SQLite does not wait by itself where two processes open a new ledger at once."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


class Ledger:
    """An open ledger.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    key_file
        The file of the secret key; None: the one beside the ledger, which is created together with it.
    """

    def __init__(self, path: str | os.PathLike[str], key_file: str | os.PathLike[str] | None = None) -> None:
        if "\0" in (places := f"{path}{key_file or ''}") or not is_unicode(places):
            raise ArgumentError("the name of a ledger or of its key holds characters that no file name may have.")
        self.path = Path(path)
        self._known: tuple[int, bytes] = (0, _START)
        self._turn = threading.RLock()
        self._connections: dict[tuple[int, int], sqlite3.Connection] = {}
        with self._failure_reported():
            new = not self.path.exists()
            self.key = _key(self.path, None if key_file is None else Path(key_file), new=new)
            if new:
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            self._connection.executescript(_SCHEMA)

    def secret(self, purpose: str) -> bytes:
        """Return a secret for one purpose, derived from the key."""
        return hmac.digest(self.key, f"gate\0{purpose}".encode(), "sha512")[:32]

    def bind(self, **facts: str) -> None:
        """Write the facts to which the ledger belongs, or refuse a ledger that belongs to others."""
        with self._transaction() as connection:
            there = dict(connection.execute("SELECT name, content FROM meta").fetchall())
            facts = {name: self._sealed(name, content) for name, content in facts.items()}
            for name, content in facts.items():
                if name not in there and (there or self._rows(connection)):
                    raise LedgerError(f"{shown(self.path)} is not a ledger of this kind; name another file.")
                if name in there and not hmac.compare_digest(there[name], content):
                    raise LedgerError(
                        f"the ledger {shown(self.path)} belongs to {_OTHER[name]}: answers of both together could single people "
                        "out. Use the one it was made with, or start a new ledger under a new name."
                    )
            if not there:
                connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())

    @contextmanager
    def book(self) -> Iterator[Book]:
        """Hold the ledger exclusively: all decisions of the block are written when it ends, or none."""
        with self._transaction() as connection:
            book = Book(self, connection, self._known)
            yield book
            known = book.known
        self._known = known

    @property
    def head(self) -> str:
        """The head of the chain that this process knows; empty before the first row."""
        return self._known[1].hex() if self._known[0] else ""

    def forget(self) -> None:
        """Forget the verified rows, so that the next turn reads the ledger from its first row."""
        self._known = (0, _START)

    def history(self, analyst: str | None = None) -> list[Entry]:
        """Return the rows, of all analysts or of one; a broken chain is refused."""
        entries = self._verified()
        return [entry for entry in entries if analyst is None or entry.analyst == analyst]

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Check the whole chain and return its length and its head; a known head must be on it."""
        macs = [_START]
        for entry, mac in self._raw():
            if not hmac.compare_digest(_chained(self.key, macs[-1], entry), mac) or entry.id != len(macs):
                raise LedgerError.at_row(self.path, entry.id)
            macs.append(mac)
        if head is not None and head.strip().lower() not in {mac.hex() for mac in macs[1:]}:
            raise LedgerError(
                f"the ledger {shown(self.path)} does not hold the head that was given: rows were cut off, or it is another one."
            )
        return {"intact": True, "rows": len(macs) - 1, "head": macs[-1].hex() if macs[1:] else ""}

    def _verified(self) -> list[Entry]:
        self.verify()
        return [entry for entry, _ in self._raw()]

    def _raw(self) -> Iterator[tuple[Entry, bytes]]:
        with self._failure_reported():
            rows = self._connection.execute(f"SELECT {_COLUMNS}, mac FROM entries ORDER BY id").fetchall()  # noqa: S608 - our own
        for row in rows:
            yield Entry(*row[:-1]), bytes(row[-1])

    def _sealed(self, name: str, content: str) -> str:
        return hmac.digest(self.key, f"{name}\0{content}".encode(), "sha256").hex()

    @staticmethod
    def _rows(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])

    @property
    def _connection(self) -> sqlite3.Connection:
        """Return the connection of this process and thread: SQLite's connections do not survive a fork."""
        place = (os.getpid(), threading.get_ident())
        if place not in self._connections:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            _keep_log_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")
            self._connections = {**{at: one for at, one in self._connections.items() if at[0] == place[0]}, place: connection}
        return self._connections[place]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._failure_reported():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _failure_reported(self) -> Iterator[None]:
        """Turn an error of SQLite into a one-line message."""
        try:
            yield
        except sqlite3.OperationalError as error:
            busy = "locked" in str(error)
            reason = "another process holds it; try again" if busy else "it cannot be opened or written; check folder and disk"
            raise LedgerError(f"the ledger {shown(self.path)}: {reason}. Nothing was answered.") from None
        except sqlite3.DatabaseError:
            raise LedgerError(f"{shown(self.path)} is not a ledger, or it is damaged; name another file.") from None
        except OSError as error:
            raise OutputError(f"the ledger {shown(self.path)} cannot be created: {reason_of(error)}.") from None

    def close(self) -> None:
        """Close the file for this thread."""
        connection = self._connections.pop((os.getpid(), threading.get_ident()), None)
        if connection is not None:
            connection.close()


class Book:
    """The ledger within a transaction that reads, checks and adds rows."""

    def __init__(self, ledger: Ledger, connection: sqlite3.Connection, known: tuple[int, bytes]) -> None:
        self._ledger, self._connection, self.known = ledger, connection, known

    def news(self) -> list[Entry]:
        """Return the rows that were written since this process last read, each checked against the previous one."""
        query = f"SELECT {_COLUMNS}, mac FROM entries WHERE id > ? ORDER BY id"  # noqa: S608 - our own
        entries = []
        for row in self._connection.execute(query, (self.known[0],)).fetchall():
            entry, mac = Entry(*row[:-1]), bytes(row[-1])
            if entry.id != self.known[0] + 1 or not hmac.compare_digest(_chained(self._ledger.key, self.known[1], entry), mac):
                raise LedgerError.at_row(self._ledger.path, entry.id)
            self.known = (entry.id, mac)
            entries.append(entry)
        last = self._connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
        if last != self.known[0]:
            raise LedgerError.at_row(self._ledger.path, int(last) + 1)
        return entries

    def equal(self, mark: str) -> Entry | None:
        """Return the earlier answer to the same question about the same set; None if there is none."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE mark = ? AND decision = 'answered' LIMIT 1"  # noqa: S608 - our own
        row = self._connection.execute(query, (mark,)).fetchone()
        return None if row is None else Entry(*row)

    def spent(self, account: str, analyst: str | None = None) -> int:
        """Return the spending of one analyst, or of all analysts together, from an account."""
        query, values = "SELECT coalesce(sum(cost), 0) FROM entries WHERE account = ?", [account]
        if analyst is not None:
            query, values = f"{query} AND analyst = ?", [account, analyst]
        return int(self._connection.execute(query, values).fetchone()[0])

    def write(self, content: Mapping[str, Any]) -> Entry:
        """Add a row to the chain."""
        entry = Entry(id=self.known[0] + 1, at=datetime.now(UTC).isoformat(timespec="milliseconds"), **content)
        mac = _chained(self._ledger.key, self.known[1], entry)
        places = ", ".join("?" * (len(fields(Entry)) + 1))
        self._connection.execute(
            f"INSERT INTO entries ({_COLUMNS}, mac) VALUES ({places})",  # noqa: S608 - our own
            (*asdict(entry).values(), mac),
        )
        self.known = (entry.id, mac)
        return entry


def _chained(key: bytes, before: bytes, entry: Entry) -> bytes:
    return hmac.digest(key, before + hashlib.sha256(entry.content()).digest(), "sha256")


def _key(ledger: Path, place: Path | None, *, new: bool) -> bytes:
    """Read the key; for a new ledger, create one beside it."""
    chosen = place or key_place(ledger)
    if chosen.exists():
        return read_key(chosen)
    if not new and ledger.stat().st_size:
        raise LedgerError(f"the key of the ledger {shown(ledger)} is not at {shown(chosen)}; name its place.")
    if place is not None:
        return read_key(place)
    with _made(chosen) as file:
        file.write(fresh_key().hex().encode() + b"\n")
    return read_key(chosen)


@contextmanager
def _made(place: Path) -> Iterator[Any]:
    """Create a file that only its owner can read; if two processes try at once, one creates it and both find it complete."""
    hidden = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with os.fdopen(os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(hidden, place)
    except OSError as error:
        raise OutputError(f"the key file {shown(place)} cannot be created: {reason_of(error)}.") from None
    finally:
        with suppress(OSError):
            hidden.unlink()
