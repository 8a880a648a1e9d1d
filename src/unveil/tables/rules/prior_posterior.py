"""The p/q rule: like the p % rule, if everyone knew every contribution to within q per cent before publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unveil.arguments import checked_number
from unveil.errors import ArgumentError
from unveil.tables.rules.base import On, contributions, numbers_of, values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["PriorPosteriorRule"]


@dataclass(frozen=True, slots=True)
class PriorPosteriorRule:
    r"""A cell is sensitive if :math:`q (X - x_1 - x_2) < p\, x_1`, strictly.

    Its level is :math:`U = \tfrac{p}{q} x_1 - (X - x_1 - x_2)`.

    Parameters
    ----------
    p, q
        The distance, in per cent, below which an estimate is too close after publication, and the accuracy of everyone's
        estimates before; p must be below q.
    """

    p: float
    q: float
    word: ClassVar[str] = "pq"
    on: ClassVar[On] = "value"
    attack: ClassVar[str] = "external, internal, dominance"

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        checked_number("p of the p/q rule", self.p, above=0)
        checked_number("q of the p/q rule", self.q, above=0)
        if self.p >= self.q:
            raise ArgumentError(
                f"the p/q rule requires p below q, not {self.p:g} and {self.q:g}: else contributions were known too well before."
            )

    @classmethod
    def read(cls, text: str) -> PriorPosteriorRule:
        """Read the rule from a command line."""
        return cls(*numbers_of(cls.word, text, "pq=P:Q", 2, 2))

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells whose largest contribution can be estimated too closely."""
        top = contributions(table, 2)
        others = values(table) - top[:, 0] - top[:, 1]
        return (table.units > 0) & (self.q * others < self.p * top[:, 0])

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return the amount by which the others fall short of hiding the largest."""
        top = contributions(table, 2)
        return self.p / self.q * top[:, 0] - (values(table) - top[:, 0] - top[:, 1])

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"pq={self.p:g}:{self.q:g}"
