"""The gate: rules read from files, figures against what the rooms below give, and what keeps a release from passing."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import together, varied
from unveil.assess.policy.junit import junit
from unveil.assess.policy.rules import _READERS
from unveil.cli import model_options
from unveil.errors import ArgumentError, ColumnNotFoundError, DataNotFoundError, EmptyDataError, ProjectError
from unveil.models.closeness import DISTANCES
from unveil.models.registry import MODELS, rule_model
from unveil.models.requirements import PARSERS, parse_models
from unveil.project import Policy
from unveil.project.model_words import MODEL_WORDS
from unveil.project.rules import DISTANCE_WORDS, RULES
from unveil.sources.files import FileSource
from unveil.testing import tables

KEY = ("sex", "race", "age")


def outcome(verdict: unveil.Verdict, name: str, of: str | None = None) -> Any:
    found = [one for one in verdict.outcomes if one.rule.name == name and of in (None, one.of)]
    assert len(found) == 1
    return found[0]


# Figures --------------------------------------------------------------------------------------------------------------


def test_every_rule_has_a_reader_and_the_words_of_the_rooms_below() -> None:
    models = {name: kind for name in RULES if (kind := rule_model(name)) is not None}
    assert {*_READERS, *models} == set(RULES)
    assert not set(_READERS) & set(models)
    for name, kind in models.items():
        form = RULES[name]
        assert ((form.low, form.high), form.whole) == (kind.range, kind.whole)
        assert form.side == ("at_least" if kind.safe_is_high else "at_most")
    assert DISTANCE_WORDS == DISTANCES


def test_every_word_of_a_requirement_has_a_parser_and_an_option() -> None:
    assert set(MODEL_WORDS) == {*PARSERS, *(kind.word for kind in MODELS if kind.word)}
    assert not set(PARSERS) & {kind.word for kind in MODELS}
    flags = {option.default for one in vars(model_options).values() for option in getattr(one, "__metadata__", ())}
    assert {f"--{word.replace('_', '-')}" for word in MODEL_WORDS} <= flags
    examples = {
        "k": 5,
        "average_risk": 0.1,
        "l": "distinct:2",
        "km": "5:2:ill",
        "presence": "0.1:0.5",
        "uniqueness": "sample:0.1",
    }
    examples |= {"no_attack": "300:4", "profitable": "1200:300:300:4"}
    for word, kind in MODEL_WORDS.items():
        one = examples.get(word, "0.5" if word in {"t", "alpha"} else "5")
        assert len(parse_models({word: one}, ["ill"])) == 1
        if kind == "texts":
            assert len(parse_models({word: [one, one]}, ["ill"])) == 2


def test_figures_are_those_of_measure() -> None:
    rules: dict[str, Any] = {
        name: "report" for name, form in RULES.items() if not {"identity_attack", "homogeneity_attack", "linkage"} & {name}
    }
    verdict = unveil.check("adult", rules, key=KEY, sensitive="occupation")
    found = unveil.measure("adult", KEY, "occupation")
    assert outcome(verdict, "k_anonymity").value == found["k_anonymity"].value
    for name in (
        "p_sensitivity",
        "distinct_l_diversity",
        "entropy_l_diversity",
        "alpha",
        "basic_beta_likeness",
        "delta_disclosure",
    ):
        assert outcome(verdict, name).value == found[name, "occupation"].value, name
    assert outcome(verdict, "t_closeness").value == found["t_closeness", "occupation", "equal"].value
    prosecutor = found.risk["prosecutor"]
    assert outcome(verdict, "prosecutor_highest").value == prosecutor["highest"]
    assert outcome(verdict, "prosecutor_average").value == prosecutor["average"]
    assert outcome(verdict, "records_at_risk").value == prosecutor["records_above_threshold"]
    assert outcome(verdict, "sample_uniqueness").value == found.uniqueness["sample"]["share"]
    assert outcome(verdict, "discrimination_rate").value == unveil.discrimination_rate("adult", KEY).value
    assert verdict.status == "not decided"
    assert not verdict.passes


def test_attack_figures_are_those_of_attack() -> None:
    tables_ = ("thesis-4.2", "thesis-4.3")
    paired: dict[str, Any] = {"mapping": {"Age": "Age*"}, "same_order": True}
    secrets = ["location 1", "location 2"]
    found = unveil.attack(*tables_, "Age*", secrets, **paired)
    rules = {"identity_attack": found.overall["risk"]["identity"], "homogeneity_attack": 0.4, "linkage": 0.5}
    verdict = unveil.check(tables_[1], rules, key="Age*", sensitive=secrets, original=tables_[0], **paired)
    assert outcome(verdict, "identity_attack").value == found.overall["risk"]["identity"]
    assert outcome(verdict, "homogeneity_attack").value == found.overall["risk"]["homogeneity"]
    ways = [way["linked"] for way in found.linkage.values() if isinstance(way, Mapping) and way.get("linked") is not None]
    assert outcome(verdict, "linkage").value == max(ways)
    assert [one.met for one in verdict.outcomes] == [True, False, True, True]  # nobody is named, last


@given(tables(columns=3), st.integers(1, 5))
def test_rules_against_brute_force(frame: pl.DataFrame, k: int) -> None:
    rules = {"k_anonymity": k, "sample_uniqueness": 0.5, "certain_disclosure": 0.5}
    kept = [row for row in together(frame, ["a", "b", "c"]) if row[:2] != (None, None)]
    if not kept:
        with pytest.raises(EmptyDataError):
            unveil.check(frame, rules, key=["a", "b"], sensitive="c")
        return
    verdict = unveil.check(frame, rules, key=["a", "b"], sensitive="c")
    sizes = Counter(row[:2] for row in kept)
    secrets: dict[Any, set[Any]] = {}
    for row in kept:
        secrets.setdefault(row[:2], set()).add(row[2])
    unique = sum(n == 1 for n in sizes.values()) / len(kept)
    certain = sum(sizes[key] for key, values in secrets.items() if len(values) == 1 and values != {None}) / len(kept)
    assert outcome(verdict, "k_anonymity").value == min(sizes.values())
    assert outcome(verdict, "k_anonymity").met == (min(sizes.values()) >= k)
    assert math.isclose(outcome(verdict, "sample_uniqueness").value, unique, abs_tol=1e-12)
    assert outcome(verdict, "sample_uniqueness").met == (unique <= 0.5 + 1e-9)
    assert math.isclose(outcome(verdict, "certain_disclosure").value, certain, abs_tol=1e-12)
    assert verdict.passes == all(one.met for one in verdict.outcomes)


@given(tables(columns=3, nulls=False))
def test_a_rate_with_partitions_is_the_semantic_rate(frame: pl.DataFrame) -> None:
    if not varied(frame, "c"):
        return
    blocks = {"c": [["x"], ["y", "z"]]}
    verdict = unveil.check(frame, {"discrimination_rate": {"key": ["a"], "sensitive": "c", "partitions": blocks, "at_most": 0.5}})
    try:
        expected = unveil.discrimination_rate(frame, "a", "c", partitions=blocks).value
    except unveil.UnveilError:
        assert verdict.outcomes[0].met is None
        return
    assert verdict.outcomes[0].value == expected
    assert verdict.outcomes[0].met == (expected <= 0.5 + 1e-9)


# What decides ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_decided_does_not_pass() -> None:
    verdict = unveil.check("paper-3", {"k_anonymity": 3, "linkage": 0.1, "t_closeness": 0.9}, key=["ZIP*", "Age*"])
    assert [one.status for one in verdict.outcomes] == ["met", "not decided", "not decided", "met"]
    assert "none is given" in str(outcome(verdict, "linkage").reason)
    assert "no sensitive attribute" in str(outcome(verdict, "t_closeness").reason)
    assert verdict.status == "not decided"
    assert not verdict.passes


def test_a_rule_of_ones_own_replaces_that_of_the_preset() -> None:
    loose = {"preset": "wp216", "sample_uniqueness": 1.0, "t_closeness": {"attribute": "Disease", "at_most": 1.0}}
    verdict = unveil.check("paper-3", loose, key=["ZIP*", "Age*"], sensitive="Disease")
    assert len(verdict.outcomes) == 7 + 1
    assert outcome(verdict, "sample_uniqueness").met is True
    assert outcome(verdict, "sample_uniqueness").rule.question == "singling out"
    assert outcome(verdict, "t_closeness").met is True


def test_rules_about_each_sensitive_attribute_and_about_one() -> None:
    rules = {"distinct_l_diversity": [{"at_least": 2}, {"attribute": "race", "at_least": 5}]}
    verdict = unveil.check("adult", rules, key=["sex"], sensitive=["race", "occupation", "workclass"])
    expected = [("occupation", 2), ("workclass", 2), ("race", 5), ("columns", 0)]
    assert [(one.of, one.rule.threshold) for one in verdict.outcomes] == expected


def test_an_attribute_named_by_a_rule_is_sensitive_and_no_key() -> None:
    verdict = unveil.check("paper-3", {"t_closeness": {"attribute": "Disease", "at_most": 0.1}})
    assert verdict.made.sensitive == ("Disease",)
    assert "Disease" not in verdict.made.key
    assert any("No key is named" in note for note in verdict.notes)


def test_t_closeness_by_rank_takes_the_order_given() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "q", "q"], "x": ["low", "mid", "mid", "high"]})
    rules = {"t_closeness": {"attribute": "x", "distance": "rank", "at_most": 0.3}}
    ordered = unveil.check(frame, rules, key="a", orders={"x": ["low", "mid", "high"]})
    assert (
        ordered.outcomes[0].value
        == unveil.measure(frame, "a", "x", orders={"x": ["low", "mid", "high"]})["t_closeness", "x", "rank"].value
    )
    assert unveil.check(frame, rules, key="a").outcomes[0].met is None


def test_recursive_diversity_is_strict() -> None:
    frame = pl.DataFrame({"a": ["p"] * 4, "x": ["1", "1", "2", "2"]})
    rule = {"attribute": "x", "l": 2}
    assert unveil.check(frame, {"recursive_l_diversity": {**rule, "at_most": 1.0}}, key="a").outcomes[0].met is False
    assert unveil.check(frame, {"recursive_l_diversity": {**rule, "at_most": 1.1}}, key="a").outcomes[0].met is True


def test_nulls_as_wildcards_raise_k() -> None:
    frame = pl.DataFrame({"a": ["p", "p", None], "b": ["x", "x", "x"]})
    assert outcome(unveil.check(frame, {"k_anonymity": 2}, key=["a", "b"]), "k_anonymity").value == 1
    assert outcome(unveil.check(frame, {"k_anonymity": 2}, key=["a", "b"], nulls="wildcard"), "k_anonymity").value == 3


def test_what_nulls_as_wildcards_vouch_for_is_held_against_true_records() -> None:
    original = pl.DataFrame({"a": ["p", "p", "q", "p"], "b": ["x", "x", "x", "y"], "s": list("1212")})
    weak = original.with_columns(a=pl.Series(["p", "p", None, "p"]), b=pl.Series(["x", "x", "x", None]))
    rules = {"k_anonymity": 2, "distinct_l_diversity": 2, "prosecutor_highest": 0.5}
    asked = {"key": ["a", "b"], "sensitive": "s", "nulls": "wildcard"}
    alone = unveil.check(weak, rules, **asked)  # type: ignore[arg-type]
    assert [one.met for one in alone.outcomes] == [None, None, None, True]
    assert outcome(alone, "k_anonymity").value == 4
    assert "give the original" in str(outcome(alone, "k_anonymity").reason)
    assert "may find fewer" in str(outcome(alone, "distinct_l_diversity").reason)
    held = unveil.check(weak, {"k_anonymity": 2}, original=original, same_order=True, **asked)  # type: ignore[arg-type]
    assert (outcome(held, "k_anonymity").value, outcome(held, "k_anonymity").met) == (1, False)
    safe = unveil.suppress_locally(original, ["a", "b"], 2).data
    held = unveil.check(safe, {"k_anonymity": 2}, original=original, **asked)  # type: ignore[arg-type]
    assert (outcome(held, "k_anonymity").value, held.passes) == (2, True)
    failing = unveil.check(weak, {"k_anonymity": 5}, **asked)  # type: ignore[arg-type]
    assert outcome(failing, "k_anonymity").met is False


def test_direct_identifiers_by_confidence_and_exception() -> None:
    people = pl.DataFrame({"mail": [f"p{i}@example.com" for i in range(30)], "age": [20 + i % 9 for i in range(30)]})
    verdict = unveil.check(people, {"direct_identifiers": 0})
    assert (verdict.outcomes[0].value, verdict.outcomes[0].met) == (1, False)
    assert "mail (email)" in verdict.outcomes[0].detail
    vouched = unveil.check(people, {"direct_identifiers": {"at_most": 0, "except": ["mail"]}})
    assert vouched.passes
    assert any("mail" in note for note in vouched.notes)
    assert unveil.check(people[:, 1:], {"direct_identifiers": 0}).passes


# Policies in files ----------------------------------------------------------------------------------------------------


def test_a_policy_is_read_from_its_own_file_and_from_a_project(tmp_path: Path) -> None:
    own = tmp_path / "strict.toml"
    own.write_text('preset = "cell-size-3"\nsample_uniqueness = 0\n', encoding="utf-8")
    project = tmp_path / "unveil.toml"
    project.write_text(
        '[attributes."ZIP*"]\nrole = "key"\n[attributes."Age*"]\nrole = "key"\n[attributes.Disease]\nrole = "sensitive"\n'
        "[policy]\nk_anonymity = 4\nentropy_l_diversity = 2.5\n",
        encoding="utf-8",
    )
    first = unveil.check("paper-3", own, key=["ZIP*", "Age*"])
    assert (first.policy, first.passes) == ("strict", True)
    second = unveil.check("paper-3", project)
    assert second.made.key == ("ZIP*", "Age*")
    expected = [("k_anonymity", False), ("entropy_l_diversity", True), ("direct_identifiers", True)]
    assert [(one.rule.name, one.met) for one in second.outcomes] == expected


_THRESHOLDS: dict[str, st.SearchStrategy[Any]] = {
    name: st.just(value=False)
    if form.flag
    else st.integers(int(form.low), 9)
    if form.whole
    else st.floats(form.low, min(form.high, 9.0), allow_nan=False)
    for name, form in RULES.items()
}


@st.composite
def written_policies(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(sorted(RULES)), min_size=1, unique=True)):
        plain = st.one_of(st.just("report"), _THRESHOLDS[name])
        parameters = RULES[name].parameters
        tables_ = [{RULES[name].side: draw(_THRESHOLDS[name]), "attribute": column} for column in ("x", "y z")]
        found[name] = (
            draw(st.sampled_from([tables_, tables_[0]])) if "attribute" in parameters and draw(st.booleans()) else draw(plain)
        )
    return found | draw(st.sampled_from([{}, {"preset": "wp216"}, {"preset": ["cell-size-5", "max-risk-0.09"]}]))


@given(written_policies())
def test_a_policy_written_and_read_back_is_the_same(rules: dict[str, Any]) -> None:
    policy = Policy.of(rules)
    text = unveil.Project(Path("unveil.toml"), policy=policy).to_toml()
    import tomllib

    assert Policy.of(tomllib.loads(text)["policy"]) == policy


def test_a_project_keeps_its_policy(tmp_path: Path) -> None:
    place = tmp_path / "unveil.toml"
    rules = {"preset": "wp216", "discrimination_rate": {"key": ["a"], "partitions": {"a": [["x"], ["y"]]}, "at_most": 0.5}}
    project = unveil.Project(place, policy=Policy.of(rules))
    project.write()
    assert unveil.Project.read(place) == project


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k_anonymity = 5\nk_anonimity = 5\n", ("line 2", "k_anonimity", "did you mean 'k_anonymity'")),
        ("k_anonymity = 2.5\n", ("line 1", "whole number from 1")),
        ("\nprosecutor_highest = 9\n", ("line 2", "from 0 to 1")),
        ("k_anonymity = { at_most = 5 }\n", ("line 1", "k_anonymity.at_most", "at_least")),
        ("t_closeness = { attribute = 'x', distance = 'equals', at_most = 0.2 }\n", ("distance", "did you mean 'equal'")),
        ("t_closeness = [{ attribute = 'x', at_most = 0.2 },\n  { attribute = 'x', at_most = 0.3 }]\n", ("same figure",)),
        ("recursive_l_diversity = { l = 1, at_most = 2 }\n", ("l is a whole number from 2",)),
        ("records_at_risk = { above = 2, at_most = 0.1 }\n", ("between 0 and 1",)),
        ("k_anonymity = true\n", ("expected a number",)),
        ("k_anonymity = nan\n", ("whole number",)),
        ("k_anonymity = inf\n", ("whole number",)),
        ("preset = 'cell-size-6'\n", ("line 1", "preset", "did you mean")),
        ("safe_harbor = { item = 'Z', at_most = 0 }\n", ("item", "is unknown")),
        ("discrimination_rate = { partitions = { a = [['x'], ['x']] }, at_most = 0.1 }\n", ("partitions.a",)),
        ("k_anonymity = \n", ("line 1", "not TOML")),
    ],
)
def test_mistakes_are_said_with_line_and_key(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    place = tmp_path / "policy.toml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(ProjectError) as raised:
        unveil.check("paper-3", place, key="Age*")
    assert all(word in str(raised.value) for word in words), str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, ArgumentError, "cell-size-5"),
        ({"policy": "cell-size"}, ArgumentError, "neither a file nor a preset"),
        ({"policy": {}}, ArgumentError, "there is no rule"),
        ({"policy": {"k_anonymity": 2}, "allow": -1.0}, ArgumentError, "allow is -1.0; it must be at least 0"),
        ({"policy": {"k_anonymity": 2}, "nulls": "dropp"}, ArgumentError, "did you mean 'drop'"),
        ({"policy": {"k_anonymity": 2}, "key": ["age"]}, ColumnNotFoundError, "'age' not found"),
        ({"policy": {"t_closeness": {"attribute": "Diseas", "at_most": 1}}}, ColumnNotFoundError, "did you mean 'Disease'"),
        ({"policy": {"direct_identifiers": {"except": ["Zip"], "at_most": 0}}}, ColumnNotFoundError, "'Zip' not found"),
        ({"policy": "cell-size-5", "baseline": "nowhere.json"}, DataNotFoundError, "not there"),
    ],
)
def test_bad_arguments_say_what_to_do(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        unveil.check("paper-3", **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"id": "number"}, ColumnNotFoundError, "no id column 'number'"),
        ({"link": "nowhere.csv"}, DataNotFoundError, "no such file"),
        ({"id": "Age*", "same_order": True}, ArgumentError, "given in 2 ways"),
        ({"mapping": {"Town": "ZIP*"}}, ColumnNotFoundError, "'Town' not found"),
        ({"control": "nowhere.csv"}, DataNotFoundError, "no such file"),
        ({"seed": -1}, ArgumentError, "seed is -1"),
    ],
)
def test_an_argument_for_attacks_that_is_none_is_no_verdict(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        unveil.check("paper-3", {"linkage": 0.5}, key=["ZIP*", "Age*"], original="paper-3", **arguments)


# How it shows itself --------------------------------------------------------------------------------------------------


def test_the_dictionary_is_json_and_the_table_has_a_row_a_rule() -> None:
    verdict = unveil.check("adult", {"k_anonymity": 5, "delta_disclosure": 1, "linkage": 0.1}, key=KEY, sensitive="occupation")
    found = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert found["passes"] is False
    assert [rule["met"] for rule in found["rules"]] == [False, False, None, True]
    assert found["rules"][0]["at_least"] == 5
    assert found["rules"][1]["value"] == "inf"
    assert found["rules"][2]["reason"]
    assert verdict.to_frame().height == 4
    assert "k_anonymity" in repr(verdict)


def test_junit_counts_failures_and_errors_and_survives_odd_names() -> None:
    frame = pl.DataFrame({"a<&\x01": ["x", "y"], "b": ["p", "p"]})
    rules = {
        "k_anonymity": 2,
        "sample_uniqueness": 1,
        "linkage": 0.1,
        "distinct_l_diversity": {"attribute": "a<&\x01", "at_least": 1},
    }
    root = ET.fromstring(junit(unveil.check(frame, rules, key="b")))  # noqa: S314 - our own text
    assert root.attrib | {"name": ""} == {"name": "", "tests": "5", "failures": "0", "errors": "1"}
    failing = ET.fromstring(junit(unveil.check(frame, {"k_anonymity": 2}, key="a<&\x01")))  # noqa: S314
    assert failing.find(".//failure") is not None
    assert "found 1" in str(failing.find(".//failure").get("message"))  # type: ignore[union-attr]


def test_a_model_about_each_attribute_is_judged_by_its_own_threshold() -> None:
    """The figure that is measured of every release has no threshold, and is of the same attribute."""
    verdict = unveil.check("paper-3", {"distinct_l_diversity": 4}, key=["ZIP*", "Age*"], sensitive="Disease")
    judged = outcome(verdict, "distinct_l_diversity")
    assert (judged.of, judged.value, judged.met) == ("Disease", 3, False)
    assert [(one.rule.threshold, one.met) for one in verdict.figures if one.rule.name == "distinct_l_diversity"] == [(None, None)]


def test_attacks_on_pairs_are_undecided_where_a_hold_out_makes_the_release_synthetic() -> None:
    people = unveil.datasets.load("adult").select("age", "sex", "occupation")
    rules = {"identity_attack": 0.5, "homogeneity_attack": 0.5}
    parts = {"key": ["age", "sex"], "sensitive": "occupation", "original": people[300:600], "control": people[600:900]}
    verdict = unveil.check(people[:300], rules, **parts)
    assert [one.met for one in verdict.outcomes[:2]] == [None, None]
    assert all("attacked as synthetic data" in str(one.reason) for one in verdict.outcomes[:2])


@pytest.mark.parametrize("options", [{}, {"nulls": "drop"}, {"keep": "who", "person": "who"}, {"keep": "who", "nulls": "drop"}])
def test_a_file_is_read_once(options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"who": range(40), "a": [1, 2] * 20, "b": [1, 2, 3, 4] * 10, "s": ["x", None, "z", "z"] * 10})
    table.write_csv(tmp_path / "release.csv")
    read, reads = FileSource._read, []  # noqa: SLF001 - to count its calls

    def counted(source: FileSource, columns: Any) -> Any:
        reads.append(columns)
        return read(source, columns)

    monkeypatch.setattr(FileSource, "_read", counted)
    unveil.check(tmp_path / "release.csv", {"k_anonymity": 2}, key=["a", "b"], sensitive="s", **options)
    assert len(reads) == 1


def test_counts_say_of_other_columns_what_their_records_say() -> None:
    people = pl.DataFrame({"who": [at // 2 for at in range(80)], "age": [at % 40 for at in range(80)], "sex": ["f", "m"] * 40})
    of_records, of_counts = (
        unveil.check(data, {"k_anonymity": 2}, key="age") for data in (people, unveil.count(people, people.columns))
    )
    assert of_counts.unmeasured == of_records.unmeasured
    assert [(one.column, one.unique, one.with_key) for one in of_counts.unmeasured] == [("who", 0, 80), ("sex", 0, 0)]
