"""A compiled loop that counts keys as they come, without widening them first.

Loading numba takes longer than most counts; `grouping` calls this where numba is loaded anyway, or where there are so many rows
that it pays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_keys"]


def count_keys(key: NDArray[Any], domain: int) -> NDArray[np.int64]:
    """Return how often each of the keys 0 to domain - 1 occurs."""
    counts = np.zeros(domain, dtype=np.int64)
    _count(key, counts)
    return counts


@compiled
def _count(key, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for at in range(key.shape[0]):
        counts[np.uint64(key[at])] += 1
