"""How the words of a command line become models, hierarchies and orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unveil.cli.options import pair_of

if TYPE_CHECKING:
    from unveil.models.measure import AnyModel
    from unveil.partitions import Hierarchy
    from unveil.project import Project

__all__ = ["asked", "hierarchies", "orders"]


def asked(
    sensitive: Sequence[str],
    *,
    k: int | None,
    p: Sequence[str] | None,
    l_diversity: Sequence[str] | None,
    t: Sequence[str] | None,
    alpha: Sequence[str] | None,
    beta: Sequence[str] | None,
    delta: Sequence[str] | None,
    k_map: int | None,
    presence: str | None,
    average_risk: float | None,
) -> list[AnyModel]:
    """Return the requirements that the options name."""
    from unveil.models import AverageRisk, KAnonymity, KMap
    from unveil.models import requirements as read

    found: list[AnyModel] = [KAnonymity(k)] if k is not None else []
    found += [read.parse_p(text, sensitive) for text in p or ()]
    found += [read.parse_l(text, sensitive) for text in l_diversity or ()]
    found += [read.parse_t(text, sensitive) for text in t or ()]
    found += [read.parse_alpha(text, sensitive) for text in alpha or ()]
    found += [read.parse_beta(text, sensitive) for text in beta or ()]
    found += [read.parse_delta(text, sensitive) for text in delta or ()]
    if k_map is not None:
        found.append(KMap(k_map))
    if presence is not None:
        found.append(read.parse_presence(presence))
    if average_risk is not None:
        found.append(AverageRisk(average_risk))
    return found


def hierarchies(given: Sequence[str] | None, project: Project | None, sensitive: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies of the sensitive columns: the project's, and those named as COLUMN=FILE."""
    from unveil.partitions import Hierarchy

    found: dict[str, Hierarchy] = {}
    for name in sensitive:
        tree = project.hierarchy(name) if project is not None and name in project.attributes else None
        if tree is not None:
            found[name] = tree
    for column, file in (pair_of(text, sensitive, "--hierarchy", "COLUMN=FILE") for text in given or ()):
        found[column] = Hierarchy.read(file, column=column)
    return found


def orders(given: Sequence[str] | None, project: Project | None, sensitive: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the orders of the sensitive columns: the project's, and those named as COLUMN=V1,V2,..."""
    found: dict[str, Sequence[Any]] = {}
    for name in sensitive:
        attribute = project.attributes.get(name) if project is not None else None
        if attribute is not None and attribute.order:
            found[name] = attribute.order
    for column, values in (pair_of(text, sensitive, "--order", "COLUMN=V1,V2,...") for text in given or ()):
        found[column] = [value.strip() for value in values.split(",")]
    return found
