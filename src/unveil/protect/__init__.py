"""Protection of a table: the best generalisation wherever its records are, a front of generalisations, or a chain of steps.

The room can also be called as a function: `unveil.protect(data, steps)` is `unveil.protect.chain.protect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import call_as, lazily

call_as(__name__, "chain", "protect")

if TYPE_CHECKING:
    from unveil.protect.chain import protect, run_steps
    from unveil.protect.front import anonymize_front
    from unveil.protect.front_result import Front
    from unveil.protect.steps import fitting_step, mechanism_names, planned_steps, run_step, step_function
else:
    __getattr__ = lazily(
        __name__,
        {
            "chain": ("protect", "run_steps"),
            "front": ("anonymize_front",),
            "front_result": ("Front",),
            "steps": ("fitting_step", "mechanism_names", "planned_steps", "run_step", "step_function"),
        },
    )
