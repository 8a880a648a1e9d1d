"""How many, how much, how much on average? Counts, sums, means and histograms with a stated loss of privacy.

Two tables are neighbours if one holds the records of one person more than the other. If the caller names the column of persons,
at most `contribution` records of each are used; if none is named, each record counts as a person. Sensitivities follow from
that and from the bounds and values that the caller declares, never from the data. Sums are computed in integer multiples of a
power of two that follows from the bounds, so that no rounding error adds to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_word
from unveil.errors import ArgumentError, shown
from unveil.mechanisms.arguments import Query, matching
from unveil.mechanisms.columns import choose, numbers
from unveil.mechanisms.differential_privacy.accounting import loss_of
from unveil.mechanisms.differential_privacy.answers import Private, answer_notes
from unveil.mechanisms.differential_privacy.budget import FOR_ONE_NUMBER, WHOLE, Budget, Spent, noisy
from unveil.mechanisms.differential_privacy.domains import checked_bounds, checked_domain, places, require_labels
from unveil.mechanisms.differential_privacy.ledger import Account, charged
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.mechanisms.door import heeds_study
from unveil.sources import open_microdata, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["dp_count", "dp_histogram", "dp_mean", "dp_sum"]

_STEPS = 1 << 20
"""A bound is this many steps of the grid on which values are summed."""
_LARGEST_WHOLE = 1 << 31
"""Four billion values of up to this size can be summed."""


@heeds_study
@checked_arguments
def dp_count(
    data: Data,
    where: Query | None = None,
    *,
    epsilon: float,
    mechanism: str = "geometric",
    delta: float | None = None,
    person: str | None = None,
    contribution: int = 1,
    ledger: Account | None = None,
) -> Private:
    r"""Count records, with noise.

    .. math:: \Delta = c

    where c is the largest number of records of one person.

    Parameters
    ----------
    data
        The records, or counts of the columns of the conditions and of the persons.
    where
        By column, a value, several values, or a function that returns whether a value matches; none: all records.
    epsilon
        The budget, above 0.
    mechanism, delta
        "geometric", "laplace", "staircase" (integers; less error if a person counts more than once), or "gaussian" with a
        delta. "auto": of those without a delta, the one with the lowest expected error, which the notes name.
    person
        The column of persons, who own the records: at most `contribution` records of each person count, chosen at random, and
        the guarantee is per person. None: the persons of a study or project; without any, the guarantee is per record.
    contribution
        The largest number of records of one person that count.
    ledger
        The ledger in which the loss is recorded, open or its path; a loss that exceeds its budget is refused (`PrivacyLedger`).

    Examples
    --------
    >>> from unveil import mechanisms
    >>> answer = mechanisms.dp_count("adult", {"sex": "Female"}, epsilon=50)
    >>> 9770 < answer.value < 9790, answer.spent[0].scale
    (True, 0.02)
    """
    unit = Unit.requested(data, person, contribution)
    budget, why = Budget.requested(mechanism, epsilon, delta, FOR_ONE_NUMBER).least(unit.contribution, whole=True)
    n, most = _matching(data, where or {}, unit), unit.contribution
    notes = charged(ledger, "count", [loss_of(budget)], unit)
    (value,), spent = noisy("count", [n], budget, l1=most, l2=most)
    return Private("count", value, (spent,), {"where": sorted(where or {}), **unit.settings}, (*answer_notes(unit), *why, *notes))


@heeds_study
@checked_arguments
def dp_sum(
    data: Data,
    attribute: str,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    mechanism: str = "laplace",
    delta: float | None = None,
    person: str | None = None,
    contribution: int = 1,
    nulls: str = "error",
    ledger: Account | None = None,
) -> Private:
    r"""Sum an attribute, with noise; values beyond the declared bounds count as the bound.

    .. math:: \Delta = c \max(|lower|, |upper|)

    Parameters
    ----------
    data
        The records.
    attribute
        A column of numbers; for geometric noise, of integers within integer bounds.
    bounds
        The lowest and the highest value that a record may have, known without looking at the data.
    epsilon, mechanism, delta, person, contribution, ledger
        As for `dp_count`.
    nulls
        "drop": a null adds nothing. "error": refuse.
    """
    unit, request = Unit.requested(data, person, contribution), Budget.requested(mechanism, epsilon, delta, FOR_ONE_NUMBER)
    values, low, high, whole = _bounded(data, attribute, bounds, nulls, unit, whole=mechanism in WHOLE)
    budget, why = request.least(unit.contribution * max(abs(low), abs(high)), whole=whole)
    notes = charged(ledger, f"sum of {attribute}", [loss_of(budget)], unit)
    total, spent = _noisy_sum("sum", values, max(abs(low), abs(high)), budget, unit.contribution)
    settings = {"bounds": [low, high], **unit.settings, "nulls": nulls}
    return Private(f"sum of {attribute}", total, (spent,), settings, (*answer_notes(unit), *why, *notes))


@heeds_study
@checked_arguments
def dp_mean(
    data: Data,
    attribute: str,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    mechanism: str = "laplace",
    delta: float | None = None,
    person: str | None = None,
    contribution: int = 1,
    nulls: str = "error",
    ledger: Account | None = None,
) -> Private:
    r"""Average an attribute, with noise: half of the budget goes to the sum of differences from the middle, half to the count.

    .. math:: m + \frac{\widetilde{\sum_i (x_i - m)}}{\tilde n}, \qquad m = \frac{lower + upper}{2}, \qquad
              \Delta_{sum} = c \, \frac{upper - lower}{2}, \quad \Delta_n = c

    The answer is cut to the bounds.

    Parameters
    ----------
    data
        The records.
    attribute
        A column of numbers.
    bounds
        The lowest and the highest value that a record may have, known without looking at the data.
    epsilon, mechanism, delta, person, contribution, ledger
        As for `dp_count`.
    nulls
        "drop": a null is not counted. "error": refuse.
    """
    budget = Budget.requested(mechanism, epsilon, delta).part(2)
    unit = Unit.requested(data, person, contribution)
    values, low, high, _ = _bounded(data, attribute, bounds, nulls, unit, whole=mechanism == "geometric")
    most = unit.contribution
    middle = (low + high) // 2 if mechanism == "geometric" else (low + high) / 2.0
    remarks = charged(ledger, f"mean of {attribute}", [loss_of(budget)] * 2, unit)
    total, on_sum = _noisy_sum("sum of differences", values - middle, max(high - middle, middle - low), budget, most)
    (n,), on_count = noisy("count", [len(values)], budget, l1=most, l2=most)
    mean = min(max(middle + total / max(n, 1.0), low), high)
    settings = {"bounds": [low, high], **unit.settings, "nulls": nulls}
    notes = (*answer_notes(unit), *remarks)
    return Private(f"mean of {attribute}", float(mean), (on_sum, on_count), settings, notes)


@heeds_study
@checked_arguments
def dp_histogram(  # noqa: PLR0913 - what to count, and whom to protect
    data: Data,
    attribute: str,
    *,
    values: Sequence[Any] | None = None,
    edges: Sequence[float] | None = None,
    epsilon: float,
    mechanism: str = "geometric",
    delta: float | None = None,
    person: str | None = None,
    contribution: int = 1,
    nulls: str = "error",
    ledger: Account | None = None,
) -> Private:
    r"""Count the records of each declared value, or between declared edges, with noise in every bin, including empty ones.

    One record is in one bin, so :math:`\Delta_1 = \Delta_2 = c` for any number of bins.

    Parameters
    ----------
    data
        The records.
    attribute
        The column.
    values
        The values to count, known without looking at the data; None among them counts nulls. Other values are not counted.
    edges
        Used instead of values: rising numbers; a bin reaches from one edge, included, to the next, and the last bin includes
        its upper edge. Numbers beyond the outer edges count in the outer bins.
    epsilon, mechanism, delta, person, contribution, ledger
        As for `dp_count`.
    nulls
        "keep": nulls count if None is among the values. "drop": they are not counted. "error": refuse.
    """
    budget, unit = Budget.requested(mechanism, epsilon, delta), Unit.requested(data, person, contribution)
    if (values is None) == (edges is None):
        raise ArgumentError("a histogram needs either the values to count or the edges of its bins.")
    chosen = unit.cut(choose(data, attribute, nulls))
    if edges is not None:
        labels, at = _between(numbers(chosen.column(attribute), "a histogram with edges"), edges)
    else:
        labels = checked_domain(attribute, values)
        require_labels(attribute, labels)
        at = places(chosen.column(attribute), labels)
    tallies = np.bincount(at[at >= 0], minlength=len(labels))
    notes = charged(ledger, f"histogram of {attribute}", [loss_of(budget)], unit)
    counts, spent = noisy("histogram", tallies.tolist(), budget, l1=unit.contribution, l2=unit.contribution)
    settings = {"bins": len(labels), **unit.settings, "nulls": nulls}
    bins = dict(zip(labels, counts, strict=True))
    return Private(f"histogram of {attribute}", bins, (spent,), settings, (*answer_notes(unit), *notes))


def _matching(data: Data, where: Query, unit: Unit) -> int:
    """Return the number of records that match and count, from counts if that is what the data is."""
    source = source_of(data)
    if source is None or not source.of_counts:
        records = open_microdata(data)
        return len(unit.kept(records.taken(np.flatnonzero(matching(records, where)))))
    named = [*where, *(() if unit.person is None else (unit.person,))]
    tally = source.count(list(dict.fromkeys(named)) or source.names[:1])
    cells = open_microdata(tally.frame)
    rows = np.flatnonzero(matching(cells, where))
    n = np.ones(cells.records, dtype=np.int64) if tally.n is None else tally.n
    return unit.number(cells.taken(rows), n[rows])


def _bounded(
    data: Data, attribute: str, bounds: tuple[float, float], nulls: str, unit: Unit, *, whole: bool
) -> tuple[NDArray[np.float64], float, float, bool]:
    """Return the values that count, cut to the declared bounds; the bounds; and whether both are integers."""
    low, high = checked_bounds(bounds)
    bounded = max(abs(low), abs(high)) <= _LARGEST_WHOLE and np.array([low, high]).dtype.kind in "iu"
    if whole and not bounded:
        raise ArgumentError(f"this noise is for whole numbers; give whole bounds up to {_LARGEST_WHOLE:,}, or use laplace.")
    checked_word("nulls", nulls, ("error", "drop"))
    chosen = unit.cut(choose(data, attribute, nulls))
    if whole and not chosen.column(attribute).dtype.is_integer():
        raise ArgumentError(f"this noise is for whole numbers, and column {shown(attribute)} holds others; use laplace.")
    values = np.clip(numbers(chosen.column(attribute), "a sum or mean"), low, high)
    return values, low, high, bounded and chosen.column(attribute).dtype.is_integer()


def _noisy_sum(what: str, values: NDArray[np.float64], largest: float, budget: Budget, most: int) -> tuple[Any, Spent]:
    """Sum values of at most `largest` on the grid, and add noise."""
    grid = 1.0 if budget.mechanism in WHOLE else 2.0 ** math.floor(math.log2(largest / _STEPS))
    total = int(np.rint(values / grid).astype(np.int64).sum())
    sensitivity = most * math.ceil(largest / grid) * grid
    exact = total if budget.mechanism in WHOLE else total * grid
    (answer,), spent = noisy(what, [exact], budget, l1=sensitivity, l2=sensitivity)
    return answer, spent


def _between(values: NDArray[np.float64], edges: Sequence[float]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the bins, and each value's bin; -1 for a null."""
    try:
        limits = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError):
        limits = np.empty(0)
    if limits.ndim != 1 or len(limits) < 2 or not np.all(np.isfinite(limits)) or np.any(np.diff(limits) <= 0.0):  # noqa: PLR2004
        raise ArgumentError("edges are at least two numbers, each above the one before.")
    last = len(limits) - 2
    ends = [repr(limit).removesuffix(".0") for limit in limits.tolist()]  # the shortest text that no other number has
    names = tuple(f"[{ends[at]}, {ends[at + 1]}{']' if at == last else ')'}" for at in range(last + 1))
    at = np.clip(np.searchsorted(limits, values, side="right") - 1, 0, last)
    return names, np.where(np.isnan(values), -1, at)
