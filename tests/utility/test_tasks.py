"""Tasks learnt from a release against scikit-learn used directly, their laws, generalised values, and what they refuse."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import unveil
from unveil.errors import ArgumentError, MissingExtraError
from unveil.sources.microdata import write_link
from unveil.utility.encoding import middle
from unveil.utility.task import FoldEstimate
from unveil.utility.trials import dealt

TASKS = [
    unveil.Task("ill", "ill", ["age", "pay", "town"]),
    unveil.Task("pay", "pay", ["age", "town"], kind="regression"),
    unveil.Task("groups", given=["age", "pay", "town"], kind="clustering", clusters=3),
]


def people(records: int = 300, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.uniform(18, 80, records)
    town = random.choice(["a", "b", "c"], records)
    pay = 20 * age + 300 * (town == "a") + random.normal(0, 60, records)
    ill = np.where(age + random.normal(0, 8, records) > 50, "yes", "no")
    return pl.DataFrame({"id": np.arange(records) + 7, "age": age, "pay": pay, "town": town, "ill": ill})


def noisy(table: pl.DataFrame, seed: int = 2) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return table.with_columns(age=pl.col("age") + random.normal(0, 10, table.height))


def order_of(y: Any, folds: int, seed: int) -> tuple[Any, Any]:
    """The people in the order they are drawn, and their folds."""
    drawn = np.random.default_rng(seed).permutation(len(y))
    return drawn, dealt(np.asarray(y, dtype=float)[drawn], folds)


# Against scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("tree", DecisionTreeClassifier(min_samples_leaf=5, random_state=3)),
        ("neighbours", KNeighborsClassifier(15)),
        ("logistic", LogisticRegression(max_iter=1000)),
    ],
)
def test_trained_on_the_original_is_cross_validation(name: str, model: Any) -> None:
    table = people()
    y = (table["ill"] == "yes").to_numpy().astype(float)
    drawn, fold = order_of(y, 4, 3)
    x = table.select("age", "pay").to_numpy()
    expected = cross_val_score(make_pipeline(StandardScaler(), model), x[drawn], y[drawn], cv=PredefinedSplit(fold))
    task = unveil.Task("ill", "ill", ["age", "pay"])
    found = unveil.tasks(table, noisy(table), task, same_order=True, folds=4, seed=3)["ill"].score(name, "accuracy").original
    assert found.mean == pytest.approx(expected.mean())
    wide = stats.t.ppf(0.975, 3) * math.sqrt((1 / 4 + 1 / 3) * expected.var(ddof=1))
    assert found.low == pytest.approx(expected.mean() - wide)
    assert found.high == pytest.approx(expected.mean() + wide)


@pytest.mark.parametrize(
    ("name", "model"), [("ridge", Ridge()), ("tree", DecisionTreeRegressor(min_samples_leaf=5, random_state=0))]
)
def test_trained_on_the_release_is_tried_on_the_held_out_originals(name: str, model: Any) -> None:
    """The release lacks some people, and stands in another order."""
    table = people()
    release = noisy(table)[np.random.default_rng(4).permutation(300)[:200]]
    y = table["pay"].to_numpy()
    drawn, fold = order_of(y, 3, 0)
    scores = []
    for k in range(3):
        test = table[drawn[fold == k]]
        train = release.filter(~pl.col("id").is_in(test["id"].implode()))
        fit = make_pipeline(StandardScaler(), model).fit(train.select("age").to_numpy(), train["pay"].to_numpy())
        scores.append(fit.score(test.select("age").to_numpy(), test["pay"].to_numpy()))
    task = unveil.Task("pay", "pay", "age", kind="regression")
    found = unveil.tasks(table, release, task, id="id", folds=3)["pay"]
    assert found.score(name, "r2").release.mean == pytest.approx(np.mean(scores))
    assert (found.people, found.rows) == (300, 200)


def test_clusterings_are_compared_by_adjusted_rand() -> None:
    table = people()
    release = noisy(table)
    drawn, fold = order_of(np.zeros(300), 2, 0)
    expected = []
    for k in range(2):
        labels = []
        for side, seed in ((table, 0), (release, 1)):
            train, test = side[drawn[fold != k]].select("age", "pay"), table[drawn[fold == k]].select("age", "pay")
            scaler = StandardScaler().fit(train.to_numpy())
            means = KMeans(3, n_init=4, random_state=seed).fit(scaler.transform(train.to_numpy()))
            labels.append(means.predict(scaler.transform(test.to_numpy())))
        expected.append(adjusted_rand_score(*labels))
    task = unveil.Task("groups", given=["age", "pay"], kind="clustering", clusters=3)
    found = unveil.tasks(table, release, task, same_order=True, folds=2)["groups"].score("k-means", "adjusted_rand")
    assert found.release.mean == pytest.approx(np.mean(expected))


# Laws -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [None, 120])
def test_the_original_released_loses_nothing(sample: int | None, tmp_path: Path) -> None:
    """The same scores, whatever the order of the rows."""
    table = people()
    order = np.random.default_rng(5).permutation(300)
    link = tmp_path / "link.csv"
    write_link(str(link), order)
    answers = [
        unveil.tasks(table, table, TASKS, same_order=True, sample=sample, folds=3),
        unveil.tasks(table, table[order], TASKS, id="id", sample=sample, folds=3),
        unveil.tasks(table, table[order], TASKS, link=str(link), sample=sample, folds=3),
    ]
    for answer in answers:
        assert len(answer.to_frame()) == 8 + 8 + 4
        for solved in answer.tasks.values():
            for score in solved.scores:
                assert score.release == score.original
                assert score.difference == FoldEstimate(0.0, 0.0, 0.0)
    assert len({str(answer.to_dict()["tasks"]) for answer in answers}) == 1


def test_a_seed_gives_one_answer_and_another_seed_another() -> None:
    table, release = people(), noisy(people())
    one, again, other = (
        unveil.tasks(table, release, TASKS, same_order=True, seed=seed, folds=2).to_frame() for seed in (1, 1, 2)
    )
    assert one.equals(again)
    assert not one.equals(other)


def test_a_shuffled_target_teaches_nothing() -> None:
    """A shuffled target leans one way or the other by chance, so several are averaged."""
    table, random = people(), np.random.default_rng(6)
    guessed: dict[str, list[float]] = {"tree": [], "neighbours": [], "logistic": [], "baseline": []}
    explained: dict[str, list[float]] = {"ridge": [], "tree": [], "neighbours": [], "baseline": []}
    for _ in range(6):
        shuffled = {name: pl.Series(random.permutation(table[name].to_numpy())) for name in ("ill", "pay")}
        found = unveil.tasks(table, table.with_columns(**shuffled), TASKS[:2], same_order=True, folds=2)
        for name, held in guessed.items():
            held.append(found["ill"].score(name, "balanced_accuracy").release.mean or 0.0)
        for name, held in explained.items():
            held.append(found["pay"].score(name, "r2").release.mean or 0.0)
    for some in guessed.values():
        assert np.mean(some) == pytest.approx(0.5, abs=0.1)
    assert max(np.mean(some) for some in explained.values()) < 0.02
    assert unveil.tasks(table, table, TASKS[0], same_order=True)["ill"].score("tree", "balanced_accuracy").release.low > 0.7  # type: ignore[operator]


def test_nobody_is_tried_who_was_learnt_from() -> None:
    """Attributes and target are noise: only somebody who is recognised can be guessed."""
    random = np.random.default_rng(7)
    table = pl.DataFrame({"x": random.normal(size=800), "y": random.choice(["p", "q"], 800)})
    task = unveil.Task("noise", "y", "x")
    held_out = unveil.tasks(table, table, task, same_order=True)
    assert held_out["noise"].score("tree", "accuracy").release.mean == pytest.approx(0.5, abs=0.05)
    known = unveil.tasks(table, table, task)
    mean = known["noise"].score("tree", "accuracy").release.mean
    assert mean is not None
    assert mean > 0.65
    assert known.alignment is None
    assert "No correspondence of records" in str(known.view().notes)


def test_records_of_no_original_are_learnt_from() -> None:
    table = people()
    added = pl.concat([table[:10], people(400, 8).with_columns(id=pl.col("id") + 1000)])
    found = unveil.tasks(table, added, TASKS[0], id="id")["ill"]
    assert found.rows == 410
    mean = found.score("logistic", "accuracy").release.mean
    assert mean is not None
    assert mean > 0.8


# Generalised values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("[20, 30)", 25),
        ("(20, 30]", 25),
        ("20-29", 24.5),
        ("2*", 24.5),
        ("{20, 24}", 22),
        ("17", 17),
        (">= 65", 65),
        ("< 18", 18),
        (4, 4),
    ],
)
def test_a_generalised_number_stands_in_the_middle(value: Any, number: float) -> None:
    assert middle(value) == number


@pytest.mark.parametrize("value", ["*", None, "flu", "{a, b}", "", "a*", math.inf])
def test_what_says_nothing_has_no_place(value: Any) -> None:
    assert math.isnan(middle(value))


def test_intervals_are_numbers_and_generalised_categories_are_recoded() -> None:
    """The target is town a or b, known exactly; the release only knows {a, b}."""
    table = people(600).with_columns(target=pl.when(pl.col("town") == "c").then(pl.lit("n")).otherwise(pl.lit("y")))
    age = pl.col("age").cast(pl.Int64) // 10 * 10
    release = table.with_columns(
        age=pl.format("[{}, {})", age, age + 10), town=pl.col("town").replace({"a": "{a, b}", "b": "{a, b}"})
    )
    found = unveil.tasks(table, release, [unveil.Task("t", "target", "town"), unveil.Task("ill", "ill", "age")], same_order=True)
    assert found["t"].read == {"town": "category"}
    for model in ("tree", "logistic"):
        assert found["t"].score(model, "accuracy").release.mean == 1.0
    assert found["ill"].read == {"age": "number"}
    kept = found["ill"].score("tree", "accuracy")
    assert kept.release.mean == pytest.approx(kept.original.mean, abs=0.05)


def test_a_suppressed_attribute_leaves_the_baseline() -> None:
    table = people()
    release = table.with_columns(age=pl.lit("*"), pay=pl.lit(None, dtype=pl.Float64), town=pl.lit("*"))
    found = unveil.tasks(table, release, TASKS, same_order=True)
    for model in ("tree", "neighbours", "logistic"):
        assert found["ill"].score(model, "accuracy").release == found["ill"].score("baseline", "accuracy").release
    assert found["groups"].score("k-means", "adjusted_rand").release.mean == 0.0
    assert "no record of the release with a usable target" in str(found["pay"].reason)


def test_targets_that_cannot_be_used_are_counted() -> None:
    table = people()
    release = table.with_columns(
        ill=pl.when(pl.col("id") < 50).then(pl.lit("*")).otherwise("ill"),
        pay=pl.when(pl.col("id") < 20).then(None).otherwise(pl.format("[{}, {})", pl.col("pay") - 5, pl.col("pay") + 5)),
    )
    found = unveil.tasks(table, release, TASKS, same_order=True)
    assert (found["ill"].unusable, found["ill"].rows) == (43, 257)
    assert (found["pay"].unusable, found["pay"].rows) == (13, 287)
    assert "43 release records without a usable target" in str(found.view().notes)


def test_a_release_of_one_class_says_that_class() -> None:
    table = people()
    found = unveil.tasks(table, table.with_columns(ill=pl.lit("no")), TASKS[0], same_order=True)["ill"]
    for model in ("tree", "neighbours", "logistic", "baseline"):
        assert found.score(model, "balanced_accuracy").release.mean == pytest.approx(0.5)


def test_whole_and_decimal_numbers_are_the_same_classes() -> None:
    table = people().with_columns(ill=(pl.col("ill") == "yes").cast(pl.Int64))
    found = unveil.tasks(table, table.with_columns(pl.col("ill").cast(pl.Float64)), TASKS[0], same_order=True)["ill"]
    assert found.unusable == 0
    assert found.score("tree", "accuracy").difference.mean == 0.0


# Bad input ----------------------------------------------------------------------------------------------------------------


def test_a_task_that_cannot_be_tried_gets_a_reason_and_others_an_answer() -> None:
    table = people(200).with_columns(same=pl.lit("x"), many=pl.col("id").cast(pl.String))
    asked = [
        unveil.Task("unknown", "illl", "age"),
        unveil.Task("constant", "same", "age"),
        unveil.Task("words", "town", "age", kind="regression"),
        unveil.Task("many", "many", "age"),
        unveil.Task("ill", "ill", "age"),
    ]
    found = unveil.tasks(table, table, asked, same_order=True)
    reasons = {name: solved.reason for name, solved in found.tasks.items()}
    assert "did you mean 'ill'" in str(reasons["unknown"])
    assert "fewer than two values" in str(reasons["constant"])
    assert "predicts numbers" in str(reasons["words"])
    assert "200 classes" in str(reasons["many"])
    assert reasons["ill"] is None
    assert len(found.failed) == 4
    assert found["ill"].scores
    assert repr(found).startswith("Tasks(unknown -, constant -, words -, many -, ill accuracy 0.")
    assert found.to_dict()["tasks"]["constant"]["scores"] == []
    few = unveil.tasks(table[:9], table[:9], TASKS[0], same_order=True)
    assert "9 original records with a usable target cannot fill 5 folds" in str(few["ill"].reason)


def test_a_task_names_its_columns_and_kind() -> None:
    with pytest.raises(ArgumentError, match="from itself"):
        unveil.Task("x", "a", ["a", "b"])
    with pytest.raises(ArgumentError, match="needs a target"):
        unveil.Task("x")
    with pytest.raises(ArgumentError, match="has no target"):
        unveil.Task("x", "a", kind="clustering")
    with pytest.raises(ArgumentError, match=r"'clasification' is unknown.*did you mean 'classification'"):
        unveil.Task("x", "a", kind="clasification")
    with pytest.raises(ArgumentError, match="fewer than 2 clusters"):
        unveil.Task("x", kind="clustering", clusters=1)


@pytest.mark.parametrize("options", [{"folds": 1}, {"seed": -1}, {"sample": 0}])
def test_options_that_cannot_be_are_refused(options: Any) -> None:
    with pytest.raises(ArgumentError, match=next(iter(options))):
        unveil.tasks(people(), people(), TASKS, same_order=True, **options)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unveil\[tasks\]'"):
        unveil.tasks(people(), people(), TASKS, same_order=True)
    with pytest.raises(MissingExtraError, match=r"unveil\[tasks\]"):
        unveil.pmse(people(), people())


def test_is_a_result() -> None:
    found = unveil.tasks(people(), noisy(people()), TASKS, same_order=True)
    frame = found.to_frame()
    assert frame["model"].to_list()[:2] == ["tree", "tree"]
    assert set(frame.filter(pl.col("measure") == "mae")["higher_is_better"]) == {False}
    assert "groups: clustering" in found._repr_html_()
    document = found.to_dict()
    assert document["tasks"]["pay"]["scores"][0]["release"]["mean"] == found["pay"].score("ridge", "r2").release.mean
    assert document["alignment"]["by"] == "same order"
    best = found["ill"].best()
    assert best is not None
    assert best.release.mean == max(frame.filter((pl.col("task") == "ill") & (pl.col("measure") == "accuracy"))["release"])
    with pytest.raises(ArgumentError, match="score 'tree r2' is unknown"):
        found["ill"].score("tree", "r2")


def test_numbers_whose_squares_are_none_are_learnt_from_but_not_predicted() -> None:
    table = people(60)
    far = table.with_columns(pl.col("age") * 2.0**1010)
    plain, scaled = (unveil.loss(one, one, same_order=True, tasks=["ill"], pmse=True).to_dict() for one in (table, far))
    assert scaled["tasks"] == plain["tasks"]
    assert scaled["pmse"]["pmse"] == pytest.approx(plain["pmse"]["pmse"], abs=1e-12)
    refused = unveil.loss(far, far, same_order=True, tasks=["age"])
    assert "too large for a regression" in refused.failed[0]


def test_records_that_floats_hardly_tell_apart_are_clustered_without_a_warning() -> None:
    table = pl.DataFrame({"x": [0.0, 2.0**53, 2.0**53 - 1, 5.0] * 15})
    task = unveil.Task("groups", given=["x"], kind="clustering", clusters=3)
    assert unveil.tasks(table, table, task, same_order=True).to_dict()["tasks"]["groups"]["scores"]
