"""The coverage of released labels: leaves of a hierarchy, or original values within an interval, a masked code or a set.

Leaves are ordered such that most labels cover a run of them, so that a label needs two positions for any number of leaves: a
hierarchy's leaves from its top level down, numbers by size, other values by length and text.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import summed
from unveil.errors import HierarchyError
from unveil.formats import counted
from unveil.partitions import Generalised, Hierarchy, parse_generalised, point_of, rows_of, text_form, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Places: TypeAlias = NDArray[np.int64]

__all__ = ["Covering", "covered_by_hierarchy", "covered_by_values"]

_LAST = chr(0x10FFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Covering:
    """The leaves of an attribute, and which of them its labels cover; values and labels are codes of one dictionary.

    Attributes
    ----------
    leaves, codes
        The numbers of leaves and of codes.
    leaf
        The leaf of each code that is an original value, else -1.
    numbers
        The leaves as numbers, if their distances matter; else None.
    height
        The number of levels above the leaves; None if labels have no levels.
    label, first, last
        Runs [first, last) of leaves that labels cover, by label.
    level
        The level of each run.
    """

    leaves: int
    codes: int
    leaf: Places
    numbers: Numbers | None
    height: int | None
    label: Places
    first: Places
    last: Places
    level: Places

    def summed(self, of_leaf: Numbers, otherwise: float) -> Numbers:
        """Return the sum over the leaves that each label covers; `otherwise` for a code that is not a label."""
        below = np.concatenate([[0.0], np.cumsum(of_leaf)])
        return np.where(self._named, summed(self.label, below[self.last] - below[self.first], self.codes), otherwise)

    def levels(self) -> Numbers:
        """Return the level of each label as a share of the height; 1 for a code that is not a label."""
        share = np.ones(self.codes)
        share[self.label] = self.level / max(self.height or 0, 1)
        return share

    def extents(self) -> Numbers:
        """Return the share of the domain that each label covers, 0 for a single leaf; 1 for a code that is not a label."""
        if self.numbers is None:
            covered = self.summed(np.ones(self.leaves), self.leaves)
            return np.where(covered > 1.0, covered / self.leaves, 0.0)
        if not len(self.label):
            return np.ones(self.codes)
        low, high = np.full(self.codes, np.inf), np.full(self.codes, -np.inf)
        runs = np.column_stack([self.first, self.last]).ravel()
        padded = np.append(self.numbers, 0.0)  # so that a run may end after the last leaf
        np.minimum.at(low, self.label, np.minimum.reduceat(padded, runs)[::2])
        np.maximum.at(high, self.label, np.maximum.reduceat(padded, runs)[::2])
        domain = float(np.ptp(self.numbers)) or 1.0
        if not math.isfinite(domain):  # a label of finite width covers nothing of it
            narrow = (low == high) | (np.isfinite(low) & np.isfinite(high))
            return np.where(self._named & narrow, 0.0, 1.0)
        width = np.subtract(high, low, out=np.ones(self.codes), where=self._named)
        return np.where(self._named, width / domain, 1.0)

    def holds(self, value: NDArray[Any], label: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, for each pair of a value and a label, whether the label covers the value."""
        leaf, held = self.leaf[value], np.zeros(len(label), dtype=bool)
        start, end = np.searchsorted(self.label, label, side="left"), np.searchsorted(self.label, label, side="right")
        for at in range(int((end - start).max(initial=0))):
            pairs = np.flatnonzero(start + at < end)
            run = start[pairs] + at
            held[pairs] |= (self.first[run] <= leaf[pairs]) & (leaf[pairs] < self.last[run])
        return held

    @property
    def _named(self) -> NDArray[np.bool_]:
        return np.bincount(self.label, minlength=self.codes) > 0


def covered_by_values(values: Sequence[Any], present: NDArray[Any], labels: NDArray[Any]) -> Covering:
    """Read labels as original values, or as intervals, masked codes or sets of them.

    Parameters
    ----------
    values
        The dictionary.
    present, labels
        The codes of the original's values and of the released labels.

    Raises
    ------
    HierarchyError
        If a label covers nothing.
    """
    own = [values[code] for code in present.tolist()]
    points = np.array([np.nan if (point := point_of(value)) is None else point for value in own])
    numbers = points if own and not np.isnan(points).any() else None
    texts = [(len(text), text) for text in map(text_form, own)]
    order = np.argsort(numbers, kind="stable") if numbers is not None else sorted(range(len(own)), key=texts.__getitem__)
    domain = _Values([texts[at] for at in order], None if numbers is None else numbers[order])
    leaf = np.full(len(values), -1, dtype=np.int64)
    leaf[present[order]] = np.arange(len(own))
    plain = {code: [(int(leaf[code]), int(leaf[code]) + 1)] for code in labels.tolist() if leaf[code] >= 0}
    runs = plain | {code: domain.runs(values[code]) for code in labels.tolist() if code not in plain}
    _refuse_lost(runs, "original value; name a hierarchy")
    height = 1 if len(plain) == len(runs) else None
    return _covering(leaf, domain.numbers, len(own), height, runs, dict.fromkeys(runs, 0))


def covered_by_hierarchy(
    values: Sequence[Any],
    present: NDArray[Any],
    labels: NDArray[Any],
    hierarchy: Hierarchy,
    pairs: tuple[NDArray[Any], NDArray[Any]],
) -> Covering:
    """Find labels among the nodes of a hierarchy.

    If one level explains the labels of all records, they belong to that level (the lowest such level); otherwise each belongs
    to the lowest level that contains it.

    Parameters
    ----------
    values, present, labels
        The dictionary, and the codes of the original's values and of the released labels.
    hierarchy
        The hierarchy.
    pairs
        The codes of values and labels that occur together.

    Raises
    ------
    HierarchyError
        If a value is not a leaf, or a label is not a node.
    """
    paths = sorted(hierarchy.labels, key=lambda row: row[::-1])
    ordered = Hierarchy(hierarchy.column, paths)
    leaf = np.full(len(values), -1, dtype=np.int64)
    leaf[present] = rows_of(ordered, [values[code] for code in present.tolist()])
    nodes = [_runs_of([row[number] for row in paths]) for number in range(ordered.height + 1)]
    names = {code: paths[leaf[code]][0] if leaf[code] >= 0 else _name(values[code], nodes) for code in labels.tolist()}
    levels_of = {code: [level for level, some in enumerate(nodes) if name in some] for code, name in names.items()}
    _refuse_lost(levels_of, "leaf of its hierarchy")
    points = np.array([np.nan if (point := point_of(row[0])) is None else point for row in paths])
    numbers = None if np.isnan(points).any() else points
    common = set(range(ordered.height + 1)).intersection(*levels_of.values())
    for choice in (
        *(dict.fromkeys(levels_of, level) for level in sorted(common)),
        {code: some[0] for code, some in levels_of.items()},
    ):
        runs = {code: [nodes[level][names[code]]] for code, level in choice.items()}
        covering = _covering(leaf, numbers, len(paths), ordered.height, runs, choice)
        if covering.holds(*pairs).all():
            break
    return covering


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The original's values as leaves: their lengths and texts, and their numbers if all have one, in order."""

    texts: Sequence[tuple[int, str]]
    numbers: Numbers | None

    def runs(self, label: Any) -> list[tuple[int, int]]:
        """Return the runs of leaves that a label covers, none of them empty."""
        covered = parse_generalised(label)
        if covered is None:
            covered = Generalised(values=frozenset([text_form(label)]))
        if self.numbers is not None and covered.low is not None and covered.high is not None:
            first = int(np.searchsorted(self.numbers, covered.low, side="left" if covered.with_low else "right"))
            last = int(np.searchsorted(self.numbers, covered.high, side="right" if covered.with_high else "left"))
            return [(first, last)] if last > first else []
        if covered.prefix is not None and covered.length is not None and self.numbers is None:
            first = bisect_left(self.texts, (covered.length, covered.prefix))
            last = bisect_right(self.texts, (covered.length, covered.prefix + _LAST))
            return [(first, last)] if last > first else []
        held = [at for at, (_, text) in enumerate(self.texts) if covered.values is not None and text in covered.values]
        return [(at, at + 1) for at in held]


def _runs_of(texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the first and last position of each text; equal texts are adjacent."""
    last = {text: at + 1 for at, text in enumerate(texts)}
    first = {text: at for at, text in reversed(list(enumerate(texts)))}
    return {text: (first[text], last[text]) for text in first}


def _name(label: Any, nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return a label's text in the hierarchy, where a number may be written as an integer."""
    text = text_of(label)
    return text if any(text in some for some in nodes) else text_form(label)


def _refuse_lost(levels: Mapping[int, Sequence[Any]], what: str) -> None:
    lost = sum(not some for some in levels.values())
    if lost:
        verb = "covers" if lost == 1 else "cover"
        raise HierarchyError(f"{counted(lost, 'released label')} {verb} no {what}.")


def _covering(
    leaf: Places,
    numbers: Numbers | None,
    leaves: int,
    height: int | None,
    runs: Mapping[int, Sequence[tuple[int, int]]],
    level: Mapping[int, int],
) -> Covering:
    rows = [(code, first, last, level[code]) for code in sorted(runs) for first, last in runs[code]]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Covering(leaves, len(leaf), leaf, numbers, height, *columns)
