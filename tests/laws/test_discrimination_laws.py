"""What must hold of the Discrimination Rate whatever the table."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, homogeneity_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import unveil
from helpers import entropy, kind, rate, together, varied
from unveil.measures.entropy import expected_information_bits
from unveil.testing import tables

TINY = 1e-12


def measured(frame: pl.DataFrame, key: Any = ("a", "b"), sensitive: Any = "c", **options: Any) -> unveil.DiscriminationRate:
    assume(sensitive is None or varied(frame, sensitive))
    return unveil.discrimination_rate(frame, key, sensitive, **options)


@given(tables())
def test_it_is_the_definition(frame: pl.DataFrame) -> None:
    result = measured(frame)
    x, y = frame["c"].to_list(), together(frame, ["a", "b"])
    assert result.value == pytest.approx(rate(x, y), abs=TINY)
    assert result.entropy == pytest.approx(entropy(x), abs=TINY)
    assert result.kind == kind(x, y)


@given(tables())
def test_it_is_the_definition_against_record_identity(frame: pl.DataFrame) -> None:
    result = measured(frame, sensitive=None)
    x, y = list(range(frame.height)), together(frame, ["a", "b"])
    assert result.value == pytest.approx(rate(x, y), abs=TINY)
    assert result.kind == kind(x, y)
    assert result.adjusted is None


@given(tables())
def test_scikit_learn_agrees(frame: pl.DataFrame) -> None:
    result = measured(frame)
    x, y = [str(value) for value in frame["c"]], [str(row) for row in together(frame, ["a", "b"])]
    assert result.value == pytest.approx(homogeneity_score(x, y), abs=TINY)


@given(tables(max_rows=30))
def test_adjusted_is_that_of_adjusted_mutual_information(frame: pl.DataFrame) -> None:
    result = measured(frame)
    x, y = [str(value) for value in frame["c"]], [str(row) for row in together(frame, ["a", "b"])]
    assume(len(set(y)) > 1)
    expected = expected_mutual_information(contingency_matrix(x, y, sparse=True), len(x))
    if result.adjusted is None:
        assert len(set(y)) == len(y)
    else:
        information = result.value * result.entropy
        bits = expected / 0.6931471805599453
        assert result.adjusted == pytest.approx((information - bits) / (result.entropy - bits), abs=1e-9)


def test_adjusted_mutual_information_with_the_same_normaliser() -> None:
    adult = unveil.datasets.adult()
    result = unveil.discrimination_rate(adult, "education", "occupation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = adjusted_mutual_info_score(adult["occupation"].to_list(), adult["education"].to_list(), average_method="max")
    information, expected = (
        result.value * result.entropy,
        expected_information_bits(unveil.count(adult, ["education"]).n, unveil.count(adult, ["occupation"]).n),
    )
    largest = max(result.entropy, unveil.discrimination_rate(adult, "occupation", "education").entropy)
    assert (information - expected) / (largest - expected) == pytest.approx(theirs, abs=1e-9)


@given(tables(), st.one_of(st.none(), st.just("c")))
def test_it_lies_between_zero_and_one(frame: pl.DataFrame, sensitive: str | None) -> None:
    result = measured(frame, sensitive=sensitive)
    assert 0.0 <= result.value <= 1.0
    assert all(0.0 <= row["dr"] <= 1.0 and row["posterior"] <= 1.0 for row in result.by_value)


@given(tables(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(frame: pl.DataFrame, random: Any) -> None:
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    assert measured(shuffled).to_dict() == measured(frame).to_dict()


@given(tables())
def test_names_of_values_change_nothing(frame: pl.DataFrame) -> None:
    renamed = frame.with_columns(pl.all().replace_strict({"x": "Z9", "y": "A0", "z": "emoji \N{SNAKE}"}, default=None))
    assert measured(renamed).value == pytest.approx(measured(frame).value, abs=TINY)


@given(tables())
def test_doubling_the_table_changes_nothing(frame: pl.DataFrame) -> None:
    once, twice = measured(frame), measured(pl.concat([frame, frame]))
    assert twice.value == pytest.approx(once.value, abs=TINY)
    assert twice.kind == once.kind


@given(tables(), st.one_of(st.none(), st.just("c")))
def test_another_key_attribute_never_lowers_it(frame: pl.DataFrame, sensitive: str | None) -> None:
    fewer, more = measured(frame, "a", sensitive), measured(frame, ["a", "b"], sensitive)
    assert more.value >= fewer.value - TINY


@given(tables(), st.one_of(st.none(), st.just("c")))
def test_the_values_add_up(frame: pl.DataFrame, sensitive: str | None) -> None:
    result = measured(frame, sensitive=sensitive)
    assert sum(1.0 - row["dr"] for row in result.by_value) == pytest.approx(1.0 - result.value, abs=TINY)
    mean = sum(row["count"] * row["posterior"] for row in result.by_value) / result.records
    assert mean == pytest.approx(result.value, abs=TINY)


@given(tables())
def test_a_coarser_secret_never_has_more_uncertainty(frame: pl.DataFrame) -> None:
    merged = frame["c"].replace({"y": "x"})
    assume(merged.n_unique() > 1)
    coarse = measured(frame, partitions={"c": [["x", "y"], ["z"]]})
    assert coarse.conditional_entropy <= measured(frame).conditional_entropy + TINY


def test_a_coarser_secret_may_raise_or_lower_the_rate() -> None:
    frame = pl.DataFrame({"y": [1, 1, 2, 2], "x": ["a", "b", "c", "d"]})
    fine = unveil.discrimination_rate(frame, "y", "x").value
    along, across = [["a", "b"], ["c", "d"]], [["a", "c"], ["b", "d"]]
    assert fine == pytest.approx(0.5)
    assert unveil.discrimination_rate(frame, "y", "x", partitions={"x": along}).value == 1.0
    assert unveil.discrimination_rate(frame, "y", "x", partitions={"x": across}).value == 0.0


@given(tables())
def test_singletons_give_back_the_rate(frame: pl.DataFrame) -> None:
    singletons = {"a": [["x"], ["y"], ["z"]], "c": [["z"], ["x"], ["y"]]}
    assert measured(frame, partitions=singletons).value == pytest.approx(measured(frame).value, abs=TINY)


@given(tables(), st.sampled_from([0.5, 1.0, 3.0]))
def test_equal_weights_change_nothing(frame: pl.DataFrame, weight: float) -> None:
    weighted = frame.with_columns(w=pl.lit(weight))
    for sensitive in (None, "c"):
        assert measured(weighted, sensitive=sensitive, weights="w").value == pytest.approx(
            measured(frame, sensitive=sensitive).value, abs=TINY
        )


@given(tables(), st.data())
def test_a_whole_weight_is_a_repeated_record(frame: pl.DataFrame, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=frame.height, max_size=frame.height))
    weighted = measured(frame.with_columns(w=pl.Series(weights)), weights="w")
    repeated = measured(frame[[at for at, weight in enumerate(weights) for _ in range(weight)]])
    assert weighted.value == pytest.approx(repeated.value, abs=TINY)
    assert weighted.kind == measured(frame).kind
    assert weighted.adjusted is None


@given(tables(), st.data())
def test_weighted_identity_is_the_entropy_of_the_shares(frame: pl.DataFrame, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=frame.height, max_size=frame.height))
    result = measured(frame.with_columns(w=pl.Series(weights)), sensitive=None, weights="w")
    copies = [at for at, weight in enumerate(weights) for _ in range(weight)]
    y = together(frame[copies], ["a", "b"])
    assert result.value == pytest.approx(rate(copies, y), abs=TINY)


@given(tables())
def test_dropping_nulls_is_measuring_the_rest(frame: pl.DataFrame) -> None:
    rest = frame.drop_nulls()
    assume(rest.height > 1 and varied(rest, "c"))
    dropped = unveil.discrimination_rate(frame, ["a", "b"], "c", nulls="drop")
    assert dropped.value == pytest.approx(unveil.discrimination_rate(rest, ["a", "b"], "c").value, abs=TINY)
    assert dropped.made.dropped == frame.height - rest.height
    assert dropped.records == rest.height
