"""How the tests run: the same examples every time, however busy the machine; `--hypothesis-profile explore` looks further."""

from __future__ import annotations

import gc
import os
from compileall import compile_dir
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",  # tables here are small: threads that wait cost more than they save
    "OPENBLAS_NUM_THREADS": "1",
    "SOURCE_DATE_EPOCH": "1767225600",  # answers say when they were made
    "NUMBA_OPT": "1",  # loops run for milliseconds, and compiling them takes seconds
    "NUMBA_CACHE_DIR": str(ROOT / "build" / f"numba-{version('numba')}"),  # what is compiled like that is not for daily use
}
for _name, _value in _ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)
if "PYTEST_XDIST_WORKER" not in os.environ:  # once, so that none of the hundreds of processes to come has to
    compile_dir(ROOT / "src", quiet=2)

gc.disable()  # until all tests are collected: what they make is kept

_SLOW = [HealthCheck.too_slow]
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=25, suppress_health_check=_SLOW)
settings.register_profile("explore", deadline=None, max_examples=1000, suppress_health_check=_SLOW)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests of a file, and one all that need a server, so that each is started and compiled once."""
    for item in items:
        engines = "engines" in item.path.relative_to(ROOT).parts
        item.add_marker(pytest.mark.xdist_group("engines" if engines else str(item.path)))


def pytest_collection_finish() -> None:
    """Leave what every test shares (modules and the tests themselves) out of each search for garbage."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the end of the process collect everything, as it would without."""
    gc.unfreeze()
