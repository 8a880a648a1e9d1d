"""The words that name a requirement in a project file and, with dashes, on a command line, and the form of their values.

The models, a room below, read the words: here are only the forms by which a file is checked before anything is opened. If a
model in `unveil.models` has a word of its own (`Model.word`), that is a line here; a model that is registered from outside adds
its word itself.
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
"""Every word with the form of its value, in the order in which the requirements are listed."""
