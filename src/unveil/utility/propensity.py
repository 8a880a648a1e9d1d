r"""Can records of the release be distinguished from those of the original? The propensity score mean squared error.

Original and release are stacked, a model estimates the probability :math:`p_i` that each record comes from the release, and

.. math:: pMSE = \frac{1}{N} \sum_i (p_i - c)^2, \qquad c = n_{release} / N, \qquad 0 \le pMSE \le c (1 - c) .

0: the model cannot distinguish the tables. c (1 - c): it recognises every record. Lower is more useful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import Names
from unveil.errors import ArgumentError, EmptyDataError
from unveil.formats import counted, number
from unveil.results import Figure, Provenance, Result, Table, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data
from unveil.study import apart_from, open_both, require_nulls_as_values
from unveil.utility.encoding import check_draw, encoded, in_common, in_one_thread, learners_seed, need_sklearn, transformer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Propensity", "pmse"]

_MODELS = ("logistic", "tree")
_RANK = 1e-10
"""Directions with less than this share of the largest variance are ignored: their columns repeat others."""
_PENALTY = 1e6
"""The inverse of the penalty of the regression: nearly none, yet a fit exists even if a column reveals a record's table."""
_LEAF = 20
_REDRAWS = 20
"""The number of times that the tree is fitted to a draw from the original in place of the release."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Propensity(Result):
    r"""The degree to which original and release can be distinguished.

    Attributes
    ----------
    value, highest
        The pMSE, and its highest possible value, c (1 - c).
    expected
        The value expected if the release is a random draw from the records of the original, of which only those drawn for the
        comparison are seen. Logistic regression with k parameters, without those that repeat others: :math:`(k-1) c^2 (1-c)^2
        (1/n_{release} + 1/n_{original} - 1/N_{original})`, with n of all N records taking part. Tree: the mean over such draws.
    ratio
        value / expected; about 1: as good as a draw; below 1: nearer to the original than a draw. None (with `reason`) if the
        expected value is zero, because no column varies.
    parameters
        k; None for a tree.
    model, given
        The model, and the columns it used.
    original_records, release_records
        The numbers of records that took part.
    """

    value: float
    highest: float
    expected: float
    ratio: float | None
    parameters: int | None
    model: str
    given: tuple[str, ...]
    original_records: int
    release_records: int
    made: Provenance

    @property
    def reason(self) -> str | None:
        """The reason why there is no ratio."""
        return "nothing is expected, because no column varies" if self.ratio is None else None

    def __repr__(self) -> str:
        """Return one line: the error, its highest possible value, and its ratio to the expected one."""
        ratio = "" if self.ratio is None else f", ratio {number(self.ratio)}"
        return f"Propensity(pMSE {number(self.value)} of at most {number(self.highest)}{ratio})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "pmse": self.value,
            "highest": self.highest,
            "expected": self.expected,
            "ratio": self.ratio,
            "reason": self.reason,
            "parameters": self.parameters,
            "model": self.model,
            "given": list(self.given),
            "original_records": self.original_records,
            "release_records": self.release_records,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row."""
        names = ("pmse", "highest", "expected", "ratio", "parameters", "model", "original_records", "release_records")
        return {name: [self.to_dict()[name]] for name in names}

    def view(self) -> View:
        """Return the displayed figures."""
        figures = (
            Figure("pMSE", self.value, f"of at most {number(self.highest)}; 0: the tables cannot be distinguished"),
            Figure("expected", self.expected, "if the release were a random draw"),
            Figure("ratio", self.ratio, self.reason or "to what is expected; about 1: as good as a draw"),
        )
        table = Table(("table", "records"), (("original", self.original_records), ("release", self.release_records)))
        note = f"A {self.model} model on {counted(len(self.given), 'column')}: {', '.join(self.given)}."
        return View("Can release and original be distinguished?", figures, (table,), (note,))


@checked_arguments
@in_run
def pmse(
    original: Data,
    release: Data,
    given: Names | None = None,
    *,
    model: str = "logistic",
    sample: int | None = 20_000,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Propensity:
    r"""Measure how well a model distinguishes released records from original ones.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, or data frames. Never changed.
    given
        The columns that the model uses; none: all that both tables have and that no study declares as identifier, weight,
        person or household.
    model
        ``"logistic"``: a logistic regression on the columns one by one (no interactions), hardly penalised. ``"tree"``: a
        classification tree (CART), which also captures interactions.
    sample
        The largest number of records of each table, drawn by the seed from each separately, independently of the order of its
        rows; None: all. From a copy of the original, the same records are drawn.
    seed
        The seed of the samples and of the tree.
    progress
        A run, or a function called with the name of a stage ("models"), the number of models fitted, and the number of all
        models.

    Returns
    -------
    Propensity
        The error, its highest possible value, the value expected of a random draw, and the ratio.

    Raises
    ------
    MissingExtraError
        If scikit-learn (the extra ``tasks``) is not installed.

    Notes
    -----
    Generalised values are read as described in `unveil.utility.encoding`; a further column indicates where a number is unknown.
    A category that occurs only in the release identifies its records, as it should. The expected value treats the original as
    given and the release as random: if all records take part it is :math:`(k-1)(1-c)^2 c / N`, as published, and two
    independent samples of one population have a ratio of about 1 / (1 - c). If only some records are drawn, the draw adds to
    the error of every release except a copy; the expected value allows for that.

    References
    ----------
    .. [1] Snoke, Raab, Nowok, Dibben, Slavkovic (2018), General and specific utility measures for synthetic data,
       J. R. Stat. Soc. A 181(3), 663-688. doi:10.1111/rssa.12358
    .. [2] Woo, Reiter, Oganian, Karr (2009), Global measures of data utility for microdata masked for disclosure limitation,
       Journal of Privacy and Confidentiality 1(1), 111-124. doi:10.29012/jpc.v1i1.568

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]})
    >>> unveil.pmse(people, people).value
    0.0
    >>> unveil.pmse(people, people.with_columns(sex=pl.lit("f")), "sex")
    Propensity(pMSE 0.0833 of at most 0.2500, ratio 5.3333)
    """
    need_sklearn("the propensity score")
    check_draw(seed, sample)
    if model not in _MODELS:
        raise ArgumentError.not_one_of("model", model, _MODELS)
    one, other = open_both(original, release)
    names = in_common(one, other, given, without=apart_from(original, release))
    for side in (original, release):
        require_nulls_as_values(side, names)
    table = encoded(one, other, names).within_reach()
    for what, rows in (("the original", table.original), ("the release", table.release)):
        if not len(rows):
            raise EmptyDataError.no_records(what)
    before, after = (active_run().watching(partial(_in_order, rows)) for rows in (table.original, table.release))
    copied = np.array_equal(before, after, equal_nan=True)
    parts = [_drawn(before, sample, [seed, 0]), _drawn(after, sample, [seed, 0 if copied else 1])]
    parameters: int | None = None
    if model == "logistic":
        with active_run().stage("models"):
            value, expected, parameters = in_one_thread(lambda: _by_regression(parts, table.numeric, len(before)))
    else:
        value, expected = _by_tree(parts, table.numeric, before, seed)
    seen, drawn = map(len, parts)
    c = drawn / (seen + drawn)
    provenance = Provenance(seen + drawn, "category", seed=seed, version=__version__)
    ratio = value / expected if expected > 0.0 else None
    return Propensity(value, c * (1.0 - c), expected, ratio, parameters, model, table.names, seen, drawn, provenance)


def _in_order(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows in the order of their values, so that draws do not depend on their original order."""
    return rows[np.lexsort(rows.T[::-1])]


def _drawn(rows: NDArray[np.float64], sample: int | None, seed: list[int]) -> NDArray[np.float64]:
    """Draw some rows, none of them twice."""
    return rows if sample is None else rows[np.random.default_rng(seed).permutation(len(rows))[:sample]]


def _by_regression(parts: Sequence[NDArray[np.float64]], numeric: NDArray[np.bool_], whole: int) -> tuple[float, float, int]:
    r"""Return the error of a logistic regression, the expected error, and the number of parameters.

    Near the null hypothesis the error is :math:`c^2 (1-c)^2 |\bar z_1 - \bar z_0|^2`, from the distance of the tables' means in
    directions of variance 1. In each direction, the mean of n draws from the N records of the original has the variance 1/n,
    and that of n records drawn without replacement 1/n - 1/N.
    """
    from sklearn.linear_model import LogisticRegression

    design, member = _stacked(parts, numeric)
    c, directions = member.mean(), _directions(design)
    k = directions.shape[1] + 1
    original, release = map(len, parts)
    expected = float((k - 1) * (c * (1.0 - c)) ** 2 * (1.0 / release + 1.0 / original - 1.0 / whole))
    if k == 1:
        return 0.0, expected, k
    fit = LogisticRegression(C=_PENALTY, tol=1e-7, max_iter=10_000).fit(directions, member)
    return _error(fit.predict_proba(directions)[:, 1], c), expected, k


def _by_tree(
    parts: Sequence[NDArray[np.float64]], numeric: NDArray[np.bool_], whole: NDArray[np.float64], seed: int
) -> tuple[float, float]:
    """Return the error of a tree, and its mean if draws from the whole original replace both tables."""
    from sklearn.tree import DecisionTreeClassifier

    def error(parts: Sequence[NDArray[np.float64]]) -> float:
        design, member = _stacked(parts, numeric)
        tree = DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=learners_seed(seed)).fit(design, member)
        return _error(tree.predict_proba(design)[:, 1], member.mean())

    original, release = map(len, parts)
    random = np.random.default_rng([seed, 2])

    def redrawn(at: int) -> float:
        if not at:
            return error(parts)
        return error([whole[random.permutation(len(whole))[:original]], whole[random.integers(0, len(whole), release)]])

    first, *others = [in_one_thread(partial(redrawn, at)) for at in active_run().each("models", range(1 + _REDRAWS))]
    return first, float(np.mean(others))


def _stacked(parts: Sequence[NDArray[np.float64]], numeric: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the design matrix of both tables, and which rows are of the release."""
    design = transformer(numeric, indicators=True).fit_transform(np.vstack(parts))
    return np.asarray(design), np.repeat([0.0, 1.0], list(map(len, parts)))


def _error(scores: NDArray[np.float64], c: float) -> float:
    return float(np.mean((scores - c) ** 2))


def _directions(design: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return uncorrelated columns of variance 1 that span the same space as the columns, apart from the constant."""
    centred = design - design.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    there = variances > _RANK * max(variances.max(), np.finfo(float).tiny)
    return np.asarray(centred @ (axes[:, there] / np.sqrt(variances[there])))
