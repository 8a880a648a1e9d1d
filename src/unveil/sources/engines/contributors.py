"""Queries for the contributions to each cell. They return one row per cell, no records, and no names of contributors.

The statements are the same for all engines. Each reads records with columns that every engine writes in its own way:

- ``s0``, ``s1`` ...: the columns to count, in the form to show; ``g0``, ``g1`` ...: the same, in the form to group by.
- ``v``, ``w``: the value and the weight; null if they are not finite numbers, 1 if no column is named.
- ``f``: a word that says whether the contributor requested protection; ``h``: the contributor.
- ``z0``, ``z1`` ...: for the columns to count, then value, holding and request if they are named: 1 if null, else 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["ASKED", "CHECKS", "NOT_ASKED", "Contribution", "by_cell", "by_combination", "by_record", "complete", "incomplete"]

ASKED = ("true", "1", "yes", "y")
NOT_ASKED = ("false", "0", "no", "n", "")
CHECKS = ("n", "known", "unweighted", "strange", "held", "negative")
"""The counts of every combination: records, values, invalid weights, invalid words, contributors, contributions below 0."""
_CHECKS = (
    "count(*) AS n, count(v) AS k, sum(u) AS u, sum(e) AS e, count(h) AS o, sum(CASE WHEN x < 0 THEN 1 ELSE 0 END) AS m",
    "n, k, u, e, o, m",
)


@dataclass(frozen=True, slots=True)
class Contribution:
    """The columns that determine the contribution of a record to its cell.

    Attributes
    ----------
    value
        The column of values; None: 1 each.
    weights
        The column of weights; None: 1 each.
    holding
        The column that identifies the contributor of a record; None: every record is a contributor.
    request
        The column that says whether a contributor requested protection.
    """

    value: str | None = None
    weights: str | None = None
    holding: str | None = None
    request: str | None = None

    @property
    def columns(self) -> list[str]:
        """The named columns."""
        return [one for one in (self.value, self.weights, self.holding, self.request) if one is not None]

    def nullable(self, columns: Sequence[str]) -> list[str]:
        """Return the columns to which a null policy applies: those to count, and all other named columns except the weights."""
        return [*columns, *(one for one in (self.value, self.holding, self.request) if one is not None)]


def complete(records: str, columns: int) -> str:
    """Return the query for records without nulls in the columns to which a null policy applies."""
    whole = " AND ".join(f"z{at} = 0" for at in range(columns))
    return f"(SELECT * FROM {records} AS whole WHERE {whole})"  # noqa: S608 - our own names


def incomplete(records: str, columns: int) -> str:
    """Return the query for the numbers of records, of complete ones, and of nulls in each column: one row."""
    lacking = ", ".join(f"sum(z{at}) AS m{at}" for at in range(columns))
    whole = " + ".join(f"z{at}" for at in range(columns))
    some = f"count(*) AS n, sum(CASE WHEN {whole} = 0 THEN 1 ELSE 0 END) AS k"
    return f"SELECT {some}, {lacking} FROM {records} AS given"  # noqa: S608 - our own names


def by_record(records: str, keys: int, top: int) -> str:
    """Return the query for combinations with checks, sum, sum of sizes, largest size of those with a request, largest sizes."""
    ranked = (
        f"SELECT b.*, row_number() OVER (PARTITION BY {_listed('g', keys)} ORDER BY abs(x) DESC NULLS LAST) AS r "  # noqa: S608
        f"FROM ({_marked(records, keys)}) AS b"
    )
    return (
        f"SELECT {_listed('s', keys)}, {_CHECKS[0]}, {_sums(top)} FROM ({ranked}) AS q "  # noqa: S608 - our own names
        f"GROUP BY {_listed('s', keys)}, {_listed('g', keys)}"
    )


def by_combination(records: str, keys: int) -> str:
    """Return the query for combinations with checks, and the rank of each value among all values of its column."""
    grouped = (
        f"SELECT {_listed('s', keys)}, {_listed('g', keys)}, {_CHECKS[0]} FROM ({_marked(records, keys)}) AS b "  # noqa: S608
        f"GROUP BY {_listed('s', keys)}, {_listed('g', keys)}"
    )
    return f"SELECT {_listed('s', keys)}, {_CHECKS[1]}, {_ranks(keys)} FROM ({grouped}) AS q"  # noqa: S608 - our own names


def by_cell(records: str, above: Sequence[Iterable[tuple[int, int]]], top: int) -> str:
    """Return the query for all cells of a table, including margins; one contributor may have records in several cells.

    Contributions are summed by contributor in every cell before they are ranked. A cell has its codes, its numbers of records
    and contributors, sums as in `by_record`, and a number that identifies the contributor if there is only one.

    Parameters
    ----------
    records
        The records.
    above
        For each column, pairs of the rank of a value and a code to which it belongs.
    top
        The number of largest contributions to return.
    """
    keys, codes = len(above), _listed("c", len(above))
    inner = (
        f"SELECT {_listed('g', keys)}, h, count(*) AS n, sum(x) AS x, max(a) AS a FROM ({_marked(records, keys)}) AS b "  # noqa: S608
        f"GROUP BY {_listed('g', keys)}, h"
    )
    ranked = f"SELECT h, n, x, a, {_ranks(keys)} FROM ({inner}) AS i"  # noqa: S608 - our own names
    joins = " ".join(
        f"JOIN (VALUES {', '.join(f'({rank}, {code})' for rank, code in pairs)}) AS m{at}(k{at}, c{at}) ON p.r{at} = m{at}.k{at}"
        for at, pairs in enumerate(above)
    )
    held = f"SELECT {codes}, h, sum(n) AS n, sum(x) AS x, max(a) AS a FROM ({ranked}) AS p {joins} GROUP BY {codes}, h"  # noqa: S608
    ordered = f"SELECT e.*, row_number() OVER (PARTITION BY {codes} ORDER BY abs(x) DESC) AS r FROM ({held}) AS e"  # noqa: S608
    sums = f"CAST(sum(n) AS BIGINT) AS n, count(*) AS o, {_sums(top)}, CASE WHEN count(*) = 1 THEN max(h) END AS l"
    cells = f"SELECT {codes}, {sums} FROM ({ordered}) AS q GROUP BY {codes}"  # noqa: S608 - our own names
    alone = "CASE WHEN l IS NOT NULL THEN dense_rank() OVER (ORDER BY l) END AS l"
    return f"SELECT {codes}, n, o, z, y, d, {_listed('t', top)}, {alone} FROM ({cells}) AS found"  # noqa: S608 - our own names


def _marked(records: str, keys: int) -> str:
    """Return the query for records with their contributions, and whether weight and word are invalid."""
    yes, words = (", ".join(f"'{word}'" for word in some) for some in (ASKED, (*ASKED, *NOT_ASKED)))
    return (
        f"SELECT {_listed('s', keys)}, {_listed('g', keys)}, h, v, v * w AS x, CASE WHEN w > 0 THEN 0 ELSE 1 END AS u, "  # noqa: S608
        f"CASE WHEN f IN ({yes}) THEN 1 ELSE 0 END AS a, CASE WHEN f IS NULL OR f IN ({words}) THEN 0 ELSE 1 END AS e "
        f"FROM {records} AS given"
    )


def _sums(top: int) -> str:
    firsts = ", ".join(f"max(CASE WHEN r = {at + 1} THEN abs(x) END) AS t{at}" for at in range(top))
    return f"sum(x) AS z, sum(abs(x)) AS y, max(CASE WHEN a = 1 THEN abs(x) END) AS d, {firsts}"


def _ranks(keys: int) -> str:
    return ", ".join(f"dense_rank() OVER (ORDER BY g{at}) AS r{at}" for at in range(keys))


def _listed(letter: str, number: int) -> str:
    return ", ".join(f"{letter}{at}" for at in range(number))
