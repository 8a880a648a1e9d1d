"""Full-domain anonymisation: against ARX on the very same input, and on large lattices.

ARX is run if `UNVEIL_ARX_JAR` gives the path of its jar. Without it, times that were taken once, on two cores of a virtual
machine, are used for orientation.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

import unveil
from benchmarks.arx import Arx, ArxError, ArxRequest, Required, Searched, given_jar
from benchmarks.memory import peak
from benchmarks.rows import Row, at_most, faster, not_measured
from benchmarks.timing import best_of
from unveil.counts import count_table
from unveil.models import EntropyLDiversity, KAnonymity, TCloseness
from unveil.search.lattice.full_domain import SearchResult
from unveil.search.lattice.generalisation import Lattice
from unveil.search.lattice.space import Space, key_attributes
from unveil.search.request import Request, request_of, wanted_of
from unveil.sources import load
from unveil.time_limit import SearchBudget

FOLDER = Path(os.environ.get("UNVEIL_ARX_ADULT", "../shared/data/arx-adult"))
"""The folder of ARX's Adult example, with its hierarchies."""
KEYS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
THIRTEEN = [
    "age", "education-num", "hours-per-week", "capital-gain", "capital-loss", "workclass", "education", "marital-status",
    "occupation", "relationship", "race", "sex", "native-country",
]  # fmt: skip
"""The key attributes of the large lattices."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    if not (FOLDER / "adult.csv").exists():
        return [not_measured("anonymisation against ARX", "its example data is not on this machine")]
    return [*against_arx(), evaluations(), *large_lattice()]


@dataclass(frozen=True, slots=True)
class Case:
    """A job, ARX's processor seconds as they were taken once, and how many times faster we want to be.

    ARX's time begins when the values of the table are coded. So does ours if `coded` is set; otherwise our time includes coding.
    """

    what: str
    request: ArxRequest
    recorded: float
    goal: float
    coded: bool = False

    @property
    def runs(self) -> int:
        """How often to measure."""
        return 15 if self.request.data.height < 100_000 else 3


def against_arx() -> list[Row]:
    """Run the cases; if the jar of ARX is named, run ARX on each too."""
    jar = given_jar()
    if jar is None:
        return [_against_recorded(at, case) for at, case in enumerate(cases(), 1)]
    try:
        arx = Arx.of(jar)
    except ArxError as error:
        return [not_measured("anonymisation against ARX", str(error))]
    return [_against_run(arx, at, case) for at, case in enumerate(cases(), 1)]


def cases() -> list[Case]:
    """Return the jobs."""
    data = pl.read_csv(FOLDER / "adult.csv", separator=";")
    million, sensitive = adult_like(data, 1_000_000), "occupation"

    def of(table: pl.DataFrame, *models: Required, keys: Sequence[str] = KEYS, share: float = 0.04) -> ArxRequest:
        return ArxRequest(table, f"{FOLDER}/adult_hierarchy_", keys, [KAnonymity(5), *models], share)

    far, same = TCloseness(sensitive, 0.2, "hierarchical"), TCloseness(sensitive, 0.2, "equal")
    return [
        Case("Adult, 8 keys, k=5, 4 %", of(data), 0.240, 3),
        Case("Adult, 8 keys, k=5, entropy l=3, 4 %", of(data, EntropyLDiversity(sensitive, 3)), 0.400, 3),
        Case("Adult, 8 keys, k=5, t=0.2 hierarchical, 4 %", of(data, far), 0.805, 3),
        Case("Adult, 9 keys, k=5, 4 %", of(data, keys=[*KEYS, sensitive]), 1.000, 3),
        Case("Adult, 8 keys, k=5, no suppression", of(data, share=0.0), 0.018, 1),
        Case("Adult, 8 keys, k=5, no suppression, coded data", of(data, share=0.0), 0.018, 2, coded=True),
        Case("Adult, 8 keys, k=5, t=0.2 equal, no suppression, coded data", of(data, same, share=0.0), 0.020, 2, coded=True),
        Case(
            "Adult, 8 keys, k=5, t=0.2 hierarchical, no suppression, coded data", of(data, far, share=0.0), 0.030, 2, coded=True
        ),
        Case("1 million records, 8 keys, k=5, t=0.2 hierarchical, 4 %", of(million, far), 11.4, 10),
        Case("1 million records, 8 keys, k=5, t=0.2 equal, 4 %", of(million, same), 14.6, 10),
    ]


def _against_recorded(number: int, case: Case) -> Row:
    job = f"anonymise {case.what}, against ARX's time on such a machine"
    return faster(job, _timed(case)[0], case.recorded, against=f"ARX*: case {number}", least=case.goal)


def _against_run(arx: Arx, number: int, case: Case) -> Row:
    job = f"anonymise {case.what}, against ARX"
    seconds, best = _timed(case)
    try:
        theirs = arx.searched(case.request, case.runs)
    except ArxError as error:
        return not_measured(job, str(error))
    row = faster(job, seconds, theirs.seconds, against=f"ARX: case {number}", least=case.goal)
    return replace(row, measured=row.measured + difference(case.request, best, theirs))


def difference(request: ArxRequest, best: SearchResult, theirs: Searched) -> str:
    """Say how the loss of ARX differs, and check that the reason is known; nothing if both find the same.

    ARX rounds the loss of each attribute. Two flaws of 3.9.2 are known: it rejects some classes whose entropy l is just the one
    required, and its hierarchical distance multiplies counts as 32-bit integers, which can overflow from 46,341 records on.
    """
    assert best.optimal
    if math.isclose(best.score, theirs.score, rel_tol=1e-7):
        return ""
    if theirs.score > best.score:
        assert any(isinstance(model, EntropyLDiversity) for model in request.models), theirs
        return f"; ARX rejects ties, and suppresses {theirs.suppressed:,} records for {best.suppressed:,}"
    assert any(isinstance(model, TCloseness) and model.distance == "hierarchical" for model in request.models), theirs
    assert searching(request, theirs.fixed)().node is None, theirs
    return "; ARX's release is not t-close: its distance overflows"


def _timed(case: Case) -> tuple[float, SearchResult]:
    """Return the best processor time of coding, counting and searching, and the result; coding may be done beforehand.

    The table is in memory and the kernels are compiled. Applying the result is not timed for either tool.
    """
    search = searching(case.request, coded=case.coded)
    best = search()
    return best_of(case.runs, search).processor, best


def searching(
    request: ArxRequest,
    levels: Mapping[str, tuple[int, int]] | None = None,
    *,
    coded: bool = False,
    budget: SearchBudget | None = None,
) -> Callable[[], SearchResult]:
    """Return our search for the same request; its data is coded beforehand if that is requested, else in each search."""
    sensitive = [model.attribute for model in request.models if not isinstance(model, KAnonymity)]
    trees = {name: unveil.Hierarchy.read(f"{request.hierarchies}{name}.csv") for name in (*request.keys, *sensitive)}

    def counted() -> Request:
        return request_of(wanted_of(request.data, request.keys, request.models, hierarchies=trees))

    known = counted() if coded else None
    return lambda: Lattice.of(known or counted(), suppression=request.share, levels=levels).searched(budget)


def adult_like(data: pl.DataFrame, records: int, seed: int = 0) -> pl.DataFrame:
    """Resample with replacement and redraw each cell from its column with probability 0.1."""
    random = np.random.default_rng(seed)
    drawn = data[random.integers(0, data.height, records)]
    for name in data.columns:
        other = data[name][random.integers(0, data.height, records)]
        fresh = pl.Series(random.random(records) < 0.1)
        drawn = drawn.with_columns(pl.when(fresh).then(other).otherwise(pl.col(name)).alias(name))
    made: pl.DataFrame = drawn.rechunk()
    return made


def evaluations() -> Row:
    """Make the classes of every node of the 9-attribute lattice and count the records in small ones."""
    keys = [*KEYS, "occupation"]
    size = _evaluate_all(keys)
    rate = size / best_of(3, lambda: _evaluate_all(keys)).processor
    what = f"k-anonymity of all {size:,} nodes of a 9-attribute lattice"
    return Row(what, f"{rate:,.0f} a second", rate, "30,000 a second", rate >= 30_000, "higher", unit="a second")


def _evaluate_all(keys: Sequence[str]) -> int:
    space = _space(pl.read_csv(FOLDER / "adult.csv", separator=";"), keys)
    if space.survey(5) is None:
        raise RuntimeError("the keys are too wide for a survey")
    return space.size


def _space(data: pl.DataFrame, keys: Sequence[str]) -> Space:
    counts = count_table(load(data, list(keys)))
    return Space(counts, key_attributes(counts, unveil.Hierarchy.read_folder(FOLDER, keys)))


def large_lattice() -> list[Row]:
    """Search ten million generalisations for ten seconds, in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.search"], check=True, capture_output=True, text=True)
    nodes, seconds, first, gigabytes, score = done.stdout.split()
    what, loss = f"lattice of {int(nodes):,} nodes", f"loss {float(score):.3f} after {float(seconds):.0f} s"
    return [
        at_most(f"{what}, wall time to a first solution", float(first), 10, "s", note=loss),
        at_most(f"{what}, memory", float(gigabytes), 2, "GB"),
    ]


def _large() -> None:
    adult = unveil.datasets.adult()
    trees = {name: unveil.propose_hierarchy(adult, name).hierarchy for name in THIRTEEN}
    began = time.perf_counter()
    unveil.anonymize(adult, trees, [KAnonymity(5)], suppression=0.04, node_limit=200)
    first = time.perf_counter() - began
    release = unveil.anonymize(adult, trees, [KAnonymity(5)], suppression=0.04, time_limit=10)
    whole = time.perf_counter() - began - first
    print(release.lattice, whole, first, peak() / 1e9, release.score)


if __name__ == "__main__":
    _large()
