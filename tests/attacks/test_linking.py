"""Linkage through `unveil.attack`: which ways are tried, and the control beside the baseline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.attacks import distance_linkage
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError


def people(records: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    ages, incomes = random.integers(18, 90, records), random.normal(30_000, 9_000, records).round()
    return pl.DataFrame({"age": ages, "income": incomes, "sex": random.choice(["F", "M"], records)})


ORIGINAL, OTHERS = people(120, 1), people(40, 2)
NOISY = ORIGINAL.with_columns(income=pl.col("income") + np.random.default_rng(3).normal(0, 2_000, 120))


def test_each_distance_gives_the_control_beside_the_baseline() -> None:
    found = unveil.attack(ORIGINAL, NOISY, ["age", "income"], same_order=True, control=OTHERS).linkage
    for way in ("euclidean", "mahalanobis"):
        alone = distance_linkage(ORIGINAL, NOISY, range(120), attributes=["age", "income"], distance=way, control=OTHERS)
        assert alone.control is not None
        assert found[way]["control"] == alone.control.to_dict()
        assert found[way]["baseline"] == pytest.approx(1 / 120)
        assert found[way]["control"]["value"] < found[way]["linked"]
        assert found[way]["control"]["expected"] == pytest.approx(40 / 160)


def test_the_control_changes_no_rate_of_the_attack() -> None:
    keys = ["age", "sex"]
    plain = unveil.attack(ORIGINAL, NOISY, keys, same_order=True).linkage["mixed"]
    with_control = unveil.attack(ORIGINAL, NOISY, keys, same_order=True, control=OTHERS).linkage["mixed"]
    assert plain["control"] is None
    for figure in ("linked", "linked_second", "not_linked", "baseline", "ties"):
        assert with_control[figure] == plain[figure]


def test_the_command_takes_a_control(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("original.csv", "release.csv", "others.csv")]
    for frame, path in zip((ORIGINAL, NOISY, OTHERS), paths, strict=True):
        frame.write_csv(path, separator=";")
    keys = ["--key", "age", "--key", "income"]
    assert run(["attack", *paths[:2], *keys, "--same-order", "--control", paths[2], "--separator", ";", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["linkage"]
    found = unveil.attack(ORIGINAL, NOISY, ["age", "income"], same_order=True, control=OTHERS).linkage
    assert printed["euclidean"]["control"]["records"] == 40
    assert printed["euclidean"]["control"]["value"] == pytest.approx(found["euclidean"]["control"]["value"])
    assert run(["attack", *paths[:2], *keys, "--same-order", "--control", str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err


def test_a_control_that_says_nothing_is_refused() -> None:
    with pytest.raises(ColumnNotFoundError, match=r"the control: .*'income'"):
        unveil.attack(ORIGINAL, NOISY, ["age", "income"], same_order=True, control=OTHERS.drop("income"))
    with pytest.raises(EmptyDataError, match="the control"):
        unveil.attack(ORIGINAL, NOISY, "age", same_order=True, control=OTHERS.head(0))
    with pytest.raises(ArgumentError, match="a control measures linkage"):
        unveil.attack(ORIGINAL, NOISY, "age", same_order=True, control=OTHERS, link_records=False)


def test_numbers_with_nulls_are_compared_by_the_mixed_distance() -> None:
    some = ORIGINAL.with_columns(age=pl.when(pl.col("age") < 25).then(None).otherwise(pl.col("age")))
    found = unveil.attack(some, some, ["age", "income"], same_order=True).linkage
    assert {"mixed", "interval_rank", "interval_deviation"} < found.keys()
    assert not {"euclidean", "mahalanobis"} & found.keys()
    assert found["mixed"]["linked"] == 1.0
    suppressed = unveil.attack(ORIGINAL, some, ["age", "income"], same_order=True).linkage
    assert suppressed["euclidean"]["linked"] == 1.0
    assert "one number a value" in suppressed["mahalanobis"]["reason"]


def test_ways_follow_from_the_attributes() -> None:
    one = unveil.attack(ORIGINAL, NOISY, "income", same_order=True).linkage
    assert {"euclidean", "interval_rank", "interval_deviation", "probabilistic"} < one.keys()
    assert "mahalanobis" not in one
    mixed = unveil.attack(ORIGINAL, NOISY, ["age", "sex"], same_order=True).linkage
    assert mixed.keys() == {"attributes", "mixed", "probabilistic"}
