"""Every measure keeps its laws: bounds, row order, names of values, the table doubled, one key attribute more.

Each law has a list of the figures that keep it, and a list of those that need not, with the reason; a figure that is on neither
fails the last test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import unveil
from unveil import testing
from unveil.models.registry import MODELS

SECRET = "c"  # noqa: S105 - a column
KEY = ["a", "b"]
ORDER = {SECRET: ["x", "y", "z", "A0", "Z9", "m"]}
OF_SETS = {"km_anonymity"}
"""Only asked of a column that the user says holds sets; its laws are in tests/models/test_sets.py."""
ASKED = {
    "estimated_k_map", "no_attack", "profitable", "grassberger_l_diversity", "population_uniqueness", "sample_uniqueness",
    "present_delta_disclosure",
}  # fmt: skip
"""Measured only where they are asked for; each is tested against its formula in tests/models/test_size_models.py and beside it."""
POPULATION = {"k_map", "delta_presence"}
"""They compare with a population, and have tests of their own."""


def figures(frame: pl.DataFrame, key: Sequence[str]) -> dict[str, float | None]:
    """Return every figure that `measure` and `discrimination_rate` give, by the name of its measure."""
    found = unveil.measure(frame, key, SECRET, orders=ORDER)
    values = {" ".join([place[0], *place[2:]]): one.value for place, one in found.models.items()}
    values |= {f"prosecutor {name}": found.risk["prosecutor"][name] for name in ("highest", "average")}
    values |= {f"vulnerability {name}": found.vulnerability[name]["posterior"] for name in (SECRET, "re_identification")}
    values["sample uniques"] = found.uniqueness["sample"]["share"]
    values["rate of identity"] = unveil.discrimination_rate(frame, key).value
    rate = unveil.discrimination_rate(frame, key, SECRET)
    return values | {"rate": rate.value, "adjusted rate": rate.adjusted}


DISTANCES = ["equal", "rank", "variational", "kl", "js"]
BOUNDS: dict[str, tuple[float, float]] = {
    "k_anonymity": (1, math.inf), "average_risk": (0, 1), "p_sensitivity": (1, math.inf), "distinct_l_diversity": (1, math.inf),
    "entropy_l_diversity": (1, math.inf), "recursive_l_diversity 2": (0, math.inf), "recursive_l_diversity 3": (0, math.inf),
    "alpha": (0, 1), "basic_beta_likeness": (0, math.inf), "enhanced_beta_likeness": (0, math.inf),
    "delta_disclosure": (0, math.inf), "prosecutor highest": (0, 1), "prosecutor average": (0, 1),
    f"vulnerability {SECRET}": (0, 1), "vulnerability re_identification": (0, 1), "sample uniques": (0, 1), "rate": (0, 1),
    "rate of identity": (0, 1), "adjusted rate": (-math.inf, 1),
    **{f"t_closeness {name}": (0, math.inf if name == "kl" else 1) for name in DISTANCES},
}  # fmt: skip
OF_VALUES_IN_ORDER = {"t_closeness rank"}
OF_NUMBERS_OF_RECORDS = {
    "k_anonymity", "average_risk", "prosecutor highest", "prosecutor average", "sample uniques", "rate of identity",
    "vulnerability re_identification", "adjusted rate",
}  # fmt: skip
"""They count records, or what chance gives so many of them."""
OF_CHANCE = {"adjusted rate"}
"""What chance gives grows with the classes."""
GIVEN_UP_TO_L = {"recursive_l_diversity 2", "recursive_l_diversity 3"}
"""Given as long as every class holds so many values, so a further attribute may end it."""
SAFE_IS_HIGH = {kind.name for kind in MODELS if kind.safe_is_high}


def varied(frame: pl.DataFrame) -> pl.DataFrame:
    assume(frame[SECRET].n_unique() > 1)
    return frame


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_figures_lie_between_their_bounds(frame: pl.DataFrame) -> None:
    testing.bounded(figures, varied(frame), KEY, BOUNDS)


@given(testing.tables(nulls=False), st.integers(0, 9))
@settings(max_examples=20)
def test_row_order_changes_nothing(frame: pl.DataFrame, seed: int) -> None:
    testing.unmoved_by_row_order(figures, varied(frame), KEY, BOUNDS, Random(seed))  # noqa: S311 - rows to shuffle


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_names_of_values_change_nothing(frame: pl.DataFrame) -> None:
    testing.unmoved_by_names(figures, varied(frame), KEY, BOUNDS.keys() - OF_VALUES_IN_ORDER)


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_the_table_doubled_changes_nothing(frame: pl.DataFrame) -> None:
    testing.unmoved_by_doubling(figures, varied(frame), KEY, BOUNDS.keys() - OF_NUMBERS_OF_RECORDS)


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_a_further_key_attribute_is_never_safer(frame: pl.DataFrame) -> None:
    names = BOUNDS.keys() - OF_CHANCE - GIVEN_UP_TO_L
    testing.riskier_with_more_columns(figures, varied(frame), KEY, names, safe_is_high=SAFE_IS_HIGH)


def test_no_measure_is_missing_from_the_lists() -> None:
    frame = pl.DataFrame({"a": ["x"] * 6, "b": ["y"] * 6, "c": ["x", "y", "z"] * 2})
    assert set(figures(frame, KEY)) == set(BOUNDS)
    assert {name.split(" ")[0] for name in BOUNDS} >= {kind.name for kind in MODELS} - POPULATION - OF_SETS - ASKED


@pytest.mark.parametrize(
    ("law", "arguments"),
    [
        (testing.bounded, ({"rows": (0, 1)},)),
        (testing.unmoved_by_row_order, (["first"], Random(0))),  # noqa: S311 - rows to shuffle
        (testing.unmoved_by_names, (["first"],)),
        (testing.unmoved_by_doubling, (["rows"],)),
        (testing.riskier_with_more_columns, (["fewer"],)),
    ],
)
def test_a_law_that_is_broken_is_told(law: object, arguments: tuple[object, ...]) -> None:
    def broken(frame: pl.DataFrame, key: Sequence[str]) -> dict[str, float | None]:
        return {"rows": frame.height, "first": ord(frame["a"][0][0]), "fewer": -len(key)}

    frame = pl.DataFrame({"a": ["x", "y", "z"], "b": ["x", "x", "y"]})
    with pytest.raises(AssertionError, match=r"rows|first|fewer"):
        law(broken, frame, KEY, *arguments)  # type: ignore[operator]
