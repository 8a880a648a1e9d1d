"""The base of privacy models: a figure for every class, the class that decides, and, given a threshold, whether it holds.

A model is a small frozen object. Without a threshold it is a measure ("what k does this table have?"), with one a requirement
("k at least 5?"); `measure` answers both. It holds everything that other rooms must know: its figure for a class, whether it
needs a population, which sensitive attribute it is about, its threshold in words, and how much of a violation persists however
a class is split. A new model is one file with a subclass, and one line in `models/registry.py`; `check` and `compare` then know
it by its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from unveil.arguments import checked_count, shown_number
from unveil.errors import ArgumentError, shown
from unveil.formats import jsonable
from unveil.measures import Equivalence, Spread
from unveil.models.written import attribute_of, number_of, split
from unveil.results import DecidingClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from unveil.models.closeness import Scale
    from unveil.models.population import Population

__all__ = ["TOLERANCE", "EarthMover", "Measured", "Model", "Place", "SensitiveModel", "bounded_share", "check_threshold"]

Place: TypeAlias = tuple[str, ...]
"""The place of a model in an answer: its name, its sensitive attribute, and its distance or l if there are several."""

_LARGEST = 2**63 - 1

TOLERANCE = 1e-9
"""The tolerance by which a class may miss a threshold, so that three equally frequent values meet an entropy l of 3."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The figure of a model for a table.

    Attributes
    ----------
    value
        The figure of the deciding class; infinite if no threshold could be met.
    worst_class
        The deciding class: its key values and size; None if no single class decides.
    requirement, met
        The required threshold, and whether the table meets it.
    violating_classes, violating_records
        The number of classes, and of records in them, that do not meet it.
    reason
        The reason why the value is infinite or missing.
    of_population
        Whether the figure is about the people of a population.
    """

    value: float | None
    worst_class: DecidingClass | None = None
    requirement: str | None = None
    met: bool | None = None
    violating_classes: int | None = None
    violating_records: int | None = None
    reason: str | None = None
    of_population: bool = field(default=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        document: dict[str, Any] = {"value": jsonable(self.value), "worst_class": jsonable(self.worst_class)}
        if self.reason is not None:
            document["reason"] = self.reason
        if self.requirement is not None:
            document["requirement"] = self.requirement
            document["met"] = self.met
            if self.violating_classes is not None:
                document["violations"] = {"classes": self.violating_classes, "records": self.violating_records}
        return document


def bounded_share(figures: NDArray[np.float64], wrong: NDArray[np.bool_], bound: float) -> NDArray[np.float64]:
    """Return the lasting share for a figure that is convex in the distribution of a class, and at most 1."""
    shares = np.zeros(len(figures))
    shares[wrong] = (figures[wrong] - bound - TOLERANCE) / (1.0 - bound - TOLERANCE)
    return np.clip(shares, 0.0, 1.0)


def check_threshold(name: str, threshold: Any, among: tuple[float, float], *, whole: bool) -> None:
    """Refuse a threshold outside its range; None means that there is no threshold."""
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ArgumentError(f"the threshold of {name} is a number, not {type(threshold).__name__}.")
    low, high = among
    too_long = isinstance(threshold, int) and threshold > _LARGEST
    if too_long or not low <= threshold <= high or (whole and not float(threshold).is_integer()):
        kind = "a whole number" if whole else "a number"
        raise ArgumentError(f"the threshold of {name} is {kind} from {low:g} to {high:g}, not {shown_number(threshold)}.")


@dataclass(frozen=True, slots=True, eq=False)
class EarthMover:
    """An earth mover's distance in the form for compiled code.

    Attributes
    ----------
    groups
        The group of every value at each level of a hierarchy; empty if the values are ordered.
    order, gaps
        The values in their order, and the distance of each to the next; empty if they are not ordered.
    """

    groups: NDArray[np.int64]
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A figure for every class; the figure of the table is that of the worst class.

    Attributes
    ----------
    name, label
        Its name in an answer, and in words.
    safe_is_high, whole, range
        Whether a higher figure is safer, whether it is a number of records or values, and the range of thresholds.
    judged_on
        The basis of a requirement: the figure of every "class"; the "size" of a class, and nothing else; its size in the
        "population"; the probability of "presence" in every class of the population; the "average" over all records; the
        "sizes" of all classes together; or the "payoff" of every class, which follows from its size and its information loss.
    closed
        Whether the union of classes that meet it also meets it; otherwise only the lattice is searched for it.
    of_sensitive
        Whether it is about a sensitive attribute, with a figure for each.
    on_request
        Whether a table is measured by it only if it is required, because it needs inputs that the data does not hold, or
        because another model has its figure.
    word
        The word that names it in a project file and in the settings of a step; None: it has no word of its own.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    safe_is_high: ClassVar[bool]
    whole: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (1.0, math.inf)
    judged_on: ClassVar[Literal["class", "size", "population", "presence", "average", "sizes", "payoff"]] = "class"
    closed: ClassVar[bool] = True
    of_sensitive: ClassVar[bool] = False
    on_request: ClassVar[bool] = False
    word: ClassVar[str] = ""

    @classmethod
    def measures(cls) -> Iterator[Model]:
        """Yield the measures of this kind, without a threshold, that every table has."""
        yield cls()

    @classmethod
    def with_threshold(cls, threshold: float | None, attribute: str | None = None) -> Model:  # noqa: ARG003 - of the key alone
        """Return the model that a rule states; to be overridden where the threshold is not its first own argument."""
        return cls(cls._number(threshold))  # type: ignore[call-arg]

    @classmethod
    def read(cls, text: str, sensitive: Sequence[str]) -> Model:
        """Return the model stated by a text after its `word`: THRESHOLD or THRESHOLD[:ATTRIBUTE]; to be overridden for more."""
        number, rest = split(text)
        if rest is not None and not cls.of_sensitive:
            raise ArgumentError(f"`{cls.word}` takes a number, not {shown(text)}.")
        threshold = number_of(number, f"`{cls.word}`", text)
        check_threshold(cls.name, threshold, cls.range, whole=cls.whole)
        return cls.with_threshold(threshold, attribute_of(rest, sensitive, text) if cls.of_sensitive else None)

    @classmethod
    def _number(cls, threshold: float | None) -> float | None:
        return int(threshold) if threshold is not None and cls.whole else threshold

    @property
    def needs_population(self) -> bool:
        """Whether the table is compared with the population from which it was drawn."""
        return self.judged_on in ("population", "presence")

    @property
    def sensitive(self) -> str | None:
        """The sensitive attribute that it is about, or several joined by " + "; None: the key alone."""
        return None

    @property
    def least_size(self) -> int | None:
        """The least number of records, or persons, of a class; None: it requires no size."""
        return int(self.threshold) if self.judged_on == "size" and self.threshold is not None else None

    @property
    def least_people(self) -> int | None:
        """The least number of people in the population who share the key of a class; None: it requires none."""
        return int(self.threshold) if self.judged_on == "population" and self.threshold is not None else None

    @property
    def place(self) -> Place:
        """Its place in an answer."""
        return (self.name,) if self.sensitive is None else (self.name, self.sensitive)

    @property
    def needs_hierarchy(self) -> bool:
        """Whether its sensitive attribute must have a hierarchy."""
        return False

    def with_scale(self, scales: Mapping[str, Scale]) -> Model:  # noqa: ARG002 - of those that have one
        """Return the model with the scale of its attribute: how its values relate to each other."""
        return self

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:  # noqa: ARG002 - no bound
        """Return the share of each violating class's records that violate it however the class is split; 0 is always valid.

        It is 1 if every class that contains a class which meets the requirement also meets it.
        """
        return np.zeros(len(figures))

    def earth_mover(self, values: Sequence[Any]) -> EarthMover | None:  # noqa: ARG002 - none here
        """Return the earth mover's distance from the whole table that it bounds, if it bounds one."""
        return None

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the figure of every class."""
        raise NotImplementedError

    @property
    def threshold(self) -> float | None:
        """The figure that every class must reach, or must not exceed; None if this is a measure."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Refuse a threshold outside the range of the figure."""
        check_threshold(self.name, self.threshold, self.range, whole=self.whole)

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        sign = ">=" if self.safe_is_high else "<="
        return None if self.threshold is None else f"{self.name} {sign} {self.threshold:g}"

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes do not meet the threshold; an infinite figure meets no threshold."""
        if self.threshold is None:
            return np.zeros(len(figures), dtype=bool)
        if self.safe_is_high:
            return figures < self.threshold - TOLERANCE
        return (figures > self.threshold + TOLERANCE) | np.isinf(figures)

    def reason(self, value: float) -> str | None:
        """Return the reason why a value is infinite, if it is."""
        return "no threshold could be met" if math.isinf(value) else None

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:  # noqa: ARG002 - classes only
        """Measure a table: the figure of the worst class, that class, and whether the requirement holds."""
        measured, worst = self.judge(classes)
        return replace(measured, worst_class=classes.describe(worst))

    def judge(self, classes: Equivalence) -> tuple[Measured, int]:
        """Return the figure of the worst class, with whether the requirement holds, and the number of that class."""
        figures = self.by_class(classes)
        worst = _worst(figures, classes.size, high=not self.safe_is_high)
        value = float(figures[worst])
        violated = self.violated(figures)
        required = self.requirement is not None
        measured = Measured(
            value=int(value) if value.is_integer() and self.whole else value,
            requirement=self.requirement,
            met=not violated.any() if required else None,
            violating_classes=int(violated.sum()) if required else None,
            violating_records=int(classes.own.sum(where=violated)) if required else None,
            reason=self.reason(value),
        )
        return measured, worst


@dataclass(frozen=True)
class SensitiveModel(Model):
    """A model of one sensitive attribute (or of several jointly, their names joined by " + ")."""

    of_sensitive: ClassVar[bool] = True
    attribute: str

    @classmethod
    def with_threshold(cls, threshold: float | None, attribute: str | None = None) -> Model:
        """Return the model that a rule states about an attribute."""
        return cls(attribute or "", cls._number(threshold))  # type: ignore[call-arg]

    @property
    def sensitive(self) -> str | None:
        """The sensitive attribute."""
        return self.attribute

    @classmethod
    def measures_of(cls, attribute: str, spread: Spread, scale: Scale | None) -> Iterator[SensitiveModel]:  # noqa: ARG003 - one for all
        """Yield the measures of this kind, without a threshold, that an attribute has."""
        yield cls(attribute)

    def _check_size(self, k: int | None) -> None:
        """Refuse a minimum class size that is invalid, or that has no threshold beside it and would not be checked."""
        if k is None:
            return
        checked_count(f"the k of {self.name}", k, least=1)
        if self.threshold is None:
            raise ArgumentError(f"{self.name} is given a k of {k} but no threshold of its own; use KAnonymity({k}) instead.")

    def spread(self, classes: Equivalence) -> Spread:
        """Return the spread of the attribute over the classes."""
        if self.attribute not in classes.spreads:
            known = ", ".join(classes.spreads) or "none"
            raise ArgumentError(
                f"{self.name} asks for the sensitive attribute {shown(self.attribute)}; those measured are: {known}."
            )
        return classes.spreads[self.attribute]


def _worst(figures: NDArray[np.float64], size: NDArray[np.float64], *, high: bool) -> int:
    """Return the class with the worst figure; of equal ones the largest, as it concerns most people, then the first."""
    best = figures.max() if high else figures.min()
    worst = np.flatnonzero(figures == best)
    return int(worst[size[worst].argmax()]) if len(worst) else 0  # a NaN equals nothing
