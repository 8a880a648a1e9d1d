from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import unveil
from unveil.errors import (
    ArgumentError,
    ColumnNotFoundError,
    EmptyDataError,
    NullsError,
    UndefinedMeasureError,
    UnsupportedDataError,
)


def test_the_answer_has_the_parts_of_the_contract() -> None:
    answer = unveil.discrimination_rate("paper-2", key=["Age*"], sensitive="Disease").to_dict()
    expected = {"value", "entropy", "conditional_entropy", "kind", "adjusted", "records", "by_value"}
    assert expected <= answer.keys()
    assert answer["by_value"][0] == {"Age*": "2*", "count": 3, "dr": 1.0, "posterior": 1.0}
    assert answer["records"] == 9
    assert answer["made"]["nulls"] == "category"
    assert answer["made"]["version"] == unveil.__version__


def test_a_rare_value_scores_near_one_and_its_posterior_says_what_it_discloses() -> None:
    """On Adult, native-country = Scotland: 0.9997 for income, though in its class only 0.155 of the uncertainty goes."""
    result = unveil.discrimination_rate("adult", "native-country", "income-per-year")
    scotland = next(row for row in result.by_value if row["native-country"] == "Scotland")
    assert scotland["dr"] == pytest.approx(0.9997, abs=5e-5)
    assert scotland["posterior"] == pytest.approx(0.155, abs=5e-4)


def test_a_posterior_can_be_negative() -> None:
    frame = pl.DataFrame({"y": [1, 1, 1, 1, 2, 2], "x": ["a", "a", "a", "a", "b", "a"]})
    by_value = {row["y"]: row for row in unveil.discrimination_rate(frame, "y", "x").by_value}
    assert by_value[2]["posterior"] < 0 < by_value[2]["dr"]


def test_the_riskiest_value_comes_first() -> None:
    rows = unveil.discrimination_rate("adult", "native-country", "income-per-year").by_value
    assert [row["posterior"] for row in rows] == sorted((row["posterior"] for row in rows), reverse=True)


def test_a_constant_sensitive_attribute_is_undefined() -> None:
    frame = pl.DataFrame({"y": [1, 2], "x": ["secret", "secret"]})
    with pytest.raises(UndefinedMeasureError, match="one value only") as caught:
        unveil.discrimination_rate(frame, "y", "x")
    assert "secret'" not in str(caught.value)


def test_a_partition_that_leaves_one_block_is_undefined() -> None:
    with pytest.raises(UndefinedMeasureError, match="one value only"):
        unveil.discrimination_rate(pl.DataFrame({"y": [1, 2], "x": ["a", "b"]}), "y", "x", partitions={"x": [["a", "b"]]})


def test_one_record_has_no_identity_to_hide() -> None:
    with pytest.raises(UndefinedMeasureError, match="one record only"):
        unveil.discrimination_rate(pl.DataFrame({"y": [1]}), "y")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"key": "x", "sensitive": "x"}, ArgumentError, "named as key and as sensitive"),
        ({"key": []}, ArgumentError, "no key attribute"),
        ({"key": "y", "sensitive": []}, ArgumentError, "list of sensitive attributes is empty"),
        ({"key": ["y", "y"]}, ArgumentError, "named twice"),
        ({"key": "yy", "sensitive": "x"}, ColumnNotFoundError, "did you mean 'y'"),
        ({"key": "y", "nulls": "ignore"}, ArgumentError, "nulls 'ignore' is unknown"),
        ({"key": "y", "sensitive": "x", "nulls": "error"}, NullsError, r"'x' \(1\)"),
        ({"key": "y", "weights": "x"}, UnsupportedDataError, "not numbers"),
        ({"key": "y", "sensitive": "x", "weights": "x"}, ArgumentError, "named as sensitive and as weight"),
        ({"key": "x", "weights": "w"}, ArgumentError, "1 of the weights"),
        ({"key": "x", "weights": "h"}, ArgumentError, r"weights in column 'h' are not between 1e-100 and 1e\+100"),
        ({"key": "y", "sensitive": "x", "partitions": {"w": [["a"]]}}, ArgumentError, "not among those measured"),
        ({"key": "y", "interval": True}, ArgumentError, "no meaning against record identity"),
        (
            {"key": "y", "sensitive": "x", "interval": True, "confidence": 1.0},
            ArgumentError,
            "confidence is 1.0; it must be above 0 and below 1",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    frame = pl.DataFrame({"y": [1, 2, 2], "x": ["a", None, "b"], "w": [1.0, 2.0, -1.0], "h": [1e308, 1e308, 1.0]})
    with pytest.raises(error, match=words):
        unveil.discrimination_rate(frame, **arguments)


def test_no_records_is_said() -> None:
    with pytest.raises(EmptyDataError, match="no records"):
        unveil.discrimination_rate(pl.DataFrame({"y": pl.Series([], dtype=pl.Int64)}), "y")
    with pytest.raises(EmptyDataError, match="all 2 have a null"):
        unveil.discrimination_rate(pl.DataFrame({"y": pl.Series([None, None], dtype=pl.Int64)}), "y", nulls="drop")


def test_lists_cannot_be_counted() -> None:
    with pytest.raises(UnsupportedDataError, match="column 'y' holds List"):
        unveil.discrimination_rate(pl.DataFrame({"y": [[1], [2]]}), "y")


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UnsupportedDataError, match="type int"):
        unveil.discrimination_rate(3, "y")


def test_key_columns_with_the_names_of_figures_keep_their_values() -> None:
    frame = pl.DataFrame({"count": ["p", "q"], "dr": ["r", "r"], "x": [1, 2]})
    row = unveil.discrimination_rate(frame, ["count", "dr"], "x").by_value[0]
    assert row["key.count"] in ("p", "q")
    assert row["key.dr"] == "r"
    assert row["count"] == 1


def test_several_sensitive_attributes_are_taken_together() -> None:
    frame = unveil.datasets.load("paper-4")
    joint = frame.with_columns(both=pl.concat_str("Salary", "Disease", separator="|"))
    expected = unveil.discrimination_rate(joint, "Age", "both")
    assert unveil.discrimination_rate(frame, "Age", ["Salary", "Disease"]).value == pytest.approx(expected.value, abs=1e-12)


def test_the_data_is_never_changed() -> None:
    frame = pl.DataFrame({"y": [1.0, float("nan"), None], "x": ["a", "b", "a"]})
    before = frame.clone()
    unveil.discrimination_rate(frame, "y", "x")
    assert frame.equals(before)


def test_a_result_shows_itself() -> None:
    result = unveil.discrimination_rate("paper-2", "Age*", "Disease")
    assert repr(result) == "DiscriminationRate(Age* -> Disease: 0.6202, partial-identifier)"
    assert "0.6202" in result._repr_html_()
    assert result.to_frame().columns == ["Age*", "count", "dr", "posterior"]
    assert list(result.to_frame("pandas").columns) == ["Age*", "count", "dr", "posterior"]
    with pytest.raises(AttributeError):
        result.value = 0.5  # type: ignore[misc]
