"""Which records form a group? The methods, over all attributes or each alone, with regard to nulls and given groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import ArgumentError
from unveil.formats import counted
from unveil.mechanisms.microaggregation.attributes import AggregatedAttribute
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Partition", "by_method", "grouped"]

Partition: TypeAlias = "Callable[[Sequence[AggregatedAttribute], NDArray[np.int64]], NDArray[np.int64]]"
"""A function from attributes and the rows that have values in all of them to the group of each row."""
_NEAR = 8
"""The number of nearby records, besides 2k, whose groups a record may join."""
_PASSES = 32
"""The largest number of passes over all records when groups are refined; a dozen is usual."""
_FEW, _MANY, _MORE = 4, 10_000, 3
"""A tree pays off for up to this many attributes; for each further one, only from three times as many records on."""
_HEARD = 0.1
"""The number of seconds between checks for an interrupt."""


def grouped(
    attributes: Sequence[AggregatedAttribute], k: int, partition: Partition, stratum: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the group of every record, -1 for a record with nulls only.

    The records of a stratum that have nulls in the same attributes are grouped among themselves.
    """
    present = np.column_stack([~np.isnan(attribute.values) for attribute in attributes])
    alike = np.column_stack([present, stratum])
    one_set = present.all() and not stratum.any()
    kinds, of_row = np.unique(alike, axis=0, return_inverse=True) if not one_set else (alike[:1], np.zeros(len(alike), np.int64))
    group, made = np.full(len(present), -1), 0
    ends = np.cumsum(np.bincount(of_row.ravel(), minlength=len(kinds)))
    sets = list(zip(kinds, np.split(np.argsort(of_row.ravel(), kind="stable"), ends[:-1]), strict=True))
    run = active_run()
    for kind, rows in run.each("sets of records", sets) if len(sets) > 1 else sets:
        some = [attribute for attribute, here in zip(attributes, kind[:-1], strict=True) if here]
        if not some:
            continue
        if len(rows) < k:
            raise ArgumentError(_too_few(len(rows), k, nulls=len(some) < len(attributes)))
        with run.telling(None) if len(sets) > 1 else nullcontext():
            groups = partition(some, rows)
        group[rows] = made + groups
        made += int(groups.max()) + 1
    return group


def _too_few(records: int, k: int, *, nulls: bool) -> str:
    """Return the message that there are too few records that may only be grouped among themselves."""
    if nulls:
        reason = f"{counted(records, 'record')} with nulls in the same attributes cannot form groups of {k:,}; "
        return reason + "nulls='drop' leaves such records out."
    return (
        f"{counted(records, 'record')} of a stratum cannot form groups of {k:,}; name fewer columns in `within`, or join values."
    )


def by_method(method: str, k: int, gain: float, *, refine: bool) -> Partition:
    """Return the method of this name, ready to use; groups of numbers are refined if requested."""
    from unveil.mechanisms.microaggregation import kernels, tree

    def partition(attributes: Sequence[AggregatedAttribute], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if method == "optimal":
            return _optimal(attributes[0].values[rows], k)
        points, codes, weights = _coordinates(attributes, rows)
        if method == "mdav" and not codes.size and _by_tree(*points.shape):
            groups = _interruptible("groups", len(rows), tree.mdav, points, k)
        elif method == "mdav":
            groups = _interruptible("groups", len(rows), kernels.mdav, points, codes, weights, k)
        else:
            groups = _interruptible("groups", len(rows), kernels.v_mdav, points, codes, weights, k, gain)
        return groups if codes.size or not refine else _refined(points, groups, k)

    return partition


def _by_tree(attributes: int, records: int) -> bool:
    """Whether a tree finds the groups of MDAV faster than a scan of all records: with more attributes it can skip fewer."""
    return attributes <= _FEW or records >= _MANY * _MORE ** (attributes - _FEW)


def _interruptible(stage: str, total: int, kernel: Callable[..., Any], *arguments: Any) -> NDArray[np.int64]:
    """Run a compiled loop in a thread of its own, and end it if this thread receives an interrupt or the run is cancelled.

    The loop ends once the first of two numbers is not 0, and keeps the number of finished steps of the stage in the second.
    """
    run, stop = active_run(), np.zeros(2, dtype=np.int64)
    with run.stage(stage) as steps, ThreadPoolExecutor(1) as pool:
        work = pool.submit(kernel, *arguments, stop)
        try:
            while not wait([work], _HEARD).done:  # one long wait would not be interrupted
                steps(int(stop[1]), total)
            return np.asarray(work.result())
        finally:
            stop[0] = 1


def _refined(points: NDArray[np.float64], group: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Refine groups until no record moves, no two near records change places, and no group dissolves at a gain."""
    from scipy.spatial import cKDTree

    from unveil.mechanisms.microaggregation import refine_kernels
    from unveil.mechanisms.microaggregation.tree import tree_of

    if not group.any():
        return group
    order = tree_of(
        np.ascontiguousarray(points.T)
    ).record  # records that are close together are stored together, which saves time
    places, made = np.ascontiguousarray(points.T[order]), _in_order(group[order])
    size = np.bincount(made)
    near = cKDTree(places).query(places, min(len(places), _NEAR + 2 * k))[1][:, 1:]
    centre = np.column_stack([np.bincount(made, line) / size for line in places.T])
    arguments = (places, near.astype(np.int64), made, size.astype(np.int64), centre, k, _PASSES)
    made = _interruptible("refining", 1, refine_kernels.refine, *arguments)
    groups = np.empty_like(made)
    groups[order] = made
    return _in_order(groups)


def _in_order(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups numbered from 0 on, in the order in which they first occur."""
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def _optimal(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    from unveil.mechanisms.microaggregation import kernels

    order = np.argsort(values, kind="stable")
    cuts = kernels.optimal(values[order], k)
    group = np.empty(len(values), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    return group


def _coordinates(
    attributes: Sequence[AggregatedAttribute], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return numbers in their units, centred; codes of names; and the weight of a difference of names."""
    points, codes, weights = np.empty((0, len(rows))), np.empty((0, len(rows)), dtype=np.int64), []
    for attribute in attributes:
        values = attribute.values[rows]
        if attribute.kind == "nominal":
            codes = np.vstack([codes, np.unique(values, return_inverse=True)[1]])
            weights.append(attribute.unit)
        else:
            points = np.vstack([points, (values - values.mean()) * np.sqrt(attribute.unit)])
    return points, codes, np.array(weights, dtype=np.float64)
