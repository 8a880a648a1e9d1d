"""Conditions against DuckDB, which evaluates the SQL that they compile to, nulls and all."""

from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.queries import QuestionError, col
from unveil.queries.predicates import All, AnyOf, Compared, Missing, Negated, Predicate, predicate_of
from unveil.sources.engines.table import quoted, quoted_text
from unveil.sources.tabulated import tabulate

TABLE = pl.DataFrame(
    {
        "n": [1, 2, None, 3, 2, -1, 0, None],
        "x": [0.5, None, 1.5, -2.0, 0.0, 0.5, 3.25, None],
        "town": ["a", "B", "b'", None, "é", "", "a", None],
        "day": [date(2020, 1, 1), None, date(2021, 5, 5), date(2020, 1, 2), None, date(1999, 12, 31), date(2020, 1, 1), None],
        "member": [True, False, None, True, None, False, True, None],
    }
)
CELLS = tabulate(TABLE, TABLE.columns, [])

compared = st.one_of(
    st.tuples(st.just("n"), st.integers(-2, 4)),
    st.tuples(st.just("x"), st.sampled_from([0.5, 0.0, -2.0, 1.25, 7.0])),
    st.tuples(st.just("town"), st.sampled_from(["a", "b", "B", "b'", "é", "", "z"])),
    st.tuples(st.just("day"), st.sampled_from([date(2020, 1, 1), date(2000, 1, 1)])),
)
leaves = st.one_of(
    st.builds(lambda pair, sign: Compared(pair[0], sign, pair[1]), compared, st.sampled_from(["=", "<>", "<", "<=", ">", ">="])),
    st.builds(lambda truth: Compared("member", "=", truth), st.booleans()),
    st.builds(Missing, st.sampled_from(TABLE.columns)),
)
predicates = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(lambda some: All(tuple(some))),
        st.lists(parts, min_size=1, max_size=3).map(lambda some: AnyOf(tuple(some))),
        parts.map(Negated),
    ),
    max_leaves=6,
)


def known(name: str) -> tuple[Any, Any]:
    column = CELLS.columns[name]
    return column.values, column.codes


CONNECTION = duckdb.connect()
RELATION = CONNECTION.from_arrow(TABLE.with_row_index("row").to_arrow())


def in_duckdb(condition: str) -> list[bool]:
    met = {row for (row,) in RELATION.filter(condition).project("row").fetchall()}
    return [row in met for row in range(TABLE.height)]


@given(predicates)
def test_a_condition_holds_where_the_engine_says_it_does(predicate: Predicate) -> None:
    held, not_held = predicate.truth(known)
    assert held.tolist() == in_duckdb(predicate.sql(quoted, quoted_text))
    assert not_held.tolist() == in_duckdb(f"NOT ({predicate.sql(quoted, quoted_text)})")


@given(predicates)
def test_a_condition_survives_being_written(predicate: Predicate) -> None:
    assert predicate_of(predicate.to_list()) == predicate


def test_the_python_form_makes_the_same_conditions() -> None:
    condition = (col("n").between(1, 2) | col("town").is_in(["a", "é"])) & ~(col("x") == None)  # noqa: E711 - as it is written
    held, _ = condition.truth(known)
    assert held.tolist() == in_duckdb("(n BETWEEN 1 AND 2 OR town IN ('a', 'é')) AND x IS NOT NULL")


def test_conditions_are_not_joined_by_and() -> None:
    with pytest.raises(QuestionError, match="&"):
        bool(col("n") > 1)
    with pytest.raises(QuestionError, match="&"):
        1 < col("n") < 3  # noqa: B015


@pytest.mark.parametrize(
    ("column", "constant"), [("n", "1"), ("town", 1), ("member", 1), ("day", "yesterday"), ("day", 3), ("n", True)]
)
def test_a_constant_has_to_fit_the_column(column: str, constant: Any) -> None:
    with pytest.raises(QuestionError, match=f"column '{column}' contains"):
        Compared(column, "=", constant).truth(known)


@pytest.mark.parametrize("constant", [float("nan"), float("inf"), None, b"x", [1]])
def test_some_constants_compare_with_nothing(constant: Any) -> None:
    with pytest.raises(QuestionError):
        Compared("x", "<", constant)


def test_a_text_stands_for_a_date() -> None:
    assert np.array_equal((col("day") >= "2020-01-01").truth(known)[0], (col("day") >= date(2020, 1, 1)).truth(known)[0])
