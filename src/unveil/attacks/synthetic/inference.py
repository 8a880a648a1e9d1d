"""Does the release reveal a sensitive value of a person whose other columns are known? The inference attack.

The intruder knows some columns of a person, takes the synthetic record nearest to them, and guesses its sensitive value. A
guessed number is right within five per cent of the true one, anything else only if it is equal. If no sensitive column is
named, each column is the sensitive one in turn, and all others are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.attacks.synthetic.audit_sections import RiskFigures, SensitiveInference, SensitiveRisk, beside
from unveil.attacks.synthetic.nearest import Nearest
from unveil.attacks.synthetic.risk import SuccessRate, compared
from unveil.attacks.synthetic.tables import Side, Trio
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Guesses", "guessed", "inference"]

_TOLERANCE = 0.05
"""The largest difference of a guessed number from the true one, as a share of it."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """The guesses of one sensitive attribute.

    Attributes
    ----------
    sensitive
        The position of its column.
    people, others
        For each attacked person, of the original and of the hold-out, the released record from which the guess was taken.
    """

    sensitive: int
    people: NDArray[np.int64]
    others: NDArray[np.int64]


def guessed(trio: Trio, people: Side, others: Side, random: np.random.Generator) -> list[Guesses]:
    """Guess every sensitive attribute of the attacked people."""
    guesses = []
    sensitive = trio.sensitive or trio.known
    for attribute in active_run().each("sensitive attributes guessed", sensitive):
        known = [at for at in trio.known if at != attribute]
        if not known:
            continue
        index = Nearest(trio.release, known, trio.ordered)
        taken = [index.drawn(index.find(targets)[0], random) for targets in (people, others)]
        guesses.append(Guesses(attribute, taken[0], taken[1]))
    return guesses


def inference(trio: Trio, people: Side, others: Side, guesses: list[Guesses]) -> SensitiveInference:
    """Count right guesses of every sensitive attribute; the headline is the mean over attributes, beside the worst."""
    if not guesses:
        return SensitiveInference.unmeasured("a guess needs a known column besides the sensitive one")
    right = [
        (_right(trio, one.sensitive, people, one.people), _right(trio, one.sensitive, others, one.others)) for one in guesses
    ]
    by_chance = [_by_chance(trio, one.sensitive, people) for one in guesses]
    by_sensitive = [
        SensitiveRisk(**beside(_compared([pair], chance)), sensitive=trio.names[one.sensitive])
        for one, pair, chance in zip(guesses, right, by_chance, strict=True)
    ]
    whole = _compared(right, float(np.mean(by_chance)))
    known = {one.sensitive: one.residual for one in by_sensitive if one.residual is not None}
    worst = max(known, key=lambda name: known[name], default=None)
    return SensitiveInference(**beside(whole), tolerance=_TOLERANCE, worst=worst, by_sensitive=by_sensitive)


def _compared(right: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]], chance: float) -> RiskFigures:
    """Compare the mean over sensitive attributes; a person is one trial, whose share of right guesses counts."""
    people, others = (np.mean([pair[at] for pair in right], axis=0) for at in range(2))
    rates = [SuccessRate.mean(shares) for shares in (people, others)]
    return compared(rates[0], rates[1], chance, len(people))


def _right(trio: Trio, sensitive: int, targets: Side, taken: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which guesses are right."""
    equal = trio.release.codes[taken, sensitive] == targets.codes[:, sensitive]
    if not trio.numeric[sensitive]:
        return np.asarray(equal)
    true = targets.values[:, sensitive]
    with np.errstate(invalid="ignore"):
        near = np.abs(trio.release.values[taken, sensitive] - true) <= _TOLERANCE * np.abs(true)
    return np.asarray(equal | near)


def _by_chance(trio: Trio, sensitive: int, targets: Side) -> float:
    """Return the expected share of cases in which the sensitive value of a random synthetic record is right."""
    if not trio.numeric[sensitive]:
        sizes = np.bincount(trio.release.codes[:, sensitive] + 1, minlength=int(targets.codes[:, sensitive].max()) + 2)
        return float(sizes[targets.codes[:, sensitive] + 1].mean() / len(trio.release))
    released = np.sort(trio.release.values[:, sensitive])  # nulls last
    true = targets.values[:, sensitive]
    reach = _TOLERANCE * np.abs(true)
    inside = np.searchsorted(released, true + reach, side="right") - np.searchsorted(released, true - reach, side="left")
    return float(inside.mean() / len(released))
