"""Data from anywhere, turned into coded columns that can be counted. Only this room and `stream` know any engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unveil.arguments import checked_arguments
from unveil.attributes import checked_nulls, require_columns
from unveil.doors import lazily
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

if TYPE_CHECKING:
    from unveil.sources.alignment import Alignment, align, common_codes, require_order, side_by_side, way_of
    from unveil.sources.amounts import ASKED, NOT_ASKED, Contribution, Contributions, Holdings, holdings
    from unveil.sources.base import FilledSource, HeldSource, TallySource, counted_source, source_of
    from unveil.sources.batches.combinations import hashed
    from unveil.sources.batches.counting import StreamSource
    from unveil.sources.batches.rewriting import BatchedRecords, rewrite, scanned
    from unveil.sources.coding import (
        Integers,
        OneType,
        as_counted,
        encode,
        encode_values,
        labelled,
        require_countable,
        smallest_unsigned,
    )
    from unveil.sources.columns import read_as
    from unveil.sources.datasets import names
    from unveil.sources.engines.address import Address, parse_address
    from unveil.sources.engines.recoding import Changed, EngineRecoding
    from unveil.sources.engines.table import EngineSource, Write
    from unveil.sources.files import files_at
    from unveil.sources.files.inputs import locate, named_part
    from unveil.sources.files.spreadsheets import harmless, require_delimited
    from unveil.sources.files.workbook import SUFFIXES, sheet_names, workbook
    from unveil.sources.known_values import KnownValues
    from unveil.sources.microdata import (
        CountedFrame,
        Microdata,
        RecordsSource,
        complete,
        open_microdata,
        require_text,
        standing_among,
        standing_of,
        write_link,
    )
    from unveil.sources.objects import column_of_objects, column_of_sets
    from unveil.sources.opening import files_named, is_project, open_beside, open_data, project_beside, read_options
    from unveil.sources.sampling import Sampled, sample
    from unveil.sources.streams import RecordStream, StreamBatch, StreamOptions, open_records
    from unveil.sources.streams.base import text_of_value
    from unveil.sources.streams.kafka import kafka_address, kafka_client, kafka_settings
    from unveil.sources.streams.redis import redis_client
    from unveil.sources.streams.spark import COUNTED, counted_batch
    from unveil.sources.tabulated import CellAmounts, frame_of, grid_of, tabulate
else:
    __getattr__ = lazily(
        __name__,
        {
            "alignment": ("Alignment", "align", "common_codes", "require_order", "side_by_side", "way_of"),
            "amounts": ("ASKED", "Contribution", "Contributions", "Holdings", "NOT_ASKED", "holdings"),
            "base": ("FilledSource", "HeldSource", "TallySource", "counted_source", "source_of"),
            "batches.combinations": ("hashed",),
            "batches.counting": ("StreamSource",),
            "batches.rewriting": ("BatchedRecords", "rewrite", "scanned"),
            "coding": (
                "Integers",
                "OneType",
                "as_counted",
                "encode",
                "encode_values",
                "labelled",
                "require_countable",
                "smallest_unsigned",
            ),
            "columns": ("read_as",),
            "datasets": ("names",),
            "engines.address": ("Address", "parse_address"),
            "engines.recoding": ("Changed", "EngineRecoding"),
            "engines.table": ("EngineSource", "Write"),
            "files": ("files_at",),
            "files.inputs": ("locate", "named_part"),
            "files.spreadsheets": ("harmless", "require_delimited"),
            "files.workbook": ("SUFFIXES", "sheet_names", "workbook"),
            "known_values": ("KnownValues",),
            "microdata": (
                "CountedFrame",
                "Microdata",
                "RecordsSource",
                "complete",
                "open_microdata",
                "require_text",
                "standing_among",
                "standing_of",
                "write_link",
            ),
            "objects": ("column_of_objects", "column_of_sets"),
            "opening": ("files_named", "is_project", "open_beside", "open_data", "project_beside", "read_options"),
            "sampling": ("Sampled", "sample"),
            "streams": ("RecordStream", "StreamBatch", "StreamOptions", "open_records"),
            "streams.base": ("text_of_value",),
            "streams.kafka": ("kafka_address", "kafka_client", "kafka_settings"),
            "streams.redis": ("redis_client",),
            "streams.spark": ("COUNTED", "counted_batch"),
            "tabulated": ("CellAmounts", "frame_of", "grid_of", "tabulate"),
        },
    )


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
