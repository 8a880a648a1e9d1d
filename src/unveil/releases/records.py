"""The records of a release: in memory, in a file, in a table of an engine, or not made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from unveil.errors import ArgumentError
from unveil.sources import scanned

if TYPE_CHECKING:
    import os

    from unveil.sources import Source

__all__ = ["ReleaseRecords", "Unwritten", "WrittenFile", "WrittenTable"]


@runtime_checkable
class ReleaseRecords(Protocol):
    """The records of a release, wherever they are; those in memory are `unveil.sources.microdata.Microdata`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""

    @property
    def records(self) -> int:
        """The number of records."""

    def native(self) -> Any:
        """Return the records as a data frame, a lazy frame, or a source."""

    def column(self, name: str) -> Any:
        """Return one column, read whole."""

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the records to a file, whole or not at all."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Records that were streamed to a file."""

    path: str
    names: tuple[str, ...]
    records: int

    def native(self) -> Any:
        """Return the records as a lazy Polars frame."""
        return scanned(self.path)

    def column(self, name: str) -> Any:
        """Return one column, read whole."""
        return scanned(self.path, self.names.index(name)).collect().to_series()

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:  # noqa: ARG002
        """Refuse to write what is written."""
        raise ArgumentError(f"the release is in a file already; copy that to {path}.")


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """Records that an engine wrote to a new table."""

    source: Source
    records: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.source.names

    def native(self) -> Source:
        """Return the table as a source, which every call accepts."""
        return self.source

    def column(self, name: str) -> Any:
        """Return one column, read whole."""
        return self.source.collect([name]).to_series()

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:  # noqa: ARG002
        """Refuse to write what is written."""
        raise ArgumentError(f"the release is in a table already; have the engine export that to {path}.")


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A placeholder for records that were not made, as requested: the release only states what would be done."""

    names: tuple[str, ...]
    records: int

    def native(self) -> Any:
        """Refuse to return what was not made."""
        raise ArgumentError("the release was not written, so there are no records; use out to say where it goes.")

    def column(self, name: str) -> Any:  # noqa: ARG002
        """Refuse to return what was not made."""
        return self.native()

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:  # noqa: ARG002
        """Refuse to write what was not made."""
        self.native()
