"""What the values of a release cover: plain values, by a hierarchy's labels and by the forms that generalised values have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil.partitions.generalised import ReadValue, read_values
from unveil.run import active_run

if TYPE_CHECKING:
    from unveil.partitions.hierarchy import Hierarchy

__all__ = ["covered_values", "labels_of"]


def labels_of(hierarchy: Hierarchy | None) -> dict[str, set[Any]]:
    """Return for each label above the values what it covers: texts, and the numbers that they read as."""
    covered: dict[str, set[Any]] = {}
    paths = () if hierarchy is None else hierarchy.labels
    for leaf, labels in zip(read_values(path[0] for path in paths), (path[1:] for path in paths), strict=True):
        for label in labels:
            covered.setdefault(label, set()).update(leaf.forms)
    return covered


def covered_values(
    cells: Sequence[ReadValue], values: Sequence[ReadValue], labels: Mapping[str, set[Any]]
) -> dict[int, list[bool]]:
    """Return for each released cell that covers more than itself, by its place, which of some plain values it covers."""
    run = active_run()
    covered = {}
    for place, cell in enumerate(cells):
        run.check()
        within = _covered(cell, values, labels)
        if within is not None:
            covered[place] = within
    return covered


def _covered(cell: ReadValue, values: Sequence[ReadValue], labels: Mapping[str, set[Any]]) -> list[bool] | None:
    """Return which values lie in what a released one covers; None for one that is a value itself."""
    if cell.value is None:
        return [value.value is not None for value in values]
    named = None if cell.suppressed else labels.get(cell.text)
    if named is not None:
        return [value.value is not None and not value.forms.isdisjoint(named) for value in values]
    generalised = cell.generalised
    return None if generalised is None else generalised.covering(values)
