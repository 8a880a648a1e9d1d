"""Which single cells must go so that every record matches k? Local suppression: nulls, as few as can be found.

A null matches any value (`unveil.measures.wildcard`), so a record whose cell is null looks like more others, and they like it.
Suppressing a cell never takes a match from anyone, except that a record with no cell left says nothing of anyone and forms no
class. Only cells of records that lack matches are suppressed: nulls all over a few safe records would match everybody, and
protect nobody.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, shown_number
from unveil.attributes import Names, names_of
from unveil.counts import Column, Counts, count_table
from unveil.counts.grouping import group
from unveil.errors import ArgumentError, shown
from unveil.measures.equivalence import suppressed_cells
from unveil.measures.wildcard import wildcard_sums
from unveil.models import KAnonymity
from unveil.search.recoding import Recoding
from unveil.search.release import shuffled
from unveil.search.suppression_kernels import cheapest, restore, suppress
from unveil.search.task import Task, task_of
from unveil.sources import Data, load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.microdata import Microdata

__all__ = ["suppress_locally"]

_NULL = -1
_MOST = 16
"""With more key attributes there are too many sets of them to compare."""


@checked_arguments
def suppress_locally(
    data: Data,
    attributes: Names,
    k: int = 3,
    *,
    importance: Mapping[str, float] | None = None,
    follow: Mapping[str, str] | None = None,
    identifiers: Names = (),
    keep_order: bool = False,
    seed: int = 0,
) -> Recoding:
    r"""Replace single cells by nulls until every record matches at least k, itself included.

    Two records match if in every key attribute their values are equal or one of them is null. The cells suppressed are few: what
    is made small is

    .. math:: \sum_{j} w_j \, |\{\text{cells suppressed in attribute } j\}|

    with the importances w. Records that lack matches are treated from the cheapest to the dearest. Each gets the cheapest set of
    nulls that lets it match k records as things then stand; of equal sets that which helps most others that lack matches. At the
    end every null that is not needed, because later ones help as well, gives way to its value again: no single cell can be put
    back. The same is tried from the dearest to the cheapest, and the better of both is taken.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed. Its own nulls match anything.
    attributes
        The key attributes, up to 16.
    k
        How many records each must match.
    importance
        What suppressing a cell of an attribute costs; 1 unless given. Dearer attributes keep their values longer.
    follow
        Other columns that must be null wherever a key attribute is, by that attribute: ``{"age-group": "age"}``.
    identifiers
        Columns that name people outright: they are left out.
    keep_order, seed
        Whether records stay in their order; else they are shuffled with the seed, so that their places say nothing.

    Returns
    -------
    Recoding
        `details` holds the cells suppressed, in all and by attribute, and the records touched; `suppressed` counts the records
        that lost every key value. `models` gives k under ``nulls="wildcard"``; `score`, the Loss, is the share of key cells
        suppressed.

    Raises
    ------
    ModelNotMetError
        If there are fewer than k records.

    Notes
    -----
    Every record that lacks matches is compared with all distinct keys, so the time grows with their product. Finding the fewest
    cells is NP-hard; this is a heuristic.

    References
    ----------
    .. [1] Meyerson, Williams (2004), On the complexity of optimal k-anonymity, PODS. doi:10.1145/1055558.1055591
    .. [2] Templ, Kowarik, Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro, Journal of
       Statistical Software 67(4). doi:10.18637/jss.v067.i04

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"sex": ["f", "f", "f", "m"], "town": ["Rome", "Rome", "Pisa", "Rome"]})
    >>> found = unveil.suppress_locally(people, ["sex", "town"], k=2, keep_order=True)
    >>> found.data.rows()
    [('f', 'Rome'), ('f', 'Rome'), ('f', None), (None, 'Rome')]
    >>> found.details["cells"]
    2
    """
    keys = names_of(attributes)
    if len(keys) > _MOST:
        raise ArgumentError(f"local suppression takes up to {_MOST} key attributes, and {len(keys)} are named.")
    task = task_of(data, keys, [KAnonymity(_checked_k(k))], identifiers=identifiers)
    followed = _followed(task, follow or {})
    price = _prices(keys, importance or {})
    began = time.perf_counter()
    nulled = _suppressed(task, k, price)[np.argsort(np.argsort(task.of_row, kind="stable"))]
    return _released(task, nulled, followed, began, keep_order=keep_order, seed=seed, settings={
        "k": k, "importance": dict(importance or {}), "follow": dict(follow or {}), "nulls": "wildcard",
    })  # fmt: skip


def _checked_k(k: int) -> int:
    if k < 1:
        raise ArgumentError(f"k is a whole number from 1, so it is not {shown_number(k)}.")
    return k


def _prices(keys: Sequence[str], importance: Mapping[str, float]) -> NDArray[np.float64]:
    """Return what a cell of each attribute costs."""
    for name, price in importance.items():
        if name not in keys:
            raise ArgumentError(f"an importance is given for {shown(name)}, which is no key attribute.")
        if not 0.0 < price < np.inf:
            raise ArgumentError(f"the importance of {shown(name)} is a number above 0, so it is not {shown_number(price)}.")
    return np.array([float(importance.get(name, 1.0)) for name in keys])


def _followed(task: Task, follow: Mapping[str, str]) -> dict[str, str]:
    """Return which column is null wherever which key attribute is."""
    for name, key in follow.items():
        task.records.column(name)
        if key not in task.keys:
            raise ArgumentError(f"{shown(name)} follows {shown(key)}, which is no key attribute.")
        if name in task.keys:
            raise ArgumentError(f"{shown(name)} is a key attribute, so it cannot follow another; leave it out of one of the two.")
    return dict(follow)


def _suppressed(task: Task, k: int, price: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which cells of the records are suppressed, the records being in the order of their keys."""
    original = np.repeat(_codes(task), task.cells.n, axis=0)
    tries = [(_treated(original, k, price, sign) < 0) & (original >= 0) for sign in (1, -1)]
    return min(tries, key=lambda nulled: float(nulled.sum(axis=0) @ price))


def _treated(original: NDArray[np.int64], k: int, price: NDArray[np.float64], sign: int) -> NDArray[np.int64]:
    """Return the keys of the records with nulls put in, treated from the cheapest to the dearest, or (-1) the other way round."""
    found = original.copy()
    costs = np.array([price[[at for at in range(len(price)) if chosen >> at & 1]].sum() for chosen in range(1 << len(price))])
    by_cost = np.argsort(costs, kind="stable")
    while (lacking := _sizes(found) < k).any():
        rows = _Rows.of(found, lacking)
        dear = cheapest(rows.codes, rows.weight, rows.size, k, costs, by_cost, rows.single)
        suppress(rows.codes, rows.weight, rows.size, k, costs, by_cost, rows.single[np.argsort(sign * dear, kind="stable")])
        found[lacking] = rows.codes[:, rows.single].T
    touched = (found != original).any(axis=1)
    rows = _Rows.of(found, touched)
    whole = np.full_like(rows.codes, _NULL)
    whole[:, rows.single] = original[touched].T
    restore(rows.codes, rows.weight, rows.size, k, whole, rows.single, np.argsort(-price, kind="stable"))
    found[touched] = rows.codes[:, rows.single].T
    return found


def _codes(task: Task) -> NDArray[np.int64]:
    """Return the key of every cell, a null being -1."""
    columns = [np.where(_nulls(task.values(name))[task.codes(name)], _NULL, task.codes(name)) for name in task.keys]
    return np.stack(columns, axis=1)


def _nulls(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values])


def _sizes(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many records each matches; a record with nothing but nulls forms no class, and counts as safe."""
    held = (codes >= 0).any(axis=1)
    sizes = np.full(len(codes), np.inf)
    if held.any():
        kept = codes[held]
        values = [int(column.max()) + 1 for column in kept.T]
        columns = tuple(Column(str(at), (*range(number), None)) for at, number in enumerate(values))
        coded = tuple(np.where(column < 0, number, column) for column, number in zip(kept.T, values, strict=True))
        classes = Counts(columns, coded, np.ones(len(kept), dtype=np.int64)).classes([column.name for column in columns])
        sizes[held] = wildcard_sums(classes, classes.n)[classes.of_cell]
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Records as the compiled functions take them: some one by one, the others a row for all that are alike.

    Attributes
    ----------
    codes, weight, size
        The key of each row, a line an attribute, the records that it stands for, and those that match it.
    single
        The rows of single records.
    """

    codes: NDArray[np.int32]
    weight: NDArray[np.int64]
    size: NDArray[np.int64]
    single: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int64], alone: NDArray[np.bool_]) -> _Rows:
        """Gather records, given which of them get rows of their own."""
        sizes = np.where(np.isfinite(found := _sizes(codes)), found, 0).astype(np.int64)
        rest = np.flatnonzero(~alone & (codes >= 0).any(axis=1))
        of_row, _ = group([column + 1 for column in codes[rest].T], [int(column.max()) + 2 for column in codes.T])
        _, first = np.unique(of_row, return_index=True)
        rows = np.concatenate([rest[first], np.flatnonzero(alone)])
        weight = np.concatenate([np.bincount(of_row), (codes[alone] >= 0).any(axis=1)]).astype(np.int64)
        return cls(np.ascontiguousarray(codes[rows].T.astype(np.int32)), weight, sizes[rows], np.arange(len(first), len(rows)))


def _released(
    task: Task,
    nulled: NDArray[np.bool_],
    followed: Mapping[str, str],
    began: float,
    *,
    keep_order: bool,
    seed: int,
    settings: Mapping[str, Any],
) -> Recoding:
    """Put the nulls in, and measure what comes out."""
    cells = {name: int(nulled[:, at].sum()) for at, name in enumerate(task.keys)}
    changed = {name: _with_nulls(task.records, name, nulled[:, at]) for at, name in enumerate(task.keys) if cells[name]}
    lost = dict(zip(task.keys, nulled.T, strict=True))
    changed |= {name: _with_nulls(task.records, name, lost[key]) for name, key in followed.items() if cells[key]}
    protected = task.records.replaced(changed)
    counts = count_table(load(protected.frame, task.keys))
    order = np.arange(len(task.rows)) if keep_order else shuffled(task.records, seed)
    after = task.measured(counts, wildcard=1.0)
    return Recoding(
        method="local suppression",
        records=protected.taken(order),
        transformation={name: _summary(protected, name, cells[name]) for name in task.keys},
        score=float(nulled.mean()),
        classes=len(counts),
        suppressed=int(counts.n[suppressed_cells(counts, task.keys)].sum()),
        models=after,
        before=task.measured(task.cells, wildcard=1.0),
        seconds=time.perf_counter() - began,
        origin=task.rows[order],
        settings={"key": list(task.keys), **settings, "keep_order": keep_order, "seed": seed},
        details={"cells": int(nulled.sum()), "by_attribute": cells, "records": int(nulled.any(axis=1).sum())},
        notes=("k holds where a null matches any value: measure the release with nulls='wildcard'.",),
    )


def _with_nulls(records: Microdata, name: str, nulled: NDArray[np.bool_]) -> Any:
    """Return a column with nulls put in; it keeps its type."""
    return records.nulled(name, nulled)


def _summary(protected: Microdata, name: str, cells: int) -> dict[str, Any]:
    return {"labels": protected.distinct(name), "changed": cells, "loss": cells / protected.records}
