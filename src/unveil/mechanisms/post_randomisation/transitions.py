"""Markov matrices of PRAM, which hold the probabilities that each value becomes another, and draws from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["checked_matrix", "drawn", "even_invariant_matrix", "invariant_matrix", "retention_matrix"]

_ROUNDING = 1e-9
"""A row is a row of probabilities if its sum is closer to one than this."""
_HALF = 0.5 * (1.0 - 1e-9)
"""A value with this share or more exchanges all that moves with the other values."""
_PIECE = 1 << 16
"""Values are drawn in pieces of this many, which stay in the processor's cache."""


def retention_matrix(present: NDArray[np.bool_], retention: float) -> NDArray[np.float64]:
    r"""Return the matrix that keeps a value with a given probability, else draws any other present value, all equally likely.

    .. math:: P_{ii} = r, \qquad P_{ij} = \frac{1 - r}{m - 1}

    over the m values present; a value that is the only one, or absent, stays.
    """
    matrix = np.eye(len(present))
    at = np.flatnonzero(present)
    if len(at) > 1:
        matrix[np.ix_(at, at)] = (1.0 - retention) / (len(at) - 1)
        matrix[at, at] = retention
    return matrix


def even_invariant_matrix(counts: NDArray[np.int64], retention: float) -> NDArray[np.float64]:
    r"""Return the invariant matrix that keeps every present value with one probability, as far as invariance permits.

    .. math:: R_{ii} = r, \qquad p_i R_{ij} = p_j R_{ji}, \qquad p^T R = p^T

    As many records go from one value to another as come back, so r is also the probability that a published value is the true
    one. If more than half of the records hold one value m, the others cannot absorb what it would have to give; it stays with
    the lowest possible probability, :math:`R_{mm} = 1 - (1 - r) (1 - p_m) / p_m`, and every other value becomes m unless it
    stays.
    """
    matrix = np.eye(len(counts))
    at = np.flatnonzero(counts)
    if len(at) > 1:
        shares = counts[at] / counts.sum()
        flows = (1.0 - retention) * _even_flows(shares)
        matrix[np.ix_(at, at)] = flows / shares[:, None]
        matrix[at, at] = np.maximum(1.0 - flows.sum(axis=1) / shares, 0.0)
    return matrix


def _even_flows(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return symmetric flows between different values: each gives away its whole share, the largest what the others can take.

    .. math:: F_{ij} = s \, a_i a_j \quad (i \ne j), \qquad \sum_i a_i = 1, \qquad s \, a_i (1 - a_i) = p_i

    The weights a of all values but the largest follow from s, which is chosen so that the largest gives away its share, too.
    """
    from scipy.optimize import brentq

    largest = int(np.argmax(shares))
    others = np.delete(shares, largest)
    flows = np.zeros((len(shares), len(shares)))
    if shares[largest] >= _HALF:
        flows[largest] = flows[:, largest] = np.insert(others, largest, 0.0)
        return flows

    def weights(s: float) -> NDArray[np.float64]:
        part = np.minimum(4.0 * others / s, 1.0)
        return np.asarray(part / (2.0 * (1.0 + np.sqrt(1.0 - part))))

    def surplus(s: float) -> float:
        rest = weights(s).sum()
        return float(s * rest * (1.0 - rest) - shares[largest])

    low = 4.0 * others.max()
    high = 2.0 * low
    while surplus(high) <= 0.0:
        high *= 2.0
    s = float(brentq(surplus, low, high, xtol=1e-15 * high, rtol=1e-14)) if surplus(low) < 0.0 else low
    a = np.insert(weights(s), largest, 1.0 - weights(s).sum())
    flows = s * np.outer(a, a)
    np.fill_diagonal(flows, 0.0)
    return flows


def invariant_matrix(matrix: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    r"""Return a matrix that leaves the expected frequencies p as they are, in two steps.

    .. math:: R = P Q, \qquad Q_{ji} = \frac{p_i P_{ij}}{\sum_k p_k P_{kj}}, \qquad p^T R = p^T

    Q is the Bayesian inverse: the probability that a value j after the first step had been i.

    References
    ----------
    J. Gouweleeuw, P. Kooiman, L. Willenborg, P.-P. de Wolf (1998), Post randomisation for statistical disclosure control:
    theory and implementation, Journal of Official Statistics 14(4), 463-478.
    """
    joint = matrix * (counts / counts.sum())[:, None]
    reached = joint.sum(axis=0)
    back = np.where(reached[:, None] > 0.0, joint.T, np.eye(len(matrix))) / np.where(reached > 0.0, reached, 1.0)[:, None]
    product = matrix @ back
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def checked_matrix(name: str, entries: Any, present: Sequence[Any]) -> tuple[tuple[Any, ...], NDArray[np.float64]]:
    """Return the values and the matrix that the caller gave for them; refuse an invalid one, with the reason.

    Parameters
    ----------
    name
        The attribute, for messages.
    entries
        An array over the values present, in their order; or a mapping from each value present to a mapping from the values that
        it may become to their probabilities. In the second form, a value may become one that does not occur yet.
    present
        The values that occur.
    """
    if isinstance(entries, Mapping):
        values, matrix = _from_mapping(name, entries, present)
    else:
        values, matrix = tuple(present), _as_array(name, entries)
        if matrix.shape != (len(values), len(values)):
            shape = " x ".join(map(str, matrix.shape))
            raise ArgumentError(
                f"the matrix of {shown(name)} is {shape}; its {len(values):,} values need {len(values):,} x {len(values):,}."
            )
    if not np.all(np.isfinite(matrix)) or np.any(matrix < 0.0):
        raise ArgumentError(f"the matrix of {shown(name)} holds entries that are not probabilities; each must be from 0 to 1.")
    wrong = np.flatnonzero(np.abs(matrix.sum(axis=1) - 1.0) > _ROUNDING)
    if len(wrong):
        total = matrix[wrong[0]].sum()
        raise ArgumentError(
            f"row {wrong[0] + 1:,} of the matrix of {shown(name)} sums to {total:.10g}, not to 1 ({len(wrong):,} such rows); "
            "each row holds the probabilities of all that one value may become."
        )
    return values, matrix / matrix.sum(axis=1, keepdims=True)


def drawn(codes: NDArray[Any], matrix: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return the new value for each value: an independent draw from its row, by the alias method of Walker and Vose."""
    size = len(matrix)
    keep, alias = _alias_tables(matrix, np.flatnonzero(np.bincount(codes, minlength=size)))
    out, run = np.empty(len(codes), dtype=np.int64), active_run()
    for start in range(0, len(codes), _PIECE):
        run.check()
        piece = codes[start : start + _PIECE].astype(np.int64)
        place = random.random(len(piece)) * size
        column = np.minimum(place.astype(np.int64), size - 1)
        cell = piece * size + column
        out[start : start + _PIECE] = np.where(place - column < keep[cell], column, alias[cell])
    return out


def _as_array(name: str, entries: Any) -> NDArray[np.float64]:
    try:
        return np.array(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"the matrix of {shown(name)} is not a table of numbers.") from None


def _from_mapping(name: str, rows: Mapping[Any, Any], present: Sequence[Any]) -> tuple[tuple[Any, ...], NDArray[np.float64]]:
    lacking = [value for value in present if value not in rows]
    if lacking or not all(isinstance(row, Mapping) for row in rows.values()):
        raise ArgumentError(
            f"the matrix of {shown(name)} has no row for {len(lacking):,} of its {len(present):,} values; "
            "give each value a mapping from the values that it may become to their probabilities."
        )
    values = tuple(dict.fromkeys([*present, *rows, *(value for row in rows.values() for value in row)]))
    at = {value: place for place, value in enumerate(values)}
    matrix = np.eye(len(values))
    for value, row in rows.items():
        matrix[at[value]] = 0.0
        for other, probability in row.items():
            matrix[at[value], at[other]] = _as_array(name, probability)
    return values, matrix


def _alias_tables(matrix: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, for each cell of the used rows, the share in which it stands for its own column, and the column otherwise."""
    size = len(matrix)
    keep, alias = np.ones((size, size)), np.tile(np.arange(size), (size, 1))
    run = active_run()
    for row in rows:
        run.check()
        left = (matrix[row] * size).tolist()
        small = [column for column in range(size) if left[column] < 1.0]
        large = [column for column in range(size) if left[column] >= 1.0]
        while small and large:
            one, other = small.pop(), large[-1]
            keep[row, one], alias[row, one] = left[one], other
            left[other] -= 1.0 - left[one]
            if left[other] < 1.0:
                small.append(large.pop())
    return keep.ravel(), alias.ravel()
