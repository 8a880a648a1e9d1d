from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import unveil
from unveil.counts import Classes, Column
from unveil.errors import ArgumentError
from unveil.measures.wildcard import Matches, covering, wildcard_matches, wildcard_sums

NAMES = "abcdefgh"
ALPHAS = st.sampled_from([0.0, 0.1, 0.5, 1.0])

Row = tuple[Any, ...]
Rows = list[Row]


def classes_of(rows: Rows, weights: Sequence[float] | None = None) -> Classes:
    names = list(NAMES[: len(rows[0])])
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    if weights is None:
        return unveil.count(frame, names).classes(names)
    return unveil.count(frame.with_columns(w=pl.Series(weights)), names, weights="w").classes(names)


def keys_of(classes: Classes) -> Rows:
    return classes.values if len(classes.columns) > 1 else [(value,) for value in classes.values]


def by_record(classes: Classes, sums: Any, rows: Rows) -> list[float]:
    found = dict(zip(keys_of(classes), sums.tolist(), strict=True))
    return [found[row] for row in rows]


def frequencies(rows: Rows, alpha: float = 1.0) -> list[float]:
    classes = classes_of(rows)
    return by_record(classes, wildcard_sums(classes, classes.n, alpha=alpha), rows)


def weighted(rows: Rows, weights: Sequence[float], alpha: float = 1.0) -> list[float]:
    classes = classes_of(rows, weights)
    return by_record(classes, wildcard_sums(classes, classes.mass, alpha=alpha), rows)


def fits(one: Row, other: Row) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def share_of(other: Row, one: Row, alpha: float) -> float:
    """How much a record of one key counts for another: the definition, pair by pair."""
    if other == one:
        return 1.0
    if not fits(one, other):
        return 0.0
    return alpha if None in other else 1.0


def pair_by_pair(rows: Rows, alpha: float, weights: Sequence[float] | None = None) -> list[float]:
    amounts = weights or [1.0] * len(rows)
    return [sum(share_of(other, one, alpha) * w for other, w in zip(rows, amounts, strict=True)) for one in rows]


@st.composite
def records(draw: st.DrawFn, *, columns: int | None = None, nulls: bool = True) -> Rows:
    """A few records of few values, nulls among them; some columns may hold nothing but nulls."""
    number = columns or draw(st.integers(1, 5))
    domains = [st.sampled_from(draw(st.sampled_from([["x", "y"], ["x", "y", "z"], ["x"]]))) for _ in range(number)]
    cells = [st.none() | domain if nulls else domain for domain in domains]
    return draw(st.lists(st.tuples(*cells), min_size=1, max_size=14))


def weights_for(rows: Rows) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from([0.5, 1.0, 2.25, 39.0]), min_size=len(rows), max_size=len(rows))


# Against the definition


@given(records(), ALPHAS)
def test_every_record_pair_by_pair(rows: Rows, alpha: float) -> None:
    assert frequencies(rows, alpha) == pytest.approx(pair_by_pair(rows, alpha), rel=1e-12)


@given(st.data(), ALPHAS)
def test_weights_pair_by_pair(data: st.DataObject, alpha: float) -> None:
    rows = data.draw(records())
    weights = data.draw(weights_for(rows))
    assert weighted(rows, weights, alpha) == pytest.approx(pair_by_pair(rows, alpha, weights), rel=1e-12)


@given(records(columns=1), ALPHAS)
def test_one_column(rows: Rows, alpha: float) -> None:
    nulls, present = rows.count((None,)), len(rows) - rows.count((None,))
    expected = [nulls + present if row == (None,) else rows.count(row) + alpha * nulls for row in rows]
    assert frequencies(rows, alpha) == pytest.approx(expected, rel=1e-12)


@given(records(), ALPHAS)
def test_the_list_of_matches_pair_by_pair(rows: Rows, alpha: float) -> None:
    classes = classes_of(rows)
    keys = keys_of(classes)
    expected = [
        (at, to, share_of(other, one, alpha)) for at, one in enumerate(keys) for to, other in enumerate(keys) if fits(one, other)
    ]
    assert listed(wildcard_matches(classes, alpha=alpha)) == expected


def listed(found: Matches) -> list[tuple[int, int, float]]:
    return list(zip(found.of_class.tolist(), found.other.tolist(), found.share.tolist(), strict=True))


@given(records(), ALPHAS)
def test_the_list_and_the_sums_agree(rows: Rows, alpha: float) -> None:
    classes = classes_of(rows)
    found = wildcard_matches(classes, alpha=alpha)
    sums = np.bincount(found.of_class, weights=found.share * classes.n[found.other], minlength=classes.number)
    assert wildcard_sums(classes, classes.n, alpha=alpha) == pytest.approx(sums, rel=1e-12)


def test_classes_with_many_forms_of_others_look_them_up_block_by_block() -> None:
    """Thousands of complete classes, and others that are null in every set of columns: more lookups than are made at once."""
    random = np.random.default_rng(0)
    digits = np.array([*itertools.product(range(3), repeat=8)])
    holes = np.array([*itertools.product([False, True], repeat=8)])[1:]
    nulled = np.where(holes, -1, random.integers(0, 3, holes.shape))
    cells = [[None if cell < 0 else cell for cell in row] for row in np.vstack([digits, nulled]).tolist()]
    classes = classes_of([tuple(row) for row in cells])
    codes = np.stack([own.astype(np.int64) for own in classes.codes], axis=1)  # of 0, 1, 2, null
    null = np.flatnonzero((codes == 3).any(axis=1))
    fits = np.stack([((codes[at] == codes) | (codes[at] == 3) | (codes == 3)).all(axis=1) for at in null])
    amounts = random.integers(1, 9, classes.number).astype(np.float64)
    expected = amounts.copy()
    expected[null] = fits[:, codes.max(axis=1) < 3] @ amounts[codes.max(axis=1) < 3] + amounts[null]
    to_null = fits.astype(np.float64)
    to_null[np.arange(len(null)), null] = 0.0
    expected += 0.5 * amounts[null] @ to_null
    assert wildcard_sums(classes, amounts, alpha=0.5) == pytest.approx(expected, rel=1e-12)
    found = wildcard_matches(classes)
    assert len(found.of_class) == (digits.shape[0] + 2 * fits.sum() - fits[:, null].sum())
    assert fits[:, found.other[np.isin(found.of_class, null)]].any()


# Laws


@given(records(), ALPHAS)
def test_a_record_counts_at_least_its_like_and_at_most_everyone(rows: Rows, alpha: float) -> None:
    classes = classes_of(rows)
    found = wildcard_sums(classes, classes.n, alpha=alpha)
    assert (found >= classes.n).all()
    assert (found <= len(rows)).all()


@given(records(), ALPHAS, ALPHAS)
def test_raising_alpha_never_lowers(rows: Rows, one: float, two: float) -> None:
    classes = classes_of(rows)
    low, high = (wildcard_sums(classes, classes.n, alpha=alpha) for alpha in sorted([one, two]))
    assert (low <= high).all()


@given(records(), ALPHAS)
def test_complete_keys_count_plainly_where_nulls_count_nothing(rows: Rows, alpha: float) -> None:
    classes = classes_of(rows)
    plain, none = classes.n, wildcard_sums(classes, classes.n, alpha=0.0)
    complete = np.array([None not in key for key in keys_of(classes)])
    assert (none[complete] == plain[complete]).all()
    raised = wildcard_sums(classes, classes.n, alpha=alpha) - none
    every = wildcard_sums(classes, classes.n) - none
    assert raised == pytest.approx(alpha * every)


@given(st.data(), ALPHAS)
def test_the_order_of_rows_and_columns_is_irrelevant(data: st.DataObject, alpha: float) -> None:
    rows = data.draw(records())
    order = data.draw(st.permutations(range(len(rows))))
    columns = data.draw(st.permutations(range(len(rows[0]))))
    turned = [tuple(rows[at][column] for column in columns) for at in order]
    found = frequencies(rows, alpha)
    assert frequencies(turned, alpha) == [found[at] for at in order]


@given(records())
def test_matching_is_symmetric_and_holds_every_class_itself(rows: Rows) -> None:
    classes = classes_of(rows)
    found = wildcard_matches(classes)
    pairs = set(zip(found.of_class.tolist(), found.other.tolist(), strict=True))
    assert len(pairs) == len(found.other)
    assert pairs == {(other, one) for one, other in pairs}
    assert {(at, at) for at in range(classes.number)} <= pairs


@given(records(), ALPHAS, st.data())
def test_suppressing_a_cell_never_lowers_that_records_own_frequency(rows: Rows, alpha: float, data: st.DataObject) -> None:
    """What local suppression is for, of a record that no other is equal to; with alpha = 1 of any record."""
    at = data.draw(st.integers(0, len(rows) - 1))
    if rows.count(rows[at]) > 1:
        alpha = 1.0
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    suppressed = (*rows[at][:column], None, *rows[at][column + 1 :])
    after = frequencies([*rows[:at], suppressed, *rows[at + 1 :]], alpha)
    assert after[at] >= frequencies(rows, alpha)[at] - 1e-12


# Edges


@given(records(nulls=False), ALPHAS)
def test_without_nulls_the_classes_are_counted_plainly(rows: Rows, alpha: float) -> None:
    classes = classes_of(rows)
    assert wildcard_sums(classes, classes.n, alpha=alpha).tolist() == classes.n.tolist()
    assert listed(wildcard_matches(classes, alpha=alpha)) == [(at, at, 1.0) for at in range(classes.number)]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_records_that_are_all_null_count_each_other_in_full(alpha: float) -> None:
    assert frequencies([(None, None)] * 3, alpha) == [3.0] * 3


def test_a_key_that_is_all_null_follows_the_rule_like_any_other() -> None:
    rows: Rows = [("x", "y"), ("x", "y"), ("x", None), (None, None)]
    assert frequencies(rows, 1.0) == [4.0, 4.0, 4.0, 4.0]
    assert frequencies(rows, 0.5) == [3.0, 3.0, 3.5, 3.5]
    assert frequencies(rows, 0.0) == [2.0, 2.0, 3.0, 3.0]


def test_alpha_multiplies_once() -> None:
    """Twenty classes with a null count a tenth each: 4 in all, not a hair off, since thresholds are compared with it."""
    rows: Rows = [("x", "y", 0), ("x", "y", None), *[("x", None, at) for at in range(1, 21)]]
    assert sum([0.1] * 20) != 2.0
    assert frequencies(rows, 0.1)[1] == 4.0


def test_amounts_may_be_anything_there_is_one_of_a_class() -> None:
    classes = classes_of([("x",), ("y",), (None,)])
    assert wildcard_sums(classes, np.array([True, False, True])).tolist() == [2.0, 1.0, 2.0]
    assert wildcard_sums(classes, np.array([10, 20, 5]), alpha=0.5).tolist() == [12.5, 22.5, 35.0]


def test_amounts_are_not_changed() -> None:
    complete, suppressed = classes_of([("x",), ("y",)]), classes_of([("x",), (None,)])
    for classes in (complete, suppressed):
        amounts = np.array([1.0, 2.0])
        wildcard_sums(classes, amounts)[:] = 7.0
        assert amounts.tolist() == [1.0, 2.0]


def test_no_classes_at_all() -> None:
    nothing, codes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    for values in ((), (None,), ("x", None)):
        classes = Classes(nothing, (Column("a", values),), (codes,), nothing, np.zeros(0))
        assert wildcard_sums(classes, nothing).tolist() == []
        assert listed(wildcard_matches(classes)) == []


def test_a_null_that_no_class_holds_is_no_wildcard() -> None:
    one, codes = np.ones(2, dtype=np.int64), np.array([0, 1], dtype=np.uint8)
    classes = Classes(np.arange(2), (Column("a", ("x", "y", None)),), (codes,), one, np.ones(2))
    assert wildcard_sums(classes, one).tolist() == [1.0, 1.0]


def test_keys_too_wide_for_one_integer() -> None:
    rng = np.random.default_rng(3)
    base = [tuple(rng.integers(0, 10**6, 6).tolist()) for _ in range(40)]
    filler: Rows = [tuple([at + 10**7] * 6) for at in range(3000)]
    rows = filler + [tuple(None if rng.random() < 0.3 else value for value in base[at % 40]) for at in range(120)]
    classes = classes_of(rows)
    assert np.prod([float(len(column.values)) for column in classes.columns]) > 2.0**62
    mixed = rows[3000:]
    found = by_record(classes, wildcard_sums(classes, classes.n, alpha=0.5), mixed)
    expected = [sum(share_of(other, one, 0.5) for other in rows) for one in mixed]
    assert found == pytest.approx(expected)


# Refusals


@pytest.mark.parametrize("alpha", [-0.01, 1.01, float("nan"), float("inf")])
def test_an_alpha_outside_zero_to_one_is_refused(alpha: float) -> None:
    classes = classes_of([("x",)])
    with pytest.raises(ArgumentError, match=r"alpha is .* from 0 to 1"):
        wildcard_sums(classes, classes.n, alpha=alpha)
    with pytest.raises(ArgumentError, match=r"alpha is .* from 0 to 1"):
        wildcard_matches(classes, alpha=alpha)


@pytest.mark.parametrize("amounts", [np.ones(1), np.ones(3), np.ones((2, 1)), np.float64(1.0)])
def test_amounts_of_another_number_are_refused(amounts: Any) -> None:
    with pytest.raises(ArgumentError, match="one number for each of 2 classes"):
        wildcard_sums(classes_of([("x",), (None,)]), amounts)


def test_too_many_pairs_are_refused_and_summed_all_the_same() -> None:
    number = 6000
    classes = classes_of([(at, None) for at in range(number)] + [(None, at) for at in range(number)])
    with pytest.raises(ArgumentError, match=r"12,000 classes .* 72,012,000 pairs.*use wildcard_sums"):
        wildcard_matches(classes)
    assert (wildcard_sums(classes, classes.n, alpha=0.5) == 1 + number / 2).all()


# Printed figures


GUIDE: Rows = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", None, None),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]


def test_the_practice_guides_table_with_alpha() -> None:
    """SDC Practice Guide, "Measuring Risk", the draft's table tab46 (github.com/ihsn/SDCPractice, pull request 40)."""
    assert frequencies(GUIDE) == [2, 2, 1, 3, 1, 2, 1, 2, 2, 2]
    assert frequencies(GUIDE, 0.5) == [2, 2, 1, 3, 1, 1.5, 1, 1.5, 2, 2]


def test_the_practice_guides_table_on_k_anonymity() -> None:
    """SDC Practice Guide, "Measuring Risk", table tab42: the missing value is read as the one level and as the other."""
    rows: Rows = [("Male", "complete", "Employed"), ("Male", "incomplete", "Employed"), ("Male", None, "Employed")]
    assert frequencies(rows) == [2, 2, 3]


WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
A, B = (2, 3, 2, 2, 3, 3, 1, 2), (3, 3, 3, 3, 3, 3, 4, 3)
FREQ_CALC_TESTS: dict[str, tuple[list[Sequence[Any]], list[float], list[float]]] = {
    "no nulls": (
        [A, B, (1, 3, 1, 2, 1, 1, 1, 1)],
        [3, 1, 3, 1, 2, 2, 1, 3],
        [108.0, 45.5, 108.0, 17.0, 100.0, 100.0, 123.5, 108.0],
    ),
    "nulls in one of three": (
        [A, B, (1, 3, None, 2, 1, 1, None, 1)],
        [3, 1, 4, 2, 2, 2, 1, 3],
        [108.0, 45.5, 125.0, 56.0, 100.0, 100.0, 123.5, 108.0],
    ),
    "a column and a record of nulls": (
        [(2, 3, None, 2, 3, 3, 1, 2), (3, 3, None, 3, 3, 3, 4, 3), (None,) * 8],
        [4, 4, 8, 4, 4, 4, 2, 4],
        [125.0, 184.5, 394.0, 125.0, 184.5, 184.5, 162.5, 125.0],
    ),
    "one column": (
        [(2, 3, None, 2, 1, None, 1, 2)],
        [5, 3, 8, 5, 4, 8, 4, 5],
        [133.0, 92.5, 394.0, 133.0, 262.5, 394.0, 262.5, 133.0],
    ),
}


@pytest.mark.parametrize("name", FREQ_CALC_TESTS)
def test_what_sdcmicros_own_tests_expect(name: str) -> None:
    """The figures in tests/testthat/test_freqCalc.R of sdcMicro 5.8.1 (revision cf32510)."""
    columns, sample, population = FREQ_CALC_TESTS[name]
    rows = list(zip(*columns, strict=True))
    assert frequencies(rows) == sample
    assert weighted(rows, WEIGHTS) == pytest.approx(population)


def test_what_sdcmicros_own_tests_expect_of_more_columns_than_records() -> None:
    """The last case of the same file: eight columns, three records."""
    rows: Rows = [(2, 2, 1, 3, 3, 3, 1, None), (3, 3, None, 3, 2, None, 2, 4), (None, 3, 3, None, 2, None, None, 4)]
    assert frequencies(rows) == [1, 2, 2]
    assert weighted(rows, [18.0, 45.5, 122.0]) == [18.0, 167.5, 167.5]


def test_the_manuals_example_francdat() -> None:
    """The example in freqCalc's manual: francdat (Capobianchi, Polettini, Lucarelli) with five cells suppressed.

    The manual prints no figures; these were worked out by hand from the matches of each record.
    """
    rows: Rows = [
        (1, 2, 5, 1),
        (1, 2, 1, 1),
        (1, 2, None, 1),
        (None, None, 1, 5),
        (4, 3, 1, None),
        (None, 3, 1, 1),
        (6, 2, 1, 5),
        (1, 2, 5, 1),
    ]
    weights = [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0]
    assert frequencies(rows) == [3, 2, 4, 3, 3, 2, 2, 3]
    assert frequencies(rows, 0.5) == [2.5, 1.5, 4, 2.5, 2, 1.5, 1.5, 2.5]
    assert frequencies(rows, 0.1) == pytest.approx([2.1, 1.1, 4, 2.1, 1.2, 1.1, 1.1, 2.1])
    assert weighted(rows, weights) == [149.0, 84.5, 194.5, 563.0, 566.0, 549.0, 22.0, 149.0]
    assert weighted(rows, weights, 0.5) == [129.5, 65.0, 194.5, 292.5, 553.5, 278.5, 13.5, 129.5]


def test_a_question_to_sdcmicro_about_alpha_zero() -> None:
    """Figures of sdcMicro issue 353, for the keys A, (A, B) and (A, B, C), where A = 1, 1, 1, NA, B is 1, C is NA.

    For the key (A, C) sdcMicro says 4 for the last record, by its exception for keys that are all null; the rule says 1,
    as for (A, B, C).
    """
    a, b, c = (1, 1, 1, None), (1,) * 4, (None,) * 4
    assert frequencies(list(zip(a, strict=True)), 0.0) == [3, 3, 3, 4]
    assert frequencies(list(zip(a, b, strict=True)), 0.0) == [3, 3, 3, 4]
    assert frequencies(list(zip(a, b, c, strict=True)), 0.0) == [3, 3, 3, 1]
    assert frequencies(list(zip(a, c, strict=True)), 0.0) == [3, 3, 3, 1]


NUMBERS = st.integers(1, 12)


@given(data=st.data(), columns=st.integers(1, 4))
def test_the_records_that_cover_a_true_one_are_those_that_the_definition_names(data: st.DataObject, columns: int) -> None:
    released, true = (data.draw(arrays(np.int64, (data.draw(NUMBERS), columns), elements=st.integers(-1, 2))) for _ in range(2))
    amounts = data.draw(arrays(np.int64, len(released), elements=st.integers(1, 3)))
    expected = [
        sum(int(n) for row, n in zip(released, amounts, strict=True) if all(a in (-1, b) for a, b in zip(row, one, strict=True)))
        for one in true
    ]
    assert covering(released, true, amounts).tolist() == expected
    assert covering(true, true).min() >= 1
