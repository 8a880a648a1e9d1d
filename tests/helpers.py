"""What several tests share: slow oracles written from the definitions, random tables, and access to the reference material."""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from unveil.run import Limits, Run

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def started(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that receives the signals it is sent, even if whoever started the tests had them ignored."""

    def hear() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(command, preexec_fn=hear, **options)  # noqa: PLW1509 - it does nothing but that


def shared(path: str) -> Path:
    """Return a file of the reference material, or skip the test if it is absent."""
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"the reference material {path} is not on this machine")
    return file


def without(program: str, package: str) -> NoReturn:
    """Skip a test whose program is not installed; in continuous integration (`CI` is set) it fails."""
    reason = f"{program} is not installed (Debian: apt-get install {package})"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def limited(**limits: Any) -> Run:
    """Return a run with these limits, to be made active for a block."""
    return Run(limits=Limits(**limits))


def entropy(items: Sequence[Any]) -> float:
    """H in bits, straight from the definition."""
    return -sum(n / len(items) * math.log2(n / len(items)) for n in Counter(items).values())


def rate(x: Sequence[Any], y: Sequence[Any]) -> float:
    """DR_X(Y) = 1 - H(X|Y) / H(X), class by class."""
    classes: dict[Any, list[Any]] = {}
    for value, key in zip(x, y, strict=True):
        classes.setdefault(key, []).append(value)
    conditional = sum(len(some) / len(x) * entropy(some) for some in classes.values())
    return 1.0 - conditional / entropy(x)


def kind(x: Sequence[Any], y: Sequence[Any]) -> str:
    """The kind of identifier, from the definition, on integers."""
    total, n_x, n_y, n_xy = len(x), Counter(x), Counter(y), Counter(zip(x, y, strict=True))
    values_in_class = Counter(key for _, key in n_xy)
    if all(n == 1 for n in values_in_class.values()):
        return "identifier"
    if all(n_xy[a, b] * total == n_x[a] * n_y[b] for a in n_x for b in n_y):
        return "zero-identifier"
    return "partial-identifier" if any(n == 1 for n in values_in_class.values()) else "sketchy-identifier"


def varied(frame: pl.DataFrame, column: str) -> bool:
    """Whether a column holds more than one value."""
    return frame[column].n_unique() > 1


def together(frame: pl.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The columns' values, row by row."""
    return frame.select(columns).rows()
