"""Can a reader of a report find out what is masked in one place from what stands in another?"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil

TOWNS = pl.DataFrame(
    [("Tinyville", "plague")] * 5
    + [("Hamlet", "flu")] * 2
    + [(town, ill) for town in ("Lille", "Metz", "Nancy", "Paris") for ill in ["flu"] * 6 + ["cold"] * 6 + ["gout"] * 4],
    schema=["town", "illness"],
    orient="row",
)


def shown(rates: list[dict[str, Any]], name: str) -> set[Any]:
    return {one["value"] for rate in rates if rate["attribute"] == name for one in rate["riskiest_values"]}


def test_what_identifies_and_what_discloses_show_the_same_values() -> None:
    """A value that only the second leaves out would be one that discloses."""
    found = unveil.assess(TOWNS, key="town", sensitive="illness").to_dict()
    identity, disclosure = shown(found["identity"]["attributes"], "town"), shown(found["disclosure"][0]["attributes"], "town")
    assert identity == disclosure
    assert identity
    assert "Tinyville" not in json.dumps(found)


@pytest.mark.parametrize("seed", [9, 17, 41, 53, 54, 59])
def test_a_class_that_decides_does_not_name_a_value_masked_elsewhere(seed: int) -> None:
    """Of two masked values the one named in a large class is not the small one, so the other is."""
    random = np.random.default_rng(seed)
    records, towns = int(random.integers(8, 60)), int(random.integers(2, 5))
    share = random.dirichlet(np.ones(towns) * 0.6)
    people = pl.DataFrame(
        {
            "town": random.choice([f"T{at}" for at in range(towns)], records, p=share),
            "age": random.choice(["A0", "A1", "A2"], records, p=[0.6, 0.3, 0.1]),
            "illness": random.choice(["flu", "cold", "gout"], records, p=[0.7, 0.2, 0.1]),
        }
    )
    found = unveil.assess(people, key=["town", "age"], sensitive="illness").to_dict()
    named = dict.fromkeys(re.findall(r'"(T\d|A\d)"', json.dumps(found["measurement"])))
    listed = {value for name in ("town", "age") for value in shown(found["identity"]["attributes"], name)}
    assert set(named) <= listed
