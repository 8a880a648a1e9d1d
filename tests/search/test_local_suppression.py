"""Local suppression: both intruders find at least what is claimed, and no more cells go than must on small tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import shared
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, ModelNotMetError
from unveil.testing import tables

KEYS = ["a", "b", "c"]
ADULT = ["age", "education", "marital-status", "race", "sex", "native-country", "workclass"]
Rows = Sequence[tuple[Any, ...]]


def matching(rows: Rows) -> list[int]:
    """How many records match each one, from the definition."""
    return [sum(all(a == b or a is None or b is None for a, b in zip(one, other, strict=True)) for other in rows) for one in rows]


def covering(released: Rows, true: Rows) -> list[int]:
    """How many released records cover each true one, from the definition."""
    return [sum(all(a is None or a == b for a, b in zip(one, other, strict=True)) for one in released) for other in true]


def fewest(rows: np.ndarray, k: int) -> dict[str, int]:
    """The fewest nulls, by trying all: so that k cover, so that k match, and so that k match where empty records are apart."""
    n, c = rows.shape
    lost = np.indices((2**c,) * n).reshape(n, -1)
    gone = [[(lost[row] >> at & 1).astype(bool) for at in range(c)] for row in range(n)]
    empty = [lost[row] == 2**c - 1 for row in range(n)]
    covered, matched, apart = (np.zeros((n, lost.shape[1]), dtype=np.int64) for _ in range(3))
    for one in range(n):
        for other in range(n):
            differ = [at for at in range(c) if rows[one, at] != rows[other, at]]
            covered[other] += np.logical_and.reduce([gone[one][at] for at in differ], initial=True)
            match = np.logical_and.reduce([gone[one][at] | gone[other][at] for at in differ], initial=True)
            matched[other] += match
            apart[other] += match & ~empty[one]
    cells = sum(gone[row][at].astype(np.int64) for row in range(n) for at in range(c))
    holds = {
        "truth": (covered >= k).all(axis=0),
        "release": (matched >= k).all(axis=0),
        "apart": ((apart >= k) | np.array(empty)).all(axis=0),
    }
    return {name: int(cells[ok].min()) for name, ok in holds.items()}


def nearest(codes: np.ndarray, k: int) -> int:
    """A baseline: each record at risk in turn loses what sets it apart from the nearest k - 1 that are left, and so do they."""
    _, of_row, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    left, cells = codes[sizes[of_row.ravel()] < k], 0
    while len(left):
        number = len(left) if len(left) < 2 * k else k
        chosen = np.argsort((left != left[0]).sum(axis=1), kind="stable")[:number]
        cells += number * int((left[chosen] != left[chosen[0]]).any(axis=0).sum())
        left = np.delete(left, chosen, axis=0)
    return cells


def greedy(codes: np.ndarray, k: int) -> int:
    """A baseline from the definition.

    Record by record, in their order: while one matches fewer than k, it loses the cell whose loss gives it most matches.
    """
    cells = 0
    for row in range(len(codes)):
        while True:
            differ = (codes != codes[row]) & (codes >= 0) & (codes[row] >= 0)
            number = differ.sum(axis=1)
            if (number == 0).sum() >= k:
                break
            gained = [(number - differ[:, at] == 0).sum() if codes[row, at] >= 0 else -1 for at in range(codes.shape[1])]
            codes[row, int(np.argmax(gained))] = -1
            cells += 1
    return cells


def coded(frame: pl.DataFrame) -> np.ndarray:
    return np.stack([frame[name].rank("dense").to_numpy() for name in frame.columns], axis=1).astype(np.int64)


@pytest.mark.parametrize("against", ["truth", "release"])
@given(table=tables(columns=4, max_rows=14), k=st.integers(2, 4))
@settings(max_examples=20)
def test_both_figures_are_those_of_the_definitions(table: pl.DataFrame, k: int, against: str) -> None:
    try:
        found = unveil.suppress_locally(unveil.Study(table, keep="d"), KEYS, k, against=against, keep_order=True)
    except ModelNotMetError:
        assert table.height < k
        return
    before, after = table.select(KEYS).rows(), found.data.select(KEYS).rows()
    changed = [(row, at) for row in range(len(after)) for at in range(3) if after[row][at] != before[row][at]]
    assert all(after[row][at] is None for row, at in changed)
    assert found.details["cells"] == len(changed) == sum(found.details["by_attribute"].values())
    assert found.details["records"] == len({row for row, _ in changed})
    assert found.data["d"].equals(table["d"])
    answer = found.to_dict()
    assert (answer["k"], answer["k_known"]) == (min(matching(after)), min(covering(after, before)))
    assert answer["k_known"] <= answer["k"]
    assert answer["met"] is (answer["k_known"] >= k)
    assert answer["k_known" if against == "truth" else "k"] >= k


@given(table=tables(columns=3, max_rows=30), k=st.integers(2, 4))
@settings(max_examples=20)
def test_beyond_small_tables_k_holds_however_nulls_are_read(table: pl.DataFrame, k: int) -> None:
    if table.height * 3 <= 24:
        return
    found = unveil.suppress_locally(table, KEYS, k)
    assert found.details["at_risk_complete"] == 0
    for nulls in ("category", "wildcard"):
        assert unveil.measure(found.data, KEYS, nulls=nulls, suppressed="class")["k_anonymity"].value >= k  # type: ignore[operator]
    alike = found.data.select(KEYS).group_by(KEYS).len()["len"]
    assert alike.min() >= k


@given(table=tables(columns=4, max_rows=14), k=st.integers(2, 4))
@settings(max_examples=20)
def test_against_the_release_no_null_is_needless(table: pl.DataFrame, k: int) -> None:
    if table.height < k:
        return
    found = unveil.suppress_locally(table, KEYS, k, against="release", keep_order=True)
    before, after = table.select(KEYS).rows(), found.data.select(KEYS).rows()
    held = [row for row, one in enumerate(after) if any(cell is not None for cell in one)]
    try:
        assert unveil.measure(found.data, KEYS, nulls="wildcard")["k_anonymity"].value >= k  # type: ignore[operator]
    except EmptyDataError:
        assert not held
    for row in held:
        for at in range(3):
            if after[row][at] != before[row][at]:
                back = [tuple(before[r][c] if (r, c) == (row, at) else after[r][c] for c in range(3)) for r in held]
                assert min(matching(back)) < k


@pytest.mark.parametrize("against", ["truth", "release"])
@given(table=tables(columns=3, max_rows=14), k=st.integers(2, 3))
@settings(max_examples=20)
def test_the_order_of_the_records_does_not_matter(table: pl.DataFrame, k: int, against: str) -> None:
    if table.height >= k:
        found = [unveil.suppress_locally(t, KEYS, k, against=against).data.select(KEYS) for t in (table, table.reverse())]
        assert found[0].sort(KEYS).equals(found[1].sort(KEYS))


@pytest.mark.parametrize("k", [2, 3])
def test_on_small_tables_no_more_cells_go_than_must(k: int) -> None:
    """All ways are tried, also those that put nulls into safe records."""
    cells, best = {"truth": 0, "release": 0}, {"truth": 0, "release": 0, "apart": 0}
    for seed in range(150):
        draw = np.random.default_rng(seed)
        columns = int(draw.integers(2, 4))
        rows = draw.integers(0, draw.integers(2, 4), size=(draw.integers(k, 7 if columns == 2 else 6), columns))
        table, least = pl.DataFrame(rows.astype(str), schema=KEYS[:columns]), fewest(rows, k)
        found = {way: unveil.suppress_locally(table, table.columns, k, against=way).details["cells"] for way in cells}
        assert found == {"truth": least["truth"], "release": least["apart"]}
        cells = {way: cells[way] + found[way] for way in cells}
        best = {way: best[way] + least[way] for way in best}
    assert best["release"] <= cells["release"] <= 1.1 * best["release"]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_more_cells_go_than_with_a_greedy_baseline(k: int) -> None:
    adult = unveil.datasets.adult().head(1_500).select(ADULT)
    codes = coded(adult)
    grouped = unveil.suppress_locally(adult, ADULT, k).details
    assert grouped["at_risk"] <= grouped["cells"] <= nearest(codes, k)
    release = unveil.suppress_locally(adult, ADULT, k, against="release")
    assert release.details["cells"] <= greedy(codes.copy(), k)
    assert unveil.measure(release.data, ADULT, nulls="wildcard")["k_anonymity"].value >= k  # type: ignore[operator]


def test_our_own_attack_finds_nobody_alone() -> None:
    adult = unveil.datasets.adult().head(2_000).select(ADULT)
    for against, least in (("truth", 3), ("release", 1)):
        found = unveil.suppress_locally(adult, ADULT, 3, against=against)
        attacked = unveil.attack(adult, found.data, ADULT, external=adult, link_records=False).identity
        assert attacked["known"]["k_known"] == found.k_known
        assert (attacked["known"]["covered_once"] == 0) is (attacked["grey_box"]["matched_once"] == 0) is (against == "truth")
        assert found.k_known >= least
        assert found.met is (against == "truth")


def test_the_issue_of_two_people_alone() -> None:
    """Matched from both sides, four people look alike; whoever knows them finds two of them alone."""
    people = pl.DataFrame({"sex": ["f", "f", "f", "m"], "town": ["Rome", "Rome", "Pisa", "Rome"]})
    weak, strong = (unveil.suppress_locally(people, people.columns, 2, against=way) for way in ("release", "truth"))
    known = [unveil.attack(people, one.data, people.columns, link_records=False).identity["known"] for one in (weak, strong)]
    assert (weak.k, weak.k_known, weak.met, known[0]["covered_once"]) == (4, 1, False, 2)
    assert (strong.k, strong.k_known, strong.met, known[1]["covered_once"]) == (2, 2, True, 0)
    assert "Nothing is claimed" in weak.notes[-1]


def test_adult() -> None:
    adult = pl.read_csv(shared("data/arx-adult/adult.csv"), separator=";")
    found = unveil.suppress_locally(adult, ADULT, 3)
    assert (found.k_known, found.details["at_risk_complete"]) == (3, 0)
    assert found.details["cells"] < 1.3 * found.details["at_risk"]
    assert found.score == found.details["cells"] / (7 * 30_162)
    release = unveil.suppress_locally(adult, ADULT, 3, against="release")
    assert release.details["cells"] < 3_900
    assert (release.k, release.k_known, release.met) == (3, 1, False)


def test_leftover_records_take_others_along() -> None:
    """One record is at risk, and the nine others are alike: k - 1 of them lose the same cells."""
    table = pl.DataFrame({"a": ["x"] * 9 + ["y"], "b": ["p"] * 9 + ["q"], "c": ["r"] * 10})
    found = unveil.suppress_locally(table, KEYS, 3, keep_order=True)
    assert sorted(found.data.rows(), key=str) == sorted([("x", "p", "r")] * 7 + [(None, None, "r")] * 3, key=str)
    few = unveil.suppress_locally(pl.concat([table[4:], table[4:7]]), KEYS, 4)
    assert few.k_known >= 4
    assert few.details["at_risk_complete"] == 0


def test_the_nulls_of_the_data_are_kept() -> None:
    table = pl.DataFrame({"a": [None, None, "x", "y"] * 4, "b": ["p", None, "p", None] * 4})
    found = unveil.suppress_locally(table, ["a", "b"], 4, keep_order=True)
    assert found.details["cells"] == 0
    assert found.data.equals(table)


@pytest.mark.parametrize("against", ["truth", "release"])
def test_the_search_tells_how_far_it_is_and_can_be_stopped(against: str) -> None:
    adult = unveil.datasets.adult().head(2_000)
    heard: list[tuple[str, int, int]] = []
    unveil.suppress_locally(adult, ADULT, 3, against=against, progress=lambda *step: heard.append(step))
    assert {stage for stage, _, _ in heard} == {"records"}
    assert len(heard) > 4
    assert heard[-1][1] == heard[-1][2]

    def stop(_: str, done: int, __: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unveil.suppress_locally(adult, ADULT, 3, against=against, progress=stop)


def test_dear_attributes_keep_their_values() -> None:
    adult = unveil.datasets.adult().head(2_000)
    keys = ["age", "education", "sex"]
    plain = unveil.suppress_locally(adult, keys, 3).details
    dear = unveil.suppress_locally(adult, keys, 3, importance={"age": 5}).details
    assert dear["by_attribute"]["age"] < plain["by_attribute"]["age"] / 2
    assert dear["cells"] >= plain["cells"]


def test_columns_follow_the_suppression_of_another() -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["x"] * 3, "group": ["one", "one", "two"], "d": ["p", "q", "r"]})
    options = {"follow": {"group": "a"}, "identifiers": "d", "keep_order": True}
    release = unveil.suppress_locally(table, ["a", "b"], 2, against="release", **options)  # type: ignore[arg-type]
    assert release.data.rows() == [(1, "x", "one"), (1, "x", "one"), (None, "x", None)]
    assert release.data["a"].dtype == pl.Int64
    assert table["group"].null_count() == 0


def test_a_record_like_no_other_loses_every_cell() -> None:
    table = pl.DataFrame({"a": ["x", "x", "y"]})
    release = unveil.suppress_locally(table, "a", 2, against="release", keep_order=True)
    assert release.data["a"].to_list() == ["x", "x", None]
    assert release.suppressed == 1
    assert not release.met


def test_every_library_gives_the_same() -> None:
    columns = {"a": [1, 1, 2, 3, 3], "b": list("xyxyz"), "d": list("pqpqp")}
    expected = unveil.suppress_locally(pl.DataFrame(columns), ["a", "b"], 2, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = unveil.suppress_locally(frame, ["a", "b"], 2, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"k": 0}, ArgumentError, "at least 1"),
        ({"against": "all"}, ArgumentError, "truth, release"),
        ({"k": 4}, ModelNotMetError, "figure is 3"),
        ({"importance": {"d": 1}}, ArgumentError, "not a key attribute"),
        ({"importance": {"a": 0}}, ArgumentError, "above 0"),
        ({"follow": {"d": "e"}}, ArgumentError, "not a key attribute"),
        ({"follow": {"e": "a"}}, ColumnNotFoundError, "not found"),
        ({"follow": {"b": "a"}}, ArgumentError, "cannot follow"),
        ({"identifiers": "a"}, ArgumentError, "as identifier"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], words: str) -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": ["x"] * 3, "d": ["p", "q", "r"]})
    with pytest.raises(error, match=words):
        unveil.suppress_locally(table, ["a", "b"], **options)


def test_too_many_attributes() -> None:
    table = pl.DataFrame({f"c{at}": [1, 2] for at in range(17)})
    with pytest.raises(ArgumentError, match="up to 16"):
        unveil.suppress_locally(table, table.columns, 2)


@pytest.mark.parametrize("against", ["truth", "release"])
@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 2), st.sampled_from("ab")), min_size=4, max_size=30),
    st.integers(1, 3),
)
def test_within_strata_records_of_others_do_not_count(against: str, rows: list[tuple[str, int, str]], k: int) -> None:
    table = pl.DataFrame(rows, schema=["region", "age", "sex"], orient="row")
    parts = table.partition_by("region", maintain_order=True)
    if min(part.height for part in parts) < k:
        with pytest.raises(ModelNotMetError, match="fewer than"):
            unveil.suppress_locally(table, ["age", "sex"], k, against=against, strata="region")
        return
    found = unveil.suppress_locally(table, ["age", "sex"], k, against=against, strata="region", keep_order=True, seed=1)
    assert found.data["region"].to_list() == table["region"].to_list()
    alone = [unveil.suppress_locally(part, ["age", "sex"], k, against=against, keep_order=True, seed=1) for part in parts]
    assert found.k == min(one.k for one in alone)
    assert found.k_known == min(one.k_known for one in alone)
    assert found.details["cells"] == sum(one.details["cells"] for one in alone)
    asked = found.k_known if against == "truth" else found.k
    assert asked >= k


def test_strata_are_other_columns_than_the_key() -> None:
    table = pl.DataFrame({"region": ["x"] * 4, "age": [1, 1, 2, 2]})
    with pytest.raises(ArgumentError, match="name it once"):
        unveil.suppress_locally(table, ["age"], 2, strata="age")
    with pytest.raises(ColumnNotFoundError):
        unveil.suppress_locally(table, ["age"], 2, strata="place")


# an intruder who knows only some of the attributes


def least(rows: Rows, true: Rows, size: int, figure: str) -> int:
    """The least k of all subsets of a size, from the definition."""
    found = []
    for chosen in combinations(range(len(rows[0])), size):
        released, known = ([tuple(row[at] for at in chosen) for row in one] for one in (rows, true))
        found.append(min(covering(released, known) if figure == "k_known" else matching(released)))
    return min(found)


@pytest.mark.parametrize("against", ["truth", "release"])
@given(table=tables(columns=4, max_rows=16), k=st.integers(1, 3), two=st.integers(2, 6), one=st.integers(2, 8))
def test_every_subset_of_a_size_meets_its_own_k(table: pl.DataFrame, k: int, two: int, one: int, against: str) -> None:
    asked = {2: min(two, table.height), "1": min(one, table.height)}
    if table.height < k:
        return
    keys = ["a", "b", "c", "d"]
    found = unveil.suppress_locally(table, keys, k, against=against, subsets=asked, keep_order=True)
    before, after = table.select(keys).rows(), found.data.select(keys).rows()
    assert all(
        new is None or new == old for one, other in zip(before, after, strict=True) for old, new in zip(one, other, strict=True)
    )
    lost = sum(
        new is None and old is not None
        for one, other in zip(before, after, strict=True)
        for old, new in zip(one, other, strict=True)
    )
    assert found.details["cells"] == lost
    figure = "k_known" if against == "truth" else "k"
    for size, wanted in ((2, asked[2]), (1, asked["1"])):
        told = found.details["subsets"][size]
        assert told == {name: least(after, before, size, name) for name in ("k", "k_known")}
        held = [row for row in after if any(cell is not None for cell in row)]
        assert told[figure] >= wanted or not held
        for chosen in combinations(range(4), size) if against == "truth" else ():
            true = Counter(tuple(row[at] for at in chosen) for row in before)
            for old, new in zip(before, after, strict=True):
                complete = all(new[at] is not None for at in chosen)
                assert not complete or true[tuple(old[at] for at in chosen)] >= wanted  # whoever stands out lost a cell
    assert found.k_known >= k or against == "release"
    assert found.met is all(one.met for one in found.models.values())


def test_subsets_cost_what_is_asked_for_and_importance_keeps_an_attribute() -> None:
    adult = unveil.datasets.adult().head(2000)
    keys = ["age", "education", "race", "sex"]
    whole, some = (unveil.suppress_locally(adult, keys, 3 - two, subsets={2: 3} if two else None) for two in (0, 2))
    assert whole.details["cells"] > some.details["cells"] > 0
    assert some.details["subsets"][2]["k_known"] >= 3
    kept = unveil.suppress_locally(adult, keys, 1, subsets={2: 3}, importance={"age": 10})
    assert kept.details["by_attribute"]["age"] < some.details["by_attribute"]["age"]
    both = unveil.suppress_locally(adult, keys, 3, subsets={2: 3})
    assert both.details["cells"] >= whole.details["cells"]


def test_subsets_within_strata() -> None:
    adult = unveil.datasets.adult().head(600).select("age", "education", "race", "sex")
    keys = ["age", "education", "race"]
    found = unveil.suppress_locally(adult, keys, 1, subsets={2: 4}, strata="sex", keep_order=True)
    for sex in ("Male", "Female"):
        rows = (adult["sex"] == sex).to_numpy()
        before, after = (one.filter(rows).select(keys).rows() for one in (adult, found.data))
        assert least(after, before, 2, "k_known") >= 4
    with pytest.raises(ModelNotMetError, match="fewer than 500 records"):
        unveil.suppress_locally(adult, keys, 1, subsets={1: 500}, strata="sex")


@pytest.mark.parametrize("subsets", [{3: 2}, {0: 2}, {"two": 3}, {True: 2}, {2: 0}, {2: 99}])
def test_subsets_that_mean_nothing_are_refused(subsets: Any) -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "b": [1, 2, 2], "c": [1, 1, 1]})
    with pytest.raises(ArgumentError, match="subset"):
        unveil.suppress_locally(table, KEYS, 1, subsets=subsets)


def test_models_of_subsets_are_measured_before_and_after() -> None:
    people = pl.DataFrame({"sex": ["f", "f", "m", "m", "m"], "town": ["a", "b", "a", "a", "b"]})
    release = unveil.suppress_locally(people, ["sex", "town"], 1, subsets={1: 3})
    assert list(release.before) == list(release.models)
    assert release.before["k_anonymity", "any 1 of 2"].value == 2
    assert "any 1 of 2" in release._repr_html_()
