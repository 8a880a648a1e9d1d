"""Attacks on a release: linkage against scipy's tree and against recordlinkage, its memory, and the five attacks on Adult."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial import cKDTree

import unveil
from benchmarks.memory import peak
from benchmarks.peers import printed
from benchmarks.rows import Row, at_most, faster, seconds, slower
from benchmarks.timing import best_of
from unveil.attacks import distance_linkage, probabilistic_linkage

KEYS = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week"]
_RECORDS, _ATTRIBUTES = 200_000, 6
_MIXED_RECORDS = 30_000
_PAIRED_RECORDS = 2_000
_RECORDLINKAGE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
import recordlinkage
original, release = (pd.read_csv(path, dtype=str) for path in sys.argv[1:3])
began = time.process_time()
index = recordlinkage.Index()
index.full()
compare = recordlinkage.Compare()
for name in original.columns:
    compare.exact(name, name)
agreements = compare.compute(index.index(original, release), original, release)
classifier = recordlinkage.ECMClassifier()
classifier.fit(agreements)
weights = classifier.prob(agreements)
best = weights.groupby(level=1).idxmax()
right = sum(pair[0] == pair[1] for pair in best)
print(time.process_time() - began, right)
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [linking(), pairing(), memory(), five()]


def linking() -> Row:
    """Link perturbed records of continuous attributes, against scipy's tree: building it, and asking it for two points each."""
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


def pairing() -> Row:
    """Link records by the model of Fellegi and Sunter, against recordlinkage; each takes the original of the highest weight."""
    original, release = _perturbed_adult(_PAIRED_RECORDS)
    truth = np.arange(_PAIRED_RECORDS)
    values = pl.Enum(pl.concat([original, release]).cast(pl.String).unpivot()["value"].unique().sort())
    codes = [
        [table[name].cast(pl.String).cast(values).to_physical().to_numpy() for name in KEYS] for table in (original, release)
    ]
    ours = best_of(3, lambda: probabilistic_linkage(codes[0], codes[1], truth))
    linked = probabilistic_linkage(codes[0], codes[1], truth)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.csv") for name in ("original", "release")]
        for table, path in zip((original, release), paths, strict=True):
            table.write_csv(path)
        words = printed(("recordlinkage",), _RECORDLINKAGE, *map(str, paths))
    records = f"{_PAIRED_RECORDS:,} to {_PAIRED_RECORDS:,} records of Adult"
    what = f"probabilistic linkage of {records}, 8 attributes, against recordlinkage"
    row = faster(what, ours.processor, float(words[0]) if words else None, against="recordlinkage", least=1)
    if words is None:
        return row
    return replace(row, measured=f"{row.measured}; {linked.linked * _PAIRED_RECORDS:,.0f} links right, {int(words[1]):,} there")


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


def _perturbed_adult(records: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the first records of Adult, and the same with a tenth of all cells drawn anew."""
    random = np.random.default_rng(0)
    original = unveil.datasets.adult().select(KEYS).head(records)
    release = original
    for name in KEYS:
        fresh = pl.Series(random.random(records) < 0.1)
        other = original[name][random.integers(0, records, records)]
        release = release.with_columns(pl.when(fresh).then(other).otherwise(pl.col(name)).alias(name))
    return original, release


def link_adult(records: int) -> None:
    """Link a release of Adult in which ages are intervals and a tenth of all cells is drawn anew."""
    original, release = _perturbed_adult(records)
    ages = release["age"] // 5 * 5
    release = release.with_columns(age=pl.format("[{}, {})", ages, ages + 5))
    distance_linkage(original, release, np.arange(records), distance="mixed")


def main() -> None:
    """Link Adult and print the records, the peak of resident memory in bytes, and the processor seconds."""
    timed = best_of(1, lambda: link_adult(_MIXED_RECORDS))
    print(_MIXED_RECORDS, peak(), timed.processor)


if __name__ == "__main__":
    main()
