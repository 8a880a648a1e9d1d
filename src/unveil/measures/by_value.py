"""What does each value of a key say? Rates by class, and which of the values may be shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes
from unveil.results import jsonable
from unveil.results.masked_rows import Rows
from unveil.results.masking import MASK, masked_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ByValue"]


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """The rate of every value, or combination of values, of the key.

    Attributes
    ----------
    classes
        The classes of the key.
    dr
        :math:`1 - p(y) H(X|Y=y) / H(X)`: what stays uncertain through this value, weighted by how common it is.
    posterior
        :math:`1 - H(X|Y=y) / H(X)`: what is refined for those who hold this value; it can be negative.
    telling
        Whether the value gives a sensitive value of those who hold it away (`results.masking`); not said of record identity.
    hidden, small
        Which values are masked, and below how many records the count is given nevertheless; None: nothing is masked.
    """

    classes: Classes
    dr: NDArray[np.float64]
    posterior: NDArray[np.float64]
    telling: NDArray[np.bool_]
    hidden: NDArray[np.bool_] | None = None
    small: int = 0

    def masked(self, small: int) -> ByValue:
        """Return the same without the values that are small or telling, and one more, so that none follows from the others."""
        if self.hidden is not None or not small:
            return self
        whole = hashlib.blake2b(b"".join(part.tobytes() for part in (*self.classes.codes, self.classes.n, self.posterior)))
        return replace(self, hidden=masked_values(self.classes.n, self.telling, small, whole.digest()), small=small)

    def riskiest(self, most: int | None = None) -> NDArray[np.int64]:
        """Return the classes in order of risk: most refined first, then the larger class."""
        return np.lexsort((-self.classes.n, -np.round(self.posterior, 12)))[:most]

    def to_columns(self, order: NDArray[np.int64] | None = None) -> dict[str, list[Any]]:
        """Return key values, count, dr and posterior by column, in the order given.

        Of what is masked for another reason than being small, the count is left out, and dr, which would tell it.
        """
        rows = np.arange(len(self.dr)) if order is None else order
        hidden = np.zeros(len(rows), dtype=bool) if self.hidden is None else self.hidden[rows]
        uncounted = hidden & (self.classes.n[rows] >= self.small)
        found: dict[str, list[Any]] = {}
        for column, codes in zip(self.classes.columns, self.classes.codes, strict=True):
            found[_called(column.name)] = _without([column.values[code] for code in codes[rows].tolist()], hidden, MASK)
        found["count"] = _without(self.classes.n[rows].tolist(), uncounted, None)
        found["dr"] = _without(self.dr[rows].tolist(), uncounted, None)
        found["posterior"] = self.posterior[rows].tolist()
        return found

    def to_rows(self) -> Rows:
        """Return one object per class, riskiest first."""
        order = self.riskiest()
        columns = jsonable(self.to_columns(order))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        attributes = {_called(column.name): column.name for column in self.classes.columns}
        return Rows(rows, attributes, self.classes.n[order].tolist(), self.telling[order].tolist())


def _called(name: str) -> str:
    """Return what a key column is called beside the figures."""
    return f"key.{name}" if name in ("count", "dr", "posterior") else name


def _without(values: list[Any], which: NDArray[np.bool_], instead: Any) -> list[Any]:
    """Return values with something else in the place of some."""
    for at in np.flatnonzero(which).tolist():
        values[at] = instead
    return values
