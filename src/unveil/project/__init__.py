"""The project file `unveil.toml`: the location of the data, and the meaning of each of its attributes.

It is read whole and checked before anything is measured. An error names the file, the line and the key.
"""

from __future__ import annotations

from unveil.project.needs import Need
from unveil.project.policy import Policy
from unveil.project.project import Project
from unveil.project.protection import Step
from unveil.project.sections import Attribute, DataSection

__all__ = ["Attribute", "DataSection", "Need", "Policy", "Project", "Step"]

OPEN_MODULES = (
    "arx",
    "gates",
    "model_words",
    "policy",
    "presets",
    "rules",
    "sections",
    "toml_text",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
