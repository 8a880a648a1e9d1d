"""Pseudonyms: HMAC-SHA-256 as the standard library computes it, counters in random order, and a key that shows nowhere."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from unveil import mechanisms
from unveil.errors import ArgumentError, DataNotFoundError, NullsError, UnsupportedDataError, UnveilError

KEY = "a key of which nobody knows"
PEOPLE = pl.DataFrame({"name": ["Ann", "Bob", "Ann", "Cas"], "number": [7, 8, 7, 9], "age": [30, 40, 30, 50]})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNVEIL_KEY", KEY)


def oracle(value: str, digits: int = 32) -> str:
    return hmac.new(KEY.encode(), value.encode(), hashlib.sha256).hexdigest()[:digits]


def test_hashes_are_those_of_the_standard() -> None:
    result = mechanisms.pseudonymize(PEOPLE, ["name", "number"], length=64, keep_order=True)
    assert result.data["name"].to_list() == [oracle(name, 64) for name in PEOPLE["name"]]
    assert result.data["number"].to_list() == [oracle(str(number), 64) for number in PEOPLE["number"]]
    assert result.data["age"].equals(PEOPLE["age"])
    assert result.figures["pseudonyms"] == {"name": 3, "number": 3}


def test_rfc_4231_vector(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"\x0b" * 20 + b"\n")
    result = mechanisms.pseudonymize(pl.DataFrame({"x": ["Hi There"]}), "x", key_file=path, length=64, keep_order=True)
    assert result.data["x"][0] == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"


def test_key_from_a_file_or_another_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text(KEY + "\r\n", "utf-8")
    monkeypatch.setenv("OTHER", KEY)
    monkeypatch.delenv("UNVEIL_KEY")
    by_file = mechanisms.pseudonymize(PEOPLE, "name", key_file=path, keep_order=True)
    by_variable = mechanisms.pseudonymize(PEOPLE, "name", key_variable="OTHER", keep_order=True)
    assert by_file.data.equals(by_variable.data)
    assert by_file.data["name"][0] == oracle("Ann")
    monkeypatch.setenv("OTHER", KEY + "!")
    assert mechanisms.pseudonymize(PEOPLE, "name", key_variable="OTHER", keep_order=True).data["name"][0] != oracle("Ann")


def test_the_key_shows_nowhere_and_the_label_does() -> None:
    result = mechanisms.pseudonymize(PEOPLE, "name", keep_order=True)
    shown = f"{result!r} {result.to_dict()} {result._repr_html_()} {result.settings} {result.columns()}"
    assert KEY not in shown
    assert "pseudonymised, not anonymous" in shown
    assert result.mechanism == "pseudonymisation"
    assert result.to_dict()["settings"] == {"method": "hmac", "key": "environment", "length": 32, "nulls": "error"}


def test_counters_are_a_random_numbering() -> None:
    frame = pl.DataFrame({"name": [f"person {at}" for at in range(50)] * 2})
    result = mechanisms.pseudonymize(frame, "name", method="counter", seed=1, keep_order=True)
    numbers = result.data["name"].to_list()
    assert numbers[:50] == numbers[50:]
    assert sorted(numbers[:50]) == list(range(1, 51))
    assert numbers[:50] != sorted(numbers[:50])
    assert mechanisms.pseudonymize(frame, "name", method="counter", seed=2, keep_order=True).data["name"].to_list() != numbers
    assert mechanisms.pseudonymize(frame, "name", method="counter", seed=1, keep_order=True).data["name"].to_list() == numbers
    assert "seed" not in result.settings  # with it the numbering could be turned back


def test_nulls() -> None:
    frame = pl.DataFrame({"name": ["Ann", None, "Bob"]})
    assert mechanisms.pseudonymize(frame, "name", nulls="keep", keep_order=True).data["name"].to_list() == [
        oracle("Ann"),
        None,
        oracle("Bob"),
    ]
    assert mechanisms.pseudonymize(frame, "name", nulls="drop", keep_order=True).origin.tolist() == [0, 2]
    with pytest.raises(NullsError):
        mechanisms.pseudonymize(frame, "name", keep_order=True)


@pytest.mark.parametrize("method", ["hmac", "counter"])
def test_every_library_gets_the_same(method: str) -> None:
    frame = pl.DataFrame({"number": [7, 8, None, 9]})
    made = [
        mechanisms.pseudonymize(some, "number", method=method, nulls="drop", seed=3, keep_order=True)
        for some in (frame, pd.DataFrame({"number": [7, 8, None, 9]}), frame.to_arrow())
    ]
    assert made[0].data["number"].to_list() == made[1].data["number"].tolist() == made[2].data["number"].to_pylist()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"method": "md5"}, ArgumentError, "method 'md5'"),
        ({"length": 8}, ArgumentError, "at least 16"),
        ({"length": 65}, ArgumentError, "64"),
        ({"key_file": "/nowhere/key"}, DataNotFoundError, "key file"),
        ({"key_variable": "NOTHING_HERE"}, ArgumentError, "holds no key"),
        ({"seed": "x"}, ArgumentError, "seed"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], error: type[UnveilError], says: str) -> None:
    with pytest.raises(error, match=says):
        mechanisms.pseudonymize(PEOPLE, "name", **options, keep_order=True)


def test_a_short_key_is_refused_without_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNVEIL_KEY", "hush-hush")
    with pytest.raises(ArgumentError, match="9 bytes") as told:
        mechanisms.pseudonymize(PEOPLE, "name", keep_order=True)
    assert "hush" not in str(told.value)


def test_lists_are_refused() -> None:
    with pytest.raises(UnsupportedDataError):
        mechanisms.pseudonymize(pl.DataFrame({"x": [[1], [2]]}), "x", keep_order=True)
