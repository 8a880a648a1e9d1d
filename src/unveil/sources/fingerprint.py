"""Fingerprints of data: two tables or files have the same fingerprint only if their contents are the same.

With a key file, draws depend on the fingerprint, so that changed data gets different draws. It is a SHA-256, computed only for
that purpose: it appears in no release, because anyone who could guess the data could confirm a guess with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import os

__all__ = ["fingerprint_of_files", "fingerprint_of_frame"]

_PIECE = 1 << 17
"""The number of rows hashed at a time, however the column is stored."""
_FIXED = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)


def fingerprint_of_frame(frame: pl.DataFrame) -> bytes:
    """Return the fingerprint of columns: their names, types and values, in order; how they are stored does not matter."""
    whole = hashlib.sha256()
    for name in frame.columns:
        column = frame.get_column(name).alias("column")  # some names are patterns to Polars
        kind = column.dtype.base_type() if column.dtype in (pl.Categorical, pl.Enum) else column.dtype
        whole.update(_framed(name.encode()) + _framed(str(kind).encode()) + _digest_of_column(column))
    return whole.digest()


def fingerprint_of_files(paths: Mapping[str, str | os.PathLike[str]]) -> bytes:
    """Return the fingerprint of the bytes of files, in order, and of the names under which they are given."""
    whole = hashlib.sha256()
    for name, path in paths.items():
        with Path(path).open("rb") as file:
            whole.update(_framed(name.encode(errors="surrogateescape")) + hashlib.file_digest(file, "sha256").digest())
    return whole.digest()


def _digest_of_column(column: pl.Series) -> bytes:
    """Return a hash of the values of a column, and of which of them are null."""
    digest = hashlib.sha256(len(column).to_bytes(8, "little"))
    for start in range(0, len(column), _PIECE):
        piece = column.slice(start, _PIECE)
        digest.update(np.packbits(piece.is_null().to_numpy()).tobytes())
        for part in _parts_of(piece.drop_nulls()):
            digest.update(part)
    return digest.digest()


def _parts_of(piece: pl.Series) -> Iterator[bytes]:
    """Yield the values as bytes: those of fixed width as they are, texts after their lengths, and others by their `repr`."""
    if piece.dtype.is_temporal():
        piece = piece.to_physical()
    if piece.dtype in _FIXED:
        yield piece.to_numpy().tobytes()
        return
    if piece.dtype.is_nested() or piece.dtype in (pl.Object, pl.Binary):
        texts = pl.Series([repr(value) for value in piece.to_list()], dtype=pl.String)
    else:
        texts = piece.cast(pl.String)
    yield texts.str.len_bytes().to_numpy().tobytes()
    yield (texts.str.join("").item() or "").encode()


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content
