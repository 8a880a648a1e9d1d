"""Which interactions does a log-linear model need? A formula given by the user, or a search that starts from independence.

As long as the model is found to overstate the uniques, the search adds a two-way interaction: of those with which it does not
understate them, the one that brings their estimated error nearest to zero (Skinner and Shlomo 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import cast

from unveil.counts import Counts
from unveil.errors import ArgumentError
from unveil.measures.loglinear import CellWeights, LoglinearUniqueness, WeightUse, loglinear_uniqueness
from unveil.measures.loglinear_formula import interactions

__all__ = ["fitted_model"]

_BY_WEIGHTS = ("pml", "ce")


def fitted_model(cells: Counts, model: int | str, sampling_fraction: float) -> tuple[LoglinearUniqueness, list[list[str]]]:
    """Return a model that is fitted to a count table, and the columns that interact in it.

    Parameters
    ----------
    cells
        The count table of the key; its weights, if it has some, say how each cell is sampled.
    model
        1: independence. 2: all pairs. "search": as many pairs as are needed. Else a formula, such as "age * sex + race". With
        "pml:" or "ce:" in front, the model is fitted to the weights, or with the cells' rates as offset; a search fits to counts.
    sampling_fraction
        The share of the population that was sampled.
    """
    names = cells.names
    use, text = _use_of(str(model), cells)
    pairs = [list(pair) for pair in combinations(range(len(names)), 2)]
    if text == "search":
        fitted, terms = _searched(cells, pairs, sampling_fraction)
        fitted = _fitted(cells, terms, sampling_fraction, use) if use != "cells" else fitted
    else:
        known = {"1": [], "2": pairs}
        terms = known[text] if text in known else interactions(text, names)
        fitted = _fitted(cells, terms, sampling_fraction, use)
    return fitted, [[names[at] for at in term] for term in terms]


def _use_of(model: str, cells: Counts) -> tuple[WeightUse, str]:
    """Return how the model uses weights, and the model itself."""
    use, colon, text = model.partition(":")
    if not colon or use.strip() not in _BY_WEIGHTS:
        return "cells", model.strip()
    if cells.weight is None:
        raise ArgumentError(f"a log-linear model by {use.strip()} needs sampling weights, and no column of `weights` is named.")
    return cast("WeightUse", use.strip()), text.strip()


def _fitted(
    cells: Counts, terms: Sequence[Sequence[int]], sampling_fraction: float, use: WeightUse = "cells"
) -> LoglinearUniqueness:
    sizes = [len(column.values) for column in cells.columns]
    weights = None if cells.weight is None else CellWeights(cells.weight, use)
    return loglinear_uniqueness(cells.codes, sizes, cells.n, sampling_fraction=sampling_fraction, terms=terms, weights=weights)


def _searched(cells: Counts, pairs: list[list[int]], sampling_fraction: float) -> tuple[LoglinearUniqueness, list[list[int]]]:
    terms: list[list[int]] = []
    best = _fitted(cells, terms, sampling_fraction)
    while best.fit is not None and best.fit.verdict == "overstates":
        tried = [(_fitted(cells, [*terms, pair], sampling_fraction), pair) for pair in pairs if pair not in terms]
        fitting = [
            (abs(one.fit.uniques_error), at) for at, (one, _) in enumerate(tried) if one.fit and one.fit.verdict != "understates"
        ]
        if not fitting:
            break
        best, added = tried[min(fitting)[1]]
        terms.append(added)
    return best, terms
