"""Apache Spark: the executors group and count, and the driver receives the combinations that occur.

Columns are first renamed by their position, so that a name with a dot, a space or a backtick needs no quoting.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import polars as pl

from unveil.errors import ArgumentError, EngineError, MissingExtraError, UnsupportedDataError
from unveil.run import active_run
from unveil.sources.base import Tally, text_names
from unveil.sources.engines.recoding import EngineRecoding, own_word, recode
from unveil.sources.engines.table import (
    STATEMENTS,
    Aggregates,
    EngineSource,
    Write,
    batches_of,
    cancellable,
    named,
    quoted,
    tally_of,
)

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address
    from unveil.sources.engines.contributors import Contribution

__all__ = ["SparkSource", "open_address"]

_Answer = TypeVar("_Answer")

_UNCOUNTABLE = ("array", "binary", "map", "struct", "udt", "variant")
_FLOATS = ("float", "double")
_WHOLE = ("byte", "short", "integer", "long")
_NUMBERS = (*_WHOLE, *_FLOATS, "decimal")
_PATIENCE = 10.0
"""The number of seconds to wait for a master to answer."""
_TAKEN = ("TABLE_OR_VIEW_ALREADY_EXISTS", "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "PATH_ALREADY_EXISTS", "LOCATION_ALREADY_EXISTS")
_AS_IS = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz")


class SparkSource(EngineSource):
    """A PySpark data frame with numbered columns, which runs in its own session."""

    real = "DOUBLE"

    def __init__(self, frame: Any, place: str = "the Spark data frame") -> None:
        super().__init__(place, text_names(frame.columns, place))
        self.session = frame.sparkSession
        self.numbered = frame.toDF(*(str(at) for at in range(len(self.names))))
        self.kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
        self._at = {name: str(at) for at, name in enumerate(self.names)}

    def __reduce__(self) -> NoReturn:
        """Refuse to be sent to another process."""
        raise UnsupportedDataError.held_here(self.place, "name its table by an address")

    def plain(self, name: str) -> Any:
        """Return a column as it is."""
        return self.numbered[self._at[name]]

    def selected(self, name: str) -> Any:
        """Return a column in the form to select, with values of unusual types as text."""
        usual = self.kinds[name] in (*_AS_IS, *_UNCOUNTABLE)
        return (self.plain(name) if usual else self.plain(name).cast("string")).alias(self._at[name])

    def counted(self, name: str) -> Any:
        """Return a column in the form to count, in which a NaN is a null."""
        from pyspark.sql import functions

        column = self.selected(name)
        return functions.nanvl(column, functions.lit(None)) if self.kinds[name] in _FLOATS else column

    def released(self, name: str) -> Any:
        """Return a column in the form to release, with one form per value: no NaN besides nulls, no -0.0 besides 0.0."""
        kind = self.kinds[name]
        return (self.counted(name) + 0).cast(kind) if kind in _FLOATS else self.plain(name)

    def rewrite(self, out: Address) -> Write:
        """Return a function that writes a release into a new table of the catalogue, or into a new folder of Parquet files."""
        if out.engine != "spark":
            raise ArgumentError.other_database(self.place)
        _check_target(out)
        with _failure_reported(out.place):
            if _exists(self.session, out):
                raise EngineError.table_exists(out.place)
        return lambda what: _cancellable(self.session, lambda: self._rewritten(what, out))

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
        return {name: kind in _WHOLE for name, kind in self.kinds.items() if kind in _NUMBERS}

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        from pyspark.sql import functions

        def written(name: str) -> str:
            plain = f"`{self._at[name]}`"
            return f"nanvl({plain}, NULL)" if self.kinds[name] in _FLOATS else plain

        sums = ["count(*)", *aggregates(written, _escaped)]
        wanted = [functions.expr(one).alias(f"s{at}") for at, one in enumerate(sums)]
        self._say([*map(quoted, columns), *sums], columns)
        with _failure_reported(self.place):
            grouped = self.numbered.groupBy(*map(self.selected, columns)).agg(*wanted)
            answer = pl.DataFrame(_cancellable(self.session, grouped.toArrow))
        return tally_of(answer[:, : len(columns) + 1], columns), answer[:, len(columns) + 1 :]

    def answered(
        self, columns: Sequence[str], what: Contribution, query: Callable[[str], str]
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the result of a query on records with the columns that `engines.contributors` describes."""
        from pyspark.sql import functions

        for name in (*columns, *(one for one in (what.holding, what.request) if one is not None)):
            if self.kinds[name] in _UNCOUNTABLE:
                raise UnsupportedDataError.uncountable(name, self.kinds[name])
        none, view = functions.lit(""), f"{own_word()}records"
        word = none if what.request is None else functions.lower(self.plain(what.request).cast("string"))
        listed = [self.selected(name).alias(f"{letter}{at}") for letter in "sg" for at, name in enumerate(columns)]
        listed += [self._number(what.value).alias("v"), self._number(what.weights).alias("w"), word.alias("f")]
        listed.append((none if what.holding is None else self.counted(what.holding)).alias("h"))
        for at, name in enumerate(what.nullable(columns)):
            listed.append(functions.when(self.counted(name).isNull(), 1).otherwise(0).alias(f"z{at}"))
        with _failure_reported(self.place):
            self.numbered.select(*listed).createOrReplaceTempView(view)
            try:
                return pl.DataFrame(_cancellable(self.session, _sql(self.session, query(view)).toArrow)), {}
            finally:
                self.session.catalog.dropTempView(view)

    def _number(self, name: str | None) -> Any:
        """Return a column as finite floating-point numbers; without a column, 1."""
        from pyspark.sql import functions

        if name is None:
            return functions.lit(1.0)
        if self.kinds[name] not in _NUMBERS:
            raise UnsupportedDataError.no_number(name, self.kinds[name])
        number = self.plain(name).cast("double")
        return functions.when(functions.isnan(number) | functions.abs(number).isin(float("inf")), None).otherwise(number)

    def _rewritten(self, what: EngineRecoding, out: Address) -> tuple[EngineSource, int]:
        """Write the table or files of a release, and return them with their number of records."""
        views = _Views(self, what)
        try:
            with _failure_reported(out.place):
                made, columns = recode(views, what), ", ".join(f"q.c{at}" for at in range(len(what.names)))
                query = f"SELECT {columns} FROM {made.source}{made.order}"  # noqa: S608 - our own names
                release = _sql(self.session, query).toDF(*what.names)
                return _written(self.session, release, what, out)
        finally:
            views.drop()

    def _say(self, shown: Sequence[str], grouped: Sequence[str] = ()) -> None:
        """Log a query as equivalent SQL, because a data frame of Spark has no statement."""
        by = f" GROUP BY {', '.join(map(quoted, grouped))}" if grouped else ""
        STATEMENTS.debug("SELECT %s FROM %s%s", ", ".join(shown), self.place, by)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        self._say([*map(quoted, columns)])
        with _failure_reported(self.place):
            answer = _cancellable(self.session, self.numbered.select(*map(self.selected, columns)).toArrow)
            return named(pl.DataFrame(answer), columns)

    def _count(self, columns: Sequence[str]) -> Tally:
        for name in columns:
            if self.kinds[name] in _UNCOUNTABLE:
                raise UnsupportedDataError.uncountable(name, self.kinds[name])
        self._say([*map(quoted, columns), "count(*)"], columns)
        with _failure_reported(self.place):
            answer = _cancellable(self.session, self.numbered.groupBy(*map(self.selected, columns)).count().toArrow)
            return tally_of(pl.DataFrame(answer), columns)

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        from pyspark.sql import functions

        for name in columns:
            if self.kinds[name] in _UNCOUNTABLE:
                raise UnsupportedDataError.uncountable(name, self.kinds[name])
        self._say([*map(quoted, columns), "count(*)"], columns)
        with _failure_reported(self.place):
            plain = {name: self.counted(name) if name in owners else self.selected(name) for name in columns}
            rows = self.numbered.select(*(column.alias(self._at[name]) for name, column in plain.items()))
            for name in owners:
                at = self._at[name]
                known = rows.select(at).where(functions.col(at).isNotNull()).distinct()
                known = known.select(functions.col(at).alias("value"), functions.monotonically_increasing_id().alias("number"))
                rows = rows.join(known, rows[at] == known["value"], "left").drop(at, "value").withColumnRenamed("number", at)
            answer = _cancellable(self.session, rows.groupBy(*(self._at[name] for name in columns)).count().toArrow)
            return tally_of(pl.DataFrame(answer), columns)

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the records one partition at a time, each batch packed by the executor that holds it."""
        import pyarrow as pa

        def pack(batches: Iterable[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as stream:
                    stream.write_batch(batch)
                yield pa.RecordBatch.from_pydict({"packed": [sink.getvalue().to_pybytes()]})

        self._say([*map(quoted, columns)])
        with _failure_reported(self.place):
            with warnings.catch_warnings(action="ignore"):  # PySpark warns about new versions of pandas, which is not used here
                packed = self.numbered.select(*map(self.selected, columns)).mapInArrow(pack, "packed binary")
            run = active_run()
            for row in packed.toLocalIterator(prefetchPartitions=True):
                run.check()
                with pa.ipc.open_stream(row[0]) as stream:
                    yield from batches_of(stream, columns)


def _escaped(text: str) -> str:
    """Quote a text constant for Spark, in which a backslash is an escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def open_address(address: Address, held: ExitStack | None = None) -> SparkSource:  # noqa: ARG001 - a session is kept anyway
    """Open a table of the session's catalogue, or Parquet files by their path."""
    _check_target(address)
    session = _session(address)
    with _failure_reported(address.place):
        return SparkSource(_read(session, address), address.place)


def _check_target(address: Address) -> None:
    if (address.table is None) == (address.path is None) or address.rest:
        raise ArgumentError(f"{address.place}: name a table with ?table=NAME (&schema=NAME), or Parquet files with ?path=FOLDER.")


def _read(session: Any, address: Address) -> Any:
    return session.table(_table(address)) if address.path is None else session.read.parquet(address.path)


def _table(address: Address) -> str:
    parts = [part for part in (address.schema, address.table) if part is not None]
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _written(session: Any, release: Any, what: EngineRecoding, out: Address) -> tuple[EngineSource, int]:
    """Write a release, count it, and remove it again if it is incomplete or not as expected."""
    if _exists(session, out):
        raise EngineError.table_exists(out.place)
    writer = release.write
    STATEMENTS.debug("CREATE TABLE %s AS what was selected", out.place)
    try:
        if out.path is None:
            writer.saveAsTable(_table(out))
        else:
            writer.parquet(out.path)
        opened = SparkSource(_read(session, out), out.place)
        return opened, what.check(opened.count(what.counted))
    except BaseException as error:
        if not _is_taken(error):  # otherwise it belongs to someone else
            _removed(session, out)
        raise


def _is_taken(error: BaseException) -> bool:
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException) and error.getCondition() in _TAKEN


def _exists(session: Any, out: Address) -> bool:
    if out.path is None:
        return bool(session.catalog.tableExists(_table(out)))
    files, place = _files(session, out.path)
    return bool(files.exists(place))


def _files(session: Any, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path in its form."""
    place = session._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - PySpark has no other way to the files
    return place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), place  # noqa: SLF001


def _removed(session: Any, out: Address) -> None:
    """Remove the written part of a release; errors are suppressed, because the original failure is reported."""
    with suppress(Exception):
        if out.path is None:
            _sql(session, f"DROP TABLE IF EXISTS {_table(out)}")
        else:
            files, place = _files(session, out.path)
            files.delete(place, True)  # noqa: FBT003 - Java's


class _Views:
    """Views that a session holds until they are dropped."""

    row_number = "monotonically_increasing_id()"
    keyed_hash = "sha2(concat(o.k, encode(lpad(hex(q.n), 16, '0'), 'UTF-8')), 256)"

    def __init__(self, held: SparkSource, what: EngineRecoding) -> None:
        self.own, self._session = own_word(), held.session
        self.records = f"{self.own}records"
        self._kept: list[tuple[str, Any]] = []
        keys = [held.counted(column.name).alias(f"k{at}") for at, column in enumerate(what.changed)]
        whole = [held.counted(name).alias(f"w{at}") for at, name in enumerate(what.complete)]
        plain = [held.released(name).alias(f"c{at}") for at, name in enumerate(what.names)]
        self._keep(self.records, held.numbered.select(*keys, *whole, *plain))

    def hold(self, name: str, query: str) -> None:
        self._keep(name, _sql(self._session, query).persist())

    def put(self, name: str, frame: pl.DataFrame) -> None:
        self._keep(name, self._session.createDataFrame(frame.to_arrow()))

    def values(self, name: str, column: str) -> pl.Series:
        answer = pl.DataFrame(_sql(self._session, f"SELECT v FROM {name} ORDER BY id").toArrow())  # noqa: S608 - our own name
        return named(answer, [column]).to_series()

    def drop(self) -> None:
        """Drop the views."""
        for name, frame in self._kept:
            with suppress(Exception):
                self._session.catalog.dropTempView(name)
                frame.unpersist()

    def _keep(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(name)
        self._kept.append((name, frame))


def _sql(session: Any, query: str) -> Any:
    """Return the data frame of a query, after logging it."""
    STATEMENTS.debug("%s", query)
    return session.sql(query)


def _cancellable(session: Any, query: Callable[[], _Answer]) -> _Answer:
    """Return the result of a query, whose jobs are cancelled with the run, and on Ctrl-C."""
    context, group = session.sparkContext, own_word()

    def grouped() -> _Answer:
        context.setJobGroup(group, "unveil", interruptOnCancel=True)
        return query()

    return cancellable(grouped, lambda: context.cancelJobGroup(group))


def _session(address: Address) -> Any:
    """Return the active session, or start a quiet one at the master of the address."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError.needed("reading from Apache Spark", extra="spark") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    local = address.target.split("[")[0] == "local"
    if not local and not any(_listens(master) for master in address.target.split(",")):
        raise EngineError(f"{address.place}: nothing listens there; look at host, port and whether the master runs.")
    master = ("local[*]" if address.target == "local" else address.target) if local else address.uri()
    builder = SparkSession.builder.master(master).appName("unveil").config("spark.ui.enabled", "false")
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the first python3 on the path would be used
    try:
        with _silence():
            session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
            session.sparkContext.setLogLevel("OFF")
    except Exception:  # noqa: BLE001 - the errors of the launcher, Python's side and Java's side have no other class in common
        raise EngineError(
            f"{address.place}: no Spark session starts; it needs Java 17 or later, and a master that answers."
        ) from None
    return session


def _listens(master: str) -> bool:
    """Whether a server answers at host:port; Spark itself would try for more than a minute."""
    host, _, port = master.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE):
            return True
    except (OSError, ValueError):
        return False


@contextmanager
def _silence() -> Iterator[None]:
    """Keep the output of the Java machine off standard error, which it inherits from us when it starts."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn Spark's message, pages of text that may quote values, into one line that does not."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # PySpark cancels its jobs on Ctrl-C, and reports that
            raise KeyboardInterrupt from None
        if _is_taken(error):
            raise EngineError.table_exists(place) from None
        if not isinstance(error, AnalysisException):
            raise EngineError(f"{place}: a Spark job failed or lost its executors; Spark's own log says which.") from None
        if error.getCondition() == "COLUMN_ALREADY_EXISTS":
            raise EngineError(f"{place}: two columns differ only in case, which Spark takes for one name; rename one.") from None
        if error.getCondition() == "SCHEMA_NOT_FOUND":
            raise EngineError.no_schema(place) from None
        if error.getCondition() in ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND"):
            raise EngineError(f"{place}: Spark finds no such table or files.") from None
        raise EngineError.failed(place, "Spark", error.getCondition()) from None
