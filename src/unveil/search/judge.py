"""Which classes of a generalisation break a requirement? The models of a release, asked of every node of a search.

A requirement is *lasting* when every class that holds a class which meets it meets it too: k-anonymity, k-map, distinct
l-diversity and p-sensitivity. Records in violating classes then never grow in number from a node to one above it, so where too
many must be suppressed, so they must in all nodes below. The other class models are convex in the class's distribution: a union
of classes that all meet one meets it as well. So where nothing may be suppressed, they too fail in all nodes below a failing one;
where something may, this cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes
from unveil.counts.grouping import group, summed
from unveil.measures.equivalence import Equivalence, Spread
from unveil.models import AverageRisk, DeltaPresence, DistinctLDiversity, KAnonymity, KMap, PSensitiveKAnonymity
from unveil.models.base import TOLERANCE, SecretModel
from unveil.search.rollup import Table
from unveil.search.rulers import ruler_of
from unveil.search.space import Node, Secret, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.models.asked import AnyModel

__all__ = ["Judge", "Verdict"]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Which classes violate a requirement, which a lasting one, and whether the table as a whole fails."""

    violating: NDArray[np.bool_]
    lasting: NDArray[np.bool_]
    fails: bool = False


class Judge:
    """The requirements, ready to be asked of a table's nodes.

    Parameters
    ----------
    space
        The lattice; its secrets are the attributes that the models are about.
    models
        The requirements.
    limit
        How many records may be suppressed: beyond it, counting violating records stops.
    """

    def __init__(self, space: Space, models: Sequence[AnyModel], limit: int) -> None:
        self._space = space
        self._limit = limit
        self._size = max([0, *(model.k or 0 for model in models if isinstance(model, KAnonymity))])
        self._map = max([0, *(model.k or 0 for model in models if isinstance(model, KMap))])
        self._presence = [model for model in models if isinstance(model, DeltaPresence)]
        self._average = [model for model in models if isinstance(model, AverageRisk)]
        self._secret = [model for model in models if isinstance(model, SecretModel)]
        self._rulers = {model: ruler_of(model, space.secrets[model.attribute]) for model in self._secret} if space.dense else {}

    def small(self, table: Table) -> NDArray[np.bool_]:
        """Return which classes are too small, in the table or in its population."""
        found = table.n < self._size
        if self._map:
            found |= self._space.population(table) < self._map
        return found & (table.n > 0)

    @property
    def only_small(self) -> bool:
        """Whether size is all that is asked for."""
        return not (self._presence or self._average or self._secret)

    def verdict(self, node: Node, table: Table, small: NDArray[np.bool_]) -> Verdict:
        """Ask every requirement of a node's classes, where `small` are too small already."""
        violating, lasting = small.copy(), small.copy()
        fails = False
        for model in self._presence:
            chance = table.n / self._space.population(table)
            high = 1.0 if model.high is None else model.high
            beyond = (chance > high + TOLERANCE) | (chance < (model.low or 0.0) - TOLERANCE)
            violating |= beyond & (table.n > 0)
            fails = fails or bool((beyond & (table.n == 0)).any())
        if self._secret and not fails:
            self._ask_secrets(node, table, violating, lasting)
        for asked in self._average:
            kept = table.n[~violating]
            risk = np.count_nonzero(kept) / max(int(kept.sum()), 1)
            fails = fails or not risk <= (1.0 if asked.highest is None else asked.highest) + TOLERANCE
        return Verdict(violating, lasting, fails)

    def _ask_secrets(self, node: Node, table: Table, violating: NDArray[np.bool_], lasting: NDArray[np.bool_]) -> None:
        """Mark the classes that a model of a sensitive attribute finds wanting, until there are too many."""
        equivalence: Equivalence | None = None
        for model in self._secret:
            ruler = self._rulers.get(model)
            if ruler is not None:
                over = ruler.mark(table.n, self._space.held(table, model.attribute), violating, self._limit)
            else:
                if equivalence is None:
                    classes = np.flatnonzero(~violating & (table.n > 0))
                    equivalence = self._equivalence(node, table, classes)
                wrong = classes[model.violated(model.by_class(equivalence))] if len(classes) else classes
                violating[wrong] = True
                if isinstance(model, DistinctLDiversity | PSensitiveKAnonymity):
                    lasting[wrong] = True
                over = int(table.n[violating].sum()) > self._limit
            if over:
                return

    def _equivalence(self, node: Node, table: Table, classes: NDArray[np.int64]) -> Equivalence:
        """Return some classes of a node, with the spread of the sensitive attributes over them."""
        size = table.n[classes].astype(np.int64)
        spreads = self._dense_spreads(table, classes) if self._space.dense else self._sparse_spreads(node, table, classes)
        bare = Classes(np.zeros(0, dtype=np.int64), (), (), size, size.astype(np.float64))
        return Equivalence(bare, bare.mass, bare.mass, spreads, self._space.records, 0)

    def _dense_spreads(self, table: Table, classes: NDArray[np.int64]) -> dict[str, Spread]:
        found = {}
        for secret in self._space.secrets.values():
            held = self._space.held(table, secret.name)[classes]
            of_class, value = np.nonzero(held)
            found[secret.name] = _spread(secret, of_class, value, held[of_class, value])
        return found

    def _sparse_spreads(self, node: Node, table: Table, classes: NDArray[np.int64]) -> dict[str, Spread]:
        place = np.full(len(table), -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        of_part, codes, n = self._space.joint(node, table)
        parts = np.flatnonzero(place[of_part] >= 0)
        found = {}
        for secret in self._space.secrets.values():
            sizes = [len(classes), len(secret.values)]
            of_pair, (of_class, value) = group([place[of_part[parts]], codes[secret.name][parts]], sizes)
            found[secret.name] = _spread(secret, of_class, value, summed(of_pair, n[parts], len(of_class)))
        return found


def _spread(secret: Secret, of_class: NDArray[Any], value: NDArray[Any], n: NDArray[Any]) -> Spread:
    rows = of_class.astype(np.int64)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    return Spread(secret.name, secret.values, rows, value.astype(np.int64), n.astype(np.float64), starts, secret.share)
