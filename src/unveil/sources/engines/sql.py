"""Counts in SQL. Only quoted names go into a query, and constants that a question names, quoted too.

The names come from the engine's own catalogue, where a requested column has been found first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unveil.sources.engines.recoding import Rewritten

__all__ = ["numbered", "quoted", "quoted_text", "rank", "released", "selection", "tally"]


def quoted(name: str) -> str:
    """Quote a name as standard SQL does: in double quotes, a quote inside doubled.

    Examples
    --------
    >>> quoted('so "called" é')
    '"so ""called"" é"'
    """
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Quote a text constant as standard SQL does: in single quotes, a quote inside doubled.

    Examples
    --------
    >>> quoted_text("o'clock")
    "'o''clock'"
    """
    return "'" + text.replace("'", "''") + "'"


def selection(expressions: Sequence[str]) -> str:
    """Return the list of a SELECT, its columns named by their position.

    Examples
    --------
    >>> selection(['"age"', '"sex"'])
    '"age" AS "0", "sex" AS "1"'
    """
    return ", ".join(f"{expression} AS {quoted(str(at))}" for at, expression in enumerate(expressions))


def tally(table: str, shown: Sequence[str], grouped: Sequence[str]) -> str:
    """Return the query for the combinations that occur and, last, their counts.

    Examples
    --------
    >>> tally('"people"', ['"age"'], ['"age"'])
    'SELECT "age" AS "0", count(*) AS "n" FROM "people" GROUP BY "age"'
    """
    return f'SELECT {selection(shown)}, count(*) AS "n" FROM {table} GROUP BY {", ".join(grouped)}'  # noqa: S608 - quoted


def numbered(table: str, **columns: Sequence[str]) -> str:
    """Return the query for columns that are named by a letter and their position.

    Examples
    --------
    >>> numbered('"people"', k=['"age"'], c=['"age"', '"sex"'])
    'SELECT "age" AS k0, "age" AS c0, "sex" AS c1 FROM "people"'
    """
    listed = [f"{one} AS {letter}{at}" for letter, some in columns.items() for at, one in enumerate(some)]
    return f"SELECT {', '.join(listed)} FROM {table}"  # noqa: S608 - quoted


def rank(expression: str) -> str:
    """Return the number of a value among all that a column has, in their order; a null has none.

    Examples
    --------
    >>> rank('"pid"')
    'CASE WHEN "pid" IS NOT NULL THEN dense_rank() OVER (ORDER BY "pid") END'
    """
    return f"CASE WHEN {expression} IS NOT NULL THEN dense_rank() OVER (ORDER BY {expression}) END"


def released(table: str, made: Rewritten, names: Sequence[str]) -> str:
    """Return the statement that makes the table of a release, its columns under their names."""
    columns = ", ".join(f"q.c{at} AS {quoted(name)}" for at, name in enumerate(names))
    return f"CREATE TABLE {table} AS SELECT {columns} FROM {made.source}{made.order}"  # noqa: S608 - quoted
