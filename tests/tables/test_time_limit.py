"""A time limit holds for every method and for the audit; what is returned passed the audit, wherever the time ran out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, TableError
from unveil.time_limit import OutOfTime, check_time, limited, time_left

METHODS = ("lp", "gauss", "optimal")


def table() -> Any:
    counts = np.random.default_rng(11).integers(0, 9, (4, 4))
    rows = np.repeat(np.argwhere(counts > 0), counts[counts > 0], axis=0)
    return unveil.table(pl.DataFrame(rows, schema=["a", "b"]).cast(pl.String), ["a", "b"])


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass whenever somebody looks at the clock, so that the time runs out at the same place on every machine."""
    ticks = itertools.count()
    monkeypatch.setattr("unveil.time_limit.time.monotonic", lambda: float(next(ticks)))


@pytest.mark.parametrize("method", METHODS)
def test_no_time_at_all_releases_nothing(method: str) -> None:
    with pytest.raises(TableError, match=r"no pattern passed the audit within the `time_limit` of 1e-09 s"):
        table().suppress("threshold=3", method=method, time_limit=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_enough_time_changes_nothing(method: str) -> None:
    made = table()
    limited_one, other = (made.suppress("threshold=3", method=method, time_limit=limit) for limit in (600, None))
    assert not limited_one.timed_out
    assert np.array_equal(limited_one.status, other.status)
    assert (limited_one.bound, limited_one.exact) == (other.bound, other.exact)
    assert np.allclose(limited_one.high, other.high)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("insiders", ["none", "singletons"])
@pytest.mark.parametrize("method", METHODS)
def test_wherever_the_time_runs_out_only_safe_patterns_are_returned(method: str, insiders: Any) -> None:
    made = table()
    whole = made.suppress("threshold=3", method=method, insiders=insiders)
    outcomes = set()
    for seconds in (*range(20, 700, 20), 30_000):
        try:
            found = made.suppress("threshold=3", method=method, insiders=insiders, time_limit=seconds)
        except TableError:
            outcomes.add("nothing")
            continue
        outcomes.add("cut short" if found.timed_out else "whole")
        again = unveil.tables.audit(found, original=made, rules="threshold=3", insiders=insiders)
        assert found.safe
        assert not again.exposed.any()
        assert found.bound is None or found.bound <= found.cost
        if not found.timed_out:
            assert np.array_equal(found.status, whole.status)
        assert found.to_dict()["timed_out"] == found.timed_out
    assert outcomes == {"nothing", "cut short", "whole"}


@pytest.mark.usefixtures("ticking")
def test_a_limit_within_another_ends_with_it() -> None:
    with limited(10) as outer:
        with limited(1_000):
            assert time_left() < 10
        with pytest.raises(OutOfTime), limited(0.5):
            check_time()
        assert outer.expired
        assert time_left() > 0
    assert time_left() == math.inf
    check_time()


def test_a_limit_must_be_some_time() -> None:
    for work in (
        lambda: table().suppress("threshold=3", time_limit=-1),
        lambda: unveil.tables.adjust(table(), "threshold=3", time_limit=-1),
        lambda: unveil.tables.round_table(table(), base=3, time_limit=-1),
    ):
        with pytest.raises(ArgumentError, match="time_limit is -1; it must be at least 0"):
            work()
