"""MASSC: strata from their definition, rates that solve the linear program, a risk that is kept, weights that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, NullsError
from unveil.mechanisms.agglomeration.calibration import raked
from unveil.mechanisms.agglomeration.strata import agglomerate, donors, least_change
from unveil.sources.coding import encode
from unveil.testing import tables

KEY = ["age", "education", "race", "native-country"]


def adult(records: int = 4000) -> pl.DataFrame:
    frame: pl.DataFrame = unveil.datasets.adult().head(records)
    return frame


def codes_of(frame: pl.DataFrame) -> tuple[list[Any], list[int]]:
    coded = [encode(frame[name]) for name in frame.columns]
    return [column.codes for column in coded], [len(column.values) for column in coded]


@given(tables(columns=3))
def test_strata_follow_the_definition(frame: pl.DataFrame) -> None:
    found = agglomerate(*codes_of(frame))
    rows = frame.rows()
    for at, row in enumerate(rows):
        unique = [known for known in (1, 2, 3) if sum(other[:known] == row[:known] for other in rows) == 1]
        assert found.stratum[at] == (min(unique) if unique else 0)
    assert found.weight.tolist() == [0, 1, pytest.approx(2 / 3), pytest.approx(1 / 3)]


@given(tables(columns=3), st.integers(0, 99))
def test_donors_have_another_key_and_agree_as_long_as_any(frame: pl.DataFrame, seed: int) -> None:
    rows = frame.rows()
    if len(set(rows)) == 1:
        return
    found = agglomerate(*codes_of(frame))
    for row, donor in zip(rows, donors(found, np.arange(len(rows)), np.random.default_rng(seed)), strict=True):
        agreement = [next((at for at in range(3) if row[at] != other[at]), 3) for other in rows]
        best = max(n for n in agreement if n < 3)
        assert agreement[donor] == best


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), min_size=1, max_size=5),
    st.floats(0, 0.4),
    st.floats(0.5, 1),
    st.floats(0, 1),
)
def test_rates_solve_the_linear_program(strata: list[tuple[int, float]], low: float, high: float, part: float) -> None:
    records, risk = np.array([n for n, _ in strata]), np.array([round(r, 3) for _, r in strata])
    amount = records * risk
    most = float(amount.sum()) * part
    rates = least_change(records, risk, low, high, most)
    solved = linprog(records, A_ub=[-amount], b_ub=[most - amount.sum()], bounds=[(low, high)] * len(records))
    if solved.status == 2:
        assert np.allclose(rates[amount > 0], high)
    else:
        assert amount @ (1 - rates) <= most + 1e-9 + 1e-7 * most
        assert records @ rates == pytest.approx(solved.fun, abs=1e-6, rel=1e-6)
    assert np.all((rates >= low - 1e-12) & (rates <= high + 1e-12))


def test_the_risk_is_reached_and_holds_on_average() -> None:
    data = adult(1500)
    draws = [mechanisms.massc(data, KEY, risk=0.05, calibrate="sex", seed=seed, keep_order=True) for seed in range(40)]
    assert all(made.figures["risk"] == pytest.approx(0.05) for made in draws)
    assert draws[0].figures["risk_before"] > 0.08
    found = np.array([made.figures["risk_of_this_draw"] for made in draws])
    assert found.mean() == pytest.approx(0.05, abs=4 * found.std() / np.sqrt(40))


def test_the_risk_of_a_draw_follows_the_definition() -> None:
    data = adult(600)
    made = mechanisms.massc(data, KEY, risk=0.1, seed=3, keep_order=True)
    keys, out = data.select(KEY).rows(), made.data.select(KEY).rows()
    identified = 0
    for known in range(1, 5):
        counts: dict[Any, int] = {}
        for row in keys:
            counts[row[:known]] = counts.get(row[:known], 0) + 1
        identified += sum(
            counts[keys[row][:known]] == 1 and keys[row] == after for row, after in zip(made.origin.tolist(), out, strict=True)
        )
    assert made.figures["risk_of_this_draw"] == pytest.approx(identified / 4 / 600)


def test_rates_hold_and_only_keys_change() -> None:
    data = adult()
    made = mechanisms.massc(data, KEY, risk=1.0, substitution=(0.2, 0.5), sampling=(0.5, 0.8), seed=4, keep_order=True)
    assert made.records.records == pytest.approx(3200, abs=120)
    before = data[made.origin]
    changed = np.mean([one != other for one, other in zip(before.select(KEY).rows(), made.data.select(KEY).rows(), strict=True)])
    assert changed == pytest.approx(0.2, abs=0.03)
    assert made.figures["substituted"] == round(changed * made.records.records)
    assert made.data["occupation"].equals(before["occupation"])
    assert made.figures["substitution_by_stratum"]["not unique"] == 0.2


def test_weights_add_up_to_the_totals_of_the_original() -> None:
    data = adult()
    made = mechanisms.massc(
        data, ["education", "race"], risk=0.001, calibrate=["education", "race", "sex"], seed=2, keep_order=True
    )
    assert made.figures["lost_values"] == 0
    assert made.figures["calibration_gap"] < 1e-8
    for name in ("education", "race", "sex"):
        before = dict(data.group_by(name).len().rows())
        after = dict(made.data.group_by(name).agg(pl.col("weight").sum()).rows())
        assert after == pytest.approx(before)


def test_given_weights_are_calibrated() -> None:
    data = adult(1000).with_columns(pl.Series("w", np.random.default_rng(1).uniform(1, 3, 1000)))
    made = mechanisms.massc(data, ["education", "race"], risk=0.5, calibrate="sex", weights="w", seed=2, keep_order=True)
    before = dict(data.group_by("sex").agg(pl.col("w").sum()).rows())
    assert dict(made.data.group_by("sex").agg(pl.col("w").sum()).rows()) == pytest.approx(before)
    assert "weight" not in made.data.columns


def test_raking_shares_out_what_is_lost() -> None:
    weights, gap = raked(np.ones(3), [np.array([0, 0, 1])], [np.array([2.0, 1.0, 3.0])])
    assert weights == pytest.approx([2, 2, 2])
    assert gap < 1e-9


def test_libraries_and_seeds() -> None:
    data = adult(500).select([*KEY, "sex"])
    made = [
        mechanisms.massc(some, KEY, risk=0.2, calibrate="sex", seed=7, keep_order=True)
        for some in (data, pd.DataFrame(data.to_dict(as_series=False)), data.to_arrow())
    ]
    for name in (*KEY, "sex", "weight"):
        assert made[0].data[name].to_list() == made[1].data[name].tolist() == made[2].data[name].to_pylist()
    assert mechanisms.massc(data, KEY, risk=0.2, seed=8, keep_order=True).origin.tolist() != made[0].origin.tolist()


def test_nulls_are_a_value_when_kept() -> None:
    data = pl.DataFrame({"k": ["a", "b", None, "a"] * 20, "x": range(80)})
    made = mechanisms.massc(data, "k", risk=1.0, nulls="keep", seed=1, keep_order=True)
    assert set(made.data["k"].to_list()) == {"a", "b", None}
    assert set(mechanisms.massc(data, "k", risk=1.0, nulls="drop", seed=1, keep_order=True).data["k"].to_list()) == {"a", "b"}
    with pytest.raises(NullsError):
        mechanisms.massc(data, "k", risk=1.0, keep_order=True, seed=1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"risk": -0.1}, "risk"),
        ({"risk": 0.0}, "can be lowered only to"),
        ({"risk": 0.1, "substitution": 0.5}, "substitution must be a list of 2"),
        ({"risk": 0.1, "substitution": (0.5, 0.1)}, "the least comes first"),
        ({"risk": 0.1, "sampling": (0.0, 0.5)}, "above 0"),
        ({"risk": 0.1, "sampling": (0.5, 1.5)}, "from 0 to 1"),
        ({"risk": 0.5, "weights": "sex"}, "needs numbers"),
        ({"risk": 0.5, "weights": "capital-gain"}, "not positive"),
        ({"risk": 0.5, "weights": "age"}, "one side only"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        mechanisms.massc(adult(500), KEY, **options, keep_order=True)


def test_a_key_of_one_value_and_a_column_in_the_way_are_refused() -> None:
    with pytest.raises(ArgumentError, match="same key"):
        mechanisms.massc(pl.DataFrame({"k": ["a", "a"]}), "k", risk=0.5, keep_order=True, seed=1)
    with pytest.raises(ArgumentError, match="'weight'"):
        mechanisms.massc(pl.DataFrame({"k": ["a", "b"], "weight": [1, 2]}), "k", risk=0.5, keep_order=True, seed=1)


def test_weights_start_from_one_over_the_probability_of_staying() -> None:
    data = adult(1500)
    made = mechanisms.massc(data, KEY, risk=0.06, substitution=(0.1, 0.1), calibrate="sex", seed=6, keep_order=True)
    phi = list(made.figures["sampling_by_stratum"].values())
    assert len({round(rate, 6) for rate in phi}) > 1
    stratum = agglomerate(*codes_of(data.select(KEY))).stratum[made.origin]
    scaled = made.data["weight"].to_numpy() * np.array(phi)[stratum]
    for sex in ("Male", "Female"):
        of_sex = scaled[(made.data["sex"] == sex).to_numpy()]
        assert of_sex == pytest.approx(np.full(len(of_sex), of_sex[0]))


def test_weights_need_not_be_calibrated_to_anything() -> None:
    made = mechanisms.massc(adult(300), KEY, risk=0.5, calibrate=[], seed=3, keep_order=True)
    assert (made.figures["calibration_gap"], made.figures["lost_values"]) == (0.0, 0)
