from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import rate, shared, together
from unveil.cli import run
from unveil.models import DistinctLDiversity, KAnonymity
from unveil.models.base import Model
from unveil.partitions import Hierarchy
from unveil.reproduce.experiments import Experiment, Experiments, experiments, five_measures, identity, income, semantic
from unveil.reproduce.experiments.frame import ExperimentFigure, released
from unveil.reproduce.experiments.taxonomies import OCCUPATIONS, PRINTED_OCCUPATIONS, hierarchies, mended

ADULT = unveil.datasets.adult()


@pytest.fixture(scope="module")
def found() -> Experiments:
    return experiments(sizes=[1, 3], parameters=[])


def recoded(experiment: Experiment, release: str, keys: tuple[str, ...], sensitive: str) -> pl.DataFrame:
    """Generalise Adult by the levels that a release reports, and suppress the classes that its model forbids, by hand."""
    levels = experiment.releases[release]["levels"]
    columns = {}
    for key in keys:
        labels = {row[0]: row[levels[key]] for row in hierarchies()[key].labels}
        columns[key] = [labels[str(value)] for value in ADULT[key].to_list()]
    frame = pl.DataFrame(columns).with_columns(ADULT[sensitive])
    classes: dict[Any, list[Any]] = {}
    for row in together(frame, [*keys, sensitive]):
        classes.setdefault(row[:-1], []).append(row[-1])
    allowed = {key for key, values in classes.items() if holds(release, values)}
    kept = pl.Series([row in allowed for row in together(frame, keys)])
    return frame.with_columns([pl.when(kept).then(pl.col(key)).otherwise(pl.lit("*")).alias(key) for key in keys])


def holds(release: str, values: list[Any]) -> bool:
    """Whether a class meets a model, from the definitions."""
    counts = sorted(Counter(values).values(), reverse=True)
    shares = np.array(counts) / len(values)
    if release.endswith("-anonymity"):
        return len(values) >= int(release.split("-", maxsplit=1)[0])
    if release.startswith("recursive"):
        return bool(counts[0] < 5 * sum(counts[9:]))
    if release.startswith("entropy"):
        return bool(2 ** -(shares * np.log2(shares)).sum() >= 10 - 1e-9)
    if release == "0.3-closeness":
        whole = Counter(ADULT["occupation"].to_list())
        own = Counter(values)
        return bool(sum(abs(own[v] / len(values) - whole[v] / ADULT.height) for v in whole) / 2 <= 0.3 + 1e-9)
    return len(counts) >= int(release.removeprefix("distinct ").split("-")[0])


@pytest.mark.parametrize("release", ["10-anonymity", "15-anonymity"])
def test_identity_rates_follow_from_the_release(found: Experiments, release: str) -> None:
    experiment = found["identity"]
    frame = recoded(experiment, release, identity.KEYS, "occupation")
    figure = "DR of the original attribute given the protected one"
    for key in identity.KEYS:
        assert experiment.value(figure, key, release) == pytest.approx(rate(ADULT[key].to_list(), frame[key].to_list()), abs=1e-9)


@pytest.mark.parametrize(
    "release", ["10-anonymity", "distinct 10-diversity", "entropy 10-diversity", "recursive (5, 10)-diversity"]
)
def test_homogeneity_rates_follow_from_the_release(found: Experiments, release: str) -> None:
    experiment = found["homogeneity"]
    frame = recoded(experiment, release, identity.KEYS, "occupation")
    assert experiment.releases[release]["suppressed"] == (frame["race"] == "*").sum() <= 0.05 * ADULT.height
    for key in identity.KEYS:
        expected = rate(frame["occupation"].to_list(), frame[key].to_list())
        assert experiment.value("DR of the occupation", key, release) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("release", ["10-diversity", "0.3-closeness"])
def test_semantic_rates_follow_from_the_release(found: Experiments, release: str) -> None:
    experiment = found["semantic"]
    frame = recoded(experiment, release, semantic.KEYS, "occupation")
    group = dict.fromkeys(PRINTED_OCCUPATIONS[0], 0) | dict.fromkeys(PRINTED_OCCUPATIONS[1], 1)
    group |= {"Craft-repair": 2, "Sales": 2, **dict.fromkeys(PRINTED_OCCUPATIONS[3], 3), "Farming-fishing": 4}
    groups = [group[value] for value in frame["occupation"].to_list()]
    for key in semantic.KEYS:
        plain = rate(frame["occupation"].to_list(), frame[key].to_list())
        assert experiment.value("DR of the occupation", key, release) == pytest.approx(plain, abs=1e-9)
        meant = rate(groups, frame[key].to_list())
        assert experiment.value("semantic DR of the occupation", key, release) == pytest.approx(meant, abs=1e-9)


@pytest.mark.parametrize("release", ["5-anonymity", "10-anonymity", "2-diversity"])
def test_degrees_of_income_follow_from_the_release(found: Experiments, release: str) -> None:
    experiment = found["income"]
    frame = recoded(experiment, release, income.KEYS, income.INCOME)
    assert set(frame["age"].unique()) <= {"[0, 80)", ">= 80", "*"}
    for key in income.KEYS:
        expected = rate(frame[income.INCOME].to_list(), frame[key].to_list())
        figure = experiment.value("degree to which the income can be inferred", key, release)
        assert figure == pytest.approx(expected, abs=1e-9)
    if release == "2-diversity":
        incomes = Counter(frame.filter(pl.col("age") == "*")[income.INCOME].to_list())
        assert incomes["<=50K"] > 0.8 * incomes.total()


@pytest.mark.parametrize(
    ("name", "keys", "sensitive", "figure"),
    [
        ("homogeneity", identity.KEYS, "occupation", "DR of the occupation"),
        ("semantic", semantic.KEYS, "occupation", "DR of the occupation"),
        ("income", income.KEYS, income.INCOME, "degree to which the income can be inferred"),
    ],
)
def test_rates_without_suppressed_records_follow_from_the_release(
    found: Experiments, name: str, keys: tuple[str, ...], sensitive: str, figure: str
) -> None:
    experiment = found[name]
    for release in experiment.releases:
        frame = recoded(experiment, release, keys, sensitive).filter(pl.any_horizontal(pl.col(keys) != "*"))
        assert frame.height == ADULT.height - experiment.releases[release]["suppressed"]
        for key in keys:
            expected = rate(frame[sensitive].to_list(), frame[key].to_list())
            assert experiment.value(figure, key, release, "left out") == pytest.approx(expected, abs=1e-9)


def held(experiment: Experiment, says: str) -> dict[str, bool]:
    return {one.suppressed: one.holds for one in experiment.conclusions if one.says == says}


def test_two_conclusions_hold_only_where_suppressed_records_are_left_out(found: Experiments) -> None:
    says = "For the marital status 10-anonymity resists better than distinct 10-diversity"
    assert held(found["homogeneity"], says) == {"kept": False, "left out": True}
    assert held(found["income"], "The 2-diverse release tells least") == {"kept": False, "left out": True}
    experiment, figure = found["income"], "degree to which the income can be inferred"
    means = [experiment.value(figure, "mean", name, "left out") for name in ("2-diversity", "10-anonymity", "5-anonymity")]
    assert [round(value or 0.0, 4) for value in means] == [0.0319, 0.0330, 0.0333]
    told = [found["homogeneity"].value("DR of the occupation", "marital-status", name, "left out")
            for name in ("10-anonymity", "distinct 10-diversity")]  # fmt: skip
    assert [round(value or 0.0, 4) for value in told] == [0.0230, 0.0233]


def test_conclusions_about_values_are_stated(found: Experiments) -> None:
    assert set(held(found["identity"], "Yet for Widowed it resists less")) == {"kept", "left out"}
    assert held(found["semantic"], "So do its values, Female and Male") == {"kept": True, "left out": True}


def test_notes_follow_from_the_releases(found: Experiments) -> None:
    levels = [one["levels"] for one in found["identity"].releases.values()]
    assert ("have the same levels" in found["identity"].notes[1]) == (levels[0] == levels[1])
    assert "It has 2 values, so no class holds 5" in found["five-measures"].notes[-1]
    assert "makes 5 groups" in found["semantic"].notes[0]
    assert "96% have the lower one" in found["income"].notes[1]


def test_releases_pass_the_measure_of_their_model() -> None:
    models: dict[str, list[Model]] = {"k": [KAnonymity(10)], "l": [DistinctLDiversity("occupation", 10)]}
    for name, release in released(identity.KEYS, "occupation", models, hierarchies(), suppression=0.05).items():
        kept = release.data.filter(pl.col("race") != "*")
        measured = unveil.measure(kept, key=identity.KEYS, sensitive="occupation").to_dict()["models"]
        figure = measured["k_anonymity"] if name == "k" else measured["distinct_l_diversity"]["occupation"]
        assert figure["value"] >= 10


def test_the_printed_groups_are_mended_to_a_partition() -> None:
    printed = list(chain.from_iterable(PRINTED_OCCUPATIONS))
    assert [value for value, times in Counter(printed).items() if times > 1] == ["Protective-serv"]
    assert set(OCCUPATIONS) - set(printed) == {"Farming-fishing"}
    assert set(OCCUPATIONS) == set(ADULT["occupation"].unique())
    blocks = mended(PRINTED_OCCUPATIONS, OCCUPATIONS).to_dict()["blocks"]
    assert sorted(chain.from_iterable(blocks)) == sorted(OCCUPATIONS)
    assert "Protective-serv" in blocks[1]
    assert "Protective-serv" not in blocks[2]
    assert blocks[-1] == ["Farming-fishing"]


def test_a_block_that_earlier_ones_use_up_is_left_out() -> None:
    assert mended([["a", "b"], ["b"], ["c"]], ["a", "b", "c"]).to_dict()["blocks"] == [["a", "b"], ["c"]]


def test_hierarchies_cover_adult_up_to_one_root() -> None:
    for name, tree in hierarchies().items():
        tree.check_covers(ADULT[name].unique().to_list())
        assert len({row[-1] for row in tree.labels}) == 1


def test_the_counts_are_those_of_all_records_but_the_first(found: Experiments) -> None:
    first = ADULT.row(0, named=True)
    differing = {one.of for one in found["records"].findings if one.figure == "records" and one.difference}
    assert differing == {"all", f"race = {first['race']}", f"income-per-year = {first['income-per-year']}"}
    assert found["records"].conclusions[1].holds
    assert "Never-worked" in unveil.datasets.adult(complete=False)["workclass"].unique()
    assert found["records"].value("distinct values", "workclass", "adult") == ADULT["workclass"].n_unique() == 7


def test_no_recoding_of_the_key_reaches_the_printed_homogeneity(found: Experiments) -> None:
    bound = rate(ADULT["occupation"].to_list(), together(ADULT, identity.KEYS))
    experiment = found["homogeneity"]
    assert experiment.value("DR of the occupation", "the four together", "original") == pytest.approx(bound, abs=1e-9)
    rates = [one for one in experiment.findings if one.figure == "DR of the occupation" and one.computed is not None]
    assert all(one.computed <= bound + 1e-9 for one in rates if one.computed is not None)
    assert all(one.published > bound for one in rates if one.published is not None)


def test_five_measures_are_the_best_of_every_generalisation(found: Experiments) -> None:
    experiment, keys = found["five-measures"], five_measures.KEYS[:3]
    trees = hierarchies()
    best = {"discernibility": np.inf, "average class size": np.inf}
    columns = {
        key: [
            [{row[0]: row[level] for row in trees[key].labels}[str(v)] for v in ADULT[key].to_list()]
            for level in range(trees[key].height + 1)
        ]
        for key in keys
    }
    for node in np.ndindex(*(trees[key].height + 1 for key in keys)):
        rows = zip(*(columns[key][level] for key, level in zip(keys, node, strict=True)), strict=True)
        sizes = np.array(list(Counter(rows).values()))
        if sizes.min() >= 5:
            best["discernibility"] = min(best["discernibility"], float((sizes**2).sum()))
            best["average class size"] = min(best["average class size"], float(sizes.mean()))
    for figure, value in best.items():
        assert experiment.value(figure, "key of 3, k = l = 5", "k-anonymity") == pytest.approx(value)


def test_stricter_measures_never_cost_less(found: Experiments) -> None:
    experiment = found["five-measures"]
    for figure in ("discernibility", "average class size"):
        for size in (1, 3):
            costs = [
                experiment.value(figure, f"key of {size}, k = l = 5", name)
                for name in ("k-anonymity", "k-anonymity, 0.2-closeness", "k-anonymity, 0.15-closeness")
            ]
            assert costs == sorted(cost for cost in costs if cost is not None)
    larger = [experiment.value("average class size", f"key of {size}, k = l = 5", "k-anonymity") or 0.0 for size in (1, 3)]
    assert larger[0] >= larger[1]


def test_every_difference_is_explained(found: Experiments) -> None:
    printed = [one for experiment in found.experiments for one in experiment.findings if one.published is not None]
    assert len(printed) == 25
    assert all((one.why is not None) == (abs(one.difference or 0.0) > 1e-9) for one in printed)
    assert all(experiment.notes for experiment in found.experiments[1:])


def test_the_mending_is_said_in_the_result(found: Experiments) -> None:
    said = " ".join(found["semantic"].notes)
    assert "Protective-serv is in two" in said
    assert "Farming-fishing gets a group of its own" in said
    assert found["semantic"].conclusions[1].evidence.startswith("mean rate")


def test_arx_hierarchies_give_other_releases() -> None:
    folder = shared("data/arx-adult")
    trees = Hierarchy.read_folder(folder, identity.KEYS)
    models: dict[str, list[Model]] = {
        "10": [KAnonymity(10)],
        "15": [KAnonymity(15)],
        "l": [DistinctLDiversity("occupation", 10)],
    }
    releases = released(identity.KEYS, "occupation", models, trees, suppression=0.05)
    rates = {
        name: {key: rate(ADULT[key].to_list(), release.data[key].to_list()) for key in identity.KEYS}
        for name, release in releases.items()
    }
    assert [round(rates[name]["native-country"], 2) for name in ("10", "15")] == [0.74, 0.35]
    assert [key for key in identity.KEYS if rates["15"][key] > rates["10"][key]] == ["marital-status", "race", "workclass"]
    told = {
        name: unveil.discrimination_rate(release.data, "marital-status", "occupation").value for name, release in releases.items()
    }
    assert told["10"] == pytest.approx(0.0227, abs=5e-5)
    assert told["l"] == pytest.approx(0.0233, abs=5e-5)


def test_one_row_a_figure_and_json(found: Experiments) -> None:
    frame = found.to_frame()
    assert frame.height == sum(len(experiment.findings) for experiment in found.experiments)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [one["name"] for one in content["experiments"]] == [
        "records", "identity", "homogeneity", "semantic", "income", "five-measures",
    ]  # fmt: skip
    assert content["experiments"][1]["figures"][0]["figure"] in frame["figure"].to_list()
    assert found["identity"].to_frame().height == len(found["identity"].findings)
    assert "6;" in repr(found)
    assert "2 of them printed" in repr(found["semantic"])
    view = found.view()
    assert len(view.parts) == 6
    assert "Protective-serv" in found._repr_html_()


def test_progress_reaches_its_total() -> None:
    seen: list[tuple[int, int]] = []
    experiments(sizes=[1], parameters=[], progress=lambda _, done, total: seen.append((done, total)))
    assert seen == [(done, 10) for done in range(11)]


def test_a_finding_without_a_printed_figure_has_no_difference() -> None:
    assert ExperimentFigure("DR", "age", "release", 0.5).difference is None
    assert ExperimentFigure("DR", "age", "release", None, 0.5).difference is None
    assert ExperimentFigure("DR", "age", "release", 0.5, 0.25).difference == 0.25


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--experiments", "--out", str(tmp_path / "missing" / "found.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
