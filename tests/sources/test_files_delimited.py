"""Delimited text: what is read is what was written, and what is no table is refused with its line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import string
import time
import tracemalloc
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import limited
from unveil.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DataFileError,
    DuplicateColumnError,
    EmptyDataError,
    UnveilError,
)
from unveil.sources.files import ReadOptions, column_names, delimited, read
from unveil.sources.files.survey import Survey

if TYPE_CHECKING:
    from pathlib import Path

VALUE = "Zed-7731"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


def failure(error: type[UnveilError], path: Path, options: ReadOptions | None = None) -> str:
    """Return the message of a failed read: one line that names the file and no value of it."""
    with pytest.raises(error) as caught:
        read(path, options=options or ReadOptions())
    message = str(caught.value)
    assert type(caught.value) is error
    assert message.startswith(str(path))
    assert "\n" not in message
    assert VALUE not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def texts(path: Path, content: str | bytes, **options: str) -> dict[str, list[object]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame = read(path, options=ReadOptions(**options))  # type: ignore[arg-type]
    assert column_names(path, ReadOptions(**options)) == frame.columns  # type: ignore[arg-type]
    return frame.to_dict(as_series=False)


# --- values survive


def test_quotes_separators_newlines_and_odd_characters_survive(written: Path) -> None:
    rows = [["007", 'say "hi"'], ["a,b;c\td|e", "line 1\nline 2\r\nline 3"], ["😀", "<script>alert(1)</script>"], [" x ", "\t"]]
    with written.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "note"], *rows])
    assert read(written).rows() == [tuple(row) for row in rows]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(written: Path, end: str, last: bool) -> None:
    content = end.join(["a,b", '1,"x"', '2,"y"']) + (end if last else "")
    assert texts(written, content) == {"a": [1, 2], "b": ["x", "y"]}


def test_an_empty_field_is_a_null_quoted_or_not(written: Path) -> None:
    assert texts(written, 'a,b\n,x\n"",y\n') == {"a": [None, None], "b": ["x", "y"]}
    assert read(written).schema["a"] == pl.String


def test_blank_lines_are_ignored_but_records_of_empty_fields_are_not(written: Path) -> None:
    assert texts(written, "\n\na,b\n\n1,2\n\r\n,\n\n3,4\n\n") == {"a": [1, None, 3], "b": [2, None, 4]}


def test_blank_lines_do_not_need_the_slow_reader(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(delimited, "_by_hand")
    assert texts(written, "\n\r\na,b\n\n1,2\n\n") == {"a": [1], "b": [2]}
    assert texts(written, '\n\na\n\n1\n\n""\n') == {"a": [1, None]}


def test_blank_lines_in_one_column(written: Path) -> None:
    assert texts(written, 'a\n\n1\n""\n\n2\n\n') == {"a": [1, None, 2]}


def test_a_quote_inside_an_unquoted_field_is_a_character(written: Path) -> None:
    content = 'size,note\n5" pipe,x\n6" pipe,"y, ""z"""\n7,8" wide\n'
    assert texts(written, content) == {"size": ['5" pipe', '6" pipe', "7"], "note": ["x", 'y, "z"', '8" wide']}


def test_carriage_returns_inside_fields_stay(written: Path) -> None:
    assert texts(written, 'a,b\nx\ry,"z\r"\n') == {"a": ["x\ry"], "b": ["z\r"]}


def test_column_names_are_taken_to_the_letter(written: Path) -> None:
    content = 'a,"b,c","d\ne"," f ",,*,^a$\n1,2,3,4,5,6,7\n'
    names = ["a", "b,c", "d\ne", " f ", "", "*", "^a$"]
    assert texts(written, content) == {name: [value] for value, name in enumerate(names, 1)}
    assert read(written, ["^a$", "*", ""]).rows() == [(7, 6, 5)]


cells = st.text(
    st.sampled_from([*'",;\n\r\t |', "0", "1", "-", ".", "e", "a", "é", "😀", "\u2028", "\ufeff", "<", "'"]), max_size=6
)
numbers = st.text(st.sampled_from("0123.e-"), max_size=5)
integers = st.one_of(st.integers(-(10**18) + 1, 10**18 - 1).map(str), st.integers(0, 999).map("{:04}".format))


def expected(values: list[str]) -> list[object]:
    """Say what a column should be, slowly and from the definition."""
    filled = {value for value in values if value}
    if filled and all(re.fullmatch(r"0|-?[1-9][0-9]*", value) and len(value.lstrip("-")) <= 18 for value in filled):
        return [int(value) if value else None for value in values]
    decimal = r"-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)(e-?[0-9]+)?"
    if filled and all(re.fullmatch(decimal, value) for value in filled):
        distinct = {float(value) for value in filled}
        if len(distinct) == len(filled) and all(map(math.isfinite, distinct)):
            return [float(value) if value else None for value in values]
    return [value or None for value in values]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), end=st.sampled_from(["\n", "\r\n"]), separator=st.sampled_from(",;\t|"), mark=st.booleans())
def test_what_the_csv_module_writes_is_read_back(
    written: Path, data: st.DataObject, end: str, separator: str, mark: bool
) -> None:
    width = data.draw(st.integers(1, 4))
    kinds = [data.draw(st.sampled_from([cells, numbers, integers])) for _ in range(width)]
    rows = data.draw(st.lists(st.tuples(*(st.one_of(st.just(""), kind) for kind in kinds)), min_size=1, max_size=12))
    # the module quotes a carriage return only if it is part of the line end
    all_quoted = data.draw(st.booleans()) or any("\r" in cell for row in rows for cell in row)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([[f"n{position}" for position in range(width)], *rows])
    written.write_bytes(buffer.getvalue().encode("utf-8-sig" if mark else "utf-8"))
    columns = [expected(list(column)) for column in zip(*rows, strict=True)]
    assert [column.to_list() for column in read(written, options=ReadOptions(separator=separator))] == columns
    assert read(written).equals(read(written, options=ReadOptions(separator=separator)))


pieces = st.sampled_from(["a", "1", '"', '""', ",", "\n", "\r\n", " ", '",', ',"', '"\n'])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.lists(pieces, max_size=14).map("".join), chunk=st.sampled_from([5, 8, 1 << 20]))
def test_the_engine_and_the_reader_by_hand_agree_on_any_text(written: Path, body: str, chunk: int) -> None:
    def outcome() -> object:
        try:
            return read(written, options=ReadOptions(separator=",")).rows()
        except UnveilError as error:
            return str(error)

    written.write_text("a,b\n" + body, newline="")
    with pytest.MonkeyPatch.context() as patch, limited(block=chunk):
        fast = outcome()
        patch.setattr(delimited, "survey", lambda *_: Survey(0, np.empty(0, np.intp), regular=False))
        assert outcome() == fast


# --- types


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["0", "-1", "123456789012345678"], pl.Int64),
        (["1", "-0"], pl.Float64),
        (["1", "01"], pl.String),
        (["1", "+2"], pl.String),
        (["1", " 2"], pl.String),
        (["1", "1234567890123456789"], pl.String),
        (["1.50", "2", "1e5", "-.5"], pl.Float64),
        (["1.5", "1.50"], pl.String),
        (["0.0", "-0.0", "1.5"], pl.Float64),
        (["1.0", "1"], pl.String),
        (["0.1", "00.2"], pl.String),
        (["0.1", "nan"], pl.String),
        (["0.1", "inf"], pl.String),
        (["0.1", "1e999"], pl.String),
        (["0.1", "1."], pl.String),
        (["0.5", "1234567890123456"], pl.String),
        (["0.123456789012345678", "0.123456789012345679"], pl.String),
        (["１", "２"], pl.String),  # noqa: RUF001 - full-width digits are no ASCII digits
        (["1", "2\n"], pl.String),
        (["TRUE", "FALSE"], pl.String),
        (["2020-01-01"], pl.String),
    ],
)
def test_types_lose_nothing(written: Path, values: list[str], dtype: type[pl.DataType]) -> None:
    with written.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["v"], *([value] for value in values), [""]])
    column = read(written)["v"]
    assert column.dtype == dtype
    assert column.to_list()[-1] is None
    if dtype == pl.String:
        assert column.to_list()[:-1] == values
    else:
        assert column.to_list()[:-1] == [int(value) if dtype == pl.Int64 else float(value) for value in values]


def test_a_text_far_down_keeps_the_column_text(written: Path) -> None:
    values = [str(number) for number in range(5000)]
    assert texts(written, "v\n" + "\n".join([*values, "x"])) == {"v": [*values, "x"]}


def test_missing_texts_are_nulls_before_types_are_found(written: Path) -> None:
    written.write_text("a,b\n1,?\n?,NA\n3,x\n")
    frame = read(written, options=ReadOptions(missing=("?", "NA")))
    assert frame.to_dict(as_series=False) == {"a": [1, None, 3], "b": [None, None, "x"]}
    assert read(written)["a"].to_list() == ["1", "?", "3"]


# --- separators


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(written: Path, separator: str) -> None:
    content = f'a{separator}b{separator}"c,;|\t"\n1{separator}"x,;|\ty"{separator}2\n'
    assert texts(written, content) == {"a": [1], "b": ["x,;|\ty"], "c,;|\t": [2]}


def test_decimal_commas_do_not_hide_the_semicolon(written: Path) -> None:
    assert texts(written, "a;b\n1,5;2,5\n3,5;4,5\n") == {"a": ["1,5", "3,5"], "b": ["2,5", "4,5"]}


def test_a_header_with_commas_and_semicolons(written: Path) -> None:
    assert texts(written, "a, b;c\n1;2\n") == {"a, b": [1], "c": [2]}


def test_one_column_whose_values_hold_commas(written: Path) -> None:
    assert texts(written, "name\nDoe, Jane\nRoe\n") == {"name": ["Doe, Jane", "Roe"]}


@pytest.mark.parametrize("suffix", [".tsv", ".tab", ".TSV"])
def test_suffixes_of_tabs(tmp_path: Path, suffix: str) -> None:
    assert texts(tmp_path / f"t{suffix}", "a,b\tc\n1,2\t3\n") == {"a,b": ["1,2"], "c": [3]}


def test_a_separator_given_is_used(written: Path) -> None:
    assert texts(written, "a#b,c\n1#2\n", separator="#") == {"a": [1], "b,c": [2]}


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "é"])
def test_a_separator_that_cannot_separate_is_refused(separator: str) -> None:
    with pytest.raises(ArgumentError, match="cannot separate"):
        ReadOptions(separator=separator)


def test_missing_is_no_single_text() -> None:
    with pytest.raises(ArgumentError, match="tuple of texts"):
        ReadOptions(missing="NA")  # type: ignore[arg-type]


# --- encodings


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_byte_order_marks(written: Path, encoding: str) -> None:
    assert texts(written, 'näme,"b"\né😀,1\n'.encode(encoding)) == {"näme": ["é😀"], "b": [1]}


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16-le", "utf-16-be", "UTF8"])
def test_an_encoding_given_is_used(written: Path, encoding: str) -> None:
    content = 'näme,"b"\r\né,"x\ny"\r\n'.encode(encoding)
    assert texts(written, content, encoding=encoding) == {"näme": ["é"], "b": ["x\ny"]}


def test_a_byte_order_mark_is_no_part_of_the_first_name(written: Path) -> None:
    assert texts(written, "\ufeffa,b\n1,2\n".encode("utf-16-le"), encoding="utf-16-le") == {"a": [1], "b": [2]}


def test_long_text_of_another_encoding(written: Path) -> None:
    rows = 200_000
    written.write_bytes(("k,v\n" + "é,1\n" * rows).encode("utf-16"))
    assert written.stat().st_size > 1 << 20
    assert read(written).group_by("k").agg(pl.len(), pl.col("v").sum()).rows() == [("é", rows, rows)]


@pytest.mark.parametrize("encoding", ["nonsense", "hex", "a\0b"])
def test_an_unknown_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ArgumentError, match="codec name"):
        ReadOptions(encoding=encoding)


def test_invalid_utf8_is_refused_with_its_line(written: Path) -> None:
    written.write_bytes(f"a,b\n1,{VALUE}\n2,".encode() + b"\xe9\n3,4\n")
    message = failure(DataFileError, written)
    assert "line 3:" in message
    assert "cp1252" in message


def test_a_character_cut_off_at_the_end_is_refused(written: Path) -> None:
    written.write_bytes("a,b\n1,2\n3,é".encode()[:-1])
    assert "line 3: the bytes are no valid UTF-8" in failure(DataFileError, written)


def test_bytes_outside_the_encoding_given_are_refused_with_their_line(written: Path) -> None:
    written.write_bytes(f"a,b\n1,{VALUE}\n2,".encode("cp1252") + b"\x81\n")
    assert "line 3: the bytes are no valid cp1252" in failure(DataFileError, written, ReadOptions(encoding="cp1252"))


def test_utf16_cut_off_is_refused(written: Path) -> None:
    written.write_bytes("a,b\n1,2\n".encode("utf-16")[:-1])
    assert "line 2: the bytes are no valid utf-16" in failure(DataFileError, written)


# --- what is no table


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        (f"a,b\n1,2\n{VALUE}\n3,4\n", 3, "1 field,"),
        (f"a,b\n1,2\n3,{VALUE},5\n", 3, "3 fields,"),
        (f'a,b\n1,"x\ny\nz"\n\n2,"u\nv",{VALUE}\n3,4\n', 6, "3 fields,"),
        (f'a,b\n5" x,y\n{VALUE}\n', 3, "1 field,"),
        (f"a,b\n1,2\n3,{VALUE}\n   \n", 4, "1 field,"),
        ("a,b\n" + "1,2\n" * 400_000 + VALUE, 400_002, "1 field,"),
    ],
)
def test_ragged_records_are_refused_with_their_line(written: Path, content: str, line: int, found: str) -> None:
    written.write_text(content, newline="")
    message = failure(DataFileError, written)
    assert f"line {line:,}: the record starting here has {found} the header 2;" in message


def test_a_ragged_record_is_refused_though_the_wrong_column_is_not_asked_for(written: Path) -> None:
    written.write_text("a,b\n1,2,3\n")
    with pytest.raises(DataFileError, match="line 2"):
        read(written, ["a"])


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f'a,b\n1,2\n3,"{VALUE}\n4,5\n', 3),
        (f'a,b\n1,"x\ny"\n3,"{VALUE}""\n""4,5\n6,7', 4),
        (f'a,b\n5" x,y\n\n3,"{VALUE}\n4,5\n', 4),
        (f'a,"b\n1,{VALUE}\n', 1),
    ],
)
def test_a_quote_never_closed_is_refused_with_its_line(written: Path, content: str, line: int) -> None:
    written.write_text(content, newline="")
    assert f"line {line}: the quote that opens here is never closed" in failure(DataFileError, written)


def test_text_after_a_closing_quote_is_refused_with_its_line(written: Path) -> None:
    written.write_text(f'a,b\n1,2\n"x\ny","{VALUE}"z\n')
    assert "line 4: text follows a closing quote" in failure(DataFileError, written)
    with pytest.raises(DataFileError, match="line 4"):
        read(written, ["a"])


def test_duplicate_names_are_refused(written: Path) -> None:
    written.write_text(f"a,b,a\n1,2,{VALUE}\n")
    assert "'a' occurs more than once" in failure(DuplicateColumnError, written)
    with pytest.raises(DuplicateColumnError):
        column_names(written)


def test_nul_bytes_are_refused(written: Path) -> None:
    written.write_bytes(f"a,b\n1,{VALUE}\n2,".encode() + b"\0\n")
    assert "line 3: here is a NUL byte" in failure(DataFileError, written)


@pytest.mark.parametrize(
    ("content", "what"), [(b"PK\x03\x04\x14\0", "workbook"), (b"PAR1\x15\0", "Parquet"), (b"ARROW1\0\0", "Arrow")]
)
def test_known_kinds_of_binary_are_named(written: Path, content: bytes, what: str) -> None:
    written.write_bytes(content + VALUE.encode())
    assert what in failure(DataFileError, written)


def test_old_line_ends_are_refused(written: Path) -> None:
    written.write_text(f"a,b\r1,{VALUE}\r", newline="")
    assert "line 1: a bare carriage return" in failure(DataFileError, written)


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_is_refused(written: Path, content: bytes) -> None:
    written.write_bytes(content)
    assert "the file is empty" in failure(EmptyDataError, written)
    with pytest.raises(EmptyDataError):
        column_names(written)


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", '"a","b"\n'])
def test_a_header_without_records_is_refused(written: Path, content: str) -> None:
    written.write_text(content, newline="")
    assert "no records" in failure(EmptyDataError, written)
    assert column_names(written) == ["a", "b"]


def test_a_column_that_is_not_there(written: Path) -> None:
    written.write_text(f"age,zip\n1,{VALUE}\n")
    with pytest.raises(ColumnNotFoundError, match=r"column 'zpi' not found; columns are: age, zip\. Hint: .*'zip'"):
        read(written, ["age", "zpi"])


# --- sizes


@pytest.mark.parametrize("compressed", [True, False])
def test_an_endless_line_is_refused_fast_and_without_memory(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / ("long.csv.gz" if compressed else "long.csv")
    with gzip.open(path, "wb", compresslevel=1) if compressed else path.open("wb") as file:
        file.write(b"a,b\n1,2\n")
        for _ in range(80):
            file.write(b"x" * (1 << 20))
    start = time.perf_counter()
    tracemalloc.start()
    message = failure(DataFileError, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "line 3: the line is longer than 64 MiB" in message
    assert time.perf_counter() - start < 5
    assert peak < 200 << 20


def test_a_gigabyte_of_nothing_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n")
        file.truncate(1 << 30)
    start = time.perf_counter()
    assert "line 2: here is a NUL byte" in failure(DataFileError, path)
    assert time.perf_counter() - start < 2


def test_a_long_value_is_read(written: Path) -> None:
    value = string.ascii_letters * 10_000
    assert texts(written, f'a,b\n1,"{value}\n{value}"\n') == {"a": [1], "b": [f"{value}\n{value}"]}


def test_ten_thousand_columns(written: Path) -> None:
    width = 10_000
    header = ",".join(f"c{position}" for position in range(width))
    row = ",".join(str(position) for position in range(width))
    written.write_text("\n".join([header, *[row] * 50]))
    start = time.perf_counter()
    assert len(column_names(written)) == width
    assert read(written, ["c9999", "c7"]).unique().rows() == [(9999, 7)]
    assert time.perf_counter() - start < 3
    with pytest.raises(ColumnNotFoundError) as caught:
        read(written, ["nope"])
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("chunk", [1000, 1 << 20])
def test_many_records_with_quotes_across_blocks(written: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(delimited, "_by_hand")  # the engine has to do it
    rows = [[str(number), f'line "{number}"\n\n, and more', ""] for number in range(60_000)]
    with written.open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c"], *rows])
    assert written.stat().st_size > 1 << 20
    with limited(block=chunk):
        frame = read(written)
    assert frame["a"].to_list() == list(range(60_000))
    assert frame["b"].to_list() == [row[1] for row in rows]
    assert frame["c"].null_count() == 60_000


def test_blank_lines_across_blocks(written: Path) -> None:
    written.write_text("a,b\n" + "1,x\n\n" * 300_000)
    frame = read(written)
    assert frame.height == 300_000
    assert frame.null_count().row(0) == (0, 0)
