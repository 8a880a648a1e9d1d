"""The app: how soon it prints its address and paints its first page; how it answers during a large job, and cancels it.

A person waits in wall time, so that is measured, the best of several: other work on the machine only adds to it. Chromium is
needed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, at_most, seconds
from unveil.app.jobs import Job
from unveil.app.state import Desk

RECORDS, COLUMNS = 1_000_000, 12
_RUNS = 10
_PAGES = ("open", "columns", "exposure", "rules")
_COMMAND = [sys.executable, "-c", "from unveil.cli import main; main()", "app", "adult", "--no-browser"]


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    with tempfile.TemporaryDirectory() as folder:
        return [*start(Path(folder)), *beside_a_scan(Path(folder))]


def start(folder: Path) -> list[Row]:
    """Start the command, and open its first page in a browser that has never seen it."""
    from browsing import chromium, until

    printed, processor, painted = [], [], []
    with chromium() as browser:
        for _ in range(_RUNS):
            began = time.perf_counter()
            with subprocess.Popen(  # noqa: S603 - our own command
                _COMMAND, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder
            ) as server:
                assert server.stdout is not None
                entrance = server.stdout.readline().strip()
                printed.append(time.perf_counter() - began)
                processor.append(_processor(server.pid))
                browser.execute_cdp_cmd("Network.clearBrowserCache", {})
                browser.get(entrance)
                until(lambda: "token" not in browser.current_url)
                painted.append(until(lambda: browser.execute_script(_PAINT)) / 1000)
                server.terminate()
    return [
        _on_this_machine("the address of the app, wall time", min(printed), 1.5),
        at_most("the address of the app, processor time", min(processor), 1.5, "s"),
        at_most("the first paint of the app's first page, wall time", 1000 * min(painted), 500.0, "ms"),
    ]


def _on_this_machine(what: str, wall: float, most: float) -> Row:
    """Report a wall time; if other work keeps every processor busy, it says little about us, and has no goal."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cores:
        return at_most(what, wall, most, "s")
    return Row(what, f"{seconds(wall)} (beside other work: a load of {load:.0f} on {cores} cores)", wall, unit="s")


_PAINT = "return performance.getEntriesByName('first-contentful-paint').map(one => one.startTime)[0]"


def _processor(process: int) -> float:
    """Return the seconds of processor time that a process has used."""
    words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def beside_a_scan(folder: Path) -> list[Row]:
    """Ask for pages while a job scans a million records, then cancel it."""
    from browsing import TOKEN, served
    from desks import settle

    draw = np.random.default_rng(0)
    names = [f"c{at}" for at in range(COLUMNS)]
    path = folder / "million.parquet"
    pl.DataFrame({name: draw.integers(0, 3 + 4 * at, RECORDS) for at, name in enumerate(names)}).write_parquet(path)
    desk = Desk(folder)
    desk.open("adult")
    settle(desk)
    desk.change_attributes({name: {"role": "key"} for name in ("age", "workclass", "education", "race", "sex")}, "roles")
    answers, cancelled = [], []
    with served(desk) as address, httpx.Client(trust_env=False, timeout=60) as client:
        client.get(f"{address}/?token={TOKEN}")
        for _ in range(_RUNS // 2):
            job = _scanning(desk, path, names)
            for page in _PAGES:
                began = time.perf_counter()
                client.get(f"{address}/{page}").raise_for_status()
                answers.append(time.perf_counter() - began)
            assert job.running, "the scan ended before it was cancelled"
            cancelled.append(_cancelled(job))
    what = f"while a job scans {COLUMNS} columns of {RECORDS:,} records"
    return [
        at_most(f"a page of the app {what}, wall time, median", 1000 * statistics.median(answers), 200.0, "ms"),
        at_most("from cancelling that scan until its process is gone, wall time", min(cancelled), 1.0, "s"),
    ]


def _scanning(desk: Desk, path: Path, names: list[str]) -> Job:
    """Start a scan of all subsets, and wait until it reports its steps."""
    from browsing import until

    job = desk.jobs.start("scan", "Scanning", unveil.scan, str(path), key=names)
    until(lambda: job.stage == "subsets" or not job.running)
    return job


def _cancelled(job: Job) -> float:
    began = time.perf_counter()
    job.cancel()
    while job.running:
        time.sleep(0.005)
    assert job.outcome == "cancelled", job.line
    return time.perf_counter() - began
