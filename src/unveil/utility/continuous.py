r"""How far have the numbers moved? Information loss of continuous attributes, record by record and in their structure.

Row i of the original and of the release is the same person. Seven things are compared, each by its cells: the data :math:`X`,
the covariances :math:`V`, the correlations :math:`R`, the correlations :math:`RF` of the attributes with the principal
components, the communalities :math:`C`, the factor score coefficients :math:`F` and the eigenvalues :math:`\Lambda`. With cells
:math:`x` of the original and :math:`x'` of the release,

.. math:: \mathrm{mse} = \overline{(x - x')^2}, \quad \mathrm{mae} = \overline{|x - x'|}, \quad
          \mathrm{variation} = \overline{|x - x'| / |x|},

where a cell that is zero in the original has no relative variation: it is left out of the third mean and counted separately.
Higher is more loss; a release that equals the original loses exactly zero.

- :math:`V` is compared on and above the diagonal and :math:`R` above it: each distinct figure once.
- Principal components are those of :math:`R = Q \Lambda Q^T`, by falling eigenvalue: :math:`RF = Q \Lambda^{1/2}`,
  :math:`F = R^{-1} RF = Q \Lambda^{-1/2}`. The communality :math:`C_i = RF_{i1}^2` is the share of an attribute that the first
  component explains.
- A component's sign means nothing: each one of the release is turned so that its loadings have no negative inner product with
  those of the original's component of the same rank.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz, Torra (2001), Comparing SDC methods for microdata on the basis of information loss and
   disclosure risk, Pre-proceedings of ETK-NTTS 2, 807-826. There RF and F also weigh components by the variance they explain;
   here every cell counts the same.
.. [2] Yancey, Winkler, Creecy (2002), Disclosure risk assessment in perturbative microdata protection, LNCS 2316 (IL1s).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unveil.errors import listed
from unveil.formats import counted
from unveil.run import active_run
from unveil.utility.loss_sections import ComparedCells, ContinuousLoss, NumberLoss, NumberSummary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]

__all__ = ["QUANTILES", "continuous_loss", "ks_distance", "refused"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles reported for every attribute, by linear interpolation between values."""

_STRUCTURES = ("covariance", "correlation", "principal_components", "communalities", "factor_scores", "eigenvalues")
_MOST_ATTRIBUTES = 2000
"""The structures of more attributes are not compared, because components take time cubic in their number."""
_CHUNK = 1 << 16
"""The number of records that are processed at a time."""
_LARGEST = 1e75
"""The fourth power of a value beyond this cannot be represented and summed in floating point."""
_TOO_LARGE = f"it holds values that are infinite or beyond {_LARGEST:g}"
_SINGULAR = 1e-10
"""An eigenvalue of a correlation matrix below this is treated as zero: its component has no score."""


def continuous_loss(original: Mapping[str, Numbers], release: Mapping[str, Numbers]) -> ContinuousLoss:
    """Measure the information loss of continuous attributes; the module's docstring gives the formulas.

    Parameters
    ----------
    original, release
        The same attributes of aligned records; a null is NaN. A record with a null in an attribute, in either table, is left
        out of the figures of that attribute, and one with any null out of the structures; both are counted.

    Returns
    -------
    ContinuousLoss
        `data` and the structures, each with `mse`, `mae`, `variation`, `cells`, `zeros`; `il1s`; `complete`, the number of
        records from which the structures are computed; and `attributes`, each with the same figures, the Kolmogorov-Smirnov
        distance `ks`, moments and quantiles of both tables and their difference. A figure that is undefined is None, with the
        reason.

    Notes
    -----
    An attribute that is constant in the original has no correlations to lose and is left out of R, RF, C and F, with a remark.
    One that is constant only in the release has lost them all: the four are then undefined rather than computed from the
    remaining attributes. If eigenvalues lie close together, a small change can rotate their components: RF and F then show more
    than the actual loss. The time is n log n per attribute, n times attributes squared for the covariances, and attributes
    cubed for the components. So the structures of more than 2,000 attributes are not compared, with a remark.

    Examples
    --------
    >>> import numpy as np
    >>> before = {"age": np.array([1.0, 2.0, 3.0, 4.0]), "income": np.array([2.0, 1.0, 4.0, 3.0])}
    >>> loss = continuous_loss(before, before | {"age": before["age"] + 0.5})
    >>> loss.data.mae, loss.covariance.mae, loss.attributes["age"].difference.mean
    (0.25, 0.0, 0.5)
    """
    fit = {name: not (_exceeds(original[name]) or _exceeds(release[name])) for name in original}
    run = active_run()
    attributes = {
        name: _attribute(original[name], release[name]) if fit[name] else refused(_TOO_LARGE)
        for name in run.each("numbers", original)
    }
    known = [attribute.compared for attribute in attributes.values() if attribute.compared.cells]
    kept = [name for name in original if fit[name]]
    with run.stage("structure of numbers") if kept else nullcontext():
        structures = _structures(kept, [original[name] for name in kept], [release[name] for name in kept])
    il1s, reason = _il1s(attributes)
    covariance, correlation, components, communalities, scores, eigenvalues = (
        structures.compared.get(name) or _undefined(structures.reason) for name in _STRUCTURES
    )
    return ContinuousLoss(
        data=_together(known),
        covariance=covariance,
        correlation=correlation,
        principal_components=components,
        communalities=communalities,
        factor_scores=scores,
        eigenvalues=eigenvalues,
        complete=structures.complete,
        il1s=il1s,
        attributes=attributes,
        il1s_reason=reason,
    )


def ks_distance(before: Numbers, after: Numbers) -> float:
    r"""Return the Kolmogorov-Smirnov distance :math:`\max_t |F(t) - F'(t)|` of two samples, both sorted and of one length.

    Examples
    --------
    >>> import numpy as np
    >>> ks_distance(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 9.0]))
    0.25
    """
    both = np.concatenate([before, after])
    order = np.argsort(both, kind="stable")  # two sorted runs, which are merged rather than sorted again
    height = np.cumsum(np.where(order < len(before), 1, -1))
    ordered = both[order]
    last_of_equals = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(height[last_of_equals]).max() / len(before))


def _exceeds(column: Numbers) -> bool:
    """Whether a value is so large that its fourth power cannot be represented."""
    return bool(np.fmax.reduce(column) > _LARGEST or np.fmin.reduce(column) < -_LARGEST)


def refused(reason: str) -> NumberLoss:
    """Return empty figures for an attribute that cannot be evaluated, with the reason."""
    return NumberLoss(0, 0, ComparedCells(None, None, None, 0, 0), None, None, None, None, None, reason)


def _compared(before: Numbers, after: Numbers, note: str = "") -> ComparedCells:
    """Compare cells: the three means, the number of cells, and the number of those that are zero in the original."""
    if not before.size:
        return _undefined(note or "there are no cells to compare")
    apart = np.abs(before - after)
    some = before != 0.0
    cells, nonzero = apart.size, int(np.count_nonzero(some))
    mse, mae, variation = float(np.mean(np.square(apart))), float(np.mean(apart)), None
    if nonzero:
        with np.errstate(over="ignore"):
            np.divide(apart, np.abs(before), out=apart, where=some)
            apart[~some] = 0.0
            variation = float(np.sum(apart) / nonzero)
    without = "" if nonzero else "every cell is zero in the original, so there is no relative variation"
    return ComparedCells(mse, mae, variation, cells, cells - nonzero, "; ".join(filter(None, (note, without))))


def _undefined(reason: str) -> ComparedCells:
    return ComparedCells(None, None, None, 0, 0, reason)


def _attribute(before: Numbers, after: Numbers) -> NumberLoss:
    """Compare one attribute over the records that have it in both tables."""
    known = ~(np.isnan(before) | np.isnan(after))
    left_out = len(before) - int(np.count_nonzero(known))
    if left_out:
        before, after = before[known], after[known]
    if not len(before):
        return replace(refused("no record has it in both tables"), left_out=left_out)
    compared = _compared(before, after)
    before, after = np.sort(before), np.sort(after)
    one, other = _marginal(before), _marginal(after)
    il1s = compared.mae / (math.sqrt(2.0) * one.sd) if one.sd and compared.mae is not None else None
    reasons = [compared.reason, "" if one.sd else "no spread in the original, so IL1s has no scale"]
    return NumberLoss(
        len(before),
        left_out,
        replace(compared, reason=""),
        il1s,
        ks_distance(before, after),
        one,
        other,
        _difference(one, other),
        "; ".join(filter(None, reasons)),
    )


def _marginal(ordered: Numbers) -> NumberSummary:
    """Describe one attribute, from its sorted values, so that the order of the records makes no difference."""
    n, low = len(ordered), float(ordered[0])
    mean = low if low == float(ordered[-1]) else float(np.mean(ordered))
    apart = ordered - mean
    squares = np.square(apart)
    second, third, fourth = (float(np.mean(squares)), float(np.mean(squares * apart)), float(np.mean(np.square(squares))))
    variance = second * n / (n - 1) if n > 1 else None
    shaped = second**2 > 0.0
    return NumberSummary(
        mean=mean,
        variance=variance,
        sd=None if variance is None else math.sqrt(variance),
        skewness=third / second**1.5 if shaped else None,
        kurtosis=fourth / second**2 - 3.0 if shaped else None,
        quantiles={f"{100 * share:g}%": _quantile(ordered, share) for share in QUANTILES},
    )


def _quantile(ordered: Numbers, share: float) -> float:
    below, part = divmod((len(ordered) - 1) * share, 1.0)
    low, high = float(ordered[int(below)]), float(ordered[min(int(below) + 1, len(ordered) - 1)])
    return low + part * (high - low)


def _difference(one: NumberSummary, other: NumberSummary) -> NumberSummary:
    """Return the figures of the second minus those of the first; None if either is undefined."""
    return NumberSummary(
        _moved(one.mean, other.mean),
        _moved(one.variance, other.variance),
        _moved(one.sd, other.sd),
        _moved(one.skewness, other.skewness),
        _moved(one.kurtosis, other.kurtosis),
        {name: other.quantiles[name] - mine for name, mine in one.quantiles.items()},
    )


def _moved(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _together(attributes: Sequence[ComparedCells]) -> ComparedCells:
    """Compare the cells of all attributes together, from the means of each."""
    cells, zeros = sum(one.cells for one in attributes), sum(one.zeros for one in attributes)
    if not cells:
        return _undefined("no cell is known in both tables")
    mse = sum((one.mse or 0.0) * one.cells for one in attributes) / cells
    mae = sum((one.mae or 0.0) * one.cells for one in attributes) / cells
    parts = [one.variation * (one.cells - one.zeros) for one in attributes if one.variation is not None]
    variation = sum(parts) / (cells - zeros) if cells > zeros else None
    return ComparedCells(mse, mae, variation, cells, zeros, "" if cells > zeros else "every cell is zero in the original")


def _il1s(attributes: Mapping[str, NumberLoss]) -> tuple[float | None, str]:
    r"""Return the mean of :math:`|x - x'| / (\sqrt 2 S_j)` over the cells of the attributes that vary, and which do not."""
    defined = [(one.il1s, one.compared.cells) for one in attributes.values() if one.il1s is not None]
    without = [name for name, one in attributes.items() if one.il1s is None]
    cells = sum(n for _, n in defined)
    value = sum(il1s * n for il1s, n in defined) / cells if cells else None
    return value, f"left out, without spread in the original: {listed(without)}" if without else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Structures:
    """The structures that could be compared, the number of complete records, and the reasons why others could not be."""

    complete: int
    compared: Mapping[str, ComparedCells]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """The correlations of a table, and the loadings of the attributes on their principal components."""

    correlation: Numbers
    eigenvalues: Numbers
    loadings: Numbers

    @classmethod
    def of(cls, covariance: Numbers) -> _Shape:
        sd = np.sqrt(np.diagonal(covariance))
        correlation = np.clip(covariance / sd[:, None] / sd, -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        rising, vectors = np.linalg.eigh(correlation)
        eigenvalues = np.maximum(rising[::-1], 0.0)
        return cls(correlation, eigenvalues, vectors[:, ::-1] * np.sqrt(eigenvalues))

    def turned_to(self, other: _Shape) -> _Shape:
        """Return the same, with every component given the sign of the other's."""
        against = np.sum(self.loadings * other.loadings, axis=0) < 0.0
        return _Shape(self.correlation, self.eigenvalues, np.where(against, -self.loadings, self.loadings))


def _structures(names: Sequence[str], original: Sequence[Numbers], release: Sequence[Numbers]) -> _Structures:
    """Compare covariances, correlations and the structures derived from them, on the records without a null."""
    complete = (
        np.logical_and.reduce([~np.isnan(column) for column in (*original, *release)]) if names else np.zeros(0, dtype=bool)
    )
    records = int(np.count_nonzero(complete))
    if records < 2:  # noqa: PLR2004 - one record has no spread
        return _Structures(records, {}, "fewer than two records are complete")
    if len(names) > _MOST_ATTRIBUTES:
        return _Structures(records, {}, f"{len(names):,} attributes, more than {_MOST_ATTRIBUTES:,}: not compared")
    (before, still), (after, flat) = (_covariance(table, complete) for table in (original, release))
    triangle = np.triu_indices(len(names))
    structures = {"covariance": _compared(before[triangle], after[triangle])}
    gone = [name for name, varied, constant in zip(names, ~still, flat, strict=True) if varied and constant]
    if still.all() or gone:
        why = f"constant in the release: {listed(gone)}" if gone else "every attribute is constant in the original"
        return _Structures(records, structures, f"{why}; a constant has no correlations")
    kept = np.flatnonzero(~still)
    one, other = (_Shape.of(matrix[np.ix_(kept, kept)]) for matrix in (before, after))
    left_out = [name for name, constant in zip(names, still, strict=True) if constant]
    note = f"left out, constant in the original: {listed(left_out)}" if left_out else ""
    return _Structures(records, structures | _shapes(one, other.turned_to(one), note))


def _shapes(one: _Shape, other: _Shape, note: str) -> dict[str, ComparedCells]:
    """Compare correlations, loadings, communalities, factor scores and eigenvalues."""
    above = np.triu_indices(len(one.correlation), 1)
    scored = (one.eigenvalues > _SINGULAR) & (other.eigenvalues > _SINGULAR)
    scores = [shape.loadings[:, scored] / shape.eigenvalues[scored] for shape in (one, other)]
    alone = "" if len(one.correlation) > 1 else "fewer than two attributes vary, so there is no correlation"
    flat = "" if scored.all() else f"{counted(int(np.count_nonzero(~scored)), 'component')} without variance left out"
    return {
        "correlation": _compared(one.correlation[above], other.correlation[above], "; ".join(filter(None, (note, alone)))),
        "principal_components": _compared(one.loadings, other.loadings, note),
        "communalities": _compared(np.square(one.loadings[:, 0]), np.square(other.loadings[:, 0]), note),
        "factor_scores": _compared(scores[0], scores[1], "; ".join(filter(None, (note, flat)))),
        "eigenvalues": _compared(one.eigenvalues, other.eigenvalues, note),
    }


def _covariance(columns: Sequence[Numbers], complete: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the sample covariances over the complete records, and which attributes are constant there."""
    n, width = int(np.count_nonzero(complete)), len(columns)
    total, low, high = np.zeros(width), np.full(width, np.inf), np.full(width, -np.inf)
    for piece in _pieces(columns, complete):
        total += piece.sum(axis=1)
        low, high = np.minimum(low, piece.min(axis=1)), np.maximum(high, piece.max(axis=1))
    mean = np.where(low == high, low, total / n)
    products = np.zeros((width, width))
    for piece in _pieces(columns, complete):
        piece -= mean[:, None]  # noqa: PLW2901 - the piece is a copy
        products += piece @ piece.T
    covariance = products / (n - 1)
    return covariance, (low == high) | (np.diagonal(covariance) == 0.0)


def _pieces(columns: Sequence[Numbers], complete: NDArray[np.bool_]) -> Iterator[Numbers]:
    """Yield copies of the complete records, attributes by records, piece by piece."""
    for start in range(0, len(complete), _CHUNK):
        piece = slice(start, start + _CHUNK)
        kept = complete[piece]
        if kept.any():
            yield np.stack([column[piece][kept] for column in columns])
