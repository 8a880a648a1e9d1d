"""Mechanisms: microaggregation of large tables, rank swapping against sorting, memory of a large optimal partition."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl

from benchmarks.rows import Row, at_most, slower
from benchmarks.timing import best_of
from unveil import mechanisms

_LARGE = 200_000
_MILLION = """
import numpy as np
import polars as pl
from benchmarks.memory import peak
from unveil.mechanisms import microaggregate
table = pl.DataFrame({"x": np.random.default_rng(0).lognormal(size=1_000_000)})
microaggregate(table, "x", k=3, method="optimal")
print(peak() / 1e6)
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*of_large_mdav(), of_optimal(), memory_of_optimal(), of_rank_swapping()]


def of_large_mdav() -> list[Row]:
    """Microaggregate 200,000 records of four numbers in groups of five, plain and refined; and how much loss refining saves."""
    values = np.random.default_rng(0).normal(size=(_LARGE, 4))
    table, names = pl.DataFrame(values), [f"column_{at}" for at in range(4)]
    made = {}

    def group(*, refine: bool) -> None:
        made[refine] = mechanisms.microaggregate(table, names, k=5, refine=refine).figures["loss"]

    plain, refined = (best_of(2, lambda refine=refine: group(refine=refine)).processor for refine in (False, True))  # type: ignore[misc]
    what = f"MDAV, k = 5, of {_LARGE:,} x 4 random numbers"
    return [
        at_most(what, plain, 10, "s"),
        at_most(f"{what}, refined", refined, 10, "s"),
        at_most(f"{what}: loss refined, of the loss of MDAV", 100 * made[True] / made[False], 97, "%"),
    ]


def of_optimal() -> Row:
    """Partition four million values, against sorting them, which every method has to do."""
    values = np.random.default_rng(0).lognormal(size=4_000_000)
    table = pl.DataFrame({"x": values})
    mechanisms.microaggregate(table.head(100), "x", method="optimal")
    sorting = best_of(3, lambda: np.argsort(values)).processor
    ours = best_of(3, lambda: mechanisms.microaggregate(table, "x", k=3, method="optimal")).processor
    return slower("optimal partition of 4 million numbers, k = 3, against numpy's argsort", ours, sorting, most=6)


def memory_of_optimal() -> Row:
    """Partition a million values in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _MILLION], check=True, capture_output=True, text=True)  # noqa: S603
    return at_most("optimal partition of 1 million records, peak of the whole process", float(done.stdout), 2048, "MB")


def of_rank_swapping() -> Row:
    """Rank swap two million numbers."""
    values = np.random.default_rng(0).normal(size=2_000_000)
    table = pl.DataFrame({"x": values})
    mechanisms.rank_swap(table.head(100), "x")
    sorting = best_of(5, lambda: np.argsort(values)).processor
    ours = best_of(5, lambda: mechanisms.rank_swap(table, "x")).processor
    return slower("rank swapping of 2 million numbers, against numpy's argsort", ours, sorting, most=3)
