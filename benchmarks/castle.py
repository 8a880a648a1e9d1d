"""CASTLE as it was published, in plain Python: what a release of a stream is compared with.

Cao, Carminati, Ferrari, Tan (2011), CASTLE: Continuously Anonymizing Data Streams, IEEE TDSC 8(3), 337-352. A tuple joins the
cluster that it enlarges least, or begins one. When it is delta tuples old, its cluster is released: split if it is large, merged
if it is small. A tuple whose cluster is too small may be released with an earlier cluster that covers it, or is suppressed as an
outlier.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Castle"]

Tuple = tuple[float, ...]


@dataclass(eq=False)
class _Cluster:
    members: dict[int, Tuple] = field(default_factory=dict)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, at: int, values: Tuple) -> None:
        """Add a tuple."""
        if not self.low:
            self.low, self.high = list(values), list(values)
        self.low = [min(a, b) for a, b in zip(self.low, values, strict=True)]
        self.high = [max(a, b) for a, b in zip(self.high, values, strict=True)]
        self.members[at] = values


class Castle:
    """The algorithm, over numbers with known ranges; every tuple belongs to another person."""

    def __init__(self, ranges: Sequence[tuple[float, float]], k: int, delta: int, beta: int = 50, mu: int = 100) -> None:
        self._ranges, self._k, self._delta, self._beta = ranges, k, delta, beta
        self._open: list[_Cluster] = []
        self._done: list[_Cluster] = []
        self._recent: deque[float] = deque(maxlen=mu)
        self._waiting: dict[int, _Cluster] = {}
        self._random = random.Random(1)  # noqa: S311
        self.losses: list[float] = []
        self.suppressed = 0

    def loss(self, low: Sequence[float], high: Sequence[float]) -> float:
        """Return the mean width of a box, relative to the ranges."""
        widths = [(b - a) / ((end - start) or 1.0) for a, b, (start, end) in zip(low, high, self._ranges, strict=True)]
        return sum(widths) / len(widths)

    def push(self, at: int, values: Tuple) -> None:
        """Take the next tuple, and release those that are due."""
        cluster = self._best(values)
        if cluster is None:
            cluster = _Cluster()
            self._open.append(cluster)
        cluster.add(at, values)
        self._waiting[at] = cluster
        if at - self._delta in self._waiting:
            self._expire(at - self._delta)

    def finish(self) -> None:
        """Release all tuples that still wait."""
        while self._waiting:
            self._expire(next(iter(self._waiting)))

    def _enlarged(self, cluster: _Cluster, values: Sequence[float], more: Sequence[float]) -> float:
        low = [min(a, b) for a, b in zip(cluster.low, values, strict=True)]
        high = [max(a, b) for a, b in zip(cluster.high, more, strict=True)]
        return self.loss(low, high)

    def _best(self, values: Tuple) -> _Cluster | None:
        if not self._open:
            return None
        after = {id(one): self._enlarged(one, values, values) for one in self._open}
        growth = {id(one): after[id(one)] - self.loss(one.low, one.high) for one in self._open}
        least = min(growth.values())
        nearest = [one for one in self._open if growth[id(one)] == least]
        tau = sum(self._recent) / len(self._recent) if self._recent else 0.0
        good = [one for one in nearest if after[id(one)] <= tau]
        if good:
            return min(good, key=lambda one: len(one.members))
        return min(nearest, key=lambda one: len(one.members)) if len(self._open) >= self._beta else None

    def _expire(self, at: int) -> None:
        cluster = self._waiting[at]
        if len(cluster.members) >= self._k:
            self._output(cluster)
            return
        values = cluster.members[at]
        covering = [
            one for one in self._done
            if all(a <= x <= b for a, x, b in zip(one.low, values, one.high, strict=True))
        ]  # fmt: skip
        if covering:
            chosen = self._random.choice(covering)
            self.losses.append(self.loss(chosen.low, chosen.high))
            self._leave(cluster, at)
            return
        larger = sum(len(one.members) > len(cluster.members) for one in self._open)
        if larger > len(self._open) / 2 or sum(len(one.members) for one in self._open) < self._k:
            self.suppressed += 1
            self.losses.append(1.0)
            self._leave(cluster, at)
            return
        while len(cluster.members) < self._k:
            others = [one for one in self._open if one is not cluster]
            nearest = min(others, key=lambda one: max(self._enlarged(cluster, one.low, one.high), 0.0))
            for number, content in nearest.members.items():
                cluster.add(number, content)
                self._waiting[number] = cluster
            self._open.remove(nearest)
        self._output(cluster)

    def _leave(self, cluster: _Cluster, at: int) -> None:
        del self._waiting[at]
        del cluster.members[at]
        if not cluster.members:
            self._open.remove(cluster)

    def _split(self, cluster: _Cluster) -> list[_Cluster]:
        """Cut a large cluster into groups of k neighbours; what is left over joins the nearest group."""
        left = dict(cluster.members)
        groups: list[_Cluster] = []
        while len(left) >= self._k:
            seed = self._random.choice(list(left))
            centre = left[seed]
            near = sorted(left, key=lambda one: self._distance(left[one], centre))[: self._k]
            group = _Cluster()
            for one in near:
                group.add(one, left.pop(one))
            groups.append(group)
        for at, values in left.items():
            min(groups, key=lambda one: self._enlarged(one, values, values)).add(at, values)
        return groups

    def _distance(self, one: Tuple, other: Tuple) -> float:
        return sum(abs(a - b) / ((end - start) or 1.0) for a, b, (start, end) in zip(one, other, self._ranges, strict=True))

    def _output(self, cluster: _Cluster) -> None:
        groups = self._split(cluster) if len(cluster.members) >= 2 * self._k else [cluster]
        for group in groups:
            loss = self.loss(group.low, group.high)
            self.losses += [loss] * len(group.members)
            self._recent.append(loss)
            tau = sum(self._recent) / len(self._recent)
            if loss < tau:
                self._done.append(group)
                del self._done[:-200]
            for at in group.members:
                del self._waiting[at]
        self._open.remove(cluster)
