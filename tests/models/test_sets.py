"""k^m-anonymity of sets, against every subset enumerated one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil import attacks, mechanisms
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.models import KmAnonymity, NoAttack, PopulationUniques
from unveil.partitions import Hierarchy

ITEMS = list("abcdefgh")
TREE = Hierarchy("cart", [[item, "vowel" if item in "ae" else "consonant", "*"] for item in ITEMS])


def drawn(seed: int, records: int = 40) -> list[set[str]]:
    random = np.random.default_rng(seed)
    often = np.array([0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.06, 0.04])
    return [{item for item, share in zip(ITEMS, often, strict=True) if random.random() < share} for _ in range(records)]


def slow(sets: Sequence[set[str]], m: int) -> list[int]:
    """For every record the fewest records that hold some of its items, at most m."""
    found = []
    for own in sets:
        known = [set(some) for size in range(1, m + 1) for some in combinations(sorted(own), size)]
        found.append(min((sum(some <= other for other in sets) for some in known), default=len(sets)))
    return found


def texts(sets: Sequence[set[str]]) -> pl.DataFrame:
    return pl.DataFrame({"cart": [";".join(sorted(one)) for one in sets]})


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_model_and_the_attack_count_as_the_definition_does(seed: int, m: int) -> None:
    sets = drawn(seed)
    each = slow(sets, m)
    measured = unveil.measure(texts(sets), "cart", models=[KmAnonymity("cart", k=3, m=m)])["km_anonymity", "cart"]
    assert measured.value == min(each)
    assert measured.met == (min(each) >= 3)
    assert measured.violating_records == sum(n < 3 for n in each)
    found = attacks.known_items(texts(sets), "cart", m=m)
    assert found.worst[-1] == pytest.approx(np.mean([n == 1 for n in each]))
    assert found.least[-1] == min(each)
    exact = []
    for own in sets:
        some = [set(one) for one in combinations(sorted(own), min(m, len(own)))] if own else []
        exact.append(float(np.mean([sum(one <= other for other in sets) == 1 for one in some])) if some else 0.0)
    assert found.drawn[-1] == pytest.approx(np.mean(exact))
    lists = pl.DataFrame({"cart": [sorted(one) for one in sets]})
    assert attacks.known_items(lists, "cart", m=m).to_dict() == found.to_dict()


def test_row_order_changes_nothing_doubling_doubles_and_knowing_more_is_never_safer() -> None:
    sets = drawn(9)

    def figure(some: Sequence[set[str]], m: int) -> float:
        return float(unveil.measure(texts(some), "cart", models=[KmAnonymity("cart", m=m)])["km_anonymity", "cart"].value or 0)

    for m in (1, 2, 3):
        assert figure(sets[::-1], m) == figure(sets, m)
        assert figure([*sets, *sets], m) == 2 * figure(sets, m)
        assert figure(sets, m + 1) <= figure(sets, m)


@pytest.mark.parametrize("tree", [None, TREE])
@pytest.mark.parametrize(("seed", "k", "m"), [(0, 2, 2), (1, 3, 2), (2, 5, 1), (3, 4, 3), (4, 41, 2)])
def test_a_release_meets_the_model_and_items_are_true_or_coarser(seed: int, k: int, m: int, tree: Hierarchy | None) -> None:
    sets = drawn(seed)
    made = mechanisms.generalize_sets(texts(sets), "cart", k=k, m=m, hierarchy=tree, keep_order=True)
    after = [set(filter(None, text.split(";"))) for text in made.data["cart"].to_list()]
    reached = slow(after, m)
    assert min(reached) == made.figures["k"] >= min(k, len(sets))
    assert made.figures["singled_out"] == pytest.approx(np.mean([n == 1 for n in reached]))
    assert made.figures["singled_out_before"] == pytest.approx(np.mean([n == 1 for n in slow(sets, m)]))
    for before, now in zip(sets, after, strict=True):
        covered = before | {"vowel" if item in "ae" else "consonant" for item in before}
        assert now <= covered
    if tree is None:
        assert all(now <= before for before, now in zip(sets, after, strict=True))
    whole = {item: {frozenset(now & {item}) for before, now in zip(sets, after, strict=True) if item in before} for item in ITEMS}
    assert all(len(forms) <= 1 for forms in whole.values()), "an item is recoded in all records alike"


def left_out_slowly(sets: Sequence[set[str]], k: int, m: int) -> list[set[str]]:
    """Leave out, one by one, the item in most of the sets that are too rare for how often it is written."""
    often = {item: sum(item in one for one in sets) for item in ITEMS}
    kept = [set(one) for one in sets]
    for size in range(1, m + 1):
        while True:
            known = {some for one in kept for some in combinations(sorted(one), size)}
            rare = [set(some) for some in known if sum(set(some) <= one for one in kept) < k]
            if not rare:
                break
            while rare:
                asked = sorted(set.union(*rare))
                worst = max(asked, key=lambda item: sum(item in some for some in rare) / often[item])
                rare = [some for some in rare if worst not in some]
                kept = [one - {worst} for one in kept]
    return kept


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("k", "m"), [(3, 1), (3, 2), (6, 2), (4, 3)])
def test_items_are_left_out_in_the_order_of_what_they_fix_for_what_they_cost(seed: int, k: int, m: int) -> None:
    sets = drawn(seed)
    made = mechanisms.generalize_sets(texts(sets), "cart", k=k, m=m, keep_order=True)
    assert [set(filter(None, text.split(";"))) for text in made.data["cart"].to_list()] == left_out_slowly(sets, k, m)


def test_a_hierarchy_keeps_more_than_leaving_out() -> None:
    sets = [{"a"}, {"e"}, {"b"}, {"b"}, {"a", "b"}, {"e", "b"}]
    left_out = mechanisms.generalize_sets(texts(sets), "cart", k=2, m=2, keep_order=True)
    kept = mechanisms.generalize_sets(texts(sets), "cart", k=2, m=2, hierarchy=TREE, keep_order=True)
    assert kept.figures["loss"] < left_out.figures["loss"]
    assert kept.data["cart"].to_list() == ["vowel", "vowel", "b", "b", "b;vowel", "b;vowel"]


def test_what_meets_the_model_is_left_as_it_is() -> None:
    frame = pl.DataFrame({"cart": [["a", "b"]] * 5, "other": range(5)})
    made = mechanisms.generalize_sets(frame, "cart", k=5, m=2, keep_order=True)
    assert made.data["cart"].to_list() == [["a", "b"]] * 5
    assert made.figures["loss"] == 0.0


def test_nulls_and_bad_input() -> None:
    frame = pl.DataFrame({"cart": ["a", None, "a"]})
    assert mechanisms.generalize_sets(frame, "cart", k=2, nulls="keep", keep_order=True).data["cart"].to_list() == [
        "a",
        None,
        "a",
    ]
    with pytest.raises(ArgumentError, match="leaves of the hierarchy"):
        mechanisms.generalize_sets(pl.DataFrame({"cart": ["z", "z"]}), "cart", k=2, hierarchy=TREE)
    with pytest.raises(ArgumentError, match="separator"):
        attacks.known_items(frame, "cart", separator="")
    with pytest.raises(ArgumentError, match="not among the key"):
        unveil.measure(pl.DataFrame({"x": [1, 1], "cart": ["a", "a"]}), "x", models=[KmAnonymity("cart", 2)])
    with pytest.raises(ArgumentError, match="m"):
        KmAnonymity("cart", 2, m=0)
    wide = pl.DataFrame({"cart": [";".join(map(str, range(400)))] * 2})
    with pytest.raises(ArgumentError, match="ask for a lower m"):
        attacks.known_items(wide, "cart", m=4)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "carts.csv", tmp_path / "release.csv"
    texts([one | {"a"} for one in drawn(7)]).write_csv(data)
    check = ["measure", "--key", "cart", "--km", "3:2:cart"]
    assert run([*check, str(data)]) == 1
    protect = ["anonymize", str(data), "--mechanism", "generalize_sets", "--attribute", "cart", "--set", "k=3", "--out", str(out)]
    assert run(protect) == 0
    assert run([*check, str(out)]) == 0
    capsys.readouterr()
    assert run(["measure", str(data), "--key", "cart", "--km", "3:cart"]) == 2
    assert "K:M:COLUMN" in capsys.readouterr().err


def test_numbers_are_sets_of_one_written_as_text() -> None:
    made = mechanisms.generalize_sets(pl.DataFrame({"code": [1, 1, 2, 2, 3]}), "code", k=2, keep_order=True)
    assert made.data["code"].to_list() == ["1", "1", "2", "2", ""]


@pytest.mark.parametrize(
    ("dtype", "written"),
    [
        (pl.List(pl.Int64), pl.List(pl.String)),
        (pl.Array(pl.Int64, 2), pl.List(pl.String)),
        (pl.List(pl.String), pl.List(pl.String)),
    ],
)
def test_sets_in_lists_are_written_as_lists_of_text(dtype: Any, written: Any) -> None:
    frame = pl.DataFrame({"cart": pl.Series([[1, 2], [1, 2], [3, 4]], dtype=pl.List(pl.Int64)).cast(dtype)})
    release = mechanisms.generalize_sets(frame, "cart", k=2, m=1, seed=0)
    assert release.records.frame.schema["cart"] == written
    assert sorted(release.records.frame["cart"].to_list()) == [[], ["1", "2"], ["1", "2"]]


def test_fixed_names_of_sets_are_written_as_text() -> None:
    frame = pl.DataFrame({"cart": pl.Series(["a;b", "a;b", "c"], dtype=pl.Enum(["a;b", "c"]))})
    release = mechanisms.generalize_sets(frame, "cart", k=2, m=1, seed=0)
    assert sorted(release.records.frame["cart"].to_list()) == ["", "a;b", "a;b"]


def test_a_structure_of_fields_is_one_item_and_no_list() -> None:
    frame = pl.DataFrame({"cart": [{"x": 1}, {"x": 1}, {"x": 2}]})
    release = mechanisms.generalize_sets(frame, "cart", k=2, m=1, seed=0)
    assert sorted(release.records.frame["cart"].to_list()) == ["", "{'x': 1}", "{'x': 1}"]


@pytest.mark.parametrize(("gain", "cost"), [(math.inf, 1.0), (1.0, 0.0)])
def test_gains_and_costs_beyond_all_bounds_are_refused(gain: float, cost: float) -> None:
    with pytest.raises(ArgumentError, match="a gain of zero or above"):
        NoAttack(gain, cost)


def test_a_sampling_fraction_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"sampling fraction is .*; it must be above 0 and at most 1"):
        PopulationUniques(0.1, 10**300)
