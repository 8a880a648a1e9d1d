"""Puts the rooms above together: assessment, comparison and the policy gate.

The room is called as a function too: `unveil.assess(data)` is `unveil.assess.assessment.assess`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from unveil.assess.assessment import assess

        return assess(*args, **options)


sys.modules[__name__].__class__ = _CallableRoom
