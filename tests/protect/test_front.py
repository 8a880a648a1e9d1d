"""The front of guided anonymisation: every node released, attacked and asked for its needs by the public calls, one by one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import rate, shared, together, varied
from unveil.errors import (
    ArgumentError,
    ColumnNotFoundError,
    EmptyDataError,
    ModelNotMetError,
    PartitionError,
    UndefinedMeasureError,
)
from unveil.models import KAnonymity, KMap, TCloseness
from unveil.search.lattice.undominated import FrontPoint, Undominated

AGE = unveil.Hierarchy.from_levels(
    [str(age) for age in range(20, 36)],
    [f"{age // 4 * 4}-{age // 4 * 4 + 3}" for age in range(20, 36)],
    [f"{age // 8 * 8}-{age // 8 * 8 + 7}" for age in range(20, 36)],
    ["*"] * 16,
)
PLACE = unveil.Hierarchy.from_levels(["aa", "ab", "ba", "bb"], ["a*", "a*", "b*", "b*"], ["**"] * 4)
SEX = unveil.Hierarchy.from_levels(["f", "m"], ["*", "*"])
TREES = {"age": AGE, "place": PLACE, "sex": SEX}
DECIMALS = 10


@dataclass(frozen=True)
class Made:
    """A release made at one node, and its figures by the public calls."""

    levels: tuple[int, ...]
    risks: tuple[Any, ...]
    degrees: tuple[Any, ...]
    loss: float
    suppressed: int
    beyond: tuple[float, ...]  # the degrees without what chance would give, at least 0

    @property
    def figures(self) -> tuple[float, ...]:
        known = [-risk for risk in self.risks if risk is not None] + [degree for degree in self.degrees if degree is not None]
        return tuple(round(figure, DECIMALS) + 0.0 for figure in known)


def people(seed: int, rows: int = 60, nulls: bool = False) -> pl.DataFrame:
    """Ages, places and sexes, a job and an income that depend on them, and a ward that does not."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(20, 36, rows), rng.choice(["aa", "ab", "ba", "bb"], rows)
    job = np.where(rng.random(rows) < 0.6, np.where(age < 27, "clerk", "cook"), rng.choice(["clerk", "cook", "vet"], rows))
    income = np.where(
        rng.random(rows) < 0.7, np.where((age > 29) ^ (place == "ba"), "high", "low"), rng.choice(["high", "low"], rows)
    )
    frame = {
        "age": age,
        "place": place,
        "sex": rng.choice(["f", "m"], rows),
        "job": job,
        "income": income,
        "ward": rng.integers(0, 2, rows),
    }
    found = pl.DataFrame(frame)
    return found.with_columns(place=pl.when(pl.Series(rng.random(rows) < 0.15)).then(None).otherwise("place")) if nulls else found


def risks_of(
    original: pl.DataFrame, release: pl.DataFrame, keys: Sequence[str], secrets: Sequence[str]
) -> tuple[float | None, ...]:
    try:
        attacked = unveil.attack(original, release, key=keys, sensitive=secrets, same_order=True, link_records=False)
    except EmptyDataError:  # everything is "*": nothing is left to attack
        alone = [rate(original[key].to_list(), release[key].to_list()) for key in keys if varied(original, key)]
        return (
            float(np.mean(alone)),
            *(rate(original[name].to_list(), together(release, keys)) if varied(original, name) else None for name in secrets),
        )
    by_secret = attacked.homogeneity["by_sensitive"]
    return (attacked.overall["risk"]["identity"], *(by_secret[name]["value"] for name in secrets))


def every_release(
    frame: pl.DataFrame,
    trees: Mapping[str, Any],
    needs: Sequence[unveil.Need],
    secrets: Sequence[str],
    models: Sequence[Any] = (),
    suppression: float = 0.0,
) -> list[Made]:
    """Release the data at every node that meets the models, attack it, and ask it for its needs."""
    found = []
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees.values())):
        fixed = {name: (level, level) for name, level in zip(trees, levels, strict=True)}
        try:
            release = unveil.anonymize(
                frame, trees, models or [KAnonymity(1)], levels=fixed, suppression=suppression, keep_order=True
            )
        except (ModelNotMetError, EmptyDataError):  # too many records would be suppressed, or all
            continue
        served = unveil.utility(release.data, needs).needs
        degrees = tuple(served[need.name].degree for need in needs)
        beyond = tuple(max(served[need.name].adjusted or 0.0, 0.0) for need in needs)
        risks = risks_of(frame, release.data, [*trees], secrets)
        found.append(Made(levels, risks, degrees, release.score, release.suppressed, beyond))
    return found


def undominated(releases: Sequence[Made]) -> dict[tuple[float, ...], Made]:
    """The releases that no other dominates, one for each set of figures: that of the least loss, then of the lowest levels."""

    def rank(one: Made) -> tuple[float, int, tuple[int, ...]]:
        return round(one.loss, DECIMALS), sum(one.levels), one.levels

    def beaten(one: Made) -> bool:
        return any(
            all(x >= y for x, y in zip(other.figures, one.figures, strict=True)) and other.figures != one.figures
            for other in releases
        )

    found: dict[tuple[float, ...], Made] = {}
    for one in releases:
        if not beaten(one) and (one.figures not in found or rank(one) < rank(found[one.figures])):
            found[one.figures] = one
    return found


def assert_same_front(front: unveil.Front, expected: Mapping[tuple[float, ...], Made], secrets: Sequence[str]) -> None:
    by_levels = {tuple(levels.values()): point for levels, point in zip(front.transformations, front.points, strict=True)}
    assert set(by_levels) == {one.levels for one in expected.values()}
    for one in expected.values():
        point = by_levels[one.levels]
        assert point.identity == pytest.approx(one.risks[0], abs=1e-11)
        assert [point.homogeneity[name] for name in secrets] == pytest.approx(list(one.risks[1:]), abs=1e-11)
        assert list(point.degrees.values()) == pytest.approx(list(one.degrees), abs=1e-11)
        assert point.loss == pytest.approx(one.loss, abs=1e-11)
        assert point.suppressed == one.suppressed


NEEDS = {
    "all keys": [unveil.Need("income", target="income", given=["age", "place", "sex"])],
    "two needs, one attribute each": [
        unveil.Need("one", target="income", given="age"),
        unveil.Need("two", target="ward", given="place"),
    ],
    "a sensitive target": [unveil.Need("job", target="job", given=["age", "sex"])],
    "a key as target": [unveil.Need("where", target="place", given="age")],
    "beside the key": [unveil.Need("income", target="income", given=["ward", "age"])],
    "blocks that levels keep": [
        unveil.Need("income", target="income", given=["age", "place"], partitions={"age": [20, 24, 32, 36]})
    ],
    "blocks that levels straddle": [
        unveil.Need("income", target="income", given=["age", "place"], partitions={"age": [20, 23, 26, 31, 36]})
    ],
    "blocks of the target": [unveil.Need("job", target="job", given="age", partitions={"job": [["clerk"], ["cook", "vet"]]})],
}
PROTECTIONS: dict[str, dict[str, Any]] = {
    "free": {},
    "k, suppression": {"models": [KAnonymity(3)], "suppression": 0.2},
    "t, suppression": {"models": [TCloseness("job", 0.25)], "suppression": 0.15},
}


@pytest.mark.parametrize(
    ("need", "protection"),
    [
        *((need, list(PROTECTIONS)[at % 3]) for at, need in enumerate(NEEDS)),
        *(("all keys", name) for name in list(PROTECTIONS)[1:]),
    ],
)
def test_front_is_what_brute_force_finds_by_releasing_and_attacking(need: str, protection: str) -> None:
    frame, needs, secrets = people(len(need)), NEEDS[need], ["job"]
    releases = [one for one in every_release(frame, TREES, needs, secrets, **PROTECTIONS[protection]) if None not in one.degrees]
    front = unveil.anonymize_front(frame, TREES, needs, sensitive=secrets, **PROTECTIONS[protection])
    assert front.complete
    assert_same_front(front, undominated(releases), secrets)


@settings(max_examples=9, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    suppression=st.sampled_from([0.0, 0.1, 0.4]),
    least=st.sampled_from([0.0, 0.05, 0.15]),
    most=st.sampled_from([0.3, 0.6, 1.0]),
    nulls=st.booleans(),
)
def test_thresholds_cut_the_front_of_all_releases_and_nothing_else(
    seed: int, suppression: float, least: float, most: float, nulls: bool
) -> None:
    frame, secrets, trees = people(seed, 40, nulls), ["job", "ward"], {"age": AGE, "place": PLACE}
    needs = [unveil.Need("income", target="income", given=["age", "place"], at_least=least)]
    rules: dict[str, Any] = {"models": [KAnonymity(2)], "suppression": suppression}
    releases = every_release(frame, trees, needs, secrets, **rules)
    kept = [
        one
        for one in releases
        if one.degrees[0] is not None and one.beyond[0] >= least - 1e-9 and all(r is None or r <= most + 1e-9 for r in one.risks)
    ]
    arguments: dict[str, Any] = {"sensitive": secrets, "max_identity": most, "max_homogeneity": most, **rules}
    if not kept:
        with pytest.raises(ModelNotMetError):
            unveil.anonymize_front(frame, trees, needs, **arguments)
        return
    assert_same_front(unveil.anonymize_front(frame, trees, needs, **arguments), undominated(kept), secrets)


@pytest.mark.parametrize(
    ("need", "seed"),
    [("a key as target", 5), ("a key as target", 6), ("blocks that levels straddle", 5), ("blocks that levels straddle", 11)],
)
def test_a_degree_that_rises_with_generalisation_rules_nothing_out(need: str, seed: int) -> None:
    frame, secrets, trees = people(seed, 30), ["job"], {"age": AGE, "place": PLACE}
    (plain,) = NEEDS[need]
    releases = [one for one in every_release(frame, trees, [plain], secrets) if None not in one.degrees]
    least = float(np.median([one.beyond[0] for one in releases]))
    kept = [one for one in releases if one.beyond[0] >= least]
    asked = unveil.Need(plain.name, plain.target, plain.given, plain.partitions, at_least=least)
    by_levels = {one.levels: one.beyond[0] for one in releases}
    rises = [
        (a, b)
        for (a, x), (b, y) in itertools.product(by_levels.items(), repeat=2)
        if y >= least > x + 1e-6 and all(i <= j for i, j in zip(a, b, strict=True))
    ]
    assert rises  # such a case is what this is about
    assert_same_front(unveil.anonymize_front(frame, trees, asked, sensitive=secrets), undominated(kept), secrets)


@pytest.mark.parametrize("prefer", ["utility", "privacy"])
def test_the_choice_is_the_best_release_of_all_that_keep_to_the_thresholds(prefer: Any) -> None:
    frame, secrets = people(3), ["job"]
    needs = [
        unveil.Need("income", target="income", given=["age", "place"], at_least=0.1),
        unveil.Need("ward", target="ward", given="sex"),
    ]
    releases = [
        one
        for one in every_release(frame, TREES, needs, secrets)
        if one.beyond[0] >= 0.1 and one.risks[0] <= 0.7 and one.risks[1] <= 0.35
    ]
    front = unveil.anonymize_front(
        frame, TREES, needs, sensitive=secrets, prefer=prefer, max_identity=0.7, max_homogeneity=0.35, keep_order=True
    )
    risk, degree = [np.mean(one.risks) for one in releases], [np.mean(one.degrees) for one in releases]
    chosen = front.points[front.choice]
    if prefer == "privacy":
        assert chosen.risk == pytest.approx(min(risk))
    else:
        assert chosen.service == pytest.approx(max(degree))
    attacked = unveil.attack(frame, front.chosen.data, key=[*TREES], sensitive=secrets, same_order=True, link_records=False)
    assert 1.0 - attacked.overall["overall_information_loss"] == pytest.approx(chosen.risk)


def test_to_prefer_privacy_is_to_disclose_less_and_to_prefer_utility_to_serve_more() -> None:
    frame, need = people(3), unveil.Need("income", target="income", given=["age", "place"])
    options: dict[str, Any] = {"sensitive": "job", "max_identity": 0.8}
    private, useful = (unveil.anonymize_front(frame, TREES, need, prefer=one, **options) for one in ("privacy", "utility"))
    assert private.points[private.choice].risk < useful.points[useful.choice].risk
    assert private.points[private.choice].service < useful.points[useful.choice].service
    assert unveil.anonymize_front(frame, TREES, need, **options).choice == private.choice


def test_a_release_of_the_front_is_made_as_anonymize_makes_it(tmp_path: Any) -> None:
    frame = people(5, 80, nulls=True)
    need = unveil.Need("income", target="income", given=["age", "place"])
    front = unveil.anonymize_front(
        frame.with_columns(id=pl.int_range(pl.len())), TREES, need, sensitive="job", models=[KAnonymity(3)], suppression=0.1,
        identifiers="id", nulls="drop", seed=4,
    )  # fmt: skip
    complete = frame.drop_nulls(["place"])
    for at in range(0, len(front), 3):
        release, row = front.release(at), front.to_dict()["front"][at]
        assert "id" not in release.data.columns
        assert release.data.height == complete.height
        assert release.transformation == front.transformations[at]
        assert release.suppressed == front.points[at].suppressed
        assert release.score == pytest.approx(front.points[at].loss)
        assert release.models[("k_anonymity",)].met
        release.write_link(tmp_path / "link.csv")
        attacked = unveil.attack(
            frame, release.data, key=[*TREES], sensitive="job", link=tmp_path / "link.csv", link_records=False
        )
        white = attacked.identity["white_box"]
        assert white["risk"] == pytest.approx(row["identity"]["risk"], abs=1e-11)
        assert white["combined"]["value"] == pytest.approx(row["identity"]["combined"], abs=1e-11)
        assert attacked.homogeneity["risk"] == pytest.approx(row["homogeneity"]["risk"], abs=1e-11)
        served = unveil.utility(release.data, need).needs["income"]
        assert served.degree == pytest.approx(row["needs"]["income"], abs=1e-11)
        assert served.adjusted == pytest.approx(row["adjusted"]["income"], abs=1e-11)


def test_pruning_looks_at_few_nodes_and_suppression_at_all_that_may_do() -> None:
    frame, need = people(7, 200), unveil.Need("income", target="income", given="age", at_least=0.1)
    front = unveil.anonymize_front(frame, TREES, need, sensitive="job")
    assert front.lattice == 4 * 3 * 2
    assert front.evaluated <= 4  # place and sex serve no need: they are fully generalised
    assert all(levels["place"] == 2 and levels["sex"] == 1 for levels in front.transformations)
    whole = unveil.anonymize_front(frame, TREES, need, sensitive="job", models=[KAnonymity(2)], suppression=1.0)
    assert whole.evaluated == whole.lattice


def test_a_level_that_changes_nothing_is_not_taken() -> None:
    doubled = unveil.Hierarchy.from_levels(["f", "m"], ["f!", "m!"], ["*", "*"])
    frame = people(1)
    front = unveil.anonymize_front(
        frame, {"sex": doubled, "age": AGE}, unveil.Need("n", target="income", given=["sex", "age"]), sensitive="job"
    )
    assert {levels["sex"] for levels in front.transformations} == {0, 2}


def test_levels_that_a_partition_does_not_cover_are_left_out_and_named() -> None:
    frame, worded = people(8), unveil.Hierarchy.from_levels(["f", "m"], ["women", "men"], ["*", "*"])
    need = unveil.Need("n", target="income", given=["sex", "age"], partitions={"sex": [["f"], ["m"]]})
    front = unveil.anonymize_front(frame, {"sex": worded, "age": AGE}, need, sensitive="job")
    assert {levels["sex"] for levels in front.transformations} == {0, 2}
    assert "The need 'n' has no block for 'sex' at level 1; left out." in front.notes


def test_a_constant_target_guides_nothing_and_says_why() -> None:
    frame = people(2).with_columns(one=pl.lit("x"))
    needs = [unveil.Need("income", target="income", given="age"), unveil.Need("none", target="one", given="age")]
    front = unveil.anonymize_front(frame, TREES, needs, sensitive=["job", "one"])
    assert front.to_frame()["degree of none"].to_list() == [None] * len(front)
    assert set(front.reasons) == {"degree of none", "homogeneity of one"}
    alone = unveil.anonymize_front(frame, TREES, needs[0], sensitive="job")
    assert front.transformations == alone.transformations
    with pytest.raises(UndefinedMeasureError, match=r"'none' asks for a degree of 0\.2, which is undefined"):
        unveil.anonymize_front(
            frame, TREES, [needs[0], unveil.Need("none", target="one", given="age", at_least=0.2)], sensitive="job"
        )
    with pytest.raises(UndefinedMeasureError, match="no need can guide"):
        unveil.anonymize_front(frame, TREES, needs[1], sensitive="job")


def test_what_cannot_be_met_is_told_with_the_closest_release() -> None:
    frame = people(9)
    need = unveil.Need("income", target="income", given="age", at_least=0.99)
    releases = every_release(frame, TREES, [need], ["job"])
    best = max(one.beyond[0] for one in releases)
    with pytest.raises(ModelNotMetError, match=re.escape(f"adjusted degree of income {best:.4f}, 0.9900 required")):
        unveil.anonymize_front(frame, TREES, need, sensitive="job")
    with pytest.raises(ModelNotMetError, match="k_anonymity >= 61 cannot be met"):
        unveil.anonymize_front(
            frame, TREES, unveil.Need("income", target="income", given="age"), sensitive="job", models=[KAnonymity(61)]
        )
    with pytest.raises(ModelNotMetError, match="none of the 1 generalisation looked at"):
        unveil.anonymize_front(
            frame,
            TREES,
            unveil.Need("n", target="income", given=["age", "sex", "place"], at_least=0.2),
            sensitive="job",
            node_limit=1,
        )


def test_a_limit_gives_a_front_that_says_it_is_not_complete() -> None:
    frame, need = people(4), unveil.Need("income", target="income", given=["age", "place", "sex"])
    settled = []
    front = unveil.anonymize_front(
        frame, TREES, need, sensitive="job", node_limit=5, progress=lambda _, done, all_: settled.append((done, all_))
    )
    assert not front.complete
    assert front.evaluated == 5
    assert (settled[0], settled[-1]) == ((0, 24), (24, 24))
    assert "not complete" in repr(front)
    assert any("stopped at its limit" in note for note in front.notes)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"needs": unveil.Need("n", target="incom", given="age")},
            ColumnNotFoundError,
            r"need 'n': column 'incom' not found.*did you mean 'income'",
        ),
        ({"needs": []}, ArgumentError, "no need is named"),
        ({"needs": ["income"]}, ArgumentError, "needs"),
        ({"needs": [unveil.Need("n", target="income", given="age")] * 2}, ArgumentError, "several needs are called 'n'"),
        (
            {"needs": unveil.Need("n", target="income", given="place", partitions={"place": [["aa"], ["ab"]]})},
            PartitionError,
            "place",
        ),
        ({"sensitive": "age"}, ArgumentError, "named as key and as sensitive"),
        ({"sensitive": "wage"}, ColumnNotFoundError, "wage"),
        ({"max_identity": 1.5}, ArgumentError, "max_identity is .*; it must be from 0 to 1"),
        ({"prefer": "speed"}, ArgumentError, "one of: utility, privacy"),
        ({"suppression": 2.0, "models": [KAnonymity(2)]}, ArgumentError, "from 0 to 1"),
        ({"models": [KMap(2)]}, ArgumentError, "use anonymize"),
        ({"identifiers": "income"}, ArgumentError, "identifier"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"needs": unveil.Need("n", target="income", given="age"), "sensitive": "job"} | change
    with pytest.raises(error, match=message):
        unveil.anonymize_front(people(0), TREES, **arguments)


def test_front_shows_itself() -> None:
    front = unveil.anonymize_front(
        people(6), TREES, unveil.Need("income", target="income", given=["age", "place"]), sensitive="job"
    )
    frame = front.to_frame()
    assert frame.height == len(front)
    assert frame["chosen"].sum() == 1
    assert frame.columns[:4] == ["chosen", "level of age", "level of place", "level of sex"]
    view = front.view()
    assert any(row[1] == "chosen" and row[0] == front.choice for row in view.tables[0].rows)
    assert "<table" in front._repr_html_()
    with pytest.raises(ArgumentError, match="counted from 0"):
        front.release(len(front))


@given(figures=st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12), order=st.randoms())
def test_undominated_does_not_depend_on_the_order(figures: list[tuple[int, int, int]], order: Any) -> None:
    points = [FrontPoint((at,), float(a), {"s": float(b)}, {"n": float(c)}, 0.0, 0) for at, (a, b, c) in enumerate(figures)]
    shuffled = [*points]
    order.shuffle(shuffled)
    found = Undominated()
    for point in shuffled:
        found.offer(point)
    better = {
        one
        for one in figures
        for other in figures
        if other != one and other[0] <= one[0] and other[1] <= one[1] and other[2] >= one[2]
    }
    assert sorted(point.node[0] for point in found.points) == sorted({figures.index(one) for one in set(figures) - better})


def test_adult_census() -> None:
    folder = shared("data/arx-adult")
    keys = ("age", "education", "race", "native-country")
    trees = {key: folder / f"adult_hierarchy_{key}.csv" for key in keys}
    data = unveil.source(folder / "adult.csv", separator=";")
    need = unveil.Need("income", target="salary-class", given=keys, at_least=0.15)
    front = unveil.anonymize_front(data, trees, need, sensitive="occupation")
    assert front.complete
    assert all(degrees["income"] >= 0.15 for degrees in front.adjusted)  # type: ignore[operator]
    at = front.choice
    release = front.release(at)
    release_only = unveil.utility(release.data, need)
    assert release_only.needs["income"].degree == pytest.approx(front.points[at].degrees["income"], abs=1e-11)
