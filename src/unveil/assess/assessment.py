"""What does this table give away, and what should be done about it? The whole picture, from one call.

Nothing is computed here that another verb would not give: the single questions are put one after the other to the same records.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, shown_number
from unveil.assess.advice import Advice, advice_on
from unveil.assess.evidence import InputFile, input_files
from unveil.assess.rates import AttributeRate, Disclosure, Measure, Question, attribute_rate, disclosure
from unveil.assess.redaction import redacted
from unveil.attributes import ROLES, Names, Role, checked_nulls, in_line, names_of, require_columns, sides_of
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, listed, shown
from unveil.measures.direct_identifiers import DirectIdentifiers, direct_identifiers
from unveil.measures.equivalence import without_suppressed
from unveil.measures.scan import Scan, Subset, scan
from unveil.models.measure import Measurement, measure
from unveil.models.requirements import parse_models
from unveil.partitions import Partition
from unveil.project import Project
from unveil.results import Made, Result, View
from unveil.results.masking import SMALL
from unveil.results.numbers import counted
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data, ReadOptions, Source, load, open_source

__all__ = ["CLASS_SIZES", "Assessment", "ClassSizes", "Without", "assess"]

"""Called with the name of a stage, the steps done and the number of all."""

CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where the bands of class sizes begin."""

_WORK = 1_500_000_000
"""Records times subsets that the scan may take: about half a minute."""
_RISKIEST, _FEW = 3, 3
"""So many combinations are shown of each size up to a few attributes, one of each larger size."""


@dataclass(frozen=True, slots=True)
class Without:
    """What would be left without one key attribute: records alone in their class, the smallest class, the average risk."""

    name: str
    uniques: int
    k: int
    average_risk: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"attribute": self.name, "uniques": self.uniques, "k": self.k, "average_risk": self.average_risk}


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """How many classes have how many records, in the bands of `CLASS_SIZES`, and how many records are in them."""

    classes: tuple[int, ...]
    records: tuple[int, ...]

    def to_dict(self) -> list[dict[str, int]]:
        """Return one object per band."""
        bands = zip(CLASS_SIZES, self.classes, self.records, strict=True)
        return [{"from": start, "classes": classes, "records": records} for start, classes, records in bands]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment(Result):
    """What a table gives away, where it comes from, and what to do next.

    Attributes
    ----------
    place
        Where the data was.
    identifiers
        The columns that name people outright.
    rate
        The Discrimination Rate of all key attributes together, against record identity.
    attributes
        What each key attribute gives away of who is who, highest first.
    combinations
        The rates of sets of key attributes against record identity, and the minimal identifiers.
    disclosures
        What the key gives away of each sensitive attribute, as it is and by each partition.
    measurement
        Every model and risk.
    without
        What would be left without each key attribute.
    class_sizes
        How large the classes are.
    files
        The files it was made from.
    small
        Classes of fewer records, and those that disclose, are shown without their values; 0: all are shown.
    assumed
        Whether the key attributes were not named, but taken from what the columns hold.
    made
        How the result was made.
    advice
        What to do next.
    """

    place: str
    identifiers: DirectIdentifiers
    rate: float
    attributes: tuple[AttributeRate, ...]
    combinations: Scan
    disclosures: tuple[Disclosure, ...]
    measurement: Measurement
    without: tuple[Without, ...]
    class_sizes: ClassSizes
    files: tuple[InputFile, ...]
    small: int
    assumed: bool
    made: Made
    advice: tuple[Advice, ...] = field(default=())

    @property
    def riskiest(self) -> tuple[Subset, ...]:
        """The riskiest combinations of each size from two on, as long as a further attribute splits classes up."""
        found: list[Subset] = []
        most = 0
        for size in sorted({len(subset.key) for subset in self.combinations.subsets} - {1}):
            several = [one for one in self.combinations.subsets if len(one.key) == size and one.classes > most]
            found += several[: _RISKIEST if size <= _FEW else 1]
            most = max((one.classes for one in several), default=most)
        return tuple(found)

    @property
    def pairs(self) -> tuple[Subset, ...]:
        """The rates of all pairs of key attributes."""
        return tuple(subset for subset in self.combinations.subsets if len(subset.key) == 2)  # noqa: PLR2004

    def __repr__(self) -> str:
        """Return one line: k, those who stand alone, and the steps to take."""
        uniques = self.measurement.uniqueness["sample"]["uniques"]
        return (
            f"Assessment({in_line([self.place])}: k = {self.measurement['k_anonymity'].value}, {uniques:,} of "
            f"{counted(self.made.records, 'record')} unique, {counted(len(self.advice), 'step')} to take)"
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

    def view(self) -> View:
        """Return what a person should see."""
        from unveil.assess.portrait import portrait

        return portrait(self)


@checked_arguments
@in_run
def assess(  # noqa: PLR0913 - the one call that asks everything
    project_or_data: Project | Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    project: Project | None = None,
    partitions: Mapping[str, Mapping[str, Any]] | None = None,
    nulls: str | None = None,
    weights: str | None = None,
    max_size: int | None = None,
    redact: bool = True,
    small: int = SMALL,
    key_file: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Assessment:
    """Measure what a table gives away: what identifies, what discloses, the models and risks, and what to do next.

    Parameters
    ----------
    project_or_data
        A project or its file (.toml), or a path, the name of a built-in data set, or any data frame narwhals knows.
    key, sensitive
        Key attributes and sensitive attributes; none: those of the project. Without a project every column that is no direct
        identifier and not sensitive is a key attribute.
    project
        What is not given here is taken from it: roles, partitions, orders, hierarchies and models.
    partitions
        Semantic partitions by name, and under it by column: ``{"kinds": {"Disease": [["flu"], ["aids", "cancer"]]}}``.
    nulls
        "category" (the default), "drop" (a record with a null in a column looked at is left out of everything) or "error".
    weights
        A column of sampling weights.
    max_size
        The largest sets of key attributes to look at; none: as large as half a minute allows.
    redact, small
        Whether classes of fewer than `small` records, and classes of any size that give a sensitive value away, are shown without
        their values, so that the answer discloses nobody.
    key_file
        A file with a secret key (at least 16 bytes): the answer then holds the HMAC of every file that went in, by which you,
        and nobody else, can tell later whether it was the same file.
    progress
        A run, or a function called with the name of a stage, the steps done and the number of all.

    Returns
    -------
    Assessment
        The figures and the advice; it shows itself as text, as a page with charts, and as JSON.

    Examples
    --------
    >>> import unveil
    >>> found = unveil.assess("paper-4", key=["ZIP", "Age"], sensitive="Disease")
    >>> found
    Assessment(paper-4: k = 1, 9 of 9 records unique, 5 steps to take)
    >>> [(rate.name, round(rate.dr, 4)) for rate in found.attributes]
    [('ZIP', 0.9299), ('Age', 0.7632)]
    """
    if small < 1:
        raise ArgumentError(f"small is a number of records, at least 1, so not {shown_number(small)}.")
    source, plan = _opened(project_or_data, project)
    run = active_run()
    with_roles = _Roles.of(source, plan, key, sensitive, weights)
    files = input_files(source, plan, with_roles.sensitive, key_file)
    with run.stage("direct identifiers"):
        frame = source.collect(source.names)
        everything = open_source(frame)
        identifiers = direct_identifiers(everything)
    roles = with_roles.completed(identifiers)
    policy = checked_nulls(nulls or (plan.data.nulls if plan is not None else "category"))
    views = _partitions(partitions, plan, roles)
    held, dropped = _held(everything, roles, policy)
    questions = _questions(roles, views)
    asked = Measure(held, policy, roles.weights, small if redact else 0, _salt(held)).knowing(roles.key, questions)
    attributes = _attributes(asked, roles.key)
    table = count_table(load(held, roles.key, nulls=policy))
    combinations = scan(
        held,
        roles.key,
        nulls=policy,
        weights=roles.weights,
        max_size=max_size or _affordable(len(roles.key), table.records),
        progress=run.under("combinations"),
    )
    disclosures = _disclosures(asked, roles.key, questions)
    with run.stage("models and risks"):
        measured = _measured(held, roles, policy, plan)
    kept = without_suppressed(table, roles.key)
    made = Made(
        records=table.records,
        nulls=policy,
        dropped=dropped,
        key=roles.key,
        sensitive=roles.sensitive,
        partitions={name: {column: block.to_dict() for column, block in blocks.items()} for name, blocks in views.items()},
        weights=roles.weights,
        version=__version__,
    )
    found = Assessment(
        place=source.place,
        identifiers=identifiers,
        rate=asked.rate(roles.key, None, {}).value,
        attributes=attributes,
        combinations=combinations,
        disclosures=disclosures,
        measurement=redacted(measured, asked.small, {rate.name: rate.hidden for rate in attributes}),
        without=tuple(_without(kept, roles.key)),
        class_sizes=_class_sizes(kept, roles.key),
        files=files,
        small=asked.small,
        assumed=with_roles.assumed,
        made=made,
    )
    return replace(found, advice=advice_on(found))


# What is asked --------------------------------------------------------------------------------------------------------


def _opened(given: Project | Data, project: Project | None) -> tuple[Source, Project | None]:
    """Return the data and the project, whichever of the two was given."""
    if isinstance(given, str | os.PathLike) and Path(given).suffix == ".toml":
        given = Project.read(given)
    if not isinstance(given, Project):
        return open_source(given), project
    if project is not None:
        raise ArgumentError("two projects are given; give one, and the data.")
    section = given.data
    if section.path is None:
        raise ArgumentError(f"{given.path} names no data; add data.path, or give the data and the project.")
    options = ReadOptions(separator=section.separator, encoding=section.encoding, missing=section.missing)
    return open_source(str(section.path), options), given


@dataclass(frozen=True, slots=True)
class _Roles:
    """What the columns are: key (empty until it is taken from what they hold), sensitive, weights, and the rest."""

    key: tuple[str, ...]
    sensitive: tuple[str, ...]
    weights: str | None
    others: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def assumed(self) -> bool:
        """Whether no key was named."""
        return not self.key

    @classmethod
    def of(cls, source: Source, plan: Project | None, key: Names | None, sensitive: Names | None, weights: str | None) -> _Roles:
        """Put what is given and what the project says together; what is given wins."""
        planned: dict[Role, tuple[str, ...]] = {} if plan is None else {role: plan.names(role) for role in ROLES}
        keys, secrets = names_of(key), names_of(sensitive)
        known = keys or tuple(name for name in planned.get("key", ()) if name not in secrets)
        hidden = secrets or tuple(name for name in planned.get("sensitive", ()) if name not in known)
        shares = weights or (plan.data.weights if plan is not None else None)
        require_columns([*known, *hidden, *([shares] if shares else [])], source.names)
        return cls(known, hidden, shares, (*planned.get("identifier", ()), *planned.get("other", ())), source.names)

    def completed(self, found: DirectIdentifiers) -> _Roles:
        """Return the roles with a key: every column that is left once direct identifiers and what cannot be counted are out."""
        if self.key:
            sides_of(self.key, self.sensitive or None)
            return self
        direct = {one.column for one in found.findings if one.confidence != "possible" and one.category != "birth-date"}
        out = direct | {*found.skipped, *self.sensitive, *self.others, self.weights}
        keys = tuple(name for name in self.names if name not in out)
        if not keys:
            raise ArgumentError(
                f"no column is left to be a key attribute; name those an intruder may know: {listed(self.names)}."
            )
        return replace(self, key=keys)


def _partitions(
    given: Mapping[str, Mapping[str, Any]] | None, plan: Project | None, roles: _Roles
) -> dict[str, dict[str, Partition]]:
    """Return the partitions by name, those of the project's sensitive attributes among them; what is given wins."""
    found: dict[str, dict[str, Partition]] = {}
    for column in roles.sensitive if plan is not None else ():
        attribute = plan.attributes.get(column) if plan is not None else None
        for name, block in (attribute.partitions if attribute is not None else {}).items():
            found.setdefault(name, {})[column] = block
    measured = (*roles.key, *roles.sensitive)
    for name, blocks in (given or {}).items():
        for column, spec in blocks.items():
            if column not in measured:
                raise ArgumentError(
                    f"the partition {shown(name)} is given for column {shown(column)}, which is not among those measured: "
                    f"{listed(measured)}."
                )
            found.setdefault(name, {})[column] = Partition.of(spec, column=column)
    return found


def _held(source: Source, roles: _Roles, nulls: str) -> tuple[Source, int]:
    """Return the records that everything is measured on, in memory, and how many the null policy left out."""
    from unveil.sources.microdata import open_microdata

    wanted = list(dict.fromkeys([*roles.key, *roles.sensitive, *([roles.weights] if roles.weights else [])]))
    records = open_microdata(source.collect(wanted))
    if nulls != "drop":
        return open_source(records.frame), 0
    kept = np.flatnonzero(records.complete([*roles.key, *roles.sensitive]))
    return open_source(records.taken(kept).frame), records.records - len(kept)


def _salt(held: Source) -> bytes:
    """Return what depends on all records, in whatever order they stand; only whoever has them all can tell it."""
    rows = np.sort(held.collect(held.names).hash_rows().to_numpy())
    return hashlib.blake2b(rows.tobytes()).digest()


def _affordable(attributes: int, records: int) -> int:
    """Return the size of the largest sets of attributes that can be looked at in time."""
    subsets = 0
    for size in range(1, attributes + 1):
        subsets += math.comb(attributes, size)
        if subsets * records > _WORK or subsets > 1 << 20:
            return max(size - 1, 1)
    return attributes


# What is measured -----------------------------------------------------------------------------------------------------


def _attributes(asked: Measure, keys: Sequence[str]) -> tuple[AttributeRate, ...]:
    """Return what each key attribute gives away of who is who, highest first."""
    step = active_run().counting("attributes", len(keys))
    rates = []
    for name in keys:
        rates.append(attribute_rate(asked, name, None, {}))
        step()
    return tuple(sorted(rates, key=lambda rate: -rate.dr))


def _questions(roles: _Roles, views: Mapping[str, Mapping[str, Partition]]) -> list[Question]:
    """Return what is asked about disclosure: of each sensitive attribute as it is, then by each partition that touches it."""
    questions: list[Question] = []
    for secret in roles.sensitive:
        touching = [(secret, name, blocks) for name, blocks in views.items() if set(blocks) & {secret, *roles.key}]
        questions += [(secret, None, {}), *touching]
    return questions


def _disclosures(asked: Measure, keys: Sequence[str], questions: Sequence[Question]) -> tuple[Disclosure, ...]:
    """Return what the key gives away of each sensitive attribute."""
    if not questions:
        return ()
    step = active_run().counting("disclosure", len(questions) * (len(keys) + 1))
    return tuple(disclosure(asked, keys, secret, name, blocks, step) for secret, name, blocks in questions)


def _measured(held: Source, roles: _Roles, nulls: str, plan: Project | None) -> Measurement:
    """Return every model and risk, with the orders, hierarchies and requirements that the project knows."""
    known = {} if plan is None else {name: plan.attributes[name] for name in roles.sensitive if name in plan.attributes}
    trees = {} if plan is None else {name: plan.hierarchy(name) for name in known}
    return measure(
        held,
        roles.key,
        roles.sensitive or None,
        models=[] if plan is None else parse_models(dict(plan.models), roles.sensitive or roles.names),
        orders={name: attribute.order for name, attribute in known.items() if attribute.order},
        hierarchies={name: tree for name, tree in trees.items() if tree is not None},
        weights=roles.weights,
        nulls=nulls,
    )


def _without(counts: Counts, keys: Sequence[str]) -> list[Without]:
    """Return what would be left without each key attribute."""
    if len(keys) == 1:
        return []
    step = active_run().counting("where it comes from", len(keys))
    found = []
    for name in keys:
        sizes = counts.classes([other for other in keys if other != name]).n
        found.append(Without(name, int((sizes == 1).sum()), int(sizes.min()), len(sizes) / counts.records))
        step()
    return found


def _class_sizes(counts: Counts, keys: Sequence[str]) -> ClassSizes:
    sizes = counts.classes(keys).n
    band = np.searchsorted(CLASS_SIZES, sizes, side="right") - 1
    number = len(CLASS_SIZES)
    classes, records = np.bincount(band, minlength=number), np.bincount(band, weights=sizes, minlength=number)
    return ClassSizes(tuple(classes.tolist()), tuple(int(some) for some in records))
