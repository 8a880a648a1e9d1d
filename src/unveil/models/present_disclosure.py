r"""delta-disclosure as in ARX: in bits, and only over the values that a class holds.

With p the share of a value in a class and q its share in the whole table, :math:`\max_x |\log_2 (p / q)|` over the values x that
the class *holds* stays below delta. The absence of a value also discloses something, which the definition of Brickell and
Shmatikov (`DeltaDisclosure`) takes into account and this one does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unveil.arguments import checked_arguments
from unveil.measures import Equivalence
from unveil.models import diversity
from unveil.models.base import TOLERANCE, SensitiveModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PresentDeltaDisclosure"]


@checked_arguments
@dataclass(frozen=True)
class PresentDeltaDisclosure(SensitiveModel):
    """In every class the share of every value that it holds is within a factor 2^delta of the whole table's.

    Examples
    --------
    >>> PresentDeltaDisclosure("disease", 1.5).requirement
    'present_delta_disclosure < 1.5'
    """

    delta: float | None = None
    name: ClassVar[str] = "present_delta_disclosure"
    label: ClassVar[str] = "delta-disclosure of values present"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    on_request: ClassVar[bool] = True  # a table is measured by plain delta-disclosure

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the largest absolute log2(p/q) of every class, over the values that it holds."""
        return diversity.present_disclosure(self.spread(classes)) / math.log(2.0)

    @property
    def threshold(self) -> float | None:
        """The required delta."""
        return self.delta

    @property
    def requirement(self) -> str | None:
        """The threshold in words."""
        return None if self.delta is None else f"{self.name} < {self.delta:g}"

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes are not below delta: the requirement is strict."""
        return figures >= (math.inf if self.delta is None else self.delta - TOLERANCE)
