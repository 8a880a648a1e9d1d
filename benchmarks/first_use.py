"""What does a first use compile? Calls after a fresh installation, against the same calls with everything kept.

Each round runs two new processes with one folder for compiled loops, which is empty at first. numba is loaded before the calls,
as after an earlier use in the same process, and the time of loading it is counted.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import unveil
from benchmarks.rows import Row, at_most, seconds
from unveil import mechanisms
from unveil.models import KAnonymity

_KEYS = ["age", "sex", "race", "education", "marital-status", "native-country", "workclass"]
_NUMBERS = ["age", "hours-per-week", "capital-gain", "capital-loss"]
_LOADING = "loading"
_ROUNDS = 3
_MOST = 5
"""Seconds of processor time."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    best = min((_one_round() for _ in range(_ROUNDS)), key=lambda times: sum(times.values()))
    note = ", ".join(f"{name} {seconds(time)}" for name, time in best.items())
    what = "first anonymize, microaggregate and suppress_locally of Adult: compiling, and loading the compiler, processor time"
    return [at_most(what, sum(best.values()), _MOST, "s", note=note)]


def _one_round() -> dict[str, float]:
    """Return the extra processor time of each call, compared with all loops kept, and the time of loading the compiler."""
    with tempfile.TemporaryDirectory() as kept:
        first, later = _measured(kept), _measured(kept)
    return {name: time - (0.0 if name == _LOADING else later[name]) for name, time in first.items()}


def _measured(kept: str) -> dict[str, float]:
    """Return what this module prints in a process that keeps compiled loops in a folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": kept}
    command = [sys.executable, "-m", "benchmarks.first_use"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    return dict(json.loads(done.stdout))


def _calls() -> dict[str, Callable[[], Any]]:
    """Return the calls that are measured, by name."""
    adult = unveil.datasets.adult()
    return {
        _LOADING: lambda: importlib.import_module("numba"),
        "anonymize": lambda: unveil.anonymize(adult, _KEYS, [KAnonymity(5)], suppression=0.04),
        "microaggregate": lambda: mechanisms.microaggregate(adult, _NUMBERS, k=5),
        "suppress_locally": lambda: unveil.suppress_locally(adult, _KEYS, 3),
    }


def _once(call: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


if __name__ == "__main__":
    print(json.dumps({name: _once(call) for name, call in _calls().items()}))
