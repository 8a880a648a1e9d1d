"""Trees that predict each attribute from those before it, and records drawn from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import MissingExtraError
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LearntAttribute", "SequentialTrees"]


@dataclass(frozen=True, slots=True)
class LearntAttribute:
    """An attribute to learn: the codes of its values, whether they have an order, and which of the codes will be blurred."""

    codes: NDArray[Any]
    ordered: bool
    blurred: NDArray[np.bool_]

    def at(self, rows: NDArray[np.int64]) -> LearntAttribute:
        """Return the attribute for some records."""
        return LearntAttribute(self.codes[rows], self.ordered, self.blurred)


class _Leaves:
    """A grown tree, and the records in each of its leaves."""

    def __init__(self, known: NDArray[np.float32], target: LearntAttribute, leaf: int, random: np.random.Generator) -> None:
        seed = int(random.integers(1 << 31))
        self.tree, own = active_run().watching(lambda: _grown(known, target, leaf=leaf, seed=seed))
        self.order = np.argsort(own, kind="stable")
        self.size = np.bincount(own)
        self.start = np.cumsum(self.size) - self.size

    def donors(self, made: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.int64]:
        """Return, for each synthetic record, a random original record of the leaf that it falls into."""
        falls = active_run().watching(lambda: self.tree.apply(made))
        place = (random.random(len(made)) * self.size[falls]).astype(np.int64)
        return np.asarray(self.order[self.start[falls] + place], dtype=np.int64)


class SequentialTrees:
    """Trees grown on original records, one for each attribute but the first.

    Parameters
    ----------
    attributes
        The attributes in the order of drawing.
    leaf
        The smallest number of original records in a leaf.
    random
        The random generator.
    """

    def __init__(self, attributes: Sequence[LearntAttribute], leaf: int, random: np.random.Generator) -> None:
        self.known = np.column_stack([one.codes.astype(np.float32) for one in attributes])
        steps = active_run().each("trees grown", range(1, len(attributes)))
        self.leaves = [_Leaves(self.known[:, :at], attributes[at], leaf, random) for at in steps]

    def draw(self, wanted: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Return, for each of the records wanted and each attribute, the original record whose value it takes."""
        rows = np.empty((wanted, self.known.shape[1]), dtype=np.int64)
        columns = np.empty((wanted, self.known.shape[1]), dtype=np.float32)
        rows[:, 0] = random.integers(0, len(self.known), wanted)
        columns[:, 0] = self.known[rows[:, 0], 0]
        for at, leaves in enumerate(self.leaves, start=1):
            active_run().check()
            rows[:, at] = leaves.donors(columns[:, :at], random)
            columns[:, at] = self.known[rows[:, at], at]
        return rows


def _grown(known: NDArray[np.float32], target: LearntAttribute, *, leaf: int, seed: int) -> tuple[Any, Any]:
    """Grow a tree on codes: names are classified, numbers and dates are predicted by their rank.

    Return it with the leaf of each record.
    """
    try:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    except ImportError:
        raise MissingExtraError.needed("synthesis by trees", extra="tasks") from None
    kind = DecisionTreeRegressor if target.ordered else DecisionTreeClassifier
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # there may be many names
        tree = kind(min_samples_leaf=min(leaf, len(known)), random_state=seed).fit(known, target.codes.astype(np.float64))
    return tree, tree.apply(known)
