"""The minimality attack: against every original that the real search would have released so, by hand, and what it refuses."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom

import unveil
from unveil import Hierarchy, attacks
from unveil.attacks.assignments import ClassRule, beliefs
from unveil.attacks.minimal_generalisation import _Known
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.models import AlphaK, DistinctLDiversity, KAnonymity
from unveil.study import Pair

TOWNS = Hierarchy("town", [["a", "*"], ["b", "*"]])
AGES = Hierarchy("age", [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"], ["4", "high", "*"]])
SEXES = Hierarchy("sex", [["f", "*"], ["m", "*"]])
ILLNESS = pl.DataFrame({"town": list("aabbbb"), "illness": ["hiv", "hiv", "flu", "cold", "gout", "asthma"]})


def models_of(asked: ClassRule) -> list[Any]:
    return [KAnonymity(asked.k), DistinctLDiversity("secret", asked.l), AlphaK("secret", asked.alpha)]


def by_search(
    people: pl.DataFrame, trees: dict[str, Hierarchy], asked: ClassRule
) -> tuple[pl.DataFrame, dict[Any, dict[str, float]]]:
    """Run the real search on every original with these keys and this release; return the release, and beliefs by key."""

    def made(secrets: Sequence[str]) -> pl.DataFrame:
        table = people.with_columns(secret=pl.Series(secrets))
        return pl.DataFrame(unveil.anonymize(table, dict(trees), models_of(asked), keep_order=True).data)

    release = made(people["secret"].to_list())
    seen = sorted(release.rows())
    keys = people.select(list(trees)).rows()
    counts: dict[Any, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    originals = [one for one in sorted(set(permutations(people["secret"].to_list()))) if sorted(made(one).rows()) == seen]
    for one in originals:
        for key, secret in zip(keys, one, strict=True):
            counts[key][secret] += 1.0 / (len(originals) * keys.count(key))
    return release, counts


TABLES = {
    "one value in a class too often": ({"town": list("aabbb"), "secret": list("xxyyy")}, {"town": TOWNS}, ClassRule(1, 2, 1.0)),
    "one can be forced by one value only": (
        {"town": list("aabbbb"), "secret": list("xxyzzw")},
        {"town": TOWNS},
        ClassRule(2, 2, 1.0),
    ),
    "a share": ({"town": list("aaabbb"), "secret": list("xxyyzz")}, {"town": TOWNS}, ClassRule(1, 1, 0.5)),
    "two classes": ({"age": list("1122334"), "secret": list("xxyxyyz")}, {"age": AGES}, ClassRule(1, 2, 1.0)),
    "by size alone": ({"town": list("abbb"), "secret": list("xyyx")}, {"town": TOWNS}, ClassRule(2, 1, 1.0)),
}


@pytest.mark.parametrize("name", TABLES)
def test_beliefs_are_shares_of_the_originals_that_the_search_releases_so(name: str) -> None:
    columns, trees, asked = TABLES[name]
    people = pl.DataFrame(columns)
    release, expected = by_search(people, trees, asked)
    found = attacks.minimality(people, release, list(trees), "secret", hierarchies=trees, k=asked.k, l=asked.l, alpha=asked.alpha)
    assert found.belief == pytest.approx(max(max(row.values()) for row in expected.values()))
    assert found.levels == {next(iter(trees)): 1}
    likeliest = {key: [s for s, p in row.items() if p >= max(row.values()) - 1e-9] for key, row in expected.items()}
    guesses = [(secret in likeliest[key]) / len(likeliest[key]) for *key_, secret in people.rows() for key in [tuple(key_)]]
    assert found.right == pytest.approx(np.mean(guesses))
    assert (found.drawn, found.error) == (0, 0.0)
    known = _Known.of(Pair(people, release, list(trees), "secret", hierarchies=trees))
    believed = beliefs(known.sizes, known.of_class, known.held, known.below, asked, np.random.default_rng(0))
    whole = [row[secret] for row in expected.values() for secret in sorted(set(people["secret"]))]
    assert sorted(believed.posterior.ravel()) == pytest.approx(sorted(whole))


def test_with_two_attributes_every_generalisation_just_below_has_failed() -> None:
    people = pl.DataFrame({"age": list("1122112"), "sex": list("ffffmmm"), "secret": list("xxyzxyy")})
    trees, asked = {"age": Hierarchy("age", [["1", "*"], ["2", "*"]]), "sex": SEXES}, ClassRule(1, 2, 0.6)
    release = people.with_columns(age=pl.lit("*"), sex=pl.lit("*"))
    found = attacks.minimality(people, release, ["age", "sex"], "secret", hierarchies=trees, l=2, alpha=0.6)

    def fails(secrets: Sequence[str], column: str) -> bool:
        for value in people[column].unique():
            held = [s for s, here in zip(secrets, people[column], strict=True) if here == value]
            if len(set(held)) < asked.l or max(map(held.count, held)) > asked.alpha * len(held) + 1e-9:
                return True
        return False

    every = sorted(set(permutations(people["secret"].to_list())))
    left = [one for one in every if fails(one, "age") and fails(one, "sex")]
    assert found.possible == pytest.approx(len(left) / len(every))
    keys = people.select("age", "sex").rows()
    beliefs_ = [
        np.mean([one[at] == secret for one in left for at, other in enumerate(keys) if other == key])
        for key in set(keys)
        for secret in "xyz"
    ]
    assert found.belief == pytest.approx(max(beliefs_))
    assert (found.below, found.by_size) == (2, 0)


def test_drawn_assignments_agree_with_what_is_expected_of_them() -> None:
    """Of the 32 people of each class 16 share a value, the others have one each: too many tables of counts to go through."""
    small, held = (5, 6), [16] + [1] * 16
    sizes, of_class = np.array([5, 27, 6, 26]), np.array([0, 0, 1, 1])
    drawn = beliefs(sizes, of_class, np.array([held, held]), [np.arange(4)], ClassRule(1, 2, 0.7), np.random.default_rng(1))
    sharing = np.arange(7)
    one, other = (hypergeom(32, 16, n).pmf(sharing) for n in small)
    fails, also = (sharing > 0.7 * n for n in small)
    left = one[:, None] * other * (fails[:, None] | also)
    expected = np.empty((4, 17))
    for at, (n, chance) in enumerate(zip(small, (left.sum(axis=1), left.sum(axis=0)), strict=True)):
        mean = sharing @ chance / chance.sum()
        expected[2 * at] = np.array([mean] + [(n - mean) / 16] * 16) / n
        expected[2 * at + 1] = np.array([16 - mean] + [1 - (n - mean) / 16] * 16) / (32 - n)
    assert drawn.drawn == 2
    assert drawn.possible == pytest.approx(left.sum(), rel=0.1)
    assert (np.abs(expected - drawn.posterior).max(axis=1) < 6.0 * drawn.error).all()
    assert (drawn.error > 0.0).all()
    assert drawn.posterior.sum(axis=1) == pytest.approx(np.ones(4))


def test_nothing_is_learnt_where_sizes_forced_the_release() -> None:
    people = pl.DataFrame({"town": list("abbbb"), "illness": list("xyxyx")})
    release = people.with_columns(town=pl.lit("*"))
    found = attacks.minimality(people, release, "town", "illness", hierarchies={"town": TOWNS}, k=2, l=2)
    assert (found.belief, found.raised, found.by_size, found.possible) == (found.belief_baseline, 0, 1, 1.0)
    assert "too small" in " ".join(found.view().notes)


def test_the_intruder_needs_no_sensitive_values_of_the_original() -> None:
    release = ILLNESS.with_columns(town=pl.lit("*")).sample(fraction=1.0, shuffle=True, seed=3)
    found = attacks.minimality(ILLNESS.select("town"), release, "town", "illness", hierarchies={"town": TOWNS}, l=2)
    assert (found.belief, found.certain, found.raised, found.right) == (1.0, 2, 2, None)
    with_truth = attacks.minimality(ILLNESS, release, "town", "illness", hierarchies={"town": TOWNS}, l=2)
    assert [with_truth.right, with_truth.right_baseline] == pytest.approx([0.5, 2 / 6])


def test_levels_are_read_off_the_release_and_those_that_change_nothing_passed_over() -> None:
    tree = Hierarchy("age", [["1", "1-", "low", "*"], ["2", "2-", "low", "*"], ["3", "3-", "high", "*"]])
    people = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3], "secret": list("xxyzyz")})
    release = people.with_columns(age=pl.Series(["low"] * 4 + ["high"] * 2))
    known = _Known.of(Pair(people, release, "age", "secret", hierarchies={"age": tree}))
    assert known.levels == {"age": 2}
    assert sorted(known.sizes.tolist()) == [2, 2, 2]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({}, "give k, l or alpha"),
        ({"l": 9}, "does not meet"),
        ({"k": 0}, "at least 1"),
        ({"alpha": 1.5}, "at most 1"),
        ({"l": 2, "hierarchies": {}}, "no hierarchy is given for town"),
        ({"alpha": 0.99, "sensitive": "town"}, "sensitive"),
    ],
)
def test_what_does_not_fit_is_refused(told: dict[str, Any], message: str) -> None:
    release = ILLNESS.with_columns(town=pl.lit("*"))
    given: dict[str, Any] = {"key": "town", "sensitive": "illness", "hierarchies": {"town": TOWNS}} | told
    with pytest.raises(ArgumentError, match=message):
        attacks.minimality(ILLNESS, release, **given)


def test_releases_that_were_not_made_so_are_refused() -> None:
    trees = {"town": TOWNS}
    suppressed = ILLNESS.with_columns(town=pl.Series(["a", "a", "b", "b", "b", "*"]))
    with pytest.raises(ArgumentError, match="suppressed"):
        attacks.minimality(ILLNESS, suppressed, "town", "illness", k=2, hierarchies=trees)
    people = pl.DataFrame({"town": list("aabb"), "illness": list("wxyz")})
    with pytest.raises(ArgumentError, match="no assignment of the sensitive values"):
        attacks.minimality(people, people.with_columns(town=pl.lit("*")), "town", "illness", l=2, hierarchies=trees)


def test_what_is_too_rare_to_be_drawn_is_said() -> None:
    people = pl.DataFrame({"town": ["a"] * 40 + ["b"] * 40, "illness": ["x"] * 40 + [f"y{at}" for at in range(40)]})
    release = people.with_columns(town=pl.lit("*"))
    with pytest.raises(ArgumentError, match="too rare to be drawn"):
        attacks.minimality(people, release, "town", "illness", hierarchies={"town": TOWNS}, l=2)


def test_beliefs_that_the_draws_leave_uncertain_are_left_out() -> None:
    """One of four towns must have had a single value: that is so in about 18 of the 4,000 assignments drawn."""
    people = pl.DataFrame({"town": list("aaaabbbbccccdddd"), "illness": list("xxxxyyyymnopqrst")})
    release, towns = people.with_columns(town=pl.lit("*")), Hierarchy("town", [[town, "*"] for town in "abcd"])
    found = attacks.minimality(people, release, "town", "illness", hierarchies={"town": towns}, l=2)
    assert (found.drawn, found.left_out, found.belief, found.raised) == (1, 16, found.belief_baseline, 0)
    assert "16 people" in " ".join(found.view().notes)


def test_the_command_line_takes_generalize_as_a_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ILLNESS.write_csv(tmp_path / "people.csv")
    ILLNESS.with_columns(town=pl.lit("*")).write_csv(tmp_path / "release.csv")
    TOWNS.write(tmp_path / "town.csv")
    files = [str(tmp_path / name) for name in ("people.csv", "release.csv")]
    told = ["--key", "town", "--sensitive", "illness", "--hierarchy", f"town={tmp_path / 'town.csv'}", "--method", "generalize"]
    assert run(["attack", *files, *told, "--set", "l=2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["belief"], found["certain"], found["levels"]) == (1.0, 2, {"town": 1})
    assert run(["attack", *files, *told, "--set", "window=2"]) == 2
    assert "k, l, alpha" in " ".join(capsys.readouterr().err.split())
    assert run(["attack", *files, *told, "--set", "l=2", "--control", files[0]]) == 2
