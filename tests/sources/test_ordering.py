"""Integers sorted by their digits, and texts found by hashing: as plain sorting and a dictionary have them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil import ordering
from unveil.ordering import by_digits, order_of, order_of_values
from unveil.sources import texts
from unveil.sources.coding import Integers, OneType, encode
from unveil.sources.texts import coded_alike, rows_alike

LONG = "the same beginning of more than twelve bytes"
TEXTS = st.text(max_size=30) | st.sampled_from(["", "a", LONG, LONG[:13], f"{LONG} a", f"{LONG} b", f"{LONG[:-1]}t"])


@given(st.lists(st.integers(0, (1 << 48) - 1) | st.integers(0, 300), max_size=80), st.integers(0, 16))
def test_keys_are_in_order_and_equal_ones_in_the_order_of_rows(keys: list[int], spare: int) -> None:
    domain = max(keys, default=0) + 1 + spare
    expected = sorted(range(len(keys)), key=keys.__getitem__)
    assert order_of(np.array(keys, dtype=np.int64), domain).tolist() == expected


@pytest.mark.parametrize("domain", [1, 255, 256, 257, 1 << 16, (1 << 16) + 1, 1 << 24, 1 << 31, 1 << 32, 1 << 48])
def test_keys_of_every_number_of_digits(domain: int) -> None:
    keys = np.random.default_rng(domain).integers(0, domain, 5_000)
    assert by_digits(len(keys), domain)
    assert order_of(keys, domain).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8, np.float64])
def test_values_are_ordered_whatever_their_range(kind: type[np.generic]) -> None:
    random = np.random.default_rng(1)
    for low, high in ((-100, 27), (0, 127)) if kind is np.int8 else ((0, 1 << 40), (1 << 53, 1 << 62)):
        values = random.integers(low, high, 3_000).astype(kind)
        assert (values[order_of_values(values)] == np.sort(values)).all()


@given(st.lists(TEXTS | st.none(), min_size=1, max_size=60), st.integers(0, 5), st.booleans())
def test_rows_of_the_same_text_are_found_as_a_dictionary_finds_them(cells: list[str | None], skipped: int, chunks: bool) -> None:
    column = pl.Series("x", [None] * skipped + cells, dtype=pl.String).slice(skipped)
    column = pl.concat([column, column.head(3)], rechunk=False) if chunks else column
    cells = column.to_list()
    found = rows_alike(column)
    assert found is not None
    assert [cells[row] for row in found.of_row.tolist()] == cells
    assert sorted(found.first.tolist()) == sorted(set(found.of_row.tolist()))
    assert len(found.first) == len(set(cells))
    coded = coded_alike(column)
    assert coded is not None
    assert [coded[0][code] for code in coded[1].tolist()] == cells
    assert coded[0] == [*sorted({cell for cell in cells if cell is not None}), *([None] if None in cells else [])]


@pytest.mark.parametrize("slots", [1, 4])
def test_texts_that_share_a_slot_are_never_taken_for_one(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_SLOTS", slots)
    for cells in (["a", "b", "c", "a"] * 100, [f"{LONG} {at % 40}" for at in range(400)]):
        found = rows_alike(pl.Series(cells))
        assert found is None or [cells[row] for row in found.of_row.tolist()] == cells
        coded = encode(pl.Series("x", cells))
        assert [coded.values[code] for code in coded.codes.tolist()] == cells


def test_too_many_texts_or_rows_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pl.Series([f"{at}" for at in range(5_000)])
    assert rows_alike(column) is None
    assert rows_alike(column.clear()) is None
    monkeypatch.setattr(texts, "_MOST_ROWS", 300)
    assert rows_alike(column.head(300)) is not None
    assert rows_alike(column.head(301)) is None


@pytest.mark.parametrize("pieces", [1, 7, 1 << 17])
def test_a_short_range_is_coded_piece_by_piece(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "_PIECE", pieces)
    values = np.random.default_rng(pieces).integers(-40, 500, 1_000).astype(np.int16)
    coded = ordering.in_short_range(values)
    assert coded is not None
    assert coded[0].tolist() == sorted(set(values.tolist()))
    assert (coded[0][coded[1]] == values).all()


def test_the_values_of_a_column_say_their_type() -> None:
    for cells, types in (([3, 1], {int}), (["b", None], {str}), ([0.5, 1.0, None], {float}), ([None], set()), ([], set())):
        values = encode(pl.Series("x", cells * 300)).values
        assert isinstance(values, OneType)
        assert {type(value) for value in values if value is not None} == types
        present = sorted({cell for cell in cells if cell is not None})
        assert list(values) == [*present, *([None] if None in cells else [])]
    assert not isinstance(encode(pl.Series("x", [1, "a", None], dtype=pl.Object)).values, OneType)


def test_many_integers_stay_integers_of_the_machine_and_read_as_python_integers() -> None:
    numbers = np.random.default_rng(3).integers(-(10**9), 10**9, 9_000)
    coded = encode(pl.Series("x", numbers))
    present = tuple(sorted(set(numbers.tolist())))
    assert isinstance(coded.values, Integers)
    assert tuple(coded.values) == present
    assert list(coded.values[7:9]) == list(present[7:9])
    assert {type(value) for value in coded.values} == {int}
    assert (np.array(present)[coded.codes] == numbers).all()
    above = encode(pl.Series("x", numbers.astype(np.uint64) + np.uint64((1 << 64) - 3 * 10**9), dtype=pl.UInt64)).values
    assert isinstance(above, Integers)
    assert max(above) > 1 << 63
    assert isinstance(encode(pl.Series("x", [*numbers.tolist(), None])).values, OneType)
