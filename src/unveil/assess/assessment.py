"""What does this table disclose, and what should be done about it? The whole picture, from one call.

No new figures are defined here: the measures of the other verbs are computed, one after another, for the same records.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count
from unveil.assess.advice import Advice, advice_on
from unveil.assess.evidence import InputFile, input_files
from unveil.assess.rates import (
    CLASS_SIZES,
    AttributeRate,
    ClassSizes,
    Disclosure,
    Measure,
    Question,
    Without,
    attribute_rate,
    class_sizes,
    disclosure,
    without,
)
from unveil.attributes import Names, in_line, sides_of
from unveil.counts import count_table
from unveil.errors import ArgumentError, listed, shown
from unveil.formats import counted
from unveil.identifiers import DirectIdentifiers, found_in
from unveil.measures import Scan, Subset, scan_study, without_suppressed
from unveil.models import Measurement, MeasureOptions, measured_study, planned_models
from unveil.partitions import Partition
from unveil.project import Project
from unveil.results import SMALL, Displayed, Provenance, Result, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data
from unveil.study import Study, studied

__all__ = ["CLASS_SIZES", "Assessment", "ClassSizes", "Without", "assess"]

"""A function called with the name of a stage, the number of completed steps, and the total number of steps."""


_WORK = 1_500_000_000
"""The largest product of records and subsets that the scan may process, which takes about half a minute."""
_PER_SUBSET = 7_500
"""A subset costs at least as much as this many records, however few there are."""
_COMBINED = 60
"""With more key attributes, only sets of those with the highest rates are examined, unless a size is requested."""
_RISKIEST, _FEW = 3, 3
"""The number of combinations shown of each size, and the last size to which it applies; of larger sizes, one is shown."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment(Result):
    """The disclosure of a table, its origins, and the next steps.

    Attributes
    ----------
    place
        The location of the data.
    identifiers
        The columns that name people outright.
    rate
        The Discrimination Rate of all key attributes together, against record identity.
    attributes
        The rate of each key attribute against record identity, the highest first.
    combinations
        The rates of sets of key attributes against record identity, and the minimal identifiers.
    combined
        The key attributes whose sets were examined: all, or, if there are very many, those with the highest rates.
    disclosures
        What the key discloses about each sensitive attribute, by its values and by each partition.
    measurement
        The figures of every model and risk.
    without
        The risk that would remain without each key attribute.
    class_sizes
        The distribution of class sizes.
    files
        The files from which it was made.
    small
        Classes with fewer records, and those that disclose, are shown without their values; 0: all are shown.
    assumed
        Whether the key attributes were not named, but chosen from the content of the columns.
    made
        The provenance of the result.
    advice
        The next steps.
    """

    place: str
    identifiers: DirectIdentifiers
    rate: float
    attributes: tuple[AttributeRate, ...]
    combinations: Scan
    combined: tuple[str, ...]
    disclosures: tuple[Disclosure, ...]
    measurement: Measurement
    without: tuple[Without, ...]
    class_sizes: ClassSizes
    files: tuple[InputFile, ...]
    small: int
    assumed: bool
    made: Provenance
    advice: tuple[Advice, ...] = field(default=())

    @property
    def riskiest(self) -> tuple[Subset, ...]:
        """The riskiest combinations of each size from two on, up to the size at which a further attribute splits no class."""
        riskiest: list[Subset] = []
        most = 0
        for size in sorted({len(subset.key) for subset in self.combinations.subsets} - {1}):
            several = [one for one in self.combinations.subsets if len(one.key) == size and one.classes > most]
            riskiest += several[: _RISKIEST if size <= _FEW else 1]
            most = max((one.classes for one in several), default=most)
        return tuple(riskiest)

    @property
    def pairs(self) -> tuple[Subset, ...]:
        """The rates of all pairs of key attributes."""
        return tuple(subset for subset in self.combinations.subsets if len(subset.key) == 2)  # noqa: PLR2004

    def __repr__(self) -> str:
        """Return one line: k, the number of uniques, and the number of steps to take."""
        uniques = self.measurement.uniqueness["sample"]["uniques"]
        return (
            f"Assessment({in_line([self.place])}: k = {self.measurement['k_anonymity'].value}, {uniques:,} of "
            f"{self.measurement.everyone} unique, {counted(len(self.advice), 'step')} to take)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "data": self.place,
            "records": self.made.records,
            "direct_identifiers": self.identifiers.to_dict(),
            "identity": {
                "dr": self.rate,
                "attributes": [rate.to_dict() for rate in self.attributes],
                "pairs": [subset.to_dict() for subset in self.pairs],
                "riskiest_combinations": [subset.to_dict() for subset in self.riskiest],
                "minimal_identifiers": [list(key) for key in self.combinations.minimal_identifiers],
                "max_size": self.combinations.max_size,
                "combined": list(self.combined),
            },
            "disclosure": [one.to_dict() for one in self.disclosures],
            "measurement": self.measurement.to_dict(),
            "class_sizes": self.class_sizes.to_dict(),
            "without": [one.to_dict() for one in self.without],
            "advice": [one.to_dict() for one in self.advice],
            "files": [one.to_dict() for one in self.files],
            "settings": {"small": self.small, "key_assumed": self.assumed, "max_size": self.combinations.max_size},
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per key attribute."""
        left = {one.name: one for one in self.without}
        return {
            "attribute": [rate.name for rate in self.attributes],
            "dr": [rate.dr for rate in self.attributes],
            "kind": [rate.kind for rate in self.attributes],
            "values": [rate.values for rate in self.attributes],
            "uniques_without": [left[rate.name].uniques if rate.name in left else None for rate in self.attributes],
        }

    def python_calls(self) -> Mapping[str, str]:
        """Return the Python call of every step to take, by its command."""
        return {one.run: one.python for one in self.advice if one.run}

    def view(self) -> View:
        """Return the displayed view."""
        from unveil.assess.assessment_view import view_of

        return view_of(self)

    def displayed(self, *, unmasked: bool = False, small: int = SMALL) -> Result:  # noqa: ARG002 - it was measured so
        """Return the answer as it was measured: masked, or marked as unmasked."""
        if unmasked and self.small:
            raise ArgumentError("this assessment was measured with masking; use redact=False for one without.")
        return Displayed(self, unmasked=not self.small)


@checked_arguments
@in_run
def assess(  # noqa: PLR0913 - the one call that asks everything
    project_or_data: Project | Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    project: Project | str | os.PathLike[str] | None = None,
    partitions: Mapping[str, Mapping[str, Any]] | None = None,
    nulls: str | None = None,
    weights: str | None = None,
    person: str | None = None,
    household: str | None = None,
    max_size: int | None = None,
    redact: bool = True,
    small: int = SMALL,
    key_file: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Assessment:
    """Measure the disclosure of a table: identification, disclosure, the models and risks, and the next steps.

    Parameters
    ----------
    project_or_data
        A project or its file (.toml), a `Study`, a path, the name of a built-in data set, any data frame narwhals knows, a
        table in an engine, or counts.
    key, sensitive
        Key attributes and sensitive attributes; none: those of the project. Without a project, every column that is not a direct
        identifier and not sensitive is a key attribute.
    project
        A project, or its file. Whatever is not given here is taken from it: roles, partitions, orders, hierarchies and models.
    partitions
        Semantic partitions by name, and under it by column: ``{"kinds": {"Disease": [["flu"], ["aids", "cancer"]]}}``.
    nulls
        "category" (the default), "drop" (a record with a null in a column looked at is left out of everything) or "error".
    weights
        A column of sampling weights.
    person, household
        A column that identifies the person of a record (k, uniques and risks then count persons), and one that identifies the
        household.
    max_size
        The size of the largest sets of key attributes to examine; none: as large as half a minute allows.
    redact, small
        Whether classes of fewer than `small` records, and classes of any size that reveal a sensitive value, are shown without
        their values, so that the answer discloses nothing about anyone.
    key_file
        A file with a secret key (at least 16 bytes): the answer then holds the HMAC of every input file, by which only the
        holder of the key can later verify that it was the same file.
    progress
        A run, or a function called with the name of a stage, the number of completed steps, and the total number of steps.

    Returns
    -------
    Assessment
        The figures and the advice; it can be displayed as text, as a page with charts, and as JSON.

    Examples
    --------
    >>> import unveil
    >>> assessment = unveil.assess("paper-4", key=["ZIP", "Age"], sensitive="Disease")
    >>> assessment
    Assessment(paper-4: k = 1, 9 of 9 records unique, 5 steps to take)
    >>> [(rate.name, round(rate.dr, 4)) for rate in assessment.attributes]
    [('ZIP', 0.9299), ('Age', 0.7632)]
    """
    checked_count("small", small, least=1)
    roles: dict[str, Any] = {"key": key, "sensitive": sensitive, "weights": weights, "person": person, "household": household}
    with studied(project_or_data, **roles, nulls=nulls, project=project) as study:
        files = input_files(study.source, study.project, study.sensitive, key_file)
        identifiers, complete = _looked_at(study)
        views = _views(partitions, complete)
        return _assessed(complete, _Plan(identifiers, views, files, max_size, small if redact else 0, not study.key))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known, and what is to be measured, before any measurement."""

    identifiers: DirectIdentifiers
    views: Mapping[str, Mapping[str, Partition]]
    files: tuple[InputFile, ...]
    max_size: int | None
    small: int
    assumed: bool


def _assessed(study: Study, plan: _Plan) -> Assessment:
    """Measure a study whose roles are complete."""
    keys = study.key
    dropped = study.table([*keys, *study.sensitive], weights=study.weights).dropped
    held = study.complete([*keys, *study.sensitive])
    questions = _questions(study, plan.views)
    measure = Measure(held, plan.small, _salt(held)).knowing(keys, questions)
    attributes = _attributes(measure, keys)
    table = held.counts(keys, partitions={})
    combined = keys if plan.max_size else _combined(keys, attributes)
    with active_run().telling(active_run().under("combinations")):
        combinations = scan_study(
            held.changed(key=combined, sensitive=(), partitions={}), plan.max_size or _affordable(len(combined), table.records)
        )
    disclosures = _disclosures(measure, keys, questions)
    with active_run().stage("models and risks"):
        measured = _measured(held)
    kept = without_suppressed(table if study.person is None else count_table(held.owned(keys, [study.person])), keys)
    provenance = Provenance(
        records=table.records,
        nulls=study.nulls,
        dropped=dropped,
        key=keys,
        sensitive=study.sensitive,
        partitions={name: {column: block.to_dict() for column, block in view.items()} for name, view in plan.views.items()},
        weights=study.weights,
        person=study.person,
        household=study.household,
        version=__version__,
    )
    assessment = Assessment(
        place=study.place,
        identifiers=plan.identifiers,
        rate=measure.rate(keys, None, {}).value,
        attributes=attributes,
        combinations=combinations,
        combined=combined,
        disclosures=disclosures,
        measurement=measured.redacted(plan.small, {rate.name: rate.hidden for rate in attributes}),
        without=tuple(without(kept, keys, study.person)),
        class_sizes=class_sizes(kept, keys, study.person),
        files=plan.files,
        small=plan.small,
        assumed=plan.assumed,
        made=provenance,
    )
    return replace(assessment, advice=advice_on(assessment))


# The plan --------------------------------------------------------------------------------------------------------------


def _looked_at(study: Study) -> tuple[DirectIdentifiers, Study]:
    """Look for direct identifiers, and return the study with a key: if none is named, every remaining column."""
    if study.key:
        sides_of(study.key, study.sensitive or None)
        if study.source.can_count:
            study.table([*study.key, *study.sensitive], weights=study.weights)  # these need not be counted one by one
    run = active_run()
    with run.stage("direct identifiers"), run.telling(None):
        identifiers = found_in(study, study.names)
    if study.key:
        return identifiers, study
    direct = {one.column for one in identifiers.findings if one.confidence != "possible" and one.category != "birth-date"}
    others = () if study.project is None else study.project.names("other")
    out = direct | {
        *identifiers.skipped,
        *study.sensitive,
        *study.identifiers,
        *others,
        study.weights,
        study.person,
        study.household,
    }
    keys = tuple(name for name in study.names if name not in out)
    if not keys:
        raise ArgumentError(f"no column is left to be a key attribute; name those an intruder may know: {listed(study.names)}.")
    return identifiers, study.changed(key=keys)


def _views(partitions: Mapping[str, Mapping[str, Any]] | None, study: Study) -> dict[str, dict[str, Partition]]:
    """Return the partitions by name: those of the study's sensitive attributes, and those of the call, which take precedence."""
    views: dict[str, dict[str, Partition]] = {}
    for name, blocks in study.views.items():
        if own := {column: block for column, block in blocks.items() if column in study.sensitive}:
            views[name] = own
    if own := study.blocks((*study.key, *study.sensitive)):
        views["partitions"] = own
    measured = (*study.key, *study.sensitive)
    for name, view in (partitions or {}).items():
        for column, spec in view.items():
            if column not in measured:
                raise ArgumentError(
                    f"the partition {shown(name)} is given for column {shown(column)}, which is not among those measured: "
                    f"{listed(measured)}."
                )
            views.setdefault(name, {})[column] = Partition.of(spec, column=column)
    return views


def _salt(study: Study) -> bytes:
    """Return a value that depends on all records, but not on their order; only someone who has them all can compute it."""
    counts = study.counts([*study.key, *study.sensitive], partitions={})
    hashes = counts.as_source().count(counts.names).frame.hash_rows().to_numpy()
    return hashlib.blake2b(np.sort(np.repeat(hashes, counts.n)).tobytes()).digest()


def _combined(keys: Sequence[str], rates: Sequence[AttributeRate]) -> tuple[str, ...]:
    """Return the key attributes whose sets are examined: all, or, if there are very many, those with the highest rates."""
    if len(keys) <= _COMBINED:
        return tuple(keys)
    most = {rate.name for rate in rates[:_COMBINED]}
    return tuple(name for name in keys if name in most)


def _affordable(attributes: int, records: int) -> int:
    """Return the size of the largest sets of attributes that can be examined in time."""
    subsets = 0
    for size in range(1, attributes + 1):
        subsets += math.comb(attributes, size)
        if subsets * (records + _PER_SUBSET) > _WORK or subsets > 1 << 20:
            return max(size - 1, 1)
    return attributes


# What is measured -----------------------------------------------------------------------------------------------------


def _attributes(measure: Measure, keys: Sequence[str]) -> tuple[AttributeRate, ...]:
    """Return the rate of each key attribute against record identity, the highest first."""
    step = active_run().counting("attributes", len(keys))
    rates = []
    for name in keys:
        rates.append(attribute_rate(measure, name, None, {}))
        step()
    return tuple(sorted(rates, key=lambda rate: -rate.dr))


def _questions(study: Study, views: Mapping[str, Mapping[str, Partition]]) -> list[Question]:
    """Return the questions on disclosure: each sensitive attribute by its values, then by each partition that involves it."""
    questions: list[Question] = []
    for sensitive in study.sensitive:
        touching = [(sensitive, name, blocks) for name, blocks in views.items() if set(blocks) & {sensitive, *study.key}]
        questions += [(sensitive, None, {}), *touching]
    return questions


def _disclosures(measure: Measure, keys: Sequence[str], questions: Sequence[Question]) -> tuple[Disclosure, ...]:
    """Return what the key discloses about each sensitive attribute."""
    if not questions:
        return ()
    step = active_run().counting("disclosure", len(questions) * (len(keys) + 1))
    return tuple(disclosure(measure, keys, sensitive, name, blocks, step) for sensitive, name, blocks in questions)


def _measured(study: Study) -> Measurement:
    """Return the figures of every model and risk, with the requirements of the project."""
    return measured_study(study.changed(partitions={}), MeasureOptions(models=tuple(planned_models(study))))
