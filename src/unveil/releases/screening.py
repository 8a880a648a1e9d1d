"""Which untreated columns may a release have? None that names people, unless the user vouches for it.

A column without a role is left out if it is recognised as a direct identifier (certain or likely), if more than half of the
persons have a value in it that nobody else has, or if its values cannot be read. Columns that stay without a role are listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.attributes import Standing, in_line
from unveil.errors import listed
from unveil.identifiers import found_in
from unveil.measures.unnamed import Unmeasured, first_of, never_measured, singled_out
from unveil.randomness import NOT_FOR_PUBLICATION
from unveil.sources.microdata import CountedFrame, Microdata
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.releases.release import Protection, Release
    from unveil.sources import Source

__all__ = ["ColumnScreen", "screen", "screened"]

P = TypeVar("P", bound="Protection")
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
