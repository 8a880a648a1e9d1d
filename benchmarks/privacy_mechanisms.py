"""Randomising mechanisms: PRAM of ten million values against one numpy shuffle of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.rows import Row, slower
from benchmarks.timing import best_of
from unveil import mechanisms

RECORDS = 10_000_000
_VALUES = 16


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return pram()


def pram() -> list[Row]:
    """Randomise a column of text and one of numbers, invariant or not: the whole call against shuffling the codes."""
    random = np.random.default_rng(0)
    codes = random.integers(0, _VALUES, RECORDS)
    names = pl.Series("x", [f"value {at}" for at in range(_VALUES)])
    shuffle = best_of(5, lambda: random.shuffle(codes))
    rows = []
    for what, column in (("numbers", pl.Series("x", codes)), ("texts", names.gather(codes))):
        frame = pl.DataFrame({"x": column})
        for order, kept, most in (("in their order", True, 3), ("and shuffled themselves", False, 5)):
            ours = best_of(5, lambda frame=frame, kept=kept: _randomised(frame, keep_order=kept))  # type: ignore[misc]
            job = f"PRAM of {RECORDS:,} {what}, {order}, against a numpy shuffle"
            rows.append(slower(job, ours.processor, shuffle.processor, most=most))
    return rows


def _randomised(frame: pl.DataFrame, *, keep_order: bool) -> object:
    return mechanisms.pram(frame, "x", retention=0.8, invariant=True, keep_order=keep_order)
