"""How the records that must leave a stream are generalised: by clusters, or a whole window at once.

A method is given the records that wait, in the order in which they came, and which of them must leave now. It says which leave,
with what labels and at what loss, and which are suppressed. Records that may still wait can leave with others that must.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from unveil.errors import ModelNotMetError, UnveilError
from unveil.measures.equivalence import SUPPRESSED
from unveil.partitions import Hierarchy
from unveil.partitions.builders import Builder, Dates, Intervals, Redaction
from unveil.stream.coordinates import Coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Clustering", "Published", "PublishingMethod", "Tumbling", "Waiters"]

_BOXES = 50
"""Boxes that records are put into before those that must leave do."""
_RECENT = 100
"""Groups released last, whose mean loss is what a box may lose before another begins."""
_MOST_KEPT = 500
"""Boxes kept for records that come alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Waiters:
    """Records that wait: the key attributes, who they are of, their sensitive values, and whether they must leave now."""

    frame: pl.DataFrame
    persons: NDArray[np.int64]
    secrets: NDArray[np.int64]
    due: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What leaves.

    Attributes
    ----------
    rows, labels, loss
        Which records leave with labels, the labels of the key attributes, and the loss of each record.
    suppressed
        Which records leave without being released.
    alone
        Which of `rows` have the label of an earlier group, not of one that leaves with them.
    """

    rows: NDArray[np.int64]
    labels: pl.DataFrame
    loss: NDArray[np.float64]
    suppressed: NDArray[np.int64]
    alone: NDArray[np.bool_]


class PublishingMethod(Protocol):
    """How records are generalised."""

    whole: bool

    def publish(self, waiters: Waiters) -> Published:
        """Say what leaves."""


@dataclass
class Clustering:
    """Clusters after CASTLE (Cao, Carminati, Ferrari and Tan 2011), halved before they leave.

    Parameters
    ----------
    coordinates
        The key attributes.
    k, diverse
        How many persons, and how many values of each sensitive attribute, every group must have.
    reuse
        Whether a record whose cluster is too small may leave alone with the label of an earlier group that covers it.
    """

    coordinates: Coordinates
    k: int
    diverse: int = 1
    reuse: bool = False
    whole: bool = False
    _recent: list[float] = field(default_factory=list)
    _boxes: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list)

    def publish(self, waiters: Waiters) -> Published:
        """Cluster all that wait; let the clusters leave that hold records which must, enlarged until they protect."""
        from unveil.stream.cluster_kernels import put_into_boxes

        x = self.coordinates.places(waiters.frame)
        finite = np.where(np.isfinite(x), x, -1.0)
        span, flat = self.coordinates.span, self.coordinates.flat
        low, high = np.zeros((_BOXES, x.shape[1])), np.zeros((_BOXES, x.shape[1]))
        of_record = np.zeros(len(x), dtype=np.int64)
        tau = float(np.mean(self._recent)) if self._recent else 0.0
        boxes = put_into_boxes(finite, span, flat, tau, _BOXES, low, high, of_record)
        leaving, alone, suppressed = self._leaving(waiters, finite, of_record, boxes, span)
        return self._labelled(waiters, x, finite, leaving, alone, suppressed)

    def _leaving(
        self, waiters: Waiters, x: NDArray[np.float64], of_record: NDArray[np.int64], boxes: int, span: NDArray[np.float64]
    ) -> tuple[list[NDArray[np.int64]], dict[int, int], list[int]]:
        """Return the groups that leave, the records that leave alone with the box that covers each, and those suppressed."""
        members = {box: np.flatnonzero(of_record == box) for box in range(boxes)}
        near = _Nearness(x, members, span)
        groups: list[NDArray[np.int64]] = []
        alone: dict[int, int] = {}
        suppressed: list[int] = []
        while (box := self._next(members, waiters.due)) is not None:
            rows = members.pop(box)
            if self.reuse and not self._protect(waiters, rows):
                rows = self._without_covered(rows, x, waiters.due, alone)
                if not waiters.due[rows].any():
                    if len(rows):
                        members[box] = rows
                    continue
            while not self._protect(waiters, rows) and members:
                rows = np.sort(np.concatenate([rows, members.pop(near.nearest(rows, members))]))
            due = rows[waiters.due[rows]]
            if self._protect(waiters, rows):
                groups.append(rows)
            elif groups:  # what is left over leaves with the group that is nearest
                at = _Nearness(x, dict(enumerate(groups)), span).nearest(due, range(len(groups)))
                groups[at] = np.sort(np.concatenate([groups[at], due]))
            else:  # all that wait together are too few: those that must leave are not released
                suppressed += due.tolist()
        return groups, alone, suppressed

    def _without_covered(
        self, rows: NDArray[np.int64], x: NDArray[np.float64], due: NDArray[np.bool_], alone: dict[int, int]
    ) -> NDArray[np.int64]:
        """Let records that must leave do so alone, where an earlier box covers them, and return the others."""
        covered = {int(row): at for row in rows[due[rows]] if (at := self._covering(x[row])) is not None}
        alone |= covered
        return np.array([row for row in rows.tolist() if row not in covered], dtype=np.int64)

    @staticmethod
    def _next(members: Mapping[int, NDArray[np.int64]], due: NDArray[np.bool_]) -> int | None:
        """Return a box that holds a record which must leave: the one with the oldest."""
        return min((box for box, rows in members.items() if due[rows].any()), key=lambda box: int(members[box][0]), default=None)

    def _protect(self, waiters: Waiters, rows: NDArray[np.int64]) -> bool:
        if len(rows) < self.k or len(np.unique(waiters.persons[rows])) < self.k:
            return False
        return all(len(np.unique(secret[rows])) >= self.diverse for secret in waiters.secrets)

    def _covering(self, point: NDArray[np.float64]) -> int | None:
        """Return an earlier box that covers a record."""
        for at, (low, high) in enumerate(self._boxes):
            if (low <= point).all() and (point <= high).all():
                return at
        return None

    def _labelled(
        self,
        waiters: Waiters,
        x: NDArray[np.float64],
        finite: NDArray[np.float64],
        leaving: list[NDArray[np.int64]],
        alone: Mapping[int, int],
        suppressed: list[int],
    ) -> Published:
        """Halve the groups, and label every record that leaves by the box of its group."""
        from unveil.stream.cluster_kernels import halve

        parts, of_row, number = [], [], 0
        for rows in leaving:
            group = np.zeros(len(rows), dtype=np.int64)
            found = halve(
                finite[rows], self.coordinates.span, self.coordinates.flat, waiters.persons[rows],
                np.ascontiguousarray(waiters.secrets[:, rows]), self.k, self.diverse, np.arange(len(rows)), group,
            )  # fmt: skip
            parts.append(rows)
            of_row.append(group + number)
            number += found
        kept = np.array(list(alone), dtype=np.int64)
        low, high = _boxes_of(x, parts, of_row, number)
        boxes = [self._boxes[at] for at in alone.values()]
        rows = np.concatenate([*parts, kept]) if parts or len(kept) else kept
        low_all = np.concatenate([low, np.array([box[0] for box in boxes]).reshape(-1, x.shape[1])])
        high_all = np.concatenate([high, np.array([box[1] for box in boxes]).reshape(-1, x.shape[1])])
        labels, loss = self.coordinates.labels(low_all, high_all)
        place = np.concatenate([*of_row, number + np.arange(len(kept))]).astype(np.int64) if len(rows) else rows
        self._remember(low, high, loss[:number])
        lonely = np.arange(len(rows)) >= len(rows) - len(kept)
        return Published(rows, labels[place], loss[place], np.array(suppressed, dtype=np.int64), lonely)

    def _remember(self, low: NDArray[np.float64], high: NDArray[np.float64], loss: NDArray[np.float64]) -> None:
        self._recent = [*self._recent, *loss.tolist()][-_RECENT:]
        if self.reuse:
            good = np.flatnonzero(loss <= (np.mean(self._recent) if self._recent else 0.0))
            self._boxes = [*self._boxes, *((low[at], high[at]) for at in good)][-_MOST_KEPT:]


def _boxes_of(
    x: NDArray[np.float64], parts: list[NDArray[np.int64]], of_row: list[NDArray[np.int64]], number: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest coordinates of each group."""
    low, high = np.full((number, x.shape[1]), np.inf), np.full((number, x.shape[1]), -np.inf)
    for rows, group in zip(parts, of_row, strict=True):
        np.minimum.at(low, group, x[rows])
        np.maximum.at(high, group, x[rows])
    return low, high


class _Nearness:
    """Boxes of records, and which of them would enlarge others least."""

    def __init__(self, x: NDArray[np.float64], members: Mapping[int, NDArray[np.int64]], span: NDArray[np.float64]) -> None:
        self._x, self._scale = x, np.where(span > 0, span, 1.0)
        self._low = {box: x[rows].min(axis=0) for box, rows in members.items()}
        self._high = {box: x[rows].max(axis=0) for box, rows in members.items()}

    def nearest(self, rows: NDArray[np.int64], boxes: Iterable[int]) -> int:
        """Return the box that enlarges that of some records least."""
        names = list(boxes)
        low, high = self._x[rows].min(axis=0), self._x[rows].max(axis=0)
        lows = np.minimum(low, np.stack([self._low[box] for box in names]))
        highs = np.maximum(high, np.stack([self._high[box] for box in names]))
        return names[int(np.argmin(((highs - lows) / self._scale).sum(axis=1)))]


@dataclass
class Tumbling:
    """Windows that leave whole, generalised by the optimal search; the levels of a window are kept for the next while they do.

    Parameters
    ----------
    hierarchies
        The hierarchies of the key attributes; one that has none gets one proposed from the first window.
    k, diverse
        How many persons, and how many values of each sensitive attribute, every class must have.
    suppression
        The share of a window that may be suppressed.
    """

    key: tuple[str, ...]
    hierarchies: dict[str, Hierarchy]
    k: int
    diverse: int = 1
    suppression: float = 0.05
    whole: bool = True
    levels: dict[str, tuple[int, int]] = field(default_factory=dict)
    _rules: dict[str, tuple[Builder, set[Any]]] = field(default_factory=dict)

    def publish(self, waiters: Waiters) -> Published:
        """Generalise all that wait, with the levels of the window before if these will do."""
        nothing = np.empty(0, dtype=np.int64)
        if len(np.unique(waiters.persons)) < self.k:
            empty = pl.DataFrame(schema=dict.fromkeys(self.key, pl.String))
            return Published(nothing, empty, np.empty(0), np.arange(len(waiters.persons)), np.empty(0, dtype=bool))
        self._complete(waiters.frame)
        release = self._generalised(waiters.frame)
        labels = pl.DataFrame({name: pl.Series(release.data[name]).cast(pl.String) for name in self.key})
        gone = np.all([(labels[name] == SUPPRESSED).fill_null(value=False).to_numpy() for name in self.key], axis=0)
        kept = ~gone & self._protecting(labels, waiters)
        score = float(release.score)
        rows = np.flatnonzero(kept)
        return Published(
            rows, labels.filter(kept), np.full(len(rows), score), np.flatnonzero(~kept), np.zeros(len(rows), dtype=bool)
        )

    def _complete(self, frame: pl.DataFrame) -> None:
        """Propose the hierarchies that are missing; values that are new are placed by the rule, or stand under the root."""
        from unveil.search.hierarchies import propose_hierarchy

        for name in self.key:
            values = set(frame[name].drop_nulls().unique().to_list())
            if name not in self.hierarchies:
                proposal = propose_hierarchy(frame.select(name), name)
                self.hierarchies[name] = proposal.hierarchy
                if isinstance(proposal.rule, Dates | Intervals | Redaction):  # which place a value whatever the others are
                    self._rules[name] = proposal.rule, values
            elif name in self._rules and not values <= self._rules[name][1]:
                rule, seen = self._rules[name]
                self._rules[name] = rule, seen | values
                with contextlib.suppress(UnveilError):
                    self.hierarchies[name] = rule.build(sorted(seen | values), column=name)
            self.hierarchies[name] = _covering_all(self.hierarchies[name], frame[name])

    def _generalised(self, frame: pl.DataFrame) -> Any:
        from unveil.models import KAnonymity
        from unveil.search.anonymize import anonymize

        models = [KAnonymity(self.k)]
        options: dict[str, Any] = {"hierarchies": self.hierarchies, "suppression": self.suppression, "keep_order": True}
        keys = frame.select(self.key)
        if self.levels:
            try:
                return anonymize(keys, self.key, models, levels=self.levels, **options)
            except ModelNotMetError:
                pass
        release = anonymize(keys, self.key, models, **options)
        self.levels = {name: (level, level) for name, level in release.transformation.items()}
        return release

    def _protecting(self, labels: pl.DataFrame, waiters: Waiters) -> NDArray[np.bool_]:
        """Return which records stand in a class of enough persons, with enough values of every sensitive attribute."""
        secrets = {f"\x00s{at}": secret for at, secret in enumerate(waiters.secrets)}
        table = labels.with_columns(
            pl.Series("\x00p", waiters.persons), *(pl.Series(name, codes) for name, codes in secrets.items())
        )
        enough = table.select(
            (pl.col("\x00p").n_unique().over(list(self.key)) >= self.k).alias("\x00k"),
            *((pl.col(name).n_unique().over(list(self.key)) >= self.diverse) for name in secrets),
        )
        return np.asarray(np.all([enough[name].to_numpy() for name in enough.columns], axis=0))


def _covering_all(hierarchy: Hierarchy, column: pl.Series) -> Hierarchy:
    """Return a hierarchy that knows every value: one that is new stands for itself, and under the root at every level."""
    rooted = hierarchy.with_root()
    known = set(rooted.leaves)
    root = rooted.labels[0][-1]
    height = len(rooted.labels[0])
    texts = [str(value) for value in column.drop_nulls().unique().sort().to_list()]
    new = [text for text in texts if text not in known]
    return Hierarchy(rooted.column, [*rooted.labels, *((text, *[root] * (height - 1)) for text in new)]) if new else rooted
