"""The study of an original beside the study of a release: which column stands for which, and which record is which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, in_line, names_of
from unveil.errors import ArgumentError, ColumnNotFoundError, NullsError
from unveil.project import Project
from unveil.sources import Coded, CodedTable, Data, coded_table
from unveil.sources.alignment import Alignment, align, side_by_side
from unveil.sources.base import Tally
from unveil.sources.opening import is_project
from unveil.study.statements import beside
from unveil.study.study import Study, studied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy
    from unveil.sources import Source

__all__ = ["ColumnPair", "Pair", "common_policy", "paired"]

Mapped = Mapping[str, str] | Sequence[tuple[str, str]]
"""Which protected column stands for which original one."""


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """An original attribute and the protected one that stands for it."""

    original: str
    release: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Pair:
    """The study of an original beside the study of a release of it.

    `attack` and `loss` take a pair instead of the two tables.

    Parameters
    ----------
    original, release
        Studies, or whatever holds data. Never changed.
    key
        The key attributes; none: those of the studies, else those of the map, or without a map every column in common that is
        not sensitive and that no study names as identifier, weight, person or household.
    sensitive
        The sensitive attributes of the release; none: those of the studies.
    mapping
        Which protected column stands for which original one, such as ``{"Age": "Age*"}``; others are paired by name.
    id, link, same_order
        What says which record is which: a column of both, a correspondence file, or the row order; none: it is not known.
    hierarchies
        What a released value of an original column covers.
    nulls
        "category", "drop" or "error"; none: what the studies say, of which one may leave it at "category".

    Attributes
    ----------
    columns
        The key attributes, original and protected.
    alignment, correspondence
        Which record belongs to which, None if that is not known; and the arguments that say so.

    Examples
    --------
    >>> import unveil
    >>> pair = unveil.Pair("paper-4", "paper-3", sensitive="Disease", mapping={"Age": "Age*"}, same_order=True)
    >>> pair
    Pair(paper-4 -> paper-3: Age -> Age*; 9 of 9 records aligned)
    >>> unveil.attack(pair, link_records=False)
    Attack(identity 0.6551, homogeneity 0.3668)
    """

    original: Study
    release: Study
    columns: tuple[ColumnPair, ...]
    alignment: Alignment | None
    correspondence: Mapping[str, Any]
    _aligned: dict[tuple[ColumnPair, ...], CodedTable] = field(repr=False)

    @checked_arguments
    def __init__(
        self,
        original: Data,
        release: Data,
        key: Names | None = None,
        sensitive: Names | None = None,
        *,
        mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        id: str | None = None,  # noqa: A002 - the word of the command line
        link: Data | None = None,
        same_order: bool = False,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        nulls: str | None = None,
    ) -> None:
        one = original if isinstance(original, Study) else Study(original)
        other = release if isinstance(release, Study) else Study(release, project=beside(release, one), partial=True)
        sensitive_names = names_of(sensitive) or _held(other, other.sensitive or one.sensitive)
        _require(sensitive_names, other, "the release has no sensitive column")
        alignment = align(one.held(), other.held(), identity=id, link=link, same_order=same_order)
        explicit = _explicit(mapping, one, other)
        wanted = names_of(key) or _planned(one, other, explicit, sensitive_names)
        apart = {*sensitive_names, id, *one.roles.apart, *other.roles.apart}
        nulls = common_policy(one, other) if nulls is None else nulls
        columns = tuple(dict.fromkeys([*explicit, *_by_name(wanted, one, other, explicit, apart)]))
        keys = tuple(dict.fromkeys(pair.release for pair in columns if pair.release in other.names))
        if not columns or not keys:
            raise ArgumentError(
                "original and release have no key attribute in common; map the original's columns to the release's."
            )
        if doubled := [name for name in sensitive_names if name in keys]:
            raise ArgumentError.key_is_sensitive(doubled[0])
        values = {
            "original": one.changed(hierarchies=hierarchies, nulls=nulls),
            "release": other.changed(key=keys, sensitive=sensitive_names, nulls=nulls),
            "columns": columns,
            "alignment": alignment,
            "correspondence": {"id": id, "link": link, "same_order": same_order},
            "_aligned": {},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def keys(self) -> tuple[str, ...]:
        """The protected key attributes that the release holds."""
        return self.release.key

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes, by their name in the release."""
        return self.release.sensitive

    @property
    def identity(self) -> str | None:
        """The column of both tables that says which record is which."""
        return self.correspondence["id"]  # type: ignore[no-any-return]

    @property
    def nulls(self) -> str:
        """The null policy."""
        return self.release.nulls

    @property
    def whole(self) -> tuple[ColumnPair, ...]:
        """The key attributes that both tables hold."""
        return tuple(one for one in self.columns if one.release in self.release.names and one.original in self.original.names)

    def __repr__(self) -> str:
        """Return one line: the tables, the columns that are paired, and how many records are aligned."""
        shown = in_line(
            [one.original if one.original == one.release else f"{one.original} -> {one.release}" for one in self.columns]
        )
        known = "records not aligned"
        if self.alignment is not None:
            known = f"{self.alignment.pairs:,} of {self.alignment.release_records:,} records aligned"
        return f"Pair({in_line([self.original.place, self.release.place], ' -> ')}: {shown}; {known})"

    @property
    def whose(self) -> NDArray[np.int64] | None:
        """The person behind each original record, as a number; None if persons are not distinguished."""
        if self.original.person is None:
            return None
        coded = self.original.coded([self.original.person])[0]
        if len(coded.values) and coded.values[-1] is None:
            raise NullsError.nobodys(coded.name, int((coded.codes == len(coded.values) - 1).sum()), len(coded.codes))
        return coded.codes.astype(np.int64)

    def owned(self, columns: Sequence[str], nulls: str | None = None) -> tuple[CodedTable, str | None]:
        """Return combinations of the release's columns, with a last column of whose they are, and its name; None if not known.

        The release says it itself, or the original does and it is known which record is which. A released record that was made
        from nobody's counts as a different person's.
        """
        if self.release.person is not None:
            return self.release.owned(columns, [self.release.person], nulls=nulls), self.release.person
        if self.alignment is None or (whose := self.whose) is None:
            return self.release.table(columns, nulls=nulls), None
        truth, people = self.alignment.truth, int(whose.max(initial=-1)) + 1
        who = np.where(truth < 0, people + np.arange(len(truth)), whose[np.maximum(truth, 0)])
        name = " and ".join(["person", *self.release.names])  # no column has this name
        coded = self.release.coded(columns)
        known, codes = np.unique(who, return_inverse=True)
        last = Coded(name, range(len(known)), codes.reshape(-1).astype(np.uint64))
        return _without_nulls((*coded, last), nulls or self.nulls), name

    def original_of(self, released: str) -> str | None:
        """Return the original attribute that a released one stands for, if the original holds it."""
        for one in self.columns:
            if one.release == released and one.original in self.original.names:
                return one.original
        return released if released in self.original.names else None

    def hierarchy(self, original: str) -> Hierarchy | None:
        """Return the hierarchy that says what the labels of the release cover, for an original attribute."""
        return self.original.hierarchy(original)

    def aligned(self, columns: Sequence[ColumnPair]) -> CodedTable:
        """Return the original and released values of aligned records, coded: two columns per pair.

        The name of an original column is followed by "of the original"; that of a released one, if there are several pairs, by
        "of the release".
        """
        return self.aligned_each([columns])[0]

    def aligned_each(self, sets: Sequence[Sequence[ColumnPair]]) -> list[CodedTable]:
        """Return several sets of columns of aligned records, each as `aligned` does."""
        for place in map(tuple, sets):
            if place not in self._aligned:
                self._aligned[place] = self._side_by_side(place)
        return [self._aligned[tuple(columns)] for columns in sets]

    def _side_by_side(self, columns: tuple[ColumnPair, ...]) -> CodedTable:
        if self.alignment is None:
            raise ArgumentError.no_correspondence()
        end = " of the release" if len(columns) > 1 else ""
        labels = [(f"{one.original} of the original", f"{one.release}{end}") for one in columns]
        if self.nulls == "category" and self.alignment.by == "same order":
            before = self.original.coded([one.original for one in columns])
            after = self.release.coded([one.release for one in columns])
            both = [column for pair in zip(before, after, strict=True) for column in pair]
            coded = {name: replace(one, name=name) for name, one in zip(chain.from_iterable(labels), both, strict=True)}
            return CodedTable(tuple(coded.values()), self.alignment.release_records)
        names = [(one.original, one.release) for one in columns]
        frame = side_by_side(self.original.collected, self.release.collected, names, self.alignment, labels)
        return coded_table(self.release.place, Tally(frame), frame.columns, self.nulls, None)

    def with_release(self) -> Study:
        """Return the original without the records that are known to have no counterpart in the release."""
        if self.alignment is None:
            return self.original
        released = np.unique(self.alignment.truth[self.alignment.truth >= 0])
        if len(released) == self.alignment.original_records:
            return self.original
        wanted = [one.original for one in self.columns if one.original in self.original.names]
        return Study(self.original.collected(list(dict.fromkeys(wanted)))[released])

    def _copied(self, changes: Mapping[str, Any]) -> Pair:
        made = object.__new__(Pair)
        for one in fields(self):
            object.__setattr__(made, one.name, changes.get(one.name, getattr(self, one.name)))
        return made


@contextmanager
def paired(original: Data, release: Data | None, **arguments: Any) -> Iterator[Pair]:
    """Give the pair that a public call is about, for as long as the call runs: one connection serves all questions to a table."""
    with ExitStack() as held:
        if isinstance(original, Pair):
            _refuse_twice(release, arguments)
            for one in (original.original, original.release):
                held.enter_context(one.source.held())
            options = {name: value for name, value in arguments.items() if name in ("hierarchies", "nulls") and value is not None}
            sides = {"original": original.original.changed(**options)}
            if "nulls" in options:
                sides["release"] = original.release.changed(nulls=options["nulls"])
            yield original._copied(sides if options else {})  # noqa: SLF001 - our own
        elif release is None:
            raise ArgumentError("no release is given; give the original and its release, or a Pair of both.")
        else:
            project = arguments.pop("project", None)
            person = arguments.pop("person", None)
            one = held.enter_context(studied(original, project=project, person=person))
            own = isinstance(release, Study | Project) or is_project(release)
            nulls = None if own else one.nulls
            other = held.enter_context(studied(release, project=beside(release, one), partial=True, nulls=nulls))
            yield Pair(one, other.with_person(person), **arguments)


def common_policy(original: Study, release: Study) -> str:
    """Return the null policy of two studies: one of them may say nothing, and then the other's holds for both."""
    said = dict.fromkeys(one for one in (original.nulls, release.nulls) if one != "category")
    if len(said) > 1:
        raise ArgumentError(
            f"the original's study says nulls={original.nulls!r} and the release's nulls={release.nulls!r}; say which one holds."
        )
    return next(iter(said), "category")


def _without_nulls(columns: tuple[Coded, ...], nulls: str) -> CodedTable:
    """Return coded records, those with a null left out if the null policy drops them."""
    kept = np.ones(len(columns[0].codes), dtype=bool)
    for one in columns if nulls == "drop" else ():
        if len(one.values) and one.values[len(one.values) - 1] is None:
            kept &= one.codes != len(one.values) - 1
    if kept.all():
        return CodedTable(columns, len(kept))
    return CodedTable(tuple(replace(one, codes=one.codes[kept]) for one in columns), int(kept.sum()), int((~kept).sum()))


def _refuse_twice(release: Data | None, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a pair already states itself."""
    repeated = [name for name in ("key", "sensitive", "mapping", "id", "link", "same_order", "person") if arguments.get(name)]
    if release is not None or repeated:
        raise ArgumentError(
            f"a Pair is given, which says by itself: {', '.join(['release', *repeated] if release is not None else repeated)}."
        )


def _explicit(mapping: Mapped, original: Study, release: Study) -> list[ColumnPair]:
    """Return the pairs that the map states; a protected column may also be in the original itself."""
    pairs = [ColumnPair(*pair) for pair in (mapping.items() if isinstance(mapping, Mapping) else mapping)]
    for pair in pairs:
        _require([pair.original], original, "the map names an original column that does not exist")
        if pair.release not in release.names and pair.release not in original.names:
            raise ColumnNotFoundError(
                "the map names a protected column that neither table has: "
                f"{ColumnNotFoundError.among(pair.release, release.names)}"
            )
    return pairs


def _planned(original: Study, release: Study, explicit: Sequence[ColumnPair], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return the key attributes of the studies that both tables hold, or that the map names."""
    mapped = {pair.original for pair in explicit}
    held = {*release.names, *mapped}
    names = dict.fromkeys([*release.key, *original.key])
    return tuple(name for name in names if name in original.names and name in held and name not in sensitive)


def _held(study: Study, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in study.names)


def _by_name(
    wanted: Sequence[str], original: Study, release: Study, explicit: Sequence[ColumnPair], left_out: set[str | None]
) -> list[ColumnPair]:
    """Pair the keys named, or (nothing named or mapped) all columns in common, with their namesakes."""
    mapped = {pair.original for pair in explicit} | {pair.release for pair in explicit}
    if not wanted and explicit:
        return []
    names = wanted or [name for name in release.names if name in original.names and name not in left_out]
    pairs = []
    for name in names:
        if name in mapped:
            continue
        if name not in release.names:
            raise ColumnNotFoundError(f"a key attribute is not in the release: {ColumnNotFoundError.among(name, release.names)}")
        pairs.append(ColumnPair(name, name))
    return pairs


def _require(names: Sequence[str], study: Study | Source, problem: str) -> None:
    for name in names:
        if name not in study.names:
            raise ColumnNotFoundError(f"{problem}: {ColumnNotFoundError.among(name, study.names)}")
