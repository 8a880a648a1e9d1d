"""Rules of ARX for hierarchies: files that Java wrote, read without Java, and what they make of a column's values."""

from __future__ import annotations

import contextlib
import itertools
import json
import struct
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import unveil
from assess.arx_rules import EXPECTED, file_of
from unveil.cli import run
from unveil.errors import DataNotFoundError, HierarchyError
from unveil.project.arx.rule_intervals import EndRange, HalfOpen, IntervalRule, LevelGroup
from unveil.project.arx.rule_labels import GroupLabel
from unveil.project.arx.rule_types import DateType, NumberType, TextType, date_text, java_double
from unveil.project.arx.rules import ArxRule, DateRule, OrderRule


def rows_of(name: str) -> list[tuple[str, ...]]:
    return [tuple(part.strip() for part in line.split("; ")) for line in EXPECTED[name].strip().splitlines()]


def rule_in(folder: Path, name: str) -> ArxRule:
    file = folder / f"{name}.ahs"
    file.write_bytes(file_of(name))
    return unveil.arx_rule(file)


@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.startswith("order")])
def test_a_rule_makes_the_hierarchy_that_arx_makes(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    built = rule_in(tmp_path, name).build([row[0] for row in rows], column="code")
    assert sorted(built.labels) == sorted(rows)


@pytest.mark.parametrize("name", ["order-given", "order-type"])
def test_an_ordered_rule_counts_in_its_order(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    rule = rule_in(tmp_path, name)
    assert rule.to_dict() == {"rule": "arx", "kind": "order"}
    assert sorted(rule.build([row[0] for row in reversed(rows)], column="code").labels) == sorted(rows)


def test_the_verb_applies_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("age.ahs").write_bytes(file_of("interval-doc"))
    Path("people.csv").write_text("age,sex\n19,f\n20,m\n,f\n66,m\n98,f\n", encoding="utf-8")
    asked = ["hierarchy", "build", "people.csv", "--column", "age", "--arx-rule", "age.ahs"]
    assert run([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rule"] == {"rule": "arx", "kind": "interval"}
    assert run([*asked, "--out", "age.csv"]) == 0
    known = {row[0]: row for row in rows_of("interval-doc")}
    assert unveil.Hierarchy.read("age.csv").labels == tuple(known[age] for age in ("19", "20", "66", "98"))
    assert run([*asked, "--dates", "year"]) == 2
    assert "one rule" in capsys.readouterr().err


def test_values_that_a_rule_does_not_reach_are_counted(tmp_path: Path) -> None:
    rule = rule_in(tmp_path, "interval-doc")
    with pytest.raises(HierarchyError, match=r"column 'age': the rule does not reach 2 of 3 values"):
        rule.build([50, 99, -1], column="age")
    with pytest.raises(HierarchyError, match="1 of 2 values present is no number that the rule takes"):
        rule.build(["50", "5.5"], column="age")
    with pytest.raises(HierarchyError, match="does not have 1 of 2 values"):
        rule_in(tmp_path, "order-given").build(["low", "secret"])


def test_what_is_no_rule_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rule.ahs"
    with pytest.raises(DataNotFoundError):
        unveil.arx_rule(file)
    content = file_of("interval-snapped")
    for damaged in (b"", b"age;*", content[:200], content[:-3], content.replace(b"IntervalBased", b"IntervalBraced")):
        file.write_bytes(damaged)
        with pytest.raises(HierarchyError, match=r"rule\.ahs"):
            unveil.arx_rule(file)
    with pytest.raises(HierarchyError):
        unveil.arx_rule(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 2666), byte=st.integers(0, 255))
def test_no_damage_to_a_file_is_a_failure_of_ours(place: int, byte: int, tmp_path: Path) -> None:
    content = bytearray(file_of("interval-snapped"))
    content[place % len(content)] = byte
    file = tmp_path / "damaged.ahs"
    file.write_bytes(bytes(content))
    with contextlib.suppress(HierarchyError):
        assert unveil.arx_rule(file).build([5, 40, 89]).leaves == ("5", "40", "89")


widths = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(
    widths, st.integers(-9, 9), st.lists(st.integers(1, 3), max_size=3), st.integers(0, 12), st.integers(0, 9), st.integers(0, 9)
)
def test_intervals_are_those_of_a_list_written_out(
    sizes: list[int], first: int, groups: list[int], reach: int, snap: int, open_: int
) -> None:
    """All copies of the intervals one by one, instead of by division: the same first level, between bounds that snap."""
    label = GroupLabel("interval", closed=(True, False))
    starts = [first + sum(sizes[:at]) for at in range(len(sizes) + 1)]
    intervals = tuple(HalfOpen(low, high, label) for low, high in itertools.pairwise(starts))
    low, high = first - snap, starts[-1] + reach
    rule = IntervalRule(
        NumberType(whole=True), intervals, (tuple(LevelGroup(size, label) for size in groups),) if groups else (),
        EndRange(low, low - open_), EndRange(high, high + open_),
    )  # fmt: skip
    values = list(range(low - open_, high + open_))
    written = sorted((one.low + turn * sum(sizes), one.high + turn * sum(sizes)) for one in intervals for turn in range(-20, 21))
    lowest = next(one for one in written if one[0] <= low < one[1])
    highest = next(one for one in written if one[0] < high <= one[1])
    ends = [(low - open_, lowest[1]), (highest[0], high + open_)]
    if lowest[1] > highest[0]:
        ends = [(low - open_, high + open_)] * 2
    expected = []
    for value in values:
        one = next(one for one in written if one[0] <= value < one[1])
        one = ends[0] if one[0] < ends[0][1] else ends[1] if one[1] > ends[1][0] else one
        expected.append(f"[{one[0]}, {one[1]}[")
    assert rule.labels(values, [])[0] == expected


def test_groups_that_are_alike_are_told_apart_and_sizes_repeat() -> None:
    level = (LevelGroup(2, GroupLabel("constant", "two")), LevelGroup(1, GroupLabel("constant", "one")))
    rule = OrderRule(TextType(), TextType(), (level,))
    assert rule.labels([], list("abcdefg")) == [["two", "two", "one", "two-1", "two-1", "one-1", "two-2"], ["*"] * 7]


def test_dates_fall_into_periods_and_open_ends() -> None:
    rule = DateRule(
        DateType("yyyy-MM-dd"), (("dd.MM.yyyy", None), ("QQQ yyyy", None), ("yyyy", None), ("yyyy", 10)),
        datetime(1950, 1, 1), datetime(2010, 1, 1),  # noqa: DTZ001
    )  # fmt: skip
    days = ["1949-12-31", "1950-01-01", "1987-03-31", date(1987, 4, 1), "2009-12-31", "2010-01-01"]
    built = ArxRule("date", rule).build(days, column="born")
    assert built.labels == (
        ("1949-12-31", *["<1950-01-01"] * 4, "*"),
        ("1950-01-01", "01.01.1950", "Q1 1950", "1950", "[1950, 1960[", "*"),
        ("1987-03-31", "31.03.1987", "Q1 1987", "1987", "[1980, 1990[", "*"),
        ("1987-04-01", "01.04.1987", "Q2 1987", "1987", "[1980, 1990[", "*"),
        ("2009-12-31", "31.12.2009", "Q4 2009", "2009", "[2000, 2010[", "*"),
        ("2010-01-01", *[">=2010-01-01"] * 4, "*"),
    )
    with pytest.raises(HierarchyError, match="1 of 1 values present is no date"):
        ArxRule("date", rule).build(["31.12.1990"])
    with pytest.raises(HierarchyError, match="depend on a language or a calendar"):
        date_text(datetime(2000, 1, 1), "ww/yyyy")  # noqa: DTZ001


def java_text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def java_class(name: str, fields: list[tuple[str, str]], flags: int = 2) -> bytes:
    told = b"".join(
        kind.encode() + java_text(field) + (b"\x74" + java_text("Ljava/lang/Object;") if kind in "[L" else b"")
        for kind, field in fields
    )
    return b"\x72" + java_text(name) + bytes(8) + bytes([flags]) + struct.pack(">H", len(fields)) + told + b"\x78\x70"


def test_a_rule_for_dates_is_read_from_its_file(tmp_path: Path) -> None:
    """With the periods in any order, a form of its own for one of them, and bounds as moments of a zone."""
    home = "org.deidentifier.arx.aggregates.HierarchyBuilderDate"

    def moment(day: datetime) -> bytes:
        since = int((day - datetime(1970, 1, 1)).total_seconds() * 1000)  # noqa: DTZ001
        return b"\x73" + java_class("java.util.Date", [], 3) + b"\x77\x08" + struct.pack(">q", since) + b"\x78"

    def period(name: str) -> bytes:
        return b"\x7e" + java_class(f"{home}$Granularity", [], 0x12) + b"\x74" + java_text(name)

    forms = b"\x73" + java_class("java.util.HashMap", [], 3) + b"\x77\x08" + struct.pack(">ii", 16, 1) + period("MONTH_YEAR")
    forms += b"\x74" + java_text("yyyy/MM") + b"\x78"
    fields = [("L", name) for name in ("bottomCoding", "datatype", "format", "granularities", "timeZone", "topCoding")]
    content = b"\xac\xed\x00\x05\x73" + java_class(home, fields) + moment(datetime(1950, 1, 1))  # noqa: DTZ001
    content += (
        b"\x73" + java_class("org.deidentifier.arx.DataType$ARXDate", [("L", "string")]) + b"\x74" + java_text("dd.MM.yyyy")
    )
    content += b"\x73" + java_class(f"{home}$Format", [("L", "map")]) + forms
    content += (
        b"\x75" + java_class(f"[L{home}$Granularity;", []) + struct.pack(">i", 2) + period("CENTURY") + period("MONTH_YEAR")
    )
    content += b"\x73" + java_class("sun.util.calendar.ZoneInfo", [("L", "ID")]) + b"\x74" + java_text("UTC") + b"\x70"
    file = tmp_path / "born.ahs"
    file.write_bytes(content)
    built = unveil.arx_rule(file).build(["31.12.1949", "01.01.1950", "15.07.2001"])
    assert built.labels == (
        ("31.12.1949", "<01.01.1950", "<01.01.1950", "*"),
        ("01.01.1950", "1950/01", "[1900, 2000[", "*"),
        ("15.07.2001", "2001/07", "[2000, 2100[", "*"),
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(5.0, "5.0"), (0.001, "0.001"), (1e7, "1.0E7"), (12345678.5, "1.23456785E7"), (0.0005, "5.0E-4"), (-2.5e-7, "-2.5E-7"), (0.0, "0.0")],
)  # fmt: skip
def test_decimal_numbers_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert java_double(number) == text


def test_labels_of_groups() -> None:
    whole, decimal, words = NumberType(whole=True), NumberType(whole=False), TextType()
    assert GroupLabel("prefix", "+").of(["abcd", "abx"], words) == "ab++"
    assert GroupLabel("prefix").of(["abcd", "abx"], words) == "ab"
    assert GroupLabel("prefixes", length=2).of(["abcd", "x"], words) == "ab-x"
    assert GroupLabel("mean").of(["1", "2", "4"], whole) == "2"
    assert GroupLabel("middle").of(["9", "1", "4"], decimal) == "5.0"
    assert GroupLabel("geometric").of(["10", "1000"], whole) == "100"
    assert GroupLabel("mean").of(["a"], words) == "NULL"
    assert GroupLabel("interval").of(["10", "9"], whole) == "[9, 10]"
    assert GroupLabel("bounds").of(["10", "9"], whole) == "[10, 9]"
