"""Files of ARX: projects (.deid) with data, roles, hierarchies and models, and .ahs files with the rule of a hierarchy."""

from __future__ import annotations

from unveil.project.arx.archive import ArxArchive, ArxColumn, read_archive
from unveil.project.arx.rule_file import arx_rule
from unveil.project.arx.rules import ArxRule
from unveil.project.arx.words import Translated, translated

__all__ = ["ArxArchive", "ArxColumn", "ArxRule", "Translated", "arx_rule", "read_archive", "translated"]
