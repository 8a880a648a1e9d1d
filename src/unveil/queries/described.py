"""The description of a gate: the arguments of a call, else those of the study or project that is given as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError
from unveil.project import GateSection
from unveil.queries.policies import GatePolicy, policy_of
from unveil.study import Study, study_of

if TYPE_CHECKING:
    from unveil.project import Project
    from unveil.sources import Data

__all__ = ["Described", "described", "project_policies"]

_DEFAULT = "restriction"
_NOBODY_LEFT = (
    "no column is left for conditions: every column is sensitive, names people, or says whose record it is; name the key columns."
)


@dataclass(frozen=True, slots=True)
class Described:
    """The table behind a gate, the roles of its columns, and the protection of answers.

    Attributes
    ----------
    key, sensitive
        The columns that conditions may use, and those to protect; without a key, all that are not sensitive.
    policy
        A policy or its name, or policies by column.
    bounds, values
        Declared bounds of sensitive columns, and declared values of key columns.
    nulls, person, contribution, dialect
        As for `unveil.Gate`.
    """

    key: tuple[str, ...]
    sensitive: tuple[str, ...]
    policy: str | GatePolicy | Mapping[str, str | GatePolicy]
    bounds: Mapping[str, Sequence[float]]
    values: Mapping[str, Sequence[Any]]
    nulls: str
    person: str | None
    contribution: int
    dialect: str | None


def described(
    data: Data,
    *,
    key: Names | None,
    sensitive: Names | None,
    policy: str | GatePolicy | Mapping[str, str | GatePolicy] | None,
    bounds: Mapping[str, Sequence[float]] | None,
    values: Mapping[str, Sequence[Any]] | None,
    **named: Any,
) -> Described:
    """Complete the arguments of a call by the study or project given as data; arguments that the call leaves open are None.

    `named` contains `nulls`, `person`, `contribution` and `dialect`.
    """
    study = study_of(data)
    project = None if study is None else study.project
    section = GateSection() if project is None else project.query
    settled = {name: getattr(section, name) if value is None else value for name, value in named.items()}
    person, nulls, contribution = settled["person"], settled["nulls"], settled["contribution"]
    if study is not None:
        sensitive, person = study.sensitive if sensitive is None else sensitive, study.person if person is None else person
        key = names_of(key) or _key(study, names_of(sensitive), person)
    if policy is None or (isinstance(policy, str) and project is not None):
        policy = project_policies(project, policy, {})
    declared = {name: column.bounds for name, column in section.columns.items() if column.bounds is not None}
    listed = {name: column.values for name, column in section.columns.items() if column.values is not None}
    return Described(
        names_of(key),
        names_of(sensitive),
        policy,
        {**declared, **(bounds or {})},
        {**listed, **(values or {})},
        "error" if nulls is None else nulls,
        person,
        1 if contribution is None else contribution,
        settled["dialect"],
    )


def _key(study: Study, sensitive: tuple[str, ...], person: str | None) -> tuple[str, ...]:
    """Return the key of a study; without one, every column that is neither to be protected nor identifies somebody."""
    apart = {*sensitive, *study.identifiers, study.person, study.household, person}
    key = tuple(name for name in study.key or study.names if name not in apart)
    if not key:
        raise ArgumentError(_NOBODY_LEFT)
    return key


def project_policies(project: Project | None, policy: str | None, settings: Mapping[str, Any]) -> dict[str, GatePolicy]:
    """Return the policies by column: those of the project, unless the call names one, which then applies to all columns.

    Settings of a project that names no policy are those of the default one.
    """
    section = GateSection() if project is None else project.query
    general = section.policy or _DEFAULT
    if policy is not None:
        return {"*": policy_of(policy, {**(section.settings if policy == general else {}), **settings})}
    policies = {"*": policy_of(general, {**section.settings, **settings})}
    for name, column in section.columns.items():
        if column.policy is not None:
            same = column.policy == general and not column.settings
            policies[name] = policies["*"] if same else policy_of(column.policy, column.settings)
        elif column.settings:
            raise ArgumentError(f"the project has settings for the gate's column {name!r}, but no policy for it; name one.")
    return policies
