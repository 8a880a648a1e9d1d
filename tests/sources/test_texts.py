"""Texts that are numbered and counted from what Arrow keeps of them: what Python's own dictionary says, whatever they are."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.sources.texts import coded_alike, counted_texts, numbered_texts

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


TWO_WAYS = """
import sys
import polars as pl
from unveil.compilation import loops_at_once
from unveil.sources.coding import counted_column, encode

def coded(nulls, distinct):
    cells = [None if nulls and at % 7 == 0 else f"{'x' * (at % 20)} \u00e4{at % distinct}" for at in range(2_000)]
    column = pl.Series("x", cells)
    one, table = encode(column), counted_column("x", column)
    assert list(one.values) == sorted({cell for cell in cells if cell is not None}) + [None] * nulls
    assert [one.values[code] for code in one.codes] == cells
    whole, n = table.columns[0], None if table.n is None else table.n.tolist()
    return list(one.values), one.codes.dtype, one.codes.tolist(), list(whole.values), whole.codes.tolist(), n

kinds = [(nulls, distinct) for nulls in (False, True) for distinct in (4, 700)]
without = [coded(*kind) for kind in kinds]
assert "numba" not in sys.modules
import numba
with loops_at_once():
    assert [coded(*kind) for kind in kinds] == without
print("alike")
"""


def test_coding_does_not_depend_on_whether_the_compiler_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", TWO_WAYS], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("alike\n", 0), done.stderr


@pytest.mark.parametrize("name", ["^a$", "^b.*$", "*", ""])
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("text", ["short", LONG])
def test_texts_are_coded_alike_whatever_the_name_of_their_column(name: str, text: str, nulls: bool) -> None:
    cells = [None if nulls and at % 7 == 0 else f"{text} {at % 5}" for at in range(300)]
    found = coded_alike(pl.Series(name, cells))
    assert found is not None
    assert [found[0][code] for code in found[1].tolist()] == cells
    assert coded_alike(pl.Series(name, [None] * 300, dtype=pl.String)) is not None
