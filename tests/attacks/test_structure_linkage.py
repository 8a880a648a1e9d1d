from __future__ import annotations

import json
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans
from sklearn.decomposition import PCA
from sklearn.metrics import homogeneity_score

import helpers
import unveil
from unveil.attacks.linkage.structure import (
    _Clusters,
    _direction,
    _matched,
    _most_inside,
    _semantic_rate,
    _Space,
    _standardised,
    structure_linkage,
)
from unveil.errors import ArgumentError, EmptyDataError

Floats = NDArray[np.float64]


def groups(sizes: list[int], seed: int = 0) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Two tables without a common column about people of clear groups, the second shuffled, and which row is whose.

    The groups stand in the same order on the main axis of both tables, which is all that they have in common.
    """
    generator = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    level = np.array([0.0, 3.0, 10.0, 14.0])[: len(sizes)][of]
    one = np.stack([level, 2.0 * level, -level], axis=1) + generator.normal(0.0, 0.5, (len(of), 3))
    other = np.stack([-5.0 * level, 100.0 - 4.0 * level], axis=1) + generator.normal(0.0, 0.5, (len(of), 2))
    order = generator.permutation(len(of))
    return one, other[order], order


# what is linked


def test_clear_groups_are_linked_far_above_chance() -> None:
    one, other, truth = groups([200, 90, 60, 30])
    found = structure_linkage(one, other, truth, clusters=4)
    assert found.inside > 0.99
    assert found.inside_at_best == found.inside
    assert found.inside_baseline == pytest.approx((200**2 + 90**2 + 60**2 + 30**2) / 380**2, abs=0.01)
    assert found.inside_interval.low > 2 * found.inside_baseline
    assert found.linked == pytest.approx(4 / 380, rel=0.02)  # one right in each of four groups
    assert found.baseline == 1 / 380
    assert found.dr is not None
    assert found.dr > 0.98
    assert found.sizes == ((30, 30), (60, 60), (90, 90), (200, 200))


def test_groups_are_linked_through_categories_and_missing_values() -> None:
    one, other, truth = groups([200, 90, 60, 30])
    band = np.digitize(-other[:, 0], [8.0, 30.0, 60.0])  # the groups of the release, as codes
    other_band = np.where(np.arange(380) % 10 == 0, -1, band)
    one[::7, 1] = np.nan
    found = structure_linkage(one, [band, other_band], truth, clusters=4)
    assert found.inside > 0.7
    assert found.inside_interval.low > found.inside_baseline


def test_tables_that_have_nothing_in_common_are_linked_by_chance() -> None:
    for seed in range(5):
        one, _, _ = groups([200, 90, 60, 30], seed)
        _, other, _ = groups([200, 90, 60, 30], seed + 100)
        truth = np.random.default_rng(seed).permutation(380)
        found = structure_linkage(one, other, truth, clusters=4)
        assert found.inside_interval.low <= found.inside_baseline <= found.inside_interval.high
        assert found.interval.low <= found.baseline <= found.interval.high
        assert found.dr is not None
        assert found.dr < 0.05
        assert found.adjusted == pytest.approx(0.0, abs=0.03)


def test_halves_of_a_census_are_linked_without_a_common_column() -> None:
    data = pl.read_csv(helpers.shared("data/casc/census.csv")).to_numpy().astype(np.float64)
    order = np.random.default_rng(1).permutation(len(data))
    found = structure_linkage(data[:, ::2], data[order][:, 1::2], order, clusters=5)
    assert found.inside > 2.5 * found.inside_baseline
    assert found.linked > 3.0 * found.baseline


@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_a_table_is_in_its_own_clusters(clusters: int) -> None:
    one, _, _ = groups([200, 90, 60, 30])
    found = structure_linkage(one, one, np.arange(380), clusters=clusters)
    assert found.inside == found.inside_at_best == 1.0
    assert found.linked == pytest.approx(clusters / 380)
    assert found.dr == (1.0 if clusters > 1 else None)


def test_records_without_an_original_are_never_linked() -> None:
    one, other, truth = groups([200, 90, 60, 30])
    some = np.where(np.arange(380) < 190, truth, -1)
    found = structure_linkage(one, other, some, clusters=4)
    assert found.true_pairs == 190
    assert found.inside == pytest.approx(0.5, abs=0.01)
    assert found.baseline == 0.5 / 380
    nobody = structure_linkage(one, other, np.full(380, -1), clusters=4)
    assert (nobody.inside, nobody.linked, nobody.baseline, nobody.dr) == (0.0, 0.0, 0.0, None)
    assert nobody.dr_reason == "no release record has a true record"


def test_a_subset_of_the_people_is_enough() -> None:
    one, other, truth = groups([200, 90, 60, 30])
    found = structure_linkage(one, other[:250], truth[:250], clusters=4)
    assert found.inside > 0.99
    assert (found.originals, found.releases) == (380, 250)


def test_the_same_seed_gives_the_same_answer() -> None:
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(300, 3)), generator.normal(size=(300, 2))
    first, again = (structure_linkage(one, other, np.arange(300), seed=7) for _ in range(2))
    assert first == again
    assert first.to_dict() == again.to_dict()
    assert first.made["seed"] == 7


# the parts


def test_attributes_have_mean_zero_and_variance_one_in_all() -> None:
    generator = np.random.default_rng(0)
    number, category = generator.normal(5.0, 3.0, 500), generator.integers(-1, 4, 500)
    many = generator.integers(0, 200, 500)
    for column, width in ((number, 1), (category, 5), (many, 51), (category > 1, 2)):
        scaled = _standardised(column)
        assert scaled.shape == (500, width)
        assert scaled.mean(axis=0) == pytest.approx(np.zeros(width), abs=1e-12)
        assert scaled.var(axis=0).sum() == pytest.approx(1.0)
    for constant in (np.full(5, 0.1), np.full(5, np.nan), np.full(5, 3), np.array([0.1, np.nan])):
        assert _standardised(constant).shape == (len(constant), 0)


def test_principal_components_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    level = generator.normal(size=(400, 1))
    data = level * np.array([3.0, -2.0, 1.0, 0.1]) + generator.normal(size=(400, 4))
    space = _Space.of(list(data.T))
    scaled = (data - data.mean(axis=0)) / data.std(axis=0)
    oracle = PCA().fit(scaled)
    eigenvalues = oracle.explained_variance_ * 399 / 400
    assert space.kept == int((eigenvalues >= 1.0).sum())
    assert space.explained == pytest.approx(oracle.explained_variance_ratio_[: space.kept].sum())
    assert np.abs(space.scores) == pytest.approx(np.abs(oracle.transform(scaled)[:, : space.kept]))
    assert space.first().std() == pytest.approx(1.0)


def test_clusters_are_as_tight_as_those_of_scipy() -> None:
    for seed in range(3):
        points = np.random.default_rng(seed).normal(size=(400, 2))
        labels = _Clusters.of(_Space(points, 2, 1.0), 6, seed=0, made_one=lambda: None).of_record
        centres = np.stack([points[labels == at].mean(axis=0) for at in range(6)])
        starts = points[np.random.default_rng(0).permuted(np.tile(np.arange(400), (20, 1)), axis=1)[:, :6]]
        oracle = min((kmeans(points, start) for start in starts), key=lambda found: found[1])[0]
        nearest = ((points[:, None] - oracle) ** 2).sum(axis=2).min(axis=1)
        assert ((points - centres[labels]) ** 2).sum() <= 1.02 * nearest.sum()


def test_clusters_are_matched_by_place_and_size() -> None:
    labels = np.zeros(1, dtype=np.int64)
    one = _Clusters(labels, np.array([10, 30, 60]), np.array([-1.5, -0.2, 1.0]))
    reverse = _Clusters(labels, np.array([60, 30, 10]), np.array([-1.0, 0.2, 1.5]))
    assert _matched(one, one, 1.0).tolist() == [0, 1, 2]
    assert _matched(one, reverse, -1.0).tolist() == [2, 1, 0]
    near = _Clusters(labels, np.array([60, 10, 30]), np.array([0.0, 0.0, 0.0]))
    assert _matched(_Clusters(labels, np.array([10, 30, 60]), np.zeros(3)), near, 1.0).tolist() == [2, 0, 1]  # by size alone
    with_place = _Clusters(labels, np.array([20, 20, 20]), np.array([1.1, -1.4, 0.0]))
    assert _matched(_Clusters(labels, np.array([20, 20, 20]), one.place), with_place, 1.0).tolist() == [2, 0, 1]  # by place alone


def test_the_first_component_is_turned_where_its_shape_says_so() -> None:
    skewed = np.random.default_rng(0).exponential(size=(500, 1))
    one, reverse = _Space(skewed, 1, 1.0), _Space(-skewed, 1, 1.0)
    centred = [_Space(space.scores - space.scores.mean(), 1, 1.0) for space in (one, reverse)]
    assert _direction(centred[0], centred[0]) == 1.0
    assert _direction(centred[0], centred[1]) == -1.0


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(pairs)
def test_the_semantic_rate_is_the_rate_of_the_definition(records: list[tuple[int, int]]) -> None:
    hidden, known = (np.array(side) for side in zip(*records, strict=True))
    rate, _, reason = _semantic_rate(hidden, known, 4)
    if len(set(hidden.tolist())) == 1:
        assert rate is None
        assert reason == "the true records are all in one cluster, so there is nothing to refine"
    else:
        assert rate == pytest.approx(helpers.rate(hidden.tolist(), known.tolist()), abs=1e-12)
        assert rate == pytest.approx(homogeneity_score(hidden, known), abs=1e-9)


@given(pairs)
def test_the_best_match_is_the_best_of_all(records: list[tuple[int, int]]) -> None:
    from itertools import permutations

    together = Counter(records)
    best = max(sum(together[match[at], at] for at in range(4)) for match in permutations(range(4)))
    hidden, known = (np.array(side) for side in zip(*records, strict=True))
    assert _most_inside(hidden, known, 4) == best


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.one_of(st.just(np.nan), st.floats(0, 3))), min_size=1, max_size=20),
    st.lists(st.integers(-1, 3), min_size=1, max_size=20),
    st.integers(1, 25),
)
def test_shares_lie_between_their_bounds(rows: list[tuple[float, float]], codes: list[int], clusters: int) -> None:
    truth = np.arange(len(codes)) % len(rows)
    found = structure_linkage(np.array(rows), [np.array(codes)], truth, clusters=clusters)
    assert 0.0 <= found.linked <= found.inside <= found.inside_at_best <= 1.0
    assert found.inside_interval.low <= found.inside <= found.inside_interval.high
    assert len(found.sizes) == found.made["clusters"] <= min(clusters, len(set(codes)), len(set(rows)))
    assert min(min(pair) for pair in found.sizes) >= 1
    assert [sum(side) for side in zip(*found.sizes, strict=True)] == [len(codes), len(rows)]
    json.dumps(found.to_dict(), allow_nan=False)


# tables with little in them, arguments and forms


def test_tables_with_little_in_them_have_an_answer() -> None:
    alone = structure_linkage([np.array([1.0])], [np.array([0])], [0])
    assert (alone.inside, alone.linked, alone.baseline) == (1.0, 1.0, 1.0)
    constant = structure_linkage([np.full(4, 2.0)], [np.zeros(4, dtype=int)], np.arange(4))
    assert (constant.inside, constant.inside_baseline, constant.linked, constant.baseline) == (1.0, 1.0, 0.25, 0.25)
    missing = structure_linkage([np.full(4, np.nan)], [np.full(4, -1)], np.arange(4))
    assert missing.made["clusters"] == 1
    one_each = structure_linkage([np.arange(4.0) ** 2], [np.arange(4.0) ** 3], np.arange(4), clusters=99)
    assert (one_each.made["clusters"], one_each.inside, one_each.linked) == (4, 1.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 0}, "clusters"),
        ({"seed": -1}, "seed"),
        ({"truth": [0, 1]}, "truth"),
        ({"truth": [0, 1, 7]}, "truth"),
        ({"original": np.arange(3.0)}, "a row per record"),
        ({"original": []}, "no attributes"),
        ({"original": [np.array(["a", "b", "c"])]}, "of numbers or of whole-number codes"),
        ({"original": [np.zeros((3, 1))]}, "an attribute is one array"),
        ({"original": [np.arange(3), np.arange(4)]}, "different numbers of records"),
        ({"original": [np.array([0.0, np.inf, 1.0])]}, "infinite"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"original": [np.arange(3.0)], "release": [np.arange(3)], "truth": [0, 1, 2]}
    arguments |= options
    with pytest.raises(ArgumentError, match=message):
        structure_linkage(**arguments)


def test_tables_need_records() -> None:
    with pytest.raises(EmptyDataError):
        structure_linkage([np.arange(3.0)], [np.arange(0)], [])


def test_the_result_shows_itself() -> None:
    one, other, truth = groups([20, 10])
    found = structure_linkage(one, other, truth, clusters=2)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["clusters"] == [{"release": 10, "original": 10}, {"release": 20, "original": 20}]
    assert found.to_frame().columns == ["release", "original"]
    assert found.view().figures[0].value == found.inside
    assert repr(found) == "StructureLinkage(1.0000 in the matched cluster, chance 0.5556, 2 clusters, 30 records)"


def test_tables_and_studies_are_linked_as_their_arrays_are() -> None:
    frame = pl.DataFrame({"id": range(40), "wealth": [at % 5 * 2.5 for at in range(40)], "town": [None, *"abc"] * 10})
    other = pl.DataFrame({"born": [date(2000, 1, 1 + at % 5) for at in range(40)], "who": range(40)})
    codes = np.array([-1, 0, 1, 2] * 10)
    days = np.array([float(at % 5) for at in range(40)])
    expected = structure_linkage([frame["wealth"].to_numpy(), codes], [days], range(40)).sizes
    for one, two in (
        (unveil.Study(frame, key=["wealth", "town"]), unveil.Study(other, identifiers="who")),
        (frame.drop("id"), other.drop("who")),
        (unveil.Study(frame, person="id"), other.select("born").lazy()),
    ):
        assert structure_linkage(one, two, range(40)).sizes == expected
    mixed = structure_linkage(unveil.Study(frame, identifiers="id"), [days], range(40))
    assert mixed.sizes == expected
    with pytest.raises(ArgumentError, match="no attribute to compare"):
        structure_linkage(unveil.Study(other.select("who"), identifiers="who"), [days], range(40))
