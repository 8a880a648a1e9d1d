r"""The cell key method: the noise of a cell depends only on its records, so it is the same in every table.

Every record has a key of 64 bits, HMAC(secret, its name); the key of a cell is the sum of its records' keys modulo 2^64
(integers, because a sum of fractions would depend on its order). The cell's key selects the noise from a table of
probabilities: of all distributions with mean 0 and a given variance, at most D in size, that never produce a negative count or
a count from 1 to `gap`, the one with the greatest entropy. Empty cells stay empty. The method is not additive: every cell is
perturbed separately.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from unveil.arguments import DefaultText, checked_arguments, checked_count, checked_number, named
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, TableError, shown
from unveil.randomness import read_key
from unveil.run import active_run, looks
from unveil.sources import Data, open_source
from unveil.tables.build import leaves_of
from unveil.tables.build import table as build
from unveil.tables.cells import rolled_up
from unveil.tables.perturbation.result import PerturbedTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cell_keys", "perturb_by_cell_keys", "perturbation_row"]

_BITS = 64
_NULLS = DefaultText("category")


@looks
@checked_arguments
def perturb_by_cell_keys(
    data: Data,
    by: Names,
    *,
    record: str,
    key_file: str | os.PathLike[str],
    largest: int = 5,
    variance: float = 2.0,
    gap: int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    nulls: str = _NULLS,
    total: str = "Total",
) -> PerturbedTable:
    """Perturb the counts of a table by the keys of its records.

    Parameters
    ----------
    data, by, hierarchies, nulls, total
        The records and the dimensions, as for `table`.
    record
        The column with the unique and permanent name of every record.
    key_file
        The secret from which the keys of records are derived; anyone who has it can compute the noise.
    largest, variance
        The largest noise, and its variance. Neither should be published.
    gap
        Counts from 1 to this number do not occur in the result.

    Returns
    -------
    PerturbedTable
        The table; not additive.
    """
    checked_count("largest", largest, least=1, most=1000)
    checked_number("variance", variance, above=0, most=float(largest * largest))
    checked_count("gap", gap, least=0, most=largest)
    table = build(data, by, hierarchies=hierarchies, nulls=named(nulls), total=total)
    keys = cell_keys(data, names_of(by), record, read_key(key_file), table.dimensions, hierarchies or {}, table.made.nulls)
    noise = _noise(table.n, keys, largest, variance, gap)
    settings = {"gap": gap}
    notes = ("Every cell is perturbed separately, so totals need not be the sums of their parts.",)
    return PerturbedTable(
        table, (table.n + noise).astype(np.float64), "count", "cell keys", settings, additive=False, repeatable="key", notes=notes
    )


def cell_keys(
    data: Data,
    by: tuple[str, ...],
    record: str,
    secret: bytes,
    dimensions: tuple[Any, ...],
    hierarchies: Mapping[str, Any],
    nulls: str,
) -> NDArray[np.uint64]:
    """Return the key of every cell: the sum of its records' keys modulo 2^64."""
    source = open_source(data)
    if record in by:
        raise ArgumentError(f"column {shown(record)} names the records, so it cannot also be a dimension.")
    names, leaves = leaves_of(source, by, record, dimensions, hierarchies, nulls)
    if len(set(names)) < len(names) or any(name is None for name in names):
        raise TableError(
            f"column {shown(record)} does not name every record uniquely, so keys would not be permanent; name one that does."
        )
    digests = (hmac.digest(secret, str(name).encode(), "sha256") for name in active_run().through("records", names))
    keys = np.array([int.from_bytes(digest[:8]) for digest in digests], dtype=np.uint64)
    shape = tuple(len(one.leaves) for one in dimensions)
    inner = np.zeros(int(np.prod(shape)), dtype=np.uint64)
    np.add.at(inner, np.ravel_multi_index(list(leaves), shape), keys)  # integers wrap at 2^64
    return rolled_up(dimensions, inner.reshape(shape)).ravel()


def _noise(n: NDArray[np.int64], keys: NDArray[np.uint64], largest: int, variance: float, gap: int) -> NDArray[np.int64]:
    """Read the noise of every cell from the table of probabilities."""
    share = keys.astype(np.float64) / 2.0**_BITS
    noise = np.zeros(len(n), dtype=np.int64)
    above = largest + gap + 1
    for count in np.unique(np.minimum(n, above)).tolist():
        if count == 0:
            continue
        steps, chances = perturbation_row(count, largest, variance, gap)
        cells = np.minimum(n, above) == count
        noise[cells] = steps[np.minimum(np.searchsorted(np.cumsum(chances), share[cells], side="right"), len(steps) - 1)]
    return noise


def perturbation_row(count: int, largest: int, variance: float, gap: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the possible noise of a count and its probabilities: mean 0, the given variance, and the greatest entropy.

    If a small count leaves no room for the variance, the closest possible variance is used.

    Examples
    --------
    >>> steps, chances = perturbation_row(20, 5, 2.0, 0)
    >>> abs(float(steps @ chances)) < 1e-6, round(float(steps**2 @ chances), 6)
    (True, 2.0)
    """
    steps = np.array([one for one in range(-min(count, largest), largest + 1) if not 1 <= count + one <= gap], dtype=np.int64)
    if steps.min() > 0 or steps.max() < 0:
        raise TableError(f"a count of {count} cannot be perturbed with mean 0: it lies in the gap, and nothing lies below it.")
    least, most = _variances(steps)
    target = float(np.clip(variance, least + 1e-3 * (most - least), most - 1e-3 * (most - least)))
    both = np.stack([steps, steps**2]).astype(np.float64)
    aim = np.array([0.0, target])

    def dual(factors: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        powers = factors @ both
        top = powers.max()
        weights = np.exp(powers - top)
        chances = weights / weights.sum()
        return float(np.log(weights.sum()) + top - factors @ aim), both @ chances - aim

    solved = minimize(dual, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-10})
    powers = solved.x @ both
    weights = np.exp(powers - powers.max())
    return steps, weights / weights.sum()


def _variances(steps: NDArray[np.int64]) -> tuple[float, float]:
    """Return the least and the largest variance of a distribution on steps with mean 0."""
    below, above = steps[steps <= 0], steps[steps >= 0]
    least = 0.0 if 0 in steps else float(-below.max() * above.min())
    return least, float(-below.min() * above.max())
