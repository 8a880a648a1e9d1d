"""Which generalisations keep the data useful and give least away? The front of releases, by their Discrimination Rates.

Three attacks and uses are one measure: the identity risk is the rate of the original attributes given the protected ones, the
homogeneity risk that of a secret given the protected key, the degree of a need that of its target given its attributes. So
privacy and use are weighed on one scale, and what can be had of both is a front: the releases that no other dominates.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_share, shown_number
from unveil.attributes import Names, checked_nulls, in_line, names_of
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, ColumnNotFoundError, ModelNotMetError, UndefinedMeasureError, listed, shown
from unveil.measures.rates import mean
from unveil.models import KAnonymity
from unveil.models.asked import AnyModel, completed
from unveil.models.base import Model, SecretModel
from unveil.models.orders import Scale
from unveil.partitions import Hierarchy
from unveil.project import Need
from unveil.randomness import Chance, Repeatable, chance_of
from unveil.releases import drawn_order, marked, repeatable_of
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.results.numbers import counted, number
from unveil.run import Progress, in_run
from unveil.search.anonymize import anonymize
from unveil.search.front import Point, Thresholds
from unveil.search.frontier import Frontier, Question, frontier
from unveil.search.full_domain import budget_of
from unveil.search.hierarchies import propose_hierarchy
from unveil.search.inputs import limit_of, records_of, require_thresholds, trees_of
from unveil.search.judge import Judge
from unveil.search.noderates import Identity, Rate
from unveil.search.objectives import Separable, objective_of
from unveil.search.release import Release
from unveil.search.space import KeyAttribute, Space, key_attributes
from unveil.sources import Data, load
from unveil.sources.microdata import Microdata, open_microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Front", "anonymize_front"]

_SHOWN_ROWS = 15


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Front(Result):
    """The releases that no other dominates, least risk first.

    Attributes
    ----------
    points
        Their figures.
    transformations
        The level of every key attribute in each.
    combined
        The rate of all original key attributes together given all protected ones, of each.
    choice
        The place among them of the one that is preferred.
    complete
        Whether these are all; else the search stopped at its limit.
    lattice, evaluated
        The generalisations there are, and those looked at.
    heights
        The highest level of every key attribute.
    needs
        The needs by name.
    reasons
        Why a need or a sensitive attribute has no figure, by name.
    seconds
        How long the search took.
    settings
        What was asked for.
    notes
        What a user should know.
    repeatable
        Who can repeat the order of a release's records: nobody (False), whoever has the "key", or, from a "seed", everybody.
    """

    points: Sequence[Point]
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
    maker: Callable[[Mapping[str, int]], Release]
    adjuster: Callable[[Point], Mapping[str, float | None]]

    @property
    def adjusted(self) -> list[Mapping[str, float | None]]:
        """The degrees of each release without what chance would give, by need; they are compared with the degrees asked for."""
        return [self.adjuster(point) for point in self.points]

    @property
    def chosen(self) -> Release:
        """The release that is preferred."""
        return self.release(self.choice)

    @checked_arguments
    def release(self, at: int) -> Release:
        """Make the release at a place of the front."""
        if not 0 <= at < len(self.points):
            raise ArgumentError(f"the front has {counted(len(self.points), 'release')}, counted from 0, so none at {at}.")
        return self.maker(self.transformations[at])

    def __len__(self) -> int:
        """Return the number of releases on the front."""
        return len(self.points)

    def __repr__(self) -> str:
        """Return one line: how many releases there are, and the one preferred."""
        levels = in_line(f"{name} {level}/{self.heights[name]}" for name, level in self.transformations[self.choice].items())
        one, size = self.points[self.choice], counted(len(self), "release") + ("" if self.complete else ", not complete")
        return f"Front({size}; chosen: {levels}; risk {number(one.risk)}, degree {number(one.service)})"

    def to_dict(self) -> dict[str, Any]:
        """Return every release on the front, without its records."""
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
        """Return what a person should see: the front from the least risk to the highest, some rows of many."""
        chosen = self.points[self.choice]
        sure = "no other dominates any of them" if self.complete else "of those looked at before the limit"
        figures = (
            Figure("releases on the front", len(self), sure),
            Figure("risk of the chosen", chosen.risk, "mean of identity and homogeneity"),
            Figure("degree of the chosen", chosen.service, "mean over the needs"),
            Figure("generalisations", self.lattice, f"{self.evaluated:,} looked at in {self.seconds:.2f} s"),
        )
        unasked = [f"adjusted degree of {name}" for name, need in self.needs.items() if need.at_least is None]
        columns = {
            name.removeprefix("level of "): values
            for name, values in self.columns().items()
            if name not in ("identity combined", *unasked)
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


@checked_arguments
@in_run
def anonymize_front(  # noqa: PLR0913 - the one call that weighs privacy against use
    data: Data,
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]],
    needs: Need | Sequence[Need],
    *,
    sensitive: Names,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    models: Sequence[AnyModel] = (),
    suppression: float = 0.0,
    prefer: Literal["utility", "privacy"] = "privacy",
    max_identity: float | None = None,
    max_homogeneity: float | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    identifiers: Names = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str = "category",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Front:
    r"""Find every generalisation that serves the needs and gives little away, such that no other does both better.

    With A the key attributes, A* what the release shows of them, S a sensitive attribute, and X the target and G the given
    attributes of a need, a release is judged by

    .. math::

        \text{identity} = \frac{1}{m} \sum_j DR_{A_j}(A^*_j), \qquad
        \text{homogeneity}_S = DR_S(A^*_1, \dots, A^*_m), \qquad
        \text{degree} = DR_X(G^*) ,

    risks to be low and degrees to be high. These are the figures that `unveil.attack` and `unveil.utility` find in the release.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file.
    needs
        What the release is to be good for. A degree that a need asks for (`at_least`) is kept by every release of the front,
        adjusted for chance.
    sensitive
        The sensitive attributes; each is a risk of its own.
    hierarchies
        As in `anonymize`: a key attribute without one gets one proposed from its values.
    models, suppression
        What every release must meet besides, if anything, and the share of the records that may be suppressed for it.
    prefer
        Which release of the front to choose: "privacy" the one of the least risk, "utility" the one of the highest degrees. Every
        release of the front reaches the degrees that needs ask for and keeps to the risks allowed. Risk is the mean of identity
        and homogeneity risk, as in `unveil.attack`; degrees are taken by their mean.
    max_identity, max_homogeneity
        The highest identity risk, and the highest homogeneity risk of any sensitive attribute.
    levels
        The lowest and the highest level that an attribute may have.
    identifiers, orders, nulls, keep_order, seed, key_file
        As in `anonymize`.
    time_limit, node_limit
        When to stop, in seconds or generalisations looked at; the front of those is then given and marked.
    progress
        A run, or a function called now and then with the name of a stage ("generalisations"), those settled and those in
        question.

    Returns
    -------
    Front
        One row a release that no other dominates, and the one preferred; `release` makes any of them.

    Raises
    ------
    ModelNotMetError
        If no generalisation meets the models, or all thresholds; the message says how close one gets.
    UndefinedMeasureError
        If a degree is asked of a need whose target is constant, or no need has another target.

    Notes
    -----
    Where nothing is suppressed, no rate rises from a generalisation to a coarser one, by the data processing inequality:
    A*' = f(A*) gives :math:`H(X|A^{*\prime}) \ge H(X|A^{*\prime}, A^*) = H(X|A^*)`. So whatever is coarser than a release that
    misses a need misses it too, and whatever is finer than one that gives too much away does as well: they are left out unseen.
    With suppression this does not hold, and every generalisation is looked at that can meet the models.

    References
    ----------
    .. [1] Sondeck, Laurent, Frey (2017), SECRYPT, 285-294. doi:10.5220/0006418002850294

    Examples
    --------
    >>> import polars as pl, unveil
    >>> tree = unveil.Hierarchy.from_levels(["22", "25", "38", "39"], ["20-29", "20-29", "30-39", "30-39"], ["*"] * 4)
    >>> people = {"age": [22, 25, 38, 39], "job": ["a", "b", "a", "b"], "disease": ["flu", "flu", "gout", "gout"]}
    >>> need = unveil.Need("treatment", target="disease", given="age", at_least=0.5)
    >>> front = unveil.anonymize_front(pl.DataFrame(people), {"age": tree}, need, sensitive="job", keep_order=True)
    >>> front
    Front(1 release; chosen: age 1/2; risk 0.2500, degree 1.0000)
    >>> front.chosen.data["age"].to_list()
    ['20-29', '20-29', '30-39', '30-39']
    """
    keys, trees = trees_of(attributes, hierarchies)
    asked, secrets = _asked(needs), names_of(sensitive)
    thresholds = _thresholds(asked, prefer, max_identity, max_homogeneity)
    budget, chance = budget_of(time_limit, node_limit), chance_of(seed, key_file).held()
    opened = open_microdata(data)
    columns = _columns(opened, keys, secrets, asked, models)
    records, rows = records_of(opened, keys, columns, names_of(identifiers), checked_nulls(nulls))
    began = time.perf_counter()
    counts = count_table(load(records.frame, [*keys, *columns]))
    proposed = [name for name in keys if name not in trees]
    trees |= {name: propose_hierarchy(records.frame, name).hierarchy for name in proposed}
    known = key_attributes(counts, {name: trees[name] for name in keys}, levels)
    question = _question(
        counts, known, asked, secrets, thresholds, models=models, suppression=suppression, trees=trees, orders=orders
    )
    reasons = _reasons(question, asked)
    maker = _Maker(records, rows, keys, trees, models, suppression, orders, keep_order, chance, names_of(identifiers))
    found = frontier(question, budget)
    if not found.points:
        maker.require_models(levels, found)
        raise _unmet(question, frontier(question.without_thresholds(), budget))
    return Front(
        points=found.points,
        transformations=[question.space.transformation(point.node) for point in found.points],
        combined=[question.combined(point) for point in found.points],
        choice=_choice(found.points, prefer),
        complete=found.complete,
        lattice=question.space.size,
        evaluated=found.evaluated,
        heights={one.name: one.levels.height for one in known},
        needs=asked,
        reasons=reasons,
        seconds=time.perf_counter() - began,
        settings={
            "key": list(keys),
            "sensitive": list(secrets),
            "needs": [repr(need) for need in asked.values()],
            "models": [model.requirement for model in models if isinstance(model, Model)],
            "suppression": suppression,
            "prefer": prefer,
            "max_identity": max_identity,
            "max_homogeneity": max_homogeneity,
            "levels": {name: list(pair) for name, pair in (levels or {}).items()},
            "nulls": nulls,
            "keep_order": keep_order,
            "time_limit": time_limit,
            "node_limit": node_limit,
        },
        notes=marked([*_notes(proposed, reasons, found), *_uncovered(question)], maker.repeatable),
        repeatable=maker.repeatable,
        maker=maker,
        adjuster=question.adjusted,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Maker:
    """Makes the release of a transformation, the way `anonymize` does."""

    records: Microdata
    rows: NDArray[np.int64]
    keys: tuple[str, ...]
    trees: Mapping[str, Hierarchy]
    models: Sequence[AnyModel]
    suppression: float
    orders: Mapping[str, Sequence[Any]] | None
    keep_order: bool
    chance: Chance
    identifiers: tuple[str, ...]

    def __call__(self, transformation: Mapping[str, int]) -> Release:
        made = self._made({name: (level, level) for name, level in transformation.items()})
        notes = ["The levels were taken from a front of releases that no other dominates."]
        notes += [f"Left out as identifiers: {listed(self.identifiers)}."] if self.identifiers else []
        if not isinstance(made.records, Microdata):
            raise TypeError("records in hand are asked for")
        order = made.origin if self.keep_order else drawn_order(made.records, self.chance, made.settings)
        return replace(
            made,
            records=made.records.taken(order),
            origin=self.rows[order],
            settings={**made.settings, "keep_order": self.keep_order},
            notes=marked([*notes, *made.notes], self.repeatable),
            repeatable=self.repeatable,
            left_out=self.identifiers,
        )

    @property
    def repeatable(self) -> Repeatable:
        """Who can repeat the releases."""
        return repeatable_of(self.chance, self.records.place, drawn=not self.keep_order)

    def require_models(self, levels: Mapping[str, tuple[int, int]] | None, found: Frontier) -> None:
        """Refuse models that no generalisation meets: anonymising says which."""
        if not found.complete:
            looked = counted(found.evaluated, "generalisation")
            raise ModelNotMetError(
                f"none of the {looked} looked at within the limits meets everything; allow more time or nodes."
            )
        self._made(levels)

    def _made(self, levels: Mapping[str, tuple[int, int]] | None) -> Release:
        return anonymize(
            self.records,
            self.keys,
            self.models or [KAnonymity(1)],
            hierarchies=self.trees,
            suppression=self.suppression,
            levels=levels,
            orders=self.orders,
            keep_order=True,
        )


def _asked(needs: Need | Sequence[Need]) -> dict[str, Need]:
    """Return the needs by name."""
    given = [needs] if isinstance(needs, Need) else list(needs)
    if not given:
        raise ArgumentError("no need is named; without one the best release is the one that says nothing.")
    found = {need.name: need for need in given}
    if len(found) < len(given):
        names = [need.name for need in given]
        raise ArgumentError(
            f"several needs are called {shown(next(n for n in names if names.count(n) > 1))}; give each its own name."
        )
    return found


def _thresholds(needs: Mapping[str, Need], prefer: str, identity: float | None, homogeneity: float | None) -> Thresholds:
    if prefer not in ("utility", "privacy"):
        raise ArgumentError.not_one_of("preference", prefer, ("utility", "privacy"))
    for name, most in (("identity", identity), ("homogeneity", homogeneity)):
        if most is not None and not 0.0 <= most <= 1.0:
            raise ArgumentError(f"the highest {name} risk lies between 0 and 1, so it is not {shown_number(most)}.")
    least = {name: need.at_least for name, need in needs.items() if need.at_least is not None}
    return Thresholds(identity, homogeneity, least)


def _columns(
    records: Microdata, keys: Sequence[str], secrets: Sequence[str], needs: Mapping[str, Need], models: Sequence[AnyModel]
) -> tuple[str, ...]:
    """Return the columns that are counted besides the key: secrets, those of the models, and those of the needs."""
    for name in secrets:
        if name in keys:
            raise ArgumentError.key_is_sensitive(name)
    for need in needs.values():
        for name in (need.target, *need.given):
            if name not in records.names:
                raise ColumnNotFoundError(f"need {shown(need.name)}: {ColumnNotFoundError.among(name, records.names)}")
    asked = [part for model in models if isinstance(model, SecretModel) for part in model.attribute.split(" + ")]
    used = [name for need in needs.values() for name in (*need.given, need.target)]
    return tuple(name for name in dict.fromkeys([*secrets, *asked, *used]) if name not in keys)


def _question(
    counts: Counts,
    known: tuple[KeyAttribute, ...],
    needs: Mapping[str, Need],
    secrets: Sequence[str],
    thresholds: Thresholds,
    *,
    models: Sequence[AnyModel],
    suppression: float,
    trees: Mapping[str, Hierarchy],
    orders: Mapping[str, Sequence[Any]] | None,
) -> Question:
    """Put together what is asked of every node."""
    require_thresholds(models)
    checked_share("the share of records that may be suppressed", suppression)
    keys = [one.name for one in known]
    others = [name for name in counts.names if name not in keys]
    scales = {name: Scale(name, tuple(orders[name]) if orders and name in orders else None, trees.get(name)) for name in others}
    asked = completed(models, scales)
    if strange := [model.name for model in asked.values() if not isinstance(model, Model)]:
        raise ArgumentError(f"{strange[0]} compares the table with its population, which a front does not know; use anonymize.")
    attributes = dict.fromkeys(model.attribute for model in asked.values() if isinstance(model, SecretModel))
    groups = [(name,) if name in others else tuple(name.split(" + ")) for name in attributes]
    space = Space(counts, known, groups)
    limit = limit_of(suppression, space.records) * bool(models)  # without a model there is nothing to suppress for
    loss = objective_of("loss", known, space.records)
    if not isinstance(loss, Separable):
        raise TypeError(loss)
    return Question(
        space,
        Judge(space, list(asked.values()), limit),
        limit,
        [counts.codes[counts.names.index(name)] for name in keys],
        Identity(counts, known),
        {name: Rate(counts, known, name, keys) for name in secrets},
        {name: Rate(counts, known, need.target, need.given, need.partitions) for name, need in needs.items()},
        loss,
        thresholds,
    )


def _reasons(question: Question, needs: Mapping[str, Need]) -> dict[str, str]:
    """Say which figures are undefined everywhere, and refuse what cannot be guided by them."""
    found = {
        f"homogeneity of {name}": "it holds one value only, so there is nothing to disclose"
        for name, rate in question.homogeneity.items()
        if not rate.defined
    }
    for name, rate in question.needs.items():
        if rate.defined:
            continue
        found[f"degree of {name}"] = f"{shown(needs[name].target)} holds one value only, so there is nothing to infer"
        if needs[name].at_least is not None:
            raise UndefinedMeasureError(
                f"the need {shown(name)} asks for a degree of {needs[name].at_least:g}, which is undefined: "
                f"{shown(needs[name].target)} holds one value only. Ask for no degree, or leave the need out."
            )
    if not any(rate.defined for rate in question.needs.values()):
        raise UndefinedMeasureError(
            "no need can guide the search: the target of each holds one value only, so there is nothing to infer."
        )
    return found


def _choice(points: Sequence[Point], prefer: str) -> int:
    """Return the place of the release that is preferred."""
    if prefer == "privacy":
        return min(range(len(points)), key=lambda at: (points[at].risk, -points[at].service, points[at].rank))
    return min(range(len(points)), key=lambda at: (-points[at].service, points[at].risk, points[at].rank))


def _unmet(question: Question, free: Frontier) -> ModelNotMetError:
    """Say how close to the thresholds a release gets."""
    if not free.points:
        return ModelNotMetError("at every generalisation a need has no degree: its partition must cover the generalised values.")
    missed = [question.thresholds.missed(point, question.adjusted(point)) for point in free.points]
    worst = [max((abs(figure - asked) for figure, asked in one.values()), default=0.0) for one in missed]
    at = int(np.argmin(worst))
    levels = ", ".join(f"{name} {level}" for name, level in question.space.transformation(free.points[at].node).items())
    figures = "; ".join(f"{name} {number(figure)}, {number(asked)} asked" for name, (figure, asked) in missed[at].items())
    return ModelNotMetError(
        f"none of {counted(question.space.size, 'generalisation')} meets every threshold. The closest ({levels}) has {figures}."
    )


def _notes(proposed: Sequence[str], reasons: Mapping[str, str], found: Frontier) -> list[str]:
    notes = [f"{name}: undefined, {reason}; it guides nothing." for name, reason in reasons.items()]
    if proposed:
        notes.append(f"Hierarchies were proposed from the values of {listed(proposed)}; write your own for meaning.")
    if not found.complete:
        notes.append("The search stopped at its limit; other releases may belong to the front, or dominate some of these.")
    return notes


def _uncovered(question: Question) -> list[str]:
    """Say which levels had to be left out because a need's partition does not cover them."""
    found = []
    for name, rate in question.needs.items():
        for at, coding in rate.codings.items():
            one = question.space.attributes[at]
            levels = [str(one.lowest + level) for level, codes in enumerate(coding.kept) if codes is None]
            if levels:
                what = "level" if len(levels) == 1 else "levels"
                found.append(
                    f"Left out, as the need {shown(name)} has no block for it: {shown(one.name)} at {what} {', '.join(levels)}."
                )
    return found
