"""Files of every format: the same table from each, and one clear line for what cannot be read."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

import unveil
from unveil.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DataFileError,
    DataNotFoundError,
    DuplicateColumnError,
    EmptyDataError,
    UnveilError,
)
from unveil.sources import source
from unveil.sources.files import ReadOptions, column_names, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VALUE = "Zed-7731"
TABLE = pl.DataFrame({"age": [31, None, 45], "zip": ["007", "x,y", "😀"], "pay": [1.5, 2.25, -3.0]})


def failure(error: type[UnveilError], path: str | Path, place: str | None = None) -> str:
    """Return the message of a failed read: one line that names the file and no value of it."""
    with pytest.raises(error) as caught:
        read(path)
    message = str(caught.value)
    assert type(caught.value) is error
    assert message.startswith(str(path) if place is None else place)
    assert "\n" not in message
    assert VALUE not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def write_stream(path: Path) -> None:
    TABLE.write_ipc_stream(path)


def write_feather(path: Path) -> None:
    pyarrow.feather.write_feather(TABLE.to_arrow(), path)


def write_tsv(path: Path) -> None:
    TABLE.write_csv(path, separator="\t")


def zipped(write: Callable[[Path], Any]) -> Callable[[Path], None]:
    def write_zipped(path: Path) -> None:
        plain = path.with_name("plain")
        write(plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))

    return write_zipped


WRITERS: dict[str, Callable[[Path], Any]] = {
    "t.csv": TABLE.write_csv,
    "T.CSV": TABLE.write_csv,
    "t.txt": TABLE.write_csv,
    "t.tsv": write_tsv,
    "t.tab": write_tsv,
    "t.parquet": TABLE.write_parquet,
    "t.pq": TABLE.write_parquet,
    "t.arrow": TABLE.write_ipc,
    "t.ipc": TABLE.write_ipc,
    "stream.arrow": write_stream,
    "t.feather": write_feather,
    "t.jsonl": TABLE.write_ndjson,
    "t.ndjson": TABLE.write_ndjson,
    "t.csv.gz": zipped(TABLE.write_csv),
    "t.tsv.GZ": zipped(write_tsv),
    "t.jsonl.gz": zipped(TABLE.write_ndjson),
    "unnamed_csv": TABLE.write_csv,
    "unnamed_tsv.dat": write_tsv,
    "unnamed_parquet": TABLE.write_parquet,
    "unnamed_arrow.bin": TABLE.write_ipc,
    "unnamed.json": TABLE.write_ndjson,
    "unnamed_gz": zipped(TABLE.write_csv),
    "unnamed_json_gz": zipped(TABLE.write_ndjson),
    "gzip_called.csv": zipped(TABLE.write_csv),
    "pattern[1]*.csv": TABLE.write_csv,
    "pattern[1]*.parquet": TABLE.write_parquet,
    "pattern[1]*.arrow": TABLE.write_ipc,
    "~t.csv": TABLE.write_csv,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert column_names(path) == ["age", "zip", "pay"]
    assert read(path).equals(TABLE)
    assert read(path).schema == TABLE.schema
    assert read(str(path), ["pay", "age"]).equals(TABLE.select("pay", "age"))
    assert read(path, ["zip", "zip"]).equals(TABLE.select("zip"))
    with pytest.raises(ColumnNotFoundError, match="column 'aeg' not found; columns are: age, zip, pay"):
        read(path, ["aeg"])


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.csv", "t.jsonl"])
def test_names_that_polars_takes_for_patterns(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    table = pl.DataFrame({"*": [1], "^a$": [2], "a": [3], "": [4]})
    match path.suffix:
        case ".csv":
            table.write_csv(path)
        case ".jsonl":
            table.write_ndjson(path)
        case ".parquet":
            table.write_parquet(path)
        case _:
            table.write_ipc(path)
    assert read(path, ["^a$", "*", ""]).to_dict(as_series=False) == {"^a$": [2], "*": [1], "": [4]}
    assert read(path).equals(table)


def test_no_columns_at_all_are_refused(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    with pytest.raises(ArgumentError, match="list of columns to read is empty"):
        read(tmp_path / "t.csv", [])


def test_a_text_may_begin_like_a_parquet_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("PAR1,PAR2\n1,2\n")
    assert read(tmp_path / "data").rows() == [(1, 2)]


# --- standard input and pipes


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl", "t.csv.gz"])
def test_standard_input_is_read_once_and_kept(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WRITERS[name](tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    assert column_names("-") == ["age", "zip", "pay"]
    assert read("-").equals(TABLE)
    assert read("-", ["zip"]).equals(TABLE.select("zip"))


def test_errors_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"a,b\n{VALUE}\n".encode())))
    assert failure(DataFileError, "-", "standard input, line 2").endswith("give the separator.")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    failure(EmptyDataError, "-", "standard input: the file is empty")
    monkeypatch.setattr(sys, "stdin", None)
    failure(DataFileError, "-", "standard input: it is closed")


def test_a_pipe_is_read_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a,b\n1,2\n",))
    writer.start()
    assert column_names(path) == ["a", "b"]
    writer.join()
    assert read(path).rows() == [(1, 2)]


# --- what cannot be opened


def test_a_missing_file_hints_at_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(f"{VALUE}\n")
    (tmp_path / "other.parquet").touch()
    message = failure(DataNotFoundError, tmp_path / "patient.csv")
    assert message.endswith("there is no such file. Hint: did you mean 'patients.csv'?")
    assert "other" not in message


@pytest.mark.parametrize("name", ["zzz", "no/such/folder.csv", "file.csv/inside.csv"])
def test_a_missing_file_without_neighbour(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.csv").touch()
    assert failure(DataNotFoundError, tmp_path / name).endswith("there is no such file.")


@pytest.mark.parametrize("name", ["adult", "12:30.csv", "host=here.csv"])
def test_a_file_is_taken_for_neither_a_built_in_set_nor_an_address(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("town,age\nLyon,7\n")
    assert source(name).names == ("town", "age")


def test_odd_paths_make_one_short_line(tmp_path: Path) -> None:
    failure(DataNotFoundError, "a\nb.csv", "'a\\nb.csv': there is no such file.")
    failure(DataNotFoundError, "a\0b.csv", "'a\\x00b.csv': there is no such file.")
    failure(DataNotFoundError, "", "'': there is no such file.")
    assert len(failure(DataFileError, f"{tmp_path}/{'x' * 5000}", "'")) < 200


def test_a_file_name_that_is_no_unicode(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    Path(os.fsdecode(path)).write_text("a,b\n1,2\n")
    assert read(os.fsdecode(path)).rows() == [(1, 2)]


def test_a_folder_and_a_device_are_refused(tmp_path: Path) -> None:
    assert failure(DataFileError, tmp_path).endswith("this is a folder; name a file in it.")
    assert "device" in failure(DataFileError, "/dev/zero")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Give a folder that anybody may enter, and the rights of nobody in particular."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own folder is closed to others
    folder.chmod(0o755)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_without_permission_is_refused(unprivileged: Path, name: str) -> None:
    path = unprivileged / name
    path.write_text(VALUE)
    path.chmod(0)
    if os.getuid() == 0:
        os.seteuid(65534)
    assert failure(DataFileError, path).endswith("the file cannot be read: permission denied.")


# --- damage


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "stream.arrow", "t.csv.gz", "t.jsonl.gz"])
@pytest.mark.parametrize("damage", ["cut", "other", "head"])
def test_damaged_files_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    content = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "head":
            path.write_bytes(content[:8])
        case _ if name.endswith(".gz"):
            path.write_bytes(content[:14] + b"\xff" * 20 + content[34:])
        case _:
            path.write_bytes(VALUE.encode() * 100)
    assert "damaged" in failure(DataFileError, path)


def test_a_damaged_page_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    TABLE.write_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:40] = b"\xff" * 36
    path.write_bytes(content)
    assert column_names(path) == TABLE.columns
    assert "damaged" in failure(DataFileError, path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "s.arrow", "t.csv.gz", "t.jsonl.gz", "t.jsonl"])
def test_files_without_records_are_refused(tmp_path: Path, name: str) -> None:
    path, none = tmp_path / name, TABLE.clear()
    match name:
        case "t.parquet":
            none.write_parquet(path)
        case "t.arrow":
            none.write_ipc(path)
        case "s.arrow":
            none.write_ipc_stream(path)
        case "t.jsonl":
            path.write_text(" \n\n")
        case _:
            path.write_bytes(gzip.compress(b""))
    failure(EmptyDataError, path)


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow", "ds.arrow"])
def test_duplicate_names_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([VALUE])], names=["b", "a", "a"])
    if name == "d.parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        opened = pyarrow.ipc.new_file if name == "d.arrow" else pyarrow.ipc.new_stream
        with opened(path, table.schema) as writer:
            writer.write(table)
    assert "the column name 'a' occurs more than once" in failure(DuplicateColumnError, path)
    with pytest.raises(DuplicateColumnError):
        column_names(path)


# --- JSON lines


def lines(path: Path, *records: object) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def test_json_values_keep_their_types(tmp_path: Path) -> None:
    first = {"i": 1, "f": 1, "t": "01", "b": True, "e": "", "n": None, "m": 1, "big": 2**70, "deep": {"y": [1], "x": "é"}}
    second = {"late": 1, "i": 2, "f": 2.5, "t": "2", "b": False, "n": None, "m": "x", "big": 1, "deep": [1]}
    frame = read(lines(tmp_path / "t.jsonl", first, second))
    assert frame.to_dict(as_series=False) == {
        "i": [1, 2],
        "f": [1.0, 2.5],
        "t": ["01", "2"],
        "b": [True, False],
        "e": ["", None],
        "n": [None, None],
        "m": ["1", "x"],
        "big": [str(2**70), "1"],
        "deep": ['{"x": "é", "y": [1]}', "[1]"],
        "late": [None, 1],
    }
    assert frame.schema["n"] == pl.String
    assert column_names(tmp_path / "t.jsonl") == frame.columns


def test_json_integers_beside_fractions_are_not_rounded(tmp_path: Path) -> None:
    frame = read(lines(tmp_path / "t.jsonl", {"a": 2**53 + 1}, {"a": 0.5}))
    assert frame["a"].to_list() == ["9007199254740993", "0.5"]


def test_json_missing_texts_and_nan_are_nulls(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"a": 1, "b": float("nan")}, {"a": "?", "b": 2.5})
    frame = read(path, options=ReadOptions(missing=("?",)))
    assert frame.to_dict(as_series=False) == {"a": [1, None], "b": [None, 2.5]}


def test_json_lines_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes('{"é": "ü"}\n\u2028\n{"é": "\u2028"}'.replace("\n\u2028", "\n").encode("utf-16"))
    assert read(tmp_path / "data").to_dict(as_series=False) == {"é": ["ü", "\u2028"]}


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (f'{{"a": {VALUE}}}', "not valid JSON"),
        (f'{{"a": "{VALUE}"', "not valid JSON"),
        (f'{{"a": "{VALUE}"}} {{}}', "not valid JSON"),
        ('{"a": Infinity}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("1" * 5000, "not valid JSON"),
        (f'["{VALUE}"]', "a JSON object is expected"),
        (f'"{VALUE}"', "a JSON object is expected"),
    ],
)
def test_bad_json_is_refused_with_its_line(tmp_path: Path, bad: str, problem: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": 1}}\n\n{bad}\n{{"a": 2}}\n')
    message = failure(DataFileError, path)
    assert f"line 3: {problem}" in message.replace("this is ", "")
    assert len(message) < 300


def test_a_json_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(f'{{"a": 1}}\n{{"b": "{VALUE}", "a": 1, "a": 2}}\n')
    assert "line 2: the column name 'a' occurs more than once" in failure(DuplicateColumnError, tmp_path / "t.jsonl")


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(f'{{"a": "{VALUE}\\ud800"}}\n')
    assert "column 'a' holds half a surrogate pair" in failure(DataFileError, tmp_path / "t.jsonl")


def test_a_json_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(f'[{{"a": "{VALUE}"}}]')
    assert "one JSON list" in failure(DataFileError, tmp_path / "t.json")


@pytest.mark.parametrize("name", ["x" * 5000, "é" * 500])
def test_a_name_longer_than_any_file_has_is_refused(name: str) -> None:
    with pytest.raises(UnveilError):
        source(name)


def test_a_folder_of_parquet_without_a_record_is_empty_data(tmp_path: Path) -> None:
    pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(EmptyDataError):
        unveil.assess(tmp_path, key="a")
