"""Hierarchies as files: ARX CSV (leaf to root), tau-Argus .hrc (deeper codes indented by a sign), and levels as in sdcTable."""

from __future__ import annotations

from pathlib import Path

from unveil.errors import HierarchyError, shown
from unveil.partitions import Hierarchy, PathLike, read_text
from unveil.tables.classification import TOTAL, of_levels

__all__ = ["read_hierarchy"]


def read_hierarchy(path: PathLike, column: str, total: str = TOTAL) -> Hierarchy:
    """Read a hierarchy in the form given by the suffix of its file: ``.hrc`` that of tau-Argus, any other that of ARX.

    If the first line begins with a sign (``@``, ``@@``), the file is read as levels of sdcTable instead.
    """
    place = Path(path)
    text = read_text(place, HierarchyError)
    if place.suffix.lower() == ".hrc":
        return _by_signs(place, text, column, total)
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.startswith("@"):
        return _by_ats(place, text, column)
    return Hierarchy.read(path, column=column)


def _by_signs(place: Path, text: str, column: str, total: str) -> Hierarchy:
    """Read codes below the total, each at a depth given by the number of signs before it."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    sign = next((line[0] for line in lines if line[0] in "@#$%&*+-. \t" and not line[0].isalnum()), "@")
    levels = [(1, total)]
    for number, line in enumerate(lines, start=1):
        code = line.lstrip(sign)
        depth = len(line) - len(code) + 2
        if depth > levels[-1][0] + 1 or not code.strip():
            raise HierarchyError(f"{place}, line {number:,}: the code is more than one level below the previous one, or missing.")
        levels.append((depth, code.strip()))
    return of_levels(column, levels)


def _by_ats(place: Path, text: str, column: str) -> Hierarchy:
    """Read levels in the form of sdcTable: signs, a separator, the code."""
    levels = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        signs = len(line) - len(line.lstrip("@"))
        code = line.lstrip("@").lstrip(";,\t ").strip()
        if not signs or not code:
            raise HierarchyError(
                f"{place}, line {number:,}: a level is written as signs ({shown('@@')}), a semicolon and the code."
            )
        levels.append((signs, code))
    return of_levels(column, levels)
