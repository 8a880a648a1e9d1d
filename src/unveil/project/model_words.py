"""The words that name a requirement in a project file and, with dashes, on a command line, and what may stand for each.

The models, a room below, read them: here is only what a file is checked by before anything is opened. A word of its own that a
model in `unveil.models` has (`Model.word`) is a line here; a model that is registered from outside adds its word itself.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["MODEL_WORDS", "WordKind"]

WordKind: TypeAlias = Literal["number", "text", "texts"]
"""A number; a text or a number; or one or several of these, each a requirement."""

MODEL_WORDS: dict[str, WordKind] = {
    "k": "number",
    "km": "texts",
    "p": "texts",
    "l": "texts",
    "t": "texts",
    "alpha": "texts",
    "beta": "texts",
    "delta": "texts",
    "k_map": "text",
    "presence": "text",
    "average_risk": "number",
    "uniqueness": "texts",
    "no_attack": "text",
    "profitable": "text",
}
"""Every word with what stands for it, in the order in which the requirements are listed."""
