"""The request rule: a cell is sensitive if its largest contributor requested protection and makes up enough of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unveil.arguments import checked_number
from unveil.errors import TableError
from unveil.tables.rules.base import On, contributions, no_level, numbers_of, values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["RequestRule"]


@dataclass(frozen=True, slots=True)
class RequestRule:
    r"""A cell is sensitive if its largest contributor requested protection and :math:`x_1 \ge \tfrac{s}{100} X`.

    Parameters
    ----------
    share
        The share of the cell, in per cent, from which a request counts.
    """

    share: float = 0.0
    word: ClassVar[str] = "request"
    on: ClassVar[On] = "value"
    attack: ClassVar[str] = "external, internal, dominance"

    def __post_init__(self) -> None:
        """Refuse an invalid share."""
        checked_number("the share of the request rule", self.share, least=0, most=100)

    @classmethod
    def read(cls, text: str) -> RequestRule:
        """Read the rule from a command line: request or request=PERCENT."""
        return cls(numbers_of(cls.word, text, "request=PERCENT", 1, 1)[0] if text else 0.0)

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells whose largest contributor requested protection."""
        if table.asked is None:
            raise TableError("the request rule requires a column that says who requested protection; name it (`request`).")
        first = contributions(table, 1)[:, 0]
        return (table.units > 0) & (table.asked > 0) & (table.asked >= first) & (100 * first >= self.share * values(table))

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return 0: the cell must not be known exactly."""
        return no_level(table)

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"request={self.share:g}" if self.share else "request"
