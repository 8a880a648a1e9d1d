from __future__ import annotations

import io
import math
import re
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from unveil.formats import number, of_one_type, visible
from unveil.results import Between, Figure, Result, Table, View
from unveil.results.html_view import html_parts, to_html
from unveil.results.terminal import columns_of, risk_colour, to_rich

SUBSETS = Table(
    columns=("key", "size", "DR", "kind"),
    rows=(
        (
            ("age", "workclass", "education", "marital-status", "occupation", "race", "sex"),
            7,
            0.91764,
            "partial-identifier",
        ),
        (("age", "sex"), 2, 0.25, "sketchy-identifier"),
        (("sex",), 1, None, "zero-identifier"),
    ),
    title="Subsets, most telling first",
    note="DR is the share of uncertainty removed.",
    bars=frozenset({"DR"}),
)
SCAN = View(
    title="Discrimination Rate of 255 subsets",
    figures=(
        Figure("records", 30162, "rows of the table"),
        Figure("most telling", "0.9176"),
        Figure("t", "inf", "no bound"),
    ),
    tables=(SUBSETS,),
    notes=("Read the class's count beside the rate.", "nulls: category"),
)
HOSTILE = "[red]x[/red] \x1b[31mred\x9b2J \n\t<script>alert(1)</script> &amp; 'q\"\u202e :smile:"


def test_an_interval_is_written_as_two_numbers() -> None:
    (column,) = columns_of(Table(("interval",), ((Between(0.25, 1.0),), (None,))))
    assert [cell.text for cell in column.cells] == ["0.2500 to 1.0000", "-"]


def printed(view: View, *, width: int = 80, colour: bool = False) -> str:
    file = io.StringIO()
    system: Any = "truecolor" if colour else None
    Console(file=file, width=width, color_system=system, force_terminal=colour, _environ={}).print(to_rich(view))
    return file.getvalue()


def row_with(text: str, word: str) -> str:
    return next(line for line in text.splitlines() if word in line)


def of_values(*values: Any, bars: bool = False) -> View:
    table = Table(("what", "value"), tuple((f"row{j}", value) for j, value in enumerate(values)))
    return View("", tables=(Table(table.columns, table.rows, bars=frozenset({"value"} if bars else ())),))


class Reader(HTMLParser):
    """Collects the tags, the attributes and the text of each element with text in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


# Values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (-12345, "-12,345"),
        (np.int64(30162), "30,162"),
        (0.5, "0.5000"),
        (np.float64(0.12345), "0.1235"),
        (np.float32(0.5), "0.5000"),
        (1234.5, "1,234.5000"),
        (-0.25, "-0.2500"),
        (-0.0, "0.0000"),
        (1e16, "1.0000e+16"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "nan"),
        (Decimal("2.5"), "2.5000"),
        (Fraction(1, 3), "0.3333"),
    ],
)
def test_numbers_are_written_as_people_read_them(value: Any, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.99999, ">0.9999"), (0.00001, "<0.0001"), (-0.00001, ">-0.0001"), (1.0, "1.0000"), (0.0, "0.0000")],
)
def test_nothing_is_rounded_to_all_or_nothing(value: float, text: str) -> None:
    assert number(value) == text


def test_rounding_errors_of_floats_are_not_shown() -> None:
    assert number(1 - 2**-53) == "1.0000"
    assert number(0.1 + 0.2 - 0.3) == "0.0000"


@given(st.floats(allow_nan=False, min_value=-10, max_value=10))
def test_only_zero_and_one_are_written_as_zero_and_one(value: float) -> None:
    if number(value) in {"0.0000", "1.0000"}:
        assert min(abs(value), abs(value - 1)) <= 1e-12


@given(st.text())
def test_visible_text_has_nothing_that_steers(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert visible(shown) == shown
    shown.encode()


def test_visible_keeps_scripts_and_emoji() -> None:
    assert visible("été 日本 👩\u200d⚕️ می\u200cکنم \u00a0") == "été 日本 👩\u200d⚕️ می\u200cکنم \u00a0"
    assert visible("a\x1b\n\u202e\ud800") == r"a\x1b\n\u202e\ud800"


def test_risk_runs_from_green_over_amber_to_red() -> None:
    greens = [risk_colour(share)[1] for share in (0.0, 0.5, 1.0)]
    reds = [risk_colour(share)[0] for share in (0.0, 0.25, 0.5, 1.0)]
    assert greens == sorted(greens, reverse=True)
    assert reds == sorted(reds)
    assert risk_colour(0.0)[1] > risk_colour(0.0)[0]
    assert risk_colour(1.0)[0] > risk_colour(1.0)[1]


# Terminal


def test_terminal_shows_every_part_in_order() -> None:
    text = printed(SCAN)
    parts = ["255 subsets", "records", "Subsets, most", "DR is the share", "• Read the", "• nulls: category"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_figures_are_aligned_and_formatted() -> None:
    lines = printed(SCAN).splitlines()
    assert lines[2].rstrip() == "records       30,162  rows of the table"
    assert lines[3].rstrip() == "most telling  0.9176"
    assert lines[4].rstrip() == "t             ∞       no bound"


def test_numbers_are_aligned_right_and_texts_left() -> None:
    text = printed(of_values(5, 123456, None, math.inf))
    ends = {len(row_with(text, f"row{j}").rstrip()) for j in range(4)}
    assert len(ends) == 1
    assert [row_with(text, f"row{j}").split()[1] for j in range(4)] == ["5", "123,456", "-", "∞"]
    text = printed(of_values("b", "a long word", 3))
    assert len({row_with(text, f"row{j}").index(word) for j, word in enumerate(["b", "a long", "3"])}) == 1


def test_infinity_as_json_writes_it_is_infinity_among_numbers_only() -> None:
    assert row_with(printed(of_values(1.5, "inf", "-inf")), "row1").split()[1] == "∞"
    assert row_with(printed(of_values("surname", "inf")), "row1").split()[1] == "inf"
    assert row_with(printed(of_values("inf", None)), "row0").split()[1] == "inf"


def test_other_values_are_shown_in_words() -> None:
    text = printed(of_values(True, np.bool_(False), "", ("a", None, 0.5), frozenset({"y", "x"}), b"\x1b"), width=60)
    shown = [row_with(text, f"row{j}").split(maxsplit=1)[1].rstrip() for j in range(6)]
    assert shown == ["yes", "no", '""', "a, -, 0.5000", "x, y", r"b'\x1b'"]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    hostile = Table(("key", HOSTILE), ((HOSTILE * 9, 1), ("日本" * 90, None)), title=HOSTILE, note=HOSTILE)
    view = View(HOSTILE * 3, (Figure(HOSTILE, HOSTILE, HOSTILE),), (SUBSETS, hostile), (HOSTILE,))
    assert max(cell_len(line) for line in printed(view, width=width).splitlines()) <= width


@pytest.mark.parametrize("colour", [False, True])
def test_data_is_never_markup_nor_escapes(colour: bool) -> None:
    view = View(HOSTILE, (Figure(HOSTILE, HOSTILE, HOSTILE),), (Table((HOSTILE,), ((HOSTILE,),)),), (HOSTILE,))
    text = printed(view, width=200, colour=colour)
    own = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert own.count(r"[red]x[/red] \x1b[31mred\x9b2J \n\t<script>") >= 6
    assert own.count(r"\u202e :smile:") >= 5
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", own)
    assert "\x1b[31m" not in text


def test_piped_output_has_no_escapes() -> None:
    assert "\x1b" not in printed(SCAN)
    assert "\x1b[1m" in printed(SCAN, colour=True)


def test_bars_grow_and_redden_with_risk() -> None:
    text = printed(of_values(0.0, 0.1, 0.5, 1.0, None, -0.3, 7.0, bars=True), width=120)
    lengths = [row_with(text, f"row{j}").count("█") for j in range(7)]
    assert lengths == [0, 1, 5, 10, 0, 0, 10]
    coloured = printed(of_values(0.1, 1.0, bars=True), width=120, colour=True)
    r, g, b = risk_colour(1.0)
    assert f"\x1b[38;2;{r};{g};{b}m" in row_with(coloured, "row1")
    assert f"\x1b[38;2;{r};{g};{b}m" not in row_with(coloured, "row0")


def test_a_bar_has_eighths() -> None:
    assert "█████▏" in row_with(printed(of_values(0.5125, bars=True)), "row0")


def test_long_texts_wrap_and_very_long_ones_end_in_an_ellipsis() -> None:
    text = printed(SCAN, width=60)
    assert all(column in text for column in SUBSETS.rows[0][0])
    assert "…" not in text
    cut = printed(of_values("x" * 5000))
    assert "…" in cut
    assert cut.count("\n") < 12
    assert "…" not in printed(of_values("x" * 60))


def test_bars_make_way_for_texts() -> None:
    assert "█" in printed(SCAN, width=80)
    assert "█" not in printed(SCAN, width=52)
    assert "partial-identifier" in printed(SCAN, width=52)


def test_a_table_too_wide_goes_on_below_with_its_first_column() -> None:
    names = tuple(f"measure{j}" for j in range(12))
    table = Table(("release", *names), (("original", *(1000.5 * j for j in range(12))),))
    text = printed(View("", tables=(table,)))
    assert all(name in text for name in names)
    assert all(number(1000.5 * j) in text for j in range(12))
    assert text.count("original") == text.count("release") > 1
    assert "…" not in text


def test_an_empty_table_says_so() -> None:
    assert "no rows" in printed(View("t", tables=(Table(("a", "b"), ()),)))
    assert "no rows" in to_html(View("t", tables=(Table(("a", "b"), ()),)))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_that_is_not_unicode_gets_what_it_can_hold(encoding: str) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    view = View("ét 日本", SCAN.figures, (SUBSETS, Table(("a",), (("y" * 5000,), (math.inf,)))), SCAN.notes)
    Console(file=file, width=120, _environ={}).print(to_rich(view))
    file.flush()
    text = raw.getvalue().decode(encoding)
    assert r"\u65e5" in text
    assert "#########" in text
    assert "* nulls" in text
    assert re.search(r"t +inf +no bound", text)
    assert "..." in text


# HTML


def test_html_is_one_element_that_stands_alone() -> None:
    html = to_html(SCAN)
    reader = read(html)
    assert html.startswith('<div class="unveil-view">')
    assert html.rstrip().endswith("</div>")
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert "http" not in html
    assert "url(" not in html
    assert "@import" not in html


def test_html_opens_and_closes_every_element() -> None:
    html = to_html(View(HOSTILE, SCAN.figures, (SUBSETS, Table((HOSTILE,), ((HOSTILE,),), HOSTILE, HOSTILE)), (HOSTILE,)))
    for tag in set(read(html).tags):
        assert len(re.findall(f"<{tag}[ >]", html)) == html.count(f"</{tag}>"), tag


def test_html_holds_every_part() -> None:
    texts = read(to_html(SCAN)).texts
    for expected in ["Discrimination Rate of 255 subsets", "30,162", "∞", "0.9176", "0.2500", "-", "nulls: category"]:
        assert expected in texts


def test_html_escapes_data_everywhere() -> None:
    table = Table((HOSTILE,), ((HOSTILE,), ((HOSTILE,),)), title=HOSTILE, note=HOSTILE)
    html = to_html(View(HOSTILE, (Figure(HOSTILE, HOSTILE, HOSTILE),), (table,), (HOSTILE,)))
    reader = read(html)
    assert "<script" not in html
    assert "script" not in reader.tags
    assert {name for name, _ in reader.attributes} <= {
        "class",
        "scope",
        "role",
        "tabindex",
        "aria-label",
        "aria-hidden",
    }
    assert sum(visible(HOSTILE) == text for text in reader.texts) == 10
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", html)


def test_html_classes_are_scoped() -> None:
    css, markup = html_parts(SCAN)
    selectors = [line.split("{")[0] for line in css.splitlines() if "{" in line and not line.startswith("@media")]
    assert all(part.strip().startswith(".unveil-view") for selector in selectors for part in selector.split(","))
    classes = " ".join(value or "" for name, value in read(markup).attributes if name == "class").split()
    assert all(name.startswith("unveil-") for name in classes)
    assert css.count("{") == css.count("}")


def test_html_bars_have_a_rule_each_and_no_style_attribute() -> None:
    css, markup = html_parts(of_values(0.0, 0.25, 1.0, None, bars=True))
    steps = re.findall(r"unveil-bar unveil-s(\d+)", markup)
    assert steps == ["0", "10", "40"]
    assert all(f".unveil-s{step} {{ width:" in css for step in steps)
    assert ".unveil-s40 { width: 100%; background: rgb(218, 54, 51); }" in css
    assert "style=" not in markup


def test_html_heading_follows_the_level() -> None:
    assert '<h1 class="unveil-title">' in html_parts(SCAN, level=1)[1]
    assert '<h2 class="unveil-title">' in html_parts(SCAN)[1]


def test_html_cuts_what_no_one_reads() -> None:
    html = to_html(of_values("x" * 100_000))
    assert "x…" in html
    assert len(html) < 20_000


def test_html_minds_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in to_html(SCAN)


# Results


class Answer(Result):
    def view(self) -> View:
        return SCAN


def test_a_result_shows_itself() -> None:
    file = io.StringIO()
    Console(file=file, width=80, _environ={}).print(Answer())
    assert file.getvalue() == printed(SCAN)
    assert Answer()._repr_html_() == to_html(SCAN)


def test_values_that_no_library_holds_are_text_in_a_frame() -> None:
    assert of_one_type([Path("x"), None]) == ["x", None]
    assert of_one_type([Decimal("1.50")]) == ["1.50"]
    assert of_one_type([np.int64(3)]) == [3]
