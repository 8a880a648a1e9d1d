"""Protection of a table: the best generalisation wherever its records are, a front of generalisations, or a chain of steps.

The room can also be called as a function: `unveil.protect(data, steps)` is `unveil.protect.chain.protect`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from unveil.protect.chain import protect

        return protect(*args, **options)

    @property
    def __signature__(self) -> Any:
        import inspect

        from unveil.protect.chain import protect

        return inspect.signature(protect)


sys.modules[__name__].__class__ = _CallableRoom

OPEN_MODULES = (
    "anonymize",
    "chain",
    "front",
    "front_result",
    "steps",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
