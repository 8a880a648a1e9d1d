"""Clusterings and their agreement, against their definitions, scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, rand_score

from unveil.utility.clusterings import agreed_heights, fuzzy_memberships, fuzzy_rand, k_means, ward


def blobs(records: int = 60, seed: int = 0) -> np.ndarray:
    """Three clouds apart from each other."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(records, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], records // 3, axis=0))


def test_c_means_has_settled_at_a_fixed_point_of_its_equations() -> None:
    records = blobs()
    memberships = fuzzy_memberships(records, records, 3, 0)
    weight = memberships**2
    centres = (weight.T @ records) / weight.sum(axis=0)[:, None]
    for i, record in enumerate(records[:10]):
        distances = [np.linalg.norm(record - centre) for centre in centres]
        for c, own in enumerate(distances):
            assert memberships[i, c] == pytest.approx(1 / sum((own / other) ** 2 for other in distances), abs=1e-4)


def test_fuzzy_clusters_of_clouds_apart_are_the_clouds() -> None:
    records = blobs()
    memberships = fuzzy_memberships(records, records, 3, 0)
    assert np.allclose(memberships.sum(axis=1), 1.0)
    assert adjusted_rand_score(memberships.argmax(axis=1), np.repeat([0, 1, 2], 20)) == 1.0


def test_a_record_on_a_centre_belongs_to_it_alone() -> None:
    two = np.array([[0.0], [0.0], [5.0], [5.0]])
    assert sorted(fuzzy_memberships(two, two, 2, 0)[0].tolist()) == pytest.approx([0.0, 1.0])


labels = st.lists(st.integers(0, 3), min_size=3, max_size=30)


@given(labels, st.randoms())
def test_the_fuzzy_rand_index_of_hard_clusters_is_the_rand_index(one: list[int], random: object) -> None:
    other = [random.randint(0, 2) for _ in one]  # type: ignore[attr-defined]
    hard = [np.eye(4)[some] for some in (one, other)]
    assert fuzzy_rand(*hard) == pytest.approx(rand_score(one, other))
    assert fuzzy_rand(hard[0], hard[0][:, ::-1]) == pytest.approx(1.0)


def test_a_dendrogram_over_its_own_records_is_scipys_and_its_cut_scikit_learns() -> None:
    records = blobs()
    cut, heights = ward(records, records, 3, 0)
    expected = AgglomerativeClustering(3, linkage="ward").fit_predict(records)
    assert adjusted_rand_score(cut, expected) == 1.0
    assert heights == pytest.approx(cophenet(linkage(records, "ward")))
    assert agreed_heights(heights, heights) == pytest.approx(1.0)


def test_dendrograms_of_other_clouds_agree_less() -> None:
    records = blobs()
    noise = np.random.default_rng(1).normal(size=records.shape)
    _, heights = ward(records, records, 3, 0)
    _, again = ward(blobs(seed=2), records, 3, 0)
    _, lost = ward(noise, records, 3, 0)
    assert agreed_heights(heights, again) > 0.8
    assert agreed_heights(heights, lost) < agreed_heights(heights, again)


def test_one_record_and_equal_records_have_no_heights_to_compare() -> None:
    alone = np.zeros((1, 2))
    cut, heights = ward(alone, blobs(), 3, 0)
    assert set(cut.tolist()) == {0}
    assert np.isnan(agreed_heights(heights, heights))
    assert k_means(np.zeros((4, 1)), np.ones((2, 1)), 3, 0).tolist() == [0, 0]
