"""Bounds of the rate that a table gives away, against one class at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unveil.tables.rates import _level, _steep, _uncertain

intervals = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=3), st.integers(0, 60)),
    min_size=1,
    max_size=6,
)


@given(intervals)
def test_counts_stay_within_their_intervals_and_come_to_their_totals(rows: list[tuple[list[tuple[int, int]], int]]) -> None:
    low = np.array([[a for a, _ in cells] for cells, _ in rows], dtype=float)
    high = np.array([[a + b for a, b in cells] for cells, _ in rows], dtype=float)
    totals = np.clip([float(total) for _, total in rows], low.sum(axis=1), high.sum(axis=1))
    for counts in (_level(low, high, totals), _steep(low, high, totals)):
        assert (counts >= low).all()
        assert (counts <= high).all()
        assert np.allclose(counts.sum(axis=1), totals)
    for row, total in enumerate(totals):
        between = low[row].copy()  # any other way to come to the total is neither below the least nor above the most
        for at in range(3):
            between[at] += min(total - between.sum(), high[row, at] - low[row, at])
        there = between[between > 0]
        own = float((there * np.log2(there.sum() / there)).sum())
        one = (low[[row]], high[[row]], np.array([total]))
        assert _uncertain(*one, equal=False) <= own + 1e-9
        assert own <= _uncertain(*one, equal=True) + 1e-6


def test_the_extremes_by_hand() -> None:
    low, high = np.array([[0.0, 1.0, 2.0]]), np.array([[5.0, 5.0, 3.0]])
    assert _steep(low, high, np.array([9.0])).tolist() == [[5.0, 2.0, 2.0]]
    assert np.allclose(_level(low, high, np.array([9.0])), [[3.0, 3.0, 3.0]])
    assert _uncertain(np.array([[0.0, 7.0]]), np.array([[0.0, 7.0]]), np.array([7.0]), equal=True) == 0.0
