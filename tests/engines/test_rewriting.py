"""One body, every engine: a table becomes a release where it lies, the same one that records in memory become."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

import unveil
from unveil.cli import run as command
from unveil.errors import ArgumentError, DataChangedError, EngineError, UnsupportedDataError
from unveil.models import DistinctLDiversity, KAnonymity
from unveil.sources import Source, open_source
from unveil.sources.engines.address import parse_address

from .test_agreement import AGE, INCOME, NATION, TOWN, people

WRITING = ("duckdb file", "postgresql", "spark")
STREAMING = ("duckdb", *WRITING)
writing = pytest.mark.parametrize("engine", WRITING, indirect=True)
streaming = pytest.mark.parametrize("engine", STREAMING, indirect=True)

KEY = [AGE, TOWN, INCOME, "born"]
_numbers = count()


def beside(data: Any) -> str:
    """Return the address of a new table beside another."""
    name = f'the `release` "é" {next(_numbers)}' if isinstance(data, str) else f"release_{next(_numbers)}"
    return f"{data.partition('?')[0]}?table={name}" if isinstance(data, str) else f"spark://local?table={name}"


def rows(data: Any, names: list[str]) -> list[tuple[Any, ...]]:
    """Return the records in an order of their own."""
    frame = open_source(data).collect(names).cast(pl.String)
    return sorted(frame.rows(), key=repr)


CASES: dict[str, dict[str, Any]] = {
    "suppression": {"models": [KAnonymity(4)], "suppression": 0.2},
    "generalisation alone": {"models": [KAnonymity(8), DistinctLDiversity("member", 2)]},
    "nothing to do": {"models": [KAnonymity(1)]},
    "nulls dropped": {"models": [KAnonymity(3)], "suppression": 0.3, "nulls": "drop"},
    "identifiers": {"models": [KAnonymity(3)], "suppression": 0.5, "identifiers": ["home", NATION]},
}


@writing
@pytest.mark.parametrize("case", CASES)
def test_the_release_is_that_of_the_table_in_memory(engine: Callable[[pl.DataFrame], Any], case: str) -> None:
    options = dict(CASES[case])
    models = options.pop("models")
    data = engine(people())
    out = beside(data)
    whole = unveil.anonymize(people(), KEY, models, **options)
    found = unveil.anonymize(data, KEY, models, out=out, **options)
    assert (found.transformation, found.score, found.suppressed) == (whole.transformation, whole.score, whole.suppressed)
    assert found.to_dict()["models"] == whole.to_dict()["models"]
    assert found.records.records == whole.records.records
    names = list(whole.data.columns)
    assert list(open_source(out).names) == names == list(found.data.names)
    assert rows(out, names) == rows(whole.data, names)
    kept = [name for name in names if name not in KEY]
    assert open_source(out).collect(kept).schema == open_source(data).collect(kept).schema


def stored(out: str, request: pytest.FixtureRequest) -> list[int]:
    """Return the column `row` of a table, in the order in which the engine has stored its rows."""
    place, _, table = out.partition("?table=")
    quoted = '"' + table.replace('"', '""') + '"'
    if place.startswith("postgresql"):
        return [row for (row,) in request.getfixturevalue("run")(f"SELECT row FROM {quoted} ORDER BY ctid")]  # noqa: S608
    if place.startswith("spark"):
        return open_source(out).collect(["row"])["row"].to_list()
    with duckdb.connect(place) as connection:
        return [row for (row,) in connection.execute(f"SELECT row FROM {quoted} ORDER BY rowid").fetchall()]  # noqa: S608


def is_no_trace(rows: list[int]) -> bool:
    """Whether places say nothing of the original ones."""
    return bool(abs(stats.spearmanr(rows, range(len(rows))).statistic) < 4 / len(rows) ** 0.5)


ZEROS = pl.DataFrame(
    {"grade": [float("nan"), None, None, None, -0.0, 0.0, 0.0, 0.0], "small": [0.0, -0.0, 0.0, None, float("nan")] + [1.5] * 3}
)


@streaming
def test_no_release_tells_apart_what_was_counted_together(engine: Callable[[pl.DataFrame], Any], tmp_path: Path) -> None:
    made = engine(ZEROS.with_columns(pl.col("small").cast(pl.Float32)))
    places = [tmp_path / "release.csv", tmp_path / "release.parquet"]
    for place in places:
        unveil.anonymize(made, "grade", [KAnonymity(4)], keep=["small"], out=place)
    texts = pl.read_csv(places[0], infer_schema=False)
    assert sorted(texts["grade"].value_counts().rows(), key=repr) == [("0.0", 4), (None, 4)]
    assert sorted(texts["small"].unique().to_list(), key=repr) == ["0.0", "1.5", None]
    numbers = pl.read_parquet(places[1])
    assert not numbers["grade"].is_nan().any()
    assert not np.signbit(numbers["grade"].drop_nulls().to_numpy()).any()


@writing
def test_no_table_that_is_written_tells_apart_what_was_counted_together(engine: Callable[[pl.DataFrame], Any]) -> None:
    made = engine(ZEROS)
    place = beside(made)
    unveil.anonymize(made, "grade", [KAnonymity(4)], keep=["small"], out=place)
    written = open_source(place).collect(["grade", "small"])
    assert sorted(written["grade"].value_counts().rows(), key=repr) == [(0.0, 4), (None, 4)]
    assert not written["small"].is_nan().any()
    assert not np.signbit(written["small"].drop_nulls().to_numpy()).any()


@writing
def test_the_order_of_a_release_is_drawn_anew_every_time(
    engine: Callable[[pl.DataFrame], Any], request: pytest.FixtureRequest
) -> None:
    data = engine(people().with_columns(pl.int_range(400).alias("row")))
    outs = [beside(data) for _ in range(2)]
    releases = [unveil.anonymize(data, [AGE], [KAnonymity(5)], out=out, suppression=0.1, keep="row") for out in outs]
    rows = [stored(out, request) for out in outs]
    assert all(sorted(some) == list(range(400)) and is_no_trace(some) for some in rows)
    assert is_no_trace(np.argsort(rows[0])[rows[1]].tolist())
    assert all(release.repeatable is False for release in releases)
    kept = beside(data)
    unveil.anonymize(data, [AGE], [KAnonymity(5)], out=kept, suppression=0.1, keep_order=True, keep="row")
    assert sorted(stored(kept, request)) == list(range(400))


def draw_key(monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    """Let the operating system draw a key that is known; names of tables are drawn as ever."""
    monkeypatch.setattr(secrets, "token_bytes", lambda size=32: key if size == len(key) else os.urandom(size))


@writing
def test_no_random_numbers_of_the_engine_decide_the_order(
    engine: Callable[[pl.DataFrame], Any], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same key, which the operating system would not give twice, the order is the same: nothing else enters it."""
    data, rows = engine(people().with_columns(pl.int_range(400).alias("row"))), []
    draw_key(monkeypatch, bytes(range(32)))
    for _ in range(2):
        unveil.anonymize(data, [AGE], [KAnonymity(1)], out=(out := beside(data)), levels={AGE: (0, 0)}, keep="row")
        rows.append(stored(out, request))
    assert rows[0] == rows[1]
    assert is_no_trace(rows[0])


def test_the_order_is_that_of_the_keyed_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SHA-256 of 32 bytes of key and 8 bytes of row number, computed here."""
    file, key = tmp_path / "p.duckdb", bytes(range(32))
    draw_key(monkeypatch, key)
    data = made(file, "CREATE TABLE people AS SELECT 1 AS a, range AS row FROM range(500)")
    unveil.anonymize(data, ["a"], [KAnonymity(2)], keep="row", out=f"{file}?table=release")
    expected = sorted(range(500), key=lambda row: hashlib.sha256(key + (row + 1).to_bytes(8)).digest())
    with duckdb.connect(str(file)) as connection:
        found = [row for (row,) in connection.execute("SELECT row FROM release ORDER BY rowid").fetchall()]
    assert found == expected


def test_nothing_of_the_key_stays_in_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, key = tmp_path / "p.duckdb", bytes(range(100, 132))
    draw_key(monkeypatch, key)
    data = made(file, "CREATE TABLE people AS SELECT range % 9 AS a FROM range(500)")
    unveil.anonymize(data, ["a"], [KAnonymity(2)], out=f"{file}?table=release")
    for left in tmp_path.rglob("*"):
        assert key not in left.read_bytes()
        assert key.hex().encode() not in left.read_bytes().lower()
    with duckdb.connect(str(file)) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    assert tables == [("people",), ("release",)]


def test_nothing_of_the_key_stays_in_postgresql(
    postgres: str,
    run: Callable[..., list[tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not as a table, and not in a statement: the server reports those that run, as its log and its statistics do."""
    key = bytes(range(100, 132))
    draw_key(monkeypatch, key)
    caplog.set_level(logging.DEBUG, "unveil.engines")
    run("CREATE TABLE plain AS SELECT i % 9 AS a FROM generate_series(1, 500) AS i")
    unveil.anonymize(f"{postgres}?table=plain", ["a"], [KAnonymity(2)], out=f"{postgres}?table=plain_out")
    statements = [record.getMessage() for record in caplog.records]
    assert any("sha256" in statement for statement in statements)
    assert not any(form in statement.lower() for statement in statements for form in (key.hex(), repr(key)[2:-1]))
    assert run("SELECT relname::text FROM pg_class WHERE relname LIKE 'unveil\\_%order'") == []


def test_nothing_of_the_key_stays_in_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a view, and not in a plan, which Spark shows in its event log and its page."""
    key, plans = bytes(range(100, 132)), []
    draw_key(monkeypatch, key)
    own = type(spark).sql

    def listening(self: Any, query: str) -> Any:
        frame = own(self, query)
        plans.append(query + frame._jdf.queryExecution().toString())  # noqa: SLF001 - PySpark prints it only
        return frame

    monkeypatch.setattr(type(spark), "sql", listening)
    data = spark.createDataFrame(people().to_arrow())
    views = [view.name for view in spark.catalog.listTables()]
    unveil.anonymize(data, [AGE], [KAnonymity(2)], out=f"spark://local?path={tmp_path / 'release'}", suppression=0.1)
    assert any("sha2" in plan for plan in plans)
    for form in (key.hex(), " ".join(f"{byte:02x}" for byte in key), key.decode("latin-1")[:8], ", ".join(map(str, key))):
        assert not any(form in plan.lower() for plan in plans)
    assert [view.name for view in spark.catalog.listTables()] == views


@streaming
def test_records_from_an_engine_go_into_a_file_in_an_order_of_their_own(
    engine: Callable[[pl.DataFrame], Any], tmp_path: Path
) -> None:
    data, rows = engine(people().with_columns(pl.int_range(400).alias("row"))), []
    for _ in range(2):
        unveil.anonymize(data, [AGE], [KAnonymity(5)], out=tmp_path / "r.parquet", suppression=0.1, keep="row")
        rows.append(pl.read_parquet(tmp_path / "r.parquet")["row"].to_list())
    assert all(sorted(some) == list(range(400)) and is_no_trace(some) for some in rows)
    assert is_no_trace(np.argsort(rows[0])[rows[1]].tolist())


@streaming
def test_seeds_and_key_files_are_refused(engine: Callable[[pl.DataFrame], Any], tmp_path: Path) -> None:
    data, key = engine(people(20)), tmp_path / "steward.key"
    key.write_bytes(b"a secret of 32 bytes, or longer.")
    given: list[tuple[str, dict[str, Any]]] = [("seed", {"seed": 0}), ("key file", {"key_file": key})]
    for what, options in given:
        with pytest.raises(ArgumentError, match=f"a {what} is given, but rows of a table in an engine have no order"):
            unveil.anonymize(data, [AGE], [KAnonymity(2)], out=tmp_path / "r.csv", **options)


@writing
def test_a_table_that_is_there_is_not_written_over(engine: Callable[[pl.DataFrame], Any]) -> None:
    data = engine(people(50))
    out = beside(data)
    unveil.anonymize(data, [AGE], [KAnonymity(2)], out=out, suppression=0.1, keep="home")
    before = rows(out, [AGE, "home"])
    with pytest.raises(EngineError, match="this table exists already"):
        unveil.anonymize(data, [AGE], [KAnonymity(3)], out=out, suppression=0.9, keep="home")
    assert rows(out, [AGE, "home"]) == before


def counted_before(monkeypatch: pytest.MonkeyPatch, source: Source, before: Source) -> None:
    """Let a source answer as another one would when it is counted, as if its table had changed since."""
    own = type(source).count
    monkeypatch.setattr(type(source), "count", lambda self, columns: own(before if self is source else self, columns))


@writing
def test_a_release_of_records_that_were_not_counted_is_undone(
    engine: Callable[[pl.DataFrame], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table that is rewritten has a record less than the one that was counted."""
    data, later = engine(people(200)), engine(people(200).head(199))
    changed, out = open_source(later), beside(later)
    counted_before(monkeypatch, changed, open_source(data))
    with pytest.raises(DataChangedError, match="changed between its count and its release"):
        unveil.anonymize(changed, [AGE], [KAnonymity(2)], out=out, suppression=0.1)
    with pytest.raises(EngineError, match="no such table"):
        open_source(out)


@writing
def test_a_value_that_was_not_counted_is_refused(engine: Callable[[pl.DataFrame], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people(200)
    data = engine(frame.with_columns(pl.col(AGE).fill_null(99)))
    source = open_source(data)
    counted_before(monkeypatch, source, open_source(engine(frame)))
    with pytest.raises(DataChangedError, match="holds values that were not counted"):
        unveil.anonymize(source, [AGE], [KAnonymity(70)], out=beside(data))


OWN = (
    "unveil_records",
    "unveil_cells",
    "unveil_value0",
    "unveil_group0",
    "unveil_map0",
    "unveil_null",
    "unveil_gone",
    "unveil_sent",
)


@writing
def test_tables_of_the_user_may_have_any_name(engine: Callable[[pl.DataFrame], Any], request: pytest.FixtureRequest) -> None:
    """Names that the rewriting once used for its own tables: of the data, of the release, and of others beside them."""
    data = engine(people(60))
    options: dict[str, Any] = {"suppression": 0.4}
    whole = unveil.anonymize(people(60), [AGE, TOWN], [KAnonymity(3)], **options)
    assert whole.suppressed
    assert any(whole.transformation.values())
    names = list(whole.data.columns)
    if isinstance(data, str):
        place, _, table = data.partition("?table=")
        quoted = '"' + table.replace('"', '""') + '"'
        copies = [f"CREATE TABLE {name} AS SELECT * FROM {quoted}" for name in OWN]  # noqa: S608
        if place.startswith("postgresql"):
            run = request.getfixturevalue("run")
            run(*(f"DROP TABLE IF EXISTS {name}" for name in OWN), *copies)
        else:
            with duckdb.connect(place) as connection:
                connection.execute("; ".join(copies))
    else:
        place = "spark://local"
        for name in OWN:
            data.createOrReplaceTempView(name)
    for name in OWN if place.endswith(".duckdb") else OWN[::4]:  # the other engines take longer
        out = beside(data)
        unveil.anonymize(f"{place}?table={name}", [AGE, TOWN], [KAnonymity(3)], out=out, **options)
        assert rows(out, names) == rows(whole.data, names)
    assert all(rows(f"{place}?table={name}", names) == rows(people(60), names) for name in OWN)


@writing
def test_values_of_records_that_are_left_out_are_no_change(engine: Callable[[pl.DataFrame], Any]) -> None:
    """Age 99 occurs only beside a null, so it was not counted."""
    ages = [20, 20, 21, 21, 30, 30, 31, 31, 99, 99]
    frame = pl.DataFrame({"age": ages, "town": ["A"] * 8 + [None] * 2})
    data = engine(frame)
    out = beside(data)
    whole = unveil.anonymize(frame, ["age", "town"], [KAnonymity(4)], nulls="drop")
    unveil.anonymize(data, ["age", "town"], [KAnonymity(4)], out=out, nulls="drop")
    assert rows(out, ["age", "town"]) == rows(whole.data, ["age", "town"])


@streaming
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_records_stream_from_the_engine_into_a_file(engine: Callable[[pl.DataFrame], Any], ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"release.{ending}"
    models = [KAnonymity(4)]
    whole = unveil.anonymize(people(), KEY, models, suppression=0.2)
    found = unveil.anonymize(engine(people()), KEY, models, out=out, suppression=0.2)
    assert (found.transformation, found.suppressed) == (whole.transformation, whole.suppressed)
    names = list(whole.data.columns)
    if ending == "parquet":
        assert rows(out, names) == rows(whole.data, names)
        assert pl.read_parquet(out).schema == whole.data.schema
    else:
        assert unveil.count(out, [AGE, "home"]) == unveil.count(whole.data, [AGE, "home"])
    assert sorted(file.name for file in tmp_path.iterdir()) == [out.name, f"{out.name}.unveil.json"]


@streaming
def test_no_correspondence_of_tables_without_order(engine: Callable[[pl.DataFrame], Any], tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="rows of a table in an engine have no numbers"):
        unveil.anonymize(engine(people(20)), [AGE], [KAnonymity(2)], out=tmp_path / "r.csv", link=tmp_path / "link.csv")


@writing
def test_another_database_is_refused(engine: Callable[[pl.DataFrame], Any]) -> None:
    data = engine(people(20))
    for other in ("other.duckdb?table=r", "postgresql://127.0.0.1:1/x?table=r", "spark://local?table=r"):
        if isinstance(data, str) or not other.startswith("spark"):
            with pytest.raises(ArgumentError, match="is rewritten into one of its own database"):
                unveil.anonymize(data, [AGE], [KAnonymity(2)], out=other)


def test_a_relation_goes_into_a_file_only() -> None:
    relation = duckdb.sql("SELECT range % 2 AS a FROM range(10)")
    with pytest.raises(ArgumentError, match="cannot be rewritten into a table; name a file"):
        unveil.anonymize(relation, ["a"], [KAnonymity(2)], out="people.duckdb?table=r")


@pytest.mark.parametrize("engine", ["duckdb file", "postgresql"], indirect=True)
def test_a_table_needs_a_name(engine: Callable[[pl.DataFrame], Any]) -> None:
    data = engine(people(20))
    with pytest.raises(ArgumentError, match="name the table to write with"):
        unveil.anonymize(data, [AGE], [KAnonymity(2)], out=data.partition("?")[0])


def test_spark_writes_parquet_files(spark: Any, tmp_path: Path) -> None:
    data, out = spark.createDataFrame(people().to_arrow()), tmp_path / "release"
    views = [view.name for view in spark.catalog.listTables()]
    unveil.anonymize(data, KEY, [KAnonymity(4)], out=f"spark://local?path={out}", suppression=0.2)
    whole = unveil.anonymize(people(), KEY, [KAnonymity(4)], suppression=0.2).data
    assert rows(str(out), whole.columns) == rows(whole, whole.columns)
    with pytest.raises(EngineError, match="this table exists already"):
        unveil.anonymize(data, KEY, [KAnonymity(4)], out=f"spark://local?path={out}", suppression=0.2)
    assert [view.name for view in spark.catalog.listTables()] == views


@pytest.mark.parametrize("engine", ["duckdb file", "postgresql"], indirect=True)
def test_the_command_line(engine: Callable[[pl.DataFrame], Any], capsys: pytest.CaptureFixture[str]) -> None:
    data = engine(people())
    out = beside(data)
    words = ["--key", AGE, "--key", "born", "--k", "4", "--suppression", "0.1"]
    assert command(["anonymize", data, *words, "--out", out]) == 0
    said = capsys.readouterr()
    assert f"written: {open_source(out).place}\n" in said.err
    assert command(["measure", out, "--key", AGE, "--key", "born", "--k", "4"]) == 0
    capsys.readouterr()
    assert command(["anonymize", data, *words, "--out", out]) == 2
    assert "this table exists already" in capsys.readouterr().err
    assert command(["anonymize", data, "--mechanism", "pram", "--attribute", "member", "--out", beside(data)]) == 2
    assert "the release goes into a file" in capsys.readouterr().err


def test_types_of_postgresql_are_kept(postgres: str, run: Callable[..., list[tuple[Any, ...]]], tmp_path: Path) -> None:
    run(
        "CREATE TYPE size_ AS ENUM ('small', 'large')",
        """CREATE TABLE kinds AS SELECT (i % 3)::numeric(10, 2) + 0.50 AS exact, CASE i % 4 WHEN 0 THEN 'NaN'::numeric ELSE i % 2 END AS free,
           ('small', 'large')::text AS pair, CASE WHEN i % 2 = 0 THEN 'small' ELSE 'large' END::size_ AS size,
           ('00000000-0000-0000-0000-00000000000' || i % 2)::uuid AS id, '2020-01-01 00:00+02'::timestamptz + i % 2 * interval '1 day' AS t,
           ARRAY[i, i] AS list, '\\x00ff'::bytea AS bytes, '{"a": 1}'::jsonb AS json, i::float4 AS small, (i % 2 = 0) AS truth
           FROM generate_series(1, 60) AS i""",
    )
    key = ["exact", "free", "size", "id", "t", "small", "truth"]
    levels = {"small": (2, 4)}
    data = f"{postgres}?table=kinds"
    found = unveil.anonymize(
        data, key, [KAnonymity(3)], keep=["list", "bytes"], out=f"{postgres}?table=kinds_out", suppression=0.3, levels=levels
    )
    whole = unveil.anonymize(open_source(data).collect(key), key, [KAnonymity(3)], suppression=0.3, levels=levels)
    assert found.transformation == whole.transformation
    assert found.suppressed == whole.suppressed
    assert unveil.count(found.data, key).n.tolist() == unveil.count(whole.data, key).n.tolist()
    kinds = "SELECT attname::text, atttypid::regtype::text FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0"
    before, after = dict(run(kinds.format("kinds"))), dict(run(kinds.format("kinds_out")))
    assert {name: kind for name, kind in before.items() if name not in key} == {
        name: kind for name, kind in after.items() if name not in key
    }
    streamed = unveil.anonymize(
        data, key, [KAnonymity(3)], keep=["list", "bytes"], out=tmp_path / "r.parquet", suppression=0.3, levels=levels
    )
    assert streamed.data.select("list", "bytes").collect().schema == {"list": pl.List(pl.Int32), "bytes": pl.Binary}
    assert sorted(streamed.data.collect()["list"].to_list()) == [[i, i] for i in range(1, 61)]


def test_types_of_duckdb_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "kinds.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("""CREATE TABLE kinds AS SELECT (i % 3)::HUGEINT AS huge, (i % 2)::DECIMAL(9, 2) AS exact,
            (CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END)::ENUM ('a', 'b') AS mood, ('00000000-0000-0000-0000-00000000000' || i % 2)::UUID AS id,
            INTERVAL (i % 2) DAY AS span, CASE WHEN i % 4 = 0 THEN 'NaN'::DOUBLE ELSE i % 2 END AS real,
            [i, i] AS list, {'a': i} AS pair FROM range(60) AS series(i)""")  # fmt: skip
    key = ["huge", "exact", "mood", "id", "span", "real"]
    data = f"{file}?table=kinds"
    found = unveil.anonymize(data, key, [KAnonymity(6)], keep=["list", "pair"], out=f"{file}?table=out", suppression=0.3)
    whole = unveil.anonymize(open_source(data).collect(key), key, [KAnonymity(6)], suppression=0.3)
    assert (found.transformation, found.suppressed) == (whole.transformation, whole.suppressed)
    assert unveil.count(found.data, key).n.tolist() == unveil.count(whole.data, key).n.tolist()
    with duckdb.connect(str(file)) as connection:
        kinds = dict(
            connection.execute(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'out'"
            ).fetchall()
        )
    assert (kinds["list"], kinds["pair"]) == ("BIGINT[]", "STRUCT(a BIGINT)")
    streamed = unveil.anonymize(data, key, [KAnonymity(6)], keep=["list", "pair"], out=tmp_path / "r.parquet", suppression=0.3)
    assert sorted(streamed.data.collect()["list"].to_list()) == [[i, i] for i in range(60)]
    with pytest.raises(UnsupportedDataError, match="column 'list' holds List values, which a text file cannot hold"):
        unveil.anonymize(data, key, [KAnonymity(6)], keep=["list", "pair"], out=tmp_path / "r.csv", suppression=0.3)
    with pytest.raises(UnsupportedDataError, match="column 'list' holds List values, which a text file cannot hold"):
        unveil.anonymize(data, key, [KAnonymity(6)], keep=["list", "pair"], suppression=0.3).write(tmp_path / "r.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kinds.duckdb", "r.parquet", "r.parquet.unveil.json"]


def made(file: Path, *statements: str) -> str:
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)
    return f"{file}?table=people"


def test_a_duckdb_file_is_let_go_though_a_failure_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "p.duckdb"
    data = made(file, "CREATE TABLE people AS SELECT 1 AS a, 'infinity'::DATE AS far FROM range(6)")
    with pytest.raises(UnsupportedDataError, match="column 'far' holds infinite dates") as kept:
        unveil.anonymize(data, ["a"], [KAnonymity(2)], out=tmp_path / "r.parquet", keep="far")
    made(file, "CREATE TABLE other AS SELECT 1 AS a")  # it waits for ever where a reader is left
    assert kept.tb is not None


def test_what_duckdb_would_refuse_is_refused_before_the_work(tmp_path: Path) -> None:
    file = tmp_path / "p.duckdb"
    data = made(file, "CREATE TABLE people AS SELECT 1 AS a FROM range(6)", "CREATE SCHEMA other")

    def refused(out: str, error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            open_source(data).rewrite(parse_address(out))  # type: ignore[arg-type]

    refused(f"{file}?table=PEOPLE", EngineError, "this table exists already")
    refused(f"{file}?table=r&schema=nowhere", EngineError, "no such schema")
    refused(f"{file}?table=", ArgumentError, "name the table to write with")
    (tmp_path / "link.duckdb").symlink_to(file)
    unveil.anonymize(data, ["a"], [KAnonymity(2)], out=f"{tmp_path / 'link.duckdb'}?table=r&schema=Other")
    assert unveil.count(f"{file}?table=r&schema=other", ["a"]).records == 6


def test_a_duckdb_file_that_is_attached_elsewhere_is_named(tmp_path: Path) -> None:
    file = tmp_path / "p.duckdb"
    data = made(file, "CREATE TABLE people AS SELECT 1 AS a FROM range(6)")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{file}' AS held")
        with pytest.raises(EngineError, match="this program has the file open already; give the relation itself"):
            open_source(data)
        assert unveil.count(connection.sql("FROM held.people"), ["a"]).records == 6


CHANGES = {
    "a record more": "INSERT INTO changing VALUES (1, 'a', 0)",
    "a value more": "INSERT INTO changing VALUES (99, 'a', 0)",
    "none left": "DELETE FROM changing",
    "a key column less": "ALTER TABLE changing DROP COLUMN age",
    "another column less": "ALTER TABLE changing DROP COLUMN other",
    "another type": "ALTER TABLE changing ALTER COLUMN age TYPE numeric(5, 1)",
}


@pytest.mark.parametrize("into", ["table", "file"])
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_changes_between_count_and_release(
    engine: str, change: str, into: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = "CREATE TABLE changing AS SELECT range % 9 AS age, 'a' AS town, range AS other FROM range(90)"
    if engine == "postgresql":
        run, place = request.getfixturevalue("run"), request.getfixturevalue("postgres")
        run("DROP TABLE IF EXISTS changing", table.replace("range(90)", "generate_series(0, 89) AS range"))
    else:
        place = str(tmp_path / "p.duckdb")

        def run(*statements: str) -> None:
            made(Path(place), *statements)

        run(table)

    def changing(candidate: Any) -> float:
        if not done:
            done.append(change)
            run(CHANGES[change])
        return float(candidate.suppressed)

    done: list[str] = []
    out = f"{place}?table=changed" if into == "table" else tmp_path / "r.parquet"
    with pytest.raises(DataChangedError, match="the data changed"):
        unveil.anonymize(f"{place}?table=changing", ["age", "town"], [KAnonymity(20)], out=out, objective=changing, keep="other")
    assert done
    assert not (tmp_path / "r.parquet").exists()
    with pytest.raises(EngineError, match="no such table"):
        open_source(f"{place}?table=changed")
