r"""What if every value stays in the table, but none with its owner? Data shuffling, with places assigned by a model of ranks.

With :math:`z_X` the normal scores of the attributes and :math:`z_S` those of columns that stay, both assumed to be jointly
normal with the correlations :math:`P`, a new score is drawn for every record,

.. math:: y = P_{XS} P_{SS}^{-1} z_S + e, \qquad e \sim N(0,\; P_{XX} - P_{XS} P_{SS}^{-1} P_{SX}) ,

which depends on the record only through its :math:`z_S`. The record with the n-th lowest score gets the n-th lowest value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, names_of
from unveil.errors import EmptyDataError
from unveil.formats import counted
from unveil.mechanisms.arguments import moved_or_kept
from unveil.mechanisms.columns import CellNulls, Chosen, by_attribute, choose, ranks
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, watched

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

    Matrix = NDArray[np.float64]

__all__ = ["shuffle"]

_LEAST = 3
"""Fewer records have no correlations to keep."""
_ROUNDING = 1e-9


@heeds_study
@checked_arguments
def shuffle(
    data: Data,
    attributes: Names,
    *,
    given: Names = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Move the values of some attributes to other records, so that ranks are related as before.

    Every attribute keeps its distribution exactly. Rank correlations, among the attributes and with the columns `given`, are
    kept on average. From the release, anyone who knows a record's columns `given` learns no more about its attributes than
    these columns reveal.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns whose values change places: numbers, dates, or other values with an order.
    given
        Columns that stay, and whose rank correlations with the attributes are kept; of the same kinds.
    orders
        The values of columns that are neither numbers nor dates, lowest first.
    nulls
        ``"error"``: refuse. ``"keep"``: records with a null in the columns named take no part. ``"drop"``: leave them out.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `shuffled`, the number of records that took part, `own_rank_correlation`, that of each attribute with
        its original, and `rank_correlation_shift`, the largest change of a rank correlation.

    Raises
    ------
    ArgumentError
        If a column has no order, or is named on both sides.
    EmptyDataError
        If fewer than three records take part.

    References
    ----------
    .. [1] Muralidhar, Sarathy (2006), Data shuffling: a new masking approach for numerical data, Management Science 52(5),
       658-670. doi:10.1287/mnsc.1050.0503

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.shuffle("adult", ["hours-per-week", "capital-gain"], given="age", seed=1)
    >>> release.figures["shuffled"], release.figures["rank_correlation_shift"] < 0.05
    (30162, True)
    """
    own, kept = names_of(attributes), names_of(given)
    moved_or_kept(own, kept, "shuffled")
    chance, chosen = chance_of(seed, key_file), choose(data, (*own, *kept), nulls)
    known = by_attribute(orders or {}, chosen.names, "an order")
    rows = np.flatnonzero(np.logical_and.reduce([chosen.present(name) for name in chosen.names]))
    if len(rows) < _LEAST:
        raise EmptyDataError(
            f"shuffling needs at least three records with all values, and there is {counted(len(rows), 'such')}."
        )
    ranked = active_run().each("ranks", chosen.names)
    before = np.column_stack([_mean_ranks(ranks(chosen.column(name), known.get(name), "shuffling")[rows]) for name in ranked])
    settings = {"given": list(kept), "nulls": nulls}
    random = chosen.draws(chance, "shuffling", {**settings, "orders": known})
    scores = watched(len(rows), lambda: _new_scores(before, len(own), random))
    after, columns = before.copy(), {}
    for at, name in enumerate(chosen.each(own)):
        to, source = (watched(len(rows), partial(np.argsort, by[:, at], kind="stable")) for by in (scores, before))
        after[to, at] = before[source, at]
        places = np.arange(chosen.records.records)
        places[rows[to]] = rows[source]
        columns[name] = chosen.column(name).gather(places)
    figures = watched(len(rows), lambda: _figures(chosen, own, before, after))
    return treated("shuffling", replace(chosen, names=own), columns, settings, figures, chance, keep_order=keep_order)


def _mean_ranks(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rank of every value from 1 on; equal values share the mean of their ranks."""
    size = np.bincount(codes)
    return np.asarray((np.cumsum(size) - (size - 1) / 2.0)[codes])


def _correlations(ranked: Matrix) -> Matrix:
    """Return rank correlations; a column that does not vary has correlation 0 with all others."""
    centred = ranked - ranked.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(length > 0.0, length, 1.0)
    correlations = scaled.T @ scaled
    np.fill_diagonal(correlations, 1.0)
    return np.asarray(correlations)


def _new_scores(ranked: Matrix, own: int, random: np.random.Generator) -> Matrix:
    """Draw normal scores of the first columns, given those of the others, that are related as the ranks are."""
    from scipy.special import ndtri

    related = 2.0 * np.sin(np.pi / 6.0 * _correlations(ranked))  # of normal scores, from those of ranks
    kept = related[own:, own:]
    weights = np.linalg.lstsq(kept, related[own:, :own], rcond=_ROUNDING)[0]
    left = related[:own, :own] - related[:own, own:] @ weights
    values, axes = np.linalg.eigh((left + left.T) / 2.0)
    noise = random.normal(size=(len(ranked), own)) @ (axes * np.sqrt(np.maximum(values, 0.0))).T
    return np.asarray(ndtri((ranked[:, own:] - 0.5) / len(ranked)) @ weights + noise)


def _figures(chosen: Chosen, own: Sequence[str], before: Matrix, after: Matrix) -> dict[str, Any]:
    with_itself = [_correlations(np.column_stack([before[:, at], after[:, at]]))[0, 1] for at in range(len(own))]
    return {
        "shuffled": len(before),
        "own_rank_correlation": dict(zip(own, map(float, with_itself), strict=True)),
        "rank_correlation_shift": float(np.abs(_correlations(after) - _correlations(before)).max()),
        "skipped": chosen.skipped,
    }
