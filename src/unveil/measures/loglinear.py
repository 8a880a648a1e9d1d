"""How many of a sample's uniques are unique in the population? A log-linear model of the sample's table.

A cell that holds one record is safe if its neighbours are full, and at risk if they are empty. A log-linear model infers this
from the margins of the table: it expects lambda_k records of the sample in cell k, so lambda_k / pi people of the population; the
rest follows from the Poisson distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.errors import ArgumentError
from unveil.measures.interval import Interval
from unveil.measures.loglinear_fit import Expected, ModelFit, fit_of, uniques_interval, with_rates
from unveil.measures.loglinear_tables import CLOSE_ENOUGH, MOST_CELLS, FittedTable, fitted_table
from unveil.measures.population import checked_sampling_fraction, checked_sizes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CellWeights", "LoglinearUniqueness", "ModelFit", "ModelOrder", "WeightUse", "expected_counts", "loglinear_uniqueness"]

ModelOrder: TypeAlias = Literal[1, 2]
WeightUse: TypeAlias = Literal["cells", "pml", "ce"]

_BLOCK = 2**20
"""How many cells of a table are processed at a time."""
_FEW, _NODES = 200.0, 64
"""Up to this many people, E(1/F) is an integral over this many nodes; above, its expansion is as accurate."""
_BY_OFFSET = (
    "empty cells are taken to be sampled at the rate of the whole, so their residuals do not say how far the model is off; "
    "use pml: without interactions, which is checked"
)
_BY_INTERACTIONS = (
    "with interactions a model that is fitted to weights follows those of single records, which its residuals do not show; "
    "use pml: without interactions, which is checked"
)
_UNEQUAL = (
    "records stand for different numbers of people, and the check of a model of counts cannot allow for that; use pml: without "
    "interactions"
)
_LARGEST_BY_WEIGHTS = 0.15
_LARGE_SAMPLE = "weights differ, and from samples of more than 15 % it is not known how far the model by weights may err"


@dataclass(frozen=True, slots=True, eq=False)
class LoglinearUniqueness:
    """The risk of a sample's uniques under a log-linear model.

    Attributes
    ----------
    records, cells, table_cells
        The numbers of records of the sample, of cells that hold any, and of all cells of the table, empty ones included.
    sample_uniques
        The number of cells of one record.
    sampling_fraction, order
        pi, and the order of the interactions in the model.
    population_uniques
        tau 1: the expected number of sample uniques that are population uniques.
    correct_matches
        tau 2: the expected number of correct matches when every sample unique is matched at random with one of the people
        of its cell.
    expected
        The expected number of correct matches when every record is matched in this way, including those that are not unique.
    highest
        The highest E(1/F) of a record; None if there are none.
    interval, interval_reason
        A confidence interval of `population_uniques`, or why there is none that could be trusted.
    fit, fit_reason
        How far the model is off, by the diagnostics of Skinner and Shlomo, or why that was not computed.
    unique_cells
        The positions of the sample uniques among the given cells.
    uniqueness, match
        For each sample unique, P(F = 1 | f = 1) and E(1/F | f = 1).
    converged, cycles, deviation
        Whether the fit reached its margins, in how many cycles, and by how many records the worst margin is off.
    """

    records: int
    cells: int
    table_cells: int
    sample_uniques: int
    sampling_fraction: float
    order: int
    population_uniques: float
    correct_matches: float
    expected: float
    highest: float | None
    interval: Interval | None
    interval_reason: str | None
    fit: ModelFit | None
    fit_reason: str | None
    unique_cells: NDArray[np.int64]
    uniqueness: NDArray[np.float64]
    match: NDArray[np.float64]
    converged: bool
    cycles: int
    deviation: float

    @property
    def population_unique_share(self) -> float | None:
        """The expected population uniques as a share of the sample uniques; None if there are none."""
        return self.population_uniques / self.sample_uniques if self.sample_uniques else None

    @property
    def correct_match_share(self) -> float | None:
        """The expected correct matches as a share of the sample uniques; None if there are none."""
        return self.correct_matches / self.sample_uniques if self.sample_uniques else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "records": self.records,
            "cells": self.cells,
            "table_cells": self.table_cells,
            "sample_uniques": self.sample_uniques,
            "sampling_fraction": self.sampling_fraction,
            "order": self.order,
            "population_uniques": self.population_uniques,
            "correct_matches": self.correct_matches,
            "expected": self.expected,
            "highest": self.highest,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "interval_reason": self.interval_reason,
            "fit": None if self.fit is None else self.fit.to_dict(),
            "fit_reason": self.fit_reason,
            "population_unique_share": self.population_unique_share,
            "correct_match_share": self.correct_match_share,
            "unique_cells": self.unique_cells.tolist(),
            "uniqueness": self.uniqueness.tolist(),
            "match": self.match.tolist(),
            "converged": self.converged,
            "cycles": self.cycles,
            "deviation": self.deviation,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """The sampling weights of the cells, and how a model uses them.

    Attributes
    ----------
    sums
        The sum of the weights in each cell: an estimate of its people.
    use
        "cells": the model is fitted to the sample's counts, and each cell is sampled at its own rate. "pml": it is fitted to the
        sums of the weights, by pseudo maximum likelihood. "ce": it is fitted to the sample's counts with the cells' rates as
        offset, where empty cells have the rate of the whole (Clogg and Eliason).
    """

    sums: NDArray[np.float64]
    use: WeightUse = "cells"

    def people(self, n: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of people that a record of each cell stands for, at least one."""
        return np.maximum(self.sums / n, 1.0)

    def differ(self, n: NDArray[np.int64]) -> bool:
        """Return whether the records of some cells stand for more people than those of others."""
        each = self.people(n)
        return bool(len(each)) and float(each.max()) > float(each.min()) * (1.0 + CLOSE_ENOUGH)


def loglinear_uniqueness(
    codes: Sequence[ArrayLike],
    sizes: Sequence[int],
    n: ArrayLike,
    *,
    sampling_fraction: float,
    order: ModelOrder = 1,
    terms: Sequence[Sequence[int]] | None = None,
    weights: CellWeights | None = None,
    confidence: float = 0.95,
) -> LoglinearUniqueness:
    r"""Estimate how many sample uniques are population uniques, and how many random matches of them would be correct.

    Sample and population counts of a cell are Poisson: :math:`f_k \sim P(\lambda_k)` and, independently of it, the people
    of the cell outside the sample :math:`F_k - f_k \sim P(\mu_k)`, :math:`\mu_k = (1 - \pi) \lambda_k / \pi`. So

    .. math:: \tau_1 = \sum_{k: f_k = 1} P(F_k = 1 \mid f_k = 1) = \sum_{k: f_k = 1} e^{-\mu_k}, \qquad
        \tau_2 = \sum_{k: f_k = 1} E(1/F_k \mid f_k = 1) = \sum_{k: f_k = 1} \frac{1 - e^{-\mu_k}}{\mu_k}

    where lambda is the maximum likelihood fit of a log-linear model to the sample's table.

    Parameters
    ----------
    codes
        For each column the code of every non-empty cell; each cell occurs once.
    sizes
        How many values each column has.
    n
        The records in each cell, at least one.
    sampling_fraction
        pi, the share of the population that was sampled.
    order
        1: the columns are independent, :math:`\lambda_k = N \prod_a N_{a,k} / N` from the one-way margins, evaluated at the
        sample's cells only. 2: all two-way interactions, by iterative proportional fitting of the whole table, of at most
        5,000,000 cells.
    terms
        A model of your own in place of an order: the columns, by their places, that interact with each other. Every column
        has its own effect, and columns that interact have all interactions among them. None: as `order` says.
    weights
        The sampling weights of the cells, if records stand for different numbers of people: then the people of a cell outside
        the sample are lambda (w - 1), w being its mean weight, or, if lambda is fitted to weights, lambda / pi times one minus
        the cell's own rate [2]_ [3]_. None: every record stands for 1 / pi.
    confidence
        The confidence of the interval of tau 1. It is given if the model's fit can be checked (tables of at most 5,000,000 cells)
        and is not found to be far off; then it held the truth in over 95 % of simulated samples. With weights that differ it is
        given for "pml" without interactions only, in samples of at most 15 %.

    Raises
    ------
    ArgumentError
        If the sampling fraction is outside (0, 1], the lists do not fit together, or the whole table is too large.

    Notes
    -----
    In large sparse tables the estimated risk falls as the model grows [2]_: a model that leaves out interactions spreads records
    over cells that are truly empty and leaves too few for the others, which overstates the risk; a model with too many
    interactions follows the sample, so that lambda nears one in the cell of every unique, and understates it. In small, full
    tables independence may err either way. Combinations that cannot occur (structural zeros) are not known to the model: order 1
    gives them records, order 2 gives them none if a pair of their values never occurs in the sample. Two columns at order 2 are
    the saturated model, in which lambda is the count itself. With a sampling fraction of one both figures are the number of
    sample uniques. If a fit ends before its margins are reached, `converged` and `deviation` show it. sdcMicro's `modRisk`
    leaves out the division of lambda by pi.

    References
    ----------
    .. [1] Skinner, Holmes (1998), Estimating the re-identification risk per record in microdata, Journal of Official
       Statistics 14(4), 361-372.
    .. [2] Skinner, Shlomo (2008), Assessing identification risk in survey microdata using log-linear models, Journal of
       the American Statistical Association 103(483), 989-1001.
    .. [3] Clogg, Eliason (1987), Some common problems in log-linear analysis, Sociological Methods and Research 16(1), 8-44.

    Examples
    --------
    >>> result = loglinear_uniqueness([[0, 0, 1], [0, 1, 1]], [2, 2], [1, 6, 3], sampling_fraction=0.5)
    >>> round(result.population_uniques, 4), round(result.correct_matches, 4)
    (0.4966, 0.7192)
    """
    pi = checked_sampling_fraction(sampling_fraction)
    counts = checked_sizes(n, "n")
    columns, at = _checked_codes(codes, sizes, len(counts)), np.flatnonzero(counts == 1)
    wanted = _terms(order, len(columns)) if terms is None else terms
    if weights is None:
        model = fitted_table(columns, sizes, counts, wanted)
        unsampled = (1.0 / pi - 1.0) * model.expected
    else:
        model, unsampled = _weighted(columns, sizes, counts, wanted, weights)
    uniqueness, match = np.exp(-unsampled[at]), _expected_match(counts, unsampled)
    matched, table_cells = match[at], math.prod(int(size) for size in sizes)
    unequal = weights if weights is not None and weights.differ(counts) else None
    reason = _unchecked(table_cells, unequal, interactions=any(len(term) > 1 for term in wanted))
    fit = _checked(model, counts, pi, unequal, lambda: fitted_table(columns, sizes, counts, wanted)) if reason is None else None
    interval: Interval | str = "the fit of the model was not checked"
    if fit is not None:
        interval = _untold(unequal, pi) or uniques_interval(fit, uniqueness, sampling_fraction=pi, confidence=confidence)
    return LoglinearUniqueness(
        records=int(counts.sum()),
        cells=len(counts),
        table_cells=table_cells,
        sample_uniques=len(at),
        sampling_fraction=pi,
        order=order if terms is None else max([1, *map(len, terms)]),
        population_uniques=float(uniqueness.sum()),
        correct_matches=float(matched.sum()),
        expected=float((counts * match).sum()),
        highest=float(match.max()) if len(match) else None,
        interval=interval if isinstance(interval, Interval) else None,
        interval_reason=interval if isinstance(interval, str) else None,
        fit=fit,
        fit_reason=reason,
        unique_cells=at,
        uniqueness=uniqueness,
        match=matched,
        converged=model.deviation <= CLOSE_ENOUGH,
        cycles=model.cycles,
        deviation=model.deviation,
    )


def expected_counts(
    codes: Sequence[ArrayLike], sizes: Sequence[int], n: ArrayLike, *, order: ModelOrder = 1
) -> NDArray[np.float64]:
    """Return lambda, the number of records that the log-linear model expects in each of the given cells.

    Examples
    --------
    >>> expected_counts([[0, 0, 1], [0, 1, 1]], [2, 2], [1, 6, 3]).round(3).tolist()
    [0.7, 6.3, 2.7]
    """
    counts = checked_sizes(n, "n")
    columns = _checked_codes(codes, sizes, len(counts))
    return fitted_table(columns, sizes, counts, _terms(order, len(columns))).expected


def _unchecked(table_cells: int, weights: CellWeights | None, *, interactions: bool) -> str | None:
    """Return the reason why the fit of a model is not checked; None if it is. Weights are given only if they differ."""
    if table_cells > MOST_CELLS:
        return f"the table has {table_cells:,} cells, more than {MOST_CELLS:,}; use fewer or coarser columns"
    if weights is not None and weights.use == "ce":
        return _BY_OFFSET
    return _BY_INTERACTIONS if weights is not None and weights.use == "pml" and interactions else None


def _untold(weights: CellWeights | None, pi: float) -> str | None:
    """Return the reason why a checked model gives no interval; None if it does. Weights are given only if they differ."""
    if weights is None:
        return None
    if weights.use != "pml":
        return _UNEQUAL
    return _LARGE_SAMPLE if pi > _LARGEST_BY_WEIGHTS else None


def _checked(
    model: FittedTable, n: NDArray[np.int64], pi: float, weights: CellWeights | None, of_counts: Callable[[], FittedTable]
) -> ModelFit:
    """Return the diagnostics of a model; a model that is fitted to weights is checked together with the model of the counts."""
    if weights is None or weights.use != "pml":
        held = Expected(model.expected, pi)
        return fit_of((Expected(mu, pi) for mu in model.blocks()), held, held, n)
    records, each = of_counts(), weights.people(n)
    mean = max(1.0, float(weights.sums.sum()) / max(1, int(n.sum())))
    pairs = zip(model.blocks(), records.blocks(), strict=True)
    blocks = (with_rates(mean * people, some, 1.0 / mean) for people, some in pairs)
    empty = with_rates(mean * model.expected, records.expected, 1.0 / mean)
    return fit_of(blocks, empty, Expected(mean * model.expected / each, 1.0 / each), n)


def _checked_codes(codes: Sequence[ArrayLike], sizes: Sequence[int], cells: int) -> list[NDArray[np.int64]]:
    columns = [np.asarray(column) for column in codes]
    if not columns or len(columns) != len(sizes):
        raise ArgumentError(
            f"there are {len(columns)} columns of codes but {len(sizes)} sizes; give at least one column, and one size for each."
        )
    for at, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if column.shape != (cells,):
            raise ArgumentError(f"column {at + 1} has codes of shape {column.shape} for {cells:,} cells.")
        if cells and (column.dtype.kind not in "iu" or int(column.min()) < 0 or int(column.max()) >= size):
            raise ArgumentError(f"column {at + 1} must hold whole codes from 0 to below its size, {size:,}.")
    return [column.astype(np.int64) for column in columns]


def _expected_match(f: NDArray[np.int64], unsampled: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return E(1 / (f + P)) for P Poisson: :math:`\int_0^1 t^{f-1} e^{-\mu (1 - t)} dt`."""
    people = f + unsampled
    match = 1.0 / people + unsampled / people**3
    few = people <= _FEW
    nodes, weights = _nodes()
    t, held = (nodes + 1.0) / 2.0, np.flatnonzero(few)
    for piece in np.array_split(held, max(1, len(held) * _NODES // _BLOCK)):
        inside = (f[piece, None] - 1) * np.log(t) - unsampled[piece, None] * (1.0 - t)
        match[piece] = np.exp(inside) @ weights / 2.0
    alone = (f == 1) & (unsampled > 0.0)
    match[alone] = -np.expm1(-unsampled[alone]) / unsampled[alone]
    match[unsampled == 0.0] = 1.0 / f[unsampled == 0.0]
    return match


@cache
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of the integral; they are cached, because they take longer to compute than to use."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _terms(order: ModelOrder, columns: int) -> list[tuple[int, ...]]:
    if order not in (1, 2):
        raise ArgumentError(f"order {order} is unknown; it is 1 (independence) or 2 (all two-way interactions).")
    return [] if order == 1 else list(combinations(range(columns), 2))


def _weighted(
    columns: list[NDArray[np.int64]],
    sizes: Sequence[int],
    n: NDArray[np.int64],
    terms: Sequence[Sequence[int]],
    weights: CellWeights,
) -> tuple[FittedTable, NDArray[np.float64]]:
    """Return a model that uses weights, and the number of people that it expects outside the sample."""
    each, mean = weights.people(n), max(1.0, float(weights.sums.sum()) / max(1, int(n.sum())))
    if weights.use == "pml":
        model = fitted_table(columns, sizes, weights.sums / mean, terms)
        return model, mean * model.expected * (1.0 - 1.0 / each)
    rates = (1.0 / each, 1.0 / mean) if weights.use == "ce" else None
    model = fitted_table(columns, sizes, n, terms, rates)
    return model, (each - 1.0) * model.expected
