"""Checkpoints: the state of a window and the position of its source, kept together in one file, so that a run can be continued.

The file is written completely or not at all, and only its owner may read it, because it contains values of the records in the
window. It records the command it belongs to, and has a checksum.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, DataFileError, listed, reason_of, shown
from unveil.output import atomic_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Checkpoint"]

_MAGIC = b"unveil checkpoint 1\n"
_DIGEST = 64
_READ: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
    "seconds": lambda text: timedelta(seconds=float(text)),
}


class Checkpoint:
    """A file that keeps the state of a run.

    Parameters
    ----------
    path
        The file.
    settings
        The settings of the run; a file with other settings is refused.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._settings = json.loads(json.dumps(settings, default=str))

    def write(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a state; the previous state is kept until the new one is complete."""
        text = json.dumps({"settings": self._settings, "document": document}, default=_tagged).encode(errors="surrogatepass")
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, document=np.frombuffer(text, dtype=np.uint8), **arrays)
        content = buffer.getvalue()
        with atomic_write(self.path, private=True) as file:
            file.write(_MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n")
            file.write(content)

    def read(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the stored state; None if there is no file yet."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataFileError(f"the checkpoint {shown(self.path)} cannot be read: {reason_of(error)}.") from None
        head, body = content[: len(_MAGIC) + _DIGEST + 1], content[len(_MAGIC) + _DIGEST + 1 :]
        if not head.startswith(_MAGIC) or head[len(_MAGIC) : -1] != hashlib.sha256(body).hexdigest().encode():
            raise DataFileError(f"{shown(self.path)} is not a checkpoint, or it is damaged; remove it to start again.")
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        kept = json.loads(arrays.pop("document").tobytes().decode(errors="surrogatepass"), object_hook=_untagged)
        self._require_same(kept["settings"])
        return kept["document"], arrays

    def _require_same(self, settings: Mapping[str, Any]) -> None:
        names = {*settings, *self._settings}
        other = sorted(name for name in names if settings.get(name) != self._settings.get(name))
        if other:
            raise ArgumentError(
                f"the checkpoint {shown(self.path)} belongs to another command: it differs in {listed(other)}; "
                "give the same options, or name another checkpoint."
            )


def _tagged(value: Any) -> Any:
    """Return a value of a type that JSON lacks as a tagged object, or as a plain number."""
    if isinstance(value, datetime):
        return {"\x00": "datetime", "text": value.isoformat()}
    if isinstance(value, date):
        return {"\x00": "date", "text": value.isoformat()}
    if isinstance(value, time):
        return {"\x00": "time", "text": value.isoformat()}
    if isinstance(value, Decimal):
        return {"\x00": "decimal", "text": str(value)}
    if isinstance(value, timedelta):
        return {"\x00": "seconds", "text": str(value.total_seconds())}
    if isinstance(value, np.generic):
        return value.item()
    raise ArgumentError(f"values of type {type(value).__name__} cannot be kept in a checkpoint; turn them into text first.")


def _untagged(document: dict[str, Any]) -> Any:
    return _READ[document["\x00"]](document["text"]) if "\x00" in document else document
