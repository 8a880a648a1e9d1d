"""The counts of sensitive values in falling order, and the stretches between ordered values: as a plain loop has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.measures.equivalence import Spread


def spread_of(classes: int, values: int, seed: int, *, weighted: bool) -> Spread:
    random = np.random.default_rng(seed)
    held = random.integers(0, 4, (classes, values))
    held[:, 0] += 1
    of_class, value = np.nonzero(held)
    n = (held[of_class, value] * (0.3 if weighted else 1.0)).astype(np.float64)
    starts = np.flatnonzero(np.diff(of_class, prepend=-1))
    return Spread("s", tuple(range(values)), of_class, value, n, starts, held.sum(axis=0) / held.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("classes", "values"), [(1, 1), (3, 5), (400, 9), (2_000, 3)])
def test_counts_fall_within_every_class(classes: int, values: int, weighted: bool) -> None:
    spread = spread_of(classes, values, classes, weighted=weighted)
    ends = [*spread.starts.tolist()[1:], len(spread.n)]
    falling = [n for start, end in zip(spread.starts.tolist(), ends, strict=True) for n in sorted(spread.n[start:end])[::-1]]
    assert spread.falling.tolist() == falling
    assert spread.falling_sums.tolist() == [0.0, *np.cumsum(falling).tolist()]


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 99), st.booleans())
def test_stretches_cover_the_values_from_the_first_that_a_class_holds(
    classes: int, values: int, seed: int, weighted: bool
) -> None:
    spread = spread_of(classes, values, seed, weighted=weighted)
    below, last = np.cumsum(spread.whole)[:-1], values - 1
    ends = [*spread.starts.tolist()[1:], len(spread.n)]
    level, begin, end, cross = spread.stretches
    for first, after in zip(spread.starts.tolist(), ends, strict=True):
        for at in range(first, after):
            assert level[at] == pytest.approx(min(spread.share[first : at + 1].sum(), 1.0))
            assert begin[at] == min(spread.value[at], last)
            assert end[at] == (max(spread.value[at + 1], begin[at]) if at + 1 < after else last)
            assert cross[at] == np.clip(np.searchsorted(below, level[at]), begin[at], end[at])
