"""What if k people share one value? Microaggregation: groups of at least k similar records, each with one common value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_array, checked_count, checked_number, checked_word
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, listed
from unveil.fitting import kind_of
from unveil.formats import counted
from unveil.mechanisms.arguments import other_side
from unveil.mechanisms.columns import CellNulls, Chosen, choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.microaggregation.attributes import AggregatedAttribute, prepared
from unveil.mechanisms.microaggregation.dominance import largest_share, refuse_dominant
from unveil.mechanisms.microaggregation.grouping import Partition, by_method, grouped
from unveil.mechanisms.swapping import strata_of
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import Chance, chance_of
from unveil.releases import Release
from unveil.sources import encode

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["microaggregate"]

_METHODS = ("mdav", "v-mdav", "optimal")


@heeds_study
@checked_arguments
def microaggregate(  # noqa: PLR0913 - by keyword, each with a default
    data: Data,
    attributes: Names,
    *,
    k: int = 3,
    method: str = "mdav",
    aggregate: str | Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    standardise: bool = True,
    together: bool = True,
    groups: str | Sequence[Any] | None = None,
    within: Names | None = None,
    gain: float = 0.2,
    refine: bool = True,
    dominance: float | None = None,
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    r"""Replace the values of similar records by one value per group of at least `k`.

    The loss is the share of the spread that the groups hide. With :math:`x_{ij}` the record j of group i, :math:`a_i` the
    group's aggregate and :math:`\bar x` the centre of all records,

    .. math:: \mathrm{loss} = \frac{SSE}{SST} = \frac{\sum_i \sum_j |x_{ij} - a_i|^2}{\sum_i \sum_j |x_{ij} - \bar x|^2} .

    0: nothing is lost. 1: one value for all. Attributes that are grouped together are k-anonymous by construction.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attributes
        The columns to aggregate.
    k
        The smallest number of records in a group.
    method
        ``"mdav"``: around the record farthest from the centre and the one farthest from that, k each, until fewer than 3k are
        left [1]_. ``"v-mdav"``: the same, but each group takes up to k - 1 further records that fit it [2]_. ``"optimal"``: one
        attribute at a time, the groups with the least possible loss, as a shortest path [3]_.
    aggregate
        The value that represents a group: ``"mean"`` or ``"median"`` of a continuous attribute, ``"median"`` of an ordinal one
        (the lower of two middle values), ``"mode"`` of a nominal one (of several, the first in order). One for all or by
        attribute; none: the first of these that is suitable.
    kinds
        "continuous", "ordinal" or "nominal" by attribute. By default, numbers are continuous, dates and values with an order
        are ordinal, and everything else is nominal.
    orders
        The values of an ordinal attribute, lowest first; numbers and dates have their own.
    standardise
        Whether every attribute has the same weight in distances: numbers and ranks are divided by their standard deviation,
        names are scaled so that two records picked at random are as far apart. Otherwise numbers stay as they are, and
        different names are 1 apart.
    together
        Whether groups are formed over all attributes, or for each alone. Alone loses less and protects less: each attribute is
        k-anonymous, but their combination is not.
    groups
        A column, or a list with one entry per record, that identifies the groups; none: `method` forms them.
    within
        Columns that stay as they are, such as a region or the classes of a generalised key: groups are formed within their
        combinations, each of which needs at least k records. None: among all records.
    gain
        For ``"v-mdav"``: a record fits a group if it is nearer to it than `gain` times its distance to other records.
    refine
        For ``"mdav"`` and ``"v-mdav"`` over numbers and ranks: whether records then move to groups that fit them better, near
        ones change places, and groups dissolve, as long as that reduces the loss. Names stay as the method groups them.
    dominance
        The largest share of a group's total that one value of a continuous attribute may have, above 0 and up to 1; groups with
        a larger share are refused. None: the share is reported, not limited.
    nulls
        ``"error"``: refuse. ``"keep"``: nulls stay, and records with nulls in the same attributes are grouped among themselves.
        ``"drop"``: leave the records out.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the order (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `groups`, `smallest_group`, `largest_group`, `sse`, `sst`, `loss` and `loss_by_attribute`, and
        `largest_share`: the largest share of one value in its group's total, by continuous attribute.

    Raises
    ------
    ArgumentError
        If `k` exceeds the number of records, a given group has fewer, an aggregate is not suitable, an ordinal attribute has no
        order, or a value dominates its group.

    Notes
    -----
    V-MDAV takes time quadratic in the number of records, and so does MDAV with names or many attributes; over a few numbers, a
    tree finds the same groups in little more than linear time. The optimal method takes time proportional to the number of
    records times k, refining proportional to the number of records. While groups are formed, the centre of an ordinal attribute
    is the mean of its ranks, and that of a nominal one is the shares of its values.

    References
    ----------
    .. [1] Domingo-Ferrer, Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
       Mining and Knowledge Discovery 11(2), 195-212.
    .. [2] Solanas, Martínez-Ballesté (2006), V-MDAV: a multivariate microaggregation with variable group size, COMPSTAT.
    .. [3] Hansen, Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation, IEEE Transactions on
       Knowledge and Data Engineering 15(4), 1043-1044.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> people = pl.DataFrame({"salary": [4, 5, 3, 13, 8, 15, 9, 7, 11]})
    >>> release = mechanisms.microaggregate(people, "salary", k=3, method="optimal", keep_order=True)
    >>> release.data["salary"].to_list()
    [4.0, 4.0, 4.0, 13.0, 8.0, 13.0, 8.0, 8.0, 13.0]
    >>> round(release.figures["loss"], 4)
    0.0896
    """
    checked_word("method", method, _METHODS)
    checked_number("gain", gain, above=0.0)
    if dominance is not None:
        checked_number("dominance", dominance, above=0.0, most=1.0)
    chance, chosen = chance_of(seed, key_file), choose(data, attributes, nulls)
    checked_count("k", k, least=1, most=chosen.records.records, of="records")
    together = together or groups is not None
    if method == "optimal" and together and groups is None and len(chosen.names) > 1:
        raise ArgumentError("method 'optimal' takes one attribute at a time; group each alone (together=False), or use 'mdav'.")
    points = prepared(chosen, kinds, orders, aggregate, standardise=standardise)
    if method == "optimal" and groups is None and (names := [one.name for one in points if one.kind == "nominal"]):
        raise ArgumentError(f"method 'optimal' needs an order, and {listed(names)} has none; use 'mdav'.")
    partition = by_method(method, k, float(gain), refine=refine) if groups is None else _by_groups(chosen, groups, k)
    sets = [points] if together else [[attribute] for attribute in points]
    stratum = _strata(chosen, names_of(within), has_groups=groups is not None)
    of_record = {one.name: number for some in sets for number in [grouped(some, k, partition, stratum)] for one in some}
    settings = {"k": k, "method": method, "standardise": standardise, "together": together, "nulls": nulls}
    settings |= {"within": list(names_of(within))} if within else {}
    if groups is not None:
        settings["method"] = "given groups"
    elif method != "optimal":
        settings |= {"refine": refine, **({"gain": gain} if method == "v-mdav" else {})}
    if dominance is not None:
        settings["dominance"] = dominance
    shares = {one.name: largest_share(one, of_record[one.name]) for one in points if one.kind == "continuous"}
    refuse_dominant({name: share for name, share in shares.items() if share is not None}, dominance)
    settings["aggregate"] = {attribute.name: attribute.aggregate for attribute in points}
    return _release(chosen, points, of_record, shares, settings, chance, keep_order=keep_order)


def _strata(chosen: Chosen, within: Sequence[str], *, has_groups: bool) -> NDArray[np.int64]:
    """Return the stratum of every record; 0 for all if no column makes strata."""
    if within and has_groups:
        raise ArgumentError("groups are given, so none are formed within columns; leave out either `groups` or `within`.")
    require_columns(within, chosen.records.names)
    other_side(chosen.names, within, "strata")
    return strata_of(chosen, within)[0]


def _by_groups(chosen: Chosen, groups: str | Sequence[Any], k: int) -> Partition:
    """Return the method that uses the given groups, none of which may be smaller than k."""
    labels = encode(chosen.column(groups)).codes if isinstance(groups, str) else checked_array("groups", groups)
    if not isinstance(groups, str):
        if labels.ndim != 1:
            raise ArgumentError(f"groups must be a column's name or a list of one entry per record, not {kind_of(groups)}.")
        records = chosen.records.records + chosen.skipped
        if len(labels) != records:
            raise ArgumentError(f"groups has {len(labels):,} entries for {records:,} records; give one per record.")
        labels = labels[chosen.rows]
    numbered = np.unique(labels.astype(str), return_inverse=True)[1]

    def partition(_: Sequence[AggregatedAttribute], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        group = np.unique(numbered[rows], return_inverse=True)[1]
        if (least := int(np.bincount(group).min())) < k:
            raise ArgumentError(f"the smallest group given has {counted(least, 'record')}, but k is {k:,}; join groups.")
        return np.asarray(group)

    return partition


def _release(
    chosen: Chosen,
    attributes: Sequence[AggregatedAttribute],
    of_record: Mapping[str, NDArray[np.int64]],
    shares: Mapping[str, float | None],
    settings: Mapping[str, Any],
    chance: Chance,
    *,
    keep_order: bool,
) -> Release[Treatment]:
    """Insert the groups' values, and report the loss."""
    columns, errors, totals, sizes = {}, {}, {}, {}
    for attribute in attributes:
        group = of_record[attribute.name]
        columns[attribute.name], values = attribute.aggregated(group)
        errors[attribute.name], totals[attribute.name] = attribute.squares(values), attribute.squares_from_centre()
        sizes[attribute.name] = np.bincount(group[group >= 0])
    sse, sst = sum(errors.values()), sum(totals.values())
    numbers = {name: len(size) for name, size in sizes.items()}
    figures = {
        "loss": _share(sse, sst),
        "sse": sse,
        "sst": sst,
        "groups": next(iter(numbers.values())) if settings["together"] else numbers,
        "smallest_group": min((int(size.min()) for size in sizes.values() if len(size)), default=0),
        "largest_group": max((int(size.max()) for size in sizes.values() if len(size)), default=0),
        "loss_by_attribute": {name: _share(errors[name], totals[name]) for name in errors},
        **({"largest_share": dict(shares)} if shares else {}),
        "skipped": chosen.skipped,
    }
    alone = "each attribute is grouped alone: their combination is not k-anonymous"
    notes = () if settings["together"] or len(attributes) == 1 else (alone,)
    return treated("microaggregation", chosen, columns, settings, figures, chance, keep_order=keep_order, notes=notes)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0
