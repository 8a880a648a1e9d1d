"""Tables of 66,000 and 97,000 cells, suppressed by elimination and audited, each against its goal."""

from __future__ import annotations

import numpy as np

from benchmarks.rows import Row, at_most
from benchmarks.tables import SEED, cube, problem_of, timed
from unveil.results import Provenance
from unveil.tables import CrossTable
from unveil.tables.cells import rolled_up
from unveil.tables.classification import Classification
from unveil.tables.disclosure import given_away
from unveil.tables.findings import audited
from unveil.tables.problem import Aim, posed
from unveil.tables.rules import rules_of
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.lp import mended


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*very_large(), linked()]


def very_large() -> list[Row]:
    """Suppress a table of about 97,000 cells, and certify that nothing can be computed exactly."""
    problem = problem_of(cube(45, 3, 25))
    spent, pattern = timed(lambda: by_elimination(problem))
    assert not given_away(problem, pattern)
    audit, _ = timed(lambda: audited(problem, pattern, depth="enough"))
    return [at_most("gauss, 97,336 cells, certified", spent, 60, "s"), at_most("audit of 97,336 cells", audit, 600, "s")]


def linked() -> Row:
    """Suppress two linked tables of 42,025 and 25,215 cells in one model, and attack the result."""
    chance = np.random.default_rng(SEED)
    sizes = {"a": 40, "b": 40, "c": 24, "d": 14}
    spans = tuple(Classification.flat(name, [f"{name}{at}" for at in range(size)]) for name, size in sizes.items())
    inner = chance.negative_binomial(0.05, 0.05 / 2.05, tuple(sizes.values()))
    n = rolled_up(spans, inner).ravel()
    place = np.arange(inner.size).reshape(inner.shape)
    holder = np.where(n == 1, rolled_up(spans, inner * place).ravel(), -1)
    shown = np.zeros([len(one) for one in spans], dtype=bool)
    shown[:, :, :, spans[3].root] = shown[:, :, spans[2].root, :] = True
    table = CrossTable(spans, n, n, holder=holder, shown=shown.ravel(), made=Provenance(int(inner.sum()), "category"))
    problem = posed(table, rules_of("threshold=3"), Aim()).with_cost(n[table.cells].astype(np.float64))
    spent, audit = timed(lambda: mended(problem, by_elimination(problem), "enough")[1])
    assert audit.safe
    return at_most(f"gauss and audit of two linked tables, {len(problem):,} cells in one model", spent, 600, "s")
