"""The construction of a table from any data: its cells with their records, sums and largest contributions, and margins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, names_of
from unveil.counts import Counts, tally
from unveil.errors import ArgumentError, TableError, shown
from unveil.partitions import rows_of
from unveil.results import Provenance
from unveil.run import looks, watched
from unveil.sources import Coded, CodedTable, Contribution, Contributions, Data, Holdings, holdings, open_source, tallied
from unveil.sources.amounts import amounts
from unveil.study import require_values, stated, study_of
from unveil.tables.cell_amounts import TableRows
from unveil.tables.cells import rolled_up, shape_of
from unveil.tables.classification import TOTAL, Classification
from unveil.tables.crosstable import CrossTable
from unveil.tables.hierarchies import chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy
    from unveil.sources import Source

__all__ = ["leaves_of", "table"]


@looks
@checked_arguments
def table(  # noqa: PLR0913 - a public door
    data: Data,
    by: Names,
    *,
    value: str | None = None,
    holding: str | None = None,
    request: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    margins: bool = True,
    tables: Sequence[Sequence[str]] | None = None,
    signed: bool = False,
    nulls: str | None = None,
    weights: str | None = None,
    total: str = TOTAL,
    top: int = 5,
) -> CrossTable:
    """Build a frequency table, or a magnitude table, of records.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, a database table, or counts (for a value, counts with its amounts).
    by
        The columns that span the table, one dimension each.
    value
        The column whose sum is in each cell; without one, a frequency table.
    holding
        The column that identifies the contributor of each record; without one, every record is a contributor.
    request
        A column of true and false that says who requested protection (for the request rule).
    hierarchies
        The groups above a column's values: a `Hierarchy`, a file (ARX CSV, tau-Argus ``.hrc``), a list of levels and codes as
        in sdcTable, or a list of several of these, whose groups need not be nested. Those of a study are not used: a group
        that is published must be named in the call.
    margins
        Whether totals are part of the table.
    tables
        The tables that are published, each by its dimensions, all of the same records: linked tables in one model. None: only
        the table over all dimensions.
    signed
        Whether the value may be negative; contributions are then ranked by their absolute value.
    nulls
        "category", "drop" or "error"; None: the policy of a study or project, else "category".
    weights
        A column of weights: a contribution is then the weight times the value, and is taken to be known exactly. None:
        those of a study or project.
    total
        The code of a margin that no hierarchy names.
    top
        The number of largest contributions kept for each cell: a rule about n contributors needs n.

    Returns
    -------
    CrossTable
        The table with its margins, to be attacked, protected or written.

    Examples
    --------
    >>> import unveil
    >>> unveil.table("paper-2", ["Age*", "Disease"])
    CrossTable(Age* x Disease: 24 cells, 9 records)
    """
    names, study = names_of(by), study_of(data)
    if weights is None and study is not None and study.weights not in (*names, value, holding, request):
        weights = study.weights
    columns = _columns(names, value, holding, request, weights)
    checked_count("top", top, least=1, most=100)
    require_values(data, columns)
    source, policy = open_source(data), stated(data, names, nulls=nulls).nulls
    with source.held():  # all queries see the same records if the engine guarantees it
        there = _amounts_at_source(data, source, names, Contribution(value, weights, holding, request), top, policy)
        counted = _grouped(tallied(source, columns, nulls=policy, weights=weights)) if there is None else there.table
        spans = counted.columns[: len(names)]
        by_dimension = chosen(hierarchies or {}, names)
        dimensions = tuple(_dimension(one, by_dimension.get(one.name, ()), total if margins else None) for one in spans)
        shape_of(dimensions)
        leaves = [
            dimension.leaf_of(one.values, by_dimension[one.name][0] if one.name in by_dimension else None)[one.codes]
            for dimension, one in zip(dimensions, spans, strict=True)
        ]
        named = None if there is not None else (value, holding, request)
        rows = watched(len(leaves[0]), lambda: TableRows.read(counted, dimensions, leaves, named))
        below = rows.x is not None and bool((rows.x < 0).any()) if there is None else value is not None and there.negative
        if below and not signed:
            raise TableError(
                f"column {shown(value)} has negative values; give `signed`, and contributions are ranked by absolute value."
            )
        made = Provenance(counted.records, policy, counted.dropped, key=names, sensitive=names_of(value), weights=weights)
        shown_cells = _published(dimensions, tables)
        n = rolled_up(dimensions, rows.summed(rows.n.astype(np.int64))).ravel()
        amounts = watched(0 if isinstance(there, Holdings) else len(leaves[0]), lambda: rows.amounts(there, top))
        return amounts.table(dimensions, n, shown_cells, made, signed=signed)


def _amounts_at_source(
    data: Data, source: Source, names: Sequence[str], what: Contribution, top: int, nulls: str
) -> Contributions | Holdings | None:
    """Return the amounts as computed by the source; None if its records have to be read."""
    if what.holding is not None:
        return holdings(source, names, what, nulls)
    if (
        nulls in ("category", source.nulls)
        and what.columns == [what.value]
        and (known := _known(data, names, str(what.value))) is not None
    ):
        return known
    return amounts(source, names, what, top, nulls) if what.columns else None


def _grouped(read: CodedTable) -> CodedTable:
    """Return the distinct combinations of records that are not counted yet, if there are fewer of them than records."""
    sizes = [len(one.values) for one in read.columns]
    if read.n is not None or read.weights is not None or math.prod(sizes) > read.records:
        return read
    codes, n = tally([one.codes for one in read.columns], sizes)
    pairs = zip(read.columns, codes, strict=True)
    columns = tuple(Coded(one.name, one.values, some.astype(one.codes.dtype)) for one, some in pairs)
    return replace(read, columns=columns, n=n)


def _known(data: Data, names: Sequence[str], value: str) -> Contributions | None:
    """Return the amounts of the cells of a count table; None if it is not a count table, or lacks the value."""
    if not isinstance(data, Counts) or value not in data.amounts:
        return None
    counts = data.over(names)
    pairs = zip(counts.columns, counts.codes, strict=True)
    spans = tuple(Coded(one.name, one.values, codes.astype(np.uint64)) for one, codes in pairs)
    coded = CodedTable(spans, counts.records, counts.dropped, None, counts.n, counts.nulls)
    known = counts.amounts[value]
    return Contributions(coded, known.total, known.size, known.top, bool((known.total < known.size).any()))


def leaves_of(
    data: Data,
    by: Sequence[str],
    record: str,
    dimensions: Sequence[Classification],
    hierarchies: Mapping[str, Any],
    nulls: str,
) -> tuple[list[Any], list[NDArray[np.int64]]]:
    """Return the names of all records, and the leaf of each along every dimension."""
    counted = tallied(data, [*by, record], nulls=nulls)
    by_dimension = chosen(hierarchies, by)
    *spans, names = counted.columns
    leaves = [
        dimension.leaf_of(one.values, by_dimension[one.name][0] if one.name in by_dimension else None)[one.codes]
        for dimension, one in zip(dimensions, spans, strict=True)
    ]
    times = np.ones(len(names.codes), dtype=np.int64) if counted.n is None else counted.n
    by_record = watched(len(times), lambda: _each_named(names, times))
    return by_record, [np.repeat(one, times) for one in leaves]


def _each_named(column: Coded, times: NDArray[np.int64]) -> list[Any]:
    values = list(column.values)
    rows = zip(column.codes.tolist(), times.tolist(), strict=True)
    return [values[code] for code, n in rows for _ in range(n)]


def _columns(names: Sequence[str], value: str | None, holding: str | None, request: str | None, weights: str | None) -> list[str]:
    """Return the columns to read, each named once."""
    if not names:
        raise ArgumentError("no dimension is named; name the columns that span the table (`by`).")
    columns = [*names, *(one for one in (value, holding, request) if one is not None)]
    for name in columns:
        if columns.count(name) > 1 or name == weights:
            raise ArgumentError(
                f"column {shown(name)} is named twice; it can be only one of dimension, value, holding, request, weights."
            )
    if (holding is not None or request is not None) and value is None and request is not None:
        raise ArgumentError("a request for protection concerns a value; name the column of values.")
    return columns


def _dimension(column: Coded, hierarchies: Sequence[Hierarchy], total: str | None) -> Classification:
    if not hierarchies:
        return Classification.flat(column.name, column.values, total=total)
    apart = bool((rows_of(hierarchies[0], column.values) < 0).any())
    return Classification.of(column.name, hierarchies, null=apart, total=total)


def _published(dimensions: Sequence[Classification], tables: Sequence[Sequence[str]] | None) -> NDArray[np.bool_] | None:
    """Return the cells of the linked tables; a table without some dimension uses the total of that dimension."""
    if tables is None:
        return None
    known = [one.name for one in dimensions]
    kept = np.zeros([len(one) for one in dimensions], dtype=bool)
    for names in tables:
        if strange := [name for name in names if name not in known]:
            raise ArgumentError.not_one_of("a linked table's dimension", strange[0], known)
        chosen_codes: list[Any] = []
        for one in dimensions:
            if one.name not in names and one.root is None:
                raise TableError(
                    f"dimension {shown(one.name)} has no total, but a linked table without this dimension needs one."
                )
            chosen_codes.append(np.arange(len(one)) if one.name in names else np.array([one.root]))
        kept[np.ix_(*chosen_codes)] = True
    return kept.ravel()
