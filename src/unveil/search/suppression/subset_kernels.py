"""Sums over the subsets of every set of attributes (a bit mask); both methods of local suppression count matches with them."""

from __future__ import annotations

from unveil.compilation import compiled

__all__ = ["sum_over_subsets"]


@compiled
def sum_over_subsets(sums, attributes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Replace every entry by the sum of the entries of its subsets."""
    for at in range(attributes):
        bit = 1 << at
        for chosen in range(sums.shape[0]):
            if chosen & bit:
                sums[chosen] += sums[chosen ^ bit]
