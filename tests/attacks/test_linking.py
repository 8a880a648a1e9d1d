"""Linkage through `unveil.attack`: which ways are tried, and the control beside the baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import shared
from unveil.attacks import distance_linkage
from unveil.attacks.linkage.linkage_sections import DistanceMatches, LikelihoodMatches
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError
from unveil.mechanisms import microaggregate


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
    assert "one number per value" in suppressed["mahalanobis"]["reason"]


def test_ways_follow_from_the_attributes() -> None:
    one = unveil.attack(ORIGINAL, NOISY, "income", same_order=True).linkage
    assert {"euclidean", "interval_rank", "interval_deviation", "probabilistic"} < one.keys()
    assert "mahalanobis" not in one
    mixed = unveil.attack(ORIGINAL, NOISY, ["age", "sex"], same_order=True).linkage
    assert mixed.keys() == {"attributes", "strongest", "mixed", "probabilistic"}


def test_each_way_is_read_by_attribute_or_as_the_json_has_it() -> None:
    persons = ORIGINAL.with_columns(who=pl.Series(np.arange(120) // 2))
    method = {"mechanism": "add_noise", "amount": 0.1, "attributes": ["income"]}
    found = unveil.attack(persons, NOISY, ["age", "income"], same_order=True, person="who", control=OTHERS, method=method)
    linkage, written = found.linkage, found.to_dict()["linkage"]
    assert isinstance(linkage.euclidean, DistanceMatches)
    assert isinstance(linkage.known_method, LikelihoodMatches)
    assert linkage.mixed is None
    assert linkage.strongest in written
    assert json.loads(json.dumps(written)) == linkage.to_dict()
    for way, typed in (("euclidean", linkage.euclidean), ("known_method", linkage.known_method)):
        assert typed.of_records is not None
        assert written[way]["of_records"]["interval"]["low"] == typed.of_records.interval.low
        assert (typed.persons, typed.linked) == (written[way]["persons"], written[way]["linked"])
    assert list(linkage.known_method.noise_removed or {}) == ["income"]


def test_numbers_that_the_release_has_words_for_are_linked_as_categories() -> None:
    original = pl.DataFrame({"age": [22, 25, 38, 61], "sex": ["F", "M", "F", "M"], "rich": [0, 0, 1, 1]})
    release = pl.DataFrame({"age": ["young", "25", "38", "old"], "sex": ["F", "M", "F", "M"], "rich": [False, False, True, True]})
    found = unveil.attack(original, release, ["age", "sex", "rich"], same_order=True)
    mixed = found.linkage["mixed"]
    assert mixed["as_categories"] == ["age", "rich"]
    assert mixed["linked"] == pytest.approx((1 / 2 + 1 + 1 + 1 / 2) / 4)  # a word fits nobody: then sex decides
    assert found.view().tables[-1].note == (
        "mixed: compared as categories, because the release has labels instead of numbers: age, rich"
    )
    tree = unveil.Hierarchy("age", [["22", "young"], ["25", "young"], ["38", "old"], ["61", "old"]])
    labelled = unveil.attack(original, release, ["age", "sex"], same_order=True, hierarchies={"age": tree}).linkage["mixed"]
    assert labelled["as_categories"] == []
    assert labelled["linked"] == 1.0


@pytest.mark.parametrize("name", ["census", "tarragona"])
def test_linkage_falls_as_the_groups_grow(name: str) -> None:
    """One record in k of a group can be told at best: the reference files of the CASC project, all columns together."""
    people = pl.read_csv(shared(f"data/casc/{name}.csv"))[::2]
    before = 1.0
    for k in (3, 10):
        averaged = microaggregate(people, people.columns, k=k, keep_order=True).data
        linked = distance_linkage(people, averaged, range(people.height)).value
        assert 1 / people.height < linked <= 1 / k
        assert linked < before
        before = linked


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Decimal(scale=2), pl.String, pl.Int8])
def test_numbers_agree_whatever_their_type(kind: Any) -> None:
    ages = pl.DataFrame({"age": range(20, 60), "id": range(40)})
    other = ages.with_columns(pl.col("age", "id").cast(pl.Float64 if kind == pl.String else kind).cast(kind))
    for one, two in ((ages, other), (other, ages)):
        assert unveil.attack(one, two, "age", same_order=True).linkage["probabilistic"]["linked"] == 1.0
        by_id = unveil.attack(one, two, "age", id="id", link_records=False).alignment
        assert by_id is not None
        assert by_id.truth.tolist() == list(range(40))


def test_every_file_is_read_as_the_options_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    town = pl.DataFrame({"town": ["Zürich", "Genève", "?", "Bern"], "x": [1, 2, 1, 2]})
    for name in ("original", "release", "external", "control"):
        (tmp_path / name).write_text(town.write_csv(separator="|"), encoding="latin-1")
    (tmp_path / "link.csv").write_text("original,release\n" + "".join(f"{n},{n}\n" for n in range(1, 5)), encoding="utf-8")
    paths = {name: str(tmp_path / name) for name in ("original", "release", "external", "control", "link.csv")}
    command = ["attack", paths["original"], paths["release"], "--key", "town", "--external", paths["external"]]
    command += ["--control", paths["control"], "--link", paths["link.csv"]]
    options = ["--separator", "|", "--encoding", "latin-1", "--missing", "?", "--json"]
    assert run([*command, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["identity"]["grey_box"]["matched"] == 3
    assert found["suppressed"] == 1
    assert found["alignment"]["aligned"] == 4
    assert found["linkage"]["mixed"]["control"]["records"] == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seed", "-1"), "--seed"),
        (("--seed", "1", "--seed", "2"), "--seed is given twice"),
        (("--hierarchy", "nope=k.json"), "--hierarchy names column 'nope'; it takes one of: ZIP, Age, Salary, Disease."),
        (("--hierarchy", "Age=k.json"), "6 of 6 values present are not in it"),
        (("--hierarchy", "Age=k.json", "--hierarchy", "Age=k.json"), "--hierarchy names column 'Age' twice"),
        (("--partition", "m:Age*=SP2", "--partition", "m:Age*=SP3"), "names column 'Age*' twice"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    options: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text('{"a": ["b"]}', encoding="utf-8")
    assert run(["attack", "paper-4", "paper-3", "--map", "Age=Age*", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--k", "--k-map", "--presence", "--average-risk"])
def test_a_model_asked_for_twice_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = "0:0.5" if option == "--presence" else "1"
    for verb in ("measure", "anonymize"):
        assert run([verb, "paper-4", "--key", "Age", option, value, option, value]) == 2
        assert f"{option} is given twice" in capsys.readouterr().err
