"""Bounds of the rate that a table gives away, against one class at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unveil.tables.rates import _level, _steep, _uncertain

intervals = st.tuples(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=4), st.floats(0, 1, allow_subnormal=False)
)


def uncertainty(counts: Sequence[float]) -> float:
    return sum(n * math.log2(sum(counts) / n) for n in counts if n)


@given(intervals)
@example(([(0, 0), (1, 1), (0, 3)], 0.25))
@example(([(0, 5), (1, 4), (2, 1)], 0.6))
def test_all_counts_within_their_intervals_are_within_the_bounds(drawn: tuple[list[tuple[int, int]], float]) -> None:
    cells, share = drawn
    low, high = np.array([[float(a) for a, _ in cells]]), np.array([[float(a + b) for a, b in cells]])
    total = round(float(low.sum() + share * (high - low).sum()))
    least, most = (_uncertain(low, high, np.array([float(total)]), equal=equal) for equal in (False, True))
    every = [uncertainty(counts) for counts in product(*[range(a, a + b + 1) for a, b in cells]) if sum(counts) == total]
    assert every
    assert least <= min(every) + 1e-9
    assert max(every) <= most + 1e-6
    for counts in (_level(low, high, np.array([float(total)])), _steep(low, high, np.array([float(total)]))):
        assert np.allclose(counts.sum(axis=1), total)
    if (low == high).all():
        assert least == pytest.approx(min(every), abs=1e-9)


def test_the_extremes_by_hand() -> None:
    low, high = np.array([[0.0, 1.0, 2.0]]), np.array([[5.0, 5.0, 3.0]])
    assert uncertainty([5.0, 3.0, 1.0]) >= _uncertain(low, high, np.array([9.0]), equal=False) > uncertainty([5.0, 4.0])
    assert _steep(np.zeros((1, 2)), np.array([[5.0, 3.0]]), np.array([6.0])).tolist() == [[5.0, 1.0]]
    assert _steep(np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 2.0, 3.0]]), np.array([2.0])).tolist() == [[2.0, 0.0, 0.0]]
    assert np.allclose(_level(low, high, np.array([9.0])), [[3.0, 3.0, 3.0]])
    assert _uncertain(np.array([[0.0, 7.0]]), np.array([[0.0, 7.0]]), np.array([7.0]), equal=True) == 0.0
