"""Rules of ARX for hierarchies: files that Java wrote, read without Java, and what they make of a column's values."""

from __future__ import annotations

import contextlib
import itertools
import json
import struct
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import unveil
from assess.arx_rules import EXPECTED, file_of
from unveil.cli import run
from unveil.errors import DataNotFoundError, HierarchyError
from unveil.project.arx.rule_calendar import JavaCalendar
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


def test_an_order_that_only_the_data_in_arx_had_is_refused_with_that_reason(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="follows an order that only ARX, or the data in ARX, knows; export the hierarchy"):
        rule_in(tmp_path, "order-data")


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
    with pytest.raises(HierarchyError, match="lacks 1 of 2 values"):
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


MONTHS = {
    "de": ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "fr": [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
}


def java_texts(texts: list[str]) -> bytes:
    written = b"".join(b"\x74" + java_text(one) for one in texts)
    return b"\x75" + java_class("[Ljava.lang.String;", []) + struct.pack(">i", len(texts)) + written


def dates_rule(periods: list[str], form: str, language: str, weeks: tuple[int, int]) -> bytes:
    """Return a rule for dates with what Java saves beside the form: weeks, names of months, and from where two digits count."""
    home, arx = "org.deidentifier.arx.aggregates.HierarchyBuilderDate", "org.deidentifier.arx.DataType$ARXDate"
    since = int((datetime(1946, 11, 16) - datetime(1970, 1, 1)).total_seconds() * 1000)  # noqa: DTZ001
    parts = ["calendar", "defaultCenturyStart", "formatData", "locale"]
    calendar = java_class("java.util.GregorianCalendar", [("I", "firstDayOfWeek"), ("I", "minimalDaysInFirstWeek")])
    names = java_class("java.text.DateFormatSymbols", [("L", "months"), ("L", "shortMonths")])
    saved = b"\x73" + java_class("java.text.SimpleDateFormat", [("L", one) for one in parts])
    saved += b"\x73" + calendar + struct.pack(">ii", *weeks)
    saved += b"\x73" + java_class("java.util.Date", [], 3) + b"\x77\x08" + struct.pack(">q", since) + b"\x78"
    saved += b"\x73" + names + java_texts([*MONTHS[language], ""]) + java_texts([*(one[:3] for one in MONTHS[language]), ""])
    saved += b"\x73" + java_class("java.util.Locale", [("L", "language")]) + b"\x74" + java_text(language)
    fields = [("L", name) for name in ("bottomCoding", "datatype", "format", "granularities", "timeZone", "topCoding")]
    content = b"\xac\xed\x00\x05\x73" + java_class(home, fields) + b"\x70"
    content += b"\x73" + java_class(arx, [("L", "format"), ("L", "string")]) + saved + b"\x74" + java_text(form) + b"\x70"
    content += b"\x75" + java_class(f"[L{home}$Granularity;", []) + struct.pack(">i", len(periods))
    for one in periods:
        content += b"\x7e" + java_class(f"{home}$Granularity", [], 0x12) + b"\x74" + java_text(one)
    return content + b"\x70\x70"


WEEKS = {  # what Java 17 writes as W/MM.yyyy and ww/yyyy
    ("de", (2, 4), "d MMMM yyyy"): """
        28 Dezember 2020; 5/12.2020; 53/2020
        1 Januar 2021; 0/01.2021; 53/2021
        4 Januar 2021; 1/01.2021; 01/2021
        31 Dezember 2023; 4/12.2023; 52/2023
        30 Dezember 2024; 5/12.2024; 01/2024
        1 Januar 2025; 1/01.2025; 01/2025
        1 März 2026; 0/03.2026; 09/2026
    """,
    ("en", (1, 1), "dd-MMM-yyyy"): """
        28-Dec-2020; 5/12.2020; 01/2020
        01-Jan-2021; 1/01.2021; 01/2021
        03-Jan-2021; 2/01.2021; 02/2021
        31-Dec-2023; 6/12.2023; 01/2023
        29-Dec-2024; 5/12.2024; 01/2024
        01-Mar-2026; 1/03.2026; 10/2026
    """,
}


@pytest.mark.parametrize("place", WEEKS, ids=lambda place: place[0])
def test_weeks_begin_where_they_begin_on_the_machine_that_saved_the_rule(
    place: tuple[str, tuple[int, int], str], tmp_path: Path
) -> None:
    language, weeks, form = place
    file = tmp_path / "visit.ahs"
    file.write_bytes(dates_rule(["WEEK_YEAR", "WEEK_MONTH_YEAR"], form, language, weeks))
    rows = [tuple(line.strip().split("; ")) for line in WEEKS[place].strip().splitlines()]
    built = unveil.arx_rule(file).build([row[0] for row in rows], column="visit")
    assert built.labels == tuple((*row, "*") for row in rows)


def test_weekdays_and_years_of_two_digits(tmp_path: Path) -> None:
    file = tmp_path / "visit.ahs"
    file.write_bytes(dates_rule(["WEEKDAY"], "d MMM yyyy", "fr", (2, 4)))
    assert [row[1] for row in unveil.arx_rule(file).build(["28 déc 2020", "3 JAN 2021", "2 août 2021"]).labels] == ["1", "7", "1"]
    file.write_bytes(dates_rule(["YEAR"], "MM/dd/yy", "en", (1, 1)))
    days = ["11/30/46", "11/10/46", "06/01/50", "12/31/99", "01/01/00", "11/01/26"]
    years = ["1946", "2046", "1950", "1999", "2000", "2026"]
    assert [row[1] for row in unveil.arx_rule(file).build(days).labels] == years


def test_quarters_are_not_written_in_a_language_whose_word_the_file_lacks(tmp_path: Path) -> None:
    file = tmp_path / "visit.ahs"
    file.write_bytes(dates_rule(["QUARTER_YEAR"], "yyyy-MM-dd", "en", (2, 4)))
    assert unveil.arx_rule(file).build(["2020-12-28"]).labels == (("2020-12-28", "Q4 2020"),)
    file.write_bytes(dates_rule(["QUARTER_YEAR"], "yyyy-MM-dd", "fr", (2, 4)))
    with pytest.raises(HierarchyError, match="depend on a language"):
        unveil.arx_rule(file).build(["2020-12-28"])
    for form in ("dd.MM.yy", "dd MMM yyyy", "ww yyyy"):
        with pytest.raises(HierarchyError, match="are not read"):
            DateType(form).read("01.02.03")


@given(st.dates(date(1890, 1, 1), date(2150, 12, 31)), st.integers(1, 7), st.integers(1, 7))
def test_a_week_is_the_first_of_a_year_if_it_has_enough_days_of_it(day: date, first: int, least: int) -> None:
    def start(of: date) -> date:
        return next(of - timedelta(back) for back in range(7) if (of - timedelta(back)).isoweekday() % 7 + 1 == first)

    def first_week(year: int) -> date:
        begin = start(date(year, 1, 1))
        held = sum((begin + timedelta(more)).year == year for more in range(7))
        return begin if held >= least else begin + timedelta(7)

    calendar = JavaCalendar(first, least)
    year = max(one for one in (day.year - 1, day.year, day.year + 1) if first_week(one) <= start(day))
    assert calendar.week_of_year(day) == (start(day) - first_week(year)).days // 7 + 1
    assert calendar.weekday(day) == (day - start(day)).days + 1
    if (first, least) == (2, 4):
        assert calendar.week_of_year(day) == day.isocalendar().week
    month = start(day.replace(day=1))
    held = sum((month + timedelta(more)).month == day.month for more in range(7))
    assert calendar.week_of_month(day) == (start(day) - month).days // 7 + (held >= least)


def test_texts_in_quotes_stand_as_they_are() -> None:
    assert date_text(datetime(2024, 1, 5), "'on' d 'o''clock'") == "on 5 o'clock"  # noqa: DTZ001


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
    assert GroupLabel("geometric").of(["-6", "-4"], whole) == "0"  # Java makes a whole number of what is none
    assert GroupLabel("geometric").of(["-6", "-4"], decimal) == "NaN"
    assert GroupLabel("geometric-middle").of(["0", "4", "9"], decimal) == "0.0"
    days = DateType("yyyy-MM-dd")
    assert GroupLabel("middle").of(["1978-09-14", "1973-12-13"], days) == "1976-04-29"
    assert GroupLabel("mean").of(["1973-12-13", "1973-12-13", "1973-12-19"], days) == "1973-12-15"
    assert GroupLabel("geometric").of(["1969-12-30", "1973-12-13"], days) == "1970-01-01"
    assert GroupLabel("interval").of(["10", "9"], whole) == "[9, 10]"
    assert GroupLabel("bounds").of(["10", "9"], whole) == "[10, 9]"
