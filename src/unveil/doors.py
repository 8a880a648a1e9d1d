"""Front doors: a room's `__init__` has every name that other rooms may take, and loads its module at the first use."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazily(room: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room whose names are in modules of it, given by the names that each module holds.

    What the room shows of itself (`dir`) is what it offers users, its `__all__`, or else every name.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    module = sys.modules[room]

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(f"{room}.{home_of[name]}"), name)
        setattr(module, name, value)
        return value

    vars(module).setdefault("__dir__", lambda: sorted(getattr(module, "__all__", home_of)))
    return load


def call_as(room: str, home: str, name: str) -> None:
    """Let a room be called as a function that one of its modules holds: `unveil.assess(data)`."""

    def function() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"{room}.{home}"), name)
        return found

    class CallableRoom(ModuleType):
        def __call__(self, *args: Any, **options: Any) -> Any:
            return function()(*args, **options)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(function())

        def __reduce__(self) -> tuple[Any, ...]:  # for a call in a process of its own
            return import_module, (room,)

    sys.modules[room].__class__ = CallableRoom
