"""Do the publications' figures come out? Every printed figure beside the one that follows from the printed table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from unveil.measures.discrimination import DiscriminationRate, discrimination_rate
from unveil.measures.distances import hierarchical_distance, ordered_distance
from unveil.results import Figure, Result, Table, View
from unveil.sources import datasets

__all__ = ["Agreement", "PublishedFigure", "Reproduction", "agreement", "reproduce"]

Agreement: TypeAlias = Literal["rounded", "truncated", "erratum"]
"""How a printed figure relates to the computed one: rounded to it, cut to it, or neither."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One printed figure and what follows from the printed table."""

    source: str
    what: str
    published: float
    computed: float
    note: str | None
    decimals: int = 2

    @property
    def agreement(self) -> Agreement:
        """How the two relate."""
        return agreement(self.published, self.computed, self.decimals)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "source": self.source,
            "what": self.what,
            "published": self.published,
            "computed": self.computed,
            "agreement": self.agreement,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reproduction(Result):
    """All printed figures, in the order of the publications."""

    figures: tuple[PublishedFigure, ...]

    def __repr__(self) -> str:
        """Return one line: how many figures agree."""
        found = Counter(figure.agreement for figure in self.figures)
        return (
            f"Reproduction({len(self.figures)} figures: {len(self.figures) - found['erratum']} agree, {found['erratum']} errata)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {"figures": [figure.to_dict() for figure in self.figures]}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per figure."""
        names = ("source", "what", "published", "computed", "agreement", "note")
        return {name: [getattr(figure, name) for figure in self.figures] for name in names}

    def view(self) -> View:
        """Return what a person should see: all figures, then the errata with their notes."""
        found = Counter(figure.agreement for figure in self.figures)
        rows = tuple((f.source, f.what, str(f.published), f.computed, f.agreement) for f in self.figures)
        errata = [f for f in self.figures if f.agreement == "erratum"]
        notes = tuple(f"{f.source}, {f.what}: {f.note}" for f in errata if f.note)
        figures = (
            Figure("figures", str(len(self.figures))),
            Figure(
                "agree",
                str(found["rounded"] + found["truncated"]),
                f"{found['rounded']} rounded, {found['truncated']} truncated in print",
            ),
            Figure("errata", str(found["erratum"]), "the printed figure does not follow from the printed table"),
        )
        table = Table(("source", "what", "published", "computed", "agreement"), rows)
        return View("Published figures, recomputed", figures, (table,), notes)


def reproduce() -> Reproduction:
    """Recompute every figure of the publications from their printed tables.

    Examples
    --------
    >>> reproduce()
    Reproduction(157 figures: 145 agree, 12 errata)
    """
    content = datasets.published()
    rates = [_recomputed_rate(figure) for figure in content["discrimination_rates"]]
    distances = [_recomputed_distance(figure) for figure in content["earth_mover_distances"]]
    return Reproduction((*rates, *distances))


def agreement(published: float, computed: float, decimals: int = 2) -> Agreement:
    """Compare a printed figure with the computed one.

    It is rounded when rounding at two decimals (more where more are printed) gives it, and truncated when cutting at the
    decimals of the print does: two, or as many as stand there, unless `decimals` says that its table has fewer.

    Examples
    --------
    >>> agreement(0.67, 2 / 3), agreement(0.66, 2 / 3), agreement(0.7, 2 / 3)
    ('rounded', 'truncated', 'erratum')
    """
    printed = len(str(published).partition(".")[2])
    if _same(round(computed, max(2, printed)), published):
        return "rounded"
    scale = 10 ** max(decimals, printed)
    return "truncated" if _same(math.floor(computed * scale + 1e-9) / scale, published) else "erratum"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=1e-9)


def _recomputed_rate(figure: dict[str, Any]) -> PublishedFigure:
    key, sensitive = tuple(figure["key"]), figure["sensitive"]
    result = _rate(figure["table"], key, sensitive, figure["key_partition"], figure["sensitive_partition"])
    computed = result.value
    given = " + ".join(key) + (f" by {figure['key_partition']}" if figure["key_partition"] else "")
    if figure["value"] is not None:
        row = next(row for row in result.by_value if [row[name] for name in key] == figure["value"])
        computed = row["dr"]
        given = ", ".join(f"{name} = {value}" for name, value in zip(key, figure["value"], strict=True))
    target = sensitive + (f" by {figure['sensitive_partition']}" if figure["sensitive_partition"] else "")
    what, decimals = f"DR of {target} given {given}", figure.get("decimals", 2)
    return PublishedFigure(figure["source"], what, figure["published"], computed, figure["note"], decimals)


@cache
def _rate(
    table: str, key: tuple[str, ...], sensitive: str, key_partition: str | None, sensitive_partition: str | None
) -> DiscriminationRate:
    known = datasets.published()["partitions"]
    partitions = {}
    if key_partition:
        partitions.update(dict.fromkeys(key, known[key_partition]))
    if sensitive_partition:
        partitions[sensitive] = known[sensitive_partition]
    return discrimination_rate(datasets.load(table), key, sensitive, partitions=partitions)


def _recomputed_distance(figure: dict[str, Any]) -> PublishedFigure:
    content = datasets.published()
    column = content["tables"][figure["table"]][figure["column"]]
    if figure["distance"] == "ordered":
        values = content["orders"][figure["column"]]
        distances = [ordered_distance(_shares(some, values), _shares(column, values)) for some in figure["classes"]]
    else:
        values = list(content["hierarchies"]["disease"])
        levels = _levels(values, content["hierarchies"]["disease"])
        distances = [hierarchical_distance(_shares(some, values), _shares(column, values), levels) for some in figure["classes"]]
    computed = max(float(distance) for distance in distances)
    return PublishedFigure(figure["source"], figure["what"], figure["published"], computed, figure["note"])


def _shares(held: Sequence[str], values: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    found = Counter(held)
    return np.array([found[value] for value in values]) / len(held)


def _levels(values: Sequence[str], ancestors: dict[str, list[str]]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the groups of the values at every level below the root."""
    height = len(ancestors[values[0]])
    labels = [list(values), *([ancestors[value][level] for value in values] for level in range(height))]
    return [np.unique(level, return_inverse=True)[1] for level in labels]
