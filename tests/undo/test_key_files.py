"""What can somebody undo who has two releases of the same data made with the same key file, but not the key?

Two releases that differ in anything must share no draws: what one of them leaves as it is shows what was drawn for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from unveil import mechanisms
from unveil.errors import ArgumentError

RECORDS = 1_000
VALUES = "abcde"
RANDOM = np.random.default_rng(11)
PEOPLE = pl.DataFrame(
    {
        "age": RANDOM.integers(18, 90, RECORDS).astype(float),
        "pay": RANDOM.normal(3_000, 500, RECORDS).round(),
        "town": RANDOM.integers(0, 100, RECORDS),
        "illness": RANDOM.choice(list(VALUES), RECORDS),
    }
)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    place = tmp_path / "secret.key"
    place.write_text("0f2b6a90c4d34e5b8a7719d2e6c1b3f4")
    return place


def test_noise_of_one_attribute_is_not_seen_in_a_release_where_another_is_exact(key_file: Path) -> None:
    def noisy(attributes: list[str]) -> pl.DataFrame:
        made: pl.DataFrame = mechanisms.add_noise(PEOPLE, attributes, amount=1.0, keep_order=True, key_file=key_file).data
        return made

    one, both = noisy(["age"]), noisy(["age", "pay"])
    seen = (both["pay"] - PEOPLE["pay"]).to_numpy()  # pay is exact in the first release
    added = (one["age"] - PEOPLE["age"]).to_numpy()[1::2]
    assert abs(np.corrcoef(seen[: len(added)], added)[0, 1]) < 0.2


def test_noise_with_covariances_that_print_alike_is_drawn_anew(key_file: Path) -> None:
    def added(covariance: float) -> Any:
        given = np.array([[covariance]])
        made = mechanisms.add_noise(
            PEOPLE, "age", method="correlated", covariance=given, keep_order=True, key_file=key_file, amount=1.0
        )
        return (made.data["age"] - PEOPLE["age"]).to_numpy()

    assert abs(np.corrcoef(added(100.0), added(100.0 + 1e-9))[0, 1]) < 0.2


def test_two_anatomies_are_not_joined_by_group_or_place(key_file: Path) -> None:
    first, second = (mechanisms.anatomize(PEOPLE, [name], "illness", l=3, key_file=key_file) for name in ("age", "town"))
    assert np.mean(first.origin == second.origin) < 0.05
    groups = [dict(zip(made.origin.tolist(), made.quasi["group"], strict=True)) for made in (first, second)]
    assert np.mean([groups[0][row] == groups[1][row] for row in range(RECORDS)]) < 0.05


def _matrix(stays: float) -> dict[str, dict[str, float]]:
    return {one: {other: stays if one == other else (1.0 - stays) / 4 for other in VALUES} for one in VALUES}


def _pram(stays: float, key_file: Path) -> pl.Series:
    made: pl.Series = mechanisms.pram(PEOPLE, "illness", matrix=_matrix(stays), keep_order=True, key_file=key_file).data[
        "illness"
    ]
    return made


def _rank_swap(order: str, key_file: Path) -> Any:
    made = mechanisms.rank_swap(
        PEOPLE.with_columns(row=pl.int_range(RECORDS)).with_columns(row=pl.col("row").cast(pl.String)),
        "row",
        window=20,
        orders={"row": [str(one) for one in (range(RECORDS) if order == "up" else reversed(range(RECORDS)))]},
        keep_order=True,
        key_file=key_file,
    )
    partner = made.data["row"].cast(pl.Int64).to_numpy()
    return partner if order == "up" else RECORDS - 1 - partner[::-1]


def test_two_matrices_have_draws_of_their_own(key_file: Path) -> None:
    agree = np.mean((_pram(0.5, key_file) == _pram(0.3, key_file)).to_numpy())
    assert agree < 0.5 * 0.3 + 0.5 * 0.7 / 4 + 0.08, "as often as if drawn independently"


def test_two_orders_have_draws_of_their_own(key_file: Path) -> None:
    assert np.mean(_rank_swap("up", key_file) == _rank_swap("down", key_file)) < 0.05


@pytest.mark.parametrize("again", [lambda key: _pram(0.5, key).to_list(), lambda key: _rank_swap("up", key).tolist()])
def test_the_same_question_has_the_same_draws(again: Callable[[Path], Any], key_file: Path) -> None:
    assert again(key_file) == again(key_file)


def test_a_setting_of_thousands_of_digits_is_refused(key_file: Path) -> None:
    with pytest.raises(ArgumentError, match="window is a number of more than 30 digits"):
        mechanisms.rank_swap(PEOPLE, ["pay"], window=10**5_000, key_file=key_file)
