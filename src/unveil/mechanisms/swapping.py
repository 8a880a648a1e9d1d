"""What if two people exchange their values? Data swapping within strata, and rank swapping within a window of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_number
from unveil.attributes import Names, names_of
from unveil.counts import group
from unveil.errors import ArgumentError, shown
from unveil.formats import counted
from unveil.mechanisms.arguments import moved_or_kept
from unveil.mechanisms.columns import CellNulls, Chosen, by_attribute, choose, ranks
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, watched
from unveil.sources import encode

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["rank_swap", "strata_of", "swap"]


@heeds_study
@checked_arguments
def swap(
    data: Data,
    attributes: Names,
    *,
    share: float = 0.1,
    within: Names | None = None,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Let pairs of records, picked at random, exchange their values of some attributes.

    The values of the attributes move together. So the joint distribution of the attributes stays exactly as it was, and so does
    their joint distribution with the columns `within`; that with all other columns is disturbed.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns whose values move.
    share
        The share of records that take part, above 0 and at most 1. In each stratum the number of pairs follows from this share,
        rounded up or down at random, so that it holds on average.
    within
        Columns in which the two records of a pair agree; a null is a value of its own.
    nulls
        ``"error"``: refuse. ``"keep"``: records with a null in the attributes take no part. ``"drop"``: leave them out.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `swapped`, the number of records that took part, `changed`, the number whose values changed, and
        `strata`.

    References
    ----------
    .. [1] Dalenius, Reiss (1982), Data-swapping: a technique for disclosure control, Journal of Statistical Planning and
       Inference 6(1), 73-85.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.swap("adult", ["age", "race"], share=0.2, within="sex", seed=1)
    >>> release.figures["swapped"]
    6034
    """
    checked_number("share", share, above=0.0, most=1.0)
    chance, chosen, strata = chance_of(seed, key_file), choose(data, attributes, nulls), names_of(within)
    moved_or_kept(chosen.names, strata, "swapped")
    rows = np.flatnonzero(np.logical_and.reduce([chosen.present(name) for name in chosen.names]))
    stratum, number = strata_of(chosen, strata)
    settings = {"share": share, "within": list(strata), "nulls": nulls}
    source = np.arange(chosen.records.records)
    random = chosen.draws(chance, "swapping", settings)
    source[rows] = watched(len(rows), lambda: rows[_pairs(stratum[rows], number, share, random)])
    figures = {
        "swapped": int(np.count_nonzero(source != np.arange(len(source)))),
        "changed": _changed(chosen, source),
        "strata": number,
        "skipped": chosen.skipped,
    }
    columns = {name: chosen.column(name).gather(source) for name in chosen.each()}
    return treated("swapping", chosen, columns, settings, figures, chance, keep_order=keep_order)


@heeds_study
@checked_arguments
def rank_swap(
    data: Data,
    attributes: Names,
    *,
    window: float | Mapping[str, float] = 20.0,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Let every value change places with one of a similar rank.

    Each attribute is sorted by itself. From the lowest rank on, every value that has not moved yet changes places with another
    such value, picked at random within the window that follows. So every attribute keeps its distribution exactly, and no value
    moves by more ranks than the window spans; the smaller the window, the better relations are kept.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns to swap, each by itself: numbers, dates, or other values with an order.
    window
        The window in percent of the records that have a value, above 0 and at most 100; one for all or by attribute. An
        intruder who knows a small number of attributes re-identifies most people (by four numbers, 99 % of them at a window of
        5 %, 10 % at the default).
    orders
        The values of attributes that are neither numbers nor dates, lowest first.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay where they are. ``"drop"``: leave out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the release (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `window`, in ranks, `largest_move` and `mean_move`, the ranks that values moved, by attribute.

    Raises
    ------
    ArgumentError
        If a window contains no other record, or is out of range.

    Notes
    -----
    As fast as sorting. Equal values are ranked at random, because if they were ranked by position, the middle ones of many
    would surely stay.

    References
    ----------
    .. [1] Moore (1996), Controlled data-swapping techniques for masking public use microdata sets, U.S. Bureau of the Census.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> release = mechanisms.rank_swap("adult", ["age", "hours-per-week"], window=2)
    >>> release.figures["window"]["age"], release.figures["largest_move"]["age"] <= 603
    (603, True)
    """
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    windows, known = by_attribute(window, chosen.names, "a window"), by_attribute(orders or {}, chosen.names, "an order")
    settings = {"window": windows, "nulls": nulls}
    random = chosen.draws(chance, "rank swapping", {**settings, "orders": known})
    columns: dict[str, Any] = {}
    figures: dict[str, Any] = {"window": {}, "largest_move": {}, "mean_move": {}, "skipped": chosen.skipped}
    for name in active_run().each("columns", chosen.names):
        percent = checked_number(f"the window of {shown(name)}", windows.get(name), above=0.0, most=100.0)
        rows = np.flatnonzero(chosen.present(name))
        reach = _reach(name, percent, len(rows))
        values = _sortable(chosen.column(name), known.get(name))[rows]
        order = watched(len(rows), partial(np.lexsort, (random.random(len(rows)), values)))
        partner = watched(len(rows), partial(_partners, len(rows), reach, random))
        columns[name] = _exchanged(chosen.column(name), rows[order], partner)
        moves = np.abs(partner - np.arange(len(rows)))
        figures["window"][name], figures["largest_move"][name] = reach, int(moves.max(initial=0))
        figures["mean_move"][name] = float(moves.mean()) if len(rows) else 0.0
    return treated("rank swapping", chosen, columns, settings, figures, chance, keep_order=keep_order)


def strata_of(chosen: Chosen, names: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return the stratum of every record, by its values of some columns, and the number of strata: one without columns."""
    if not names:
        return np.zeros(chosen.records.records, dtype=np.int64), 1
    coded = [encode(chosen.column(name)) for name in names]
    of_record, cells = group([column.codes for column in coded], [len(column.values) for column in coded])
    return of_record, len(cells[0])


def _pairs(stratum: NDArray[np.int64], number: int, share: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Return, for every record, the record it takes values from: its partner, which is in the same stratum, or itself."""
    size = np.bincount(stratum, minlength=number)
    pairs = np.minimum(np.floor(share * size / 2.0 + random.random(number)).astype(np.int64), size // 2)
    mixed = random.permutation(len(stratum))
    mixed = mixed[np.argsort(stratum[mixed], kind="stable")]
    place = np.arange(len(stratum)) - (np.cumsum(size) - size)[stratum[mixed]]
    takes_part = np.flatnonzero(place < 2 * pairs[stratum[mixed]])
    source = np.arange(len(stratum))
    source[mixed[takes_part]] = mixed[takes_part + 1 - 2 * (place[takes_part] % 2)]
    return source


def _changed(chosen: Chosen, source: NDArray[np.int64]) -> int:
    """Count the records whose values have changed."""
    other = np.zeros(len(source), dtype=bool)
    for name in chosen.names:
        codes = encode(chosen.column(name)).codes
        other |= codes != codes[source]
    return int(other.sum())


def _reach(name: str, percent: float, records: int) -> int:
    """Return the number of ranks that a window spans; refuse a window that spans none."""
    reach = int(np.floor(percent * records / 100.0))
    if records > 1 and reach < 1:
        raise ArgumentError(
            f"a window of {percent:g} % of {counted(records, 'record')} of {shown(name)} holds no other record; "
            f"it must be at least {100.0 / records:.3g} %."
        )
    return reach


def _sortable(column: Any, order: Sequence[Any] | None) -> NDArray[Any]:
    """Return numbers as they are, and the ranks of other values."""
    if order is None and (column.dtype.is_float() or (column.dtype.is_integer() and not str(column.dtype).endswith("128"))):
        return np.asarray(column.to_numpy())
    return ranks(column, order, "rank swapping")


def _partners(records: int, reach: int, random: np.random.Generator) -> NDArray[np.int64]:
    from unveil.mechanisms.rank_swap_kernel import near_partners

    return np.asarray(near_partners(reach, random.random(records)))


def _exchanged(column: Any, by_rank: NDArray[np.int64], partner: NDArray[np.int64]) -> Any:
    source = np.arange(len(column))
    source[by_rank] = by_rank[partner]
    return column.gather(source)
