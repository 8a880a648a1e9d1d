r"""Losses of the attributes, combined into one figure, for objectives under which suppression does not cost full generalisation.

With :math:`n_v` records of an attribute's value, :math:`n_g` of its generalised value, and :math:`s_g` of the s suppressed ones,

- "entropy-arx" is the non-uniform entropy as ARX charges it: every record costs what its generalisation costs,
  :math:`\sum_r \log_2 (n_g / n_v)`, and the suppressed ones add :math:`\sum_{r\ suppressed} \log_2 (s / s_g)`, by
  :math:`n \log_2 n`; a geometric mean is taken of the bits themselves, without the division;
- "entropy-normalized" is the same divided by the cost of full generalisation, :math:`\sum_r \log_2 (n / n_v)`;
- "precision-arx" is :math:`\frac{1}{n} (g \sum_{r\ kept} h_j + f \sum_{r\ suppressed} 1)`, where :math:`h_j` is the level over
  the height of attribute j: below a factor of 0.5 a suppressed record costs f = 2 x factor, whatever its level;
- "height" is the level, whatever is suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.space import KeyAttribute, Node, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ATTRIBUTE_COSTS",
    "JOININGS",
    "AttributeCost",
    "Factors",
    "Joining",
    "joined_losses",
    "ranked_losses",
    "split_joining",
    "xlog2",
]

Joining: TypeAlias = Literal["mean", "geometric", "max", "rank"]
"""How the attributes' losses L are combined: their mean; the geometric mean of 1 + L, minus 1; the largest; or the largest, with
ties broken by the second largest, and so on."""
JOININGS: tuple[Joining, ...] = get_args(Joining)
AttributeLosses: TypeAlias = "Callable[[Space, Node, ClassTable, NDArray[np.bool_]], NDArray[np.float64]]"
"""What every attribute loses at a node, given its classes and which of them are suppressed."""
_DIGITS = 12
_EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Factors:
    """The weights of generalisation and suppression: both count in full, or one of them counts less."""

    generalising: float
    suppressing: float

    @classmethod
    def of(cls, factor: float) -> Factors:
        """Return the weights for a factor: 0.5 counts both in full, less reduces suppression, more reduces generalisation."""
        return cls(1.0 if factor <= _EVEN else 2.0 - 2.0 * factor, 2.0 * factor if factor < _EVEN else 1.0)


def xlog2(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n log2 n; 0 if n is 0."""
    return np.asarray(n * np.log2(np.where(n > 0.0, n, 1.0)))


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


def _entropies(factors: Factors, joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        most = 1.0 if joined == "geometric" else max(space.records * math.log2(space.records), 1.0)
        return _bits_lost(space, node, table, gone, factors) / most

    return losses


def _normalised_entropies(factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        most = np.array([_all_bits(one, space.records) for one in space.attributes])
        return _bits_lost(space, node, table, gone, factors) / np.where(most > 0.0, most, 1.0)

    return losses


def _precisions(factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        suppressed = int(table.n[gone].sum())
        kept = factors.generalising * (space.records - suppressed)
        heights = np.array([max(one.levels.height, 1) for one in space.attributes])
        return np.asarray((kept * _levels(space, node) / heights + factors.suppressing * suppressed) / space.records)

    return losses


def _heights(_factors: Factors, _joined: Joining) -> AttributeLosses:
    def losses(space: Space, node: Node, _table: ClassTable, _gone: NDArray[np.bool_]) -> NDArray[np.float64]:
        return _levels(space, node)

    return losses


def _levels(space: Space, node: Node) -> NDArray[np.float64]:
    return np.array([one.lowest + level for one, level in zip(space.attributes, node, strict=True)], dtype=np.float64)


def _bits_lost(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], factors: Factors) -> NDArray[np.float64]:
    """Return, for each attribute, the bits lost by generalisation and the bits that suppression adds."""
    bits, dropped = np.zeros(len(space.attributes)), table.n[gone].astype(np.float64)
    for at, (one, level, field) in enumerate(zip(space.attributes, node, space.fields, strict=True)):
        groups = one.group_records(one.lowest + level).astype(np.float64)
        generalised = xlog2(groups).sum() - xlog2(one.records.astype(np.float64)).sum()
        suppressed = np.bincount(table.codes(field)[gone], weights=dropped).astype(np.float64)
        added = xlog2(suppressed.sum(keepdims=True))[0] - xlog2(suppressed).sum()
        bits[at] = factors.generalising * generalised + factors.suppressing * added
    return bits


def _all_bits(one: KeyAttribute, records: int) -> float:
    return float(records * math.log2(records) - xlog2(one.records.astype(np.float64)).sum())


ATTRIBUTE_COSTS: dict[str, Callable[[Factors, Joining], AttributeLosses]] = {
    "height": _heights,
    "entropy-arx": _entropies,
    "entropy-normalized": _normalised_entropies,
    "precision-arx": _precisions,
}
