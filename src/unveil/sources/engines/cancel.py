"""Cancellation of queries that run in an engine.

A query runs in a thread of its own, while the calling thread watches the active run and listens for Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from unveil.errors import CancelledError
from unveil.run import active_run

__all__ = ["cancellable"]

_Answer = TypeVar("_Answer")
_MOMENT = 0.1
"""Seconds between two looks at the run, and until a query is cancelled again: it may not have begun the first time."""


def cancellable(query: Callable[[], _Answer], cancel: Callable[[], object]) -> _Answer:
    """Return what a query returns; if the run is cancelled, or on Ctrl-C, cancel the query and wait until it has ended.

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
