"""The study of an original beside the study of a release, with the correspondence of their columns and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, checked_nulls, in_line, names_of
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, NullsError, UnsupportedDataError
from unveil.project import Project
from unveil.run import active_run
from unveil.sources import Alignment, Coded, CodedTable, Data, align, is_project
from unveil.study.statements import beside
from unveil.study.study import Study, studied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy
    from unveil.sources import Source

__all__ = ["ColumnPair", "Pair", "common_policy", "paired"]

Mapped = Mapping[str, str] | Sequence[tuple[str, str]]
"""Original columns with the protected columns that represent them."""


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """An original attribute and the protected one that represents it."""

    original: str
    release: str


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Pair:
    """The study of an original beside the study of a release of it.

    `attack` and `loss` accept a pair instead of the two tables.

    Parameters
    ----------
    original, release
        Studies, or any data. Never changed.
    key
        The key attributes; none: those of the studies, else those of the mapping, or without a mapping every common column that
        is not sensitive and that no study names as identifier, weight, person or household.
    sensitive
        The sensitive attributes of the release; none: those of the studies.
    mapping
        Original columns with the protected columns that represent them, such as ``{"Age": "Age*"}``; others are paired by name.
    id, link, same_order
        The correspondence of records: a column of both, a correspondence file, or the row order; none: it is not known.
    hierarchies
        The hierarchies of original columns, which define the values that a released one covers.
    nulls
        "category", "drop" or "error"; none: what the studies say, of which one may leave it at "category".

    Attributes
    ----------
    columns, whole
        The key attributes, original and protected; and those of them that both tables hold.
    alignment, correspondence, identity
        The correspondence of records, None if it is not known; the arguments that state it; and the id among them.
    keys, sensitive
        The protected key attributes that the release holds, and the sensitive ones, by their names in the release.
    originals
        The original attributes that these represent, insofar as the original holds them.
    nulls
        The null policy.

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
    keys: tuple[str, ...] = field(init=False)
    sensitive: tuple[str, ...] = field(init=False)
    originals: Mapping[str, str] = field(init=False)
    whole: tuple[ColumnPair, ...] = field(init=False)
    identity: str | None = field(init=False)
    nulls: str = field(init=False)
    _aligned: dict[tuple[ColumnPair, ...], CodedTable] = field(init=False)

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
        nulls = common_policy(one, other) if nulls is None else checked_nulls(nulls)
        columns = tuple(dict.fromkeys([*explicit, *_by_name(wanted, one, other, explicit, apart)]))
        keys = tuple(dict.fromkeys(pair.release for pair in columns if pair.release in other.names))
        if not columns or not keys:
            raise ArgumentError(
                "original and release have no key attribute in common; map the original's columns to the release's."
            )
        if doubled := [name for name in sensitive_names if name in keys]:
            raise ArgumentError.key_is_sensitive(doubled[0])
        active_run().check()
        said = {"id": id, "link": link, "same_order": same_order}
        self._hold(
            one.changed(hierarchies=hierarchies, nulls=nulls),
            other.changed(key=keys, sensitive=sensitive_names, nulls=nulls),
            columns,
            alignment,
            said,
        )

    def _hold(
        self,
        original: Study,
        release: Study,
        columns: tuple[ColumnPair, ...],
        alignment: Alignment | None,
        correspondence: Mapping[str, Any],
    ) -> None:
        """Set the fields, and the attributes that follow from them."""
        held, shown_names = set(original.names), set(release.names)
        stands_for = {one.release: one.original for one in reversed(columns) if one.original in held}
        named = {name: stands_for.get(name, name) for name in (*release.key, *release.sensitive)}
        values = {
            "original": original,
            "release": release,
            "columns": columns,
            "alignment": alignment,
            "correspondence": correspondence,
            "keys": release.key,
            "sensitive": release.sensitive,
            "originals": {name: before for name, before in named.items() if before in held},
            "whole": tuple(one for one in columns if one.release in shown_names and one.original in held),
            "identity": correspondence["id"],
            "nulls": release.nulls,
            "_aligned": {},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def changed(self, hierarchies: Mapping[str, Hierarchy] | None = None, nulls: str | None = None) -> Pair:
        """Return the pair with other hierarchies, or another null policy."""
        if hierarchies is None and nulls is None:
            return self
        if nulls is not None:
            checked_nulls(nulls)
        made = object.__new__(Pair)
        original, release = self.original.changed(hierarchies=hierarchies, nulls=nulls), self.release.changed(nulls=nulls)
        made._hold(original, release, self.columns, self.alignment, self.correspondence)
        return made

    def as_source(self) -> Source:
        """Refuse to be read as one table."""
        raise UnsupportedDataError(
            "a Pair holds two tables, and this call takes one at a time; give its `original` or its `release`. Calls that take a "
            "Pair are `attack`, `loss` and `attacks.minimality`."
        )

    def __repr__(self) -> str:
        """Return one line: the tables, the paired columns, and the number of aligned records."""
        shown = in_line(
            [one.original if one.original == one.release else f"{one.original} -> {one.release}" for one in self.columns]
        )
        known = "records not aligned"
        if self.alignment is not None:
            known = f"{self.alignment.pairs:,} of {self.alignment.release_records:,} records aligned"
        return f"Pair({in_line([self.original.place, self.release.place], ' -> ')}: {shown}; {known})"

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies of original attributes, which define the values that the labels of the release cover."""
        names = dict.fromkeys([*(one.original for one in self.columns), *self.originals.values(), *self.keys])
        found = {name: self.original.hierarchy(name) for name in names}
        return {name: hierarchy for name, hierarchy in found.items() if hierarchy is not None}

    @cached_property
    def whose(self) -> NDArray[np.int64] | None:
        """The person behind each original record, as a number; None if persons are not distinguished."""
        if self.original.person is None:
            return None
        coded = self.original.coded([self.original.person])[0]
        if len(coded.values) and coded.values[-1] is None:
            raise NullsError.nobodys(coded.name, int((coded.codes == len(coded.values) - 1).sum()), len(coded.codes))
        return coded.codes.astype(np.int64)

    def owned(self, columns: Sequence[str], nulls: str | None = None) -> tuple[CodedTable, str | None]:
        """Return combinations of the release's columns, with a last column of persons, and its name; None if they are unknown.

        The persons are stated by the release itself, or by the original if the correspondence of records is known. A released
        record that was made from no original one counts as the record of a further person.
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

    def aligned(self, columns: Sequence[ColumnPair]) -> CodedTable:
        """Return the original and released values of aligned records, coded: two columns per pair.

        The name of an original column is followed by "of the original"; that of a released one, if there are several pairs, by
        "of the release".
        """
        return self.aligned_each([columns])[0]

    def aligned_each(self, sets: Sequence[Sequence[ColumnPair]]) -> list[CodedTable]:
        """Return several sets of columns of aligned records, each in the form of `aligned`."""
        if sets and self.alignment is None:
            raise ArgumentError.no_correspondence()
        wanted = [place for place in map(tuple, sets) if place not in self._aligned]
        before, after = self._aligned_columns(list(dict.fromkeys(chain.from_iterable(wanted))))
        for columns in wanted:
            end = " of the release" if len(columns) > 1 else ""
            coded: dict[str, Coded] = {}
            for one in columns:
                labels = f"{one.original} of the original", f"{one.release}{end}"
                coded |= zip(labels, (before[one.original], after[one.release]), strict=True)
            self._aligned[columns] = self._kept([replace(one, name=name) for name, one in coded.items()])
        return [self._aligned[tuple(columns)] for columns in sets]

    def _aligned_columns(self, columns: Sequence[ColumnPair]) -> tuple[dict[str, Coded], dict[str, Coded]]:
        """Return original and released columns of the aligned records by name, coded."""
        if self.alignment is None or not columns:
            return {}, {}
        before = self.original.coded(list(dict.fromkeys(one.original for one in columns)))
        after = self.release.coded(list(dict.fromkeys(one.release for one in columns)))
        if self.alignment.by != "same order":
            rows = np.flatnonzero(self.alignment.truth >= 0)
            before = tuple(replace(one, codes=one.codes[self.alignment.truth[rows]]) for one in before)
            after = tuple(replace(one, codes=one.codes[rows]) for one in after)
        return {one.name: one for one in before}, {one.name: one for one in after}

    def _kept(self, columns: Sequence[Coded]) -> CodedTable:
        """Return the aligned records that the null policy keeps, with the values that they hold."""
        if self.nulls == "error" and (found := {one.name: int(nulls.sum()) for one in columns if (nulls := _nulls(one)).any()}):
            raise NullsError.present(found)
        table = _without_nulls(columns, self.nulls)
        if not table.records:
            raise EmptyDataError.no_records(self.release.place, dropped=table.dropped)
        return replace(table, columns=tuple(map(_of_values_held, table.columns)))

    def with_release(self) -> Study:
        """Return the original without the records that are known to have no counterpart in the release."""
        if self.alignment is None:
            return self.original
        released = np.unique(self.alignment.truth[self.alignment.truth >= 0])
        if len(released) == self.alignment.original_records:
            return self.original
        wanted = [one.original for one in self.columns if one.original in self.original.names]
        return Study(self.original.collected(list(dict.fromkeys(wanted)))[released])


@contextmanager
def paired(original: Data, release: Data | None, **arguments: Any) -> Iterator[Pair]:
    """Yield the pair of a public call, for the duration of the call: one connection serves all questions to a table."""
    with ExitStack() as held:
        if isinstance(original, Pair):
            _refuse_twice(release, arguments)
            for one in (original.original, original.release):
                held.enter_context(one.source.held())
            yield original.changed(arguments.get("hierarchies"), arguments.get("nulls"))
        elif release is None:
            raise ArgumentError("no release is given; give the original and its release, or a Pair of both.")
        else:
            project = arguments.pop("project", None)
            person = arguments.pop("person", None)
            one = held.enter_context(studied(original, project=project, person=person))
            own = isinstance(release, Study | Project) or is_project(release)
            nulls = None if own else one.nulls
            other = held.enter_context(studied(release, project=beside(release, one), partial=True, nulls=nulls, wildcards=True))
            yield Pair(one, other.with_person(person), **arguments)


def common_policy(original: Study, release: Study) -> str:
    """Return the null policy of two studies; if one of them states none, that of the other holds for both."""
    said = dict.fromkeys(one for one in (original.nulls, release.nulls) if one != "category")
    if len(said) > 1:
        raise ArgumentError(
            f"the original's study says nulls={original.nulls!r} and the release's nulls={release.nulls!r}; say which one holds."
        )
    return next(iter(said), "category")


def _without_nulls(columns: Sequence[Coded], nulls: str) -> CodedTable:
    """Return coded records, without those with a null if the null policy drops them."""
    records = len(columns[0].codes)
    kept = ~np.logical_or.reduce([_nulls(one) for one in columns]) if nulls == "drop" else np.ones(records, dtype=bool)
    if kept.all():
        return CodedTable(tuple(columns), records)
    return CodedTable(tuple(replace(one, codes=one.codes[kept]) for one in columns), int(kept.sum()), int((~kept).sum()))


def _nulls(column: Coded) -> NDArray[np.bool_]:
    """Return which records hold a null."""
    last = len(column.values) - 1
    return column.codes == last if last >= 0 and column.values[last] is None else np.zeros(len(column.codes), dtype=bool)


def _of_values_held(column: Coded) -> Coded:
    """Return a column without the values that no record holds."""
    used = np.zeros(len(column.values), dtype=bool)
    used[column.codes] = True
    if used.all():
        return column
    values = tuple(column.values[at] for at in np.flatnonzero(used).tolist())
    return replace(column, values=values, codes=(np.cumsum(used) - 1).astype(column.codes.dtype)[column.codes])


def _refuse_twice(release: Data | None, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a pair already states itself."""
    repeated = [name for name in ("key", "sensitive", "mapping", "id", "link", "same_order", "person") if arguments.get(name)]
    if release is not None or repeated:
        raise ArgumentError(
            f"a Pair is given, which says by itself: {', '.join(['release', *repeated] if release is not None else repeated)}."
        )


def _explicit(mapping: Mapped, original: Study, release: Study) -> list[ColumnPair]:
    """Return the pairs that the mapping states; a protected column may also be in the original itself."""
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
    """Return the key attributes of the studies that both tables hold, or that the mapping names."""
    mapped = {pair.original for pair in explicit}
    held = {*release.names, *mapped}
    names = dict.fromkeys([*release.key, *original.key])
    return tuple(name for name in names if name in original.names and name in held and name not in sensitive)


def _held(study: Study, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in study.names)


def _by_name(
    wanted: Sequence[str], original: Study, release: Study, explicit: Sequence[ColumnPair], left_out: set[str | None]
) -> list[ColumnPair]:
    """Pair the named keys, or (if nothing is named or mapped) all common columns, with the columns of the same name."""
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
