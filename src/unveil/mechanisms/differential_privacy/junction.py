"""Which joint distribution agrees with some of its marginals? The one with the greatest entropy, on a tree of small tables.

Attributes are numbered. The sets with known marginals are merged into cliques that form a tree: attributes that two cliques
share are in all cliques between them. The distribution is then the product of the cliques' tables divided by the tables of what
neighbours share, and only these tables are kept, never the joint one.

References
----------
R. Jirousek, S. Preucil (1995), On the effective implementation of the iterative proportional fitting procedure, Computational
Statistics and Data Analysis 19(2), 177-189.
R. McKenna, D. Sheldon, G. Miklau (2019), Graphical-model based estimation and inference for differential privacy, ICML,
4435-4444.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.run import active_run, watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JunctionTree", "clique_cells", "cliques_of"]

Set: TypeAlias = tuple[int, ...]
Table: TypeAlias = "NDArray[np.float64]"

_AGREED = 1e-4
"""Marginals are fitted if the total difference of their shares is at most this."""


def cliques_of(shape: Sequence[int], sets: Iterable[Sequence[int]]) -> list[Set]:
    """Return the cliques of a tree in which each of the given sets of attributes lies in one clique.

    Attributes are eliminated one by one, always the one whose neighbours have the fewest combinations; these are then joined.

    Examples
    --------
    >>> cliques_of((2, 2, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)])
    [(0, 1, 3), (1, 2, 3)]
    """
    near: dict[int, set[int]] = {at: {at} for at in range(len(shape))}
    for one in sets:
        for at in one:
            near[at] |= set(one)
    cliques: list[set[int]] = []
    while near:
        first = min(near, key=lambda at: (math.prod(shape[other] for other in near[at]), at))
        clique = near.pop(first)
        for other in clique - {first}:
            near[other] = (near[other] | clique) - {first}
        if not any(clique <= larger for larger in cliques):
            cliques.append(clique)
    return [tuple(sorted(clique)) for clique in cliques]


def clique_cells(shape: Sequence[int], sets: Iterable[Sequence[int]]) -> int:
    """Return the total number of cells in the tables of the tree."""
    return sum(math.prod(shape[at] for at in clique) for clique in cliques_of(shape, sets))


class JunctionTree:
    """A distribution, represented by the tables of a tree of cliques.

    Parameters
    ----------
    shape
        The number of values of each attribute.
    sets
        The sets of attributes whose marginals must agree; each lies in one clique.
    """

    def __init__(self, shape: Sequence[int], sets: Iterable[Sequence[int]]) -> None:
        self.shape = tuple(shape)
        self.cliques = cliques_of(shape, sets)
        self.tables = [np.full(sizes, 1.0 / math.prod(sizes)) for sizes in map(self._sizes, self.cliques)]
        self._children = _spanned(self.cliques)

    def fit(self, wanted: Mapping[Set, Table], sweeps: int) -> None:
        """Scale the tables, clique by clique along the tree, until their marginals are the wanted shares or sweeps run out."""
        at_clique: list[list[tuple[Set, Table]]] = [[] for _ in self.cliques]
        for names, shares in wanted.items():
            at_clique[next(at for at, clique in enumerate(self.cliques) if set(names) <= set(clique))].append((names, shares))
        run = active_run()
        for _ in range(sweeps):
            apart = 0.0
            for at, before in self._tour():
                run.check()
                if before is not None:
                    self._pass(before, at)
                for names, shares in at_clique[at]:
                    apart = max(apart, self._scale(at, names, shares))
            if apart < _AGREED:
                return

    def marginal(self, at: int, names: Sequence[int]) -> Table:
        """Return the shares of some attributes of one clique."""
        clique = self.cliques[at]
        return np.asarray(self.tables[at].sum(axis=tuple(place for place, name in enumerate(clique) if name not in names)))

    def pairs_with(self, name: int) -> dict[int, Table]:
        """Return the two-way tables of an attribute with every other, with the given attribute first."""
        start = next(at for at, clique in enumerate(self.cliques) if name in clique)
        pairs = {other: self._moved(start, (name, other)) for other in self.cliques[start] if other != name}
        waiting = [(start, other, self._moved(start, self._met(start, other, name))) for other in self._beside(start)]
        run = active_run()
        while waiting:
            run.check()
            before, at, reached = waiting.pop()
            known, shared = self._met(before, at, name), self._shared(before, at)
            shares = self._conditional(at, shared)

            def onward(wanted: Set, at: int = at, known: Set = known, shares: Table = shares, reached: Table = reached) -> Table:
                kept = tuple(label for label in self.cliques[at] if label in known or label in wanted)
                return _einsum(reached, known, _einsum(shares, self.cliques[at], kept), kept, wanted)

            pairs |= {other: onward((name, other)) for other in self.cliques[at] if other not in (name, *pairs)}
            further = (other for other in self._beside(at) if other != before)
            waiting += [(at, other, onward(self._met(at, other, name))) for other in further]
        return pairs

    def draw(self, wanted: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Draw records, each attribute in shares that are as close to the tables as integers allow."""
        records = np.full((wanted, len(self.shape)), -1, dtype=np.int64)
        run = active_run()
        for at, before in self._tour():
            run.check()
            clique = self.cliques[at]
            if before is not None and records[0, list(clique)].min() >= 0:
                continue
            known = tuple(name for name in clique if records[0, name] >= 0)
            new = tuple(name for name in clique if name not in known)
            table = _einsum(self.tables[at], clique, known + new).reshape(self._cells(known), -1)
            group = self._cell(records, known) if known else np.zeros(wanted, dtype=np.int64)
            drawn = watched(wanted, partial(_spread, table, group, random))
            records[:, list(new)] = np.column_stack(np.unravel_index(drawn, self._sizes(new)))
        return records

    def _sizes(self, names: Sequence[int]) -> Set:
        return tuple(self.shape[name] for name in names)

    def _cells(self, names: Sequence[int]) -> int:
        return math.prod(self._sizes(names))

    def _cell(self, records: NDArray[np.int64], names: Sequence[int]) -> NDArray[np.int64]:
        return np.asarray(np.ravel_multi_index([records[:, name] for name in names], self._sizes(names)))

    def _tour(self) -> Iterator[tuple[int, int | None]]:
        """Walk along the tree and back, and yield each clique with the one before; the first with none."""

        def walk(at: int) -> Iterator[tuple[int, int | None]]:
            for child in self._children[at]:
                yield child, at
                yield from walk(child)
                yield at, child

        yield 0, None
        yield from walk(0)

    def _shared(self, one: int, other: int) -> Set:
        return tuple(name for name in self.cliques[one] if name in self.cliques[other])

    def _met(self, one: int, other: int, name: int) -> Set:
        """Return an attribute and the attributes that two cliques share, each once."""
        return tuple(dict.fromkeys((name, *self._shared(one, other))))

    def _moved(self, at: int, names: Set) -> Table:
        return _einsum(self.tables[at], self.cliques[at], names)

    def _beside(self, at: int) -> list[int]:
        return [*self._children[at], *(parent for parent, children in enumerate(self._children) if at in children)]

    def _pass(self, before: int, at: int) -> None:
        """Make a clique agree with its neighbour on the attributes they share."""
        shared = self._shared(before, at)
        self._scale(at, shared, self.marginal(before, shared))

    def _scale(self, at: int, names: Sequence[int], shares: Table) -> float:
        """Scale a clique to the wanted shares; return how far it was from them."""
        marginal = self.marginal(at, names)
        factor = np.divide(shares, marginal, out=np.zeros_like(marginal), where=marginal > 0.0)
        self.tables[at] *= self._along(factor, at, names)
        return float(np.abs(shares - marginal).sum())

    def _along(self, values: Table, at: int, names: Sequence[int]) -> Table:
        return np.asarray(values).reshape([self.shape[name] if name in names else 1 for name in self.cliques[at]])

    def _conditional(self, at: int, names: Sequence[int]) -> Table:
        """Return a clique's table as shares given some of its attributes."""
        known = self._along(self.marginal(at, names), at, names)
        return np.asarray(np.divide(self.tables[at], known, out=np.zeros_like(self.tables[at]), where=known > 0.0))


def _einsum(*tables_and_labels: Any) -> Table:
    """Multiply tables and sum over the attributes that are not among the last labels."""
    return np.asarray(np.einsum(*tables_and_labels))


def _spanned(cliques: Sequence[Set]) -> list[list[int]]:
    """Return the children of each clique in a tree from the first, along which neighbours share as much as possible."""
    children: list[list[int]] = [[] for _ in cliques]
    inside, outside = [0], set(range(1, len(cliques)))
    while outside:
        pairs = ((len(set(cliques[one]) & set(cliques[other])), -other, one) for one in inside for other in outside)
        _, other, one = max(pairs)
        children[one].append(-other)
        inside.append(-other)
        outside.remove(-other)
    return children


def _spread(table: Table, group: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Assign every record of a group a cell of the group's row, each cell in its share of the records, rounded at random.

    The records of a group are placed in random order at equal distances along the running sum of the shares.
    """
    order = random.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    groups, starts, sizes = np.unique(group[order], return_index=True, return_counts=True)
    rows = table[groups]
    rows[rows.sum(axis=1) <= 0.0] = 1.0
    running = np.cumsum(rows, axis=1)
    running /= running[:, -1:]
    of_record = np.repeat(np.arange(len(groups)), sizes)
    place = (np.arange(len(group)) - starts[of_record] + random.random(len(groups))[of_record]) / sizes[of_record]
    places = np.searchsorted((running + np.arange(len(groups))[:, None]).ravel(), of_record + place, side="right")
    cells = np.empty(len(group), dtype=np.int64)
    cells[order] = np.minimum(places - of_record * table.shape[1], table.shape[1] - 1)
    return cells
