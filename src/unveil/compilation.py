"""Loops that numba compiles; the compiled code is kept for the next run if there is a place to keep it.

numba is loaded when a loop is first called: it takes half a second that a small table need not pay. A folder that cannot be
written, or a full disk, costs the time of compiling again, and nothing else.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["LOOPS", "CompiledLoop", "Pace", "compiled", "compiled_in_place", "compiled_within"]

_LOADED_AFTER = 1 << 22
"""The steps for which array operations take about as long as loading the compiler."""


_LOADING = threading.RLock()
LOOPS: list[CompiledLoop] = []
"""The loops of all modules imported so far."""


class CompiledLoop:
    """A loop that is compiled when it is first called; it runs without holding up other threads.

    Parameters
    ----------
    loop
        The function, in the part of Python that numba compiles. It may call other such loops.
    within
        Whether only other loops call it: it is then compiled and kept as a part of them, and Python cannot call it.
    options
        The options for numba.
    """

    def __init__(self, loop: Callable[..., Any], *, within: bool = False, **options: Any) -> None:
        self.loop, self.within, self.options = loop, within, options
        self.__name__, self.__doc__, self.__module__, self.__wrapped__ = loop.__name__, loop.__doc__, loop.__module__, loop
        self._ready: Any = None
        self.callers: list[CompiledLoop] = []
        LOOPS.append(self)

    def __call__(self, *args: Any) -> Any:
        """Run the loop."""
        if self.within:
            raise TypeError(f"{self.__name__} is called by other compiled loops only")
        return (self._ready or self.dispatcher())(*args)

    @property
    def is_compiled(self) -> bool:
        """Whether it was compiled for some types, by itself or with a loop that calls it."""
        called = self._ready is not None and bool(self._ready.signatures)
        return called or any(caller.is_compiled for caller in self.callers)

    def dispatcher(self) -> Any:
        """Return numba's function, which takes the place of this one in its module; so do those of the loops that it calls."""
        with _LOADING:
            if self._ready is None:
                import numba

                known = self.loop.__globals__
                for name in self.loop.__code__.co_names:
                    if isinstance(other := known.get(name), CompiledLoop):
                        other.callers.append(self)
                        known[name] = other.dispatcher()
                options = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": self.within, **self.options}
                loop = numba.njit(**options)(self.loop)
                self._ready = loop if self.within else _kept(loop, self.loop)
                if known.get(self.__name__) is self:
                    known[self.__name__] = self._ready
            return self._ready


_UNREADABLE = (OSError, EOFError, pickle.UnpicklingError, ImportError, AttributeError)
"""What reading a damaged file raises, and one that another version of numba has written in the meantime."""


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called."""
    return CompiledLoop(loop)


def compiled_in_place(loop: Callable[..., Any]) -> Any:
    """Compile a loop into those that call it."""
    return CompiledLoop(loop, inline="always")


def compiled_within(loop: Callable[..., Any]) -> Any:
    """Compile a loop that only other loops call: without what Python would need to call it, which takes time to compile."""
    return CompiledLoop(loop, within=True)


class Pace:
    """Decides between array operations and a compiled loop that does the same, as the work goes on."""

    def __init__(self) -> None:
        self._steps = 0

    def pays(self, steps: int) -> bool:
        """Whether a loop is to be called for this many steps: the compiler is loaded anyway, or it would have paid by now."""
        self._steps += steps
        return self._steps >= _LOADED_AFTER or "numba" in sys.modules


def _kept(dispatcher: Any, loop: Callable[..., Any]) -> Any:
    """Let what is compiled be kept, unless there is no folder for it."""
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _cache_of(loop)  # noqa: SLF001 - as numba's own `enable_caching` does
    return dispatcher


def _cache_of(loop: Callable[..., Any]) -> Any:
    """Return a cache that is skipped if it cannot be read or written."""
    from numba.core.caching import FunctionCache

    class ForgivingCache(FunctionCache):
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Return what was compiled before; None if nothing can be read."""
            try:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except _UNREADABLE:
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep what was compiled, if that is possible."""
            with contextlib.suppress(*_UNREADABLE):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    return ForgivingCache(loop)  # type: ignore[no-untyped-call]
