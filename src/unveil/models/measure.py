"""What must be reported about a table? Every model and risk, from one count table, with the deciding class of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import Names, sides_of
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, ColumnNotFoundError, listed, shown
from unveil.formats import Unit, counted, people, unit_of
from unveil.measures import Equivalence, Homes, Vulnerability, without_suppressed
from unveil.measures.equivalence import equivalence
from unveil.models.base import Measured, Model
from unveil.models.closeness import Scale
from unveil.models.measurement_view import view_of
from unveil.models.population import Population
from unveil.models.registry import measures
from unveil.models.requirements import completed, measured_models, nested, planned_models
from unveil.models.risk_sections import MeasureOptions, Risks, Uniqueness, risks, uniqueness, vulnerabilities
from unveil.partitions import Hierarchy
from unveil.results import MASK, SMALL, DecidingClass, Provenance, Result, View, masked_together, masking_in_words, plain
from unveil.run import in_run
from unveil.sources import Data
from unveil.study import Study, beside, checked_partitions, require_no_nulls, studied

__all__ = ["MeasureOptions", "Measurement", "measure", "measured_study"]

_FROM_BOTH_SIDES = (
    "Nulls match any value from both sides, so these figures hold against an intruder who has the release alone. Someone who "
    "knows true records may find fewer matches: an attack that is given the original says how many (k_known)."
)
_OF_RECORDS = (
    "k, uniques and the risks by intruder count persons; shares of sensitive values within a class, and what is estimated for a "
    "population or from weights, count records."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measurement(Result):
    """The figures of every model and risk of a table.

    Attributes
    ----------
    models
        The figure of each model, by its place in the answer: name, sensitive attribute, and distance or l if there are several.
    risk, uniqueness, vulnerability
        Re-identification risks, uniqueness, and Bayes vulnerability by the target of the guess.
    classes, suppressed
        The number of equivalence classes, and of records whose key is suppressed throughout and that form no class.
    made
        The provenance of the result.
    notes
        Remarks on the intruder against whom the figures hold if nulls match any value, and on figures that do not count
        persons.
    persons
        The number of persons, if a column identifies the person of a record; k, uniqueness and risks then count persons.
    """

    models: Mapping[tuple[str, ...], Measured]
    risk: Risks
    uniqueness: Uniqueness
    vulnerability: Mapping[str, Vulnerability]
    classes: int
    suppressed: int
    made: Provenance
    notes: tuple[str, ...] = ()
    persons: int | None = None

    @property
    def unit(self) -> Unit:
        """The counted unit: persons if they are distinguished, else records."""
        return unit_of(self.made.person)

    @property
    def number(self) -> int:
        """The number of persons if they are distinguished, else of records."""
        return self.made.records if self.persons is None else self.persons

    @property
    def everyone(self) -> str:
        """The number of all counted units in words: people if persons are distinguished, else records."""
        return people(self.number, self.unit)

    @property
    def met(self) -> bool | None:
        """Whether every requirement is met; None if there is none."""
        verdicts = [measured.met for measured in self.models.values() if measured.met is not None]
        return all(verdicts) if verdicts else None

    def __getitem__(self, place: str | tuple[str, ...]) -> Measured:
        """Return one model's answer, such as `["k_anonymity"]` or `["t_closeness", "income", "equal"]`."""
        return self.models[(place,) if isinstance(place, str) else place]

    def __repr__(self) -> str:
        """Return one line: k, the number of classes, and whether requirements are met."""
        verdict = "" if self.met is None else ", requirements met" if self.met else ", requirements NOT met"
        size = f"{counted(self.classes, 'class', 'classes')}, {counted(self.made.records, 'record')}"
        size += "" if self.persons is None else f" of {people(self.persons, self.unit)}"
        return f"Measurement(k = {self['k_anonymity'].value}, {size}{verdict})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "records": self.made.records,
            **({} if self.persons is None else {"persons": self.persons}),
            "classes": self.classes,
            "suppressed": self.suppressed,
            "met": self.met,
            "models": nested(self.models),
            "risk": self.risk.to_dict(),
            "uniqueness": self.uniqueness.to_dict(),
            "vulnerability": plain(self.vulnerability),
            "made": self.made.to_dict(),
            "notes": list(self.notes),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per model."""
        rows = list(self.models.items())
        return {
            "model": [place[0] for place, _ in rows],
            "attribute": [place[1] if len(place) > 1 else None for place, _ in rows],
            "parameter": [place[2] if len(place) > 2 else None for place, _ in rows],  # noqa: PLR2004
            "value": [None if measured.value is None else float(measured.value) for _, measured in rows],
            "class": [_class_text(measured.worst_class) for _, measured in rows],
            "size": [_class_size(measured.worst_class) for _, measured in rows],
            "requirement": [measured.requirement for _, measured in rows],
            "met": [measured.met for _, measured in rows],
            "violating_classes": [measured.violating_classes for _, measured in rows],
            "violating_records": [measured.violating_records for _, measured in rows],
            "reason": [measured.reason for _, measured in rows],
        }

    def masked(self, small: int = SMALL) -> Measurement:
        """Return the answer without the values of classes that have fewer than `small` records or that disclose."""
        masked = self.redacted(small, {})
        before, after = (any(one.masked for one in each.deciding.values()) for each in (self, masked))
        return replace(masked, notes=(*self.notes, masking_in_words(small))) if after and not before else masked

    def redacted(self, small: int, hidden: Mapping[str, frozenset[Any]]) -> Measurement:
        """Return every figure, and the deciding classes insofar as they may be shown.

        Parameters
        ----------
        small
            Classes with fewer records are small; 0: nothing is masked.
        hidden
            Values of attributes that are masked elsewhere although they are not small; a class with such a value is also
            masked.
        """
        deciding, special = self.deciding, self.uniqueness.special
        together = masked_together(list(deciding.values()), self.classes, small, hidden)
        shown = dict(zip(deciding, together, strict=True))
        models = {place: replace(one, worst_class=shown.get(place)) for place, one in self.models.items()}
        masked = replace(self, models=models, risk=self.risk.with_classes(shown))
        if not small or special is None:  # each special unique identifies one person
            return masked
        return replace(masked, uniqueness=replace(self.uniqueness, special=special.without_values()))

    @property
    def deciding(self) -> dict[tuple[str, ...], DecidingClass]:
        """The classes that decide a model or, under a place of its own, the risk from an intruder."""
        models = {place: model.worst_class for place, model in self.models.items()}
        risks = {("risk", name): risk.worst_class for name, risk in self.risk.intruders.items()}
        return {place: one for place, one in (models | risks).items() if one is not None}

    def view(self) -> View:
        """Return the displayed view."""
        return view_of(self)


@checked_arguments
@in_run
def measure(  # noqa: PLR0913 - the one call that reports everything
    data: Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    models: Sequence[Model] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    partitions: Mapping[str, Any] | None = None,
    population: Data | None = None,
    reference: Data | None = None,
    sampling_fraction: float | None = None,
    weights: str | None = None,
    person: str | None = None,
    household: str | None = None,
    special: bool = False,
    loglinear: int | str | None = None,
    threshold: float = 0.2,
    nulls: str | None = None,
    alpha: float = 1.0,
    suppressed: str = "apart",
) -> Measurement:
    """Measure every privacy model and disclosure risk of a table, each with the class that decides it.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, any data frame narwhals knows, a table in an engine, counts, a `Study` or a
        project file. Never changed.
    key
        The key attributes, taken together; none: those of the study or project.
    sensitive
        Sensitive attributes: each is measured alone, and several jointly as well; none: those of the study or project.
    models
        Requirements, such as ``[KAnonymity(5), TCloseness("income", 0.2)]``; every model is measured in any case. None:
        those of the project.
    hierarchies
        Hierarchies of sensitive attributes, for the hierarchical distance.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank (numbers need none).
    partitions
        Semantic partitions by column.
    population
        The table that `data` was drawn from; it adds k-map, delta-presence, journalist and marketer risk, and simple uniqueness.
    reference
        A table that supplies the distributions of the sensitive attributes to compare classes with; none: the whole of `data`.
    sampling_fraction
        The share of the population that is in `data`; it adds population uniqueness by Pitman, Zayatz, SNB and Dankar's rule.
    weights
        A column of sampling weights; it adds the risk of a record, by a log-linear model and by Benedetti and Franconi.
    person
        A column that says whose record it is: k, uniques and risks then count persons, who may have several records.
    household
        A column that says who lives together; it adds household risk, and k for households.
    special
        Look for special uniques (SUDA): minimal sample uniques, scores and DIS-SUDA.
    loglinear
        A log-linear model of population uniqueness (needs a sampling fraction, or weights): 1, the columns are independent; 2,
        all pairs of them interact; "search", as many pairs as are needed; or a formula, such as "age * sex + race". With "pml:"
        or "ce:" before it, the model is fitted to the weights, or to the sample with the rates of sampling as offset.
    threshold
        Records with a risk above it are counted as at risk.
    nulls
        "category" (the default), "drop", "error", or "wildcard": a null matches any value, with weight `alpha`.
    alpha
        How much a key with a null counts for other keys, from 0 to 1 (nulls="wildcard").
    suppressed
        "apart": records whose key is suppressed throughout (`*` or null) are counted separately; "class": they form a class.

    Returns
    -------
    Measurement
        Models, risks, uniqueness and vulnerability.

    Examples
    --------
    >>> import unveil
    >>> measurement = unveil.measure("paper-3", key=["ZIP*", "Age*"], sensitive="Disease", models=[unveil.models.KAnonymity(3)])
    >>> measurement
    Measurement(k = 3, 3 classes, 9 records, requirements met)
    >>> measurement["distinct_l_diversity", "Disease"].value
    3
    """
    options = MeasureOptions(
        models=tuple(models),
        reference=reference,
        sampling_fraction=sampling_fraction,
        special=special,
        loglinear=loglinear,
        threshold=threshold,
        alpha=alpha,
        suppressed=suppressed,
    )
    meant: dict[str, Any] = {"hierarchies": hierarchies, "orders": orders, "partitions": partitions, "population": population}
    roles: dict[str, Any] = {"weights": weights, "person": person, "household": household}
    with studied(data, key=key, sensitive=sensitive, nulls=nulls, wildcards=True, **roles, **meant) as study:
        keys, sensitive_names = sides_of(study.key, study.sensitive or None)
        _check_hierarchies(hierarchies, orders, sensitive_names)
        checked_partitions(partitions, (*keys, *sensitive_names))
        return measured_study(study, options if options.models else replace(options, models=tuple(planned_models(study))))


def measured_study(study: Study, options: MeasureOptions) -> Measurement:
    """Measure every privacy model and disclosure risk of a study."""
    options.check(study)
    keys, sensitive = study.key, study.sensitive
    every, dropped = _counted(study)
    counts = every.over([*keys, *sensitive])
    compared = None if options.reference is None else _reference(options.reference, study)
    wildcard = options.alpha if study.nulls == "wildcard" else None
    classes = equivalence(
        every, keys, sensitive, wildcard=wildcard, suppressed=options.suppressed, reference=compared, person=study.person
    )
    scales = {name: Scale(name, study.orders.get(name), study.hierarchy(name)) for name in sensitive}
    whole = None if study.population is None else _population(study.population, study, every, classes)
    kept = without_suppressed(counts, keys) if options.suppressed == "apart" else counts
    plain = {model.place: model for model in measures(classes, scales, population=whole is not None)}
    measured = measured_models(plain | completed(options.models, scales), classes, whole)
    provenance = Provenance(
        records=counts.records,
        nulls=study.nulls,
        dropped=dropped,
        key=keys,
        sensitive=sensitive,
        partitions={name: block.to_dict() for name, block in study.blocks((*keys, *sensitive)).items()},
        weights=study.weights,
        person=study.person,
        household=study.household,
        version=__version__,
    )
    cells = kept.over(keys) if study.weights is not None else None
    return Measurement(
        models=measured,
        risk=risks(classes, cells, _homes(every, classes, study), whole, options.threshold),
        uniqueness=uniqueness(kept, keys, classes, whole, options),
        vulnerability=vulnerabilities(classes),
        classes=classes.classes.number,
        suppressed=classes.suppressed,
        made=provenance,
        notes=tuple(_notes(study, classes)),
        persons=None if classes.owners is None else classes.number,
    )


def _counted(study: Study) -> tuple[Counts, int]:
    """Return the counts over key, sensitive attributes and, last, person and household; and the number of dropped records."""
    columns, owners = [*study.key, *study.sensitive], [name for name in (study.person, study.household) if name is not None]
    table, blocks = study.owned(columns, owners, weights=study.weights), study.blocks(columns)
    if table.weights is None and not owners:
        return study.counts(columns, partitions=blocks), table.dropped
    return count_table(table, blocks), table.dropped


def _notes(study: Study, classes: Equivalence) -> Iterator[str]:
    """Yield remarks on the intruder against whom the figures hold, and on those that do not count persons."""
    if study.nulls == "wildcard" and _has_null(classes):
        yield _FROM_BOTH_SIDES
    if study.person is not None:
        yield _OF_RECORDS


def _has_null(classes: Equivalence) -> bool:
    return any(None in column.values for column in classes.classes.columns)


def _class_text(worst: DecidingClass | None) -> str | None:
    return None if worst is None else MASK if worst.masked else str(worst.key)


def _class_size(worst: DecidingClass | None) -> float | None:
    return None if worst is None or worst.size is None else float(worst.size)


def _check_hierarchies(
    hierarchies: Mapping[str, Hierarchy] | None, orders: Mapping[str, Sequence[Any]] | None, sensitive: Sequence[str]
) -> None:
    for what, by_column in (("hierarchy", hierarchies), ("order", orders)):
        for name in by_column or {}:
            if name not in sensitive:
                known = listed(sensitive) or "none"
                raise ArgumentError(
                    f"{what} is given for column {shown(name)}, which is not among the sensitive attributes: {known}."
                )


def _homes(every: Counts, classes: Equivalence, study: Study) -> Homes | None:
    """Return the households, if they are known."""
    if study.household is None:
        return None
    kept = every if classes.suppressed == 0 else without_suppressed(every, study.key)
    return Homes.of(kept, study.key, study.household, study.person)


def _reference(data: Data, study: Study) -> Counts:
    if not study.sensitive:
        raise ArgumentError("a reference table is compared with the sensitive attributes, and none is named.")
    require_no_nulls(data, study.sensitive)
    with studied(data, nulls=_plain(study.nulls), project=beside(data, study), partial=True) as reference:
        return reference.counts(study.sensitive, partitions=study.blocks(study.sensitive))


def _population(data: Data, study: Study, every: Counts, classes: Equivalence) -> Population:
    """Return the population: its persons if it has the column that identifies them, else its records."""
    key, person, blocks = study.key, study.person, study.blocks(study.key)
    require_no_nulls(data, key)
    with studied(data, nulls=_plain(study.nulls), project=beside(data, study), partial=True) as population:
        missing = [name for name in key if name not in population.names]
        if missing:
            raise ColumnNotFoundError(f"the population lacks {listed(missing)}; its columns are: {listed(population.names)}.")
        if person is None or person not in population.names:
            whole = population.counts(key, partitions=blocks)
        else:
            whole = count_table(population.owned(key, [person]), blocks).distinct(key, person)
        return Population.of(every if person is None else every.distinct(key, person), classes, whole)


def _plain(nulls: str) -> str:
    return "category" if nulls == "wildcard" else nulls
