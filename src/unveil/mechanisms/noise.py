r"""What if every value is a little wrong? Noise: additive, correlated, with a subsequent transformation, multiplicative.

With :math:`X` the attributes, :math:`\mu` their means, :math:`\Sigma` their covariances and :math:`a` the amount of noise:

- ``uncorrelated``, :math:`X + e` with :math:`e \sim N(0, a\,\mathrm{diag}\,\Sigma)`, keeps means and covariances on average;
  variances grow by 1 + a, so correlations shrink.
- ``correlated``, :math:`X + e` with :math:`e \sim N(0, a \Sigma)`, keeps means and correlations; covariances grow by 1 + a.
- ``linear``, :math:`\mu + (X + e - \mu) / \sqrt{1 + a}` with the same e, keeps means, covariances and correlations.
- ``non-linear``, the same on normal scores taken back to values, keeps each attribute's distribution and rank correlations.
- ``multiplicative``, :math:`X e` with e lognormal of mean 1 and variance a, keeps means, signs and zeros; mean squares grow by
  1 + a.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_number, checked_word
from unveil.attributes import Names, names_of, require_columns
from unveil.counts import group
from unveil.errors import ArgumentError, EmptyDataError, listed
from unveil.formats import counted
from unveil.mechanisms.arguments import other_side
from unveil.mechanisms.columns import CellNulls, Chosen, choose, numbers
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, watched
from unveil.sources import encode

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

    Matrix = NDArray[np.float64]

__all__ = ["add_noise"]

_METHODS = ("uncorrelated", "correlated", "linear", "non-linear", "multiplicative")
_ROUNDING = 1e-9
"""An eigenvalue below zero by less than this share of the largest is treated as zero."""
_LEAST = 2
"""Fewer complete records have no variance."""
_FENCE = 1.5
"""The distance of an outlier from the middle half of the values, in multiples of its width."""
_PIECE = 1 << 12
"""The number of records whose noise is drawn at once, so that it stays in the processor's cache."""
_NOISE_BITS = 20
"""The approximate number of bits of the noise that a release keeps."""


@heeds_study
@checked_arguments
def add_noise(  # noqa: PLR0913 - options by keyword
    data: Data,
    attributes: Names,
    *,
    method: str = "uncorrelated",
    amount: float = 0.5,
    covariance: Sequence[Sequence[float]] | None = None,
    within: Names | None = None,
    only_outliers: bool = False,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Disturb numbers at random, so that the properties that the method promises to keep are kept on average.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns to disturb: numbers. They become floating point.
    method
        ``"uncorrelated"``: each by itself. ``"correlated"``: with covariances in proportion to the attributes' own.
        ``"linear"``: the same, then shrunk so that variances are as before [1]_. ``"non-linear"``: values become normal scores,
        are disturbed as in ``"linear"``, and are transformed back to the attribute's own distribution, interpolated linearly
        between its values [2]_. ``"multiplicative"``: each value is multiplied by a number around 1, so that large values are
        disturbed more [3]_.
    amount
        The variance of the noise as a share of the attributes' variance (multiplicative: the variance of the factor), above 0.
        At 0.1, four numbers are enough to re-identify three in ten people; at the default, 6 %.
    covariance
        For ``"correlated"``: the covariance matrix to use instead of the attributes' own, times `amount`.
    within
        Columns that define sub-populations, such as a region: the noise is drawn for each separately, in proportion to its own
        variation, so that the properties kept by the method are kept in each of them. None: one population.
    only_outliers
        Whether to disturb only outliers: values of an attribute that lie outside the middle half of its values by more than one
        and a half times the width of that half [4]_. All other values then stay exactly as they are.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay nulls, and covariances are those of the complete records. ``"drop"``: leave
        out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `mean` and `variance` of every attribute before and after, the number of `populations`, and the number
        of outliers by attribute if only these are disturbed.

    Raises
    ------
    ArgumentError
        If an attribute is not a number, the amount is not above 0, the covariance is not a covariance matrix, or a
        sub-population has fewer than two records with all values.

    Notes
    -----
    Fewer than two complete records have no covariance. ``"non-linear"`` produces no value outside the range of the original
    values; ties are broken at random.

    References
    ----------
    .. [1] Kim (1986), A method for limiting disclosure in microdata based on random noise and transformation, Proceedings of
       the Section on Survey Research Methods, American Statistical Association, 303-308.
    .. [2] Sullivan (1989), The use of added error to avoid disclosure in microdata releases, doctoral thesis, Iowa State
       University.
    .. [3] Kim, Winkler (2003), Multiplicative noise for masking continuous data, U.S. Bureau of the Census.
    .. [4] Tukey (1977), Exploratory data analysis, Addison-Wesley.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.add_noise("adult", ["age", "hours-per-week"], method="linear", amount=0.2, seed=1)
    >>> {when: round(value) for when, value in release.figures["mean"]["age"].items()}
    {'before': 38, 'after': 38}
    """
    checked_word("method", method, _METHODS)
    checked_number("amount", amount, above=0.0)
    if covariance is not None and method != "correlated":
        raise ArgumentError(f"a covariance is given, and method {method!r} takes none; use 'correlated'.")
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    before = np.stack(
        [numbers(chosen.column(name), "noise") for name in chosen.names]
    ).T  # columns are stored together, because they are summed
    complete = np.asarray(~np.isnan(before).any(axis=1))
    if (whole := int(complete.sum())) < _LEAST:
        raise EmptyDataError(f"noise needs at least two records with all values, and there is {counted(whole, 'such')}.")
    populations = _populations(chosen, names_of(within), complete)
    settings = {"method": method, "amount": amount, "covariance": covariance, "within": list(names_of(within)), "nulls": nulls}
    settings |= {"only_outliers": True} if only_outliers else {}
    random, after = chosen.draws(chance, "noise", settings), before.copy(order="F") if names_of(within) else before
    for rows in active_run().through("populations", populations):
        own = before[rows]
        counting = own if whole == len(before) else own[complete[rows]]
        noisy = watched(len(own), partial(_disturbed, own, counting, method, amount, covariance, random))
        if names_of(within):
            after[rows] = noisy
        else:
            after = np.asfortranarray(noisy)
    if only_outliers:
        apart = np.column_stack([_outliers(column) for column in before.T])
        after = np.where(apart, after, before)
    figures = watched(len(before), lambda: _moments(chosen.names, before, after, complete=whole == len(before)))
    figures |= {"populations": len(populations), "skipped": chosen.skipped}
    if only_outliers:
        figures["outliers"] = dict(zip(chosen.names, apart.sum(axis=0).tolist(), strict=True))
    columns = dict(zip(chosen.names, after.T, strict=True))
    notes = () if method == "multiplicative" else _constant(before, populations)
    return treated("noise", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=notes)


def _populations(chosen: Chosen, within: Sequence[str], complete: NDArray[np.bool_]) -> Sequence[NDArray[np.int64] | slice]:
    """Return the records of each sub-population, at least two of them complete; without columns, one of all records."""
    if not within:
        return [slice(None)]
    require_columns(within, chosen.records.names)
    other_side(chosen.names, within, "sub-populations")
    coded = [encode(chosen.column(name)) for name in within]
    of_record, first = group([one.codes for one in coded], [len(one.values) for one in coded])
    sizes = np.bincount(of_record, weights=complete, minlength=len(first[0]))
    if small := int(np.count_nonzero(sizes < _LEAST)):
        raise EmptyDataError(
            f"{counted(small, 'sub-population')} of {len(sizes):,} by {listed(within)} "
            f"{'has' if small == 1 else 'have'} fewer than two records with all values, so no variation; "
            "name fewer columns, or join their values."
        )
    ends = np.cumsum(np.bincount(of_record, minlength=len(sizes)))[:-1]
    return np.split(watched(len(of_record), partial(np.argsort, of_record, kind="stable")), ends)


def _constant(before: Matrix, populations: Sequence[NDArray[np.int64] | slice]) -> tuple[str, ...]:
    """Return notes on values that do not change: they do not vary where the noise is in proportion to their variation."""
    still, run = 0, active_run()
    for rows in populations:
        run.check()
        for values in before[rows].T:
            present = values[~np.isnan(values)]
            still += len(present) if len(present) and present.min() == present.max() else 0
    if not still:
        return ()
    return (f"{counted(still, 'value')} stay as they were: an attribute that does not vary gets no noise in proportion to it",)


def _outliers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values lie beyond the fences of a box plot."""
    low, high = np.nanquantile(values, (0.25, 0.75))
    reach = _FENCE * (high - low)
    return np.asarray((values < low - reach) | (values > high + reach))


def _disturbed(
    before: Matrix, complete: Matrix, method: str, amount: float, covariance: Any, random: np.random.Generator
) -> Matrix:
    """Return the values disturbed by one method; nulls (NaN here) stay."""
    if method == "multiplicative":
        spread = np.log1p(amount)
        return np.asarray(before * np.exp(random.normal(-spread / 2.0, np.sqrt(spread), before.shape)))
    if method == "uncorrelated":
        return _evened(_with_own_noise(before, np.sqrt(amount * complete.var(axis=0, ddof=1)), random), before)
    if method == "correlated":
        own = np.cov(complete.T) if covariance is None else _checked(covariance, before.shape[1])
        return _evened(before + _noise(own, amount, len(before), random), before)
    if method == "linear":
        return _evened(_drawn_in(before, complete, amount, random), before)
    scores = np.column_stack([_normal_scores(column, random) for column in before.T])
    whole = scores[~np.isnan(scores).any(axis=1)]
    moved = _drawn_in(scores, whole, amount, random)
    return np.column_stack([_values_at(new, old) for new, old in zip(moved.T, before.T, strict=True)])


def _with_own_noise(before: Matrix, spread: NDArray[np.float64], random: np.random.Generator) -> Matrix:
    """Return values with independent normal noise for each attribute, drawn for a limited number of records at a time."""
    after = np.empty_like(before)
    for start in range(0, len(before), _PIECE):
        piece = slice(start, start + _PIECE)
        noise = random.standard_normal(before[piece].shape)
        noise *= spread
        np.add(before[piece], noise, out=after[piece])
    return after


def _evened(after: Matrix, before: Matrix) -> Matrix:
    """Round values, in place, to about a millionth of the noise, a power of two, and return them.

    The last bits of a sum are zero if it is much smaller than its parts, so they would reveal whether a value was zero.
    """
    for column, own in zip(after.T, before.T, strict=True):
        moved = column - own
        spread = float(moved.std())
        spread = float(np.nanstd(moved)) if np.isnan(spread) else spread
        if spread > 0.0:
            step = np.exp2(np.floor(np.log2(spread)) - _NOISE_BITS)
            np.divide(column, step, out=column)
            np.multiply(np.rint(column, out=column), step, out=column)
    return after


def _noise(covariance: Matrix, amount: float, records: int, random: np.random.Generator) -> Matrix:
    """Draw normal noise whose covariance is `amount` times the given one, which may be singular."""
    weights, axes = np.linalg.eigh(np.atleast_2d(covariance))
    root = axes * np.sqrt(amount * np.maximum(weights, 0.0))
    return np.asarray(random.normal(size=(records, len(weights))) @ root.T)


def _drawn_in(values: Matrix, complete: Matrix, amount: float, random: np.random.Generator) -> Matrix:
    """Add correlated noise and shrink the values towards their means, so that the covariances are as before."""
    mean = complete.mean(axis=0)
    noisy = values + _noise(np.cov(complete.T), amount, len(values), random)
    return np.asarray(mean + (noisy - mean) / np.sqrt(1.0 + amount))


def _checked(covariance: Any, width: int) -> Matrix:
    """Return a given covariance matrix; refuse a matrix that is not one, with the reason."""
    try:
        matrix = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("the covariance is not a matrix of numbers; give one row of numbers per attribute.") from None
    if matrix.shape != (width, width) or not np.isfinite(matrix).all():
        raise ArgumentError(
            f"the covariance must be a matrix of {width} x {width} finite numbers; it has the shape {matrix.shape}."
        )
    if not np.allclose(matrix, matrix.T, rtol=_ROUNDING, atol=0.0):
        raise ArgumentError("the covariance is not symmetric; give the same number on both sides of its diagonal.")
    weights = np.linalg.eigvalsh(matrix)
    if weights[0] < -_ROUNDING * max(weights[-1], 0.0):
        raise ArgumentError(
            f"the covariance is not positive definite: its smallest eigenvalue is {weights[0]:.3g}, "
            "so no numbers can have it; lower the covariances or raise the variances."
        )
    return matrix


def _normal_scores(values: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return the normal quantile at every value's rank, ties broken at random; NaN for a null."""
    from scipy.special import ndtri

    rows = np.flatnonzero(~np.isnan(values))
    order = np.lexsort((random.random(len(rows)), values[rows]))
    scores = np.full(len(values), np.nan)
    scores[rows[order]] = ndtri((np.arange(len(rows)) + 0.5) / len(rows))
    return scores


def _values_at(scores: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values at the given normal scores in an attribute's distribution."""
    from scipy.special import ndtr

    present = np.sort(values[~np.isnan(values)])
    places = (np.arange(len(present)) + 0.5) / len(present)
    return np.where(np.isnan(values), np.nan, np.interp(ndtr(scores), places, present))


def _moments(names: Sequence[str], before: Matrix, after: Matrix, *, complete: bool) -> dict[str, Any]:
    """Return the means and variances of the columns, before and after."""
    mean, variance = (np.mean, np.var) if complete else (np.nanmean, np.nanvar)
    return {
        "mean": _compared(names, mean(before, axis=0), mean(after, axis=0)),
        "variance": _compared(names, variance(before, axis=0, ddof=1), variance(after, axis=0, ddof=1)),
    }


def _compared(names: Sequence[str], before: Matrix, after: Matrix) -> dict[str, dict[str, float]]:
    pairs = zip(names, before.tolist(), after.tolist(), strict=True)
    return {name: {"before": one, "after": other} for name, one, other in pairs}
