"""What do the values of a release say beyond what they are? The places that records had, and what stood there before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import limited
from unveil import mechanisms

RECORDS = 4_000
RANDOM = np.random.default_rng(3)
AGES = pl.DataFrame({"age": RANDOM.integers(18, 40, RECORDS)})
GAINS = pl.DataFrame({"gain": np.where(RANDOM.random(RECORDS) < 0.8, 0, RANDOM.integers(1_000, 20_000, RECORDS))})


def test_resampled_values_do_not_follow_the_places_of_equal_ones() -> None:
    made = mechanisms.resample(AGES, "age", samples=5)
    age, after = AGES["age"].to_numpy()[made.origin], made.data["age"].to_numpy()
    found = [np.corrcoef(after[age == one], made.origin[age == one])[0, 1] for one in range(19, 39)]
    assert abs(np.mean(found)) < 0.2


def test_equal_values_in_the_middle_of_a_file_are_rank_swapped_as_often_as_others() -> None:
    after = mechanisms.rank_swap(AGES, "age", window=1, keep_order=True).data["age"]
    found = AGES.with_columns(changed=after != AGES["age"], at=pl.int_range(pl.len()).over("age") / pl.len().over("age"))
    middle = found.filter(pl.col("at").is_between(0.3, 0.7))
    assert np.mean(middle["changed"].to_numpy()) > 0.5 * np.mean(found["changed"].to_numpy())


def _zeros_at_the_end(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many of the last bits of each number are zero."""
    bits = values.view(np.uint64) & np.uint64((1 << 52) - 1) | np.uint64(1 << 52)
    return np.array([(int(one) & -int(one)).bit_length() - 1 for one in bits])


@pytest.mark.parametrize("method", ["uncorrelated", "correlated", "linear"])
def test_the_last_bits_of_noisy_values_do_not_tell_zeros_from_others(method: str) -> None:
    after = mechanisms.add_noise(GAINS, "gain", method=method, amount=0.5, keep_order=True).data["gain"].to_numpy()
    assert _zeros_at_the_end(after[after != 0.0]).min() >= 20, "the bits in which zeros and others differ are gone"
    assert len(np.unique(after)) > 0.99 * RECORDS


NAMES = [f"person{at:04}" for at in RANDOM.permutation(RECORDS)]
NAMED = pl.DataFrame({"name": pl.Series(NAMES, dtype=pl.Enum(NAMES)), "age": AGES["age"]})


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_lists_no_names_of_people_who_are_not_in_it(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"release.{ending}"
    made = mechanisms.sample(unveil.Study(NAMED, keep="name"), size=10)
    made.write(out)
    found = pl.read_parquet(out) if ending == "parquet" else pl.read_ipc(out)
    assert found["name"].to_list() == made.data["name"].to_list()
    assert found.schema["name"] == pl.String
    assert out.stat().st_size < 5_000


def test_a_streamed_file_lists_no_names_of_people_who_are_not_in_it(tmp_path: Path) -> None:
    data, out = tmp_path / "data.parquet", tmp_path / "release.parquet"
    nulls = pl.Series(NAMES[:2] * (RECORDS // 2), dtype=pl.Enum(NAMES))
    NAMED.with_columns(name=nulls).write_parquet(data)
    with limited(stream_from=1):
        unveil.anonymize(data, ["age"], [unveil.models.KAnonymity(5)], out=out)
    assert pl.read_parquet(out).schema["name"] == pl.String
