"""How far is the distribution of a sensitive attribute in a class from that in the whole table? t-closeness, by many distances.

Some distances need to know how the values relate to each other: their order, the gaps between them, or their hierarchy (`Scale`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.measures import Equivalence, Spread
from unveil.models import diversity
from unveil.models.base import TOLERANCE, EarthMover, Place, SensitiveModel, bounded_share
from unveil.partitions import Hierarchy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DISTANCES", "Distance", "Scale", "TCloseness"]


@dataclass(frozen=True, eq=False)
class Scale:
    """The relations between an attribute's values: their order, if it is not numeric, and their hierarchy.

    Parameters
    ----------
    attribute
        The attribute, for messages.
    order
        Its values from lowest to highest; None: numbers are in their own order.
    hierarchy
        The hierarchy of its values.
    """

    attribute: str
    order: tuple[Any, ...] | None = None
    hierarchy: Hierarchy | None = None
    _last: list[tuple[Any, list[NDArray[np.int64]]]] = field(default_factory=list, init=False, repr=False)

    def has_order(self, values: Sequence[Any]) -> bool:
        """Whether the values can be ranked."""
        return self.order is not None or _are_numbers(values)

    def has_distances(self, values: Sequence[Any]) -> bool:
        """Whether all values are numbers, with a finite distance between the lowest and the highest."""
        return _are_numbers(values) and (not values or math.isfinite(max(values) - min(values)))

    def gaps(self, spread: Spread, *, by_value: bool) -> tuple[Spread, NDArray[np.float64]]:
        """Return the spread with its values in order, and the distance of each value to the next, summing to 1."""
        ranks, gaps = self.ranked(spread.values, by_value=by_value)
        return _reordered(spread, ranks), gaps

    def ranked(self, values: Sequence[Any], *, by_value: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rank of every value, and the distance of each rank to the next, summing to 1."""
        ranks, number = self._ranks(values), len(values)
        if number == 1:
            return ranks, np.zeros(0)
        if not by_value:
            return ranks, np.full(number - 1, 1.0 / (number - 1))
        if not self.has_distances(values):
            needed = "finite numbers" if _are_numbers(values) else "numbers"
            raise ArgumentError(
                f"the value distance of {shown(self.attribute)} needs {needed}, and not all its values are; use another distance."
            )
        rising = sorted(values)  # not converted: large integers that differ may become the same floating-point number
        return ranks, np.array([(high - low) / (rising[-1] - rising[0]) for low, high in pairwise(rising)])

    def levels(self, values: Sequence[Any]) -> list[NDArray[np.int64]]:
        """Return the group of every value at each level of the hierarchy below its root; the last result is cached."""
        typed = [(type(value), value) for value in values]
        if self._last and self._last[0][0] == typed:
            return self._last[0][1]
        if self.hierarchy is None:
            raise ArgumentError(f"the hierarchical distance of {shown(self.attribute)} needs a hierarchy; give its file.")
        hierarchy = self.hierarchy.with_root()
        if hierarchy.height == 0:
            raise HierarchyError(f"the hierarchy of {shown(self.attribute)} has no level above its values.")
        levels = [hierarchy.level(number).apply(values, self.attribute)[0] for number in range(hierarchy.height)]
        self._last[:] = [(typed, levels)]
        return levels

    def _ranks(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Return the rank of every value."""
        if self.order is None:
            if None in values and _are_numbers([value for value in values if value is not None]):
                raise ArgumentError(
                    f"{shown(self.attribute)} holds nulls, which have no rank among numbers; leave their records out "
                    "(nulls='drop'), or use another distance."
                )
            if not _are_numbers(values):
                raise ArgumentError(f"the values of {shown(self.attribute)} have no order; give one, or use another distance.")
            return np.argsort(sorted(range(len(values)), key=values.__getitem__))
        place = {str(value): at for at, value in enumerate(self.order)}
        missing = sum(str(value) not in place for value in values)
        if missing:
            raise ArgumentError(
                f"{missing:,} of the {len(values):,} values of {shown(self.attribute)} are not in the order given."
            )
        return np.argsort(np.argsort([place[str(value)] for value in values]))


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _reordered(spread: Spread, ranks: NDArray[np.int64]) -> Spread:
    """Return the spread with values numbered by rank, each class's cells in that order."""
    if np.array_equal(ranks, np.arange(len(ranks))):
        return spread
    value = ranks[spread.value]
    order = np.lexsort((value, spread.of_class))
    back = np.argsort(ranks)
    values = [spread.values[at] for at in back.tolist()]
    return replace(spread, values=values, value=value[order], n=spread.n[order], whole=spread.whole[back])


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
