"""How far is a class's distribution of a sensitive attribute from that of the whole table? t-closeness, by many distances."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.errors import ArgumentError, shown
from unveil.measures.equivalence import Equivalence, Spread
from unveil.models import diversity
from unveil.models.base import TOLERANCE, EarthMover, Place, SensitiveModel, bounded_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from unveil.models.orders import Scale

__all__ = ["DISTANCES", "Distance", "TCloseness"]

Distance: TypeAlias = Literal["equal", "rank", "value", "hierarchical", "variational", "kl", "js"]
"""The distance of two values: equal for all, by rank in their order, by value, by their hierarchy; or a divergence of
distributions."""

DISTANCES: tuple[Distance, ...] = get_args(Distance)


@checked_arguments
@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """In no class is the distribution of the sensitive attribute farther than t from the whole table's (Li et al. 2007).

    The distance is an earth mover's distance between values that are equally far apart, or apart by rank, by value or by the
    height of their lowest common ancestor; or the variational distance (the same as with values equally far apart); or the
    Kullback-Leibler or Jensen-Shannon divergence, both in bits.
    """

    t: float | None = None
    distance: Distance = "equal"
    scale: Scale | None = field(default=None, repr=False)
    name: ClassVar[str] = "t_closeness"
    label: ClassVar[str] = "t-closeness"
    scaled: ClassVar[tuple[Distance, ...]] = ("rank", "value", "hierarchical")
    """Distances that require the scale of the values: how they relate to each other."""
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse an unknown distance, and a threshold that is invalid for it."""
        if self.distance not in DISTANCES:
            raise ArgumentError.not_one_of("distance", self.distance, DISTANCES)
        super().__post_init__()
        if self.t is not None and self.distance != "kl":
            checked_share(f"t, of the distance {shown(self.distance)},", self.t)

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the distance of every class."""
        spread = self.spread(classes)
        if self.distance in ("equal", "variational"):
            return diversity.variational_closeness(spread)
        if self.distance == "kl":
            return diversity.kl_divergence(spread)
        if self.distance == "js":
            return diversity.js_divergence(spread)
        return self._by_scale(spread)

    def _by_scale(self, spread: Spread) -> NDArray[np.float64]:
        """Return the distances that require the scale of the values."""
        if self.scale is None:
            raise ArgumentError(
                f"the {self.distance} distance of {self.attribute!r} needs to know how its values relate to each other."
            )
        if self.distance == "hierarchical":
            return diversity.hierarchical_closeness(spread, self.scale.levels(spread.values))
        ordered, gaps = self.scale.gaps(spread, by_value=self.distance == "value")
        return diversity.ordered_closeness(ordered, gaps)

    @property
    def threshold(self) -> float | None:
        """The required t."""
        return self.t

    @property
    def place(self) -> Place:
        """Its place in an answer: under its distance."""
        return (self.name, self.attribute, self.distance)

    @property
    def needs_hierarchy(self) -> bool:
        """Whether the distance is that of a hierarchy."""
        return self.distance == "hierarchical"

    def with_scale(self, scales: Mapping[str, Scale]) -> TCloseness:
        """Return the model with the scale of its attribute, unless it already has one."""
        if self.scale is not None or self.attribute not in scales:
            return self
        return TCloseness(self.attribute, self.t, self.distance, scales[self.attribute])

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the bound for the distance, which is convex and, except for the Kullback-Leibler divergence, at most 1."""
        if self.t is None or self.t + TOLERANCE >= 1.0 or self.distance == "kl":
            return np.zeros(len(figures))
        return bounded_share(figures, wrong, self.t)

    def earth_mover(self, values: Sequence[Any]) -> EarthMover | None:
        """Return the distance, if it is an earth mover's distance and the scale is known."""
        none, number = np.zeros(0, dtype=np.int64), len(values)
        if self.distance in ("equal", "variational"):
            return EarthMover(np.arange(number)[np.newaxis], none, np.zeros(0))
        if self.distance in ("kl", "js") or self.scale is None:
            return None
        if self.distance == "hierarchical":
            return EarthMover(np.stack(self.scale.levels(values)), none, np.zeros(0))
        ranks, gaps = self.scale.ranked(values, by_value=self.distance == "value")
        return EarthMover(np.zeros((0, number), dtype=np.int64), np.argsort(ranks), gaps)

    @classmethod
    def measures_of(cls, attribute: str, spread: Spread, scale: Scale | None) -> Iterator[TCloseness]:
        """Yield t-closeness under every distance that the attribute's values allow."""
        yield cls(attribute, distance="equal")
        if scale is not None and scale.has_order(spread.values):
            yield cls(attribute, distance="rank", scale=scale)
        if scale is not None and scale.has_distances(spread.values):
            yield cls(attribute, distance="value", scale=scale)
        if scale is not None and scale.hierarchy is not None:
            yield cls(attribute, distance="hierarchical", scale=scale)
        yield cls(attribute, distance="variational")
        yield cls(attribute, distance="kl")
        yield cls(attribute, distance="js")

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.t is None else f"t_closeness ({self.distance}) <= {self.t:g}"

    def reason(self, value: float) -> str | None:
        """Return the reason why the distance is infinite."""
        return "a class holds a value that the reference table lacks" if np.isinf(value) else None
