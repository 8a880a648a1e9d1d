"""Which assignments of sensitive values to people remain possible if every generalisation just below a release failed?

Counts in, beliefs out: cells of people, each in one released class, and, for every generalisation below, the class of each
cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Belief", "ClassRule", "beliefs"]

_MOST_TABLES = 5_000
"""The largest number of tables of counts that are enumerated for a released class; if there are more, assignments are drawn."""
_TENTHS, _DRAWS = 10, 400
"""Draws are made in tenths, of this many assignments each."""
_CHUNK = 4_000_000
_SAME, _LEAST = 1e-9, 1e-300


@dataclass(frozen=True, slots=True)
class ClassRule:
    """The requirements on every class: its records, its distinct sensitive values, and the largest share of one of them."""

    k: int
    l: int  # noqa: E741 - the field calls it l
    alpha: float

    def fails(self, counts: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each class (the last axis but one) fails, given its counts of the values (the last axis)."""
        size = counts.sum(axis=-1)
        few = (size < self.k) | ((counts > 0).sum(axis=-1) < self.l)
        return np.asarray(few | (counts.max(axis=-1) > (self.alpha + _SAME) * size))

    def fails_by_size(self, sizes: NDArray[Any]) -> bool:
        """Return whether some class is so small that it fails whatever its values are."""
        return bool((sizes < max(self.k, self.l, 1.0 / (self.alpha + _SAME))).any())


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The probability of each value (columns) for the people of each cell (rows), given that all generalisations below failed.

    `possible` is the share of assignments under which they all fail (if it is zero, there is no belief), `drawn` is the number
    of released classes whose assignments were drawn, and `error` is the largest resulting standard error for each cell,
    estimated by leaving out one tenth of the draws after another.
    """

    posterior: NDArray[np.float64]
    possible: float
    drawn: int
    error: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """The possible outcomes of a released class.

    For each set of generalisations that it may make fail: the chance of that, and the mean counts divided by the sizes, times
    that chance. The lists have one entry or, if assignments were drawn, one for all draws and one without each tenth of them.
    """

    chance: list[NDArray[np.float64]]
    share: list[NDArray[np.float64]]

    def at(self, which: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the chances and shares, from all draws (0) or without one tenth of them."""
        use = which if len(self.chance) > 1 else 0
        return self.chance[use], self.share[use]


def beliefs(
    sizes: NDArray[np.int64],
    of_class: NDArray[np.int64],
    held: NDArray[np.int64],
    below: Sequence[NDArray[np.int64]],
    rule: ClassRule,
    random: np.random.Generator,
) -> Belief:
    """Return the beliefs about every cell, given that all generalisations below are known to have failed.

    Parameters
    ----------
    sizes, of_class
        The number of people in each cell, and its released class.
    held
        For each released class, the number of records with each value.
    below
        For each generalisation, the class of each cell; every class lies within a released one.
    rule
        The requirements on a class.
    random
        The source of the drawn assignments.
    """
    places = np.split(np.argsort(of_class, kind="stable"), np.cumsum(np.bincount(of_class))[:-1])
    made_one = active_run().counting("released classes", len(places))
    outcomes = []
    for cells, totals in zip(places, held, strict=True):
        outcomes.append(_outcomes(sizes[cells], totals, [one[cells] for one in below], rule, random))
        made_one()
    drawn = sum(len(one.chance) > 1 for one in outcomes)
    posterior, possible = _combined(outcomes, 0)
    error = np.zeros(len(sizes))
    whole = np.zeros_like(posterior)
    whole[np.concatenate(places)] = posterior
    if drawn and possible > 0.0:
        parts = [_combined(outcomes, which) for which in range(1, _TENTHS + 1)]
        spread = np.stack([one for one, _ in parts]).var(axis=0).max(axis=1) * (_TENTHS - 1)
        certain = min(chance for _, chance in parts) > 0.0
        error[np.concatenate(places)] = np.sqrt(spread) if certain else 1.0
    return Belief(whole, possible, drawn, error)


def _combined(outcomes: Sequence[_Outcomes], which: int) -> tuple[NDArray[np.float64], float]:
    """Combine the released classes: the beliefs about their cells, and the chance that everything below fails."""
    parts = [one.at(which) for one in outcomes]
    nothing = np.eye(1, len(parts[0][0]))[0]
    before = list(accumulate((chance for chance, _ in parts), _together, initial=nothing))
    after = list(accumulate((chance for chance, _ in reversed(parts)), _together, initial=nothing))[::-1]
    beliefs_of = []
    for at, (chance, share) in enumerate(parts):
        rest = _reaching(_together(before[at], after[at + 1]))
        beliefs_of.append(np.tensordot(rest, share, axes=1) / max(float(rest @ chance), _LEAST))
    return np.concatenate(beliefs_of), float(before[-1][-1])


def _together(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chances of the sets that fail through either of two independent parts."""
    every, sums = np.arange(len(one)), np.zeros(len(one))
    np.add.at(sums, every[:, None] | every[None, :], one[:, None] * other[None, :])
    return sums


def _reaching(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each set, the total chance of the sets that complete it to all generalisations."""
    every = np.arange(len(chance))
    return np.asarray(((every[:, None] | every[None, :]) == len(chance) - 1) @ chance)


def _outcomes(
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
    below: Sequence[NDArray[np.int64]],
    rule: ClassRule,
    random: np.random.Generator,
) -> _Outcomes:
    """Enumerate the assignments within a released class as tables of counts or, if there are too many, draw them."""
    sets = 1 << len(below)
    if not below or len(sizes) == 1:
        chance, share = np.zeros(sets), np.zeros((sets, len(sizes), len(totals)))
        alone = sets - 1 if rule.fails(totals) else 0
        chance[alone], share[alone] = 1.0, totals / totals.sum()
        return _Outcomes([chance], [share])
    present = np.flatnonzero(totals)
    tables = list(islice(_tables(sizes.tolist(), totals[present].tolist()), _MOST_TABLES + 1))
    if len(tables) <= _MOST_TABLES:
        from scipy.special import gammaln

        counts = np.array(tables, dtype=np.int64)
        ways = -gammaln(counts + 1.0).sum(axis=(1, 2))
        groups = [[(counts, np.exp(ways - ways.max()))]]
    else:
        groups = [[(one, np.ones(len(one))) for one in _drawn(sizes, totals[present], random)] for _ in range(_TENTHS)]
    chances, shares = np.zeros((len(groups), sets)), np.zeros((len(groups), sets, len(sizes), len(totals)))
    for at, group in enumerate(groups):
        for counts, weights in group:
            failing = _failing(counts, below, rule)
            chances[at] += np.bincount(failing, weights, minlength=sets)
            for mask in np.unique(failing):
                of_mask = failing == mask
                shares[at, mask][:, present] += np.tensordot(weights[of_mask], counts[of_mask], axes=1) / sizes[:, None]
    some = np.arange(len(groups))
    left = [some >= 0, *((some != at for at in some) if len(groups) > 1 else ())]
    scale = [chances[one].sum() for one in left]
    return _Outcomes(
        [chances[one].sum(axis=0) / total for one, total in zip(left, scale, strict=True)],
        [shares[one].sum(axis=0) / total for one, total in zip(left, scale, strict=True)],
    )


def _failing(counts: NDArray[Any], below: Sequence[NDArray[np.int64]], rule: ClassRule) -> NDArray[np.int64]:
    """Return, for each table of counts, the generalisations that some class of theirs makes fail, as bits."""
    failing = np.zeros(len(counts), dtype=np.int64)
    for at, classes in enumerate(below):
        _, place = np.unique(classes, return_inverse=True)
        member = (np.arange(place.max() + 1)[:, None] == place[None, :]).astype(np.int64)
        failing |= rule.fails(np.einsum("gc,tcv->tgv", member, counts)).any(axis=1).astype(np.int64) << at
    return failing


def _tables(sizes: Sequence[int], left: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield every table of counts with these numbers of people in the cells (rows) and of records with the values (columns)."""
    if len(sizes) == 1:
        yield (tuple(left),)
        return
    for row in _rows(sizes[0], left):
        for rest in _tables(sizes[1:], [all_ - taken for all_, taken in zip(left, row, strict=True)]):
            yield (row, *rest)


def _rows(size: int, left: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way of taking this many of the remaining records."""
    if len(left) == 1:
        yield (size,)
        return
    for first in range(max(0, size - sum(left[1:])), min(size, left[0]) + 1):
        for rest in _rows(size - first, left[1:]):
            yield (first, *rest)


def _drawn(sizes: NDArray[np.int64], totals: NDArray[np.int64], random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Draw assignments at random, some at a time, and yield their tables of counts."""
    sensitive, cell = np.repeat(np.arange(len(totals)), totals), np.repeat(np.arange(len(sizes)), sizes)
    width = len(sizes) * len(totals)
    step = max(_CHUNK // max(width, len(cell)), 1)
    for start in range(0, _DRAWS, step):
        many = min(step, _DRAWS - start)
        mixed = random.permuted(np.tile(sensitive, (many, 1)), axis=1)
        places = np.arange(many)[:, None] * width + cell[None, :] * len(totals) + mixed
        yield np.bincount(places.ravel(), minlength=many * width).reshape(many, len(sizes), len(totals))
