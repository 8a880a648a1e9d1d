"""PRAM: what it draws follows its matrix, invariant PRAM keeps the frequencies, and bad matrices are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chi2, chisquare

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, NullsError, UnsupportedDataError
from unveil.mechanisms.post_randomisation.transitions import drawn, even_invariant_matrix, invariant_matrix, retention_matrix

RECORDS = 200_000
MATRIX = np.array([[0.7, 0.3, 0.0, 0.0], [0.1, 0.6, 0.2, 0.1], [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25]])


def letters(records: int = RECORDS, seed: int = 3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    drawn_letters = random.choice(list("abcd"), records, p=[0.5, 0.3, 0.15, 0.05])
    return pl.DataFrame({"x": drawn_letters, "s": random.choice(["m", "n"], records), "y": np.arange(records)})


def transitions(before: pl.Series, after: pl.Series, values: str = "abcd") -> np.ndarray[Any, Any]:
    pairs = pl.DataFrame({"b": before, "a": after}).group_by("b", "a").len().rows()
    table = np.zeros((len(values), len(values)))
    for one, other, n in pairs:
        table[values.index(one), values.index(other)] = n
    return table


def fits(table: np.ndarray[Any, Any], matrix: np.ndarray[Any, Any]) -> float:
    """The p-value of the observed transitions under the matrix; what cannot happen must not have happened."""
    assert np.all(table[matrix == 0.0] == 0)
    statistic, freedom = 0.0, 0
    for row, chances in zip(table, matrix, strict=True):
        can = chances > 0.0
        if can.sum() > 1 and row.sum():
            statistic += float(chisquare(row[can], row.sum() * chances[can]).statistic)
            freedom += int(can.sum()) - 1
    return float(chi2.sf(statistic, freedom))


def test_transitions_match_the_given_matrix() -> None:
    data = letters()
    result = mechanisms.pram(unveil.Study(data, keep="y"), "x", matrix=MATRIX, seed=11, keep_order=True)
    assert fits(transitions(data["x"], result.data["x"]), MATRIX) > 1e-4
    assert result.data["y"].equals(data["y"])
    changed = float((result.data["x"] != data["x"]).mean())
    assert result.figures["changed"]["x"] == pytest.approx(changed)
    assert result.figures["expected_changed"]["x"] == pytest.approx(changed, abs=0.005)


def test_transitions_match_a_retention_probability() -> None:
    data = letters()
    result = mechanisms.pram(data, "x", retention=0.8, seed=5, keep_order=True)
    expected = np.full((4, 4), 0.2 / 3)
    np.fill_diagonal(expected, 0.8)
    table = result.figures["matrices"]["x"][0]
    assert table["values"] == ("a", "b", "c", "d")
    assert np.allclose(table["rows"], expected)
    assert fits(transitions(data["x"], result.data["x"]), expected) > 1e-4


@pytest.mark.parametrize("how", [{"retention": 0.3}, {"matrix": MATRIX}])
def test_invariant_pram_keeps_frequencies(how: dict[str, Any]) -> None:
    data = letters()
    result = mechanisms.pram(data, "x", invariant=True, seed=2, **how, keep_order=True)
    matrix = np.array(result.figures["matrices"]["x"][0]["rows"])
    counts = np.array([data["x"].eq(letter).sum() for letter in "abcd"])
    assert counts @ matrix == pytest.approx(counts)
    after = np.array([result.data["x"].eq(letter).sum() for letter in "abcd"])
    deviation = np.sqrt((counts[:, None] * matrix * (1 - matrix)).sum(axis=0))
    assert np.all(np.abs(after - counts) < 4.5 * deviation)
    assert result.figures["changed"]["x"] > 0.2
    assert fits(transitions(data["x"], result.data["x"]), matrix) > 1e-4


def least_kept(shares: np.ndarray[Any, Any], retention: float) -> float:
    """What a linear program says: the least that the largest value can keep if all others keep `retention`."""
    size, at = len(shares), int(np.argmax(shares))
    rows, totals = [], []
    for i in range(size):
        for side in (0, 1):  # what leaves a value, and what comes to it, is its share
            row = np.zeros((size, size))
            row[(i, slice(None)) if side else (slice(None), i)] = 1.0
            rows.append(row.ravel())
            totals.append(shares[i])
        if i != at:
            row = np.zeros((size, size))
            row[i, i] = 1.0
            rows.append(row.ravel())
            totals.append(retention * shares[i])
    cost = np.zeros((size, size))
    cost[at, at] = 1.0
    found = linprog(cost.ravel(), A_eq=np.array(rows), b_eq=totals, bounds=(0, None))
    return float(found.fun / shares[at])


@given(st.lists(st.integers(0, 500), min_size=2, max_size=7), st.floats(0.0, 1.0))
def test_an_even_invariant_matrix_keeps_what_retention_says(numbers: list[int], retention: float) -> None:
    counts = np.array(numbers)
    counts[:2] += 1
    matrix, shares = even_invariant_matrix(counts, retention), counts / counts.sum()
    assert np.all(matrix >= 0.0)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(counts)))
    assert shares @ matrix == pytest.approx(shares, abs=1e-12)
    present, largest = np.flatnonzero(counts), int(np.argmax(counts))
    others = [at for at in present if at != largest]
    assert np.diag(matrix)[others] == pytest.approx(np.full(len(others), retention), abs=1e-9)
    least = least_kept(shares[present], retention)
    assert matrix[largest, largest] == pytest.approx(max(retention, least), abs=1e-6)
    flows = shares[:, None] * matrix
    assert flows == pytest.approx(flows.T, abs=1e-12)  # so that what is kept is also what can be believed


def test_retention_is_what_is_kept_of_every_value() -> None:
    adult = unveil.datasets.adult()
    for name, largest in (("race", 0.9185), ("relationship", 0.5)):
        release = mechanisms.pram(adult, name, retention=0.5, invariant=True, seed=4, keep_order=True)
        diagonal = release.figures["diagonal"][name]
        kept = pl.DataFrame({"value": adult[name], "stays": adult[name] == release.data[name]})
        for value, n, share in kept.group_by("value").agg(pl.len(), pl.col("stays").mean()).rows():
            assert share == pytest.approx(diagonal[value], abs=5 * np.sqrt(0.25 / n))
        assert sorted(diagonal.values()) == pytest.approx([0.5] * (len(diagonal) - 1) + [largest], abs=1e-3)
        assert 1 - release.figures["expected_changed"][name] == pytest.approx(kept["stays"].mean(), abs=0.02)
    assert any("frequencies" in note for note in release.notes)
    assert "diagonal" in release._repr_html_()


def test_strata_that_would_not_be_protected_are_refused() -> None:
    even = {"s": ["m"] * 40 + ["n"] * 40, "x": ["a", "b"] * 20 + ["a", "b"] * 20}
    mechanisms.pram(pl.DataFrame(even), "x", retention=0.5, invariant=True, strata="s", keep_order=True, seed=1)
    single = pl.DataFrame({**even, "x": ["a", "b"] * 20 + ["c"] * 40})
    rare = pl.DataFrame({**even, "x": ["a", "b"] * 20 + ["a"] * 9 + ["b"] * 31})
    for how in ({"retention": 0.5}, {"retention": 0.5, "invariant": True}, {"matrix": np.full((3, 3), 1 / 3), "invariant": True}):
        with pytest.raises(ArgumentError, match=r"1 of the 2 strata .* in 1 a published value .* in 0 the matrix"):
            mechanisms.pram(single, "x", strata="s", **how, keep_order=True)
    with pytest.raises(ArgumentError, match=r"1 of the 2 strata .* in 0 a published value .* in 1 the matrix"):
        mechanisms.pram(rare, "x", retention=0.5, invariant=True, strata="s", keep_order=True, seed=1)
    mechanisms.pram(rare, "x", retention=0.5, strata="s", keep_order=True, seed=1)  # this matrix says nothing of frequencies
    for alone in (pl.DataFrame({"x": ["a"] * 50}), pl.DataFrame({"x": ["a"] * 30 + ["b"] * 20})):
        with pytest.raises(ArgumentError, match="give the true one away"):
            mechanisms.pram(alone, "x", retention=0.0, keep_order=True, seed=1)
    assert mechanisms.pram(single, "x", retention=1.0, strata="s", keep_order=True, seed=1).data.equals(single)


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_invariant_matrix_is_a_markov_matrix_with_the_counts_as_its_fixed_point(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.dirichlet(np.full(size, 0.4), size=size)
    counts = random.integers(0, 50, size)
    counts[random.integers(size)] += 1
    result = invariant_matrix(matrix, counts)
    assert np.all(result >= 0.0)
    assert result.sum(axis=1) == pytest.approx(np.ones(size))
    assert counts @ result == pytest.approx(counts)


def test_alias_draws_reproduce_each_row() -> None:
    random = np.random.default_rng(8)
    matrix = random.dirichlet(np.full(30, 0.2), size=30)
    codes = random.integers(0, 30, 300_000).astype(np.uint8)
    table = np.zeros((30, 30))
    np.add.at(table, (codes, drawn(codes, matrix, random)), 1)
    assert np.abs(table / table.sum(axis=1, keepdims=True) - matrix).max() < 0.03


def test_strata_keep_their_own_frequencies_and_values() -> None:
    data = pl.DataFrame({"s": ["m"] * 3000 + ["n"] * 3000, "x": ["a", "b"] * 1500 + ["c"] * 1000 + ["d"] * 2000})
    result = mechanisms.pram(data, "x", retention=0.5, strata="s", seed=1, keep_order=True)
    out = result.data
    assert set(out.filter(pl.col("s") == "m")["x"]) == {"a", "b"}
    assert set(out.filter(pl.col("s") == "n")["x"]) == {"c", "d"}
    kept = mechanisms.pram(data, "x", matrix=np.full((4, 4), 0.25), invariant=True, strata="s", seed=1, keep_order=True)
    for at, label in enumerate(("m", "n")):
        table = kept.figures["matrices"]["x"][at]
        assert table["stratum"] == {"s": label}
        counts = np.array([data.filter(pl.col("s") == label)["x"].eq(letter).sum() for letter in "abcd"])
        assert counts @ np.array(table["rows"]) == pytest.approx(counts)


def test_a_matrix_as_a_mapping_may_name_new_values() -> None:
    data = letters(2000)
    rows: dict[str, dict[str, float]] = {letter: {letter: 0.5, "*": 0.5} for letter in "abcd"}
    result = mechanisms.pram(data, "x", matrix=rows, seed=4, keep_order=True)
    stars = result.data["x"] == "*"
    assert 850 < stars.sum() < 1150
    assert result.data["x"].filter(~stars).equals(data["x"].filter(~stars))


def test_each_of_several_attributes_has_its_matrix() -> None:
    data = letters(500)
    result = mechanisms.pram(data, ["x", "s"], matrix={"x": np.eye(4), "s": [[0, 1], [1, 0]]}, keep_order=True, seed=1)
    assert result.data["x"].equals(data["x"])
    assert result.data["s"].ne(data["s"]).all()
    with pytest.raises(ArgumentError, match="mapping from each"):
        mechanisms.pram(data, ["x", "s"], matrix=np.eye(4), keep_order=True, seed=1)


def test_nulls() -> None:
    data = pl.DataFrame({"x": ["a", None, "b", "a", None, "b"], "n": [1, 2, 3, 4, 5, 6]})
    swap = [[0, 1], [1, 0]]
    assert mechanisms.pram(data, "x", matrix=swap, nulls="keep", keep_order=True, seed=1).data["x"].to_list() == [
        "b",
        None,
        "a",
        "b",
        None,
        "a",
    ]
    skipped = mechanisms.pram(unveil.Study(data, keep="n"), "x", matrix=swap, nulls="drop", keep_order=True, seed=1)
    assert skipped.data.rows() == [("b", 1), ("a", 3), ("b", 4), ("a", 6)]
    assert skipped.origin.tolist() == [0, 2, 3, 5]
    with pytest.raises(NullsError, match=r"'x' \(2\)"):
        mechanisms.pram(data, "x", matrix=swap, keep_order=True, seed=1)
    with pytest.raises(EmptyDataError):
        mechanisms.pram(
            pl.DataFrame({"x": [None, None]}, schema={"x": pl.String}), "x", retention=0.5, nulls="drop", keep_order=True, seed=1
        )
    kept = mechanisms.pram(
        pl.DataFrame({"x": [None, None]}, schema={"x": pl.String}), "x", retention=0.5, nulls="keep", keep_order=True, seed=1
    )
    assert kept.data["x"].to_list() == [None, None]


def test_types_stay() -> None:
    frame = pl.DataFrame({"i": [1, 2, 3] * 20, "b": [True, False, True] * 20, "c": ["u", "v", "w"] * 20})
    frame = frame.with_columns(pl.col("c").cast(pl.Categorical))
    result = mechanisms.pram(frame, ["i", "b", "c"], retention=0.4, keep_order=True, seed=1)
    assert result.data.schema == frame.schema
    assert set(result.data["c"].cast(pl.String)) == {"u", "v", "w"}


def test_same_seed_same_release_on_every_library() -> None:
    frame = letters(3000)
    ours = mechanisms.pram(frame, ["x", "s"], retention=0.6, seed=9, keep_order=True)
    pandas = mechanisms.pram(pd.DataFrame(frame.to_dict(as_series=False)), ["x", "s"], retention=0.6, seed=9, keep_order=True)
    arrow = mechanisms.pram(frame.to_arrow(), ["x", "s"], retention=0.6, seed=9, keep_order=True)
    assert isinstance(pandas.data, pd.DataFrame)
    assert ours.data["x"].to_list() == pandas.data["x"].tolist() == arrow.data["x"].to_pylist()
    assert (
        mechanisms.pram(frame, ["x", "s"], retention=0.6, seed=10, keep_order=True).data["x"].to_list()
        != ours.data["x"].to_list()
    )
    assert frame.equals(letters(3000))


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"retention": 1.2}, ArgumentError, "from 0 to 1"),
        ({"retention": "much"}, ArgumentError, "retention must be a number"),
        ({}, ArgumentError, "either"),
        ({"retention": 0.5, "matrix": np.eye(4)}, ArgumentError, "either"),
        ({"matrix": np.eye(3)}, ArgumentError, "3 x 3"),
        ({"matrix": np.full((4, 4), 0.3)}, ArgumentError, "sums to 1.2"),
        ({"matrix": [[1.5, -0.5, 0, 0]] + [[0, 0, 0, 1]] * 3}, ArgumentError, "not probabilities"),
        ({"matrix": [["a"] * 4] * 4}, ArgumentError, "not a table of numbers"),
        ({"matrix": {"a": {"a": 1.0}}}, ArgumentError, "no row for 3 of its 4 values"),
        ({"retention": 0.5, "strata": "x"}, ArgumentError, "one side only"),
        ({"retention": 0.5, "strata": "nowhere"}, ColumnNotFoundError, "nowhere"),
        ({"retention": 0.5, "nulls": "hide"}, ArgumentError, "nulls 'hide'"),
        ({"retention": 0.5, "seed": -1}, ArgumentError, "seed"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        mechanisms.pram(letters(100), "x", **arguments, keep_order=True)


def test_wrong_kinds_are_refused() -> None:
    with pytest.raises(UnsupportedDataError, match="fractional numbers"):
        mechanisms.pram(pl.DataFrame({"x": [0.5, 1.5]}), "x", retention=0.5, keep_order=True, seed=1)
    with pytest.raises(ArgumentError, match="2,000 values"):
        mechanisms.pram(pl.DataFrame({"x": range(2000)}), "x", retention=0.5, keep_order=True, seed=1)
    with pytest.raises(UnsupportedDataError, match="cannot be counted"):
        mechanisms.pram(pl.DataFrame({"x": [[1], [2]]}), "x", retention=0.5, keep_order=True, seed=1)
    with pytest.raises(ArgumentError, match="of a type other than"):
        mechanisms.pram(pl.DataFrame({"x": [1, 2]}), "x", matrix={1: {"*": 1.0}, 2: {2: 1.0}}, keep_order=True, seed=1)


def test_fixed_names_become_text_where_names_are_new() -> None:
    frame = pl.DataFrame({"x": ["a", "b", None]}, schema={"x": pl.Enum(["a", "b"])})
    result = mechanisms.pram(frame, "x", matrix={"a": {"*": 1.0}, "b": {"b": 1.0}}, nulls="keep", keep_order=True, seed=1)
    assert result.data["x"].to_list() == ["*", "b", None]


def test_the_record_of_what_was_done_is_plain() -> None:
    result = mechanisms.pram(unveil.datasets.adult(), "sex", retention=0.9, seed=3, keep_order=True)
    told = result.to_dict()
    assert told["settings"] == {"retention": 0.9, "matrix": False, "invariant": False, "strata": [], "nulls": "error"}
    assert told["repeatable"] == "seed"
    assert told["figures"]["matrices"]["sex"][0]["values"] == ["Female", "Male"]
    assert retention_matrix(np.array([True, False]), 0.3).tolist() == [[1, 0], [0, 1]]


def test_nulls_of_a_column_of_python_objects_stay_nulls() -> None:
    data = pd.DataFrame({"town": pd.Series([None, 1, "1", None, 2.5, "b"], dtype=object)})
    released = mechanisms.pram(data, "town", retention=0.5, nulls="keep", keep_order=True, seed=1).data
    assert [value is None for value in released["town"].to_list()] == [True, False, False, True, False, False]
