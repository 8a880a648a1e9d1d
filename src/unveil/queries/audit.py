r"""Which sums together determine a person's value? The audit of exact answers, by random null vectors.

The answers so far are the system Q x = b, with one row of zeros and ones per answered sum and one unknown per atom (records
that no question can distinguish). Atom i is determined if and only if the unit vector e_i lies in the row space of Q, that is,
if every v with Q v = 0 has v_i = 0. Two atoms i and j are tied, so that anyone who knows one value knows the other, if and only
if all such v have v_i and v_j in the same proportion. So two *random* null vectors decide: a determined atom always has zeros
in both; any other has a zero only with probability 1/p each, which merely causes the refusal of a question that could have been
answered.

Everything is computed modulo two secret primes of 50 bits, drawn for each process, and a question is refused if it discloses
modulo either. A determined atom is overlooked only if both primes divide one particular minor of Q; a minor of 1,000 questions
is below 2^4000, and so divisible by fewer than 82 of the 10^13 primes: the chance is below 10^-22 per atom.

Only two vectors of the null space are stored and, for the k pivot atoms C, the inverse of Q_C. A new row costs O(k^2 + n).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.queries.modular import bordered, column_sums, drawn_prime, inverse, ratios, row_sums, scaled_into, sum_over
from unveil.randomness import chance_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Audit"]

_VECTORS = 2
_ROOM = 64
_MOST_TRIES = 64


@dataclass(slots=True)
class _Field:
    """The state modulo one prime."""

    prime: int
    vectors: list[NDArray[np.int64]]
    inverse: NDArray[np.int64] = field(default_factory=lambda: np.zeros((_ROOM, _ROOM), dtype=np.int64))
    sorted_ratios: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    order: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class _Step:
    """The change of one field by a new row: the pivot, and the new entries of the null vectors at the pivots."""

    pivot: int
    down: NDArray[np.int64]
    across: NDArray[np.int64]
    corner: int
    moved: list[NDArray[np.int64]]


class Audit:
    """The answered sums, with a check of whether one more would disclose someone's value.

    Parameters
    ----------
    sizes
        The number of records of each atom.
    least
        An atom, or two tied atoms, of fewer records than this may not be determined.

    Examples
    --------
    >>> audit = Audit(np.array([1, 1, 1, 1, 1, 1]), 3)
    >>> audit.add(np.array([1, 1, 1, 1, 0, 0], dtype=bool)), audit.add(np.array([1, 1, 1, 0, 0, 0], dtype=bool))
    (True, False)
    """

    def __init__(self, sizes: NDArray[np.int64], least: int) -> None:
        self._sizes, self._least = np.asarray(sizes, dtype=np.int64), least
        self._pivots: list[int] = []
        self._rows = np.zeros((_ROOM, (len(sizes) + 7) // 8), dtype=np.uint8)
        random = chance_of().draws("audit")
        self._fields = [_field(prime, len(sizes), random) for prime in _two_primes()]
        self._random = random

    @property
    def rank(self) -> int:
        """The number of independent answered sums."""
        return len(self._pivots)

    def add(self, members: NDArray[np.bool_]) -> bool:
        """Add the sum over some atoms, unless too few records would be determined; return whether it was added."""
        members = np.asarray(members, dtype=bool)
        if not self._independent(members):
            return True
        steps = self._steps(members)
        if any(self._discloses(one, step) for one, step in zip(self._fields, steps, strict=True)):
            return False
        self._commit(members, steps)
        return True

    def follows(self, members: NDArray[np.bool_]) -> bool:
        """Return whether a sum follows from the answered sums."""
        return not self._independent(np.asarray(members, dtype=bool))

    def _independent(self, members: NDArray[np.bool_]) -> bool:
        """Whether a sum does not follow from earlier ones; a random null vector is then hardly ever orthogonal to it."""
        return any(sum_over(vector, members, one.prime) for one in self._fields for vector in one.vectors)

    def _steps(self, members: NDArray[np.bool_]) -> list[_Step]:
        size = self.rank
        on_pivots = members[np.asarray(self._pivots, dtype=np.int64)] if size else np.zeros(0, dtype=bool)
        across = [row_sums(one.inverse, size, on_pivots, one.prime) for one in self._fields]
        pivot, corners = self._pivot(members, across)
        column = self._column(pivot)
        return [
            _step(one, pivot, column, side, corner, self._pivots, members)
            for one, side, corner in zip(self._fields, across, corners, strict=True)
        ]

    def _pivot(self, members: NDArray[np.bool_], across: list[NDArray[np.int64]]) -> tuple[int, list[int]]:
        """Return an atom whose column extends the system, and the remainder of the row there, modulo each prime."""
        free = members.copy()
        free[self._pivots] = False
        for among in (free, np.delete(np.arange(len(members)), self._pivots)):
            atoms = np.flatnonzero(among) if among.dtype == bool else among
            for atom in atoms[self._random.permutation(len(atoms))]:
                corners = [
                    _left(self._column(int(atom)), members[atom], u, f.prime) for u, f in zip(across, self._fields, strict=True)
                ]
                if all(corners):
                    return int(atom), corners
        raise ArithmeticError("an independent row has no pivot")

    def _column(self, atom: int) -> NDArray[np.bool_]:
        """Return which of the rows contain an atom."""
        return ((self._rows[: self.rank, atom >> 3] >> (7 - (atom & 7))) & 1).astype(bool)

    def _discloses(self, state: _Field, step: _Step) -> bool:
        """Whether, with one more row, the null vectors determine an atom of too few records, or tie two."""
        pivots = np.asarray([*self._pivots, step.pivot], dtype=np.int64)
        first, second = step.moved
        sizes = self._sizes[pivots]
        fixed = (first == 0) & (second == 0)
        if (sizes[fixed] < self._least).any():
            return True
        open_ = ~fixed & (sizes < self._least)
        if not open_.any():
            return False
        return self._tied(state, pivots, pivots[open_], ratios(first[open_], second[open_], state.prime))

    def _tied(self, state: _Field, pivots: NDArray[np.int64], atoms: NDArray[np.int64], shares: NDArray[np.int64]) -> bool:
        """Whether two atoms of too few records have the same proportion: two pivots, or a pivot and a free atom."""
        sizes = self._sizes[atoms]
        order = np.lexsort((sizes, shares))
        ordered, held = shares[order], sizes[order]
        pairs = (ordered[1:] == ordered[:-1]) & (held[1:] + held[:-1] < self._least)
        if pairs.any():
            return True
        known = state.sorted_ratios
        at = np.searchsorted(known, shares)
        near = np.flatnonzero(known[np.minimum(at, len(known) - 1)] == shares)
        taken = set(pivots.tolist())
        for one in near.tolist():
            place = int(at[one])
            while place < len(known) and known[place] == shares[one]:
                atom = int(state.order[place])
                if atom not in taken and self._sizes[atom] + sizes[one] < self._least:
                    return True
                place += 1
        return False

    def _commit(self, members: NDArray[np.bool_], steps: list[_Step]) -> None:
        size = self.rank
        if size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[size] = np.packbits(members)
        for one, step in zip(self._fields, steps, strict=True):
            if size == len(one.inverse):
                one.inverse = np.pad(one.inverse, (0, size))
            bordered(one.inverse, size, step.down, step.across, step.corner, one.prime)
            for vector, moved in zip(one.vectors, step.moved, strict=True):
                vector[np.asarray([*self._pivots, step.pivot])] = moved
        self._pivots.append(steps[0].pivot)


def _two_primes() -> tuple[int, int]:
    first, second = drawn_prime(), drawn_prime()
    return (first, second) if first != second else _two_primes()


def _field(prime: int, atoms: int, random: np.random.Generator) -> _Field:
    """Return the state without any row: every vector is a null vector, and every atom is free."""
    vectors = [random.integers(1, prime, size=atoms, dtype=np.int64) for _ in range(_VECTORS)]
    proportions = ratios(vectors[0], vectors[1], prime)
    order = np.argsort(proportions, kind="stable")
    return _Field(prime, vectors, sorted_ratios=proportions[order], order=order)


def _left(column: NDArray[np.bool_], member: Any, across: NDArray[np.int64], prime: int) -> int:
    """Return the remainder of a new row at an atom after subtracting the earlier rows."""
    return int((int(member) - int(sum_over(across, column, prime))) % prime)


def _step(
    state: _Field,
    pivot: int,
    column: NDArray[np.bool_],
    across: NDArray[np.int64],
    corner: int,
    pivots: list[int],
    members: NDArray[np.bool_],
) -> _Step:
    """Return the change by a row: the null vectors move along the one direction that keeps all earlier equations."""
    prime, size = state.prime, len(pivots)
    down = column_sums(state.inverse, size, column, prime)
    direction = np.append((prime - down) % prime, 1)
    share = inverse(corner, prime)
    moved = []
    for vector in state.vectors:
        part = vector[np.asarray([*pivots, pivot], dtype=np.int64)]
        scaled_into(part, direction, (prime - int(sum_over(vector, members, prime)) * share % prime) % prime, prime)
        moved.append(part)
    return _Step(pivot, down, across, share, moved)
