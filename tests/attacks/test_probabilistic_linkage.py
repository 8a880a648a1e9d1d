from __future__ import annotations

import json
import math
import time
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import unveil
from unveil.attacks.linkage.fellegi_sunter import Fit, decided, fitted
from unveil.attacks.linkage.probabilistic import ProbabilisticLinkage, probabilistic_linkage
from unveil.counts.agreement import BestOriginals, RecordCells, agreement_counts, bits_of
from unveil.errors import ArgumentError, EmptyDataError

Table = list[NDArray[np.int64]]


def table(rows: list[tuple[int, ...]]) -> Table:
    return [np.array(column) for column in zip(*rows, strict=True)]


def pattern(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(1 << at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a == b != -1)


@st.composite
def two_tables(draw: st.DrawFn, *, most: int = 8, missing: bool = True) -> tuple[list[Any], list[Any]]:
    """The rows of two small tables over the same one to four attributes."""
    attributes = draw(st.integers(1, 4))
    row = st.tuples(*[st.integers(-1 if missing else 0, 2)] * attributes)
    return draw(st.lists(row, min_size=1, max_size=most)), draw(st.lists(row, min_size=1, max_size=most))


def simulated(
    records: int, values: list[int], noise: list[float], seed: int = 3
) -> tuple[Table, Table, NDArray[np.int64], list[float], list[float]]:
    """Two tables of independent attributes, one a noisy and shuffled copy of the other, and the m and u they were made with."""
    generator = np.random.default_rng(seed)
    original = [generator.integers(0, size, records) for size in values]
    order = generator.permutation(records)
    release = []
    for column, size, share in zip(original, values, noise, strict=True):
        copied = column[order].copy()
        changed = generator.random(records) < share
        copied[changed] = generator.integers(0, size, int(changed.sum()))
        release.append(copied)
    m = [1.0 - share + share / size for share, size in zip(noise, values, strict=True)]
    return original, release, order, m, [1.0 / size for size in values]


# pattern counts


@given(two_tables())
def test_pattern_counts_are_those_of_all_pairs(rows: tuple[list[Any], list[Any]]) -> None:
    original, release = rows
    listed = Counter(pattern(one, other) for one, other in product(original, release))
    counted = agreement_counts(table(original), table(release))
    assert counted.tolist() == [listed[at] for at in range(len(counted))]


def test_pattern_counts_stay_exact_beyond_the_integers_of_a_float() -> None:
    many = 100_000_001  # its square is odd and above 2^53
    cells = RecordCells(
        [np.array([1, 1], dtype=np.uint8), np.array([1, 2], dtype=np.uint8)],
        [2, 3],
        originals=np.array([many, 1]),
        releases=np.array([many, 0]),
        of_original=np.broadcast_to(np.int64(0), many + 1),
        of_release=np.broadcast_to(np.int64(0), many),
    )
    assert cells.pattern_counts().tolist() == [0, many, 0, many**2]


# the best originals of each release record


@given(two_tables(), st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=4, max_size=4))
def test_best_originals_are_those_of_all_pairs(rows: tuple[list[Any], list[Any]], weights: list[int]) -> None:
    original, release = rows
    effects = np.array(weights[: len(original[0])])
    best = BestOriginals(RecordCells.of(table(original), table(release)), effects)
    for record, cell in zip(release, best.cells.of_release.tolist(), strict=True):
        scores = [sum(int(effects[at]) for at in range(len(effects)) if one[at] == record[at] != -1) for one in original]
        assert (best.score[cell], best.ties[cell]) == (max(scores), scores.count(max(scores)))


# the fit


def test_the_fit_recovers_the_probabilities_of_simulated_tables() -> None:
    original, release, truth, m, u = simulated(4000, [40, 12, 20, 8, 30], [0.1, 0.2, 0.05, 0.3, 0.15])
    found = probabilistic_linkage(original, release, truth)
    assert found.converged
    assert found.m == pytest.approx(m, abs=0.02)
    assert found.u == pytest.approx(u, abs=0.002)
    assert found.share_of_matches == pytest.approx(1 / 4000, rel=0.05)
    assert found.agreement == pytest.approx([math.log2(a / b) for a, b in zip(found.m, found.u, strict=True)])
    assert found.disagreement == pytest.approx([math.log2((1 - a) / (1 - b)) for a, b in zip(found.m, found.u, strict=True)])
    assert found.linked == pytest.approx(found.informed, abs=0.01)


def test_the_fit_recovers_a_model_from_its_expected_counts() -> None:
    m, u, share = np.array([0.9, 0.8, 0.95, 0.7]), np.array([0.1, 0.3, 0.05, 0.2]), 0.02
    agrees = bits_of(np.arange(16), 4)
    as_match = np.prod(np.where(agrees == 1, m, 1 - m), axis=1)
    as_other = np.prod(np.where(agrees == 1, u, 1 - u), axis=1)
    counts = np.rint((share * as_match + (1 - share) * as_other) * 10**12).astype(np.int64)
    found = fitted(counts, most=0.5, iterations=5000)
    assert found.converged
    assert found.m == pytest.approx(m, abs=1e-4)
    assert found.u == pytest.approx(u, abs=1e-6)
    assert found.share == pytest.approx(share, rel=1e-4)


@given(two_tables(missing=False), st.integers(1, 12))
def test_every_step_fits_at_least_as_well_and_keeps_the_bounds(rows: tuple[list[Any], list[Any]], step: int) -> None:
    counts = agreement_counts(table(rows[0]), table(rows[1]))
    before, after = (fitted(counts, most=1 / len(rows[0]), iterations=n, tolerance=1e-300) for n in (step, step + 1))
    assert after.log_likelihood >= before.log_likelihood - 1e-9 * abs(before.log_likelihood)
    assert after.share <= 1 / len(rows[0])
    assert (after.m >= after.u).all()


def test_dependent_attributes_do_not_lead_the_fit_away_from_true_pairs() -> None:
    generator = np.random.default_rng(5)
    kind = generator.integers(0, 6, 3000)  # people of a kind are alike in every attribute
    original = [np.where(generator.random(3000) < 0.8, kind, generator.integers(0, 30, 3000)) for _ in range(6)]
    release = [np.where(generator.random(3000) < 0.02, generator.integers(0, 30, 3000), column) for column in original]
    counts = agreement_counts(original, release)
    assert fitted(counts, most=1.0).share > 0.05  # left to itself it finds the kinds
    found = probabilistic_linkage(original, release, np.arange(3000))
    assert found.share_of_matches <= 1 / 3000
    assert found.linked > 0.85 * found.informed > 0.3


def test_a_known_number_of_true_pairs_is_kept() -> None:
    original, release, truth, _, _ = simulated(500, [40, 12, 20], [0.1, 0.2, 0.1])
    found = probabilistic_linkage(original, release, truth, true_pairs=400)
    assert found.share_of_matches == 400 / 500**2


# linking


@given(two_tables(missing=False))
@example(([(0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 0)], []))  # the fit gives an attribute no weight
def test_a_table_is_linked_with_itself_up_to_its_equal_records(rows: tuple[list[Any], list[Any]]) -> None:
    original = rows[0]
    found = probabilistic_linkage(table(original), table(original), np.arange(len(original)))
    different = len(set(original))
    assert found.informed == pytest.approx(different / len(original))
    assert found.linked == pytest.approx(different / len(original))


def effects(found: ProbabilisticLinkage) -> list[float]:
    return [round(a - b, 6) for a, b in zip(found.agreement, found.disagreement, strict=True)]


def test_a_table_of_many_attributes_is_linked_with_itself_and_duplicates_share() -> None:
    generator = np.random.default_rng(1)
    original = [generator.integers(0, size, 2000) for size in (30, 9, 4, 12, 2)]
    order = generator.permutation(2000)
    different = len(set(zip(*[column.tolist() for column in original], strict=True)))
    found = probabilistic_linkage(original, [column[order] for column in original], order)
    assert 0.5 < different / 2000 < 1.0
    assert found.linked == pytest.approx(different / 2000)
    assert found.interval.low < found.linked < found.interval.high


@given(two_tables(), st.data())
def test_the_linked_share_is_that_of_all_pairs(rows: tuple[list[Any], list[Any]], data: st.DataObject) -> None:
    original, release = rows
    truth = data.draw(st.lists(st.integers(-1, len(original) - 1), min_size=len(release), max_size=len(release)))
    found = probabilistic_linkage(table(original), table(release), truth)
    gains = [max(round((a - b) * 1e9), 1) for a, b in zip(found.agreement, found.disagreement, strict=True)]
    linked = Fraction(0)
    for record, true in zip(release, truth, strict=True):
        scores = [sum(g for g, a, b in zip(gains, one, record, strict=True) if a == b != -1) for one in original]
        if true >= 0 and scores[true] == max(scores):
            linked += Fraction(1, scores.count(max(scores)))
    assert found.linked == pytest.approx(float(linked / len(release)))
    assert found.baseline == pytest.approx(sum(true >= 0 for true in truth) / len(release) / len(original))


def test_permuted_columns_are_linked_no_better_than_by_chance() -> None:
    generator = np.random.default_rng(11)
    original = [generator.integers(0, size, 800) for size in (20, 10, 15, 5)]
    release = [generator.permutation(column) for column in original]
    found = probabilistic_linkage(original, release, np.arange(800))
    assert found.interval.low <= found.baseline <= found.interval.high


def test_suppressed_values_lower_the_linked_share() -> None:
    original, release, truth, _, _ = simulated(1500, [40, 30, 20, 25], [0.05] * 4)
    hidden = [np.where(np.random.default_rng(2).random(1500) < 0.4, -1, column) for column in release]
    whole, less = (probabilistic_linkage(original, table_, truth) for table_ in (release, hidden))
    assert less.baseline < less.interval.low
    assert less.linked < whole.linked - 0.1


def test_records_without_an_original_are_never_linked() -> None:
    original = [np.arange(10), np.arange(10)]
    found = probabilistic_linkage(original, original, [*range(5), *[-1] * 5])
    assert (found.linked, found.baseline, found.true_pairs) == (0.5, 0.05, 5)
    nobody = probabilistic_linkage(original, original, [-1] * 10)
    assert (nobody.linked, nobody.baseline, nobody.recall) == (0.0, 0.0, None)
    assert nobody.to_dict()["recall_reason"] == "no release record has a true record"


# the decision rule


def test_precision_and_recall_are_those_of_the_matched_pairs() -> None:
    original, release, truth, _, _ = simulated(300, [40, 25, 20, 30], [0.1, 0.2, 0.05, 0.15])
    found = probabilistic_linkage(original, release, truth, false_matches=0.1)
    ones, others = list(zip(*original, strict=True)), list(zip(*release, strict=True))
    assert found.upper is not None
    pairs = Counter[bool]()
    for at, one in enumerate(ones):
        for row, other in enumerate(others):
            weight = sum(
                found.agreement[j] if a == b else found.disagreement[j] for j, (a, b) in enumerate(zip(one, other, strict=True))
            )
            if weight >= found.upper - 1e-6:
                pairs[truth[row] == at] += 1
    assert found.matched == pairs.total() > 0
    assert found.precision == pairs[True] / pairs.total()
    assert found.recall == pairs[True] / 300
    assert found.matched + found.clerical + found.unmatched == 300 * 300


def test_thresholds_are_monotone_in_the_error_rates() -> None:
    original, release, truth, _, _ = simulated(800, [40, 12, 20, 8, 30], [0.1, 0.2, 0.05, 0.3, 0.15])
    rates = [0.0, 1e-4, 1e-3, 0.01, 0.1, 0.5]
    by_match = [probabilistic_linkage(original, release, truth, false_matches=rate) for rate in rates]
    by_other = [probabilistic_linkage(original, release, truth, false_nonmatches=rate) for rate in rates]
    assert sorted(found.matched for found in by_match) == [found.matched for found in by_match]
    assert sorted(found.unmatched for found in by_other) == [found.unmatched for found in by_other]
    assert sorted(found.recall or 0.0 for found in by_match) == [found.recall or 0.0 for found in by_match]
    assert by_match[0].matched == by_other[0].unmatched == 0
    assert by_match[0].precision is None
    assert "precision_reason" in by_match[0].to_dict()
    for found in by_match:
        assert found.upper is None or found.lower is None or found.upper > found.lower


@given(
    st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)), min_size=1, max_size=5),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_rule_keeps_both_error_rates_and_leaves_as_little_as_it_can(
    chances: list[tuple[float, float]], mu: float, lam: float
) -> None:
    m, u = np.array([max(pair) for pair in chances]), np.array([min(pair) for pair in chances])
    rule = decided(Fit(m, u, 0.1, 0.0, converged=True, iterations=1), mu, lam)
    agrees = bits_of(np.arange(1 << len(m)), len(m))
    as_match = np.prod(np.where(agrees == 1, m, 1 - m), axis=1)
    as_other = np.prod(np.where(agrees == 1, u, 1 - u), axis=1)
    assert as_other[rule.matched].sum() <= mu + 1e-12
    assert as_match[rule.unmatched].sum() <= lam + 1e-12
    assert not (rule.matched & rule.unmatched).any()
    clerical = ~(rule.matched | rule.unmatched)
    if clerical.any():  # the next pattern of either side would pass its bound
        weight = np.round(np.log2(as_match / as_other), 6)
        top, bottom = weight[clerical].max(), weight[clerical].min()
        assert as_other[rule.matched | (clerical & (weight == top))].sum() > mu - 1e-9
        assert as_match[rule.unmatched | (clerical & (weight == bottom))].sum() > lam - 1e-9


# tables with little in them


@pytest.mark.parametrize(
    ("original", "release"),
    [
        pytest.param([(0, 1)], [(0, 1)], id="one record"),
        pytest.param([(0,)], [(1,)], id="one record that differs"),
        pytest.param([(0,), (1,), (1,)], [(1,), (0,), (1,)], id="one attribute"),
        pytest.param([(0, 0)] * 4, [(0, 0)] * 4, id="constant columns"),
        pytest.param([(0, 0), (0, 1), (0, 2), (0, 3)], [(0, 0), (0, 1), (0, 2), (0, 3)], id="one constant column"),
        pytest.param([(-1, -1)] * 3, [(-1, -1)] * 3, id="all missing"),
        pytest.param([(0, 1)] * 3, [(-1, -1)] * 3, id="all suppressed"),
        pytest.param([(0, -1), (1, -1)], [(0, -1), (1, -1)], id="one column missing"),
    ],
)
def test_tables_with_little_in_them_have_an_answer(original: list[Any], release: list[Any]) -> None:
    found = probabilistic_linkage(table(original), table(release), np.arange(len(release)))
    assert 0.0 <= found.interval.low <= found.linked <= found.interval.high <= 1.0
    assert all(math.isfinite(weight) for weight in (*found.agreement, *found.disagreement))
    json.dumps(found.to_dict(), allow_nan=False)


def test_columns_that_say_nothing_leave_chance() -> None:
    constant = probabilistic_linkage([np.zeros(4, dtype=int)], [np.zeros(4, dtype=int)], np.arange(4))
    missing = probabilistic_linkage([np.full(4, -1)], [np.full(4, -1)], np.arange(4))
    assert constant.linked == missing.linked == 0.25
    assert effects(constant) == effects(missing) == [0.0]


# arguments and forms


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_matches": -0.1}, "false_matches"),
        ({"false_nonmatches": 1.5}, "false_nonmatches"),
        ({"iterations": 0}, "iteration"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"true_pairs": 0}, "true_pairs"),
        ({"true_pairs": 10}, "true_pairs is 10, and there are only 9 pairs"),
        ({"truth": [0, 1]}, "truth"),
        ({"truth": [0, 1, 3]}, "truth"),
        ({"release_codes": [np.arange(3)] * 2}, "same attributes"),
        ({"release_codes": [np.array([0.5, 1.0, 2.0])]}, "whole number"),
        ({"release_codes": [np.array([0, 1, -2])]}, "missing value"),
        ({"release_codes": [np.zeros((3, 2), dtype=int)]}, "one array"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"original_codes": [np.arange(3)], "release_codes": [np.arange(3)], "truth": [0, 1, 2]}
    arguments |= options
    with pytest.raises(ArgumentError, match=message):
        probabilistic_linkage(**arguments)


def test_tables_need_records_attributes_and_not_too_many() -> None:
    with pytest.raises(EmptyDataError):
        probabilistic_linkage([np.arange(3)], [np.arange(0)], [])
    with pytest.raises(ArgumentError, match="from 1 to 16"):
        probabilistic_linkage([], [], [])
    with pytest.raises(ArgumentError, match="there are 17"):
        probabilistic_linkage([np.arange(3)] * 17, [np.arange(3)] * 17, [0, 1, 2])
    with pytest.raises(ArgumentError, match="same number of records"):
        probabilistic_linkage([np.arange(3), np.arange(2)], [np.arange(3), np.arange(3)], [0, 1, 2])


def test_the_result_shows_itself() -> None:
    original, release, truth, _, _ = simulated(200, [20, 10], [0.1, 0.1])
    found = probabilistic_linkage(original, release, truth)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["interval"] == {"low": found.interval.low, "high": found.interval.high, "confidence": 0.95}
    assert plain["weights"][1] == {"agreement": found.agreement[1], "disagreement": found.disagreement[1]}
    assert found.to_frame().columns == ["attribute", "m", "u", "agreement", "disagreement"]
    assert found.view().figures[0].value == found.linked
    assert repr(found).startswith("ProbabilisticLinkage(0.")
    assert probabilistic_linkage(original, release, truth) == found


def test_large_tables_are_linked_in_seconds() -> None:
    original, release, truth, _, _ = simulated(30_000, [20] * 8, [0.2] * 8)
    start = time.perf_counter()
    found = probabilistic_linkage(original, release, truth)
    assert time.perf_counter() - start < 15.0
    assert found.linked > 0.7
    assert found.matched + found.clerical + found.unmatched == 30_000**2


def test_tables_and_studies_are_linked_as_their_codes_are(tmp_path: Path) -> None:
    original = pl.DataFrame(
        {"town": ["a", "a", "b", None], "age": [30, 31, 40, 41], "id": [1, 2, 3, 4], "kind": ["x", "y", "y", "x"]}
    )
    release = pl.DataFrame({"town": ["b", "a", "a", "b"], "age": ["40", "30", "31", "41"], "id": [9, 9, 9, 9]})
    truth = [2, 0, 1, 3]
    codes = [np.array([0, 0, 1, -1]), np.array([0, 1, 2, 3])], [np.array([1, 0, 0, 1]), np.array([2, 0, 1, 3])]
    expected = probabilistic_linkage(*codes, truth).to_dict()
    original.write_csv(tmp_path / "people.csv")
    place = tmp_path / "unveil.toml"
    place.write_text('[data]\npath = "people.csv"\n[attributes.town]\nrole = "key"\n[attributes.age]\nrole = "key"\n', "utf-8")
    study = unveil.Study(original, identifiers="id")
    for one, other in (
        (study, release), (study, unveil.Study(release, key=["town", "age"])), (unveil.Study(original, key=["town", "age"]), release),
        (original.drop("id"), release.drop("id").lazy()), (place, release),
    ):  # fmt: skip
        assert probabilistic_linkage(one, other, truth).to_dict() == expected
    with pytest.raises(ArgumentError, match="both in the same form"):
        probabilistic_linkage(original, codes[1], truth)
    with pytest.raises(ArgumentError, match="no attribute to compare"):
        probabilistic_linkage(original.select("kind"), release, truth)
    with pytest.raises(EmptyDataError):
        probabilistic_linkage(original, release.clear(), [])
