"""Several files that are one table: what a pattern such as ``data/part-*.csv`` names, in the order of their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

import polars as pl

from unveil.credentials import without_credentials
from unveil.errors import DataFileError, DataNotFoundError, listed, shown
from unveil.sources.base import Source
from unveil.sources.files import column_names, delimited, format_of, read
from unveil.sources.files.inputs import locate
from unveil.sources.files.lossless import typed
from unveil.sources.options import ReadOptions

__all__ = ["GlobSource", "files_of", "is_pattern"]


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of paths, and no file that happens to be called so.

    Examples
    --------
    >>> is_pattern("part-*.csv"), is_pattern("part-1.csv")
    (True, False)
    """
    return glob.has_magic(path) and not os.path.exists(path)  # noqa: PTH110 - of a name that no file can have, Path raises


def files_of(pattern: str) -> list[str]:
    """Return the files that a pattern names, by name; there has to be one."""
    files = sorted(place for place in glob.glob(pattern, recursive=True) if os.path.isfile(place))  # noqa: PTH113, PTH207
    if not files:
        raise DataNotFoundError(f"{shown(without_credentials(pattern))}: no file fits this pattern.")
    return files


class GlobSource(Source):
    """Files with the same columns, one below the other."""

    def __init__(self, pattern: str, options: ReadOptions) -> None:
        self._files, self._options = files_of(pattern), options
        names = column_names(self._files[0], options)
        super().__init__(without_credentials(pattern), names)
        for file in self._files[1:]:
            _require_same(self._files[0], names, file, column_names(file, options))

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        located = [locate(file) for file in self._files]
        if all(format_of(one) == "delimited" for one in located):  # typed as one: 007 in one file keeps the other's texts
            texts = [delimited.read_texts(one, columns, self._options) for one in located]
            return typed(pl.concat(texts), self._options.missing)
        frames = [read(file, columns, self._options) for file in self._files]
        return pl.concat([_as_first(frames[0], frame) for frame in frames], how="vertical_relaxed")


def _as_first(first: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a column that is of numbers here and of texts there as texts."""
    mixed = [name for name, dtype in frame.schema.items() if (dtype == pl.String) != (first.schema[name] == pl.String)]
    return frame.with_columns(*(frame.get_column(name).cast(pl.String) for name in mixed)) if mixed else frame


def _require_same(one: str, names: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Refuse a file that lacks a column of the first, or has another."""
    if set(names) == set(others):
        return
    lacks, more = [name for name in names if name not in others], [name for name in others if name not in names]
    said = f"lacks {listed(lacks)}" if lacks else f"also has {listed(more)}"
    raise DataFileError(f"{shown(other)} {said}, unlike {shown(one)}; the files of a pattern have the same columns.")
