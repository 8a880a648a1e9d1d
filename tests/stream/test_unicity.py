"""Unicity: decided exactly, against a brute force over all sets; draws with an interval that holds what it says."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.cli import run
from unveil.errors import ArgumentError, UndefinedMeasureError
from unveil.stream.derived_columns import Decimals, GridCell, Hours, Period, Weekday, parse_derived
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
    assert Period("t", 24).column(frame).to_list() == ["2026-03-01T00:00", None, None, "2026-03-04T00:00"]
    assert Period("t", 0.25).column(frame).to_list() == ["2026-03-01T23:45", None, None, "2026-03-04T00:00"]
    corners = pl.DataFrame({"lat": [90.0, -90.0, 91.0], "lon": [180.0, -180.0, 0.0]})
    assert GridCell("lat", "lon", 4).column(corners).to_list() == ["3333", "0000", None]
    fine = GridCell("lat", "lon", 9).column(corners).to_list()
    assert [code and code[:4] for code in fine] == ["3333", "0000", None]
    assert parse_derived("lat2 = decimals(lat, 2)") == ("lat2", Decimals("lat", 2))


@pytest.mark.parametrize(
    "text",
    [
        "cell",
        "a=cell(lat)",
        "a=hours(when, 7)",
        "a=period(when, 0)",
        "a=period(when, 1e9)",
        "a=decimals(x, y)",
        "a=cell(lat, lon, 99)",
    ],
)
def test_what_is_no_derived_column_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="derived column"):
        parse_derived(text)


def test_what_makes_no_sense_is_refused() -> None:
    table = pl.DataFrame({"who": [1], "where": [1]})
    with pytest.raises(ArgumentError, match="other than"):
        unicity(table, "who", ["who"])
    with pytest.raises(ArgumentError, match="p is 0"):
        unicity(table, "who", "where", p=0)


def test_records_without_a_person_or_a_whole_point_are_left_out() -> None:
    table = pl.DataFrame({"who": ["a", None, "b", "b", "c"], "where": [1, 1, 1, 2, None]})
    answer = unicity(table, "who", "where", p=1)
    assert (answer.persons, answer.points, answer.records, answer.left_out) == (2, 2, 5, 2)
    assert answer.by_points[0].share == pytest.approx((0 + 1 / 2) / 2)
    assert "Left out: 2 records" in str(answer.view())
    with pytest.raises(UndefinedMeasureError, match="no trajectory"):
        unicity(table.filter(pl.col("who").is_null()), "who", "where")


# The command ----------------------------------------------------------------------------------------------------------

VISITED = """who,lat,lon,when
ann,48.8566,2.3522,2026-03-02T08:10:00Z
ann,45.76,4.83,2026-03-02T19:00:00Z
bob,48.8567,2.3521,2026-03-02T08:50:00Z
bob,43.3,5.4,2026-03-02T19:30:00Z
eve,48.8566,2.3522,2026-03-03T08:15:00Z
eve,?,2.3522,2026-03-03T08:15:00Z
"""


@pytest.mark.parametrize(
    ("time", "one"),
    [("hour=hours(when,1)", (1 / 2 + 1 / 2 + 0) / 3), ("hour=period(when,1)", (1 / 2 + 1 / 2 + 1) / 3)],
)
def test_the_command_measures_points_of_places_and_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time: str, one: float
) -> None:
    place, page = tmp_path / "visits.csv", tmp_path / "unicity.html"
    place.write_text(VISITED, "utf-8")
    words = ["unicity", str(place), "--person", "who", "--derive", "where=cell(lat,lon,12)", "--derive", time, "--missing", "?"]
    assert run([*words, "--points", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["share"] for row in answer["unicity"]] == pytest.approx([one, 1.0])
    assert (answer["point"], answer["left_out"]) == (["where", "hour"], 1)
    assert run([*words, "--out", str(page)]) == 0
    assert "Persons singled out" in page.read_text("utf-8")


def test_the_command_takes_person_and_point_from_the_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "visits.csv").write_text("who,where\na,1\na,2\nb,1\n", "utf-8")
    project = tmp_path / "unveil.toml"
    project.write_text(
        '[data]\npath = "visits.csv"\n[attributes.who]\nrole = "person"\n[attributes.where]\nrole = "key"\n', "utf-8"
    )
    assert run(["unicity", str(project), "--points", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["person"], answer["point"], answer["unicity"][0]["share"]) == ("who", ["where"], 0.25)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name it with --person"),
        (("--person", "who"), "name columns with --key"),
        (("--person", "nobody", "--key", "lat"), "'nobody' not found"),
        (("--person", "who", "--key", "who"), "other than"),
        (("--person", "who", "--derive", "x=cell(lat,long)"), "did you mean 'lon'"),
    ],
)
def test_a_command_without_sense_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    place = tmp_path / "visits.csv"
    place.write_text(VISITED, "utf-8")
    assert run(["unicity", str(place), *words]) == 2
    assert said in capsys.readouterr().err


def test_numbers_in_categories_are_places_too() -> None:
    texts = pl.Series("lat", ["48.13", "here"])
    expected = Decimals("lat", 1).column(texts.to_frame()).to_list()
    assert expected == ["48.1", None]
    assert Decimals("lat", 1).column(texts.cast(pl.Categorical).to_frame()).to_list() == expected
    numbers = pl.DataFrame({"^b.*$": [48.13, None]})  # a name that Polars takes for a pattern
    assert Decimals("^b.*$", 1).column(numbers).to_list() == expected
