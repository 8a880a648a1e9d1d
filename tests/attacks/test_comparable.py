"""Noisy values by meaning: the white box read by partitions, and the partitions that are proposed for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import rate
from unveil.cli import run
from unveil.errors import ArgumentError, UndefinedMeasureError

DECADES = ["-inf", 30, 40, 50, 60, "inf"]
ADULT: pl.DataFrame = unveil.datasets.adult().select("age", "sex").head(6000)


def decade(age: float) -> int:
    return int(np.searchsorted([30, 40, 50, 60], age, side="right"))


def noisy(scale: float, seed: int = 0) -> pl.DataFrame:
    noise = np.random.default_rng(seed).laplace(0.0, scale, ADULT.height)
    return ADULT.with_columns(age=pl.Series(ADULT["age"].to_numpy() + noise))


def test_the_white_box_is_read_by_the_blocks_of_a_partition() -> None:
    release = noisy(10.0)
    found = unveil.attack(
        ADULT, release, ["age", "sex"], same_order=True, link_records=False, partitions={"decades": {"age": DECADES}}
    )
    plain, by_meaning = found.identity["white_box"], found.identity["white_box"]["by_model"]["decades"]
    before, after = ([decade(age) for age in table["age"].to_list()] for table in (ADULT, release))
    age, sex = by_meaning["by_attribute"]
    assert plain["by_attribute"][0]["value"] == age["plain"] == 1.0
    assert age["value"] == pytest.approx(rate(before, after), abs=1e-12)
    assert sex["value"] == sex["plain"] == 1.0
    assert by_meaning["risk"] == pytest.approx((age["value"] + 1.0) / 2)
    pairs = [list(zip(ages, ADULT["sex"].to_list(), strict=True)) for ages in (before, after)]
    assert by_meaning["combined"]["value"] == pytest.approx(rate(*pairs), abs=1e-12)
    assert found.overall["by_model"]["decades"]["risk"] == {"identity": by_meaning["risk"], "homogeneity": None}
    assert found.overall["risk"]["identity"] == plain["risk"]


def test_noise_that_hides_all_leaves_a_semantic_rate_near_nothing() -> None:
    release = noisy(500.0).with_columns(pl.col("age").round())
    found = unveil.attack(ADULT, release, "age", same_order=True, link_records=False, partitions={"decades": {"age": DECADES}})
    white = found.identity["white_box"]
    assert white["by_attribute"][0]["value"] > 0.3
    assert abs(white["by_attribute"][0]["adjusted"]) < 0.02
    assert white["by_model"]["decades"]["risk"] < 0.01


def test_a_column_of_the_original_alone_may_have_a_partition() -> None:
    found = unveil.attack(
        "paper-4", "paper-3", mapping={"Age": "Age*"}, same_order=True, link_records=False,
        partitions={"adults": {"Age": [["22"], ["32", "35"], ["40", "45", "63"]]}},
    )  # fmt: skip
    (row,) = found.identity["white_box"]["by_model"]["adults"]["by_attribute"]
    assert row["value"] == 1.0
    assert row["plain"] == pytest.approx(0.6551, abs=5e-5)


def test_values_that_no_block_holds_are_said_and_not_shown() -> None:
    release = ADULT.with_columns(age=pl.col("age") + 1000)
    blocks = [sorted(ADULT["age"].unique().to_list())[:40], sorted(ADULT["age"].unique().to_list())[40:]]
    found = unveil.attack(ADULT, release, "age", same_order=True, link_records=False, partitions={"known": {"age": blocks}})
    (row,) = found.identity["white_box"]["by_model"]["known"]["by_attribute"]
    assert row["value"] is None
    assert "in no block of the partition" in row["reason"]
    assert "1017" not in row["reason"]


def test_every_candidate_follows_from_its_definition() -> None:
    release = noisy(8.0)
    found = unveil.propose_partitions(ADULT, release, "age", same_order=True)
    assert [one.blocks for one in found.candidates] == sorted(one.blocks for one in found.candidates)
    for one in found.candidates[:4]:
        edges = [float(edge) for edge in one.partition.to_dict()["edges"][1:-1]]
        before, after = (
            [int(np.searchsorted(edges, age, side="right")) for age in table["age"].to_list()] for table in (ADULT, release)
        )
        assert one.rate == pytest.approx(rate(before, after), abs=1e-12)
        assert one.same_block == pytest.approx(np.mean(np.array(before) == np.array(after)))
        shuffled = [rate(before, list(np.random.default_rng(seed).permutation(after))) for seed in range(20)]
        assert one.bias == pytest.approx(np.mean(shuffled), rel=0.35, abs=2e-5)
    assert found.noise == pytest.approx(np.std(release["age"].to_numpy() - ADULT["age"].to_numpy()))


def test_the_finest_partition_with_little_bias_is_proposed() -> None:
    found = unveil.propose_partitions(ADULT, noisy(8.0), "age", same_order=True, tolerance=0.02)
    assert found.proposed is not None
    assert found.proposed.bias <= 0.02 * found.proposed.rate
    assert all(one.bias > 0.02 * one.rate for one in found.candidates if one.blocks > found.proposed.blocks)
    finer = unveil.propose_partitions(ADULT, noisy(8.0), "age", same_order=True, tolerance=0.5).proposed
    assert finer is not None
    assert finer.blocks > found.proposed.blocks


def test_what_cannot_be_told_from_chance_gets_no_proposal(tmp_path: Path) -> None:
    shuffled = ADULT.with_columns(pl.col("age").shuffle(seed=1))
    found = unveil.propose_partitions(ADULT, shuffled, "age", same_order=True)
    assert found.proposed is None
    assert "cannot be distinguished from chance" in found.view().notes[0]
    with pytest.raises(UndefinedMeasureError, match="is proposed"):
        found.write(tmp_path / "age.json")


def test_levels_of_a_hierarchy_are_the_candidates_of_names() -> None:
    tree = unveil.datasets.hierarchy("disease", column="Disease")
    patients = pl.concat([unveil.datasets.load("t-closeness-3")] * 20)
    swapped = patients.with_columns(pl.col("Disease").replace({"flu": "pneumonia", "pneumonia": "flu"}))
    found = unveil.propose_partitions(patients, swapped, "Disease", same_order=True, hierarchy=tree)
    assert [one.blocks for one in found.candidates] == [2, 2, 6]
    assert [one.rate for one in found.candidates] == [1.0, 1.0, 1.0]
    assert found.candidates[-1].same_block == pytest.approx(7 / 9)
    with pytest.raises(ArgumentError, match="give a hierarchy"):
        unveil.propose_partitions(patients, swapped, "Disease", same_order=True)


def test_dates_have_no_blocks_of_numbers() -> None:
    days = pl.DataFrame({"day": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9), eager=True)})
    with pytest.raises(ArgumentError, match="does not hold numbers"):
        unveil.propose_partitions(days, days, "day", same_order=True)


def test_it_must_be_said_which_record_is_which() -> None:
    with pytest.raises(ArgumentError, match="which release record came from which"):
        unveil.propose_partitions(ADULT, ADULT, "age")


def test_the_proposal_is_written_and_read_by_an_attack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ADULT.write_csv(tmp_path / "people.csv")
    noisy(8.0).write_csv(tmp_path / "noisy.csv")
    tables = [str(tmp_path / "people.csv"), str(tmp_path / "noisy.csv")]
    out = tmp_path / "age.json"
    assert run(["hierarchy", "partitions", *tables, "--column", "age", "--same-order", "--out", str(out)]) == 0
    capsys.readouterr()
    options = ["--key", "age", "--same-order", "--no-linkage", "--partition", f"fine:age={out}", "--json"]
    assert run(["attack", *tables, *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert 0.0 < answer["identity"]["white_box"]["by_model"]["fine"]["risk"] < 0.5


def test_a_name_with_a_line_break_leaves_the_repr_one_line() -> None:
    table = ADULT.rename({"age": "a\rge"})
    proposal = unveil.propose_partitions(table, table, "a\rge", same_order=True)
    assert repr(proposal).splitlines() == [repr(proposal)]
    assert "a\\rge" in repr(proposal)
