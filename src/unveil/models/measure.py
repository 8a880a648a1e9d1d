"""What must be reported of a table? Every model and risk of the field, from one count table, with the class that decides each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import Names, sides_of
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, ColumnNotFoundError, listed, shown
from unveil.measures.discrimination import checked_partitions
from unveil.measures.equivalence import Equivalence, equivalence, without_suppressed
from unveil.models.base import Measured, Model
from unveil.models.measure_options import MeasureOptions
from unveil.models.measurement_view import view_of
from unveil.models.orders import Scale
from unveil.models.population import Population
from unveil.models.registry import measures
from unveil.models.required import completed, measured_models, nested
from unveil.models.risk_sections import risks, uniqueness, vulnerabilities
from unveil.partitions import Hierarchy
from unveil.results import Provenance, Result, View
from unveil.results.masking import MASK
from unveil.results.numbers import counted
from unveil.run import in_run
from unveil.sources import Data
from unveil.study import Study, studied

__all__ = ["MeasureOptions", "Measurement", "measure", "measured_study"]

_FROM_BOTH_SIDES = (
    "Nulls match any value from both sides, so these figures hold against an intruder who has the release alone. Someone who "
    "knows true records may find fewer that fit: unveil attack, given the original, says how many (k_known)."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measurement(Result):
    """Every model and risk of a table.

    Attributes
    ----------
    models
        What each model says, by its place in the answer: name, sensitive attribute, and distance or l where there are several.
    risk, uniqueness, vulnerability
        Re-identification risks, uniqueness, and Bayes vulnerability, as plain values.
    classes, suppressed
        The number of equivalence classes, and of records whose key is suppressed throughout and that form none.
    made
        How the result was made.
    notes
        Against whom the figures hold, where nulls match any value.
    """

    models: Mapping[tuple[str, ...], Measured]
    risk: Mapping[str, Any]
    uniqueness: Mapping[str, Any]
    vulnerability: Mapping[str, Any]
    classes: int
    suppressed: int
    made: Provenance
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether every requirement is met; None where there is none."""
        asked = [measured.met for measured in self.models.values() if measured.met is not None]
        return all(asked) if asked else None

    def __getitem__(self, place: str | tuple[str, ...]) -> Measured:
        """Return one model's answer, such as `["k_anonymity"]` or `["t_closeness", "income", "equal"]`."""
        return self.models[(place,) if isinstance(place, str) else place]

    def __repr__(self) -> str:
        """Return one line: k, classes, and whether requirements are met."""
        verdict = "" if self.met is None else ", requirements met" if self.met else ", requirements NOT met"
        size = f"{counted(self.classes, 'class', 'classes')}, {counted(self.made.records, 'record')}"
        return f"Measurement(k = {self['k_anonymity'].value}, {size}{verdict})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "records": self.made.records,
            "classes": self.classes,
            "suppressed": self.suppressed,
            "met": self.met,
            "models": nested(self.models),
            "risk": dict(self.risk),
            "uniqueness": dict(self.uniqueness),
            "vulnerability": dict(self.vulnerability),
            "made": self.made.to_dict(),
            "notes": list(self.notes),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per model."""
        found = list(self.models.items())
        return {
            "model": [place[0] for place, _ in found],
            "attribute": [place[1] if len(place) > 1 else None for place, _ in found],
            "parameter": [place[2] if len(place) > 2 else None for place, _ in found],  # noqa: PLR2004
            "value": [None if measured.value is None else float(measured.value) for _, measured in found],
            "class": [_class_text(measured.worst_class) for _, measured in found],
            "size": [_class_size(measured.worst_class) for _, measured in found],
            "requirement": [measured.requirement for _, measured in found],
            "met": [measured.met for _, measured in found],
            "violating_classes": [measured.violating_classes for _, measured in found],
            "violating_records": [measured.violating_records for _, measured in found],
            "reason": [measured.reason for _, measured in found],
        }

    def view(self) -> View:
        """Return what a person should see."""
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
    household: str | None = None,
    special: bool = False,
    loglinear: int | None = None,
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
        Requirements, such as ``[KAnonymity(5), TCloseness("income", 0.2)]``; every model is measured in any case.
    hierarchies
        Trees over sensitive attributes, for the hierarchical distance.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank (numbers need none).
    partitions
        Semantic partitions by column.
    population
        The table that `data` was drawn from: k-map, delta-presence, journalist and marketer risk, simple uniqueness.
    reference
        A table whose distribution of the sensitive attributes classes are compared with; none: the whole of `data`.
    sampling_fraction
        The share of the population that `data` is: population uniqueness by Pitman, Zayatz, SNB and Dankar's rule.
    weights
        A column of sampling weights: the risk of a record, by a log-linear model and by Benedetti and Franconi.
    household
        A column that says who lives together: household risk, from the individual risk.
    special
        Look for special uniques (SUDA): minimal sample uniques, scores and DIS-SUDA.
    loglinear
        1 or 2: the order of a log-linear model of population uniqueness (needs a sampling fraction).
    threshold
        Records with a risk above it are counted as at risk.
    nulls
        "category" (the default), "drop", "error", or "wildcard": a null matches any value, with weight `alpha`.
    alpha
        How much a key with a null counts for other keys, from 0 to 1 (nulls="wildcard").
    suppressed
        "apart": records whose key is suppressed throughout (`*` or null) are counted apart; "class": they form a class.

    Returns
    -------
    Measurement
        Models, risks, uniqueness and vulnerability.

    Examples
    --------
    >>> import unveil
    >>> found = unveil.measure("paper-3", key=["ZIP*", "Age*"], sensitive="Disease", models=[unveil.models.KAnonymity(3)])
    >>> found
    Measurement(k = 3, 3 classes, 9 records, requirements met)
    >>> found["distinct_l_diversity", "Disease"].value
    3
    """
    options = MeasureOptions(
        models=tuple(models),
        reference=reference,
        sampling_fraction=sampling_fraction,
        household=household,
        special=special,
        loglinear=loglinear,
        threshold=threshold,
        alpha=alpha,
        suppressed=suppressed,
    )
    meant: dict[str, Any] = {"hierarchies": hierarchies, "orders": orders, "partitions": partitions, "population": population}
    with studied(data, key=key, sensitive=sensitive, nulls=nulls, weights=weights, **meant) as study:
        keys, secrets = sides_of(study.key, study.sensitive or None)
        _check_hierarchies(hierarchies, orders, secrets)
        checked_partitions(partitions, (*keys, *secrets))
        return measured_study(study, options)


def measured_study(study: Study, options: MeasureOptions) -> Measurement:
    """Measure every privacy model and disclosure risk of a study."""
    options.check(study)
    keys, secrets = study.key, study.sensitive
    every, dropped = _counted(study, options.household)
    counts = every.over([*keys, *secrets]) if options.household is not None else every
    compared = None if options.reference is None else _reference(options.reference, study)
    wildcard = options.alpha if study.nulls == "wildcard" else None
    classes = equivalence(counts, keys, secrets, wildcard=wildcard, suppressed=options.suppressed, reference=compared)
    scales = {name: Scale(name, study.orders.get(name), study.hierarchy(name)) for name in secrets}
    whole = None if study.population is None else _population(study.population, study, counts, classes)
    kept = without_suppressed(counts, keys) if options.suppressed == "apart" else counts
    homes = None if options.household is None else _homes(every, keys, options.household, options.suppressed)
    plain = {model.place: model for model in measures(classes, scales, population=whole is not None)}
    measured = measured_models(plain | completed(options.models, scales), classes, whole)
    made = Provenance(
        records=counts.records,
        nulls=study.nulls,
        dropped=dropped,
        key=keys,
        sensitive=secrets,
        partitions={name: block.to_dict() for name, block in study.blocks((*keys, *secrets)).items()},
        weights=study.weights,
        version=__version__,
    )
    return Measurement(
        models=measured,
        risk=risks(classes, kept.over(keys) if study.weights is not None else None, homes, whole, options.threshold),
        uniqueness=uniqueness(kept, keys, classes, whole, options),
        vulnerability=vulnerabilities(classes),
        classes=len(classes),
        suppressed=classes.suppressed,
        made=made,
        notes=(_FROM_BOTH_SIDES,) if study.nulls == "wildcard" and _has_null(classes) else (),
    )


def _counted(study: Study, household: str | None) -> tuple[Counts, int]:
    """Return the count table over key and sensitive attributes, and the household, and the records dropped."""
    columns = _with_household(study.key, study.sensitive, household)
    table = study.table(columns, weights=study.weights)
    if table.weights is None:
        return study.counts(columns, partitions=study.blocks(columns)), table.dropped
    return count_table(table, study.blocks(columns)), table.dropped


def _has_null(classes: Equivalence) -> bool:
    return any(None in column.values for column in classes.classes.columns)


def _class_text(worst: Mapping[str, Any] | None) -> str | None:
    return None if worst is None else MASK if worst.get("masked") else str(worst["key"])


def _class_size(worst: Mapping[str, Any] | None) -> float | None:
    return None if worst is None or worst["size"] is None else float(worst["size"])


def _check_hierarchies(
    hierarchies: Mapping[str, Hierarchy] | None, orders: Mapping[str, Sequence[Any]] | None, secrets: Sequence[str]
) -> None:
    for what, given in (("hierarchy", hierarchies), ("order", orders)):
        for name in given or {}:
            if name not in secrets:
                known = listed(secrets) or "none"
                raise ArgumentError(f"{what} is given for column {shown(name)}, not among the sensitive attributes: {known}.")


def _with_household(keys: Sequence[str], secrets: Sequence[str], household: str | None) -> list[str]:
    wanted = [*keys, *secrets]
    return [*wanted, household] if household is not None and household not in wanted else wanted


def _homes(every: Counts, keys: Sequence[str], household: str, suppressed: str) -> Counts:
    """Return who shares a key and a household; the household stands last."""
    cells = every.over([*keys, household])
    return without_suppressed(cells, keys) if suppressed == "apart" else cells


def _reference(data: Data, study: Study) -> Counts:
    if not study.sensitive:
        raise ArgumentError("a reference table is compared with the sensitive attributes, and none is named.")
    with studied(data, nulls=_plain(study.nulls)) as reference:
        return reference.counts(study.sensitive, partitions=study.blocks(study.sensitive))


def _population(data: Data, study: Study, counts: Counts, classes: Equivalence) -> Population:
    with studied(data, nulls=_plain(study.nulls)) as population:
        missing = [name for name in study.key if name not in population.names]
        if missing:
            raise ColumnNotFoundError(f"the population lacks {listed(missing)}; its columns are: {listed(population.names)}.")
        return Population.of(counts, classes, population.counts(study.key, partitions=study.blocks(study.key)))


def _plain(nulls: str) -> str:
    return "category" if nulls == "wildcard" else nulls
