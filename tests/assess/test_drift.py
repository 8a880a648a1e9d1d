"""Drift: what was stored before, held against today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, DataFileError
from unveil.testing import tables

RULES = {"k_anonymity": 1, "sample_uniqueness": 1, "distinct_l_diversity": 1}
SIDES: dict[str, Any] = {"key": ["a"], "sensitive": "x"}


def table(*sizes: int) -> pl.DataFrame:
    rows = [(f"c{at}", f"v{n % 2}") for at, size in enumerate(sizes) for n in range(size)]
    return pl.DataFrame(rows, schema=["a", "x"], orient="row")


def stored(frame: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(unveil.check(frame, RULES, **SIDES).to_dict()))
    return found


def test_risk_is_one_over_k() -> None:
    verdict = unveil.check(table(5, 10), baseline=stored(table(10, 10)), allow=0.05, **SIDES)
    moved = {one.rule: one for one in verdict.drift}
    assert moved["k_anonymity"].growth == pytest.approx(1 / 5 - 1 / 10)
    assert not moved["k_anonymity"].met
    assert not verdict.passes
    assert verdict.status == "NOT met"
    assert unveil.check(table(5, 10), baseline=stored(table(10, 10)), allow=0.1, **SIDES).passes


def test_less_risk_is_no_drift() -> None:
    assert unveil.check(table(10, 10), baseline=stored(table(5, 10)), **SIDES).passes


def test_policy_and_baseline_both_decide() -> None:
    earlier = stored(table(10, 10))
    assert unveil.check(table(10, 10), {"k_anonymity": 5}, baseline=earlier, **SIDES).passes
    assert not unveil.check(table(10, 10), {"k_anonymity": 11}, baseline=earlier, **SIDES).passes
    assert not unveil.check(table(9, 10), {"k_anonymity": 5}, baseline=earlier, **SIDES).passes


def test_a_measurement_serves_as_baseline(tmp_path: Path) -> None:
    place = tmp_path / "earlier.json"
    place.write_text(json.dumps(unveil.measure(table(10, 10), **SIDES).to_dict()), encoding="utf-8")
    same = unveil.check(table(10, 10), baseline=place, **SIDES)
    assert same.passes
    assert {"k_anonymity", "prosecutor_average", "sample_uniqueness", "t_closeness", "recursive_l_diversity"} <= {
        one.rule for one in same.drift
    }
    assert not unveil.check(table(10, 10, 1), baseline=place, allow=0.01, **SIDES).passes


@given(tables(columns=2), st.floats(0, 0.2))
def test_a_table_does_not_drift_from_itself(frame: pl.DataFrame, allow: float) -> None:
    frame = frame.rename({"a": "a", "b": "x"})
    if frame["a"].null_count() == frame.height:
        return
    verdict = unveil.check(frame, baseline=unveil.measure(frame, **SIDES).to_dict(), allow=allow, **SIDES)
    assert verdict.passes
    assert all(one.growth == 0 for one in verdict.drift)


def test_what_has_no_earlier_figure_is_said() -> None:
    verdict = unveil.check(table(10, 10), {"k_anonymity": 5, "alpha": 0.6}, baseline=stored(table(10, 10)), **SIDES)
    assert [one.rule for one in verdict.drift] == ["k_anonymity"]
    assert any("alpha" in note for note in verdict.notes)


def test_figures_of_another_key_are_not_compared() -> None:
    with pytest.raises(ArgumentError, match="cannot be compared"):
        unveil.check(table(5), baseline=unveil.check(table(5), {"k_anonymity": 1}, key=["a"]).to_dict(), key=["x"])
    with pytest.raises(ArgumentError, match="take nulls as"):
        unveil.check(table(5, 5), baseline=stored(table(5, 5)), nulls="drop", **SIDES)
    with pytest.raises(ArgumentError, match="nothing to compare"):
        unveil.check(table(5, 5), {"alpha": 1}, baseline=stored(table(5, 5)), **SIDES)


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", "{}", '{"made": {}, "rules": 3}', '{"rules": [{"rule": "no"}], "made": {"key": []}}']
)
def test_what_is_no_earlier_result_is_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "earlier.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"earlier\.json"):
        unveil.check(table(5, 5), baseline=place, **SIDES)
