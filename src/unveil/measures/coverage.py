r"""How many released records may belong to someone whose true values are known? Records that cover a true one.

A released record covers a true one if each of its values that is not null is the true value: a null says nothing, so it fits
everybody. Unlike the matching of `unveil.measures.wildcard`, which compares the release with itself, this is the comparison of an
intruder who knows the person: a null protects the people whose records fit it, not the person whose record holds it.

.. math:: c_t = |\{ r : r_j = t_j \text{ or } r_j \text{ is null, for every key attribute } j \}|, \qquad k_{known} = \min_t c_t

A record that is null throughout covers everybody. A null among the true values is covered only by a null. Fewer is riskier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.counts.grouping import group, summed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["covering"]


def covering(released: NDArray[np.int64], true: NDArray[np.int64], amounts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Count the released records that cover each true one.

    Parameters
    ----------
    released, true
        The keys in codes, a row per record and a column per attribute; the two share the codes of their values, and -1 is a null.
    amounts
        How many records each row of the release stands for; none: one.

    Notes
    -----
    The time grows with the number of records times the number of sets of attributes that are null together in the release.

    Examples
    --------
    >>> import numpy as np
    >>> covering(np.array([[0, -1], [1, 1], [-1, -1]]), np.array([[0, 5], [1, 1], [1, 2]]))
    array([2, 2, 1])
    """
    n = np.ones(len(released), dtype=np.int64) if amounts is None else amounts
    covers = np.zeros(len(true), dtype=np.int64)
    bits = 1 << np.arange(released.shape[1])
    nulls = ((released < 0) * bits).sum(axis=1)
    for pattern in np.unique(nulls).tolist():
        rows = np.flatnonzero(nulls == pattern)
        held = [at for at in range(released.shape[1]) if not pattern >> at & 1]
        if not held:
            covers += int(n[rows].sum())
            continue
        both = [np.concatenate([released[rows, at], true[:, at]]) + 1 for at in held]
        numbers, _ = group(both, [int(codes.max()) + 1 for codes in both])
        totals = summed(numbers[: len(rows)], n[rows], int(numbers.max()) + 1)
        covers += totals[numbers[len(rows) :]].astype(np.int64)
    return covers
