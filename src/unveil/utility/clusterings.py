r"""How well do two clusterings agree on records that neither has seen? Hard clusters, fuzzy ones, and dendrograms.

- **Hard** (k-means, Ward's tree cut into clusters): the adjusted Rand index, 1 for the same clusters, about 0 for others.
- **Fuzzy** (c-means): a record belongs to every cluster to a degree. With :math:`e_{ij} = 1 - \frac12 \sum_c |u_{ic} - u_{jc}|`
  how far records i and j belong together in one clustering, and :math:`e'_{ij}` in the other, the fuzzy Rand index is
  :math:`1 - \mathrm{mean}_{i<j} |e_{ij} - e'_{ij}|`; for hard clusters it is the Rand index. It is not corrected for chance.
- **Dendrograms** (Ward): the height at which two records are joined is their cophenetic distance. The figure is the correlation
  of these distances over pairs of records; a record that was not learnt from takes the place of its nearest one in the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unveil.run import active_run
from unveil.utility.encoding import learners_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Labels: TypeAlias = NDArray[np.int64]

__all__ = ["agreed_heights", "fuzzy_memberships", "fuzzy_rand", "k_means", "ward"]

_FIRST = 1 << 10
_LEAVES = 500
"""The largest number of records of a dendrogram, which takes time quadratic in their number."""
_PAIRED = 400
"""The largest number of records whose pairs are compared."""
_ROUNDS = 200
_STILL = 1e-6
"""C-means has settled when no centre moves farther than this, in units of the data's spread."""


def k_means(train: Numbers, test: Numbers, clusters: int, seed: int) -> Labels:
    """Return the cluster of each test record, by k-means on the training records; no more clusters than distinct records."""
    from sklearn.cluster import KMeans

    most = _distinct(train, clusters)
    return np.asarray(KMeans(most, n_init=4, random_state=learners_seed(seed)).fit(train).predict(test), dtype=np.int64)


def _distinct(records: Numbers, most: int) -> int:
    """Return the number of distinct records, or `most` if there are more; a few rows are usually enough to find out."""
    rows = _FIRST
    while (found := len(np.unique(records[:rows], axis=0))) < most and rows < len(records):
        rows *= 4
    return min(found, most)


def fuzzy_memberships(train: Numbers, test: Numbers, clusters: int, seed: int) -> Numbers:
    r"""Return how far each test record belongs to each cluster, by fuzzy c-means on the training records; rows sum to 1.

    Centres and memberships are computed from each other in turn, with the usual exponent of 2:
    :math:`u_{ic} = 1 / \sum_k (d_{ic} / d_{ik})^2`, and the centre of c is the mean weighted by :math:`u_{ic}^2`.

    References
    ----------
    .. [1] Bezdek (1981), Pattern recognition with fuzzy objective function algorithms, Plenum Press.
    """
    from sklearn.cluster import kmeans_plusplus

    most = _distinct(train, clusters)
    centres, _ = kmeans_plusplus(train, most, random_state=learners_seed(seed))
    still = _STILL * float(np.sqrt(train.var(axis=0).sum()))
    run = active_run()
    for _ in range(_ROUNDS):
        run.check()
        weight = _memberships(train, centres) ** 2
        moved = (weight.T @ train) / weight.sum(axis=0)[:, None]
        settled = float(np.abs(moved - centres).max()) <= still
        centres = moved
        if settled:
            break
    return _memberships(test, centres)


def _memberships(records: Numbers, centres: Numbers) -> Numbers:
    """Return the memberships; a record that lies on a centre belongs to it alone (if on several, to each in equal parts)."""
    squares = np.square(records[:, None, :] - centres[None, :, :]).sum(axis=2)
    on = squares == 0.0
    with np.errstate(divide="ignore"):
        inverse = np.where(on.any(axis=1)[:, None], on, 1.0 / squares)
    return np.asarray(inverse / inverse.sum(axis=1)[:, None])


def fuzzy_rand(one: Numbers, other: Numbers) -> float:
    """Return the degree to which two fuzzy clusterings agree about pairs of records, from 0 to 1.

    References
    ----------
    .. [1] Hüllermeier, Rifqi, Henzgen, Senge (2012), Comparing fuzzy partitions: a generalization of the Rand index and related
       measures, IEEE Transactions on Fuzzy Systems 20(3), 546-556.

    Examples
    --------
    >>> import numpy as np
    >>> hard = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> fuzzy_rand(hard, hard[:, ::-1]), fuzzy_rand(hard, np.full((3, 2), 0.5))
    (1.0, 0.333...)
    """
    return 1.0 - float(np.abs(_together(one[:_PAIRED]) - _together(other[:_PAIRED])).mean())


def _together(memberships: Numbers) -> Numbers:
    from scipy.spatial.distance import pdist

    return np.asarray(1.0 - pdist(memberships, "cityblock") / 2.0)


def ward(train: Numbers, test: Numbers, clusters: int, seed: int) -> tuple[Labels, Numbers]:
    """Grow a dendrogram by Ward's method; return the cluster of each test record and the heights at which pairs are joined.

    The tree is grown over at most 500 training records drawn by the seed; a test record takes the place of its nearest one. The
    heights are those of the pairs of the first 400 test records.

    References
    ----------
    .. [1] Ward (1963), Hierarchical grouping to optimize an objective function, Journal of the American Statistical Association
       58, 236-244.
    .. [2] Sokal, Rohlf (1962), The comparison of dendrograms by objective methods, Taxon 11, 33-40.
    """
    from scipy.cluster.hierarchy import cophenet, fcluster, linkage
    from scipy.spatial import cKDTree
    from scipy.spatial.distance import squareform

    generator = np.random.default_rng(seed)
    leaves = train[generator.permutation(len(train))[:_LEAVES]]
    if len(leaves) == 1:
        return np.zeros(len(test), dtype=np.int64), np.zeros(min(len(test), _PAIRED) * (min(len(test), _PAIRED) - 1) // 2)
    tree = linkage(leaves, "ward")
    nearest = cKDTree(leaves).query(test)[1]
    heights = squareform(cophenet(tree))
    shown = nearest[:_PAIRED]
    above = np.triu_indices(len(shown), 1)
    return fcluster(tree, clusters, "maxclust")[nearest].astype(np.int64), heights[shown[above[0]], shown[above[1]]]


def agreed_heights(one: Numbers, other: Numbers) -> float:
    """Return the correlation of the heights at which two dendrograms join pairs; NaN if one joins all at the same height."""
    if len(one) < 2 or np.ptp(one) == 0.0 or np.ptp(other) == 0.0:  # noqa: PLR2004
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])
