"""The connection of a source in an engine: one per question, or one for all questions of a block that holds it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Generic, TypeVar

__all__ = ["STATEMENTS", "Session"]

_Connection = TypeVar("_Connection")

STATEMENTS = logging.getLogger("unveil.engines")
"""Every statement that is sent to an engine, at the level DEBUG.

Statements hold names of columns, and the constants of a query that was asked, but never values of the data; Spark's data frames
have no statements, so what they ask is written as SQL would say it.
"""


class Session(Generic[_Connection]):
    """Hands out connections.

    Parameters
    ----------
    connect
        Opens a connection for as long as its block lasts.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[_Connection]]) -> None:
        self._connect, self._lock = connect, threading.RLock()
        self._holders = 0
        self._kept: tuple[_Connection, ExitStack] | None = None

    def __reduce__(self) -> tuple[type[Session[_Connection]], tuple[Callable[[], AbstractContextManager[_Connection]]]]:
        """Pickle all but the connection: another process opens its own."""
        return Session, (self._connect,)

    @contextmanager
    def connection(self) -> Iterator[_Connection]:
        """Give the connection that is held, or open one for this question; after a failure, a held connection is closed."""
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
    def held(self) -> Iterator[None]:
        """Keep one connection for all questions of a block."""
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self.close()

    def close(self) -> None:
        """Close the connection that is held, if there is one; the next question opens another."""
        with self._lock:
            kept, self._kept = self._kept, None
            if kept is not None:
                kept[1].close()
