"""The assessment: the same figures as the single calls, nobody disclosed by the report, advice with reasons."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import unveil
from helpers import kind, rate, together
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError, DataNotFoundError, EmptyDataError
from unveil.report import page, write
from unveil.results import Result
from unveil.testing import tables

KEYS = ["age", "sex", "race", "education"]
HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def adult() -> unveil.Assessment:
    return unveil.assess("adult", KEYS, ["occupation", "workclass"])


def people() -> pl.DataFrame:
    """Twelve people: two towns with five or more, and one person who stands out in every column."""
    return pl.DataFrame(
        {
            "town": ["Lille"] * 6 + ["Lyon"] * 5 + ["Tinyville"],
            "job": ["cook"] * 11 + ["astronaut"],
            "ill": ["flu", "aids"] * 5 + ["flu", "plague"],
        }
    )


def every_form(result: Result, folder: Path) -> dict[str, str]:
    return {ending: write(result, folder / f"r.{ending}").read_text("utf-8") for ending in ("html", "json", "txt", "csv")}


def test_identity_has_the_figures_of_the_single_calls(adult: unveil.Assessment) -> None:
    for one in adult.attributes:
        alone = unveil.discrimination_rate("adult", one.name)
        assert (one.dr, one.kind, one.values) == (alone.value, alone.kind, alone.table.classes.number)
    subsets = unveil.scan("adult", KEYS)
    assert adult.combinations.to_dict()["subsets"] == subsets.to_dict()["subsets"]
    assert adult.rate == unveil.discrimination_rate("adult", KEYS).value
    assert [len(subset.key) for subset in adult.pairs] == [2] * 6
    assert [one.name for one in adult.attributes] == ["age", "education", "sex", "race"]


def test_disclosure_has_the_figures_of_the_single_calls(adult: unveil.Assessment) -> None:
    assert [one.sensitive for one in adult.disclosures] == ["occupation", "workclass"]
    for one in adult.disclosures:
        both = unveil.discrimination_rate("adult", KEYS, one.sensitive)
        assert (one.dr, one.adjusted, one.kind) == (both.value, both.adjusted, both.kind)
        for part in one.attributes:
            single = unveil.discrimination_rate("adult", part.name, one.sensitive)
            assert (part.dr, part.adjusted, part.kind) == (single.value, single.adjusted, single.kind)


def test_models_and_risks_are_those_of_measure() -> None:
    open_view = unveil.assess("adult", KEYS, "occupation", redact=False)
    assert open_view.measurement.to_dict() == unveil.measure("adult", KEYS, "occupation").to_dict()


def test_partitions_are_measured_by_name() -> None:
    blocks = {"kinds": {"Disease": [["flu", "cold"], ["aids"], ["cancer", "diabetes"]]}}
    frame = pl.DataFrame({"a": [1, 1, 2, 2, 3], "Disease": ["flu", "cold", "aids", "cancer", "diabetes"]})
    plain, grouped = unveil.assess(frame, "a", "Disease", partitions=blocks).disclosures
    assert (plain.partition, grouped.partition) == (None, "kinds")
    assert plain.dr == unveil.discrimination_rate(frame, "a", "Disease").value
    assert grouped.dr == unveil.discrimination_rate(frame, "a", "Disease", partitions=blocks["kinds"]).value


def test_the_project_gives_roles_partitions_and_models(tmp_path: Path) -> None:
    people().with_columns(mail=pl.Series([f"p{at}@example.org" for at in range(12)])).write_csv(tmp_path / "people.csv")
    (tmp_path / "unveil.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.mail]\nrole = "identifier"\n[attributes.town]\nrole = "key"\n'
        '[attributes.job]\nrole = "other"\n[attributes.ill]\nrole = "sensitive"\n[attributes.ill.partitions]\n'
        'severe = [["flu"], ["aids", "plague"]]\n[models]\nk = 3\n',
        "utf-8",
    )
    found = unveil.assess(str(tmp_path / "unveil.toml"))
    assert (found.made.key, found.made.sensitive, found.assumed) == (("town",), ("ill",), False)
    assert [one.partition for one in found.disclosures] == [None, "severe"]
    assert found.measurement.met is False
    assert [one.role for one in found.files] == ["data", "project"]
    assert found.to_dict() == unveil.assess(unveil.Project.read(tmp_path / "unveil.toml")).to_dict()


def test_roles_are_taken_from_the_columns_where_none_are_named() -> None:
    frame = people().with_columns(mail=pl.Series([f"p{at}@example.org" for at in range(12)]))
    found = unveil.assess(frame, sensitive="ill")
    assert found.made.key == ("town", "job")
    assert found.assumed
    assert found.advice[0].what == "Remove or replace mail."
    assert any("No key was named" in one.why for one in found.advice)


def test_small_classes_are_masked_in_every_form(tmp_path: Path) -> None:
    forms = every_form(unveil.assess(people(), ["town", "job"], "ill"), tmp_path)
    for text in forms.values():
        assert "Tinyville" not in text
        assert "astronaut" not in text
    assert ("Lille" in forms["html"]) != ("Lyon" in forms["html"])  # one of them is masked with the small one
    assert "(masked)" in forms["html"]
    worst = json.loads(forms["json"])["measurement"]["models"]["k_anonymity"]["worst_class"]
    assert worst == {"key": {}, "size": 1, "masked": True}
    shown = every_form(unveil.assess(people(), ["town", "job"], "ill", redact=False), tmp_path)
    assert all("Tinyville" in shown[form] for form in ("html", "json", "txt"))


def test_the_threshold_of_small_classes_is_a_choice(tmp_path: Path) -> None:
    frame = pl.concat([people(), people().filter(pl.col("town") == "Lyon").with_columns(town=pl.lit("Nice"))])
    assert "Nice" in every_form(unveil.assess(frame, "town", "ill", small=5), tmp_path)["json"]
    forms = every_form(unveil.assess(frame, "town", "ill", small=6), tmp_path)
    assert not any("Nice" in text for text in forms.values())
    with pytest.raises(ArgumentError, match="at least 1"):
        unveil.assess(people(), "town", small=0)


@given(tables(columns=3, nulls=False))
def test_no_value_of_a_small_class_is_shown(frame: pl.DataFrame) -> None:
    named = frame.select(pl.concat_str(pl.lit(f"<{name}~"), pl.col(name)).alias(name) for name in frame.columns)
    found = unveil.assess(named, ["a", "b"], "c")
    text = json.dumps(found.to_dict()) + page(found).replace("&lt;", "<")
    for name in ("a", "b"):
        rare = [value for value, n in named[name].value_counts().iter_rows() if n < found.small]
        assert not [value for value in rare if value in text]
    assert not [value for value in named["c"].unique() if value in text]


@given(tables(columns=3, nulls=True))
def test_rates_follow_from_the_definition(frame: pl.DataFrame) -> None:
    try:
        found = unveil.assess(frame, ["a", "b"], "c")
    except EmptyDataError:  # every key is suppressed throughout
        return
    who = list(range(frame.height))
    for one in found.attributes:
        assert one.dr == pytest.approx(rate(who, together(frame, [one.name])), abs=1e-12)
        assert one.kind == kind(who, together(frame, [one.name]))
    (secret,) = found.disclosures
    if frame["c"].n_unique() > 1:
        assert secret.dr == pytest.approx(rate(frame["c"].to_list(), together(frame, ["a", "b"])), abs=1e-12)
    else:
        assert secret.dr is None
        assert "one value only" in (secret.reason or "")


@given(tables(columns=3, nulls=False))
def test_what_is_left_without_an_attribute(frame: pl.DataFrame) -> None:
    found = unveil.assess(frame, ["a", "b", "c"])
    for one in found.without:
        rest = [name for name in "abc" if name != one.name]
        sizes = frame.group_by(rest).len()["len"]
        assert (one.uniques, one.k) == ((sizes == 1).sum(), sizes.min())
        assert one.average_risk == pytest.approx(len(sizes) / frame.height)
    assert sum(found.class_sizes.records) == frame.height
    assert sum(found.class_sizes.classes) == frame.unique().height


def test_dropped_records_are_left_out_of_everything() -> None:
    frame = people().with_columns(town=pl.when(pl.col("town") == "Lyon").then(None).otherwise(pl.col("town")))
    found = unveil.assess(frame, ["town", "job"], "ill", nulls="drop", redact=False)
    kept = unveil.assess(frame.drop_nulls(), ["town", "job"], "ill", redact=False)
    assert (found.made.dropped, found.made.records) == (5, 7)
    for part in ("identity", "disclosure", "class_sizes", "without"):
        assert found.to_dict()[part] == kept.to_dict()[part]


def test_weights_count_in_every_stage() -> None:
    frame = people().with_columns(w=pl.Series([1.0] * 11 + [9.0]))
    found = unveil.assess(frame, ["town", "job"], "ill", weights="w")
    single = unveil.discrimination_rate(frame, "town", weights="w")
    assert {one.name: one.dr for one in found.attributes}["town"] == single.value
    assert found.disclosures[0].adjusted is None
    assert "individual_exact" in found.measurement.risk
    assert "best guess" in page(found)


class Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_escapes_names_and_values() -> None:
    frame = people().rename({"town": HOSTILE}).with_columns(job=pl.lit(HOSTILE))
    html = page(unveil.assess(frame, [HOSTILE, "job"], "ill"))
    reader = Outline()
    reader.feed(html)
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == 1
    assert tags.count("svg") == 7
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not names & {"src", "href", "style", "onclick", "onload"}
    assert not re.search("https?:|url\\(|@import", html)
    assert html.count("&lt;script&gt;") > 5


def test_every_first_figure_with_a_formula_has_its_definition_one_click_away(adult: unveil.Assessment) -> None:
    view = adult.view()
    html = page(adult)
    assert [part.title for part in view.parts] == [
        "What to do next", "What identifies", "What discloses", "Models and risks", "Where it comes from", "How it was made",
    ]  # fmt: skip
    assert all(chart.definition for chart in view.every_chart().values())
    assert html.count("<details ") > len(view.every_chart())


def test_charts_are_objects_over_the_figures(adult: unveil.Assessment) -> None:
    names = [
        "attributes",
        "values",
        "pairs",
        "disclosure-1",
        "disclosure-1-values",
        "disclosure-2",
        "disclosure-2-values",
        "risk",
        "classes",
    ]
    assert list(adult.view().every_chart()) == names
    spec = adult.chart("attributes").to_dict()
    rows = spec["datasets"][spec["data"]["name"]]
    assert [row["c0"] for row in rows] == [one.name for one in adult.attributes]
    assert [row["c1"] for row in rows] == [one.dr for one in adult.attributes]


def test_no_report_holds_a_hash_of_the_data_by_which_it_could_be_guessed(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    found = unveil.assess(tmp_path / "people.csv", "town", "ill")
    content = (tmp_path / "people.csv").read_bytes()
    assert found.to_dict()["files"] == [
        {"role": "data", "place": str(tmp_path / "people.csv"), "bytes": len(content), "sha256": None, "hmac_sha256": None}
    ]
    digests = [hashlib.new(name, content).hexdigest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b")]
    assert not [text for text in every_form(found, tmp_path).values() for digest in digests if digest in text]
    assert unveil.assess(people(), "town").files == ()


def test_files_are_named_with_their_hash_under_a_key(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "key").write_text("a key of enough bytes\n", "utf-8")
    found = unveil.assess(tmp_path / "people.csv", "town", "ill", key_file=tmp_path / "key")
    keyed = hmac.new(b"a key of enough bytes", (tmp_path / "people.csv").read_bytes(), "sha256").hexdigest()
    assert found.to_dict()["files"][0]["hmac_sha256"] == keyed
    assert keyed in page(found)
    assert "a key of enough bytes" not in json.dumps(found.to_dict())
    with pytest.raises(DataNotFoundError, match="key file"):
        unveil.assess(people(), "town", key_file=tmp_path / "nowhere")


def test_advice_gives_reason_and_command_and_invents_no_threshold(adult: unveil.Assessment) -> None:
    assert [one.run.split()[1] for one in adult.advice] == ["anonymize", "anonymize", "anonymize", "assess", "check"]
    assert "--k K" in adult.advice[0].run
    assert "Most of that is due to age" in adult.advice[0].why
    assert all(one.why.endswith(".") for one in adult.advice)


def test_a_secret_that_the_key_says_nothing_about_needs_nothing() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"] * 3, "s": ["p", "q"] * 6})
    found = unveil.assess(frame, "a", "s")
    assert found.disclosures[0].kind == "zero-identifier"
    assert any(one.what.startswith("Nothing to do for s") for one in found.advice)
    assert "nobody is unique" in found.view().lead


def test_progress_ends_every_stage() -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    unveil.assess(
        "paper-4", ["ZIP", "Age"], "Disease", progress=lambda stage, done, total: seen.setdefault(stage, []).append((done, total))
    )
    assert list(seen) == [
        "direct identifiers",
        "attributes",
        "combinations",
        "disclosure",
        "models and risks",
        "where it comes from",
    ]
    assert all(steps[-1][0] == steps[-1][1] for steps in seen.values())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"key": "towm"}, ColumnNotFoundError, "did you mean 'town'"),
        ({"key": "town", "sensitive": "town"}, ArgumentError, "as key and as sensitive"),
        ({"key": "town", "nulls": "dropp"}, ArgumentError, "did you mean 'drop'"),
        ({"key": "town", "partitions": {"p": {"job": [["cook"]]}}}, ArgumentError, "not among those measured"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        unveil.assess(people(), **options)


def test_without_a_column_left_for_the_key_it_says_so() -> None:
    frame = pl.DataFrame({"mail": [f"p{at}@example.org" for at in range(30)], "ill": ["flu", "aids"] * 15})
    with pytest.raises(ArgumentError, match="no column is left to be a key attribute"):
        unveil.assess(frame, sensitive="ill")


def test_commands_of_the_advice_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.json").write_text('{"blocks": [["flu"], ["aids", "plague"]]}', "utf-8")
    chosen = {"K": "1", "POLICY": "cell-size-3", "RELEASE": str(tmp_path / "out.csv"), "distinct:L:ill": "distinct:1:ill"}
    chosen["NAME:ill=FILE"] = f"severe:ill={tmp_path / 'p.json'}"
    frame = people().with_columns(number=pl.Series([str(at * 7 % 12) for at in range(12)]))
    frame.write_csv(tmp_path / "people.csv")
    verbs = []
    for step in unveil.assess(tmp_path / "people.csv", ["town", "job", "number"], "ill").advice:
        words = [chosen.get(word, word) for word in shlex.split(step.run)]
        verbs.append(words[1])
        code = run(words[1:])
        assert code in {0, 1}, (step.run, capsys.readouterr().err)
    assert {"scan", "anonymize", "assess", "check"} <= set(verbs)


def test_of_very_many_attributes_those_that_say_most_are_combined() -> None:
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({f"q{at:02}": rng.integers(0, 2 + at, 40) for at in range(70)})
    found = unveil.assess(frame, key=frame.columns)
    alone = sorted(frame.columns, key=lambda name: -unveil.discrimination_rate(frame, name).value)
    least = unveil.discrimination_rate(frame, alone[59]).value
    assert len(found.combined) == 60
    assert {*alone[:60]} - {*found.combined} <= {n for n in alone if unveil.discrimination_rate(frame, n).value == least}
    assert {name for subset in found.combinations.subsets for name in subset.key} == {*found.combined}
    assert len(found.attributes) == 70
    shown = str(found.view())
    assert "10 attributes that say least by themselves" in shown
    assert "the first 60 of 70; the whole answer has them all" in shown
    assert not any("--key" in step.run for step in found.advice)
    all_of_them = unveil.assess(frame, key=frame.columns, max_size=1)
    assert all_of_them.combined == tuple(frame.columns)
    assert "say least by themselves" not in str(all_of_them.view())


def test_a_count_table_gets_no_command_for_a_shell() -> None:
    counts = unveil.count("adult", ["age", "sex", "occupation"])
    advice = unveil.assess(counts, key=["age", "sex"], sensitive="occupation").advice
    assert {one.run for one in advice} == {""}
    assert all("Run:" not in one.text and one.python in one.text for one in advice)
    assert all(one.run for one in unveil.assess("adult", key="age").advice)


def test_a_share_is_of_those_with_a_key_value() -> None:
    """Two of seven have none, so that the one who is unique is a fifth of the others."""
    people = pl.DataFrame({"a": [1, 1, None, 2, None, 2, 3], "s": list("xyxxyyx")})
    assessment = unveil.assess(people, "a", "s")
    assert "can single out 1 of the 7 records (20.0% of those with a key value)" in assessment.view().lead
    assert "20.00% of the records with a key value" in {figure.meaning for figure in assessment.measurement.view().figures}
    whole = unveil.assess(people.drop_nulls(), "a", "s")
    assert "can single out 1 of the 5 records (20.0%)" in whole.view().lead
