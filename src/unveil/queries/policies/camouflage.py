r"""The policy of camouflage: intervals that always contain the exact answer, without randomness and without a limit on questions.

**Sums and averages.** The values a are hidden among k vectors :math:`P^1, \dots, P^k` with secret weights :math:`\gamma_j > 0,
\sum_j \gamma_j = 1` such that :math:`\sum_j \gamma_j P^j = a`. A sum over a set is answered by the least and the greatest of the
k sums: the exact one is their weighted average, so it lies between them. Answers depend on the vectors alone; any other point of
their hull could be the data. If every atom has one value, a least or greatest value is answered by its own minimum and maximum
over the hull. A hull of few vectors contains hardly any point of whole numbers besides the data, so values are first moved at
random by up to half of the step that they are multiples of: then every point of the hull is close to possible data. The
position of a value in its interval is random, because a value that is always in the middle would be disclosed; and so is the
width, because a width in proportion to the value would disclose it.

**Counts by a sensitive column.** Zeros and ones cannot be hidden in a hull. Records are put into groups of at least l records
with different values and similar keys; the interval is the least and the greatest count over all cyclic exchanges of the values
within each group. The answers would be the same if the values had been exchanged, so any value of a group could belong to any of
its members. A value of more than one record in l occurs more than once in a group. No answer is an exact count: an interval of
one number is widened by one, on a side that follows from a secret and the set, so that rephrasing gains nothing.

It does not protect against insiders: anyone who knows k - 1 values, and has recovered the vectors, recovers all other values.
The coalition audit of a column, noted with its answers, shows how much of the intervals remains for one insider.

References
----------
R. Gopal, R. Garfinkel, P. Goes (2002), Confidentiality via camouflage: the CVC approach to disclosure limitation when answering
queries to databases, Operations Research 50(3), 501-516.
R. Garfinkel, R. Gopal, P. Goes (2002), Privacy protection of binary confidential data against deterministic, stochastic, and
insider threat, Management Science 48(6), 749-764.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.arguments import checked_count, checked_number
from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret, exact, refused
from unveil.queries.secrecy import draws_of, share_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Coded

__all__ = ["Camouflage", "camouflaged", "step_of"]

_CHUNK = 64
"""The number of adjacent records in key order that are divided into groups; more if one value is too frequent for that."""
_SAMPLE = 200
_HALVINGS = 60
_EXTREMES = ("min", "max")


@dataclass(frozen=True, slots=True)
class Camouflage(GatePolicy):
    """Answer by intervals that contain the exact number.

    Attributes
    ----------
    vectors
        The number of vectors that hide the values.
    width
        The width of the interval of one record's value, as a share of the value or, for small values, of the median value.
    diversity
        The least number l of records in a group, for counts by a sensitive column; all have different values, unless more than
        one record in l has the same value.
    k
        The least size of a set and of its complement for an exact count.

    Examples
    --------
    >>> Camouflage().settings()
    {'policy': 'camouflage', 'vectors': 10, 'width': 0.4, 'diversity': 2, 'k': 5}
    """

    vectors: int = 10
    width: float = 0.4
    diversity: int = 2
    k: int = 5
    name: ClassVar[str] = "camouflage"
    by_set: ClassVar[bool] = True
    weakness: ClassVar[str] = (
        "insiders: anyone who knows some values narrows the others down, and k - 1 insiders recover them all."
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        checked_count("vectors", self.vectors, least=3, most=1000)
        checked_number("width", self.width, above=0.0, most=100.0)
        checked_count("diversity", self.diversity, least=2)
        checked_count("k", self.k, least=1)

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy applied to the data."""
        return _Camouflaged(self, holding, secret)


def camouflaged(
    values: NDArray[np.float64], sizes: NDArray[np.int64], policy: Camouflage, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return vectors, one per row, and weights whose average is the values.

    Parameters
    ----------
    values, sizes
        The sum of each atom, and its number of records.
    policy
        The number of vectors, and the width.
    random
        The random generator.

    Examples
    --------
    >>> values = np.array([10.0, 20.0, 40.0])
    >>> vectors, weights = camouflaged(values, np.ones(3, dtype=np.int64), Camouflage(), np.random.default_rng(1))
    >>> np.allclose(weights @ vectors, values), bool((vectors.min(0) < values).all() and (values < vectors.max(0)).all())
    (True, True)
    """
    n, k = len(values), policy.vectors
    weights = 0.5 + random.random(k)
    weights /= weights.sum()
    places = _placed(random.random((k, n)), weights, random)
    each = np.abs(values) / np.maximum(sizes, 1)
    typical = float(np.median(each[sizes > 0])) if (sizes > 0).any() else 0.0
    scale = np.maximum(each, typical or 1.0) * np.sqrt(sizes)
    widths = policy.width * scale * (0.75 + 0.75 * random.random(n))
    return values + (places - weights @ places) * widths, weights


def step_of(values: NDArray[np.float64]) -> float:
    """Return the step that values are multiples of: 1, 0.1, 0.01, ... down to a millionth.

    Examples
    --------
    >>> step_of(np.array([3.0, 12.0])), step_of(np.array([3.25, 12.0]))
    (1.0, 0.01)
    """
    for digits in range(7):
        if np.allclose(values, np.round(values, digits), rtol=0.0, atol=1e-9):
            return float(10.0**-digits)
    return 1e-6


def _placed(draws: NDArray[np.float64], weights: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return places from 0 to 1, with both ends in every column, whose weighted averages are random, not near the middle."""
    low, high = draws.min(0), draws.max(0)
    places = (draws - low) / (high - low)
    margin = 1.5 * float(weights.max())
    aims = margin + (1.0 - 2.0 * margin) * random.random(draws.shape[1])
    least, most = np.full(draws.shape[1], -6.0), np.full(draws.shape[1], 6.0)
    for _ in range(_HALVINGS):  # a power of the places keeps 0 and 1; the average falls as the power grows
        middle = (least + most) / 2.0
        above = weights @ places ** np.exp(middle) > aims
        least, most = np.where(above, middle, least), np.where(above, most, middle)
    return np.asarray(places ** np.exp((least + most) / 2.0))


class _Camouflaged:
    def __init__(self, policy: Camouflage, holding: Holding, secret: Secret) -> None:
        self._policy, self._holding, self._secret = policy, holding, secret
        self._hidden = cache(self._hide)
        self._groups = cache(self._group)

    def offers(self, selection: Selection) -> str:
        if selection.function not in ("count", "sum", "avg") and not self._extreme(selection):
            return "aggregate"
        if not selection.indicator:
            return ""
        sensitive = selection.statistic.condition.columns & set(self._holding.sensitive)
        return "indicator" if len(sensitive) > 1 or not self._holding.cells.in_hand else ""

    def _extreme(self, selection: Selection) -> bool:
        """Whether it is a least or greatest value and every atom has at most one value, as the vectors hide sums of atoms."""
        return selection.function in _EXTREMES and not (selection.sizes > 1).any()

    def price(self, selection: Selection) -> int:  # noqa: ARG002
        return 1

    def accept(self, selection: Selection) -> None:
        """Remember nothing, because the intervals follow from the vectors and groups."""

    def accuracy(self, selection: Selection) -> float | None:  # noqa: ARG002
        return None

    def decide(self, selection: Selection) -> Decision:
        if selection.indicator:
            return self._counted(selection)
        size, whole = selection.size, int(selection.sizes.sum())
        if selection.column is None:
            within = self._policy.k <= size <= whole - self._policy.k
            return Decision(value=exact(self._holding, selection)) if within else refused("size")
        return self._hulled(selection, size) if size else refused("size")

    def _hulled(self, selection: Selection, size: int) -> Decision:
        """Answer with the least and the greatest result over the hull of the vectors."""
        name, records = str(selection.column), size
        vectors, _, audit = self._hidden(name)
        members = np.flatnonzero(selection.sizes * np.asarray(selection.members, dtype=np.int64))
        chosen = vectors[:, members]
        if selection.function in _EXTREMES:
            low, high = _extremes_of(chosen, selection.function)
            truth, records = float(exact(self._holding, selection) or 0.0), 1
        else:
            sums = chosen.sum(axis=1)
            truth, low, high = float(self._holding.amounts(name).total[members].sum()), sums.min(), sums.max()
        if not low <= truth <= high:  # because values were moved; the end must not be the exact result
            beyond = 0.05 + share_of(self._secret("ends"), selection.mark())
            low, high = min(low, truth - beyond * (high - low)), max(high, truth + beyond * (high - low))
        if name in self._holding.bounds:
            least, most = self._holding.bounds[name]
            low, high = max(low, records * least), min(high, records * most)
        if selection.function == "avg":
            low, high = low / size, high / size
        return Decision(low=float(low), high=float(high), notes=audit)

    def _hide(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]:
        """Return the vectors and weights of a column, which follow from the ledger's key, and the coalition audit."""
        amounts = self._holding.amounts(name)
        random = draws_of(self._secret(f"camouflage of {name}"))
        total = amounts.total.astype(np.float64)
        moved = total + step_of(total) * (random.random(len(total)) - 0.5)
        vectors, weights = camouflaged(moved, amounts.present, self._policy, random)
        return vectors, weights, _coalition(vectors, weights @ vectors, random)

    def _group(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        codes = self._holding.cells.columns[name].codes.astype(np.int64)
        random = draws_of(self._secret(f"groups of {name}"))
        return _grouped(self._holding.atom_of_cell, codes, self._policy.diversity, random)

    def _counted(self, selection: Selection) -> Decision:
        """Count over every cyclic exchange of the sensitive values within groups, and sum the extremes."""
        condition = selection.statistic.condition
        name = next(iter(condition.columns & set(self._holding.sensitive)))
        groups = self._groups(name)
        if groups is None:  # there is only one value, and a refusal would reveal it
            return Decision(low=0, high=self._holding.records)
        order, start, size = groups
        columns, place = self._holding.cells.columns, np.arange(len(order))
        counts = []
        for shift in range(int(size.max())):
            other = start + (place - start + shift) % size
            codes = columns[name].codes[order[other]]
            true, _ = condition.truth(partial(_exchanged, columns, order, name, codes))
            counts.append(np.add.reduceat(np.broadcast_to(true, len(order)).astype(np.int64), np.unique(start)))
        table = np.stack(counts)
        low, high = int(table.min(axis=0).sum()), int(table.max(axis=0).sum())
        if low == high:
            below = low > 0 and share_of(self._secret("ends"), selection.mark()) < 0.5  # noqa: PLR2004 - a fair coin
            low, high = (low - 1, high) if below else (low, high + 1)
        return Decision(low=low, high=high, notes={"group": int(size.min())})


def _extremes_of(vectors: NDArray[np.float64], function: str) -> tuple[float, float]:
    """Return the least and the greatest "max" (or "min") of a point's coordinates, over all points of a hull.

    The maximum is a convex function, so it is greatest at one of the vectors; its least value follows from a linear program in
    the weights.
    """
    from scipy.optimize import linprog

    signed = vectors if function == "max" else -vectors
    k, n = signed.shape
    unit = float(np.abs(signed).max()) or 1.0
    above = np.hstack([signed.T / unit, np.full((n, 1), -1.0)])
    weights = np.append(np.ones(k), 0.0)[None, :]
    ends = [(0.0, 1.0)] * k + [(-1.0, 1.0)]
    solved = linprog(np.append(np.zeros(k), 1.0), A_ub=above, b_ub=np.zeros(n), A_eq=weights, b_eq=[1.0], bounds=ends)
    low, high = float(solved.fun) * unit, float(signed.max())
    return (low, high) if function == "max" else (-high, -low)


def _exchanged(
    columns: Mapping[str, Coded], order: NDArray[np.int64], sensitive: str, codes: NDArray[Any], name: str
) -> tuple[Sequence[Any], NDArray[Any]]:
    """Return a column in the order of groups; the values of the sensitive column are exchanged."""
    column = columns[name]
    return column.values, codes if name == sensitive else column.codes[order]


def _grouped(
    atoms: NDArray[np.int64], codes: NDArray[np.int64], diversity: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the records group by group, the first place and the size of each record's group; None for a single value.

    Groups are formed within chunks of adjacent records, of the smallest size of 64, 128, ... for which no value is much more
    frequent in a chunk than overall. The records of a chunk are sorted by value and dealt out in turn to as many groups as it has
    multiples of l records, or as it has records without the most frequent value; so every group has different values.
    """
    records, size = len(codes), _CHUNK
    greatest = float(np.bincount(codes).max()) / records
    allowed = max(1.0 / diversity, (1.0 + greatest) / 2.0 if greatest < 1.0 else 0.0)
    by_key = np.lexsort((random.random(records), atoms))
    while True:
        chunk = np.minimum(np.arange(records) // size, max(records // size - 1, 0))
        sizes = np.bincount(chunk)
        pairs, n = np.unique(np.stack([chunk, codes[by_key]], axis=1), axis=0, return_counts=True)
        most = np.zeros(len(sizes), dtype=np.int64)
        np.maximum.at(most, pairs[:, 0], n)
        if (most <= sizes * allowed).all():
            break
        if size >= records:
            return None
        size *= 2
    ranks = random.permutation(int(codes.max()) + 1)[codes[by_key]]
    ordered = by_key[np.lexsort((random.random(records), ranks, chunk))]
    first = np.cumsum(sizes) - sizes
    groups = np.minimum(sizes // diversity, sizes - most)
    of_record = (np.cumsum(groups) - groups)[chunk] + (np.arange(records) - first[chunk]) % groups[chunk]
    by_group = np.argsort(of_record, kind="stable")
    order, group = ordered[by_group], of_record[by_group]
    widths = np.bincount(group)
    return order, (np.cumsum(widths) - widths)[group], widths[group]


def _coalition(vectors: NDArray[np.float64], values: NDArray[np.float64], random: np.random.Generator) -> dict[str, Any]:
    """Return the share of the width of others' intervals that remains for an insider who knows one value and the vectors.

    The weights that are consistent with one known value form a polytope whose corners mix at most two vectors, so the least and
    the greatest value of every other record are found among the mixtures of pairs.
    """
    k, n = vectors.shape
    chosen = random.permutation(n)[:_SAMPLE]
    some, known = vectors[:, chosen], values[chosen]
    left = np.full((len(chosen), len(chosen)), np.nan)
    widths = some.max(0) - some.min(0)
    widths[widths == 0.0] = np.nan  # a value that all vectors agree on has no interval
    for at in range(len(chosen)):
        above, below = np.flatnonzero(some[:, at] >= known[at]), np.flatnonzero(some[:, at] < known[at])
        if not len(above) or not len(below):
            continue
        high, low = np.repeat(above, len(below)), np.tile(below, len(above))
        share = ((known[at] - some[low, at]) / (some[high, at] - some[low, at]))[:, None]
        corners = share * some[high] + (1.0 - share) * some[low]
        left[at] = (corners.max(0) - corners.min(0)) / widths
        left[at, at] = np.nan
    others = left[~np.isnan(left)]
    if not len(others):
        return {"coalition": None}
    figures = {"insiders": 1, "least_left": float(others.min()), "median_left": float(np.median(others)), "all_known_at": k - 1}
    return {"coalition": figures}
