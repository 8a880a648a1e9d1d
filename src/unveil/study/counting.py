"""The public call for counting: the joint count table of some columns of any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, names_of
from unveil.counts import Amounts, Column, Counts, amounts_of, count_table
from unveil.errors import ArgumentError, shown
from unveil.run import looks
from unveil.sources import Data, tallied
from unveil.study.statements import stated

__all__ = ["count"]


@looks
@checked_arguments
def count(
    data: Data,
    columns: Names,
    *,
    partitions: Mapping[str, Any] | None = None,
    nulls: str | None = None,
    weights: str | None = None,
    amounts: Names = (),
    top: int = 5,
) -> Counts:
    """Count the occurrences of each combination of the columns' values.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, a table in an engine, counts, a `Study` or a project file.
    columns
        The columns to count over.
    partitions
        Semantic partitions by column: the values of the column are replaced by their blocks; none: those of a study.
    nulls
        "category", "drop" or "error"; none: as a study or project says, else "category".
    weights
        A column of sampling weights. Unless one is named, records are counted, even if a study states weights.
    amounts
        Numeric columns whose sum and largest contributions are kept for each cell, as required by a table of values
        (`unveil.table`). Counts can be added: the sum of the counts of two files is the count of both together.
    top
        The number of largest contributions that are kept.

    Examples
    --------
    >>> import unveil
    >>> unveil.count("paper-2", ["Age*"])
    Counts(Age*: 3 cells, 9 records)
    >>> counts = unveil.count("adult", ["sex"], amounts="capital-gain", top=2)
    >>> counts.to_dict()["cells"][0]["amounts of capital-gain"]
    {'sum': ..., 'largest': [99999.0, 99999.0]}
    >>> unveil.table(counts, "sex", value="capital-gain")
    CrossTable(sex: 3 cells, ... records)
    """
    names = names_of(columns)
    if not names:
        raise ArgumentError("no columns are named to count; name at least one.")
    said = stated(data, names, partitions=partitions, nulls=nulls)
    if amounts:
        largest = checked_count("top", top, least=1, most=100)
        counts = _with_amounts(data, names, names_of(amounts), said.nulls, weights, largest)
    else:
        counts = count_table(tallied(data, names, nulls=said.nulls, weights=weights))
    for name, partition in said.partitions.items():
        counts = counts.recode(name, partition)
    return counts


def _with_amounts(
    data: Data,
    names: Sequence[str],
    values: Sequence[str],
    nulls: str,
    weights: str | None,
    top: int,
) -> Counts:
    """Count combinations of columns, and sum numeric columns in each."""
    if weights is not None:
        raise ArgumentError("amounts of weighted records are not kept; count without weights, or tabulate the records.")
    if twice := [name for name in values if name in names]:
        raise ArgumentError(f"column {shown(twice[0])} is counted over, so it cannot be an amount too; name it once.")
    known: dict[str, Amounts] = {}
    for name in values:
        others = [one for one in values if one != name] if nulls == "drop" else ()  # else the values would be of other records
        table, amounts = amounts_of(data, names, name, nulls=nulls, top=top, beside=others)
        columns = [Column(coded.name, coded.values) for coded in table.columns]
        codes = [coded.codes for coded in table.columns]
        n = np.ones(len(codes[0]), dtype=np.int64) if table.n is None else table.n
        cells = Counts(tuple(columns), tuple(codes), n, None, {name: amounts}, table.nulls, table.dropped)
        counts = cells.regrouped(columns, codes).in_order()
        known |= counts.amounts
    return replace(counts, amounts=known)
