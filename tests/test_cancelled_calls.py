"""No public call answers, writes or charges anything once its run is cancelled: each ends in a `CancelledError`.

A public function that is in neither list here fails the first test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unveil
from study.test_every_door import DOORS, KEY_FILE, PEOPLE, PUBLISHED, SEXES, TREES, fresh
from unveil import Run, attacks, mechanisms, queries, report, stream, tables
from unveil.errors import CancelledError
from unveil.models import KAnonymity
from unveil.report.files import FORMATS, write_view
from unveil.run import active_run, in_blocks, looks, to_the_end
from unveil.tables.files.writing import write_crosstab, write_long

TABLE = unveil.table(PEOPLE, ["age", "sex"])
CODES = [np.arange(len(PEOPLE)) % 7, np.arange(len(PEOPLE)) % 5]
TRUTH = np.arange(len(PEOPLE))
RELEASE = unveil.anonymize(PEOPLE, ["sex", "grade"], [KAnonymity(9)], hierarchies=TREES, seed=1)
FRONT = unveil.anonymize_front(
    PEOPLE, ["age", "grade"], unveil.Need("illness", target="ill", given="sex"), sensitive="ill", seed=1
)
ASKED = "SELECT SUM(pay) FROM people WHERE sex = 'f'"


def gate(**options: Any) -> unveil.Gate:
    own = {"ledger": fresh("db"), "policy": "open", "sensitive": "pay", "bounds": {"pay": (0, 100)}}
    return unveil.Gate(PEOPLE, **{**own, **options})


def streamed() -> stream.StreamRelease:
    made = stream.StreamRelease(["age", "sex"], "ill", k=3, delay=10, seed=1)
    list(made.feed(PEOPLE))
    return made


RATE = unveil.discrimination_rate(PEOPLE, ["age", "sex"], "ill")
PROPOSED = unveil.propose_partitions(PEOPLE, PEOPLE, "pay", same_order=True, tolerance=0.5)
GATE, STREAM, STARTED = gate(), streamed(), unveil.start_project(PEOPLE, fresh("toml"))

CALLS: dict[str, Callable[[], Any]] = {
    "Front.release": lambda: FRONT.release(len(FRONT.to_dict()["releases"]) - 1),
    "Gate": gate,
    "Gate.ask": lambda: GATE.ask(ASKED),
    "Gate.attack": GATE.attack,
    "Gate.explain": lambda: GATE.explain(ASKED),
    "Pair": lambda: unveil.Pair(PEOPLE, PEOPLE, key=["age", "sex"], id="id"),
    "Hierarchy.write": lambda: TREES["age"].write(fresh("csv")),
    "ComparablePartitions.write": lambda: PROPOSED.write(fresh("json")),
    "Project.write": lambda: unveil.Project(fresh("toml")).write(),
    "report.page": lambda: report.page(RATE),
    "report.write": lambda: report.write(RATE, fresh("html")),
    "Release.write": lambda: RELEASE.write(fresh("csv")),
    "Release.write_link": lambda: RELEASE.write_link(fresh("csv")),
    "Start.write": STARTED.write,
    "attacks.probabilistic_linkage": lambda: attacks.probabilistic_linkage(CODES, CODES, TRUTH),
    "attacks.structure_linkage": lambda: attacks.structure_linkage(CODES, CODES, TRUTH),
    "import_arx": lambda: unveil.import_arx(fresh("deid")),
    "mechanisms.PrivacyLedger.spend": lambda: mechanisms.PrivacyLedger(fresh("db"), 1.0).spend(
        "a count", [mechanisms.PrivacyLoss("pure", 0.5)]
    ),
    "run_in_process": lambda: unveil.run_in_process(unveil.measure, PEOPLE, key=["age"]),
    "sign": lambda: unveil.sign(KEY_FILE, fresh("key")),
    "stream.StreamRelease.finish": lambda: list(STREAM.finish()),
    "stream.StreamRelease.tick": lambda: list(STREAM.tick(0)),
    "tables.adjust": lambda: tables.adjust(TABLE, "threshold=5"),
    "tables.attack_table": lambda: tables.attack_table(TABLE),
    "tables.compare_tables": lambda: tables.compare_tables(TABLE, {"one": PUBLISHED}),
    "tables.round_small_counts": lambda: tables.round_small_counts(TABLE),
    "tables.round_table": lambda: tables.round_table(TABLE, base=3),
    "tables.suppress": lambda: tables.suppress(TABLE, "threshold=5"),
    "verify": lambda: unveil.verify(KEY_FILE, fresh("key")),
}
"""Calls that take no table of people, and methods that work, write or charge."""

NO_WORK = {
    "arx_rule": "reads one line of text",
    "mechanisms.safepub_delta": "computes one number",
    "models.register": "adds a class to a list",
    "queries.average": "writes a question",
    "queries.col": "writes a condition",
    "queries.count": "writes a question",
    "queries.policy_of": "reads one line of text",
    "queries.total": "writes a question",
    "source": "reads only the names of columns",
    "stream.each_batch": "returns a function",
}


@contextmanager
def cancelled() -> Iterator[Run]:
    with Run() as run:
        run.cancel()
        yield run


def public_functions() -> Iterator[str]:
    """Yield the public functions; those that are classes or modules are called by their methods and functions."""
    for room in (unveil, attacks, mechanisms, queries, stream, tables, unveil.models):
        place = room.__name__.removeprefix("unveil").removeprefix(".")
        for name in room.__all__:
            one = getattr(room, name)
            if callable(one) and not isinstance(one, type):
                yield f"{place}.{name}".lstrip(".")


def test_every_public_function_is_called_under_a_cancelled_run() -> None:
    known = {name.partition(":")[0] for name in (*DOORS, *CALLS, *NO_WORK)}
    short = {name: name.removeprefix("tables.").removeprefix("attacks.") for name in public_functions()}
    assert [name for name, own in short.items() if not {name, own} & known] == []


@pytest.mark.parametrize("name", [name for name in DOORS if name not in NO_WORK])
def test_a_call_on_data_gives_no_answer_once_its_run_is_cancelled(name: str) -> None:
    with cancelled(), pytest.raises(CancelledError):
        DOORS[name].call(PEOPLE)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_once_its_run_is_cancelled(name: str) -> None:
    with cancelled(), pytest.raises(CancelledError):
        CALLS[name]()


class Short(Run):
    """A run that is cancelled when it is looked at once more than a number of times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            self.cancel()
        super().check()


def outcomes(call: Callable[[], Any]) -> Iterator[bool]:
    """Call under runs that are cancelled at their first look, their second, and so on; yield whether there is an answer."""
    answered, at = False, 0
    while not answered:
        run = Short(at := at + 1)  # a run looks when it is entered
        with run:
            try:
                call()
                answered = True
            except CancelledError:
                pass
        yield answered


CHARGING: dict[str, dict[str, Any]] = {
    "dp_count": {},
    "dp_histogram": {"attribute": "sex", "values": ["f", "m"]},
    "dp_marginals": {"tables": ["sex"], "domains": SEXES},
    "dp_mean": {"attribute": "age", "bounds": (0, 100)},
    "dp_sum": {"attribute": "age", "bounds": (0, 100)},
    "dp_synthesize": {"attributes": ["sex"], "domains": SEXES},
    "safepub": {"attributes": ["sex"], "delta": 0.1},
}


@pytest.mark.parametrize("name", CHARGING)
def test_no_answer_is_given_that_is_not_charged_and_the_first_look_comes_before_the_charge(name: str) -> None:
    """A loss is written before anything is drawn, so a call that is cancelled later may have spent in vain."""
    ledger = mechanisms.PrivacyLedger(fresh("db"), "100:0.5")
    charged: list[int] = []
    for answered in outcomes(lambda: getattr(mechanisms, name)(PEOPLE, epsilon=1.0, ledger=ledger, **CHARGING[name])):
        before, now = sum(charged), len(ledger.account().entries)
        charged.append(now - before)
        assert charged[-1] >= answered
    assert charged[0] == 0


def test_a_question_that_is_charged_is_also_answered() -> None:
    budget = mechanisms.PrivacyLedger(fresh("db"), "100:1e-6")
    door = gate(policy="differential", shared=budget)
    seen = list(outcomes(lambda: door.ask(ASKED)))
    assert len(seen) > 2
    assert len(door.history()) == len(budget.account().entries) == 1


def test_what_noise_needs_is_loaded_before_anything_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient(Run):
        """A run that is cancelled as soon as a library is called that does not look at it."""

        def watching(self, work: Callable[[], Any]) -> Any:  # noqa: ARG002 - it is not worked
            self.cancel()
            self.check()

    budget = mechanisms.PrivacyLedger(fresh("db"), "100:1e-6")
    door = gate(policy="differential", shared=budget)
    monkeypatch.delitem(sys.modules, "opendp.prelude", raising=False)
    with Impatient(), pytest.raises(CancelledError):
        door.ask(ASKED)
    assert not door.history()
    assert not budget.account().entries


def test_a_loop_of_questions_ends_at_the_next_one() -> None:
    door, answers = gate(), []

    def ask_on() -> None:
        for age in range(20, 27):
            answers.append(door.ask(queries.count(queries.col("age") == age)))
            if len(answers) == 3:
                run.cancel()

    with Run() as run, pytest.raises(CancelledError):
        ask_on()
    assert len(answers) == len(door.history()) == 3


WRITTEN: dict[str, Callable[[Path], Any]] = {
    "hierarchy.csv": TREES["age"].write,
    "partition.json": PROPOSED.write,
    "unveil.toml": lambda place: unveil.Project(place).write(),
    "table.csv": lambda place: write_long(TABLE.columns(), place),
    "table.parquet": lambda place: write_long(TABLE.columns(), place),
    "cells.xlsx": lambda place: write_crosstab(["age", "n"], [[20, 3]], place),
    "view.txt": lambda place: write_view(RATE.view(), place),
    **{f"answer{form}": lambda place: report.write(RATE, place) for form in FORMATS},
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_is_written_under_a_cancelled_run_does_not_appear(name: str, tmp_path: Path) -> None:
    for answered in outcomes(lambda: WRITTEN[name](tmp_path / name)):
        assert [one.name for one in tmp_path.iterdir()] == [name] * answered


def test_a_cancelled_release_leaves_no_file() -> None:
    place = fresh("csv")
    seen = []
    for answered in outcomes(lambda: RELEASE.write(place)):
        assert place.exists() == answered
        seen.append(answered)
    assert len(seen) > 1
    assert sorted(one.name for one in place.parent.glob(f"*{place.name}*")) == [place.name, f"{place.name}.unveil.json"]


def test_many_items_come_in_blocks_until_the_run_is_cancelled() -> None:
    assert list(in_blocks(list(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    with Run() as run:
        blocks = in_blocks([1, 2, 3], 2)
        assert next(blocks) == [1, 2]
        run.cancel()
        with pytest.raises(CancelledError):
            next(blocks)


def test_a_block_that_is_completed_is_not_cancelled_meanwhile() -> None:
    @looks
    def work() -> int:
        with to_the_end():
            run.cancel()
            active_run().check()
        done.append(1)
        return 1

    done: list[int] = []
    with Run() as run, pytest.raises(CancelledError):
        work()
    assert done == [1]
