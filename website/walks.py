"""How long are the walks of six commands? `python -m website.walks` counts them; with names, it shows where those walks go.

A walk is every call of a function in a room, one after the other, while a command runs that has run before. Its files are those
that such functions are in; it changes the room whenever a function of one room is called after one of another. Nothing is left
out: a property of a noun is a call like any other. Modules beside the rooms (arguments, run, errors, ...) belong to none.
"""  # noqa: INP001

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polars as pl
from adbc_driver_postgresql import dbapi
from benchmarks.local_postgres import local_postgres

import unveil
from unveil.cli import run

_SOURCE = str(Path(unveil.__file__).parent) + os.sep
_KEYS = ["age", "sex", "race"]
_MOST_DOORS = 25


@dataclass(frozen=True)
class Walk:
    """The functions of rooms that a call passes, in order."""

    steps: tuple[CodeType, ...]

    @property
    def files(self) -> set[str]:
        """The files that the functions are in."""
        return {_place(step) for step in self.steps}

    @property
    def doors(self) -> Counter[tuple[str, str]]:
        """How often the walk goes from a function of one room to one of another."""
        pairs = zip(self.steps, self.steps[1:], strict=False)
        return Counter((_named(one), _named(next_)) for one, next_ in pairs if _room(one) != _room(next_))

    @property
    def changes(self) -> int:
        """How often the walk changes the room."""
        return self.doors.total()


def _place(step: CodeType) -> str:
    return step.co_filename.removeprefix(_SOURCE)


def _room(step: CodeType) -> str:
    return _place(step).partition(os.sep)[0]


def _named(step: CodeType) -> str:
    return f"{_place(step)}: {step.co_qualname}"


def traced(call: Callable[[], Any]) -> Walk:
    """Return the walk of a call; what is imported or compiled once is not part of it."""
    call()
    steps: list[CodeType] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_SOURCE) and os.sep in _place(code):
            steps.append(code)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(tuple(steps))


def commands(postgres: str | None) -> dict[str, list[str]]:
    """Return the commands that are traced, in order: `attack` and `check` need the release of `anonymize`."""
    key = [word for name in _KEYS for word in ("--key", name)]
    sensitive = ["--sensitive", "occupation"]
    out = ["--out", "release.csv", "--link", "link.csv"]
    walks = {
        "dr": ["dr", "adult", *key, *sensitive],
        "anonymize": ["anonymize", "adult", *key, "--k", "5", "--suppression", "0.04", *out],
        "attack": ["attack", "adult", "release.csv", "--link", "link.csv", *key, *sensitive],
        "check": ["check", "release.csv", "--policy", "cell-size-5", *key, *sensitive],
        "assess": ["assess", "adult", *key, *sensitive],
    }
    return walks if postgres is None else walks | {"dr in PostgreSQL": ["dr", postgres, *key, *sensitive]}


def _run(words: list[str]) -> None:
    for old in ("release.csv", "link.csv") if words[0] == "anonymize" else ():
        Path(old).unlink(missing_ok=True)
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = run(words)
    if code > 1:
        raise RuntimeError(said.getvalue())


@contextmanager
def _in_postgres() -> Iterator[str]:
    """Give the address of a table in a PostgreSQL server of our own."""
    table = unveil.datasets.adult().select([*_KEYS, "occupation"])
    with local_postgres() as server:
        with dbapi.connect(server) as connection:
            with connection.cursor() as cursor:
                cursor.adbc_ingest("people", pl.DataFrame(table).to_arrow(), mode="create")
            connection.commit()
        yield f"{server}?table=people"


def walks() -> Iterator[tuple[str, Walk]]:
    """Trace the commands that people use most, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), _in_postgres() as address:
        for name, words in commands(address).items():
            yield name, traced(partial(_run, words))


def _shown(name: str, walk: Walk) -> str:
    return f"{name:18} {len(walk.files):4} files {walk.changes:6,} changes of room through {len(walk.doors):4} doors\n"


if __name__ == "__main__":
    for name, walk in walks():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            sys.stdout.write(_shown(name, walk))
            if len(sys.argv) > 1:
                sys.stdout.writelines(f"{n:6}  {one} -> {other}\n" for (one, other), n in walk.doors.most_common(_MOST_DOORS))
