"""Fellegi and Sunter's model: its parameters by expectation maximisation, and the resulting decision rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_count
from unveil.counts import BestOriginals, RecordCells, bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST = 1e-15
"""The distance that probabilities keep from 0 and 1, so that every weight is finite."""


_LEAST_SHARE = 1e-300


_START = 0.9
"""The initial value of the m-probabilities (Jaro)."""


_STEP = 1e-9
"""Weights that differ by less than this, in bits, are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The model of the two kinds of pairs, and the outcome of its fit."""

    m: NDArray[np.float64]
    u: NDArray[np.float64]
    share: float
    log_likelihood: float
    converged: bool
    iterations: int

    def agreement(self) -> NDArray[np.float64]:
        """Return the weight of agreement, in bits."""
        return np.asarray(np.log2(self.m / self.u))

    def disagreement(self) -> NDArray[np.float64]:
        """Return the weight of disagreement, in bits."""
        return np.asarray(np.log2((1.0 - self.m) / (1.0 - self.u)))

    def effects(self) -> NDArray[np.int64]:
        """Return by how much agreement outweighs disagreement, in integer steps, so that equal sums are equal.

        At least one step: an attribute without weight still decides between originals of equal weight, and if true pairs agree
        less often than others, that is chance, which no intruder relies on.
        """
        steps = np.rint((self.agreement() - self.disagreement()) / _STEP).astype(np.int64)
        return np.maximum(steps, 1)


def fitted(
    counts: NDArray[np.int64], *, most: float, fixed: float | None = None, iterations: int = 1000, tolerance: float = 1e-9
) -> Fit:
    r"""Fit the two kinds of pairs to the number of pairs of each pattern, by expectation maximisation.

    .. math:: P(\gamma) = p \prod_j m_j^{\gamma_j} (1 - m_j)^{1 - \gamma_j}
        + (1 - p) \prod_j u_j^{\gamma_j} (1 - u_j)^{1 - \gamma_j}

    subject to :math:`p \le` `most` and :math:`m_j \ge u_j`. The fit starts with p at its bound, u at the share of all pairs
    that agree, and m at 0.9, or half way from u to 1 if that is more; it involves no randomness.

    Parameters
    ----------
    counts
        The pairs of each pattern, as returned by `agreement_counts`.
    most, fixed
        The largest share p of true pairs; the share itself if it is known.
    iterations, tolerance
        The largest number of steps, and the change below which the fit ends: of any m or u, and of p relative to itself.
    """
    seen = np.flatnonzero(counts)
    agrees = bits_of(seen, len(counts).bit_length() - 1)
    weight = counts[seen] / counts.sum()
    overall = weight @ agrees
    u = _inside(overall)
    m = _inside(np.maximum(_START, (1.0 + u) / 2.0))
    share = _bounded_share(most if fixed is None else fixed)
    converged, step = False, 0
    while step < iterations and not converged:
        step += 1
        _, posterior = _expected(agrees, m, u, share)
        new_m, new_u, new_share = _maximised(agrees, weight, posterior, overall)
        new_share = _bounded_share(min(new_share, most)) if fixed is None else share
        change = max(float(np.abs(new_m - m).max()), float(np.abs(new_u - u).max()), abs(new_share - share) / share)
        m, u, share = new_m, new_u, new_share
        converged = change < tolerance
    log_probability, _ = _expected(agrees, m, u, share)
    return Fit(m, u, share, float(counts[seen] @ log_probability), converged, step)


def _expected(
    agrees: NDArray[np.float64], m: NDArray[np.float64], u: NDArray[np.float64], share: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each pattern, its log-probability, and the probability that a pair with it is a true one."""
    differs = 1.0 - agrees
    as_match = math.log(share) + _log_probability(agrees, differs, m)
    as_other = math.log1p(-share) + _log_probability(agrees, differs, u)
    either = np.logaddexp(as_match, as_other)
    return either, np.exp(as_match - either)


def _maximised(
    agrees: NDArray[np.float64], weight: NDArray[np.float64], posterior: NDArray[np.float64], overall: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the m, u and share that fit best; if m would fall below u, the best fit without that is m = u = overall."""
    match, other = weight * posterior, weight * (1.0 - posterior)
    m = (match @ agrees) / max(float(match.sum()), _LEAST_SHARE)
    u = (other @ agrees) / max(float(other.sum()), _LEAST_SHARE)
    pooled = m < u
    return _inside(np.where(pooled, overall, m)), _inside(np.where(pooled, overall, u)), float(match.sum())


def informed(counts: NDArray[np.int64], agreed: NDArray[np.bool_]) -> Fit:
    """Return the actual probabilities, counted on the true pairs and on all others."""
    pairs, true = int(counts.sum()), len(agreed)
    agreeing = counts @ bits_of(np.arange(len(counts)), agreed.shape[1])
    m = agreed.sum(axis=0) / max(true, 1)
    u = (agreeing - agreed.sum(axis=0)) / max(pairs - true, 1)
    return Fit(_inside(m), _inside(u), true / pairs, math.nan, converged=True, iterations=0)


def _log_probability(
    agrees: NDArray[np.float64], differs: NDArray[np.float64], probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(agrees @ np.log(probability) + differs @ np.log1p(-probability))


def _inside(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(np.maximum(probability, _LEAST), 1.0 - _LEAST)


def _bounded_share(share: float) -> float:
    return min(max(share, _LEAST_SHARE), 1.0 - _LEAST)


@dataclass(frozen=True, slots=True, eq=False)
class LinkageRule:
    """The patterns that are matched and unmatched, and the weights at the two borders."""

    matched: NDArray[np.bool_]
    unmatched: NDArray[np.bool_]
    upper: float | None
    lower: float | None


def decided(model: Fit, mu: float, lam: float) -> LinkageRule:
    """Apply the decision rule; a pattern that would exceed a bound goes to the clerk, so both error rates are kept.

    If the bounds are so generous that a pattern is within both, no clerk is needed and the sign of its weight decides.
    """
    agrees = bits_of(np.arange(1 << len(model.m)), len(model.m))
    as_match, as_other = _log_probability(agrees, 1.0 - agrees, model.m), _log_probability(agrees, 1.0 - agrees, model.u)
    weight = (as_match - as_other) / math.log(2.0)
    level = np.unique(np.rint(weight / _STEP), return_inverse=True)[1]
    match_mass, other_mass = np.bincount(level, weights=np.exp(as_match)), np.bincount(level, weights=np.exp(as_other))
    matched = np.cumsum(other_mass[::-1])[::-1][level] <= mu
    unmatched = np.cumsum(match_mass)[level] <= lam
    both = matched & unmatched
    matched, unmatched = matched & ~(both & (weight < 0)), unmatched & ~(both & (weight >= 0))
    return LinkageRule(
        matched,
        unmatched,
        upper=float(weight[matched].min()) if matched.any() else None,
        lower=float(weight[unmatched].max()) if unmatched.any() else None,
    )


def links(cells: RecordCells, model: Fit, rows: NDArray[np.int64], agreed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the chance that released records are linked to the original records beside them, given their agreements."""
    effects = model.effects()
    best = BestOriginals(cells, effects)
    cell = best.cells.of_release[rows]
    return np.where(agreed @ effects == best.score[cell], 1.0 / best.ties[cell], 0.0)


def share_of(true_pairs: int, pairs: int) -> float:
    """Return the share of true pairs, given their number, which is checked."""
    return checked_count("true_pairs", true_pairs, least=1, most=pairs, of="pairs") / pairs
