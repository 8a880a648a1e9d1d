"""Sampling: fractions hold, every record has the same chance, strata get their share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.mechanisms import sample as draw

METHODS: list[dict[str, Any]] = [{"method": "simple"}, {"method": "systematic"}, {"method": "stratified", "strata": "s"}]


def sample(data: Any, **options: Any) -> Any:
    """Draw a sample that keeps the numbers of its records, and their strata, in however few records."""
    return draw(unveil.Study(data, keep=["id", "s"]), **options)


def table(records: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame({"id": np.arange(records), "s": np.array(["a", "b", None])[rng.choice(3, records, p=[0.6, 0.3, 0.1])]})


@pytest.mark.parametrize("options", METHODS)
@given(records=st.integers(1, 60), share=st.floats(0.01, 1.0), seed=st.integers(0, 99))
def test_the_fraction_holds_and_no_record_comes_twice(options: dict[str, Any], records: int, share: float, seed: int) -> None:
    wanted = round(share * records)
    if not wanted:
        with pytest.raises(ArgumentError, match="no record"):
            sample(table(records), share=share, seed=seed, **options, keep_order=True)
        return
    release = sample(table(records), share=share, seed=seed, **options, keep_order=True)
    rows = release.data["id"].to_list()
    assert len(rows) == wanted
    assert rows == sorted(set(rows)) == release.origin.tolist()
    assert release.data.equals(table(records)[rows])
    assert release.figures["share"] * release.figures["weight"] == pytest.approx(1.0)
    assert sample(table(records), size=wanted, seed=seed, **options, keep_order=True).data.equals(release.data)


@pytest.mark.parametrize("options", METHODS)
def test_every_record_has_the_same_chance(options: dict[str, Any]) -> None:
    """500 draws of 6 of 20: each record in 0.3 of them, within 4.5 standard errors."""
    frame = pl.DataFrame({"id": np.arange(20), "s": ["a"] * 10 + ["b"] * 10})
    drawn = np.zeros(20)
    for seed in range(500):
        drawn[sample(frame, size=6, seed=seed, **options, keep_order=True).origin] += 1
    assert np.abs(drawn / 500 - 0.3).max() < 4.5 * np.sqrt(0.3 * 0.7 / 500)


def test_systematic_steps_are_even() -> None:
    rows = sample(table(103), size=10, method="systematic", keep_order=True, seed=1).origin
    assert set(np.diff(rows)) <= {10, 11}


def test_strata_get_their_share_within_one_record() -> None:
    frame = table(997)
    release = sample(frame, share=0.13, method="stratified", strata=["s"], seed=5, keep_order=True)
    before, after = (dict(one["s"].value_counts().rows()) for one in (frame, release.data))
    assert all(abs(after[value] - 0.13 * n) < 1.0 for value, n in before.items())
    assert release.figures["strata"] == 3
    assert sample(frame, size=1, method="stratified", strata="s", keep_order=True, seed=1).figures["strata_without_a_record"] == 2


@pytest.mark.parametrize("options", METHODS)
def test_seeds_and_libraries(options: dict[str, Any]) -> None:
    frame = table(200)
    first = sample(frame, share=0.1, seed=1, **options, keep_order=True).data["id"].to_list()
    assert sample(frame.to_pandas(), share=0.1, seed=1, **options, keep_order=True).data["id"].tolist() == first
    assert sample(frame.to_arrow(), share=0.1, seed=1, **options, keep_order=True).data["id"].to_pylist() == first
    assert any(sample(frame, share=0.1, seed=seed, **options, keep_order=True).data["id"].to_list() != first for seed in (2, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give the share of records to keep or their number"),
        ({"share": 0.1, "size": 3}, "not both"),
        ({"share": 0}, "share is 0; it must be above 0 and at most 1"),
        ({"share": 1.5}, "share is 1.5"),
        ({"size": 11}, "size is 11, and there are only 10 records"),
        ({"size": 0}, "size is 0; it must be at least 1"),
        ({"size": 3, "method": "cluster"}, "method 'cluster' is unknown"),
        ({"size": 3, "method": "stratified"}, "go together"),
        ({"size": 3, "strata": "s"}, "go together"),
        ({"size": 3, "seed": 1.5}, "seed must be a whole number, not a float"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        sample(table(10), **options, keep_order=True)


def test_the_answer_shows_itself() -> None:
    release = sample(table(10), size=5, keep_order=True, seed=1)
    assert repr(release) == "Release(sampling; 5 records; share 0.5000; weight 2.0000; repeatable)"
    assert release.view().title == "sampling"
    assert release.to_dict()["attributes"] == []


def test_an_unknown_stratum() -> None:
    with pytest.raises(ColumnNotFoundError):
        sample(table(10), size=3, method="stratified", strata="region", keep_order=True, seed=1)
