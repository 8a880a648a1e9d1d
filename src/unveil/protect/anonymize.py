"""How is a table made safe to publish at the least cost? By the best full-domain generalisation under the required models.

Records are generalised in memory, in a stream, or by the engine that holds them; this module chooses among the three, and makes
the release, with the notes on it, for its destination.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, Standing, names_of, require_columns
from unveil.errors import ArgumentError, listed, shown
from unveil.mechanisms import pseudonymize
from unveil.models import Model
from unveil.output import together
from unveil.partitions import Hierarchy
from unveil.protect.destination import Destination, Place
from unveil.protect.streamed import rewritten
from unveil.randomness import Chance, Repeatable, chance_of
from unveil.releases import (
    ColumnScreen,
    Release,
    ReleaseRecords,
    WrittenFile,
    drawn_order,
    in_hand,
    marked,
    repeatable_of,
    screen,
    write_recorded,
)
from unveil.run import Progress, in_run
from unveil.search import (
    Candidate,
    Choice,
    Generalisation,
    Lattice,
    Request,
    Wanted,
    generalisation_of,
    groups_by_mondrian,
    notes_on,
    request_of,
    require_apart,
    stated_settings,
    wanted_of,
)
from unveil.sources import (
    Address,
    BatchedRecords,
    Data,
    EngineSource,
    Microdata,
    StreamSource,
    TallySource,
    Write,
    open_microdata,
    open_source,
    standing_among,
)
from unveil.study import Stated
from unveil.time_limit import budget_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Options", "anonymize", "generalised", "generalised_in_hand"]

_NO_ROWS = np.zeros(0, dtype=np.int64)


@checked_arguments
@in_run
def anonymize(  # noqa: PLR0913 - the one call that protects by generalisation
    data: Data,
    attributes: Names | Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    models: Sequence[Model] = (),
    *,
    out: Place | None = None,
    link: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    spreadsheet_safe: bool = False,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    suppression: float = 0.0,
    objective: str | Callable[[Candidate], float] = "loss",
    levels: Mapping[str, tuple[int, int]] | None = None,
    weights: Mapping[str, float] | None = None,
    factor: float = 0.5,
    identifiers: Names = (),
    pseudonyms: Names = (),
    keep: Names = (),
    only_roles: bool = False,
    key_file: str | os.PathLike[str] | None = None,
    population: Data | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Release[Generalisation]:
    """Generalise the key attributes of a table as little as the models allow, and suppress the records that still stand out.

    With `out`, data that is larger than memory is never loaded as a whole: a streamed file (Parquet, a folder of Parquet files,
    delimited text) is counted and rewritten batch by batch; a table of DuckDB, PostgreSQL or Spark is counted there, and
    written from there to a file, or to a new table by the engine itself. If the records are no longer the counted ones, nothing
    is written. Pseudonyms, persons and a population require the records in memory.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file; none: the key of the study or
        project that the data is.
    models
        What the release must meet, such as ``[KAnonymity(5), TCloseness("income", 0.2)]``; none: those that the project asks for.
    out
        Where the release goes, whole or not at all: a file (.csv, .tsv, .parquet, .arrow or .xlsx), or the address of a new
        table, or of new Parquet files of Spark, beside the data. A file is replaced if it exists, unless the call reads it; a
        table is not. None: it is returned, and not written.
    link
        Where the private correspondence of release and data goes; None: it is not written. It numbers rows, so a table in an
        engine has none.
    dry_run
        Whether to say what would be done without writing anything; of data that is streamed or in an engine, no record is read,
        and counts of the columns named here are enough.
    spreadsheet_safe
        Whether texts that a spreadsheet would take for formulas get an apostrophe before them (text files only).
    hierarchies
        The hierarchies of key attributes, and of sensitive ones for the hierarchical distance. A key attribute without one gets
        one proposed from its values.
    suppression
        The share of the records that may be suppressed: their key values become ``*``.
    objective
        What to minimise: "loss", "precision", "entropy", "height", "entropy-arx", "entropy-normalized" or "precision-arx", each
        also ending in "-geometric", "-max" or "-rank"; "discernibility", "discernibility-monotone", "class-size", "kl",
        "ambiguity", "entropy-based", "classification:COLUMN", or several of these with "+" between,
        "payoff:BENEFIT:LOSS:GAIN:COST[:journalist]", or a function of a `Candidate`. `objective_of` gives the formulas.
    levels
        The lowest and the highest level that an attribute may have.
    weights
        How much each attribute counts in the objective; 1 unless stated here.
    factor
        From 0 (suppression costs nothing beyond generalisation) through 0.5 to 1 (generalisation costs nothing).
    identifiers
        Columns that name people outright: they are left out.
    pseudonyms
        Columns that name people and stay, as keyed hashes; the key is in `key_file` or, without one, in the environment variable
        ``UNVEIL_KEY``.
    keep
        Columns that stay although they name people, or are unique for more than half of them: you vouch for them, and the
        release's record says so. Other columns of this kind are left out; the rest stays, and is listed as never measured.
    only_roles
        Whether to leave out every column that is neither key nor sensitive, kept nor a pseudonym.
    key_file
        A secret key for pseudonyms and for the shuffling: anyone who has it, and nobody else, can repeat the release.
    population
        The table that `data` is part of, for k-map and delta-presence.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank.
    nulls
        "category": a null is a value. "drop": records with a null in a column named here are left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed
        The seed of the shuffling, for tests: everybody can repeat it, so the release is marked as not for publication. With
        neither a seed nor a key file, nobody can repeat it. A table in an engine has no order that could be repeated.
    time_limit, node_limit
        When to stop searching, in seconds or generalisations looked at; the best one so far is then returned and marked.
    progress
        A run, or a function called now and then with a stage (bytes counted, generalisations, records), the number of its steps
        done and of all its steps.

    Returns
    -------
    Release
        The protected records, the transformation, its score and the models before and after. If records were streamed or
        rewritten in an engine, `data` is a lazy frame of the file or the opened table, and `origin` is empty.

    Raises
    ------
    ModelNotMetError
        If no generalisation meets the models.
    EmptyDataError
        If the least costly generalisation that meets them suppresses every record.

    Examples
    --------
    >>> import unveil
    >>> from unveil.models import KAnonymity
    >>> tree = unveil.Hierarchy.from_levels(["22", "25", "38", "39"], ["20-29", "20-29", "30-39", "30-39"], ["*"] * 4)
    >>> people = {"age": [22, 25, 38, 39], "disease": ["flu", "flu", "gout", "flu"]}
    >>> import polars as pl
    >>> release = unveil.anonymize(pl.DataFrame(people), {"age": tree}, [KAnonymity(2)], keep_order=True)
    >>> release
    Release(age 1/2; loss 0.3333, optimal; 4 records, 0 suppressed)
    >>> release.data["age"].to_list()
    ['20-29', '20-29', '30-39', '30-39']
    """
    wanted = wanted_of(data, attributes, models, hierarchies=hierarchies, orders=orders, population=population, nulls=nulls)
    options = Options(
        names_of(identifiers), names_of(pseudonyms), suppression, levels or {}, weights or {}, factor, wanted.said.nulls,
        keep_order, time_limit, node_limit,
    )  # fmt: skip
    to = Destination.of(out, link, spreadsheet_safe=spreadsheet_safe)
    to.require_other_files((data, population, key_file), attributes, hierarchies)
    _require_own_columns(options, wanted)
    budget, chance = budget_of(time_limit, node_limit), chance_of(seed, key_file)
    table: Any = _stream_of(wanted, options, unread=dry_run) if dry_run or out is not None else None
    write = None if table is None else _checked_stream(table, to, chance, options.identifiers, wanted)
    if table is None:
        _require_file(to, data)
        table, options = _read(wanted.said, options, key_file)
    standing = _standing(wanted.said, table, names_of(keep), only_roles=only_roles)
    request = request_of(wanted, table, options.identifiers, objective)
    if not standing.deferred:
        treated = (*request.keys, *request.sensitive, *request.further, *options.pseudonyms)
        options = replace(options, screen=screen(_released(request, options), request.table.names, treated, standing))
    lattice = Lattice.of(request, levels=levels, suppression=suppression, objective=objective, weights=weights, factor=factor)
    return _release(lattice.chosen(budget), Destination() if dry_run else to, write, options, chance)


def _released(request: Request, options: Options) -> Any:
    """Return the records of a request that a release can have, for counts of their other columns."""
    table = request.table
    if options.nulls == "drop" and isinstance(table, BatchedRecords):
        return table.complete([column.name for column in request.cells.columns])
    return table.frame


def _standing(said: Stated, table: Microdata | BatchedRecords, keep: tuple[str, ...], *, only_roles: bool) -> Standing:
    """Return the statements of a study and of the call about the columns that are neither key nor sensitive."""
    standing = table.standing if isinstance(table, Microdata) else standing_among(said.standing, table.names)
    require_columns(keep, table.names)
    return replace(standing, keep=(*standing.keep, *keep), only_roles=standing.only_roles or only_roles)


def _release(choice: Choice, to: Destination, write: Write | None, options: Options, chance: Chance) -> Release[Generalisation]:
    """Return the release of a chosen generalisation, made where the records are."""
    table = choice.request.table
    if not isinstance(table, BatchedRecords):
        return to.written(generalised_in_hand(choice, options, chance))
    repeatable = repeatable_of(chance, table.place, drawn=to.out is not None and not options.keep_order)
    with together() if write is None else nullcontext():
        records = rewritten(choice, to, write, options, chance)
        release = generalised(choice, records, _NO_ROWS, options, repeatable)
        if isinstance(records, WrittenFile):
            write_recorded(records.path, release.record)
    return release


def _stream_of(wanted: Wanted, options: Options, *, unread: bool) -> BatchedRecords | None:
    """Return the records as a stream if they are streamed, in an engine or only counted; None if they must be read."""
    said = wanted.said
    here = bool(options.pseudonyms) or said.population is not None or said.standing.person is not None
    source = None if here or isinstance(said.data, Microdata) else open_source(said.data)
    if isinstance(source, StreamSource | EngineSource) or (unread and isinstance(source, TallySource)):
        return BatchedRecords(source, source.names)
    return None


def _checked_stream(
    stream: BatchedRecords,
    to: Destination,
    chance: Chance,
    identifiers: Sequence[str],
    wanted: Wanted,
) -> Write | None:
    """Refuse requests that are impossible where the records are; return the writer of the engine's table, if any is written."""
    engine = isinstance(stream.source, EngineSource)
    if chance.repeatable and engine:
        raise ArgumentError(
            f"a {'seed' if chance.repeatable == 'seed' else 'key file'} is given, but rows of a table in an engine have no "
            "order, so nothing can be repeated; leave it out."
        )
    require_columns([*identifiers, *wanted.keys], stream.names)
    require_apart(identifiers, wanted.keys, wanted.sensitive)
    return to.require_records_elsewhere(stream)


def _require_file(to: Destination, data: Data) -> None:
    """Refuse to write records in memory to a table of an engine."""
    if isinstance(to.out, Address):
        elsewhere = isinstance(open_source(data), EngineSource)
        why = "read into memory, as persons, pseudonyms or a population need" if elsewhere else "not in an engine"
        raise ArgumentError(f"the records are {why}, so the release goes into a file; name one (.parquet, .csv or .tsv).")


def _require_own_columns(options: Options, wanted: Wanted) -> None:
    """Refuse to pseudonymise a column that has another role."""
    taken = {*wanted.keys, *wanted.sensitive, *options.identifiers}
    if both := [name for name in options.pseudonyms if name in taken]:
        raise ArgumentError(
            f"column {shown(both[0])} is to be pseudonymised, but is key, sensitive or identifier too; it can be one of them."
        )


def _read(said: Stated, options: Options, key_file: str | os.PathLike[str] | None) -> tuple[Microdata, Options]:
    """Return the records, with pseudonyms for some columns, and the options with the notes on them."""
    records = open_microdata(said.data, said.standing)
    if not options.pseudonyms:
        return records, options
    release = pseudonymize(records.deferred(), options.pseudonyms, key_file=key_file, nulls="keep", keep_order=True)
    note = f"Pseudonymised with a keyed hash: {listed(options.pseudonyms)}. {' '.join(release.notes)}"
    return replace(in_hand(release), standing=records.standing), replace(options, pseudonymised=note)


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a generalisation besides the table, its key and its models; the release reports them.

    Attributes
    ----------
    pseudonymised
        The notes on the pseudonymised columns.
    screen
        The decision on the columns that are neither key nor sensitive.
    """

    identifiers: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    suppression: float = 0.0
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    factor: float = 0.5
    nulls: str = "category"
    keep_order: bool = False
    time_limit: float | None = None
    node_limit: int | None = None
    pseudonymised: str = ""
    screen: ColumnScreen = field(default_factory=ColumnScreen)

    def settings(self) -> dict[str, Any]:
        """Return the options in the form that a release reports."""
        return {
            "identifiers": list(self.identifiers),
            "pseudonyms": list(self.pseudonyms),
            "suppression": self.suppression,
            "levels": self.levels,
            "weights": self.weights,
            "factor": self.factor,
            "nulls": self.nulls,
            "keep_order": self.keep_order,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
        }


def generalised_in_hand(choice: Choice, options: Options, chance: Chance) -> Release[Generalisation]:
    """Generalise records that are in memory."""
    settings, keep_order = options.settings(), options.keep_order
    protected = choice.recoded([*options.screen.left_out])
    order = np.arange(protected.records) if keep_order else drawn_order(protected, chance, settings)
    repeatable = repeatable_of(chance, protected.place, drawn=not keep_order)
    return generalised(choice, protected.taken(order), choice.request.rows[order], options, repeatable)


def generalised(
    choice: Choice, records: ReleaseRecords, origin: NDArray[np.int64], options: Options, repeatable: Repeatable
) -> Release[Generalisation]:
    """Return the release of protected records."""
    own, erased = options.settings(), choice.erased()
    made = generalisation_of(choice, groups_by_mondrian(choice.request, erased) if erased else {})
    settings = {**stated_settings(choice, made.models), **own}
    said = notes_on(
        choice,
        made,
        limited=options.time_limit is not None or options.node_limit is not None,
        pseudonymised=options.pseudonymised,
    )
    screen = options.screen.beside(ColumnScreen.of_identifiers(options.identifiers).left_out)
    notes = marked([*said, *screen.notes()], repeatable)
    return Release(
        records, made, origin, settings, notes, repeatable, screen.left_out, screen.vouched, screen.unmeasured
    )  # fmt: skip
