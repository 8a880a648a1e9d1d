"""The figures of a whole run over time: all of a short run, or the riskiest of each stretch of a long run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unveil.formats import counted, number
from unveil.results import Chart, Figure, Result, Table, View
from unveil.stream.figures import RiskyClass, WindowFigures

__all__ = ["Series", "Undecided", "WatchRun"]

_MOST = 2_000
"""The most points kept; beyond that, the riskier one of every two neighbours is kept."""
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Undecided:
    """A rule of a policy that could not be judged, the reason, and the number of windows."""

    rule: str
    reason: str
    windows: int


class Series:
    """The points of a run, each with its number, end, rate, k, uniques, records, needs and alarms."""

    def __init__(self) -> None:
        self.points: list[dict[str, Any]] = []
        self.total = 0
        self._stretch = 1
        self._open = 0

    def add(self, figures: WindowFigures) -> None:
        """Add the figures of a window."""
        point = {
            "number": figures.number, "to": figures.to, "dr": figures.dr, "k": figures.k, "uniques": figures.uniques,
            "records": figures.records, "needs": {name: need.degree for name, need in figures.needs.items()},
            "alarms": list(figures.alarms), "share": 1.0 if figures.approximate is None else figures.approximate.share,
        }  # fmt: skip
        self.total += 1
        if self._open:
            self.points[-1] = _riskier(self.points[-1], point)
        else:
            self.points.append(point)
        self._open = (self._open + 1) % self._stretch
        if len(self.points) >= _MOST and not self._open:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            self.points = [_riskier(one, other) for one, other in pairs]
            self._stretch *= 2

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"points": self.points, "total": self.total, "stretch": self._stretch, "open": self._open}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Series:
        """Return the series from the state in a checkpoint."""
        series = cls()
        series.points, series.total = list(state["points"]), int(state["total"])
        series._stretch, series._open = int(state["stretch"]), int(state["open"])
        return series


def _riskier(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the point with the higher rate, with the alarms of both."""
    worse = one if (one["dr"] or 0.0) >= (other["dr"] or 0.0) else other
    return {**worse, "alarms": list(dict.fromkeys([*one["alarms"], *other["alarms"]]))}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WatchRun(Result):
    """The result of a whole watch.

    Attributes
    ----------
    question
        The measured question.
    points, figures
        The figures over time, and the number of windows with figures.
    left_out
        The numbers of records that were not counted, by reason.
    alarms
        The alarms that were raised at any time.
    riskiest
        The classes of the last window that disclose most, masked; none if its figures are estimates.
    undecided
        Rules of the policy that could not be judged in some window; such a rule is not met.
    """

    question: str
    points: Sequence[Mapping[str, Any]]
    figures: int
    left_out: Mapping[str, int]
    alarms: Sequence[str]
    riskiest: Sequence[RiskyClass]
    undecided: Sequence[Undecided] = ()

    def __repr__(self) -> str:
        """Return one line."""
        return f"WatchRun({self.question}: {counted(self.figures, 'window')}, {counted(len(self.alarms), 'alarm')})"

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result as plain Python values."""
        return {
            "question": self.question,
            "windows": self.figures,
            "points": [dict(point) for point in self.points],
            "left_out": dict(self.left_out),
            "alarms": list(self.alarms),
            "undecided": [asdict(one) for one in self.undecided],
            "riskiest": [row.to_dict() for row in self.riskiest],
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per point."""
        names = ("number", "to", "records", "dr", "k", "uniques")
        table: dict[str, Sequence[Any]] = {name: [point[name] for point in self.points] for name in names}
        return table | {"alarms": ["; ".join(point["alarms"]) for point in self.points]}

    def view(self) -> View:
        """Return the displayed rate, k and needs over time, the last windows, the alarms and the riskiest classes."""
        defined = [point for point in self.points if point["dr"] is not None]
        worst = max(defined, key=lambda point: point["dr"], default=None)
        figures = [Figure("windows", self.figures)]
        if worst is not None:
            figures.append(Figure("highest rate", worst["dr"], f"in window {worst['number']:,}"))
            figures.append(Figure("smallest k", min(point["k"] for point in defined)))
        figures.append(Figure("alarms", len(self.alarms), "; ".join(self.alarms)))
        if self.undecided:
            figures.append(Figure("rules not judged", len(self.undecided), "therefore not met"))
        notes = [f"Left out: {name} {number(value)}." for name, value in self.left_out.items() if value]
        if any(point["share"] < 1.0 for point in self.points):
            least = min(point["share"] for point in self.points)
            notes.append(
                "Approximate: the window had more combinations than its limit, so figures are estimates, in the end from "
                f"{number(least)} of the classes; k is at most the one shown."
            )
        if self.points and self.points[-1]["share"] < 1.0:
            notes.append("The classes of the last window that disclose most cannot be determined from a sample.")
        return View(f"Watched: {self.question}", tuple(figures), tuple(self._tables()), tuple(notes), tuple(self._charts()))

    def _charts(self) -> list[Chart]:
        names = list(dict.fromkeys(name for point in self.points for name in point["needs"]))
        lines = [("Discrimination Rate", point["number"], point["dr"]) for point in self.points]
        lines += [(f"need {name}", point["number"], point["needs"].get(name)) for name in names for point in self.points]
        rate = tuple(row for row in lines if row[2] is not None)
        sizes = tuple(("k", point["number"], point["k"]) for point in self.points)
        uniques = tuple(("uniques", point["number"], point["uniques"]) for point in self.points)
        charts = [
            Chart("rate", "lines", "Privacy and utility over time", ("figure", "window", "from 0 to 1"), rate),
            Chart("k", "lines", "The smallest class over time", ("figure", "window", "records"), sizes),
            Chart("uniques", "lines", "Unique records over time", ("figure", "window", "classes of one"), uniques),
        ]
        return [chart for chart in charts if chart.rows]

    def _tables(self) -> list[Table]:
        rows = tuple(
            (str(point["number"]), str(point["to"]), point["records"], "-" if point["dr"] is None else point["dr"], point["k"],
             point["uniques"], "; ".join(point["alarms"]) or "-")
            for point in self.points[-_SHOWN:]
        )  # fmt: skip
        last = Table(("window", "to", "records", "rate", "k", "uniques", "alarms"), rows, title="The last windows")
        risk = tuple((row.shown, "-" if row.size is None else row.size, row.posterior) for row in self.riskiest)
        shown = Table(("class", "size", "posterior"), risk, title="Classes of the last window that disclose most")
        rules = tuple((one.rule, one.windows, one.reason) for one in self.undecided)
        undecided = Table(("rule", "windows", "why"), rules, title="Rules of the policy that were not judged, and so are not met")
        return [last, *([undecided] if rules else []), *([shown] if risk else [])]
