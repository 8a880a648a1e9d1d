"""How is a file anonymised that does not fit into memory? Counted and rewritten as it streams; only the search is in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, shown
from unveil.models.asked import AnyModel
from unveil.partitions import Hierarchy
from unveil.search.anonymize import Chosen, Plan, chosen_of, planned, release_of
from unveil.search.application import applied
from unveil.search.full_domain import Budget
from unveil.search.objectives import Candidate
from unveil.search.release import Release, checked_place
from unveil.sources import Data, open_source
from unveil.sources.passing import Change, batch_codes, passing, rewrite

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["anonymize_file"]


def anonymize_file(  # noqa: PLR0913 - as many as `anonymize` takes
    data: Data,
    out: str | os.PathLike[str],
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]],
    models: Sequence[AnyModel],
    *,
    link: str | os.PathLike[str] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    suppression: float = 0.0,
    objective: str | Callable[[Candidate], float] = "loss",
    levels: Mapping[str, tuple[int, int]] | None = None,
    weights: Mapping[str, float] | None = None,
    factor: float = 0.5,
    identifiers: Names = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str = "category",
    keep_order: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Release:
    """Anonymise a file that is larger than memory into another file.

    The file, or folder of Parquet files, is counted as it streams; the generalisation is found on the counts; then the records
    stream once more, from file to file. Columns of delimited text that are no key keep their text.

    Parameters
    ----------
    data
        The file: Parquet, a folder of Parquet files, or delimited text, large enough to be streamed (see `unveil.sources`).
    out
        Where the release goes: .parquet, .csv or .tsv; written whole or not at all.
    link
        Where the private correspondence goes; none: it is not written.
    attributes, models, hierarchies, suppression, objective, levels, weights, factor, identifiers, orders, nulls, keep_order, seed
        As for `anonymize`.
    time_limit, node_limit, progress
        As for `anonymize`.

    Returns
    -------
    Release
        Its `data` is a lazy frame of the file; its `origin` is empty, the correspondence being in the file `link`.
    """
    source = open_source(data)
    stream = passing(source)
    if stream is None:
        raise ArgumentError(f"{shown(source.place)} is no file that streams; anonymize takes it as a whole.")
    named, place = names_of(identifiers), str(checked_place(out))
    if place.endswith((".arrow", ".feather", ".ipc")):
        raise ArgumentError("a release that streams is written as Parquet or as text; end --out in .parquet, .csv or .tsv.")
    require_columns(named, source.names)
    plan = planned(
        data, attributes, models, hierarchies=hierarchies, suppression=suppression, objective=objective, levels=levels,
        weights=weights, factor=factor, identifiers=named, orders=orders, nulls=nulls,
        budget=Budget(time_limit, node_limit), progress=progress, stream=stream,
    )  # fmt: skip
    chosen = chosen_of(plan)
    records = replace(stream.without(named), records=plan.space.records)
    order = None if keep_order else _order(plan, seed)
    change = _change(plan, chosen, drop=nulls == "drop")
    written = rewrite(records, change, place, link=None if link is None else str(link), order=order)
    asked = {
        "identifiers": list(named), "pseudonyms": [], "suppression": suppression, "levels": levels or {},
        "weights": weights or {}, "factor": factor, "nulls": nulls, "keep_order": keep_order, "seed": seed,
        "time_limit": time_limit, "node_limit": node_limit,
    }  # fmt: skip
    return release_of(plan, chosen, written, np.zeros(0, dtype=np.int64), asked, "")


def _order(plan: Plan, seed: int) -> np.random.Generator:
    """Return what shuffles: it follows from the seed and from all that was counted, so that the seed alone does not undo it."""
    whole = hashlib.sha256()
    for codes in (*plan.counts.codes, plan.counts.n):
        whole.update(np.ascontiguousarray(codes).tobytes())
    return np.random.default_rng([seed, int.from_bytes(whole.digest())])


def _change(plan: Plan, chosen: Chosen, *, drop: bool) -> Change:
    """Return what becomes of a batch: keys generalised, classes suppressed, records with nulls left out if so asked."""
    wanted = [*plan.keys, *plan.secrets]
    values = {name: plan.counts.columns[plan.counts.names.index(name)].values for name in plan.keys}
    changed = [one.name for one, level in zip(plan.space.attributes, chosen.node, strict=True) if one.lowest + level > 0]
    if chosen.gone.any():
        changed = list(plan.keys)

    def change(batch: Any) -> tuple[Any, NDArray[np.int64]]:
        rows = np.arange(batch.height)
        if drop:
            rows = np.flatnonzero(~np.logical_or.reduce([batch[name].is_null().to_numpy() for name in wanted]))
            batch = batch[rows]
        codes = [batch_codes(batch[name], values[name]) for name in plan.keys]
        what = applied(plan.space, chosen.node, chosen.classes, chosen.gone, codes)
        columns = {name: batch[name] for name in batch.columns}
        for name in changed:
            columns[name] = type(batch[name])(name, what.labels[name]).gather(what.codes[name])
        return type(batch)(columns), rows

    return change
