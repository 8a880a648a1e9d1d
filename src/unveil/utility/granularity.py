r"""How coarse has a release become? Loss of generalisation and suppression, from what released labels cover, and class sizes.

Row i of the original and of the release is the same person. A released label stands for the leaves of its hierarchy below it
(without a hierarchy: for the original's values that it covers, an interval, a masked code or a set); `*` and null stand for all
of them (suppression). A cell that is null, or `*`, in the original has nothing to lose: it is left out and counted. Every loss
is 0 for a release that equals the original, or if there is only one value, and 1 if everything is suppressed. For N cells,
with a label that covers m of M leaves and is at level l of a hierarchy of height h:

- **granularity** :math:`\frac{\sum m/M - N/M}{N - N/M}`, the mean of :math:`(m - 1)/(M - 1)`: the loss metric [1]_, scaled as in
  ARX; M are all leaves of the hierarchy, present in the data or not.
- **precision**, the mean of :math:`l / h`; a suppressed cell counts 1. Sweeney's Precision [2]_ is 1 less this.
- **ncp**, normalised certainty penalty [3]_: :math:`m / M`, and 0 if m = 1; if all leaves are numbers, the range of
  the leaves covered over the range of all.
- **nonuniform_entropy** [4]_: :math:`-\sum \log_2 (f_a / f_b)` over the cells, with :math:`f_a` the original records of value a
  and :math:`f_b` those with any value that b covers; over its highest value :math:`N H(X)`, all suppressed. For a global
  recoding it is :math:`H(X \mid X') / H(X)`.
- **ambiguity** [5]_: the mean over the records of the product over the attributes of m, the original records that a released
  one could have been.
- **discernibility** [6]_: :math:`\sum |E|^2` over the classes, a suppressed record counting as many as there are records;
  **average_class_size** [7]_: the records that are not suppressed over the classes.

Figures of classes come with the original's own, :math:`v_0`; their loss is :math:`(v - v_0) / (v_1 - v_0)` with the highest
:math:`v_1` (all suppressed, or all in one class). It is negative if a perturbation left smaller classes than before.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import summed
from unveil.formats import counted, jsonable
from unveil.measures import entropy_bits
from unveil.partitions import Hierarchy, is_suppressed
from unveil.utility.categorical import CodedPair
from unveil.utility.covering import Covering, covered_by_hierarchy, covered_by_values
from unveil.utility.loss_sections import ClassFigure, Coarseness

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LOSSES",
    "Granularity",
    "average_class_size",
    "class_figure",
    "discernibility",
    "granularity_loss",
    "says_nothing",
    "unread",
]

LOSSES = ("granularity", "precision", "ncp", "nonuniform_entropy")


@dataclass(frozen=True, slots=True, eq=False)
class Granularity:
    """The coarseness of one attribute.

    Attributes
    ----------
    figures
        The four losses, None if undefined, with `reasons`; the number of cells with something to lose, of those that were null
        before, of suppressed cells, and of cells whose label does not cover the original value (`elsewhere`); the leaves and
        the height.
    covered
        The number of leaves that each code of the dictionary covers in the release.
    """

    figures: Coarseness
    covered: NDArray[np.float64]


def granularity_loss(column: CodedPair, hierarchy: Hierarchy | None = None) -> Granularity:
    """Measure how coarse one attribute has become; the module's docstring gives the formulas.

    Parameters
    ----------
    column
        The attribute, aligned.
    hierarchy
        The hierarchy of the labels. None: the leaves are the original's values, and labels are values, intervals, masked codes,
        sets or `*`.

    Raises
    ------
    HierarchyError
        If a value is not a leaf, or a label covers nothing that is known.

    Notes
    -----
    A label may be at any level. If one level explains the labels of all records, they belong to that level (the lowest such
    level); otherwise each belongs to the lowest level that contains it. A label that does not cover the record's own value is
    due to perturbation: it is counted, and the non-uniform entropy is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> city = Hierarchy("city", [["Paris", "France", "*"], ["Lyon", "France", "*"], ["Lima", "Peru", "*"]])
    >>> values = ["Paris", "Lyon", "Lima", "France", "*"]
    >>> column = CodedPair("city", values, np.array([0, 1, 2, 2]), np.array([3, 3, 2, 4]))
    >>> figures = granularity_loss(column, city).figures
    >>> figures.granularity, figures.precision, figures.suppressed
    (0.5, 0.5, 1)
    """
    value, label, n = column.tally()
    nothing = says_nothing(column.values)
    known = ~nothing[value]
    value, label, n, nulls = value[known], label[known], n[known], int(n[~known].sum())
    suppressed = nothing[label]
    present, labels = np.unique(value), np.unique(label[~suppressed])
    if hierarchy is None:
        domain = covered_by_values(column.values, present, labels)
    else:
        domain = covered_by_hierarchy(column.values, present, labels, hierarchy, (value[~suppressed], label[~suppressed]))
    cells, elsewhere = int(n.sum()), int(n[~(suppressed | domain.holds(value, label))].sum())
    reasons = _reasons(domain, cells, elsewhere)
    covered = domain.summed(np.ones(domain.leaves), domain.leaves)
    figures = {name: None if name in reasons else 0.0 for name in LOSSES}
    if "granularity" not in reasons and domain.leaves > 1:
        figures["granularity"] = _mean((covered[label] - 1.0) / (domain.leaves - 1), n)
        figures["ncp"] = _mean(domain.extents()[label], n)
    if "precision" not in reasons:
        figures["precision"] = _mean(domain.levels()[label], n)
    if "nonuniform_entropy" not in reasons and len(present) > 1:
        frequency = summed(domain.leaf[value], n, domain.leaves)
        bits = _mean(np.log2(domain.summed(frequency, n.sum())[label] / frequency[domain.leaf[value]]), n)
        figures["nonuniform_entropy"] = min(bits / entropy_bits(frequency[frequency > 0]), 1.0)  # above it by rounding only
    coarse = Coarseness(
        **figures,
        cells=cells,
        nulls=nulls,
        suppressed=int(n[suppressed].sum()),
        elsewhere=elsewhere,
        leaves=domain.leaves,
        height=domain.height,
        reasons=reasons or None,
    )
    return Granularity(coarse, covered)


def unread(reason: str) -> Coarseness:
    """Return empty figures for an attribute whose labels cannot be read, with the reason."""
    return Coarseness(None, None, None, None, reasons=dict.fromkeys(LOSSES, reason))


def _reasons(domain: Covering, cells: int, elsewhere: int) -> dict[str, str]:
    """Return the reasons for the figures of an attribute that are undefined."""
    if not cells:
        return dict.fromkeys(LOSSES, "every cell is null in the original")
    reasons = {} if domain.height else {"precision": "labels without a hierarchy have no levels"}
    if elsewhere:
        reasons["nonuniform_entropy"] = f"{counted(elsewhere, 'released label')} not above the original value"
    return reasons


def _mean(figures: NDArray[np.float64], n: NDArray[np.int64]) -> float:
    return float((n * figures).sum() / n.sum())


def discernibility(sizes: NDArray[np.int64], suppressed: int, records: int) -> int:
    r"""Return :math:`\sum |E|^2 + s n`: a record counts all records it cannot be distinguished from, a suppressed one all n.

    Parameters
    ----------
    sizes
        The sizes of the classes, without suppressed records.
    suppressed, records
        The number of suppressed records s, and of all records n.

    Examples
    --------
    >>> import numpy as np
    >>> discernibility(np.array([2, 1]), 1, 4)
    9
    """
    return int(np.dot(sizes, sizes)) + suppressed * records


def average_class_size(sizes: NDArray[np.int64]) -> float | None:
    """Return the mean size of the classes, without suppressed records; None if there is no class.

    Examples
    --------
    >>> import numpy as np
    >>> average_class_size(np.array([2, 1]))
    1.5
    """
    return float(sizes.mean()) if len(sizes) else None


def class_figure(original: float | None, release: float | None, highest: float) -> ClassFigure:
    """Return a figure of both whole tables, and its loss between the original's value and the highest.

    Examples
    --------
    >>> class_figure(6, 9, 16).loss
    0.3
    """
    loss, reason = None, ""
    if release is None or original is None:
        reason = "every record is suppressed, so there is no class"
    elif release == original:
        loss = 0.0
    elif not math.isfinite(highest):
        reason = "there are more combinations than floating point can hold"
    elif highest <= original:
        reason = "the original has the highest figure already, so there is nothing to lose"
    else:
        loss = (release - original) / (highest - original)
    return ClassFigure(jsonable(original), jsonable(release), loss, reason)


def says_nothing(values: Sequence[Any]) -> NDArray[np.bool_]:
    """Return which values of a dictionary carry no information: nulls and `*`."""
    return np.array([is_suppressed(value) for value in values], dtype=bool)
