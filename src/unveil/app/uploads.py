"""Uploads: a dropped file is streamed into a private folder, never held whole in memory, and only up to a limit."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["LARGEST", "received"]

LARGEST = 4 << 30
"""The largest size of a dropped file, in bytes; a larger one can be opened by its path, which copies nothing."""
_SPARE = 256 << 20
"""The number of bytes that must stay free on the disk."""
_LONGEST_NAME = 120


async def received(request: Request, folder: Path, largest: int) -> Path:
    """Write the file of a form into a new folder below a private one, and return its path.

    Parameters
    ----------
    request
        A form with one file.
    folder
        The private folder.
    largest
        The largest size of the file, in bytes.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise ArgumentError("no file was received; choose one, or drop it on the page.")
    place = folder / secrets.token_hex(8)
    place.mkdir(mode=0o700)
    form = _Form(place, min(largest, max(shutil.disk_usage(folder).free - _SPARE, 0)))
    try:
        parser = MultipartParser(options[b"boundary"], form.callbacks())  # type: ignore[arg-type]
        async for piece in request.stream():
            parser.write(piece)
        parser.finalize()
        return form.whole()
    except BaseException as problem:
        form.close()
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(problem, MultipartParseError):
            raise ArgumentError("the file was not received completely; drop it again.") from None
        raise


class _Form:
    """A receiver of the parts of a form as they come, which writes the first part that is a file."""

    def __init__(self, place: Path, largest: int) -> None:
        self._place, self._left = place, largest
        self._name = self._header = b""
        self._value = b""
        self._file: BinaryIO | None = None
        self._path: Path | None = None

    def callbacks(self) -> dict[str, object]:
        """Return the functions that the parser calls."""
        return {
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_part_data": self._data,
            "on_part_end": self.close,
        }

    def whole(self) -> Path:
        """Return the file that was received."""
        if self._path is None or not self._path.stat().st_size:
            raise ArgumentError("no file was received, or it is empty; choose one, or drop it on the page.")
        return self._path

    def close(self) -> None:
        """Finish a part."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        header, value = self._header.lower(), self._value
        self._header = self._value = b""
        if header != b"content-disposition" or self._path is not None:
            return
        _, options = parse_options_header(value)
        if b"filename" in options:
            self._path = self._place / _safe_name(options[b"filename"].decode("utf-8", "replace"))
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            return
        self._left -= end - start
        if self._left < 0:
            raise ArgumentError("this file is too large to be dropped here; start the app in its folder and open it by its name.")
        self._file.write(data[start:end])


def _safe_name(name: str) -> str:
    r"""Return a name that stays in its folder and can be shown; its ending, which gives the file type, is kept.

    Examples
    --------
    >>> _safe_name("../../people.csv"), _safe_name("C:\\x\\people 1.xlsx"), _safe_name("..")
    ('people.csv', 'people 1.xlsx', 'data')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(sign for sign in last if sign.isprintable() and sign not in '<>:"|?*').strip(". ")
    return kept[-_LONGEST_NAME:] or "data"
