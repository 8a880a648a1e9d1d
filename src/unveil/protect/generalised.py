"""The release that a chosen generalisation makes of its records, with the notes on it, and its destination."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable, together
from unveil.randomness import Chance, Repeatable
from unveil.releases import ColumnScreen, Protection, Release, ReleaseRecords, checked_place, drawn_order, marked, repeatable_of
from unveil.search.lattice.generalisation import Choice, Generalisation, generalisation_of, notes_on, stated_settings
from unveil.search.splitting.mondrian import groups_by_mondrian
from unveil.sources.batches.rewriting import BatchedRecords
from unveil.sources.engines.address import Address, parse
from unveil.sources.engines.table import EngineSource, Write
from unveil.sources.files.spreadsheets import require_delimited

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Destination", "Options", "Place", "generalised", "generalised_in_hand"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a generalisation besides the table, its key and its models; the release reports them.

    Attributes
    ----------
    pseudonymised
        The notes on the pseudonymised columns.
    screen
        The decision on the columns that are neither key nor sensitive.
    """

    identifiers: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    suppression: float = 0.0
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    factor: float = 0.5
    nulls: str = "category"
    keep_order: bool = False
    time_limit: float | None = None
    node_limit: int | None = None
    pseudonymised: str = ""
    screen: ColumnScreen = field(default_factory=ColumnScreen)

    def settings(self) -> dict[str, Any]:
        """Return the options in the form that a release reports."""
        return {
            "identifiers": list(self.identifiers),
            "pseudonyms": list(self.pseudonyms),
            "suppression": self.suppression,
            "levels": self.levels,
            "weights": self.weights,
            "factor": self.factor,
            "nulls": self.nulls,
            "keep_order": self.keep_order,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
        }


def generalised_in_hand(choice: Choice, options: Options, chance: Chance) -> Release[Generalisation]:
    """Generalise records that are in memory."""
    settings, keep_order = options.settings(), options.keep_order
    protected = choice.recoded([*options.screen.left_out])
    order = np.arange(protected.records) if keep_order else drawn_order(protected, chance, settings)
    repeatable = repeatable_of(chance, protected.place, drawn=not keep_order)
    return generalised(choice, protected.taken(order), choice.request.rows[order], options, repeatable)


def generalised(
    choice: Choice, records: ReleaseRecords, origin: NDArray[np.int64], options: Options, repeatable: Repeatable
) -> Release[Generalisation]:
    """Return the release of protected records."""
    own, erased = options.settings(), choice.erased()
    made = generalisation_of(choice, groups_by_mondrian(choice.request, erased) if erased else {})
    settings = {**stated_settings(choice, made.models), **own}
    said = notes_on(
        choice,
        made,
        limited=options.time_limit is not None or options.node_limit is not None,
        pseudonymised=options.pseudonymised,
    )
    screen = options.screen.beside(ColumnScreen.of_identifiers(options.identifiers).left_out)
    notes = marked([*said, *screen.notes()], repeatable)
    return Release(
        records, made, origin, settings, notes, repeatable, screen.left_out, screen.vouched, screen.unmeasured
    )  # fmt: skip


P = TypeVar("P", bound=Protection)
Place: TypeAlias = str | os.PathLike[str] | Address


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
        target = out if out is None or isinstance(out, Address) else parse(os.fspath(out)) or checked_place(out)
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
