"""How is data anonymised where it lies? Counted and rewritten as it streams, or by the engine; only the search is in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, names_of, require_columns
from unveil.counts import Counts, count
from unveil.errors import ArgumentError, CountsError, DataChangedError, shown
from unveil.measures.equivalence import SUPPRESSED
from unveil.models.asked import AnyModel
from unveil.output import check_replaceable, together
from unveil.partitions import Hierarchy
from unveil.randomness import Chance, chance_of
from unveil.releases import repeatable_of, write_recorded
from unveil.results.progress import Progress, Stages
from unveil.search.anonymize import Chosen, Plan, chosen_of, planned, release_of
from unveil.search.application import applied, recoded
from unveil.search.full_domain import budget_of
from unveil.search.inputs import keys_of, require_apart, secrets_of
from unveil.search.objectives import Candidate
from unveil.search.release import Release, checked_place
from unveil.sources import Data, open_source
from unveil.sources.coding import KnownValues, labelled
from unveil.sources.engines.address import Address, parse
from unveil.sources.engines.recoding import Changed, Recoding
from unveil.sources.engines.table import EngineSource
from unveil.sources.frames import TallySource
from unveil.sources.microdata import complete
from unveil.sources.passing import Passing, Unwritten, WrittenFile, WrittenTable, passing, rewrite
from unveil.sources.spreadsheets import require_delimited
from unveil.sources.streaming import StreamSource, limited
from unveil.sources.streaming_keys import hashed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.base import Tally
    from unveil.sources.engines.table import Write

__all__ = ["anonymize_into"]

_WORD = 1 << 64


@checked_arguments
def anonymize_into(  # noqa: PLR0913 - as many as `anonymize` takes
    data: Data,
    out: str | os.PathLike[str] | Address | None,
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
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    spreadsheet_safe: bool = False,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Stages | None = None,
) -> Release:
    """Anonymise data that is larger than memory: a file into a file, a table of an engine into a file or another table.

    The data is counted where it is; the generalisation is found on the counts; then the records stream once more into a file, or
    the engine itself rewrites them into a table. Records that are no longer those counted are refused, and nothing is written.

    Parameters
    ----------
    data
        A file that is streamed (Parquet, a folder of Parquet files, delimited text), or what DuckDB, PostgreSQL or Spark holds.
    out
        Where the release goes, whole or not at all: a file (.parquet, .csv or .tsv), or the address of a new table, or of new
        Parquet files of Spark, beside the data. None: nowhere; no record is read, and the result says what would be done.
    link
        Where the private correspondence goes; none: it is not written. It numbers rows, so only a file can have one.
    attributes, models, hierarchies, suppression, objective, levels, weights, factor, identifiers, orders, nulls
        As for `anonymize`.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        Of the shuffling of a file: a seed for tests, or a secret key file for whoever must be able to repeat the release (see
        `unveil.randomness`). Neither: nobody can repeat or undo it. What an engine holds has no order that could be repeated.
    spreadsheet_safe
        Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
    time_limit, node_limit
        As for `anonymize`.
    progress
        Called now and then with a stage (counting, searching, writing), the steps of it that are done and all of them.

    Returns
    -------
    Release
        Its `data` is a lazy frame of the file, or the table opened; its `origin` is empty, the correspondence being in `link`.
    """
    source = open_source(data)
    stream = passing(source)
    if stream is None:
        raise ArgumentError(f"{shown(source.place)} is neither streamed nor in an engine; anonymize takes it as a whole.")
    named, budget = names_of(identifiers), budget_of(time_limit, node_limit)
    chance = chance_of(seed, key_file)
    if chance.repeatable and isinstance(source, EngineSource):
        raise ArgumentError(
            f"a {'seed' if seed is not None else 'key file'} is given, but rows of a table in an engine have no order, so "
            "nothing can be repeated; leave it out."
        )
    keys = keys_of(attributes)
    require_columns([*named, *keys], source.names)
    require_apart(named, keys, secrets_of(models, keys))
    if link is not None and out is None:
        raise ArgumentError("a correspondence is asked for, but no release is written; say where it goes with --out.")
    if link is not None and isinstance(source, EngineSource):
        raise ArgumentError("rows of a table in an engine have no numbers, so there is no correspondence; keep an id instead.")
    target = out if out is None or isinstance(out, Address) else parse(os.fspath(out)) or _file_place(out)
    if spreadsheet_safe and target is not None:
        require_delimited(target)
    write = _table_writer(source, target) if isinstance(target, Address) else None
    _require_other_files(source, target, link)
    told = Progress(progress)
    with limited(progress=partial(told.at, "bytes counted")):
        plan = planned(
            data, attributes, models, hierarchies=hierarchies, suppression=suppression, objective=objective, levels=levels,
            weights=weights, factor=factor, identifiers=named, orders=orders, nulls=nulls,
            budget=budget, progress=partial(told.at, "generalisations"), stream=stream,
        )  # fmt: skip
    chosen = chosen_of(plan)
    asked = {
        "identifiers": list(named), "pseudonyms": [], "suppression": suppression, "levels": levels or {},
        "weights": weights or {}, "factor": factor, "nulls": nulls, "keep_order": keep_order,
        "time_limit": time_limit, "node_limit": node_limit,
    }  # fmt: skip
    records = replace(stream.without(named), records=plan.space.records)
    repeatable = repeatable_of(chance, source.place, drawn=target is not None and not keep_order)

    def finished(written: WrittenFile | WrittenTable | Unwritten) -> Release:
        return release_of(plan, chosen, written, np.zeros(0, dtype=np.int64), asked, "", repeatable)

    written: WrittenFile | WrittenTable | Unwritten
    if target is None:
        written = Unwritten(records.names, records.records)
    elif write is not None:
        with told.stage("rewriting by the engine"):
            written = WrittenTable(*write(_recoding(plan, chosen, records.names, drop=nulls == "drop", shuffled=not keep_order)))
    else:
        order = None if keep_order else _order(records, plan, chosen, asked, chance)
        change = _Change(plan, chosen, drop=nulls == "drop")
        steps, place = partial(told.at, "records, read and written"), None if link is None else str(link)
        with together():
            written = rewrite(
                records, change, str(target), link=place, order=order, spreadsheet_safe=spreadsheet_safe, progress=steps
            )
            release = finished(written)
            write_recorded(str(target), release.record)
        return release
    return finished(written)


def _table_writer(source: Any, out: Address) -> Write:
    if not isinstance(source, EngineSource):
        raise ArgumentError(f"{shown(source.place)} is a file, so it is rewritten into a file (.parquet, .csv or .tsv).")
    return source.rewrite(out)


def _file_place(out: str | os.PathLike[str]) -> str:
    place = str(checked_place(out))
    if place.endswith((".arrow", ".feather", ".ipc")):
        raise ArgumentError("a release that streams is written as Parquet or as text; end --out in .parquet, .csv or .tsv.")
    return place


def _require_other_files(source: Any, out: str | Address | None, link: str | os.PathLike[str] | None) -> None:
    """Refuse to write over the data, or two files into one, and a correspondence where no file can be put."""
    if link is not None:
        check_replaceable(link)
    read = [source.stream.path] if isinstance(source, StreamSource) else []
    files = [os.path.realpath(file) for file in (*read, out, link) if file is not None and not isinstance(file, Address)]
    if len(set(files)) < len(files):
        raise ArgumentError("the data, the release and the correspondence are different files; two of them are named alike.")


def _order(records: Passing, plan: Plan, chosen: Chosen, asked: Mapping[str, Any], chance: Chance) -> np.random.Generator:
    """Return what shuffles; with a key file it follows from the settings, the data, and all that becomes of it.

    Two releases of the same data that differ in labels only must not have one order: their records could be joined by it.
    """
    if not chance.keyed:
        return chance.draws("row order")
    levels = [(one.name, one.levels.labels, one.lowest) for one in plan.space.attributes]
    groups = [group.tolist() for one in plan.space.attributes for group in one.levels.groups]
    made = repr((levels, groups, chosen.node, chosen.gone.tolist())).encode(errors="surrogatepass")
    return chance.draws("row order", asked, records.fingerprint() + hashlib.sha256(made).digest())


def _changed(plan: Plan, chosen: Chosen) -> list[str]:
    """Return the key attributes that do not stay as they are; what is suppressed changes all of them."""
    if chosen.gone.any():
        return list(plan.keys)
    return [one.name for one, level in zip(plan.space.attributes, chosen.node, strict=True) if one.lowest + level > 0]


class _Change:
    """Keys generalised, classes suppressed, records with nulls left out if so asked, and the records held against the counts."""

    def __init__(self, plan: Plan, chosen: Chosen, *, drop: bool) -> None:
        self._plan, self._chosen, self._drop = plan, chosen, drop
        self._changed = _changed(plan, chosen)
        self._known = {column.name: KnownValues(column.name, column.values) for column in plan.counts.columns}
        self._sum = 0

    def begin(self) -> None:
        self._sum = 0

    def batch(self, frame: Any) -> tuple[Any, NDArray[np.int64]]:
        rows = np.arange(frame.height)
        if self._drop:
            rows = np.flatnonzero(complete(frame, list(self._known)))
            frame = frame[rows]
        codes = {name: known.codes(frame[name]) for name, known in self._known.items()}
        self._sum = (self._sum + _mixed(list(codes.values()))) % _WORD
        chosen = self._chosen
        what = applied(self._plan.space, chosen.node, chosen.classes, chosen.gone, [codes[name] for name in self._plan.keys])
        columns = {name: frame[name] for name in frame.columns}
        for name in self._changed:
            columns[name] = labelled(name, what.labels[name], what.codes[name])
        return type(frame)(columns), rows

    def end(self) -> None:
        counts = self._plan.counts
        if self._sum != _mixed(counts.codes, counts.n):
            raise DataChangedError.of_counts(self._plan.records.place)


def _mixed(codes: Sequence[NDArray[Any]], n: NDArray[np.int64] | None = None) -> int:
    """Return one number for coded records, the same in whatever order or batches they come: a sum of hashes."""
    found = hashed(codes)
    return int((found if n is None else found * n.astype(np.uint64)).sum(dtype=np.uint64))


def _recoding(plan: Plan, chosen: Chosen, names: tuple[str, ...], *, drop: bool, shuffled: bool) -> Recoding:
    """Return what an engine needs to rewrite the records itself, and to hold what it wrote against the counts."""
    counts, space = plan.counts, plan.space
    wanted = set(_changed(plan, chosen))
    changed = tuple(
        Changed(
            one.name,
            counts.columns[counts.names.index(one.name)].values,
            one.levels.groups[one.lowest + level],
            one.levels.labels[one.lowest + level],
        )
        for one, level in zip(space.attributes, chosen.node, strict=True)
        if one.name in wanted
    )
    lost = np.flatnonzero(chosen.gone)
    gone = np.column_stack([chosen.classes.codes(field, lost) for field in space.fields])
    codes = [counts.codes[counts.names.index(name)] for name in plan.keys]
    what = applied(space, chosen.node, chosen.classes, chosen.gone, codes)
    expected = recoded(counts, replace(what, labels={column.name: what.labels[column.name] for column in changed}))

    def check(found: Tally) -> int:
        if found.frame.is_empty() or not _same(count(TallySource(plan.records.place, found), counts.names), expected):
            raise DataChangedError.of_counts(plan.records.place)
        return expected.records

    complete = counts.names if drop else ()
    return Recoding(names, changed, gone, SUPPRESSED, complete, shuffled, counts.names, check)


def _same(found: Counts, expected: Counts) -> bool:
    """Whether two count tables are the same, in whatever order their values stand."""
    try:
        return found.records == expected.records and not len(expected - found)
    except CountsError:
        return False
