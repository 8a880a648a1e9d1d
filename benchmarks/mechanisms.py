"""Mechanisms: microaggregation against sdcMicro's time, rank swapping against sorting, memory of a large optimal partition."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl

import unveil
from benchmarks.foundation import Row
from benchmarks.timing import best_of
from unveil import mechanisms

_NUMBERS = ["age", "fnlwgt", "education-num", "hours-per-week"]
_SDCMICRO = 2.3
"""Processor seconds of sdcMicro's MDAV of the same table, measured once on this class of machine."""
_MILLION = """
import resource
import numpy as np
import polars as pl
from unveil.mechanisms import microaggregate
table = pl.DataFrame({"x": np.random.default_rng(0).lognormal(size=1_000_000)})
microaggregate(table, "x", k=3, method="optimal")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [of_mdav(), of_optimal(), memory_of_optimal(), of_rank_swapping()]


def of_mdav() -> Row:
    """Microaggregate four numeric attributes of Adult in groups of five."""
    adult = unveil.datasets.adult()
    mechanisms.microaggregate(adult.head(100), _NUMBERS, k=5)
    ours = best_of(3, lambda: mechanisms.microaggregate(adult, _NUMBERS, k=5)).processor
    ratio = _SDCMICRO / ours
    return Row(f"MDAV, k = 5, of 30,162 x 4 ({ours:.2f} s), against sdcMicro", f"{ratio:.1f} times faster", "3 times", ratio >= 3)


def of_optimal() -> Row:
    """Partition four million values, against sorting them, which every method has to."""
    values = np.random.default_rng(0).lognormal(size=4_000_000)
    table = pl.DataFrame({"x": values})
    mechanisms.microaggregate(table.head(100), "x", method="optimal")
    sorting = best_of(3, lambda: np.argsort(values)).processor
    ours = best_of(3, lambda: mechanisms.microaggregate(table, "x", k=3, method="optimal")).processor
    what = f"optimal partition of 4 million numbers, k = 3 ({ours:.1f} s), against numpy's argsort"
    return Row(what, f"{ours / sorting:.1f} times", "at most 6", ours <= 6 * sorting)


def memory_of_optimal() -> Row:
    """Partition a million values in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _MILLION], check=True, capture_output=True, text=True)  # noqa: S603
    peak = float(done.stdout)
    return Row("optimal partition of 1 million records, peak of the whole process", f"{peak:.0f} MB", "2,048 MB", peak <= 2048)


def of_rank_swapping() -> Row:
    """Rank swap two million numbers."""
    values = np.random.default_rng(0).normal(size=2_000_000)
    table = pl.DataFrame({"x": values})
    mechanisms.rank_swap(table.head(100), "x")
    sorting = best_of(5, lambda: np.argsort(values)).processor
    ratio = best_of(5, lambda: mechanisms.rank_swap(table, "x")).processor / sorting
    return Row("rank swapping of 2 million numbers, against numpy's argsort", f"{ratio:.1f} times", "at most 3", ratio <= 3)
