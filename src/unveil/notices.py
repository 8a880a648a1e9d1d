"""Where a program that calls this package may be told what is being waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["NOTICE"]

NOTICE: ContextVar[Callable[[str], None] | None] = ContextVar("NOTICE", default=None)
"""Called with a line for a person to read; None: nobody is told."""
