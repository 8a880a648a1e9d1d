"""The release under check: its classes, its direct identifiers, the attacks on it, and its profile for the next check.

Each is computed at most once. The profile has the columns, their types and categories, and the records, beside the risk. It is
stored with a verdict, so that the next one can report changes. A category is stored by name only if at least five records have
it, its column has few categories, it reveals no sensitive value, and it is not itself a sensitive value that the key reveals for
nearly everyone who has it. Other categories are only counted. So a profile names nobody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes, Counts, count_table
from unveil.errors import ArgumentError, UnveilError, listed
from unveil.formats import Unit, jsonable
from unveil.identifiers import DirectIdentifiers, found_among
from unveil.measures import ClassRisks, Equivalence, Unmeasured, records_alone, singled_out, singled_out_by, telling_values
from unveil.measures.equivalence import equivalence
from unveil.models import Scale
from unveil.project import RuleSet
from unveil.releases import Record
from unveil.results import SMALL
from unveil.run import active_run
from unveil.sources import Coded, CodedTable, Data, Integers, OneType
from unveil.study import Study, beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.attacks import Attack
    from unveil.counts import Codes
    from unveil.study import Pair

__all__ = ["Case", "ColumnProfile", "Counted", "Original", "Profile", "ReleaseChange", "changes", "profile_of"]


@dataclass(frozen=True)
class Original:
    """The original, its correspondence with the release by records and columns, the column of persons, and the hold-out."""

    data: Data
    correspondence: Mapping[str, Any]
    seed: int
    person: str | None = None
    control: Data | None = None

    def __post_init__(self) -> None:
        """Refuse a correspondence stated in two ways, even if no rule needs the original."""
        from unveil.sources import way_of

        ways = self.correspondence
        way_of(ways["id"], ways["link"], same_order=ways["same_order"])


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of a release.

    Attributes
    ----------
    table, counts
        The combinations of values of the named columns, as a table and as counts; None if no rule examines the key.
    columns
        The values of every column by itself, except for columns that do not hold single values.
    coded
        The key attributes and the columns that no rule is about, of every record; empty for an engine, or for persons.
    """

    table: CodedTable | None
    counts: Counts | None
    columns: Mapping[str, CodedTable]
    coded: tuple[Coded, ...] = ()


@dataclass(frozen=True)
class Case:
    """A release, and the figures of it that rules need.

    Attributes
    ----------
    study
        The release: its key and sensitive attributes, the meaning of nulls, and the relations between values.
    rules
        The rules by which it is judged.
    original
        The original, for attacks.
    record
        The record of the release, or the reason why there is none.
    """

    study: Study
    rules: RuleSet
    original: Original | None
    record: Record | str

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key attributes."""
        return self.study.key

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return self.study.sensitive

    @cached_property
    def counted(self) -> Counted:
        """All counts, one after another; the named columns come first, so that an engine need not count each of them.

        Of a table in an engine, the counts of the named columns together, and of every column by itself, leave the engine.
        """
        study, named, unnamed, keyed = self.study, [*self.keys, *self.sensitive], self.unnamed, self.rules.keyed
        owners = (study.person, study.household)
        alone = [name for name in study.names if name not in owners or name not in study.keep]
        at_once = keyed and study.policy == "category" and not study.source.can_count
        if not study.source.can_count and (not at_once or len(alone) < len(study.names)):
            study.collected(study.names)  # in one pass over a file
        table = study.table(named) if keyed and not at_once else None
        columns = study.each(alone, together=named if at_once else ())
        table = study.table(named) if at_once else table
        counts = study.counts(named, partitions={}) if keyed else None
        rest = [*filter(columns.__contains__, unnamed)]
        if not rest or not keyed or study.person is not None or study.source.can_count:
            return Counted(table, counts, columns)
        return Counted(table, counts, columns, study.coded([*study.key, *rest]))

    @property
    def counts(self) -> Counts:
        """The count table of the named columns; partitions are not applied."""
        counts = self.counted.counts
        return self.study.counts([*self.keys, *self.sensitive], partitions={}) if counts is None else counts

    @cached_property
    def unnamed(self) -> tuple[str, ...]:
        """The columns that no rule is about; a table of figures has no records, so it has none."""
        if any(rule.name == "exposed_cells" for rule in self.rules.rules):
            return ()
        study, keyed = self.study, (*self.keys, *self.sensitive) if self.rules.keyed else ()
        named = {*self.rules.named, *keyed, study.person, study.weights}
        return tuple(name for name in study.names if name not in named)

    @cached_property
    def unmeasured(self) -> tuple[Unmeasured, ...]:
        """The columns that no rule is about, with the persons or records that each singles out, alone and with the key."""
        counted, study, keys = self.counted, self.study, self.keys if self.rules.keyed else ()
        if not self.unnamed:
            return ()
        if study.person is not None or (keys and not counted.coded):
            return tuple(singled_out(study, self.unnamed, study.person, keys).values())
        alone = {name: counted.columns[name] for name in self.unnamed if name in counted.columns}
        by_key, with_key = records_alone(counted.coded[: len(keys)], counted.coded[len(keys) :]) if keys else (None, {})
        return tuple(singled_out_by(alone, None, by_key, with_key).values())

    @cached_property
    def grouped(self) -> tuple[Equivalence, ClassRisks]:
        """The classes of the key, and the risks from an intruder who knows that the target is in the release."""
        wildcard = 1.0 if self.study.nulls == "wildcard" else None
        counts, person = self._counted([*self.keys, *self.sensitive])
        classes = equivalence(counts, self.keys, self.sensitive, wildcard=wildcard, person=person)
        return classes, ClassRisks.of(classes, classes.size)

    @property
    def own_classes(self) -> Classes | None:
        """The classes of the key over the cells of `counts`, if they are known already."""
        known: tuple[Equivalence, ClassRisks] | None = self.__dict__.get("grouped")
        whole = known is not None and known[0].owners is None and not known[0].suppressed
        return known[0].classes if known is not None and whole else None

    @property
    def classes(self) -> Equivalence:
        """The classes of the key."""
        return self.grouped[0]

    @property
    def risks(self) -> ClassRisks:
        """The risks from an intruder who knows that the target is in the release."""
        return self.grouped[1]

    def _counted(self, columns: Sequence[str]) -> tuple[Counts, str | None]:
        """Return the count table, and its column of persons, which may come from the original."""
        if self.study.person is not None:
            return count_table(self.study.owned(columns, [self.study.person])), self.study.person
        planned = () if self.study.project is None else self.study.project.names("person")
        if self.original is not None and (self.original.person is not None or planned):
            table, person = self.pair.owned(columns)
            if person is not None:
                return count_table(table), person
        return self.counts, None

    @cached_property
    def unit(self) -> Unit:
        """The unit of the figures: persons if they are distinguished, else records."""
        return self.classes.unit

    @property
    def wild(self) -> bool:
        """Whether nulls of the key match anything."""
        return self.study.nulls == "wildcard" and any(None in column.values for column in self.classes.classes.columns)

    @cached_property
    def pair(self) -> Pair:
        """The release beside its original."""
        if self.original is None:
            raise ArgumentError("it compares the release with its original, and none is given")
        plain = "category" if self.study.nulls == "wildcard" else self.study.nulls
        release = self.study.changed(key=(), nulls=plain)
        data, hierarchies = self.original.data, self.study.hierarchies or None
        before = data if isinstance(data, Study) else Study(data, project=beside(data, self.study), partial=True)
        correspondence = self.original.correspondence
        before = before.changed(person=self.original.person, nulls=before.policy)
        own = None if plain == "category" else plain
        from unveil.study import Pair

        return Pair(before, release, sensitive=self.sensitive or None, nulls=own, hierarchies=hierarchies, **correspondence)

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """The numbers of released records, or persons, that match each original record, with nulls matching anything."""
        if self.original is None:
            return {"k_known": None}
        from unveil.attacks import known_records

        return known_records(self.pair)

    @cached_property
    def identifiers(self) -> DirectIdentifiers:
        """The columns that name people outright."""
        return found_among(self.counted.columns, [name for name in self.study.names if name not in self.study.keep])

    @cached_property
    def attack(self) -> Attack:
        """The gain of an intruder."""
        linked = any(rule.name == "linkage" for rule in self.rules.rules)
        seed, control = (0, None) if self.original is None else (self.original.seed, self.original.control)
        from unveil.attacks.attack import attack

        return attack(self.pair, partitions={}, link_records=linked, control=control, seed=seed, progress=active_run())

    def scale(self, name: str) -> Scale:
        """Return the scale of a sensitive attribute: how its values relate to each other."""
        return Scale(name, self.study.orders.get(name), self.study.hierarchy(name))


_MOST_CATEGORIES = 50
_KINDS = {bool: "yes or no", int: "number", float: "number", Decimal: "number", str: "text", dt.datetime: "time", dt.date: "date"}
_CATEGORIES = ("text", "yes or no")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The type of a column, the number of its values, its frequent categories by name, and the number of rarer ones."""

    kind: str
    distinct: int | None = None
    categories: tuple[str, ...] | None = None
    rare: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "type": self.kind,
            "distinct": self.distinct,
            "categories": None if self.categories is None else list(self.categories),
            "rare": self.rare,
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """The records and columns of a release."""

    records: int
    columns: Mapping[str, ColumnProfile]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"records": self.records, "columns": {name: one.to_dict() for name, one in self.columns.items()}}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Profile:
        """Return the profile that was stored with a verdict."""
        columns = {
            str(name): ColumnProfile(
                str(one["type"]), one["distinct"], None if one["categories"] is None else tuple(one["categories"]), one["rare"]
            )
            for name, one in document["columns"].items()
        }
        return cls(int(document["records"]), columns)


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """A change: its kind, its column, and the values before and now; a new column keeps a release from passing."""

    what: str
    of: str
    before: Any
    now: Any
    met: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "what": self.what,
            "of": self.of,
            "before": jsonable(self.before),
            "now": jsonable(self.now),
            "met": self.met,
        }


def profile_of(case: Case, records: int) -> Profile:
    """Return the profile of a release, examining every column once."""
    study, telling = case.study, _telling(case)
    owners = [name for name in (study.person, study.household) if name is not None]
    profiles = {
        name: _column(table.columns[0].values, table.columns[0].codes, table.n, telling.get(name, set()))
        for name, table in case.counted.columns.items()
        if name not in owners
    }
    for name in owners:
        with suppress(UnveilError):
            counts = count_table(study.owned([], [name], nulls="category"))
            profiles[name] = _column(counts.columns[0].values, counts.codes[0], counts.n, telling.get(name, set()))
    uncounted = ColumnProfile("other")  # lists and similar types
    return Profile(records, {name: profiles.get(name, uncounted) for name in study.names})


def _telling(case: Case) -> dict[str, set[Any]]:
    """Return the values that must not be named, by column (see `telling_values`)."""
    if not case.keys or not case.sensitive:
        return {}
    partial = case.study.nulls in ("drop", "error")
    columns = [*case.keys, *case.sensitive]
    if partial:
        whole = case.study.counts(columns, nulls="category", partitions={})
        return telling_values(whole, case.keys, case.sensitive)
    return telling_values(case.counts, case.keys, case.sensitive, case.own_classes)


def _column(values: Sequence[Any], codes: Codes, n: NDArray[np.int64] | None, telling: Collection[Any]) -> ColumnProfile:
    """Return the profile of a column, given its values, with a null last, and the number of records of each."""
    distinct = len(values) - (len(values) > 0 and values[-1] is None)
    kinds = {type(kind().item()) if issubclass(kind, np.generic) else kind for kind in _types(values, distinct)}
    kind = " and ".join(sorted({_KINDS.get(one, "other") for one in kinds})) or "empty"
    if kind not in _CATEGORIES or distinct > _MOST_CATEGORIES:
        return ColumnProfile(kind, distinct)
    sizes = np.bincount(codes, weights=n, minlength=len(values)).tolist()
    present = [(value, size) for value, size in zip(values, sizes, strict=True) if value is not None]
    named = tuple(sorted(str(value) for value, size in present if size >= SMALL and value not in telling))
    return ColumnProfile(kind, distinct, named, distinct - len(named))


def _types(values: Sequence[Any], distinct: int) -> set[type]:
    return set(map(type, values[: min(distinct, 1) if isinstance(values, OneType | Integers) else distinct]))


def changes(before: Profile, now: Profile) -> tuple[ReleaseChange, ...]:
    """Return the changes of records, columns, their types and their categories."""
    differences = [] if before.records == now.records else [ReleaseChange("number of records", "", before.records, now.records)]
    differences += [
        ReleaseChange("new column", name, None, one.kind, met=False)
        for name, one in now.columns.items()
        if name not in before.columns
    ]
    differences += [
        ReleaseChange("lost column", name, one.kind, None) for name, one in before.columns.items() if name not in now.columns
    ]
    for name, one in now.columns.items():
        if name in before.columns:
            differences += _of_column(name, before.columns[name], one)
    return tuple(differences)


def _of_column(name: str, before: ColumnProfile, now: ColumnProfile) -> Iterator[ReleaseChange]:
    if before.kind != now.kind:
        yield ReleaseChange("type", name, before.kind, now.kind)
        return
    if before.categories is None or now.categories is None:
        if before.distinct != now.distinct and now.kind in _CATEGORIES:  # numbers and dates change from day to day
            yield ReleaseChange("number of values", name, before.distinct, now.distinct)
        return
    new = [one for one in now.categories if one not in before.categories]
    gone = [one for one in before.categories if one not in now.categories]
    if new:
        yield ReleaseChange("new categories", name, None, _few(new))
    if gone:
        yield ReleaseChange("lost categories", name, _few(gone), None)
    if before.rare != now.rare:
        yield ReleaseChange(f"categories of fewer than {SMALL} records, or that disclose", name, before.rare, now.rare)


def _few(names: list[str]) -> str:
    return listed(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
