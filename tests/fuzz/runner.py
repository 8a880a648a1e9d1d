"""Many cases in several processes, and what failed, like failures together."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.cases import SECONDS, Outcome, run_case
from fuzz.commands import run_command_case

__all__ = ["run_any", "run_many", "summary"]

_GRACE = 6 * SECONDS
_MEMORY = 6 << 30
_COMMANDS = 10
"""Every tenth case is a command line."""


def run_any(number: int, folder: Path) -> Outcome:
    """Run a case: a call, or a command line."""
    return run_command_case(number, folder) if number % _COMMANDS == _COMMANDS - 1 else run_case(number, folder)


def _work(numbers: range, out: Connection) -> None:
    """Run cases in a process of its own, and report each before the next."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the life of the process
    os.dup2(sys.stderr.fileno(), 2)
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            out.send(number)
            out.send(run_any(number, Path(folder)))
    out.close()


class _Worker:
    """A process with its share of the cases; one that dies or hangs is followed by another."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers
        self.current = numbers.start
        self._begin(numbers)

    def _begin(self, numbers: range) -> None:
        context = multiprocessing.get_context("spawn")
        self.inbox, out = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(numbers, out), daemon=True)
        self.process.start()
        out.close()
        self.since = time.monotonic()

    def received(self) -> Outcome | None:
        """Take what came, or the end of the process as a failure of the case that it was at."""
        try:
            message: Any = self.inbox.recv()
        except EOFError:
            return self.ended("the process ended")
        self.since = time.monotonic()
        if isinstance(message, int):
            self.current = message
            return None
        self.current += self.numbers.step
        return message if isinstance(message, Outcome) else None

    def ended(self, how: str) -> Outcome | None:
        """Begin anew behind a case that took its process with it; None where all were done."""
        self.process.kill()
        self.process.join()
        if self.current >= self.numbers.stop:
            self.inbox.close()
            return None
        lost = Outcome(self.current, "?", "failed", how, "", "run it with --case to see")
        self._begin(range(self.current + self.numbers.step, self.numbers.stop, self.numbers.step))
        self.current += self.numbers.step
        return lost

    @property
    def hangs(self) -> bool:
        """Whether it has been silent for too long."""
        return time.monotonic() - self.since > _GRACE


def run_many(start: int, stop: int, jobs: int) -> list[Outcome]:
    """Run the cases of a range in several processes."""
    workers = [_Worker(range(start + at, stop, jobs)) for at in range(jobs) if start + at < stop]
    done: list[Outcome] = []
    began = time.monotonic()
    while workers:
        ready = wait([worker.inbox for worker in workers], timeout=5)
        for worker in list(workers):
            outcome = worker.received() if worker.inbox in ready else worker.ended("no end") if worker.hangs else None
            if outcome is not None:
                done.append(outcome)
                _tell(len(done), stop - start, began)
            if worker.inbox.closed:
                workers.remove(worker)
    return sorted(done, key=lambda outcome: outcome.case)


def _tell(done: int, cases: int, began: float) -> None:
    if done % 1000 == 0:
        print(f"{done:,} of {cases:,} cases, {done / (time.monotonic() - began):.0f} a second", file=sys.stderr, flush=True)


def summary(outcomes: list[Outcome], *, most: int = 60) -> str:
    """Say how many cases there were, what came of them, and what failed, like failures together."""
    lines = [
        f"{len(outcomes):,} cases: "
        + ", ".join(f"{n:,} {result}" for result, n in Counter(o.result for o in outcomes).most_common())
    ]
    by_label: Counter[tuple[str, str]] = Counter((outcome.label, outcome.result) for outcome in outcomes)
    results = ("judged", "answered", "refused", "failed")
    lines.extend(
        f"  {label}: " + ", ".join(f"{by_label[label, result]} {result}" for result in results if by_label[label, result])
        for label in sorted({outcome.label for outcome in outcomes})
    )
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.result == "failed":
            groups.setdefault((outcome.problem.partition(":")[0], outcome.place), []).append(outcome)
    lines.append(f"{sum(map(len, groups.values())):,} failures of {len(groups):,} kinds")
    for (_, place), some in sorted(groups.items(), key=lambda item: -len(item[1]))[:most]:
        labels = ", ".join(sorted({outcome.label for outcome in some})[:4])
        lines.append(f"{len(some):5} {some[0].problem} | {place} | {labels} | --case {some[0].case}")
    return "\n".join(lines)
