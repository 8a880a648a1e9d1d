"""Privacy models and risks: against pycanon's t-closeness alone, and against one plain Polars group-by."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import unveil
from benchmarks.peers import printed
from benchmarks.rows import Row, at_most, faster, slower
from benchmarks.timing import best_of
from unveil.measures.special_uniqueness import special_uniqueness

KEYS = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
_TWELVE = [*KEYS, "occupation", "relationship", "capital-gain", "capital-loss", "hours-per-week"]
_PYCANON = """
import sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from pycanon import anonymity
frame = pd.read_parquet(sys.argv[1])
start = time.process_time()
anonymity.t_closeness(frame, sys.argv[2].split(","), ["occupation"])
print(time.process_time() - start)
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*against_pycanon(), *special(), memory()]


def adult_like(records: int, seed: int = 0) -> pl.DataFrame:
    """Resample Adult with replacement and redraw each cell from its column with probability 0.1."""
    random = np.random.default_rng(seed)
    adult = unveil.datasets.adult().select([*KEYS, "occupation"])
    drawn = adult[random.integers(0, adult.height, records)]
    for name in drawn.columns:
        other = adult[name][random.integers(0, adult.height, records)]
        fresh = pl.Series(random.random(records) < 0.1)
        drawn = drawn.with_columns(pl.when(fresh).then(other).otherwise(pl.col(name)).alias(name))
    made: pl.DataFrame = drawn.rechunk()
    return made


def against_pycanon() -> list[Row]:
    """Measure everything, on Adult and on three million records like it."""
    rows = []
    for what, frame, goal in (("Adult", unveil.datasets.adult(), 200), ("3 million records", adult_like(3_000_000), 100)):
        ours = best_of(5, lambda frame=frame: unveil.measure(frame, KEYS, "occupation"))  # type: ignore[misc]
        enough = 2 * goal * ours.processor
        theirs, finished = _pycanon(frame, enough)
        job = f"all models, {what}, against pycanon's t-closeness"
        against = f"pycanon: {what.removesuffix(' records')}"
        rows.append(faster(job, ours.processor, theirs, against=against, least=goal, finished=finished))
        if what != "Adult":
            plain = best_of(5, lambda frame=frame: frame.group_by([*KEYS, "occupation"]).len())  # type: ignore[misc]
            job = f"all models, {what}, against one Polars group-by"
            rows.append(slower(job, ours.processor, plain.processor, against="Polars: a group-by", most=2))
    return rows


def _pycanon(frame: pl.DataFrame, enough: float) -> tuple[float | None, bool]:
    """Return the processor seconds of pycanon's t-closeness, stopped after `enough`, and whether it finished."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        frame.write_parquet(path)
        try:
            words = printed(("pycanon", "pyarrow"), _PYCANON, str(path), ",".join(KEYS), timeout=max(60.0, 1.5 * enough))
        except subprocess.TimeoutExpired:
            return enough, False
    return float(words[0]) if words else None, True


def special() -> list[Row]:
    """Search special uniques, from counts; the part `sdcmicro` compares this with sdcMicro's search."""
    rows = []
    for keys, most in ((KEYS, 0.21), (_TWELVE, 10.0)):
        counts = unveil.count("adult", keys)
        special_uniqueness(counts, keys)  # compiles the kernels
        ours = best_of(5, lambda counts=counts, keys=keys: special_uniqueness(counts, keys))  # type: ignore[misc]
        rows.append(at_most(f"SUDA on {len(keys)} attributes of Adult", ours.processor, most, "s"))
    return rows


def memory() -> Row:
    """Measure three million records in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory", "measure"], check=True, capture_output=True, text=True)
    records, ratio = done.stdout.split()
    what = f"memory of all models, {int(records):,} records, beyond the input"
    return at_most(what, float(ratio), 4, "coded tables")
