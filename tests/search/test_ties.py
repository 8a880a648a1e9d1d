"""Of generalisations that cost the same the one with the lowest levels is taken, wherever one is chosen."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import unveil
from search.lattices import chosen
from unveil.errors import ArgumentError
from unveil.models import KAnonymity
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.objectives import OBJECTIVES, Candidate
from unveil.search.lattice.space import lowest_first
from unveil.search.requirements import limit_of

ZIPS = ["35510", "35510", "35520", "35812", "35812", "35730"]
POSTAL = unveil.Hierarchy.from_levels(
    sorted(set(ZIPS)), *([code[:keep] + "*" * (5 - keep) for code in sorted(set(ZIPS))] for keep in (4, 3, 2, 0))
)
SEXES = unveil.Hierarchy.from_levels(["f", "m"], ["*"] * 2)
PATIENTS = pl.DataFrame({"zip": ZIPS, "sex": list("fmfmfm"), "ill": list("aabbcc")})


@pytest.mark.parametrize("objective", [name for name in OBJECTIVES if name != "precision"])
def test_postal_codes_keep_the_digits_that_all_share(objective: str) -> None:
    release = unveil.anonymize(PATIENTS, {"zip": POSTAL}, [KAnonymity(6)], objective=objective, keep_order=True)
    assert release.data["zip"].to_list() == ["35***"] * 6
    assert release.optimal


@pytest.mark.parametrize("capacity", [USUAL, Capacity(nodes=1)], ids=["held", "walked"])
def test_what_costs_nothing_stays_as_low_as_the_models_allow(capacity: Capacity) -> None:
    free = chosen(PATIENTS, {"zip": POSTAL, "sex": SEXES}, [KAnonymity(1)], capacity, weights={"sex": 0.0})
    nothing = chosen(PATIENTS, {"zip": POSTAL, "sex": SEXES}, [KAnonymity(2)], capacity, factor=1.0)
    assert free.levels == [0, 0]
    assert nothing.levels == [3, 0]


def test_a_front_keeps_the_lowest_levels_of_releases_that_are_alike() -> None:
    need = unveil.Need("sex", target="sex", given="ill")
    front = unveil.anonymize_front(PATIENTS, {"zip": POSTAL}, need, sensitive="ill")
    assert front.transformations == [{"zip": 3}]


def test_levels_are_compared_by_their_sum_and_then_one_by_one() -> None:
    assert sorted([(1, 1), (0, 3), (0, 2), (3, 0)], key=lowest_first) == [(0, 2), (1, 1), (0, 3), (3, 0)]


def test_an_objective_of_ones_own_may_be_negative_but_not_nan() -> None:
    def costs(candidate: Candidate) -> float:
        return -10.0 * abs(candidate.transformation["zip"] - 2) - candidate.transformation["sex"]

    options: dict[str, Any] = {"models": [KAnonymity(1)], "attributes": {"zip": POSTAL, "sex": SEXES}}
    release = unveil.anonymize(PATIENTS, objective=costs, **options)
    assert (release.score, release.transformation, release.evaluated) == (-21.0, {"zip": 0, "sex": 1}, 10)
    cut = unveil.anonymize(PATIENTS, objective=costs, node_limit=2, **options)
    assert not cut.optimal
    assert cut.bound < release.score
    with pytest.raises(ArgumentError, match="returned NaN"):
        unveil.anonymize(PATIENTS, objective=lambda _: float("nan"), **options)


@pytest.mark.parametrize(("share", "records", "most"), [(0.29, 100, 29), (0.07, 100, 7), (0.04, 30162, 1206), (1.0, 7, 7)])
def test_a_share_of_the_records_is_rounded_down_but_not_past_itself(share: float, records: int, most: int) -> None:
    assert limit_of(share, records) == most


@pytest.mark.parametrize(
    "model", [unveil.models.KMap(), unveil.models.DeltaPresence(), KAnonymity(), unveil.models.AlphaK("ill")]
)
def test_a_model_without_a_threshold_is_no_requirement(model: Any) -> None:
    with pytest.raises(ArgumentError, match="no threshold is given"):
        unveil.anonymize(PATIENTS, {"zip": POSTAL}, [model], population=PATIENTS)
    with pytest.raises(ArgumentError, match="no threshold is given"):
        unveil.anonymize_front(
            PATIENTS, {"zip": POSTAL}, unveil.Need("sex", target="sex", given="zip"), sensitive="ill", models=[model]
        )
