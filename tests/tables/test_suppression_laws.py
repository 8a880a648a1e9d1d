"""Laws of suppression on small tables, against brute force and an independent program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import unveil
from unveil.errors import TableError
from unveil.tables import Apriori
from unveil.tables.disclosure import given_away
from unveil.tables.findings import audited
from unveil.tables.flows import Shortcuts, tasks_of
from unveil.tables.problem import Aim, CellProblem, posed
from unveil.tables.rules import rules_of
from unveil.tables.suppression.cuts import CutMaker
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.kernel import Kernel, dearest
from unveil.tables.suppression.lp import by_flows, mended
from unveil.tables.suppression.optimal import optimum
from unveil.tables.suppression.pool import thinned_by_pool

BY_HAND = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
COUNT: dict[str, Any] = {"on": "count", "width": 1.0}


def records(counts: np.ndarray[Any, Any]) -> pl.DataFrame:
    """One record for each count of a table of any number of dimensions."""
    places = np.argwhere(counts > 0)
    rows = np.repeat(places, counts[tuple(places.T)], axis=0)
    return pl.DataFrame({f"d{at}": [f"{chr(97 + at)}{one}" for one in rows[:, at]] for at in range(rows.shape[1])})


def problem_of(counts: np.ndarray[Any, Any], rules: str = "threshold=3", **aim: Any) -> CellProblem:
    table = unveil.table(records(counts), [f"d{at}" for at in range(counts.ndim)])
    return posed(table, rules_of(rules), Aim(**{"insiders": "none", **aim}))


def interval(
    problem: CellProblem, suppressed: np.ndarray[Any, Any], cell: int, known: tuple[int, ...] = ()
) -> tuple[float, float]:
    """The attacker's interval straight from the definition, by scipy."""
    unknown = [at for at in np.flatnonzero(suppressed).tolist() if at not in known]
    matrix = problem.equations[:, unknown].toarray()
    right = matrix @ problem.value[unknown]
    bounds = [(problem.lower[at], None if np.isinf(problem.upper[at]) else problem.upper[at]) for at in unknown]
    cost = np.array([float(at == cell) for at in unknown])
    low, high = (linprog(sign * cost, A_eq=matrix, b_eq=right, bounds=bounds) for sign in (1, -1))
    return float(low.fun), float("inf") if high.status == 3 else float(-high.fun)


def as_defined(problem: CellProblem, cell: int, low: float, high: float) -> bool:
    """Whether an interval protects: it reaches both levels and the width, and is no single point."""
    value, near = problem.value[cell], 1e-6
    if low > value - problem.down[cell] + near or high < value + problem.up[cell] - near:
        return False
    return bool(high - low >= problem.width[cell] - near and high - low > near)


def safe(problem: CellProblem, suppressed: np.ndarray[Any, Any]) -> bool:
    """Whether every sensitive cell is as open as it needs to be, for outsiders and for every insider."""
    for cell in np.flatnonzero(problem.primary).tolist():
        for known in [(), *(tuple(some.tolist()) for some in problem.insiders if cell not in some)]:
            low, high = interval(problem, suppressed, cell, known)
            if not as_defined(problem, cell, low, high):
                return False
    return True


counts_2d = st.lists(st.integers(0, 9), min_size=9, max_size=9).map(lambda some: np.array(some).reshape(3, 3))
counts_3d = st.lists(st.integers(0, 6), min_size=18, max_size=18).map(lambda some: np.array(some).reshape(3, 3, 2))


@pytest.mark.parametrize(
    ("down", "up", "least"), [(6, 8, 59), (10, 10, 85), (15, 15, 123), (22, 22, 140)], ids=["6-8", "10", "15", "22"]
)
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_example_by_hand(down: float, up: float, least: float, solver: str) -> None:
    problem = problem_of(BY_HAND, attacker="0:1e6", width=0)
    primary = np.zeros(len(problem), dtype=bool)
    primary[2 * 4 + 3] = True
    asked = replace(
        problem,
        primary=primary,
        down=np.where(primary, down, 0.0),
        up=np.where(primary, up, 0.0),
        width=np.zeros(len(problem)),
    )
    best = optimum(asked.with_cost(problem.value), solver=solver)
    assert (best.cost, best.bound) == (least, least)
    assert optimum(asked, solver=solver).cost == 4


def test_intervals_of_the_example_by_hand() -> None:
    problem = problem_of(BY_HAND)
    suppressed = np.zeros(16, dtype=bool)
    suppressed[[9, 11, 13, 15]] = True
    found = audited(problem, suppressed)
    assert found.low.round(6).tolist() == [0, 5, 0, 4]
    assert found.high.round(6).tolist() == [25, 30, 25, 29]


@given(counts_3d, st.integers(0, 2**32 - 1))
def test_intervals_are_those_of_the_definition(counts: np.ndarray[Any, Any], seed: int) -> None:
    if counts.sum() == 0:
        return
    problem = problem_of(counts)
    suppressed = (np.random.default_rng(seed).random(len(problem)) < 0.4) & (problem.value > 0)
    found = audited(problem, suppressed)
    for at, cell in enumerate(found.suppressed.tolist()):
        low, high = interval(problem, suppressed, cell)
        assert found.low[at] == pytest.approx(low, abs=1e-5)
        assert found.high[at] == pytest.approx(high, abs=1e-5) or (np.isinf(high) and np.isinf(found.high[at]))


@given(counts_3d, st.integers(0, 2**32 - 1))
def test_the_audit_finds_what_insiders_can_compute(counts: np.ndarray[Any, Any], seed: int) -> None:
    if counts.sum() == 0:
        return
    problem = problem_of(counts, insiders="singletons")
    chance = np.random.default_rng(seed)
    suppressed = problem.primary | ((chance.random(len(problem)) < 0.5) & (problem.value > 0))
    assert audited(problem, suppressed).safe == safe(problem, suppressed)


@pytest.mark.parametrize("corners_up_to", [0, 1_000], ids=["inside", "corners"])
@given(counts=counts_3d, seed=st.integers(0, 2**32 - 1))
def test_an_audit_that_only_decides_finds_the_same_by_points_inside_and_by_corners(
    corners_up_to: int, counts: np.ndarray[Any, Any], seed: int
) -> None:
    if counts.sum() == 0:
        return
    problem = problem_of(counts, insiders="singletons")
    suppressed = problem.primary | ((np.random.default_rng(seed).random(len(problem)) < 0.7) & (problem.value > 0))
    found = audited(problem, suppressed, depth="enough", corners_up_to=corners_up_to)
    for at, cell in enumerate(found.suppressed[:5].tolist()):
        low, high = interval(problem, suppressed, cell)
        assert low - 1e-6 <= found.low[at] <= found.high[at] <= high + 1e-6
    assert found.safe == safe(problem, suppressed)


@settings(max_examples=15)
@given(counts_2d, st.sampled_from(["none", "singletons"]))
def test_every_method_is_safe_and_none_beats_the_optimum(counts: np.ndarray[Any, Any], insiders: Any) -> None:
    if counts.sum() == 0:
        return
    table = unveil.table(records(counts), ["d0", "d1"])
    try:
        best = table.suppress("threshold=3", method="optimal", insiders=insiders, **COUNT)
    except TableError:
        return
    for method in ("lp", "gauss"):
        other = table.suppress("threshold=3", method=method, insiders=insiders, **COUNT)
        assert other.safe
        assert best.cost <= other.cost + 1e-9
    problem = posed(table, rules_of("threshold=3"), Aim(insiders=insiders, **COUNT))
    assert safe(problem, best.suppressed[problem.cells])


def least_of_all(problem: CellProblem) -> float:
    """What the cheapest safe pattern costs, by trying all of them, the cheapest first."""
    free = np.flatnonzero(~problem.primary & ~problem.fixed)
    some = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1
    patterns = np.repeat(problem.primary[None, :], len(some), axis=0)
    patterns[:, free] = some.astype(bool)
    for row in problem.equations:  # a sensitive cell that is alone in an equation is known: no need of a linear program
        cells = row.indices
        alone = patterns[:, cells].sum(axis=1) == 1
        patterns = patterns[~(alone & (patterns[:, cells] & problem.primary[cells]).any(axis=1))]
    for at in np.argsort(patterns @ problem.cost, kind="stable").tolist():
        if safe(problem, patterns[at]):
            return float(problem.cost[patterns[at]].sum())
    raise AssertionError("nothing protects this table")


TRIED = [
    [[3, 7], [9, 2]],
    [[1, 8, 5], [6, 2, 9]],
    [[1, 5, 8], [4, 2, 7], [9, 6, 3]],
    [[2, 4, 4], [5, 1, 6], [3, 7, 9]],
    [[5, 5, 1], [1, 8, 4], [6, 3, 7]],
    [[0, 4, 2], [6, 3, 8], [5, 9, 1]],
]


@pytest.mark.parametrize("insiders", ["none", "singletons"])
@pytest.mark.parametrize("counts", TRIED, ids=str)
def test_the_optimum_is_that_of_trying_every_pattern(counts: list[list[int]], insiders: str) -> None:
    problem = problem_of(np.array(counts), insiders=insiders, **COUNT)
    for cost in (np.ones(len(problem)), problem.value):
        asked = problem.with_cost(cost)
        least = least_of_all(asked)
        for solver in ("highs", "scip"):
            best = optimum(asked, solver=solver)
            assert best.cost == least == pytest.approx(best.bound)
        assert asked.cost[by_flows(asked)].sum() >= least


def mip(problem: CellProblem) -> float:
    """What the cheapest pattern costs, by an independent program."""
    return float(problem.cost @ pattern_of_mip(problem))


def pattern_of_mip(problem: CellProblem) -> np.ndarray[Any, Any]:
    """The cheapest pattern by one large program: for every sensitive cell two moves, each within what is suppressed."""
    cells, primary = len(problem), np.flatnonzero(problem.primary).tolist()
    matrix = problem.equations.toarray()
    far, rows = 1e3, []
    number = cells * (1 + 2 * len(primary))
    for at, cell in enumerate(primary):
        width = np.zeros(number)
        for side in (0, 1):
            first = cells * (1 + 2 * at + side)
            block = np.zeros((len(matrix), number))
            block[:, first : first + cells] = matrix
            rows.append(LinearConstraint(block, 0, 0))
            up, down = np.zeros((cells, number)), np.zeros((cells, number))
            for one in range(cells):
                up[one, first + one], up[one, one] = 1, -min(far, problem.upper[one] - problem.value[one])
                down[one, first + one], down[one, one] = 1, problem.value[one] - problem.lower[one]
            rows += [LinearConstraint(up, -np.inf, 0), LinearConstraint(down, 0, np.inf)]
            width[first + cell] = 1 if side == 0 else -1
        rows.append(LinearConstraint(width, problem.width[cell], np.inf))
    low, high = np.full(number, -far), np.full(number, far)
    low[:cells] = problem.primary
    high[:cells] = np.where(problem.fixed, 0, 1)
    whole = np.zeros(number)
    whole[:cells] = 1
    cost = np.zeros(number)
    cost[:cells] = problem.cost
    found = milp(cost, constraints=rows, bounds=Bounds(low, high), integrality=whole)
    assert found.status == 0
    pattern: np.ndarray[Any, Any] = np.rint(found.x[:cells])
    return pattern


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_four_by_four_is_that_of_an_independent_program(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 12, (4, 4))
    problem = problem_of(counts, **COUNT)
    for cost in (np.ones(len(problem)), problem.value + 1):
        best = optimum(problem.with_cost(cost), solver="highs")
        assert best.cost == pytest.approx(mip(problem.with_cost(cost)))
        assert best.bound == pytest.approx(best.cost)


@pytest.mark.parametrize("seed", range(4))
def test_the_independent_optimum_satisfies_every_cut(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 12, (4, 4))
    problem = problem_of(counts, **COUNT)
    best = pattern_of_mip(problem)
    maker, chance, found = CutMaker(problem), np.random.default_rng(seed), 0
    for _ in range(10):
        x = chance.random(len(problem)) * (chance.random(len(problem)) < 0.25)
        x = np.where(problem.fixed, 0.0, np.where(problem.primary, 1.0, x))
        maker.pattern(x, np.zeros(0, dtype=np.int64))
        for task in tasks_of(problem):
            cut = maker.cut(task)
            if cut is not None:
                found += 1
                assert cut.coefficients @ x[cut.cells] < cut.right
                assert cut.coefficients @ best[cut.cells] >= cut.right - 1e-6
    assert found > 0


@pytest.mark.parametrize("seed", [8, 11, 16])
def test_the_optimum_is_found_where_flows_miss_it(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 9, (5, 5))
    problem = problem_of(counts, **COUNT)
    problem = problem.with_cost(problem.value + 1)
    least = mip(problem)
    assert problem.cost[by_flows(problem)].sum() > least
    for solver in ("highs", "scip"):
        best = optimum(problem, solver=solver)
        assert best.cost == pytest.approx(least) == pytest.approx(best.bound)


def test_the_audit_finds_the_insider_of_the_smallest_pattern() -> None:
    """Four cells protect three small ones from outsiders; whoever is alone in one of them reads the others."""
    counts = np.array([[3, 4, 6], [3, 4, 1], [8, 2, 1]])
    outsiders = problem_of(counts, **COUNT)
    pattern = optimum(outsiders).suppressed
    assert audited(outsiders, pattern).safe
    found = audited(problem_of(counts, insiders="singletons", **COUNT), pattern)
    assert found.insiders
    assert not found.safe


@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), min_size=16, max_size=16))
def test_patterns_safe_from_outsiders_are_judged_for_insiders_as_defined(some: list[int]) -> None:
    counts = np.array(some).reshape(4, 4)
    if counts.sum() == 0:
        return
    from unveil.tables.suppression.failure import Unprotectable

    outsiders = problem_of(counts, **COUNT)
    try:
        pattern = by_flows(outsiders)
    except Unprotectable:
        return
    problem = problem_of(counts, insiders="singletons", **COUNT)
    assert audited(problem, pattern).safe == safe(problem, pattern)


@pytest.mark.parametrize("seed", range(3))
def test_two_solvers_agree_where_symmetry_is_high(seed: int) -> None:
    """All cells alike: what SCIP does about symmetry must not cut the optimum off."""
    chance = np.random.default_rng(seed)
    counts = np.full((6, 6), 10)
    counts[chance.integers(0, 6, 5), chance.integers(0, 6, 5)] = 1
    problem = problem_of(counts, **COUNT)
    assert optimum(problem, solver="scip").cost == optimum(problem, solver="highs").cost


@settings(max_examples=20, deadline=None)
@given(counts_3d)
def test_gauss_leaves_nothing_that_can_be_computed_exactly(counts: np.ndarray[Any, Any]) -> None:
    if counts.sum() == 0:
        return
    problem = problem_of(counts, insiders="singletons")
    from unveil.tables.suppression.failure import Unprotectable

    try:
        suppressed = by_elimination(problem)
    except Unprotectable:
        return
    assert given_away(problem, suppressed) == []
    for cell in np.flatnonzero(problem.primary).tolist():
        low, high = interval(problem, suppressed, cell)
        assert high - low > 1e-7


@given(counts_3d, st.integers(0, 2**32 - 1), st.sampled_from(["none", "singletons"]))
def test_a_cell_is_spared_exactly_if_publishing_it_gives_nothing_away(
    counts: np.ndarray[Any, Any], seed: int, insiders: Any
) -> None:
    if counts.sum() == 0:
        return
    problem = problem_of(counts, insiders=insiders)
    pattern = problem.primary | ((np.random.default_rng(seed).random(len(problem)) < 0.6) & (problem.value > 0))
    cells = np.flatnonzero(pattern)
    kernel = Kernel.of(problem, cells)
    assert kernel is not None
    before = {cell for cell, _ in given_away(problem, pattern)}
    for at in dearest(problem, cells):
        without = pattern.copy()
        without[cells[at]] = False
        after = {cell for cell, _ in given_away(problem, without)}
        assert kernel.spares(at) == (after <= before)
        if kernel.spares(at):
            kernel.publish(at)
            pattern = without


@pytest.mark.parametrize("rules", ["threshold=3", "threshold=4"])
@pytest.mark.parametrize("seed", range(4))
def test_a_thinned_pattern_is_safe_and_can_spare_no_cell(seed: int, rules: str) -> None:
    counts = np.random.default_rng(seed).integers(1, 12, (4, 4, 3))
    problem = problem_of(counts, rules, **COUNT).aimed()
    everything = ~problem.fixed
    pattern = thinned_by_pool(problem, everything)
    assert pattern.sum() < everything.sum()
    assert safe(problem, pattern)
    for cell in np.flatnonzero(pattern & ~problem.primary).tolist():
        fewer = pattern.copy()
        fewer[cell] = False
        assert not audited(problem, fewer).safe


@pytest.mark.parametrize("insiders", ["none", "singletons"])
@pytest.mark.parametrize("likely", [0, 2])
def test_patterns_of_large_tables_are_safe_whatever_cells_seem_likely(likely: int, insiders: str) -> None:
    counts = np.random.default_rng(3).integers(1, 9, (4, 4))
    problem, shortcuts = problem_of(counts, insiders=insiders, **COUNT), Shortcuts(beyond=0, likely=likely)
    assert safe(problem, by_flows(problem, shortcuts=shortcuts))
    assert safe(problem, mended(problem, problem.primary, "enough", shortcuts=shortcuts)[0])


def test_the_same_pattern_on_every_run() -> None:
    counts = np.random.default_rng(5).integers(0, 9, (5, 5))
    for method in ("lp", "gauss", "optimal"):
        first, second = (
            unveil.table(records(counts), ["d0", "d1"]).suppress("threshold=3", method=method).status for _ in range(2)
        )
        assert np.array_equal(first, second)


def test_zeros_do_not_protect() -> None:
    counts = np.array([[0, 5, 1], [7, 0, 4], [6, 8, 9]])
    problem = problem_of(counts, **COUNT)
    assert not (by_flows(problem) & (problem.value == 0)).any()


def test_a_cell_that_nothing_protects_is_told_without_its_codes() -> None:
    counts = np.array([[1, 0], [0, 5]])
    table = unveil.table(records(counts), ["d0", "d1"], margins=True)
    kept = Apriori(published=frozenset({("Total", "Total"), ("a0", "Total"), ("Total", "b0")}))
    with pytest.raises(TableError, match=r"row \d+ of the table d0 x d1 .* cannot be protected"):
        table.suppress("threshold=3", apriori=kept)


def beyond_protection(message: str) -> int:
    """The cell that a refusal names, by its row."""
    found = re.search(r"row ([\d,]+) of the table", message)
    assert found is not None
    return int(found[1].replace(",", "")) - 1


@settings(max_examples=20)
@given(counts_2d, st.sampled_from(["none", "singletons"]), st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from(["lp", "gauss"]))
@example(np.array([[5, 2, 8], [8, 0, 1], [1, 1, 5]]), "none", 2.0, "lp")
@example(np.array([[0, 6, 3], [5, 2, 1], [5, 1, 1]]), "singletons", 2.0, "gauss")
@example(np.array([[6, 2, 3], [8, 0, 7], [7, 2, 4]]), "none", 4.0, "lp")
def test_only_what_nothing_protects_is_refused(counts: np.ndarray[Any, Any], insiders: Any, width: float, method: str) -> None:
    """Bounds and kept margins leave little room: a table is protected, or the cell named is exposed with all suppressed."""
    if counts.sum() == 0:
        return
    table = unveil.table(records(counts), ["d0", "d1"])
    kept = Apriori(published=frozenset(("Total", code) for code in table.dimensions[1].codes))
    aim = Aim(insiders=insiders, on="count", width=width, attacker="0%:250%")
    problem = posed(table, rules_of("threshold=4"), aim, **kept.masks(table))
    options: dict[str, Any] = {"insiders": insiders, "on": "count", "width": width, "attacker": "0%:250%", "apriori": kept}
    try:
        found = table.suppress("threshold=4", method=method, **options)
    except TableError as refusal:
        cell = beyond_protection(str(refusal))
        alone = replace(problem, primary=np.arange(len(problem)) == cell)
        assert problem.primary[cell]
        assert not safe(alone, ~problem.fixed)
    else:
        assert safe(problem, found.suppressed[problem.cells])


@pytest.mark.parametrize(("seed", "width"), [(23, 3.0), (38, 4.0), (39, 6.0), (1, 2.0), (5, 3.0)])
def test_the_optimum_of_wide_intervals_is_that_of_an_independent_program(seed: int, width: float) -> None:
    """A width may be reached by a little on both sides, where kept totals leave no side the room for all of it."""
    table = unveil.table(records(np.random.default_rng(seed).integers(0, 9, (3, 4))), ["d0", "d1"])
    kept = Apriori(published=frozenset(("Total", code) for code in table.dimensions[1].codes)).masks(table)
    problem = posed(table, rules_of("threshold=3"), Aim(insiders="none", on="count", width=width), **kept)
    problem = problem.with_cost(problem.value + 1)
    best = optimum(problem, solver="highs")
    assert best.cost == pytest.approx(mip(problem)) == pytest.approx(best.bound)
    assert safe(problem, best.suppressed)


@pytest.mark.parametrize("attacker", ["0:1e6", "0:1e12"])
def test_intervals_end_where_everybody_knows_that_they_do(attacker: str) -> None:
    table = unveil.table(records(np.array([[2, 5], [4, 9]])), ["d0", "d1"])
    found = table.suppress("threshold=3", attacker=attacker, insiders="none", intervals="exact")
    assert found.suppressed[0]  # the grand total, and what adds up to it
    assert found.high.max() <= float(attacker[2:])


@pytest.mark.parametrize(
    ("down", "up", "width", "protected"),
    [(17, 8, 25, True), (17.1, 8, 0, False), (17, 8.1, 0, False), (0, 0, 25.1, False), (0, 0, 0, True)],
)
def test_a_level_is_held_on_each_side_and_equality_protects(down: float, up: float, width: float, protected: bool) -> None:
    """The cell of 22 has the interval [5, 30]."""
    problem = problem_of(BY_HAND)
    suppressed = np.zeros(16, dtype=bool)
    suppressed[[9, 11, 13, 15]] = True
    primary = np.arange(16) == 11
    asked = replace(
        problem,
        primary=primary,
        down=np.where(primary, down, 0.0),
        up=np.where(primary, up, 0.0),
        width=np.where(primary, width, 0.0),
    )
    for depth in ("exact", "enough"):
        assert audited(asked, suppressed, depth=depth).safe == protected
