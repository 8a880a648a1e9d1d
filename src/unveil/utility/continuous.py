r"""How far have the numbers moved? Information loss of continuous attributes, record by record and in their structure.

Row i of the original and of the release is the same person. Six things are compared, each by its cells: the data
:math:`X`, the covariances :math:`V`, the correlations :math:`R`, the correlations :math:`RF` of the attributes with the
principal components, the communalities :math:`C`, and the factor score coefficients :math:`F`. With cells :math:`x` of the
original and :math:`x'` of the release,

.. math:: \mathrm{mse} = \overline{(x - x')^2}, \quad \mathrm{mae} = \overline{|x - x'|}, \quad
          \mathrm{variation} = \overline{|x - x'| / |x|},

where a cell that is zero in the original has no relative variation: it is left out of the third mean and counted. Higher is
more loss; a release that equals the original loses exactly zero.

- :math:`V` is compared on and above the diagonal and :math:`R` above it: each distinct figure once.
- Principal components are those of :math:`R = Q \Lambda Q^T`, by falling eigenvalue: :math:`RF = Q \Lambda^{1/2}`,
  :math:`F = R^{-1} RF = Q \Lambda^{-1/2}`, :math:`C_i = \sum_{j \le m} RF_{ij}^2` over the first m components.
- A component's sign means nothing. Each of the original is turned so that its largest loading is positive, each of the release
  so that its loadings have no negative inner product with those of the original's component of the same rank.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz, Torra (2001), Comparing SDC methods for microdata on the basis of information loss and
   disclosure risk, Pre-proceedings of ETK-NTTS 2, 807-826. There RF and F also weigh components by the variance they explain;
   here, as in later presentations, every cell counts the same.
.. [2] Yancey, Winkler, Creecy (2002), Disclosure risk assessment in perturbative microdata protection, LNCS 2316 (IL1s).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, EmptyDataError, listed
from unveil.results import jsonable
from unveil.results.numbers import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["QUANTILES", "AttributeLoss", "ContinuousLoss", "Marginal", "MatrixLoss", "continuous_loss", "ks_statistic"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles given of every attribute, between values by linear interpolation."""

_MATRICES = ("covariance", "correlation", "principal_components", "communalities", "factor_scores")
_CHUNK = 1 << 16
"""Records are worked on in pieces of this many."""
_LARGEST = 1e100
"""A value beyond it cannot be cubed and summed in floating point."""
_ABOVE_ONE = 1e-9
"""An eigenvalue counts as above 1 only by more than rounding."""
_SINGULAR = 1e-10
"""Below this an eigenvalue of a correlation matrix is taken for zero: its component has no score."""


@dataclass(frozen=True, slots=True)
class MatrixLoss:
    """How far two matrices lie apart, cell by cell.

    Attributes
    ----------
    mse, mae, variation
        The mean square error, the mean absolute error and the mean relative variation; None where undefined.
    cells, zeros
        The cells compared, and those of them that are zero in the original and so have no variation.
    reason
        Why a figure is undefined, or what was left out; empty where nothing is to be said.
    """

    mse: float | None
    mae: float | None
    variation: float | None
    cells: int
    zeros: int
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        figures = {"mse": self.mse, "mae": self.mae, "variation": self.variation, "cells": self.cells, "zeros": self.zeros}
        return jsonable(figures | ({"reason": self.reason} if self.reason else {}))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Marginal:
    """One attribute by itself: mean, sample variance and its root, skewness (moment coefficient), quantiles."""

    mean: float
    variance: float | None
    sd: float | None
    skewness: float | None
    quantiles: tuple[float, ...]

    def minus(self, other: Marginal) -> Marginal:
        """Return the differences of the figures; None where one of the two is undefined."""
        return Marginal(
            self.mean - other.mean,
            _difference(self.variance, other.variance),
            _difference(self.sd, other.sd),
            _difference(self.skewness, other.skewness),
            tuple(mine - theirs for mine, theirs in zip(self.quantiles, other.quantiles, strict=True)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, quantiles by their percentage."""
        shares = {f"{100 * share:g}%": value for share, value in zip(QUANTILES, self.quantiles, strict=True)}
        figures = {"mean": self.mean, "variance": self.variance, "sd": self.sd, "skewness": self.skewness, "quantiles": shares}
        return jsonable(figures)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class AttributeLoss:
    r"""What happened to one attribute, over the records that have it in both tables.

    Attributes
    ----------
    name
        The attribute.
    records, left_out
        The records that have it in both tables, and the others.
    data
        How far its values have moved.
    il1s
        The mean of :math:`|x - x'| / (\sqrt 2 S)`, S the standard deviation in the original; None where that is zero.
    ks
        The Kolmogorov-Smirnov distance: the largest difference between the two distribution functions.
    original, release, difference
        The figures of the attribute by itself, before and after, and after less before; None without records.
    reasons
        Why a figure is undefined, by figure.
    """

    name: str
    records: int
    left_out: int
    data: MatrixLoss
    il1s: float | None
    ks: float | None
    original: Marginal | None
    release: Marginal | None
    difference: Marginal | None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        parts = {"original": self.original, "release": self.release, "difference": self.difference}
        return {
            "name": self.name,
            "records": self.records,
            "left_out": self.left_out,
            **self.data.to_dict(),
            "il1s": jsonable(self.il1s),
            "ks": self.ks,
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            **({"reasons": dict(self.reasons)} if self.reasons else {}),
        }


@dataclass(frozen=True, slots=True, repr=False)
class ContinuousLoss:
    r"""The information loss of continuous attributes.

    Attributes
    ----------
    names
        The attributes.
    records, complete
        All records, and those without a null in either table, which the five matrices are computed on.
    matrices
        The loss of `data`, `covariance`, `correlation`, `principal_components`, `communalities` and `factor_scores`.
    il1s
        The mean of :math:`|x - x'| / (\sqrt 2 S_j)` over the cells of all attributes that vary in the original.
    attributes
        The attributes one by one.
    components
        How many principal components the communalities take in; None where there are none.
    correlated
        The attributes of the correlation matrices, those that vary in the original.
    eigenvalues, correlations
        Of the correlation matrix, and the matrix itself, in the original and in the release; empty where undefined.
    il1s_reason
        Why IL1s is undefined, or what it leaves out.
    """

    names: tuple[str, ...]
    records: int
    complete: int
    matrices: Mapping[str, MatrixLoss]
    il1s: float | None
    attributes: tuple[AttributeLoss, ...]
    components: int | None
    correlated: tuple[str, ...]
    eigenvalues: tuple[tuple[float, ...], ...]
    correlations: tuple[tuple[tuple[float, ...], ...], ...]
    il1s_reason: str = ""

    def __repr__(self) -> str:
        """Return one line: attributes, records, the data's mean absolute error."""
        loss = self.matrices["data"].mae
        shown_loss = "undefined" if loss is None else f"{loss:.4g}"
        attributes, records = counted(len(self.names), "attribute"), counted(self.records, "record")
        return f"ContinuousLoss({attributes}, {records}, mean absolute error {shown_loss})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain values."""
        sides = ("original", "release")
        return {
            "names": list(self.names),
            "records": self.records,
            "complete": self.complete,
            "left_out": self.records - self.complete,
            **{name: matrix.to_dict() for name, matrix in self.matrices.items()},
            "il1s": jsonable(self.il1s),
            **({"il1s_reason": self.il1s_reason} if self.il1s_reason else {}),
            "components": self.components,
            "correlated": list(self.correlated),
            "eigenvalues": dict(zip(sides, jsonable(self.eigenvalues), strict=False)),
            "correlations": dict(zip(sides, jsonable(self.correlations), strict=False)),
            "attributes": [attribute.to_dict() for attribute in self.attributes],
        }


def continuous_loss(
    original: NDArray[Any], release: NDArray[Any], names: Sequence[str], *, components: int | None = None
) -> ContinuousLoss:
    """Measure the information loss of continuous attributes; the module's first lines give the formulas.

    Parameters
    ----------
    original, release
        Records by attributes, aligned; a null is NaN. A record with a null in an attribute, in either table, is left out of
        what concerns that attribute, and one with any null out of the matrices; both are counted.
    names
        The attributes, in the order of the columns.
    components
        How many principal components the communalities take in; none: those of the original with an eigenvalue above 1,
        at least one.

    Returns
    -------
    ContinuousLoss
        The six comparisons, IL1s, and every attribute by itself.

    Raises
    ------
    ArgumentError
        If the shapes do not fit, or a value is infinite or beyond 1e100.
    EmptyDataError
        If there are no records.

    Notes
    -----
    An attribute that is constant in the original has no correlations to lose and is left out of R, RF, C and F, which say so.
    One that is constant in the release only has lost them all: the four are then undefined, with the reason, rather than
    computed on what is left. Where eigenvalues lie close together a small change can turn their components: RF and F then
    show more than was lost. Time n log n per attribute, and n times attributes squared for the covariances.

    Examples
    --------
    >>> import numpy as np
    >>> before = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0]])
    >>> loss = continuous_loss(before, before + [0.5, 0.0], ["age", "income"])
    >>> loss.matrices["data"].mae, loss.matrices["covariance"].mae
    (0.25, 0.0)
    >>> loss.attributes[0].difference.mean
    0.5
    """
    _check(original, release, names, components)
    pairs = [_attribute(original, release, at, name) for at, name in enumerate(names)]
    attributes = tuple(attribute for attribute, _ in pairs)
    complete = _complete(original, release)
    il1s, il1s_reason = _il1s(attributes)
    matrices, components, correlated, shapes = _structures(original, release, names, complete, components)
    return ContinuousLoss(
        names=tuple(names),
        records=len(original),
        complete=int(np.count_nonzero(complete)),
        matrices={"data": _data_loss([sums for _, sums in pairs]), **matrices},
        il1s=il1s,
        attributes=attributes,
        components=components,
        correlated=correlated,
        eigenvalues=tuple(tuple(shape.eigenvalues.tolist()) for shape in shapes),
        correlations=tuple(tuple(map(tuple, shape.correlation.tolist())) for shape in shapes),
        il1s_reason=il1s_reason,
    )


def ks_statistic(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    r"""Return the Kolmogorov-Smirnov distance :math:`\max_t |F(t) - F'(t)|` of two samples, both sorted and of one length.

    Examples
    --------
    >>> import numpy as np
    >>> ks_statistic(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 9.0]))
    0.25
    """
    both = np.concatenate([before, after])
    order = np.argsort(both, kind="stable")  # two sorted runs: merged, not sorted again
    height = np.cumsum(np.where(order < len(before), 1, -1))
    ordered = both[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(height[last]).max() / len(before))


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums behind a comparison of cells; they add up over attributes."""

    square: float
    absolute: float
    relative: float
    cells: int
    zeros: int

    @classmethod
    def between(cls, before: NDArray[np.float64], after: NDArray[np.float64]) -> _Sums:
        with np.errstate(over="ignore"):
            apart = np.abs(before - after)
            some = before != 0.0
            relative = np.divide(apart, np.abs(before), out=np.zeros_like(apart), where=some)
            square, absolute, total = (float(np.sum(figures)) for figures in (np.square(apart), apart, relative))
        return cls(square, absolute, total, apart.size, apart.size - int(np.count_nonzero(some)))

    def means(self, reason: str = "") -> MatrixLoss:
        if not self.cells:
            return MatrixLoss(None, None, None, 0, 0, reason or "there are no cells to compare")
        some = self.cells - self.zeros
        nothing = "" if some else "every cell is zero in the original, so there is no relative variation"
        return MatrixLoss(
            self.square / self.cells,
            self.absolute / self.cells,
            self.relative / some if some else None,
            self.cells,
            self.zeros,
            "; ".join(filter(None, (reason, nothing))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Structure:
    """The correlations of a table and their principal components."""

    correlation: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    loadings: NDArray[np.float64]

    @classmethod
    def of(cls, covariance: NDArray[np.float64]) -> _Structure:
        sd = np.sqrt(np.diagonal(covariance))
        correlation = np.clip(covariance / sd[:, None] / sd, -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        rising, vectors = np.linalg.eigh(correlation)
        eigenvalues = np.maximum(rising[::-1], 0.0)
        vectors = vectors[:, ::-1]
        largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=0)[None, :], axis=0)
        return cls(correlation, eigenvalues, vectors * np.sign(largest) * np.sqrt(eigenvalues))

    def turned_to(self, other: _Structure) -> _Structure:
        """Return the same structure with the sign of every component that of the other's."""
        against = np.sum(self.loadings * other.loadings, axis=0) < 0.0
        return _Structure(self.correlation, self.eigenvalues, np.where(against, -self.loadings, self.loadings))


def _check(original: NDArray[Any], release: NDArray[Any], names: Sequence[str], components: int | None) -> None:
    if original.ndim != 2 or original.shape != release.shape:  # noqa: PLR2004
        raise ArgumentError(f"original and release are two matrices of one shape, not {original.shape} and {release.shape}.")
    if len(names) != original.shape[1] or not names:
        raise ArgumentError(f"{len(names):,} names are given for {original.shape[1]:,} columns; each column needs one.")
    if not len(original):
        raise EmptyDataError.no_records("continuous attributes")
    if components is not None and not 1 <= components <= len(names):
        raise ArgumentError(f"components is a number from 1 to {len(names)}, not {components}.")
    endless = [name for at, name in enumerate(names) if _exceeds(original[:, at]) or _exceeds(release[:, at])]
    if endless:
        raise ArgumentError(f"values that are infinite or beyond {_LARGEST:g} in {listed(endless)}; rescale, or make them nulls.")


def _exceeds(column: NDArray[Any]) -> bool:
    """Whether a value is so large that its cube cannot be held."""
    return bool(np.fmax.reduce(column) > _LARGEST or np.fmin.reduce(column) < -_LARGEST)


def _complete(original: NDArray[Any], release: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which records have no null in either table."""
    complete = np.ones(len(original), dtype=bool)
    for table in (original, release):
        for column in table.T:
            complete &= ~np.isnan(column)
    return complete


def _attribute(original: NDArray[Any], release: NDArray[Any], at: int, name: str) -> tuple[AttributeLoss, _Sums]:
    """Compare one attribute over the records that have it in both tables."""
    before, after = (np.ascontiguousarray(table[:, at], dtype=np.float64) for table in (original, release))
    known = ~(np.isnan(before) | np.isnan(after))
    if not known.all():
        before, after = before[known], after[known]
    sums = _Sums.between(before, after)
    left_out = len(original) - len(before)
    if not len(before):
        reason = "no record has the attribute in both tables"
        return AttributeLoss(name, 0, left_out, sums.means(reason), None, None, None, None, None, {"all": reason}), sums
    before, after = np.sort(before), np.sort(after)
    one, other = _marginal(before), _marginal(after)
    il1s = _quotient(sums.absolute / sums.cells, math.sqrt(2.0) * one.sd if one.sd else None)
    reasons = _reasons(one, other, len(before))
    loss = AttributeLoss(
        name, len(before), left_out, sums.means(), il1s, ks_statistic(before, after), one, other, other.minus(one), reasons
    )
    return loss, sums


def _marginal(ordered: NDArray[np.float64]) -> Marginal:
    """Describe one attribute; from its sorted values, so that the order of the records changes nothing."""
    n, low = len(ordered), float(ordered[0])
    constant = low == float(ordered[-1])
    mean = low if constant else float(np.mean(ordered))
    apart = ordered - mean
    squares = np.square(apart)
    second, third = float(np.mean(squares)), float(np.mean(squares * apart))
    variance = None if n == 1 else second * n / (n - 1)
    skewness = third / second**1.5 if second**1.5 > 0.0 else None
    quantiles = tuple(np.quantile(ordered, QUANTILES).tolist())
    return Marginal(mean, variance, None if variance is None else math.sqrt(variance), skewness, quantiles)


def _reasons(one: Marginal, other: Marginal, records: int) -> dict[str, str]:
    """Say why figures of an attribute are undefined."""
    if records == 1:
        return dict.fromkeys(("variance", "sd", "skewness", "il1s"), "one record has no spread")
    reasons = {} if one.sd else {"il1s": "the attribute has no spread in the original, so there is no scale to measure by"}
    flat = [side for side, marginal in (("original", one), ("release", other)) if marginal.skewness is None]
    if flat:
        reasons["skewness"] = f"the attribute has no spread in the {' and the '.join(flat)}"
    return reasons


def _il1s(attributes: Sequence[AttributeLoss]) -> tuple[float | None, str]:
    """Return the mean over the cells of the attributes that have an IL1s, and which have none."""
    defined = [(attribute.il1s, attribute.records) for attribute in attributes if attribute.il1s is not None]
    without = [attribute.name for attribute in attributes if attribute.il1s is None]
    reason = f"left out, without spread in the original: {listed(without)}" if without else ""
    cells = sum(records for _, records in defined)
    return _quotient(sum(il1s * records for il1s, records in defined), cells), reason


def _data_loss(sums: Sequence[_Sums]) -> MatrixLoss:
    """Compare the cells of all attributes together."""
    cells, zeros = sum(one.cells for one in sums), sum(one.zeros for one in sums)
    square, absolute = sum(one.square for one in sums), sum(one.absolute for one in sums)
    total = _Sums(square, absolute, sum(one.relative for one in sums), cells, zeros)
    return total.means("" if cells else "no cell is known in both tables")


def _structures(
    original: NDArray[Any],
    release: NDArray[Any],
    names: Sequence[str],
    complete: NDArray[np.bool_],
    components: int | None,
) -> tuple[dict[str, MatrixLoss], int | None, tuple[str, ...], tuple[_Structure, ...]]:
    """Compare covariances, correlations and what follows from them, on the complete records."""
    if np.count_nonzero(complete) < 2:  # noqa: PLR2004
        return _undefined(_MATRICES, "fewer than two records are complete"), None, (), ()
    (before, still), (after, flat) = (_covariance(table, complete) for table in (original, release))
    triangle = np.triu_indices(len(names))
    covariance = {"covariance": _Sums.between(before[triangle], after[triangle]).means()}
    gone = [name for name, varied, constant in zip(names, ~still, flat, strict=True) if varied and constant]
    if still.all() or gone:
        why = f"constant in the release: {listed(gone)}" if gone else "every attribute is constant in the original"
        return covariance | _undefined(_MATRICES[1:], f"{why}; a constant has no correlations"), None, (), ()
    kept = np.flatnonzero(~still)
    one = _Structure.of(before[np.ix_(kept, kept)])
    other = _Structure.of(after[np.ix_(kept, kept)]).turned_to(one)
    left_out = [name for name, constant in zip(names, still, strict=True) if constant]
    note = f"left out, constant in the original: {listed(left_out)}" if left_out else ""
    number = max(1, int(np.count_nonzero(one.eigenvalues > 1.0 + _ABOVE_ONE))) if components is None else components
    number = min(number, len(kept))
    correlated = tuple(names[at] for at in kept.tolist())
    return covariance | _compared(one, other, number, note), number, correlated, (one, other)


def _compared(one: _Structure, other: _Structure, number: int, note: str) -> dict[str, MatrixLoss]:
    """Compare correlations, principal components, communalities and factor scores."""
    above = np.triu_indices(len(one.correlation), 1)
    alone = "" if len(one.correlation) > 1 else "fewer than two attributes vary, so there is no correlation"
    communal = [np.sum(np.square(shape.loadings[:, :number]), axis=1) for shape in (one, other)]
    scored = (one.eigenvalues > _SINGULAR) & (other.eigenvalues > _SINGULAR)
    scores = [shape.loadings[:, scored] / shape.eigenvalues[scored] for shape in (one, other)]
    flat = int(np.count_nonzero(~scored))
    without = f"{counted(flat, 'component')} left out: no variance, so no score" if flat else ""
    return {
        "correlation": _Sums.between(one.correlation[above], other.correlation[above]).means(_said(note, alone)),
        "principal_components": _Sums.between(one.loadings, other.loadings).means(note),
        "communalities": _Sums.between(*communal).means(note),
        "factor_scores": _Sums.between(*scores).means(_said(note, without)),
    }


def _covariance(table: NDArray[Any], complete: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the sample covariances over the complete records, and which attributes are constant there."""
    n, width = int(np.count_nonzero(complete)), table.shape[1]
    total = np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for piece in _pieces(table, complete):
        total += piece.sum(axis=0)
        low, high = np.minimum(low, piece.min(axis=0)), np.maximum(high, piece.max(axis=0))
    mean = np.where(low == high, low, total / n)
    products = np.zeros((width, width))
    for piece in _pieces(table, complete):
        piece -= mean  # noqa: PLW2901  (the piece is a copy)
        products += piece.T @ piece
    covariance = (products + products.T) / (2.0 * (n - 1))
    return covariance, (low == high) | (np.diagonal(covariance) == 0.0)


def _pieces(table: NDArray[Any], complete: NDArray[np.bool_]) -> Iterator[NDArray[np.float64]]:
    """Give copies of the complete records, some at a time."""
    for start in range(0, len(table), _CHUNK):
        piece = slice(start, start + _CHUNK)
        kept = np.array(table[piece][complete[piece]], dtype=np.float64, order="C")
        if len(kept):
            yield kept


def _undefined(names: Sequence[str], reason: str) -> dict[str, MatrixLoss]:
    return {name: MatrixLoss(None, None, None, 0, 0, reason) for name in names}


def _said(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _quotient(one: float, other: float | None) -> float | None:
    return one / other if other else None
