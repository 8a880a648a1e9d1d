r"""Which classes of a generalisation break a requirement? The models of a release, asked of every node of a search.

How many of a class's records violate in *every* node below, where the class is split in whatever way? All of them, where a class
that holds one which meets the requirement meets it too: k-anonymity, k-map, distinct l-diversity and p-sensitivity. The other
class models set a bound b on a figure f that is convex in the class's distribution. Let s be the share of a class's records that
lie in parts which meet the model; those parts together meet it as well, and no part exceeds the largest figure m there can be. So

.. math:: f(C) \le s b + (1 - s) m , \qquad 1 - s \ge \frac{f(C) - b}{m - b} .

Where the records that violate in every node below are more than may be suppressed, none of these nodes will do. Where nothing may
be suppressed, one violating class is enough.

An average risk is no property of a class. Once the other requirements have had their say, the smallest classes are suppressed
until it is met (`average`), and so are no fewer records in any node below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes
from unveil.counts.grouping import group, summed
from unveil.measures.equivalence import Equivalence, Spread
from unveil.models import (
    AlphaK,
    AverageRisk,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PSensitiveKAnonymity,
    TCloseness,
)
from unveil.models.base import TOLERANCE, SecretModel
from unveil.search.lattice.average import gone_for_average
from unveil.search.lattice.closeness_kernel import ruler_of
from unveil.search.lattice.rollup import ClassTable
from unveil.search.lattice.space import Node, Secret, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.models.asked import AnyModel

__all__ = ["Judge", "Verdict", "lasting_share"]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the requirements say of a node.

    Attributes
    ----------
    violating
        Which classes are to be suppressed: those that violate one, and the smallest where the average risk is too high.
    lasting
        How many records have to be suppressed in every node below, at least.
    fails
        Whether the table as a whole does not do, whatever is suppressed.
    """

    violating: NDArray[np.bool_]
    lasting: float
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
        How many records may be suppressed.
    """

    def __init__(self, space: Space, models: Sequence[AnyModel], limit: int) -> None:
        self._space = space
        self._limit = limit
        self._size = max([0, *(model.k or 0 for model in models if isinstance(model, KAnonymity))])
        self._map = max([0, *(model.k or 0 for model in models if isinstance(model, KMap))])
        self._presence = [model for model in models if isinstance(model, DeltaPresence)]
        self._average = min(
            [1.0, *(model.highest for model in models if isinstance(model, AverageRisk) and model.highest is not None)]
        )
        self._secret = [model for model in models if isinstance(model, SecretModel)]
        self._rulers = {model: ruler_of(model, space.secrets[model.attribute]) for model in self._secret} if space.dense else {}

    def small(self, table: ClassTable) -> NDArray[np.bool_]:
        """Return which classes are too small, in the table or in its population."""
        found = table.n < self._size
        if self._map:
            found |= self._space.population(table) < self._map
        return found & (table.n > 0)

    @property
    def only_small(self) -> bool:
        """Whether size is all that is asked for."""
        return not (self._presence or self._secret or self._average < 1.0)

    @property
    def least(self) -> int | None:
        """The smallest size of a class, where that is all that is asked for."""
        return self._size if self.only_small and not self._map else None

    def verdict(self, node: Node, table: ClassTable, small: NDArray[np.bool_]) -> Verdict:
        """Ask every requirement of a node's classes, where `small` are too small already."""
        violating, lasting = small.copy(), np.where(small, table.n, 0).astype(np.float64)
        fails = self._ask_presence(table, violating)
        if self._secret and not fails:
            self._ask_secrets(node, table, violating, lasting)
        staying = float(lasting.sum())
        if self._average < 1.0:
            least = gone_for_average(table, self._space.fields, small, self._average)
            staying = max(staying, float(table.n[least].sum()))
            plain = np.array_equal(violating, small)
            violating = least if plain else gone_for_average(table, self._space.fields, violating, self._average)
        emptied = bool(violating.any()) and any((model.low or 0.0) > TOLERANCE for model in self._presence)
        return Verdict(violating, staying, fails or emptied)  # who is suppressed is less present than a lower bound allows

    def _ask_presence(self, table: ClassTable, violating: NDArray[np.bool_]) -> bool:
        """Mark the classes whose presence is out of bounds; return whether that of one is that holds no record to suppress."""
        fails = False
        for model in self._presence:
            chance = table.n / self._space.population(table)
            high = 1.0 if model.high is None else model.high
            beyond = (chance > high + TOLERANCE) | (chance < (model.low or 0.0) - TOLERANCE)
            violating |= beyond & (table.n > 0)
            fails = fails or bool((beyond & (table.n == 0)).any())
        return fails

    def _ask_secrets(self, node: Node, table: ClassTable, violating: NDArray[np.bool_], lasting: NDArray[np.float64]) -> None:
        """Mark the classes that a model of a sensitive attribute finds wanting, until it is clear that they are too many."""
        equivalence: Equivalence | None = None
        classes = np.flatnonzero(~violating & (table.n > 0))
        for model in self._secret:
            if not len(classes):
                return
            ruler = self._rulers.get(model)
            if ruler is not None:
                ruler.mark(table.n, self._space.held(table, model.attribute), violating, lasting, self._limit)
            else:
                equivalence = equivalence or self._equivalence(node, table, classes)
                figures = model.by_class(equivalence)
                wrong = model.violated(figures)
                violating[classes[wrong]] = True
                staying = table.n[classes] * lasting_share(model, figures, wrong)
                lasting[classes] = np.maximum(lasting[classes], staying)
            if lasting.sum() > self._limit:
                return

    def _equivalence(self, node: Node, table: ClassTable, classes: NDArray[np.int64]) -> Equivalence:
        """Return some classes of a node, with the spread of the sensitive attributes over them."""
        size = table.n[classes].astype(np.int64)
        spreads = self._dense_spreads(table, classes) if self._space.dense else self._sparse_spreads(node, table, classes)
        bare = Classes(np.zeros(0, dtype=np.int64), (), (), size, size.astype(np.float64))
        return Equivalence(bare, bare.mass, bare.mass, spreads, self._space.records, 0)

    def _dense_spreads(self, table: ClassTable, classes: NDArray[np.int64]) -> dict[str, Spread]:
        found = {}
        for secret in self._space.secrets.values():
            held = self._space.held(table, secret.name)[classes]
            of_class, value = np.nonzero(held)
            found[secret.name] = _spread(secret, of_class, value, held[of_class, value])
        return found

    def _sparse_spreads(self, node: Node, table: ClassTable, classes: NDArray[np.int64]) -> dict[str, Spread]:
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


def lasting_share(model: SecretModel, figures: NDArray[np.float64], wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of each class's records that violate a model however the class is split.

    The entropy is concave and lies between 0 and log l where a class violates; the largest share lies between alpha and 1.
    """
    if isinstance(model, DistinctLDiversity | PSensitiveKAnonymity):
        return wrong.astype(np.float64)
    found = np.zeros(len(figures))
    if isinstance(model, EntropyLDiversity) and model.l is not None:
        found[wrong] = 1.0 - np.log(figures[wrong]) / math.log(model.l)
    elif isinstance(model, AlphaK) and model.alpha is not None:
        found[wrong] = 1.0  # of a class that is too small, which its parts are as well
        if model.alpha + TOLERANCE < 1.0:
            found[wrong] = (figures[wrong] - model.alpha - TOLERANCE) / (1.0 - model.alpha - TOLERANCE)
    elif isinstance(model, TCloseness) and model.t is not None and model.t + TOLERANCE < 1.0 and model.distance != "kl":
        found[wrong] = (figures[wrong] - model.t - TOLERANCE) / (1.0 - model.t - TOLERANCE)
    return np.clip(found, 0.0, 1.0)


def _spread(secret: Secret, of_class: NDArray[Any], value: NDArray[Any], n: NDArray[Any]) -> Spread:
    rows = of_class.astype(np.int64)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    return Spread(secret.name, secret.values, rows, value.astype(np.int64), n.astype(np.float64), starts, secret.share)
