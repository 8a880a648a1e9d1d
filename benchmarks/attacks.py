"""Attacks on a release: linkage against scipy's tree alone, its memory, and the five attacks on Adult."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial import cKDTree

import unveil
from benchmarks.memory import peak
from benchmarks.rows import Row, at_most, seconds, slower
from benchmarks.timing import best_of
from unveil.attacks import distance_linkage

KEYS = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week"]
_RECORDS, _ATTRIBUTES = 200_000, 6
_MIXED_RECORDS = 30_000


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [linking(), memory(), five()]


def linking() -> Row:
    """Link perturbed records of continuous attributes, against scipy's tree of the same points, built and asked for two each."""
    random = np.random.default_rng(0)
    original = random.normal(size=(_RECORDS, _ATTRIBUTES))
    release = original + random.normal(scale=0.3, size=original.shape)
    truth = np.arange(_RECORDS)
    distance_linkage(original[:1000], release[:1000], truth[:1000])  # loads what it imports
    ours = best_of(3, lambda: distance_linkage(original, release, truth))
    theirs = best_of(3, lambda: _tree_alone(original / original.std(axis=0), release / original.std(axis=0)))
    what = f"linkage of {_RECORDS:,} to {_RECORDS:,} records, {_ATTRIBUTES} continuous attributes, against scipy's tree alone"
    return slower(what, ours.processor, theirs.processor, against="scipy: a tree alone", most=3)


def _tree_alone(original: NDArray[np.float64], release: NDArray[np.float64]) -> None:
    cKDTree(original).query(release, k=2, workers=-1)


def memory() -> Row:
    """Link 30,000 generalised records of Adult on eight mixed attributes in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.attacks"], check=True, capture_output=True, text=True)
    records, bytes_, processor = done.stdout.split()
    what = f"peak memory of linking {int(records):,} records of Adult on 8 mixed attributes, all included"
    return at_most(what, int(bytes_) / 1e9, 1, "GB", note=seconds(float(processor)))


def five() -> Row:
    """Make the five attacks on Adult with eight key attributes."""
    adult = unveil.datasets.adult()
    unveil.attack(adult.head(100), adult.head(100), KEYS, "occupation", same_order=True, link_records=False)
    ours = best_of(3, lambda: unveil.attack(adult, adult, KEYS, "occupation", same_order=True, link_records=False))
    note = f"{seconds(ours.processor)} of processor time"
    return at_most("the five attacks on Adult, 8 key attributes, after loading", ours.wall, 1, "s", note=note)


def link_adult(records: int) -> None:
    """Link a release of Adult in which ages are intervals and a tenth of all cells is drawn anew."""
    random = np.random.default_rng(0)
    original = unveil.datasets.adult().select(KEYS).head(records)
    release = original
    for name in KEYS:
        fresh = pl.Series(random.random(records) < 0.1)
        other = original[name][random.integers(0, records, records)]
        release = release.with_columns(pl.when(fresh).then(other).otherwise(pl.col(name)).alias(name))
    ages = release["age"] // 5 * 5
    release = release.with_columns(age=pl.format("[{}, {})", ages, ages + 5))
    distance_linkage(original, release, np.arange(records), distance="mixed")


def main() -> None:
    """Link Adult and print the records, the peak of resident memory in bytes, and the processor seconds."""
    timed = best_of(1, lambda: link_adult(_MIXED_RECORDS))
    print(_MIXED_RECORDS, peak(), timed.processor)


if __name__ == "__main__":
    main()
