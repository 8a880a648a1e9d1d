"""A request: the key and sensitive attributes of a table, its records or where they stream from, and the models to meet.

Every search begins with a request: the table is read and counted once, coded in an order that does not depend on that of its
records, and what the caller names is checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from unveil.attributes import Names, names_of, require_columns
from unveil.counts import Column, Counts, count_table, group, places_among
from unveil.errors import ArgumentError, EmptyDataError, ModelNotMetError, NullsError, listed, shown
from unveil.formats import number
from unveil.measures import equivalence_each
from unveil.models import (
    Measured,
    Model,
    Place,
    Population,
    Scale,
    completed,
    in_persons,
    measured_models_each,
    planned_models,
    sensitive_groups,
    sensitive_of,
)
from unveil.naming import is_place
from unveil.partitions import Hierarchy, propose_each
from unveil.randomness import Chance
from unveil.search.lattice.objectives import Candidate, targets_of
from unveil.search.lattice.space import KeyAttribute, key_attributes, records_by_value
from unveil.search.nesting import Nested, nested_places
from unveil.sources import BatchedRecords, Coded, Data, Microdata, Tally, coded_table, load, open_microdata, tallied
from unveil.study import CodedColumns, Stated, planned_key, planned_population, require_no_nulls, require_values, stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import CodedTable

__all__ = [
    "Hierarchies", "Request", "Wanted", "finer_request", "given_hierarchies", "hierarchies_of", "keys_of", "not_met",
    "records_of", "request_of", "require_apart", "require_person_apart", "require_persons", "unfit_for_finer", "wanted_of",
]  # fmt: skip

Hierarchies: TypeAlias = Mapping[str, Hierarchy | str | os.PathLike[str]]
_NO_ROWS = np.zeros(0, dtype=np.int64)
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call asks of a release.

    Attributes
    ----------
    keys, sensitive
        The key attributes, and the sensitive ones that the models name.
    hierarchies
        The hierarchies given, by attribute.
    models
        The models to meet.
    said
        How values are read, and what is said about the other columns.
    """

    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    models: Sequence[Model]
    said: Stated


@dataclass(frozen=True, eq=False)
class Request:
    """A table and what its release must meet.

    Attributes
    ----------
    keys, counted
        The key attributes, and those counted with them: the sensitive ones that the models name, and the column of persons.
    hierarchies
        The hierarchies given, by attribute.
    table, rows
        The records to protect, in hand or streamed, and their rows in the data.
    coded
        The columns of records in hand, coded; none for a stream.
    cells
        The count table over key and sensitive attributes.
    models
        The requirements, by their place in the answer.
    left_out
        The columns that name people, which the release does not have.
    population
        The count table of the population over the key, if there is one.
    further
        Columns that are counted as well, because the objective needs them.
    person
        The column that says whose record it is; if a size is required of classes, it is among the sensitive attributes, because
        persons are counted like sensitive values.
    sensitive_groups
        The sensitive attributes that the models name, alone or several jointly.
    sensitive
        The sensitive attributes, without the column of persons, which is counted like one of them.
    """

    keys: tuple[str, ...]
    counted: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    table: Microdata | BatchedRecords
    rows: NDArray[np.int64]
    coded: CodedTable | None
    cells: Counts
    models: Mapping[Place, Model]
    left_out: tuple[str, ...] = ()
    population: Counts | None = None
    further: tuple[str, ...] = ()
    person: str | None = None
    sensitive_groups: tuple[tuple[str, ...], ...] = ()
    sensitive: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Tell the sensitive attributes from the column of persons."""
        object.__setattr__(self, "sensitive", tuple(name for name in self.counted if name != self.person))

    @property
    def records(self) -> Microdata:
        """The records in hand."""
        if not isinstance(self.table, Microdata):
            raise TypeError("records in hand are required")
        return self.table

    @cached_property
    def of_row(self) -> NDArray[np.int64]:
        """The cell of each record in hand."""
        if self.coded is None:
            raise TypeError("records in hand are required")
        columns = self.coded.columns
        return group([column.codes for column in columns], [len(column.values) for column in columns])[0]

    @cached_property
    def proposed(self) -> dict[str, Hierarchy]:
        """Hierarchies for the key attributes that came without one, proposed from the values that were counted."""
        counts = self.cells if self.population is None else self.population
        wanted = [name for name in self.keys if name not in self.hierarchies]
        if not wanted:
            return {}
        present = {name: _present(counts, counts.names.index(name)) for name in wanted}
        places = _places_within(counts, wanted)
        within = {name: places[name][0].build(present[name][0], column=name) for name in places}
        by_form = propose_each({name: one for name, one in present.items() if name not in places})
        known = {**{name: one.hierarchy for name, one in by_form.items()}, **within}
        return {name: known[name] for name in wanted}

    @cached_property
    def with_hierarchy(self) -> Mapping[str, KeyAttribute]:
        """The key attributes that came with a hierarchy, over all its levels."""
        hierarchies = {name: self.hierarchies[name] for name in self.keys if name in self.hierarchies}
        return {one.name: one for one in key_attributes(self.cells, hierarchies)}

    def key_attributes(self, levels: Mapping[str, tuple[int, int]] | None = None) -> tuple[KeyAttribute, ...]:
        """Return every key attribute with its hierarchy, given or proposed, and the levels that it may have."""
        if not levels and not self.proposed:
            return tuple(self.with_hierarchy.values())
        known = {**self.hierarchies, **self.proposed}
        return key_attributes(self.cells, {name: known[name] for name in self.keys}, levels)

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the code of an attribute in every cell."""
        return self.cells.codes[self.cells.names.index(name)].astype(np.int64)

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of an attribute, in order, a null last."""
        return self.cells.columns[self.cells.names.index(name)].values

    def record_codes(self) -> list[NDArray[Any]]:
        """Return for each key attribute the code of every record's value among those that were counted."""
        if self.coded is None:
            raise TypeError("records in hand are required")
        return [_placed(self.values(column.name), column) for column in self.coded.columns[: len(self.keys)]]

    def sorted_rows(self, chance: Chance) -> NDArray[np.int64]:
        """Return the rows sorted by cell, equal ones in random order: a record's position in the file decides nothing."""
        fingerprint = self.records.fingerprint() if chance.keyed else b""
        ties = chance.draws("ties", {"key": self.keys, "sensitive": self.counted}, fingerprint).random(len(self.of_row))
        return np.lexsort((ties, self.of_row))

    def measured(self, counts: Counts, population: Counts | None = None) -> dict[Place, Measured]:
        """Return the figures of the models for a count table over key and sensitive attributes, and its population."""
        return self.measured_each([(counts, population)])[0]

    def measured_each(self, tables: Sequence[tuple[Counts, Counts | None]]) -> list[dict[Place, Measured]]:
        """Return the figures of the models for several count tables, each with its population."""
        classes = equivalence_each([counts for counts, _ in tables], self.keys, self.counted)
        pairs = zip(tables, classes, strict=True)
        people = [None if whole is None else Population.of(counts, one, whole) for (counts, whole), one in pairs]
        return measured_models_each(self.models, list(zip(classes, people, strict=True)))

    def require_reachable(self) -> None:
        """Refuse models that fail even if all records look alike."""
        numbered = list(enumerate(self.cells.names))
        columns = [Column(name, ("all",)) if name in self.keys else self.cells.columns[at] for at, name in numbered]
        codes = [np.zeros_like(self.cells.codes[at]) if name in self.keys else self.cells.codes[at] for at, name in numbered]
        alike = self.measured(self.cells.regrouped(columns, codes))
        if (problem := not_met(alike, "with all records in one class")) is not None:
            raise problem


def wanted_of(data: Data, attributes: Names | Hierarchies | None, models: Sequence[Model], **said: Any) -> Wanted:
    """Return what a call asks of a release, completed by the study or project that the data is."""
    keys = keys_of(planned_key(data) if attributes is None else attributes)
    models = models or planned_models(data)
    said["hierarchies"] = given_hierarchies(attributes, said.get("hierarchies"))
    sensitive = sensitive_of(models, keys)
    require_values(data, [*keys, *sensitive])
    values = stated(data, [*keys, *sensitive], **said)
    if values.population is not None:
        population = said.get("population")
        require_no_nulls(planned_population(data) if population is None else population, keys)
    return Wanted(keys, sensitive, hierarchies_of(keys, values.hierarchies), models, values)


def request_of(
    wanted: Wanted,
    table: Microdata | BatchedRecords | None = None,
    identifiers: Names = (),
    objective: str | Callable[[Candidate], float] = "loss",
) -> Request:
    """Read or count a table, and check what is required of it; records that stream are counted where they are.

    If a study identifies persons, the size that is required of a class is a number of persons as well.

    Parameters
    ----------
    wanted
        What the call asks for.
    table
        The records, if they are opened already.
    identifiers
        The columns that name people: they are left out.
    objective
        What is to be minimised: columns that it predicts are counted as well.
    """
    said, keys, gone = wanted.said, wanted.keys, names_of(identifiers)
    person, models, sensitive = said.standing.person, wanted.models, wanted.sensitive
    if person is not None:
        require_person_apart(person, gone)
        models = in_persons(models, person)
        sensitive = sensitive_of(models, keys)
    also = tuple(name for name in targets_of(objective) if name and name not in (*keys, *sensitive))
    columns = [*keys, *sensitive, *also]
    scales = {name: Scale(name, _order(said, name), wanted.hierarchies.get(name)) for name in sensitive}
    if isinstance(table, BatchedRecords):
        table, rows, coded = table.without(gone), _NO_ROWS, None
        cells = count_table(tallied(table.frame, columns, nulls=said.nulls))
    else:
        table, rows = records_of(table or open_microdata(said.data, said.standing), keys, (*sensitive, *also), gone, said.nulls)
        coded = coded_table(table.place, Tally(table.frame), columns, "category", None)
        cells = count_table(coded)
    whole = None
    if said.population is not None:
        whole, cells = _within(said.population, keys, cells)
    required = completed(models, scales, alone=whole is None)
    groups = sensitive_groups(models, sensitive)
    if person is not None:
        require_persons(cells, person)
    return Request(
        keys, sensitive, wanted.hierarchies, table, rows, coded, cells, required, gone, whole, also, person, groups
    )  # fmt: skip


def _order(said: Stated, name: str) -> tuple[Any, ...] | None:
    """Return the order of an attribute's values, if one is given."""
    return tuple(said.orders[name]) if name in said.orders else None


def keys_of(attributes: Names | Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key attributes, whether named alone or with their hierarchies."""
    return tuple(attributes) if isinstance(attributes, Mapping) else names_of(attributes)


def given_hierarchies(attributes: Names | Mapping[str, Any] | None, hierarchies: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all hierarchies given in a call, whether beside the key attributes or together with them."""
    return {**(hierarchies or {}), **(attributes if isinstance(attributes, Mapping) else {})}


def hierarchies_of(keys: Sequence[str], hierarchies: Mapping[str, Any]) -> dict[str, Hierarchy]:
    """Return all given hierarchies, reading any that are paths from their files; the key attributes must be distinct."""
    if not keys:
        raise ArgumentError.no_key("attributes")
    if len(set(keys)) < len(keys):
        raise ArgumentError(f"column {shown(next(name for name in keys if keys.count(name) > 1))} is named twice as key.")
    return {
        name: hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, column=name)
        for name, hierarchy in hierarchies.items()
    }


def require_apart(identifiers: Sequence[str], keys: Sequence[str], sensitive: Sequence[str]) -> None:
    """Refuse an identifier that is also a key or sensitive attribute, because identifiers are left out of the release."""
    if both := [name for name in identifiers if name in (*keys, *sensitive)]:
        raise ArgumentError(f"column {shown(both[0])} is named as identifier and as key or sensitive; it can be one of them.")


def require_person_apart(person: str, identifiers: Sequence[str]) -> None:
    """Refuse the column of persons as an identifier: it is needed until the release is made, and is left out of it anyway."""
    if person in identifiers:
        raise ArgumentError(f"column {shown(person)} is named as identifier and as person, which is also left out; name it once.")


def records_of(
    records: Microdata, keys: Sequence[str], sensitive: Sequence[str], identifiers: Sequence[str], nulls: str
) -> tuple[Microdata, NDArray[np.int64]]:
    """Return the records to protect, without identifiers, and their rows in the data."""
    require_columns([*keys, *sensitive, *identifiers], records.names)
    require_apart(identifiers, keys, sensitive)
    if identifiers:
        records = records.without(identifiers)
    rows = np.arange(records.records)
    if nulls == "category":
        return records, rows
    columns = list(dict.fromkeys([*keys, *sensitive]))
    complete = records.complete(columns)
    missing = int(np.count_nonzero(~complete))
    if missing and nulls == "error":
        raise NullsError.present({name: int(np.count_nonzero(~records.complete([name]))) for name in columns})
    if missing == len(rows):
        raise EmptyDataError(f"all {len(rows):,} records have a null in {listed(columns)}; none is left.")
    return records.taken(rows[complete]), rows[complete]


def require_persons(cells: Counts, person: str) -> None:
    """Refuse records without a person in a count table that identifies persons."""
    if person not in cells.names:
        return
    at = cells.names.index(person)
    values = cells.columns[at].values
    if len(values) and values[len(values) - 1] is None:
        raise NullsError.nobodys(person, int(cells.n[cells.codes[at] == len(values) - 1].sum()), cells.records)


def unfit_for_finer(model: Model) -> str | None:
    """Return why no recoding without a lattice can be required to meet a model; None if one can."""
    if model.needs_population:
        return f"{model.name} compares with a population, to whose records a finer recoding does not apply; use anonymize."
    if not model.closed and model.judged_on in ("class", "payoff"):
        return f"{model.name} may fail when classes that meet it are joined; use anonymize, without finer recodings."
    return None


def finer_request(wanted: Wanted, identifiers: Names = ()) -> Request:
    """Read a table for a recoding without a lattice; its models must be about classes, and be met by a single class."""
    for model in wanted.models:
        if (reason := unfit_for_finer(model)) is not None:
            raise ArgumentError(reason)
    request = request_of(wanted, None, identifiers)
    request.require_reachable()
    return request


def not_met(measured: Mapping[Place, Measured], where: str) -> ModelNotMetError | None:
    """Say which model is not met, and by what figure; None if all are."""
    for place, one in measured.items():
        if one.met is False:
            value = "infinite" if one.value is None or math.isinf(one.value) else number(one.value)
            about = f" of {shown(place[1])}" if len(place) > 1 else ""
            return ModelNotMetError(f"{one.requirement}{about} cannot be met: {where} the figure is {value}.")
    return None


def _present(counts: Counts, at: int) -> tuple[list[Any], list[int]]:
    """Return the values of a column that occur, in order, and how many records hold each."""
    values = counts.columns[at].values
    records = records_by_value(counts.codes[at], counts.n, len(values))
    held = np.flatnonzero(records).tolist()
    return [values[code] for code in held], records[held].tolist()


def _places_within(counts: Counts, wanted: Sequence[str]) -> dict[str, tuple[Nested, str]]:
    """Return the rule for each column of places that lies within wider places; one place alone lies in no other."""
    if sum(map(is_place, counts.names)) < _PAIR:
        return {}
    pairs = zip(counts.columns, counts.codes, strict=True)
    coded = {one.name: Coded(one.name, one.values, cast("NDArray[Any]", codes)) for one, codes in pairs}
    return nested_places(CodedColumns(coded, counts.n), wanted)


def _within(population: Data, keys: Sequence[str], counts: Counts) -> tuple[Counts, Counts]:
    """Return the population's count table over the key, and the table's own with the population's values."""
    whole = count_table(load(population, keys))
    columns, codes = list(counts.columns), list(counts.codes)
    for name in keys:
        at, values = counts.names.index(name), whole.columns[whole.names.index(name)].values
        place = places_among(values, counts.columns[at].values)
        if missing := int(np.count_nonzero(place < 0)):
            raise ArgumentError(f"{missing:,} values of {shown(name)} are not in the population, which must hold the data.")
        codes[at] = place[counts.codes[at]]
        columns[at] = Column(name, values)
    return whole, replace(counts, columns=tuple(columns), codes=tuple(codes))


def _placed(values: Sequence[Any], column: Any) -> NDArray[np.int64]:
    """Return the codes of a column among other values."""
    if len(values) == len(column.values):
        return np.asarray(column.codes)
    return np.asarray(places_among(values, column.values)[column.codes])
