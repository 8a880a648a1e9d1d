"""Cells of every type, and arguments that are wrong in every way."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

__all__ = ["KINDS", "MARKER", "NUMBERS", "TIDY", "WRONG", "cells"]

Cells = Callable[[Random, int], list[Any]]

MARKER = "s3cr3t-7719"
"""Stands in cells only: no message may show it."""
_FLOATS = [0.0, -0.0, 1.0, 1.5, -2.25, 0.1, 1e-320, 1e300, -1e300, math.inf, -math.inf, math.nan]
_TEXTS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "é",
    "e\u0301",
    "\u00df",
    "\U0001f600",
    "*",
    "null",
    "NaN",
    "1",
    "01",
    "1.0",
    "[1, 2)",
    "x\ny",
    'q"',
    "a,b",
    "\x00",
]
_ZONES = ["UTC", "Europe/Paris", "Asia/Kathmandu"]


def _few(rng: Random, rows: int, some: list[Any]) -> list[Any]:
    """Values drawn from a few, so that classes hold several records."""
    chosen = rng.sample(some, k=min(len(some), rng.randint(1, 6)))
    return [rng.choice(chosen) for _ in range(rows)]


def _integers(low: int, high: int) -> Cells:
    def drawn(rng: Random, rows: int) -> list[Any]:
        if rng.random() < 0.3:
            return [low + (high - low) * row // max(rows, 1) for row in range(rows)]
        return _few(rng, rows, [low, high, *(value for value in range(-3, 9) if low <= value <= high)])

    return drawn


def _unique(rng: Random, rows: int) -> list[Any]:
    return rng.sample([f"person {row}" for row in range(rows)], k=rows)


def _moments(rng: Random, rows: int) -> list[Any]:
    return _few(
        rng,
        rows,
        [datetime(1900, 1, 1), datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(2024, 10, 27, 1, 30)],
    )


def _zoned(rng: Random, rows: int) -> list[Any]:
    return [moment.replace(tzinfo=UTC) for moment in _moments(rng, rows)]


def _of(some: list[Any]) -> Cells:
    return lambda rng, rows: _few(rng, rows, some)


class _Hostile:
    """An object that raises whatever it is asked."""

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def _nested() -> list[Any]:
    looped: list[Any] = []
    looped.append(looped)
    return looped


KINDS: dict[str, tuple[Any, Cells]] = {
    "small": (pl.Int64, _of([1, 2, 3, 4, 5])),
    "word": (pl.String, _of(["north", "south", "east", "west"])),
    "age": (pl.Int64, lambda rng, rows: [rng.randint(18, 90) for _ in range(rows)]),
    "amount": (pl.Float64, lambda rng, rows: [round(rng.gauss(100, 30), 2) for _ in range(rows)]),
    "code": (pl.String, lambda rng, rows: [f"{rng.randint(10, 40)}{rng.randint(0, 999):03}" for _ in range(rows)]),
    "unique": (pl.String, _unique),
    "secret": (pl.String, _of([f"{MARKER} {at}" for at in range(5)])),
    "constant": (pl.String, lambda _, rows: ["same"] * rows),
    "nothing": (pl.Null, lambda _, rows: [None] * rows),
    "nothing of text": (pl.String, lambda _, rows: [None] * rows),
    "nothing of numbers": (pl.Float64, lambda _, rows: [math.nan] * rows),
    "flag": (pl.Boolean, _of([True, False])),
    **{
        f"i{width}": (getattr(pl, f"Int{width}"), _integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1))
        for width in (8, 16, 32, 64, 128)
    },
    **{f"u{width}": (getattr(pl, f"UInt{width}"), _integers(0, 2**width - 1)) for width in (8, 16, 32, 64)},
    "f32": (pl.Float32, _of([0.0, -0.0, 1.5, 3.4e38, math.inf, math.nan])),
    "f64": (pl.Float64, _of(_FLOATS)),
    "text": (pl.String, _of(_TEXTS)),
    "long text": (pl.String, _of(["x" * 5000, "x" * 4999 + "y", "z" * 5000])),
    "category": (pl.Categorical, _of(["low", "mid", "high", ""])),
    "enum": (pl.Enum(["low", "mid", "high"]), _of(["low", "mid", "high"])),
    "date": (pl.Date, _of([date(1, 1, 1), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)])),
    "birthday": (pl.Date, lambda rng, rows: [date(1950, 1, 1) + timedelta(days=rng.randint(0, 20000)) for _ in range(rows)]),
    "moment": (pl.Datetime("us"), _moments),
    "moment ns": (pl.Datetime("ns"), _moments),
    "moment ms": (pl.Datetime("ms"), _moments),
    **{f"moment {zone}": (pl.Datetime("us", zone), _zoned) for zone in _ZONES},
    "time": (pl.Time, _of([time(0), time(12, 30), time(23, 59, 59, 999999)])),
    "duration": (pl.Duration("us"), _of([timedelta(0), timedelta(days=-3), timedelta(hours=5), timedelta(days=90000)])),
    "decimal": (pl.Decimal(38, 4), _of([Decimal("0.0000"), Decimal("1.5000"), Decimal("-99999999999999999999.9999")])),
    "bytes": (pl.Binary, _of([b"", b"\xff\x00", b"abc"])),
    "list": (pl.List(pl.Int64), _of([[], [1], [1, 2], [3, 4, 5]])),
    "array": (pl.Array(pl.Int64, 2), _of([[1, 2], [3, 4]])),
    "struct": (pl.Struct({"x": pl.Int64}), _of([{"x": 1}, {"x": 2}])),
    "object": (pl.Object, _of([1, "a", 2.5])),
    "huge": (None, _of([2**64, 2**64 + 1, -(2**70), 10**40, 1])),
    "huge and floats": (None, _of([2**64, 2**64 + 1, 0.5])),
    "mixed": (None, _of([1, True, 1.0, "1", None, math.nan])),
    "mixed numbers": (None, _of([1, 2.5, Decimal("1.5"), Fraction(1, 3), True])),
    "mixed moments": (None, _of([date(2020, 1, 1), datetime(2020, 1, 1), "2020-01-01"])),
    "surrogates": (None, _of(["\ud800", "a", "\udfff b"])),
    "decimals": (None, _of([Decimal("1.10"), Decimal("1.1"), Decimal("NaN"), Decimal("1E+50"), Decimal("-Infinity")])),
    "lists": (None, _of([[], [1], ["a"], (1,), {"a": 1}, {1, 2}])),
    "objects": (
        None,
        lambda rng, rows: [
            rng.choice([object(), len, 1j, Path("x"), pd.NaT, pd.NA, b"x", pd.Timestamp("2020")]) for _ in range(rows)
        ],
    ),
}
"""The kinds of column: the Polars type (none: only pandas can hold such cells), and how cells are drawn."""

TIDY = ("small", "word", "secret", "age", "amount", "code", "flag", "category", "birthday")
NUMBERS = ("small", "age", "amount", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "decimal", "i128")


def cells(rng: Random, kind: str, rows: int, nulls: float) -> list[Any]:
    """Draw the cells of one column, a share of them null."""
    drawn = KINDS[kind][1](rng, rows)
    return [None if nulls and rng.random() < nulls else cell for cell in drawn]


WRONG: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: 0,
    lambda: 1,
    lambda: -1,
    lambda: 2**31,
    lambda: 2**63,
    lambda: 2**64,
    lambda: 10**400,
    lambda: -(10**5000),
    lambda: 0.0,
    lambda: -0.5,
    lambda: 1.5,
    lambda: 1e-300,
    lambda: 1e300,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: "",
    lambda: " ",
    lambda: "nothing like it",
    lambda: "*",
    lambda: "^.*$",
    lambda: "a\nb",
    lambda: "\x00",
    lambda: "\ud800",
    lambda: "x" * 5000,
    lambda: b"",
    lambda: b"key",
    list,
    lambda: [[]],
    lambda: [None],
    lambda: [1, 2],
    lambda: ["a", "a"],
    lambda: ["a", 1],
    lambda: [["a"], ["b"]],
    lambda: [math.nan],
    lambda: ["\ud800"],
    lambda: (),
    lambda: (1.0, math.nan),
    lambda: (math.inf, 0),
    dict,
    lambda: {"a": 1},
    lambda: {"a": None},
    lambda: {"a": [[]]},
    lambda: {1: 2},
    lambda: {None: None},
    lambda: {"\ud800": "\ud800"},
    set,
    lambda: {"a"},
    object,
    _Hostile,
    lambda: lambda *_: None,
    _nested,
    lambda: ...,
    lambda: 1j,
    lambda: range(3),
    lambda: iter("ab"),
    lambda: (name for name in "ab"),
    lambda: Decimal("NaN"),
    lambda: Decimal("1.5"),
    lambda: Fraction(1, 3),
    lambda: date(2020, 1, 1),
    lambda: timedelta(1),
    lambda: Path("no-such-file.csv"),
    lambda: Path(),
    lambda: pd.NA,
    lambda: pd.NaT,
    lambda: np.array([1, 2]),
    lambda: np.array(3),
    lambda: np.array([]),
    lambda: np.float64("nan"),
    lambda: np.int64(-3),
    lambda: np.bool_(True),
    lambda: pl.Series("a", [1]),
    lambda: pl.col("a"),
    pl.DataFrame,
    lambda: pl.DataFrame({"a": [1]}),
    lambda: pd.Series(["a"]),
    pd.DataFrame,
]
"""What no argument should be; some are right for some."""
