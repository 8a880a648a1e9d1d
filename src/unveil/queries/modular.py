"""The compiled loops of the audit: linear algebra modulo a prime of 50 bits.

The product of two residues does not fit into 64 bits. The quotient is computed in floating point, with an error of at most one,
and the remainder in integers that wrap around; so every residue is exact.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["bordered", "column_sums", "drawn_prime", "inverse", "ratios", "row_sums", "scaled_into", "sum_over"]

_BITS = 50
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""The bases of the primality test, which is exact for every number below 3 * 10**24."""
_REDUCED = 8192
"""The number of residues whose sum fits into 64 bits."""


def drawn_prime() -> int:
    """Return a prime of 50 bits, drawn from the operating system, so that nobody can choose questions that it divides."""
    while True:
        number = secrets.randbits(_BITS - 1) | (1 << (_BITS - 1)) | 1
        if _is_prime(number):
            return number


def inverse(value: int, prime: int) -> int:
    """Return the multiplicative inverse of a residue."""
    return pow(int(value), -1, prime)


def _is_prime(number: int) -> bool:
    if any(number % small == 0 for small in _WITNESSES):
        return number in _WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in _WITNESSES:
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@compiled_in_place
def _times(a: Any, b: Any, prime: Any, share: Any) -> Any:
    """Multiply two residues; `share` is one over the prime."""
    rest = a * b - np.int64(np.float64(a) * np.float64(b) * share) * prime
    if rest < 0:
        rest += prime
    elif rest >= prime:
        rest -= prime
    return rest


@compiled
def sum_over(vector: Any, chosen: Any, prime: Any) -> Any:
    """Return the sum of the chosen entries of a vector."""
    total = np.int64(0)
    for at in range(len(vector)):
        if chosen[at]:
            total += vector[at]
            if total >= prime:
                total -= prime
    return total


@compiled
def ratios(first: Any, second: Any, prime: Any) -> Any:
    """Return first / second for every entry, and the prime itself where second is zero; one inversion yields all inverses."""
    share = 1.0 / np.float64(prime)
    quotients = np.full(len(first), prime, dtype=np.int64)
    # for each entry, the product of all entries before it
    before = np.empty(len(first), dtype=np.int64)
    running = np.int64(1)
    for at in range(len(first)):
        before[at] = running
        if second[at] != 0:
            running = _times(running, second[at], prime, share)
    # the inverse of the whole product, by Fermat
    back, power, exponent = np.int64(1), running, prime - 2
    while exponent > 0:
        if exponent & 1:
            back = _times(back, power, prime, share)
        power = _times(power, power, prime, share)
        exponent >>= 1
    # backwards: the inverse of each entry follows from that of the product up to it
    for at in range(len(first) - 1, -1, -1):
        if second[at] != 0:
            quotients[at] = _times(first[at], _times(back, before[at], prime, share), prime, share)
            back = _times(back, second[at], prime, share)
    return quotients


@compiled
def scaled_into(vector: Any, direction: Any, factor: Any, prime: Any) -> None:
    """Add a multiple of one vector to another, in place."""
    share = 1.0 / np.float64(prime)
    for at in range(len(vector)):
        moved = vector[at] + _times(direction[at], factor, prime, share)
        vector[at] = moved - prime if moved >= prime else moved


@compiled
def row_sums(matrix: Any, size: Any, chosen: Any, prime: Any) -> Any:
    """Return the sum of the chosen rows of the leading square of a matrix."""
    total = np.zeros(size, dtype=np.int64)
    added = 0
    for row in range(size):
        if chosen[row]:
            for column in range(size):
                total[column] += matrix[row, column]
            added += 1
            if added % _REDUCED == 0:
                for column in range(size):
                    total[column] %= prime
    for column in range(size):
        total[column] %= prime
    return total


@compiled
def column_sums(matrix: Any, size: Any, chosen: Any, prime: Any) -> Any:
    """Return the sum of the chosen columns of the leading square of a matrix."""
    places = np.flatnonzero(chosen[:size])
    total = np.zeros(size, dtype=np.int64)
    for row in range(size):
        added = np.int64(0)
        for at in range(len(places)):
            added += matrix[row, places[at]]
            if at % _REDUCED == _REDUCED - 1:
                added %= prime
        total[row] = added % prime
    return total


@compiled
def bordered(matrix: Any, size: Any, down: Any, across: Any, corner: Any, prime: Any) -> None:
    r"""Extend an inverse by one row and one column, in place.

    With :math:`M = A^{-1}`, :math:`w = M b`, :math:`u = c M` and :math:`s = d - c M b`, the inverse of A bordered by the column
    b, the row c and the corner d is

    .. math:: \begin{pmatrix} M + w u / s & -w / s \\ -u / s & 1 / s \end{pmatrix}

    Parameters
    ----------
    matrix, size
        M in the leading square of an array with room for one more row and column.
    down, across, corner
        w, u and 1/s.
    """
    share = 1.0 / np.float64(prime)
    # u / s
    scaled = np.empty(size, dtype=np.int64)
    for column in range(size):
        scaled[column] = _times(across[column], corner, prime, share)
    # M + w u / s, and the new column -w / s
    for row in range(size):
        factor = down[row]
        if factor != 0:
            for column in range(size):
                moved = matrix[row, column] + _times(factor, scaled[column], prime, share)
                matrix[row, column] = moved - prime if moved >= prime else moved
        rest = _times(factor, corner, prime, share)
        matrix[row, size] = 0 if rest == 0 else prime - rest
    # the new row and the corner
    for column in range(size):
        matrix[size, column] = 0 if scaled[column] == 0 else prime - scaled[column]
    matrix[size, size] = corner
