"""Which generalisations keep the data useful and disclose least? A front of releases, by their Discrimination Rates.

Two attacks and every use reduce to one measure: the identity risk is the rate of the original attributes given the protected
ones, the homogeneity risk that of a sensitive attribute given the protected key, and the degree of a need that of its target
given its attributes. So privacy and use are compared on one scale, and the best trade-offs form a front: the releases that no
other dominates.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from unveil.arguments import checked_arguments
from unveil.attributes import Names, Standing, names_of
from unveil.counts import count_table
from unveil.errors import ArgumentError, ModelNotMetError, listed, shown
from unveil.formats import counted
from unveil.models import KAnonymity, Model, Scale, completed, in_persons, planned_models, require_thresholds, sensitive_groups
from unveil.partitions import Hierarchy
from unveil.project import Need
from unveil.protect.anonymize import anonymize
from unveil.protect.front_result import Front
from unveil.randomness import Chance, Repeatable, chance_of
from unveil.releases import ColumnScreen, Release, drawn_order, in_hand, marked, repeatable_of, screened
from unveil.run import Progress, in_run
from unveil.search import (
    Frontier,
    FrontPoint,
    Generalisation,
    Question,
    Request,
    frontier,
    further_columns,
    given_hierarchies,
    hierarchies_of,
    keys_of,
    question_of,
    records_of,
    require_persons,
    thresholds_not_met,
    thresholds_of,
    uncovered_levels,
    undefined_figures,
)
from unveil.sources import Data, Microdata, load, open_microdata
from unveil.study import planned_key, planned_needs, planned_sensitive, require_values, stated, study_of
from unveil.time_limit import SearchBudget, budget_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["anonymize_front"]


@checked_arguments
@in_run
def anonymize_front(  # noqa: PLR0913 - the one call that weighs privacy against use
    data: Data,
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    needs: Need | Sequence[Need] = (),
    *,
    sensitive: Names | None = None,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    models: Sequence[Model] = (),
    suppression: float = 0.0,
    prefer: Literal["utility", "privacy"] = "privacy",
    max_identity: float | None = None,
    max_homogeneity: float | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    identifiers: Names = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Front:
    r"""Find every generalisation that serves the needs and discloses little, such that no other does both better.

    With A the key attributes, A* their released versions, S a sensitive attribute, and X the target and G the given
    attributes of a need, a release is judged by

    .. math::

        \text{identity} = \frac{1}{m} \sum_j DR_{A_j}(A^*_j), \qquad
        \text{homogeneity}_S = DR_S(A^*_1, \dots, A^*_m), \qquad
        \text{degree} = DR_X(G^*) ,

    where risks should be low and degrees high. These are the figures that `unveil.attack` and `unveil.utility` compute for the
    release.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file; none: the key of the study or
        project that the data is.
    needs
        The needs that the release is to serve. A degree that a need requires (`at_least`) is reached by every release of the
        front, adjusted for chance. Empty: the needs of the study's project.
    sensitive
        The sensitive attributes, each with a risk of its own; none: those of the study or project.
    hierarchies
        As in `anonymize`: for a key attribute without a hierarchy, one is proposed from its values.
    models, suppression
        The models that every release must also meet, if any (none: the models of the study's project), and the share of the
        records that may be suppressed for them.
    prefer
        Which release of the front to choose: "privacy", the one with the least risk; "utility", the one with the highest
        degrees. Every release of the front reaches the degrees that needs require and stays within the allowed risks. Risk is
        the mean of identity and homogeneity risk, as in `unveil.attack`; degrees are compared by their mean.
    max_identity, max_homogeneity
        The highest allowed identity risk, and the highest allowed homogeneity risk of any sensitive attribute.
    levels
        The lowest and the highest level that an attribute may have.
    identifiers, orders, nulls, keep_order, seed, key_file
        As in `anonymize`.
    time_limit, node_limit
        When to stop, in seconds or evaluated generalisations; the front of these is then returned and marked.
    progress
        A run, or a function called now and then with the name of a stage ("generalisations"), the number of decided
        generalisations, and the number of all.

    Returns
    -------
    Front
        One row per release that no other dominates, and the preferred one; `release` makes any of them.

    Raises
    ------
    ModelNotMetError
        If no generalisation meets the models, or all thresholds; the message states how close one gets.
    UndefinedMeasureError
        If a degree is required of a need whose target is constant, or if the targets of all needs are constant.

    Notes
    -----
    If nothing is suppressed, no rate rises from a generalisation to a coarser one, by the data processing inequality:
    A*' = f(A*) gives :math:`H(X|A^{*\prime}) \ge H(X|A^{*\prime}, A^*) = H(X|A^*)`. So a generalisation coarser than one that
    misses a need also misses it, and one finer than one that discloses too much also discloses too much: these are skipped
    without evaluation. With suppression this does not hold, and every generalisation that can meet the models is evaluated.

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
    required, models, sensitive_names = _completed(data, needs, models, sensitive)
    thresholds = thresholds_of(required, prefer, max_identity, max_homogeneity)
    budget, chance = budget_of(time_limit, node_limit), chance_of(seed, key_file).held()
    keys, given = keys_of(planned_key(data) if attributes is None else attributes), given_hierarchies(attributes, hierarchies)
    require_values(data, [*keys, *sensitive_names, *_columns_of(required.values())])
    said = stated(data, [*keys, *sensitive_names], hierarchies=given, orders=orders, nulls=nulls)
    named, orders, opened = hierarchies_of(keys, said.hierarchies), said.orders, open_microdata(data)
    standing = opened.naming(*_columns_of(required.values()), *sensitive_names).standing
    in_force = in_persons(models, standing.person)
    columns = further_columns(opened, keys, sensitive_names, required, in_force)
    records, rows = records_of(opened.deferred(), keys, columns, names_of(identifiers), said.nulls)
    began = time.perf_counter()
    request = _request((keys, named, columns), (records, rows), in_force, orders, names_of(identifiers))
    question = question_of(request, required, sensitive_names, thresholds, suppression=suppression, levels=levels)
    reasons = undefined_figures(question, required)
    maker = _Maker(request, models, suppression, orders, keep_order, chance, standing)
    explored = frontier(question, budget)
    if not explored.points:
        raise _not_met(maker, question, levels, explored, budget)
    settings = {
        "key": list(keys), "sensitive": list(sensitive_names), "needs": [repr(need) for need in required.values()],
        "models": [model.requirement for model in models], "suppression": suppression,
        "prefer": prefer, "max_identity": max_identity, "max_homogeneity": max_homogeneity,
        "levels": {name: list(pair) for name, pair in (levels or {}).items()}, "nulls": said.nulls, "keep_order": keep_order,
        "time_limit": time_limit, "node_limit": node_limit,
    }  # fmt: skip
    return _front(question, explored, maker, needs=required, prefer=prefer, reasons=reasons, settings=settings, began=began)


def _not_met(
    maker: _Maker, question: Question, levels: Mapping[str, tuple[int, int]] | None, explored: Frontier, budget: SearchBudget
) -> ModelNotMetError:
    """Return the error for a search without a result: the models cannot be met, or the thresholds are too strict."""
    maker.require_models(levels, explored)
    return thresholds_not_met(question, frontier(question.without_thresholds(), budget))


def _request(
    columns: tuple[tuple[str, ...], Mapping[str, Hierarchy], tuple[str, ...]],
    table: tuple[Microdata, NDArray[np.int64]],
    models: Sequence[Model],
    orders: Mapping[str, Sequence[Any]] | None,
    left_out: tuple[str, ...],
) -> Request:
    """Return the request for a table of which the needs use more columns than the models."""
    require_thresholds(models)
    keys, hierarchies, others = columns
    coded, person = load(table[0].frame, [*keys, *others]), table[0].standing.person
    cells = count_table(coded)
    if person is not None:
        require_persons(cells, person)
    values = {name: tuple(orders[name]) if orders and name in orders else None for name in others}
    scales = {name: Scale(name, values[name], hierarchies.get(name)) for name in others}
    required, groups = completed(models, scales), sensitive_groups(models, others)
    return Request(
        keys, others, hierarchies, *table, coded, cells, required, left_out, person=person, sensitive_groups=groups
    )  # fmt: skip


def _front(
    question: Question,
    explored: Frontier,
    maker: _Maker,
    *,
    needs: Mapping[str, Need],
    prefer: str,
    reasons: Mapping[str, str],
    settings: Mapping[str, Any],
    began: float,
) -> Front:
    """Return the result of a search that found at least one release."""
    proposed = [*maker.request.proposed]
    return Front(
        points=explored.points,
        transformations=[question.space.transformation(point.node) for point in explored.points],
        combined=[question.combined(point) for point in explored.points],
        choice=_choice(explored.points, prefer),
        complete=explored.complete,
        lattice=question.space.size,
        evaluated=explored.evaluated,
        heights={one.name: one.levels.height for one in question.space.attributes},
        needs=needs,
        reasons=reasons,
        seconds=time.perf_counter() - began,
        settings=settings,
        notes=marked([*_notes(proposed, reasons, explored), *uncovered_levels(question)], maker.repeatable),
        repeatable=maker.repeatable,
        maker=maker,
        adjuster=question.adjusted,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Maker:
    """A maker of the release of a transformation, in the way of `anonymize`."""

    request: Request
    required: Sequence[Model]
    suppression: float
    orders: Mapping[str, Sequence[Any]] | None
    keep_order: bool
    chance: Chance
    standing: Standing

    def __call__(self, transformation: Mapping[str, int]) -> Release[Generalisation]:
        made = self._made({name: (level, level) for name, level in transformation.items()})
        notes = ["The levels were taken from a front of releases that no other dominates."]
        records = in_hand(made)
        order = made.origin if self.keep_order else drawn_order(records, self.chance, made.settings)
        release = replace(
            made,
            records=replace(records.taken(order), standing=self.standing),
            origin=self.request.rows[order],
            settings={**made.settings, "keep_order": self.keep_order},
            notes=marked([*notes, *made.notes], self.repeatable),
            repeatable=self.repeatable,
            left_out=ColumnScreen.of_identifiers(self.request.left_out).left_out,
        )
        return screened(release)

    @property
    def repeatable(self) -> Repeatable:
        """Who can repeat the releases."""
        return repeatable_of(self.chance, self.request.records.place, drawn=not self.keep_order)

    def require_models(self, levels: Mapping[str, tuple[int, int]] | None, explored: Frontier) -> None:
        """Refuse models that no generalisation meets; the error of `anonymize` states which."""
        if not explored.complete:
            looked = counted(explored.evaluated, "generalisation")
            raise ModelNotMetError(
                f"none of the {looked} looked at within the limits meets everything; allow more time or nodes."
            )
        self._made(levels)

    def _made(self, levels: Mapping[str, tuple[int, int]] | None) -> Release[Generalisation]:
        request = self.request
        return anonymize(
            request.records,
            request.keys,
            self.required or [KAnonymity(1)],
            hierarchies={**request.hierarchies, **request.proposed},
            suppression=self.suppression,
            levels=levels,
            orders=self.orders,
            keep_order=True,
        )


def _completed(
    data: Data, needs: Need | Sequence[Need], models: Sequence[Model], sensitive: Names | None
) -> tuple[dict[str, Need], Sequence[Model], tuple[str, ...]]:
    """Return the needs, the models and the sensitive attributes, with those of the data's project where the call has none."""
    study, names = study_of(data), names_of(planned_sensitive(data) if sensitive is None else sensitive)
    if sensitive is None and not names:
        raise ArgumentError.no_sensitive()
    if study is not None and not models:
        models = planned_models(study.changed(sensitive=names))
    return _named(needs or planned_needs(study)), models, names


def _named(needs: Need | Sequence[Need]) -> dict[str, Need]:
    """Return the needs by name."""
    several = [needs] if isinstance(needs, Need) else list(needs)
    if not several:
        raise ArgumentError("no need is named; without one, the best release is the one that says nothing.")
    named = {need.name: need for need in several}
    if len(named) < len(several):
        names = [need.name for need in several]
        raise ArgumentError(
            f"several needs are called {shown(next(n for n in names if names.count(n) > 1))}; give each its own name."
        )
    return named


def _columns_of(needs: Iterable[Need]) -> list[str]:
    return [name for need in needs for name in (need.target, *need.given)]


def _choice(points: Sequence[FrontPoint], prefer: str) -> int:
    """Return the position of the preferred release."""
    if prefer == "privacy":
        return min(range(len(points)), key=lambda at: (points[at].risk, -points[at].service, points[at].rank))
    return min(range(len(points)), key=lambda at: (-points[at].service, points[at].risk, points[at].rank))


def _notes(proposed: Sequence[str], reasons: Mapping[str, str], explored: Frontier) -> list[str]:
    notes = [f"{name}: undefined, {reason}; it guides nothing." for name, reason in reasons.items()]
    if proposed:
        notes.append(f"Hierarchies were proposed from the values of {listed(proposed)}; write your own for meaning.")
    if not explored.complete:
        notes.append("The search stopped at its limit; other releases may belong to the front, or dominate some of these.")
    return notes
