"""Data shuffling: every value stays, ranks are related as before, and a record's own value is not among what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from unveil.errors import ArgumentError, EmptyDataError, NullsError
from unveil.mechanisms import shuffle

RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.multivariate_normal([0, 0, 0], [[1, 0.7, 0.5], [0.7, 1, 0.2], [0.5, 0.2, 1]], 6000)
TABLE = pl.DataFrame(
    {
        "pay": np.exp(NORMAL[:, 0]),
        "tax": NORMAL[:, 1] ** 3,
        "age": (40 + 10 * NORMAL[:, 2]).round(),
        "town": [at % 7 for at in range(6000)],
    }
)
"""Monotone functions of normal scores: rank correlations are those of the scores."""


def test_every_column_keeps_its_values_and_all_others_stay() -> None:
    release = shuffle(TABLE, ["pay", "tax"], given="age", keep_order=True, seed=1).data
    for name in ("pay", "tax"):
        assert release[name].sort().equals(TABLE[name].sort())
        assert (release[name] != TABLE[name]).mean() > 0.99
    assert release.select("age", "town").equals(TABLE.select("age", "town"))


def test_rank_correlations_are_those_that_scipy_finds_and_are_kept() -> None:
    made = shuffle(TABLE, ["pay", "tax"], given="age", keep_order=True, seed=1)
    columns = ["pay", "tax", "age"]
    before, after = (np.asarray(spearmanr(one.select(columns).to_numpy()).statistic) for one in (TABLE, made.data))
    assert np.abs(after - before).max() < 0.05
    assert made.figures["rank_correlation_shift"] == pytest.approx(np.abs(after - before).max())
    own = spearmanr(TABLE["pay"].to_numpy(), made.data["pay"].to_numpy()).statistic
    assert made.figures["own_rank_correlation"]["pay"] == pytest.approx(own)


def test_a_new_value_tells_of_the_old_one_no_more_than_what_is_given() -> None:
    alone = shuffle(TABLE, ["pay", "tax"], keep_order=True, seed=1).figures["own_rank_correlation"]
    assert max(map(abs, alone.values())) < 0.05
    made = shuffle(TABLE, "pay", given="age", keep_order=True, seed=1).data
    old, new, known = (np.argsort(np.argsort(one)) for one in (TABLE["pay"], made["pay"], TABLE["age"]))
    rest = [one - np.polyval(np.polyfit(known, one, 1), known) for one in (old, new)]
    assert abs(np.corrcoef(rest[0], rest[1])[0, 1]) < 0.05
    assert np.corrcoef(new, known)[0, 1] == pytest.approx(np.corrcoef(old, known)[0, 1], abs=0.05)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from("abc")), min_size=3, max_size=20), st.integers(0, 9)
)
def test_small_tables_of_equal_values_keep_them(rows: list[tuple[int, int, str]], seed: int) -> None:
    table = pl.DataFrame(rows, schema=["x", "y", "s"], orient="row")
    made = shuffle(table, ["x", "s"], given="y", orders={"s": list("cab")}, keep_order=True, seed=seed).data
    assert sorted(made["x"]) == sorted(table["x"])
    assert sorted(made["s"]) == sorted(table["s"])


def test_nulls_are_a_policy() -> None:
    table = pl.DataFrame({"x": [1, 2, 3, None, 5], "y": [1, None, 3, 4, 5]})
    with pytest.raises(NullsError):
        shuffle(table, "x", given="y")
    kept = shuffle(table, "x", given="y", nulls="keep", keep_order=True, seed=1)
    assert kept.figures["shuffled"] == 3
    assert kept.data["x"][1] == 2
    assert kept.data["x"][3] is None
    assert shuffle(table, "x", given="y", nulls="drop").data.height == 3


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"attributes": "x", "given": "x"}, ArgumentError, "on one side only"),
        ({"attributes": "s"}, ArgumentError, "needs an order"),
        ({"attributes": "x", "orders": {"q": [1]}}, ArgumentError, "not among the attributes"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        shuffle(pl.DataFrame({"x": [1, 2, 3], "s": ["a", "b", "c"]}), **options)


def test_two_records_cannot_be_shuffled() -> None:
    with pytest.raises(EmptyDataError, match="three records"):
        shuffle(pl.DataFrame({"x": [1, 2]}), "x")
