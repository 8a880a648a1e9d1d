"""Array operations split parts as the compiled loops do, to the number of every child."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.compilation import loops_at_once
from unveil.partitions import Hierarchy
from unveil.search.splitting.parts import Board, Dimension, Parts, Splitter
from unveil.search.splitting.split_arrays import described, proposed, scattered
from unveil.search.splitting.split_kernels import STRICT, scatter


@dataclass(frozen=True)
class _Sized:
    smallest: int
    only_size: bool = True

    def most_parts(self, records: int) -> int:
        return records

    def violated(self, of_unit: NDArray[Any], number: int, units: Any = slice(None)) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.bincount(of_unit, minlength=number) < self.smallest


@st.composite
def dimensions(draw: st.DrawFn, units: int) -> Dimension:
    values = draw(st.integers(1, 9))
    codes = np.array(draw(st.lists(st.integers(0, values - 1), min_size=units, max_size=units)), dtype=np.int64)
    if draw(st.booleans()):
        positions = np.sort(np.array(draw(st.lists(st.integers(0, 20), min_size=values, max_size=values)))) / 20
        return Dimension(codes, positions[: values - 1], null=values - 1) if draw(st.booleans()) else Dimension(codes, positions)
    middle = draw(st.lists(st.integers(0, 4), min_size=values, max_size=values))
    rows = [[str(at), f"g{group}", "*"] for at, group in enumerate(middle)]
    return Dimension(codes, np.zeros(0), levels=Hierarchy("x", rows).levels_for([str(at) for at in range(values)]))


@st.composite
def boards(draw: st.DrawFn) -> tuple[Board, Parts, NDArray[np.int64]]:
    units = draw(st.integers(1, 60))
    board = Board([draw(dimensions(units)) for _ in range(draw(st.integers(1, 4)))])
    number = draw(st.integers(1, 4))
    of_unit = np.unique(draw(st.lists(st.integers(0, number - 1), min_size=units, max_size=units)), return_inverse=True)[1]
    return (
        board,
        Parts.of(of_unit, int(of_unit.max()) + 1),
        np.array(draw(st.lists(st.integers(1, 4), min_size=units, max_size=units))),
    )


@settings(max_examples=300)
@given(boards(), st.integers(1, 12), st.data())
def test_arrays_propose_what_the_loops_propose(
    drawn: tuple[Board, Parts, NDArray[np.int64]], smallest: int, data: st.DataObject
) -> None:
    board, parts, n = drawn
    tried = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(parts) * len(board.codes), max_size=len(parts) * len(board.codes)))
    )
    splitter = Splitter(board, n, _Sized(smallest), STRICT, len(parts))
    splitter.tried = tried.reshape(len(parts), len(board.codes))
    with loops_at_once():
        child, number, chosen = splitter.proposals(parts)
        extents = board.extents(parts)
    by_arrays = proposed(board, parts, splitter.tried, n, smallest)
    assert by_arrays[1].tolist() == number.tolist()
    assert by_arrays[2].tolist() == chosen.tolist()
    split = np.repeat(chosen >= 0, np.diff(parts.starts))  # what a refused proposal leaves of the others is not read
    assert by_arrays[0][split].tolist() == child[split].tolist()
    for one, other in zip(described(board, parts), (extents.low, extents.high, extents.mixed), strict=True):
        assert one.tolist() == other.tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_arrays_put_units_where_the_loop_puts_them(of_place: list[int]) -> None:
    places, order = np.array(of_place), np.arange(len(of_place))[::-1].copy()
    out, starts = np.empty_like(order), np.concatenate([[0], np.cumsum(np.bincount(places, minlength=6))])
    scatter(order, places, starts[:-1].copy(), out)
    assert scattered(order, places).tolist() == out.tolist()
