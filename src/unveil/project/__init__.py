"""The project file `unveil.toml`: the location of the data, and the meaning of each of its attributes.

It is read whole and checked before anything is measured. An error names the file, the line and the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
from unveil.project.needs import Need
from unveil.project.policy import Policy
from unveil.project.project import Project
from unveil.project.protection import Step
from unveil.project.sections import Attribute, DataSection

__all__ = ["Attribute", "DataSection", "Need", "Policy", "Project", "Step"]

if TYPE_CHECKING:
    from unveil.project.arx import ArxArchive, ArxColumn, arx_rule, read_archive, translated
    from unveil.project.gates import GateColumn, GateSection
    from unveil.project.model_words import MODEL_WORDS
    from unveil.project.presets import PRESETS, Preset
    from unveil.project.rules import KEYLESS, RULES, Form, Rule, RuleSet
    from unveil.project.sections import SECTIONS
    from unveil.project.toml_text import written, written_key
else:
    __getattr__ = lazily(
        __name__,
        {
            "arx": ("ArxArchive", "ArxColumn", "arx_rule", "read_archive", "translated"),
            "gates": ("GateColumn", "GateSection"),
            "model_words": ("MODEL_WORDS",),
            "presets": ("PRESETS", "Preset"),
            "rules": ("Form", "KEYLESS", "RULES", "Rule", "RuleSet"),
            "sections": ("SECTIONS",),
            "toml_text": ("written", "written_key"),
        },
    )
