"""Towns that lie in counties that lie in states: hierarchies that the table itself writes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.models import KAnonymity
from unveil.search.nesting import Nested, nested_places
from unveil.sources import load
from unveil.study import CodedColumns


def places(records: int = 600, *, slips: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    town = rng.integers(0, 60, records)
    state = town // 20
    state[:slips] = (state[:slips] + 1) % 3
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, records),
            "town": [f"town {one}" for one in town],
            "county": [f"county {one // 5}" for one in town],
            "state": [f"state {one}" for one in state],
            "dept": [f"dept {one // 7}" for one in town],
            "region": rng.choice(["north", "south"], records),
        }
    )


def found(frame: pl.DataFrame) -> dict[str, tuple[Nested, str]]:
    return nested_places(CodedColumns({one.name: one for one in load(frame, frame.columns).columns}))


@pytest.mark.parametrize("slips", [0, 4])
def test_places_are_chained(slips: int) -> None:
    nested = found(places(slips=slips))
    assert {name: rule.within for name, (rule, _) in nested.items()} == {"town": ("county", "state"), "county": ("state",)}
    assert "town in county in state" in nested["town"][1]
    labels = nested["town"][0].build(["town 7", "town 41", None], column="town").labels
    assert labels == (("town 7", "county 1", "state 0", "*"), ("town 41", "county 8", "state 2", "*"))


def test_what_contradicts_too_often_is_not_chained() -> None:
    assert {name: rule.within for name, (rule, _) in found(places(slips=60)).items()} == {"town": ("county",)}


def test_one_place_alone_lies_in_nothing() -> None:
    assert found(places().select("town", "age", "dept")) == {}
    unique = pl.DataFrame({"town": [f"t{at}" for at in range(50)], "state": ["a", "b"] * 25})
    assert found(unique) == {}


def test_a_hierarchy_is_proposed_from_the_other_columns() -> None:
    report = unveil.propose_hierarchy(places(), "town")
    assert report.hierarchy.height == 3
    assert report.to_dict()["rule"] == {"rule": "nested", "within": ["county", "state"]}
    assert [row["groups"] for row in report.to_dict()["levels"]] == [60, 12, 3, 1]
    records = places().group_by("county").len()["len"]
    assert report.to_dict()["levels"][1]["most_records"] == records.max()
    assert report.to_dict()["levels"][1]["fewest_records"] == records.min()


def test_anonymize_takes_the_chain_where_all_of_it_is_key() -> None:
    release = unveil.anonymize(places(), ["town", "county", "state"], [KAnonymity(5)], suppression=0.0)
    assert {*release.data["town"]} <= {f"town {n}" for n in range(60)} | {f"county {n}" for n in range(12)} | {
        "state 0",
        "state 1",
        "state 2",
        "*",
    }
    assert release.data.group_by("town", "county", "state").len()["len"].min() >= 5
