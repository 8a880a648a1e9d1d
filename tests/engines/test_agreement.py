"""One body, every engine: the same table gives the same numbers, counted where the data is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, NullsError, UnsupportedDataError
from unveil.identifiers import direct_identifiers
from unveil.sources import open_source

COUNTING = ("duckdb", "duckdb file", "postgresql", "spark")
ENGINES = ("polars", "polars lazy", "pandas", "pyarrow", *COUNTING)

every = pytest.mark.parametrize("engine", ENGINES, indirect=True)
counting = pytest.mark.parametrize("engine", COUNTING, indirect=True)

AGE, TOWN, NATION, INCOME = "age", 'so "called" town', "État d origine.`x`", "ingreso; DROP TABLE x --"
KEY = [AGE, TOWN, NATION]


def people(rows: int = 400) -> pl.DataFrame:
    """Return a table with nulls, NaN, names that need quoting and texts that a collation would merge."""
    rng = np.random.default_rng(20240229)

    def drawn(values: list[Any], shares: list[float] | None = None) -> list[Any]:
        return [values[at] for at in rng.choice(len(values), rows, p=shares)]

    return pl.DataFrame(
        {
            AGE: pl.Series(drawn([23, 37, 41, 64, None], [0.3, 0.3, 0.2, 0.15, 0.05]), dtype=pl.Int64),
            TOWN: pl.Series(drawn(["Köln", "köln", "北京", 'o\'Hara "x"', "", None]), dtype=pl.String),
            NATION: pl.Series(drawn(["a", "b ", "b", "\\"]), dtype=pl.String),
            INCOME: pl.Series(drawn([-0.5, 1e300, 2.25, float("nan"), None]), dtype=pl.Float64),
            "born": pl.Series(drawn([dt.date(1900, 1, 1), dt.date(2024, 2, 29), None]), dtype=pl.Date),
            "member": pl.Series(drawn([True, False, None]), dtype=pl.Boolean),
            "weight": pl.Series(drawn([0.5, 1.0, 2.75])),
            "home": pl.Series(rng.integers(0, 90, rows)),
        }
    )


def assert_close(found: Any, expected: Any) -> None:
    """Compare answers: integers, texts and shape exactly, numbers to 1e-12."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_close(found[name], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
    else:
        assert found == expected


def rates(data: Any) -> list[Any]:
    policies = product(("category", "drop"), (None, "weight"), (INCOME, None))
    found = [
        unveil.discrimination_rate(data, KEY, secret, nulls=nulls, weights=weights).to_dict()
        for nulls, weights, secret in policies
    ]
    return [*found, unveil.discrimination_rate(data, [INCOME, "born", "member"], AGE, interval=True).to_dict()]


def scans(data: Any) -> list[Any]:
    whole = unveil.scan(data, [*KEY, "born"], INCOME, nulls="drop").to_dict()
    return [whole, unveil.scan(data, KEY, weights="weight").to_dict()]


def measurements(data: Any) -> list[Any]:
    plain = unveil.measure(data, KEY, INCOME, nulls="drop", special=True).to_dict()
    other = unveil.measure(data, [AGE], weights="weight", household="home", population=data).to_dict()
    persons = [
        unveil.measure(data, KEY, "member", nulls=nulls, person="home").to_dict() for nulls in ("category", "drop", "wildcard")
    ]
    named = unveil.measure(data, [AGE, "home"], nulls="drop", person=TOWN, household=NATION).to_dict()
    return [plain, other, unveil.measure(data, KEY, "member", nulls="wildcard").to_dict(), *persons, named]


def others(data: Any) -> list[Any]:
    need = unveil.Need("planning", target=INCOME, given=[AGE, "born"])
    return [unveil.utility(data, need).to_dict(), direct_identifiers(data).to_dict()]


def proposals(data: Any) -> list[Any]:
    start = unveil.start_project(data).to_dict()
    start.pop("data")
    trees = [unveil.propose_hierarchy(data, name).to_dict() for name in (*KEY, INCOME, "born", "member")]
    return [start, *trees, unveil.propose_hierarchy(data, TOWN, similar=[AGE, INCOME, "born"]).to_dict()]


@every
@pytest.mark.parametrize("ask", [rates, scans, measurements, others, proposals], ids=lambda ask: ask.__name__)
def test_the_same_numbers(engine: Callable[[pl.DataFrame], Any], ask: Callable[[Any], list[Any]]) -> None:
    assert_close(ask(engine(people())), ask(people()))


@every
def test_the_same_count_table(engine: Callable[[pl.DataFrame], Any]) -> None:
    columns = [*KEY, INCOME, "born", "member"]
    found = unveil.count(engine(people()), columns, weights="weight")
    assert found == unveil.count(people(), columns, weights="weight")
    assert list(found.columns[0].values) == [23, 37, 41, 64, None]
    assert found.columns[3].values[-1] is None


@every
def test_nulls_are_refused_with_their_number(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = people()
    expected = {AGE: frame[AGE].null_count(), INCOME: frame[INCOME].fill_nan(None).null_count()}
    with pytest.raises(NullsError) as refusal:
        unveil.count(engine(frame), [AGE, NATION, INCOME], nulls="error")
    assert str(refusal.value) == str(NullsError.present(expected))


@counting
def test_only_combinations_come_back(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = people()
    source = open_source(engine(frame))
    tally = source.count([AGE, "member"])
    assert source.can_count
    assert tally.n is not None
    assert tally.frame.height == frame.select(AGE, "member").n_unique()
    assert int(tally.n.sum()) == frame.height


@counting
def test_records_come_where_a_call_needs_them(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = people()
    found = open_source(engine(frame)).collect(frame.columns)
    in_order = [frame.columns[at] for at in (7, 0, 1, 2, 3, 4, 5, 6)]
    assert found.columns == frame.columns
    assert found.sort(in_order).equals(frame.sort(in_order))


@counting
def test_a_release_is_attacked_where_it_lies(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = people().with_columns(pl.int_range(400).alias("id"))
    release = frame.with_columns(pl.col(AGE) // 20)
    found = unveil.attack(engine(frame), engine(release), key=[AGE, TOWN], sensitive="member", id="id")
    assert_close(found.to_dict(), unveil.attack(frame, release, key=[AGE, TOWN], sensitive="member", id="id").to_dict())


@counting
def test_bad_weights_are_counted(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = people(100).with_columns(pl.when(pl.int_range(100) < 7).then(-1.0).otherwise(pl.col("weight")).alias("weight"))
    with pytest.raises(ValueError, match=r"^7 of the weights in column 'weight' are not positive numbers"):
        unveil.count(engine(frame), [AGE], weights="weight")


@counting
def test_a_table_without_records(engine: Callable[[pl.DataFrame], Any]) -> None:
    with pytest.raises(unveil.errors.EmptyDataError, match="there are columns but no records"):
        unveil.count(engine(people().clear()), [AGE])


@counting
def test_columns_that_cannot_be_counted(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"a": [1, 2], "lists": [[1], [2]], "bytes": [b"x", b"y"]})
    data = engine(frame)
    for name in ("lists", "bytes"):
        with pytest.raises(UnsupportedDataError, match=f"column '{name}' holds .* values, which cannot be counted"):
            unveil.count(data, ["a", name])
    assert unveil.count(data, ["a"]).records == 2


@counting
def test_rows_that_have_no_order_are_not_aligned_by_it(engine: Callable[[pl.DataFrame], Any], tmp_path: Path) -> None:
    data, frame = engine(people(50)), people(50)
    link = tmp_path / "link.csv"
    pl.DataFrame({"original": range(1, 51), "release": range(1, 51)}).write_csv(link)
    ways: list[dict[str, Any]] = [{"same_order": True}, {"link": link}]
    calls: list[Callable[..., Any]] = [
        partial(unveil.attack, key=[AGE], sensitive="member"),
        unveil.loss,
        lambda one, other, link=None, **how: unveil.compare(
            {"original": one, "release": other}, key=[AGE], link={"release": link} if link else None, **how
        ),
    ]
    for how, call in product(ways, calls):
        for original, release in ((data, frame), (frame, data)):
            with pytest.raises(ArgumentError, match="rows of a table in an engine have no order; name an id column"):
                call(original, release, **how)


@counting
def test_a_limit_on_combinations_is_kept_and_said(engine: Callable[[pl.DataFrame], Any]) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"key": rng.integers(0, 3000, 8000), "sex": rng.choice(["f", "m", ""], 8000)})
    data, exact = engine(frame), unveil.discrimination_rate(frame, "key", "sex").value
    enough = unveil.approximate_rate(data, "key", "sex", max_distinct=10_000)
    assert enough.value == pytest.approx(exact, rel=1e-12)
    assert "approximate" not in enough.to_dict()
    found = unveil.approximate_rate(data, "key", "sex", max_distinct=1500).to_dict()
    assert found["approximate"]
    assert found["share"] < 1
    assert found["sampled_classes"] <= 1500
    assert found["records"] == 8000
    assert abs(found["value"] - exact) < 4 * found["error"]


@counting
def test_there_is_one_zero(engine: Callable[[pl.DataFrame], Any]) -> None:
    """An engine gives either zero for both; the label of a release must not depend on which."""
    for values in ([-0.0, 0.0, 1.5], [0.0, -0.0, 1.5], [-0.0, -0.0, 1.5]):
        data = engine(pl.DataFrame({"a": values * 20}))
        assert [str(value) for value in unveil.count(data, ["a"]).columns[0].values] == ["0.0", "1.5"]
