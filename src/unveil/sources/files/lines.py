"""Text as UTF-8 lines, and the line on which a file is not text.

Text of any encoding comes out as UTF-8 without a byte order mark, in blocks of whole lines. Only a line feed ends a line.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from unveil.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unveil.sources.files.inputs import Input

__all__ = ["LONGEST_LINE", "Block", "encoding_of", "line_blocks", "text_lines"]

LONGEST_LINE = 64 << 20
"""The longest line, in bytes, that is still taken for text."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Block(NamedTuple):
    """Whole lines of UTF-8, each with its line end, and the number of the first."""

    line: int
    data: bytes


def encoding_of(source: Input, encoding: str | None) -> str:
    """Return the codec's normal name: the encoding given, or what a byte order mark says, or UTF-8."""
    if encoding is None:
        head = source.head()
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    return codecs.lookup(encoding).name.removesuffix("-sig")


def line_blocks(source: Input, encoding: str) -> Iterator[Block]:
    """Cut the text into blocks of whole lines, refusing what is not text."""
    chunks = _plain(source) if encoding == "utf-8" else _recoded(source, encoding)
    line, pending = 1, bytearray()
    for chunk in chunks:
        _refuse_nul(source.place, line, pending, chunk)
        cut = chunk.rfind(b"\n") + 1
        pending += chunk[:cut] if cut else chunk
        if cut:
            yield _checked(source.place, Block(line, bytes(pending)))
            line += pending.count(b"\n")
            pending = bytearray(chunk[cut:])
        if len(pending) > LONGEST_LINE:
            size = LONGEST_LINE >> 20
            raise DataFileError.at_line(source.place, line, f"the line is longer than {size} MiB; this is not a table of text.")
    if pending:
        yield _checked(source.place, Block(line, bytes(pending) + b"\n"))


def text_lines(blocks: Iterator[Block]) -> Iterator[tuple[int, str]]:
    """Give every line with its number, without the line feed that ends it."""
    for block in blocks:
        yield from enumerate(block.data.decode().split("\n")[:-1], block.line)


def _plain(source: Input) -> Iterator[bytes]:
    """Give UTF-8 as it is, without its byte order mark."""
    chunks = source.chunks()
    yield next(chunks, b"").removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _recoded(source: Input, encoding: str) -> Iterator[bytes]:
    """Decode, and encode as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, first = 1, True
    for chunk in _ended(source.chunks()):
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
            data = (text.removeprefix("\ufeff") if first else text).encode()
        except UnicodeError as error:
            decoder.setstate(state)
            line += _lines_before(decoder, chunk, error, len(state[0]))
            raise DataFileError.at_line(
                source.place, line, f"the bytes are no valid {encoding}; give the encoding the file was written in."
            ) from None
        yield data
        line += text.count("\n")
        first = first and not text


def _ended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Give the chunks, and an empty one as the sign of the end."""
    yield from chunks
    yield b""


def _lines_before(decoder: codecs.IncrementalDecoder, chunk: bytes, error: UnicodeError, buffered: int) -> int:
    """Count the line feeds of the chunk before the byte that could not be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return 0
    return decoder.decode(chunk[: max(error.start - buffered, 0)]).count("\n")


def _refuse_nul(place: str, line: int, pending: bytearray, chunk: bytes) -> None:
    position = chunk.find(b"\0")
    if position >= 0:
        line += pending.count(b"\n") + chunk.count(b"\n", 0, position)
        raise DataFileError.at_line(
            place, line, "here is a NUL byte, so this is not plain text; if it is UTF-16 text, give the encoding."
        )


def _checked(place: str, block: Block) -> Block:
    """Return the block if it is UTF-8."""
    try:
        if not block.data.isascii():
            block.data.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        raise DataFileError.at_line(
            place, line, "the bytes are no valid UTF-8; give the encoding of the file, such as cp1252 or latin-1."
        ) from None
    return block
