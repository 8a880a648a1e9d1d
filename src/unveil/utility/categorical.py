r"""How far have the categories moved? Information loss of categorical attributes: values, contingency tables, entropy.

Row i of the original and of the release is the same person, and both are coded over one dictionary: equal codes are equal
values. A null is a value like any other. Higher is more loss; a release that equals the original loses exactly zero.

- **Direct comparison.** Nominal: 0 if the values are equal and 1 if not (printed the other way round in places, which would
  make the untouched release the worst). Ordinal: the difference of the ranks over the number of categories (counting both ends,
  as in print, would leave equal values a distance above zero).
- **Contingency tables.** For every table of up to three attributes the sum of the absolute differences of the cells,
  :math:`\sum_c |n_c - n'_c|`, from 0 to twice the records; over that bound it is the total variation distance.
- **Entropy.** :math:`H(X \mid X')`, in bits: what is uncertain about an original value once the released one is seen; and the
  mutual information :math:`I(X; X') = H(X) - H(X \mid X')` that is kept. Plug-in estimates: where most values occur a few
  times only, knowing the released value seems to tell more than it does.

References
----------
.. [1] Domingo-Ferrer, Torra (2001), Disclosure control methods and information loss for microdata, in: Confidentiality,
   Disclosure and Data Access, 91-110.
.. [2] Kooiman, Willenborg, Gouweleeuw (1997), PRAM: a method for disclosure limitation of microdata, Statistics Netherlands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.grouping import Codes, group, summed, tally
from unveil.errors import ArgumentError, DuplicateColumnError, EmptyDataError, listed, shown
from unveil.measures.entropy import entropy_bits
from unveil.results.numbers import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CategoricalAttribute",
    "CategoricalLoss",
    "CodedPair",
    "ContingencyLoss",
    "EntropyLoss",
    "TableLoss",
    "WaysLoss",
    "categorical_loss",
    "contingency_loss",
    "direct_nominal",
    "direct_ordinal",
    "entropy_loss",
]


@dataclass(frozen=True, slots=True, eq=False)
class CodedPair:
    """One attribute of the original and of the release, aligned.

    Attributes
    ----------
    name
        The attribute.
    original, release
        The code of every record's value, over one dictionary.
    categories
        The size of the dictionary, so a code is below it.
    ranks
        None: nominal. Else the rank of each code, counted in steps of one; None for what has no place in the order: a null, a
        suppressed value, a label that covers several categories.
    """

    name: str
    original: Codes
    release: Codes
    categories: int
    ranks: Sequence[float | None] | None = None


@dataclass(frozen=True, slots=True)
class EntropyLoss:
    """What knowing the released values leaves uncertain, in bits.

    Attributes
    ----------
    entropy
        H(X): the uncertainty of the original.
    conditional
        H(X|X'): what of it is left once the release is seen, the loss.
    information
        I(X; X') = H(X) - H(X|X'): what the release keeps.
    normalised
        H(X|X') / H(X), from 0 to 1; None where the original has one value only.
    reason
        Why it is None.
    """

    entropy: float
    conditional: float
    information: float
    normalised: float | None
    reason: str = ""

    @classmethod
    def of(cls, entropy: float, conditional: float) -> EntropyLoss:
        """Return the figures that follow from the two entropies."""
        if entropy == 0.0:
            return cls(0.0, 0.0, 0.0, None, "the original has one value only, so there is nothing to lose")
        conditional = min(conditional, entropy)  # they differ by rounding where the release tells nothing
        return cls(entropy, conditional, entropy - conditional, conditional / entropy)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "entropy": self.entropy,
            "conditional_entropy": self.conditional,
            "mutual_information": self.information,
            "normalised": self.normalised,
            **({"reason": self.reason} if self.reason else {}),
        }


@dataclass(frozen=True, slots=True)
class CategoricalAttribute:
    """What happened to one attribute; `ordinal` is None where the attribute has no order."""

    name: str
    nominal: float
    ordinal: float | None
    entropy: EntropyLoss

    @property
    def direct(self) -> float:
        """The direct comparison that fits the attribute: ordinal where it has an order, else nominal."""
        return self.nominal if self.ordinal is None else self.ordinal

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        direct = {"direct_nominal": self.nominal, "direct_ordinal": self.ordinal}
        return {"name": self.name, **direct, "entropy": self.entropy.to_dict()}


@dataclass(frozen=True, slots=True)
class TableLoss:
    """How far one contingency table has changed: the sum of the absolute differences, and over twice the records."""

    names: tuple[str, ...]
    difference: int
    normalised: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {"names": list(self.names), "difference": self.difference, "normalised": self.normalised}


@dataclass(frozen=True, slots=True)
class WaysLoss:
    """Some contingency tables together: their number, their sum, their mean, and the mean over twice the records."""

    tables: int
    total: int
    mean: float
    normalised: float

    @classmethod
    def over(cls, tables: Sequence[TableLoss]) -> WaysLoss:
        """Sum up some tables, at least one."""
        total = sum(table.difference for table in tables)
        return cls(len(tables), total, total / len(tables), sum(table.normalised for table in tables) / len(tables))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {"tables": self.tables, "total": self.total, "mean": self.mean, "normalised": self.normalised}


@dataclass(frozen=True, slots=True)
class ContingencyLoss:
    """The contingency tables: one by one, those of 1, 2, 3... attributes together, and all of them."""

    tables: tuple[TableLoss, ...]
    by_ways: tuple[WaysLoss, ...]
    overall: WaysLoss

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            **self.overall.to_dict(),
            "by_ways": {str(ways): loss.to_dict() for ways, loss in enumerate(self.by_ways, start=1)},
            "by_table": [table.to_dict() for table in self.tables],
        }


@dataclass(frozen=True, slots=True, repr=False)
class CategoricalLoss:
    """The information loss of categorical attributes.

    Attributes
    ----------
    records
        The records compared.
    attributes
        The attributes one by one.
    direct, nominal
        The mean over the attributes of the comparison that fits each, and of the nominal one.
    ordinal
        The mean over the attributes that have an order; None where none has.
    entropy
        The entropies summed over the attributes, and their quotient.
    contingency
        The contingency tables; None where none were asked for.
    """

    records: int
    attributes: tuple[CategoricalAttribute, ...]
    direct: float
    nominal: float
    ordinal: float | None
    entropy: EntropyLoss
    contingency: ContingencyLoss | None

    def __repr__(self) -> str:
        """Return one line: attributes, records, the direct comparison."""
        attributes, records = counted(len(self.attributes), "attribute"), counted(self.records, "record")
        return f"CategoricalLoss({attributes}, {records}, direct {self.direct:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain values."""
        return {
            "records": self.records,
            "direct": self.direct,
            "direct_nominal": self.nominal,
            "direct_ordinal": self.ordinal,
            "entropy": self.entropy.to_dict(),
            "contingency": None if self.contingency is None else self.contingency.to_dict(),
            "attributes": [attribute.to_dict() for attribute in self.attributes],
        }


def categorical_loss(columns: Sequence[CodedPair], *, ways: int = 3) -> CategoricalLoss:
    """Measure the information loss of categorical attributes; the module's first lines give the formulas.

    Parameters
    ----------
    columns
        The attributes, aligned.
    ways
        Contingency tables of up to this many attributes are compared; 0: none.

    Returns
    -------
    CategoricalLoss
        Every attribute by itself, and together.

    Raises
    ------
    ArgumentError
        If columns differ in length or a code lies outside its dictionary.
    EmptyDataError
        If there are no columns or no records.

    Notes
    -----
    One count of pairs (original value, released value) an attribute. Contingency tables cost two counts each, of the records
    that differ in one of their attributes: all others stand in the same cell before and after.

    Examples
    --------
    >>> import numpy as np
    >>> sex = CodedPair("sex", np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), 2)
    >>> grade = CodedPair("grade", np.array([0, 1, 2, 3]), np.array([0, 1, 2, 1]), 4, ranks=[0, 1, 2, 3])
    >>> loss = categorical_loss([sex, grade])
    >>> loss.nominal, loss.ordinal, loss.attributes[0].entropy.normalised
    (0.375, 0.125, 1.0)
    >>> [table.difference for table in loss.contingency.tables]
    [0, 2, 2]
    """
    _check(columns, ways)
    attributes = tuple(_attribute(column) for column in columns)
    ordinal = [attribute.ordinal for attribute in attributes if attribute.ordinal is not None]
    entropies = [attribute.entropy for attribute in attributes]
    return CategoricalLoss(
        records=len(columns[0].original),
        attributes=attributes,
        direct=_mean(attribute.direct for attribute in attributes),
        nominal=_mean(attribute.nominal for attribute in attributes),
        ordinal=_mean(ordinal) if ordinal else None,
        entropy=EntropyLoss.of(sum(one.entropy for one in entropies), sum(one.conditional for one in entropies)),
        contingency=contingency_loss(columns, ways=ways) if ways else None,
    )


def direct_nominal(original: Codes, release: Codes, n: NDArray[np.int64] | None = None) -> float:
    """Return the share of the records whose value differs.

    Parameters
    ----------
    original, release
        The codes of the records, or of pairs that stand for several.
    n
        How many records each pair stands for; none: one.

    Examples
    --------
    >>> import numpy as np
    >>> direct_nominal(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 0]))
    0.25
    """
    return float(np.average(original != release, weights=n))


def direct_ordinal(original: Codes, release: Codes, ranks: Sequence[float | None], n: NDArray[np.int64] | None = None) -> float:
    r"""Return the mean of :math:`|r - r'| / c`, with the ranks r, r' of the two values and c categories that have a rank.

    Two values of which one has no rank are as far apart as can be, 1, unless they are the same value.

    Parameters
    ----------
    original, release, n
        As for `direct_nominal`.
    ranks
        The rank of each code, None where it has none.

    Examples
    --------
    >>> import numpy as np
    >>> direct_ordinal(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 1]), [0, 1, 2, 3])
    0.125
    """
    place = np.array([np.nan if rank is None else rank for rank in ranks], dtype=np.float64)
    categories = np.count_nonzero(~np.isnan(place))
    apart = np.abs(place[original] - place[release]) / max(categories, 1)
    distance = np.where(original == release, 0.0, np.where(np.isnan(apart), 1.0, apart))
    return float(np.average(distance, weights=n))


def entropy_loss(original: Codes, release: Codes, n: NDArray[np.int64]) -> EntropyLoss:
    r"""Return :math:`H(X)`, :math:`H(X \mid X')` and what follows, from the pairs of values that occur, each given once.

    Parameters
    ----------
    original, release
        The codes of the pairs.
    n
        How many records hold each pair.

    Examples
    --------
    >>> import numpy as np
    >>> entropy_loss(np.array([0, 1, 2]), np.array([0, 0, 1]), np.array([1, 1, 2])).conditional
    0.5
    """
    before, after = np.bincount(original, weights=n), np.bincount(release, weights=n)
    conditional = float((n * np.log2(after[release] / n)).sum() / n.sum())
    return EntropyLoss.of(entropy_bits(before[before > 0]), conditional)


def contingency_loss(columns: Sequence[CodedPair], *, ways: int = 3) -> ContingencyLoss:
    r"""Compare the contingency tables of up to some number of attributes: :math:`\sum_c |n_c - n'_c|` of each.

    Parameters
    ----------
    columns
        The attributes, aligned.
    ways
        The most attributes of a table, at least one; all of them where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> a = CodedPair("a", np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2)
    >>> b = CodedPair("b", np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]), 2)
    >>> contingency_loss([a, b]).overall
    WaysLoss(tables=3, total=4, mean=1.3333333333333333, normalised=0.16666666666666666)
    """
    _check(columns, ways)
    if not ways:
        raise ArgumentError("ways is at least 1: a contingency table has an attribute.")
    changed = [column.original != column.release for column in columns]
    by_ways = [
        [_table(columns, changed, chosen) for chosen in combinations(range(len(columns)), size)]
        for size in range(1, min(ways, len(columns)) + 1)
    ]
    tables = [table for some in by_ways for table in some]
    return ContingencyLoss(tuple(tables), tuple(map(WaysLoss.over, by_ways)), WaysLoss.over(tables))


def _check(columns: Sequence[CodedPair], ways: int) -> None:
    if not columns:
        raise EmptyDataError("there are no categorical attributes to compare.")
    if repeated := [name for name, times in Counter(column.name for column in columns).items() if times > 1]:
        raise DuplicateColumnError.named(repeated[0], "categorical attributes")
    records = len(columns[0].original)
    odd = [column.name for column in columns if {len(column.original), len(column.release)} != {records}]
    if odd:
        raise ArgumentError(f"columns of aligned tables are of one length; these are not: {listed(odd)}.")
    if not records:
        raise EmptyDataError.no_records("categorical attributes")
    if ways < 0:
        raise ArgumentError(f"ways is a number of attributes, at least 0, not {ways}.")
    for column in columns:
        for codes in (column.original, column.release):
            if int(codes.min()) < 0 or int(codes.max()) >= column.categories:
                raise ArgumentError(f"column {shown(column.name)}: a code lies outside the {column.categories:,} categories.")
        if column.ranks is not None and len(column.ranks) != column.categories:
            raise ArgumentError(
                f"column {shown(column.name)}: {len(column.ranks):,} ranks are given for {column.categories:,} categories."
            )


def _attribute(column: CodedPair) -> CategoricalAttribute:
    """Count the pairs of an original and a released value; every figure is a sum over them."""
    sizes = [column.categories, column.categories]
    (original, release), n = tally([column.original, column.release], sizes)
    ordinal = None if column.ranks is None else direct_ordinal(original, release, column.ranks, n)
    return CategoricalAttribute(column.name, direct_nominal(original, release, n), ordinal, entropy_loss(original, release, n))


def _table(columns: Sequence[CodedPair], changed: Sequence[NDArray[np.bool_]], chosen: Sequence[int]) -> TableLoss:
    """Compare one contingency table, on the records that have moved in it."""
    some = [columns[at] for at in chosen]
    records = len(some[0].original)
    moved = np.logical_or.reduce([changed[at] for at in chosen])
    difference = 0
    if moved.any():
        rows = slice(None) if moved.all() else np.flatnonzero(moved)
        sizes = [column.categories for column in some]
        difference = _apart([column.original[rows] for column in some], [column.release[rows] for column in some], sizes)
    return TableLoss(tuple(column.name for column in some), difference, difference / (2 * records))


def _apart(before: Sequence[Codes], after: Sequence[Codes], sizes: Sequence[int]) -> int:
    """Return the sum of the absolute differences of two count tables, over the cells that occur in either."""
    (cells, n), (others, m) = tally(before, sizes), tally(after, sizes)
    of_cell, found = group([np.concatenate(pair) for pair in zip(cells, others, strict=True)], sizes)
    return int(np.abs(summed(of_cell, np.concatenate([n, -m]), len(found[0]))).sum())


def _mean(figures: Iterable[float]) -> float:
    found = list(figures)
    return sum(found) / len(found)
