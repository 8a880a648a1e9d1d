"""The front of releases that no other dominates, the result of `unveil.anonymize_front`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import in_line
from unveil.errors import ArgumentError
from unveil.formats import counted, jsonable, number
from unveil.measures import mean
from unveil.project import Need
from unveil.randomness import Repeatable
from unveil.releases import Release
from unveil.results import Figure, Result, Table, View
from unveil.run import looks
from unveil.search import FrontPoint, Generalisation

__all__ = ["Front"]

_SHOWN_ROWS = 15


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Front(Result):
    """The releases that no other dominates, in order of increasing risk.

    Attributes
    ----------
    points
        The figures of each release.
    transformations
        The level of every key attribute in each release.
    combined
        For each release, the rate of all original key attributes together, given all protected ones.
    choice
        The position of the preferred release.
    complete
        Whether these are all such releases; False: the search stopped at its limit.
    lattice, evaluated
        The number of all generalisations, and of those evaluated.
    heights
        The highest level of every key attribute.
    needs
        The needs by name.
    reasons
        The reasons why a need or a sensitive attribute has no figure, by name.
    seconds
        The duration of the search.
    settings
        The request.
    notes
        Remarks for the user.
    repeatable
        Who can repeat the order of a release's records: nobody (False), a holder of the "key", or, from a "seed", everybody.
    """

    points: Sequence[FrontPoint]
    transformations: Sequence[Mapping[str, int]]
    combined: Sequence[float | None]
    choice: int
    complete: bool
    lattice: int
    evaluated: int
    heights: Mapping[str, int]
    needs: Mapping[str, Need]
    reasons: Mapping[str, str]
    seconds: float
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    repeatable: Repeatable
    maker: Callable[[Mapping[str, int]], Release[Generalisation]]
    adjuster: Callable[[FrontPoint], Mapping[str, float | None]]

    @property
    def adjusted(self) -> list[Mapping[str, float | None]]:
        """The degrees of each release, adjusted for chance, by need; they are compared with the required ones."""
        return [self.adjuster(point) for point in self.points]

    @property
    def chosen(self) -> Release[Generalisation]:
        """The preferred release."""
        return self.release(self.choice)

    @looks
    @checked_arguments
    def release(self, at: int) -> Release[Generalisation]:
        """Make the release at a position of the front."""
        if not 0 <= at < len(self.points):
            raise ArgumentError(f"the front has {counted(len(self.points), 'release')}, counted from 0; there is none at {at}.")
        return self.maker(self.transformations[at])

    def __len__(self) -> int:
        """Return the number of releases on the front."""
        return len(self.points)

    def __repr__(self) -> str:
        """Return one line: the number of releases, and the preferred one."""
        levels = in_line(f"{name} {level}/{self.heights[name]}" for name, level in self.transformations[self.choice].items())
        one, size = self.points[self.choice], counted(len(self), "release") + ("" if self.complete else ", not complete")
        return f"Front({size}; chosen: {levels}; risk {number(one.risk)}, degree {number(one.service)})"

    def to_dict(self) -> dict[str, Any]:
        """Return every release on the front, without records."""
        return {
            "front": [self._row(at, adjusted) for at, adjusted in enumerate(self.adjusted)],
            "chosen": self.choice,
            "complete": self.complete,
            "reasons": dict(self.reasons),
            "heights": dict(self.heights),
            "nodes": {"lattice": self.lattice, "evaluated": self.evaluated},
            "seconds": self.seconds,
            "settings": jsonable(self.settings),
            "notes": list(self.notes),
            "repeatable": self.repeatable,
            "version": __version__,
        }

    def _row(self, at: int, adjusted: Mapping[str, float | None]) -> dict[str, Any]:
        point = self.points[at]
        return {
            "transformation": dict(self.transformations[at]),
            "identity": {"risk": point.identity, "combined": self.combined[at]},
            "homogeneity": {"risk": mean([*point.homogeneity.values()]), "by_sensitive": dict(point.homogeneity)},
            "needs": dict(point.degrees),
            "adjusted": dict(adjusted),
            "loss": point.loss,
            "suppressed": point.suppressed,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per release: its levels and its figures."""
        points, adjusted = self.points, self.adjusted
        return {
            "chosen": [at == self.choice for at in range(len(points))],
            **{f"level of {name}": [levels[name] for levels in self.transformations] for name in self.heights},
            "identity": [point.identity for point in points],
            "identity combined": list(self.combined),
            **{f"homogeneity of {name}": [point.homogeneity[name] for point in points] for name in points[0].homogeneity},
            **{f"degree of {name}": [point.degrees[name] for point in points] for name in self.needs},
            **{f"adjusted degree of {name}": [degrees[name] for degrees in adjusted] for name in self.needs},
            "loss": [point.loss for point in points],
            "suppressed": [point.suppressed for point in points],
        }

    def view(self) -> View:
        """Return the displayed view: the front from the least risk to the highest; of many rows, some."""
        chosen = self.points[self.choice]
        sure = "no other dominates any of them" if self.complete else "of those looked at before the limit"
        figures = (
            Figure("releases on the front", len(self), sure),
            Figure("risk of the chosen", chosen.risk, "mean of identity and homogeneity"),
            Figure("degree of the chosen", chosen.service, "mean over the needs"),
            Figure("generalisations", self.lattice, f"{self.evaluated:,} looked at in {self.seconds:.2f} s"),
        )
        optional = [f"adjusted degree of {name}" for name, need in self.needs.items() if need.at_least is None]
        columns = {
            name.removeprefix("level of "): values
            for name, values in self.columns().items()
            if name not in ("identity combined", *optional)
        }
        marks = ["chosen" if mark else "" for mark in columns.pop("chosen")]
        rows = sorted({*np.linspace(0, len(self) - 1, min(_SHOWN_ROWS, len(self))).astype(int).tolist(), self.choice})
        table = Table(
            ("release", "", *columns),
            tuple((at, marks[at], *(values[at] for values in columns.values())) for at in rows),
            title="Front, least risk first",
            note=f"{len(rows)} of {len(self):,}; to_frame gives all" if len(rows) < len(self) else "",
        )
        return View("Releases that no other dominates", figures, (table,), self.notes)
