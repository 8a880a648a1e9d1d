r"""Can an intruder identify the people that the release was made from? Membership inference, with a hold-out.

Three scores, high for those who are believed to be members: *exact* (1 if a synthetic record equals the person's), *distance*
(minus the distance to the nearest synthetic record) and *density ratio* (the logarithm of the distance to the nearest of a
reference group of strangers, minus that of the distance to the nearest synthetic record: near the release, and far from what is
common). One half of the hold-out is the reference for judging the other, and vice versa. An attack is as good as the share
of members it finds (the true-positive rate) while it suspects a small share of strangers (the false-positive rate).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.synthetic.audit_sections import Membership, MembershipRisk, beside
from unveil.attacks.synthetic.nearest import Nearest
from unveil.attacks.synthetic.risk import cut
from unveil.attacks.synthetic.tables import Trio
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["membership", "true_positive_rate"]

_LEVELS = (0.1, 0.01)
_FEWEST = 10
"""The smallest number of suspected strangers for which a false-positive rate is known well enough."""
_LARGEST_LEVEL = 0.5
_DRAWS = 200


def membership(trio: Trio, random: np.random.Generator, confidence: float = 0.95) -> Membership:
    """Distinguish members from strangers by three scores; the headline is the best of them at a false-positive rate of 0.1."""
    controls = len(trio.control)
    levels = list(dict.fromkeys(max(level, _FEWEST / controls) for level in _LEVELS))
    if levels[0] > _LARGEST_LEVEL:
        reason = f"{controls:,} hold-out records are too few to know a false-positive rate: {2 * _FEWEST} are needed"
        return Membership.unmeasured(reason)
    scores = _scores(trio, random)
    each = 1.0 - (1.0 - confidence) / len(scores)
    ways = {
        name: _at_levels(one, other, levels, each, random)
        for name, (one, other) in active_run().each("membership", list(scores.items()))
    }
    strongest = max(ways, key=lambda name: float(ways[name][0].residual or 0.0))
    levels_of = ways[strongest]
    return Membership(
        **beside(levels_of[0]),
        strongest=strongest,
        members=len(trio.original),
        strangers=controls,
        levels=levels_of,
        ways=ways,
    )


def _scores(trio: Trio, random: np.random.Generator) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the scores of members and of strangers, by attack."""
    everything = range(len(trio.names))
    index = Nearest(trio.release, everything, trio.ordered)
    near, far = index.find(trio.original)[1], index.find(trio.control)[1]
    to_reference = _to_reference(trio, random)
    whole = np.concatenate([near, far])
    small = float(np.quantile(whole[whole > 0.0], 0.05)) if (whole > 0.0).any() else 1.0
    ratios = [np.log((reference + small) / (own + small)) for own, reference in zip((near, far), to_reference, strict=True)]
    exact = [(distance == 0.0).astype(np.float64) for distance in (near, far)]
    return {"exact": (exact[0], exact[1]), "distance": (-near, -far), "density_ratio": (ratios[0], ratios[1])}


def _to_reference(trio: Trio, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance of members and strangers to the half of the hold-out that they are not in."""
    half = random.permutation(len(trio.control)) % 2
    side = random.integers(0, 2, len(trio.original))
    members, strangers = np.zeros(len(trio.original)), np.zeros(len(trio.control))
    for part in range(2):
        index = Nearest(trio.control.rows(np.flatnonzero(half == part)), range(len(trio.names)), trio.ordered)
        for distances, table, judged in ((members, trio.original, side != part), (strangers, trio.control, half != part)):
            rows = np.flatnonzero(judged)
            distances[rows] = index.find(table.rows(rows))[1]
    return members, strangers


def _at_levels(
    members: NDArray[np.float64], strangers: NDArray[np.float64], levels: list[float], confidence: float,
    random: np.random.Generator,
) -> list[MembershipRisk]:  # fmt: skip
    """Return the figures of one score at each false-positive rate, with intervals from samples of both groups."""
    counts = _counted(members, strangers)
    true = _curve(counts[0], counts[1], levels)
    drawn = np.array([_curve(_resampled(counts[0], random), _resampled(counts[1], random), levels) for _ in range(_DRAWS)])
    tails = np.quantile(drawn, [(1.0 - confidence) / 2, (1.0 + confidence) / 2], axis=0)
    rows = []
    for at, level in enumerate(levels):
        residual, low, high = (float((rate - level) / (1.0 - level)) for rate in (true[at], tails[0, at], tails[1, at]))
        risk = MembershipRisk(
            risk=cut(residual),
            low=cut(low),
            high=cut(high),
            residual=residual,
            residual_low=low,
            residual_high=high,
            main=float(true[at]),
            control=level,
            baseline=level,
            confidence=confidence,
            true_positive_rate=float(true[at]),
            false_positive_rate=level,
        )
        rows.append(risk)
    return rows


def _resampled(counts: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each score occurs in a sample of a group with replacement."""
    return random.multinomial(int(counts.sum()), counts / counts.sum())


def _curve(members: NDArray[Any], strangers: NDArray[Any], levels: Sequence[float]) -> NDArray[np.float64]:
    """Return the true-positive rates at the levels, from counts by score from low to high."""
    true, false = (np.concatenate([[0.0], np.cumsum(side[::-1]) / side.sum()]) for side in (members, strangers))
    return np.asarray(np.interp(levels, false, true))


def true_positive_rate(members: NDArray[np.float64], strangers: NDArray[np.float64], level: float) -> float:
    """Return the share of members above the threshold that this share of strangers exceeds; those at it count in part."""
    counts = _counted(members, strangers)
    return float(_curve(counts[0], counts[1], [level])[0])


def _counted(members: NDArray[np.float64], strangers: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return how many of each group have each score, from low to high."""
    values, place = np.unique(np.concatenate([members, strangers]), return_inverse=True)
    return [np.bincount(part, minlength=len(values)) for part in np.split(place, [len(members)])]
