"""Which privacy models does a table meet? k-anonymity and related models, each a frozen object.

Without a threshold, a model measures; with one, it is a requirement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.measures import Equivalence, Spread
from unveil.models import diversity
from unveil.models.base import TOLERANCE, Model, Place, SensitiveModel, bounded_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from unveil.models.closeness import Scale

__all__ = [
    "AlphaK",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "KAnonymity",
    "PSensitiveKAnonymity",
    "RecursiveLDiversity",
]

_MOST_DECISIVE = 64
"""Recursive diversity is reported for l up to the distinct l, and no further than this unless it is required."""


@checked_arguments
@dataclass(frozen=True)
class KAnonymity(Model):
    """Every class holds at least k records, or k persons if persons are distinguished (Samarati 2001, Sweeney 2002).

    Examples
    --------
    >>> KAnonymity(5).requirement
    'k_anonymity >= 5'
    """

    k: int | None = None
    name: ClassVar[str] = "k_anonymity"
    label: ClassVar[str] = "k-anonymity"
    judged_on = "size"
    whole: ClassVar[bool] = True
    safe_is_high: ClassVar[bool] = True

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the size of every class."""
        return classes.size

    @property
    def threshold(self) -> float | None:
        """The required k."""
        return self.k


@checked_arguments
@dataclass(frozen=True)
class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l distinct sensitive values (Machanavajjhala et al. 2007)."""

    l: int | None = None  # noqa: E741 - the model's own letter
    name: ClassVar[str] = "distinct_l_diversity"
    label: ClassVar[str] = "distinct l-diversity"
    whole: ClassVar[bool] = True
    safe_is_high: ClassVar[bool] = True

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the number of sensitive values in every class."""
        return self.spread(classes).distinct.astype(np.float64)

    @property
    def threshold(self) -> float | None:
        """The required l."""
        return self.l

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:  # noqa: ARG002 - all of them
        """Return 1: parts of a class hold no more values than the class."""
        return wrong.astype(np.float64)


@checked_arguments
@dataclass(frozen=True)
class PSensitiveKAnonymity(SensitiveModel):
    """k-anonymity with at least p distinct sensitive values in every class (Truta and Vinay 2006); its figure is p."""

    p: int | None = None
    k: int | None = None
    name: ClassVar[str] = "p_sensitivity"
    label: ClassVar[str] = "p-sensitivity"
    whole: ClassVar[bool] = True
    safe_is_high: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a k that means nothing, or that has no threshold beside it."""
        super().__post_init__()
        self._check_size(self.k)

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the number of sensitive values in every class; 0 if the class is smaller than the required k."""
        distinct = self.spread(classes).distinct.astype(np.float64)
        return distinct if self.k is None else np.where(classes.size < self.k - TOLERANCE, 0.0, distinct)

    @property
    def least_size(self) -> int | None:
        """The required k."""
        return self.k

    @property
    def threshold(self) -> float | None:
        """The required p."""
        return self.p

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:  # noqa: ARG002 - all of them
        """Return 1: parts of a class hold no more values than the class."""
        return wrong.astype(np.float64)

    @property
    def requirement(self) -> str | None:
        """The thresholds in words."""
        return None if self.p is None else f"p_sensitivity >= {self.p}" + (f" with k >= {self.k}" if self.k else "")

    def reason(self, value: float) -> str | None:
        """Return the reason why the figure is 0."""
        return f"a class is smaller than {self.k}" if value == 0.0 else None


@checked_arguments
@dataclass(frozen=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive values in every class is at least log2 l; the figure 2^H compares with l directly."""

    l: float | None = None  # noqa: E741 - the model's own letter
    name: ClassVar[str] = "entropy_l_diversity"
    label: ClassVar[str] = "entropy l-diversity"
    safe_is_high: ClassVar[bool] = True

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return 2^H of every class, with its entropy H in bits."""
        return diversity.effective_values(self.spread(classes))

    @property
    def threshold(self) -> float | None:
        """The required l."""
        return self.l

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the bound for the entropy, which is concave and lies between 0 and log l in a violating class."""
        shares = np.zeros(len(figures))
        if self.l is not None:
            shares[wrong] = 1.0 - np.log(figures[wrong]) / math.log(self.l)
        return np.clip(shares, 0.0, 1.0)


@checked_arguments
@dataclass(frozen=True)
class RecursiveLDiversity(SensitiveModel):
    """In every class the most frequent value is rarer than c times all but the l - 1 most frequent: r_1 < c (r_l + ... + r_m).

    The figure is the infimum of the c that the table meets for l; the requirement is strict.
    """

    l: int = 2  # noqa: E741 - the model's own letter
    c: float | None = None
    name: ClassVar[str] = "recursive_l_diversity"
    label: ClassVar[str] = "recursive diversity, c for l"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse an invalid l."""
        checked_count("the l of recursive (c, l)-diversity", self.l, least=2)
        super().__post_init__()

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the infimum of c for every class."""
        return diversity.recursive_c(self.spread(classes), self.l)

    @property
    def threshold(self) -> float | None:
        """The required c."""
        return self.c

    @property
    def place(self) -> Place:
        """Its place in an answer: under its l."""
        return (self.name, self.attribute, str(self.l))

    @classmethod
    def measures_of(cls, attribute: str, spread: Spread, scale: Scale | None) -> Iterator[RecursiveLDiversity]:  # noqa: ARG003
        """Yield the measures of c for l up to the distinct l, and no further than 64."""
        yield from (cls(attribute, length) for length in range(2, min(int(spread.distinct.min()), _MOST_DECISIVE) + 1))

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.c is None else f"recursive ({self.c:g}, {self.l})-diversity"

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes do not meet the requirement, which is strict: ties violate it."""
        return np.zeros(len(figures), dtype=bool) if self.c is None else figures >= self.c - TOLERANCE

    def reason(self, value: float) -> str | None:
        """Return the reason why no c could be met."""
        return f"a class holds fewer than {self.l} values" if np.isinf(value) else None


@checked_arguments
@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """(alpha, k)-anonymity: no value has a share above alpha in a class, and every class holds k records (Wong et al. 2006)."""

    alpha: float | None = None
    k: int | None = None
    name: ClassVar[str] = "alpha"
    label: ClassVar[str] = "alpha"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    safe_is_high: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a k that means nothing, or that has no threshold beside it."""
        super().__post_init__()
        self._check_size(self.k)

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the largest share of a value in every class; infinite if the class is smaller than the required k."""
        share = diversity.largest_share(self.spread(classes))
        return share if self.k is None else np.where(classes.size < self.k - TOLERANCE, np.inf, share)

    @property
    def least_size(self) -> int | None:
        """The required k."""
        return self.k

    @property
    def threshold(self) -> float | None:
        """The required alpha."""
        return self.alpha

    def lasting(self, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the bound for the largest share, up to 1; 1 for a class that is too small, as its parts are also too small."""
        if self.alpha is None or self.alpha + TOLERANCE >= 1.0:
            return wrong.astype(np.float64)
        return bounded_share(figures, wrong, self.alpha)

    @property
    def requirement(self) -> str | None:
        """The thresholds in words."""
        return None if self.alpha is None else f"alpha <= {self.alpha:g}" + (f" with k >= {self.k}" if self.k else "")

    def reason(self, value: float) -> str | None:
        """Return the reason why no alpha could be met."""
        return f"a class is smaller than {self.k}" if np.isinf(value) else None


@checked_arguments
@dataclass(frozen=True)
class BasicBetaLikeness(SensitiveModel):
    """No value gains more than beta in a class, relative to its share in the whole table (Cao and Karras 2012)."""

    beta: float | None = None
    name: ClassVar[str] = "basic_beta_likeness"
    label: ClassVar[str] = "basic beta-likeness"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the largest relative gain in every class."""
        return diversity.basic_beta(self.spread(classes))

    @property
    def threshold(self) -> float | None:
        """The required beta."""
        return self.beta


@checked_arguments
@dataclass(frozen=True)
class EnhancedBetaLikeness(SensitiveModel):
    """As basic beta-likeness, and no value gains more than -ln q, so that frequent values are protected as well."""

    beta: float | None = None
    name: ClassVar[str] = "enhanced_beta_likeness"
    label: ClassVar[str] = "enhanced beta-likeness"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the least beta that each class meets."""
        return diversity.enhanced_beta(self.spread(classes))

    @property
    def threshold(self) -> float | None:
        """The required beta."""
        return self.beta

    def reason(self, value: float) -> str | None:
        """Return the reason why no beta could be met."""
        return "in a class a value gains more than -ln of its share, which no beta allows" if np.isinf(value) else None


@checked_arguments
@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """In every class every value's share is within a factor e^delta of the whole table's (Brickell and Shmatikov 2008)."""

    delta: float | None = None
    name: ClassVar[str] = "delta_disclosure"
    label: ClassVar[str] = "delta-disclosure"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the largest absolute ln(p/q) of every class."""
        return diversity.delta_disclosure(self.spread(classes))

    @property
    def threshold(self) -> float | None:
        """The required delta."""
        return self.delta

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.delta is None else f"delta_disclosure < {self.delta:g}"

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes are not below delta: the requirement is strict."""
        return np.zeros(len(figures), dtype=bool) if self.delta is None else figures >= self.delta - TOLERANCE

    def reason(self, value: float) -> str | None:
        """Return the reason why no delta could be met."""
        return "a class lacks a value that the whole table holds" if np.isinf(value) else None
