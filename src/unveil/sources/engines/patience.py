"""How is a query interrupted? It runs beside the main thread, which hears Ctrl-C and has the engine cancel it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["patiently"]

_Found = TypeVar("_Found")
_PATIENCE = 0.1
"""Seconds between two looks for Ctrl-C, and after which a query is cancelled again: it may not have begun when it was."""


def patiently(call: Callable[[], _Found], cancel: Callable[[], object]) -> _Found:
    """Return what a call returns, run in another thread; on Ctrl-C have it cancelled, and wait until it is.

    Drivers that look for Ctrl-C themselves do not always find it, or keep a longer wait from being interrupted.
    """
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(call)
        try:
            while wait([waiting], timeout=_PATIENCE).not_done:
                pass
        except KeyboardInterrupt:
            while not waiting.done():
                cancel()
                wait([waiting], timeout=_PATIENCE)
            raise
        return waiting.result()
