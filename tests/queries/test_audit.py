"""The audit against exact linear algebra over the rationals."""

from __future__ import annotations

from itertools import combinations
from math import gcd, prod

import numpy as np
import pytest

from unveil.queries.audit import Audit
from unveil.queries.modular import drawn_prime, inverse, ratios

Row = list[int]


def shortened(row: Row) -> Row:
    """Return a row without what divides all of it."""
    common = gcd(*row)
    return [x // common for x in row] if common > 1 else row


def reduced(rows: list[list[int]], width: int) -> tuple[list[Row], list[int]]:
    """Return rows with a pivot that no other row has, in whole numbers, and the pivots."""
    system = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(width):
        at = len(pivots)
        found = next((row for row in range(at, len(system)) if system[row][column]), None)
        if found is None:
            continue
        system[at], system[found] = system[found], system[at]
        lead = system[at][column]
        for row in range(len(system)):
            if row != at and system[row][column]:
                factor = system[row][column]
                system[row] = shortened([lead * a - factor * b for a, b in zip(system[row], system[at], strict=True)])
        pivots.append(column)
    return system[: len(pivots)], pivots


def null_space(rows: list[list[int]], width: int) -> list[Row]:
    system, pivots = reduced(rows, width)
    basis = []
    whole = prod(row[pivot] for row, pivot in zip(system, pivots, strict=True))
    for free in (column for column in range(width) if column not in pivots):
        vector = [whole if column == free else 0 for column in range(width)]
        for row, pivot in zip(system, pivots, strict=True):
            vector[pivot] = -row[free] * (whole // row[pivot])
        basis.append(shortened(vector))
    return basis


def discloses(rows: list[list[int]], sizes: list[int], least: int) -> bool:
    """Whether an atom is determined, or two are tied, of fewer than `least` records: from the null space itself."""
    basis = null_space(rows, len(sizes))
    for i, size in enumerate(sizes):
        if size < least and all(vector[i] == 0 for vector in basis):
            return True
        for j in range(i):
            if size + sizes[j] < least:
                minors = (a[i] * b[j] - a[j] * b[i] for a, b in combinations(basis, 2))
                if all(minor == 0 for minor in minors):
                    return True
    return False


def test_ten_thousand_decisions_are_those_of_exact_algebra() -> None:
    random = np.random.default_rng(20240)
    decisions = refusals = 0
    while decisions < 10_000:
        atoms, least = int(random.integers(3, 8)), int(random.integers(2, 7))
        sizes = random.integers(1, 4, atoms)
        audit, rows = Audit(sizes, least), list[list[int]]()
        for _ in range(int(random.integers(4, 16))):
            members = random.random(atoms) < random.choice([0.3, 0.5, 0.7])
            row = members.astype(int).tolist()
            follows = len(reduced([*rows, row], atoms)[1]) == len(rows)
            expected = follows or not discloses([*rows, row], sizes.tolist(), least)
            assert audit.add(members) == expected, (rows, row, sizes, least)
            if expected and not follows:
                rows.append(row)
            decisions, refusals = decisions + 1, refusals + (not expected)
        assert audit.rank == len(rows)
    assert 2_000 < refusals < 8_000


def test_a_long_run_of_large_sets_agrees_with_exact_algebra() -> None:
    random = np.random.default_rng(3)
    sizes = np.ones(14, dtype=np.int64)
    audit, rows = Audit(sizes, 3), list[list[int]]()
    for _ in range(40):
        members = random.random(14) < 0.5
        row = members.astype(int).tolist()
        follows = len(reduced([*rows, row], 14)[1]) == len(rows)
        expected = follows or not discloses([*rows, row], sizes.tolist(), 3)
        assert audit.add(members) == expected
        if expected and not follows:
            rows.append(row)
    assert 6 < audit.rank < 14


@pytest.mark.parametrize("rows", [70, 130])
def test_the_state_grows_with_the_answers(rows: int) -> None:
    random = np.random.default_rng(rows)
    audit = Audit(np.ones(400, dtype=np.int64), 5)
    assert all(audit.add(random.random(400) < 0.5) for _ in range(rows))
    assert audit.rank == rows


def test_what_follows_from_answers_is_always_answered() -> None:
    audit = Audit(np.ones(12, dtype=np.int64), 3)
    left, right = np.arange(12) < 6, np.arange(12) >= 6
    assert audit.add(left)
    assert audit.add(right)
    assert audit.add(left | right)
    assert audit.rank == 2


def test_primes_are_prime_and_differ() -> None:
    primes = {drawn_prime() for _ in range(20)}
    assert len(primes) == 20
    for prime in primes:
        assert prime.bit_length() == 50
        assert all(prime % small for small in range(3, 2000, 2))


def test_ratios_are_exact() -> None:
    prime = drawn_prime()
    random = np.random.default_rng(0)
    first, second = random.integers(0, prime, (2, 500))
    second[::7] = 0
    for a, b, found in zip(first.tolist(), second.tolist(), ratios(first, second, prime).tolist(), strict=True):
        assert found == (a * inverse(b, prime) % prime if b else prime)
