"""The options of the verbs that make a release: which table, how its order is drawn, and where the release goes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.inputs import Inputs, NamedRoles, ReadingOptions, gather
from unveil.cli.model_options import SensitiveColumns
from unveil.cli.options import (
    Data,
    Household,
    Keep,
    Key,
    NullPolicy,
    OnlyRoles,
    Person,
    ReleaseKeyFile,
    Seed,
    Testing,
)
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError
from unveil.output import check_replaceable, together

if TYPE_CHECKING:
    from unveil.releases import Release
    from unveil.sources.engines.address import Address

__all__ = ["DrawOptions", "FileOptions", "OrderOptions", "ReleaseOptions", "SearchOptions", "TableOptions", "announce_written"]


def _writable(place: Path | None) -> Path | None:
    """Refuse, before the work begins, a place where no file can be put."""
    if place is not None:
        check_replaceable(place)
    return place


def _file(place: Path | None) -> Path | None:
    """Refuse a place where no release can be put, or whose ending names no form."""
    from unveil.releases import checked_place

    return None if place is None else checked_place(place)


def _file_or_table(place: str) -> Path | Address | str:
    """Return the file or the table that a release goes to, or where a stream goes; refuse a file as `_file` does."""
    from unveil.cli.streaming import is_sink
    from unveil.releases import checked_place
    from unveil.sources.engines.address import parse

    return place if is_sink(place) else parse(place) or checked_place(place)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The table to protect, its roles, and how it is read."""

    data: Data = None
    key: Key = None
    sensitive: SensitiveColumns = None
    person: Person = None
    household: Household = None
    keep: Keep = None
    only_roles: OnlyRoles = False
    nulls: NullPolicy = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Return what the command line and the project file say about the table."""
        roles = NamedRoles(
            self.key, self.sensitive, nulls=self.nulls, person=self.person, household=self.household, keep=self.keep,
            only_roles=self.only_roles,
        )  # fmt: skip
        return gather(self.data, self.reading, roles)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a search for a generalisation may suppress, leave out and spend."""

    suppression: Annotated[float, typer.Option(metavar="SHARE", help="The share of records that may be suppressed.")] = 0.0
    identifier: Annotated[
        list[str] | None, typer.Option("--identifier", metavar="COLUMN", help="A column that names people: left out.")
    ] = None
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="When to stop searching, and return the best so far.")
    ] = None
    node_limit: Annotated[
        int | None, typer.Option("--node-limit", min=1, metavar="N", help="Look at no more than N generalisations.")
    ] = None

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call; the project's identifiers come with the study."""
        return {
            "suppression": self.suppression,
            "identifiers": tuple(self.identifier or ()),
            "nulls": inputs.nulls,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
        }


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """How the order of the records is drawn."""

    keep_order: Annotated[bool, typer.Option("--keep-order", help="Leave the records in their order.")] = False
    seed: Seed = None
    key_file: ReleaseKeyFile = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {"keep_order": self.keep_order, "seed": self.seed, "key_file": self.key_file}


@dataclass(frozen=True, slots=True)
class DrawOptions(OrderOptions):
    """How the order of the records, and all else that a mechanism draws, is drawn."""

    testing: Testing = False

    def of_steps(self) -> dict[str, Any]:
        """Return the arguments of steps, which may draw more than an order."""
        return {**self.options(), "testing": self.testing}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Where a release goes, and its private correspondence."""

    link: Annotated[
        Path | None,
        typer.Option("--link", metavar="FILE", help="Write the private correspondence of release and data.", callback=_writable),
    ] = None
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="In .csv and .tsv: put an apostrophe before texts that a spreadsheet would compute."
        ),
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the chosen release: .csv, .tsv, .parquet, .arrow or .xlsx.", callback=_file
        ),
    ] = None

    def check(self) -> None:
        """Refuse, before the work begins, to make formulas harmless in a form that no spreadsheet opens as text."""
        from unveil.sources.files.spreadsheets import require_delimited

        if self.spreadsheet_safe and self.out is not None:
            require_delimited(self.out)

    def write(self, release: Release[Any]) -> None:
        """Write a release and its correspondence, both whole or none, and say so."""
        with together():
            if self.link is not None:
                release.write_link(self.link)
            if self.out is not None:
                release.write(self.out, spreadsheet_safe=self.spreadsheet_safe)
        announce_written([] if self.out is None else [self.out], self.link)

    def options(self) -> dict[str, Any]:
        """Return the arguments of a call; without a place for the release, no record is read unless it has to be."""
        return {
            "out": self.out, "link": self.link, "spreadsheet_safe": self.spreadsheet_safe, "dry_run": self.out is None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReleaseOptions(FileOptions):
    """Where a release goes that an engine may write itself."""

    out: Annotated[
        Any,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the release: .csv, .tsv, .parquet, .arrow, .xlsx, or a new table in the database of the data.",
            parser=_file_or_table,
        ),
    ] = None

    def check(self) -> None:
        """Refuse, before the work begins, places that take records one by one, and what `FileOptions` refuses."""
        if isinstance(self.out, str):
            raise ArgumentError(
                "lines of JSON, topics and Redis streams take records as they arrive; use --stream to release to them."
            )
        FileOptions.check(self)

    def require_file(self) -> None:
        """Refuse a table for what a mechanism makes."""
        if self.out is not None and not isinstance(self.out, Path):
            raise ArgumentError("a mechanism needs the records in memory, so the release goes into a file.")


def announce_written(out: Sequence[Path | Address], link: Path | None) -> None:
    """Say what was written."""
    if link is not None:
        sys.stderr.write(f"written: {without_credentials(link)} (keep it private: it undoes the protection)\n")
    for place in out:
        sys.stderr.write(f"written: {without_credentials(place) if isinstance(place, Path) else place.place}\n")
