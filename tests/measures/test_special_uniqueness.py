from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unveil
from unveil.counts import Column, Counts
from unveil.counts.minimal_uniques import _Walk, find_minimal_uniques
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError
from unveil.measures.special_uniqueness import SpecialUniques, _dis_scores, dis_risk, special_uniqueness

NAMES = "abcdef"

Rows = list[tuple[Any, ...]]


def counted(rows: Rows, names: str | list[str] = NAMES) -> Counts:
    columns = list(names)[: len(rows[0])]
    return unveil.count(pl.DataFrame(rows, schema=columns, orient="row"), columns)


def suda(rows: Rows, names: str | list[str] = NAMES, **options: Any) -> SpecialUniques:
    table = counted(rows, names)
    return special_uniqueness(table, table.names, **options)


def cell_of(result: SpecialUniques, row: tuple[Any, ...]) -> int:
    columns = zip(result.counts.columns, result.counts.codes, strict=True)
    decoded = zip(*([column.values[code] for code in codes.tolist()] for column, codes in columns), strict=True)
    return list(decoded).index(row)


def scores(result: SpecialUniques, rows: Rows) -> list[float]:
    return [float(result.score[cell_of(result, row)]) for row in rows]


def by_definition(rows: Rows, largest: int | None = None) -> dict[tuple[Any, ...], set[tuple[int, ...]]]:
    """The minimal sample uniques of every different record: all sets on which it is unique, less those that contain another."""
    keys = len(rows[0])
    found: dict[tuple[Any, ...], set[tuple[int, ...]]] = {row: set() for row in rows}
    for size in range(1, (largest or keys) + 1):
        for subset in combinations(range(keys), size):
            shared = Counter(tuple(row[at] for at in subset) for row in rows)
            for row in rows:
                if shared[tuple(row[at] for at in subset)] == 1 and not any(set(other) < set(subset) for other in found[row]):
                    found[row].add(subset)
    return found


@st.composite
def records(draw: st.DrawFn, *, keys: int | None = None, most: int = 12) -> Rows:
    width = draw(st.integers(1, 6)) if keys is None else keys
    values = [draw(st.integers(0, 4)) for _ in range(width)]
    row = st.tuples(*(st.integers(0, highest) for highest in values))
    return draw(st.lists(row, min_size=1, max_size=most))


@given(records(), st.one_of(st.none(), st.integers(1, 7)))
def test_minimal_uniques_and_scores_follow_from_the_definition(rows: Rows, max_size: int | None) -> None:
    result = suda(rows, max_size=max_size)
    keys = len(rows[0])
    expected = by_definition(rows, None if max_size is None else min(max_size, keys))
    assert len(result.counts) == len(expected)
    for row, sets in expected.items():
        cell = cell_of(result, row)
        assert result.minimal_uniques(cell) == [
            tuple(NAMES[at] for at in places) for places in sorted(sets, key=lambda places: (len(places), places))
        ]
        assert result.msu[cell] == len(sets)
        assert result.msu_by_size[cell].tolist() == [sum(len(places) == size for places in sets) for size in range(1, keys + 1)]
        assert result.score[cell] == result.exact_score(cell) == sum(math.factorial(keys - len(places)) for places in sets)
    assert result.sample_uniques == sum(n == 1 for n in Counter(rows).values())
    assert result.special_uniques == sum(any(len(places) < keys for places in sets) for sets in expected.values())
    assert result.max_score == result.score.max()


@given(records())
def test_contributions_are_the_shares_of_the_score_through_each_attribute(rows: Rows) -> None:
    result = suda(rows)
    keys = len(rows[0])
    whole = np.zeros(keys)
    for sets in by_definition(rows).values():
        points = [sum(math.factorial(keys - len(places)) for places in sets if at in places) for at in range(keys)]
        whole += points
    assert result.contribution == pytest.approx(whole / max(result.score.sum(), 1.0))


@given(records(), st.floats(0.001, 1.0))
def test_the_harmonic_mean_of_the_risks_is_the_risk_of_the_file(rows: Rows, fraction: float) -> None:
    result = suda(rows, dis_fraction=fraction)
    scored = result.score > 0
    assert np.all(result.dis_score[~scored] == 0.0)
    assert np.array_equal(scored, result.counts.n == 1)
    if scored.any():
        assert 1.0 / np.mean(1.0 / result.dis_score[scored]) == pytest.approx(result.dis)
        assert np.all(result.dis_score <= 1.0)
        by_score, by_risk = np.argsort(result.score[scored]), result.dis_score[scored]
        assert np.all(np.diff(by_risk[by_score]) >= -1e-12)


@given(records(keys=4), st.permutations(range(4)), st.randoms(use_true_random=False))
def test_neither_order_nor_labels_matter(rows: Rows, order: list[int], chance: random.Random) -> None:
    labels = list(range(100, 110))
    chance.shuffle(labels)
    changed = [tuple(labels[row[at]] for at in order) for row in rows]
    result, other = suda(rows), suda(chance.sample(changed, len(changed)))
    assert scores(other, changed) == scores(result, rows)
    assert other.contribution == pytest.approx(result.contribution[order])
    assert other.dis == result.dis


@given(records(keys=3))
def test_a_table_doubled_has_no_unique(rows: Rows) -> None:
    result = suda(rows + rows)
    assert not result.msu.any()
    assert (result.sample_uniques, result.special_uniques, result.max_score, result.dis) == (0, 0, 0, 0.0)
    assert result.to_dict()["worst"] == []
    assert not result.contribution.any()


@pytest.mark.parametrize("values", [200, 300])
@pytest.mark.parametrize("budget", [1, 10_000_000])
def test_a_larger_table_agrees_with_the_definition(values: int, budget: int) -> None:
    chance = random.Random(values)  # noqa: S311
    rows: Rows = [
        (
            chance.randrange(2),
            int(chance.expovariate(0.3)),
            chance.randrange(values),
            int(chance.expovariate(1)),
            chance.randrange(3),
            7,
        )
        for _ in range(600)
    ]
    rows += rows[:40]
    reports: list[tuple[int, int]] = []
    counts = counted(rows)
    sizes = [len(column.values) for column in counts.columns]
    with unveil.Run(progress=lambda _, done, total: reports.append((done, total))):
        found = find_minimal_uniques(counts.codes, sizes, counts.n, max_size=6, budget=budget)
    told: list[tuple[int, int]] = []
    result, expected = suda(rows, progress=lambda _, done, total: told.append((done, total))), by_definition(rows)
    assert told[-1] == (63, 63)
    for row, sets in expected.items():
        cell = cell_of(result, row)
        held = [tuple(at for at in range(6) if one >> at & 1) for one in found.sets[found.starts[cell] : found.starts[cell + 1]]]
        assert sorted(held) == sorted(sets)
        assert set(result.minimal_uniques(cell)) == {tuple(NAMES[at] for at in places) for places in sets}
    assert reports[-1] == (63, 63)
    assert reports == sorted(reports)
    assert (len(reports) > 10) == (budget == 1)


class _Looked(unveil.Run):
    """A run whose flag may be set before anybody looks, and that counts the looks."""

    def __init__(self, flag: int) -> None:
        super().__init__(flag=np.array([flag], np.uint8))
        self.looks = 0

    def check(self) -> None:
        self.looks += 1


def test_a_walk_stops_within_its_budget_and_is_looked_at_while_its_buffers_grow() -> None:
    counts = counted([tuple(row) for row in np.random.default_rng(0).integers(0, 4, (300, 6)).tolist()])
    rows = np.array(counts.codes)
    going, stopped = _Looked(0), _Looked(1)
    for run in (going, stopped):
        walk = _Walk(rows, counts.n, 4, 6)
        walk.advance(1 << 40, 1 << 20, run)
        assert walk.finished == (run is going)
        assert bool(walk.done) == (run is going)
    assert going.looks >= 3
    assert stopped.looks == 1


def test_more_values_than_16_bits_count() -> None:
    values = (1 << 16) + 2
    column = np.arange(values, dtype=np.uint32)
    columns = (Column("id", range(values)), Column("half", range(2)))
    table = Counts(columns, (column, (column % 2).astype(np.uint8)), np.ones(values, dtype=np.int64))
    result = special_uniqueness(table, ["half", "id"])
    assert result.special_uniques == values
    assert result.msu_by_size.sum(axis=0).tolist() == [values, 0]
    assert result.contribution.tolist() == [0.0, 1.0]


THESIS: Rows = [
    ("75002", 22, "lung cancer"),
    ("75005", 23, "lung cancer"),
    ("75002", 22, "lung cancer"),
    ("75012", 45, "flu"),
    ("75002", 63, "diabetes"),
    ("75002", 40, "flu"),
    ("75012", 35, "aids"),
    ("75012", 35, "aids"),
    ("75002", 25, "diabetes"),
]


def test_the_thesis_table_3_5() -> None:
    result = suda(THESIS, ["ZIP Code", "Age", "Disease"])
    assert result.minimal_uniques(cell_of(result, THESIS[1])) == [("ZIP Code",), ("Age",)]
    assert result.minimal_uniques(cell_of(result, THESIS[3])) == [("Age",), ("ZIP Code", "Disease")]
    assert scores(result, THESIS) == [0, 4, 0, 3, 2, 3, 0, 0, 2]
    assert (result.sample_uniques, result.special_uniques, result.max_score) == (5, 5, 4)
    assert result.contribution == pytest.approx([4 / 14, 10 / 14, 2 / 14])
    assert repr(result) == "SpecialUniques(ZIP Code x Age x Disease: 5 special of 5 sample uniques, 9 records)"


GUIDE: Rows = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
"""The table by which the SDC Practice Guide (IHSN, World Bank; "Measuring risk", tables 4.4 and 4.5) explains SUDA."""

GUIDE_KEYS = ["Residence", "Gender", "Education", "Labor"]


def test_the_scores_printed_in_the_sdc_practice_guide() -> None:
    result = suda(GUIDE, GUIDE_KEYS)
    assert scores(result, GUIDE) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert result.minimal_uniques(cell_of(result, GUIDE[4])) == [
        ("Residence",),
        ("Gender", "Education"),
        ("Gender", "Labor"),
        ("Education", "Labor"),
    ]
    # 4 sample uniques and 3 pairs at a fraction of 1%, by hand
    assert result.dis == pytest.approx(0.04 / (0.04 + 6 * 0.99))
    low = {6: 6**-1.2, 12: 12**-1.2, 10: 10**-1.2}
    mean = (2 * low[6] + low[12] + low[10]) / 4
    for row, score in ((2, 6), (4, 12), (6, 6), (7, 10)):
        assert 1 / result.dis_score[cell_of(result, GUIDE[row])] == pytest.approx(1 + 148.5 * low[score] / mean)


def test_the_dis_suda_scores_printed_in_the_sdc_practice_guide() -> None:
    # computed there, with four keys, from the scores of an earlier version of sdcMicro
    printed = [0, 0, 0.005120313, 0, 0.010702061, 0, 0.005120313, 0.008775093, 0, 0]
    earlier = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    dis = dis_risk(counted(GUIDE, GUIDE_KEYS).n, 0.01)
    assert _dis_scores(earlier, dis, 4) == pytest.approx(np.array(printed), abs=5e-10)


def test_the_contributions_in_sdcmicros_own_tests() -> None:
    result = suda([(2, 0, 0), (1, 3, 6), (1, 0, 0)])
    assert scores(result, [(2, 0, 0), (1, 3, 6), (1, 0, 0)]) == [2, 4, 2]
    assert result.contribution == pytest.approx([0.5, 0.375, 0.375])


def test_the_book_example_in_sdcmicros_own_tests() -> None:
    rows: Rows = [("20s", "male", "50k+", "highschool")] * 2 + [("20s", "male", "50k-", "highschool")] * 2
    rows += [("20s", "female", "50k-", school) for school in ("university", "highschool", "middleschool")]
    rows += [("60s", "male", "50k-", "university")]
    assert scores(suda(rows), rows) == [0, 0, 0, 0, 4, 2, 6, 8]


def test_a_random_unique_is_not_special() -> None:
    # each of the last three shares its a with one record and its b with another
    rows: Rows = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]
    result = suda(rows)
    assert (result.sample_uniques, result.special_uniques) == (3, 0)
    assert scores(result, rows) == [0, 0, 1, 1, 1]
    assert result.msu_by_size.sum(axis=0).tolist() == [0, 3]


def test_what_is_above_the_largest_size_is_not_looked_for() -> None:
    rows: Rows = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    result = suda(rows, max_size=1)
    assert (result.sample_uniques, result.special_uniques, result.max_size) == (4, 1, 1)
    assert scores(result, rows) == [0, 0, 0, 0, 0, 1]
    assert result.dis_score.tolist() == [0.0, 0.0, 0.0, 0.0, result.dis]


def test_one_attribute() -> None:
    result = suda([(1,), (2,), (2,), (3,)])
    assert result.score.tolist() == [1, 0, 1]
    assert (result.sample_uniques, result.special_uniques) == (2, 0)
    assert result.contribution.tolist() == [1.0]
    assert special_uniqueness(counted([(1, 5), (2, 5)]), "a").key == ("a",)


def test_one_record_is_unique_on_every_attribute() -> None:
    result = suda([(1, 2, 3)])
    assert result.msu_by_size.tolist() == [[3, 0, 0]]
    assert result.score.tolist() == [6]
    assert (result.dis, result.dis_score.tolist()) == (1.0, [1.0])
    assert result.contribution == pytest.approx([1 / 3] * 3)


def test_every_value_different() -> None:
    result = suda([(at, at, at) for at in range(20)])
    assert result.msu_by_size.tolist() == [[3, 0, 0]] * 20
    assert result.special_uniques == result.sample_uniques == 20
    # not a single pair: nothing speaks against a unique match
    assert result.dis_score.tolist() == [1.0] * 20


def test_records_with_a_double_are_never_unique_but_stand_in_the_way() -> None:
    rows: Rows = [(0, 0), (0, 1), (0, 1), (1, 2), (1, 2)]
    assert scores(suda(rows), rows) == [1, 0, 0, 0, 0]
    assert suda(rows).minimal_uniques(0) == [("b",)]


def test_a_null_is_a_value() -> None:
    frame = pl.DataFrame({"a": [None, "x", "x"], "b": [None, None, "y"]}, schema={"a": pl.String, "b": pl.String})
    result = special_uniqueness(unveil.count(frame, ["a", "b"]), ["a", "b"])
    assert result.minimal_uniques(cell_of(result, (None, None))) == [("a",)]
    assert result.minimal_uniques(cell_of(result, ("x", None))) == [("a", "b")]
    assert {"a": None, "b": None} in [found["values"] for found in result.to_dict()["worst"]]


def test_other_columns_are_summed_out_and_weights_left_aside() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2], "x": [7, 8, 9], "b": [3, 3, 3], "w": [0.5, 0.5, 1.0]})
    result = special_uniqueness(unveil.count(frame, ["a", "x", "b"], weights="w"), ["b", "a"])
    assert result.key == ("b", "a")
    assert result.counts.n.tolist() == [2, 1]
    assert result.minimal_uniques(1) == [("a",)]


def test_to_dict_describes_the_worst_records_in_plain_values() -> None:
    result = suda(GUIDE, GUIDE_KEYS)
    answer = result.to_dict(top=3)
    assert json.loads(json.dumps(answer)) == answer
    assert {type(answer[name]) for name in ("records", "max_size", "sample_uniques", "special_uniques", "max_score")} == {int}
    assert [found["score"] for found in answer["worst"]] == [12, 10, 6]
    assert answer["worst"][0] == {
        "values": dict(zip(GUIDE_KEYS, GUIDE[4], strict=True)),
        "score": 12,
        "dis_score": float(result.dis_score.max()),
        "msu_by_size": {"1": 1, "2": 3},
        "smallest_msu": [["Residence"]],
    }
    assert answer["msu_by_size"] == {"1": 4, "2": 5}
    assert answer["contribution"] == dict(zip(GUIDE_KEYS, result.contribution.tolist(), strict=True))
    assert (answer["max_score"], answer["dis_fraction"], answer["dis"]) == (12, 0.01, result.dis)
    assert len(result.to_dict()["worst"]) == 4


def test_many_attributes_keep_exact_scores_and_ordered_risks() -> None:
    keys = 30
    names = [f"k{at}" for at in range(keys)]
    rows: Rows = [tuple(int(at < ones) for at in range(keys)) for ones in (0, 0, 1, 3)]
    result = suda(rows, names, max_size=2)
    worst = result.worst(5)
    assert [result.exact_score(cell) for cell in worst] == [2 * math.factorial(29), math.factorial(28) * 2]
    # beyond 28 attributes the score no longer tells the risks apart, rather than the wrong way round
    assert 0.0 < result.dis < 1.0
    assert result.dis_score[worst].tolist() == pytest.approx([result.dis] * 2)


def test_equal_results() -> None:
    assert suda(GUIDE) == suda(GUIDE)
    assert suda(GUIDE) != suda(GUIDE, max_size=1)
    assert suda(GUIDE) != suda(GUIDE[:-1])
    assert suda(GUIDE) != "another thing"


@given(records(keys=2))
def test_the_risk_of_the_file(rows: Rows) -> None:
    times = Counter(Counter(rows).values())
    assume(times[1])
    assert dis_risk(counted(rows).n, 0.2) == pytest.approx(times[1] * 0.2 / (times[1] * 0.2 + 2 * times[2] * 0.8))
    assert dis_risk(counted(rows).n, 1.0) == 1.0


def test_questions_that_make_no_sense() -> None:
    table = counted([(1, 2), (3, 4)])
    with pytest.raises(ArgumentError, match="no key attribute"):
        special_uniqueness(table, [])
    with pytest.raises(ArgumentError, match="named twice"):
        special_uniqueness(table, ["a", "a"])
    with pytest.raises(ColumnNotFoundError, match="'z' not found"):
        special_uniqueness(table, ["z"])
    with pytest.raises(ArgumentError, match="max_size"):
        special_uniqueness(table, ["a"], max_size=0)
    for fraction in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(ArgumentError, match="dis_fraction"):
            special_uniqueness(table, ["a"], dis_fraction=fraction)
    with pytest.raises(EmptyDataError):
        special_uniqueness(table - table, ["a"])


def test_too_much_to_search() -> None:
    with pytest.raises(ArgumentError, match="2,097,151 subsets"):
        special_uniqueness(counted([(1, 2), (3, 4)]), [f"k{at}" for at in range(21)])
    with pytest.raises(ArgumentError, match="at most 32"):
        special_uniqueness(counted([(1, 2), (3, 4)]), [f"k{at}" for at in range(33)], max_size=1)


def test_more_minimal_uniques_than_can_be_held() -> None:
    counts = counted([(at,) * 9 for at in range(20)], "abcdefghi")
    with pytest.raises(ArgumentError, match="more minimal sample uniques than can be held"):
        find_minimal_uniques(counts.codes, [20] * 9, counts.n, max_size=9, most_blocks=41)
