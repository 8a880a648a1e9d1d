"""One case: a number that draws a table, a call and its arguments; what came of it."""

from __future__ import annotations

import inspect
import io
import json
import os
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from rich.console import Console

import unveil
from fuzz.calls import CALLS, NEEDED, OFTEN, Scene, parameters_of, right
from fuzz.oracles import ORACLES
from fuzz.tables import draw_table, same
from fuzz.values import MARKER, WRONG
from unveil.errors import UnveilError
from unveil.results import Result

__all__ = ["SECONDS", "HangError", "Outcome", "begun", "guarded", "place_of", "run_case", "said_of", "trace_of"]

SECONDS = 30
"""A case that takes more time of the processor hangs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Attributes
    ----------
    case, label
        Its number, and what was called.
    result
        "answered", "judged" (answered, and an oracle agreed), "refused" (by an error of our own) or "failed".
    problem, place
        What failed, and where; empty otherwise.
    shown
        The call in full.
    """

    case: int
    label: str
    result: Literal["answered", "judged", "refused", "failed"]
    problem: str = ""
    place: str = ""
    shown: str = ""


_PROJECT = """
[attributes.age]
role = "key"
kind = "continuous"

[attributes.zip]
role = "key"
hierarchy = "tree.csv"

[attributes.disease]
role = "sensitive"

[needs.study]
target = "disease"
given = ["age"]

[policy]
k_anonymity = { at_least = 2 }
"""


_CROSSED = {"table", "attack_table", "mechanisms.dp_marginals", *(label for label in CALLS if label.startswith("tables."))}
_MOST_CROSSED = 30
"""Calls that cross columns have cells by the product of their values, and honest work for minutes from a hundred records on."""


class HangError(BaseException):
    """A case that does not end."""


def run_case(number: int, folder: Path) -> Outcome:
    """Draw a case and run it."""
    rng = Random(f"unveil {number}")
    tidy = rng.random() < 0.65
    begun(folder)
    label = rng.choice(OFTEN)
    scene = Scene(rng, draw_table(rng, folder, tidy=tidy, most=_MOST_CROSSED if label in _CROSSED else 300), folder, tidy)
    try:
        with guarded():
            arguments = _arguments(scene, label)
    except UnveilError:  # a model, a need or a step that does not fit the table is refused when it is made
        return Outcome(number, label, "refused")
    shown = f"{label}({', '.join(f'{name}={_text(value)}' for name, value in arguments.items())}) over {scene.table}"
    before = same(scene.table)
    try:
        with guarded():
            judged = _asked(scene, label, arguments)
            assert same(scene.table) == before, "the data was changed"
    except UnveilError as error:
        if MARKER in str(error) or "\n" in str(error):
            return Outcome(number, label, "failed", "a message shows a value, or is no line", type(error).__name__, shown)
        return Outcome(number, label, "refused", shown=f"{shown}\n{error}")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of an engine is none of Exception
        return Outcome(number, label, "failed", said_of(error), place_of(error), f"{shown}\n{trace_of(error)}")
    return Outcome(number, label, "judged" if judged else "answered", shown=shown)


def _arguments(scene: Scene, label: str) -> dict[str, Any]:
    rng, known = scene.rng, parameters_of(label)
    wanted = [
        name for name, one in known.items() if one.default is one.empty or name in NEEDED.get(label, ()) or rng.random() < 0.08
    ]
    arguments = {name: right(label, name, scene) for name in wanted}
    if rng.random() < 0.35:
        for name in rng.sample(list(known), k=min(len(known), rng.choice([1, 1, 1, 2]))):
            arguments[name] = rng.choice(WRONG)()
    return {name: arguments[name] for name in known if name in arguments}


def _asked(scene: Scene, label: str, arguments: dict[str, Any]) -> bool:
    """Ask, look at the answer in every form, and say whether an oracle agreed."""
    known = parameters_of(label)
    spread = [name for name, one in known.items() if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD}]
    more = [arguments[name] for name in spread if known[name].kind is inspect.Parameter.VAR_KEYWORD and name in arguments]
    others = {name: value for some in more if isinstance(some, dict) for name, value in some.items() if isinstance(name, str)}
    answer = CALLS[label](**others | {name: value for name, value in arguments.items() if name not in spread})
    _shown_in_every_form(scene.rng, answer, scene.folder)
    return label in ORACLES and ORACLES[label](scene, arguments, answer)


def _shown_in_every_form(rng: Random, answer: Any, folder: Path) -> None:
    if isinstance(answer, Result | unveil.Counts | unveil.Partition):
        json.dumps(answer.to_dict(), allow_nan=False)
    if isinstance(answer, Result | unveil.Counts | unveil.Partition | unveil.Hierarchy | unveil.Need):
        assert len(repr(answer).splitlines()) == 1, "the repr is no line"
    if isinstance(answer, Result):
        _shown_as_a_result(rng, answer, folder)
    if isinstance(answer, unveil.Hierarchy):
        _used(rng, answer, folder)
    elif isinstance(answer, unveil.Partition):
        answer.apply(rng.choice([["a", "b"], [1, 2.5, None], [], ["a", 1, None, b"x"], [[1]]]), rng.choice([None, "a"]))
    elif isinstance(answer, unveil.Counts):
        assert answer + answer - answer == answer, "counts do not add up"
        answer.over(rng.choice([answer.names[0], list(answer.names), "nothing", [], rng.choice(WRONG)()]))


def _shown_as_a_result(rng: Random, answer: Result, folder: Path) -> None:
    form = rng.randrange(4)
    if form == 0:
        answer.to_frame(rng.choice(["polars", "pandas", "pyarrow"]))
    elif form == 1:
        Console(file=io.StringIO(), width=100).print(answer)
    elif form == 2:
        answer._repr_html_()
    elif isinstance(answer, unveil.Release):
        answer.write(folder / rng.choice(["out.csv", "out.parquet", "out.tsv", "out.arrow"]))


def _used(rng: Random, hierarchy: unveil.Hierarchy, folder: Path) -> None:
    hierarchy.with_root().write(folder / "tree.csv")
    hierarchy.levels_for(hierarchy.leaves)
    with suppress(UnveilError):
        hierarchy.level(rng.choice([0, 1, hierarchy.height, rng.choice(WRONG)()]))
    hierarchy.check_covers(rng.choice([hierarchy.leaves, ["a", None], [1, 2], rng.choice(WRONG)()]))


@contextmanager
def guarded() -> Iterator[None]:
    """Let warnings be errors, and end what hangs."""
    before = signal.signal(signal.SIGPROF, _hangs)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _hangs(*_: Any) -> None:
    raise HangError


def begun(folder: Path) -> None:
    """Begin with a folder that holds a project, a hierarchy, a partition and a key, and with it as the present one."""
    for entry in folder.iterdir():
        if entry.is_file():
            entry.unlink()
    (folder / "secret.key").write_text("0123456789abcdef" * 4)
    (folder / "tree.csv").write_text("north;n;*\nsouth;s;*\neast;e;*\nwest;w;*\n")
    (folder / "unveil.toml").write_text(_PROJECT)
    os.chdir(folder)


def _text(value: Any) -> str:
    """Show an argument in a few words."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - some arguments are made to raise
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= 150 else f"{text[:150]}..."


def said_of(error: BaseException) -> str:
    """Return the type of an error, and the first line of what it says, numbers left out so that like ones group."""
    try:
        text = str(error).partition("\n")[0]
    except Exception:  # noqa: BLE001
        text = ""
    words = "".join("#" if letter.isdigit() else letter for letter in text)
    return f"{type(error).__name__}: {words[:100]}"


def place_of(error: BaseException) -> str:
    """Return the deepest line of our own that the error passed."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/unveil/" in frame.filename and "/tests/" not in frame.filename] or list(frames)
    last = own[-1]
    return f"{last.filename.rpartition('/unveil/')[2]}:{last.lineno} {last.name}"


def trace_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-6000:]
