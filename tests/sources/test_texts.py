"""Texts that are numbered and counted from what Arrow keeps of them: what Python's own dictionary says, whatever they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.sources.coding import counted_column, encode
from unveil.sources.texts import counted_texts, numbered_texts

LONG = "the same beginning of more than twelve bytes"
TEXTS = st.text(max_size=30) | st.sampled_from(["", "a", LONG, LONG[:13], f"{LONG} a", f"{LONG} b", f"{LONG[:-1]}t"]) | st.none()


@given(st.lists(TEXTS, min_size=1, max_size=60), st.integers(0, 5), st.booleans())
def test_texts_are_numbered_and_counted_as_a_dictionary_does(cells: list[str | None], skipped: int, chunks: bool) -> None:
    column = pl.Series("x", [None] * skipped + cells, dtype=pl.String).slice(skipped)
    column = pl.concat([column, column.head(3)], rechunk=False) if chunks else column
    cells = column.to_list()
    first, numbers = numbered_texts(column)
    texts = [cells[row] for row in first.tolist()]
    assert texts == list(dict.fromkeys(cell for cell in cells if cell is not None))
    assert all(cell is None or texts[number] == cell for cell, number in zip(cells, numbers.tolist(), strict=True))
    first, n = counted_texts(column)
    assert dict(zip([cells[row] for row in first.tolist()], n.tolist(), strict=True)) == Counter(
        c for c in cells if c is not None
    )


@pytest.mark.parametrize("width", [3, 40])
def test_many_texts_find_room(width: int) -> None:
    cells = [f"{at % 5_000:0{width}}" for at in range(12_000)]
    first, numbers = numbered_texts(pl.Series(cells))
    assert np.array_equal(first, np.arange(5_000))
    assert np.array_equal(numbers, np.arange(12_000) % 5_000)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("distinct", [4, 700])
def test_coding_does_not_depend_on_whether_the_compiler_is_loaded(
    monkeypatch: pytest.MonkeyPatch, nulls: bool, distinct: int
) -> None:
    cells = [None if nulls and at % 7 == 0 else f"{LONG[: at % 20]} ä{at % distinct}" for at in range(2_000)]
    column, coded, counted = pl.Series("x", cells), [], []
    for loaded in (True, False):
        monkeypatch.setattr("unveil.sources.coding._at_once", lambda column, loaded=loaded: loaded and len(column) > 256)
        one, table = encode(column), counted_column("x", column)
        coded.append((list(one.values), one.codes.dtype, one.codes.tolist()))
        counted.append(
            (list(table.columns[0].values), table.columns[0].codes.tolist(), None if table.n is None else table.n.tolist())
        )
    assert coded[0] == coded[1]
    assert counted[0] == counted[1]
    assert coded[0][0] == sorted({cell for cell in cells if cell is not None}) + [None] * nulls
