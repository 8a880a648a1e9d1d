"""MDAV over numbers by a binary tree of the records, in which each node has the box around its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RecordTree", "mdav", "sum_of", "tree_of"]

_LEAF = 8
"""The number of records in a leaf, which may hold up to twice as many."""


class RecordTree(NamedTuple):
    """Records in the leaves of a balanced tree. Node 1 is the root, and the halves of a node n are 2n and 2n + 1.

    Attributes
    ----------
    points, record, leaf
        At each place: the coordinates of its record, the number of the record, and the leaf of the place.
    place
        The place of each record.
    starts
        The first place of each leaf; as many leaves follow the other nodes.
    left, first
        The number of remaining records in each node, and the first of them.
    box
        The box around the remaining records in each node: its lower bounds, then its upper bounds negated, so that both shrink
        upwards.
    """

    points: NDArray[np.float64]
    record: NDArray[np.int64]
    leaf: NDArray[np.int64]
    place: NDArray[np.int64]
    starts: NDArray[np.int64]
    left: NDArray[np.int64]
    first: NDArray[np.int64]
    box: NDArray[np.float64]


def mdav(points: NDArray[np.float64], k: int, stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of every record, a column of `points`, as `kernels.mdav` does; meaningless once `stop` is set."""
    from unveil.mechanisms.microaggregation.tree_kernels import rounds

    records, total = np.ascontiguousarray(points.T), sum_of(points)
    tree, group, counts = tree_of(records), np.full(len(records), -1), np.array([len(records), 0])
    hits, distance, ahead = np.empty(k, np.int64), np.empty(k), np.empty(len(points))
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    while counts[0] >= 2 * k and not stop[0]:
        left, centre = np.flatnonzero(group < 0), total / counts[0]
        reach = np.sqrt(((records[left] - centre) ** 2).sum(axis=1))
        order = np.argsort(-reach, kind="stable")
        outer = left[order], reach[order], centre
        rounds(records, *tree, total, group, counts, *outer, hits, distance, stack, bounds, ahead, stop)
    group[group < 0] = counts[1]
    return group


def sum_of(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of records, which are columns, in the same order on every machine."""
    return np.asarray(np.cumsum(points, axis=1)[:, -1].copy())


def tree_of(points: NDArray[np.float64]) -> RecordTree:
    """Return the tree of some records (records x attributes): each node is halved where it is widest."""
    records, width = points.shape
    depth = max(0, int(np.log2(max(1, records // _LEAF))))
    leaves = 1 << depth
    order = np.arange(records)
    box = np.empty((2 * leaves, 2 * width))
    left, first = np.zeros(2 * leaves, dtype=np.int64), np.full(2 * leaves, records, dtype=np.int64)
    for level in range(depth + 1):
        nodes = 1 << level
        edges = records * np.arange(nodes + 1) // nodes
        here, there = points[order], slice(nodes, 2 * nodes)
        box[there, :width], box[there, width:] = np.minimum.reduceat(here, edges[:-1]), -np.maximum.reduceat(here, edges[:-1])
        left[there], first[there] = np.diff(edges), np.minimum.reduceat(order, edges[:-1])
        if level < depth:
            order = order[_sorted_within(here, edges, np.argmax(-box[there, width:] - box[there, :width], axis=1))]
    place = np.empty(records, dtype=np.int64)
    place[order] = np.arange(records)
    leaf = np.repeat(np.arange(leaves), np.diff(edges))
    return RecordTree(points[order], order, leaf, place, edges[:-1], left, first, box)


def _sorted_within(points: NDArray[np.float64], edges: NDArray[np.int64], axis: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of records: those between two edges are sorted by their values on the axis given for them."""
    size = np.diff(edges)
    place = edges[:-1, None] + np.arange(size.max())
    there = place < edges[1:, None]
    values = np.where(there, points[np.minimum(place, len(points) - 1), axis[:, None]], np.inf)
    return np.asarray((edges[:-1, None] + np.argsort(values, axis=1, kind="stable"))[there])
