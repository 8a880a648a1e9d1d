"""Does microaggregation save noise? Means of groups of k change less than values, so less noise hides a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.columns import choose, numbers
from unveil.mechanisms.differential_privacy.accounting import CHANGE_ONE, PrivacyLoss
from unveil.mechanisms.differential_privacy.answers import answer_notes
from unveil.mechanisms.differential_privacy.budget import Budget, noisy
from unveil.mechanisms.differential_privacy.domains import checked_bounds
from unveil.mechanisms.differential_privacy.ledger import Account, charged
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, made_anew
from unveil.releases import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["dp_microaggregate"]

_NEIGHBOURS = "The number of records is taken as known: neighbours differ in the values of records, not in their number."

_STEPS = 1 << 20
"""Values are rounded to this many steps from their lower to their upper bound, so that sums are exact."""
_ROUNDING = 1.0 + 2.0**-20
"""A factor that exceeds the rounding error of dividing a sum by the size of its group."""


@heeds_study
@checked_arguments
def dp_microaggregate(
    data: Data,
    attributes: Names,
    *,
    bounds: Mapping[str, tuple[float, float]],
    k: int,
    epsilon: float,
    person: str | None = None,
    contribution: int = 1,
    nulls: str = "error",
    ledger: Account | None = None,
) -> Release[Treatment]:
    r"""Average groups of k records, add noise to the averages, and publish each average once per record of its group.

    The grouping must be insensitive: changing one record may change every group by at most one record. So records are sorted in
    a fixed order, by the sum of their values on a scale from 0 to 1 between the declared bounds, and cut into groups of k; the
    last group takes the rest. Optimal and MDAV microaggregation are not insensitive, and noise of this scale would not protect
    them.

    With values cut to their bounds, the averages of d attributes change in total, on that scale, by

    .. math:: \Delta_1 = \frac{1}{k} \quad (d = 1), \qquad
              \Delta_1 = \frac{d}{k} \left\lfloor \frac{n}{k} \right\rfloor \quad (d > 1)

    A single attribute is sorted by its values: the value that one group passes on, the next receives, and the changes add up to
    the change of one value. With several attributes they do not, and noise is saved only if k exceeds the square root of n. If
    a person has up to c records, the averages change by c times as much.

    Parameters
    ----------
    data
        The records.
    attributes
        Columns of numbers; the release has no others, because they would link a record to its group.
    bounds
        The lowest and the highest value of each, known without looking at the data.
    k
        The smallest number of records in a group.
    epsilon
        The budget, above 0. The noise is Laplace noise from OpenDP, which cannot be seeded.
    person, contribution, ledger
        As for `dp_count`; the neighbours of the ledger must be "change one".
    nulls
        "drop": a record with a null is left out. "error": refuse.

    Returns
    -------
    Release
        The records are in the order of the groups, so that the row of a record reveals nothing more.

    References
    ----------
    J. Soria-Comas, J. Domingo-Ferrer, D. Sanchez, S. Martinez (2014), Enhancing data utility in differential privacy via
    microaggregation-based k-anonymity, VLDB Journal 23(5), 771-794.
    D. Sanchez, J. Domingo-Ferrer, S. Martinez, J. Soria-Comas (2016), Utility-preserving differentially private data releases via
    individual ranking microaggregation, Information Fusion 30, 1-14.
    """
    if nulls == "keep":
        raise ArgumentError("an average has no meaning with nulls; choose nulls='drop' or 'error'.")
    budget, unit = Budget.requested("laplace", epsilon, None), Unit.requested(data, person, contribution)
    chosen = unit.cut(choose(data, attributes, nulls))
    size = checked_count("k", k, least=1, most=chosen.records.records, of="records")
    scaled, low, width = _scaled({name: numbers(chosen.column(name), "an average") for name in chosen.names}, bounds)
    order = np.lexsort((*scaled.T[::-1], scaled.sum(axis=1)))
    groups = chosen.records.records // size
    of_place = np.minimum(np.arange(chosen.records.records) // size, groups - 1)
    means = np.add.reduceat(scaled[order], np.arange(groups) * size) / np.bincount(of_place)[:, None]
    together = unit.contribution * (1.0 / size if scaled.shape[1] == 1 else scaled.shape[1] * groups / size)
    remarks = charged(ledger, "dp_microaggregate", [PrivacyLoss("pure", budget.epsilon, neighbours=CHANGE_ONE)], unit)
    answer, spent = noisy("averages", means.ravel().tolist(), budget, l1=together * _ROUNDING, l2=together * _ROUNDING)
    centroids = np.clip(np.array(answer).reshape(means.shape), 0.0, 1.0) * width + low
    columns = {name: centroids[of_place, at] for at, name in enumerate(chosen.names)}
    release = replace(chosen.records, frame=type(chosen.records.frame)(columns))
    figures = {"groups": groups, "sensitivity": together, "scale": spent.scale, "spent": [spent.to_dict()]}
    declared = {name: list(bounds[name]) for name in chosen.names}
    settings = {"k": size, "epsilon": budget.epsilon, "bounds": declared, **unit.settings, "nulls": nulls}
    notes = (*answer_notes(unit), _NEIGHBOURS, *remarks)
    rows = chosen.rows[order]
    treatment = Treatment("dp_microaggregation", chosen.names, figures)
    return Release(release, treatment, rows, settings, notes, left_out=made_anew(chosen.others))


def _scaled(
    values: Mapping[str, NDArray[np.float64]], bounds: Mapping[str, tuple[float, float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the values cut to their bounds on a scale from 0 to 1, the lower bounds and the widths."""
    limits = []
    for name in values:
        if name not in bounds:
            raise ArgumentError(f"the bounds of {shown(name)} are not declared; give the lowest and the highest value.")
        limits.append(checked_bounds(bounds[name], f"the bounds of {shown(name)}"))
    low, high = np.array(limits).T
    table = np.column_stack(list(values.values()))
    return np.rint((np.clip(table, low, high) - low) / (high - low) * _STEPS) / _STEPS, low, high - low
