"""Compilation ahead of time: calls that together use every compiled loop, on a small artificial table."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from unveil import __version__
from unveil.compilation import LOOPS, loops_at_once
from unveil.formats import counted
from unveil.results import Figure, Result, View
from unveil.run import Limits, Run, active_run

__all__ = ["HOMES", "WarmUp", "warm_up"]

HOMES = (
    "attacks.linkage.kernels",
    "attacks.synthetic.nearest",
    "attacks.synthetic.singling_out",
    "counts.minimal_uniques",
    "counts.refine_kernels",
    "counts.grouping",
    "counts.window_kernels",
    "mechanisms.microaggregation.kernels",
    "mechanisms.microaggregation.refine_kernels",
    "mechanisms.microaggregation.tree_kernels",
    "mechanisms.rank_swap_kernel",
    "queries.modular",
    "search.lattice.box_kernels",
    "search.lattice.closeness_kernel",
    "search.lattice.lattice_sizes",
    "search.lattice.rollup_kernels",
    "search.splitting.gather_kernels",
    "search.splitting.split_kernels",
    "search.suppression.fewest_cells",
    "search.suppression.group_kernels",
    "search.suppression.matching_kernels",
    "search.suppression.subset_kernels",
    "sources.batches.combinations",
    "sources.batches.dictionaries",
    "sources.texts",
    "stream.cluster_kernels",
    "stream.unicity_kernels",
)
"""The modules with loops to compile."""


@dataclass(frozen=True, slots=True, repr=False)
class WarmUp(Result):
    """The result of compilation.

    Attributes
    ----------
    loops
        The number of loops, all of which are ready now.
    seconds
        The processor time that this took.
    """

    loops: int
    seconds: float

    def __repr__(self) -> str:
        """Return one line."""
        return f"WarmUp({counted(self.loops, 'loop')} ready after {self.seconds:.1f} s)"

    def to_dict(self) -> dict[str, Any]:
        """Return the number of ready loops, and the processor time."""
        return {"loops": self.loops, "seconds": self.seconds, "version": __version__}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row."""
        return {"loops": [self.loops], "seconds": [self.seconds]}

    def view(self) -> View:
        """Return the displayed view."""
        figures = (Figure("compiled loops", self.loops, "ready"), Figure("processor time", self.seconds, "seconds"))
        return View("Compiled, and kept for the next calls", figures)


def warm_up() -> WarmUp:
    """Compile every loop, and keep the compiled code beside the software or in the folder named by NUMBA_CACHE_DIR.

    Otherwise the first call that needs a loop compiles it. Loops are compiled for the usual types of tables; with a table of
    more than two billion records, for example, a call may still have to wait.
    """
    began = time.process_time()
    importlib.import_module("numba")
    for home in HOMES:
        importlib.import_module(f"unveil.{home}")
    with loops_at_once():  # for small tables too
        for call in active_run().each("calls", list(_calls())):
            call()
    return WarmUp(len(LOOPS), time.process_time() - began)


def _calls() -> Iterator[Callable[[], Any]]:
    """Yield calls that together use every loop."""
    import unveil
    from unveil import mechanisms
    from unveil.models import KAnonymity, TCloseness

    people = _people()
    keys, k = ["age", "town", "sex"], [KAnonymity(3)]
    noisy = mechanisms.add_noise(people, ["age", "pay"], keep_order=True, seed=1).data
    yield lambda: unveil.scan(people, keys, "job")
    cube = type(people)({f"{at}": [row >> 3 * at & 7 for row in range(1 << 12)] for at in range(4)})
    yield lambda: unveil.scan(cube, ["0", "1", "2"], "3")  # large enough for columns to be summed out
    yield lambda: _texts(type(people))
    yield lambda: unveil.measure(people, keys, special=True)
    yield lambda: unveil.attack(people, noisy, ["age", "pay", "town"], "job", same_order=True)
    yield lambda: unveil.attacks.distance_linkage(
        people, noisy.head(60), range(60), attributes=["age", "town"], distance="mixed", control=range(60, 64)
    )
    yield lambda: unveil.attack(people.head(32), noisy.select(keys).head(32), keys, control=people.tail(32))
    yield lambda: unveil.anonymize(people, keys, [*k, TCloseness("job", 0.9)], suppression=0.5)
    yield lambda: unveil.anonymize(people, keys, k, suppression=0.5, objective="discernibility")
    yield lambda: unveil.anonymize(people, keys, [*k, TCloseness("job", 0.9)])
    wide = type(people)({f"{at}": [(row * 7919 + at * 5 + 3) ** 2 % 101 % 2 for row in range(64)] for at in range(27)})
    yield lambda: unveil.anonymize(wide, wide.columns, k, suppression=0.1, node_limit=5000)  # too many generalisations to hold
    yield lambda: unveil.mondrian(people, keys, k)
    hierarchies = {name: unveil.propose_hierarchy(people, name).hierarchy for name in keys}
    yield lambda: unveil.recode_locally(people, hierarchies, [*k, TCloseness("job", 0.4)], suppression=0.5)
    yield lambda: unveil.suppress_locally(people, [*keys, "pay"], 3)
    yield lambda: unveil.suppress_locally(people, keys, 3, against="release")
    yield lambda: unveil.suppress_locally(people.head(6), keys, 2)
    yield lambda: unveil.suppress_locally(people.head(6), keys, 2, against="release")
    for method in ("mdav", "v-mdav"):
        yield partial(mechanisms.microaggregate, people, ["age", "sex"], k=3, method=method)
    yield lambda: mechanisms.microaggregate(people, ["age", "pay"], k=3)
    yield lambda: mechanisms.microaggregate(people, ["pay"], k=3, method="optimal")
    yield lambda: mechanisms.rank_swap(people, ["pay"])
    yield lambda: _streamed(people, keys)
    yield lambda: _watched(people)
    yield lambda: _questions(people)


def _texts(frame: Any) -> None:
    """Code and count texts, short and long, few and many, with nulls and without."""
    import unveil
    from unveil import mechanisms

    rows = range(600)
    names, towns = [f"name number {row} of all" for row in rows], [f"town {row % 5}" for row in rows]
    table = frame({"name": names, "town": towns, "job": [None, *towns[1:]], "pay": [row % 97 for row in rows]})
    unveil.count(table, ["name", "town", "job"])
    mechanisms.add_noise(table, "pay")


def _watched(people: Any) -> None:
    """Slide windows over records and over counted rows, release a stream, and single out trajectories."""
    from datetime import datetime

    from unveil.stream import StreamRelease, Window, unicity

    numbered = people.with_row_index("person")
    for person in (None, "person"):
        window = Window(["town", "sex"], "job", size=16, person=person, every=8)
        list(window.feed(numbered))
    landmark = Window(["town"], "job")
    landmark.update(people)
    landmark.revert(people.head(8))
    counted = people.group_by("town", "job").len("n")
    landmark.update(counted, "n")
    hours = Window(["town"], "job", duration="1h", time="when")
    for day in (1, 2):
        hours.update(counted.with_columns(when=datetime(2000, 1, day)), "n")  # noqa: DTZ001 - any day will do
    Window("row").update(type(people)({"row": range(1 << 14)}))
    release = StreamRelease(["age", "pay"], "job", k=2, delay=16, person="person", diverse=2)
    for part in (numbered.head(32), numbered.tail(32)):
        list(release.feed(part, 0))
    list(release.finish())
    points = numbered.select(person="person", place="town").vstack(numbered.select(person="person", place="job"))
    unicity(points, "person", ["place"], p=(1, 2), draws=1)
    unicity(points, "person", ["place"], p=(1, 2))


def _questions(people: Any) -> None:
    """Request sums from a gate that audits them."""
    from unveil.queries import Gate, Restriction

    with tempfile.TemporaryDirectory() as folder:
        gate = Gate(people, ledger=Path(folder, "gate.db"), policy=Restriction(k=3), key=["town", "sex"], sensitive="pay")
        for town in range(9):
            gate.ask(f"SELECT SUM(pay) FROM t WHERE town = 'town {town}'")  # noqa: S608 - our own question
        gate.ask("SELECT SUM(pay) FROM t WHERE sex = 'f'")
        gate.close()


def _people() -> Any:
    """Return an artificial table whose values are computed from the row numbers."""
    import polars as pl

    rows = range(64)
    return pl.DataFrame(
        {
            "age": [20 + (row * 7) % 50 for row in rows],
            "town": [f"town {(row * 5) % 9}" for row in rows],
            "sex": ["f" if row % 3 else "m" for row in rows],
            "job": [f"job {row % 4}" for row in rows],
            "pay": [1000.0 + (row * row) % 97 for row in rows],
        }
    )


def _streamed(people: Any, keys: Sequence[str]) -> None:
    """Count and rewrite small files as if they were large, with keys that fit into a word and with wider ones."""
    import unveil
    from unveil.models import KAnonymity

    wide = {f"column {at}": [(row * (2 * at + 1)) % 64 for row in range(64)] for at in range(16)}
    with tempfile.TemporaryDirectory() as folder, Run(limits=Limits(stream_from=1)):
        text, columns = Path(folder, "people.csv"), Path(folder, "wide.parquet")
        people.write_csv(text)
        type(people)(wide).write_parquet(columns)
        unveil.count(str(columns), list(wide))
        unveil.count(str(columns), ["column 0"])
        many = range(1 << 10)  # more than a dictionary has room for at first
        type(people)({"name": [f"name {row}" for row in many], "row": many}).write_parquet(columns)
        for name in ("name", "row"):
            unveil.count(str(columns), [name])
        unveil.anonymize(str(text), keys, [KAnonymity(2)], suppression=0.9, out=Path(folder, "out.csv"))
