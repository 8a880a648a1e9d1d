"""Batches of a large file: Parquet by slices of rows, delimited text by pieces of whole records.

Every batch states how many bytes of the file it covers. Everything that the whole-file readers refuse is refused here with the
same messages: a record with too few or too many fields, bytes that are not text, a damaged file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import numpy as np
import polars as pl

from unveil.errors import DataFileError, is_unicode, listed
from unveil.sources.files import columnar, delimited
from unveil.sources.files.inputs import Input, locate
from unveil.sources.files.lossless import typed
from unveil.sources.files.survey import Survey, _Surveyor

if TYPE_CHECKING:
    from unveil.sources.options import ReadOptions

__all__ = ["FileBatch", "IrregularTextError", "ParquetFiles", "TextFile"]

_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_HAND_BATCH = 50_000


class FileBatch(NamedTuple):
    """Some records, their columns numbered in the requested order, and the bytes of the file that held them."""

    frame: pl.DataFrame
    bytes: int


class IrregularTextError(Exception):
    """Raised if quotes are in the wrong places, so that the text has to be read record by record."""


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """A Parquet file, or the files of a folder, whose subfolder names may hold values (`year=2020/part-0.parquet`)."""

    place: str
    paths: tuple[str, ...]
    folders: tuple[dict[str, str | None], ...]
    schema: dict[str, pl.DataType]

    @classmethod
    def at(cls, path: str) -> ParquetFiles:
        """Find the files and their columns; all files of a folder must have the same columns."""
        if not os.path.isdir(path):  # noqa: PTH112 - to Path the empty path is the present folder
            return cls(path, (path,), ({},), _schema(locate(path)))
        try:
            files = sorted(str(file) for file in Path(path).rglob("*.parquet") if file.is_file() and not _hidden(file, path))
        except OSError:
            raise DataFileError(f"{path}: the folder cannot be read, or changed meanwhile; name a file in it.") from None
        if not files:
            raise DataFileError(f"{path}: this is a folder without a Parquet file (*.parquet); name a file in it.")
        folders = tuple(_values_in(Path(file).relative_to(path).parts[:-1]) for file in files)
        schema = _schema(locate(files[0]))
        if any(tuple(folder) != tuple(folders[0]) for folder in folders):
            raise DataFileError(f"{path}: the folders name different columns for different files; they do not make one table.")
        both = {name: dtype for name, dtype in schema.items() if name not in folders[0]}
        return cls(path, tuple(files), folders, both | dict.fromkeys(folders[0], pl.String()))

    @property
    def total(self) -> int:
        """The total size of the files."""
        return sum(Path(path).stat().st_size for path in self.paths)

    @property
    def height(self) -> int:
        """The number of records of all files."""
        return sum(_height(locate(path), path) for path in self.paths)

    @property
    def texts(self) -> frozenset[str]:
        """The columns whose values are in the names of folders, as text."""
        return frozenset(self.folders[0])

    @property
    def kinds(self) -> dict[str, pl.DataType]:
        """The types of the values in folder names: numbers, if all values of a column are."""
        texts = {name: pl.Series([folder[name] for folder in self.folders], dtype=pl.String) for name in self.texts}
        return {name: typed(pl.DataFrame({"values": held}))["values"].dtype for name, held in texts.items()}

    def batches(self, columns: Sequence[str], rows: int, coded: Callable[[int, pl.Expr], pl.Expr]) -> Iterator[FileBatch]:
        """Give the columns, each passed through `coded` with its number while it is read, in batches of about this many rows."""
        for path, folder in zip(self.paths, self.folders, strict=True):
            yield from self._of(path, folder, columns, rows, coded)

    def _of(
        self,
        path: str,
        folder: dict[str, str | None],
        columns: Sequence[str],
        rows: int,
        coded: Callable[[int, pl.Expr], pl.Expr],
    ) -> Iterator[FileBatch]:
        source = locate(path)
        schema = self.schema if len(self.paths) == 1 else self._same(path, _schema(source), folder)
        place = {name: at for at, name in enumerate(schema)}
        picked = [
            coded(at, pl.repeat(folder[name], pl.len(), dtype=pl.String) if name in folder else pl.nth(place[name])).alias(
                str(at)
            )
            for at, name in enumerate(columns)
        ]
        size = Path(path).stat().st_size
        height = _height(source, path)
        lazy = pl.scan_parquet(_for_engine(source, path), glob=False, hive_partitioning=False)
        for start in range(0, height, rows):
            with columnar._damage_reported(source, "Parquet"):  # noqa: SLF001
                frame = lazy.slice(start, rows).select(picked).collect()
            yield FileBatch(frame, size * min(start + rows, height) // height - size * start // height)

    def _same(self, path: str, schema: dict[str, pl.DataType], folder: dict[str, str | None]) -> dict[str, pl.DataType]:
        """Refuse a file whose columns differ from those of the first."""
        mine = {name: dtype for name, dtype in schema.items() if name not in folder}
        first = {name: dtype for name, dtype in self.schema.items() if name not in folder}
        if mine != first:
            other = [name for name in {**first, **mine} if first.get(name) != mine.get(name)]
            raise DataFileError(
                f"{path}: columns missing here or there, or of another type than in {self.paths[0]}: {listed(other)}; the files "
                "of a folder hold the same columns."
            )
        return schema


def _schema(source: Input) -> dict[str, pl.DataType]:
    with columnar._damage_reported(source, "Parquet"):  # noqa: SLF001
        return dict(pl.read_parquet_schema(source.for_engine()))


def _height(source: Input, path: str) -> int:
    with columnar._damage_reported(source, "Parquet"):  # noqa: SLF001 - of this room
        lazy = pl.scan_parquet(_for_engine(source, path), glob=False, hive_partitioning=False)
        return int(lazy.select(pl.len()).collect().item())


def _for_engine(source: Input, path: str) -> str | io.BytesIO:
    """Return the path, escaped so that it is not taken for a pattern; for a path that is not valid text, the file's bytes."""
    return path if is_unicode(path) else source.for_engine()


def _hidden(file: Path, folder: str) -> bool:
    """Whether a file was left over by a writer (`_temporary`, `.part`) and is not data."""
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _values_in(folders: Sequence[str]) -> dict[str, str | None]:
    """Return the values in the names of folders, as `column=value`."""
    pairs = (unquote(name).split("=", 1) for name in folders if "=" in name)
    return {name: None if value == _NULL_FOLDER else value for name, value in pairs}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of delimited text whose header is known."""

    table: delimited._Table

    @classmethod
    def at(cls, path: str, options: ReadOptions) -> TextFile:
        """Find encoding, separator and header."""
        return cls(delimited._opened(locate(path), options))  # noqa: SLF001 - of this room

    @property
    def total(self) -> int:
        """The size of the file, as it is on the disk."""
        return Path(self.table.source.path or "").stat().st_size

    def batches(self, columns: Sequence[str], size: int, coded: Callable[[int, pl.Expr], pl.Expr]) -> Iterator[FileBatch]:
        """Yield the columns as text, each passed through `coded`, in batches of about this many bytes.

        Raises
        ------
        IrregularTextError
            If only `by_hand` can separate the records; batches yielded before must be discarded.
        """
        picked = [coded(at, pl.nth(at)).alias(str(at)) for at in range(len(columns))]
        for piece, survey, taken in self._pieces(size):
            source = Input(self.table.source.place, "", content=piece)
            table = delimited._Table(source, "utf-8", self.table.separator, self.table.names)  # noqa: SLF001
            frame = delimited._by_engine(table, columns, survey)  # noqa: SLF001
            if frame is None:
                raise IrregularTextError
            yield FileBatch(frame.select(picked), taken)

    def by_hand(self, columns: Sequence[str], coded: Callable[[int, pl.Expr], pl.Expr]) -> Iterator[FileBatch]:
        """Yield the columns as `batches` does, but read record by record: slow, but correct wherever the quotes are."""
        picked = [coded(at, pl.nth(at)).alias(str(at)) for at in range(len(columns))]
        place = {name: at for at, name in enumerate(self.table.names)}
        body = islice(delimited._even(self.table), 1, None)  # noqa: SLF001
        while records := list(islice(body, _HAND_BATCH)):
            values = {str(at): [fields[place[name]] for fields in records] for at, name in enumerate(columns)}
            taken = sum(sum(map(len, fields)) + len(fields) for fields in records)
            yield FileBatch(pl.DataFrame(values, schema=dict.fromkeys(values, pl.String)).select(picked), taken)

    def _pieces(self, size: int) -> Iterator[tuple[bytes, Survey, int]]:
        """Cut the text into pieces of whole records, each preceded by a record that is not data, and check them."""
        table = self.table
        surveyor = _Surveyor(ord(table.separator), len(table.names), table.source.place)
        pending, head, before = bytearray(), b"", 0
        for block in table.blocks():
            if not surveyor.take(block):
                raise IrregularTextError
            pending += block.data
            if len(pending) >= size and not surveyor.open:
                yield bytes(head + pending), _survey_since(surveyor, before, ahead=bool(head)), len(pending)
                head, before = _header_of(table), surveyor.seen
                pending.clear()
                surveyor.blanks.clear()
        if surveyor.open:
            raise IrregularTextError
        if pending:
            yield bytes(head + pending), _survey_since(surveyor, before, ahead=bool(head)), len(pending)


def _header_of(table: delimited._Table) -> bytes:
    """Return a record to put before a piece in place of a header."""
    return table.separator.join("x" * len(table.names)).encode() + b"\n"


def _survey_since(surveyor: _Surveyor, before: int, *, ahead: bool) -> Survey:
    """Return the survey of the text after `before` records and blank lines, with one more record if one was put in front."""
    blanks = np.concatenate([np.empty(0, np.intp), *surveyor.blanks]) - before + ahead
    return Survey(surveyor.seen - before - len(blanks) + ahead, blanks.astype(np.intp))
