r"""What does a generalisation cost? Objectives to minimise, each with a bound that lets a search skip nodes.

Suppressed records count as fully generalised. With :math:`s_j(r)` what record r loses in attribute j, a *separable* objective
combines the losses of the attributes,

.. math:: L_j = \frac{\sum_r s_j(r) - o_j}{c_j} ,

into one figure. So the cost of generalisation alone follows from the attributes one by one, without any classes, and bounds the
score of a node before it is examined. `objective_of` says which s, o and c each objective takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import checked_share
from unveil.errors import ArgumentError, shown
from unveil.fitting import fits, kind_of
from unveil.models import game_of
from unveil.search.lattice.class_costs import (
    ATTRIBUTE_COSTS,
    CLASS_COSTS,
    AttributeLosses,
    ClassBased,
    ClassCost,
    bits_cost,
    class_size,
    classification,
    key_classification,
    payoff_cost,
    surveyed_class_size,
    surveyed_discernibility,
)
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.rollup import code_sums
from unveil.search.lattice.space import KeyAttribute, Node, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "JOINED_OBJECTIVES", "OBJECTIVES", "Candidate", "ClassBased", "Objective", "Separable", "objective_of", "targets_of",
]  # fmt: skip

Joining: TypeAlias = Literal["mean", "geometric", "max", "rank"]
"""How the attributes' losses L are combined: their mean; the geometric mean of 1 + L, minus 1; the largest; or the largest, with
ties broken by the second largest, and so on."""
JOININGS: tuple[Joining, ...] = get_args(Joining)
_SEPARABLE = ("loss", "precision", "entropy")
OBJECTIVES: tuple[str, ...] = (*_SEPARABLE, *ATTRIBUTE_COSTS, *CLASS_COSTS, "class-size", "entropy-based")
"""The objectives, by their plain names."""
JOINED_OBJECTIVES: tuple[str, ...] = tuple(f"{one}-{how}" for one in (*_SEPARABLE, *ATTRIBUTE_COSTS) for how in JOININGS[1:])
"""Objectives that combine the attributes in other ways than by their mean."""
_CLASSIFICATION, _PAYOFF = "classification:", "payoff:"
_EVEN = 0.5
"""The factor that lets generalisation and suppression count in full."""
_DIGITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A generalisation as passed to a user-defined objective.

    Attributes
    ----------
    transformation
        The level of every attribute.
    sizes
        The size of each class that is kept.
    suppressed, records
        The numbers of suppressed records and of all records.
    losses
        The share of each attribute's leaves that its values stand for, on average over all records.
    """

    transformation: Mapping[str, int]
    sizes: NDArray[np.int64]
    suppressed: int
    records: int
    losses: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Factors:
    """The weights of generalisation and suppression: both count in full, or one of them counts less."""

    generalising: float
    suppressing: float

    @classmethod
    def of(cls, factor: float) -> Factors:
        """Return the weights for a factor: 0.5 counts both in full, less reduces suppression, more reduces generalisation."""
        return cls(1.0 if factor <= _EVEN else 2.0 - 2.0 * factor, 2.0 * factor if factor < _EVEN else 1.0)


def split_joining(objective: str) -> tuple[str, Joining]:
    """Return the name of an objective without its suffix, and how the losses of the attributes are combined.

    Examples
    --------
    >>> split_joining("entropy-arx-max"), split_joining("precision")
    (('entropy-arx', 'max'), ('precision', 'mean'))
    """
    for how in JOININGS[1:]:
        if objective.endswith(f"-{how}"):
            return objective.removesuffix(f"-{how}"), how
    return objective, "mean"


def joined_losses(losses: NDArray[np.float64], how: Joining) -> float:
    """Combine the attributes' weighted losses into one figure; for a mean the weights add up to 1, so the losses are summed."""
    if how == "mean":
        return float(losses.sum())
    return float(np.expm1(np.log1p(losses).mean()) if how == "geometric" else losses.max(initial=0.0))


def ranked_losses(losses: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the losses, the largest first, rounded so that losses that differ only by rounding errors are equal."""
    return tuple(sorted(np.round(losses, _DIGITS).tolist(), reverse=True))


@dataclass(frozen=True, slots=True, eq=False)
class AttributeCost:
    """The losses of the attributes, weighted and joined."""

    losses: AttributeLosses
    weights: NDArray[np.float64]
    joined: Joining

    def score(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        """Return the score of a node whose classes `gone` are suppressed."""
        return joined_losses(self.weights * self.losses(space, node, table, gone), self.joined)

    def ranking(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> tuple[float, ...]:
        """Return the weighted losses of the attributes, the largest first."""
        return ranked_losses(self.weights * self.losses(space, node, table, gone))


Objective: TypeAlias = "Separable | ClassBased"


@dataclass(frozen=True, slots=True, eq=False)
class Separable:
    """An objective that combines the losses of the attributes.

    Attributes
    ----------
    name
        As the user writes it.
    costs
        For every attribute and level allowed, what a record in each group loses.
    tops, toll
        The loss of a fully generalised record in each attribute; the share of the remaining loss that suppression adds.
    offset, scale
        o and c of each attribute.
    weights
        The attributes' weights: they add up to 1 for a mean, and are shares of the largest otherwise.
    totals
        For every attribute and level the sum of `costs` over all records.
    joined
        How the weighted losses of the attributes are combined.
    """

    name: str
    costs: tuple[tuple[NDArray[np.float64], ...], ...]
    tops: NDArray[np.float64]
    toll: float
    offset: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    totals: tuple[NDArray[np.float64], ...]
    joined: Joining = "mean"

    @property
    def ranked(self) -> bool:
        """Whether ties between nodes are broken by the losses of their other attributes."""
        return self.joined == "rank"

    def score(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        """Return the score of a node whose classes `gone` are suppressed."""
        return self.floor(node, self.added(space, node, table, gone))

    def ranking(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> tuple[float, ...]:
        """Return the weighted losses of the attributes, the largest first."""
        return ranked_losses(self._losses(node, self.added(space, node, table, gone)))

    def added(self, space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how much suppressing these classes adds to each attribute's sum, here and, at least, in every node below."""
        if not gone.any():
            return np.zeros(len(self.costs))
        chosen = [one[level] for one, level in zip(self.costs, node, strict=True)]
        lost, kept = code_sums(table, space.fields, chosen, gone)
        return self.surcharge(lost, kept)

    def surcharge(self, lost: float | NDArray[Any], kept: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much suppressing `lost` records adds to each attribute's sum if they would otherwise lose `kept`."""
        return np.asarray(self.toll * (lost * self.tops - kept))

    def bounds(self, node: Node, added: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Return a lower bound of the score of every node from the bottom to this one, given the amounts added to the sums."""
        additions = np.broadcast_to(np.asarray(added, dtype=np.float64), len(self.costs))
        bounds, join = np.zeros(()), np.maximum if self.joined in ("max", "rank") else np.add
        for at, one in enumerate(self.totals):
            part = self.weights[at] * (one[: node[at] + 1] + additions[at] - self.offset[at]) / self.scale[at]
            bounds = join.outer(bounds, np.log1p(part) / len(self.costs) if self.joined == "geometric" else part)
        return np.expm1(bounds) if self.joined == "geometric" else bounds

    def floor(self, node: Node, added: NDArray[np.float64]) -> float:
        """Return the lower bound of one node."""
        return joined_losses(self._losses(node, added), self.joined)

    def _losses(self, node: Node, added: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.array([one[level] for one, level in zip(self.totals, node, strict=True)]) + added
        return np.asarray(self.weights * (sums - self.offset) / self.scale)


def targets_of(objective: object) -> list[str]:
    """Return the columns that "classification:COLUMN[+classification:COLUMN...]" names, which are counted beside the key.

    Examples
    --------
    >>> targets_of("classification:income+classification:job"), targets_of("loss")
    (['income', 'job'], [])
    """
    if not isinstance(objective, str) or not objective.startswith(_CLASSIFICATION):
        return []
    return list(dict.fromkeys(objective.removeprefix(_CLASSIFICATION).split(f"+{_CLASSIFICATION}")))


def objective_of(
    objective: str | Callable[[Candidate], float],
    attributes: Sequence[KeyAttribute],
    records: int,
    *,
    weights: Mapping[str, float] | None = None,
    factor: float = _EVEN,
) -> Objective:
    r"""Return an objective by its name, or from a function of a `Candidate`.

    Parameters
    ----------
    objective
        "loss": :math:`s_j` is the share of the hierarchy's leaves that the value stands for, :math:`o_j = n / |leaves|` and
        :math:`c_j = n - o_j`; the mean over the attributes. "precision": :math:`s_j` is the level over the hierarchy's height,
        :math:`o_j = 0`, :math:`c_j = n`. "entropy": :math:`s_j = \log_2 n_g`, the records that hold the generalised value,
        :math:`o_j = \sum_r \log_2 n_v` and :math:`c_j = n \log_2 n - o_j` (non-uniform entropy, a share of what full
        generalisation costs). "entropy-arx", "entropy-normalized", "precision-arx" and "height": see `class_costs`. All these
        may end in "-geometric" (geometric mean), "-max" (the largest :math:`L_j`) or "-rank" (the largest, of equal ones the
        second largest, and so on). "discernibility", "discernibility-monotone", "class-size", "kl", "ambiguity" and
        "classification:COLUMN", "entropy-based" and "payoff:BENEFIT:LOSS:GAIN:COST[:journalist]": see `class_costs`.
    attributes, records
        The key attributes, and the number of records.
    weights
        The attributes' weights in an objective that joins what they lose; 1 unless given.
    factor
        From 0, where a suppressed record costs what its generalisation costs, through 0.5, where it costs as much as full
        generalisation, to 1, where generalisation costs nothing.
    """
    if callable(objective):
        return ClassBased("function", _own(objective), rises="never")
    targets, paid = targets_of(objective), objective.startswith(_PAYOFF)
    if objective not in (*OBJECTIVES, *JOINED_OBJECTIVES) and not all(targets or [paid]):
        raise ArgumentError.not_one_of("objective", objective, (*OBJECTIVES, "classification:COLUMN", "payoff:..."))
    checked_share("factor", factor)
    plain, joined = split_joining(objective)
    if plain in (*_SEPARABLE, *ATTRIBUTE_COSTS):
        return _of_attributes(objective, attributes, records, _weights(attributes, weights or {}, plain, joined), factor)
    if weights or (factor != _EVEN and objective in CLASS_COSTS):
        also = "" if objective not in CLASS_COSTS else ", and no factor for suppression"
        raise ArgumentError(f"the objective {objective} takes no attribute weights{also}.")
    return _of_classes(objective, targets, [one.name for one in attributes], factor)


def _of_attributes(
    objective: str, attributes: Sequence[KeyAttribute], records: int, weights: NDArray[np.float64], factor: float
) -> Objective:
    """Return an objective that combines the losses of the attributes."""
    plain, joined = split_joining(objective)
    factors = Factors.of(factor)
    if plain in _SEPARABLE:
        return _separable(objective, attributes, records, weights, factors)
    cost = AttributeCost(ATTRIBUTE_COSTS[plain](factors, joined), weights, joined)
    rises: Literal["more", "never"] = "never" if plain == "precision-arx" and factor < _EVEN else "more"
    return ClassBased(objective, cost.score, rises, ranks=cost.ranking if joined == "rank" else None)


def _of_classes(objective: str, targets: Sequence[str], keys: Sequence[str], factor: float) -> ClassBased:
    """Return an objective of the classes, by its name or by the text after it."""
    factors = Factors.of(factor)
    if targets:
        costs = [(key_classification if one in keys else classification)(one, factors, factor) for one in targets]
        return ClassBased(objective, costs[0] if len(costs) == 1 else _sum(costs), rises="never")
    if objective.startswith(_PAYOFF):
        game = game_of(objective.removeprefix(_PAYOFF), "the objective payoff")
        return ClassBased(objective, payoff_cost(game, factors), rises="never", needs_population=game.needs_population)
    full: Literal["more", "never"] = "more" if factor >= _EVEN else "never"  # suppression adds to the score if it counts in full
    if objective == "entropy-based":
        return ClassBased(objective, bits_cost(factors), rises=full)
    if objective == "class-size":
        return ClassBased(objective, class_size(factors), rises=full, survey=surveyed_class_size(factors))
    survey = surveyed_discernibility if objective == "discernibility" else None
    return ClassBased(objective, CLASS_COSTS[objective], rises="first" if objective == "kl" else "more", survey=survey)


def _weights(attributes: Sequence[KeyAttribute], raw: Mapping[str, float], plain: str, joined: Joining) -> NDArray[np.float64]:
    """Return the weights as shares: of their sum for a mean; of the largest otherwise, and for the height, which is a sum."""
    names = [one.name for one in attributes]
    if unknown := [name for name in raw if name not in names]:
        raise ArgumentError(f"a weight is given for {shown(unknown[0])}, which is not a key attribute.")
    weights = np.array([raw.get(name, 1.0) for name in names], dtype=np.float64)
    if not (weights >= 0.0).all() or not weights.sum() > 0.0:
        raise ArgumentError("attribute weights are zero or above, and not all zero.")
    return np.asarray(weights / (weights.sum() if joined == "mean" and plain != "height" else weights.max()))


def _separable(
    name: str, attributes: Sequence[KeyAttribute], records: int, weights: NDArray[np.float64], factors: Factors
) -> Separable:
    plain, joined = split_joining(name)
    shape = {"precision": _level_shares, "entropy": _bits, "loss": _leaf_shares}[plain]
    parts = [shape(one, records) for one in attributes]
    costs = tuple(tuple(factors.generalising * cost for cost in part.costs) for part in parts)
    offset = np.array([factors.generalising * part.offset for part in parts])
    scale = records * np.array([part.top for part in parts]) - offset
    return Separable(
        name,
        costs,
        np.array([part.top for part in parts]),
        factors.suppressing,
        offset,
        np.where(scale > 0.0, scale, 1.0),
        weights,
        tuple(_totals(one, part) for one, part in zip(attributes, costs, strict=True)),
        joined,
    )


def _totals(one: KeyAttribute, costs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    levels = range(one.lowest, one.highest + 1)
    return np.array([one.group_records(level) @ cost for level, cost in zip(levels, costs, strict=True)])


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One attribute's terms: s of every group, level by level; s of a suppressed record; and o."""

    costs: list[NDArray[np.float64]]
    top: float
    offset: float


def _leaf_shares(one: KeyAttribute, records: int) -> _Part:
    costs = [one.levels.shares[level] for level in range(one.lowest, one.highest + 1)]
    return _Part(costs, 1.0, records / one.levels.leaves)


def _level_shares(one: KeyAttribute, _records: int) -> _Part:
    height = max(one.levels.height, 1)
    levels = range(one.lowest, one.highest + 1)
    return _Part([np.full(len(one.levels.labels[level]), level / height) for level in levels], 1.0, 0.0)


def _bits(one: KeyAttribute, records: int) -> _Part:
    present = one.records[one.records > 0].astype(np.float64)
    levels = range(one.lowest, one.highest + 1)
    costs = [np.log2(np.maximum(one.group_records(level), 1).astype(np.float64)) for level in levels]
    return _Part(costs, math.log2(records), float(present @ np.log2(present)))


def _sum(costs: Sequence[ClassCost]) -> ClassCost:
    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        return sum(cost(space, node, table, gone) for cost in costs)

    return score


def _own(function: Callable[[Candidate], float]) -> ClassCost:
    def score(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> float:
        n = table.n
        lost = int(n[gone].sum())
        losses = {}
        for one, level, field in zip(space.attributes, node, space.fields, strict=True):
            share = one.levels.shares[one.lowest + level][table.codes(field)]
            losses[one.name] = float(n[~gone] @ share[~gone] + lost) / space.records
        candidate = Candidate(space.transformation(node), n[~gone].astype(np.int64), lost, space.records, losses)
        cost = function(candidate)
        if not fits(cost, float):
            raise ArgumentError(f"the objective must return a number, but it returned {kind_of(cost)}.")
        return float(cost)

    return score
