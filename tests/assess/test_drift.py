"""Drift: what was stored before, held against today."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.assess.policy.pages import append_history, read_history
from unveil.errors import ArgumentError, DataFileError, OutputError
from unveil.report import page
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
    assert "alpha" not in {one.rule for one in verdict.drift}
    assert any("alpha" in note for note in verdict.notes)


def test_figures_of_another_key_are_not_compared() -> None:
    with pytest.raises(ArgumentError, match="cannot be compared"):
        unveil.check(table(5), baseline=unveil.check(table(5), {"k_anonymity": 1}, key=["a"]).to_dict(), key=["x"])
    with pytest.raises(ArgumentError, match="treat nulls as"):
        unveil.check(table(5, 5), baseline=stored(table(5, 5)), nulls="drop", **SIDES)
    with pytest.raises(ArgumentError, match="nothing to compare"):
        unveil.check(table(5, 5), {"direct_identifiers": 0}, baseline=unveil.measure(table(5, 5), **SIDES).to_dict(), **SIDES)


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", "{}", '{"made": {}, "rules": 3}', '{"rules": [{"rule": "no"}], "made": {"key": []}}']
)
def test_what_is_no_earlier_result_is_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "earlier.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"earlier\.json"):
        unveil.check(table(5, 5), baseline=place, **SIDES)


def test_figures_drift_whether_or_not_a_rule_names_them() -> None:
    earlier = json.loads(json.dumps(unveil.check(table(10, 10), {"k_anonymity": 1}, **SIDES).to_dict()))
    verdict = unveil.check(table(10, 10, 1, 4), {"k_anonymity": 1}, baseline=earlier, allow=0.95, **SIDES)
    moved: dict[tuple[str, str], Any] = {(one.rule, one.of): (one.before, one.now) for one in verdict.drift}
    assert moved["sample_uniqueness", "the key"] == (0, pytest.approx(1 / 25))
    assert moved["records_at_risk", "the key"] == (0, 0)
    assert moved["certain_disclosure", "x"] == (0, pytest.approx(1 / 25))
    assert moved["prosecutor_average", "the key"] == (pytest.approx(2 / 20), pytest.approx(4 / 25))
    assert verdict.passes
    assert not unveil.check(table(10, 10, 1, 4), {"k_anonymity": 1}, baseline=earlier, allow=0.01, **SIDES).passes


def test_the_share_of_records_below_the_k_of_the_policy_is_compared() -> None:
    earlier = json.loads(json.dumps(unveil.check(table(10, 10), {"k_anonymity": 5}, **SIDES).to_dict()))
    verdict = unveil.check(table(10, 10, 4), {"k_anonymity": 5}, baseline=earlier, **SIDES)
    assert next(one for one in verdict.drift if one.rule == "records_at_risk").now == pytest.approx(4 / 24)


def test_changes_of_the_table_are_told_and_a_new_column_does_not_pass() -> None:
    before = pl.DataFrame({"a": ["u"] * 6 + ["v"] * 6 + ["r"], "x": ["y", "n"] * 6 + ["y"], "n": [1] * 13, "old": ["o"] * 13})
    now = pl.DataFrame({"a": ["u"] * 6 + ["w"] * 6, "x": ["y", "n"] * 6, "n": ["1"] * 12, "new": list(range(12))})
    sides: dict[str, Any] = {"key": ["a"], "sensitive": "x"}
    earlier = json.loads(json.dumps(unveil.check(before, {"k_anonymity": 1}, **sides).to_dict()))
    verdict = unveil.check(now, {"k_anonymity": 1}, baseline=earlier, allow=1, **sides)
    told = {(one.what, one.of): (one.before, one.now) for one in verdict.changes}
    assert told == {
        ("number of records", ""): (13, 12),
        ("new column", "new"): (None, "number"),
        ("lost column", "old"): ("text", None),
        ("new categories", "a"): (None, "w"),
        ("lost categories", "a"): ("v", None),
        ("categories of fewer than 5 records, or that disclose", "a"): (1, 0),
        ("type", "n"): ("number", "text"),
    }
    assert not verdict.passes
    assert unveil.check(now.drop("new"), {"k_anonymity": 1}, baseline=earlier, allow=1, **sides).passes
    shown = page(verdict)
    assert "new column" in shown
    assert "number of records" in shown


def test_a_profile_of_counts_is_about_the_records_that_they_hold() -> None:
    frame = pl.DataFrame({"a": ["u"] * 6 + ["v"] * 6 + [None] * 3, "x": ["y", "n"] * 6 + ["y"] * 3})
    counts = unveil.count(frame, ["a", "x"], nulls="drop")
    found = [
        unveil.check(counts, rules, key="a").to_dict()["profile"]["records"]
        for rules in ({"k_anonymity": 1}, {"direct_identifiers": 0})
    ]
    assert found == [12, 12]
    whole = unveil.check(frame, {"k_anonymity": 1}, key="a", nulls="drop").to_dict()
    assert (whole["profile"]["records"], whole["made"]["dropped"]) == (15, 3)


def test_a_profile_names_no_category_of_few_records() -> None:
    frame = pl.DataFrame({"a": ["often"] * 5 + ["seldom"] * 4, "x": ["y"] * 9})
    stored_columns = unveil.check(frame, {"k_anonymity": 1}, key="a").to_dict()["profile"]["columns"]
    assert stored_columns["a"] == {"type": "text", "distinct": 2, "categories": ["often"], "rare": 1}


def test_a_history_grows_by_a_line_and_is_drawn(tmp_path: Path) -> None:
    place = tmp_path / "runs.jsonl"
    for sizes in ((10, 10), (9, 10), (1, 10)):
        verdict = unveil.check(table(*sizes), {"k_anonymity": 5}, history=place, **SIDES)
    lines = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    assert [line["figures"]["k_anonymity"] for line in lines] == [10, 9, 1]
    assert [line["status"] for line in lines] == ["met", "met", "NOT met"]
    chart = verdict.view().every_chart()["history"]
    assert [y for label, _, y in chart.rows if label == "records that are unique"] == [0, 0, pytest.approx(1 / 11)]
    assert "Risk over 3 runs" in page(verdict)


def test_runs_that_end_at_once_all_stand_in_the_history(tmp_path: Path) -> None:
    place = tmp_path / "runs.jsonl"
    verdict = unveil.check(table(5, 5), {"k_anonymity": 5}, **SIDES)
    with ThreadPoolExecutor(8) as pool:
        grown = list(pool.map(lambda _: len(append_history(place, verdict)), range(40)))
    assert sorted(grown) == list(range(1, 41))
    assert len(read_history(place)) == 40


def test_what_is_no_history_is_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "people.csv"
    place.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataFileError, match=r"line 1.*not a line of a history"):
        unveil.check(table(5, 5), {"k_anonymity": 5}, history=place, **SIDES)
    assert place.read_text("utf-8") == "a,b\n1,2\n"
    with pytest.raises(OutputError):
        unveil.check(table(5, 5), {"k_anonymity": 5}, history=tmp_path / "no" / "runs.jsonl", **SIDES)
