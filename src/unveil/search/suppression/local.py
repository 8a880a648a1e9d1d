"""Which single cells must be suppressed so that nobody stands out? Local suppression: nulls, as few as can be found.

There are two intruders. One knows a true record and looks for released records that cover it: every value there that is not null
is the true one. The other has the release alone and matches its records with each other, a null on either side matching any value
(`unveil.measures.wildcard` counts both). The second figure is never below the first: a record that covers a true one also matches
what became of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_number, checked_word
from unveil.attributes import Names, names_of, require_columns
from unveil.counts import Counts, count_table, group
from unveil.errors import ArgumentError, ModelNotMetError, listed, shown
from unveil.formats import counted
from unveil.measures import covering, suppressed_cells
from unveil.measures.equivalence import equivalence
from unveil.models import KAnonymity, Measured, Place
from unveil.randomness import Chance, chance_of
from unveil.releases import ColumnScreen, Release, drawn_order, marked, repeatable_of, screened
from unveil.run import Progress, active_run, in_run
from unveil.search.request import Request, finer_request, wanted_of
from unveil.search.splitting.labelling import Recoding
from unveil.search.suppression.fewest_cells import MOST_CELLS, fewest_cells
from unveil.search.suppression.grouped import grouped
from unveil.search.suppression.matched import matched
from unveil.search.suppression.subsets import costs_of_sets, for_subsets, required_subsets, subsets_of
from unveil.sources import Data, load

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from unveil.sources import Microdata
from unveil.study import planned_key

__all__ = ["Suppression", "suppress_locally"]

_AGAINST = ("truth", "release")
_NULL = -1
_MOST = 16
"""With more key attributes there are too many sets of them to compare."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Suppression(Recoding):
    """A table in which single cells are null, with k as two intruders find it.

    Attributes
    ----------
    k
        The least number of released records that any of them matches, itself included, a null on either side matching any value.
    k_known
        The least number of released records that cover any true record.
    against
        Which of the two is required: "truth" (k_known) or "release" (k).
    """

    k: int
    k_known: int
    against: str

    @property
    def met(self) -> bool:
        """Whether the smaller of the two figures is as required."""
        return all(measured.met for measured in self.models.values())

    def claims(self) -> dict[str, Any]:
        """Return k as both intruders find it, and whether the smaller one is met."""
        return {"k": self.k, "k_known": self.k_known, "met": self.met, "against": self.against}


@checked_arguments
@in_run
def suppress_locally(  # noqa: PLR0913 - options by keyword
    data: Data,
    attributes: Names | None = None,
    k: int = 3,
    *,
    against: str = "truth",
    importance: Mapping[str, float] | None = None,
    subsets: Mapping[Any, int] | None = None,
    strata: Names = (),
    follow: Mapping[str, str] | None = None,
    identifiers: Names = (),
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Release[Suppression]:
    r"""Replace single cells by nulls until at least k released records may belong to anybody.

    What is minimised is

    .. math:: \sum_{j} w_j \, |\{\text{cells suppressed in attribute } j\}|

    with the importances w, so that one of two figures is at least k:

    - ``against="truth"``: the released records that *cover* any true record, each of their values that is not null being the
      true one. It holds against an intruder who knows the person. Records at risk, whose key fewer than k share, are put into
      groups of at least k that lose the cells in which they differ; so none of them stays complete, and k also holds if
      a null is a value.
    - ``against="release"``: the released records that any released one *matches*, their values being equal or one of them null.
      It holds only against an intruder who has nothing but the release. Each record that lacks matches gets the cheapest set
      of nulls that lets it match k at that point, and nulls that turn out not to be needed are taken back.

    Tables of up to 24 key cells are searched for the fewest cells, for the whole key. There, a few emptied records may
    cover all others.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, up to 16; none: the key of the study or project that the data is.
    k
        How many released records may belong to anybody.
    against
        "truth" or "release": what the intruder knows.
    importance
        What suppressing a cell of an attribute costs; 1 unless given. More important attributes keep their values longer.
    subsets
        A higher k for an intruder who knows only some of the key attributes, by how many: with ``{2: 10}`` the required figure
        is at least 10 by any two of them. With ``k=1`` nothing is required of the whole key.
    strata
        Columns that stay as they are and that an intruder may know as well, such as a region: records are compared within them
        only, and both figures count records of one stratum.
    follow
        Other columns that must be null wherever a key attribute is, each with that attribute: ``{"age-group": "age"}``.
    identifiers
        Columns that name people outright: they are left out.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        Of the shuffling: a seed for tests, or a secret key file for anyone who must be able to repeat the release (see
        `unveil.randomness`). Neither: nobody can repeat or undo it.
    progress
        A run, or a function called with the name of a stage, the number of steps done, and their total number.

    Returns
    -------
    Release
        `k` and `k_known` are the two figures; `met` depends on the smaller. `details` holds the cells suppressed, in all and by
        attribute, the records touched, how many records were at risk and how many of these stay complete; `suppressed` counts the
        records that lost every key value. Under `subsets` there are the least `k` and `k_known` of all subsets of each size.
        `score`, the Loss, is the share of key cells suppressed.

    Raises
    ------
    ModelNotMetError
        If there are fewer than k records, in all or in a stratum.

    Notes
    -----
    Records at risk are compared with each other, so the time grows with the square of their number. Finding the fewest cells
    is NP-hard; beyond small tables this is a heuristic.

    References
    ----------
    .. [1] Meyerson, Williams (2004), On the complexity of optimal k-anonymity, PODS. doi:10.1145/1055558.1055591
    .. [2] Templ, Kowarik, Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro, Journal of
       Statistical Software 67(4). doi:10.18637/jss.v067.i04

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"sex": ["f", "f", "f", "m"], "town": ["Rome", "Rome", "Pisa", "Rome"]})
    >>> release = unveil.suppress_locally(people, ["sex", "town"], k=2)
    >>> sorted(release.data.rows(), key=str)
    [('f', 'Pisa'), ('f', None), ('m', 'Rome'), (None, 'Rome')]
    >>> release.details["cells"], release.k, release.k_known
    (2, 2, 2)
    >>> release = unveil.suppress_locally(people, ["sex", "town"], k=2, against="release", keep_order=True)
    >>> release.data.rows()
    [('f', 'Rome'), ('f', 'Rome'), ('f', None), (None, 'Rome')]
    >>> release.details["cells"], release.k, release.k_known, release.met
    (2, 4, 1, False)
    """
    keys, chance = names_of(planned_key(data) if attributes is None else attributes), chance_of(seed, key_file)
    if len(keys) > _MOST:
        raise ArgumentError(f"local suppression takes up to {_MOST} key attributes, and {len(keys)} are named.")
    checked_word("against", against, _AGAINST)
    models = [KAnonymity(checked_count("k", k, least=1))]
    wanted = wanted_of(data, keys, models)
    if (person := wanted.said.standing.person) is not None:
        raise ArgumentError(
            f"local suppression counts records, but {shown(person)} identifies persons; anonymize, mondrian and recode_locally "
            "count persons for k."
        )
    request = finer_request(wanted, identifiers)
    followed = _followed(request, follow or {})
    price = _prices(keys, importance or {})
    began = time.perf_counter()
    order = request.sorted_rows(chance)
    codes, places = np.repeat(_codes(request), request.cells.n, axis=0), np.argsort(order)
    sizes = required_subsets(subsets or {}, keys, len(request.rows))
    within = _stratum(request, names_of(strata), max([k, *sizes.values()]))
    nulled = np.zeros(codes.shape, dtype=bool)
    for one in np.unique(within):
        rows = np.flatnonzero(within[order] == one)
        nulled[rows] = _suppressed(codes[rows], k, price, against)
        nulled[rows] = for_subsets(codes[rows], nulled[rows], sizes, price, against)
    stayed = ({"subsets": sizes} if sizes else {}) | ({"strata": list(names_of(strata))} if strata else {})
    settings = {
        "k": k, "against": against, "importance": dict(importance or {}), **stayed, "follow": dict(follow or {}),
        "nulls": "wildcard" if wanted.said.nulls == "category" else wanted.said.nulls, "keep_order": keep_order,
    }  # fmt: skip
    return _released(request, codes[places], nulled[places], followed, began, chance=chance, within=within, settings=settings)


def _stratum(request: Request, strata: Sequence[str], k: int) -> NDArray[np.int64]:
    """Return the stratum of every record; one for all if no column is named."""
    if not strata:
        return np.zeros(len(request.rows), dtype=np.int64)
    require_columns(strata, request.records.names)
    if both := [name for name in strata if name in request.keys]:
        raise ArgumentError(f"column {shown(both[0])} makes strata, so it cannot be a key attribute too; name it once.")
    columns = load(request.records.frame, strata).columns
    of_record, cells = group([one.codes for one in columns], [len(one.values) for one in columns])
    sizes = np.bincount(of_record)
    if small := int(np.count_nonzero(sizes < k)):
        raise ModelNotMetError(
            f"{counted(small, 'stratum', 'strata')} of {len(cells[0]):,} by {listed(strata)} with fewer than {k} records, "
            f"so k = {k} cannot be met there; name fewer columns."
        )
    return of_record.astype(np.int64)


def _suppressed(codes: NDArray[np.int64], k: int, price: NDArray[np.float64], against: str) -> NDArray[np.bool_]:
    """Return which cells of the records are suppressed, the records being in the order of their keys."""
    costs = costs_of_sets(price)
    with active_run().stage("records") as tell:
        if against == "truth":
            small = codes.size <= MOST_CELLS
            return fewest_cells(codes, k, price, known=True) if small else grouped(codes, k, costs, tell)
        nulled = matched(codes, k, price, costs, tell)
        return fewest_cells(codes, k, price, known=False, start=nulled) if codes.size <= MOST_CELLS else nulled


def _prices(keys: Sequence[str], importance: Mapping[str, float]) -> NDArray[np.float64]:
    """Return what a cell of each attribute costs."""
    for name, price in importance.items():
        if name not in keys:
            raise ArgumentError(f"an importance is given for {shown(name)}, which is not a key attribute.")
        checked_number(f"the importance of {shown(name)}", price, above=0.0)
    return np.array([float(importance.get(name, 1.0)) for name in keys])


def _followed(request: Request, follow: Mapping[str, str]) -> dict[str, str]:
    """Return, for each column that follows, the key attribute whose nulls it shares."""
    for name, key in follow.items():
        request.records.column(name)
        if key not in request.keys:
            raise ArgumentError(f"{shown(name)} follows {shown(key)}, which is not a key attribute.")
        if name in request.keys:
            raise ArgumentError(f"{shown(name)} is a key attribute, so it cannot follow another; leave it out of one of the two.")
    return dict(follow)


def _codes(request: Request) -> NDArray[np.int64]:
    """Return the key of every cell, a null being -1."""
    columns = [np.where(_nulls(request.values(name))[request.codes(name)], _NULL, request.codes(name)) for name in request.keys]
    return np.stack(columns, axis=1)


def _nulls(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values])


def _released(
    request: Request,
    codes: NDArray[np.int64],
    nulled: NDArray[np.bool_],
    followed: Mapping[str, str],
    began: float,
    *,
    chance: Chance,
    within: NDArray[np.int64],
    settings: Mapping[str, Any],
) -> Release[Suppression]:
    """Put the nulls in, and measure the result; records of other strata do not count."""
    cells = {name: int(nulled[:, at].sum()) for at, name in enumerate(request.keys)}
    changed = {name: _with_nulls(request.records, name, nulled[:, at]) for at, name in enumerate(request.keys) if cells[name]}
    lost = dict(zip(request.keys, nulled.T, strict=True))
    changed |= {name: _with_nulls(request.records, name, lost[key]) for name, key in followed.items() if cells[key]}
    protected = request.records.replaced(changed)
    known = [*request.keys, *settings.get("strata", ())]
    counts, true = count_table(load(protected.frame, request.keys)), np.column_stack([codes, within])
    whole = count_table(load(protected.frame, known)) if settings.get("strata") else counts
    recorded, keep_order = {"key": list(request.keys), "sensitive": [], **settings}, settings["keep_order"]
    order = (
        np.arange(len(request.rows))
        if keep_order
        else drawn_order(protected, chance, {"method": "local suppression", **recorded})
    )
    repeatable = repeatable_of(chance, request.records.place, drawn=not keep_order)
    k, released = settings["k"], np.column_stack([np.where(nulled, _NULL, codes), within])
    after = _measured(whole, known, released, true, k)
    original, sizes = count_table(load(request.records.frame, known)), settings.get("subsets", {})
    of_subsets = _of_subsets(whole, request.keys, released, true, sizes)
    subsets_before = _of_subsets(original, request.keys, true, true, sizes)
    figures = {"k": int(after["k_anonymity",].value or 0), "k_known": int(after["k_known",].value or 0)}
    suppression = Suppression(
        method="local suppression",
        transformation={name: _summary(protected, name, cells[name]) for name in request.keys},
        score=float(nulled.mean()),
        classes=len(counts),
        suppressed=int(counts.n[suppressed_cells(counts, request.keys)].sum()),
        models={**after, **_in_one(of_subsets)},
        before={**_measured(original, known, true, true, k), **_in_one(subsets_before)},
        seconds=time.perf_counter() - began,
        details={"cells": int(nulled.sum()), "by_attribute": cells, **_touched(codes, nulled, k), **_subset_figures(of_subsets)},
        against=settings["against"],
        **figures,
    )
    notes = marked(_notes(settings["against"], **figures), repeatable)
    left_out = ColumnScreen.of_identifiers(request.left_out).left_out
    protected = protected.taken(order).naming(*followed)
    return screened(Release(protected, suppression, request.rows[order], recorded, notes, repeatable, left_out))


def _measured(
    counts: Counts, keys: Sequence[str], released: NDArray[np.int64], true: NDArray[np.int64], k: int
) -> dict[Place, Measured]:
    """Return k as both intruders find it: matched from both sides, and by the released records that cover a true one."""
    covers = covering(released, true)
    known = Measured(
        value=int(covers.min()),
        requirement=f"k_known >= {k}",
        met=bool(covers.min() >= k),
        violating_records=int(np.count_nonzero(covers < k)),
    )
    classes = equivalence(counts, keys, wildcard=1.0, suppressed="class")
    return {("k_anonymity",): KAnonymity(k).measure(classes), ("k_known",): known}


def _of_subsets(
    counts: Counts, keys: Sequence[str], released: NDArray[np.int64], true: NDArray[np.int64], sizes: Mapping[int, int]
) -> dict[int, dict[Place, Measured]]:
    """Return k as both intruders find it if they know some of the attributes: the least of all subsets of each size."""
    figures: dict[int, dict[Place, Measured]] = {}
    apart = list(range(len(keys), released.shape[1]))  # the stratum
    strata = [name for name in counts.names if name not in keys]
    for places, k in subsets_of(sizes, len(keys)):
        chosen, columns = [keys[at] for at in places], [*places, *apart]
        now = _measured(counts, [*chosen, *strata], released[:, columns], true[:, columns], k)
        worst = figures.setdefault(len(places), {})
        for (name,), one in now.items():
            place = name, f"any {len(places)} of {len(keys)}"
            if place not in worst or (one.value or 0) < (worst[place].value or 0):
                worst[place] = one
    return figures


def _in_one(of_subsets: Mapping[int, Mapping[Place, Measured]]) -> dict[Place, Measured]:
    """Return the models of subsets of every size under their places."""
    return {place: one for figures in of_subsets.values() for place, one in figures.items()}


def _subset_figures(of_subsets: Mapping[int, Mapping[Place, Measured]]) -> dict[str, Any]:
    """Return the two figures of subsets by their size, under their short names."""
    figures_of = {
        size: {"k" if place[0] == "k_anonymity" else place[0]: int(one.value or 0) for place, one in figures.items()}
        for size, figures in of_subsets.items()
    }
    return {"subsets": figures_of} if figures_of else {}


def _touched(codes: NDArray[np.int64], nulled: NDArray[np.bool_], k: int) -> dict[str, int]:
    """Count the records that lost a cell, those whose key fewer than k share, and how many of the latter are complete."""
    _, of_row, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    at_risk, touched = sizes[of_row.ravel()] < k, nulled.any(axis=1)
    complete = ~touched & (codes >= 0).all(axis=1)
    return {
        "records": int(touched.sum()),
        "at_risk": int(at_risk.sum()),
        "at_risk_complete": int(np.count_nonzero(at_risk & complete)),
    }


def _notes(against: str, k: int, k_known: int) -> tuple[str, ...]:
    """Say against whom the figures hold."""
    truth = f"k_known = {k_known:,}: at least this many released records cover anyone whose true values an intruder knows."
    both = f"k = {k:,}: at least this many released records match each of them for an intruder who has the release alone."
    if against == "truth":
        return truth, both
    return truth, both, "Nothing is claimed against an intruder who knows true values; use against='truth' for that."


def _with_nulls(records: Microdata, name: str, nulled: NDArray[np.bool_]) -> Any:
    """Return a column with nulls put in; it keeps its type."""
    return records.nulled(name, nulled)


def _summary(protected: Microdata, name: str, cells: int) -> dict[str, Any]:
    return {"labels": protected.distinct(name), "changed": cells, "loss": cells / protected.records}
