"""Local suppression: every record matches k, no null is needless, and few more cells go than the fewest possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import shared, tables
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, ModelNotMetError

KEYS = ["a", "b", "c"]
ADULT = ["age", "education", "marital-status", "race", "sex", "native-country", "workclass"]


def matching(rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """How many records match each one, from the definition; a record of nulls only is in no class."""
    held = [row for row in rows if any(cell is not None for cell in row)]
    return [sum(all(a == b or a is None or b is None for a, b in zip(one, other, strict=True)) for other in held) for one in held]


def fewest(rows: list[tuple[Any, ...]], k: int) -> int:
    """The fewest nulls that let every record match k, by trying all."""
    cells = [(row, at) for row in range(len(rows)) for at in range(len(rows[0])) if rows[row][at] is not None]
    for number in range(len(cells) + 1):
        for chosen in combinations(cells, number):
            tried = [tuple(None if (row, at) in chosen else cell for at, cell in enumerate(one)) for row, one in enumerate(rows)]
            if min(matching(tried), default=k) >= k:
                return number
    raise AssertionError


def greedy(codes: np.ndarray, k: int) -> int:
    """A baseline from the definition.

    Record by record, in their order: while one matches fewer than k, it loses the cell whose loss gives it most matches.
    """
    cells = 0
    for row in range(len(codes)):
        while True:
            differ = (codes != codes[row]) & (codes >= 0) & (codes[row] >= 0)
            number = differ.sum(axis=1)
            if (number == 0).sum() >= k:
                break
            gained = [(number - differ[:, at] == 0).sum() if codes[row, at] >= 0 else -1 for at in range(codes.shape[1])]
            codes[row, int(np.argmax(gained))] = -1
            cells += 1
    return cells


@given(table=tables(columns=4, max_rows=14), k=st.integers(2, 4))
@settings(max_examples=40)
def test_every_record_matches_k_and_no_null_is_needless(table: pl.DataFrame, k: int) -> None:
    try:
        release = unveil.suppress_locally(table, KEYS, k, keep_order=True)
    except ModelNotMetError:
        assert table.height < k
        return
    before, after = table.select(KEYS).rows(), release.data.select(KEYS).rows()
    changed = [(row, at) for row in range(len(after)) for at in range(3) if after[row][at] != before[row][at]]
    assert all(after[row][at] is None for row, at in changed)
    assert release.details["cells"] == len(changed) == sum(release.details["by_attribute"].values())
    assert release.data["d"].equals(table["d"])
    assert min(matching(after), default=k) >= k
    try:
        measured = unveil.measure(release.data, KEYS, nulls="wildcard")
    except EmptyDataError:
        return
    assert measured["k_anonymity"].value >= k  # type: ignore[operator]
    for row, at in changed:
        if any(cell is not None for cell in after[row]):
            back = [
                tuple(before[r][c] if (r, c) == (row, at) else cell for c, cell in enumerate(one)) for r, one in enumerate(after)
            ]
            assert min(matching(back)) < k


@given(table=tables(columns=3, max_rows=14), k=st.integers(2, 3))
@settings(max_examples=30)
def test_the_order_of_the_records_does_not_matter(table: pl.DataFrame, k: int) -> None:
    if table.height >= k:
        one, other = (unveil.suppress_locally(t, KEYS, k).data.select(KEYS) for t in (table, table.reverse()))
        assert one.sort(KEYS).equals(other.sort(KEYS))


@pytest.mark.parametrize(("k", "most"), [(2, 1.05), (3, 1.4)])
def test_few_more_cells_go_than_the_fewest_possible(k: int, most: float) -> None:
    """All ways are tried on small tables, also those that put nulls into safe records."""
    found = best = 0
    for seed in range(40):
        drawn = np.random.default_rng(seed).integers(0, 3, size=(5, 3))
        table = pl.DataFrame(drawn.astype(str), schema=KEYS)
        found += unveil.suppress_locally(table, KEYS, k).details["cells"]
        best += fewest(table.rows(), k)
    assert best <= found <= most * best


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_more_cells_go_than_with_a_greedy_baseline(k: int) -> None:
    adult = unveil.datasets.adult().head(1_500).select(ADULT)
    codes = np.stack([adult[name].rank("dense").to_numpy() for name in ADULT], axis=1).astype(np.int64)
    release = unveil.suppress_locally(adult, ADULT, k)
    assert release.details["cells"] <= greedy(codes, k)
    assert unveil.measure(release.data, ADULT, nulls="wildcard")["k_anonymity"].value >= k  # type: ignore[operator]


def test_adult() -> None:
    adult = pl.read_csv(shared("data/arx-adult/adult.csv"), separator=";")
    release = unveil.suppress_locally(adult, ADULT, 3)
    assert release.details["cells"] < 3_900
    assert release.score == release.details["cells"] / (7 * 30_162)
    assert unveil.measure(release.data, ADULT, nulls="wildcard")["k_anonymity"].value == 3
    assert release.models["k_anonymity",].met


def test_dear_attributes_keep_their_values() -> None:
    adult = unveil.datasets.adult().head(2_000)
    keys = ["age", "education", "sex"]
    plain = unveil.suppress_locally(adult, keys, 3).details
    dear = unveil.suppress_locally(adult, keys, 3, importance={"age": 5}).details
    assert dear["by_attribute"]["age"] < plain["by_attribute"]["age"] / 2
    assert dear["cells"] >= plain["cells"]


def test_columns_follow_the_suppression_of_another() -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["x"] * 3, "group": ["one", "one", "two"], "d": ["p", "q", "r"]})
    release = unveil.suppress_locally(table, ["a", "b"], 2, follow={"group": "a"}, identifiers="d", keep_order=True)
    assert release.data.rows() == [(1, "x", "one"), (1, "x", "one"), (None, "x", None)]
    assert release.data["a"].dtype == pl.Int64
    assert table["group"].null_count() == 0


def test_a_record_like_no_other_loses_every_cell() -> None:
    table = pl.DataFrame({"a": ["x", "x", "y"]})
    release = unveil.suppress_locally(table, "a", 2, keep_order=True)
    assert release.data["a"].to_list() == ["x", "x", None]
    assert release.suppressed == 1


def test_every_library_gives_the_same() -> None:
    columns = {"a": [1, 1, 2, 3, 3], "b": list("xyxyz"), "d": list("pqpqp")}
    expected = unveil.suppress_locally(pl.DataFrame(columns), ["a", "b"], 2, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = unveil.suppress_locally(frame, ["a", "b"], 2, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"k": 0}, ArgumentError, "from 1"),
        ({"k": 4}, ModelNotMetError, "figure is 3"),
        ({"importance": {"d": 1}}, ArgumentError, "no key attribute"),
        ({"importance": {"a": 0}}, ArgumentError, "above 0"),
        ({"follow": {"d": "e"}}, ArgumentError, "no key attribute"),
        ({"follow": {"e": "a"}}, ColumnNotFoundError, "not found"),
        ({"follow": {"b": "a"}}, ArgumentError, "cannot follow"),
        ({"identifiers": "a"}, ArgumentError, "as identifier"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], words: str) -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["x"] * 3, "d": ["p", "q", "r"]})
    with pytest.raises(error, match=words):
        unveil.suppress_locally(table, ["a", "b"], **options)


def test_too_many_attributes() -> None:
    table = pl.DataFrame({f"c{at}": [1, 2] for at in range(17)})
    with pytest.raises(ArgumentError, match="up to 16"):
        unveil.suppress_locally(table, table.columns, 2)
