"""Synthetic data: relations are kept, records that equal an original are counted, and nothing else of the original is there."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, MissingExtraError, NullsError, UnsupportedDataError
from unveil.mechanisms.smoothing import taken_smoothed

NAMES = ["sex", "relationship", "age", "education", "hours-per-week"]


def test_distributions_and_relations_are_kept() -> None:
    adult = unveil.datasets.adult()
    made = mechanisms.synthesize(adult, NAMES, seed=2)
    assert made.data.shape == (adult.height, 5)
    assert made.data.schema == adult.select(NAMES).schema
    for name in ("age", "hours-per-week"):
        assert stats.ks_2samp(made.data[name].to_numpy(), adult[name].to_numpy()).statistic < 0.02
    for name in ("sex", "education", "relationship"):
        before, after = (Counter(frame[name].to_list()) for frame in (adult, made.data))
        assert max(abs(before[value] - after[value]) for value in before) / adult.height < 0.01
    before, after = (
        frame.filter(pl.col("relationship") == "Husband").select((pl.col("sex") == "Male").mean()).item()
        for frame in (adult, made.data)
    )
    assert after == pytest.approx(before, abs=0.01)
    ages = [
        frame.group_by("relationship").agg(pl.col("age").mean()).sort("relationship")["age"].to_numpy()
        for frame in (adult, made.data)
    ]
    assert np.abs(ages[0] - ages[1]).max() < 1.0


def test_records_that_equal_an_original_are_counted() -> None:
    adult = unveil.datasets.adult()
    made = mechanisms.synthesize(adult, NAMES, records=2000, seed=3)
    originals = Counter(adult.select(NAMES).rows())
    held = [originals[row] for row in made.data.rows()]
    assert made.figures["equal_share"] == pytest.approx(np.mean([n > 0 for n in held]))
    assert made.figures["equal_to_unique_share"] == pytest.approx(np.mean([n == 1 for n in held]))
    assert 0 < made.figures["equal_to_unique_share"] < made.figures["equal_share"] < 1
    assert made.origin.tolist() == [-1] * 2000


def test_a_holdout_shows_what_chance_does() -> None:
    adult = unveil.datasets.adult()
    order = np.random.default_rng(7).permutation(adult.height)
    half, other = adult[order[:15_000]], adult[order[15_000:30_000]]
    made = mechanisms.synthesize(half, NAMES, records=3000, leaf=1, copy_check=False, holdout=other, seed=3)
    others = Counter(other.select(NAMES).rows())
    held = [others[row] for row in made.data.rows()]
    assert made.figures["holdout_equal_share"] == pytest.approx(np.mean([n > 0 for n in held]))
    assert made.figures["holdout_equal_to_unique_share"] == pytest.approx(np.mean([n == 1 for n in held]))
    assert made.figures["holdout_records"] == 15_000
    assert made.figures["equal_to_unique_share"] > 1.2 * made.figures["holdout_equal_to_unique_share"]  # leaves of one copy
    assert any("hold-out was not used" in note for note in made.notes)
    alone = mechanisms.synthesize(half, ["sex"], seed=3)
    assert "holdout_equal_share" not in alone.figures
    assert any("is not all disclosure" in note for note in alone.notes)
    with pytest.raises(ColumnNotFoundError, match="sex"):
        mechanisms.synthesize(half, ["sex"], holdout=other.drop("sex"), seed=1)


def copied(original: pl.DataFrame, release: pl.DataFrame, other: pl.DataFrame) -> tuple[float, float]:
    """Return the shares of the unique people of the original, and of others, whom the release reproduces."""
    times, made = Counter([*original.rows(), *other.rows()]), set(release.rows())
    sides = ([row for row in table.rows() if times[row] == 1] for table in (original, other))
    seen, unseen = (float(np.mean([row in made for row in side])) for side in sides)
    return seen, unseen


def test_unique_people_are_reproduced_no_more_often_than_strangers() -> None:
    adult = unveil.datasets.adult().select([*NAMES, "occupation", "workclass"])
    order = np.random.default_rng(8).permutation(adult.height)
    half, other = adult[order[:15_000].tolist()], adult[order[15_000:30_000].tolist()]
    plain = mechanisms.synthesize(half, half.columns, leaf=5, copy_check=False, seed=1)
    seen, unseen = copied(half, plain.data, other)
    assert seen > 3 * unseen
    for leaf in (None, 5):
        made = mechanisms.synthesize(half, half.columns, leaf=leaf, seed=1)
        seen, unseen = copied(half, made.data, other)
        assert 0.5 * unseen < seen < unseen + 2 * np.sqrt(2 * unseen / 12_000)
        assert made.figures["drawn_again"] > 0
        assert made.figures["copies_left"] == 0


def test_copies_that_cannot_be_avoided_are_told() -> None:
    numbers = pl.DataFrame({"a": list(range(0, 600, 2))})
    for left, said in (
        (50, "50 records equal a unique original one and are"),
        (1, "1 record equals a unique original one and is"),
    ):
        made = mechanisms.synthesize(numbers, "a", records=left, smooth=False, seed=1)
        assert made.figures["copies_left"] == left
        assert any(note.startswith(said) for note in made.notes)


def test_numbers_of_one_person_are_blurred_and_shared_ones_kept() -> None:
    column = pl.Series("pay", [1.25, 7.5, 7.5, 9.75, 20.0, None])
    rows = np.repeat(np.arange(6), 4_000)
    found = taken_smoothed(column, rows, np.random.default_rng(0)).to_numpy().reshape(6, -1)
    bounds = [(1.25, (1.25 + 7.5) / 2), (7.5, 7.5), (7.5, 7.5), ((7.5 + 9.75) / 2, (9.75 + 20) / 2), ((9.75 + 20) / 2, 20.0)]
    for drawn, (low, high) in zip(found, bounds, strict=False):
        assert low - 0.006 <= drawn.min() <= low + 0.1
        assert high - 0.1 <= drawn.max() <= high + 0.006
        assert np.allclose(np.round(drawn, 2), drawn)
    assert np.isnan(found[5]).all()
    whole = taken_smoothed(pl.Series("n", [1, 50, 100]), np.repeat([0, 1, 2], 100), np.random.default_rng(0))
    assert whole.dtype == pl.Int64
    assert whole.n_unique() > 20


def test_the_private_synthesis_has_a_holdout_too() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 100, "who": range(200)})
    options: dict[str, Any] = {"method": "marginals", "epsilon": 50.0, "domains": {"a": ["x", "y"]}, "records": 30}
    made = mechanisms.synthesize(frame, "a", holdout=pl.DataFrame({"a": ["x"]}), person="who", **options)
    share = made.data["a"].eq("x").mean()
    assert made.not_private["holdout_equal_share"] == made.not_private["holdout_equal_to_unique_share"] == share
    assert made.settings["protects"] == "person"
    with pytest.raises(ArgumentError, match="only synthesis from marginals takes person"):
        mechanisms.synthesize(frame, "a", person="who", seed=1)
    with pytest.raises(ArgumentError, match="testing=True"):
        mechanisms.synthesize(frame, "a", seed=3, **options)


def test_a_leaf_holds_enough_records() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=400)
    frame = pl.DataFrame({"x": x, "y": x})
    one, whole = (
        mechanisms.synthesize(frame, ["x", "y"], leaf=leaf, copy_check=False, smooth=False, seed=1) for leaf in (1, 400)
    )
    assert one.data["x"].equals(one.data["y"].alias("x"))
    assert one.figures["equal_share"] == 1.0
    assert abs(np.corrcoef(whole.data["x"], whole.data["y"])[0, 1]) < 0.2
    assert abs(np.corrcoef(mechanisms.synthesize(frame, ["x", "y"], seed=1).data.to_numpy().T)[0, 1]) > 0.95


def test_kinds_and_nulls() -> None:
    frame = pl.DataFrame(
        {
            "day": [date(2020, 1, 1) + timedelta(days=at % 9) for at in range(300)],
            "flag": [None if at % 3 == 0 else at % 2 == 0 for at in range(300)],
            "size": [None if at % 3 == 0 else float(at) for at in range(300)],
        }
    )
    made = mechanisms.synthesize(frame, ["day", "flag", "size"], nulls="keep", seed=1)
    assert made.data.schema == frame.schema
    assert 60 < made.data["flag"].null_count() < 140
    assert (made.data["flag"].is_null() == made.data["size"].is_null()).mean() > 0.95
    assert mechanisms.synthesize(frame, ["day", "flag"], nulls="drop", seed=1).records.records == 200
    with pytest.raises(NullsError):
        mechanisms.synthesize(frame, ["day", "flag"], seed=1)


def test_same_seed_same_release_on_every_library() -> None:
    frame = unveil.datasets.adult().head(800).select(NAMES)
    made = [
        mechanisms.synthesize(some, NAMES, seed=4)
        for some in (frame, pd.DataFrame(frame.to_dict(as_series=False)), frame.to_arrow())
    ]
    assert isinstance(made[1].data, pd.DataFrame)
    for name in NAMES:
        assert made[0].data[name].to_list() == made[1].data[name].tolist() == made[2].data[name].to_pylist()
    assert not mechanisms.synthesize(frame, NAMES, seed=5).data.equals(made[0].data)


def test_marginals_are_the_private_synthesis() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 100})
    made = mechanisms.synthesize(frame, "a", method="marginals", epsilon=1.0, domains={"a": ["x", "y"]}, records=30)
    assert made.mechanism == "dp_synthesis"
    assert made.records.records == 30
    assert made.settings["epsilon"] == 1.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "network"}, "method 'network'"),
        ({"method": "marginals"}, "needs epsilon and domains"),
        ({"method": "marginals", "epsilon": 0, "domains": {"a": [1]}}, "epsilon"),
        ({"epsilon": 1.0}, "no differential privacy"),
        ({"leaf": 0}, "leaf"),
        ({"records": 0}, "records"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        mechanisms.synthesize(pl.DataFrame({"a": [1, 2, 3]}), "a", **options)


def test_what_trees_cannot_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="2,000 names"):
        mechanisms.synthesize(pl.DataFrame({"n": [str(at) for at in range(2000)]}), "n", seed=1)
    with pytest.raises(UnsupportedDataError):
        mechanisms.synthesize(pl.DataFrame({"n": [[1], [2]]}), "n", seed=1)
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(MissingExtraError, match=r"unveil\[tasks\]"):
        mechanisms.synthesize(pl.DataFrame({"a": [1, 2], "b": [1, 2]}), ["a", "b"], seed=1)
