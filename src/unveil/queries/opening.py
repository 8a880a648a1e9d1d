"""Gates with a policy that is given setting by setting, as on a command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unveil.queries.described import project_policies
from unveil.queries.gate import Gate
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.project import Project
    from unveil.sources import Data

__all__ = ["open_gate", "project_policies"]


def open_gate(
    data: Data,
    *,
    ledger: str | os.PathLike[str],
    project: Project | None = None,
    policy: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Gate:
    """Open a gate with a policy whose settings are given one by one, as on a command line.

    Parameters
    ----------
    data, ledger
        The table and the ledger.
    project
        The project that describes the table and the gate; None: that of a study given as data.
    policy, settings
        A policy for all columns, and its settings; None: those of the project.
    options
        Further arguments of `Gate`, such as `key`, `sensitive` and `bounds`; for each that is None, the project decides.
    """
    study = Study(data) if project is None else Study(data, project=project, partial=True)
    stated = {name: value for name, value in options.items() if value is not None}
    return Gate(study, ledger=ledger, policy=project_policies(study.project, policy, settings or {}), **stated)
