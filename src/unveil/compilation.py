"""Loops that numba compiles; the compiled code is kept for the next run if there is a place for it.

numba is loaded when a loop is first called, because loading it takes half a second, too long for small tables. If the folder
cannot be written, or the disk is full, loops are compiled again in the next run, and nothing else is lost. While a loop is
compiled, no garbage is collected, because the collector would repeatedly traverse everything that is loaded.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

__all__ = ["LOOPS", "CompiledLoop", "Pace", "compiled", "compiled_in_place", "compiled_within", "loops_at_once"]

_LOADING = threading.RLock()
LOOPS: list[CompiledLoop] = []
"""The loops of all modules imported so far."""


class CompiledLoop:
    """A loop that is compiled when it is first called; it runs without blocking other threads.

    Parameters
    ----------
    loop
        The function, in the subset of Python that numba compiles. It may call other such loops.
    within
        Whether only other loops call it; it is then compiled and kept as a part of them, and Python cannot call it.
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

    def __reduce__(self) -> tuple[Callable[[str, str], CompiledLoop], tuple[str, str]]:
        """Let another process find its own loop of this name, because compiled code is not pickled."""
        return _loop_of, (self.__module__, self.__name__)

    @property
    def is_compiled(self) -> bool:
        """Whether it was compiled for some types, by itself or with a loop that calls it."""
        called = self._ready is not None and bool(self._ready.signatures)
        return called or any(caller.is_compiled for caller in self.callers)

    @property
    def is_kept(self) -> bool:
        """Whether it was compiled, in this run or in an earlier one that kept the result."""
        return self.is_compiled or getattr(self.dispatcher()._cache, "holds_some", False)  # noqa: SLF001 - put there by `_kept`

    def dispatcher(self) -> Any:
        """Return numba's function, which then replaces this loop in its module; so are the loops that it calls replaced."""
        with _LOADING:
            if self._ready is None:
                import numba

                known = self.loop.__globals__
                for name in self.loop.__code__.co_names:
                    if isinstance(other := known.get(name), CompiledLoop):
                        other.callers.append(self)
                        known[name] = other.dispatcher()
                options = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": self.within, **self.options}
                options["pipeline_class"] = _compiler()
                loop = numba.njit(**options)(self.loop)
                self._ready = loop if self.within else _kept(loop, self.loop)
                if known.get(self.__name__) is self:
                    known[self.__name__] = self._ready
            return self._ready


def _loop_of(module: str, name: str) -> CompiledLoop:
    importlib.import_module(module)
    return next(loop for loop in LOOPS if (loop.__module__, loop.__name__) == (module, name))


_UNREADABLE = (OSError, EOFError, pickle.UnpicklingError, ImportError, AttributeError)
"""The errors of reading a file that is damaged, or that another version of numba has written in the meantime."""


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called."""
    return CompiledLoop(loop)


def compiled_in_place(loop: Callable[..., Any]) -> Any:
    """Compile a loop into the loops that call it."""
    return CompiledLoop(loop, inline="always")


def compiled_within(loop: Callable[..., Any]) -> Any:
    """Compile a loop that only other loops call, without the part by which Python would call it, to save compile time."""
    return CompiledLoop(loop, within=True)


class Pace:
    """The decision, during work, when compiled loops replace equivalent array operations.

    Parameters
    ----------
    loops
        The loops that would be called.
    loads
        Whether many steps justify loading the compiler; if not, they only justify compiling, if it is loaded anyway.

    Attributes
    ----------
    after
        The number of steps for which array operations take about as long as loading the compiler.
    """

    after: ClassVar[int] = 1 << 22

    def __init__(self, *loops: CompiledLoop, loads: bool = True) -> None:
        self._loops, self._loads, self._steps, self._kept = loops, loads, 0, False

    def pays(self, steps: int) -> bool:
        """Whether to call the loops for further steps: they are compiled already, or compiling them would have paid by now."""
        self._steps += steps
        if "numba" not in sys.modules:
            return self._loads and self._steps >= self.after
        self._kept = self._kept or all(loop.is_kept for loop in self._loops)
        return self._kept or self._steps >= self.after


@contextlib.contextmanager
def loops_at_once() -> Iterator[None]:
    """Use loops instead of array operations from the first step on, so that they are compiled."""
    after, Pace.after = Pace.after, 0
    try:
        yield
    finally:
        Pace.after = after


@cache
def _compiler() -> type[Any]:
    """Return numba's compiler, changed so that no garbage is collected while it runs."""
    from numba.core.compiler import Compiler

    class SteadyCompiler(Compiler):
        def compile_extra(self, func: Any) -> Any:
            """Compile a function."""
            with _nothing_collected():
                return super().compile_extra(func)  # type: ignore[no-untyped-call]

    return SteadyCompiler


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Turn the garbage collector off until the block ends, unless it is already off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _kept(dispatcher: Any, loop: Callable[..., Any]) -> Any:
    """Keep the compiled code for later runs, unless there is no folder for it."""
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _cache_of(loop)  # noqa: SLF001 - as numba's own `enable_caching` does
    return dispatcher


def _cache_of(loop: Callable[..., Any]) -> Any:
    """Return a cache that is skipped if it cannot be read or written."""
    from numba.core.caching import FunctionCache

    class ForgivingCache(FunctionCache):
        @property
        def holds_some(self) -> bool:
            """Whether the cache holds code compiled from the current version of the loop, for any types."""
            try:
                return bool(self._cache_file._load_index())  # type: ignore[no-untyped-call]  # noqa: SLF001 - no other door to it
            except _UNREADABLE:
                return False

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Return the code compiled earlier; None if none can be read."""
            try:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except _UNREADABLE:
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep the compiled code, if possible."""
            with contextlib.suppress(*_UNREADABLE):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    return ForgivingCache(loop)  # type: ignore[no-untyped-call]
