"""Losses and needs: against a Polars describe of the same files, and against reading and counting once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import unveil
from benchmarks.memory import _growth_while
from benchmarks.rows import Row, at_most, slower
from benchmarks.timing import best_of
from unveil.counts import count_table
from unveil.sources import load

_RECORDS = 1_000_000
_NUMBERS = ["age", "hours-per-week", "capital-gain", "fnlwgt"]
_WORDS = ["workclass", "education", "marital-status", "occupation", "race", "sex"]
_NEEDS = 100


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*losing(), memory(), needing()]


def two_tables(folder: str | Path, ending: str) -> tuple[str, str]:
    """Write a million records of four numbers and six categories, and a release with noise and PRAM."""
    random = np.random.default_rng(0)
    adult = unveil.datasets.adult()
    original = adult.select([*_NUMBERS, *_WORDS])[random.integers(0, adult.height, _RECORDS)]
    noisy = {name: original[name] + random.normal(0.0, 3.0, _RECORDS).round(1) for name in _NUMBERS}
    drawn = {}
    for name in _WORDS:
        rows = np.where(random.random(_RECORDS) < 0.1, random.permutation(_RECORDS), np.arange(_RECORDS))
        drawn[name] = original[name][rows]
    release = pl.DataFrame({**noisy, **drawn})
    places = str(Path(folder, f"original.{ending}")), str(Path(folder, f"release.{ending}"))
    for frame, place in zip((original, release), places, strict=True):
        frame.write_csv(place) if ending == "csv" else frame.write_parquet(place)
    return places


def losing() -> list[Row]:
    """Measure every loss of a million records with ten attributes, with tables of up to two and up to three attributes."""
    rows = []
    with TemporaryDirectory() as folder:
        for ending, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv)):
            places = two_tables(folder, ending)
            plain = best_of(5, lambda read=read, places=places: [read(place).describe() for place in places])  # type: ignore[misc]
            for ways in (2, 3):
                ours = best_of(3, lambda places=places, ways=ways: unveil.loss(*places, same_order=True, ways=ways))  # type: ignore[misc]
                what = f"losses, 1 million records, 10 attributes, {ending}, tables to {ways} ways, against Polars' describe"
                rows.append(slower(what, ours.processor, plain.processor, most=10))
    return rows


def memory() -> Row:
    """Measure the same losses in a process of its own, against both tables in memory."""
    command = [sys.executable, "-m", "benchmarks.utility"]
    ratio = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    return at_most("memory of all losses, 1 million records, beyond the input", ratio, 4, "inputs")


def needing() -> Row:
    """Serve 100 needs over Adult, against reading and counting it once."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "adult.csv"))
        unveil.datasets.adult().write_csv(path)
        names = [name for name in unveil.datasets.adult().columns if name != "fnlwgt"]
        pairs = [(target, source) for target in _WORDS for source in names if source != target]
        needs = [
            unveil.Need(f"{at}", target, [source, *(name for name in ("sex", "race") if name not in (target, source))])
            for at, (target, source) in enumerate((pairs * 2)[:_NEEDS])
        ]
        once = best_of(5, lambda: count_table(load(path, names)))
        ours = best_of(3, lambda: unveil.utility(path, needs))
    return slower("100 needs over Adult, against reading and counting it once", ours.processor, once.processor, most=10)


def main() -> None:
    """Print the most memory by which the process grows while it measures losses, in multiples of the input."""
    with TemporaryDirectory() as folder:
        code = f"from benchmarks.utility import two_tables; two_tables({folder!r}, 'parquet')"
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - so that this process starts small
        original, release = (pl.read_parquet(Path(folder, f"{name}.parquet")) for name in ("original", "release"))
    unveil.loss(original.head(1000), release.head(1000), same_order=True)
    growth = _growth_while(lambda: unveil.loss(original, release, same_order=True))
    print(growth / (original.estimated_size() + release.estimated_size()))


if __name__ == "__main__":
    main()
