"""How good are the solutions in a lattice that is too large to be searched completely? Our search beside ARX's four heuristics.

The five tables are drawn from Adult with replacement, and have hierarchies proposed for each. ARX's limit and ours begin with the
search: both have read and coded the table before. The loss is the same function: the solutions of ARX are evaluated here again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import unveil
from benchmarks.arx import HEURISTICS, Arx, ArxError, ArxRequest, Searched, given_jar
from benchmarks.rows import Row, not_measured
from benchmarks.search import THIRTEEN, searching
from unveil.models import KAnonymity
from unveil.search.lattice.full_domain import SearchResult
from unveil.time_limit import SearchBudget

_SEEDS = (1, 2, 3, 4, 5)
_LIMITS = (5, 20, 60)
"""Wall seconds."""
_AS_GOOD = 1e-7
"""ARX rounds the loss of each attribute: losses whose relative difference is no more than this are equal."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    jar = given_jar()
    if jar is None:
        return [not_measured("large lattices beside ARX", "UNVEIL_ARX_JAR does not name its jar")]
    try:
        arx = Arx.of(jar)
    except ArxError as error:
        return [not_measured("large lattices beside ARX", str(error))]
    return [row for seed in _SEEDS for row in _of_table(arx, seed)]


def _of_table(arx: Arx, seed: int) -> list[Row]:
    """Search one table with every limit, ARX first."""
    adult = unveil.datasets.adult()
    table = adult.sample(n=adult.height, with_replacement=True, seed=seed).select(THIRTEEN)
    with TemporaryDirectory() as folder:
        for name in THIRTEEN:
            unveil.propose_hierarchy(table, name).hierarchy.with_root().write(Path(folder, f"{name}.csv"))
        request = ArxRequest(table, f"{folder}/", THIRTEEN, [KAnonymity(5)], 0.04)
        theirs = {heuristic: _searched(arx, request, heuristic) for heuristic in HEURISTICS}
        searches = {limit: searching(request, coded=True, budget=SearchBudget(seconds=limit)) for limit in _LIMITS}
        return [
            row_of(seed, limit, search(), {name: solutions[limit] for name, solutions in theirs.items()})
            for limit, search in searches.items()
        ]


def _searched(arx: Arx, request: ArxRequest, heuristic: str) -> dict[int, Searched | None]:
    """Return what one of ARX's heuristics finds with each limit, its losses checked; nothing if it stops with an error."""
    try:
        solutions = dict(zip(_LIMITS, arx.within(request, heuristic, _LIMITS), strict=True))
    except ArxError:
        return dict.fromkeys(_LIMITS)
    for one in solutions.values():
        if one is not None:
            ours = searching(request, one.fixed)()
            assert math.isclose(ours.score, one.score, rel_tol=_AS_GOOD), (ours, one)
    return solutions


def row_of(seed: int, limit: int, ours: SearchResult, theirs: Mapping[str, Searched | None]) -> Row:
    """Report our loss, how far from the best it may be, and the losses of ARX; the figure is ours over ARX's lowest."""
    scores = {name: math.inf if solution is None else solution.score for name, solution in theirs.items()}
    least = min(scores.values())
    said = ", ".join(f"{name} {score:.4f}" if math.isfinite(score) else f"{name} none" for name, score in scores.items())
    gap = "the optimum" if ours.optimal else f"at least {ours.bound:.4f}, gap {ours.score - ours.bound:.4f}"
    return Row(
        f"loss within {limit} s, Adult drawn with seed {seed}, 13 keys, k=5, 4 %, beside ARX",
        f"{ours.score:.4f} ({gap}; {ours.lattice:,} nodes); ARX: {said}",
        ours.score / least,
        "not above ARX's",
        ours.score <= least * (1.0 + _AS_GOOD),
    )
