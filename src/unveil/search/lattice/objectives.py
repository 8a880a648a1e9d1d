r"""What does a generalisation cost? Objectives to make small, each with a bound that lets a search leave nodes out.

Suppressed records count as fully generalised. With :math:`s_j(r)` what record r loses in attribute j, an objective that is
*separable* is a mean over the attributes of

.. math:: L_j = \frac{\sum_r s_j(r) - o_j}{c_j} ,

so that what generalisation alone costs follows from the attributes one by one, without any class: a bound on the score of a
node before it is looked at. Which s, o and c each objective takes is said where it is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import shown_number
from unveil.errors import ArgumentError, shown
from unveil.fitting import fits, kind_of
from unveil.search.lattice.rollup import ClassTable, code_sums
from unveil.search.lattice.space import KeyAttribute, Node, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OBJECTIVES", "Candidate", "ClassBased", "Objective", "ObjectiveName", "Separable", "objective_of"]

ObjectiveName: TypeAlias = Literal["loss", "loss-geometric", "precision", "discernibility", "class-size", "entropy", "kl"]
OBJECTIVES: tuple[ObjectiveName, ...] = get_args(ObjectiveName)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A generalisation, as an objective of the user's own sees it.

    Attributes
    ----------
    transformation
        The level of every attribute.
    sizes
        The size of each class that is kept.
    suppressed, records
        The records suppressed, and all records.
    losses
        The share of each attribute's leaves that its values stand for, on average over all records.
    """

    transformation: Mapping[str, int]
    sizes: NDArray[np.int64]
    suppressed: int
    records: int
    losses: Mapping[str, float]


Objective: TypeAlias = "Separable | ClassBased"


@dataclass(frozen=True, slots=True, eq=False)
class Separable:
    """A mean over the attributes of what their values lose.

    Attributes
    ----------
    name
        As the user writes it.
    costs
        For every attribute and level allowed, what a record in each group loses.
    suppressed
        What a suppressed record loses in each attribute.
    offset, scale
        o and c of each attribute.
    weights
        The attributes' weights, adding up to 1.
    capped
        As `costs`, but no more than suppression costs.
    totals, least
        For every attribute and level the sum of `costs`, and of `capped`, over all records.
    geometric
        Whether the mean is geometric: the product of (1 + L)^w, minus 1.
    """

    name: str
    costs: tuple[tuple[NDArray[np.float64], ...], ...]
    suppressed: NDArray[np.float64]
    offset: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    capped: tuple[tuple[NDArray[np.float64], ...], ...]
    totals: tuple[NDArray[np.float64], ...]
    least: tuple[NDArray[np.float64], ...]
    geometric: bool = False

    def score(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        """Return the score of a node whose classes `gone` are suppressed."""
        return self._mean(self._sums(node) + self._added(space, node, table, gone, self.costs))

    def added(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what suppressing these classes adds to each attribute's sum, at least, here and in every node below."""
        return self._added(space, node, table, gone, self.capped)

    def bounds(self, node: Node, added: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Return a lower bound of the score of every node from the bottom to this one, given what is added to each sum."""
        given = np.broadcast_to(np.asarray(added, dtype=np.float64), len(self.costs))
        found = np.zeros(())
        for at, one in enumerate(self.least):
            part = (one[: node[at] + 1] + given[at] - self.offset[at]) / self.scale[at]
            part = self.weights[at] * (np.log1p(part) if self.geometric else part)
            found = np.add.outer(found, part)
        return np.expm1(found) if self.geometric else found

    def floor(self, node: Node, added: NDArray[np.float64]) -> float:
        """Return the lower bound of one node."""
        return self._mean(np.array([one[level] for one, level in zip(self.least, node, strict=True)]) + added)

    def _sums(self, node: Node) -> NDArray[np.float64]:
        return np.array([one[level] for one, level in zip(self.totals, node, strict=True)])

    def _added(
        self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], costs: Sequence[Sequence[NDArray[np.float64]]]
    ) -> NDArray[np.float64]:
        chosen = [one[level] for one, level in zip(costs, node, strict=True)]
        lost, kept = code_sums(table, space.fields, chosen, gone)
        return np.asarray(lost * self.suppressed - kept)

    def _mean(self, sums: NDArray[np.float64]) -> float:
        losses = (sums - self.offset) / self.scale
        return float(np.expm1(self.weights @ np.log1p(losses)) if self.geometric else self.weights @ losses)


@dataclass(frozen=True, slots=True, eq=False)
class ClassBased:
    """A figure of the classes.

    Attributes
    ----------
    name
        As the user writes it.
    score
        The figure of a node whose classes `gone` are suppressed.
    rises
        What the score is at least that of, while classes are suppressed: "more", of any fewer suppressed; "first", of none
        suppressed (a class that joins others that are may cost less than they did); "never": nothing is known.
    """

    name: str
    score: Callable[[Space, Node, ClassTable, NDArray[np.bool_]], float]
    rises: Literal["more", "first", "never"] = "more"


def objective_of(
    objective: str | Callable[[Candidate], float],
    attributes: Sequence[KeyAttribute],
    records: int,
    *,
    weights: Mapping[str, float] | None = None,
    factor: float = 0.5,
) -> Objective:
    r"""Return an objective by its name, or from a function of a `Candidate`.

    Parameters
    ----------
    objective
        "loss": :math:`s_j` is the share of the hierarchy's leaves that the value stands for, :math:`o_j = n / |leaves|` and
        :math:`c_j = n - o_j`. "loss-geometric": the same, geometric mean. "precision": :math:`s_j` is the level over the
        hierarchy's height, :math:`o_j = 0`, :math:`c_j = n`. "entropy": :math:`s_j = \log_2 n_g`, the records that hold the
        generalised value, :math:`o_j = \sum_r \log_2 n_v` and :math:`c_j = n \log_2 n - o_j` (non-uniform entropy, a share of
        what full generalisation costs). "discernibility": the sum over the classes of their squared size, and n for every
        suppressed record. "class-size": records by classes, the suppressed ones being one class. "kl": the Kullback-Leibler
        divergence, in bits, of the table's cells from the release's, where the records of a class spread evenly over all leaves
        that it covers.
    attributes, records
        The key attributes, and the number of records.
    weights
        The attributes' weights in a separable objective; 1 unless given.
    factor
        From 0, where suppression costs nothing, over 0.5, where both count in full, to 1, where generalisation costs nothing.
    """
    if callable(objective):
        return ClassBased("function", _own(objective), rises="never")
    if objective not in OBJECTIVES:
        raise ArgumentError.not_one_of("objective", objective, OBJECTIVES)
    if not 0.0 <= factor <= 1.0:
        raise ArgumentError(
            f"the factor between generalisation and suppression lies between 0 and 1, so it is not {shown_number(factor)}."
        )
    if objective in _CLASS_BASED:
        if weights or factor != 0.5:  # noqa: PLR2004
            raise ArgumentError(f"the objective {objective} takes no attribute weights, and no factor for suppression.")
        return ClassBased(objective, _CLASS_BASED[objective], rises="first" if objective == "kl" else "more")
    return _separable(objective, attributes, records, _weights(attributes, weights or {}), factor)


def _weights(attributes: Sequence[KeyAttribute], given: Mapping[str, float]) -> NDArray[np.float64]:
    names = [one.name for one in attributes]
    if unknown := [name for name in given if name not in names]:
        raise ArgumentError(f"a weight is given for {shown(unknown[0])}, which is no key attribute.")
    found = np.array([given.get(name, 1.0) for name in names], dtype=np.float64)
    if not (found >= 0.0).all() or not found.sum() > 0.0:
        raise ArgumentError("attribute weights are zero or above, and not all zero.")
    return np.asarray(found / found.sum())


def _separable(
    name: str, attributes: Sequence[KeyAttribute], records: int, weights: NDArray[np.float64], factor: float
) -> Separable:
    generalising = 1.0 if factor <= 0.5 else 2.0 - 2.0 * factor  # noqa: PLR2004
    suppressing = 2.0 * factor if factor < 0.5 else 1.0  # noqa: PLR2004
    shape = {"precision": _level_shares, "entropy": _bits}.get(name, _leaf_shares)
    parts = [shape(one, records) for one in attributes]
    costs = tuple(tuple(generalising * cost for cost in part.costs) for part in parts)
    suppressed = np.array([suppressing * part.top for part in parts])
    capped = tuple(tuple(np.minimum(cost, top) for cost in part) for part, top in zip(costs, suppressed, strict=True))
    return Separable(
        name,
        costs,
        suppressed,
        np.array([generalising * part.offset for part in parts]),
        np.array([part.scale for part in parts]),
        weights,
        capped,
        tuple(_totals(one, part) for one, part in zip(attributes, costs, strict=True)),
        tuple(_totals(one, part) for one, part in zip(attributes, capped, strict=True)),
        geometric=name == "loss-geometric",
    )


def _totals(one: KeyAttribute, costs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    levels = range(one.lowest, one.highest + 1)
    return np.array([one.group_records(level) @ cost for level, cost in zip(levels, costs, strict=True)])


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """s of every group, level by level, its value for what is suppressed, and o and c."""

    costs: list[NDArray[np.float64]]
    top: float
    offset: float
    scale: float


def _leaf_shares(one: KeyAttribute, records: int) -> _Part:
    offset = records / one.levels.leaves
    scale = records - offset
    costs = [one.levels.shares[level] for level in range(one.lowest, one.highest + 1)]
    return _Part(costs, 1.0, offset, scale if scale > 0.0 else 1.0)


def _level_shares(one: KeyAttribute, records: int) -> _Part:
    height = max(one.levels.height, 1)
    levels = range(one.lowest, one.highest + 1)
    return _Part([np.full(len(one.levels.labels[level]), level / height) for level in levels], 1.0, 0.0, records)


def _bits(one: KeyAttribute, records: int) -> _Part:
    present = one.records[one.records > 0].astype(np.float64)
    offset = float(present @ np.log2(present))
    scale = records * math.log2(records) - offset
    levels = range(one.lowest, one.highest + 1)
    costs = [np.log2(np.maximum(one.group_records(level), 1).astype(np.float64)) for level in levels]
    return _Part(costs, math.log2(records), offset, scale if scale > 0.0 else 1.0)


def _discernibility(space: Space, _node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    kept = table.n[~gone].astype(np.float64)
    return float(kept @ kept + float(table.n[gone].sum()) * space.records)


def _class_size(space: Space, _node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    n = table.n
    return space.records / (np.count_nonzero(n[~gone]) + int(n[gone].sum() > 0))


def _divergence(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
    n = table.n.astype(np.float64)
    volume, everything = np.zeros(len(n)), 0.0
    for one, level, field in zip(space.attributes, node, space.fields, strict=True):
        volume += np.log2(one.levels.shares[one.lowest + level] * one.levels.leaves)[table.codes(field)]
        everything += math.log2(one.levels.leaves)
    dropped = n[gone].sum(keepdims=True)
    spread = _xlog2(n[~gone]).sum() - n[~gone] @ volume[~gone] + float(_xlog2(dropped)[0] - dropped[0] * everything)
    return float(_xlog2(space.cells.astype(np.float64)).sum() - spread) / space.records


def _xlog2(n: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(n * np.log2(np.where(n > 0.0, n, 1.0)))


def _own(function: Callable[[Candidate], float]) -> Callable[[Space, Node, ClassTable, NDArray[np.bool_]], float]:
    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        n = table.n
        lost = int(n[gone].sum())
        losses = {}
        for one, level, field in zip(space.attributes, node, space.fields, strict=True):
            share = one.levels.shares[one.lowest + level][table.codes(field)]
            losses[one.name] = float(n[~gone] @ share[~gone] + lost) / space.records
        found = Candidate(space.transformation(node), n[~gone].astype(np.int64), lost, space.records, losses)
        cost = function(found)
        if not fits(cost, float):
            raise ArgumentError(f"the objective must return a number, and it returned {kind_of(cost)}.")
        return float(cost)

    return score


_CLASS_BASED: dict[str, Callable[[Space, Node, ClassTable, NDArray[np.bool_]], float]] = {
    "discernibility": _discernibility,
    "class-size": _class_size,
    "kl": _divergence,
}
