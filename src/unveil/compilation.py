"""Loops that numba compiles, and what was compiled kept for the next run where there is a place to keep it.

A folder that cannot be written, or a full disk, costs the time of compiling again, and nothing else. numba is imported with this
module.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

__all__ = ["compiled", "compiled_in_place"]


_UNREADABLE = (OSError, EOFError, pickle.UnpicklingError, ImportError, AttributeError)
"""What reading a damaged file raises, and one that another version of numba has written in the meantime."""


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called; it runs without holding up other threads."""
    return _kept(numba.njit(nogil=True)(loop), loop)


def compiled_in_place(loop: Callable[..., Any]) -> Any:
    """Compile a loop into those that call it."""
    return _kept(numba.njit(nogil=True, inline="always")(loop), loop)


def _kept(dispatcher: Any, loop: Callable[..., Any]) -> Any:
    """Let what is compiled be kept, unless there is no folder for it."""
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _ForgivingCache(loop)  # type: ignore[no-untyped-call]  # noqa: SLF001 - as numba's own `enable_caching` does
    return dispatcher


class _ForgivingCache(FunctionCache):
    """A cache that is done without where it cannot be read or written."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled before; nothing where there is nothing that can be read."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except _UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that is possible."""
        with contextlib.suppress(*_UNREADABLE):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
