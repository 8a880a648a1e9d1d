"""What a release is still good for: the needs it serves, what it lost, and the tasks it allows.

The room can be called as a function too: `unveil.utility(release, need)` is `unveil.utility.needs.utility`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from unveil.utility.needs import utility

        return utility(*args, **options)

    def __reduce__(self) -> tuple[Any, ...]:  # for a call in a process of its own
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallableRoom

OPEN_MODULES = (
    "encoding",
    "loss",
    "needs",
    "propensity",
    "task",
    "tasks",
)
"""Modules of this room that others may import from; the rest is its own."""
