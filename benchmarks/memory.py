"""How much memory does a scan take beyond its input? Prints the records and the peak, in coded tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import unveil
from unveil.sources import load

_PAGE = 4096


def main() -> None:
    """Compile on a small table first, so that only the scan itself is measured."""
    adult = unveil.datasets.adult()
    keys = [name for name in adult.columns if name != "income-per-year"]
    unveil.scan(adult, keys, "income-per-year", max_size=2)
    large = pl.concat([adult] * 20, rechunk=True)
    large = large.with_columns(fnlwgt=pl.Series(np.random.default_rng(0).integers(0, 400_000, large.height)))
    coded = sum(column.codes.nbytes for column in load(large, [*keys, "income-per-year"]).columns)
    peak = _growth_while(lambda: unveil.scan(large, keys, "income-per-year", max_size=3))
    print(large.height, peak / coded)


def _growth_while(work: Callable[[], object]) -> int:
    """Return by how many bytes the process grew at most while it worked."""
    before, most, done = _resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.002):
            most = max(most, _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(0, most - before)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


if __name__ == "__main__":
    main()
