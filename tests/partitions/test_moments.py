"""Dates are read in the forms in which people write them, and never otherwise."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.partitions.moments import DateReading

TODAY = date(2026, 1, 31)
DAYS = st.dates(date(1930, 1, 1), date(2025, 12, 31))


def read(text: object, *others: object) -> tuple[str, str] | None:
    moment = DateReading.of([text, *others], TODAY).read(text)
    return None if moment is None else (moment.start.isoformat(), moment.precision)


@given(DAYS, st.sampled_from(["%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d-%b-%y", "%B %d, %Y", "%Y%m%d", "%d.%m.%Y", "%m/%d/%y"]))
def test_what_was_written_is_read(day: date, form: str) -> None:
    others = ["12/31/25"] if form == "%m/%d/%y" else []
    assert read(day.strftime(form), *others) == (f"{day}T00:00:00", "day")


@given(st.lists(DAYS, min_size=1, max_size=20), st.sampled_from("/-."), st.booleans())
def test_the_order_that_reads_all_is_taken(days: list[date], separator: str, day_first: bool) -> None:
    form = separator.join(("%d", "%m", "%Y") if day_first else ("%m", "%d", "%Y"))
    texts = [day.strftime(form) for day in days]
    reading = DateReading.of(texts, TODAY)
    if any(day.day > 12 for day in days):
        assert [reading.read(text).start.date() for text in texts] == days  # type: ignore[union-attr]
        assert not reading.undecided
    else:
        assert reading.undecided == (separator,)
        assert "two orders" in reading.in_words()


@pytest.mark.parametrize(
    ("text", "start", "precision"),
    [
        ("2024-03-05T10:11:12Z", "2024-03-05T10:11:12", "time"),
        ("5.3.2024, 7:05", "2024-03-05T07:05:00", "time"),
        ("3/25/2024 12:30 AM", "2024-03-25T00:30:00", "time"),
        ("3/25/2024 1:30 pm", "2024-03-25T13:30:00", "time"),
        ("2024-03-05 00:00:00", "2024-03-05T00:00:00", "day"),
        ("1 janvier 1999", "1999-01-01T00:00:00", "day"),
        ("3 de mayo de 1999", "1999-05-03T00:00:00", "day"),
        ("März 1999", "1999-03-01T00:00:00", "month"),
        ("1999-03", "1999-03-01T00:00:00", "month"),
        ("3/1999", "1999-03-01T00:00:00", "month"),
        ("1999Q4", "1999-10-01T00:00:00", "quarter"),
        ("T2 1999", "1999-04-01T00:00:00", "quarter"),
        ("3. Quartal 1999", "1999-07-01T00:00:00", "quarter"),
        ("1999", "1999-01-01T00:00:00", "year"),
        (datetime(2024, 3, 5, 1), "2024-03-05T01:00:00", "time"),  # noqa: DTZ001
        (date(2024, 3, 5), "2024-03-05T00:00:00", "day"),
    ],
)
def test_each_form(text: object, start: str, precision: str) -> None:
    assert read(text) == (start, precision)


@pytest.mark.parametrize(
    "text", ["", "unknown", "31.02.2020", "13/13/2020", "19991350", "2019-20", "12:30", "A1-2-2020", None, True, 3.5]
)
def test_what_is_no_date(text: object) -> None:
    assert read(text) is None


def test_two_digits_are_never_in_the_future() -> None:
    assert read("31.01.26") == ("2026-01-31T00:00:00", "day")
    assert read("31.01.27") == ("1927-01-31T00:00:00", "day")
