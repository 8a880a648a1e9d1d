"""A long call is cancelled from another thread and from another process, and ends soon, whatever it is doing.

The bounds on seconds are generous, since other work may share the machine; every call here would last many times as long. That a
call ends within a second is tested by how often it looks at its run: at least once for each unit of its work.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import CancelledError
from unveil.models import KAnonymity
from unveil.run import Limits, Run, is_left_behind

SOON = 20.0
"""Seconds within which a cancelled call has ended; it ends within one where the machine has nothing else to do."""
Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

JOBS: dict[str, Callable[[Path], Job]] = {}


def job(make: Callable[[Path], Job]) -> Callable[[Path], Job]:
    """Put a long call on the list."""
    JOBS[make.__name__] = make
    return make


def numbers(rows: int, columns: int, values: int) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame({f"c{at}": random.integers(0, values + at, rows) for at in range(columns)})


@job
def scan(_: Path) -> Job:
    return unveil.scan, (numbers(300_000, 18, 3),), {}


@job
def assess(_: Path) -> Job:
    return unveil.assess, (numbers(300_000, 14, 3),), {"max_size": 14}


@job
def anonymize(_: Path) -> Job:
    table = numbers(100_000, 9, 40)
    return unveil.anonymize, (table, table.columns, [KAnonymity(5)]), {"suppression": 0.01}


@job
def attack(_: Path) -> Job:
    table = numbers(1_000_000, 4, 5000).with_columns(sex=pl.Series(["f", "m"] * 500_000))
    released = table.with_columns(
        c0=(pl.col("c0") // 10 * 10).cast(pl.String) + "-" + (pl.col("c0") // 10 * 10 + 9).cast(pl.String)
    )
    return unveil.attack, (table, released), {"same_order": True}


@job
def microaggregate(_: Path) -> Job:
    random = np.random.default_rng(0)
    table = pl.DataFrame({name: random.normal(size=200_000) for name in "abc"})
    return unveil.mechanisms.microaggregate, (table, ["a", "b", "c"]), {"k": 3}


@job
def suppress_locally(_: Path) -> Job:
    return unveil.suppress_locally, (numbers(200_000, 8, 9), [f"c{at}" for at in range(8)], 5), {}


@job
def duckdb(folder: Path) -> Job:
    import duckdb

    file = folder / "long.duckdb"
    with duckdb.connect(str(file)) as connection:
        # a view whose count takes hours: every pair of two million numbers
        connection.execute(
            "CREATE VIEW pairs AS SELECT hash(a.range, b.range) % 1000 AS a FROM range(2000000) a, range(2000000) b"
        )
    return unveil.discrimination_rate, (f"{file}?table=pairs", "a"), {}


@job
def duckdb_relation(_: Path) -> Job:
    import duckdb

    connection = duckdb.connect()
    pairs = connection.sql("SELECT hash(a.range, b.range) % 1000 AS a FROM range(2000000) a, range(2000000) b")
    return unveil.discrimination_rate, (pairs, "a"), {}


# How often a call looks at its run ----------------------------------------------------------------------------------------

SMALL: dict[str, tuple[Callable[[], Callable[[], object]], int]] = {}
"""Calls on small data, each with how many units of work it has at least; units are records, cells, persons or pieces."""


def small(units: int) -> Callable[[Callable[[], Callable[[], object]]], Callable[[], Callable[[], object]]]:
    """Put a small call on the list."""

    def put(make: Callable[[], Callable[[], object]]) -> Callable[[], Callable[[], object]]:
        SMALL[make.__name__] = make, units
        return make

    return put


@small(60)
def unicity_drawn() -> Callable[[], object]:
    # 60 persons of 30 points, whose sets make pieces of 65,536 points
    visits = pl.DataFrame({"who": np.repeat(np.arange(60), 30), "where": np.random.default_rng(0).integers(0, 500, 1800)})
    return lambda: unveil.stream.unicity(visits, "who", "where", p=4, draws=16_384)


def crosstable() -> unveil.tables.CrossTable:
    random = np.random.default_rng(0)
    columns = {"a": random.integers(0, 8, 400), "b": random.integers(0, 7, 400)}
    return unveil.table(pl.DataFrame(columns), ["a", "b"])


@small(50)
def suppressed_by_programs() -> Callable[[], object]:
    table = crosstable()
    return lambda: unveil.tables.suppress(table, "threshold=4")


@small(50)
def suppressed_by_elimination() -> Callable[[], object]:
    table = crosstable()
    return lambda: unveil.tables.suppress(table, "threshold=4", method="gauss")


@small(4)
def rounded() -> Callable[[], object]:
    table = crosstable()
    return lambda: unveil.tables.round_table(table, base=5)


@small(4)
def adjusted() -> Callable[[], object]:
    table = crosstable()
    return lambda: unveil.tables.adjust(table, "threshold=4")


@small(10)
def attacked_table() -> Callable[[], object]:
    table = numbers(200, 3, 6)
    return lambda: unveil.attack_table(table, ["c0", "c1", "c2"])


@small(200)
def swapped_households() -> Callable[[], object]:
    table = numbers(200, 3, 6)
    return lambda: unveil.mechanisms.swap_households(table, "c0", risk=["c1", "c2"], k=3, share=0.5)


@small(40)
def interval_disclosure() -> Callable[[], object]:
    table = {"a": np.arange(30.0), "b": np.arange(30.0)}
    return lambda: unveil.attacks.interval_disclosure(table, table)


@small(90)
def redacted_text() -> Callable[[], object]:
    table = pl.DataFrame({"note": [f"Mr Smith called on {day} May 1980" for day in range(1, 31)]})
    return lambda: unveil.mechanisms.redact_text(table, "note")


@small(30)
def intersected() -> Callable[[], object]:
    people = pl.DataFrame({"age": range(30), "ill": ["a", "b", "c"] * 10})
    return lambda: unveil.stream.intersect_releases(people, people, people, "age", "ill")


@small(60)
def known_items() -> Callable[[], object]:
    carts = pl.DataFrame({"cart": [f"a;b;c{at}" for at in range(30)]})
    return lambda: unveil.attacks.known_items(carts, "cart")


@small(90 + 6 * 9)
def generalized_sets() -> Callable[[], object]:
    # nine sets, each of ten items that nobody else has and that are left out one by one
    carts = pl.DataFrame({"cart": [";".join(f"i{at}{digit}" for digit in range(10)) for at in range(9)]})
    return lambda: unveil.mechanisms.generalize_sets(carts, "cart", k=2, m=1)


@small(30)
def pseudonyms() -> Callable[[], object]:
    table = pl.DataFrame({"who": range(30)})
    return lambda: unveil.mechanisms.pseudonymize(table, "who", method="hmac", key_variable="UNVEIL_TEST_KEY")


@small(40)
def post_randomised() -> Callable[[], object]:
    table = numbers(400, 1, 4).with_columns(place=pl.int_range(400) % 20)
    return lambda: unveil.mechanisms.pram(table, "c0", retention=0.9, strata="place", seed=1)


@small(20)
def agglomerated() -> Callable[[], object]:
    table = numbers(60, 3, 6)
    return lambda: unveil.mechanisms.massc(table, table.columns, risk=0.5, seed=1)


@small(30)
def anatomised() -> Callable[[], object]:
    table = pl.DataFrame({"age": range(90), "ill": ["a", "b", "c"] * 30})
    return lambda: unveil.mechanisms.anatomize(table, "age", "ill", l=3, seed=1)


@small(40)
def small_counts_rounded() -> Callable[[], object]:
    table = unveil.table(numbers(150, 2, 12), ["c0", "c1"])
    return lambda: unveil.tables.round_small_counts(table)


@small(100)
def window_fed() -> Callable[[], object]:
    table = numbers(1000, 1, 4)
    return lambda: list(unveil.Window("c0", size=100, every=10).feed(table))


@small(200)
def cells_perturbed() -> Callable[[], object]:
    table = numbers(200, 2, 4).with_columns(who=pl.int_range(200))
    key = Path(tempfile.mkdtemp()) / "key"
    key.write_text("0123456789abcdef" * 4)
    return lambda: unveil.tables.perturb_by_cell_keys(table, ["c0", "c1"], record="who", key_file=key)


@pytest.mark.parametrize("name", SMALL)
def test_a_call_looks_at_its_run_for_each_unit_of_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNVEIL_TEST_KEY", "0123456789abcdef" * 4)
    make, units = SMALL[name]
    require_looks(make(), units, monkeypatch)


@pytest.mark.parametrize(("limits", "units"), [({}, 8), ({"stream_from": 0, "combinations": 100}, 64 + 2 * 8)])
def test_a_count_of_a_file_looks_at_its_run(
    limits: dict[str, Any], units: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 8 columns is coded; of a stream, each of 64 temporary files is counted, and the values of 8 columns are listed."""
    path = tmp_path / "table.csv"
    numbers(3000, 8, 1000).write_csv(path)

    def call() -> object:
        with Run(limits=Limits(**limits)):
            return unveil.count(path, [f"c{at}" for at in range(8)])

    require_looks(call, units, monkeypatch)


def require_looks(call: Callable[[], object], units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Require that a call looks at its run so often, and that it ends at the look at which it was cancelled."""
    seen, last = [0], [-1]
    looked = Run.check

    def counted(run: Run) -> None:
        seen[0] += 1
        if seen[0] == last[0]:
            run.cancel()
        looked(run)

    monkeypatch.setattr(Run, "check", counted)
    totals = []
    for _ in range(2):  # on a busy machine, a first call waits longer and looks more often
        seen[0] = 0
        with Run():
            call()
        totals.append(seen[0])
    looks = min(totals)
    assert looks >= units
    for part in (0.3, 0.6, 0.9):
        seen[0], last[0] = 0, max(int(part * looks), 2)
        with pytest.raises(CancelledError), Run():
            call()
        assert seen[0] <= last[0] + 2  # nothing more is begun


@pytest.mark.parametrize("method", ["lp", "optimal", "gauss"])
def test_a_search_for_a_pattern_stops_at_its_first_step(method: str) -> None:
    run = Run()
    with pytest.raises(CancelledError), Run(lambda *_: run.cancel(), flag=run.flag):
        unveil.tables.suppress(crosstable(), "threshold=4", method=method, solver="highs")


class _AtTheThird:
    """A flag that is set at the third look."""

    def __init__(self) -> None:
        self.looks = 0

    def __getitem__(self, _at: int) -> int:
        self.looks += 1
        return int(self.looks >= 3)


def test_a_linear_program_is_interrupted() -> None:
    import scipy.sparse as sp

    from unveil.tables.solver import LinearProgram

    random = np.random.default_rng(0)
    matrix = sp.csc_matrix(random.integers(0, 3, (60, 120)).astype(float))
    program = LinearProgram(matrix, matrix @ np.ones(120), np.zeros(120), np.full(120, 9.0), cost=random.normal(size=120))
    run: Any = Run()
    run.flag = _AtTheThird()
    with pytest.raises(CancelledError), run:
        program.solve()
    assert program.solver.getModelStatus().name == "kInterrupt"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    from benchmarks.local_postgres import binary, local_postgres

    if binary("postgres") is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    with local_postgres() as address:
        yield address


def queries(address: str) -> int:
    """Return how many of our queries the server is running."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\"endless\"%' AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


@pytest.fixture(scope="module")
def endless(postgres: str) -> str:
    """A view that the server would count for hours."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIEW endless AS SELECT (x * y) % 1000 AS a FROM generate_series(1, 1000000) x, generate_series(1, 1000000) y"
        )
    return f"{postgres}?table=endless"


def cancelled_after(seconds: float, call: Callable[[Run], object]) -> float:
    """Cancel a call from another thread after a while, and return how long it took to end."""
    run, at = Run(), []

    def cancel() -> None:
        at.append(time.monotonic())
        run.cancel()

    timer = threading.Timer(seconds, cancel)
    timer.start()
    try:
        with pytest.raises(CancelledError):
            call(run)
        return time.monotonic() - at[0]
    finally:
        timer.cancel()


def called(function: Callable[..., Any], *values: Any, **options: Any) -> Callable[[Run], object]:
    def call(run: Run) -> object:
        with run:
            return function(*values, **options)

    return call


def called_in_process(function: Callable[..., Any], *values: Any, **options: Any) -> Callable[[Run], object]:
    return lambda run: unveil.run_in_process(function, *values, run=run, **options)


@pytest.mark.parametrize("name", JOBS)
def test_a_long_call_is_cancelled_from_another_thread(name: str, tmp_path: Path) -> None:
    function, values, options = JOBS[name](tmp_path)
    assert cancelled_after(1.0, called(function, *values, **options)) < SOON


@pytest.mark.parametrize("name", ["scan", "assess", "anonymize", "attack", "duckdb"])
def test_a_long_call_is_cancelled_from_another_process(name: str, tmp_path: Path) -> None:
    function, values, options = JOBS[name](tmp_path)
    assert cancelled_after(2.5, called_in_process(function, *values, **options)) < SOON


@pytest.mark.parametrize(("call", "after"), [(called, 1.0), (called_in_process, 2.5)], ids=["thread", "process"])
def test_a_query_is_cancelled_in_the_server(call: Callable[..., Any], after: float, postgres: str, endless: str) -> None:
    assert cancelled_after(after, call(unveil.discrimination_rate, endless, "a")) < SOON
    end = time.monotonic() + SOON
    while queries(postgres) and time.monotonic() < end:
        time.sleep(0.05)
    assert queries(postgres) == 0


def test_a_call_past_its_time_ends(tmp_path: Path) -> None:
    function, values, options = JOBS["scan"](tmp_path)
    with pytest.raises(CancelledError, match="time limit"), Run(limits=Limits(time=0.5)):
        function(*values, **options)


@pytest.mark.parametrize(
    "task", [unveil.Task("c", "c0"), unveil.Task("k", kind="clustering", clusters=3)], ids=["tree", "k-means"]
)
def test_nobody_waits_for_a_fit_of_a_cancelled_run(task: unveil.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.cluster import KMeans
    from sklearn.tree import DecisionTreeClassifier
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    run, go_on, ended = Run(), threading.Event(), threading.Event()

    def endless(model: Any, *_: Any) -> Any:
        run.cancel()
        go_on.wait(60.0)
        ended.set()
        return model

    for model in (DecisionTreeClassifier, KMeans):
        monkeypatch.setattr(model, "fit", endless)
    before = [library["num_threads"] for library in threadpool_info()]
    with pytest.raises(CancelledError), run:
        unveil.tasks(numbers(60, 3, 4), numbers(60, 3, 4), task, same_order=True, folds=2)
    assert not ended.is_set()
    go_on.set()
    end = time.monotonic() + SOON
    while is_left_behind() and time.monotonic() < end:
        time.sleep(0.01)
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_a_tree_of_synthesis_is_left_behind_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    run, go_on, ended = Run(), threading.Event(), threading.Event()

    def endless(_model: Any, *_: Any) -> None:
        run.cancel()
        go_on.wait(60.0)
        ended.set()

    for model in (DecisionTreeClassifier, DecisionTreeRegressor):
        monkeypatch.setattr(model, "fit", endless)
    with pytest.raises(CancelledError), run:
        unveil.mechanisms.synthesize(numbers(60, 3, 4), ["c0", "c1"])
    assert not ended.is_set()
    go_on.set()


def test_a_relation_is_of_use_after_its_query_was_cancelled(tmp_path: Path) -> None:
    function, values, options = JOBS["duckdb_relation"](tmp_path)
    cancelled_after(0.5, called(function, *values, **options))
    assert unveil.count(values[0].limit(10), "a").records == 10


LEFT = """
import time
from unveil.cli.process import leave
from unveil.errors import CancelledError
from unveil.run import Run

run = Run()
try:
    run.watching(lambda: (run.cancel(), time.sleep(600)))
except CancelledError:
    leave(130)
"""


def test_the_command_line_does_not_wait_for_what_was_left_behind() -> None:
    ended = subprocess.run([sys.executable, "-c", LEFT], timeout=120, capture_output=True, check=False)
    assert ended.returncode == 130, ended.stderr


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda table: unveil.mechanisms.shuffle(table, "a", given="b", seed=1),
        lambda table: unveil.mechanisms.pram(table, "c", retention=0.8, seed=1),
        lambda table: unveil.mechanisms.rank_swap(table, ["a", "b"], seed=1),
        lambda table: unveil.mechanisms.swap(table, "a", within="c", seed=1),
        lambda table: unveil.mechanisms.add_noise(table, ["a", "b"], within="c", seed=1),
        lambda table: unveil.mechanisms.resample(table, "a", seed=1),
    ],
    ids=["shuffle", "pram", "rank_swap", "swap", "add_noise", "resample"],
)
def test_what_is_drawn_does_not_depend_on_who_waits(mechanism: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(0)
    table = pl.DataFrame({"a": random.normal(size=200), "b": random.normal(size=200), "c": random.integers(0, 3, 200)})
    before = mechanism(table).data
    with Run(limits=Limits(watched_from=1)):
        assert mechanism(table).data.equals(before)


@pytest.mark.parametrize("stage", ["values", "pairs", "tables", "records"])
def test_private_synthesis_stops_at_the_stage_at_which_it_is_cancelled(stage: str) -> None:
    table, told = numbers(60, 3, 4), []

    def cancel(name: str, *_: int) -> None:
        told.append(name)
        if name == stage:
            run.cancel()

    run, domains = Run(cancel), {name: list(range(8)) for name in table.columns}
    with pytest.raises(CancelledError), run:
        unveil.mechanisms.dp_synthesize(table, table.columns, domains=domains, epsilon=5.0)
    assert told.count(stage) == 1
    assert told[-1] == stage
