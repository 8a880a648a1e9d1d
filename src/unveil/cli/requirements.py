"""How the words of a command line become models, hierarchies and orders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.cli.options import pair_of
from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.models.asked import AnyModel
    from unveil.partitions import Hierarchy, Partition
    from unveil.project import Project

__all__ = ["asked", "hierarchies", "models", "orders", "trees"]


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
    found: dict[str, Hierarchy] = {}
    for name in sensitive:
        tree = project.hierarchy(name) if project is not None and name in project.attributes else None
        if tree is not None:
            found[name] = tree
    return found | trees(given, sensitive)


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


def models(given: Sequence[str] | None, columns: Sequence[str]) -> dict[str, dict[str, Partition]]:
    """Return the attacker's models, named as NAME:COLUMN=FILE; FILE may be the name of a published partition."""
    from unveil.partitions import Partition
    from unveil.sources.datasets import published

    found: dict[str, dict[str, Partition]] = {}
    for text in given or ():
        name, colon, rest = text.partition(":")
        if not colon or not name:
            raise ArgumentError(f"--partition takes NAME:COLUMN=FILE, not {shown(text)}.")
        column, file = pair_of(rest, columns, "--partition", "NAME:COLUMN=FILE")
        known = published()["partitions"]
        built_in = file in known and not Path(file).exists()
        found.setdefault(name, {})[column] = Partition.of(known[file]) if built_in else Partition.read(file, column=column)
    return found


def trees(given: Sequence[str] | None, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Return hierarchies named as COLUMN=FILE."""
    from unveil.partitions import Hierarchy

    pairs = [pair_of(text, columns, "--hierarchy", "COLUMN=FILE") for text in given or ()]
    return {column: Hierarchy.read(file, column=column) for column, file in pairs}
