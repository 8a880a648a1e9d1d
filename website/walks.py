"""How many files does a call pass, and how often does it change the room? `python -m website.walks` traces six calls."""  # noqa: INP001

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from inspect import isclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polars as pl

import unveil
from unveil.models import KAnonymity

_SOURCE = str(Path(unveil.__file__).parent) + "/"
_KEYS = ["age", "sex", "race"]


def _room(frame: FrameType | None) -> str | None:
    """Return the folder of a frame's file; modules beside the rooms, and code that is not ours, are in none."""
    name = "" if frame is None else frame.f_code.co_filename
    inner = name.removeprefix(_SOURCE)
    return inner.partition("/")[0] if name.startswith(_SOURCE) and "/" in inner else None


def _own_words() -> set[CodeType]:
    """Return the code of what nouns say of themselves, properties and methods such as their length: to read it is no walk."""
    codes: set[CodeType] = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "unveil":
            continue
        for kind in filter(isclass, vars(module).values()):
            for word, member in vars(kind).items():
                own = isinstance(member, property | cached_property) or (word.startswith("__") and word.endswith("__"))
                said = getattr(member, "fget", None) or getattr(member, "func", None) or member
                code = getattr(said, "__code__", None)
                if code is not None and own:
                    codes.add(code)
    return codes


def traced(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Return the files of rooms that a call passes, its calls from one room into another, and the doors that these take.

    A door is a pair of functions, the one that calls and the one that is called: a loop goes through one door many times.
    """
    call()  # what is imported or compiled once is not part of the walk
    own = _own_words()
    files: set[str] = set()
    doors: set[tuple[CodeType, CodeType]] = set()
    changes = 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes
        room = _room(frame)
        if event != "call" or room is None or frame.f_code in own:
            return
        files.add(frame.f_code.co_filename)
        before = frame.f_back
        while before is not None and _room(before) is None:
            before = before.f_back
        if before is not None and _room(before) != room:
            changes += 1
            doors.add((before.f_code, frame.f_code))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(files), changes, len(doors)


@contextmanager
def _in_postgres(table: pl.DataFrame) -> Iterator[str]:
    """Give the address of a table in a PostgreSQL server of our own."""
    from adbc_driver_postgresql import dbapi
    from benchmarks.local_postgres import local_postgres

    with local_postgres() as server:
        with dbapi.connect(server) as connection:
            with connection.cursor() as cursor:
                cursor.adbc_ingest("people", table.to_arrow(), mode="create")
            connection.commit()
        yield f"{server}?table=people"


def walks() -> Iterator[tuple[str, int, int, int]]:
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
    with _in_postgres(adult.select([*_KEYS, "occupation"])) as address:
        yield ("dr in PostgreSQL", *traced(lambda: unveil.discrimination_rate(address, _KEYS, "occupation")))


if __name__ == "__main__":
    for name, files, changes, doors in walks():
        sys.stdout.write(f"{name:20} {files:4} files {changes:6,} changes of room through {doors:4} doors\n")
