r"""How coarse has a release become? Loss of generalisation and suppression, from hierarchies, ranges and class sizes.

Row i of the original and of the release is the same person. A released label stands for the leaves of the hierarchy below it;
`*` and null stand for all of them (suppression). A cell that is null, or `*`, in the original has nothing to lose: it is left
out and counted. Every figure called a loss is 0 for a release that equals the original; most are 1 where everything is
suppressed. With N cells, a label that covers m of M leaves and stands at level l of a hierarchy of height h:

- **granularity** :math:`\frac{\sum (m/M) - N/M}{N - N/M}`, the mean of :math:`(m - 1)/(M - 1)`: the loss metric [1]_, scaled as
  in ARX.
- **precision_loss**, the mean of :math:`l / h`; Precision [2]_ is 1 less this. A suppressed cell counts 1.
- **ncp**, normalised certainty penalty [3]_, :math:`m / M` and 0 where m = 1; for a numerical attribute the range of the leaves
  covered over the range of all leaves.
- **nonuniform_entropy** [4]_, :math:`-\sum \log_2 p(a \mid b)` over the cells, with :math:`p(a \mid b) = f_a / f_b`, where
  :math:`f_a` are the original records with value a and :math:`f_b` those with any value that b covers; over its highest value
  :math:`N H(X)`, all suppressed. For a global recoding it is :math:`H(X \mid X') / H(X)`.
- **ambiguity** [5]_, the mean over the records of the product over the attributes of m: how many original records the released
  one could have been. Its loss is scaled between 1 and the same with M for m.
- **discernibility** [6]_, :math:`\sum |E|^2` over the classes, a suppressed record counting as many as there are records;
  **average_class_size** [7]_, records not suppressed over classes. Both with the original's own; the loss is
  :math:`(v - v_0) / (v_1 - v_0)` with the original's :math:`v_0` and the highest :math:`v_1` (all in one class). It is
  negative where a perturbation left smaller classes than there were.

References
----------
.. [1] Iyengar (2002), Transforming data to satisfy privacy constraints, KDD, 279-288.
.. [2] Sweeney (2002), Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5), 571-588.
.. [3] Xu, Wang, Pei, Wang, Shi, Fu (2006), Utility-based anonymization using local recoding, KDD, 785-790.
.. [4] De Waal, Willenborg (1999), Information loss through global recoding and local suppression, Netherlands Official
   Statistics 14, 17-20.
.. [5] Goldberger, Tassa (2010), Efficient anonymizations with enhanced utility, Transactions on Data Privacy 3(2), 149-175.
.. [6] Bayardo, Agrawal (2005), Data privacy through optimal k-anonymization, ICDE, 217-228.
.. [7] LeFevre, DeWitt, Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.counts.grouping import Codes, group, summed
from unveil.errors import ArgumentError, DuplicateColumnError, EmptyDataError, HierarchyError, listed, shown
from unveil.measures.entropy import entropy_bits
from unveil.measures.equivalence import SUPPRESSED
from unveil.partitions import Hierarchy
from unveil.partitions._match import keys_of, number_of, reading_for, text_of
from unveil.results import jsonable
from unveil.results.numbers import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ClassFigure",
    "GeneralisedColumn",
    "GranularityAttribute",
    "GranularityLoss",
    "RangedColumn",
    "average_class_size",
    "discernibility",
    "granularity_loss",
]

_LOSSES = ("granularity", "precision_loss", "ncp", "nonuniform_entropy")


@dataclass(frozen=True, slots=True, eq=False)
class GeneralisedColumn:
    """One attribute whose values were replaced by labels of a hierarchy.

    A label may stand at any level. Where one level explains the labels of all records, they are of that level (the lowest such);
    otherwise each is of the lowest level at which the record's own value has it. A label that the record's own value has
    nowhere comes from a perturbation: it is counted as `elsewhere` and taken at the lowest level at which any value has it.

    Attributes
    ----------
    name
        The attribute.
    original, values
        The code of each original record's value, and the values.
    release, labels
        The code of each released record's label, and the labels.
    hierarchy
        What the labels are labels of; None: a value is kept or suppressed.
    numerical
        Whether the leaves are numbers whose distances count, for the certainty penalty.
    weight
        The attribute's weight in the means over attributes.
    """

    name: str
    original: Codes
    values: Sequence[Any]
    release: Codes
    labels: Sequence[Any]
    hierarchy: Hierarchy | None = None
    numerical: bool = False
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class RangedColumn:
    """One numerical attribute whose values were replaced by ranges, both ends included, without a hierarchy.

    The leaves are the distinct original values, and a range covers those within it. There are no levels, so no precision.

    Attributes
    ----------
    name
        The attribute.
    original
        The numbers, NaN for a null.
    low, high
        The ends of each record's range, infinite where it is open, both NaN where it is suppressed. Equal ends are a number.
    weight
        The attribute's weight in the means over attributes.
    """

    name: str
    original: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: float = 1.0


AnyColumn: TypeAlias = GeneralisedColumn | RangedColumn


@dataclass(frozen=True, slots=True)
class GranularityAttribute:
    """How coarse one attribute has become.

    Attributes
    ----------
    name
        The attribute.
    cells, nulls
        The cells with something to lose, and those that were null already.
    suppressed, elsewhere
        The cells that were suppressed, and those whose label does not cover the original value.
    leaves, height
        The size of the domain, and the number of levels above it; None for ranges.
    granularity, precision_loss, ncp, nonuniform_entropy
        The losses, from 0 to 1; None where undefined.
    bits
        The non-uniform entropy before it is scaled: bits lost per cell.
    reasons
        Why a figure is undefined, by figure.
    """

    name: str
    cells: int
    nulls: int
    suppressed: int
    elsewhere: int
    leaves: int
    height: int | None
    granularity: float | None
    precision_loss: float | None
    ncp: float | None
    nonuniform_entropy: float | None
    bits: float | None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        names = ("name", "cells", "nulls", "suppressed", "elsewhere", "leaves", "height", *_LOSSES, "bits")
        return {name: getattr(self, name) for name in names} | ({"reasons": dict(self.reasons)} if self.reasons else {})


@dataclass(frozen=True, slots=True)
class ClassFigure:
    """A figure of the whole table: of the release, of the original, and the loss between the original's and the highest."""

    release: float | None
    original: float | None
    loss: float | None
    reason: str = ""

    @classmethod
    def between(cls, release: float | None, original: float | None, highest: float) -> ClassFigure:
        """Return the figure with its loss, where there is room for one."""
        if release is None or original is None:
            return cls(release, original, None, "every record is suppressed, so there is no class")
        if not math.isfinite(highest):
            return cls(release, original, None, "there are more combinations than floating point can hold")
        if highest <= original:
            return cls(release, original, None, "the original has the highest figure already, so there is nothing to lose")
        return cls(release, original, (release - original) / (highest - original))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        figures = {"release": jsonable(self.release), "original": jsonable(self.original), "loss": self.loss}
        return figures | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True, repr=False)
class GranularityLoss:
    """How coarse a release has become.

    Attributes
    ----------
    records
        The records compared.
    attributes
        The attributes one by one.
    granularity, precision_loss, ncp, nonuniform_entropy
        The weighted means over the attributes for which they are defined; None where there is none.
    ambiguity, discernibility, average_class_size
        The figures of whole records and classes, with the original's own.
    cells, suppressed_cells
        The cells with something to lose, and those suppressed.
    suppressed_records
        The records of the release with every attribute suppressed or null; they form no class.
    """

    records: int
    attributes: tuple[GranularityAttribute, ...]
    granularity: float | None
    precision_loss: float | None
    ncp: float | None
    nonuniform_entropy: float | None
    ambiguity: ClassFigure
    discernibility: ClassFigure
    average_class_size: ClassFigure
    cells: int
    suppressed_cells: int
    suppressed_records: int

    def __repr__(self) -> str:
        """Return one line: attributes, records, the granularity loss."""
        attributes, records = counted(len(self.attributes), "attribute"), counted(self.records, "record")
        loss = "undefined" if self.granularity is None else f"{self.granularity:.4f}"
        return f"GranularityLoss({attributes}, {records}, granularity {loss})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain values."""
        return {
            "records": self.records,
            **{name: getattr(self, name) for name in _LOSSES},
            "ambiguity": self.ambiguity.to_dict(),
            "discernibility": self.discernibility.to_dict(),
            "average_class_size": self.average_class_size.to_dict(),
            "cells": self.cells,
            "suppressed_cells": self.suppressed_cells,
            "suppressed_records": self.suppressed_records,
            "attributes": [attribute.to_dict() for attribute in self.attributes],
        }


def granularity_loss(columns: Sequence[AnyColumn]) -> GranularityLoss:
    """Measure how coarse a release has become; the module's first lines give the formulas.

    Parameters
    ----------
    columns
        The key attributes, aligned: each with its hierarchy, or with ranges.

    Returns
    -------
    GranularityLoss
        Every attribute by itself, and the figures of records and classes.

    Raises
    ------
    ArgumentError
        If columns differ in length, a code lies outside its dictionary, or a range has no two ends in order.
    HierarchyError
        If a value or a label is not in its hierarchy, or leaves should be numbers and are not.
    EmptyDataError
        If there are no columns or no records.

    Notes
    -----
    One count of pairs (value, label) an attribute, and one grouping of the records by all attributes, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.partitions import Hierarchy
    >>> city = Hierarchy("city", [["Paris", "France", "*"], ["Lyon", "France", "*"], ["Lima", "Peru", "*"]])
    >>> column = GeneralisedColumn(
    ...     "city", np.array([0, 1, 2, 2]), ["Paris", "Lyon", "Lima"], np.array([0, 0, 1, 2]), ["France", "Lima", "*"], city
    ... )
    >>> loss = granularity_loss([column])
    >>> loss.granularity, loss.precision_loss, loss.suppressed_cells
    (0.5, 0.5, 1)
    >>> loss.discernibility.release, loss.discernibility.original
    (9, 6)
    """
    records = _check(columns)
    attributes, ambiguity, most = [], np.ones(records), np.ones(records)
    for column in columns:
        cells = _cells(column)
        attributes.append(_attribute(column.name, cells))
        with np.errstate(over="ignore"):
            ambiguity *= np.where(cells.known, cells.covered, 1.0)[cells.of_row]
            most *= np.where(cells.known, float(cells.leaves), 1.0)[cells.of_row]
    (sizes, hidden), (own_sizes, own_hidden) = _classes(columns, release=True), _classes(columns, release=False)
    before, after = discernibility(own_sizes, own_hidden, records), discernibility(sizes, hidden, records)
    weights = [column.weight for column in columns]
    means = {name: _mean([getattr(attribute, name) for attribute in attributes], weights) for name in _LOSSES}
    return GranularityLoss(
        records=records,
        attributes=tuple(attributes),
        **means,
        ambiguity=ClassFigure.between(float(ambiguity.mean()), 1.0, float(most.mean())),
        discernibility=ClassFigure.between(after, before, records**2),
        average_class_size=ClassFigure.between(average_class_size(sizes), average_class_size(own_sizes), records),
        cells=sum(attribute.cells for attribute in attributes),
        suppressed_cells=sum(attribute.suppressed for attribute in attributes),
        suppressed_records=hidden,
    )


def discernibility(sizes: NDArray[np.int64], suppressed: int, records: int) -> int:
    r"""Return :math:`\sum |E|^2 + s n`: every record counts as many as it cannot be told from, a suppressed one all n.

    Parameters
    ----------
    sizes
        The sizes of the classes, suppressed records apart.
    suppressed, records
        The suppressed records s, and all n.

    Examples
    --------
    >>> import numpy as np
    >>> discernibility(np.array([2, 1]), 1, 4)
    9
    """
    return int(np.dot(sizes, sizes)) + suppressed * records


def average_class_size(sizes: NDArray[np.int64]) -> float | None:
    """Return the mean size of the classes, suppressed records apart; None where there is no class.

    Examples
    --------
    >>> import numpy as np
    >>> average_class_size(np.array([2, 1]))
    1.5
    """
    return float(sizes.mean()) if len(sizes) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The distinct pairs of a value and a label (or every record, for ranges), with what each has lost.

    `covered` are the leaves that the label stands for, `frequency` the original records with a value among them, `own` those
    with the very value; `level` and `extent` are shares of the height and of the domain's range (or leaves).
    """

    of_row: NDArray[np.int64]
    n: NDArray[np.int64]
    known: NDArray[np.bool_]
    suppressed: NDArray[np.bool_]
    elsewhere: NDArray[np.bool_]
    covered: NDArray[np.float64]
    level: NDArray[np.float64] | None
    extent: NDArray[np.float64] | None
    own: NDArray[np.float64]
    frequency: NDArray[np.float64]
    leaves: int
    height: int | None
    entropy: float

    def mean(self, figures: NDArray[np.float64]) -> float:
        """Return the mean over the cells with something to lose."""
        n = self.n[self.known]
        return float((n * figures[self.known]).sum() / n.sum())


def _cells(column: AnyColumn) -> _Cells:
    return _ranged(column) if isinstance(column, RangedColumn) else _generalised(column)


def _attribute(name: str, cells: _Cells) -> GranularityAttribute:
    """Sum up one attribute; what is undefined has a reason."""
    total, n, elsewhere = int(cells.n.sum()), int(cells.n[cells.known].sum()), int(cells.n[cells.elsewhere].sum())
    reasons = dict.fromkeys(_LOSSES, "every cell is null in the original") if not n else _reasons(cells, elsewhere)
    figures: dict[str, float] = {}
    if "granularity" not in reasons:
        figures["granularity"] = cells.mean(cells.covered - 1.0) / (cells.leaves - 1)
    if cells.level is not None and "precision_loss" not in reasons:
        figures["precision_loss"] = cells.mean(cells.level)
    if cells.extent is not None and "ncp" not in reasons:
        figures["ncp"] = cells.mean(cells.extent)
    if "nonuniform_entropy" not in reasons:
        figures["bits"] = cells.mean(np.log2(cells.frequency / cells.own))
        figures["nonuniform_entropy"] = min(figures["bits"] / cells.entropy, 1.0)  # above it by rounding only
    return GranularityAttribute(
        name=name,
        cells=n,
        nulls=total - n,
        suppressed=int(cells.n[cells.suppressed].sum()),
        elsewhere=elsewhere,
        leaves=cells.leaves,
        height=cells.height,
        granularity=figures.get("granularity"),
        precision_loss=figures.get("precision_loss"),
        ncp=figures.get("ncp"),
        nonuniform_entropy=figures.get("nonuniform_entropy"),
        bits=figures.get("bits"),
        reasons=reasons,
    )


def _reasons(cells: _Cells, elsewhere: int) -> dict[str, str]:
    """Say which figures of an attribute are undefined, and why."""
    reasons: dict[str, str] = {}
    if cells.leaves == 1:
        reasons["granularity"] = "the domain has one value only, so there is nothing to lose"
    if cells.level is None:
        reasons["precision_loss"] = "ranges without a hierarchy have no levels"
    if cells.extent is None:
        reasons["ncp"] = "the domain has no extent, so there is nothing to lose"
    if elsewhere:
        reasons["nonuniform_entropy"] = f"{counted(elsewhere, 'released label')} not above the original value"
    elif cells.entropy == 0.0:
        reasons["nonuniform_entropy"] = "the original has one value only, so there is nothing to lose"
    return reasons


def _generalised(column: GeneralisedColumn) -> _Cells:
    """Place every pair of a value and a label that occurs in the hierarchy."""
    of_row, (value, label) = group([column.original, column.release], [len(column.values), len(column.labels)])
    n = np.bincount(of_row).astype(np.int64)
    null, hidden = _nothing(column.values), _nothing(column.labels)
    known = ~null[value]
    suppressed = known & hidden[label]
    shown_pairs = np.flatnonzero(known & ~suppressed)
    tree = _Tree.of(column, np.unique(value[known]), np.unique(label[shown_pairs]))
    frequency_of = summed(tree.leaf[value[known]], n[known], tree.leaves)
    own = np.where(known, frequency_of[tree.leaf[value]], 1.0)
    covered, frequency = np.where(suppressed, float(tree.leaves), 1.0), np.where(suppressed, float(n[known].sum()), own)
    level, elsewhere, extent = suppressed.astype(np.float64), np.zeros(len(n), dtype=bool), suppressed.astype(np.float64)
    at, elsewhere[shown_pairs] = tree.levels(value[shown_pairs], label[shown_pairs])
    level[shown_pairs] = at / max(tree.height, 1)
    span: float = tree.leaves if tree.numbers is None else float(np.ptp(tree.numbers))
    for number in np.unique(at).tolist():
        pairs, bearer = shown_pairs[at == number], tree.path[:, number]
        sign = tree.sign[label[pairs]]
        covered[pairs] = np.bincount(bearer, minlength=tree.signs)[sign]
        frequency[pairs] = summed(bearer, frequency_of, tree.signs)[sign]
        extent[pairs] = tree.extents(number)[sign] / span if span else 0.0
    return _Cells(
        of_row=of_row,
        n=n,
        known=known,
        suppressed=suppressed,
        elsewhere=elsewhere,
        covered=covered,
        level=level,
        extent=extent if tree.leaves > 1 and span else None,
        own=own,
        frequency=frequency,
        leaves=tree.leaves,
        height=tree.height,
        entropy=_entropy(frequency_of),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """A hierarchy in numbers: every text is a sign, every leaf a row of signs, one a level."""

    path: NDArray[np.int64]
    signs: int
    leaf: NDArray[np.int64]
    sign: NDArray[np.int64]
    numbers: NDArray[np.float64] | None

    @classmethod
    def of(cls, column: GeneralisedColumn, values: NDArray[Any], labels: NDArray[Any]) -> _Tree:
        """Find the values' leaves and the labels' signs; only those in use need to be there."""
        hierarchy = column.hierarchy
        present = [column.values[code] for code in values.tolist()]
        if hierarchy is None:
            hierarchy = Hierarchy(column.name, [[text_of(value), SUPPRESSED] for value in present or [SUPPRESSED]])
        hierarchy.check_covers(present)
        known: dict[str, int] = {}
        path = np.array([[known.setdefault(text, len(known)) for text in row] for row in hierarchy.labels], dtype=np.int64)
        row = {text: at for at, text in enumerate(hierarchy.leaves)}
        leaf, sign = np.zeros(len(column.values), dtype=np.int64), np.full(len(column.labels), -1, dtype=np.int64)
        if present:
            blocks, texts = hierarchy.level(0).apply(present, column.name)
            leaf[values] = np.array([row[str(text)] for text in texts])[blocks]
        for code in labels.tolist():
            sign[code] = known.get(text_of(column.labels[code]), -1)
        missing = labels[sign[labels] < 0].tolist()
        if missing:
            sign[missing] = _as_leaves(hierarchy, [column.labels[code] for code in missing], known, column)
        return cls(path, len(known), leaf, sign, _numbers(hierarchy) if column.numerical else None)

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.path)

    @property
    def height(self) -> int:
        """How many levels stand above the leaves."""
        return int(self.path.shape[1]) - 1

    def levels(self, value: NDArray[Any], label: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the level of each pair's label, and whether the value does not have it."""
        leaf, sign = self.leaf[value], self.sign[label]
        found = np.full(len(value), -1, dtype=np.int64)
        for number in range(self.height + 1):
            has = self.path[leaf, number] == sign
            if has.all():
                return np.full(len(value), number, dtype=np.int64), np.zeros(len(value), dtype=bool)
            found[has & (found < 0)] = number
        elsewhere = found < 0
        lowest = np.zeros(self.signs, dtype=np.int64)
        for number in range(self.height, -1, -1):
            lowest[self.path[:, number]] = number
        return np.where(elsewhere, lowest[sign], found), elsewhere

    def extents(self, number: int) -> NDArray[np.float64]:
        """Return, for each sign at a level, the range of its leaves' numbers; or their count, 0 where it is one."""
        bearer = self.path[:, number]
        if self.numbers is None:
            count = np.bincount(bearer, minlength=self.signs).astype(np.float64)
            return np.where(count > 1.0, count, 0.0)
        low, high = np.full(self.signs, np.inf), np.full(self.signs, -np.inf)
        np.minimum.at(low, bearer, self.numbers)
        np.maximum.at(high, bearer, self.numbers)
        return np.asarray(np.maximum(high - low, 0.0))  # a sign of another level has no leaves here


def _as_leaves(hierarchy: Hierarchy, labels: Sequence[Any], known: Mapping[str, int], column: GeneralisedColumn) -> list[int]:
    """Return the signs of labels that are leaves in another spelling, a number for its text."""
    read = reading_for(labels)
    leaves = {key: leaf for leaf in hierarchy.leaves for key in keys_of(leaf, read)}
    found = [leaves.get(read(label)) for label in labels]
    lost = sum(leaf is None for leaf in found)
    if lost:
        where = "in no level of its hierarchy" if column.hierarchy is not None else "no original value; name a hierarchy"
        verb = "is" if lost == 1 else "are"
        raise HierarchyError(f"column {shown(column.name)}: {counted(lost, 'released label')} {verb} {where}.")
    return [known[leaf] for leaf in found if leaf is not None]


def _numbers(hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Return the leaves as numbers."""
    found = [number_of(leaf) for leaf in hierarchy.leaves]
    lost = sum(number is None or not number.is_finite() for number in found)
    if lost:
        name = shown(hierarchy.column)
        raise HierarchyError(f"hierarchy of column {name}: {counted(lost, 'leaf', 'leaves')} cannot be read as a number.")
    return np.array([float(number) for number in found if number is not None])


def _ranged(column: RangedColumn) -> _Cells:
    """Place every record's range among the distinct original values."""
    records = len(column.original)
    known = ~np.isnan(column.original)
    suppressed = known & np.isnan(column.low)
    values, own, frequencies = np.unique(column.original[known], return_inverse=True, return_counts=True)
    if not len(values):
        values, frequencies = np.zeros(1), np.zeros(1, dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.float64)
    point = np.where(known, column.original, values[0])
    low, high = np.where(suppressed, -np.inf, column.low), np.where(suppressed, np.inf, column.high)
    low, high = (np.where(known, ends, point) for ends in (low, high))
    first, last = _positions(values, low, "left"), _positions(values, high, "right")
    frequency_of = np.ones(records)
    frequency_of[known] = frequencies[own]
    span = float(values[-1] - values[0])
    ends = [np.clip(one, values[0], values[-1]) for one in (low, high)]
    return _Cells(
        of_row=np.arange(records),
        n=np.ones(records, dtype=np.int64),
        known=known,
        suppressed=suppressed,
        elsewhere=known & ((point < low) | (point > high)),
        covered=np.maximum(last - first, 1).astype(np.float64),
        level=None,
        extent=(ends[1] - ends[0]) / span if span else None,
        own=frequency_of,
        frequency=np.maximum(before[last] - before[first], 1.0),
        leaves=len(values),
        height=None,
        entropy=_entropy(frequencies.astype(np.float64)),
    )


def _positions(values: NDArray[np.float64], points: NDArray[np.float64], side: Literal["left", "right"]) -> NDArray[np.int64]:
    """Return where the points stand among the values, looking each distinct one up once and in order."""
    distinct, place = np.unique(points, return_inverse=True)
    return np.searchsorted(values, distinct, side=side)[place]


def _classes(columns: Sequence[AnyColumn], *, release: bool) -> tuple[NDArray[np.int64], int]:
    """Return the sizes of the classes over all attributes, and how many records are suppressed in every one."""
    hidden = np.ones(len(columns[0].original), dtype=bool)
    codes: list[Codes] = []
    sizes: list[int] = []
    for column in columns:
        if isinstance(column, RangedColumn):
            ends = (column.low, column.high) if release else (column.original,)
            hidden &= np.isnan(ends[0])
            for numbers in ends:
                distinct, place = np.unique(numbers, return_inverse=True)
                codes.append(place)
                sizes.append(len(distinct))
        else:
            code, values = (column.release, column.labels) if release else (column.original, column.values)
            hidden &= _nothing(values)[code]
            codes.append(code)
            sizes.append(len(values))
    of_row, _ = group(codes, sizes)
    counts = np.bincount(of_row[~hidden])
    return counts[counts > 0].astype(np.int64), int(np.count_nonzero(hidden))


def _nothing(values: Sequence[Any]) -> NDArray[np.bool_]:
    """Return which values say nothing: nulls and `*`."""
    return np.array([value is None or value == SUPPRESSED for value in values], dtype=bool)


def _entropy(mass: NDArray[np.float64]) -> float:
    some = mass[mass > 0]
    return entropy_bits(some) if len(some) else 0.0


def _mean(figures: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Return the weighted mean of the figures that are defined; None where none is."""
    pairs = [(figure, weight) for figure, weight in zip(figures, weights, strict=True) if figure is not None]
    total = sum(weight for _, weight in pairs)
    return sum(figure * weight for figure, weight in pairs) / total if total else None


def _check(columns: Sequence[AnyColumn]) -> int:
    """Refuse columns that do not fit together; return the number of records."""
    if not columns:
        raise EmptyDataError("there are no attributes to compare.")
    if repeated := [name for name, times in Counter(column.name for column in columns).items() if times > 1]:
        raise DuplicateColumnError.named(repeated[0], "generalised attributes")
    records = len(columns[0].original)
    odd = [column.name for column in columns if _lengths(column) != {records}]
    if odd:
        raise ArgumentError(f"columns of aligned tables are of one length; these are not: {listed(odd)}.")
    if not records:
        raise EmptyDataError.no_records("generalised attributes")
    light = [column.name for column in columns if not 0.0 <= column.weight < math.inf]
    if light:
        raise ArgumentError(f"a weight is a number from 0 up; these attributes have another: {listed(light)}.")
    for column in columns:
        if isinstance(column, RangedColumn):
            _check_ranges(column)
        else:
            _check_codes(column)
    return records


def _lengths(column: AnyColumn) -> set[int]:
    ends = (column.low, column.high) if isinstance(column, RangedColumn) else (column.release,)
    return {len(column.original), *map(len, ends)}


def _check_ranges(column: RangedColumn) -> None:
    if np.isinf(column.original).any():
        raise ArgumentError(f"column {shown(column.name)}: infinite values in the original; make them nulls.")
    odd = np.count_nonzero((np.isnan(column.low) != np.isnan(column.high)) | (column.low > column.high))
    if odd:
        raise ArgumentError(f"column {shown(column.name)}: {counted(int(odd), 'range')} without two ends in order.")


def _check_codes(column: GeneralisedColumn) -> None:
    for codes, known in ((column.original, column.values), (column.release, column.labels)):
        if int(codes.min()) < 0 or int(codes.max()) >= len(known):
            raise ArgumentError(f"column {shown(column.name)}: a code lies outside its {len(known):,} values.")
