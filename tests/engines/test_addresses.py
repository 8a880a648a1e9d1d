"""Which table an address names, and that no message repeats what it holds besides."""

from __future__ import annotations

import re
import sys
import traceback

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, UnveilError
from unveil.sources import open_source
from unveil.sources.engines.address import OPENERS, parse_address
from unveil.sources.engines.table import quoted

SECRET = "hunter2"  # noqa: S105 - the one that must not be seen


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_quoted_name_is_the_name(name: str) -> None:
    with duckdb.connect() as connection:
        assert connection.sql(f"SELECT 1 AS {quoted(name)}").columns == [name]


@pytest.mark.parametrize(
    ("text", "engine", "table", "place"),
    [
        ("people.duckdb", "duckdb", None, "people.duckdb"),
        ("a/people.DDB?table=x", "duckdb", "x", "a/people.DDB?table=x"),
        ("duckdb:///a/b%20c.db?table=caf%C3%A9&schema=s", "duckdb", "café", "duckdb:///a/b c.db?schema=s&table=café"),
        ("postgres://me@h:1/d?table=a+b%26c", "postgresql", "a+b&c", "postgresql://h:1/d?table=a+b%26c"),
        ("postgresql:///d?table=t&host=x", "postgresql", "t", "postgresql:///d?table=t"),
        ("postgresql:///?service=s&table=t", "postgresql", "t", "postgresql://?table=t"),
        ("spark://local[2]?table=t", "spark", "t", "spark://local[2]?table=t"),
        ("spark://h:7077?path=/x", "spark", None, "spark://h:7077?path=/x"),
    ],
)
def test_addresses(text: str, engine: str, table: str | None, place: str) -> None:
    address = parse_address(text)
    assert address is not None
    assert (address.engine, address.table, address.place) == (engine, table, place)
    again = parse_address(place)
    assert again is not None
    assert again.place == place


@pytest.mark.parametrize("text", ["people.csv", "a?table=b.parquet", "-", "adult", "user=1/host=2/part.parquet", "C:people.csv"])
def test_a_plain_file_is_no_address(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/d?table=t",
        f"postgresql://me:a@{SECRET}@127.0.0.1:1/d?table=t",
        f"postgresql://me:a/{SECRET}@127.0.0.1:1/d?table=t",
        f"postgresql://me:{SECRET}?a@127.0.0.1:1/d?table=t",
        f"postgresql://me:{SECRET}/a?b@127.0.0.1:1/d?table=t",
        f"postgresql://me:{SECRET}#a@127.0.0.1:1/d?table=t",
        f"postgresql://me:{SECRET}?table=t",
        f"postgresql://127.0.0.1:1/d?table=t&password={SECRET}",
        f"postgresql://127.0.0.1:1/d?password={SECRET}",
        f"postgresql://127.0.0.1:1/d?{SECRET}=1&table=t",
        f"postgress://me:{SECRET}@127.0.0.1/d?table=t",
        f"mysql://me:{SECRET}@127.0.0.1/d",
        f"postgresql:/me:{SECRET}@127.0.0.1/d?table=t",
        f"Postgres:me:{SECRET}@127.0.0.1/d",
        f"host=127.0.0.1 user=me password={SECRET}",
    ],
)
def test_a_password_is_never_shown(address: str) -> None:
    with pytest.raises(UnveilError) as failure:
        unveil.count(address, ["a"])
    assert SECRET not in str(failure.value)
    assert not re.search(r"\bme\b", str(failure.value))
    assert "\n" not in str(failure.value)
    assert SECRET not in "".join(traceback.format_exception(failure.value))


def test_an_address_in_hand_shows_no_password() -> None:
    assert SECRET not in repr(parse_address(f"postgresql://me:{SECRET}@h/d?table=t&password={SECRET}"))


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"scheme 'postgress' is unknown; .* did you mean 'postgres"):
        unveil.count("postgress://h/d?table=t", ["a"])


@pytest.mark.parametrize(
    ("address", "module", "extra"),
    [
        ("postgresql://h/d?table=t", "adbc_driver_postgresql", "postgres"),
        ("spark://local?table=t", "pyspark.sql", "spark"),
    ],
)
def test_the_extra_that_is_missing_is_named(address: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(unveil.errors.MissingExtraError, match=rf"pip install 'unveil\[{extra}\]'"):
        unveil.count(address, ["a"])


def test_one_line_names_a_new_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        OPENERS, "memory", lambda address, _: open_source(pl.DataFrame({"age": [1, 2], "at": [address.target] * 2}))
    )
    assert unveil.count("memory://here?table=t", "at").columns[0].values == ("here",)
