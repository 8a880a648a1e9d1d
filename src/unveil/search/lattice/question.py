"""The requirements on every generalisation when privacy is weighed against utility: models, risks, and needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unveil.arguments import checked_share
from unveil.errors import ArgumentError, ColumnNotFoundError, ModelNotMetError, UndefinedMeasureError, shown
from unveil.formats import counted, number
from unveil.models import Model
from unveil.project import Need
from unveil.search.lattice.applied import SuppressedCells
from unveil.search.lattice.frontier import Frontier, Question
from unveil.search.lattice.node_rates import Identity, Rate
from unveil.search.lattice.objectives import Separable, objective_of
from unveil.search.lattice.space import Space
from unveil.search.lattice.undominated import Thresholds
from unveil.search.request import Request
from unveil.search.requirements import NodeRequirements, limit_of
from unveil.sources import Microdata

__all__ = ["further_columns", "question_of", "thresholds_not_met", "thresholds_of", "uncovered_levels", "undefined_figures"]


def thresholds_of(needs: Mapping[str, Need], prefer: str, identity: float | None, homogeneity: float | None) -> Thresholds:
    """Return the risks allowed and the degrees required, or refuse invalid ones."""
    if prefer not in ("utility", "privacy"):
        raise ArgumentError.not_one_of("preference", prefer, ("utility", "privacy"))
    for name, most in (("max_identity", identity), ("max_homogeneity", homogeneity)):
        if most is not None:
            checked_share(name, most)
    least = {name: need.at_least for name, need in needs.items() if need.at_least is not None}
    return Thresholds(identity, homogeneity, least)


def further_columns(
    records: Microdata, keys: Sequence[str], sensitive: Sequence[str], needs: Mapping[str, Need], models: Sequence[Model]
) -> tuple[str, ...]:
    """Return the columns that are counted besides the key: sensitive ones, and those that the models and needs name."""
    for name in sensitive:
        if name in keys:
            raise ArgumentError.key_is_sensitive(name)
    for need in needs.values():
        for name in (need.target, *need.given):
            if name not in records.names:
                raise ColumnNotFoundError(f"need {shown(need.name)}: {ColumnNotFoundError.among(name, records.names)}")
    named = [part for model in models if model.sensitive is not None for part in model.sensitive.split(" + ")]
    used = [name for need in needs.values() for name in (*need.given, need.target)]
    return tuple(name for name in dict.fromkeys([*sensitive, *named, *used]) if name not in keys)


def question_of(
    request: Request,
    needs: Mapping[str, Need],
    sensitive: Sequence[str],
    thresholds: Thresholds,
    *,
    suppression: float,
    levels: Mapping[str, tuple[int, int]] | None,
) -> Question:
    """Collect the requirements on every node."""
    checked_share("the share of records that may be suppressed", suppression)
    models = list(request.models.values())
    if strange := [model.name for model in models if model.needs_population]:
        raise ArgumentError(f"{strange[0]} compares the table with its population, which a front does not know; use anonymize.")
    counts, known = request.cells, request.key_attributes(levels)
    space = Space(counts, known, request.sensitive_groups)
    limit = limit_of(suppression, space.records) * bool(models)  # without a model there is nothing to suppress for
    loss = objective_of("loss", known, space.records)
    if not isinstance(loss, Separable):
        raise TypeError(loss)
    return Question(
        space,
        NodeRequirements(space, models, limit),
        limit,
        SuppressedCells(space, [counts.codes[counts.names.index(name)] for name in request.keys]),
        Identity(counts, known),
        {name: Rate(counts, known, name, request.keys) for name in sensitive},
        {name: Rate(counts, known, need.target, need.given, need.partitions) for name, need in needs.items()},
        loss,
        thresholds,
    )


def undefined_figures(question: Question, needs: Mapping[str, Need]) -> dict[str, str]:
    """Return notes on figures that are undefined everywhere; refuse needs that cannot guide a search because of this."""
    undefined = {
        f"homogeneity of {name}": "it holds only one value, so there is nothing to disclose"
        for name, rate in question.homogeneity.items()
        if not rate.defined
    }
    for name, rate in question.needs.items():
        if rate.defined:
            continue
        undefined[f"degree of {name}"] = f"{shown(needs[name].target)} holds only one value, so there is nothing to infer"
        if needs[name].at_least is not None:
            raise UndefinedMeasureError(
                f"the need {shown(name)} asks for a degree of {needs[name].at_least:g}, which is undefined: "
                f"{shown(needs[name].target)} holds only one value. Require no degree, or leave the need out."
            )
    if not any(rate.defined for rate in question.needs.values()):
        raise UndefinedMeasureError(
            "no need can guide the search: the target of each holds only one value, so there is nothing to infer."
        )
    return undefined


def thresholds_not_met(question: Question, free: Frontier) -> ModelNotMetError:
    """Return an error that says how close to the thresholds a release can get."""
    if not free.points:
        return ModelNotMetError("at every generalisation a need has no degree: its partition must cover the generalised values.")
    missed = [question.thresholds.missed(point, question.adjusted(point)) for point in free.points]
    worst = [max((abs(figure - required) for figure, required in one.values()), default=0.0) for one in missed]
    at = int(np.argmin(worst))
    levels = ", ".join(f"{name} {level}" for name, level in question.space.transformation(free.points[at].node).items())
    figures = "; ".join(
        f"{name} {number(figure)}, {number(required)} required" for name, (figure, required) in missed[at].items()
    )
    return ModelNotMetError(
        f"none of {counted(question.space.size, 'generalisation')} meets every threshold. The closest ({levels}) has {figures}."
    )


def uncovered_levels(question: Question) -> list[str]:
    """Return notes on levels that are left out because a need's partition does not cover them."""
    uncovered = []
    for name, rate in question.needs.items():
        for at, coding in rate.codings.items():
            one = question.space.attributes[at]
            levels = [str(one.lowest + level) for level, codes in enumerate(coding.kept) if codes is None]
            if levels:
                what = "level" if len(levels) == 1 else "levels"
                uncovered.append(
                    f"The need {shown(name)} has no block for {shown(one.name)} at {what} {', '.join(levels)}; left out."
                )
    return uncovered
