"""Jobs of sdcMicro's users, against sdcMicro itself if R has it. A program of our own runs it in a process of its own.

If R or the package is missing, times that were taken once, on two cores of a virtual machine, are used for orientation.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, faster, not_measured
from benchmarks.timing import steady
from unveil import mechanisms
from unveil.attacks import interval_disclosure
from unveil.measures.special_uniqueness import SpecialUniques, special_uniqueness

__all__ = ["Case", "Ran", "SdcMicro", "SdcMicroError", "against_sdcmicro", "cases", "households", "run"]

_PROGRAM = Path(__file__).with_name("SdcMicroRun.R")
_NUMBERS = ["age", "fnlwgt", "education-num", "hours-per-week"]
_KEYS = ["age", "education", "marital-status", "race", "sex", "native-country", "workclass"]
_FEW = ["education", "marital-status", "race", "sex", "workclass"]
_MANY = [*_KEYS, "occupation", "relationship", "hours-per-week"]


class SdcMicroError(Exception):
    """sdcMicro cannot be run; the message says why, in words for a row."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of sdcMicro: the processor seconds of a call, figures of its answer, and whether it finished."""

    seconds: float
    figures: tuple[float, ...] = ()
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """A job for both.

    Attributes
    ----------
    what, label
        The row's name, and the label of the chart.
    ours
        Our call, without arguments.
    recorded
        sdcMicro's processor seconds as they were taken once.
    job, columns, options
        What the program is to do.
    table
        The table it reads; none: Adult.
    release
        A second table, for jobs that compare two.
    goal
        How many times faster we want to be.
    runs
        How often to measure.
    limit
        Processor seconds after which sdcMicro is stopped.
    compared
        What to say about our answer beside its figures; it fails if both should agree and do not.
    """

    what: str
    label: str
    ours: Callable[[], Any]
    recorded: float
    job: str
    columns: Sequence[str]
    options: Sequence[object] = ()
    table: pl.DataFrame | None = None
    release: pl.DataFrame | None = None
    goal: float = 1
    runs: int = 5
    limit: int = 600
    compared: Callable[[Any, Sequence[float]], str] | None = None


@dataclass(frozen=True, slots=True)
class SdcMicro:
    """R, with sdcMicro in one of its libraries."""

    program: str
    library: str

    @classmethod
    def found(cls) -> SdcMicro | None:
        """Return R if it has sdcMicro, in its own libraries or in the one that `UNVEIL_R_LIBRARY` names; else None.

        Raises
        ------
        SdcMicroError
            If a library is named, and sdcMicro cannot be run from it.
        """
        named, program = os.environ.get("UNVEIL_R_LIBRARY", ""), shutil.which("Rscript")
        if program is None:
            if named:
                raise SdcMicroError("R is needed to run sdcMicro: Rscript is not there")
            return None
        r = cls(program, named)
        try:
            r.printed("-e", "invisible(packageVersion('sdcMicro'))", limit=60)
        except SdcMicroError:
            if named:
                raise SdcMicroError("there is no sdcMicro in the library that UNVEIL_R_LIBRARY names") from None
            return None
        return r

    def ran(self, case: Case) -> Ran:
        """Run a job; one that lasts longer than its limit is stopped.

        Raises
        ------
        SdcMicroError
            If sdcMicro stops with an error.
        """
        with TemporaryDirectory() as folder:
            table = _written(unveil.datasets.adult() if case.table is None else case.table, Path(folder, "table.csv"))
            options = [_plain(str(option)) for option in case.options]
            if case.release is not None:
                options.insert(0, _written(case.release, Path(folder, "release.csv")))
            columns = _plain(",".join(case.columns))
            lines = self.printed(str(_PROGRAM), table, case.job, str(case.runs), columns, *options, limit=case.limit)
        if lines is None:
            return Ran(case.limit, finished=False)
        seconds, *figures = map(float, lines[-1].split())
        return Ran(seconds, tuple(figures))

    def printed(self, *arguments: str, limit: int) -> list[str] | None:
        """Return the lines that R prints; None if it was stopped. If it fails, show its first line of error, and raise."""
        libraries = os.pathsep.join(filter(None, [self.library, os.environ.get("R_LIBS", "")]))
        command = ["/bin/sh", "-c", 'ulimit -t "$0"; exec "$@"', str(limit), self.program, "--vanilla", *arguments]
        environment = {**os.environ, "R_LIBS": libraries}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)  # noqa: S603
        if done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
            return None
        if done.returncode != 0:
            print(f"sdcMicro: {[*done.stderr.strip().splitlines(), 'stopped'][0]}", file=sys.stderr)
            raise SdcMicroError("sdcMicro stopped with an error")
        return done.stdout.splitlines()


def _written(table: pl.DataFrame, path: Path) -> str:
    """Write a table with names that R's formulas can hold."""
    table.rename({name: _plain(name) for name in table.columns}).write_csv(path)
    return str(path)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def run() -> list[Row]:
    """Run all benchmarks of this part, with the compiler loaded, as in a process that has been used before."""
    importlib.import_module("numba")
    return against_sdcmicro(list(cases()))


def against_sdcmicro(jobs: Sequence[Case]) -> list[Row]:
    """Run the jobs, beside sdcMicro's if R has it."""
    try:
        r = SdcMicro.found()
    except SdcMicroError as error:
        return [not_measured("jobs against sdcMicro", str(error))]
    return [_against_recorded(case) if r is None else _against_run(r, case) for case in jobs]


def _against_recorded(case: Case) -> Row:
    case.ours()
    job = f"{case.what}, against sdcMicro's time on such a machine"
    return faster(job, steady(case.runs, case.ours), case.recorded, against=f"sdcMicro*: {case.label}", least=case.goal)


def _against_run(r: SdcMicro, case: Case) -> Row:
    """Measure our call, then theirs."""
    made, job = case.ours(), f"{case.what}, against sdcMicro"
    seconds = steady(case.runs, case.ours)
    try:
        theirs = r.ran(case)
    except SdcMicroError as error:
        return not_measured(job, str(error))
    row = faster(job, seconds, theirs.seconds, against=f"sdcMicro: {case.label}", least=case.goal, finished=theirs.finished)
    return row if case.compared is None else replace(row, measured=row.measured + case.compared(made, theirs.figures))


def cases() -> Iterator[Case]:
    """Return the jobs."""
    adult = unveil.datasets.adult()
    yield from _of_numbers(adult)
    yield from _of_categories(adult)
    yield from _of_risks(adult)
    yield from _of_releases(adult)


def _of_numbers(adult: pl.DataFrame) -> Iterator[Case]:
    """Mask four numeric attributes, alone or in the whole table, whose other columns are then screened for names."""
    four = adult[_NUMBERS]
    for table, what in ((four, "alone"), (adult, "and 11 more screened for names, which sdcMicro does not do")):
        ours = partial(mechanisms.add_noise, table, _NUMBERS)
        yield Case(f"noise on four columns of Adult, {what}", "noise", ours, 0.0043, "noise", _NUMBERS, [0.5], runs=10)
    for k, recorded in ((3, 2.48), (5, 1.49)):
        ours = partial(mechanisms.microaggregate, four, _NUMBERS, k=k)
        what = f"MDAV, refined, k = {k}, of 30,162 x 4"
        yield Case(what, "MDAV", ours, recorded, "microaggregation", _NUMBERS, [k], goal=3, runs=2, compared=_spread)
    ours = partial(mechanisms.rank_swap, four, _NUMBERS, window=2)
    yield Case("rank swapping of 30,162 x 4, window of 2 %", "rank swapping", ours, 0.36, "rank_swapping", _NUMBERS, [2])
    moved, given = ["age", "hours-per-week"], ["fnlwgt", "education-num"]
    ours = partial(mechanisms.shuffle, adult, moved, given=given)
    yield Case("shuffling of two columns of Adult, given two", "shuffling", ours, 0.16, "shuffling", moved, [",".join(given)])


def _of_categories(adult: pl.DataFrame) -> Iterator[Case]:
    """Mask or suppress categories, and swap households."""
    ours = partial(mechanisms.pram, adult, "education", retention=0.8, invariant=True)
    yield Case("invariant PRAM of a column of Adult", "PRAM", ours, 0.11, "pram", ["education"], [0.8])
    for keys, recorded, limit in ((_FEW, 1.55, 600), ([*_FEW, "native-country"], 7.0, 600), (_KEYS, 120.0, 120)):
        what, ours = f"local suppression, k = 3, of Adult x {len(keys)}", partial(unveil.suppress_locally, adult, keys, 3)
        label = f"suppression x {len(keys)}"
        yield Case(what, label, ours, recorded, "suppression", keys, [3], goal=10, runs=2, limit=limit, compared=_cells_and_k)
    distinct = adult.select(_KEYS).unique(maintain_order=True).head(1000)
    what, ours = "nulls that make 1,000 records x 7 alike in pairs", partial(unveil.suppress_locally, distinct, _KEYS, 2)
    yield Case(what, "pairs", ours, 1.1, "recoding", _KEYS, table=distinct, compared=_cells)
    people, places = households(), ["region", "district"]
    moving = {"household": "household", "similar": "size", "risk": ["age", "race"], "k": 3, "share": 0.05}
    ours = partial(mechanisms.swap_households, people, places, **moving)
    what, options = "record swapping of households at risk", ["size", "age,race", 3, 0.05]
    yield Case(what, "record swapping", ours, 0.084, "record_swapping", places, options, people, compared=_moved)


def _of_risks(adult: pl.DataFrame) -> Iterator[Case]:
    """Count classes, estimate risks and search special uniques."""
    ours: Callable[[], Any] = partial(unveil.measure, adult, _KEYS)
    yield Case("class sizes and risks of Adult x 7", "class sizes", ours, 0.021, "frequencies", _KEYS, compared=_uniques)
    ours, what = (
        partial(unveil.measure, adult, _KEYS, weights="fnlwgt"),
        "class sizes and individual risks of Adult x 7, weighted",
    )
    yield Case(what, "individual risk", ours, 0.02, "frequencies", _KEYS, ["fnlwgt"], compared=_uniques)
    for keys, recorded in ((_KEYS, 0.068), (_MANY, 0.36)):
        what, ours = f"SUDA on {len(keys)} attributes of Adult", partial(_special, adult, keys)
        yield Case(what, f"SUDA x {len(keys)}", ours, recorded, "special_uniques", keys, compared=_scores)
    what, ours = (
        "log-linear model of population uniques, Adult x 5",
        partial(unveil.measure, adult, _FEW, weights="fnlwgt", loglinear=1),
    )
    yield Case(what, "log-linear", ours, 0.059, "loglinear", _FEW, ["fnlwgt", "default"])


def _of_releases(adult: pl.DataFrame) -> Iterator[Case]:
    """Compare four disturbed columns with the original ones."""
    four = adult[_NUMBERS]
    noisy = mechanisms.add_noise(four, _NUMBERS, keep_order=True, seed=0).data
    ours: Callable[[], Any] = partial(interval_disclosure, four, noisy, method="deviation", widths=0.05)
    what = "interval disclosure of 30,162 x 4, beside what chance discloses"
    yield Case(what, "interval disclosure", ours, 0.01, "disclosure", _NUMBERS, release=noisy)
    ours = partial(unveil.loss, four, noisy, same_order=True)
    yield Case("losses of 30,162 x 4", "losses", ours, 0.1, "utility", _NUMBERS, release=noisy, compared=_losses)


def _special(adult: pl.DataFrame, keys: Sequence[str]) -> SpecialUniques:
    return special_uniqueness(unveil.count(adult, keys), keys)


def _spread(made: Any, theirs: Sequence[float]) -> str:
    return f"; {100 * made.figures['loss']:.2f} % of the spread lost, there {theirs[0]:.2f} %"


def _cells(made: Any, theirs: Sequence[float]) -> str:
    return f"; {made.details['cells']:,} cells, there {theirs[0]:,.0f}"


def _cells_and_k(made: Any, theirs: Sequence[float]) -> str:
    """Compare the suppressed cells: ours make k hold against someone who knows the truth, theirs only within the release."""
    ours = f"; {made.details['cells']:,} cells for k = {made.k_known} against those who know the truth"
    return f"{ours}, there {theirs[0]:,.0f} for k = 3 in the release" if theirs else ours


def _moved(made: Any, theirs: Sequence[float]) -> str:
    return f"; {made.figures['swapped']:,} of {made.figures['households']:,} moved, there {theirs[0]:,.0f}"


def _uniques(made: Any, theirs: Sequence[float]) -> str:
    assert made.to_dict()["uniqueness"]["sample"]["uniques"] == theirs[0], theirs
    return ""


def _scores(made: SpecialUniques, theirs: Sequence[float]) -> str:
    assert [np.count_nonzero(made.score), made.score.sum()] == list(theirs), theirs
    return ""


def _losses(made: Any, theirs: Sequence[float]) -> str:
    figures = made.to_dict()["continuous"]
    cells = figures["data"]["cells"]
    ours = (
        100 * cells * figures["data"]["variation"],
        cells * figures["il1s"],
        len(_NUMBERS) * figures["eigenvalues"]["variation"],
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    return ""


def households(seed: int = 0) -> pl.DataFrame:
    """Return Adult's people in households of one to six, in 15 districts of three regions."""
    random, adult = np.random.default_rng(seed), unveil.datasets.adult().select("age", "race")
    size = random.integers(1, 7, adult.height)
    home = np.repeat(np.arange(adult.height), size)[: adult.height]
    district = random.integers(0, 15, adult.height)[home]
    places = {"household": home, "region": district // 5, "district": district}
    placed = adult.with_columns(pl.Series(name, codes) for name, codes in places.items())
    table: pl.DataFrame = placed.with_columns(size=pl.len().over("household"))
    return table
