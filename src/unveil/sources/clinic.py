"""A raw, messy table of visits to a fictitious clinic, drawn from a seed: a file that nobody has cleaned yet.

Persons have several records; dates of birth are written in three forms; postal codes lost their leading zeros; -9, 99 and
"unknown" stand for missing values; sex is given twice, in words and in codes, and age beside the date of birth.
Names are made of syllables; any resemblance to a real person's name is accidental. Only `random()` is called, whose sequence
Python keeps from version to version.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

__all__ = ["clinic"]

_Item = TypeVar("_Item")
_SEED = 20
_PERSONS = 620
_TODAY = dt.date(2025, 6, 30)
_STATES = (
    ("MA", 2100, ("Essex", "Norfolk")),
    ("CT", 6000, ("Windham",)),
    ("NY", 10000, ("Ulster", "Orange")),
    ("VT", 5000, ("Orleans",)),
)
_ENDS = ("ford", "field", "ton", "bury", "mouth")
_BEGINS = ("Ash", "Brook", "Clay", "Dun", "East", "Fair")
_SYLLABLES = ("ba", "co", "du", "fe", "gi", "ha", "jo", "ka", "lu", "mi", "no", "pe", "ri", "so", "ta", "vu", "wi", "za")
_DIAGNOSES = (
    ("I10", "hypertension", 30), ("E11.9", "diabetes", 18), ("J45.0", "asthma", 14), ("J11", "influenza", 25),
    ("F32", "depression", 9), ("M54", "back pain", 20), ("C50", "breast cancer", 3), ("B20", "HIV", 1), ("", "unknown", 6),
)  # fmt: skip
_ETHNICITIES = (("White", 62), ("Black", 14), ("Hispanic", 13), ("Asian", 9), ("Other", 2))
_JOBS = (
    ("office", 30),
    ("retail", 22),
    ("health care", 14),
    ("construction", 10),
    ("teaching", 9),
    ("farming", 4),
    ("retired", 20),
)


@dataclass(frozen=True, slots=True)
class _Person:
    """A person's values that do not change from visit to visit."""

    number: int
    name: str
    born: str
    age: int
    sex: str
    zip: int
    town: str
    county: str
    state: str
    ethnicity: str
    job: str
    income: int
    children: int


def clinic() -> pl.DataFrame:
    """Return the visits, in the order of their days."""
    draw = random.Random(_SEED)  # noqa: S311 - a data set that everybody can repeat
    persons = [_person(draw, number) for number in range(_PERSONS)]
    visits = sorted((visit for one in persons for visit in _visits(draw, one)), key=lambda visit: visit["visit date"])
    rows = [{"visit": 50_001 + at, **visit, "visit date": _american(visit["visit date"])} for at, visit in enumerate(visits)]
    return pl.DataFrame(rows)


def _person(draw: random.Random, number: int) -> _Person:
    state, first, counties = _of(draw, _STATES)
    county, begin, end = _of(draw, counties), _of(draw, _BEGINS[:3] if draw.random() < 0.8 else _BEGINS), _of(draw, _ENDS)  # noqa: PLR2004
    place = 25 * counties.index(county) + 5 * _BEGINS.index(begin) % 25 + _ENDS.index(end)
    born = _TODAY - dt.timedelta(days=365 * 18 + int(draw.random() ** 1.3 * 365 * 74))
    form = (dt.date.isoformat, _american_short, _german)[number % 3]
    job = _weighted(draw, _JOBS)
    return _Person(
        number=300_000 + number * 7,
        name=f"{_name(draw)}, {_name(draw)}",
        born=form(born),
        age=(_TODAY - born).days * 4 // 1461,
        sex="F" if draw.random() < 0.54 else "M",  # noqa: PLR2004
        zip=first + place,
        town=f"{begin}{end} {county}",
        county=county,
        state=state,
        ethnicity=_weighted(draw, _ETHNICITIES),
        job="retired" if (_TODAY - born).days > 68 * 365 else job,
        income=-9 if draw.random() < 0.07 else round(18_000 + 90_000 * draw.random() ** 2),  # noqa: PLR2004
        children=99 if draw.random() < 0.05 else int(draw.random() ** 2 * 5),  # noqa: PLR2004
    )


def _visits(draw: random.Random, one: _Person) -> Iterator[dict[str, Any]]:
    for _ in range(1 + int(draw.random() ** 2 * 6)):
        code, diagnosis = _weighted(draw, tuple(((code, name), n) for code, name, n in _DIAGNOSES))
        yield {
            "patient no": one.number,
            "name": one.name,
            "e-mail": f"{one.name.lower().replace(', ', '.')}{one.number % 97}@example.org",
            "date of birth": one.born,
            "age": one.age,
            "sex": one.sex,
            "GenderID": 1 if one.sex == "F" else 2,
            "zip": one.zip,
            "town": one.town,
            "county": one.county,
            "state": one.state,
            "ethnicity": one.ethnicity,
            "job": one.job,
            "income": one.income,
            "children": one.children,
            "visit date": _TODAY - dt.timedelta(days=int(draw.random() * 900)),
            "ICD": code or None,
            "diagnosis": diagnosis,
            "days in bed": int(draw.random() ** 4 * 15),
        }


def _of(draw: random.Random, items: Sequence[_Item]) -> _Item:
    return items[int(draw.random() * len(items))]


def _weighted(draw: random.Random, items: Sequence[tuple[_Item, int]]) -> _Item:
    left = draw.random() * sum(n for _, n in items)
    for item, n in items:
        left -= n
        if left < 0:
            return item
    return items[-1][0]


def _name(draw: random.Random) -> str:
    return "".join(_of(draw, _SYLLABLES) for _ in range(2 + int(draw.random() * 2))).capitalize()


def _american(day: dt.date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def _american_short(day: dt.date) -> str:
    return f"{day.month:02}/{day.day:02}/{day.year % 100:02}"


def _german(day: dt.date) -> str:
    return f"{day.day:02}.{day.month:02}.{day.year}"
