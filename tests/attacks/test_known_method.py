"""Intruders who know the method: against likelihoods written out, against those who do not know it, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import unveil
from unveil import mechanisms
from unveil.attacks import distance_linkage
from unveil.attacks.linkage.deconvolution import noise_removed
from unveil.attacks.linkage.known_method import KnownMethod, _by_rank, linked_by_method
from unveil.attacks.linkage.linkage_sections import LikelihoodMatches
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.study import ColumnPair

RANDOM = np.random.default_rng(0)
NUMBERS = pl.DataFrame(RANDOM.multivariate_normal(np.zeros(4), 0.4 + 0.6 * np.eye(4), 600), schema=["a", "b", "c", "d"])
WORDS = pl.DataFrame({name: RANDOM.choice(list("uvwxyz"), 300, p=[0.5, 0.2, 0.1, 0.1, 0.06, 0.04]) for name in "abcdef"})


def linked(original: pl.DataFrame, release: pl.DataFrame, **told: Any) -> LikelihoodMatches:
    pairs = [ColumnPair(name, name) for name in original.columns]
    return linked_by_method(original, release, pairs, np.arange(original.height), KnownMethod.of(told))


def shared_first(likelihood: Any) -> float:
    """The share of records whose true one has the highest likelihood, shared out among equals."""
    best = likelihood >= likelihood.max(axis=1, keepdims=True) - 1e-9
    return float(np.mean(np.diag(best) / best.sum(axis=1)))


@pytest.mark.parametrize(("window", "least"), [(5.0, 0.9), (10.0, 0.55)])
def test_whoever_knows_the_window_of_rank_swapping_finds_more(window: float, least: float) -> None:
    release = mechanisms.rank_swap(NUMBERS, NUMBERS.columns, window=window, keep_order=True, seed=1).data
    plain = distance_linkage(NUMBERS, release, np.arange(600)).value
    found = linked(NUMBERS, release, mechanism="rank_swap", window=window)
    assert found["one_by_one"] > plain + 0.1
    assert found["all_at_once"] > max(found["one_by_one"], least)
    assert found["linked"] == found["all_at_once"]
    assert found["interval"]["low"] < found["linked"] < found["interval"]["high"]


def test_moves_of_rank_swapping_have_the_probability_that_swapping_gives_them() -> None:
    """The likelihood of each move, against how often the mechanism makes it."""
    values, times = pl.DataFrame({"a": np.arange(200.0)}), np.zeros(401)
    for seed in range(150):
        moved = mechanisms.rank_swap(values, "a", window=10, keep_order=True, seed=seed).data["a"].to_numpy()
        np.add.at(times, (moved - np.arange(200.0)).astype(int) + 200, 1)
    made = np.exp(_by_rank(values["a"].to_numpy(), values["a"].to_numpy(), 10.0)(np.array([100]))[0])
    for start in range(81, 120, 5):
        share = times[100 + start : 105 + start].sum() / times.sum()
        assert made[start : start + 5].sum() == pytest.approx(share, rel=0.35, abs=0.01)
    assert made[:79].max() < 1e-10


def test_shared_values_stand_for_all_their_ranks() -> None:
    values = np.array([1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0] * 4)
    found = np.exp(_by_rank(values, values, 20.0)(np.arange(40)))
    single = np.exp(_by_rank(np.arange(40.0), np.arange(40.0), 20.0)(np.arange(40)))
    order = np.argsort(values, kind="stable")
    for one, other in ((0, 3), (4, 4), (6, 9), (2, 4)):
        mine, theirs = (np.flatnonzero(values[order] == values[at]) for at in (one, other))
        assert found[other, one] == pytest.approx(single[np.ix_(theirs, mine)].sum() / len(mine), abs=1e-9)


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated", "linear"])
def test_noise_is_linked_by_its_density(kind: str) -> None:
    release = mechanisms.add_noise(NUMBERS, NUMBERS.columns, amount=0.1, method=kind, keep_order=True, seed=1).data
    before, after = NUMBERS.to_numpy(), release.to_numpy()
    spread = np.cov(before.T) * 0.1
    if kind == "uncorrelated":
        spread = np.diag(np.diag(spread))
    if kind == "linear":
        after = before.mean(axis=0) + (after - before.mean(axis=0)) * np.sqrt(1.1)
    density = stats.multivariate_normal(np.zeros(4), spread).logpdf(after[:, None, :] - before[None, :, :])
    found = linked(NUMBERS, release, mechanism="add_noise", amount=0.1, method=kind)
    assert found["one_by_one"] == pytest.approx(shared_first(density), abs=1e-9)
    assert found["all_at_once"] > found["one_by_one"]


def test_pram_is_linked_by_its_matrix() -> None:
    release = mechanisms.pram(WORDS, WORDS.columns, retention=0.8, keep_order=True, seed=1).data
    found = linked(WORDS, release, mechanism="pram", retention=0.8)
    likelihood = np.zeros((300, 300))
    for name in WORDS.columns:
        size = WORDS[name].n_unique()
        same = release[name].to_numpy()[:, None] == WORDS[name].to_numpy()[None, :]
        likelihood += np.log(np.where(same, 0.8, 0.2 / (size - 1)))
    assert found["one_by_one"] == pytest.approx(shared_first(likelihood), abs=1e-9)
    matrix = {
        name: {
            true: {shown: 0.8 if true == shown else 0.2 / (WORDS[name].n_unique() - 1) for shown in WORDS[name].unique()}
            for true in WORDS[name].unique()
        }
        for name in WORDS.columns
    }
    assert linked(WORDS, release, mechanism="pram", matrix=matrix)["one_by_one"] == pytest.approx(found["one_by_one"])


def test_attributes_that_were_not_treated_must_be_equal() -> None:
    people = NUMBERS.select("a").with_columns(town=pl.int_range(pl.len()) % 50)
    release = mechanisms.rank_swap(people, "a", window=20, keep_order=True, seed=1).data
    found = linked(people, release, mechanism="rank_swap", window=20, attributes=["a"])
    assert found["linked"] > 3 * linked(people.select("a"), release.select("a"), mechanism="rank_swap", window=20)["linked"]


def test_the_command_line_knows_the_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = mechanisms.rank_swap(NUMBERS, NUMBERS.columns, window=10, keep_order=True, seed=1).data
    paths = [str(tmp_path / name) for name in ("original.csv", "release.csv")]
    NUMBERS.write_csv(paths[0])
    release.write_csv(paths[1])
    assert run(["attack", *paths, "--same-order", "--method", "rank_swap", "--set", "window=10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["linkage"]
    assert found["strongest"] == "known_method"
    assert found["known_method"]["linked"] > found["euclidean"]["linked"]
    assert run(["attack", *paths, "--same-order", "--set", "window=10"]) == 2
    assert run(["attack", *paths, "--method", "rank_swap", "--set", "window=10"]) == 2
    assert "name their correspondence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"mechanism": "magic"}, "rank_swap, add_noise, pram"),
        ({"mechanism": "rank_swap"}, "window"),
        ({"mechanism": "rank_swap", "window": 0}, "above 0"),
        ({"mechanism": "rank_swap", "k": 5}, "'k'"),
        ({"mechanism": "add_noise", "amount": 0.1, "method": "non-linear"}, "uncorrelated"),
        ({"mechanism": "pram", "retention": 2.0}, "at most 1"),
        ({"mechanism": "rank_swap", "window": 5, "attributes": ["e"]}, "treat e, which is not"),
        ({"mechanism": "pram", "matrix": {"a": 1}}, "matrix"),
    ],
)
def test_what_is_refused(told: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        unveil.attack(NUMBERS, NUMBERS, same_order=True, method=told)
    with pytest.raises(ArgumentError, match="numbers without nulls"):
        unveil.attack(WORDS, WORDS, same_order=True, method={"mechanism": "rank_swap", "window": 5})


@pytest.mark.parametrize("k", [3, 30])
def test_whoever_knows_that_attributes_were_averaged_alone_finds_nearly_all(k: int) -> None:
    """Written out: a record fits a release record if each of its ranks is among those that the released average stands for."""
    release = mechanisms.microaggregate(
        NUMBERS, NUMBERS.columns, k=k, method="optimal", together=False, keep_order=True, seed=1
    ).data
    fits = np.ones((600, 600), dtype=bool)
    for name in NUMBERS.columns:
        before, after = NUMBERS[name].to_numpy(), release[name].to_numpy()
        rank = stats.rankdata(before) - 1
        for at, average in enumerate(after):
            group = np.sort(rank)[int((after < average).sum()) : int((after <= average).sum())]
            fits[at] &= (rank >= group.min()) & (rank <= group.max())
    found = linked(NUMBERS, release, mechanism="microaggregate", k=k, method="optimal")
    exact = float(np.mean(np.diag(fits) / fits.sum(axis=1)))
    assert found["one_by_one"] == pytest.approx(exact, abs=0.01)
    assert found["linked"] >= distance_linkage(NUMBERS, release, np.arange(600)).value - 0.01


@pytest.mark.parametrize("k", [3, 5])
def test_groups_together_are_found_but_nobody_in_them(k: int) -> None:
    """Of the groups in which k records are equal, an intruder finds whose is whose with a chance of one in k."""
    release = mechanisms.microaggregate(NUMBERS, NUMBERS.columns, k=k, keep_order=True, seed=1).data
    found = linked(NUMBERS, release, mechanism="microaggregate", k=k)
    groups = release.unique().height
    assert found["linked"] <= groups / 600 + 1e-9
    assert found["linked"] > 0.9 * groups / 600


def test_noise_of_known_variance_is_partly_taken_away_again() -> None:
    """Against the mean of the true density given the released value, integrated for two peaks."""
    random, amount = np.random.default_rng(3), 0.5
    peaks, width = np.array([-3.0, 3.0]), 0.5
    true = random.choice(peaks, 4000) + random.normal(0, width, 4000)
    spread = np.sqrt(amount * true.var())
    noisy = true + random.normal(0, spread, 4000)
    grid = np.linspace(-8, 8, 1601)
    density = sum(stats.norm.pdf(grid, peak, width) for peak in peaks)
    near = stats.norm.pdf(noisy[:, None], grid[None, :], spread) * density
    ideal = (near @ grid) / near.sum(axis=1)
    best = 1.0 - np.mean((ideal - true) ** 2) / np.mean((noisy - true) ** 2)
    found = noise_removed(true, noisy, amount)
    assert best > 0.5
    assert 0.85 * best < found <= best + 0.02
    frame, release = pl.DataFrame({"a": true[:600], "b": true[600:1200]}), pl.DataFrame({"a": noisy[:600], "b": noisy[600:1200]})
    told = linked(frame, release, mechanism="add_noise", amount=amount)["noise_removed"]
    assert set(told) == {"a", "b"}
    assert min(told.values()) > 0.3


def test_what_is_wrongly_known_of_microaggregation_is_refused() -> None:
    for settings in ({}, {"k": 1}, {"k": 3, "method": "groups"}, {"k": 3, "window": 5}):
        with pytest.raises(ArgumentError):
            linked(NUMBERS, NUMBERS, mechanism="microaggregate", **settings)
