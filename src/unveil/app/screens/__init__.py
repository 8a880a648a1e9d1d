"""The screens, in the order of the main path: one module each, and one line here.

A module defines `SCREEN`, a `Screen` with its page and the actions of its forms; its template is `templates/NAME.html`.
"""

from __future__ import annotations

from unveil.app.screens import (
    columns,
    drift,
    exposure,
    handover,
    meaning,
    opening,
    protect,
    questions,
    rules,
    tables,
    verdict,
    watching,
)
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
    drift.SCREEN,
    tables.SCREEN,
    questions.SCREEN,
    watching.SCREEN,
)
"""All screens; the navigation shows them in this order."""
