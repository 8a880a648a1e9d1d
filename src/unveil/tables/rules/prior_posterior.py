"""The p/q rule: as p %, where everybody knew every contribution to within q per cent before the table was published."""

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
        How near is too near after publication, and how near everybody was before, in per cent; p is below q.
    """

    p: float
    q: float
    word: ClassVar[str] = "pq"
    on: ClassVar[On] = "value"
    attack: ClassVar[str] = "external, internal, dominance"

    def __post_init__(self) -> None:
        """Refuse numbers that make no rule."""
        checked_number("p of the p/q rule", self.p, above=0)
        checked_number("q of the p/q rule", self.q, above=0)
        if self.p >= self.q:
            raise ArgumentError(
                f"the p/q rule has p below q, not {self.p:g} and {self.q:g}: publication must not be what protects."
            )

    @classmethod
    def read(cls, text: str) -> PriorPosteriorRule:
        """Read the rule from a command line."""
        return cls(*numbers_of(cls.word, text, "pq=P:Q", 2, 2))

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells whose largest contribution can be estimated too well."""
        top = contributions(table, 2)
        others = values(table) - top[:, 0] - top[:, 1]
        return (table.units > 0) & (self.q * others < self.p * top[:, 0])

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return what the others lack to hide the largest."""
        top = contributions(table, 2)
        return self.p / self.q * top[:, 0] - (values(table) - top[:, 0] - top[:, 1])

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"pq={self.p:g}:{self.q:g}"
