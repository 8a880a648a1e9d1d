"""Each policy by itself: what it guarantees, and what its noise is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import unveil
from unveil.errors import ArgumentError
from unveil.queries import Camouflage, Differential, PerturbedRecords, Restriction, Sticky, policy_of
from unveil.queries.policies.camouflage import _extremes_of, _grouped, camouflaged
from unveil.queries.policies.differential import epsilon_of
from unveil.queries.policies.sticky import noise_table

AIDS = "SELECT COUNT(*) FROM t WHERE Age >= 35 AND Disease = 'aids'"
RANDOM = np.random.default_rng(11)
PAY = pl.DataFrame({"id": range(200), "pay": np.round(RANDOM.lognormal(8, 0.5, 200), 2), "sick": RANDOM.random(200) < 0.3})


def thesis(folder: Path, policy: Any, **options: Any) -> unveil.Gate:
    place = folder / f"g{len(list(folder.glob('*.db')))}.db"
    return unveil.Gate("thesis-2.1", ledger=place, policy=policy, sensitive="Disease", **options)


def door(folder: Path, policy: Any, **options: Any) -> unveil.Gate:
    place = folder / f"g{len(list(folder.glob('*.db')))}.db"
    return unveil.Gate(PAY, ledger=place, policy=policy, sensitive=["pay", "sick"], **options)


def test_the_question_of_the_documents_under_every_policy(tmp_path: Path) -> None:
    assert thesis(tmp_path, "open").ask(AIDS).value == 2
    assert thesis(tmp_path, Restriction(k=3)).ask(AIDS).reason == "indicator"
    hidden = thesis(tmp_path, "camouflage").ask(AIDS)
    assert hidden.low is not None
    assert hidden.high is not None
    assert hidden.low <= 2 <= hidden.high
    assert hidden.low < hidden.high


@pytest.mark.parametrize(("noise", "mean"), [("laplace", 2.0), ("geometric", 1.919), ("gaussian", 1.596)])
def test_noise_for_epsilon_one_half_has_the_mean_size_that_theory_says(noise: str, mean: float, tmp_path: Path) -> None:
    """Laplace: b = 2. Geometric: 2 a / (1 - a^2) with a = exp(-1/2). Gaussian: sigma sqrt(2 / pi) with sigma = 2."""
    policy = Differential(epsilon=0.5, noise=noise, rho=500.0, analyst_rho=500.0)
    gate = thesis(tmp_path, policy)
    texts = (f"{AIDS} AND Age < {100 + at}" for at in range(400))
    sizes = np.array([abs(float(gate.ask(text).value or 0) - 2.0) for text in texts])
    assert abs(sizes.mean() - mean) < 3.0 * sizes.std() / math.sqrt(len(sizes))


def test_the_epsilon_of_a_budget_follows_from_rho() -> None:
    for rho, delta in ((0.1, 1e-5), (1.0, 1e-9)):
        epsilon = epsilon_of(rho, delta)
        orders = np.linspace(1.0001, 200.0, 400_000)
        by_renyi = (rho * orders + math.log(1.0 / delta) / (orders - 1.0)).min()
        assert epsilon == pytest.approx(by_renyi, rel=1e-4)


def test_bounded_sums_and_averages_are_near_the_truth_for_a_large_epsilon(tmp_path: Path) -> None:
    gate = door(tmp_path, Differential(epsilon=30.0, rho=1000.0, analyst_rho=1000.0), bounds={"pay": (0.0, 4000.0)})
    cut = PAY["pay"].clip(0.0, 4000.0)
    assert float(gate.ask("SELECT SUM(pay) FROM t").value or 0) == pytest.approx(float(cut.sum()), abs=4000.0)
    average = gate.ask("SELECT AVG(pay) FROM t")
    assert average.value == pytest.approx(float(np.mean(cut.to_numpy())), abs=40.0)
    assert average.cost == 225.0


def test_without_bounds_there_is_no_private_sum(tmp_path: Path) -> None:
    assert door(tmp_path, Differential()).ask("SELECT SUM(pay) FROM t").reason == "bounds"
    assert door(tmp_path, Sticky()).ask("SELECT SUM(pay) FROM t").reason == "bounds"


def test_a_person_counts_with_as_many_records_as_allowed(tmp_path: Path) -> None:
    visits = pl.DataFrame({"who": ["a"] * 50 + ["b"] * 3 + ["c"], "town": "x", "cost": [1.0] * 54})
    policy = Differential(epsilon=40.0, rho=1000.0, analyst_rho=1000.0, noise="gaussian")
    for contribution, expected in ((1, 3), (2, 5), (60, 54)):
        gate = unveil.Gate(
            visits, ledger=tmp_path / f"{contribution}.db", policy=policy, sensitive="cost", person="who",
            contribution=contribution, bounds={"cost": (0, 1)},
        )  # fmt: skip
        assert gate.ask("SELECT COUNT(*) FROM t WHERE town = 'x'").value == pytest.approx(
            expected, abs=6 * contribution / 40 + 0.5
        )
    other = gate.explain("SELECT COUNT(*) FROM t").to_dict()
    assert other["numbers"][0]["within_95"] == pytest.approx(1.96 * 60 / 40)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("variance", "largest"), [(2.0, 5), (1.0, 2), (4.0, 10)])
def test_the_noise_of_a_count_has_its_mean_and_variance(count: int, variance: float, largest: int) -> None:
    table = noise_table(min(count, largest), variance, largest)
    steps = np.arange(-min(count, largest), largest + 1)
    assert len(table) == len(steps)
    assert table.min() > 0.0
    assert table @ steps == pytest.approx(0.0, abs=1e-6)
    assert table @ steps**2 == pytest.approx(variance, abs=1e-5)


def test_sticky_noise_follows_the_set_and_is_spread_as_its_table_says(tmp_path: Path) -> None:
    gate = door(tmp_path, Sticky(questions=2000, analyst_questions=2000))
    noises = []
    for at in range(250):
        text = f"SELECT COUNT(*) FROM t WHERE id >= {at % 100} AND id < {at % 100 + 20 + at // 100}"
        answer = gate.ask(text).value
        noises.append(float(answer or 0) - (20 + at // 100))
        if at < 20:
            assert gate.ask(f"{text} AND NOT id > 500").value == answer
    assert max(map(abs, noises)) <= 5
    assert abs(np.mean(noises)) < 3 * math.sqrt(2 / 250)
    assert np.var(noises) == pytest.approx(2.0, rel=0.35)
    assert gate.ask("SELECT COUNT(*) FROM t WHERE id > 999").value == 0


def test_sticky_noise_cannot_be_had_twice_through_a_sensitive_condition(tmp_path: Path) -> None:
    """All records meet `sick OR NOT sick`: the set is the same, and so is the noise."""
    gate = door(tmp_path, Sticky())
    plain = gate.ask("SELECT COUNT(*) FROM t WHERE id < 50").value
    assert gate.ask("SELECT COUNT(*) FROM t WHERE id < 50 AND (sick = TRUE OR NOT sick = TRUE)").value == plain


def test_sticky_questions_are_limited(tmp_path: Path) -> None:
    gate = door(tmp_path, Sticky(questions=3, analyst_questions=2))
    texts = [f"SELECT COUNT(*) FROM t WHERE id < {at}" for at in range(10, 15)]
    assert [gate.ask(text, analyst="eve").reason for text in texts[:3]] == [None, None, "limit"]
    assert [gate.ask(text, analyst="bob").reason for text in texts[2:4]] == [None, "limit"]
    assert gate.ask(texts[0], analyst="bob").answered


def test_camouflage_holds_the_exact_answer_whatever_is_asked(tmp_path: Path) -> None:
    gate, pay = door(tmp_path, "camouflage"), PAY["pay"].to_numpy()
    for _ in range(24):
        members = np.flatnonzero(RANDOM.random(200) < RANDOM.choice([0.01, 0.1, 0.5, 0.9]))
        if not len(members):
            continue
        where = f"id IN ({', '.join(map(str, members))})"
        total, mean = gate.ask(f"SELECT SUM(pay) FROM t WHERE {where}"), gate.ask(f"SELECT AVG(pay) FROM t WHERE {where}")
        sick = gate.ask(f"SELECT COUNT(*) FROM t WHERE {where} AND sick = TRUE")
        for answer, truth in (
            (total, pay[members].sum()),
            (mean, pay[members].mean()),
            (sick, PAY["sick"].to_numpy()[members].sum()),
        ):
            assert answer.low is not None
            assert answer.high is not None
            assert answer.low <= truth <= answer.high


def test_extremes_over_a_hull_are_those_of_its_points() -> None:
    """The least "max" over many points of the hull comes near the linear program's from above; the greatest is a vector's."""
    for _ in range(20):
        vectors = RANDOM.normal(0.0, 10.0 ** RANDOM.integers(0, 6), (4, int(RANDOM.integers(1, 12))))
        points = np.vstack([np.eye(4), RANDOM.dirichlet(np.full(4, 0.7), 20_000)]) @ vectors
        spread = float(np.ptp(vectors)) + 1e-9
        for function, results in (("max", points.max(axis=1)), ("min", points.min(axis=1))):
            low, high = _extremes_of(vectors, function)
            assert low <= results.min() + 1e-6 * spread
            assert high >= results.max() - 1e-6 * spread
            assert low == pytest.approx(results.min(), abs=0.05 * spread)
            assert high == pytest.approx(results.max(), abs=0.05 * spread)


def test_camouflaged_extremes_hold_the_exact_ones_and_need_single_records(tmp_path: Path) -> None:
    gate, pay = door(tmp_path, "camouflage"), PAY["pay"].to_numpy()
    for at in range(0, 200, 10):
        for function, truth in (("MAX", pay[at:].max()), ("MIN", pay[at:].min())):
            answer = gate.ask(f"SELECT {function}(pay) FROM t WHERE id >= {at}")
            assert answer.low is not None
            assert answer.high is not None
            assert answer.low <= truth <= answer.high
            assert answer.low < answer.high
    towns = pl.DataFrame({"town": ["a", "b"] * 10, "pay": [float(at) for at in range(20)]})
    shared = unveil.Gate(towns, ledger=tmp_path / "towns.db", policy="camouflage", sensitive="pay")
    assert shared.ask("SELECT MAX(pay) FROM t").reason == "aggregate"


def test_a_widened_count_is_widened_to_the_same_side_in_all_words(tmp_path: Path) -> None:
    """Every exchange leaves the count over all records as it is: the sides must not give it away."""
    sides = set()
    for at in range(12):
        table = PAY.with_columns(sick=pl.Series(RANDOM.permutation([True] * 60 + [False] * 140)))
        gate = unveil.Gate(table, ledger=tmp_path / f"g{at}.db", policy="camouflage", sensitive=["pay", "sick"])
        texts = [f"SELECT COUNT(*) FROM t WHERE sick = TRUE AND id < {200 + more}" for more in range(8)]
        intervals = {(answer.low, answer.high) for answer in map(gate.ask, texts)}
        assert len(intervals) == 1
        sides |= intervals
    assert sides == {(59, 60), (60, 61)}


def test_camouflage_gives_the_same_interval_when_it_is_opened_again(tmp_path: Path) -> None:
    text = "SELECT AVG(pay) FROM t WHERE id < 30"
    gate = unveil.Gate(PAY, ledger=tmp_path / "g.db", policy="camouflage", sensitive=["pay", "sick"])
    first = gate.ask(text)
    again = unveil.Gate(PAY, ledger=tmp_path / "g.db", policy="camouflage", sensitive=["pay", "sick"])
    keeper = again._keeper(again.policies["*"])
    decision = keeper.decide(again._holding.select(queries_statistic(again, text)))
    assert (decision.low, decision.high) == (first.low, first.high)


def queries_statistic(gate: unveil.Gate, text: str) -> Any:
    (selection,) = gate._selections(text)[1]
    return selection.statistic


def test_a_value_lies_anywhere_in_its_interval() -> None:
    values = RANDOM.lognormal(8, 0.5, 2000)
    vectors, weights = camouflaged(values, np.ones(2000, dtype=np.int64), Camouflage(), RANDOM)
    assert np.allclose(weights @ vectors, values)
    low, high = vectors.min(0), vectors.max(0)
    place = (values - low) / (high - low)
    assert place.min() > 0.1
    assert place.max() < 0.9
    assert place.std() > 0.1
    assert abs(place.mean() - 0.5) < 0.03
    assert abs(np.corrcoef((high - low) / values, values)[0, 1]) < 0.9  # no width tells its value


def test_all_but_one_of_the_vectors_insiders_recover_everybody() -> None:
    """The weakness that the page states: k - 1 values and the vectors give the weights, and the weights give all values."""
    values = RANDOM.lognormal(8, 0.5, 50)
    vectors, weights = camouflaged(values, np.ones(50, dtype=np.int64), Camouflage(vectors=6), RANDOM)
    system = np.vstack([vectors[:, :5].T, np.ones(6)])
    found = np.linalg.solve(system, np.append(values[:5], 1.0))
    assert np.allclose(found, weights)
    assert np.allclose(found @ vectors, values)
    few = np.vstack([vectors[:, :3].T, np.ones(6)])
    guess, *_ = np.linalg.lstsq(few, np.append(values[:3], 1.0), rcond=None)
    assert not np.allclose(guess @ vectors, values)


@pytest.mark.parametrize(("moved", "won"), [(0.0, True), (1.0, False)])
def test_whole_numbers_are_not_the_only_ones_in_the_hull(moved: float, won: bool) -> None:
    """Even an intruder who knows the vectors cannot pick the data out as the one point of whole numbers."""
    values = RANDOM.integers(0, 13, 24).astype(np.float64)
    shifted = values + moved * (RANDOM.random(24) - 0.5)
    vectors, _ = camouflaged(shifted, np.ones(24, dtype=np.int64), Camouflage(vectors=5), RANDOM)
    near = 0.5 if moved else 1e-6
    system = np.hstack([np.eye(24), -vectors.T])
    fits = [LinearConstraint(system, -near, near), LinearConstraint(np.append(np.zeros(24), np.ones(5)), 1, 1)]
    goal = np.append(RANDOM.random(24) - 0.5, np.zeros(5))
    best = milp(
        goal, constraints=fits, bounds=Bounds(np.append(np.full(24, -50), np.zeros(5)), np.append(np.full(24, 50), np.ones(5))),
        integrality=np.append(np.ones(24), np.zeros(5)),
    )  # fmt: skip
    assert (float(np.mean(np.rint(best.x[:24]) == values)) > 0.9) == won


def test_groups_hold_different_values_and_every_record_once() -> None:
    for _ in range(20):
        records, diversity = int(RANDOM.integers(9, 400)), int(RANDOM.integers(2, 4))
        codes = np.sort(RANDOM.integers(0, 5, records))[RANDOM.permutation(records)]
        found = _grouped(RANDOM.integers(0, 30, records), codes, diversity, RANDOM)
        assert found is not None
        order, start, size = found
        assert sorted(order.tolist()) == list(range(records))
        assert size.min() >= diversity
        for first in np.unique(start):
            members = codes[order[start == first]]
            frequent = np.bincount(codes).max() * diversity > records
            assert len(set(members.tolist())) > 1 if frequent else len(set(members.tolist())) == len(members)


def test_a_frequent_value_is_hidden_among_others_and_a_constant_cannot_be(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": range(100), "sick": [at < 90 for at in range(100)]})
    gate = unveil.Gate(table, ledger=tmp_path / "g.db", policy="camouflage", sensitive="sick")
    answer = gate.ask("SELECT COUNT(*) FROM t WHERE sick = TRUE AND id < 50")
    assert answer.low is not None
    assert answer.low < 50
    constant = unveil.Gate(table.with_columns(sick=True), ledger=tmp_path / "h.db", policy="camouflage", sensitive="sick")
    hidden = constant.ask("SELECT COUNT(*) FROM t WHERE sick = TRUE AND id < 50")
    assert (hidden.low, hidden.high) == (0, 100)


def test_the_coalition_audit_is_in_the_ledger_and_not_in_the_answer(tmp_path: Path) -> None:
    gate = door(tmp_path, "camouflage")
    answer = gate.ask("SELECT AVG(pay) FROM t WHERE id < 30")
    assert "coalition" not in str(answer.to_dict())
    (entry,) = gate.history()
    assert '"insiders": 1' in entry.answer
    assert '"all_known_at": 9' in entry.answer


def test_restriction_refuses_sums_of_two_values_and_small_sets(tmp_path: Path) -> None:
    flags = pl.DataFrame({"id": range(60), "flag": [at % 3 == 0 for at in range(60)], "pay": np.round(RANDOM.random(60), 6)})
    flags = flags.with_columns(pl.col("flag").cast(pl.Int8))
    gate = unveil.Gate(flags, ledger=tmp_path / "g.db", policy=Restriction(k=5), sensitive=["flag", "pay"])
    assert gate.ask("SELECT SUM(flag) FROM t WHERE id < 30").reason == "indicator"
    assert gate.ask("SELECT COUNT(*) FROM t WHERE flag = 1").reason == "indicator"
    assert gate.ask("SELECT MAX(pay) FROM t").reason == "aggregate"
    for where, reason in (
        ("id < 4", "size"),
        ("id < 5", None),
        ("id < 56", "size"),
        ("id >= 5 AND id < 60", None),
        ("id > 99", "size"),
    ):
        assert gate.ask(f"SELECT COUNT(*) FROM t WHERE {where}").reason == reason


def test_perturbed_records_answer_in_the_place_of_the_data(tmp_path: Path) -> None:
    release = PAY.with_columns(pay=pl.col("pay") + 1000.0)
    gate = door(tmp_path, PerturbedRecords(release))
    assert gate.ask("SELECT AVG(pay) FROM t").value == pytest.approx(float(release["pay"].to_numpy().mean()))
    assert gate.ask("SELECT COUNT(*) FROM t WHERE sick = TRUE").value == int(PAY["sick"].sum())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("restriction", {"k": 2}),
        ("restriction", {"size": 3}),
        ("restriction", {"share": 0.0}),
        ("differential", {"epsilon": 0}),
        ("differential", {"noise": "none"}),
        ("differential", {"rho": -1}),
        ("sticky", {"variance": 9.0}),
        ("sticky", {"questions": 0}),
        ("camouflage", {"vectors": 1}),
        ("camouflage", {"width": 0}),
        ("records", {}),
        ("open", {"k": 1}),
        ("nothing", {}),
    ],
)
def test_settings_are_checked(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        policy_of(name, settings)


def test_sums_of_infinite_values_have_no_bits_to_count(tmp_path: Path) -> None:
    far = pl.DataFrame({"id": range(60), "pay": [float("inf")] * 60})
    gate = unveil.Gate(far, ledger=tmp_path / "g.db", policy=Restriction(k=5))
    assert gate.ask("SELECT SUM(pay) FROM t WHERE id >= 20 AND id < 40").reason is None
