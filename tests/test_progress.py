"""Whoever waits is told how far the work is: stage by stage in Python, as bars on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.attacks.linkage.search import _in_threads
from unveil.results import Result
from unveil.run import Run

UNVEIL = str(Path(sys.executable).with_name("unveil"))
PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 35, 38, 47, 49, 51, 58, 62, 66] * 4,
        "sex": ["f", "m"] * 20,
        "town": ["Oslo", "Lima", "Bonn", "Lima"] * 10,
        "ill": ["no", "no", "yes", "yes", "no"] * 8,
    }
)
RELEASE = PEOPLE.with_columns(
    age=(pl.col("age") // 20 * 20).cast(pl.String) + "-" + (pl.col("age") // 20 * 20 + 19).cast(pl.String)
)
SAME: dict[str, Any] = {"same_order": True}
CALLS: dict[str, tuple[Callable[..., Result], dict[str, int]]] = {
    "attack": (
        lambda **tell: unveil.attack(PEOPLE, RELEASE, ["age", "sex"], "ill", **SAME, **tell),
        {"attacks": 5, "linkage, mixed": 6, "linkage, probabilistic": 1},
    ),
    "attack on numbers": (
        lambda **tell: unveil.attack(PEOPLE, PEOPLE, "age", **SAME, **tell),
        {
            "attacks": 5, "linkage, euclidean": 40, "linkage, interval rank": 10, "linkage, interval deviation": 10,
            "linkage, probabilistic": 1,
        },
    ),
    "loss": (
        lambda **tell: unveil.loss(PEOPLE, RELEASE, **SAME, **tell),
        {"granularity": 4, "categories": 4, "tables, 1-way": 4, "tables, 2-way": 6, "tables, 3-way": 4, "classes": 1},
    ),
    "loss of numbers and tasks": (
        lambda **tell: unveil.loss(PEOPLE, PEOPLE, **SAME, ways=0, pmse=True, tasks=["ill", "age"], **tell),
        {
            "granularity": 3, "tasks": 10, "pMSE": 1, "numbers": 1, "structure of numbers": 1, "categories": 3, "classes": 1,
        },
    ),
    "compare": (
        lambda **tell: unveil.compare(
            {"original": PEOPLE, "coarse": RELEASE, "none": RELEASE.drop("age")}, ["age", "sex"], "ill", privacy=["k", "attack"],
            needs=unveil.Need("illness", "ill", "age"), tasks=unveil.Task("learnt", "ill"), **SAME, **tell,
        ),
        {"coarse": 6, "coarse: tasks": 5, "none": 6, "none: tasks": 5, "reasons": 2},
    ),
    "check": (
        lambda **tell: unveil.check(
            RELEASE, {"k_anonymity": 2, "distinct_l_diversity": 2, "linkage": 0.5}, key=["age", "sex"], sensitive="ill",
            original=PEOPLE, **SAME, **tell,
        ),
        {"rules": 4, "other figures": 5, "columns": 4, "attacks": 5, "linkage, mixed": 6, "linkage, probabilistic": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_every_stage_rises_to_its_end_and_the_answer_stays(name: str) -> None:
    call, ends = CALLS[name]
    told: dict[str, list[tuple[int, int]]] = {}
    found = call(progress=lambda stage, done, total: told.setdefault(stage, []).append((done, total)))
    assert {stage: steps[-1] for stage, steps in told.items()} == {stage: (total, total) for stage, total in ends.items()}
    for steps in told.values():
        assert steps[0][0] == 0
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert all(done <= total for done, total in steps)
    assert found.to_dict() == call().to_dict()


NUMBERS = pl.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), schema=["a", "b"])
LONG = pl.DataFrame({"age": np.arange(200_000) % 7, "at": np.arange(200_000)})
VISITS = pl.DataFrame({"who": [1, 1, 2, 2, 3], "cell": [1, 2, 1, 3, 1]})
SILENT_BEFORE: dict[str, tuple[Callable[[], object], dict[str, int]]] = {
    "measure, special uniques": (
        lambda: unveil.measure(PEOPLE, ["age", "sex", "town"], special=True),
        {"sets of attributes": 7},
    ),
    "structure_linkage": (
        lambda: unveil.attacks.structure_linkage([np.arange(30.0)], [np.arange(30) // 10], range(30), clusters=3),
        {"components": 2, "clusterings": 20},
    ),
    "unicity": (
        lambda: unveil.stream.unicity(VISITS, "who", "cell", p=[1, 2]),
        {"persons, 1 point": 3, "persons, 2 points": 2},
    ),
    "mdav": (lambda: unveil.mechanisms.microaggregate(NUMBERS, ["a", "b"], k=3), {"groups": 60, "refining": 1}),
    "v-mdav": (
        lambda: unveil.mechanisms.microaggregate(NUMBERS, ["a", "b"], k=3, method="v-mdav"),
        {"groups": 60, "refining": 1},
    ),
    "mondrian": (
        lambda: unveil.mondrian(PEOPLE, ["age", "sex"], [unveil.models.KAnonymity(2)]),
        {"splitting": 20, "candidates": 2},
    ),
    "swap_households": (
        lambda: unveil.mechanisms.swap_households(PEOPLE, "town", risk="age", share=0.5),
        {"profiles": 40, "households": 40},
    ),
    "generalize_sets": (
        lambda: unveil.mechanisms.generalize_sets(pl.DataFrame({"cart": ["a;b", "a;b", "c;d"]}), "cart", k=2),
        {"sets": 3, "items": 3, "known items": 2, "labels": 2, "rare sets": 2},
    ),
    "shuffle": (lambda: unveil.mechanisms.shuffle(NUMBERS, "a", given="b"), {"ranks": 2, "attributes": 1}),
    "pram": (lambda: unveil.mechanisms.pram(PEOPLE, ["sex", "ill"], retention=0.8), {"strata": 2}),
    "massc": (
        lambda: unveil.mechanisms.massc(PEOPLE[:10], ["town", "sex", "age"], risk=0.5),
        {"key attributes": 3, "substitution": 3, "calibration": 1},
    ),
    "dp_synthesize": (
        lambda: unveil.mechanisms.dp_synthesize(
            PEOPLE, ["sex", "ill"], domains={"sex": ["f", "m"], "ill": ["yes", "no"]}, epsilon=1.0
        ),
        {"values": 2, "pairs": 1, "tables": 100, "records": 1},
    ),
    "add_noise": (lambda: unveil.mechanisms.add_noise(PEOPLE, "age", within="sex"), {"populations": 2}),
    "resample": (lambda: unveil.mechanisms.resample(NUMBERS, ["a", "b"]), {"attributes": 2}),
    "round_values": (lambda: unveil.mechanisms.round_values(NUMBERS, ["a", "b"], base=0.5), {"attributes": 2}),
    "round_small_counts": (
        lambda: unveil.tables.round_small_counts(unveil.table(PEOPLE[:20], ["age", "sex"])),
        {"small counts": 7},
    ),
    "propose_hierarchy": (lambda: unveil.propose_hierarchy(PEOPLE, "age"), {"hierarchy": 1}),
    "pmse": (lambda: unveil.pmse(PEOPLE, RELEASE), {"models": 1}),
    "pmse by trees": (lambda: unveil.pmse(PEOPLE, RELEASE, model="tree"), {"models": 21}),
    "window, a long batch": (lambda: unveil.Window("age").update(LONG), {"records": LONG.height}),
    "window, a short batch": (lambda: unveil.Window("age").update(PEOPLE), {}),
    "window, figures by number": (
        lambda: list(unveil.Window("age", size=1000, every=50_000).feed(LONG)),
        {"records": LONG.height},
    ),
    "window, figures by time": (
        lambda: list(unveil.Window("age", duration=1000, time="at", every=50_000).feed(LONG)),
        {"records": LONG.height},
    ),
}


@pytest.mark.parametrize("name", SILENT_BEFORE)
def test_a_call_in_a_run_tells_its_stages(name: str) -> None:
    call, ends = SILENT_BEFORE[name]
    told: dict[str, tuple[int, int]] = {}
    with Run(lambda stage, done, total: told.update({stage: (done, total)})):
        call()
    assert told.keys() == ends.keys()
    assert all(done == total for done, total in told.values())


def test_unicity_takes_a_run_or_a_function() -> None:
    told: list[tuple[str, int, int]] = []
    unveil.stream.unicity(VISITS, "who", "cell", p=1, progress=Run(lambda *step: told.append(step)))
    unveil.stream.unicity(VISITS, "who", "cell", p=1, progress=lambda *step: told.append(step))
    assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert told[-1] == ("persons, 1 point", 3, 3)


def test_a_task_that_cannot_be_tried_counts_as_done() -> None:
    told: list[tuple[int, int]] = []
    tasks = [unveil.Task("none", "nothing"), unveil.Task("ill", "ill")]
    found = unveil.tasks(PEOPLE, PEOPLE, tasks, same_order=True, folds=2, progress=lambda _, *step: told.append(step))
    assert found["none"].reason is not None
    assert told == [(0, 4), (2, 4), (2, 4), (3, 4), (4, 4)]


def test_a_control_is_told_after_the_original() -> None:
    ages = {"age": np.arange(200.0), "sex": ["f", "m"] * 100}
    told: list[tuple[int, int]] = []
    unveil.attacks.distance_linkage(
        ages,
        ages,
        range(200),
        distance="mixed",
        control={"age": [0.5], "sex": ["f"]},
        progress=lambda _, *step: told.append(step),
    )
    assert told == [(64, 200), (128, 200), (192, 200), (200, 200)] * 3


def test_an_interrupt_leaves_out_what_has_not_begun() -> None:
    begun: list[int] = []

    def interrupt(_stage: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    def work(begin: int, _end: int) -> None:
        np.linalg.svd(np.ones((60, 60)))
        begun.append(begin)

    with pytest.raises(KeyboardInterrupt), Run(interrupt):
        _in_threads(work, 64 * 5000, "questions")
    assert 0 < len(begun) < 5000


COMMANDS = {
    "attack": ("people.csv release.csv --same-order --key age --key sex", "linkage, mixed"),
    "check": ("release.csv --policy cell-size-3 --key age --key sex", "rules"),
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_terminal_gets_bars_on_standard_error_and_nothing_else_does(verb: str, tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "people.csv")
    RELEASE.write_csv(tmp_path / "release.csv")
    words, stage = COMMANDS[verb]
    command = [UNVEIL, verb, *words.split(), "--json"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert piped.stderr == b""
    watched, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with (
        ThreadPoolExecutor(1) as reader,
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process,
    ):
        os.close(terminal)
        seen = reader.submit(_seen, watched)
        printed, _ = process.communicate(timeout=120)
    assert (process.returncode, printed) == (piped.returncode, piped.stdout)
    assert stage.encode() in seen.result()


def _seen(terminal: int) -> bytes:
    """Read what a terminal is sent, until its writer has gone."""
    found = b""
    with suppress(OSError):  # the end of a terminal, on Linux
        while piece := os.read(terminal, 4096):
            found += piece
    os.close(terminal)
    return found
