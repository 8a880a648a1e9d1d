"""The base of the rules for sensitive cells: which cells are primary, and the protection that each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from unveil.errors import ArgumentError, TableError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["On", "TableRule", "contributions", "no_level", "numbers_of", "values"]

On: TypeAlias = Literal["count", "value"]


@runtime_checkable
class TableRule(Protocol):
    """A rule: one file, one class, and one line in the list of rules or the decorator `register`.

    A rule that uses more than two of the largest contributions to a cell gives their number in an attribute `contributors`.

    Attributes
    ----------
    word
        Its name on the command line, where the class method `read` makes the rule from the text after it.
    on
        The figures it is about: the counts or the values.
    attack
        The attacks it protects against.
    """

    word: ClassVar[str]
    on: ClassVar[On]
    attack: ClassVar[str]

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells that are sensitive by the rule."""

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return the required uncertainty of every sensitive cell above and below its value; 0: not known exactly."""

    def words(self) -> str:
        """Return the rule as it is written."""


def no_level(table: CrossTable) -> NDArray[np.float64]:
    """Return the level of a rule that only requires that a cell is not known exactly."""
    return np.zeros(len(table.n))


def contributions(table: CrossTable, least: int) -> NDArray[np.float64]:
    """Return the largest contributions of every cell, at least `least` of them."""
    if table.top is None:
        raise TableError("this rule concerns contributions to a value, but the table has none; name a column of values.")
    if table.top.shape[1] < least:
        raise TableError(
            f"the rule concerns {least} contributors, but the table keeps {table.top.shape[1]}; build it with top={least}."
        )
    return table.top


def values(table: CrossTable) -> NDArray[np.float64]:
    """Return the total of all contributions: the value, or for signed values the sum of their absolute values."""
    if table.value is None:
        raise TableError("this rule concerns values, but the table has none; name a column of values.")
    return table.size if table.signed and table.size is not None else table.value


def numbers_of(word: str, text: str, form: str, least: int, most: int) -> list[float]:
    """Read the numbers of a rule, as in 2:85."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if not least <= len(numbers) <= most or not all(np.isfinite(numbers)):
        raise ArgumentError(f"the rule {word} must be written as {form}, not {shown(f'{word}={text}')}.")
    return numbers
