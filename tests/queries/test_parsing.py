"""What the gate reads, and what it does not: the list is of what is allowed."""

from __future__ import annotations

from datetime import date

import pytest
import sqlglot

from unveil.queries import QuestionError
from unveil.queries.inquiry import Aggregate
from unveil.queries.parsing import condition_of_sql, inquiry_of_sql
from unveil.queries.predicates import All, AnyOf, Compared, Missing, Negated

NAMES = ["age", "Town", "salary", "day", 'od"d']


def test_a_whole_question_is_read() -> None:
    inquiry = inquiry_of_sql("SELECT town, COUNT(*) AS n, AVG(salary) FROM people WHERE age >= 35 GROUP BY town;", NAMES)
    assert inquiry.aggregates == (Aggregate("count"), Aggregate("avg", "salary"))
    assert (inquiry.where, inquiry.by) == (Compared("age", ">=", 35), ("Town",))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("35 < age", Compared("age", ">", 35)),
        ("age = -1.5", Compared("age", "=", -1.5)),
        ("age != 3 OR NOT town = 'x'", AnyOf((Compared("age", "<>", 3), Negated(Compared("Town", "=", "x"))))),
        ("age BETWEEN 1 AND 2", All((Compared("age", ">=", 1), Compared("age", "<=", 2)))),
        ("town IN ('a')", Compared("Town", "=", "a")),
        ("town NOT IN ('a', 'b')", Negated(AnyOf((Compared("Town", "=", "a"), Compared("Town", "=", "b"))))),
        ("town IS NOT NULL", Negated(Missing("Town"))),
        ("day = DATE '2020-01-31'", Compared("day", "=", date(2020, 1, 31))),
        ("\"od\"\"d\" = 'it''s; -- no comment /* */'", Compared('od"d', "=", "it's; -- no comment /* */")),
    ],
)
def test_conditions_are_read(text: str, condition: object) -> None:
    assert condition_of_sql(text, NAMES) == condition


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "duckdb", "spark", "bigquery", "tsql", "snowflake", "oracle", "sqlite"])
def test_dialects_are_read_alike(dialect: str) -> None:
    text = "SELECT SUM(salary) FROM people WHERE age > 30 AND town = 'x' GROUP BY town"
    assert inquiry_of_sql(text, NAMES, dialect) == inquiry_of_sql(text, NAMES)


REFUSED = [
    "SELECT salary FROM people",
    "SELECT * FROM people",
    "SELECT DISTINCT COUNT(*) FROM people",
    "SELECT COUNT(DISTINCT salary) FROM people",
    "SELECT SUM(salary * 2) FROM people",
    "SELECT SUM(salary) + 1 FROM people",
    "SELECT SUM(CAST(salary AS INT)) FROM people",
    "SELECT SUM(salary) OVER () FROM people",
    "SELECT SUM(salary) FILTER (WHERE age > 1) FROM people",
    "SELECT MEDIAN(salary) FROM people",
    "SELECT STRING_AGG(town, ',') FROM people",
    "SELECT COUNT(*) FROM people, people AS other",
    "SELECT COUNT(*) FROM people JOIN other ON 1 = 1",
    "SELECT COUNT(*) FROM (SELECT * FROM people) AS t",
    "SELECT COUNT(*) FROM read_csv('secret.csv')",
    "SELECT COUNT(*) FROM people TABLESAMPLE (10 PERCENT)",
    "SELECT COUNT(*) FROM secret.people",
    "WITH t AS (SELECT 1) SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people; DROP TABLE people",
    "DELETE FROM people",
    "SELECT COUNT(*) FROM people LIMIT 1",
    "SELECT COUNT(*) FROM people ORDER BY 1",
    "SELECT COUNT(*) FROM people GROUP BY town HAVING COUNT(*) > 1",
    "SELECT COUNT(*) FROM people GROUP BY 1",
    "SELECT COUNT(*) FROM people GROUP BY age % 2",
    "SELECT COUNT(*) FROM people GROUP BY ROLLUP (town)",
    "SELECT COUNT(*) FROM people GROUP BY CUBE (town)",
    "SELECT COUNT(*) INTO other FROM people",
    "SELECT COUNT(*) FROM people FOR UPDATE",
    "SELECT COUNT(*) FROM people -- and so on",
    "SELECT COUNT(*) /* hidden */ FROM people",
    "SELECT COUNT(*) FROM people WHERE town LIKE 'a%'",
    "SELECT COUNT(*) FROM people WHERE town ~ 'a.*'",
    "SELECT COUNT(*) FROM people WHERE town SIMILAR TO 'a'",
    "SELECT COUNT(*) FROM people WHERE LOWER(town) = 'a'",
    "SELECT COUNT(*) FROM people WHERE age + 1 = 2",
    "SELECT COUNT(*) FROM people WHERE age = age",
    "SELECT COUNT(*) FROM people WHERE age = salary",
    "SELECT COUNT(*) FROM people WHERE 1 = 1",
    "SELECT COUNT(*) FROM people WHERE TRUE",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM people)",
    "SELECT COUNT(*) FROM people WHERE age = (SELECT MAX(age) FROM people)",
    "SELECT COUNT(*) FROM people WHERE age = ANY(ARRAY[1, 2])",
    "SELECT COUNT(*) FROM people WHERE CASE WHEN age > 1 THEN 1 ELSE 1 / 0 END = 1",
    "SELECT COUNT(*) FROM people WHERE age = 'NaN'::float",
    "SELECT COUNT(*) FROM people WHERE age = CAST('1' AS INT)",
    "SELECT COUNT(*) FROM people WHERE age = NULL",
    "SELECT COUNT(*) FROM people WHERE age IS TRUE",
    "SELECT COUNT(*) FROM people WHERE age = ?",
    "SELECT COUNT(*) FROM people WHERE age = @x",
    "SELECT COUNT(*) FROM people WHERE pg_sleep(10) = 1",
    "SELECT COUNT(*) FROM people WHERE town COLLATE \"C\" = 'a'",
    "SELECT COUNT(*) FROM people WHERE (age, town) = (1, 'a')",
    "SELECT COUNT(*) FROM people WHERE people.age = 1",
    'SELECT COUNT(*) FROM people WHERE "age\'; DROP TABLE people; --" = 1',
    "SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 2 AND 1 AND LEN(town) = 1",
    "SELECT COUNT(*) FROM people PIVOT (SUM(age) FOR town IN ('a'))",
    "SELECT COUNT(*) FROM people WINDOW w AS (PARTITION BY town)",
    "SELECT COUNT(*) FROM people QUALIFY ROW_NUMBER() OVER () = 1",
    "SELECT COUNT(*)",
    "SELECT",
    "",
    "COUNT(*)",
    "SELECT COUNT(*) FROM people WHERE age = 1" + "0" * 40,
    "SELECT COUNT(*) FROM people WHERE " + "(" * 300 + "age = 1" + ")" * 300,
    "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["age = 1"] * 2000),
    "SELECT " + ", ".join(["COUNT(*)"] * 30) + " FROM people",
]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(QuestionError) as problem:
        inquiry_of_sql(text, NAMES)
    assert "\n" not in str(problem.value)
    assert "'a%'" not in str(problem.value)


def test_what_is_not_accepted_beside_a_constant_is_named() -> None:
    with pytest.raises(QuestionError, match="contains UPPER in WHERE"):
        inquiry_of_sql("SELECT COUNT(*) FROM people WHERE UPPER(town) = 'A'", NAMES)


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM people # x", "SELECT /*! 1, */ COUNT(*) FROM people"])
def test_comments_of_a_dialect_are_refused(text: str) -> None:
    with pytest.raises(QuestionError):
        inquiry_of_sql(text, NAMES, "mysql")


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(QuestionError, match="dialect"):
        inquiry_of_sql("SELECT COUNT(*) FROM people", NAMES, "klingon")


def test_no_node_of_the_parser_passes_that_was_not_meant_to() -> None:
    """Every function that sqlglot knows, in the place of a column, is refused or a plain aggregate."""
    from sqlglot import exp

    aggregates = {"COUNT", "SUM", "AVG", "VARIANCE", "VAR_SAMP", "VARIANCE_SAMP", "MIN", "MAX"}
    for name in sorted({name for function in exp.ALL_FUNCTIONS for name in function.sql_names()}):
        for text in (f"SELECT {name}(salary) FROM people", f"SELECT COUNT(*) FROM people WHERE {name}(age) = 1"):
            try:
                inquiry = inquiry_of_sql(text, NAMES)
            except QuestionError:
                continue
            assert name in aggregates, name
            assert inquiry.where == All(())


def test_the_version_of_the_parser_is_one_whose_tree_is_known() -> None:
    assert "from_" in sqlglot.exp.Select.arg_types
