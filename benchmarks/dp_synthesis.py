"""Synthetic records with differential privacy: their two-way error on Adult beside that of MST, within the same rho."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

import unveil
from benchmarks.rows import Row, at_most
from benchmarks.timing import best_of
from unveil.mechanisms import dp_synthesize
from unveil.mechanisms.differential_privacy.accounting import concentration
from unveil.mechanisms.differential_privacy.budget import concentrated, noisy_greatest
from unveil.mechanisms.differential_privacy.selection import NoisyTable, NoisyTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = [
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country", "income-per-year",
]  # fmt: skip
_EPSILONS, _DELTA, _DRAWS = (0.1, 1.0, 10.0), 1e-9, 5
_RARE = 3.0
"""MST merges values that have fewer records than this many standard deviations of the noise."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    adult = unveil.datasets.adult()
    domains = {name: sorted(adult[name].unique()) for name in COLUMNS}
    codes = np.column_stack(
        [np.searchsorted(domains[name], adult[name].to_numpy().astype(type(domains[name][0]))) for name in COLUMNS]
    )
    shape = [len(domains[name]) for name in COLUMNS]
    rows = []
    for epsilon in _EPSILONS:

        def ours(epsilon: float = epsilon) -> NDArray[np.int64]:
            made = dp_synthesize(adult, COLUMNS, domains=domains, epsilon=epsilon, delta=_DELTA).data
            return np.column_stack(
                [np.searchsorted(domains[name], made[name].to_numpy().astype(type(domains[name][0]))) for name in COLUMNS]
            )

        rho = concentration(epsilon, _DELTA)
        known = _mean_error(lambda: ours(), codes, shape)  # noqa: PLW0108 - drawn at once
        beside = _mean_error(lambda: mst(codes, shape, rho), codes, shape)  # noqa: B023 - drawn at once
        what = f"two-way error of Adult at epsilon {epsilon:g}, against MST's"
        rows.append(at_most(what, known, round(beside, 4), ""))
    spent = best_of(2, lambda: dp_synthesize(adult, COLUMNS, domains=domains, epsilon=1.0)).processor
    return [*rows, at_most("synthesis of Adult, nine columns, with epsilon 1", spent, 10, "s")]


def mst(codes: NDArray[np.int64], shape: list[int], rho: float) -> NDArray[np.int64]:
    """Draw records from a tree of pairs: a third of rho each for the one-way tables, the tree, and its two-way tables."""
    part, groups = rho / 3.0, []
    singles: dict[tuple[int, ...], NoisyTable] = {}
    coarse = codes.copy()
    for at, values in enumerate(shape):
        noisy, scale = concentrated(np.bincount(codes[:, at], minlength=values).tolist(), part / len(shape), 1)
        common = np.array(noisy) >= _RARE * scale
        group = np.where(common, np.cumsum(common) - 1, common.sum())
        groups.append((group, np.maximum(noisy, 0.0) + 1e-9))
        singles[(at,)] = NoisyTable(np.bincount(group, weights=noisy).astype(np.float64), scale)
        coarse[:, at] = group[codes[:, at]]
    sizes = tuple(table.counts.size for table in singles.values())
    total = float(np.mean([table.counts.sum() for table in singles.values()]))
    tables = NoisyTables(sizes, total, singles)
    true = {pair: _table(coarse, pair, sizes) for pair in combinations(range(len(shape)), 2)}
    apart = {pair: float(np.abs(true[pair] - tables.pair(pair)).sum()) for pair in true}
    joined = list(range(len(shape)))
    for _ in shape[1:]:
        free = [pair for pair in apart if joined[pair[0]] != joined[pair[1]]]
        one, other = free[noisy_greatest([apart[pair] for pair in free], part / (len(shape) - 1), 1.0)]
        joined = [joined[one] if root == joined[other] else root for root in joined]
        noisy, scale = concentrated(true[one, other].ravel().tolist(), part / (len(shape) - 1), 1)
        counts = np.array(noisy, dtype=np.float64).reshape(true[one, other].shape)
        tables.tables[one, other] = NoisyTable(counts, scale)
    tables.fit()
    random = np.random.default_rng()
    drawn = tables.tree.draw(max(1, round(total)), random)
    return np.column_stack([_refined(drawn[:, at], *groups[at], random) for at in range(len(shape))])


def _refined(
    drawn: NDArray[np.int64], group: NDArray[np.int64], counts: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the values of groups, each as often as it was counted."""
    values = np.empty(len(drawn), dtype=np.int64)
    for one in np.unique(drawn):
        within, rows = np.flatnonzero(group == one), np.flatnonzero(drawn == one)
        values[rows] = random.choice(within, size=len(rows), p=counts[within] / counts[within].sum())
    return values


def _table(codes: NDArray[np.int64], pair: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    one, other = pair
    cells = codes[:, one] * sizes[other] + codes[:, other]
    return np.bincount(cells, minlength=sizes[one] * sizes[other]).reshape(sizes[one], sizes[other])


def _mean_error(drawn: Callable[[], NDArray[np.int64]], codes: NDArray[np.int64], shape: list[int]) -> float:
    """Return the mean, over pairs of columns and draws, of half the sum of differences between shares."""
    return math.fsum(_error(drawn(), codes, tuple(shape)) for _ in range(_DRAWS)) / _DRAWS


def _error(drawn: NDArray[np.int64], codes: NDArray[np.int64], shape: tuple[int, ...]) -> float:
    apart = [
        np.abs(_table(drawn, pair, shape) / len(drawn) - _table(codes, pair, shape) / len(codes)).sum() / 2.0
        for pair in combinations(range(len(shape)), 2)
    ]
    return float(np.mean(apart))
