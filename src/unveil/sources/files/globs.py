"""Several files that are one table: what a pattern such as ``data/part-*.csv`` names, in the order of their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from unveil.credentials import without_credentials
from unveil.errors import DataFileError, DataNotFoundError, listed, shown
from unveil.sources.base import Source
from unveil.sources.files import column_names, delimited, format_of, read
from unveil.sources.files.inputs import locate, named_part
from unveil.sources.files.lossless import typed
from unveil.sources.options import ReadOptions

__all__ = ["GlobSource", "files_at", "files_of", "is_pattern"]


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of paths, and not a file that happens to have such a name.

    Examples
    --------
    >>> is_pattern("part-*.csv"), is_pattern("part-1.csv")
    (True, False)
    """
    return glob.has_magic(path) and not os.path.exists(path)  # noqa: PTH110 - Path raises for a name that no file can have


def files_of(pattern: str) -> list[str]:
    """Return the files that a pattern matches, sorted by name; there must be at least one."""
    files = sorted(place for place in glob.glob(pattern, recursive=True) if os.path.isfile(place))  # noqa: PTH113, PTH207
    if not files:
        raise DataNotFoundError(f"{shown(without_credentials(pattern))}: no file matches this pattern.")
    return files


def files_at(place: str) -> list[tuple[str, Path]]:
    """Return the files at a place, each by its name and its path: one, those of a pattern, or none."""
    path = Path(named_part(place)[0])
    if not path.is_file() and is_pattern(place):
        return [file for one in files_of(place) for file in files_at(one)]
    return [(place, path)] if path.is_file() else []


class GlobSource(Source):
    """Files with the same columns, read one after the other as one table."""

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
        return pl.DataFrame({name: self._whole([frame.get_column(name) for frame in frames]) for name in columns})

    def _whole(self, parts: Sequence[pl.Series]) -> pl.Series:
        """Return the parts of a column that the files hold as one; if some hold texts, all as texts."""
        texts = any(part.dtype == pl.String for part in parts)
        moments = {part.dtype.is_temporal() for part in parts if part.dtype != pl.Null}
        if len(moments) > 1 and not texts:  # Polars would take days for numbers
            raise self._unlike(parts)
        try:
            named = [(part.cast(pl.String) if texts else part).alias("").to_frame() for part in parts]
            return pl.concat(named, how="vertical_relaxed").to_series()
        except pl.exceptions.PolarsError:
            raise self._unlike(parts) from None

    def _unlike(self, parts: Sequence[pl.Series]) -> DataFileError:
        """Return the error for a column that holds values of two kinds that cannot be combined."""
        other = next(at for at, part in enumerate(parts) if part.dtype != parts[0].dtype)
        return DataFileError(
            f"column {shown(parts[0].name)} holds {parts[0].dtype.base_type()} values in {self._files[0]} and "
            f"{parts[other].dtype.base_type()} values in {self._files[other]}; write one kind in every file."
        )


def _require_same(one: str, names: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Refuse a file that lacks a column of the first, or has another."""
    if set(names) == set(others):
        return
    lacks, more = [name for name in names if name not in others], [name for name in others if name not in names]
    difference = f"lacks {listed(lacks)}" if lacks else f"also has {listed(more)}"
    raise DataFileError(f"{shown(other)} {difference}, unlike {shown(one)}; the files of a pattern have the same columns.")
