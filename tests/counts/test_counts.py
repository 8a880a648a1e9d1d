from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import together
from unveil.counts import Counts, grouping
from unveil.counts.grouping import group, group_sums, places_among, rows_alone, tally
from unveil.errors import ArgumentError, ColumnNotFoundError, CountsError, UnsupportedDataError
from unveil.testing import tables

COLUMNS = ["a", "b", "c"]


def as_counter(counts: Counts) -> Counter[tuple[Any, ...]]:
    cells = zip(
        *([column.values[code] for code in codes.tolist()] for column, codes in zip(counts.columns, counts.codes, strict=True)),
        strict=True,
    )
    return Counter(dict(zip(cells, counts.n.tolist(), strict=True)))


@given(tables())
def test_counts_are_those_of_a_plain_counter(frame: pl.DataFrame) -> None:
    assert as_counter(unveil.count(frame, COLUMNS)) == Counter(together(frame, COLUMNS))


@given(tables(), st.permutations(COLUMNS), st.integers(1, 3))
def test_over_is_the_marginal(frame: pl.DataFrame, order: list[str], size: int) -> None:
    assert unveil.count(frame, COLUMNS).over(order[:size]) == unveil.count(frame, order[:size])


@given(tables(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(frame: pl.DataFrame, random: Any) -> None:
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    assert unveil.count(shuffled, COLUMNS) == unveil.count(frame, COLUMNS)


@given(tables(), tables())
def test_counts_add_and_subtract(first: pl.DataFrame, second: pl.DataFrame) -> None:
    one, other = unveil.count(first, COLUMNS), unveil.count(second, COLUMNS)
    both = unveil.count(pl.concat([first, second]), COLUMNS)
    assert one + other == both
    assert both - other == one


@given(tables())
def test_recode_is_counting_the_recoded_table(frame: pl.DataFrame) -> None:
    blocks = [["x", "y"], ["z"]]
    recoded = frame.with_columns(pl.col("b").replace_strict({"x": "{x, y}", "y": "{x, y}", "z": "{z}"}, default=None))
    assert as_counter(unveil.count(frame, COLUMNS).recode("b", blocks)) == Counter(together(recoded, COLUMNS))


@given(tables())
def test_singletons_recode_to_the_same_counts(frame: pl.DataFrame) -> None:
    counts = unveil.count(frame, COLUMNS)
    recoded = counts.recode("a", {value: value for value in ("x", "y", "z")})
    assert as_counter(recoded) == as_counter(counts)


def test_codes_take_the_smallest_type() -> None:
    frame = pl.DataFrame(
        {"few": [i % 256 for i in range(70_000)], "some": [i % 257 for i in range(70_000)], "many": range(70_000)}
    )
    counts = unveil.count(frame, ["few", "some", "many"])
    assert [codes.dtype for codes in counts.codes] == [np.uint8, np.uint16, np.uint32]


def test_subtracting_what_is_not_there_is_refused() -> None:
    small, large = unveil.count(pl.DataFrame({"a": ["x"]}), ["a"]), unveil.count(pl.DataFrame({"a": ["x", "x"]}), ["a"])
    with pytest.raises(CountsError, match="1 cells would hold fewer than zero records"):
        small - large


def test_tables_over_other_columns_do_not_combine() -> None:
    with pytest.raises(CountsError, match="do not combine"):
        unveil.count(pl.DataFrame({"a": [1]}), ["a"]) + unveil.count(pl.DataFrame({"b": [1]}), ["b"])


def test_an_unknown_column_is_named_with_the_near_miss() -> None:
    with pytest.raises(ColumnNotFoundError, match="did you mean 'Disease'"):
        unveil.count("paper-2", ["Age*", "Disease"]).over("disaese")


def test_weights_are_summed_beside_the_records() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "x"], "w": [1.5, 2.0, 3.0]})
    counts = unveil.count(frame, ["a"], weights="w")
    assert counts.n.tolist() == [2, 1]
    assert counts.mass.tolist() == [4.5, 2.0]
    assert (counts + counts).mass.tolist() == [9.0, 4.0]


codes_of = st.integers(1, 6).flatmap(
    lambda rows: st.lists(
        st.tuples(st.integers(1, 2**21), st.lists(st.floats(0, 0.999), min_size=rows, max_size=rows)),
        min_size=1,
        max_size=7,
    )
)


@given(codes_of)
def test_grouping_by_any_sizes_is_exact(columns: list[tuple[int, list[float]]]) -> None:
    """Products of up to 2^147 pass through dense tables, sorted keys and compression alike."""
    sizes = [size for size, _ in columns]
    codes = [np.array([int(share * size) for share in shares], dtype=np.uint32) for size, shares in columns]
    rows = list(zip(*(column.tolist() for column in codes), strict=True))
    cells, n = tally(codes, sizes)
    assert dict(zip(zip(*(cell.tolist() for cell in cells), strict=True), n.tolist(), strict=True)) == Counter(rows)
    ids, kept = group(codes, sizes)
    combinations = list(zip(*(column.tolist() for column in kept), strict=True))
    assert combinations == sorted(set(rows))
    assert [combinations[at] for at in ids.tolist()] == rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=50))
def test_the_compiled_count_is_the_plain_one(keys: list[int]) -> None:
    from unveil.counts.grouping import count_keys

    key = np.array(keys, dtype=np.int32)
    assert count_keys(key, 10).tolist() == np.bincount(key, minlength=10).tolist()


MIXED = [1, True, 1.0, "1", Decimal("1.10"), Decimal("1.1"), None]


def test_values_that_python_takes_for_equal_stay_apart_when_tables_are_added() -> None:
    frame = pd.DataFrame({"a": pd.Series(MIXED * 2, dtype=object)})
    counts = unveil.count(frame, "a")
    assert counts.n.tolist() == [2] * len(MIXED)
    twice = counts + counts
    assert [*map(repr, twice.columns[0].values)] == [*map(repr, counts.columns[0].values)]
    assert twice.n.tolist() == [4] * len(MIXED)
    assert twice - counts == counts


def test_integers_of_any_length_keep_their_order_when_tables_are_added() -> None:
    cells = [2**64, 2**64 + 1, -(2**70), 10**40, 1]
    counts = unveil.count(pd.DataFrame({"a": pd.Series(cells, dtype=object)}), "a")
    assert counts + counts - counts == counts


def test_values_are_placed_by_type_and_text_only_where_python_does_not_tell_them_apart() -> None:
    assert places_among(MIXED, MIXED).tolist() == list(range(len(MIXED)))
    assert places_among([1, 2], [2.0, True, "1"]).tolist() == [1, 0, -1]
    assert places_among([(1, "a"), (True, "a")], [(True, "a"), (1, "b")]).tolist() == [1, -1]


def test_a_count_table_shows_itself_in_one_line_whatever_its_columns_are_named() -> None:
    assert repr(unveil.count(pl.DataFrame({"a\nb": [1]}), "a\nb")) == r"Counts(a\nb: 1 cell, 1 record)"


@given(st.lists(st.tuples(*(st.sampled_from(["x", "y", None]) for _ in range(3))), min_size=4, max_size=40), st.integers(1, 39))
def test_counts_that_were_added_are_measured_as_the_whole(rows: list[tuple[str | None, ...]], at: int) -> None:
    whole = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    cut = min(at, whole.height - 1)
    parts = [unveil.count(part, ["a", "b", "c"]) for part in (whole[:cut], whole[cut:])]
    together = parts[0] + parts[1]
    for call in (lambda data: unveil.measure(data, ["a", "b"]), lambda data: unveil.discrimination_rate(data, "a", "c")):
        try:
            expected = call(whole).to_dict()
        except unveil.UnveilError as problem:  # nothing but nulls in the key, or one sensitive value
            with pytest.raises(type(problem)):
                call(together)
        else:
            assert call(together).to_dict() == expected
    assert unveil.count(together, ["b"]) == unveil.count(whole, ["b"])


def test_what_needs_records_refuses_counts() -> None:
    table = unveil.count("adult", ["age", "sex"])
    assert unveil.scan(table, ["age", "sex"]).to_dict() == unveil.scan("adult", ["age", "sex"]).to_dict()
    with pytest.raises(UnsupportedDataError, match="a count table has no records"):
        unveil.mechanisms.add_noise(table, "age")
    with pytest.raises(CountsError, match="weights of single records are lost"):
        unveil.measure(unveil.count("adult", ["age", "sex"], weights="fnlwgt"), "age")


def test_tables_are_equal_whatever_the_order_of_their_values() -> None:
    counts = unveil.count(pl.DataFrame({"a": [1, 2, 2, None]}), "a", partitions={"a": [[2], [None], [1]]})
    assert counts + counts - counts == counts
    assert counts != counts + counts


@pytest.mark.parametrize("rows", [5, 6])
def test_keys_that_fill_a_word_with_the_row_number_are_ranked_as_they_are(rows: int) -> None:
    """Of five rows the keys and row numbers fit into 63 bits together, of six they do not."""
    sizes = [1 << 31, 3 << 28]
    codes = [np.full(rows, sizes[0] - 1), np.arange(sizes[1] - 1, sizes[1] - 1 - rows, -1)]
    codes[1][-1] = codes[1][0]
    of_row, cells = group(codes, sizes)
    ranked = sorted(set(codes[1].tolist()))
    assert of_row.tolist() == [ranked.index(code) for code in codes[1].tolist()]
    assert [column.tolist() for column in cells] == [[sizes[0] - 1] * (rows - 1), ranked]


@given(st.integers(0, 2**32), st.sampled_from([1, 40, 5_000]), st.sampled_from([2, 300, 70_000]))
def test_cells_their_sums_and_rows_alone_are_those_of_a_plain_count(seed: int, rows: int, size: int) -> None:
    """One column or several, in a table over all combinations or sorted."""
    random = np.random.default_rng(seed)
    sizes, amounts = [size, 3, size], random.integers(-9, 9, rows)
    codes = [random.integers(0, 1 + random.integers(one), rows).astype(np.min_scalar_type(one)) for one in sizes]
    for width in (1, 2):
        of_row = list(zip(*(one.tolist() for one in codes[:width]), strict=True))
        plain, sums = Counter(of_row), Counter[tuple[int, ...]]()
        for cell, amount in zip(of_row, amounts.tolist(), strict=True):
            sums[cell] += amount
        cells, n = tally(codes[:width], sizes[:width])
        assert dict(zip(zip(*(one.tolist() for one in cells), strict=True), n.tolist(), strict=True)) == plain
        assert [one.dtype for one in cells] == [np.min_scalar_type(one - 1) for one in sizes[:width]]
        cells, totals = group_sums(codes[:width], sizes[:width], amounts)
        assert list(zip(*(one.tolist() for one in cells), strict=True)) == sorted(plain)
        assert totals.tolist() == [sums[cell] for cell in sorted(plain)]
        again, same = group_sums(cells, sizes[:width], totals)
        assert [one.tolist() for one in again] == [one.tolist() for one in cells]
        assert same.tolist() == totals.tolist()
    counts = rows_alone(codes[:1], sizes[:1], codes[1:], sizes[1:])
    alone = [Counter(zip(*(one.tolist() for one in (codes[0], *more)), strict=True)) for more in ([], codes[1:2], codes[2:])]
    assert counts == [sum(n == 1 for n in counter.values()) for counter in alone]


@pytest.mark.parametrize(("slots", "rows"), [(6, 16), (13, 2_000), (20, 2_000), (11, 2_000)])
def test_rows_that_share_a_slot_are_counted_alone_all_the_same(slots: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few slots most keys share one; with many rows for the slots, keys are ranked instead."""
    monkeypatch.setattr(grouping, "_SLOTS", slots)
    random = np.random.default_rng(slots)
    sizes = [rows, 7, 3, 5_000]
    codes = [random.integers(0, size, rows) for size in sizes]
    of_row = list(zip(codes[0].tolist(), codes[1].tolist(), strict=True))
    alone = [Counter(of_row), *(Counter(zip(of_row, other.tolist(), strict=True)) for other in codes[2:])]
    counts = rows_alone(codes[:2], sizes[:2], codes[2:], sizes[2:])
    assert counts == [sum(n == 1 for n in counter.values()) for counter in alone]


INCOMPLETE = pl.DataFrame({"a": ["x", "x", "y", None, "y"], "s": ["p", "q", "p", "p", None], "v": [1, 2, 3, 4, 5]})


def test_counts_remember_how_many_records_the_null_policy_left_out() -> None:
    counts = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop")
    made = [counts, counts.over("a"), counts.recode("a", [["x", "y"]]), counts.where(counts.n > 0), unveil.count(counts, "a")]
    assert [(one.nulls, one.dropped) for one in made] == [("drop", 2)] * 5
    assert (counts + counts).dropped == 4
    assert (counts + counts - counts).dropped == 2
    assert {name: counts.to_dict()[name] for name in ("nulls", "dropped")} == {"nulls": "drop", "dropped": 2}
    assert unveil.count(INCOMPLETE, ["a", "s", "v"], nulls="drop", amounts=()).dropped == 2
    with_amounts = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop", amounts="v")
    assert (with_amounts.nulls, with_amounts.dropped) == ("drop", 2)
    assert "nulls" not in unveil.count(INCOMPLETE, ["a", "s"]).to_dict()


@pytest.mark.parametrize("nulls", [None, "category", "drop", "error"])
def test_answers_about_counts_say_what_was_left_out(nulls: str | None) -> None:
    counts = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop", amounts="v")
    said: dict[str, Any] = {"nulls": nulls}
    plain = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop")
    made = [
        unveil.measure(plain, "a", "s", **said).made,
        unveil.discrimination_rate(plain, "a", "s", **said).made,
        unveil.scan(plain, ["a"], "s", **said).made,
        unveil.assess(plain, key="a", sensitive="s", **said).made,
        unveil.check(plain, {"k_anonymity": 1}, key="a", sensitive="s", **said).made,
        unveil.table(counts, ["a", "s"], value="v", **said).made,
        unveil.measure(unveil.Study(plain, key="a", sensitive="s").changed(**said)).made,
    ]
    assert [(one.nulls, one.records, one.dropped) for one in made] == [("drop", 3, 2)] * len(made)
    assert "2 records with a null in a named column left out" in unveil.measure(plain, "a", "s", **said)._repr_html_()


def test_an_unknown_null_policy_is_refused_of_counts_without_the_records_that_have_a_null() -> None:
    counts = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop")
    for call in (unveil.count, unveil.table):
        with pytest.raises(ArgumentError, match="nulls 'wildcard' is unknown"):
            call(counts, ["a", "s"], nulls="wildcard")


def test_counts_with_and_without_records_that_have_a_null_do_not_combine() -> None:
    complete, whole = unveil.count(INCOMPLETE, ["a", "s"], nulls="drop"), unveil.count(INCOMPLETE, ["a", "s"])
    refused = unveil.count(INCOMPLETE.drop_nulls(), ["a", "s"], nulls="error")
    with pytest.raises(CountsError, match="do not combine"):
        complete + whole
    with pytest.raises(CountsError, match="do not combine"):
        whole - complete
    assert [(one.nulls, one.dropped) for one in (refused, complete + refused, whole + refused)] == [
        ("error", 0), ("drop", 2), ("category", 0),
    ]  # fmt: skip
    assert unveil.measure(refused, "a", "s").made.nulls == "error"
    fewer = unveil.count(INCOMPLETE.drop_nulls(), ["a", "s"], nulls="drop")
    with pytest.raises(CountsError, match="more records with a null were left out of the part"):
        fewer - complete
