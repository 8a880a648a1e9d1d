"""The protected table: its records and their order, its treatment, the columns that it may have, and its private parts.

Which untreated columns may it have? None that names people, unless the user vouches for it. A column without a role is left out
if it is recognised as a direct identifier (certain or likely), if more than half of the persons have a value in it that nobody
else has, or if its values cannot be read. Columns that stay without a role are listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from unveil import __version__
from unveil.attributes import Standing, in_line
from unveil.errors import ArgumentError, listed, shown
from unveil.formats import jsonable
from unveil.identifiers import found_in
from unveil.measures import Unmeasured, first_of, never_measured, singled_out
from unveil.output import check_replaceable, together
from unveil.randomness import NOT_FOR_PUBLICATION, Chance, Repeatable, weakest
from unveil.releases.counting import uniform_count
from unveil.releases.record import inherited, recorded, write_recorded
from unveil.releases.records import ReleaseRecords
from unveil.results import Result, View
from unveil.run import active_run, watched
from unveil.sources import CountedFrame, Microdata, Source, open_source, write_link
from unveil.study import Study

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy

__all__ = [
    "ColumnScreen", "Protection", "Release", "checked_place", "drawn_order", "in_hand", "marked", "repeatable_of", "screen",
    "screened",
]  # fmt: skip

_ENDINGS = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx")


class Protection(ABC):
    """The part of a release that is specific to the way in which it was made.

    A subclass is a frozen dataclass of figures. Its fields can be read from the release itself: ``release.score`` is
    ``release.protection.score``.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def made_by(self) -> str | Sequence[Mapping[str, Any]]:
        """The mechanism that made the release, by name or step by step."""

    @property
    def guarantee(self) -> str | None:
        """The guarantee of the release, if that is not a model."""
        return None

    @abstractmethod
    def treated(self, release: Release[Any]) -> Collection[str]:
        """Return the columns that were protected or measured; nothing is known about the others."""

    @abstractmethod
    def account(self, release: Release[Any]) -> dict[str, Any]:
        """Return the part of the release's JSON that is specific to this protection."""

    def claims(self) -> dict[str, Any]:
        """Return the last part of the JSON: what the release claims beyond its models."""
        return {}

    @abstractmethod
    def line(self, release: Release[Any]) -> str:
        """Return one line on the protection."""

    @abstractmethod
    def view(self, release: Release[Any]) -> View:
        """Return the displayed view."""

    def stated(self, release: Release[Any]) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - most meet no model
        """Return the models that the release had to meet, in the form for its record."""
        return ()

    def kept(self, records: ReleaseRecords) -> Sequence[str]:
        """Return the columns of the data that the release still has."""
        return records.names

    def tables(self, records: ReleaseRecords) -> Mapping[str, ReleaseRecords]:
        """Return the tables of the release by name; most releases have only one."""
        return {"": records}


P_co = TypeVar("P_co", bound=Protection, covariant=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Result, Generic[P_co]):
    """A protected table and its origin.

    Attributes
    ----------
    records
        The protected records; `data` returns them in the caller's library.
    protection
        Their protection, as reported by the mechanism, the search or the chain of steps. Its fields, such as `score` or
        `figures`, can be read from the release itself.
    origin
        For every protected record, the row of the record from which it was made, or -1 for none; it must stay private. It is
        empty if the records were never in memory; the correspondence is then written with them.
    settings
        The request.
    notes
        Remarks for the user before any use of the records.
    repeatable
        Who can repeat the draws: nobody (False), a holder of the "key", or, from a "seed", everybody.
    left_out
        The columns of the data that the release does not have, each with the reason.
    vouched
        The columns that it has because the user vouches for them.
    unmeasured
        The columns that it has and that no figure is about, with the number of persons or records that each singles out.
    """

    records: ReleaseRecords
    protection: P_co
    origin: NDArray[np.int64]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    repeatable: Repeatable = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    vouched: tuple[str, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return a figure of the protection."""
        if name.startswith("_") or name in {one.name for one in fields(Release)}:
            raise AttributeError(name)
        try:
            return getattr(self.protection, name)
        except AttributeError:
            kind = type(self.protection).__name__
            raise AttributeError(f"a release has no attribute {name!r}, and neither has its protection ({kind})") from None

    def __dir__(self) -> list[str]:
        """Return the names of all attributes, including those of the protection."""
        return sorted({*object.__dir__(self), *(name for name in dir(self.protection) if not name.startswith("_"))})

    @property
    def data(self) -> Any:
        """The protected records: a data frame of the caller's library, a lazy frame of the file, or the opened table."""
        return self.records.native()

    def as_source(self) -> Source:
        """Return the protected records as data: every call accepts a release as data, without its private parts."""
        return open_source(self.data)

    @property
    def tables(self) -> Mapping[str, ReleaseRecords]:
        """The tables of the release by name: one without a name, or several related ones."""
        return self.protection.tables(self.records)

    @property
    def report(self) -> dict[str, Any]:
        """Everything except the records, as returned by `to_dict`."""
        return self.to_dict()

    @property
    def record(self) -> dict[str, Any]:
        """The publishable facts on the release: its making, the models that it meets, against whom, and who can repeat it."""
        return recorded(
            self.protection.made_by,
            self.settings,
            records=self.records.records,
            models=self.protection.stated(self),
            repeatable=self.repeatable,
            columns=self.fate,
            guarantee=self.protection.guarantee,
        )

    @property
    def fate(self) -> dict[str, list[Any]]:
        """The fate of the columns: kept, left out and why, vouched for, and never measured."""
        return {
            "kept": list(self.protection.kept(self.records)),
            "left_out": [{"column": name, "why": why} for name, why in self.left_out.items()],
            "vouched_for": list(self.vouched),
            "never_measured": [one.to_dict() for one in self.unmeasured],
        }

    def count(
        self,
        where: Mapping[str, Any],
        *,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> float:
        """Estimate the number of records that meet a query: by the protection's own method, or by `uniform_count`."""
        own = getattr(self.protection, "count", None)
        return uniform_count(self.data, where, hierarchies=hierarchies, domains=domains) if own is None else float(own(where))

    def __repr__(self) -> str:
        """Return one line: the protection and its result."""
        return f"Release({self.protection.line(self)}{'; repeatable' if self.repeatable == 'seed' else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return the protection without the records; the deciding class of a model is masked, and that of the data left out."""
        common = {
            "records": self.records.records,
            "settings": jsonable(self.settings),
            "columns": self.fate,
            "notes": list(self.notes),
            "repeatable": self.repeatable,
            "version": __version__,
        }
        return {**self.protection.account(self), **common, **self.protection.claims()}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the protected records, column by column."""
        return {name: self.records.column(name).to_list() for name in self.records.names}

    def view(self) -> View:
        """Return the displayed view."""
        return self.protection.view(self)

    def places(self, path: str | os.PathLike[str], *others: str | os.PathLike[str]) -> list[Path]:
        """Return the files that `write` would make for these paths, one per table; refuse those that it cannot make."""
        names = list(self.tables)
        paths = [Path(path), *map(Path, others)]
        if len(names) > 1 and len(paths) == 1:
            folder = paths[0].is_dir()
            paths = [paths[0] / f"{name}.csv" if folder else paths[0].with_stem(f"{paths[0].stem}-{name}") for name in names]
        if len(paths) != len(names):
            raise ArgumentError(f"the release is {len(names)} tables, and {len(paths)} files are named; name one for each.")
        if len({place.resolve() for place in paths}) < len(paths):
            raise ArgumentError(f"two tables would go to {shown(path)}; name a file for each.")
        return [checked_place(place) for place in paths]

    def write(self, path: str | os.PathLike[str], *others: str | os.PathLike[str], spreadsheet_safe: bool = False) -> None:
        """Write the protected records to a .csv, .tsv, .parquet, .arrow or .xlsx file, and their record beside it; both or none.

        Parameters
        ----------
        path
            The file. A release of several tables, as made by anatomy, is written to a folder, or to files named after this one.
        others
            The files of the further tables, each named explicitly.
        spreadsheet_safe
            Whether to put an apostrophe before texts that a spreadsheet would read as formulas (text files only).
        """
        with together():
            for place, table in zip(self.places(path, *others), self.tables.values(), strict=True):
                active_run().check()
                write_recorded(place, self.record, partial(table.write, place, spreadsheet_safe=spreadsheet_safe))
            active_run().check()  # before the files take their places

    def write_link(self, path: str | os.PathLike[str]) -> None:
        """Write the correspondence of released and original records; this file undoes the protection and must stay private."""
        if len(self.tables) > 1:
            raise ArgumentError(f"{self.protection.made_by} makes records that correspond to no others, so there is no link.")
        if not len(self.origin) and self.records.records:
            raise ArgumentError("the records were never here, so neither is their correspondence; ask for it with the release.")
        active_run().check()
        write_link(str(path), self.origin)


def in_hand(release: Release[Any]) -> Microdata:
    """Return the records of a release, or refuse one whose records are elsewhere, or in several tables."""
    if not isinstance(release.records, Microdata) or len(release.tables) > 1:
        raise ArgumentError(f"{release.protection.made_by} makes no single table of records in memory, so no step can follow.")
    return release.records


def checked_place(path: str | os.PathLike[str]) -> Path:
    """Return the path of a release; refuse an ending that no format of releases has, and a place that no file can have."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        raise ArgumentError(
            f"the file name {shown(path)} does not end in a release's form; it must be one of: {listed(_ENDINGS)}."
        )
    check_replaceable(place)
    return place


def drawn_order(records: Microdata, chance: Chance, settings: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the rows of protected records in random order; with a key file, it depends on the settings and the records."""
    fingerprint = records.fingerprint() if chance.keyed else b""
    random = chance.draws("row order", settings, fingerprint)
    return watched(records.records, lambda: random.permutation(records.records))


def repeatable_of(chance: Chance, place: str, *, drawn: bool) -> Repeatable:
    """Return who can repeat a release of the data at a place or, if the data is itself a release, the draws that made it.

    A seed marks the release even if nothing was drawn; a key file does not.
    """
    own = chance.repeatable if drawn or chance.repeatable == "seed" else False
    return weakest([own, inherited(place)])


def marked(notes: Sequence[str], repeatable: Repeatable) -> tuple[str, ...]:
    """Return the notes and, if everybody can repeat the draws, a warning."""
    return (*notes, NOT_FOR_PUBLICATION) if repeatable == "seed" else tuple(notes)


P = TypeVar("P", bound=Protection)
_CONFIDENT = ("certain", "likely")
_NAMED = "named as identifier"


@dataclass(frozen=True, slots=True)
class ColumnScreen:
    """The decision on the columns that no mechanism treats.

    Attributes
    ----------
    left_out
        The columns that the release does not have, each with the reason.
    vouched
        The columns that it has because the user vouches for them.
    unmeasured
        The columns that it has and that no figure is about.
    """

    left_out: Mapping[str, str] = field(default_factory=dict)
    vouched: tuple[str, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()

    @classmethod
    def of_identifiers(cls, names: Collection[str]) -> ColumnScreen:
        """Return a screen that leaves out the columns that the user named as identifiers."""
        return cls(dict.fromkeys(names, _NAMED))

    def beside(self, left_out: Mapping[str, str]) -> ColumnScreen:
        """Return the screen with further columns that were left out earlier."""
        return replace(self, left_out={**left_out, **self.left_out})

    def applied(self, release: Release[P]) -> Release[P]:
        """Return a release in memory without the columns that may not be released, and with the notes on the others."""
        records = release.records
        if not isinstance(records, Microdata) or len(release.tables) > 1:
            return release
        left = records.without([name for name in self.left_out if name in records.names])
        whole = self.beside(release.left_out)
        there = tuple(name for name in whole.vouched if name in left.names)
        rest = tuple(one for one in whole.unmeasured if one.column in left.names)
        whole = replace(whole, vouched=there, unmeasured=rest)
        return replace(
            release, records=left, left_out=whole.left_out, vouched=there, unmeasured=rest,
            notes=_noted(release.notes, whole),
        )  # fmt: skip

    def notes(self) -> Iterator[str]:
        """Yield remarks on the columns that were left out and why, those vouched for, and those never measured."""
        if self.left_out:
            reasons = [f"{in_line([name])} ({why})" for name, why in self.left_out.items()]
            yield f"Left out: {first_of(reasons)}; use `keep` for a column that you vouch for."
        if self.vouched:
            yield f"Kept because you vouch for them: {listed(self.vouched)}."
        if self.unmeasured:
            yield never_measured(self.unmeasured)


def screen(source: Source | Any, names: Sequence[str], treated: Collection[str], standing: Standing) -> ColumnScreen:
    """Decide on the columns of records that the mechanism does not treat.

    Parameters
    ----------
    source
        The records, in memory or in any place where they can be counted.
    names
        The columns that the release would have.
    treated
        The columns that the mechanism treats: they have a role.
    standing
        The user's statements about the others.
    """
    open_ones = [name for name in names if name not in treated]
    reasons = dict.fromkeys(standing.identifiers, _NAMED) | (
        {} if standing.person is None else {standing.person: "says whose record it is"}
    )
    gone = {name: reasons[name] for name in open_ones if name in reasons and name not in standing.keep}
    rest = [name for name in open_ones if name not in gone]
    if standing.only_roles:
        gone |= {name: "has no role" for name in rest if name not in (*standing.named, *standing.keep)}
        rest = [name for name in rest if name not in gone]
    if not rest:
        return ColumnScreen(gone)
    study = Study(source)
    identifiers = found_in(study, rest, quiet=isinstance(source, CountedFrame) or not study.source.can_count)
    best = {one.column: one for one in reversed(identifiers.findings)}
    unmeasured: list[Unmeasured] = []
    singled = singled_out(study, identifiers.examined, standing.person)
    for name in rest:
        spared = name in standing.keep or name in standing.named
        if name in identifiers.skipped:
            gone |= {} if spared else {name: "its values cannot be read"}
            continue
        finding, held = best.get(name), singled[name]
        if not spared and finding is not None and finding.confidence in _CONFIDENT:
            gone[name] = f"recognised as {finding.category.replace('-', ' ')}"
        elif not spared and held.mostly:
            gone[name] = f"unique for more than half of the {'people' if held.unit == 'persons' else 'records'}"
        else:
            unmeasured.append(held)
    vouched = tuple(name for name in rest if name in standing.keep)
    return ColumnScreen(gone, vouched, tuple(unmeasured))


def screened(release: Release[P]) -> Release[P]:
    """Return a release without the columns that may not be released; if that is decided later, return it unchanged."""
    records = release.records
    if not isinstance(records, Microdata) or records.standing.deferred or len(release.tables) > 1:
        return release
    return screen(records.counted(), records.names, release.protection.treated(release), records.standing).applied(release)


def _noted(notes: Sequence[str], screen: ColumnScreen) -> tuple[str, ...]:
    """Return notes with those on columns, inserted before the warning that everybody can repeat the release."""
    marks = [note for note in notes if note == NOT_FOR_PUBLICATION]
    own = [note for note in notes if note != NOT_FOR_PUBLICATION]
    return tuple(dict.fromkeys((*own, *screen.notes(), *marks)))
