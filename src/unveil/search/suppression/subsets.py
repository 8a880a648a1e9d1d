"""What if an intruder knows only some of the key attributes? Local suppression for every subset of the key of given sizes.

Subsets are treated one after the other, each on the result of the one before. A new null never removes a record that covers a
true one, so a figure reached against the truth still holds when the next subset is treated. Against the release, a record without
any value left in a subset says nothing there, and no longer counts for others; so the subsets are treated again until nothing
changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count
from unveil.errors import ArgumentError
from unveil.formats import counted
from unveil.measures import covering
from unveil.run import active_run
from unveil.search.suppression.grouped import grouped, numbered
from unveil.search.suppression.matched import matched

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["costs_of_sets", "for_subsets", "required_subsets", "subsets_of"]

_NULL = -1


def required_subsets(k_by_size: Mapping[Any, int], keys: Sequence[str], records: int) -> dict[int, int]:
    """Return the required k by the size of a subset, the largest subsets first; text is read as a number."""
    read: dict[int, int] = {}
    for text, k in k_by_size.items():
        size = int(text) if isinstance(text, str) and text.isdecimal() else text
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < len(keys):
            raise ArgumentError(
                f"subsets maps the number of key attributes known to k; the number is at least 1 and less than the "
                f"{counted(len(keys), 'key attribute')} named; for all of them use k."
            )
        read[size] = checked_count("k of a subset", k, least=1, most=records, of="records")
    return dict(sorted(read.items(), reverse=True))


def subsets_of(sizes: Mapping[int, int], width: int) -> Iterator[tuple[list[int], int]]:
    """Yield every subset of the attributes, by their places, with the k that is required there."""
    for size, k in sizes.items():
        for places in combinations(range(width), size):
            yield list(places), k


def costs_of_sets(price: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cost of every set of attributes, as bit masks."""
    bits = 1 << np.arange(len(price))
    return np.array([price[(bits & chosen) > 0].sum() for chosen in range(1 << len(price))])


def for_subsets(
    codes: NDArray[np.int64], nulled: NDArray[np.bool_], sizes: Mapping[int, int], price: NDArray[np.float64], against: str
) -> NDArray[np.bool_]:
    """Return the cells to suppress so that every subset meets its k: the given cells, and any others needed.

    Parameters
    ----------
    codes
        The records in an order of their own, a null of the data being -1.
    nulled
        The cells that are suppressed already.
    sizes
        The required k, by the number of attributes in a subset.
    price
        What a cell of each attribute costs.
    against
        "truth" or "release".
    """
    wanted, gone = list(subsets_of(sizes, codes.shape[1])), nulled.copy()
    again = True
    while again:
        before = int(gone.sum())
        for places, k in active_run().each("subsets", wanted):
            part, lost = codes[:, places], gone[:, places]
            more = _covered(part, lost, k, price[places]) if against == "truth" else _matched(part, lost, k, price[places])
            gone[:, places] |= more
        again = against == "release" and int(gone.sum()) > before
    return gone & (codes >= 0)


def _covered(codes: NDArray[np.int64], lost: NDArray[np.bool_], k: int, price: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the cells to suppress so that k released records cover every true one, where a null of the data is a value.

    A record whose values fewer than k share does not stay complete, although records with nulls may cover it.
    """
    true = np.where(codes < 0, codes.max(axis=0, initial=0) + 1, codes)
    released, alike = np.where(lost, _NULL, true), numbered(true)
    shared = np.bincount(alike)[alike] >= k
    covered = (covering(released, true) >= k) & (shared | lost.any(axis=1))
    return np.zeros_like(lost) if covered.all() else grouped(released, k, costs_of_sets(price), _quiet, covered)


def _matched(codes: NDArray[np.int64], lost: NDArray[np.bool_], k: int, price: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the cells to suppress so that every record matches k."""
    return matched(np.where(lost, _NULL, codes), k, price, costs_of_sets(price), _quiet)


def _quiet(done: int, total: int) -> None:
    """Report nothing: progress is reported subset by subset."""
