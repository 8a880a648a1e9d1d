"""Data from anywhere, turned into coded columns that can be counted. Only this room and `stream` know any engine."""

from __future__ import annotations

from collections.abc import Sequence

from unveil.arguments import checked_arguments
from unveil.attributes import checked_nulls, require_columns
from unveil.errors import ArgumentError
from unveil.sources.base import Data, Source, Tally, coded_table, wanted_columns
from unveil.sources.coding import Coded, CodedTable
from unveil.sources.opening import is_text_file, open_source
from unveil.sources.options import AS_FOUND, ReadOptions

__all__ = [
    "AS_FOUND",
    "Coded",
    "CodedTable",
    "Data",
    "ReadOptions",
    "Source",
    "coded_table",
    "load",
    "open_source",
    "source",
    "tallied",
    "wanted_columns",
]

OPEN_MODULES = (
    "alignment",
    "amounts",
    "base",
    "batches.combinations",
    "batches.counting",
    "batches.rewriting",
    "coding",
    "columns",
    "datasets",
    "engines.address",
    "engines.recoding",
    "engines.table",
    "files",
    "files.inputs",
    "files.spreadsheets",
    "files.workbook",
    "known_values",
    "microdata",
    "objects",
    "opening",
    "sampling",
    "streams",
    "streams.base",
    "streams.kafka",
    "streams.redis",
    "streams.spark",
    "tabulated",
)
"""Modules of this room that other rooms may import from; all others are private to it."""


@checked_arguments
def source(
    data: Data,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
) -> Source:
    """Open data with settings that cannot be detected from it; the result can be passed to every call that takes data.

    Parameters
    ----------
    data
        A path, "-" for standard input, or a data frame; a table in an engine has nulls and types of its own.
    separator, encoding
        The separator between the fields of a text file, and its encoding; none: detected.
    missing
        Texts that stand for a null, besides the empty field.
    text
        Columns of codes, read as text; leading zeros that a spreadsheet lost are restored.

    Examples
    --------
    >>> import unveil
    >>> unveil.source("paper-2").names
    ('Age*', 'Disease')
    """
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    codes = (text,) if isinstance(text, str) else tuple(text)
    if (separator or encoding) and not is_text_file(data):
        raise ArgumentError("separator and encoding are about files of delimited text, and this data is none; leave them out.")
    opened = open_source(data, ReadOptions(separator=separator, encoding=encoding, missing=texts, text=codes))
    require_columns(codes, opened.names)
    return opened


def load(data: Data, columns: Sequence[str], *, nulls: str = "category", weights: str | None = None) -> CodedTable:
    """Read the named columns, apply the null policy, and code them.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, or an opened `Source`.
    columns
        The columns to code, each named once.
    nulls
        "category": a null is a value. "drop": records with a null in any named column are left out, and counted. "error": refuse.
    weights
        A column of positive sampling weights.
    """
    policy, wanted = checked_nulls(nulls), wanted_columns(columns, weights)
    opened = open_source(data)
    return coded_table(opened.place, Tally(opened.collect(wanted)), columns, policy, weights)


def tallied(data: Data, columns: Sequence[str], *, nulls: str = "category", weights: str | None = None) -> CodedTable:
    """Code the combinations of the named columns with their counts; a source that can count does so, and sends no records.

    The parameters are those of `load`. If every record has its own weight there are as many combinations as records:
    records are grouped by weight and weights are not summed, so that the answer does not depend on the order of a sum.
    """
    policy, wanted = checked_nulls(nulls), wanted_columns(columns, weights)
    opened = open_source(data)
    return coded_table(opened.place, opened.count(wanted), columns, policy, weights)
