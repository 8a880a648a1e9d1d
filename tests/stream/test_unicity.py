"""Unicity: decided exactly, against a brute force over all sets; draws with an interval that holds what it says."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.errors import ArgumentError
from unveil.stream.derived import Decimals, GridCell, Hours, Weekday, parse_derived
from unveil.stream.unicity import unicity


def by_hand(visits: list[tuple[int, int]], p: int) -> tuple[float | None, int]:
    """Return the mean over persons of the share of their sets of p points that nobody else has, and who has fewer."""
    trajectories: dict[int, set[int]] = {}
    for person, point in visits:
        trajectories.setdefault(person, set()).add(point)
    shares = []
    for person, points in trajectories.items():
        sets = [set(one) for one in combinations(points, p)]
        if sets:
            others = [other for name, other in trajectories.items() if name != person]
            shares.append(sum(not any(one <= other for other in others) for one in sets) / len(sets))
    return (sum(shares) / len(shares) if shares else None), len(trajectories) - len(shares)


VISITS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=30)


@settings(max_examples=80, deadline=None)
@given(VISITS, st.integers(1, 4))
def test_all_sets_give_the_definition(visits: list[tuple[int, int]], p: int) -> None:
    table = pl.DataFrame(visits, schema=["who", "where"], orient="row")
    (answer,) = unicity(table, "who", "where", p=p, draws=100).by_points
    share, short = by_hand(visits, p)
    assert answer.short == short
    if share is None:
        assert answer.share is None
    else:
        assert answer.share == pytest.approx(share, abs=1e-12)
        assert answer.low == answer.high == pytest.approx(share, abs=1e-12)


def crowd(seed: int = 5) -> list[tuple[int, int]]:
    draw = np.random.default_rng(seed)
    return [(person, int(point)) for person in range(60) for point in draw.zipf(1.3, 14) % 40]


def test_the_interval_of_drawn_sets_holds_the_share_of_all() -> None:
    visits = crowd()
    table = pl.DataFrame(visits, schema=["who", "where"], orient="row")
    truth, _ = by_hand(visits, 2)
    assert truth is not None
    assert 0.05 < truth < 0.95
    answers = [unicity(table, "who", "where", p=2, draws=10, seed=seed).by_points[0] for seed in range(200)]
    held = sum(one.low <= truth <= one.high for one in answers if one.low is not None and one.high is not None)
    assert held >= 186  # 95 % of 200, and four standard errors
    assert np.mean([one.share for one in answers if one.share is not None]) == pytest.approx(truth, abs=0.01)


def test_drawn_sets_have_p_different_points() -> None:
    # each person has one point of his own and two that all share: two points single out unless they are the shared ones
    visits = [(person, point) for person in range(30) for point in (100 + person, 1, 2)]
    table = pl.DataFrame(visits, schema=["who", "where"], orient="row")
    (answer,) = unicity(table, "who", "where", p=2, draws=2, seed=3).by_points
    assert answer.exact == 0
    assert answer.share == pytest.approx(2 / 3, abs=0.2)
    (three,) = unicity(table, "who", "where", p=3, draws=1).by_points
    assert three.share == 1.0


def test_points_of_places_and_times() -> None:
    """The documents' location service: who sends requests from where, and when, as a grid cell and an hour."""
    requests = pl.DataFrame(
        {
            "who": ["ann", "ann", "bob", "bob", "eve"],
            "lat": [48.8566, 45.76, 48.8567, 43.3, 48.8566],
            "lon": [2.3522, 4.83, 2.3521, 5.4, 2.3522],
            "when": [
                "2026-03-02T08:10:00Z",
                "2026-03-02T19:00:00Z",
                "2026-03-02T08:50:00Z",
                "2026-03-02T19:30:00Z",
                "2026-03-02T08:15:00Z",
            ],
        }
    )
    derived: dict[str, Any] = {"cell": GridCell("lat", "lon", 12), "hour": Hours("when")}
    answer = unicity(requests, "who", ["cell", "hour"], p=[1, 2], derived=derived)
    one, two = answer.by_points
    assert one.share == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)  # the morning's place is common to all, the evening's is not
    assert (two.share, two.persons, two.short) == (1.0, 2, 1)
    assert answer.to_dict()["unicity"][1]["share"] == 1.0
    assert "points known" in answer._repr_html_()


def test_rules_of_places_and_times() -> None:
    frame = pl.DataFrame({"x": [0.29, -0.5, None, 1e300], "t": ["2026-03-01T23:59:00Z", "x", None, "2026-03-04"]})
    assert Decimals("x", 2).column(frame).to_list() == ["0.29", "-0.50", None, None]
    assert Decimals("x", 0).column(frame).to_list() == ["0", "-1", None, None]
    assert Weekday("t").column(frame).to_list() == ["Sunday", None, None, "Wednesday"]
    assert Hours("t", 0.25).column(frame).to_list() == ["23:45", None, None, "00:00"]
    corners = pl.DataFrame({"lat": [90.0, -90.0, 91.0], "lon": [180.0, -180.0, 0.0]})
    assert GridCell("lat", "lon", 4).column(corners).to_list() == ["3333", "0000", None]
    fine = GridCell("lat", "lon", 9).column(corners).to_list()
    assert [code and code[:4] for code in fine] == ["3333", "0000", None]
    assert parse_derived("lat2 = decimals(lat, 2)") == ("lat2", Decimals("lat", 2))


@pytest.mark.parametrize("text", ["cell", "a=cell(lat)", "a=hours(when, 7)", "a=decimals(x, y)", "a=cell(lat, lon, 99)"])
def test_what_is_no_derived_column_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="derived column"):
        parse_derived(text)


def test_what_makes_no_sense_is_refused() -> None:
    table = pl.DataFrame({"who": [1], "where": [1]})
    with pytest.raises(ArgumentError, match="other than"):
        unicity(table, "who", ["who"])
    with pytest.raises(ArgumentError, match="p is 0"):
        unicity(table, "who", "where", p=0)
