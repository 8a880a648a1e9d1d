"""`unveil anonymize` as its users meet it: what is written, what is refused, and what is left alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from helpers import shared, started
from unveil.cli import run
from unveil.search.lattice.objectives import OBJECTIVES

UNVEIL = str(Path(sys.executable).with_name("unveil"))
ARX_KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
ADULT_KEYS = ("age", "sex", "race", "marital-status")
JOBS = "age,town,job,name\n" + "".join(f"{age},{town},{job},n{age}\n" for age, town, job in zip(
    (21, 22, 23, 24, 31, 32, 33, 34, 41, 42, 43, 44), "ppqqppqqpqpq", "abcabcabcabc", strict=True
))  # fmt: skip
AGES = "".join(f"{age};{age // 10}0-{age // 10}9;*\n" for age in range(20, 50))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNVEIL_KEY", raising=False)
    Path("jobs.csv").write_text(JOBS, encoding="utf-8")
    Path("trees").mkdir()
    Path("trees/age.csv").write_text(AGES, encoding="utf-8")
    Path("trees/jobs_hierarchy_town.csv").write_text("p;*\nq;*\n", encoding="utf-8")


def words(keys: tuple[str, ...]) -> list[str]:
    return [word for key in keys for word in ("--key", key)]


TOWNS = ("anonymize", "jobs.csv", *words(("age", "town")), "--hierarchy-dir", "trees")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """Return the one line that a refusal gets."""
    assert run([*arguments, "--json"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("unveil: ").strip()


def files() -> list[str]:
    return sorted(file.name for file in Path.cwd().iterdir() if file.is_file())


def test_the_shape_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *TOWNS, "--k", "2", "--l", "distinct:2:job", "--suppression", "0.2")
    assert list(found) == [
        "transformation", "heights", "objective", "score", "optimal", "bound", "suppressed", "records", "nodes", "lost", "models",
        "before", "seconds", "settings", "columns", "notes", "repeatable", "version",
    ]  # fmt: skip
    assert found["transformation"] == {"age": 1, "town": 0}
    assert found["heights"] == {"age": 2, "town": 1}
    assert (found["suppressed"], found["records"], found["optimal"]) == (0, 12, True)
    assert found["bound"] == found["score"] == pytest.approx((10 / 30 - 1 / 30) / (1 - 1 / 30) / 2)
    assert found["nodes"]["lattice"] == 6
    assert 1 <= found["nodes"]["evaluated"] <= 6
    assert found["seconds"] > 0
    assert found["models"]["k_anonymity"]["value"] == 2
    assert found["models"]["distinct_l_diversity"]["job"]["met"] is True
    assert found["before"]["k_anonymity"] == {
        "value": 1, "worst_class": None, "requirement": "k_anonymity >= 2", "met": False,
        "violations": {"classes": 12, "records": 12},
    }  # fmt: skip
    assert found["settings"]["models"] == ["k_anonymity >= 2", "job distinct_l_diversity >= 2"]
    assert found["settings"]["hierarchies"] == {"age": "given", "town": "given"}
    assert [one["column"] for one in found["columns"]["left_out"]] == ["name"]
    assert found["columns"]["never_measured"] == []
    assert found["notes"][0].startswith("Left out: name (")


def test_the_json_is_the_calls_dictionary(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "anonymize", "adult", *words(ADULT_KEYS), "--k", "10", "--suppression", "0.02")
    call = unveil.anonymize("adult", ADULT_KEYS, [unveil.models.KAnonymity(10)], suppression=0.02).to_dict()
    assert {**found, "seconds": 0} == {**call, "seconds": 0}


@pytest.mark.parametrize(
    "models",
    [
        ("--k", "5"),
        ("--k", "5", "--l", "distinct:4:occupation"),
        ("--l", "entropy:4:occupation"),
        ("--k", "5", "--l", "recursive:4:3:occupation"),
        ("--t", "0.4:equal:occupation"),
        ("--t", "0.15:rank:education-num"),
        ("--k", "5", "--t", "0.15:value:hours-per-week"),
        ("--k", "5", "--t", "0.4:hierarchical:occupation", "--hierarchy", "occupation=occupation.csv"),
        ("--t", "0.4:variational:occupation"),
        ("--t", "0.8:kl:occupation"),
        ("--t", "0.2:js:occupation"),
        ("--p", "3:occupation", "--alpha", "0.5:occupation", "--beta", "6:occupation", "--average-risk", "0.01"),
    ],
    ids=" ".join,
)
def test_the_release_passes_measure_for_the_same_models(models: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hierarchy", "build", "adult", "--column", "occupation", "--groups", "2,6", "--out", "occupation.csv"]) == 0
    capsys.readouterr()
    keys = words(ADULT_KEYS)
    made = answer(capsys, "anonymize", "adult", *keys, *models, "--suppression", "0.03", "--out", "release.parquet")
    secrets = {word.rpartition(":")[2] for word in models if ":" in word}
    sensitive = [word for name in sorted(secrets) for word in ("--sensitive", name)]
    checked = answer(capsys, "measure", "release.parquet", *keys, *sensitive, *models)
    assert checked["met"] is True
    assert checked["suppressed"] == made["suppressed"] <= 904
    for name in made["models"].keys() - {"k_anonymity", "average_risk"}:
        for column, figures in made["models"][name].items():
            same = {**checked["models"][name][column], "worst_class": figures.get("worst_class")}  # masked in a release's answer
            assert figures.items() <= same.items() or name in {"t_closeness", "recursive_l_diversity"}


def test_the_release_passes_measure_on_what_arx_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared("data/arx-adult")
    common = ("anonymize", str(folder / "adult.csv"), *words(ARX_KEYS), "--hierarchy-dir", str(folder), "--suppression", "0.04")
    plain = answer(capsys, *common, "--k", "5", "--out", "release.csv")
    assert plain["score"] == pytest.approx(0.20441786042, abs=1e-9)
    assert (plain["suppressed"], plain["nodes"]["lattice"], plain["optimal"]) == (1178, 4320, True)
    assert answer(capsys, "measure", "release.csv", *words(ARX_KEYS), "--k", "5")["suppressed"] == 1178
    assert answer(capsys, *common, "--k", "5", "--objective", "discernibility")["score"] == 9_268_952
    close = ("--k", "5", "--t", "0.2:hierarchical:occupation")
    tree = str(folder / "adult_hierarchy_occupation.csv")
    made = answer(capsys, *common, *close, "--out", "release.csv")
    checked = answer(
        capsys,
        "measure",
        "release.csv",
        *words(ARX_KEYS),
        "--sensitive",
        "occupation",
        *close,
        "--hierarchy",
        f"occupation={tree}",
    )
    assert (checked["met"], checked["suppressed"]) == (True, made["suppressed"])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective(objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *TOWNS, "--k", "2", "--objective", objective)
    call = unveil.anonymize(
        "jobs.csv",
        {"age": "trees/age.csv", "town": "trees/jobs_hierarchy_town.csv"},
        [unveil.models.KAnonymity(2)],
        objective=objective,
    )
    assert (found["objective"], found["score"]) == (objective, call.score)


def test_levels_weights_and_the_factor(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, *TOWNS, "--k", "2")["transformation"] == {"age": 1, "town": 0}
    assert answer(capsys, *TOWNS, "--k", "2", "--level", "age=2:2")["transformation"] == {"age": 2, "town": 0}
    assert answer(capsys, *TOWNS, "--k", "2", "--level", "town=1")["transformation"] == {"age": 1, "town": 1}
    weighed = answer(capsys, *TOWNS, "--k", "4", "--weight", "age=9", "--weight", "town=0.5")
    assert weighed["transformation"] == {"age": 1, "town": 1}
    assert weighed["settings"]["weights"] == {"age": 9.0, "town": 0.5}
    cheap = answer(capsys, *TOWNS, "--k", "7", "--suppression", "0.5", "--factor", "0.9")
    assert cheap["settings"]["factor"] == 0.9


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_every_form_of_a_release_is_read_back(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, *TOWNS, "--k", "2", "--keep", "name", "--out", f"release.{ending}")
    frame = unveil.source(f"release.{ending}").collect(["age", "town", "job", "name"])
    assert Counter(frame["age"]) == {"20-29": 4, "30-39": 4, "40-49": 4}
    assert sorted(zip(frame["town"], frame["job"], frame["name"], strict=True)) == sorted(
        tuple(line.split(",")[1:]) for line in JOBS.splitlines()[1:]
    )
    assert run(["measure", f"release.{ending}", *words(("age", "town")), "--k", "2", "--json"]) == 0


def test_the_link_leads_back_and_attacks_take_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TOWNS, "--k", "2", "--keep", "name", "--out", "release.csv", "--link", "link.csv", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "written: link.csv (keep it private: it undoes the protection)\nwritten: release.csv\n"
    original, release, link = pl.read_csv("jobs.csv"), pl.read_csv("release.csv"), pl.read_csv("link.csv")
    assert link.columns == ["original", "release"]
    assert (
        original["name"][(link["original"] - 1).to_list()].to_list() == release["name"][(link["release"] - 1).to_list()].to_list()
    )
    assert not {"original", "release", "index"} & set(release.columns)
    found = answer(
        capsys, "attack", "jobs.csv", "release.csv", "--link", "link.csv", *words(("age", "town")), "--sensitive", "job"
    )
    assert found["alignment"]["by"] == "link"
    assert found["alignment"]["aligned"] == 12
    lost = answer(capsys, "loss", "jobs.csv", "release.csv", "--link", "link.csv", *words(("age", "town")))
    assert lost["alignment"]["aligned"] == 12


def test_the_order_is_kept_shuffled_and_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*more: str) -> list[str]:
        answer(capsys, *TOWNS, "--k", "2", "--keep", "name", "--out", "release.csv", *more)
        return pl.read_csv("release.csv")["name"].to_list()

    original = pl.read_csv("jobs.csv")["name"].to_list()
    assert names("--keep-order") == original
    assert names() != names()
    assert names("--seed", "1") == names("--seed", "1") != names("--seed", "2")
    assert sorted(names()) == sorted(original)


def test_standard_input_and_text_options(capsys: pytest.CaptureFixture[str]) -> None:
    text = JOBS.replace(",", ";").replace(";p;", ";?;")
    keys = ["--key", "age", "--key", "town", "--hierarchy-dir", "trees"]
    done = subprocess.run(
        [UNVEIL, "anonymize", "-", *keys, "--k", "2", "--separator", ";", "--missing", "?", "--out", "r.csv", "--json"],
        input=text.encode(), capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["transformation"] == {"age": 1, "town": 0}
    assert pl.read_csv("r.csv")["town"].null_count() == 6
    Path("holes.csv").write_text(text.replace(";", ","), encoding="utf-8")
    assert "nulls found in 'town' (6)" in complaint(
        capsys, "anonymize", "holes.csv", *keys, "--k", "2", "--missing", "?", "--nulls", "error"
    )
    kept = answer(capsys, "anonymize", "holes.csv", *keys, "--k", "2", "--missing", "?", "--nulls", "drop", "--out", "r.csv")
    assert (kept["records"], pl.read_csv("r.csv").height) == (6, 6)


def test_a_hierarchy_without_a_root_gets_one_and_a_single_file_wins(capsys: pytest.CaptureFixture[str]) -> None:
    Path("trees/jobs_hierarchy_town.csv").write_text("p\nq\n", encoding="utf-8")
    assert answer(capsys, *TOWNS, "--k", "12")["transformation"] == {"age": 2, "town": 1}
    Path("other.csv").write_text("".join(f"{age};all\n" for age in range(20, 50)), encoding="utf-8")
    found = answer(capsys, *TOWNS, "--k", "2", "--hierarchy", "age=other.csv", "--keep-order", "--out", "r.csv")
    assert (found["heights"]["age"], set(pl.read_csv("r.csv")["age"])) == (1, {"all"})


def test_the_project_names_columns_and_hierarchies(capsys: pytest.CaptureFixture[str]) -> None:
    Path("unveil.toml").write_text(
        '[data]\npath = "jobs.csv"\n[attributes.age]\nrole = "key"\nhierarchy = "trees/age.csv"\n'
        '[attributes.name]\nrole = "identifier"\n[attributes.job]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    found = answer(capsys, "anonymize", "--k", "2", "--l", "distinct:3", "--out", "r.csv")
    assert found["columns"]["left_out"] == [{"column": "name", "why": "named as identifier"}]
    assert pl.read_csv("r.csv").columns == ["age", "town", "job"]


def test_identifiers_are_left_out_or_become_keyed_hashes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = answer(capsys, *TOWNS, "--k", "2", "--identifier", "name", "--out", "r.csv")
    assert pl.read_csv("r.csv").columns == ["age", "town", "job"]
    assert out["notes"][0].startswith("Left out: name (named as identifier); ")
    key = b"correct horse battery staple"
    Path("key").write_bytes(key + b"\n")
    hashed = answer(capsys, *TOWNS, "--k", "2", "--pseudonymize", "name", "--key-file", "key", "--keep-order", "--out", "r.csv")
    names = pl.read_csv("jobs.csv")["name"]
    expected = [hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:32] for name in names]
    assert pl.read_csv("r.csv")["name"].to_list() == expected
    assert "pseudonymised, not anonymous" in hashed["notes"][0]
    assert hashed["settings"]["pseudonyms"] == ["name"]
    assert "correct horse" not in json.dumps(hashed)
    monkeypatch.setenv("UNVEIL_KEY", key.decode())
    answer(capsys, *TOWNS, "--k", "2", "--pseudonymize", "name", "--keep-order", "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()


def test_a_population_protects_those_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("part.csv").write_text("".join(JOBS.splitlines(keepends=True)[:4]), encoding="utf-8")
    Path("all.csv").write_text(
        "".join(line.split(",")[0] + "," + line.split(",")[1] + "\n" for line in JOBS.splitlines()), "utf-8"
    )
    found = answer(capsys, "anonymize", "part.csv", *TOWNS[2:], "--k-map", "2", "--population", "all.csv")
    assert found["models"]["k_map"]["value"] >= 2
    assert found["before"]["k_map"]["value"] == 1
    assert "population" in complaint(capsys, "anonymize", "part.csv", *TOWNS[2:], "--k-map", "2")


def test_a_fully_generalised_release_says_so_and_is_measured_as_one_class(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *TOWNS, "--k", "12", "--out", "r.csv")
    assert any("fully generalised" in note for note in found["notes"])
    assert run(["measure", "r.csv", *words(("age", "town")), "--k", "12", "--suppressed", "class", "--json"]) == 0


def test_a_person_sees_cost_levels_and_models(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run([*TOWNS, "--k", "2", "--suppression", "0.2"]) == 0
    shown = capsys.readouterr().out
    for part in ("no generalisation costs less", "of 12 records", "k_anonymity >= 2", "Never measured: job"):
        assert part in shown


def test_limits_give_the_best_so_far_and_mark_it(capsys: pytest.CaptureFixture[str]) -> None:
    keys = words(("age", "education", "marital-status", "relationship", "race", "sex", "hours-per-week", "native-country"))
    common = ("anonymize", "adult", *keys, "--k", "5", "--suppression", "0.04", "--out", "r.csv")
    best = answer(capsys, *common)
    assert best["optimal"] is True
    timed = answer(capsys, *common, "--time-limit", "0")
    counted = answer(capsys, *common, "--node-limit", "20")
    for cut in (timed, counted):
        assert cut["optimal"] is False
        assert cut["bound"] <= best["score"] <= cut["score"]
        assert any("stopped at its limit" in note for note in cut["notes"])
        assert cut["models"]["k_anonymity"]["met"] is True
    assert (timed["nodes"]["evaluated"], counted["nodes"]["evaluated"]) == (1, 20)
    assert (timed["settings"]["time_limit"], counted["settings"]["node_limit"]) == (0.0, 20)
    assert run(["measure", "r.csv", *keys, "--k", "5", "--json"]) == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--k 13", "k_anonymity >= 13 cannot be met: with every key attribute at its highest level the figure is 12."),
        (
            "--k 13 --suppression 1",
            "k_anonymity >= 13 cannot be met: with every key attribute at its highest level the figure is 12.",
        ),
        ("--l distinct:4:job", "distinct_l_diversity >= 4 of 'job' cannot be met"),
        ("--l entropy:3.5:job", "entropy_l_diversity >= 3.5 of 'job' cannot be met"),
        ("--t 0.01:job --level age=0:0 --level town=0:0 --suppression 0.5", "cannot be met"),
        ("--average-risk 0.01", "average_risk <= 0.01 cannot be met"),
        ("--k 5 --level age=0:1 --level town=0:0 --suppression 0.4", "k_anonymity >= 5 cannot be met"),
    ],
)
def test_a_model_that_cannot_be_met_leaves_files_alone(asked: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.csv").write_text("an older release\n", encoding="utf-8")
    for place in ("old.csv", "new.csv"):
        assert said in complaint(capsys, *TOWNS, *asked.split(), "--out", place, "--link", "link.csv", code=1)
    assert Path("old.csv").read_text("utf-8") == "an older release\n"
    assert files() == ["jobs.csv", "old.csv"]


def test_a_search_cut_short_without_a_solution_is_not_met(capsys: pytest.CaptureFixture[str]) -> None:
    asked = (*TOWNS, "--l", "recursive:0.1:2:job", "--node-limit", "1", "--out", "r.csv")
    assert "within the limits" in complaint(capsys, *asked, "--suppression", "0.1", code=1)
    assert files() == ["jobs.csv"]


def test_levels_that_fail_by_themselves_are_told_whatever_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, *TOWNS, "--l", "recursive:0.1:2:job", "--node-limit", "1", "--out", "r.csv", code=1)
    assert "cannot be met: with every key attribute at its highest level" in said
    assert files() == ["jobs.csv"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("", "no model is required; ask for one, such as --k 5."),
        ("--k 0", "--k is 0; it must be at least 1."),
        ("--k 2 --suppression 1.01", "is 1.01; it must be from 0 to 1"),
        ("--k 2 --suppression -0.1", "from 0 to 1"),
        ("--k 2 --suppression nan", "from 0 to 1"),
        ("--k 2 --suppression four", "--suppression must be a number, not a text."),
        ("--k 2 --l distinct:2:age", "column 'age' is named as key and as sensitive"),
        ("--k 2 --sensitive town", "column 'town' is named as key and as sensitive"),
        ("--k 2 --identifier age", "column 'age' is named as identifier and as key or sensitive"),
        ("--k 2 --key aage", "column 'aage' not found"),
        ("--k 2 --key age", "column 'age' is named twice as key"),
        ("--k 2 --identifier nme", "column 'nme' not found"),
        ("--k 2 --l distinct:2", "does not name its sensitive attribute"),
        ("--k 2 --t 0.2:hierarchical:job", "no hierarchy of column 'job'; it would be 'job.csv' or '..._hierarchy_job.csv'"),
        ("--k 2 --t 0.2:rank:job", "have no order"),
        ("--k 2 --objective beauty", "objective 'beauty' is unknown; it is one of: loss, "),
        ("--k 2 --level age=2:1", "the levels of 'age' go from 0 to 2"),
        ("--k 2 --level age=two", "--level takes COLUMN=LOW:HIGH"),
        ("--k 2 --level job=0:1", "not a key attribute"),
        ("--k 2 --weight age=much", "--weight takes COLUMN=WEIGHT"),
        ("--k 2 --weight age=-1", "zero or above"),
        ("--k 2 --factor 1.5", "factor is 1.5; it must be from 0 to 1"),
        ("--k 2 --objective kl --factor 0.1", "takes no attribute weights"),
        ("--k 2 --seed -1", "--seed is -1; it must be at least 0."),
        ("--k 2 --time-limit -1", "--time-limit is -1.0; it must be "),
        ("--k 2 --time-limit nan", "--time-limit is nan; it must be "),
        ("--k 2 --node-limit 0", "--node-limit is 0; it must be at least 1."),
        ("--k 2 --nulls wildcard", "nulls 'wildcard' is unknown"),
        ("--k 2 --presence 0:0.5", "population"),
        ("--k 2 --out r.docx", "'r.docx' does not end in a release's form"),
        ("--k 2 --out nowhere/r.csv", "the folder 'nowhere' does not exist"),
        ("--k 2 --link nowhere/l.csv", "the folder 'nowhere' does not exist"),
        ("--k 2 --out trees/age.csv/r.csv", "is not a folder"),
        ("--k 2 --out /proc/r.csv", "cannot write '/proc/r.csv'"),
        ("--k 2 --out jobs.csv", "name another file"),
        ("--k 2 --out r.csv --link trees/../r.csv", "name two different ones"),
        ("--k 2 --key-file key", "the key file 'key' cannot be read"),
        ("--k 2 --pseudonymize name", "the environment variable 'UNVEIL_KEY' holds no key"),
        ("--k 2 --pseudonymize name --key-file nowhere", "the key file 'nowhere' cannot be read"),
        ("--k 2 --pseudonymize age --key-file key", "column 'age' is to be pseudonymised, but is key"),
        ("--mechanism rank_swap --pseudonymize name", "--pseudonymize goes with generalisation"),
        ("--k 2 --suppression 1 --factor 0", "suppresses all 12 records, so nothing is left"),
    ],
)
def test_bad_input_gets_one_line_and_leaves_no_file(asked: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in complaint(capsys, *TOWNS, *asked.split())
    assert files() == ["jobs.csv"]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (
            AGES.partition("24;")[0],
            "key attribute 'age': hierarchy of column 'age': 9 of 12 values present are not in it (level 0).",
        ),
        (
            AGES.replace("24;20-29;*", "24;20-29;young"),
            "trees/age.csv: hierarchy of column 'age': at level 1, 1 label leads to more than one label of level 2",
        ),
        ("", "trees/age.csv"),
        (None, "trees: no hierarchy of column 'age'; it would be 'age.csv' or '..._hierarchy_age.csv'."),
    ],
    ids=["misses values", "no chain", "empty", "absent"],
)
def test_a_bad_hierarchy_is_named(tree: str | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("trees/age.csv").unlink()
    if tree is not None:
        Path("trees/age.csv").write_text(tree, encoding="utf-8")
    assert said in complaint(capsys, *TOWNS, "--k", "2", "--out", "release.csv")
    assert files() == ["jobs.csv"]


def test_no_records_and_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("none.csv").write_text("age,town\n", encoding="utf-8")
    assert "no records" in complaint(capsys, "anonymize", "none.csv", "--key", "age", "--k", "2", "--out", "r.csv")
    assert "the folder 'nowhere' is not there" in complaint(capsys, *TOWNS[:-1], "nowhere", "--k", "2")
    assert files() == ["jobs.csv", "none.csv"]


def test_an_interrupt_exits_with_130_and_writes_nothing(tmp_path: Path) -> None:
    """The signal comes once standard input has been taken; the lattice has 5.8 million nodes that no rule leaves out."""
    keys = ("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "capital-gain")
    more = ("hours-per-week", "native-country")
    Path("old.csv").write_text("an older release\n", encoding="utf-8")
    text = unveil.datasets.adult().write_csv().encode()
    models = ("--k", "3", "--t", "0.05:kl:income-per-year", "--suppression", "0.3")
    with started(
        [UNVEIL, "anonymize", "-", *words(keys + more), *models, "--out", "old.csv", "--link", "link.csv", "--json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert printed == b""
    assert errors == b"unveil: interrupted; nothing was written.\n"
    assert Path("old.csv").read_text("utf-8") == "an older release\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["jobs.csv", "old.csv", "trees"]


@pytest.mark.parametrize("mechanism", [(), ("--mechanism", "microaggregate")])
def test_a_disk_that_takes_the_correspondence_but_not_the_release_keeps_neither(
    tmp_path: Path, mechanism: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "people.csv").write_text("age,story\n" + "".join(f"{20 + i},{'x' * 500}\n" for i in range(30)), encoding="utf-8")
    (tmp_path / "release.csv").write_text("old", encoding="utf-8")
    words = ["anonymize", "people.csv", "--key", "age", "--k", "2", *mechanism]
    monkeypatch.chdir(tmp_path)
    assert run(words) == 0  # with room on the disk, so that what it compiles is kept
    done = subprocess.run(
        [sys.executable, "-c", f"from unveil.cli import main; main({[*words, '--out', 'release.csv', '--link', 'link.csv']!r})"],
        capture_output=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(b"unveil: cannot write 'release.csv': ")
    assert done.stderr.count(b"\n") == 1
    assert not [path for path in tmp_path.iterdir() if path.name == "link.csv" or path.name.startswith(".")]
    assert (tmp_path / "release.csv").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(("against", "k_known"), [("truth", 2), ("release", 1)])
def test_local_suppression_gives_k_as_both_intruders_find_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], against: str, k_known: int
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex,town\nf,Rome\nf,Rome\nf,Pisa\nm,Rome\n")
    words = ["anonymize", str(people), "--mechanism", "suppress_locally", "--attribute", "sex", "--attribute", "town"]
    words += ["--set", "k=2", "--set", f"against={against}"]
    assert run([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["k_known"], answer["met"], answer["against"]) == (k_known, against == "truth", against)
    assert answer["k"] >= 2
    assert run(words) == 0
    assert f"k_known = {k_known}" in capsys.readouterr().out


def test_local_suppression_refuses_other_intruders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex,town\nf,Rome\nf,Rome\n")
    words = ["anonymize", str(people), "--mechanism", "suppress_locally", "--key", "sex", "--set", "against=both"]
    assert run(words) == 2
    assert "truth, release" in capsys.readouterr().err
