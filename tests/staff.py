"""A personnel file made up by a seeded generator: names, numbers, birth dates, salaries, several records of some persons."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

__all__ = ["staff"]

_FIRST = [
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gina",
    "Hugo",
    "Iris",
    "Jon",
    "Kira",
    "Leo",
    "Mona",
    "Nils",
    "Olga",
    "Paul",
    "Rosa",
    "Sven",
    "Tara",
    "Ugo",
    "Vera",
    "Will",
    "Xena",
    "Yara",
    "Zeno",
]
_LAST = [
    "Adler",
    "Berg",
    "Castro",
    "Dorn",
    "Ellis",
    "Falk",
    "Grant",
    "Holm",
    "Iversen",
    "Jansen",
    "Keller",
    "Lund",
    "Meyer",
    "Novak",
    "Ortiz",
    "Petrov",
    "Quist",
    "Rossi",
    "Stein",
    "Thorne",
    "Urban",
    "Vogel",
    "Weiss",
    "Young",
    "Zeller",
]
_STATES = ("MA", "CT", "NY", "TX", "VT")
_UNITS = ("Production", "IT", "Sales", "Software", "Office")
_RACES = ("A", "B", "C", "D")


def staff(people: int = 311, seed: int = 7, *, repeated: int = 0) -> pl.DataFrame:
    """Return the records of some people, the last of them with as many further records as said: a person column has repeats."""
    draw = np.random.default_rng(seed)
    born = [dt.date(1955, 1, 1) + dt.timedelta(days=int(days)) for days in draw.integers(0, 16_000, people)]
    names = [f"{_LAST[at % len(_LAST)]}, {_FIRST[at // len(_LAST) % len(_FIRST)]}" for at in draw.permutation(625)[:people]]
    frame = pl.DataFrame(
        {
            "Employee_Name": names,
            "EmpID": draw.permutation(np.arange(10_001, 10_001 + people)),
            "DOB": [day.strftime("%m/%d/%y") for day in born],
            "Age": [2026 - day.year for day in born],
            "Sex": draw.choice(["F", "M"], people),
            "State": draw.choice(_STATES, people, p=[0.8, 0.08, 0.06, 0.04, 0.02]),
            "Department": draw.choice(_UNITS, people, p=[0.55, 0.2, 0.15, 0.07, 0.03]),
            "Race": draw.choice(_RACES, people, p=[0.6, 0.25, 0.1, 0.05]),
            "Household": draw.integers(1, max(2, people // 2), people),
            "Salary": 45_000 + draw.integers(0, 60_000, people),
            "Absences": draw.integers(1, 20, people),
            "Termination": [None if one < 0.6 else word for one, word in zip(
                draw.random(people), draw.choice(["pay", "hours", "performance", "career"], people), strict=True
            )],
        }
    )  # fmt: skip
    if not repeated:
        return frame
    again = frame.tail(repeated).with_columns(pl.Series("Absences", draw.integers(1, 20, repeated)))
    return pl.concat([frame, again])
