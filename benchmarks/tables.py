"""Tables: audit, suppression and rounding at the sizes that people publish, each against its goal."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.rows import Row, at_most, slower
from benchmarks.timing import best_of
from unveil import tables
from unveil.results import Provenance
from unveil.tables import CrossTable
from unveil.tables.cells import rolled_up
from unveil.tables.classification import Classification
from unveil.tables.findings import audited
from unveil.tables.problem import Aim, CellProblem, posed
from unveil.tables.rules import rules_of
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.lp import by_flows
from unveil.tables.suppression.optimal import optimum

SEED = 20240229


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*audits(), *suppressions(), optimum_of_counts(), *roundings(), cube_of_parquet()]


def cube(side: int, dimensions: int, mean: float, *, spread: float = 1.0) -> CrossTable:
    """Return a table of counts drawn once, with its margins."""
    chance = np.random.default_rng(SEED)
    names = [f"c{at}" for at in range(side)]
    spans = tuple(Classification.flat(f"d{at}", names) for at in range(dimensions))
    inner = chance.negative_binomial(spread, spread / (spread + mean), (side,) * dimensions)
    n = rolled_up(spans, inner).ravel()
    place = np.arange(inner.size).reshape(inner.shape)
    holder = np.where(n == 1, rolled_up(spans, inner * place).ravel(), -1)
    return CrossTable(spans, n, n, holder=holder, made=Provenance(int(inner.sum()), "category"))


def problem_of(table: CrossTable, insiders: Any = "singletons") -> CellProblem:
    """Return the problem of cells below three."""
    return posed(table, rules_of("threshold=3"), Aim(insiders=insiders)).with_cost(table.n.astype(np.float64))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of one run, and its result."""
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def audits() -> list[Row]:
    """Audit patterns of suppression: what outsiders can compute, until every sensitive cell is decided."""
    small = cube(10, 3, 3)
    chance = np.random.default_rng(SEED)
    rows = []
    for share in (0.3, 0.5):
        problem = problem_of(small, "none")
        suppressed: NDArray[np.bool_] = problem.primary | ((chance.random(len(problem)) < share) & (problem.value > 0))
        spent = best_of(3, partial(audited, problem, suppressed, depth="enough")).processor
        rows.append(at_most(f"audit of 1,331 cells, {int(suppressed.sum())} suppressed", spent, 0.5, "s"))
    large = problem_of(cube(20, 3, 25), "none")
    pattern = by_elimination(large)
    spent, _ = timed(lambda: audited(large, pattern, depth="enough"))
    rows.append(at_most(f"audit of 9,261 cells, {int(pattern.sum())} suppressed", spent, 30, "s"))
    return rows


def suppressions() -> list[Row]:
    """Suppress cells below three, insiders included."""
    gauss = problem_of(cube(16, 3, 20))
    small, large, outside = problem_of(cube(10, 3, 5)), problem_of(cube(20, 3, 25)), problem_of(cube(20, 3, 25), "none")
    return [
        at_most("gauss, 4,913 cells", best_of(3, lambda: by_elimination(gauss)).processor, 1, "s"),
        at_most("lp, 1,331 cells", best_of(3, lambda: by_flows(small)).processor, 5, "s"),
        at_most("lp, 9,261 cells", timed(lambda: by_flows(large))[0], 120, "s"),
        at_most("lp, 9,261 cells, no insiders", timed(lambda: by_flows(outside))[0], 120, "s"),
    ]


def optimum_of_counts() -> Row:
    """Prove the cheapest pattern of a table of 20 x 20 with 20 sensitive cells."""
    chance = np.random.default_rng(SEED)
    table = cube(20, 2, 40)
    problem = posed(table, (), Aim(insiders="none", attacker="0%:200%", width=0), primary=_chosen(table, chance, 20))
    level = np.where(problem.primary, 0.15 * problem.value, 0.0)
    protected = replace(problem, down=level, up=level, cost=problem.value + 1)
    spent, best = timed(lambda: optimum(protected, time_limit=120))
    return at_most("optimum of 20 x 20 with 20 sensitive cells", spent, 30, "s", note=f"gap {best.gap:.4f}")


def _chosen(table: CrossTable, chance: np.random.Generator, number: int) -> NDArray[np.bool_]:
    """Draw sensitive inner cells."""
    side = len(table.dimensions[0])
    inner = [row * side + column for row in range(1, side) for column in range(1, side) if table.n[row * side + column] > 0]
    marked = np.zeros(len(table.n), dtype=bool)
    marked[chance.choice(inner, number, replace=False)] = True
    return marked


def roundings() -> list[Row]:
    """Round to base 5, controlled."""
    small, large = cube(10, 3, 7), cube(20, 3, 7)
    return [
        at_most("controlled rounding, 10 x 10 x 10", timed(lambda: tables.round_table(small))[0], 5, "s"),
        at_most("controlled rounding, 20 x 20 x 20", timed(lambda: tables.round_table(large))[0], 60, "s"),
    ]


def cube_of_parquet(records: int = 10_000_000) -> Row:
    """Make a table of six dimensions from a Parquet file, against DuckDB's own cube of it."""
    import duckdb

    sizes = (2, 4, 5, 6, 8, 10)
    chance = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "records.parquet")
        columns = {f"d{at}": chance.integers(0, size, records, dtype=np.int64) for at, size in enumerate(sizes)}
        pl.DataFrame(columns).write_parquet(file)
        names = list(columns)
        question = f"SELECT {', '.join(names)}, count(*) FROM '{file}' GROUP BY CUBE ({', '.join(names)})"
        mine = best_of(3, lambda: tables.table(file, names))
        theirs = best_of(3, lambda: duckdb.execute(question).fetchnumpy())
    what = f"table of 6 dimensions of {records // 1_000_000} million records of Parquet"
    return slower(what, mine.processor, theirs.processor, against="DuckDB's own cube", most=2)
