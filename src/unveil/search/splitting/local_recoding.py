"""May records that one generalisation would suppress have another? Local recoding: round after round, each with its own levels.

A round is a full-domain search over the records that are left. Those in classes that meet the models keep the labels of its
levels; the others go on to the next round, until none are left, or no more than may be suppressed and that no levels suit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, shown_number
from unveil.attributes import Names
from unveil.errors import ArgumentError
from unveil.models.base import Model
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run
from unveil.search.checks import limit_of
from unveil.search.lattice.budget import SearchBudget
from unveil.search.lattice.space import KeyAttribute, Node
from unveil.search.request import Hierarchies, Request, finer_request
from unveil.search.splitting.labelling import Recoded, Recoding, fully_general, of_levels, released
from unveil.search.splitting.rounds import round_of
from unveil.sources import Data

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["recode_locally"]

_FACTORS = (0.5, 0.3)
"""How dear records that go on to the next round are taken to be: as dear as suppressed ones, and less, as they will not be."""
_MOST_NODES = 250
"""A round but the last looks at no more generalisations than these: its records can still be served in a later one."""


@checked_arguments
def recode_locally(  # noqa: PLR0913 - options by keyword
    data: Data,
    attributes: Names | Hierarchies,
    models: Sequence[Model],
    *,
    hierarchies: Hierarchies | None = None,
    suppression: float = 0.0,
    step: float = 0.05,
    orders: Mapping[str, Sequence[Any]] | None = None,
    identifiers: Names = (),
    nulls: str = "category",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
) -> Release[Recoding]:
    """Generalise round by round: what the levels of one round leave over gets its own levels in the next.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file.
    models
        What the release must meet; any but those that compare with a population.
    hierarchies
        The hierarchies of key attributes, and of sensitive ones for the hierarchical distance. A key attribute without one gets
        one proposed from its values.
    suppression
        The share of the records that may be suppressed in the end: their key values become ``*``.
    step
        The share of the records left that every round has to settle, above 0 and at most 1.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank.
    identifiers
        Columns that name people outright: they are left out.
    nulls
        "category": a null is a value. "drop": records with a null in a column named here are left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        Of the shuffling: a seed for tests, or a secret key file for whoever must be able to repeat the release (see
        `unveil.randomness`). Neither: nobody can repeat or undo it.
    time_limit
        Seconds that the search of one round may take.

    Returns
    -------
    Release
        Its Loss is at most that of the best full-domain generalisation under the same models and suppression; `details` lists
        the rounds: the levels, and the records that they settle.

    Raises
    ------
    ModelNotMetError
        If a model is not even met by all records taken together.

    Notes
    -----
    Distributions of sensitive attributes are compared with the whole table's in every round. Classes of two rounds may have
    equal labels; to a reader they are one class, which meets every model that both meet.

    References
    ----------
    .. [1] Prasser, Kohlmayer, Kuhn (2016), The importance of context: risk-based de-identification of biomedical data, Methods
       of Information in Medicine 55(4). doi:10.3414/ME16-01-0012

    Examples
    --------
    >>> import polars as pl, unveil
    >>> tree = unveil.Hierarchy("age", [["21", "20s", "*"], ["24", "20s", "*"], ["35", "30s", "*"], ["38", "30s", "*"]])
    >>> people = pl.DataFrame({"age": [21, 21, 24, 24, 35, 38]})
    >>> unveil.recode_locally(people, {"age": tree}, [unveil.models.KAnonymity(2)], keep_order=True).data["age"].to_list()
    ['21', '21', '24', '24', '30s', '30s']
    """
    if not 0.0 < step <= 1.0:
        raise ArgumentError(
            f"the share of the records that a round has to settle is above 0 and at most 1, so it is not {shown_number(step)}."
        )
    chance = chance_of(seed, key_file)
    request = finer_request(
        data, attributes, models, hierarchies=hierarchies, orders=orders, identifiers=identifiers, nulls=nulls
    )
    began = time.perf_counter()
    known = request.key_attributes()
    run = _Run(request, known, limit_of(suppression, len(request.rows)), step, time_limit)
    tries = [made for made in (*(run.rounds(factor) for factor in _FACTORS), run.last(run.everything)) if made is not None]
    return released(
        "local recoding",
        request,
        [*(run.recoded(made) for made in tries), fully_general(request, known)],
        began=began,
        keep_order=keep_order,
        chance=chance,
        settings={"suppression": suppression, "step": step, "nulls": nulls, "time_limit": time_limit},
        proposed=[*request.proposed],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The levels of a round, the cells that it settles, their records, and those that it leaves."""

    node: Node
    settled: NDArray[np.int64]
    records: int
    left: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    request: Request
    known: Sequence[KeyAttribute]
    limit: int
    step: float
    time_limit: float | None

    @property
    def everything(self) -> NDArray[np.int64]:
        """All cells."""
        return np.arange(len(self.request.cells))

    def rounds(self, factor: float) -> list[_Round] | None:
        """Go from round to round; where the last records cannot be settled on their own, take earlier ones back."""
        found: list[_Round] = []
        cells = self.everything
        run = active_run()
        while len(cells):
            run.check()
            one = self._round(cells, int(self._records(cells) * (1.0 - self.step)), factor, _MOST_NODES)
            if one is None:
                break
            found.append(one)
            cells = one.left
        while self._records(cells) > self.limit:
            ended = self.last(cells)
            if ended is not None:
                return [*found, *ended]
            if not found:
                return None
            taken = found.pop()
            cells = np.sort(np.concatenate([taken.settled, taken.left]))
        return found

    def last(self, cells: NDArray[np.int64]) -> list[_Round] | None:
        """Settle all cells in one round, but for what may be suppressed."""
        one = self._round(cells, self.limit, 0.5, None)
        return None if one is None else [one]

    def recoded(self, rounds: Sequence[_Round]) -> Recoded:
        """Return what every record becomes."""
        gone = np.zeros(len(self.request.cells), dtype=bool)
        gone[rounds[-1].left] = True
        rules = {}
        for at, one in enumerate(self.known):
            level = np.zeros(len(self.request.cells), dtype=np.int64)
            for made in rounds:
                level[made.settled] = made.node[at]
            codes = self.request.codes(one.name)
            rules[one.name] = of_levels(one, level[self.request.of_row], codes[self.request.of_row])
        told = [{"levels": dict(zip(self.request.keys, made.node, strict=True)), "records": made.records} for made in rounds]
        return Recoded(rules, gone[self.request.of_row], {"rounds": told})

    def _round(self, cells: NDArray[np.int64], limit: int, factor: float, nodes: int | None) -> _Round | None:
        found = round_of(self.request, self.known, cells, limit, factor=factor, budget=SearchBudget(self.time_limit, nodes))
        if found is None or found[1].all():
            return None
        node, gone = found
        return _Round(node, cells[~gone], self._records(cells[~gone]), cells[gone])

    def _records(self, cells: NDArray[np.int64]) -> int:
        return int(self.request.cells.n[cells].sum())
