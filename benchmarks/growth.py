"""How does cost grow? Ten and a hundred times the records, the attributes, the values; seeded tables, processor time."""

from __future__ import annotations

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, slower
from benchmarks.timing import best_of

_RECORDS, _ATTRIBUTES, _VALUES = 100_000, 4, 10


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*counting(), *scanning()]


def drawn(records: int, attributes: int, values: int, seed: int = 0) -> pl.DataFrame:
    """Return a table of whole numbers in which small ones are more frequent."""
    random = np.random.default_rng(seed)
    return pl.DataFrame({f"a{at}": (random.random(records) ** 2 * values).astype(np.int64) for at in range(attributes)})


def counting() -> list[Row]:
    """Count a table, and one that is larger in one way."""
    base = _counted(_RECORDS, _ATTRIBUTES, _VALUES)
    what = f"count of {_RECORDS:,} records of {_ATTRIBUTES} attributes with {_VALUES} values each; with"
    cases = {
        "10 times the records": (10 * _RECORDS, _ATTRIBUTES, _VALUES),
        "100 times the records": (100 * _RECORDS, _ATTRIBUTES, _VALUES),
        "2 times the attributes": (_RECORDS, 2 * _ATTRIBUTES, _VALUES),
        "4 times the attributes": (_RECORDS, 4 * _ATTRIBUTES, _VALUES),
        "10 times the values": (_RECORDS, _ATTRIBUTES, 10 * _VALUES),
        "100 times the values": (_RECORDS, _ATTRIBUTES, 100 * _VALUES),
    }
    return [slower(f"{what} {case}", _counted(*size), base) for case, size in cases.items()]


def _counted(records: int, attributes: int, values: int) -> float:
    frame = drawn(records, attributes, values)
    unveil.count(frame.head(1000), frame.columns)  # compiles the kernels
    return best_of(5, lambda: unveil.count(frame, frame.columns)).processor


def scanning() -> list[Row]:
    """Scan all subsets, and all of two and four attributes more."""
    base = _scanned(8)
    what = f"scan of all subsets of 8 attributes, {_RECORDS:,} records; with"
    return [
        slower(f"{what} {attributes} attributes, {2 ** (attributes - 8)} times the subsets", _scanned(attributes), base)
        for attributes in (10, 12)
    ]


def _scanned(attributes: int) -> float:
    frame = drawn(_RECORDS, attributes, _VALUES)
    unveil.scan(frame.head(1000), frame.columns)
    return best_of(3, lambda: unveil.scan(frame, frame.columns, threads=1)).processor
