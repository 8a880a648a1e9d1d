"""Where a release is written, and what the verbs that make one share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unveil.cli.options import Inputs
from unveil.credentials import without_credentials
from unveil.output import check_replaceable, together

if TYPE_CHECKING:
    from unveil.models.asked import AnyModel
    from unveil.partitions import Hierarchy
    from unveil.search.release import Release
    from unveil.sources.engines.address import Address

__all__ = [
    "check_safe",
    "hierarchies_of",
    "identifiers_of",
    "release_place",
    "release_target",
    "told_written",
    "writable",
    "write_release",
]


def writable(place: Path | None) -> Path | None:
    """Refuse a place where no file can be put before the work begins, not after it."""
    if place is not None:
        check_replaceable(place)
    return place


def release_place(place: Path | None) -> Path | None:
    """Refuse a place where no release can be put, or whose ending names no form."""
    from unveil.search.release import checked_place

    return None if place is None else checked_place(place)


def release_target(place: str) -> Path | Address | str:
    """Return the file that a release goes to, the address of a table, or where a stream goes; refuse any other file."""
    from unveil.cli.streaming import is_sink
    from unveil.search.release import checked_place
    from unveil.sources.engines.address import parse

    return place if is_sink(place) else parse(place) or checked_place(place)


def check_safe(out: Path | Address | None, *, spreadsheet_safe: bool) -> None:
    """Refuse before the work begins to make harmless what no spreadsheet opens as text."""
    from unveil.sources.spreadsheets import require_delimited

    if spreadsheet_safe and out is not None:
        require_delimited(out)


def write_release(release: Release, out: Path | None, link: Path | None, *, spreadsheet_safe: bool = False) -> None:
    """Write the correspondence and the release, both whole or none."""
    with together():
        if link is not None:
            release.write_link(link)
        if out is not None:
            release.write(out, spreadsheet_safe=spreadsheet_safe)
    told_written(out, link)


def told_written(out: Path | Address | None, link: Path | None) -> None:
    """Say what was written."""
    if link is not None:
        sys.stderr.write(f"written: {without_credentials(link)} (keep it private: it undoes the protection)\n")
    if out is not None:
        sys.stderr.write(f"written: {without_credentials(out) if isinstance(out, Path) else out.place}\n")


def hierarchies_of(
    inputs: Inputs, asked: Sequence[AnyModel], folder: Path | None, files: Sequence[str] | None
) -> dict[str, Hierarchy]:
    """Return the project's hierarchies, those of the folder, and those named one by one; the later win."""
    from unveil.cli import requirements
    from unveil.models import TCloseness as Closeness
    from unveil.partitions import Hierarchy as Tree

    apart = [model.attribute for model in asked if isinstance(model, Closeness) and model.distance == "hierarchical"]
    wanted = [*(inputs.key or ()), *apart]
    single = requirements.trees(files, inputs.source.names)
    found = requirements.hierarchies(None, inputs.project, wanted)
    if folder is not None:
        found |= Tree.read_folder(folder, [name for name in wanted if name not in single])
    return found | single


def identifiers_of(inputs: Inputs, kept: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the project calls identifiers, as far as the data has them and they are not kept as pseudonyms."""
    names = inputs.project.names("identifier") if inputs.project is not None else ()
    return tuple(name for name in names if name in inputs.source.names and name not in kept)
