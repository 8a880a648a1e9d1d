"""Which releases are undominated? One release dominates another if it is nowhere worse and somewhere better.

Of releases with equal figures, only the one with the least loss is kept; of equal losses, the one with the lowest levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unveil.measures import beyond_chance, mean
from unveil.search.lattice.node_rates import DECIMALS
from unveil.search.lattice.space import Node, lowest_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FrontPoint", "Thresholds", "Undominated", "exceeds"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A generalisation and its figures.

    Attributes
    ----------
    node
        Its levels, counted from the lowest allowed.
    identity
        The mean rate of the original key attributes, each given its protected version; None if all are constant.
    homogeneity
        The rate of each sensitive attribute given the protected key; None for a constant one.
    degrees
        The degree to which each need is served; None for one whose target is constant.
    loss
        The share of the hierarchies' leaves that its values stand for.
    suppressed
        The records suppressed.
    """

    node: Node
    identity: float | None
    homogeneity: Mapping[str, float | None]
    degrees: Mapping[str, float | None]
    loss: float
    suppressed: int

    @property
    def risk(self) -> float:
        """The mean of identity and homogeneity risk: 1 minus the overall information loss of `unveil.attack`."""
        return mean([self.identity, mean([*self.homogeneity.values()])]) or 0.0

    @property
    def service(self) -> float:
        """The mean degree of the needs."""
        return mean([*self.degrees.values()]) or 0.0

    @property
    def rank(self) -> tuple[float, tuple[int, Node]]:
        """The order of releases with equal figures: by loss, then by levels, the lower ones first."""
        return round(self.loss, DECIMALS), lowest_first(self.node)

    @property
    def figures(self) -> NDArray[np.float64]:
        """The figures by which releases are compared: negated risks, and degrees; higher is better."""
        risks = [-risk for risk in (self.identity, *self.homogeneity.values()) if risk is not None]
        return np.array([*risks, *(degree for degree in self.degrees.values() if degree is not None)])


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The highest risks allowed, and the lowest degrees, adjusted for chance."""

    identity: float | None = None
    homogeneity: float | None = None
    degrees: Mapping[str, float] = field(default_factory=dict)

    def missed(self, point: FrontPoint, adjusted: Mapping[str, float | None]) -> dict[str, tuple[float, float]]:
        """Return the thresholds that a release misses, given its adjusted degrees: for each, its figure and the required one."""
        risks = {"identity": (point.identity, self.identity)}
        risks |= {f"homogeneity of {name}": (risk, self.homogeneity) for name, risk in point.homogeneity.items()}
        missed = {name: (risk or 0.0, most or 0.0) for name, (risk, most) in risks.items() if exceeds(risk, most)}
        for name, least in self.degrees.items():
            if self.misses(name, degree := beyond_chance(adjusted[name])):
                missed[f"adjusted degree of {name}"] = (degree, least)
        return missed

    def misses(self, name: str, degree: float | None) -> bool:
        """Whether the degree of a need is too low; one that is undefined is not.

        The plain degree is enough to rule a release out, because the adjusted one is never higher.
        """
        return degree is not None and degree < self.degrees.get(name, 0.0) - _TOLERANCE


def exceeds(risk: float | None, most: float | None) -> bool:
    """Whether a risk is higher than allowed."""
    return risk is not None and most is not None and risk > most + _TOLERANCE


class Undominated:
    """The releases that none of those offered dominates."""

    def __init__(self) -> None:
        self.points: list[FrontPoint] = []
        self._figures: NDArray[np.float64] = np.zeros((0, 0))

    def dominates(self, figures: NDArray[np.float64]) -> bool:
        """Whether a release found is nowhere worse than these figures, and somewhere better."""
        if not self.points:
            return False
        return bool(((self._figures >= figures).all(axis=1) & (self._figures > figures).any(axis=1)).any())

    def offer(self, point: FrontPoint) -> None:
        """Add a release unless it is dominated, and drop the releases that it dominates."""
        figures = point.figures
        if self.dominates(figures):
            return
        known = self._figures.reshape(-1, len(figures))
        alike = np.flatnonzero((known == figures).all(axis=1)).tolist()
        if any(self.points[at].rank <= point.rank for at in alike):
            return
        worse = np.asarray((known <= figures).all(axis=1))
        self.points = [*(one for one, out in zip(self.points, worse, strict=True) if not out), point]
        self._figures = np.vstack([known[~worse], figures])

    def sorted(self) -> Sequence[FrontPoint]:
        """Return the releases, the least risk first."""
        return sorted(self.points, key=lambda point: (point.risk, -point.service, *point.rank))
