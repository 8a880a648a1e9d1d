"""Run many cases on all cores, and group what failed: `PYTHONPATH=tests python -m fuzz --cases 100000`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from fuzz.runner import run_any, run_many, summary


def main() -> int:
    """Read the command line, run, and report."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--case", type=int, help="run one case, and show the call and what came of it")
    parser.add_argument("--start", type=int, default=0, help="the first case")
    parser.add_argument("--cases", type=int, default=100_000, help="how many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_any(options.case, Path(folder))
            os.chdir("/")
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        print(outcome.result, outcome.label, outcome.problem, outcome.place, outcome.shown, sep="\n")
        return int(outcome.result == "failed")
    outcomes = run_many(options.start, options.start + options.cases, options.jobs)
    print(summary(outcomes))
    return int(any(outcome.result == "failed" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
