"""The (n,k) dominance rule: a cell is sensitive if its n largest contributors make up more than k per cent of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_count, checked_number
from unveil.tables.rules.base import On, contributions, numbers_of, values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["DominanceRule"]


@dataclass(frozen=True, slots=True)
class DominanceRule:
    r"""A cell is sensitive if :math:`x_1 + \dots + x_n > \tfrac{k}{100} X`, strictly.

    Its level is :math:`U = \tfrac{100}{k} (x_1 + \dots + x_n) - X`: the increase of the total that would make the cell safe.

    Parameters
    ----------
    n, k
        The number of contributors, and the share of the total in per cent.
    """

    n: int
    k: float
    word: ClassVar[str] = "dominance"
    on: ClassVar[On] = "value"
    attack: ClassVar[str] = "dominance"

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        checked_count("the number of contributors of a dominance rule", self.n, least=1)
        checked_number("the share of a dominance rule", self.k, above=0, most=100)

    @property
    def contributors(self) -> int:
        """The number of largest contributions that it uses."""
        return self.n

    @classmethod
    def read(cls, text: str) -> DominanceRule:
        """Read the rule from a command line."""
        n, k = numbers_of(cls.word, text, "dominance=N:K", 2, 2)
        return cls(int(n) if n.is_integer() else n, k)  # type: ignore[arg-type]

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells that are dominated by few contributors."""
        dominating = contributions(table, self.n)[:, : self.n].sum(axis=1)
        return np.asarray((table.units > 0) & (100 * dominating > self.k * values(table)))

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return the increase of the total that would make each cell safe."""
        return np.asarray(100 / self.k * contributions(table, self.n)[:, : self.n].sum(axis=1) - values(table))

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"dominance={self.n}:{self.k:g}"
