"""What kind of identifier is a set of key attributes? Decided on integer counts of records, never on floating point.

identifier
    every class of the key holds one value of the sensitive attribute;
zero-identifier
    key and sensitive attribute are exactly independent;
partial-identifier
    neither, but at least one class holds one value only;
sketchy-identifier
    none of the above: the key narrows the sensitive attribute down without determining it for anyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Classes

__all__ = ["IdentifierKind", "kind_against_records", "kind_of"]

IdentifierKind: TypeAlias = Literal["identifier", "partial-identifier", "sketchy-identifier", "zero-identifier"]


def kind_of(keys: Classes, sensitive: Classes, n: NDArray[np.int64]) -> IdentifierKind:
    """Decide the kind of a key against a sensitive attribute, both as classes over the same cells of `n` records."""
    values_in_class = np.bincount(keys.of_cell, minlength=len(keys))
    if int(values_in_class.max()) == 1:
        return "identifier"
    if len(n) == len(keys) * len(sensitive) and _independent(keys, sensitive, n):
        return "zero-identifier"
    return "partial-identifier" if int(values_in_class.min()) == 1 else "sketchy-identifier"


def kind_against_records(class_sizes: NDArray[np.int64]) -> IdentifierKind:
    """Decide the kind of a key against the identity of the records, from the sizes of its classes."""
    if int(class_sizes.max()) == 1:
        return "identifier"
    if len(class_sizes) == 1:
        return "zero-identifier"
    return "partial-identifier" if int(class_sizes.min()) == 1 else "sketchy-identifier"


def _independent(keys: Classes, sensitive: Classes, n: NDArray[np.int64]) -> bool:
    """Whether n_xy * N == n_x * n_y for every pair; all pairs are known to occur."""
    total = int(n.sum())
    if total < 1 << 31:
        return bool(np.array_equal(n * total, sensitive.n[sensitive.of_cell] * keys.n[keys.of_cell]))
    pairs = zip(n.tolist(), sensitive.n[sensitive.of_cell].tolist(), keys.n[keys.of_cell].tolist(), strict=True)
    return all(n_xy * total == n_x * n_y for n_xy, n_x, n_y in pairs)
