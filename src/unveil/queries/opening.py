"""Gates that are described by a project file and by the arguments of a call, which take precedence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unveil.errors import ArgumentError
from unveil.queries.gate import Gate
from unveil.queries.policies import GatePolicy, policy_of

if TYPE_CHECKING:
    from unveil.project import Project
    from unveil.sources import Data

__all__ = ["open_gate", "project_policies"]

_DEFAULT = "restriction"


def project_policies(project: Project | None, policy: str | None, settings: Mapping[str, Any]) -> dict[str, GatePolicy]:
    """Return the policies by column: those of the project, unless the call names one, which then applies to all columns."""
    section = None if project is None else project.query
    if policy is not None:
        same = section is not None and section.policy == policy
        return {"*": policy_of(policy, {**(section.settings if same and section else {}), **settings})}
    general = (section.policy if section else None) or _DEFAULT
    own = section.settings if section and section.policy else {}
    policies = {"*": policy_of(general, {**own, **settings})}
    for name, column in (section.columns if section else {}).items():
        if column.policy is not None:
            same = column.policy == general and not column.settings
            policies[name] = policies["*"] if same else policy_of(column.policy, column.settings)
        elif column.settings:
            raise ArgumentError(f"the project has settings for the gate's column {name!r}, but no policy for it; name one.")
    return policies


def open_gate(
    data: Data,
    *,
    ledger: str | os.PathLike[str],
    project: Project | None = None,
    policy: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Gate:
    """Open a gate as a project file describes it, with further arguments of the call.

    Parameters
    ----------
    data, ledger
        The table and the ledger.
    project
        The project, whose section `query` has the policies, bounds and values, and whose roles apply unless columns are named.
    policy, settings
        A policy for all columns, and its settings.
    options
        Further arguments of `Gate`, such as `key`, `sensitive` and `bounds`; for None, the project decides.
    """
    section = None if project is None else project.query
    columns = section.columns if section else {}
    declared = {name: column.bounds for name, column in columns.items() if column.bounds is not None}
    values = {name: column.values for name, column in columns.items() if column.values is not None}
    key = list(options.pop("key", None) or (project.names("key") if project else ())) or None
    sensitive = list(options.pop("sensitive", None) or (project.names("sensitive") if project else ())) or None
    bounds = {**declared, **(options.pop("bounds", None) or {})}
    for name in ("nulls", "person", "contribution", "dialect"):
        if options.get(name) is None:
            options.pop(name, None)
            if section is not None and getattr(section, name) is not None:
                options[name] = getattr(section, name)
    return Gate(
        data,
        ledger=ledger,
        policy=project_policies(project, policy, settings or {}),
        key=key,
        sensitive=sensitive,
        bounds=bounds,
        values=values,
        **options,
    )
