"""How much memory does a job take beyond its input? Prints the records and the peak, in coded tables."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import unveil
from unveil.sources import load

_PAGE = 4096


def main() -> None:
    """Measure the job named on the command line: a scan, or all models."""
    jobs = {"scan": of_scan, "measure": of_measure}
    records, ratio = jobs[sys.argv[1] if len(sys.argv) > 1 else "scan"]()
    print(records, ratio)


def of_scan() -> tuple[int, float]:
    """Scan Adult repeated 20 times with noise, so that the table is large enough; kernels are loaded on a smaller one first."""
    adult = unveil.datasets.adult()
    keys = [name for name in adult.columns if name != "income-per-year"]
    unveil.scan(_repeated(adult, 4), keys, "income-per-year", max_size=2, threads=2)
    large = _repeated(adult, 20)
    growth = _growth_while(lambda: unveil.scan(large, keys, "income-per-year", max_size=3))
    return large.height, growth / _coded(large)


def _repeated(adult: pl.DataFrame, times: int) -> pl.DataFrame:
    large = pl.concat([adult] * times, rechunk=True)
    return large.with_columns(fnlwgt=pl.Series(np.random.default_rng(0).integers(0, 400_000, large.height)))


def of_measure() -> tuple[int, float]:
    """Measure all models of three million records, made by another process so that this one starts small."""
    from benchmarks.models import KEYS

    with TemporaryDirectory() as folder:
        path = Path(folder, "large.parquet")
        code = f"from benchmarks.models import adult_like; adult_like(3_000_000).write_parquet({str(path)!r})"
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
        large = pl.read_parquet(path)
    unveil.measure("adult", KEYS, "occupation")
    return large.height, _growth_while(lambda: unveil.measure(large, KEYS, "occupation")) / _coded(large)


def _coded(frame: pl.DataFrame) -> int:
    """Return the bytes of the coded table."""
    return sum(column.codes.nbytes for column in load(frame, frame.columns).columns)


def _growth_while(work: Callable[[], object]) -> int:
    """Return the most bytes by which the process grew while it worked."""
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


def peak() -> int:
    """Return the most bytes this process has held; `getrusage` would count those of the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


if __name__ == "__main__":
    main()
