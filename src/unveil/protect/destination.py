"""Where a release goes: a file, a table in an engine, or nowhere; with the file of the private correspondence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable, require_not_read, together
from unveil.releases import Protection, Release, checked_place
from unveil.sources import Address, BatchedRecords, EngineSource, Write, parse_address, require_delimited
from unveil.study import files_read

__all__ = ["Destination", "Place"]

Place: TypeAlias = str | os.PathLike[str] | Address
"""A file, or a table in an engine, that a release goes to."""

P = TypeVar("P", bound=Protection)


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a release; a place to which it cannot be written is refused before the work begins.

    Attributes
    ----------
    out
        The file, or the address of a table; None: it is not written.
    link
        The file of the private correspondence; None: it is not written.
    spreadsheet_safe
        Whether to put an apostrophe before texts that a spreadsheet would read as formulas.
    """

    out: Path | Address | None = None
    link: Path | None = None
    spreadsheet_safe: bool = False

    @classmethod
    def of(cls, out: Place | None, link: str | os.PathLike[str] | None, *, spreadsheet_safe: bool) -> Destination:
        """Make the destination from the arguments of a call."""
        target = out if out is None or isinstance(out, Address) else parse_address(os.fspath(out)) or checked_place(out)
        if spreadsheet_safe:
            if target is None:
                raise ArgumentError("spreadsheet_safe is about a file, but no release is written; use out to say where it goes.")
            require_delimited(target)
        if link is not None:
            check_replaceable(link)
        return cls(target, None if link is None else Path(link), spreadsheet_safe)

    def require_records_elsewhere(self, stream: BatchedRecords) -> Write | None:
        """Refuse requests that are impossible for streamed records; return the writer of an engine's table, if requested."""
        if self.link is not None and self.out is None:
            raise ArgumentError("a correspondence is requested, but no release is written; use out to say where it goes.")
        if self.link is not None and isinstance(stream.source, EngineSource):
            raise ArgumentError(
                "rows of a table in an engine have no numbers, so there is no correspondence; keep an id instead."
            )
        if isinstance(self.out, Path) and self.out.suffix.lower() in {".arrow", ".feather", ".ipc"}:
            raise ArgumentError(
                "a release that streams is written as Parquet or as text; its name must end in .parquet, .csv or .tsv."
            )
        if not isinstance(self.out, Address):
            return None
        if not isinstance(stream.source, EngineSource):
            raise ArgumentError(f"{shown(stream.place)} is a file, so it is rewritten into a file (.parquet, .csv or .tsv).")
        return stream.source.rewrite(self.out)

    def require_other_files(self, data: Iterable[Any], *hierarchies: Any) -> None:
        """Refuse to overwrite a file that the call reads, as data or for an attribute, or to write two files into one."""
        written = [one for one in (self.out, self.link) if isinstance(one, Path)]
        named = [file for one in hierarchies if isinstance(one, Mapping) for file in one.values()]
        require_not_read(written, files_read(*data, *named))
        if len({os.path.realpath(path) for path in written}) < len(written):
            raise ArgumentError("the release and the correspondence must be different files; both have the same name.")

    def written(self, release: Release[P]) -> Release[P]:
        """Write a release whose records are in memory, and its correspondence, both or neither; return the release."""
        with together():
            if self.link is not None:
                release.write_link(self.link)
            if isinstance(self.out, Path):
                release.write(self.out, spreadsheet_safe=self.spreadsheet_safe)
        return release
