"""Counting, scanning and starting up: the goals of the foundation."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import unveil
from benchmarks.rows import Row, at_most, faster
from benchmarks.timing import best_of
from unveil.counts.grouping import tally
from unveil.sources import load

_SIX = ["age", "education", "marital-status", "race", "sex", "native-country"]
_ROWS = 10_000_000
_NINE = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country", "hours-per-week",
)  # fmt: skip


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [counting(), *scanning(), *starting(), memory()]


def counting() -> Row:
    """Count six coded columns of ten million rows, against pandas' group-by size of the same columns."""
    table = load(unveil.datasets.adult(), _SIX)
    sizes = [len(column.values) for column in table.columns]
    random = np.random.default_rng(0)
    rows = random.integers(0, table.records, _ROWS)
    codes = [_redrawn(column.codes, rows, random) for column in table.columns]
    frame = pd.DataFrame({f"c{at}": column for at, column in enumerate(codes)})
    unveil.scan("paper-2")  # loads the compiler, as any scan does
    theirs = best_of(3, lambda: frame.groupby(list(frame.columns), sort=False).size())
    ours = best_of(5, lambda: tally(codes, sizes))
    what = "count table of 6 coded columns, 10 million rows, against pandas' group-by"
    return faster(what, ours.processor, theirs.processor, against="pandas: count", least=10)


def _redrawn(codes: Any, rows: Any, random: np.random.Generator) -> Any:
    """Return a column like Adult's: resampled, and a tenth of its cells drawn anew."""
    drawn = codes[rows]
    fresh = random.random(len(rows)) < 0.1
    drawn[fresh] = codes[random.integers(0, len(codes), int(fresh.sum()))]
    return drawn


def scanning() -> list[Row]:
    """Scan all subsets of 9 and of 14 columns of Adult, with one thread, against two pandas group-bys per subset."""
    adult = unveil.datasets.adult()
    everything = [name for name in adult.columns if name != "income-per-year"]
    unveil.scan(adult, everything, "income-per-year", max_size=2, threads=1)  # compiles the kernels
    rows = []
    for keys, goal in ((list(_NINE), 20), (everything, 50)):
        ours = best_of(3, lambda keys=keys: unveil.scan(adult, keys, "income-per-year", threads=1))  # type: ignore[misc]
        theirs = _pandas_seconds(adult, keys)
        coding = best_of(5, lambda keys=keys: load(adult, [*keys, "income-per-year"]))  # type: ignore[misc]
        subsets = 2 ** len(keys) - 1
        what = f"scan of Adult, {subsets:,} subsets of {len(keys)} columns, one thread, both from coded columns, against pandas"
        against = f"pandas: scan of {len(keys)}"
        rows.append(faster(what, ours.processor - coding.processor, theirs, against=against, least=goal))
        if len(keys) == len(everything):
            rows.append(
                at_most(f"scan of Adult, {len(keys)} columns, time a subset", ours.processor / subsets * 1e6, 200, "microseconds")
            )
            two = best_of(3, lambda: unveil.scan(adult, everything, "income-per-year", threads=2))
            what = f"scan of Adult, {len(keys)} columns, two threads, wall time against one"
            rows.append(faster(what, two.wall, ours.wall, against="", least=1))
    return rows


def _pandas_seconds(adult: pl.DataFrame, keys: list[str]) -> float:
    """Return the processor time of two integer-coded group-by sizes per subset; of many subsets, every 16th is timed."""
    columns = [*keys, "income-per-year"]
    frame = pd.DataFrame({column.name: column.codes for column in load(adult, columns).columns})
    subsets = [list(key) for size in range(1, len(keys) + 1) for key in combinations(keys, size)]
    step = 16 if len(subsets) > 1000 else 1
    start = time.process_time()
    for key in subsets[::step]:
        frame.groupby(key, sort=False).size()
        frame.groupby([*key, "income-per-year"], sort=False).size()
    return (time.process_time() - start) * len(subsets) / len(subsets[::step])


def starting() -> list[Row]:
    """Start the command line cold: the interpreter, the imports, the work."""
    unveil_command = str(Path(sys.executable).with_name("unveil"))
    dr = best_of(5, lambda: _run(unveil_command, "dr", "adult", "--key", "age", "--key", "sex", "--sensitive", "occupation"))
    usage = best_of(5, lambda: _run(unveil_command, "--help"))
    return [
        at_most("unveil dr on Adult from a cold start", dr.wall, 1.5, "s"),
        at_most("unveil --help", usage.wall, 0.4, "s"),
    ]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603


def memory() -> Row:
    """Scan 14 columns of Adult, repeated 20 times with noise to make the table large enough, in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory"], check=True, capture_output=True, text=True)
    records, ratio = done.stdout.split()
    what = f"memory of a scan of {int(records):,} records, beyond the input"
    return at_most(what, float(ratio), 4, "coded tables")
