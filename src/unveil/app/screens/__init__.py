"""The screens, in the order of the way: one module each, and one line here.

A module gives `SCREEN`, a `Screen` with its page and what its forms do; its template is `templates/NAME.html`.
"""

from __future__ import annotations

from unveil.app.screens import columns, exposure, handover, meaning, opening, protect, rules, verdict
from unveil.app.visit import Screen

__all__ = ["SCREENS"]

SCREENS: tuple[Screen, ...] = (
    opening.SCREEN,
    columns.SCREEN,
    exposure.SCREEN,
    meaning.SCREEN,
    rules.SCREEN,
    protect.SCREEN,
    verdict.SCREEN,
    handover.SCREEN,
)
"""The screens that there are; the navigation shows them in this order."""
