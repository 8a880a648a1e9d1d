"""How is a table made safe to publish at the least cost? Its best full-domain generalisation under the models required."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, checked_nulls, names_of
from unveil.counts import Column, Counts, count_table
from unveil.counts.values import places_among
from unveil.errors import ArgumentError, EmptyDataError, ModelNotMetError, listed, shown
from unveil.measures.equivalence import equivalence
from unveil.mechanisms.pseudonyms import pseudonymize
from unveil.models.asked import AnyModel, Place, completed, measured_models
from unveil.models.base import Measured, SecretModel
from unveil.models.orders import Scale
from unveil.models.population import DeltaPresence, KMap, Population
from unveil.partitions import Hierarchy
from unveil.partitions.builders import propose
from unveil.randomness import Repeatable, chance_of
from unveil.releases import drawn_order, marked, repeatable_of
from unveil.results.numbers import counted, number
from unveil.run import Progress, in_run
from unveil.search.application import Applied, applied, recoded, suppressed_classes
from unveil.search.full_domain import Budget, Found, budget_of, search
from unveil.search.inputs import keys_of, limit_of, records_of, secrets_of, trees_of
from unveil.search.judge import Judge
from unveil.search.objectives import Candidate, Objective, objective_of
from unveil.search.release import Release, on_suppressed
from unveil.search.rollup import Table
from unveil.search.space import KeyAttribute, Node, Space, key_attributes
from unveil.sources import Data, load, tallied
from unveil.sources.microdata import Microdata
from unveil.sources.passing import Passing, Unwritten, WrittenFile, WrittenTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Chosen", "Plan", "anonymize", "chosen_of", "planned", "release_of"]


@checked_arguments
@in_run
def anonymize(  # noqa: PLR0913 - the one call that protects by generalisation
    data: Data,
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]],
    models: Sequence[AnyModel],
    *,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    suppression: float = 0.0,
    objective: str | Callable[[Candidate], float] = "loss",
    levels: Mapping[str, tuple[int, int]] | None = None,
    weights: Mapping[str, float] | None = None,
    factor: float = 0.5,
    identifiers: Names = (),
    pseudonyms: Names = (),
    key_file: str | os.PathLike[str] | None = None,
    population: Data | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str = "category",
    keep_order: bool = False,
    seed: int | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Release:
    """Generalise the key attributes of a table as little as the models allow, and suppress the records that still stand out.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file.
    models
        What the release must meet, such as ``[KAnonymity(5), TCloseness("income", 0.2)]``.
    hierarchies
        The hierarchies of key attributes, and of sensitive ones for the hierarchical distance. A key attribute without one gets
        one proposed from its values.
    suppression
        The share of the records that may be suppressed: their key values become ``*``.
    objective
        What to make small: "loss", "loss-geometric", "precision", "discernibility", "class-size", "entropy", "kl", or a function
        of a `Candidate`. `objective_of` gives the formulas.
    levels
        The lowest and the highest level that an attribute may have.
    weights
        How much each attribute counts in the objective; 1 unless given.
    factor
        From 0 (suppression costs nothing) over 0.5 to 1 (generalisation costs nothing).
    identifiers
        Columns that name people outright: they are left out.
    pseudonyms
        Columns that name people and stay, as keyed hashes; the key is in `key_file`, else in the variable ``UNVEIL_KEY``.
    key_file
        A secret key, of pseudonyms and of the shuffling: whoever has it, and nobody else, can repeat the release.
    population
        The table that `data` is part of, for k-map and delta-presence.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank.
    nulls
        "category": a null is a value. "drop": records with a null in a column named here are left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed
        Of the shuffling, for tests: everybody can repeat it, so the release is marked as not for publication. With neither a
        seed nor a key file nobody can.
    time_limit, node_limit
        When to stop searching, in seconds or generalisations looked at; the best found is then given and marked.
    progress
        A run, or a function called now and then with the name of a stage ("generalisations"), those settled and those in
        question.

    Returns
    -------
    Release
        The protected records, the transformation, its score and the models before and after.

    Raises
    ------
    ModelNotMetError
        If no generalisation meets the models.
    EmptyDataError
        If the cheapest one that does suppresses every record.

    Examples
    --------
    >>> import unveil
    >>> from unveil.models import KAnonymity
    >>> tree = unveil.Hierarchy.from_levels(["22", "25", "38", "39"], ["20-29", "20-29", "30-39", "30-39"], ["*"] * 4)
    >>> people = {"age": [22, 25, 38, 39], "disease": ["flu", "flu", "gout", "flu"]}
    >>> import polars as pl
    >>> release = unveil.anonymize(pl.DataFrame(people), {"age": tree}, [KAnonymity(2)], keep_order=True)
    >>> release
    Release(age 1/2; loss 0.3333, optimal; 4 records, 0 suppressed)
    >>> release.data["age"].to_list()
    ['20-29', '20-29', '30-39', '30-39']
    """
    named, hashed = names_of(identifiers), names_of(pseudonyms)
    _require_own_columns(hashed, attributes, models, named)
    chance = chance_of(seed, key_file)
    given, label = _pseudonymised(data, hashed, key_file)
    plan = planned(
        given, attributes, models, hierarchies=hierarchies, suppression=suppression, objective=objective, levels=levels,
        weights=weights, factor=factor, identifiers=named, population=population, orders=orders, nulls=nulls,
        budget=budget_of(time_limit, node_limit),
    )  # fmt: skip
    chosen = chosen_of(plan)
    records = plan.records
    if not isinstance(records, Microdata):
        raise TypeError("records in hand are asked for")
    what = applied(plan.space, chosen.node, chosen.classes, chosen.gone, plan.codes)
    protected = _protected(records, plan.space.attributes, chosen.node, what)
    asked = {
        "identifiers": list(named), "pseudonyms": list(hashed), "suppression": suppression, "levels": levels or {},
        "weights": weights or {}, "factor": factor, "nulls": nulls, "keep_order": keep_order,
        "time_limit": time_limit, "node_limit": node_limit,
    }  # fmt: skip
    order = np.arange(records.records) if keep_order else drawn_order(protected, chance, asked)
    repeatable = repeatable_of(chance, records.place, drawn=not keep_order)
    return release_of(plan, chosen, protected.taken(order), plan.rows[order], asked, label, repeatable)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The node that a plan found, its classes, and those of them that are suppressed."""

    node: Node
    classes: Table
    gone: NDArray[np.bool_]


def chosen_of(plan: Plan) -> Chosen:
    """Return what a plan found, or say why there is nothing."""
    found = plan.found
    if found.node is None:
        raise _unmet(plan)
    if found.suppressed == plan.space.records:
        raise _emptied(plan)
    return Chosen(found.node, *suppressed_classes(plan.space, plan.judge, found.node))


def release_of(
    plan: Plan,
    chosen: Chosen,
    records: Microdata | WrittenFile | WrittenTable | Unwritten,
    origin: NDArray[np.int64],
    asked: Mapping[str, Any],
    label: str,
    repeatable: Repeatable,
) -> Release:
    """Return the release that protected records are, with all that is to be said of it."""
    found, space, keys = plan.found, plan.space, plan.keys
    after = _measured(plan, chosen.node, chosen.classes, chosen.gone)
    limited = asked["time_limit"] is not None or asked["node_limit"] is not None
    return Release(
        records=records,
        transformation=space.transformation(chosen.node),
        heights={one.name: one.levels.height for one in space.attributes},
        score=found.score,
        objective=plan.objective.name,
        optimal=found.optimal,
        bound=found.bound,
        suppressed=found.suppressed,
        lattice=found.lattice,
        evaluated=found.evaluated,
        models=after,
        before=_measured(plan),
        seconds=plan.seconds,
        origin=origin,
        settings={
            "models": [" ".join([*place[1:2], str(one.requirement)]) for place, one in after.items()],
            "key": list(keys),
            "sensitive": list(plan.secrets),
            "hierarchies": {name: "proposed" if name in plan.proposed else "given" for name in keys},
            "objective": plan.objective.name,
            **asked,
        },
        notes=marked(
            [
                *_notes(plan, asked["identifiers"], asked["pseudonyms"], label, limited=limited),
                *on_suppressed(found.suppressed, after),
            ],
            repeatable,
        ),
        repeatable=repeatable,
        left_out=tuple(asked["identifiers"]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The generalisation to make, before any record is touched.

    Attributes
    ----------
    records, rows
        The records to protect, and the rows of the data that they are.
    codes
        For each key attribute the code of every record's value.
    keys, secrets
        The key attributes, and the sensitive ones that the models name.
    counts, population
        The count table over both, and the population's over the key where there is one.
    space, judge, objective
        The lattice, the requirements, and what to make small.
    asked
        The requirements by their place in an answer.
    proposed
        The key attributes whose hierarchy was proposed.
    limit
        How many records may be suppressed.
    found
        What the search found.
    seconds
        How long counting and searching took.
    """

    records: Microdata | Passing
    rows: NDArray[np.int64]
    codes: Sequence[NDArray[Any]]
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    counts: Counts
    population: Counts | None
    space: Space
    judge: Judge
    objective: Objective
    asked: Mapping[Place, AnyModel]
    proposed: Sequence[str]
    limit: int
    found: Found
    seconds: float


def planned(  # noqa: PLR0913 - as many as `anonymize` takes
    data: Data,
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]],
    models: Sequence[AnyModel],
    *,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    suppression: float = 0.0,
    objective: str | Callable[[Candidate], float] = "loss",
    levels: Mapping[str, tuple[int, int]] | None = None,
    weights: Mapping[str, float] | None = None,
    factor: float = 0.5,
    identifiers: Sequence[str] = (),
    population: Data | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str = "category",
    budget: Budget | None = None,
    stream: Passing | None = None,
) -> Plan:
    """Count the data and search its generalisations; the arguments are those of `anonymize`, and records that are streamed."""
    keys, trees = trees_of(attributes, hierarchies)
    secrets = secrets_of(models, keys)
    records: Microdata | Passing
    if stream is None:
        records, rows = records_of(data, keys, secrets, identifiers, checked_nulls(nulls))
    else:
        records, rows = stream.without(identifiers), np.zeros(0, dtype=np.int64)
    began = time.perf_counter()
    table = tallied(records.frame, [*keys, *secrets], nulls="category" if stream is None else nulls)
    counts = count_table(table)
    whole = None
    if population is not None:
        whole, counts = _population(population, keys, counts)
    proposed = [name for name in keys if name not in trees]
    trees |= {name: _proposed(counts if whole is None else whole, name) for name in proposed}
    known = key_attributes(counts, {name: trees[name] for name in keys}, levels)
    asked = completed(models, {name: Scale(name, _order(orders, name), trees.get(name)) for name in secrets})
    if whole is None and any(isinstance(model, KMap | DeltaPresence) for model in asked.values()):
        raise ArgumentError("k-map and delta-presence compare the table with its population; give the population's table.")
    groups = list(dict.fromkeys(_parts(model.attribute, secrets) for model in asked.values() if isinstance(model, SecretModel)))
    space = Space(counts, known, groups, whole)
    limit = limit_of(suppression, space.records)
    judge = Judge(space, list(asked.values()), limit)
    goal = objective_of(objective, known, space.records, weights=weights, factor=factor)
    found = search(space, judge, goal, limit, budget=budget)
    coded = table.columns[: len(keys)] if stream is None else ()
    codes = [_placed(counts.columns[counts.names.index(column.name)].values, column) for column in coded]
    return Plan(
        records, rows, codes, keys, secrets, counts, whole, space, judge, goal, asked, proposed, limit, found,
        time.perf_counter() - began,
    )  # fmt: skip


def _proposed(counts: Counts, name: str) -> Hierarchy:
    """Propose a hierarchy for the values of a column that were counted."""
    column = counts.over(name)
    return propose(column.classes([name]).values(0), column.n.tolist(), column=name).hierarchy


def _require_own_columns(
    pseudonyms: Sequence[str], attributes: Names | Mapping[str, Any], models: Sequence[AnyModel], identifiers: Sequence[str]
) -> None:
    """Refuse to pseudonymise a column that has another part to play."""
    keys = keys_of(attributes) if pseudonyms else ()
    taken = {*keys, *secrets_of(models, keys), *identifiers} if pseudonyms else set()
    if both := [name for name in pseudonyms if name in taken]:
        raise ArgumentError(
            f"column {shown(both[0])} is to be pseudonymised, and named as key, sensitive or identifier; it can be one of them."
        )


def _pseudonymised(data: Data, pseudonyms: Sequence[str], key_file: str | os.PathLike[str] | None) -> tuple[Data, str]:
    """Return the data with pseudonyms for some columns, and what is to be said of them."""
    if not pseudonyms:
        return data, ""
    made = pseudonymize(data, pseudonyms, key_file=key_file, nulls="keep", keep_order=True)
    return made.records, f"Pseudonymised with a keyed hash: {listed(pseudonyms)}. {' '.join(made.notes)}"


def _parts(attribute: str, secrets: Sequence[str]) -> tuple[str, ...]:
    return (attribute,) if attribute in secrets else tuple(attribute.split(" + "))


def _order(orders: Mapping[str, Sequence[Any]] | None, name: str) -> tuple[Any, ...] | None:
    return tuple(orders[name]) if orders is not None and name in orders else None


def _population(population: Data, keys: Sequence[str], counts: Counts) -> tuple[Counts, Counts]:
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


def _protected(records: Microdata, attributes: Sequence[KeyAttribute], node: Node, what: Applied) -> Microdata:
    """Return the records with their key values generalised; what stays as it is keeps its type."""
    changed = {}
    for one, level in zip(attributes, node, strict=True):
        if one.lowest + level > 0 or what.suppressed.any():
            changed[one.name] = records.labelled(one.name, what.labels[one.name], what.codes[one.name])
    return records.replaced(changed)


def _measured(
    plan: Plan, node: Node | None = None, classes: Table | None = None, gone: NDArray[np.bool_] | None = None
) -> dict[Place, Measured]:
    """Return what the models say of the data, or of the release at a node with some of its classes suppressed."""
    counts, whole = plan.counts, plan.population
    if node is not None and classes is not None and gone is not None:
        counts = recoded(counts, applied(plan.space, node, classes, gone, _cell_codes(plan, counts)))
        nothing = np.zeros(len(classes), dtype=bool)
        if whole is not None:
            whole = recoded(whole, applied(plan.space, node, classes, nothing, _cell_codes(plan, whole)))
    try:
        found = equivalence(counts, plan.keys, plan.secrets)
    except EmptyDataError:  # all attributes are fully generalised: one class
        found = equivalence(counts, plan.keys, plan.secrets, suppressed="class")
    return measured_models(plan.asked, found, None if whole is None else Population.of(counts, found, whole))


def _cell_codes(plan: Plan, counts: Counts) -> list[NDArray[Any]]:
    return [counts.codes[counts.names.index(name)] for name in plan.keys]


def _unmet(plan: Plan) -> ModelNotMetError:
    """Say which model cannot be met, and by how much."""
    found, top = plan.found, plan.space.top
    if not found.optimal:
        looked = counted(found.evaluated, "generalisation")
        return ModelNotMetError(f"none of the {looked} looked at within the limits meets the models; allow more time.")
    if (failing := _fails_at(plan, top)) is not None:
        return failing
    _, lost = found.closest
    return ModelNotMetError(
        f"the models cannot be met together: at best {counted(lost, 'record')} would have to be suppressed, "
        f"and {plan.limit:,} may be. Allow more suppression, or ask for less."
    )


def _fails_at(plan: Plan, top: Node) -> ModelNotMetError | None:
    """Say which model the table does not meet as one class, or as few as the levels allow, with nothing suppressed."""
    classes = plan.space.classes(top).copy()
    for place, one in _measured(plan, top, classes, np.zeros(len(classes), dtype=bool)).items():
        if one.met is False:
            value = "infinite" if one.value is None or math.isinf(one.value) else number(one.value)
            about = f" of {shown(place[1])}" if len(place) > 1 else ""
            return ModelNotMetError(
                f"{one.requirement}{about} cannot be met: with every key attribute at its highest level the figure is {value}."
            )
    return None


def _emptied(plan: Plan) -> ModelNotMetError | EmptyDataError:
    """Say why nothing would be left."""
    failing = _fails_at(plan, plan.space.top)
    return failing or EmptyDataError(
        f"the cheapest generalisation suppresses all {plan.space.records:,} records, so nothing is left; "
        "allow less suppression, or let it cost more."
    )


def _notes(plan: Plan, identifiers: Sequence[str], pseudonyms: Sequence[str], label: str, *, limited: bool) -> list[str]:
    """Return what a user should know of the release."""
    notes, found = [], plan.found
    if plan.proposed:
        notes.append(f"Hierarchies were proposed from the values of {listed(plan.proposed)}; write your own for meaning.")
    if identifiers:
        notes.append(f"Left out as identifiers: {listed(identifiers)}.")
    if label:
        notes.append(label)
    if rest := [name for name in plan.records.names if name not in (*plan.keys, *plan.secrets, *pseudonyms)]:
        notes.append(f"Left as they are: {listed(rest)}; whoever knows one of them may find people by it.")
    if found.node == plan.space.top and all(one.highest == one.levels.height for one in plan.space.attributes):
        notes.append("Every key attribute is fully generalised: all records are one class (measure it with suppressed='class').")
    if not found.optimal:
        why = "The search stopped at its limit" if limited else "The lattice is too large to be searched to the end"
        known = math.isfinite(found.bound)  # of an objective of the user's own nothing is known before it is asked
        notes.append(f"{why}; the best generalisation may cost {f'as little as {number(found.bound)}' if known else 'less'}.")
    return notes
