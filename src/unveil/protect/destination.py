"""Where a release goes: nowhere, to a file, or to a table of an engine; and where its private correspondence goes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable, together
from unveil.releases import Protection, Release, checked_place
from unveil.sources.batches.rewriting import BatchedRecords
from unveil.sources.engines.address import Address, parse
from unveil.sources.engines.table import EngineSource, Write
from unveil.sources.files.spreadsheets import require_delimited

__all__ = ["Destination", "Place"]

P = TypeVar("P", bound=Protection)
Place: TypeAlias = str | os.PathLike[str] | Address


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a release goes; a place at which it cannot be put is refused before the work begins.

    Attributes
    ----------
    out
        The file, or the address of a table; None: nowhere.
    link
        The file of the private correspondence; None: it is not written.
    spreadsheet_safe
        Whether texts that a spreadsheet would take for formulas get an apostrophe before them.
    """

    out: Path | Address | None = None
    link: Path | None = None
    spreadsheet_safe: bool = False

    @classmethod
    def of(cls, out: Place | None, link: str | os.PathLike[str] | None, *, spreadsheet_safe: bool) -> Destination:
        """Make the destination from the arguments of a call."""
        target = out if out is None or isinstance(out, Address) else parse(os.fspath(out)) or checked_place(out)
        if spreadsheet_safe and target is not None:
            require_delimited(target)
        if link is not None:
            check_replaceable(link)
        return cls(target, None if link is None else Path(link), spreadsheet_safe)

    def require_records_elsewhere(self, stream: BatchedRecords) -> Write | None:
        """Refuse what cannot be done with records that stream; return the writer of an engine's table, if one is wanted."""
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

    def require_other_files(self, *read: Any) -> None:
        """Refuse to overwrite the data, or to write two files into one."""
        paths = [one for one in (*read, self.out, self.link) if isinstance(one, str | os.PathLike)]
        try:
            places = [os.path.realpath(path) for path in paths]
        except ValueError:  # half a surrogate pair, or a null character
            raise ArgumentError("the name of a file to be written or read holds characters that no file name may have.") from None
        if len(set(places)) < len(places):
            raise ArgumentError("the data, the release and the correspondence must be different files; two have the same name.")

    def written(self, release: Release[P]) -> Release[P]:
        """Write a release whose records are in memory, and its correspondence, both or neither; return the release."""
        with together():
            if self.link is not None:
                release.write_link(self.link)
            if isinstance(self.out, Path):
                release.write(self.out, spreadsheet_safe=self.spreadsheet_safe)
        return release
