"""What is a privacy model? A figure for every class, the class that decides, and, where a threshold is given, whether it holds.

A model is a small frozen object. Without a threshold it is a measure ("what k does this table have?"), with one a requirement
("k at least 5?"); both are answered by `measure`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.arguments import checked_count, shown_number
from unveil.errors import ArgumentError, shown
from unveil.measures.equivalence import Equivalence, Spread
from unveil.results import jsonable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TOLERANCE", "Measured", "Model", "SecretModel", "check_threshold"]

_LARGEST = 2**63 - 1

TOLERANCE = 1e-9
"""A class that misses a threshold by no more than this meets it: three equally frequent values have an entropy l of 3."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a model says of a table.

    Attributes
    ----------
    value
        The figure of the class that decides; infinite where no threshold would do.
    worst_class
        That class: its key values and size; None where no single class decides.
    requirement, met
        The threshold asked for, and whether the table meets it.
    violating_classes, violating_records
        How many classes, and records in them, do not meet it.
    reason
        Why the value is infinite or missing.
    """

    value: float | None
    worst_class: dict[str, Any] | None = None
    requirement: str | None = None
    met: bool | None = None
    violating_classes: int | None = None
    violating_records: int | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        found: dict[str, Any] = {"value": jsonable(self.value), "worst_class": jsonable(self.worst_class)}
        if self.reason is not None:
            found["reason"] = self.reason
        if self.requirement is not None:
            found["requirement"] = self.requirement
            found["met"] = self.met
            if self.violating_classes is not None:
                found["violations"] = {"classes": self.violating_classes, "records": self.violating_records}
        return found


def check_threshold(name: str, threshold: Any, among: tuple[float, float], *, whole: bool) -> None:
    """Refuse a threshold outside its range; None is the absence of one."""
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ArgumentError(f"the threshold of {name} is a number, not {type(threshold).__name__}.")
    low, high = among
    too_long = isinstance(threshold, int) and threshold > _LARGEST
    if too_long or not low <= threshold <= high or (whole and not float(threshold).is_integer()):
        kind = "a whole number" if whole else "a number"
        raise ArgumentError(
            f"the threshold of {name} is {kind} from {low:g} to {high:g}, so it is not {shown_number(threshold)}."
        )


@dataclass(frozen=True)
class Model:
    """A figure for every class; the table's own is that of the class that is worst off."""

    name: ClassVar[str]
    safe_is_high: ClassVar[bool]
    whole: ClassVar[bool] = False  # the figure is a number of records or values
    range: ClassVar[tuple[float, float]] = (1.0, math.inf)  # of the threshold

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the figure of every class."""
        raise NotImplementedError

    @property
    def threshold(self) -> float | None:
        """The figure that every class must reach, or must not exceed; None where this is a measure."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Refuse a threshold that no table could be asked for."""
        check_threshold(self.name, self.threshold, self.range, whole=self.whole)

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        sign = ">=" if self.safe_is_high else "<="
        return None if self.threshold is None else f"{self.name} {sign} {self.threshold:g}"

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes do not meet the threshold: an infinite figure, for which none would do, meets no threshold."""
        if self.threshold is None:
            return np.zeros(len(figures), dtype=bool)
        if self.safe_is_high:
            return figures < self.threshold - TOLERANCE
        return (figures > self.threshold + TOLERANCE) | np.isinf(figures)

    def reason(self, value: float) -> str | None:
        """Return why a value is infinite, where it is."""
        return "no threshold would do" if math.isinf(value) else None

    def measure(self, classes: Equivalence) -> Measured:
        """Measure a table: the figure of the worst class, the class, and whether the requirement holds."""
        figures = self.by_class(classes)
        worst = _worst(figures, classes.size, high=not self.safe_is_high)
        value = float(figures[worst])
        violated = self.violated(figures)
        required = self.requirement is not None
        return Measured(
            value=int(value) if value.is_integer() and self.whole else value,
            worst_class=classes.describe(worst),
            requirement=self.requirement,
            met=not violated.any() if required else None,
            violating_classes=int(violated.sum()) if required else None,
            violating_records=int(classes.own[violated].sum()) if required else None,
            reason=self.reason(value),
        )


@dataclass(frozen=True)
class SecretModel(Model):
    """A model of one sensitive attribute (or of several jointly, their names joined by " + ")."""

    attribute: str

    def _check_size(self, k: int | None) -> None:
        """Refuse a least size of a class that is none, or that stands without a threshold and would not be asked for."""
        if k is None:
            return
        checked_count(f"the k of {self.name}", k, least=1)
        if self.threshold is None:
            raise ArgumentError(f"{self.name} is given a k of {k} but no threshold of its own; ask for KAnonymity({k}) instead.")

    def spread(self, classes: Equivalence) -> Spread:
        """Return how the attribute spreads over the classes."""
        if self.attribute not in classes.spreads:
            known = ", ".join(classes.spreads) or "none"
            raise ArgumentError(
                f"{self.name} asks for the sensitive attribute {shown(self.attribute)}; those measured are: {known}."
            )
        return classes.spreads[self.attribute]


def _worst(figures: NDArray[np.float64], size: NDArray[np.float64], *, high: bool) -> int:
    """Return the class with the worst figure; of equals the largest, as it concerns most people, then the first."""
    best = figures.max() if high else figures.min()
    tied = np.flatnonzero(figures == best)
    return int(tied[np.argmax(size[tied])])
