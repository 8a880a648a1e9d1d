"""Releases side by side."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.models import KAnonymity

KEYS = ["age", "education", "race"]
NEED = unveil.Need("income", "income-per-year", KEYS)
ADULT = unveil.datasets.adult().head(3000).select(*KEYS, "occupation", "income-per-year")


def released(k: int) -> pl.DataFrame:
    data: pl.DataFrame = unveil.anonymize(ADULT, KEYS, [KAnonymity(k)], suppression=0.02, keep_order=True).data
    return data


def test_the_figures_are_those_of_the_single_calls() -> None:
    five, fifty = released(5), released(50)
    tables = {"original": ADULT, "five": five, "fifty": fifty}
    found = unveil.compare(
        tables, KEYS, "occupation", privacy=["k", "t", "attack"], needs=NEED, losses="nominal", same_order=True
    )
    for name, table in (("five", five), ("fifty", fifty)):
        point = found.trade_off[name]
        measured = unveil.measure(table, KEYS, "occupation")
        assert point.figures["k"] == measured["k_anonymity"].value
        assert point.figures["t of occupation"] == measured["t_closeness", "occupation", "equal"].value
        assert point.figures["income"] == unveil.utility(table, NEED).needs["income"].degree
        assert point.figures["nominal"] == unveil.loss(ADULT, table, same_order=True, key=KEYS).categorical["nominal"]
        for attribute in KEYS:
            change = found.attributes[name][attribute]
            said = table.filter(pl.col(attribute).cast(pl.String) != "*")
            assert change.values_after == said[attribute].n_unique()
            assert change.values_before == ADULT[attribute].n_unique()
            assert change.suppressed == pytest.approx(1 - said.height / table.height)
            alone = unveil.Need("alone", "income-per-year", attribute)
            assert change.degrees["income"][1] == pytest.approx(unveil.utility(table, alone).needs["alone"].degree)


def test_the_reason_names_the_attribute_that_lost_most() -> None:
    flat = ADULT.with_columns(education=pl.lit("any"), age=(pl.col("age") // 10).cast(pl.String) + "*")
    found = unveil.compare({"original": ADULT, "flat": flat}, KEYS, needs=NEED, same_order=True)
    degrees = {name: unveil.utility(ADULT, unveil.Need("n", "income-per-year", name)).needs["n"].degree or 0 for name in KEYS}
    after = {name: unveil.utility(flat, unveil.Need("n", "income-per-year", name)).needs["n"].degree or 0 for name in KEYS}
    most = max(KEYS, key=lambda name: degrees[name] - after[name])
    assert most == "education"
    assert f"most was lost on {most}: 1 value of 16 left" in found.reasons["flat"][0]


def test_a_release_worse_in_everything_is_told_by_whom() -> None:
    worse = ADULT.with_columns(education=pl.lit(None, dtype=pl.String))
    worst = worse.with_columns(race=pl.when(pl.int_range(3000) < 1500).then(pl.lit("*")).otherwise(pl.col("race")))
    tables = {"original": ADULT, "worse": worse, "worst": worst}
    found = unveil.compare(tables, KEYS, privacy="k", needs=NEED, losses="suppressed", same_order=True)
    assert found.front == ("worse",)
    assert "'worse' is at least as good in every figure" in found.reasons["worst"][-1]


def test_what_needs_alignment_is_a_null_with_the_reason() -> None:
    found = unveil.compare({"original": ADULT, "five": released(5)}, KEYS, needs=NEED)
    point = found.trade_off["five"]
    assert point.figures["entropy_loss"] is None
    assert "entropy_loss" in point.reasons
    assert point.figures["income"] is not None


def test_the_command_compares_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ADULT.write_csv(tmp_path / "a.csv")
    for k in (5, 50):
        words = [part for key in KEYS for part in ("--key", key)]
        out, link = str(tmp_path / f"k{k}.csv"), str(tmp_path / f"link{k}.csv")
        assert (
            run(
                [
                    "anonymize",
                    str(tmp_path / "a.csv"),
                    *words,
                    "--k",
                    str(k),
                    "--suppression",
                    "0.02",
                    "--out",
                    out,
                    "--link",
                    link,
                ]
            )
            == 0
        )
    capsys.readouterr()
    releases = [f"k={tmp_path}/k5.csv", f"fifty={tmp_path}/k50.csv"]
    links = ["--link", f"k={tmp_path}/link5.csv", "--link", f"fifty={tmp_path}/link50.csv"]
    options = ["--sensitive", "occupation", "--need", "income: income-per-year given age, education, race", "--privacy", "k"]
    assert run(["compare", str(tmp_path / "a.csv"), *releases, *words, *links, *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert set(found["releases"]) == {"k", "fifty"}
    assert found["releases"]["k"]["figures"]["entropy_loss"] < found["releases"]["fifty"]["figures"]["entropy_loss"]
    assert found["reasons"]["fifty"]
    hashes = {file["role"]: file["sha256"] for file in found["files"]}
    assert hashes["k"] == hashlib.sha256((tmp_path / "k5.csv").read_bytes()).hexdigest()
    assert set(hashes) == {"original", "k", "fifty"}
    assert hashes["original"] is None
    (tmp_path / "key").write_text("a key of enough bytes", "utf-8")
    keyed = ["--key-file", str(tmp_path / "key"), "--out", str(tmp_path / "c.html")]
    assert run(["compare", str(tmp_path / "a.csv"), *releases, *words, *links, *options, *keyed]) == 0
    html, content = (tmp_path / "c.html").read_text("utf-8"), (tmp_path / "a.csv").read_bytes()
    assert "What was lost, and why" in html
    assert hashlib.sha256(content).hexdigest() not in html
    assert hmac.new(b"a key of enough bytes", content, "sha256").hexdigest() in html


@pytest.mark.parametrize(
    ("tables", "options", "error", "words"),
    [
        ({"a": ADULT}, {}, ArgumentError, "the original"),
        ({"original": ADULT}, {}, ArgumentError, "no release"),
        ({"original": ADULT, "b": pl.DataFrame({"z": [1]})}, {}, ColumnNotFoundError, "no column in common"),
        ({"original": ADULT, "b": ADULT}, {"privacy": "beauty"}, ArgumentError, "beauty"),
        ({"original": ADULT, "b": ADULT}, {"link": {"c": "x.csv"}}, ArgumentError, "the release"),
    ],
)
def test_bad_input_is_refused(tables: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        unveil.compare(tables, KEYS, **options)


def test_names_of_releases_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "adult", "adult", "--key", "age"]) == 2
    assert "NAME=RELEASE" in capsys.readouterr().err
    assert run(["compare", "adult", "a=adult", "a=adult", "--key", "age"]) == 2
    assert "occurs twice" in capsys.readouterr().err


def people() -> pl.DataFrame:
    return pl.DataFrame({"age": [21, 24, 35, 38] * 3, "sex": ["f", "m"] * 6, "ill": ["no", "no", "yes", "yes"] * 3})


def compared(**more: Any) -> unveil.Comparison:
    tens = people().with_columns(age=(pl.col("age") // 10 * 10).cast(pl.String))
    need = unveil.Need("illness", target="ill", given="age", at_least=0.5)
    tables = {"original": people(), "decades": tens, "no age": people().drop("age")}
    return unveil.compare(tables, key=["age", "sex"], privacy="k", needs=need, losses="suppressed", same_order=True, **more)


def test_the_original_is_a_point_and_what_is_required_is_a_line() -> None:
    chart = compared(policy={"k_anonymity": 4}).view().every_chart()["trade-off"]
    assert [row for row in chart.rows if row[3] is None] == [("original", pytest.approx(1.0), 3, None)]
    assert chart.rules == (("across", "required: illness 0.5", 0.5), ("up", "required: k 4", 4.0))
    assert chart.better == ("higher", "higher")
    drawn = compared(policy={"k_anonymity": 4}).svg()
    for words in ("required: k 4", "required: illness 0.5", "better \N{RIGHTWARDS ARROW}", "\N{UPWARDS ARROW} safer", "original"):
        assert words in drawn


def test_figures_of_the_original_are_those_of_the_original_as_a_release() -> None:
    found = compared().trade_off
    itself = unveil.trade_off(
        people(), {"original": people()}, ["age", "sex"], privacy="k", needs=unveil.Need("illness", target="ill", given="age"),
        losses="suppressed", same_order=True,
    )  # fmt: skip
    assert found.original == itself["original"].figures
    assert itself.original == {}


def test_no_table_is_empty_and_figures_say_what_they_are_of() -> None:
    view = compared().view()
    assert all(table.rows for table in view.tables)
    said = {row[0]: row[2] for table in view.tables if table.title == "How to read the figures" for row in table.rows}
    assert said["suppressed"] == "share of cells that are suppressed or left out"
    without = unveil.compare({"original": people(), "same": people()}, key=["age"], losses="suppressed").view()
    assert "suppressed" not in without.tables[0].columns
    assert all(table.rows for table in without.tables)


def test_labels_of_points_stay_inside_the_picture_and_apart() -> None:
    tables = {"original": people()} | {f"a release with quite a long name {at}": people() for at in range(6)}
    drawn = unveil.compare(tables, key=["age"], privacy="k", losses="suppressed", same_order=True).svg()
    texts = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>(a release[^<]*)', drawn)
    assert len(texts) == 6
    assert len({y for _, y, _, _ in texts}) == 6
    for x, _, anchor, words in texts:
        start = float(x) - 7.2 * len(words) if anchor == "end" else float(x)
        assert 0 <= start <= start + 6.5 * len(words) <= 480
