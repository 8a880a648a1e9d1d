r"""How far have the categories moved? Information loss of categorical attributes: values, contingency tables, entropy.

Row i of the original and of the release is the same person, and both are coded over one dictionary: equal codes are equal
values. A null is a value like any other. Higher is more loss; a release that equals the original loses exactly zero.

- **Direct comparison.** Nominal: 0 if the values are equal and 1 if not (printed the other way round in places, which would
  make the untouched release the worst). Ordinal: the difference of the ranks over the number of categories (counting both
  ends, as in print, would leave equal values a distance above zero).
- **Contingency tables.** For every table of up to three attributes, the sum of the absolute differences of the cells,
  :math:`\sum_c |n_c - n'_c|`, from 0 to twice the records; divided by that bound, it is the total variation distance.
- **Entropy.** :math:`H(X \mid X')`, in bits: what is uncertain about an original value once the released one is seen; and the
  mutual information :math:`I(X; X') = H(X) - H(X \mid X')` that is kept. These are plug-in estimates: if most values occur
  only a few times, the released value seems to say more than it does.

References
----------
.. [1] Domingo-Ferrer, Torra (2001), Disclosure control methods and information loss for microdata, in: Confidentiality,
   Disclosure and Data Access, 91-110.
.. [2] Kooiman, Willenborg, Gouweleeuw (1997), PRAM: a method for disclosure limitation of microdata, Statistics Netherlands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Codes, group, summed, tally
from unveil.measures import entropy_bits
from unveil.run import active_run
from unveil.utility.loss_sections import CategoryLoss, ContingencyLoss, EntropyLoss, TableLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CodedPair", "attribute_loss", "contingency_loss", "direct_ordinal", "entropy_loss"]

_MOST_TABLES = 200_000
"""The largest number of contingency tables of one size that are compared: all pairs of 632 attributes, all triples of 107."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedPair:
    """One attribute of the original and of the release, aligned.

    Attributes
    ----------
    name
        The attribute.
    values
        The dictionary of both.
    original, release
        The code of every record's value: its position in the dictionary.
    """

    name: str
    values: Sequence[Any]
    original: Codes
    release: Codes

    def tally(self) -> tuple[Codes, Codes, NDArray[np.int64]]:
        """Return the pairs of an original and a released code that occur, and the number of records of each."""
        (original, release), n = tally([self.original, self.release], [len(self.values)] * 2)
        return original, release, n


def attribute_loss(column: CodedPair, order: Sequence[Any] | None = None) -> CategoryLoss:
    """Measure the loss of one attribute by direct comparison and entropy.

    Parameters
    ----------
    column
        The attribute.
    order
        Its categories from lowest to highest; None: it is nominal.

    Examples
    --------
    >>> import numpy as np
    >>> grade = CodedPair("grade", ["a", "b", "c", "d"], np.array([0, 1, 2, 3]), np.array([0, 1, 2, 1]))
    >>> loss = attribute_loss(grade, order=["a", "b", "c", "d"])
    >>> loss.nominal, loss.ordinal, loss.entropies.conditional_entropy
    (0.25, 0.125, 0.5)
    """
    original, release, n = column.tally()
    ordinal = None if order is None else direct_ordinal(original, release, n, _ranks(column.values, order), len(order))
    return CategoryLoss(float(n[original != release].sum() / n.sum()), ordinal, entropy_loss(original, release, n))


def direct_ordinal(original: Codes, release: Codes, n: NDArray[np.int64], ranks: NDArray[np.float64], categories: int) -> float:
    r"""Return the mean of :math:`|r - r'| / c`, with the ranks r, r' of the two values and c categories.

    Two values of which one has no rank (a null, `*`, or a label that covers several categories: NaN among `ranks`) have the
    greatest possible distance, 1, unless they are the same value.
    """
    apart = np.abs(ranks[original] - ranks[release]) / categories
    distance = np.where(original == release, 0.0, np.where(np.isnan(apart), 1.0, apart))
    return float((n * distance).sum() / n.sum())


def entropy_loss(original: Codes, release: Codes, n: NDArray[np.int64]) -> EntropyLoss:
    r"""Return :math:`H(X)`, :math:`H(X \mid X')`, :math:`I(X; X')` in bits, and the lost share :math:`H(X \mid X') / H(X)`.

    Parameters
    ----------
    original, release, n
        The pairs of codes that occur, each once, and the number of records of each.

    Examples
    --------
    >>> import numpy as np
    >>> entropy_loss(np.array([0, 1, 2]), np.array([0, 0, 1]), np.array([1, 1, 2])).conditional_entropy
    0.5
    """
    before, after = np.bincount(original, weights=n), np.bincount(release, weights=n)
    entropy = entropy_bits(before[before > 0])
    conditional = float((n * np.log2(after[release] / n)).sum() / n.sum())
    conditional = min(conditional, entropy)  # it can exceed it by rounding only, if the release reveals nothing
    return EntropyLoss(entropy, conditional, entropy - conditional, conditional / entropy if entropy else 0.0)


def contingency_loss(columns: Sequence[CodedPair], ways: int) -> dict[str, ContingencyLoss]:
    r"""Compare the contingency tables of up to a number of attributes: :math:`\sum_c |n_c - n'_c|` of each.

    Parameters
    ----------
    columns
        The attributes.
    ways
        The largest number of attributes in a table.

    Returns
    -------
    dict
        For 1, 2, 3... attributes: the number of tables, the sum of their `difference`, the mean of their `normalised`
        difference (divided by twice the number of records), and `by_table`. If there are more than 200,000 tables of a size,
        none of them is compared: the figures are None, with the reason.

    Notes
    -----
    Only records that differ in one of a table's attributes are counted: all others are in the same cell before and after.

    Examples
    --------
    >>> import numpy as np
    >>> a = CodedPair("a", "xy", np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    >>> b = CodedPair("b", "xy", np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]))
    >>> loss = contingency_loss([a, b], ways=2)
    >>> loss["1"].difference, loss["2"].normalised
    (2, 0.25)
    """
    changed = [column.original != column.release for column in columns]
    losses: dict[str, ContingencyLoss] = {}
    for size in range(1, min(ways, len(columns)) + 1):
        if (number := math.comb(len(columns), size)) > _MOST_TABLES:
            why = f"{number:,} tables of {size} attributes, more than {_MOST_TABLES:,}: not compared"
            losses[str(size)] = ContingencyLoss(number, None, None, [], why)
            continue
        chosen = [*combinations(range(len(columns)), size)]
        tables = [_table(columns, changed, some) for some in active_run().each(f"tables, {size}-way", chosen)]
        mean = sum(table.normalised for table in tables) / len(tables)
        losses[str(size)] = ContingencyLoss(len(tables), sum(table.difference for table in tables), mean, tables)
    return losses


def _ranks(values: Sequence[Any], order: Sequence[Any]) -> NDArray[np.float64]:
    place = {str(value): float(at) for at, value in enumerate(order)}
    return np.array([np.nan if value is None else place.get(str(value), np.nan) for value in values])


def _table(columns: Sequence[CodedPair], changed: Sequence[NDArray[np.bool_]], chosen: Sequence[int]) -> TableLoss:
    """Compare one contingency table, using only the records that have moved in it."""
    some = [columns[at] for at in chosen]
    records = len(some[0].original)
    moved = np.logical_or.reduce([changed[at] for at in chosen])
    difference = 0
    if moved.any():
        rows = slice(None) if moved.all() else np.flatnonzero(moved)
        sizes = [len(column.values) for column in some]
        difference = _apart([column.original[rows] for column in some], [column.release[rows] for column in some], sizes)
    return TableLoss([column.name for column in some], difference, difference / (2 * records))


def _apart(before: Sequence[Codes], after: Sequence[Codes], sizes: Sequence[int]) -> int:
    """Return the sum of the absolute differences of two count tables, over the cells that occur in either."""
    (cells, n), (others, m) = tally(before, sizes), tally(after, sizes)
    of_cell, number = group([np.concatenate(pair) for pair in zip(cells, others, strict=True)], sizes)
    return int(np.abs(summed(of_cell, np.concatenate([n, -m]), len(number[0]))).sum())
