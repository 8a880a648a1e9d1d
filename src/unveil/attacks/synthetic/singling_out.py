"""Does a rule that fits one synthetic record fit one real person? The singling-out attack.

The intruder looks for predicates that hold for exactly one record of the release, such as "age at least 88" or "a nurse, under
23, born in Peru", and hopes that each holds for exactly one person of the original. *Univariate*: a value that occurs once, the
smallest and the largest number; this finds all values of a column that was copied as a whole, in whatever order.
*Multivariate*, the headline: several values of one record, numbers as "at least" above the median, else as "at most". The share
of the same predicates that fit exactly one person of the hold-out is due to what is true of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.synthetic.audit_sections import PredicateRisk, SinglingOut, beside
from unveil.attacks.synthetic.risk import SuccessRate, compared
from unveil.attacks.synthetic.tables import Side, Trio
from unveil.compilation import compiled
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Predicates", "singling_out"]

_AT_A_TIME = 1 << 24
"""The number of comparisons of predicates with records between two checks of the run."""
_EQUAL, _AT_MOST, _AT_LEAST = 0, 1, 2
_TRIES = 20
"""The number of predicates drawn for each one wanted."""
_LEAST_WIDTH = 3
_GRID, _ROUNDS = 80, 300
"""The grid of the mixture that adjusts a small hold-out for size."""


@dataclass(frozen=True, slots=True)
class Predicates:
    """Conjunctions of conditions on columns, one per row: columns, comparison operators, and codes to compare with."""

    columns: NDArray[np.int64]
    operators: NDArray[np.int64]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of predicates."""
        return len(self.columns)

    def counted(self, side: Side) -> NDArray[np.int64]:
        """Return the number of records that each predicate holds for."""
        most, counts = max(_AT_A_TIME // max(len(side), 1), 1), [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(self), most):
            active_run().check()
            piece = self.chosen(np.arange(start, min(start + most, len(self))))
            counts.append(_counted(piece.columns, piece.operators, piece.codes, side.codes))
        return np.concatenate(counts)

    def chosen(self, rows: NDArray[Any]) -> Predicates:
        """Return some of the predicates."""
        return Predicates(self.columns[rows], self.operators[rows], self.codes[rows])


def singling_out(trio: Trio, attacks: int, random: np.random.Generator, width: int | None = None) -> SinglingOut:
    """Single people out by predicates on one column, and on several.

    Parameters
    ----------
    trio, attacks, random
        The tables, the largest number of predicates of each kind, and the random generator.
    width
        The number of columns of a multivariate predicate; none: half of all, at least three.
    """
    columns = len(trio.names)
    wide = min(width or max(_LEAST_WIDTH, columns // 2), columns)
    ways = {"univariate": _way(trio, _univariate(trio, attacks, random), 1, random)}
    if wide > 1:
        ways["multivariate"] = _way(trio, _multivariate(trio, attacks, wide, random), wide, random)
    headline = "multivariate" if wide > 1 and ways["multivariate"].risk is not None else "univariate"
    return SinglingOut(**beside(ways[headline]), width=wide, headline=headline, ways=ways)


def _way(trio: Trio, predicates: Predicates, width: int, random: np.random.Generator) -> PredicateRisk:
    """Test predicates that single out a released record on the original and on the hold-out."""
    number = len(predicates)
    if not number:
        return PredicateRisk.unmeasured("no predicate holds for exactly one record of the release")
    main = SuccessRate.of(int((predicates.counted(trio.original) == 1).sum()), number)
    held = predicates.counted(trio.control)
    singled = int((held == 1).sum())
    corrected = _at_size(held, len(trio.control), len(trio.original))
    control = SuccessRate.of(singled, number).moved(corrected)
    by_chance = float((_random(trio, number, width, random).counted(trio.original) == 1).mean())
    return PredicateRisk(**beside(compared(main, control, by_chance, number)), control_as_it_is=singled / number)


def _univariate(trio: Trio, attacks: int, random: np.random.Generator) -> Predicates:
    """Return predicates on one column that hold for exactly one record of the release."""
    conditions: list[tuple[int, int, int]] = []
    for at in range(len(trio.names)):
        codes, times = np.unique(trio.release.codes[:, at], return_counts=True)
        conditions += [(at, _EQUAL, code) for code in codes[times == 1].tolist()]
        known = codes[codes >= 0]
        if trio.ordered[at] and len(known):
            conditions += [(at, _AT_MOST, int(known[0])), (at, _AT_LEAST, int(known[-1]))]
    rows = np.array(conditions, dtype=np.int64).reshape(-1, 3)
    rows = rows[random.permutation(len(rows))]
    predicates = Predicates(rows[:, :1], rows[:, 1:2], rows[:, 2:])
    alone = np.flatnonzero(predicates.counted(trio.release) == 1)
    return predicates.chosen(alone[:attacks])


def _multivariate(trio: Trio, attacks: int, width: int, random: np.random.Generator) -> Predicates:
    """Return predicates on several columns of released records that hold for no other record."""
    predicates = _conditions(trio, attacks, width, random)
    for _ in range(_TRIES - 1):
        if len(predicates) >= attacks:
            break
        more = _conditions(trio, attacks, width, random)
        predicates = _distinct(Predicates(*map(np.concatenate, zip(_arrays(predicates), _arrays(more), strict=True))))
    return predicates.chosen(np.arange(min(attacks, len(predicates))))


def _conditions(trio: Trio, number: int, width: int, random: np.random.Generator) -> Predicates:
    """Draw predicates from records of the release, and keep those that hold for one record only."""
    columns = np.sort(np.argpartition(random.random((number, len(trio.names))), width - 1, axis=1)[:, :width], axis=1)
    rows = random.integers(0, len(trio.release), number)
    codes = trio.release.codes[rows[:, None], columns].astype(np.int64)
    middle = np.median(trio.release.codes, axis=0)[columns]
    sides = np.where(codes > middle, _AT_LEAST, _AT_MOST)
    operators = np.where(trio.ordered[columns] & (codes >= 0), sides, _EQUAL)
    predicates = _distinct(Predicates(columns.astype(np.int64), operators, codes))
    return predicates.chosen(predicates.counted(trio.release) == 1)


def _arrays(predicates: Predicates) -> tuple[NDArray[np.int64], ...]:
    return predicates.columns, predicates.operators, predicates.codes


def _distinct(predicates: Predicates) -> Predicates:
    """Return each predicate once, in the order of drawing."""
    _, first = np.unique(np.hstack(_arrays(predicates)), axis=0, return_index=True)
    return predicates.chosen(np.sort(first))


def _random(trio: Trio, number: int, width: int, random: np.random.Generator) -> Predicates:
    """Return made-up predicates: columns, comparisons and values of the release, drawn separately."""
    columns = np.argpartition(random.random((number, len(trio.names))), width - 1, axis=1)[:, :width]
    rows = random.integers(0, len(trio.release), columns.shape)
    sides = random.integers(_EQUAL, _AT_LEAST + 1, columns.shape)
    codes = trio.release.codes[rows, columns].astype(np.int64)
    return Predicates(columns.astype(np.int64), np.where(trio.ordered[columns] & (codes >= 0), sides, _EQUAL), codes)


def _at_size(held: NDArray[np.int64], controls: int, originals: int) -> float:
    r"""Return the share of predicates that would single somebody out of the hold-out if it were as large as the original.

    A smaller number of people is a sample, whose share follows from the counts (hypergeometric). For a larger one, a predicate
    that holds for each person with probability w holds for :math:`k \sim \mathrm{Poisson}(n w)` of n: the distribution of w
    over the predicates is estimated from their counts in the hold-out (the mixture of greatest likelihood on a grid, by
    expectation maximisation), and yields the share that hold for exactly one.
    """
    from scipy.stats import hypergeom, poisson

    if originals <= controls:
        return float(hypergeom.pmf(1, controls, held, originals).mean())
    counts, times = np.unique(held, return_counts=True)
    rates = np.concatenate([[0.0], np.geomspace(0.02, max(float(counts[-1]), 1.0) * 2.0, _GRID)])
    likely = poisson.pmf(counts[:, None], rates[None, :])
    weights = np.full(len(rates), 1.0 / len(rates))
    for _ in range(_ROUNDS):
        joint = likely * weights
        weights = (times / len(held)) @ (joint / joint.sum(axis=1, keepdims=True))
    return float(weights @ poisson.pmf(1, rates * (originals / controls)))


@compiled
def _counted(
    columns: NDArray[np.int64], operators: NDArray[np.int64], codes: NDArray[np.int64], records: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Count the records that each predicate holds for; a null meets only a comparison with a null."""
    matches = np.zeros(len(columns), np.int64)
    for at in range(len(columns)):
        for row in range(len(records)):
            holds = True
            for place in range(columns.shape[1]):
                code, wanted, operator = records[row, columns[at, place]], codes[at, place], operators[at, place]
                # 0: equal; 1: at most, and no null; any other: at least
                if operator == 0:
                    holds = code == wanted
                elif operator == 1:
                    holds = 0 <= code <= wanted
                else:
                    holds = code >= wanted
                if not holds:
                    break
            matches[at] += holds
    return matches
