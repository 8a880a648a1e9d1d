"""Two releases together: the intersection by brute force from its definition, the published example, and m-invariance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.partitions import Hierarchy
from unveil.stream.sequential import intersect_releases

ILL = ["flu", "hiv", "cold"]
PEOPLE = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab"), st.sampled_from(ILL)), min_size=1, max_size=12)
LABELS: dict[str, tuple[int, int]] = {"[0, 2]": (0, 2), "[2, 4)": (2, 3), "3": (3, 3), "*": (0, 99), "[4, 6]": (4, 6)}
RELEASE = st.lists(
    st.tuples(st.sampled_from(list(LABELS)), st.sampled_from(["a", "b", "*"]), st.sampled_from(ILL)), min_size=1, max_size=12
)


def fits(person: tuple[int, str, str], record: tuple[str, str, str]) -> bool:
    low, high = LABELS[record[0]]
    return low <= person[0] <= high and record[1] in (person[1], "*")


@given(PEOPLE, RELEASE, RELEASE)
def test_the_intersection_is_the_definition(people: list[Any], first: list[Any], second: list[Any]) -> None:
    def frame(rows: list[Any]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=["age", "zip", "ill"], orient="row")

    alike = [
        [{at for at, record in enumerate(release) if fits(person, record)} for release in (first, second)] for person in people
    ]
    kept = [at for at, (one, other) in enumerate(alike) if one and other]
    if not kept:
        with pytest.raises(ArgumentError, match="no person is covered"):
            intersect_releases(frame(people), frame(first), frame(second), ["age", "zip"], "ill")
        return
    answer = intersect_releases(frame(people), frame(first), frame(second), ["age", "zip"], "ill")
    values = [
        [{release[row][2] for row in rows} for rows, release in zip(alike[at], (first, second), strict=True)] for at in kept
    ]
    both = [one & other for one, other in values]
    assert (answer.persons, answer.apart) == (len(kept), len(people) - len(kept))
    assert answer.earlier.candidates == pytest.approx(sum(len(one) for one, _ in values) / len(kept))
    assert answer.together.candidates == pytest.approx(sum(map(len, both)) / len(kept))
    assert answer.later.certain == pytest.approx(sum(len(other) == 1 for _, other in values) / len(kept))
    newly = sum(len(left) == 1 and len(one) > 1 and len(other) > 1 for left, (one, other) in zip(both, values, strict=True))
    assert answer.newly == pytest.approx(newly / len(kept))
    assert answer.invariant == pytest.approx(sum(one == other for one, other in values) / len(kept))
    classes = [[frozenset((first, second)[side][row][:2] for row in alike[at][side]) for side in (0, 1)] for at in kept]
    joined = pl.DataFrame(
        {"y": [repr([sorted(one), sorted(other)]) for one, other in classes], "x": [people[at][2] for at in kept]}
    )
    rate = unveil.discrimination_rate(joined, "y", "x").value if joined["x"].n_unique() > 1 else None
    assert answer.together.rate == (None if rate is None else pytest.approx(rate, abs=1e-12))


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [21, 22, 24, 23, 41, 36, 37, 40],
            "ill": ["dyspepsia", "bronchitis", "flu", "gastritis", "flu", "gastritis", "flu", "dyspepsia"],
        }
    )


def release(groups: list[tuple[str, list[str]]]) -> pl.DataFrame:
    rows = [(label, value) for label, values in groups for value in values]
    return pl.DataFrame(rows, schema=["age", "ill"], orient="row")


def test_two_releases_that_are_diverse_each_disclose_together_what_neither_does() -> None:
    first = release(
        [
            ("[21, 22]", ["dyspepsia", "bronchitis"]),
            ("[23, 24]", ["flu", "gastritis"]),
            ("[36, 41]", ["flu", "gastritis", "dyspepsia"]),
        ]
    )
    second = release(
        [
            ("[21, 23]", ["dyspepsia", "gastritis"]),
            ("[22, 24]", ["bronchitis", "flu"]),
            ("[36, 41]", ["flu", "gastritis", "dyspepsia"]),
        ]
    )
    answer = intersect_releases(people(), first, second, "age", "ill")
    assert answer.earlier.certain == answer.later.certain == 0.0
    assert answer.newly == answer.together.certain == pytest.approx(2 / 8)  # 21 and 24: one value is left of two and two
    assert answer.m_invariance == 0


def test_m_invariant_releases_disclose_nothing_more() -> None:
    groups = [
        ("[21, 22]", ["dyspepsia", "bronchitis"]),
        ("[23, 24]", ["flu", "gastritis"]),
        ("[36, 41]", ["flu", "gastritis", "dyspepsia"]),
    ]
    moved = [
        ("[20, 22]", ["dyspepsia", "bronchitis"]),
        ("[23, 25]", ["flu", "gastritis"]),
        ("[36, 41]", ["flu", "gastritis", "dyspepsia"]),
    ]
    answer = intersect_releases(people(), release(groups), release(moved), "age", "ill")
    assert (answer.invariant, answer.newly, answer.m_invariance) == (1.0, 0.0, 2)
    assert answer.together.candidates == answer.earlier.candidates
    twice = release([*groups[:2], ("[36, 41]", ["flu", "flu", "gastritis", "dyspepsia"])])
    assert intersect_releases(people(), twice, release(moved), "age", "ill").m_invariance == 0


def test_labels_of_a_hierarchy_cover_their_leaves() -> None:
    known = pl.DataFrame({"city": ["Paris", "Lima"], "ill": ["flu", "hiv"]})
    tree = Hierarchy("city", [("Paris", "Europe"), ("Lyon", "Europe"), ("Lima", "America")])
    first = pl.DataFrame({"place": ["Europe", "America"], "ill": ["flu", "hiv"]})
    answer = intersect_releases(known, first, first, "city", "ill", mapping={"city": "place"}, hierarchies={"city": tree})
    assert answer.together.certain == 1.0


def test_the_command_attacks_with_an_earlier_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = release(
        [
            ("[21, 22]", ["dyspepsia", "bronchitis"]),
            ("[23, 24]", ["flu", "gastritis"]),
            ("[36, 41]", ["flu", "gastritis", "dyspepsia"]),
        ]
    )
    for name, frame in (("people", people()), ("first", first), ("second", first)):
        frame.write_csv(tmp_path / f"{name}.csv")
    words = ["attack", str(tmp_path / "people.csv"), str(tmp_path / "second.csv"), "--earlier", str(tmp_path / "first.csv")]
    assert run([*words, "--key", "age", "--sensitive", "ill", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["newly_certain"], answer["m_invariance"]) == (0.0, 2)
    assert run([*words, "--key", "age"]) == 2
    assert "one --sensitive column" in capsys.readouterr().err
    assert run([*words, "--key", "age", "--sensitive", "ill", "--out", str(tmp_path / "page.html")]) == 0
