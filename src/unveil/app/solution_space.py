"""The solution space of a generalisation: every choice of levels, with its loss and the records it suppresses."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.app.candidates import models_of
from unveil.errors import EmptyDataError, ModelNotMetError
from unveil.partitions import Hierarchy, is_suppressed
from unveil.project import Policy, Project
from unveil.results import Table
from unveil.run import active_run
from unveil.sources import ReadOptions, open_source
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.releases import Release

__all__ = [
    "MOST_NODES",
    "Node",
    "SolutionSpace",
    "generalised",
    "hierarchy_for",
    "nodes_of",
    "solution_space",
    "who_is_suppressed",
]

MOST_NODES = 800
"""The largest number of generalisations that are all evaluated."""
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Node:
    """One generalisation: the level of every column, its loss, and the number of records it suppresses."""

    levels: tuple[int, ...]
    loss: float
    suppressed: int


@dataclass(frozen=True, slots=True)
class SolutionSpace:
    """All generalisations of some columns under the rules of a project.

    Attributes
    ----------
    project, k
        The project and the k for which they were evaluated.
    columns, heights
        The columns, and the highest level of each.
    nodes
        The generalisations that leave any records.
    """

    project: Project
    k: int
    columns: tuple[str, ...]
    heights: tuple[int, ...]
    nodes: tuple[Node, ...]

    @property
    def all(self) -> int:
        """The number of generalisations, including those that leave no record."""
        return math.prod(height + 1 for height in self.heights)

    @property
    def best(self) -> list[Node]:
        """The generalisations that no other beats in both figures, with those that suppress the fewest records first."""
        nodes: list[Node] = []
        for node in sorted(self.nodes, key=lambda one: (one.suppressed, one.loss, sum(one.levels))):
            if not nodes or node.loss < nodes[-1].loss:
                nodes.append(node)
        return nodes[:_MOST_SHOWN]


def hierarchy_for(study: Study, whole: Study, column: str) -> Hierarchy:
    """Return the hierarchy of a column: the project's, or a proposed one."""
    from unveil.search import propose_hierarchy

    return study.hierarchy(column) or propose_hierarchy(whole, column).hierarchy


def nodes_of(hierarchies: Mapping[str, Hierarchy]) -> int:
    """Return the number of generalisations."""
    return math.prod(hierarchy.height + 1 for hierarchy in hierarchies.values())


def generalised(study: Study, hierarchies: Mapping[str, Hierarchy], levels: Mapping[str, int], k: int) -> Release[Any]:
    """Return the release of one generalisation; all classes that break a rule of the project are suppressed, however many."""
    from unveil.models import parse_models
    from unveil.protect.anonymize import anonymize

    policy = Policy() if study.project is None else study.project.policy
    models = parse_models(models_of(policy, study.sensitive, k), study.sensitive)
    fixed = {name: (level, level) for name, level in levels.items()}
    return anonymize(study, dict(hierarchies), models, levels=fixed, suppression=1.0)


def solution_space(data: str, options: ReadOptions, project: Project, k: int) -> SolutionSpace:
    """Evaluate every generalisation, in a job.

    Parameters
    ----------
    data, options, project
        The arguments for opening the study.
    k
        The size of the smallest group.
    """
    study = Study(open_source(data, options), project=project, partial=True)
    hierarchies = {name: hierarchy_for(study, study, name) for name in study.key}
    nodes = []
    places = list(itertools.product(*(range(hierarchy.height + 1) for hierarchy in hierarchies.values())))
    for levels in active_run().each("generalisations", places):
        try:
            release = generalised(study, hierarchies, dict(zip(hierarchies, levels, strict=True)), k)
        except (ModelNotMetError, EmptyDataError):  # it leaves no record
            continue
        nodes.append(Node(levels, abs(round(float(release.score), 12)), int(release.suppressed)))  # a loss of -5e-18 is 0
    return SolutionSpace(
        project, k, tuple(hierarchies), tuple(hierarchy.height for hierarchy in hierarchies.values()), tuple(nodes)
    )


def who_is_suppressed(study: Study, release: Release[Any]) -> Table | None:
    """Return the values with the most suppressed records, by column; None if no record is suppressed."""
    keys, before = list(study.key), study.collected(list(study.key))
    gone = [all(is_suppressed(value) for value in row) for row in release.data.select(keys).iter_rows()]
    lost = [int(at) for at, away in zip(release.origin, gone, strict=True) if away]
    rows = []
    for name in keys:
        values = before[name].to_list()
        of = Counter(values)
        for value, n in Counter(values[at] for at in lost).items():
            rows.append((name, "(missing)" if value is None else str(value), n, of[value], n / of[value]))
    rows.sort(key=lambda row: (-row[2], -row[4], row[0], row[1]))
    if not rows:
        return None
    title, columns = "Who is suppressed", ("column", "value", "suppressed", "of", "share")
    return Table(columns, tuple(rows[:_MOST_SHOWN]), title=title, note="the values with the most suppressed records")
