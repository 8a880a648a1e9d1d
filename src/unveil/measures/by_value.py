"""What does each value of a key say? Rates by class, and which of the values may be shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes, Column, Counts, group_sums_each
from unveil.formats import jsonable
from unveil.results import MASK, SMALL, Rows, masked_values
from unveil.run import in_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Codes

__all__ = ["CERTAIN", "LIKELY", "TIMES", "ByValue", "disclosing", "rows_of", "telling_classes", "telling_values"]

CERTAIN, LIKELY, TIMES = 0.8, 0.5, 10.0
"""The share of a class that discloses a value, the share that suffices for a rare one, and how many times rarer that is."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """The rate of every value, or combination of values, of the key.

    Attributes
    ----------
    classes
        The classes of the key.
    dr
        :math:`1 - p(y) H(X|Y=y) / H(X)`: 1 minus the uncertainty that remains for this value, weighted by how common it is.
    posterior
        :math:`1 - H(X|Y=y) / H(X)`: the refinement for the records that hold this value; it can be negative.
    telling
        Whether the value discloses a sensitive value of the records that hold it (`disclosing`); not judged for record identity.
    hidden, small
        Which values are masked, and the number of records below which a masked value's count is still given; None: nothing is
        masked.
    """

    classes: Classes
    dr: NDArray[np.float64]
    posterior: NDArray[np.float64]
    telling: NDArray[np.bool_]
    hidden: NDArray[np.bool_] | None = None
    small: int = 0

    def masked(self, small: int) -> ByValue:
        """Return the same without rare or disclosing values, and without one more, so that none follows from the others."""
        if self.hidden is not None or not small:
            return self
        whole = hashlib.blake2b(b"".join(part.tobytes() for part in (*self.classes.codes, self.classes.n, self.posterior)))
        return replace(self, hidden=masked_values(self.classes.n, self.telling, small, whole.digest()), small=small)

    def riskiest(self, most: int | None = None) -> NDArray[np.int64]:
        """Return the classes in order of risk: most refined first, then the larger class."""
        return np.lexsort((-self.classes.n, -np.round(self.posterior, 12)))[:most]

    def to_columns(self, order: NDArray[np.int64] | None = None) -> dict[str, list[Any]]:
        """Return key values, count, dr and posterior by column, in the order given.

        For values masked for another reason than being rare, the count is left out, and so is dr, which would reveal it.
        """
        rows = np.arange(len(self.dr)) if order is None else order
        hidden = np.zeros(len(rows), dtype=bool) if self.hidden is None else self.hidden[rows]
        uncounted = hidden & (self.classes.n[rows] >= self.small)
        columns: dict[str, list[Any]] = {}
        for column, codes in zip(self.classes.columns, self.classes.codes, strict=True):
            columns[_called(column.name)] = _without(_named(column, codes[rows]), hidden, MASK)
        columns["count"] = _without(self.classes.n[rows].tolist(), uncounted, None)
        columns["dr"] = _without(self.dr[rows].tolist(), uncounted, None)
        columns["posterior"] = self.posterior[rows].tolist()
        return columns

    def to_rows(self) -> Rows:
        """Return one object per class, riskiest first."""
        return rows_of([self])[0]


def rows_of(tables: Sequence[ByValue]) -> list[Rows]:
    """Return for each table one object per class, riskiest first."""
    orders = [table.riskiest() for table in tables]
    rows = [
        [
            dict(zip(cells, row, strict=True))
            for part in in_blocks(order)
            for cells in [jsonable(table.to_columns(part))]
            for row in zip(*cells.values(), strict=True)
        ]
        for table, order in zip(tables, orders, strict=True)
    ]
    attributes = [{_called(column.name): column.name for column in table.classes.columns} for table in tables]
    return [
        Rows(some, named, table.classes.n[order].tolist(), table.telling[order].tolist())
        for table, order, some, named in zip(tables, orders, rows, attributes, strict=True)
    ]


def disclosing(n: NDArray[Any], size: NDArray[Any], whole: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return, for each pair of a class and a sensitive value, whether the class discloses that its members hold the value.

    It does if all records of the class hold it, or all but one (whose owner then knows about all others); if at least `CERTAIN`
    of them do, and a guess is wrong at most half as often as without the key; or if at least `LIKELY` of them do, `TIMES` times
    its share in the whole table.

    Parameters
    ----------
    n, size
        The number of records of the class that hold the value, and of all records of the class.
    whole
        The share of the value in the whole table; 1: there is no other value, so there is nothing to disclose.

    Examples
    --------
    >>> import numpy as np
    >>> disclosing(np.array([5, 3]), np.array([5, 5]), np.array([0.4, 0.4])).tolist()
    [True, False]
    """
    share, wrong = n / size, 1.0 - n / size
    to_one_of_them = size - n <= 1.0
    certain = (share >= CERTAIN - _ROUNDING) & (wrong <= (1.0 - whole) / 2.0 + _ROUNDING)
    rare = (share >= LIKELY - _ROUNDING) & (share >= TIMES * whole - _ROUNDING)
    return np.asarray((to_one_of_them | certain | rare) & (whole < 1.0))


def telling_classes(classes: Classes, hidden: Classes, n: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which classes of the key disclose a sensitive value, given the number of records of each cell."""
    cells = disclosing(n, classes.n[classes.of_cell], (hidden.n / hidden.n.sum())[hidden.of_cell])
    return np.bincount(classes.of_cell, weights=cells, minlength=classes.number) > 0


def telling_values(
    counts: Counts, keys: Sequence[str], sensitive: Sequence[str], classes: Classes | None = None
) -> dict[str, set[Any]]:
    """Return the values that must not be named, by column; `classes` are those of the key, if they are already known.

    These are the values of a key attribute that disclose a sensitive value, and the sensitive values that few people hold besides
    those for whom they are disclosed, by one key attribute or by all of them together.
    """
    telling: dict[str, set[Any]] = {name: set() for name in (*sensitive, *keys)}
    columns = dict(zip(counts.names, zip(counts.columns, counts.codes, strict=True), strict=True))
    known = [columns[name] for name in keys]
    starts = np.cumsum([0, *(len(column.values) for column, _ in known)])
    n = counts.n.astype(np.float64)
    of_sensitive = [columns[name] for name in sensitive]
    questions: list[tuple[Sequence[Codes], Sequence[int], NDArray[Any]]] = [
        ([codes, hidden], [len(one.values), len(column.values)], n) for column, hidden in of_sensitive for one, codes in known
    ]
    together = None if len(keys) == 1 else counts.classes(keys) if classes is None else classes
    if together is not None:
        for column, hidden in of_sensitive:
            questions.append(([together.of_cell, hidden], [together.number, len(column.values)], n))
    sums = group_sums_each(questions)
    by_one_key, by_all = iter(sums), iter(sums[len(of_sensitive) * len(keys) :])
    for column, hidden in of_sensitive:
        whole = np.bincount(hidden, weights=n, minlength=len(column.values))
        pairs, held = zip(*islice(by_one_key, len(keys)), strict=True)
        by_one = np.concatenate([codes + start for (codes, _), start in zip(pairs, starts[:-1], strict=True)])
        by_value = np.concatenate([values for _, values in pairs])
        value, of, telling_value, others = _told([by_one, by_value], np.concatenate(held), whole)
        of_attribute = np.searchsorted(starts, value, side="right") - 1
        left = np.bincount(of_attribute * len(whole) + of, weights=others, minlength=len(keys) * len(whole))
        few = (left.reshape(len(keys), len(whole)) < SMALL).any(axis=0)
        if together is not None:
            _, of, _, others = _told(*next(by_all), whole)
            few |= np.bincount(of, weights=others, minlength=len(whole)) < SMALL
        telling[column.name].update(_values(column, few & (whole > 0.0)))
        tells = np.bincount(value, weights=telling_value, minlength=int(starts[-1])) > 0
        for (one, _), start, end in zip(known, starts[:-1], starts[1:], strict=True):
            telling[one.name].update(_values(one, tells[start:end]))
    return telling


def _told(
    pairs: Sequence[Codes], held: NDArray[np.float64], whole: NDArray[Any]
) -> tuple[Codes, Codes, NDArray[np.bool_], NDArray[np.float64]]:
    """Return the pairs of a class and a sensitive value, which of them are disclosed, and the records of the others."""
    known, value = pairs
    given_away = disclosing(held, np.bincount(known, weights=held)[known], (whole / whole.sum())[value])
    return known, value, given_away, np.where(given_away, 0.0, held)


def _values(column: Column, which: NDArray[np.bool_]) -> Iterator[Any]:
    """Return some values of a column."""
    return (column.values[code] for code in np.flatnonzero(which).tolist())


def _named(column: Column, codes: Codes) -> list[Any]:
    """Return the value of each code."""
    return [column.values[code] for block in in_blocks(codes) for code in block.tolist()]


def _called(name: str) -> str:
    """Return the name of a key column in a table of figures."""
    return f"key.{name}" if name in ("count", "dr", "posterior") else name


def _without(values: list[Any], which: NDArray[np.bool_], instead: Any) -> list[Any]:
    """Return the values with some of them replaced."""
    for at in np.flatnonzero(which).tolist():
        values[at] = instead
    return values
