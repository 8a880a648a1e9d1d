"""The release under check: its classes, its direct identifiers and the attacks on it, each computed at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError
from unveil.formats import Unit
from unveil.identifiers import DirectIdentifiers, found_among
from unveil.measures.equivalence import ClassRisks, Equivalence, equivalence
from unveil.measures.unnamed import Unmeasured, records_alone, singled_out, singled_out_by
from unveil.models.closeness import Scale
from unveil.project.rules import RuleSet
from unveil.releases import Record
from unveil.run import active_run
from unveil.sources import Coded, CodedTable, Data
from unveil.sources.alignment import way_of
from unveil.study import Pair, Study, beside

if TYPE_CHECKING:
    from unveil.attacks.attack import Attack

__all__ = ["Case", "Counted", "Original"]


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
        return Pair(before, release, sensitive=self.sensitive or None, nulls=own, hierarchies=hierarchies, **correspondence)

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """The numbers of released records, or persons, that match each original record, with nulls matching anything."""
        if self.original is None:
            return {"k_known": None}
        from unveil.attacks.identity import known_records

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
