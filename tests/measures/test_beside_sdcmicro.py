"""What sdcMicro 5.8.1 gave on Adult, where both tools compute the same: each figure was printed by a run of it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.measures.individual import individual_risk
from unveil.measures.special_uniqueness import special_uniqueness
from unveil.measures.wildcard import wildcard_sums

KEYS = ["education", "marital-status", "race", "sex", "workclass"]
SEVEN = ["age", "education", "marital-status", "race", "sex", "native-country", "workclass"]
NUMBERS = ["age", "fnlwgt", "education-num", "hours-per-week"]


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    """Adult with a weight of its own for each record."""
    weight = (pl.col("fnlwgt") / 1000).round().cast(pl.Int64) + 1
    table: pl.DataFrame = unveil.datasets.adult().with_columns(weight=weight)
    return table


def test_freqcalc_counts_records_and_weights_of_the_key(adult: pl.DataFrame) -> None:
    key = unveil.count(adult, KEYS, weights="weight").classes(KEYS)
    assert int((key.n**2).sum()) == 18_281_890
    assert float(key.n @ key.mass) == 3_456_460_133
    assert [int(key.n[key.n == size].sum() / size) for size in (1, 2)] == [542, 249]
    risk = individual_risk(key.n, key.mass)
    small = key.n <= 10
    assert int(key.n[small].sum()) == 3096
    assert float(key.n[small] @ risk.risk[small]) == pytest.approx(28.032351753811, abs=1e-11)
    rough, closed = individual_risk(key.n, key.mass, method="approximate"), key.n != 3  # of which it takes the approximation too
    assert float(key.n[closed] @ rough.risk[closed]) == pytest.approx(28.740538112424, abs=1e-11)


@pytest.mark.parametrize(
    ("alpha", "records", "weights", "under_three"),
    [(1.0, 39_185_854, 7_471_738_271, 152), (0.5, 31_822_900.5, 6_058_785_167.5, 285), (0.0, 24_459_947, 4_645_832_064, 1003)],
)
def test_freqcalc_lets_nulls_match_anything(
    adult: pl.DataFrame, alpha: float, records: float, weights: float, under_three: int
) -> None:
    row = pl.int_range(1, adult.height + 1)
    holes = adult.with_columns(
        pl.when(row % 7 == 0).then(None).otherwise(pl.col("education")).alias("education"),
        pl.when(row % 11 == 0).then(None).otherwise(pl.col("race")).alias("race"),
    )
    key = unveil.count(holes, KEYS, weights="weight").classes(KEYS)
    matched = wildcard_sums(key, key.n, alpha=alpha)
    assert float(key.n @ matched) == records
    assert float(key.n @ wildcard_sums(key, key.mass, alpha=alpha)) == weights
    assert int(key.n[matched < 3].sum()) == under_three


@pytest.mark.parametrize(
    ("keys", "total", "special", "highest", "contributions"),
    [
        (KEYS, 970, 542, 0.120628877, [89.3814432990, 74.5360824742, 67.8350515464, 36.8041237113, 74.5360824742]),
        (
            SEVEN, 336_634, 7653, 0.765054342,
            [80.1443110322, 49.5116357825, 30.6920869550, 19.1587896647, 13.6195393216, 58.0966271975, 27.2916580025],
        ),
    ],
)  # fmt: skip
def test_suda2_finds_the_same_special_uniques(
    adult: pl.DataFrame, keys: list[str], total: int, special: int, highest: float, contributions: list[float]
) -> None:
    result = special_uniqueness(unveil.count(adult, keys), keys)
    assert int(result.score.sum()) == total
    assert int(np.count_nonzero(result.score)) == special
    assert float(result.dis_score.max()) == pytest.approx(highest, rel=1e-6)  # sdcMicro has single precision here
    assert 100 * result.contribution == pytest.approx(np.array(contributions), abs=1e-9)


@pytest.mark.parametrize(("k", "loss"), [(3, 0.006552350274563941), (5, 0.0121036094946678)])
def test_mdav_makes_groups_of_the_same_spread_and_refining_makes_better_ones(adult: pl.DataFrame, k: int, loss: float) -> None:
    plain = mechanisms.microaggregate(adult[NUMBERS], NUMBERS, k=k, refine=False, seed=0)
    refined = mechanisms.microaggregate(adult[NUMBERS], NUMBERS, k=k, seed=0)
    assert plain.figures["loss"] == pytest.approx(loss, rel=1e-12)
    assert refined.figures["loss"] < 0.9 * loss


def test_dutility_measures_the_same_loss(adult: pl.DataFrame) -> None:
    steps = dict(zip(NUMBERS, (5, 10_000, 2, 10), strict=True))
    original = adult[NUMBERS]
    release = original.with_columns((pl.col(name) // step * step).alias(name) for name, step in steps.items())
    figures = unveil.loss(original, release, same_order=True).to_dict()["continuous"]
    cells = original.height * len(NUMBERS)
    assert cells * figures["il1s"] == pytest.approx(12_198.118469235, rel=1e-12)
    assert 100 * cells * figures["data"]["variation"] == pytest.approx(657_793.39711965, rel=1e-12)
    assert len(NUMBERS) * figures["eigenvalues"]["variation"] == pytest.approx(0.0345765133633, rel=1e-10)


@pytest.mark.parametrize(("keys", "cells"), [(KEYS, 1049), ([*KEYS, "native-country"], 2479)])
def test_kanon_takes_more_cells_for_three_matches_in_the_release(adult: pl.DataFrame, keys: list[str], cells: int) -> None:
    release = unveil.suppress_locally(adult.select(keys), keys, 3, against="release", seed=0)
    assert release.k == 3
    assert release.details["cells"] < cells / 2
