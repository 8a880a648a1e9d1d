"""The character that separates the fields of a delimited text."""

from __future__ import annotations

from itertools import islice

from unveil.errors import DataFileError
from unveil.sources.files.fields import records

__all__ = ["separator_in"]

_CANDIDATES = (",", ";", "\t", "|")
_RECORDS = 21  # the header and a few more


def separator_in(lines: list[tuple[int, str]]) -> str:
    """Find the separator in the first lines of a text.

    It must split the header; of several that do, one that splits the next records into equally many fields wins, then the one
    with the most fields. If none splits the header, the text has one column, and the separator is one that the next records lack.
    """
    shapes = {separator: _shape(lines, separator) for separator in _CANDIDATES}
    splitting = {separator: shape for separator, shape in shapes.items() if shape and shape[0] > 1}
    if not splitting:
        return next((separator for separator, shape in shapes.items() if set(shape) <= {1}), _CANDIDATES[0])
    return max(splitting, key=lambda separator: (len(set(shapes[separator])) == 1, shapes[separator][0]))


def _shape(lines: list[tuple[int, str]], separator: str) -> list[int]:
    """Count the fields of the first records, up to one that cannot be read."""
    counts: list[int] = []
    try:
        for _, fields in islice(records(iter(lines), separator, ""), _RECORDS):
            counts.append(len(fields))  # one by one, so that what was counted before an error is kept
    except DataFileError:
        pass
    return counts
