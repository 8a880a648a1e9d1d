"""See what a table of personal data gives away before you publish it."""

from __future__ import annotations

__version__ = "0.1.0"
