"""What the tables of all engines have in common: they are counted where they are, by queries in SQL that can be cancelled.

Such a table is read in batches, and rewritten into another table of its engine. A query has a connection of its own, or that of
all queries of a block; it runs in a thread of its own, while the calling thread watches the active run and listens for Ctrl-C.
Queries contain only quoted names, and quoted constants of the user's query: the names come from the engine's own catalogue, in
which every requested column is looked up first.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl

from unveil.errors import CancelledError, DataChangedError, UnsupportedDataError, shown
from unveil.run import active_run
from unveil.sources.base import Source, Tally

if TYPE_CHECKING:
    from unveil.sources.engines.contributors import Contribution
    from unveil.sources.engines.recoding import EngineRecoding, Rewritten

__all__ = [
    "STATEMENTS",
    "Aggregates",
    "EngineSource",
    "Session",
    "Write",
    "Written",
    "batches_of",
    "cancellable",
    "named",
    "numbered",
    "quoted",
    "quoted_text",
    "rank",
    "released",
    "require_unchanged",
    "selection",
    "tally",
    "tally_of",
]

Write: TypeAlias = "Callable[[EngineRecoding], tuple[EngineSource, int]]"
"""A function that rewrites the records of a table into another one, and returns that, opened, and its number of records."""
Written: TypeAlias = "Callable[[str], str]"
"""A function that writes a column, or a text constant, in an engine's SQL."""
Aggregates: TypeAlias = "Callable[[Written, Written], Sequence[str]]"
"""A function that returns aggregates in SQL, given the functions that write columns and texts."""


class EngineSource(Source):
    """A source that an engine holds; its records have no order, and the engine counts them."""

    can_count = True
    in_hand = False
    ordered = False
    connected = True
    real: ClassVar[str] = "DOUBLE PRECISION"
    """The engine's name for the type of floating-point numbers."""

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:  # noqa: ARG002
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")

    def answered(
        self,
        columns: Sequence[str],  # noqa: ARG002 - an engine that can uses them
        what: Contribution,  # noqa: ARG002
        query: Callable[[str], str],  # noqa: ARG002
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the result of a query on records with the columns that `engines.contributors` describes.

        The second result names the columns whose numbers were fetched as text, with their digits after the point if known.
        """
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")


def require_unchanged(place: str, names: Iterable[str], before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse a table with columns that were dropped, or changed their type, since it was opened."""
    if any(now.get(name) != before[name] for name in names):
        raise DataChangedError.of_counts(place)


_Answer = TypeVar("_Answer")
_Connection = TypeVar("_Connection")
_MOMENT = 0.1
"""The seconds between checks of the run, and before a query, which may not have begun, is cancelled again."""

STATEMENTS = logging.getLogger("unveil.engines")
"""The log of every statement that is sent to an engine, at the level DEBUG.

Statements hold names of columns, and the constants of the user's query, but never values of the data; Spark's data frames
have no statements, so their queries are logged as equivalent SQL.
"""


class Session(Generic[_Connection]):
    """A provider of connections.

    Parameters
    ----------
    connect
        A function that opens a connection for the duration of a `with` block.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[_Connection]]) -> None:
        self._connect, self._lock = connect, threading.RLock()
        self._holders = 0
        self._kept: tuple[_Connection, ExitStack] | None = None

    def __reduce__(self) -> tuple[type[Session[_Connection]], tuple[Callable[[], AbstractContextManager[_Connection]]]]:
        """Pickle everything but the connection, because another process opens its own."""
        return Session, (self._connect,)

    @contextmanager
    def connection(self) -> Iterator[_Connection]:
        """Yield the connection held, or open one for this query; after a failure, a connection held is closed."""
        if not self._holders:
            with self._connect() as own:
                yield own
            return
        with self._lock:
            if self._kept is None:
                stack = ExitStack()
                self._kept = stack.enter_context(self._connect()), stack
            try:
                yield self._kept[0]
            except BaseException:
                self.close()
                raise

    @contextmanager
    def held(self, given: Any = None) -> Iterator[Any]:
        """Keep one connection for all queries of a block; yield `given`."""
        with self._lock:
            self._holders += 1
        try:
            yield given
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self.close()

    def close(self) -> None:
        """Close the connection held, if there is one; the next query opens another."""
        with self._lock:
            kept, self._kept = self._kept, None
            if kept is not None:
                kept[1].close()


def cancellable(query: Callable[[], _Answer], cancel: Callable[[], object]) -> _Answer:
    """Return the result of a query; if the run is cancelled, or on Ctrl-C, cancel the query and wait for its end.

    Drivers that handle Ctrl-C themselves sometimes miss it, or prevent a longer wait from being interrupted.
    """
    run = active_run()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(query)
        try:
            while wait([waiting], timeout=_MOMENT).not_done:
                run.check()
        except (KeyboardInterrupt, CancelledError):
            while not waiting.done():
                with suppress(Exception):  # some drivers report that nothing is running at the moment
                    cancel()
                wait([waiting], timeout=_MOMENT)
            raise
        return waiting.result()


def quoted(name: str) -> str:
    """Quote a name as in standard SQL: in double quotes, with quotes inside doubled.

    Examples
    --------
    >>> quoted('so "called" é')
    '"so ""called"" é"'
    """
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Quote a text constant as in standard SQL: in single quotes, with quotes inside doubled.

    Examples
    --------
    >>> quoted_text("o'clock")
    "'o''clock'"
    """
    return "'" + text.replace("'", "''") + "'"


def selection(expressions: Sequence[str]) -> str:
    """Return the list of a SELECT, with columns named by their positions.

    Examples
    --------
    >>> selection(['"age"', '"sex"'])
    '"age" AS "0", "sex" AS "1"'
    """
    return ", ".join(f"{expression} AS {quoted(str(at))}" for at, expression in enumerate(expressions))


def tally(table: str, shown: Sequence[str], grouped: Sequence[str]) -> str:
    """Return the query for the combinations that occur and, last, their counts.

    Examples
    --------
    >>> tally('"people"', ['"age"'], ['"age"'])
    'SELECT "age" AS "0", count(*) AS "n" FROM "people" GROUP BY "age"'
    """
    return f'SELECT {selection(shown)}, count(*) AS "n" FROM {table} GROUP BY {", ".join(grouped)}'  # noqa: S608 - quoted


def numbered(table: str, **columns: Sequence[str]) -> str:
    """Return the query for columns named by a letter and their positions.

    Examples
    --------
    >>> numbered('"people"', k=['"age"'], c=['"age"', '"sex"'])
    'SELECT "age" AS k0, "age" AS c0, "sex" AS c1 FROM "people"'
    """
    listed = [f"{one} AS {letter}{at}" for letter, some in columns.items() for at, one in enumerate(some)]
    return f"SELECT {', '.join(listed)} FROM {table}"  # noqa: S608 - quoted


def rank(expression: str) -> str:
    """Return the expression for the rank of a value among all distinct values of a column; a null has none.

    Examples
    --------
    >>> rank('"pid"')
    'CASE WHEN "pid" IS NOT NULL THEN dense_rank() OVER (ORDER BY "pid") END'
    """
    return f"CASE WHEN {expression} IS NOT NULL THEN dense_rank() OVER (ORDER BY {expression}) END"


def released(table: str, made: Rewritten, names: Sequence[str]) -> str:
    """Return the statement that creates the table of a release, with columns under their names."""
    columns = ", ".join(f"q.c{at} AS {quoted(name)}" for at, name in enumerate(names))
    return f"CREATE TABLE {table} AS SELECT {columns} FROM {made.source}{made.order}"  # noqa: S608 - quoted


_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""1 January 1 and 31 December 9999, in days from 1970: the earliest and the latest date in Python."""

_LONGEST = 38

_NONE: Mapping[str, int | None] = MappingProxyType({})

_TEXTS = (pl.Categorical, pl.Enum)


def tally_of(answer: pl.DataFrame, columns: Sequence[str], *, numeric: Mapping[str, int | None] = _NONE) -> Tally:
    """Read combinations, with their counts in the last column."""
    counts = answer.to_series(len(columns))
    frame = named(answer, columns, numeric=numeric)
    cells = pl.DataFrame({name: _with_one_zero(frame[name]) for name in columns})
    return Tally(cells, counts.cast(pl.Int64).to_numpy().astype(np.int64))


def named(answer: pl.DataFrame, columns: Sequence[str], *, numeric: Mapping[str, int | None] = _NONE) -> pl.DataFrame:
    """Read columns in their order; those in `numeric` were fetched as texts, so that no digits are lost.

    `numeric` also gives their digits after the point, if the table declares these.
    """
    series = {name: answer.to_series(at) for at, name in enumerate(columns)}
    return pl.DataFrame(
        {name: _usual(name, _numbers(held, numeric[name]) if name in numeric else held) for name, held in series.items()}
    )


def batches_of(answer: Iterable[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield record batches with columns in their order and in the engine's types, which are the same in all batches."""
    for batch in answer:
        frame = pl.DataFrame(batch)
        series = {name: _dated(name, frame.to_series(at)) for at, name in enumerate(columns)}
        yield pl.DataFrame({name: held.cast(pl.String) if held.dtype in _TEXTS else held for name, held in series.items()})


def _with_one_zero(series: pl.Series) -> pl.Series:
    """Return -0.0 as 0.0, which is the same number; an engine may return either for both."""
    plain = series.alias("values")  # some names are patterns to Polars
    return plain.set(plain == 0.0, 0.0) if plain.dtype.is_float() else plain


def _usual(name: str, series: pl.Series) -> pl.Series:
    """Return whole decimal numbers as integers if they are short enough, and refuse dates that Python cannot hold."""
    if isinstance(series.dtype, pl.Decimal) and series.dtype.scale == 0:
        whole = series.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == series.null_count() else series
    return _dated(name, series)


def _dated(name: str, series: pl.Series) -> pl.Series:
    """Refuse dates that Python cannot hold."""
    if series.dtype in (pl.Date, pl.Datetime):
        days = series.cast(pl.Date).to_physical()
        if not ((days >= _FIRST_DAY) & (days <= _LAST_DAY)).all():
            raise UnsupportedDataError(
                f"column {shown(name)} holds infinite dates, or dates outside the years 1 to 9999; turn them into nulls or text."
            )
    return series


def _numbers(texts: pl.Series, scale: int | None) -> pl.Series:
    """Read decimal numbers; if too long, as floating-point numbers, or as texts if that would merge some. NaN is a null."""
    finite = texts.set(texts == "NaN", None)
    parts = finite.str.strip_chars("-").str.split_exact(".", 1).struct.unnest()
    whole, behind = (int(parts.to_series(at).str.len_bytes().max() or 0) for at in (0, 1))  # type: ignore[arg-type]
    behind = max(behind, scale or 0)
    if whole + behind <= _LONGEST and not finite.str.contains("Infinity").any():
        return finite.str.to_decimal(scale=behind)
    rounded = finite.cast(pl.Float64)
    return rounded if rounded.n_unique() == finite.n_unique() else finite
