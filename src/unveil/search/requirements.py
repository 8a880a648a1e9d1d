"""Which parts of a table break a requirement? The models, asked of many parts at once.

All models of classes are closed under union: records that meet one in two classes meet it in both together. So parts that come
out with equal labels, and are one class to a reader, do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Classes
from unveil.counts.grouping import group, summed
from unveil.measures.equivalence import Equivalence, Spread
from unveil.models import AverageRisk, KAnonymity
from unveil.models.base import TOLERANCE, SecretModel
from unveil.search.space import Secret

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.search.request import Request

__all__ = ["Requirements"]


class Requirements:
    """The models of a request, ready to be asked of parts.

    Parameters
    ----------
    request
        The table and its models.
    of_unit
        The cell of each unit; units are cells, or records.
    n
        The records that each unit stands for.
    """

    def __init__(self, request: Request, of_unit: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        models = request.models.values()
        self.smallest = max([1, *(model.k or 1 for model in models if isinstance(model, KAnonymity))])
        self.highest = min(
            [1.0, *(model.highest for model in models if isinstance(model, AverageRisk) and model.highest is not None)]
        )
        self._secret = [model for model in models if isinstance(model, SecretModel)]
        known = [Secret.of(request.cells, names) for names in request.secret_groups()]
        self._secrets: Mapping[str, tuple[Secret, NDArray[np.int64]]] = {one.name: (one, one.of_cell[of_unit]) for one in known}
        self._n = n

    @property
    def only_size(self) -> bool:
        """Whether the size of a part is all that is asked of it."""
        return not self._secret

    def most_parts(self, records: int) -> int:
        """Return into how many parts so many records may fall, on average over all."""
        return math.floor(self.highest * records + TOLERANCE)

    def violated(
        self, of_unit: NDArray[np.int64], number: int, units: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Return which parts violate a requirement, given the part of every unit, of all units or some."""
        n = self._n[units]
        size = summed(of_unit, n, number)
        found = size < self.smallest
        if self._secret:
            spreads = {name: _spread(one, of_unit, codes[units], n, number) for name, (one, codes) in self._secrets.items()}
            bare = Classes(np.zeros(0, dtype=np.int64), (), (), size.astype(np.int64), size)
            classes = Equivalence(bare, size, size, spreads, int(size.sum()), 0)
            for model in self._secret:
                found |= model.violated(model.by_class(classes))
        return found


def _spread(secret: Secret, of_unit: NDArray[np.int64], codes: NDArray[Any], n: NDArray[np.int64], number: int) -> Spread:
    of_pair, (parts, value) = group([of_unit, codes], [number, len(secret.values)])
    part = parts.astype(np.int64)
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    return Spread(secret.name, secret.values, part, value.astype(np.int64), summed(of_pair, n, len(part)), starts, secret.share)
