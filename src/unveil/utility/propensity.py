r"""Can a record be told to come from the release rather than from the original? The propensity score mean squared error.

Original and release are stacked, a model predicts for each record the probability :math:`p_i` of being a release record, and

.. math:: pMSE = \frac{1}{N} \sum_i (p_i - c)^2, \qquad c = n_{release} / N, \qquad 0 \le pMSE \le c (1 - c) .

0: the model cannot tell the two tables apart. c (1 - c): it tells every record. Lower is more utility; a release that is not told
apart is close to the original in what the model looks at, which for a logistic regression are the columns one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from unveil.errors import ArgumentError, EmptyDataError
from unveil.results.numbers import number
from unveil.utility.encoding import (
    Columns,
    Feature,
    Measured,
    checked_draw,
    checked_names,
    drawn,
    feature_of,
    indicators,
    most_frequent,
    placed,
    records_of,
)
from unveil.utility.learners import need_learning

if TYPE_CHECKING:
    from unveil.utility.encoding import Numbers, Rows

__all__ = ["Propensity", "PropensityModel", "propensity_pmse"]

PropensityModel = Literal["logistic", "tree"]

_STEPS = 100
_GAIN = 1e-12
"""The fit ends when a step raises the log-likelihood by less than this for each record, in nats."""
_FLAT = 1e-13
"""A slope of the log-likelihood of less than this for each record is none."""
_RANK = 1e-10
"""Directions with less than this share of the largest variance are not there: their columns repeat others."""
_LEAF = 5
"""The fewest records in a leaf of the tree."""
_COMPLEXITY = 1e-3
"""A split of the tree lowers the impurity by at least this share of the whole."""


@dataclass(frozen=True, slots=True)
class Propensity:
    r"""How well original and release are told apart.

    Attributes
    ----------
    pmse, maximum, share
        The mean squared error, the most it can be, c (1 - c), and their quotient.
    c
        The share of release records among all.
    parameters
        The parameters of the logistic regression with its intercept, k; those that repeat others are not counted. None for a
        tree.
    expected, deviation
        Mean and standard deviation of the pMSE of a logistic regression when the release is drawn from the distribution of
        the original: :math:`(k-1)(1-c)^2 c / N` and :math:`\sqrt{2(k-1)} (1-c)^2 c / N`.
    ratio, standardised
        pmse / expected, and (pmse - expected) / deviation. A ratio about 1: no worse than a draw from the original's
        distribution. Below 1: nearer than a draw, as where most values are left as they are. Two independent samples of one
        population have about 1 / (1 - c).
    reason
        Why there is no expected value, where there is none.
    model, features, seed
        What was asked.
    original_records, release_records, sampled
        The records used, and whether they are a sample.
    converged
        Whether the fit came to its end.
    """

    pmse: float
    maximum: float
    share: float
    c: float
    parameters: int | None
    expected: float | None
    deviation: float | None
    ratio: float | None
    standardised: float | None
    reason: str | None
    model: PropensityModel
    features: tuple[str, ...]
    seed: int
    original_records: int
    release_records: int
    sampled: bool
    converged: bool

    def __repr__(self) -> str:
        """Return one line: the error, the most it can be, and the ratio to what is expected."""
        ratio = "" if self.ratio is None else f", ratio: {number(self.ratio)}"
        return f"Propensity(pMSE: {number(self.pmse)} of {number(self.maximum)}{ratio})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        reason = {} if self.reason is None else {"reason": self.reason}
        return {
            "pmse": self.pmse,
            "maximum": self.maximum,
            "share": self.share,
            "c": self.c,
            "parameters": self.parameters,
            "expected": self.expected,
            "deviation": self.deviation,
            "ratio": self.ratio,
            "standardised": self.standardised,
            **reason,
            "model": self.model,
            "features": list(self.features),
            "seed": self.seed,
            "original_records": self.original_records,
            "release_records": self.release_records,
            "sampled": self.sampled,
            "converged": self.converged,
        }


def propensity_pmse(
    original: Columns,
    release: Columns,
    *,
    features: Sequence[str],
    seed: int = 0,
    model: PropensityModel = "logistic",
    sample: int | None = 20_000,
) -> Propensity:
    r"""Measure how well a model tells release records from original ones.

    Parameters
    ----------
    original, release
        The columns of the two tables. Never changed.
    features
        The columns of both that the model looks at.
    seed
        The seed of the sample and of the tree.
    model
        ``"logistic"``: a logistic regression on the columns one by one (no interactions), not penalised. ``"tree"``: a
        classification tree, which also sees what columns do together; needs the extra ``tasks``. The scores are those of the
        records the model was fitted to, so a tree's figure is only good to compare releases of one size of one original.
    sample
        The most records of each table that are used, drawn by the seed; None: all.

    Returns
    -------
    Propensity
        The error, the most it can be and, for a logistic regression, what is expected of a faithful draw.

    Raises
    ------
    ArgumentError, ColumnNotFoundError, EmptyDataError
        If no features are named, a table lacks one, or a table has no records.
    MissingExtraError
        If a tree is asked for and scikit-learn is not installed.

    Notes
    -----
    A column of numbers stays one, and its generalised values stand at the middle of what they cover (see
    `unveil.utility.encoding`); where a value says nothing, a further column says so. Any other column gets an indicator for
    each of its 50 most frequent categories. So a generalised category, which the original never holds, gives a release
    record away: that is what the measure asks.

    The formula for the expected value counts the original as given: only the release is random.

    References
    ----------
    .. [1] Snoke, Raab, Nowok, Dibben, Slavkovic (2018), General and specific utility measures for synthetic data,
       J. R. Stat. Soc. A 181(3), 663-688. doi:10.1111/rssa.12358
    .. [2] Woo, Reiter, Oganian, Karr (2009), Global measures of data utility for microdata masked for disclosure limitation,
       Journal of Privacy and Confidentiality 1(1), 111-124. doi:10.29012/jpc.v1i1.568

    Examples
    --------
    >>> original = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}
    >>> propensity_pmse(original, original, features=["age", "sex"]).pmse
    0.0
    >>> older = original | {"age": [60, 70, 80, 90]}
    >>> propensity_pmse(original, older, features=["age"])
    Propensity(pMSE: 0.2500 of 0.2500, ratio: 16.0000)
    """
    names = checked_names(features)
    if model not in get_args(PropensityModel):
        raise ArgumentError.not_one_of("model", model, get_args(PropensityModel))
    checked_draw(seed, sample)
    read = [feature_of(original, release, name) for name in names]
    counts = [records_of(original, names, "the original"), records_of(release, names, "the release")]
    for records, place in zip(counts, ("the original", "the release"), strict=True):
        if not records:
            raise EmptyDataError.no_records(place)
    # the same seed for both: of two tables of the same length the same rows are drawn
    rows = [drawn(np.arange(records), sample, [seed]) for records in counts]
    stacked = np.hstack([_stacked(feature, *rows) for feature in read])
    member = np.repeat([0.0, 1.0], [len(some) for some in rows])
    if model == "logistic":
        scores, parameters, converged = _logistic(stacked, member)
    else:
        scores, parameters, converged = _tree(stacked, member, seed), None, True
    c = float(member.mean())
    pmse = float(np.mean((scores - c) ** 2))
    return Propensity(
        pmse=pmse,
        maximum=c * (1.0 - c),
        share=pmse / (c * (1.0 - c)),
        c=c,
        parameters=parameters,
        **_against_chance(pmse, c, parameters, len(member)),
        model=model,
        features=names,
        seed=seed,
        original_records=len(rows[0]),
        release_records=len(rows[1]),
        sampled=[len(some) for some in rows] != counts,
        converged=converged,
    )


def _against_chance(pmse: float, c: float, k: int | None, total: int) -> dict[str, Any]:
    """Return what is expected of a logistic regression with k parameters, and where the error stands to it."""
    if k is None or k == 1:
        what = "is known for a logistic regression only" if k is None else "needs a feature that varies"
        nothing = dict.fromkeys(("expected", "deviation", "ratio", "standardised"))
        return nothing | {"reason": f"the expected pMSE {what}"}
    expected = (k - 1) * (1.0 - c) ** 2 * c / total
    deviation = math.sqrt(2.0 * (k - 1)) * (1.0 - c) ** 2 * c / total
    ratio, standardised = pmse / expected, (pmse - expected) / deviation
    return {"expected": expected, "deviation": deviation, "ratio": ratio, "standardised": standardised, "reason": None}


def _stacked(feature: Feature, original: Rows, release: Rows) -> Numbers:
    """Return the columns of a feature, original records first."""
    if not isinstance(feature, Measured):
        codes = np.concatenate([feature.original[original], feature.release[release]])
        return indicators(codes, most_frequent(codes))
    known = feature.original[original, 0]
    numbers = np.concatenate([known, placed(feature.release[release], known)])
    unknown = np.isnan(numbers)
    fill = float(np.median(numbers[~unknown])) if not unknown.all() else 0.0
    return np.column_stack([np.where(unknown, fill, numbers), unknown])


def _logistic(columns: Numbers, member: Numbers) -> tuple[Numbers, int, bool]:
    """Fit a logistic regression by Newton's method; return its scores, its parameters and whether it came to its end.

    Where a column gives records away for certain, the likelihood has no maximum, but the scores have a limit; the fit ends
    there as soon as it no longer gains.
    """
    from scipy.special import expit, logit

    design = np.column_stack([np.ones(len(member)), _directions(columns)])
    weights = np.zeros(design.shape[1])
    weights[0] = logit(member.mean())
    likelihood = _log_likelihood(design @ weights, member)
    converged = False
    for _ in range(_STEPS):
        step = _newton_step(design, expit(design @ weights), member)
        gain = _log_likelihood(design @ (weights + step), member) - likelihood
        while gain < 0.0 and np.abs(step).max() > _GAIN:
            step /= 2.0
            gain = _log_likelihood(design @ (weights + step), member) - likelihood
        if gain >= 0.0 and step.any():
            weights, likelihood = weights + step, likelihood + gain
        if gain < _GAIN * len(member):
            converged = True
            break
    return np.asarray(expit(design @ weights)), design.shape[1], converged


def _newton_step(design: Numbers, scores: Numbers, member: Numbers) -> Numbers:
    slope = design.T @ (member - scores)
    if np.abs(slope).max() <= _FLAT * len(member):
        return np.zeros_like(slope)
    curvature = (design * (scores * (1.0 - scores))[:, None]).T @ design
    # where every record is told apart the curvature vanishes; this much keeps the step finite and does not move the maximum
    curvature[np.diag_indices_from(curvature)] += _FLAT * (np.trace(curvature) / len(curvature) + np.finfo(float).tiny)
    return np.asarray(np.linalg.solve(curvature, slope))


def _log_likelihood(logits: Numbers, member: Numbers) -> float:
    return -float(np.logaddexp(0.0, np.where(member == 1.0, -logits, logits)).sum())


def _directions(columns: Numbers) -> Numbers:
    """Return uncorrelated columns of variance 1 that span what the columns span beside the constant."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    varying = spread > np.finfo(float).eps * np.maximum(1.0, np.abs(columns).max(axis=0))
    if not varying.any():
        return np.empty((len(columns), 0))
    scaled = centred[:, varying] / spread[varying]
    variances, axes = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    there = variances > _RANK * variances.max()
    return np.asarray(scaled @ (axes[:, there] / np.sqrt(variances[there])))


def _tree(columns: Numbers, member: Numbers, seed: int) -> Numbers:
    need_learning("a propensity score by a tree")
    from sklearn.tree import DecisionTreeClassifier

    c = member.mean()
    least = _COMPLEXITY * 2.0 * c * (1.0 - c)
    tree = DecisionTreeClassifier(min_samples_leaf=_LEAF, min_impurity_decrease=least, random_state=seed)
    return np.asarray(tree.fit(columns, member).predict_proba(columns)[:, 1])
