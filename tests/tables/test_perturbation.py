"""Perturbed tables: additive where they say so, far enough where they must be, the same noise for the same records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil import tables
from unveil.errors import ArgumentError, TableError
from unveil.tables import CrossTable
from unveil.tables.comparison import ProtectedTable
from unveil.tables.perturbation.cell_key import perturbation_row
from unveil.tables.problem import Aim, posed
from unveil.tables.rules import rules_of

counts = st.lists(st.integers(0, 14), min_size=12, max_size=12)


def cube(some: list[int], shape: tuple[int, ...] = (3, 2, 2)) -> CrossTable:
    whole = np.array(some).reshape(shape)
    rows = np.repeat(np.argwhere(whole >= 0), whole.ravel(), axis=0)
    return unveil.table(pl.DataFrame({f"d{at}": rows[:, at] for at in range(whole.ndim)}), [f"d{at}" for at in range(whole.ndim)])


@settings(max_examples=20)
@given(counts, st.integers(2, 7))
def test_controlled_rounding_is_additive_near_and_leaves_multiples(some: list[int], base: int) -> None:
    if not sum(some):
        return
    table = cube(some)
    made = tables.round_table(table, base=base)
    assert np.abs(table.equations() @ made.figure).max() < 1e-9
    assert (made.figure % base == 0).all()
    if made.settings["steps"] == 0:
        assert (np.abs(made.change) < base).all()
        multiples = table.n % base == 0
        assert (made.change[multiples] == 0).all()
    assert (made.figure >= 0).all()


def test_controlled_rounding_in_two_dimensions_always_exists_and_is_the_nearest() -> None:
    import itertools

    table = cube([1, 2, 4, 3], (2, 2))
    made = tables.round_table(table, base=3)
    assert made.settings["steps"] == 0
    best = min(
        np.abs(np.array([sum(x), x[0] + x[1], x[2] + x[3], x[0] + x[2], x[1] + x[3], *x]) - [10, 3, 7, 5, 5, 1, 2, 4, 3]).sum()
        for x in itertools.product((0, 3), (0, 3), (3, 6), (3,))
        if all(
            abs(sum(part) - true) < 3 and (true % 3 or sum(part) == true)
            for part, true in (((x[0], x[1]), 3), ((x[2], x[3]), 7), ((x[0], x[2]), 5), ((x[1], x[3]), 5), (x, 10))
        )
    )
    assert np.abs(made.change).sum() == pytest.approx(best)


def test_conventional_rounding_is_to_the_nearest() -> None:
    table = cube([1, 2, 3, 7], (2, 2))
    made = tables.round_table(table, base=5, method="conventional")
    assert not made.additive
    assert made.figure.reshape(3, 3)[1:, 1:].ravel().tolist() == [0, 0, 5, 5]


def test_random_rounding_is_right_on_average_and_not_repeatable() -> None:
    table = cube([1] * 12)
    drawn = np.mean([tables.round_table(table, base=5, method="random", seed=seed).figure[-1] for seed in range(800)])
    assert drawn == pytest.approx(1.0, abs=0.25)
    assert tables.round_table(table, base=5, method="random").repeatable is False
    assert tables.round_table(table, base=5, method="random", seed=1).repeatable == "seed"


@settings(max_examples=20)
@given(counts)
def test_adjustment_is_additive_and_far_enough(some: list[int]) -> None:
    if not sum(some):
        return
    table = cube(some)
    problem = posed(table, rules_of("threshold=3"), Aim(level=2.0, width=0, insiders="none"))
    try:
        made = tables.adjust(table, "threshold=3", level=2.0, width=0)
    except TableError:
        return
    assert np.abs(table.equations() @ made.figure).max() < 1e-6
    assert (np.abs(made.change[problem.cells][problem.primary]) >= 2 - 1e-6).all()
    assert (made.figure >= -1e-9).all()
    assert (made.change[table.n == 0] == 0).all()


def test_adjustment_keeps_the_margins_if_asked() -> None:
    table = unveil.table("adult", ["race", "marital-status"])
    made = tables.adjust(table, "threshold=5", keep="margins")
    moved = made.change.reshape(6, 8)
    assert not moved[0].any()
    assert not moved[:, 0].any()
    assert moved.any()


def test_adjustment_above_the_size_of_whole_numbers() -> None:
    chance = np.random.default_rng(2)
    data = pl.DataFrame({"a": chance.integers(0, 14, 500), "b": chance.integers(0, 14, 500)})
    table = unveil.table(data, ["a", "b"])
    made = tables.adjust(table, "threshold=3", level=1.0)
    sensitive = (table.n > 0) & (table.n < 3)
    assert sensitive.sum() > 60
    assert np.abs(table.equations() @ made.figure).max() < 1e-6
    assert (np.abs(made.change[sensitive]) >= 1 - 1e-6).all()


@settings(max_examples=20)
@given(counts, st.integers(2, 5))
def test_small_counts_become_zero_or_the_base_and_totals_are_sums(some: list[int], base: int) -> None:
    if not sum(some):
        return
    table = cube(some)
    made = tables.round_small_counts(table, base=base)
    assert np.abs(table.equations() @ made.figure).max() == 0
    inner = made.figure.reshape([len(one) for one in table.dimensions])[np.ix_(*[list(one.leaves) for one in table.dimensions])]
    true = table.n.reshape([len(one) for one in table.dimensions])[np.ix_(*[list(one.leaves) for one in table.dimensions])]
    small = (true > 0) & (true < base)
    assert set(inner[small].tolist()) <= {0.0, float(base)}
    assert (inner[~small] == true[~small]).all()


PEOPLE = pl.DataFrame(
    {
        "id": range(400),
        "a": np.random.default_rng(1).integers(0, 6, 400),
        "b": np.random.default_rng(2).integers(0, 6, 400),
    }
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(b"a secret of sixteen bytes or more")
    return path


def test_the_same_records_have_the_same_noise_in_whatever_table(key: Path) -> None:
    options: dict[str, Any] = {"record": "id", "key_file": key, "gap": 1}
    first = tables.perturb_by_cell_keys(PEOPLE, ["a", "b"], **options)
    turned = tables.perturb_by_cell_keys(PEOPLE.reverse(), ["b", "a"], **options)
    alone = tables.perturb_by_cell_keys(PEOPLE, "a", **options)
    whole = first.figure.reshape(7, 7)
    assert np.array_equal(whole, turned.figure.reshape(7, 7).T)
    assert np.array_equal(whole[:, 0], alone.figure)
    assert (first.figure >= 0).all()
    assert not (first.figure == 1).any()
    assert (first.figure[first.table.n == 0] == 0).all()
    assert "largest" not in str(first.to_dict()["settings"])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 20])
@pytest.mark.parametrize("gap", [0, 2])
def test_noise_has_mean_zero_its_variance_and_the_most_entropy(count: int, gap: int) -> None:
    steps, chances = perturbation_row(count, 4, 1.5, gap)
    assert chances.sum() == pytest.approx(1)
    assert steps @ chances == pytest.approx(0, abs=1e-5)
    assert not any(1 <= count + step <= gap for step in steps)
    assert (count + steps >= 0).all()
    if gap == 0:
        assert steps**2 @ chances == pytest.approx(1.5, abs=1e-4)
    logs = np.log(chances)
    curve = np.polyfit(steps, logs, 2)
    assert np.allclose(np.polyval(curve, steps), logs, atol=1e-6)


def test_noise_is_spread_as_its_probabilities_say(key: Path) -> None:
    data = pl.DataFrame({"id": range(60_000), "cell": [at // 20 for at in range(60_000)]})
    made = tables.perturb_by_cell_keys(data, "cell", record="id", key_file=key, largest=3, variance=1.0)
    noise = made.change[1:].astype(int)
    steps, chances = perturbation_row(20, 3, 1.0, 0)
    observed = np.array([(noise == step).mean() for step in steps])
    assert np.abs(observed - chances).max() < 0.04


def test_keys_need_names_that_last(key: Path) -> None:
    with pytest.raises(TableError, match="uniquely"):
        tables.perturb_by_cell_keys(PEOPLE.with_columns(id=pl.lit(1)), "a", record="id", key_file=key)
    with pytest.raises(ArgumentError, match="names the records"):
        tables.perturb_by_cell_keys(PEOPLE, "a", record="a", key_file=key)


def test_protections_are_compared_on_one_scale() -> None:
    table = unveil.table("adult", ["race", "marital-status"])
    ways: dict[str, Any] = {
        "suppressed": table.suppress("threshold=5"),
        "bare": table.suppress("threshold=5", method="primary"),
        "rounded": tables.round_table(table, base=5),
        "whole": table,
    }
    found = tables.compare_tables(table, ways).to_dict()["tables"]
    assert found["suppressed"]["exposed"] == found["rounded"]["exposed"] == 0
    assert found["bare"]["exposed"] == found["whole"]["exposed"] == 1
    assert found["whole"]["deviation"] == 0
    assert found["whole"]["ranks"] == pytest.approx(1)
    assert found["suppressed"]["lost"] == 4
    low, high = found["suppressed"]["rate"]
    exact = found["whole"]["rate"][0]
    assert low <= exact <= high
    assert exact == pytest.approx(unveil.discrimination_rate("adult", "race", "marital-status").value)


def test_compare_takes_a_table_and_its_protections() -> None:
    table = unveil.table("adult", ["race", "marital-status"])
    ways: dict[str, ProtectedTable] = {
        "suppressed": table.suppress("threshold=5"),
        "rounded": unveil.tables.round_table(table, base=5),
        "bare": table,
    }
    found = unveil.compare({"true": table, **ways}, original="true")
    assert found.to_dict() == unveil.tables.compare_tables(table, ways).to_dict()
    assert found.figures["suppressed"].lost > 0 == found.figures["suppressed"].exposed
    assert found.figures["bare"].exposed == found.figures["bare"].sensitive
    assert found.figures["rounded"].deviation > 0 == found.figures["rounded"].lost


def test_tables_and_records_are_not_compared_with_each_other() -> None:
    table = unveil.table("adult", ["race", "sex"])
    mixtures: list[dict[str, Any]] = [
        {"original": table, "records": "adult"},
        {"original": "adult", "table": table},
        {"original": table.suppress("threshold=5"), "table": table},
    ]
    for mixture in mixtures:
        with pytest.raises(ArgumentError, match="tables are compared with the table that they protect"):
            unveil.compare(mixture)
