"""Projects of ARX: what a .deid file says of data, roles, hierarchies and requirements, in the words of this software."""

from __future__ import annotations

from unveil.project.arx.archive import ArxArchive, ArxColumn, read_archive
from unveil.project.arx.words import Translated, translated

__all__ = ["ArxArchive", "ArxColumn", "Translated", "read_archive", "translated"]
