"""The connection of a source in an engine, one per query or one for all queries of a block, and cancellable queries.

A query runs in a thread of its own, while the calling thread watches the active run and listens for Ctrl-C.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, Generic, TypeVar

from unveil.errors import CancelledError
from unveil.run import active_run

__all__ = ["STATEMENTS", "Session", "cancellable"]

_Answer = TypeVar("_Answer")
_Connection = TypeVar("_Connection")
_MOMENT = 0.1
"""The seconds between checks of the run, and before a query, which may not have begun, is cancelled again."""

STATEMENTS = logging.getLogger("unveil.engines")
"""The log of every statement that is sent to an engine, at the level DEBUG.

Statements hold names of columns, and the constants of the user's query, but never values of the data; Spark's data frames
have no statements, so their queries are logged as equivalent SQL.
"""


class Session(Generic[_Connection]):
    """A provider of connections.

    Parameters
    ----------
    connect
        A function that opens a connection for the duration of a `with` block.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[_Connection]]) -> None:
        self._connect, self._lock = connect, threading.RLock()
        self._holders = 0
        self._kept: tuple[_Connection, ExitStack] | None = None

    def __reduce__(self) -> tuple[type[Session[_Connection]], tuple[Callable[[], AbstractContextManager[_Connection]]]]:
        """Pickle everything but the connection, because another process opens its own."""
        return Session, (self._connect,)

    @contextmanager
    def connection(self) -> Iterator[_Connection]:
        """Yield the connection held, or open one for this query; after a failure, a connection held is closed."""
        if not self._holders:
            with self._connect() as own:
                yield own
            return
        with self._lock:
            if self._kept is None:
                stack = ExitStack()
                self._kept = stack.enter_context(self._connect()), stack
            try:
                yield self._kept[0]
            except BaseException:
                self.close()
                raise

    @contextmanager
    def held(self, given: Any = None) -> Iterator[Any]:
        """Keep one connection for all queries of a block; yield `given`."""
        with self._lock:
            self._holders += 1
        try:
            yield given
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self.close()

    def close(self) -> None:
        """Close the connection held, if there is one; the next query opens another."""
        with self._lock:
            kept, self._kept = self._kept, None
            if kept is not None:
                kept[1].close()


def cancellable(query: Callable[[], _Answer], cancel: Callable[[], object]) -> _Answer:
    """Return the result of a query; if the run is cancelled, or on Ctrl-C, cancel the query and wait for its end.

    Drivers that handle Ctrl-C themselves sometimes miss it, or prevent a longer wait from being interrupted.
    """
    run = active_run()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(query)
        try:
            while wait([waiting], timeout=_MOMENT).not_done:
                run.check()
        except (KeyboardInterrupt, CancelledError):
            while not waiting.done():
                with suppress(Exception):  # some drivers report that nothing is running at the moment
                    cancel()
                wait([waiting], timeout=_MOMENT)
            raise
        return waiting.result()
