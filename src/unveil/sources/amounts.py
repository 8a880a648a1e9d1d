"""Amounts of each combination of some columns: its records, the sum of a value, and its largest contributions.

An engine computes them itself, with window functions, and sends one row per combination, or per cell of a table; no records or
names of contributors leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from unveil.attributes import checked_nulls, require_columns
from unveil.errors import ArgumentError, EmptyDataError, NullsError, TableError
from unveil.sources import CodedTable, coded_table
from unveil.sources.engines.contributors import (
    ASKED,
    CHECKS,
    NOT_ASKED,
    Contribution,
    by_cell,
    by_combination,
    by_record,
    complete,
    incomplete,
)
from unveil.sources.engines.table import EngineSource, tally_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from unveil.sources.base import Source

__all__ = ["ASKED", "NOT_ASKED", "Cells", "Contribution", "Contributions", "Holdings", "amounts", "holdings"]


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Combinations of some columns, with the amounts of each.

    Attributes
    ----------
    table
        The combinations, coded, with their records.
    total, size
        The sum of the contributions, and the sum of their absolute values.
    top
        The largest contributions by their size, largest first.
    negative
        Whether a contribution is below 0.
    asked
        The largest contribution of someone who requested protection; None if the requests are unknown.
    """

    table: CodedTable
    total: NDArray[np.float64]
    size: NDArray[np.float64]
    top: NDArray[np.float64]
    negative: bool
    asked: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The amounts of the cells of a table, including margins, with each contributor's records taken together.

    Attributes
    ----------
    codes
        The code of each cell along each dimension.
    n, units
        The numbers of records and of contributors.
    total, size, top, asked
        As in `Contributions`.
    holder
        A number for the contributor of a cell with a single contributor; -1 elsewhere.
    """

    codes: tuple[NDArray[np.int64], ...]
    n: NDArray[np.int64]
    units: NDArray[np.int64]
    total: NDArray[np.float64]
    size: NDArray[np.float64]
    top: NDArray[np.float64]
    asked: NDArray[np.float64]
    holder: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Holdings:
    """Combinations of some columns in an engine that can compute the cells of a table over them.

    Attributes
    ----------
    source, columns, what
        The engine's table, the columns, and the contribution of a record.
    table
        The combinations, coded, with their records.
    ranks
        For each column, the rank of every combination's value among all values, by which the engine identifies it.
    negative
        Whether a contribution is below 0.
    nulls
        The null policy.
    """

    source: EngineSource
    columns: Sequence[str]
    what: Contribution
    table: CodedTable
    ranks: tuple[NDArray[np.int64], ...]
    negative: bool
    nulls: str = "category"

    def cells(self, above: Sequence[Sequence[tuple[int, int]]], top: int) -> Cells:
        """Return the amounts of all cells; for each column, `above` pairs ranks of values with the codes they belong to."""
        kept = _keeping(self.columns, self.what, self.nulls)
        answer, _ = self.source.answered(self.columns, self.what, lambda records: by_cell(kept(records), above, top))
        at = len(above)
        alone = answer.to_series(at + 5 + top).fill_null(-1)
        return Cells(
            tuple(_whole(answer, number) for number in range(at)),
            _whole(answer, at),
            _whole(answer, at + 1),
            _numbers(answer, at + 2),
            _numbers(answer, at + 3),
            np.stack([_numbers(answer, at + 5 + number) for number in range(top)], axis=1),
            _numbers(answer, at + 4),
            alone.to_numpy().astype(np.int64),
        )


def amounts(
    source: Source, columns: Sequence[str], what: Contribution, top: int, nulls: str = "category"
) -> Contributions | None:
    """Return the amounts of each combination of the columns; None if the source cannot compute them itself.

    Raises
    ------
    NullsError
        If the value is null in some record that is not left out, or `nulls` is "error" and some column is.
    """
    if not isinstance(source, EngineSource):
        return None
    require_columns([*columns, *what.columns], source.names)
    dropped, kept = _dropped(source, columns, what, nulls), _keeping(columns, what, nulls)
    answer, numeric = source.answered(columns, what, lambda records: by_record(kept(records), len(columns), top))
    table, negative = _checked(source, columns, what, answer, numeric, dropped)
    at = len(columns) + len(CHECKS)
    tops = np.stack([_numbers(answer, at + 3 + number) for number in range(top)], axis=1)
    requests = None if what.request is None else _numbers(answer, at + 2)
    return Contributions(table, _numbers(answer, at), _numbers(answer, at + 1), tops, negative, requests)


def holdings(source: Source, columns: Sequence[str], what: Contribution, nulls: str = "category") -> Holdings | None:
    """Return the combinations of the columns in an engine, for amounts by contributor; None if the source is no engine.

    Raises
    ------
    NullsError
        If the value is null in some record that is not left out, or `nulls` is "error" and some column is.
    TableError
        If a record has no contributor.
    """
    if not isinstance(source, EngineSource):
        return None
    require_columns([*columns, *what.columns], source.names)
    dropped, kept = _dropped(source, columns, what, nulls), _keeping(columns, what, nulls)
    answer, numeric = source.answered(columns, what, lambda records: by_combination(kept(records), len(columns)))
    table, negative = _checked(source, columns, what, answer, numeric, dropped)
    first = len(columns) + len(CHECKS)
    ranks = tuple(_whole(answer, first + at) for at in range(len(columns)))
    return Holdings(source, columns, what, table, ranks, negative, nulls)


def _keeping(columns: Sequence[str], what: Contribution, nulls: str) -> Callable[[str], str]:
    """Return the query for an engine's records without those that the null policy drops."""
    return (lambda records: complete(records, len(what.nullable(columns)))) if nulls == "drop" else (lambda records: records)


def _dropped(source: EngineSource, columns: Sequence[str], what: Contribution, nulls: str) -> int:
    """Return how many records the null policy drops; refuse nulls that it forbids, and data without any remaining record."""
    if checked_nulls(nulls) == "category":
        return 0
    named = what.nullable(columns)
    answer, _ = source.answered(columns, what, lambda records: incomplete(records, len(named)))
    records, whole, *lacking = (int(answer.to_series(at).cast(int).fill_null(0)[0]) for at in range(2 + len(named)))
    if nulls == "error" and any(lacking):
        raise NullsError.present({name: some for name, some in zip(named, lacking, strict=True) if some})
    if records and not whole:
        raise EmptyDataError.no_records(source.place, dropped=records)
    return records - whole


def _checked(
    source: Source,
    columns: Sequence[str],
    what: Contribution,
    answer: pl.DataFrame,
    numeric: Mapping[str, int | None],
    dropped: int,
) -> tuple[CodedTable, bool]:
    """Return the combinations, and whether any contribution is below 0; refuse invalid values, weights, requests and holdings."""
    problems = {name: int(_whole(answer, len(columns) + at).sum()) for at, name in enumerate(CHECKS)}
    if what.value is not None and (missing := problems["n"] - problems["known"]):
        raise NullsError.in_values(what.value, missing)
    if what.weights is not None and problems["unweighted"]:
        raise ArgumentError.no_weights(what.weights, problems["unweighted"])
    if what.holding is not None and problems["held"] < problems["n"]:
        raise TableError.no_holding(what.holding)
    if what.request is not None and problems["strange"]:
        raise TableError.no_request(what.request)
    table = coded_table(source.place, tally_of(answer, columns, numeric=numeric), columns, "category", None)
    return replace(table, dropped=dropped), problems["negative"] > 0


def _numbers(answer: pl.DataFrame, at: int) -> NDArray[np.float64]:
    return answer.to_series(at).cast(float).fill_null(0.0).to_numpy().astype(np.float64)


def _whole(answer: pl.DataFrame, at: int) -> NDArray[np.int64]:
    return answer.to_series(at).cast(int).to_numpy().astype(np.int64)
