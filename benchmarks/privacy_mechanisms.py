"""Randomising mechanisms: noise against sdcMicro's time, PRAM of ten million values against one numpy shuffle of them."""

from __future__ import annotations

import importlib

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, faster, slower
from benchmarks.timing import best_of
from unveil import mechanisms

RECORDS = 10_000_000
_VALUES = 16
_SDCMICRO = 0.009
"""Processor seconds of sdcMicro's additive noise on the same columns, measured once on this class of machine."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*noise(), *pram()]


def noise() -> list[Row]:
    """Disturb four numeric attributes of Adult: alone, as sdcMicro does, and beside the other columns, which are screened.

    Both shuffle the records, which sdcMicro leaves in their order. The compiler is loaded, as it is in a process that has
    searched, scanned or warmed up before.
    """
    importlib.import_module("numba")
    adult, numbers = unveil.datasets.adult(), ["age", "fnlwgt", "education-num", "hours-per-week"]
    rows = []
    for table, what in ((adult[numbers], "alone"), (adult, "and 11 more screened for names, which sdcMicro does not do")):
        mechanisms.add_noise(table, numbers)
        ours = best_of(40, lambda table=table: mechanisms.add_noise(table, numbers)).processor  # type: ignore[misc]
        job = f"noise on four columns of Adult, {what}, against sdcMicro's time on such a machine"
        rows.append(faster(job, ours, _SDCMICRO, against="sdcMicro*: noise", least=1))
    return rows


def pram() -> list[Row]:
    """Randomise a column of text and one of numbers, invariant or not, whole call against shuffling its codes."""
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
