"""The hierarchies of a table's dimensions, given as such, by their files, or as lists of levels and codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.errors import TableError, listed
from unveil.partitions import Hierarchy
from unveil.tables.classification import of_levels
from unveil.tables.files.hierarchies import read_hierarchy

__all__ = ["chosen"]


def chosen(hierarchies: Mapping[str, Any], names: Sequence[str]) -> dict[str, tuple[Hierarchy, ...]]:
    """Return the hierarchies of each dimension; refuse a hierarchy of any other column."""
    if strange := [name for name in hierarchies if name not in names]:
        raise TableError(f"there is a hierarchy for {listed(strange)}, but the dimensions are: {listed(names)}.")
    return {name: _several(name, one) for name, one in hierarchies.items()}


def _several(name: str, spec: Any) -> tuple[Hierarchy, ...]:
    """Return one or several hierarchies, given as such, by their file, or as a list of levels and codes."""
    if isinstance(spec, Hierarchy):
        return (spec,)
    if isinstance(spec, list | tuple) and spec and not isinstance(spec[0], list | tuple):
        return tuple(one for part in spec for one in _several(name, part))
    if isinstance(spec, list | tuple) and spec and len(spec[0]) == 2 and isinstance(spec[0][0], int):  # noqa: PLR2004 - a level, a code
        return (of_levels(name, [(int(level), str(code)) for level, code in spec]),)
    if isinstance(spec, list | tuple):
        return (Hierarchy(name, spec),)
    return (read_hierarchy(spec, name),)
