"""Which of several releases is worth considering? Privacy against utility, and the releases that no other dominates.

A release dominates another if it is at least as good in every figure and better in one. The releases that no other dominates
form the trade-off front: anyone who chooses a release outside it gives something away for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.assess.policy.check import AnyPolicy, policy_of
from unveil.assess.release_figures import LOSSES, PRIVACY, Axis, ComparedRelease, FigureRequest, FigureValues, Pairing, Shared
from unveil.attributes import Names, in_line, names_of, sides_of
from unveil.errors import ArgumentError, listed, shown
from unveil.formats import counted, jsonable
from unveil.project import Need, Policy
from unveil.results import Chart, Figure, Provenance, Result, Table, View
from unveil.run import Progress, in_run
from unveil.sources import Data
from unveil.study import Study, beside, planned_needs, require_values, studied
from unveil.utility import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOSSES", "PRIVACY", "Axis", "Point", "TradeOff", "dominance", "planned", "studied_beside", "trade_off"]

_ORIGINAL = "original"
_OF_RULE = {"k_anonymity": "k", "prosecutor_average": "prosecutor", "distinct_l_diversity": "l", "t_closeness": "t"}
"""The figures of privacy to which rules of a policy apply."""
_NULLS = (
    "The null policy of {} is {}; here a null is a value in every table, so that all are read alike, and figures may "
    "differ from those of other calls."
)
_DECIMALS = 12
"""Figures that agree in this many decimals are treated as equal: the same data may be summed in another order."""


@dataclass(frozen=True, slots=True)
class Point:
    """The position of a release.

    Attributes
    ----------
    figures
        Its figures by name; None if one is undefined.
    reasons
        The reasons why figures are undefined, by name.
    dominated_by
        The releases that dominate it.
    undominated
        Whether it is on the front; None if it lacks a figure that others have, so that it cannot be judged.
    """

    figures: Mapping[str, float | None]
    reasons: Mapping[str, str]
    dominated_by: tuple[str, ...]
    undominated: bool | None

    @property
    def standing(self) -> str:
        """Return a description of how it compares with the others."""
        if self.dominated_by:
            return f"{listed(self.dominated_by)} {'is' if len(self.dominated_by) == 1 else 'are'} as good in all, better in one"
        return "not judged: it lacks a figure" if self.undominated is None else "worth considering"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TradeOff(Result):
    """Releases of one original, compared.

    Attributes
    ----------
    axes
        The figures by which they are compared.
    releases
        The position of each release, by name.
    made
        The provenance of the result.
    original
        The figures of the original itself, except those that need an attack or a model.
    notes
        The points in which the comparison differs from the study of the original.
    """

    axes: tuple[Axis, ...]
    releases: Mapping[str, Point]
    made: Provenance
    original: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[str, ...]:
        """The releases that no other dominates."""
        return tuple(name for name, point in self.releases.items() if point.undominated)

    def __getitem__(self, name: str) -> Point:
        """Return the position of a release."""
        return self.releases[name]

    def __repr__(self) -> str:
        """Return one line: the number of releases, and the front."""
        return f"TradeOff({counted(len(self.releases), 'release')}; undominated: {in_line(self.front) or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "figures": [
                {
                    "name": axis.name,
                    "about": axis.about,
                    "higher_is_better": axis.higher_is_better,
                    "meaning": axis.meaning,
                    "required": jsonable(axis.required),
                }
                for axis in self.axes
            ],
            "original": {"figures": jsonable(self.original)},
            "releases": {
                name: {
                    "figures": jsonable(point.figures),
                    "reasons": dict(point.reasons),
                    "undominated": point.undominated,
                    "dominated_by": list(point.dominated_by),
                }
                for name, point in self.releases.items()
            },
            "front": list(self.front),
            **({"notes": list(self.notes)} if self.notes else {}),
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per release: its figures, whether it is on the front, and the releases that dominate it."""
        points = list(self.releases.values())
        return {
            "release": list(self.releases),
            **{axis.name: [point.figures[axis.name] for point in points] for axis in self.axes},
            "undominated": [point.undominated for point in points],
            "dominated_by": [", ".join(point.dominated_by) for point in points],
        }

    def view(self) -> View:
        """Return the displayed view: the releases, and the better direction of each figure."""
        known = [axis for axis in self.axes if any(point.figures[axis.name] is not None for point in self.releases.values())]
        rows = [(name, *(one.figures[axis.name] for axis in known), one.standing) for name, one in self.releases.items()]
        if self.original:
            rows.insert(0, (_ORIGINAL, *(self.original.get(axis.name) for axis in known), "what they are compared with"))
        directions = tuple((axis.name, axis.about, axis.meaning, axis.direction, _whole(axis.required)) for axis in known)
        required = any(axis.required is not None for axis in known)
        heads = ("figure", "about", "what it is", "which way", "required")
        tables = (
            Table(("release", *(axis.name for axis in known), "beside the others"), tuple(rows), title="Releases"),
            Table(heads[: 4 + required], tuple(row[: 4 + required] for row in directions), title="How to read the figures"),
        )
        notes = tuple(
            f"release {shown(name)}: {listed(axes)} undefined: {reason}"
            for name, point in self.releases.items()
            for reason, axes in _grouped(point.reasons).items()
        )
        notes = (*self.notes, *notes)
        figures = (Figure("releases", len(self.releases)), self.worth_considering())
        charts = tuple(chart for chart in (self.picture(),) if chart.rows)
        return View("Privacy against utility", figures, tuple(table for table in tables if table.rows), notes, charts=charts)

    def worth_considering(self) -> Figure:
        """Return the undominated releases, with the meaning of this."""
        return Figure("worth considering", list(self.front) or "none", "no other is as good in every figure and better in one")

    @checked_arguments
    def picture(self, privacy: str | None = None, utility: str | None = None) -> Chart:
        """Return a chart of two figures, utility to the right and privacy upwards; undominated releases are filled.

        Parameters
        ----------
        privacy, utility
            The names of the figures; none: the first of each kind.
        """
        x, y = self._axis("utility", utility), self._axis("privacy", privacy)
        points = {name: (point.figures, bool(point.undominated)) for name, point in self.releases.items()}
        shown: dict[str, tuple[Mapping[str, float | None], bool | None]] = {**points}
        if self.original:
            shown[_ORIGINAL] = (self.original, None)
        rows = []
        for name, (figures, marked) in shown.items():
            across, up = figures.get(x.name), figures.get(y.name)
            if across is not None and up is not None and math.isfinite(across) and math.isfinite(up):
                rows.append((name, across, up, marked))
        columns = ("release", f"{x.name} ({x.direction})", f"{y.name} ({y.direction})", "undominated")
        note = "Filled: no other release is at least as good in every figure and better in one." + (
            " Square: the original." if self.original else ""
        )
        rules = tuple(
            (where, f"required: {axis.name} {axis.required:g}", float(axis.required))
            for where, axis in (("across", x), ("up", y))
            if axis.required is not None
        )
        better = ("higher" if x.higher_is_better else "lower", "higher" if y.higher_is_better else "lower")
        title = f"{y.name} against {x.name}"
        return Chart("trade-off", "points", title, columns, tuple(rows), note, rules=rules, better=better)

    @checked_arguments
    def svg(self, privacy: str | None = None, utility: str | None = None) -> str:
        """Return the chart of two figures as an SVG picture."""
        from unveil.formats import visible
        from unveil.results.svg import svg

        drawn = svg(self.picture(privacy, utility), visible)
        return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)

    def _axis(self, about: str, name: str | None) -> Axis:
        known = {axis.name: axis for axis in self.axes if axis.about == about}
        if name is not None and name not in known:
            raise ArgumentError.not_one_of(f"the figure of {about}", name, list(known))
        return known[next(iter(known)) if name is None else name]


@checked_arguments
@in_run
def trade_off(  # noqa: PLR0913 - privacy and utility have their own arguments
    original: Data,
    releases: Mapping[str, Data],
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    privacy: Names = "prosecutor",
    needs: Need | Sequence[Need] = (),
    tasks: Task | Sequence[Task] = (),
    losses: Names = (),
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Mapping[str, Data] | None = None,
    same_order: bool | Names = False,
    folds: int = 5,
    sample: int | None = 20_000,
    seed: int = 0,
    policy: AnyPolicy | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> TradeOff:
    """Compare the privacy of releases of one original with their utility.

    Parameters
    ----------
    original, releases
        The table, and its releases by name: paths, names of built-in data sets, data frames, tables in an engine, counts,
        studies or project files. Never changed. The original may also be among the releases.
    key, sensitive
        The key and the sensitive attributes; none: those of the original's study or project, whose needs and policy also hold,
        if none are named.
    privacy
        One or several of ``"prosecutor"`` (the mean risk of a record, lower is safer), ``"k"``, ``"l"`` (distinct values) and
        ``"t"`` (equal distance) of each sensitive attribute, ``"attack"`` (the global risk of `unveil.attack`), and the names of
        models with one figure for a table (``"entropy_l_diversity"``, or a registered one).
    needs, tasks
        The needs and tasks to serve: the degree of each need, and the accuracy, r2 or agreement of each task's best model.
    losses
        Losses against the original, of those in `LOSSES`; lower is better.
    id, link, same_order
        The correspondence of records: a column of all tables; a correspondence file by release; whether rows are in the same
        order, in all releases or in the named ones.
    folds, sample, seed
        The number of folds of tasks, the largest number of records for tasks and pMSE, and the seed of random draws.
    policy
        The requirements, for the lines of the chart: rules by name, a preset, a file, a policy or a project; a need states
        its own requirement.
    progress
        A run, or a function called with the name of a release, the number of its completed figures, and the total number; for
        its tasks also with the folds.

    Returns
    -------
    TradeOff
        The figures of each release, and the releases that no other dominates.

    Raises
    ------
    ArgumentError
        If there are no releases, no figures of privacy or utility, or an unknown one.
    ColumnNotFoundError
        If the original lacks an attribute, or a release has no column in common with it.

    Notes
    -----
    A figure that is undefined for a release is a null with a reason. That release cannot dominate, and is not judged itself. A
    figure that no release has is left out of the comparison.

    All releases are compared by the same columns. A column that a release leaves out counts as suppressed throughout; pMSE is
    computed over the columns that every release holds, and a loss treats as numbers only columns that are numeric in every
    table. Nulls are values.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> table = pl.DataFrame({"age": [21, 24, 35, 38], "sex": ["f", "m", "f", "m"], "ill": ["no", "no", "yes", "yes"]})
    >>> trade_off = unveil.trade_off(
    ...     table,
    ...     {"decades": table.with_columns(age=pl.Series(["2*", "2*", "3*", "3*"])), "no age": table.drop("age")},
    ...     key=["age", "sex"],
    ...     needs=unveil.Need("age of illness", target="ill", given="age"),
    ...     privacy="k",
    ... )
    >>> trade_off
    TradeOff(2 releases; undominated: decades, no age)
    >>> trade_off["decades"].figures
    {'k': 1, 'age of illness': 1.0}
    """
    if not releases:
        raise ArgumentError("there are no releases to compare; give at least one, by its name.")
    with ExitStack() as held:
        before = held.enter_context(studied(original, key=key, sensitive=sensitive))
        keys, sensitive_names = sides_of(before.key, before.sensitive or None)
        wanted, policy = planned(before, needs, policy)
        pairing = Pairing(id, dict(link or {}), tuple(releases) if same_order is True else names_of(same_order or ()))
        pairing.check(original, releases)
        request = FigureRequest(
            keys, sensitive_names, names_of(privacy), wanted, _listed(tasks, Task), names_of(losses),
            folds, sample, seed, {} if policy is None else _required(policy_of(policy)[0], sensitive_names),
        )  # fmt: skip
        axes = request.axes()
        own = {name: held.enter_context(studied_beside(data, before)) for name, data in releases.items()}
        looked_at = [*keys, *sensitive_names, *(name for need in wanted for name in (need.target, *need.given))]
        for one in (before, *own.values()):
            require_values(one, looked_at)
        opened = {name: _plain(one) for name, one in own.items()}
        shared = Shared.of(before, opened, id)
        pairs = {
            name: ComparedRelease(_plain(before), after, shared, pairing.of(name), sensitive_names)
            for name, after in opened.items()
        }
        figures = {name: request.figures_of(name, pair) for name, pair in pairs.items()}
        records = before.table(keys, nulls="category").records
        said = {"the original": before, **{f"the release {shown(name)}": one for name, one in own.items()}}
        notes = tuple(_NULLS.format(what, shown(one.nulls)) for what, one in said.items() if one.nulls != "category")
        first = {} if _ORIGINAL in releases else request.of_original(_plain(before))
    provenance = Provenance(records, "category", key=keys, sensitive=sensitive_names, seed=seed, version=__version__)
    itself = {name: None if isinstance(value, str) else value for name, value in first.items()}
    return TradeOff(axes, _judged(figures, axes), provenance, itself, notes)


def planned(study: Study, needs: Need | Sequence[Need], policy: AnyPolicy | None) -> tuple[tuple[Need, ...], AnyPolicy | None]:
    """Return the needs and the policy that a call names, or else those of the original's project."""
    project = study.project
    if policy is None and project is not None and project.policy:
        policy = project.policy
    return _listed(needs, Need) or planned_needs(study), policy


def studied_beside(data: Data, original: Study) -> AbstractContextManager[Study]:
    """Return the study of a release, which is read as the original's project states."""
    return studied(data, project=beside(data, original), partial=True)


def _required(policy: Policy, sensitive: Sequence[str]) -> dict[str, float]:
    """Return the thresholds of a policy for the figures by which releases are compared."""
    limits: dict[str, float] = {}
    for rule in policy.in_force():
        if rule.threshold is not None:
            of_each = "attribute" in rule.form.parameters
            of = [name for name in sensitive if rule.parameters.get("attribute") in (None, name)]
            for name in {rule.name, _OF_RULE.get(rule.name, rule.name)}:
                places = [f"{name} of {attribute}" for attribute in of] if of_each else [name]
                limits |= dict.fromkeys(places, float(rule.threshold))
    return limits


def _plain(study: Study) -> Study:
    """Return a study with nulls as values and without roles or partitions, so that all tables are read in the same way."""
    return study.changed(key=(), sensitive=(), partitions={}, nulls="category")


def dominance(figures: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which row dominates which: `[i, j]` is true if i is never lower than j, and higher in some column.

    Parameters
    ----------
    figures
        One row per release; higher is better in every column. A row with NaN, an undefined figure, dominates nothing, and nothing
        dominates it.

    Examples
    --------
    >>> dominance(np.array([[1.0, 2.0], [1.0, 1.0], [2.0, 0.0]])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    one, other = figures[:, None, :], figures[None, :, :]
    return np.asarray((one >= other).all(axis=2) & (one > other).any(axis=2))


def _judged(figures: Mapping[str, FigureValues], axes: Sequence[Axis]) -> dict[str, Point]:
    """Compare the releases by the figures that at least one of them has."""
    signs = [1.0 if axis.higher_is_better else -1.0 for axis in axes]
    rows = [[math.nan if isinstance(one[axis.name], str) else one[axis.name] for axis in axes] for one in figures.values()]
    table = np.round(np.array(rows) * signs, _DECIMALS)
    table = table[:, ~np.isnan(table).all(axis=0)]
    complete, dominates = ~np.isnan(table).any(axis=1) & (table.shape[1] > 0), dominance(table)
    names, points = list(figures), {}
    for at, (name, one) in enumerate(figures.items()):
        points[name] = Point(
            figures={axis.name: None if isinstance(value := one[axis.name], str) else value for axis in axes},
            reasons={axis.name: value for axis in axes if isinstance(value := one[axis.name], str)},
            dominated_by=tuple(names[other] for other in np.flatnonzero(dominates[:, at])),
            undominated=not dominates[:, at].any() if complete[at] else None,
        )
    return points


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _grouped(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, for each reason, the figures that are missing because of it."""
    groups: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        groups.setdefault(reason, []).append(name)
    return groups


def _listed(values: Any, kind: type) -> tuple[Any, ...]:
    return (values,) if isinstance(values, kind) else tuple(values)
