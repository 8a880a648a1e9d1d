from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import limited
from unveil.errors import DataFileError, NullsError, OutputError, UnsupportedDataError
from unveil.run import Limits, Run
from unveil.sources import open_source, tallied
from unveil.sources.batches.coders import coder_of
from unveil.sources.batches.combinations import KeyCounter
from unveil.sources.batches.counting import PackedSource, StreamSource
from unveil.sources.batches.dictionaries import NumberDictionary, TextDictionary

TINY: dict[str, Any] = {"stream_from": 0, "rows": 7, "text": 64, "block": 61, "combinations": 50}


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    """Text comes in blocks of a megabyte; here of a line or two, so that records and quotes are cut everywhere."""
    with Run(limits=Limits(block=TINY["block"])):
        yield


def mixed(rows: int = 300) -> pl.DataFrame:
    random = np.random.default_rng(0)
    texts = np.array(["a", "b", 'ü, "q"', "two\nlines", "07", "7"])
    frame = pl.DataFrame(
        {
            "text": texts[random.integers(0, 6, rows)],
            "whole": random.integers(-3, 4, rows),
            "decimal": random.integers(0, 4, rows) / 4,
            "id": random.permutation(rows),
            "^odd$": random.integers(0, 2, rows),
        }
    )
    holes = pl.Series(random.random(rows) < 0.2)
    return frame.with_columns(
        pl.when(holes).then(None).otherwise(pl.col("text")).alias("text"),
        pl.when(holes.reverse()).then(None).otherwise(pl.col("whole")).alias("whole"),
    )


def streamed(path: Path, columns: list[str], **options: Any) -> unveil.Counts:
    with limited(**TINY):
        assert isinstance(unveil.source(path), StreamSource)
        return unveil.count(path, columns, **options)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz"])
@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_streamed_file_counts_as_one_read_whole(tmp_path: Path, name: str, nulls: str) -> None:
    path, frame = tmp_path / name, mixed()
    if name.endswith("parquet"):
        frame.write_parquet(path, row_group_size=50)
    else:
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for columns in (["text", "whole", "decimal"], ["id", "text"], ["^odd$"], frame.columns):
        whole = unveil.count(path, columns, nulls=nulls)
        assert streamed(path, columns, nulls=nulls) == whole
        assert [type(value) for column in whole.columns for value in column.values] == [
            type(value) for column in streamed(path, columns, nulls=nulls).columns for value in column.values
        ]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [1.5, -0.0, 0.0, float("nan"), None, 1e300]),
        pl.Series("x", [1.5, -0.0, 0.0, 2.0, None, 3.0], dtype=pl.Float32),
        pl.Series("x", [True, False, None, True, True, False]),
        pl.Series("x", [date(2020, 1, 1), None, date(1900, 5, 2), date(2020, 1, 1), date(1970, 1, 1), date(1970, 1, 1)]),
        pl.Series("x", [5 * 10**11, None, -(10**12), 5 * 10**11, 0, None]).cast(pl.Datetime("ms")),
        pl.Series("x", [2**64 - 1, 0, None, 2**63, 2**64 - 1, 1], dtype=pl.UInt64),
        pl.Series("x", [3, None, 1, 3, -5, 1], dtype=pl.Int8),
        pl.Series("x", [Decimal("1.50"), None, Decimal("-2.25"), Decimal("10.00"), Decimal("9.00"), Decimal("1.50")]),
        pl.Series("x", ["b", "a", None, "b", "c", "a"], dtype=pl.Categorical),
        pl.Series("x", ["b", "a", None, "b", "c", "a"], dtype=pl.Enum(["c", "b", "a"])),
        pl.Series("x", [None] * 6, dtype=pl.String),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_type_of_parquet_keeps_its_values(tmp_path: Path, column: pl.Series) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": column, "y": [1, 1, 2, 2, 3, 3]}).write_parquet(path)
    assert streamed(path, ["x", "y"]) == unveil.count(path, ["x", "y"])


@pytest.mark.parametrize("values", [255, 256, 257])
@pytest.mark.parametrize("hole", [None, 300], ids=["with a null", "without"])
def test_codes_have_room_for_all_values(tmp_path: Path, values: int, hole: int | None) -> None:
    path, whole = tmp_path / "t.parquet", [*range(values - 1), hole]
    pl.DataFrame({"x": whole, "y": [f"{value}" if value else None for value in whole]}).write_parquet(path)
    assert streamed(path, ["x"]) == unveil.count(path, ["x"])
    assert streamed(path, ["x", "y"]) == unveil.count(path, ["x", "y"])


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_parquet_file_of_many_values_counts_in_batches_as_read_whole(
    tmp_path: Path, nulls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, frame = tmp_path / "t.parquet", mixed()
    frame.write_parquet(path, row_group_size=50)
    assert isinstance(unveil.source(path), PackedSource)
    for columns in (["text", "whole", "decimal"], ["id", "text"], ["^odd$"], frame.columns):
        whole = unveil.count(path, columns, nulls=nulls)
        with monkeypatch.context() as patch:
            patch.setattr("unveil.sources.batches.counting._COUNTED_FROM", 1)
            assert tallied(path, columns).n is not None
            assert unveil.count(path, columns, nulls=nulls) == whole == unveil.count(frame, columns, nulls=nulls)
    assert tallied(path, ["text"]).n is None


TEXTS = ["", "twelve bytes", "thirteen byte", "thirteen bits", "a" * 40, "a" * 39 + "b", "b", None]


@given(st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=20), min_size=1, max_size=4), st.integers(0, 3))
def test_texts_have_one_code_whatever_their_length_and_chunk(chunks: list[list[str | None]], skipped: int) -> None:
    """Up to 12 bytes stand in place, longer ones elsewhere; a null is no empty text; a slice begins in the middle."""
    dictionary = TextDictionary()
    for _ in range(2):  # what one batch taught holds in the next
        column = pl.concat([pl.Series(chunk, dtype=pl.String) for chunk in chunks], rechunk=False)[skipped:]
        codes = np.concatenate([dictionary.codes(chunk) for chunk in column.get_chunks()])
        values = [None, *dictionary.values()]
        assert [values[code] for code in codes] == column.to_list()
        assert len({*codes.tolist()}) == column.n_unique()
        assert all((code == 0) == (text is None) for code, text in zip(codes.tolist(), column.to_list(), strict=True))


def test_thousands_of_texts_are_numbered() -> None:
    coder = coder_of(pl.String(), None)
    texts = pl.Series([f"{at * 7919 % 5000} of many" * (at % 3) + f"{at * 7 % 9000}" for at in range(30_000)])
    codes = coder.codes(texts)
    assert coder.size == texts.n_unique() + 1
    assert coder.values().gather(codes - 1).to_list() == texts.to_list()


def bytes_in(parts: dict[str, Any]) -> int:
    return sum(part.nbytes for part in parts.values() if isinstance(part, np.ndarray))


def test_a_text_takes_little_more_than_its_view() -> None:
    """A view is 16 bytes; a place in the hash table takes 8 to 16, and at most half of an array waits to be used."""
    dictionary, rows = TextDictionary(), 100_000
    dictionary.codes(pl.Series([f"{at:012}" for at in range(rows)]))
    assert bytes_in(vars(dictionary)) < rows * (2 * 16 + 16)


def test_what_is_counted_takes_little_more_than_its_words_and_count() -> None:
    rows = 100_000
    with KeyCounter(2, rows) as counter:
        for at in range(0, rows, 1000):
            counter.add([np.arange(at, at + 1000, dtype=np.uint32), np.zeros(1000, dtype=np.uint32)], [at + 1000, 1])
        assert bytes_in({one.name: getattr(counter, one.name) for one in fields(counter)}) < rows * (2 * 16 + 16)


PEAK = """
import pathlib, sys, unveil
names, peak = list("abcd"), lambda: int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
for path in sys.argv[1:3]:  # the small one loads everything that is loaded once
    before = peak()
    with unveil.Run(limits=unveil.Limits(memory=int(sys.argv[3]), stream_from=int(sys.argv[4]))):
        cells = len(unveil.count(path, names))
print(cells, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_stream_of_as_many_combinations_as_records_takes_about_as_much_as_the_file_read_whole(tmp_path: Path) -> None:
    """Columns with a value of its own for nearly every record: their dictionaries are what has to be small."""
    random, rows = np.random.default_rng(0), 400_000
    frame = pl.DataFrame({name: random.integers(0, 10**9, rows) for name in "abcd"})
    frame.head(1000).write_csv(tmp_path / "small.csv")
    frame.write_csv(tmp_path / "large.csv")

    def peak(memory: int, stream_from: int) -> int:
        values = [str(tmp_path / "small.csv"), str(tmp_path / "large.csv"), str(memory), str(stream_from)]
        done = subprocess.run([sys.executable, "-c", PEAK, *values], capture_output=True, text=True, check=True)
        cells, kilobytes = map(int, done.stdout.split())
        assert cells == rows
        return kilobytes

    assert peak(64 << 20, 0) < 2 * peak(2 << 30, 1 << 30)  # 1.2 times; four times where each text is held in several forms


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n-0.0,1\n0.0,1\n1.5,2\n",  # two texts of one number
        'a,b\n07,1\n7,?\n,1\n"",NA\n',  # leading zeros stay text; several texts of a null
        "\n\na,b\n\n1,x\n\n\n2,y\n",  # blank lines
        'a\n1\n""\n2\n\n1\n',  # one column, with a null and a blank line
        'a,b\r\n1,x\r\n2,"y\r\nz"\r\n',
        'a,b\n1,x"y\n2,z\n' + "3,w\n" * 50,  # a quote inside an unquoted field: read by hand
    ],
)
def test_every_oddity_of_text_is_counted_alike(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with limited(**TINY):
        names = list(unveil.source(path).names)
        few = unveil.count(unveil.source(path, missing=("?", "NA")), names)
    assert few == unveil.count(unveil.source(path, missing=("?", "NA")), names)


def test_another_encoding_and_separator_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("né;x\n" + "é;1\nü;2\n" * 40, encoding="cp1252")
    with limited(**TINY):
        found = unveil.count(unveil.source(path, encoding="cp1252"), ["né", "x"])
    assert found.to_dict()["cells"] == [{"né": "é", "x": 1, "n": 40}, {"né": "ü", "x": 2, "n": 40}]


def test_weights_and_rates_are_those_of_the_whole_file(tmp_path: Path) -> None:
    path, frame = tmp_path / "t.csv", mixed().with_columns(w=pl.Series(np.random.default_rng(1).integers(1, 9, 300) / 4))
    frame.write_csv(path)
    for arguments in ({}, {"weights": "w"}, {"nulls": "drop"}):
        whole = unveil.discrimination_rate(path, ["whole", "decimal"], "text", **arguments)  # type: ignore[arg-type]
        subsets = unveil.scan(path, ["whole", "decimal", "^odd$"], "text", **arguments)  # type: ignore[arg-type]
        with limited(**TINY):
            assert unveil.discrimination_rate(path, ["whole", "decimal"], "text", **arguments).to_dict() == whole.to_dict()  # type: ignore[arg-type]
            assert unveil.scan(path, ["whole", "decimal", "^odd$"], "text", **arguments).to_dict() == subsets.to_dict()  # type: ignore[arg-type]


def test_a_partitioned_folder_is_one_table(tmp_path: Path) -> None:
    frame = mixed().with_columns(year=pl.Series([2019, 2020, 2021] * 100), place=pl.Series(["x y", None] * 150))
    for (year, place), part in frame.group_by("year", "place"):
        name = "__HIVE_DEFAULT_PARTITION__" if place is None else "x%20y"
        folder = tmp_path / "data" / f"year={year}" / f"place={name}"
        folder.mkdir(parents=True)
        part.drop("year", "place").write_parquet(folder / "part-0.parquet")
    (tmp_path / "data" / "_temporary").mkdir()
    (tmp_path / "data" / "_temporary" / "half.parquet").write_bytes(b"no")
    columns = ["text", "year", "place", "whole"]
    found = unveil.source(tmp_path / "data")
    assert set(found.names) == set(frame.columns)
    assert unveil.count(tmp_path / "data", columns) == unveil.count(frame, columns)
    assert unveil.count(tmp_path / "data", ["year", "place"]) == unveil.count(frame, ["year", "place"])
    assert found.collect(["year", "id"]).sort("id")["year"].to_list() == frame.sort("id")["year"].to_list()


def test_files_of_a_folder_with_other_columns_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": [1]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": ["x"], "b": [1]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataFileError, match=r"2.parquet: columns missing .*: a; the files"):
        unveil.count(tmp_path, ["a"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataFileError, match="folder without a Parquet file"):
        unveil.source(tmp_path / "empty")


def test_what_the_whole_reader_refuses_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "cut.csv"
    text.write_text("a,b\n" + "1,2\n" * 100 + "3", encoding="utf-8")
    with limited(**TINY), pytest.raises(DataFileError, match=r"line 102: the record starting here has 1 field"):
        unveil.count(text, ["a"])
    whole = tmp_path / "t.parquet"
    pl.DataFrame({"a": list(range(10_000))}).write_parquet(whole)
    whole.write_bytes(whole.read_bytes()[:-500])
    with limited(**TINY), pytest.raises(DataFileError, match="damaged, cut short or not Parquet"):
        unveil.count(whole, ["a"])
    nested = tmp_path / "n.parquet"
    pl.DataFrame({"a": [[1], [2]], "b": [None, 1]}).write_parquet(nested)
    with limited(**TINY), pytest.raises(UnsupportedDataError, match="cannot be counted"):
        unveil.count(nested, ["a"])
    with limited(**TINY), pytest.raises(NullsError, match=r"'b' \(1\)"):
        unveil.count(nested, ["b"], nulls="error")


def test_a_page_of_parquet_that_is_damaged_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": np.random.default_rng(0).integers(0, 1 << 60, 50_000)}).write_parquet(path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[1000:-2000] = bytes(len(content) - 3000)
    path.write_bytes(content)
    with limited(stream_from=0), pytest.raises(DataFileError, match="damaged"):
        unveil.count(path, ["a"])


def test_progress_is_told_in_bytes_and_reaches_the_end(tmp_path: Path) -> None:
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        mixed().write_csv(path) if path.suffix == ".csv" else mixed().write_parquet(path)
        calls: list[tuple[int, int]] = []
        with Run(lambda _, done, total, calls=calls: calls.append((done, total)), limits=Limits(**TINY)):  # type: ignore[misc]
            unveil.count(path, ["text"])
        assert calls[-1] == (path.stat().st_size,) * 2
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)
        assert len(calls) > 10


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    """The temporary folder is cut off by a limit on the size of files, in a process of its own."""
    path, spill = tmp_path / "t.parquet", tmp_path / "spill"
    spill.mkdir()
    pl.DataFrame({"a": np.random.default_rng(0).integers(0, 1 << 60, 200_000)}).write_parquet(path)
    code = (
        "import sys, unveil; from unveil.cli import run\n"
        "with unveil.Run(limits=unveil.Limits(stream_from=0, combinations=1000)): code = run(sys.argv[1:])\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "dr", str(path), "--key", "a"],
        env={**os.environ, "TMPDIR": str(spill), "NUMBA_DISABLE_CACHING": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "a file may not grow that large; set TMPDIR" in done.stderr
    assert not list(spill.iterdir())


def test_an_interrupt_leaves_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    mixed().write_parquet(tmp_path / "t.parquet")

    def interrupt(_: str, done: int, total: int) -> None:
        if 2 * done > total:
            raise KeyboardInterrupt

    with Run(interrupt, limits=Limits(**TINY)), pytest.raises(KeyboardInterrupt):
        unveil.count(tmp_path / "t.parquet", ["id"])
    assert not list(spill.iterdir())


def test_a_temporary_folder_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    mixed().write_parquet(tmp_path / "t.parquet")
    with limited(**TINY), pytest.raises(OutputError, match="no such file"):
        unveil.count(tmp_path / "t.parquet", ["id"])


batches = st.lists(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 3), st.integers(0, 2**30)), min_size=1, max_size=8),
    min_size=1,
    max_size=6,
)


@given(batches, st.integers(1, 20))
def test_batches_of_codes_are_counted_whatever_is_spilled(rows: list[list[tuple[int, int, int]]], most: int) -> None:
    """Codes widen from batch to batch and need two words in the end; the tables before are packed anew."""
    sizes = [1, 1, 1]
    with KeyCounter(3, most) as counter:
        for batch in rows:
            sizes = [max(size, *(row[at] + 1 for row in batch), 2) for at, size in enumerate(sizes)]
            counter.add([np.array([row[at] for row in batch], dtype=np.uint64) for at in range(3)], sizes)
        codes, n = counter.cells(sizes)
    found = list(zip(*(column.tolist() for column in codes), strict=True))
    assert len(set(found)) == len(found)
    assert dict(zip(found, n.tolist(), strict=True)) == Counter(row for batch in rows for row in batch)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), max_size=5))
def test_numbers_are_numbered_as_they_come(batches: list[list[int]]) -> None:
    numbering = NumberDictionary()
    found = [numbering.codes(np.array(batch, dtype=np.int64)) for batch in batches]
    values = numbering.values().tolist()
    assert values == list(dict.fromkeys(value for batch in batches for value in batch))
    assert [[values[code - 1] for code in codes.tolist()] for codes in found] == batches


def test_a_numbering_grows() -> None:
    numbering, values = NumberDictionary(), np.random.default_rng(0).permutation(100_000)
    assert numbering.codes(values).tolist() == list(range(1, 100_001))
    assert numbering.values().tolist() == values.tolist()


def test_there_is_one_zero(tmp_path: Path) -> None:
    place = tmp_path / "zeros.parquet"
    pl.DataFrame({"a": [-0.0, 0.0, None, float("nan"), 1.5] * 3}).write_parquet(place)
    with limited(stream_from=1, rows=4):
        found = open_source(place).count(["a"])
    values = found.frame["a"].to_list()
    assert found.n is not None
    assert sorted(zip(map(str, values), found.n.tolist(), strict=True)) == [("0.0", 6), ("1.5", 3), ("None", 6)]
