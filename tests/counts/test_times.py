"""Times that Python cannot tell apart are counted apart all the same, in data and in counts that are measured again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import unveil
from unveil.models import KAnonymity

HOURS = (
    pl.Series(["2020-10-25T00:30", "2020-10-25T01:30"] * 3).str.to_datetime(time_zone="UTC").dt.convert_time_zone("Europe/Paris")
)
TIMES = {
    "a nanosecond": pl.Series([1, 2] * 3).cast(pl.Datetime("ns")),
    "a time of day": pl.Series([1, 2] * 3).cast(pl.Time),
    "a duration": pl.Series([1, 2] * 3).cast(pl.Duration("ns")),
    "the hour that is repeated": HOURS,
    "a microsecond": pl.Series([1_000, 2_000] * 3).cast(pl.Datetime("ns")),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES.keys())
def test_times_that_differ_by_a_little_are_counted_apart(times: pl.Series) -> None:
    counts = unveil.count(pl.DataFrame({"seen": times}), "seen")
    assert counts.n.tolist() == [3, 3]
    assert (counts + counts).n.tolist() == [6, 6]
    assert unveil.measure(counts, "seen").to_dict()["classes"] == 2


def test_times_that_differ_by_a_nanosecond_are_released_in_a_stream(tmp_path: Path) -> None:
    table, out = tmp_path / "times.parquet", tmp_path / "release.parquet"
    pl.DataFrame({"seen": TIMES["a nanosecond"]}).write_parquet(table)
    with unveil.Run(limits=unveil.Limits(stream_from=1)):
        unveil.anonymize(table, "seen", [KAnonymity(3)], out=out)
    assert sorted(pl.read_parquet(out)["seen"].to_physical().to_list()) == [1, 1, 1, 2, 2, 2]


def test_counts_add_up_with_nothing_but_counts() -> None:
    counts = unveil.count("paper-2", "Disease")
    with pytest.raises(TypeError):
        _ = counts + 3
    with pytest.raises(TypeError):
        _ = counts - 3
