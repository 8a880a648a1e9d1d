"""Which records would have given these noisy tables? Synthetic microdata from a tree of noisy two-way marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_size
from unveil.attributes import Names
from unveil.mechanisms.coincidence import equal_to_others
from unveil.mechanisms.columns import choose
from unveil.mechanisms.differential_privacy.answers import answer_notes
from unveil.mechanisms.differential_privacy.budget import Budget, Spent, noisy_greatest
from unveil.mechanisms.differential_privacy.marginals import Placed
from unveil.mechanisms.differential_privacy.units import Unit, chance_of_test, notes_of_test
from unveil.mechanisms.treatment import Treatment, made_anew
from unveil.releases import Release
from unveil.sources.objects import column_of_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["dp_synthesize"]

_RAKINGS = 50


@checked_arguments
def dp_synthesize(  # noqa: PLR0913 - what to make, and whom to protect
    data: Data,
    attributes: Names,
    *,
    domains: Mapping[str, Sequence[Any]],
    epsilon: float,
    records: int | None = None,
    person: str | None = None,
    contribution: int = 1,
    holdout: Data | None = None,
    nulls: str = "error",
    seed: int | None = None,
    testing: bool = False,
) -> Release[Treatment]:
    r"""Make synthetic records from noisy marginals, with epsilon-differential privacy.

    A third of the budget goes to the one-way tables; a third to the choice of a tree of pairs (the pair whose two-way table is
    farthest from what independence makes of the noisy one-way tables, by the exponential mechanism, until all attributes are
    joined); a third to the two-way tables of the tree. These are made non-negative and fitted to the one-way tables, and records
    are drawn attribute by attribute along the tree. Geometric noise; the score of a pair changes by at most c:

    .. math:: s(a, b) = \sum_{x, y} | n_{xy} - \tilde n_x \tilde n_y / \tilde n |, \qquad \Delta_s = c

    Parameters
    ----------
    data
        The original records.
    attributes
        The columns to synthesise; the release has no others.
    domains
        All values that each attribute may have, known without looking at the data; None among them stands for a null.
    epsilon
        The budget, above 0.
    records
        How many to make; none: as many as the noisy tables say there are.
    person
        The column that says whose record it is: at most `contribution` records of each person count, chosen at random, and the
        guarantee is per person. None: the guarantee is per record.
    contribution
        The most records of one person that count.
    holdout
        Records of the same population that are not among `data`, to compare the shares of equal records with.
    nulls
        "keep": nulls count where None is declared. "skip": a record with a null is left out. "error": refuse.
    seed, testing
        For tests: the seed of the draws from the noisy tables, which is refused unless `testing` says that this is a test. The
        noise itself has none: two calls give two releases.

    Returns
    -------
    Release
        `not_private` holds the shares of records equal to an original one, which are counted in the data without noise.

    References
    ----------
    R. McKenna, G. Miklau, D. Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially private
    synthetic data, Journal of Privacy and Confidentiality 11(3).
    J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao (2017), PrivBayes: private data release via Bayesian networks, ACM
    Transactions on Database Systems 42(4).
    """
    budget, unit = Budget.asked("geometric", epsilon, None), Unit.asked(person, contribution)
    chance = chance_of_test(seed, testing=testing)
    chosen, most = choose(data, attributes, nulls), unit.contribution
    placed = Placed.of(unit.cut(chosen, chance).records, chosen.names, domains)
    stages = min(len(chosen.names), 3)
    ones, total, on_ones = _one_way(placed, chosen.names, budget.part(stages), most)
    tree, on_tree = _tree(placed, ones, budget.part(stages), most)
    pairs, on_pairs = _two_way(placed, ones, tree, budget.part(stages), most)
    wanted = total if records is None else checked_size("records", records)
    codes = _drawn(ones, tree, pairs, wanted, chance.draws("dp_synthesis"))
    columns = {name: _column(chosen.column(name), placed.domains[name], codes[name]) for name in chosen.names}
    release = replace(chosen.records, frame=type(chosen.records.frame)(columns))
    spent = [part.to_dict() for part in (*on_ones, *on_tree, *on_pairs)]
    settings = {"epsilon": budget.epsilon, "records": wanted, **unit.settings, "nulls": nulls}
    figures = {"tree": [list(pair) for pair in tree], "spent": spent}
    equal, reading = equal_to_others(chosen, release, holdout)
    notes = (*answer_notes(unit), reading, *notes_of_test(chance))
    origin = np.full(wanted, -1)
    treatment = Treatment("dp_synthesis", chosen.names, figures, not_private=equal)
    return Release(release, treatment, origin, settings, notes, chance.repeatable, made_anew(chosen.others))


def _one_way(
    placed: Placed, names: Sequence[str], budget: Budget, most: int
) -> tuple[dict[str, NDArray[np.float64]], int, list[Spent]]:
    """Return the noisy one-way tables, made non-negative, and the records that they say there are."""
    tables, spent = placed.noisy_tables("one-way tables", [(name,) for name in names], budget, most)
    total = max(1, round(float(np.mean([table.sum() for table in tables.values()]))))
    return {name: _positive(table) for (name,), table in tables.items()}, total, [spent]


def _tree(
    placed: Placed, ones: Mapping[str, NDArray[np.float64]], budget: Budget, most: int
) -> tuple[list[tuple[str, str]], list[Spent]]:
    """Join the attributes to a tree, the pair that is farthest from independent first."""
    names = list(ones)
    if len(names) <= 2:  # noqa: PLR2004 - no choice
        return [(names[0], name) for name in names[1:]], []
    scores = {pair: _distance(placed.table(pair), ones[pair[0]], ones[pair[1]]) for pair in combinations(names, 2)}
    part, joined, tree = budget.part(len(names) - 1), {name: name for name in names}, []
    for _ in names[1:]:
        open_pairs = [pair for pair in scores if joined[pair[0]] != joined[pair[1]]]
        pair = open_pairs[noisy_greatest([scores[one] for one in open_pairs], part.epsilon, float(most))]
        old, new = joined[pair[1]], joined[pair[0]]
        joined = {name: new if root == old else root for name, root in joined.items()}
        tree.append(pair)
    return tree, [Spent("choice of pairs", "noisy max", float(most), 2.0 * most / part.epsilon, budget.epsilon)]


def _distance(table: NDArray[np.int64], one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return how far a table is from the one that independence makes of noisy one-way tables."""
    return float(np.abs(table - np.outer(one, other) / max(one.sum(), 1.0)).sum())


def _two_way(
    placed: Placed, ones: Mapping[str, NDArray[np.float64]], tree: Sequence[tuple[str, str]], budget: Budget, most: int
) -> tuple[dict[tuple[str, str], NDArray[np.float64]], list[Spent]]:
    if not tree:
        return {}, []
    tables, spent = placed.noisy_tables("two-way tables", tree, budget, most)
    return {pair: _raked(_positive(tables[pair]), ones[pair[0]], ones[pair[1]]) for pair in tree}, [spent]


def _positive(table: NDArray[Any]) -> NDArray[np.float64]:
    """Return a table without negative counts; one that has none left is even."""
    cut = np.maximum(table, 0).astype(np.float64)
    return cut if cut.any() else np.ones_like(cut)


def _raked(table: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit a table to the shares of its two one-way tables, as far as its empty cells allow."""
    for _ in range(_RAKINGS):
        for axis, wanted in ((1, rows / rows.sum()), (0, columns / columns.sum())):
            found = table.sum(axis=axis)
            factor = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0.0)
            table = table * (factor[:, None] if axis else factor)
    return table


def _drawn(
    ones: Mapping[str, NDArray[np.float64]],
    tree: Sequence[tuple[str, str]],
    pairs: Mapping[tuple[str, str], NDArray[np.float64]],
    wanted: int,
    random: np.random.Generator,
) -> dict[str, NDArray[np.int64]]:
    """Draw records: the first attribute by its own table, every other given the neighbour in the tree that is drawn already."""
    first = next(iter(ones))
    codes = {first: _choice(ones[first], wanted, random)}
    left = list(tree)
    while left:
        pair = next(pair for pair in left if pair[0] in codes or pair[1] in codes)
        left.remove(pair)
        known, new = pair if pair[0] in codes else pair[::-1]
        table = pairs[pair] if known == pair[0] else pairs[pair].T
        codes[new] = np.empty(wanted, dtype=np.int64)
        for value in np.unique(codes[known]):
            rows = np.flatnonzero(codes[known] == value)
            codes[new][rows] = _choice(table[value] if table[value].any() else ones[new], len(rows), random)
    return codes


def _choice(amounts: NDArray[np.float64], wanted: int, random: np.random.Generator) -> NDArray[np.int64]:
    return random.choice(len(amounts), size=wanted, p=amounts / amounts.sum())


def _column(original: Any, domain: tuple[Any, ...], codes: NDArray[np.int64]) -> Any:
    return column_of_objects(original.name, domain).gather(codes.astype(np.uint32))
