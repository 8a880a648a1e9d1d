"""The threshold rule: a cell with too few contributors is sensitive.

It protects against the external attack (the published value is that of the only contributor) and the internal attack (each of
two contributors can compute the other's value from their own).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unveil.arguments import checked_count
from unveil.tables.rules.base import On, no_level, numbers_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["ThresholdRule"]


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    r"""A cell is sensitive if :math:`0 < n < k`; it must not be known exactly.

    Parameters
    ----------
    k
        The least number of contributors of a cell that is safe.
    """

    k: int
    word: ClassVar[str] = "threshold"
    on: ClassVar[On] = "count"
    attack: ClassVar[str] = "external, internal"

    def __post_init__(self) -> None:
        """Refuse a threshold that no cell could fall below."""
        checked_count("threshold", self.k, least=2)

    @classmethod
    def read(cls, text: str) -> ThresholdRule:
        """Read the rule from a command line."""
        number = numbers_of(cls.word, text, "threshold=K", 1, 1)[0]
        return cls(int(number) if number.is_integer() else number)  # type: ignore[arg-type]

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells with at least one contributor, but fewer than the threshold."""
        return (table.units > 0) & (table.units < self.k)

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return 0: the cell must not be known exactly."""
        return no_level(table)

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"threshold={self.k}"
