"""Assessment, comparison and the policy gate, which combine the measures, attacks and mechanisms of the other rooms.

The room can also be called as a function: `unveil.assess(data)` is `unveil.assess.assessment.assess`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from unveil.assess.assessment import assess

        return assess(*args, **options)

    def __reduce__(self) -> tuple[Any, ...]:  # for a call in a process of its own
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallableRoom

OPEN_MODULES = (
    "arx_import",
    "assessment",
    "catalogue",
    "comparison",
    "composition",
    "evidence",
    "release_figures",
    "init",
    "policy.check",
    "policy.junit",
    "policy.pages",
    "policy.verdict",
    "policy.waivers",
    "proposals",
    "rates",
    "taxonomy",
    "tradeoff",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
