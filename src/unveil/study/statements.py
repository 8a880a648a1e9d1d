"""Statements of a call about the values of its data, completed by the study or project given as the data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unveil.attributes import Nulls, Standing, checked_nulls
from unveil.counts import Counts
from unveil.errors import ArgumentError, NullsError, listed
from unveil.partitions import Partition
from unveil.project import Need, Project
from unveil.sources import CodedTable, Data, Source, files_named, is_project, open_beside, open_source, project_beside
from unveil.study.counted_tables import Tables
from unveil.study.study import Study

__all__ = [
    "Stated",
    "apart_from",
    "beside",
    "files_read",
    "open_both",
    "planned_key",
    "planned_needs",
    "planned_population",
    "planned_sensitive",
    "require_as_they_are",
    "require_no_nulls",
    "require_nulls_as_values",
    "require_values",
    "said_of",
    "stated",
    "study_of",
]


@dataclass(frozen=True, slots=True)
class Stated:
    """The reading of values: as stated by the call, else by the study that was given as the data.

    Attributes
    ----------
    hierarchies, orders, partitions
        By column; a column with a hierarchy has an order only if the call itself states one.
    population
        The table from which the data was drawn, if there is one.
    nulls
        The null policy; a null that matches anything is treated as a value here.
    data
        The data itself: the source of a study, any other data unchanged.
    standing
        The statements about the columns that a call does not treat.
    """

    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    population: Data | None = None
    nulls: Nulls = "category"
    data: Any = None
    standing: Standing = field(default_factory=Standing)


def study_of(data: Any) -> Study | None:
    """Return the study given as data, or described by a project or its file; None for any other data."""
    if isinstance(data, Study):
        return data
    named = isinstance(data, str | os.PathLike) and is_project(data)
    return Study(data) if named or isinstance(data, Project) else None


def planned_key(data: Any) -> tuple[str, ...]:
    """Return the key attributes of a study or project given as data; none for other data."""
    study = study_of(data)
    return () if study is None else study.key


def planned_sensitive(data: Any) -> tuple[str, ...]:
    """Return the sensitive attributes of a study or project given as data; none for other data."""
    study = study_of(data)
    return () if study is None else study.sensitive


def planned_population(data: Any) -> Data | None:
    """Return the table from which data was drawn, if it is a study or project that states it."""
    study = study_of(data)
    return None if study is None else study.population


def planned_needs(data: Any) -> tuple[Need, ...]:
    """Return the needs of the project behind a study, or of a project given as data; none if there is no project."""
    study = study_of(data)
    return () if study is None or study.project is None else tuple(study.project.needs.values())


def beside(data: Data, study: Study) -> Project | None:
    """Return the project by which another table, such as a release, is read beside a study; None if it has its own."""
    own = isinstance(data, Study) and data.project is not None
    return None if own else project_beside(data, study.project)


def open_both(original: Data, release: Data) -> tuple[Source, Source]:
    """Open an original and a release, which is read as the original's study or project states."""
    study = study_of(original)
    if study is None:
        return open_source(original), open_source(release)
    return study.source, open_beside(release, study.project)


def apart_from(*tables: Any) -> frozenset[str]:
    """Return the columns of the studies or projects among tables that are neither key nor feature unless named."""
    return frozenset(name for one in tables if (study := study_of(one)) is not None for name in study.roles.apart)


def said_of(records: Source, study: Study) -> Study:
    """Return a study of other records, such as those a step made, with a study's statements; absent columns have no role."""
    changes = {"source": records, "roles": study.roles.within(records.names), "_tables": Tables(records)}
    return study._copied(changes)  # noqa: SLF001 - our own


def files_read(*data: Any) -> list[str]:
    """Return the files that data is read from; of a study also those of the project and the population that it names."""
    parts = [part for one in data for part in ((one.source, one.project, one.population) if isinstance(one, Study) else (one,))]
    return files_named(parts)


def require_values(data: Any, columns: Sequence[str]) -> None:
    """Refuse a study that reads columns by semantic partitions, for a call that judges or changes the values themselves."""
    blocks = data.blocks(columns) if isinstance(data, Study) else {}
    if blocks:
        raise ArgumentError(
            f"the study reads {listed(blocks)} by semantic partitions, and this call goes by the values themselves; recode the "
            "data, or give study.changed(partitions={})."
        )


def require_no_nulls(data: Any, columns: Sequence[str]) -> None:
    """Refuse nulls in some columns if a study or project allows none, for a call that has no null policy of its own."""
    study = study_of(data)
    if study is not None and study.policy == "error" and (held := _nulls_in(study, columns)):
        raise NullsError.present(held)


def require_nulls_as_values(data: Any, columns: Sequence[str]) -> None:
    """Refuse nulls that a study or project does not treat as values, for a call that can treat them only as values."""
    require_no_nulls(data, columns)
    study = study_of(data)
    if study is not None and study.policy == "drop" and (held := _nulls_in(study, columns)):
        raise NullsError.present(held, ())


def require_as_they_are(data: Any, columns: Sequence[str]) -> None:
    """Refuse semantic partitions and forbidden nulls of a study, for a call that reads the values of columns themselves."""
    require_values(data, columns)
    require_no_nulls(data, columns)


def _nulls_in(study: Study, columns: Sequence[str]) -> dict[str, int]:
    """Return the number of records with a null, for each of some columns that a study has and that contains one."""
    known = study.each(list(dict.fromkeys(name for name in columns if name in study.names)))
    return {name: n for name, table in known.items() if (n := _nulls(table))}


def _nulls(table: CodedTable) -> int:
    """Return the number of records with a null in the only column of a table."""
    column = table.columns[0]
    if not len(column.values) or column.values[-1] is not None:
        return 0
    null = column.codes == len(column.values) - 1
    return int(np.count_nonzero(null) if table.n is None else table.n[null].sum())


def stated(
    data: Any,
    columns: Sequence[str],
    *,
    hierarchies: Mapping[str, Any] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    partitions: Mapping[str, Any] | None = None,
    population: Data | None = None,
    nulls: str | None = None,
) -> Stated:
    """Complete the statements of a call about some columns by those of the study or project given as its data."""
    own_hierarchies, own_orders = dict(hierarchies or {}), dict(orders or {})
    own_partitions = {name: Partition.of(spec, column=name) for name, spec in (partitions or {}).items()}
    study = study_of(data)
    if study is None:
        standing = getattr(data, "standing", None)
        said = standing if isinstance(standing, Standing) else Standing()
        policy = checked_nulls(nulls or "category")
        if isinstance(data, Counts | Source) and (nulls is None or data.nulls == "drop"):
            policy = checked_nulls(data.nulls)
        return Stated(own_hierarchies, own_orders, own_partitions, population, policy, data, said)
    known = {name: one for name in columns if name not in own_hierarchies and (one := study.hierarchy(name)) is not None}
    ordered = {name: study.orders[name] for name in columns if name in study.orders and name not in (*known, *own_hierarchies)}
    blocks = study.blocks(columns) if partitions is None else {}
    population = study.population if population is None else population
    return Stated(
        known | own_hierarchies,
        ordered | own_orders,
        blocks | own_partitions,
        None if population is None else open_beside(population, study.project),
        checked_nulls(nulls or study.policy),
        study.source if isinstance(data, Study) else data,
        study.standing,
    )
