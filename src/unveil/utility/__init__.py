"""The uses that a release still allows: the needs it serves, the information it lost, and the tasks that can be learnt from it.

The room can also be called as a function: `unveil.utility(release, need)` is `unveil.utility.needs.utility`.
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
"""Modules of this room that other rooms may import from; all others are private to it."""
