r"""Can two tables about the same people be linked although they share no attribute? Linkage by common structure.

The assumptions (Domingo-Ferrer and Torra): the tables are about largely the same people; their attributes, though different,
depend on each other, so that people who are alike in one table are alike in the other; and this common structure can be
expressed by partitions. The intruder partitions each table by itself, treats the two partitions as one, decides which block of
one corresponds to which block of the other, and takes the records of the matched block as candidates.

This version. Attributes are put on one scale: numbers as z-scores, a category's value v of share :math:`p_v` as
:math:`(1_v - p_v) / \sqrt{p_v (k - 1)}` for each of its k values, so that every attribute has variance 1 in all. Records are
described by the principal components that explain more than an average one, and clustered by k-means with as many clusters
in both tables. Clusters are matched one to one by what can be compared without a common attribute, their size and their
place along the first component: with :math:`s` a cluster's share of the records and :math:`t` its centre on the first
component, in standard deviations, the assignment minimises

.. math:: \sum_c \left( k s_c - k s'_{\pi(c)} \right)^2 + \left( t_c - \sigma t'_{\pi(c)} \right)^2 ,

over assignments :math:`\pi`. A component's direction is arbitrary; :math:`\sigma = \pm 1` is the one in which the quantiles
of the two first components are nearer to each other.

The amount of common structure that can be exploited, however well the intruder matches, is the semantic Discrimination Rate of
the original's partition given the release's: 1 if the release's cluster determines the original's. Higher is more risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count, checked_seed
from unveil.attacks.linkage.given import columns_of
from unveil.attacks.linkage.rates import checked_truth, share_bounds
from unveil.counts import summed, tally
from unveil.errors import ArgumentError
from unveil.formats import counted, jsonable, number
from unveil.measures import Interval, adjusted_rate, entropy_bits, entropy_by_class
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks
from unveil.sources import Data

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["StructureLinkage", "structure_linkage"]

_MOST_VALUES = 50
"""A category's values beyond this many most common ones count as one."""
_STARTS = 10
"""The number of starts of k-means, of which the tightest clusters are kept."""
_MOST_ROUNDS = 200
_QUANTILES = 100
_SAME = 1e-9
"""Points closer than this, in standard deviations of an attribute, are one point."""


@dataclass(frozen=True, slots=True, repr=False)
class StructureLinkage(Result):
    """The gain of an intruder from structure alone.

    Attributes
    ----------
    inside
        The share of released records whose true record is in the matched cluster.
    inside_baseline
        The same for unrelated clusters of these sizes.
    inside_interval
        The 95 % interval of `inside` (Clopper-Pearson).
    inside_at_best
        `inside`, if the clusters were matched as well as the truth allows: the result of a luckier or better informed intruder.
    linked
        The share of released records linked to their true record if one of the matched cluster is drawn: one over the cluster's
        size if the true record is inside.
    baseline
        The share linked by guessing: one over the original records, times the share of released records made from one of them.
    interval
        The 95 % interval of `linked` (Clopper-Pearson).
    dr, adjusted, dr_reason
        The semantic Discrimination Rate of the original's partition given the release's, over the records of both; the same
        adjusted for chance; and the reason if there is no rate.
    sizes
        For each pair of matched clusters, the numbers of records of the release's and of the original's, in the order of the
        release's first component.
    originals, releases, true_pairs
        The numbers of records of both tables, and of released records that have a true record.
    made
        How the clusters were made and matched.
    """

    inside: float
    inside_baseline: float
    inside_interval: Interval
    inside_at_best: float
    linked: float
    baseline: float
    interval: Interval
    dr: float | None
    adjusted: float | None
    dr_reason: str | None
    sizes: tuple[tuple[int, int], ...]
    originals: int
    releases: int
    true_pairs: int
    made: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return one line: the share of true records in the matched cluster, and the share by chance."""
        return (
            f"StructureLinkage({number(self.inside)} in the matched cluster, chance {number(self.inside_baseline)}, "
            f"{counted(len(self.sizes), 'cluster')}, {counted(self.releases, 'record')})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "inside": self.inside,
            "inside_baseline": self.inside_baseline,
            "inside_interval": self.inside_interval.to_dict(),
            "inside_at_best": self.inside_at_best,
            "linked": self.linked,
            "baseline": self.baseline,
            "interval": self.interval.to_dict(),
            "dr": self.dr,
            "adjusted": self.adjusted,
            "dr_reason": self.dr_reason,
            "clusters": [{"release": release, "original": original} for release, original in self.sizes],
            "originals": self.originals,
            "releases": self.releases,
            "true_pairs": self.true_pairs,
            "made": jsonable(self.made),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per pair of matched clusters, with their records."""
        return {"release": [size for size, _ in self.sizes], "original": [size for _, size in self.sizes]}

    def view(self) -> View:
        """Return the displayed shares."""
        low, high = number(self.inside_interval.low), number(self.inside_interval.high)
        percent = round(100 * self.inside_interval.confidence, 3)
        figures = (
            Figure("In the matched cluster", self.inside, f"{percent:g}% interval {low} to {high}"),
            Figure("By chance", self.inside_baseline, "for clusters of these sizes that have nothing in common"),
            Figure("At best", self.inside_at_best, "if the clusters were matched as well as possible"),
            Figure("Linked", self.linked, f"a random guess links {number(self.baseline)}"),
            Figure("Semantic DR", self.dr, self.dr_reason or "of the original's clusters given the release's"),
        )
        table = Table(("Release records", "Original records"), self.sizes, title="Matched clusters")
        return View("Linkage without common attributes", figures, (table,), (str(self.made["method"]),))


@looks
@checked_arguments
def structure_linkage(original: Data, release: Data, truth: ArrayLike, *, clusters: int = 5, seed: int = 0) -> StructureLinkage:
    """Link the records of two tables that share no attribute, by their common structure, and score the links.

    Parameters
    ----------
    original, release
        The attributes of each table, which need not have anything in common: a list of arrays, one per attribute, in which
        floating point arrays are numbers (NaN: missing, placed at the mean) and others are codes of categories (-1: missing, a
        value like any other), or one array of numbers with a column per attribute. Or data of any kind: the key of a study or,
        without a key, every column but identifiers, weights, persons and households; dates are numbers, too.
    truth
        For each released record, the row of its original record; -1 if it has none. Used to score, not to link.
    clusters
        The number of clusters of each table; fewer if a table has fewer distinct records.
    seed
        The seed of the generator that chooses where k-means begins.

    Returns
    -------
    StructureLinkage
        The shares of true records in the matched cluster, and linked, with baselines and intervals; the semantic DR.

    Notes
    -----
    Clusters of similar size on a symmetric component cannot be distinguished by the compared figures: `inside` may then lie
    below chance while `inside_at_best` and `dr` show the existing structure. Intervals assume that records are independent.

    References
    ----------
    .. [1] Domingo-Ferrer, Torra (2003), Disclosure risk assessment in statistical microdata protection via advanced record
       linkage, Statistics and Computing 13(4), 343-354.
    .. [2] Torra (2000), Towards the re-identification of individuals in data files with non-common variables, ECAI, 326-330.
    .. [3] Pages (2004), Analyse factorielle de donnees mixtes, Revue de statistique appliquee 52(4), 93-111.
    .. [4] Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA, 1027-1035.

    Examples
    --------
    >>> import numpy as np
    >>> wealth = np.array([0.0, 0.1, 0.2, 0.1, 9.0, 9.1])
    >>> district = np.array([0, 0, 0, 0, 1, 1])
    >>> structure_linkage([wealth], [district], truth=range(6), clusters=2)
    StructureLinkage(1.0000 in the matched cluster, chance 0.5556, 2 clusters, 6 records)
    """
    _check_options(clusters, seed)
    run, tables = active_run(), [columns_of(original, "original"), columns_of(release, "release")]
    spaces = [_Space.of(columns) for columns in run.each("components", tables)]
    originals, releases = (len(space.scores) for space in spaces)
    true = checked_truth(_rows(truth), originals=originals, records=releases)
    used = min(_different(space.scores, clusters) for space in spaces)
    made_one = run.counting("clusterings", len(spaces) * _STARTS)
    one, other = (_Clusters.of(space, used, seed, made_one) for space in spaces)
    direction = _direction(*spaces)
    partner = _matched(one, other, direction)
    known = np.flatnonzero(true >= 0)
    of_original, of_release = one.of_record[true[known]], other.of_record[known]
    size = one.sizes[partner[of_release]]
    inside = partner[of_release] == of_original
    linked = float((1.0 / size)[inside].sum())
    dr, adjusted, reason = _semantic_rate(of_original, of_release, used)
    return StructureLinkage(
        inside=int(inside.sum()) / releases,
        inside_baseline=float(size.sum()) / originals / releases,
        inside_interval=share_bounds(int(inside.sum()), releases),
        inside_at_best=_most_inside(of_original, of_release, used) / releases,
        linked=linked / releases,
        baseline=len(known) / releases / originals,
        interval=share_bounds(linked, releases),
        dr=dr,
        adjusted=adjusted,
        dr_reason=reason,
        sizes=tuple(zip(other.sizes.tolist(), one.sizes[partner].tolist(), strict=True)),
        originals=originals,
        releases=releases,
        true_pairs=len(known),
        made={
            "method": "k-means on the principal components of standardised attributes, clusters matched by size and by place "
            "along the first component",
            "clusters": used,
            "clusters_asked": clusters,
            "components": {"original": spaces[0].kept, "release": spaces[1].kept},
            "explained": {"original": spaces[0].explained, "release": spaces[1].explained},
            "first_component_reversed": direction < 0,
            "starts": _STARTS,
            "seed": seed,
            "version": __version__,
        },
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """The records of one table as points: their principal components, with the first one first."""

    scores: NDArray[np.float64]
    kept: int
    explained: float

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]]) -> _Space:
        """Standardise the attributes, and keep the components that explain at least as much as an average one."""
        parts = [_standardised(column) for column in columns]
        features = np.concatenate(parts, axis=1)
        if not features.shape[1]:
            return cls(np.zeros((len(features), 1)), 0, 0.0)
        variances, directions = np.linalg.eigh(features.T @ features / len(features))
        variances, directions = variances[::-1], directions[:, ::-1]
        present = variances[variances > _SAME]
        kept = max(1, int(np.count_nonzero(present >= present.mean() * (1.0 - _SAME))))
        axes = directions[:, :kept]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept)])
        return cls(features @ axes, kept, float(variances[:kept].sum() / present.sum()))

    def first(self) -> NDArray[np.float64]:
        """Return the first component, in standard deviations."""
        first = self.scores[:, 0]
        return np.asarray(first / max(float(first.std()), _SAME))


def _standardised(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return an attribute as columns of mean 0 whose variances add up to 1; none if it is constant."""
    if column.dtype.kind == "f":
        held = ~np.isnan(column)
        known = column[held].astype(np.float64)
        spread = float(known.std()) if len(known) and np.ptp(known) > 0.0 else 0.0
        if spread == 0.0:
            return np.empty((len(column), 0))
        return np.where(held, (column - known.mean()) / spread, 0.0)[:, None]
    values, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(values) > _MOST_VALUES:
        rank = np.empty(len(values), dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(values))
        codes = np.minimum(rank, _MOST_VALUES)[codes]
        counts = np.bincount(codes)
    if len(counts) == 1:
        return np.empty((len(column), 0))
    share = counts / len(column)
    indicator = (codes[:, None] == np.arange(len(counts))).astype(np.float64)
    return np.asarray((indicator - share) / np.sqrt(share * (len(counts) - 1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Clusters:
    """The clusters of one table, in the order of their place along the first component."""

    of_record: NDArray[np.int64]
    sizes: NDArray[np.int64]
    place: NDArray[np.float64]

    @classmethod
    def of(cls, space: _Space, number_of: int, seed: int, made_one: Callable[[], None]) -> _Clusters:
        """Cluster the records; the tightest of several starts is kept, and the end of each start is reported."""
        generator, rounds = np.random.default_rng(seed), []
        for _ in range(_STARTS):
            rounds.append(_k_means(space.scores, number_of, generator))
            made_one()
        labels = min(rounds, key=lambda clustering: clustering[1])[0]
        sizes = np.bincount(labels, minlength=number_of)
        place = summed(labels, space.first(), number_of) / sizes
        order = np.argsort(place, kind="stable")
        rank = np.empty(number_of, dtype=np.int64)
        rank[order] = np.arange(number_of)
        return cls(rank[labels], sizes[order], place[order])


def _k_means(points: NDArray[np.float64], number_of: int, generator: np.random.Generator) -> tuple[NDArray[np.int64], float]:
    """Return clusters, none of them empty, and the sum of squared distances from their centres."""
    centres = _spread_centres(points, number_of, generator)
    labels = np.full(len(points), -1)
    for _ in range(_MOST_ROUNDS):
        active_run().check()
        distances = _squared_distances(points, centres)
        nearest = distances.argmin(axis=1)
        own = distances[np.arange(len(points)), nearest]
        for empty in np.flatnonzero(np.bincount(nearest, minlength=number_of) == 0):
            lonely = int(np.where(np.bincount(nearest, minlength=number_of)[nearest] > 1, own, -1.0).argmax())
            nearest[lonely], own[lonely] = empty, 0.0
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        sizes = np.bincount(labels)
        centres = np.stack([summed(labels, column, number_of) / sizes for column in points.T], axis=1)
    return labels, float(((points - centres[labels]) ** 2).sum())


def _spread_centres(points: NDArray[np.float64], number_of: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw centres far from each other: each point in proportion to its squared distance from those drawn before."""
    drawn = [int(generator.integers(len(points)))]
    nearest = _squared_distances(points, points[drawn])[:, 0]
    while len(drawn) < number_of:
        reached = np.cumsum(nearest)
        drawn.append(min(int(np.searchsorted(reached, generator.random() * reached[-1], side="right")), len(points) - 1))
        nearest = np.minimum(nearest, _squared_distances(points, points[drawn[-1:]])[:, 0])
    return points[drawn]


def _different(points: NDArray[np.float64], most: int) -> int:
    """Return the number of distinct points, up to `most`: the next one is the farthest from those found."""
    number, nearest = 1, _squared_distances(points, points[:1])[:, 0]
    while number < most and float(nearest.max()) > _SAME**2:
        nearest = np.minimum(nearest, _squared_distances(points, points[[int(nearest.argmax())]])[:, 0])
        number += 1
    return number


def _squared_distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(points, centres, "sqeuclidean"))


def _matched(one: _Clusters, other: _Clusters, direction: float) -> NDArray[np.int64]:
    """Return, for each cluster of the release, the matched cluster of the original."""
    from scipy.optimize import linear_sum_assignment

    share, other_share = one.sizes / one.sizes.sum(), other.sizes / other.sizes.sum()
    by_size = (len(share) * (other_share[:, None] - share)) ** 2
    by_place = (direction * other.place[:, None] - one.place) ** 2
    return np.asarray(linear_sum_assignment(by_size + by_place)[1], dtype=np.int64)


def _direction(one: _Space, other: _Space) -> float:
    """Return 1 or -1: the direction of the release's first component in which it is distributed more like the original's."""
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    shape, other_shape = (np.quantile(space.first(), levels) for space in (one, other))
    same, reverse = ((shape - other_shape) ** 2).sum(), ((shape + other_shape[::-1]) ** 2).sum()
    return -1.0 if reverse < same - _SAME else 1.0


def _most_inside(of_original: NDArray[np.int64], of_release: NDArray[np.int64], number_of: int) -> int:
    """Return the number of records inside for the best one-to-one match of the clusters."""
    from scipy.optimize import linear_sum_assignment

    together = np.bincount(of_release * number_of + of_original, minlength=number_of**2).reshape(number_of, number_of)
    return int(together[linear_sum_assignment(together, maximize=True)].sum())


def _semantic_rate(
    of_original: NDArray[np.int64], of_release: NDArray[np.int64], number_of: int
) -> tuple[float | None, float | None, str | None]:
    """Return 1 - H(X|Y)/H(X), X the original's cluster and Y the release's, the adjusted rate, or the reason for none."""
    if not len(of_original):
        return None, None, "no release record has a true record"
    hidden = np.bincount(of_original)
    hidden = hidden[hidden > 0]
    if len(hidden) == 1:
        return None, None, "the true records are all in one cluster, so there is nothing to refine"
    (_, release), cells = tally([of_original, of_release], [number_of, number_of])
    present, of_cell = np.unique(release, return_inverse=True)
    classes = summed(of_cell, cells, len(present))
    conditional = float(classes @ entropy_by_class(cells, of_cell, classes) / classes.sum())
    entropy = entropy_bits(hidden)
    rate = max(0.0, 1.0 - conditional / entropy)
    return rate, adjusted_rate(rate, entropy, classes.astype(np.int64), hidden), None


def _rows(truth: Any) -> NDArray[Any]:
    """Return the rows of the truth as an array; refuse anything that cannot be one."""
    try:
        return np.asarray(truth)
    except ValueError:
        raise ArgumentError(
            "truth is a list of whole numbers: for every record of the release the row of its original."
        ) from None


def _check_options(clusters: int, seed: int) -> None:
    checked_count("clusters", clusters, least=1)
    checked_seed(seed)
