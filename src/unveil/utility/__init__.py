"""The uses that a release still allows: the needs it serves, the information it lost, and the tasks that can be learnt from it.

The room can also be called as a function: `unveil.utility(release, need)` is `unveil.utility.needs.utility`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import call_as, lazily

call_as(__name__, "needs", "utility")

if TYPE_CHECKING:
    from unveil.utility.encoding import check_draw
    from unveil.utility.loss import Loss
    from unveil.utility.needs import Served, Utility, utility
    from unveil.utility.propensity import Propensity, pmse
    from unveil.utility.tasks import Task, Tasks
else:
    __getattr__ = lazily(
        __name__,
        {
            "encoding": ("check_draw",),
            "loss": ("Loss",),
            "needs": ("Served", "Utility", "utility"),
            "propensity": ("Propensity", "pmse"),
            "tasks": ("Task", "Tasks"),
        },
    )
