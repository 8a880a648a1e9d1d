"""Presets: each says what its source says and what not, and none invents a threshold."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.assess.policy.safe_harbor import ITEMS
from unveil.project.presets import PRESETS

N = 40


def outcomes(frame: pl.DataFrame, rules: Any = "hipaa-safe-harbor") -> dict[str, Any]:
    found = unveil.check(frame, rules).outcomes
    return {one.rule.parameters["item"]: one for one in found if one.rule.name == "safe_harbor"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_states_its_source_and_its_limits(name: str) -> None:
    preset = PRESETS[name]
    assert all((preset.source, preset.says, preset.silent, preset.rules))
    found = unveil.check("paper-3", name, key=["ZIP*", "Age*"], sensitive="Disease").to_dict()
    assert found["presets"][0]["source"] == preset.source
    assert found["presets"][0]["does_not_say"] == preset.silent


@pytest.mark.parametrize("size", [3, 5, 11, 20])
def test_cell_sizes(size: int) -> None:
    frame = pl.DataFrame({"a": ["x"] * size + ["y"] * (size + 1)})
    assert unveil.check(frame, f"cell-size-{size}", key="a").passes
    verdict = unveil.check(frame[1:], f"cell-size-{size}", key="a")
    assert not verdict.passes
    assert verdict.outcomes[0].detail == f"{size - 1} of {2 * size} records, in 1 class, fall short"


@pytest.mark.parametrize(("size", "met"), [(11, False), (12, True)])
def test_a_class_of_eleven_is_just_above_a_risk_of_009(size: int, met: bool) -> None:
    assert unveil.check(pl.DataFrame({"a": ["x"] * size}), "max-risk-0.09", key="a").passes is met


def test_the_three_questions_have_figures_and_no_thresholds() -> None:
    verdict = unveil.check("adult", "wp216", key=["sex", "race"], sensitive="occupation")
    asked = [one for one in verdict.outcomes if one.rule.name != "direct_identifiers"]
    assert {one.rule.question for one in asked} == {"singling out", "linkability", "inference"}
    assert all(one.rule.threshold is None and one.met is None for one in asked)
    assert sum(one.value is None for one in asked) == 1  # linkage, without an original
    assert (verdict.status, verdict.passes) == ("not decided", False)


def synthetic() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """People, people held out, a file that is half copies, and one of shuffled columns."""
    columns = ["age", "workclass", "education", "marital-status", "occupation", "relationship", "sex", "hours-per-week"]
    people = unveil.datasets.adult().select(columns).sample(2_400, shuffle=True, seed=1)
    known, holdout = people[:1_600], people[1_600:]
    shuffled = known.select(pl.col(name).shuffle(seed=at) for at, name in enumerate(columns))
    return known, holdout, pl.concat([known[:800], shuffled[:800]]), shuffled


def test_the_three_questions_of_synthetic_data_are_asked_beyond_a_holdout() -> None:
    known, holdout, copied, shuffled = synthetic()
    rules = {"preset": "wp216-synthetic", "singling_out": 0.05, "linkability": 0.2, "inference": 0.1, "membership": 0.1}
    names = ("singling_out", "linkability", "inference", "membership")
    told: dict[str, Any] = {"original": known, "control": holdout, "keep": known.columns}
    bad, good = (unveil.check(release, rules, **told) for release in (copied, shuffled))
    attacked = unveil.attack(known, copied, control=holdout, link_records=False).synthetic
    figures = {one.rule.name: one for one in bad.outcomes}
    assert {name: figures[name].value for name in names} == {name: attacked[name]["risk"] for name in names}
    assert not figures["membership"].met
    assert all(one.met for one in good.outcomes if one.rule.name in names)
    assert {one.rule.question for one in good.outcomes if one.rule.name in names} == {
        "singling out", "linkability", "inference", "",
    }  # fmt: skip


def test_without_a_holdout_nothing_is_said_of_synthetic_data() -> None:
    known, holdout, copied, _ = synthetic()
    verdict = unveil.check(copied, "wp216-synthetic", original=known, keep=known.columns)
    asked = [one for one in verdict.outcomes if one.rule.name == "membership"]
    assert asked[0].value is None
    assert "no hold-out is given" in str(asked[0].reason)
    assert not verdict.passes
    with pytest.raises(unveil.errors.ArgumentError, match="needs the original beside it"):
        unveil.check(copied, "wp216-synthetic", control=holdout)


def test_the_three_questions_are_answered_once_thresholds_are_set() -> None:
    rules = {
        "preset": "wp216",
        "sample_uniqueness": 0,
        "prosecutor_highest": 0.2,
        "discrimination_rate": [{"at_most": 0.5}, {"sensitive": True, "adjusted": True, "at_most": 0.5}],
        "linkage": 0.5,
        "certain_disclosure": 0.1,
        "t_closeness": 0.5,
    }
    adult = unveil.datasets.adult()
    released = {"key": ["sex", "race"], "sensitive": "occupation", "original": adult.head(2000), "same_order": True}
    verdict = unveil.check(adult.head(2000), rules, **released)
    assert len(verdict.outcomes) == 7 + 1
    assert None not in [one.met for one in verdict.outcomes]


# Safe Harbor ----------------------------------------------------------------------------------------------------------

COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "A": ("surname", [f"Name{chr(97 + i // 26)}{chr(97 + i % 26)}".capitalize() for i in range(N)]),
    "B": ("county", ["north", "south"] * (N // 2)),
    "C": ("admitted", [dt.date(2020, 1, 1) + dt.timedelta(days=9 * i) for i in range(N)]),
    "D": ("phone", [f"+44 7700 9000{i:02d}" for i in range(N)]),
    "E": ("fax", [f"+44 20 7946 0{i:03d}" for i in range(N)]),
    "F": ("mail", [f"p{i}@example.com" for i in range(N)]),
    "G": ("ssn", [f"{100 + i:03d}-{10 + i:02d}-{1000 + i}" for i in range(N)]),
    "H": ("mrn", [f"M{1000 + 7 * i}" for i in range(N)]),
    "I": ("member_id", [f"B{1000 + 7 * i}" for i in range(N)]),
    "J": ("account number", [f"{10**7 + 7919 * i}" for i in range(N)]),
    "K": ("passport", [f"P{10000 + 17 * i}" for i in range(N)]),
    "L": ("license_plate", [f"AB{100 + i}C" for i in range(N)]),
    "M": ("serial number", [f"S{1000 + 7 * i}" for i in range(N)]),
    "N": ("homepage", [f"https://example.org/~p{i}" for i in range(N)]),
    "O": ("ip", [f"192.0.2.{i}" for i in range(N)]),
    "P": ("fingerprint", [f"f{i}" for i in range(N)]),
    "Q": ("photo", [f"x{i}.png" for i in range(N)]),
    "R": ("row", list(range(1, N + 1))),
}


@pytest.mark.parametrize("item", ITEMS)
def test_each_of_the_eighteen_is_seen(item: str) -> None:
    name, values = COLUMNS[item]
    found = outcomes(pl.DataFrame({name: values, "sex": ["f", "m"] * (N // 2)}))
    assert found[item].met is False
    assert name in found[item].detail
    others = {other for other, one in found.items() if one.met is False} - {item}
    assert others <= ({"G"} if item == "J" else set()), others


def test_there_are_eighteen_and_a_plain_table_has_none() -> None:
    verdict = unveil.check(
        pl.DataFrame({"sex": ["f", "m"] * N, "year": [1990, 1991] * N, "state": ["NY", "CA"] * N}), "hipaa-safe-harbor"
    )
    assert "".join(ITEMS) == "ABCDEFGHIJKLMNOPQR"
    assert len(verdict.outcomes) == 18 + 1
    assert verdict.passes


@pytest.mark.parametrize(
    ("name", "values", "met"),
    [
        ("age", [20, 89], True),
        ("age", [20, 90], False),
        ("age", ["20-29", "90+"], True),
        ("age", ["20-29", "85-94"], None),
        ("birth year", [1990, 1900], False),
        ("birth year", [1990, 1991], True),
        ("wage", [90, 95], True),
    ],
)
def test_ages_over_89_are_one_group(name: str, values: list[Any], met: bool | None) -> None:
    assert outcomes(pl.DataFrame({name: values * 20}))["C"].met is met


@pytest.mark.parametrize(
    ("values", "met"),
    [
        (["10001", "94105"], False),
        (["100", "941"], None),
        (["100", "036"], False),
        (["000", None], True),
        (["10001-1234"], False),
    ],
)
def test_zip_codes_keep_three_digits_if_the_area_is_large(values: list[str | None], met: bool | None) -> None:
    assert outcomes(pl.DataFrame({"zip": values * 20}))["B"].met is met


def test_a_person_may_vouch_for_a_column() -> None:
    frame = pl.DataFrame({"zip": ["100", "941"] * 20})
    verdict = unveil.check(frame, {"preset": "hipaa-safe-harbor", "safe_harbor": {"except": ["zip"], "at_most": 0}})
    assert verdict.passes
    assert len(verdict.outcomes) == 18 + 1
    assert any("vouched" in note and "zip" in note for note in verdict.notes)


def test_bytes_may_be_pictures() -> None:
    found = outcomes(pl.DataFrame({"scan": [b"1", b"2"], "sex": ["f", "m"]}))
    assert found["Q"].met is None
