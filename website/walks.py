"""How many files does a call pass, and how often does it change the room? `python -m website.walks` traces five calls."""  # noqa: INP001

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import unveil
from unveil.models import KAnonymity

_SOURCE = str(Path(unveil.__file__).parent) + "/"
_KEYS = ["age", "sex", "race"]


def _room(frame: FrameType | None) -> str | None:
    """Return the folder of a frame's file; modules beside the rooms, and code that is not ours, are in none."""
    name = "" if frame is None else frame.f_code.co_filename
    inner = name.removeprefix(_SOURCE)
    return inner.partition("/")[0] if name.startswith(_SOURCE) and "/" in inner else None


def traced(call: Callable[[], Any]) -> tuple[int, int]:
    """Return how many files of rooms a call passes, and how many of its calls go from one room into another."""
    call()  # what is imported or compiled once is not part of the walk
    files: set[str] = set()
    changes = 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes
        room = _room(frame)
        if event != "call" or room is None:
            return
        files.add(frame.f_code.co_filename)
        before = frame.f_back
        while before is not None and _room(before) is None:
            before = before.f_back
        changes += before is not None and _room(before) != room

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(files), changes


def walks() -> Iterator[tuple[str, int, int]]:
    """Trace the calls that users make most."""
    adult = unveil.datasets.adult()
    release = unveil.anonymize(adult, _KEYS, [KAnonymity(5)], suppression=0.04, keep_order=True).data
    rules = {"k_anonymity": 5, "t_closeness": 0.2}
    calls: dict[str, Callable[[], Any]] = {
        "discrimination_rate": lambda: unveil.discrimination_rate(adult, _KEYS, "occupation"),
        "anonymize": lambda: unveil.anonymize(adult, _KEYS, [KAnonymity(5)], suppression=0.04),
        "attack": lambda: unveil.attack(adult, release, _KEYS, "occupation", same_order=True),
        "check": lambda: unveil.check(adult, rules, key=_KEYS, sensitive="occupation"),
        "assess": lambda: unveil.assess(adult, _KEYS, "occupation"),
    }
    for name, call in calls.items():
        yield (name, *traced(call))


if __name__ == "__main__":
    for name, files, changes in walks():
        sys.stdout.write(f"{name:20} {files:4} files {changes:6,} changes of room\n")
