"""How uncertain is an attribute before and after another is known: in bits, and as the error of the best guess?

How much of that is chance, and which kind of identifier is the other? Plug-in entropies, in bits, over non-empty cells. Every
term is at least zero, so nothing is clipped. More entropy is more uncertainty, so less disclosure.

The plug-in rate rises with the number of classes even when the key is noise. The adjusted rate is what is left after
removing the rate expected of a randomly relabelled key of the same class sizes. It is meaningless against record identity, for
which all relabellings are alike.

The kind of a set of key attributes is decided on integer counts of records, never on floating point:

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

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.counts import Counts, Split
from unveil.errors import listed
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Classes

__all__ = [
    "Distortion",
    "IdentifierKind",
    "adjusted_rate",
    "beyond_chance",
    "distortion_of",
    "entropy_bits",
    "entropy_by_class",
    "expected_information_bits",
    "kind_against_records",
    "kind_of",
    "record_entropies",
    "undefined_reason",
]


def entropy_bits(mass: NDArray[Any]) -> float:
    r"""Return :math:`H = \sum_x p(x) \log_2 (1 / p(x))` of a distribution given by its masses, all above zero.

    Examples
    --------
    >>> import numpy as np
    >>> entropy_bits(np.array([1, 1, 2]))
    1.5
    """
    total = mass.sum()
    return float((mass * np.log2(total / mass)).sum() / total)


def entropy_by_class(mass: NDArray[Any], of_cell: NDArray[np.int64], class_mass: NDArray[Any]) -> NDArray[np.float64]:
    r"""Return :math:`H(X \mid Y = y)` of each class, from the cells :math:`(x, y)`.

    Parameters
    ----------
    mass
        The mass of each cell, one cell per pair of a class and a value of X.
    of_cell
        The class of each cell.
    class_mass
        The mass of each class.
    """
    terms = mass * np.log2(class_mass[of_cell] / mass)
    return np.asarray(np.bincount(of_cell, weights=terms, minlength=len(class_mass)) / class_mass)


def undefined_reason(counts: Counts, sensitive: Sequence[str]) -> str | None:
    """Return why H(X) is zero, or None if it is not."""
    if not sensitive:
        one = "there is one record only, an anonymity set of one: anyone who knows it is there has identified it directly"
        return one if counts.records == 1 else None
    for at in (counts.names.index(name) for name in sensitive):
        if len(counts.columns[at].values) > 1:
            return None
    plural = "columns hold" if len(sensitive) > 1 else "column holds"
    return (
        f"the sensitive {plural} one value only ({listed(sensitive)}), an anonymity set of one: everybody in the table is known "
        "to have it, directly and without any key, so there is nothing left to refine"
    )


def record_entropies(split: Split) -> tuple[NDArray[np.float64], float]:
    """Return H(X|Y = y) of each class, and H(X), for the identity of records: log2 N, or by their weights if they have some."""
    classes, mass = split.known, split.mass
    share = mass / split.counts.n  # the weight of one record: all records of a cell have the same weight
    per_class = np.bincount(classes.of_cell, weights=mass * np.log2(share), minlength=classes.number)
    by_class = np.log2(classes.mass) - per_class / classes.mass
    by_class[classes.n == 1] = 0.0
    total = float(mass.sum())
    return by_class, float(np.log2(total) - per_class.sum() / total)


IdentifierKind: TypeAlias = Literal["identifier", "partial-identifier", "sketchy-identifier", "zero-identifier"]


def kind_of(keys: Classes, sensitive: Classes, n: NDArray[np.int64]) -> IdentifierKind:
    """Decide the kind of a key against a sensitive attribute, both as classes over the same cells of `n` records."""
    values_in_class = np.bincount(keys.of_cell, minlength=keys.number)
    if int(values_in_class.max()) == 1:
        return "identifier"
    if len(n) == keys.number * sensitive.number and _independent(keys, sensitive, n):
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


_PAIRS = 8192
"""The number of pairs of class sizes that are processed at once."""
_ROWS = 256
"""The number of pairs in one rectangle."""
_TAIL = 50.0
"""Hypergeometric terms beyond a distance whose probability is bounded by exp(-_TAIL) < 1e-21 are left out."""


def adjusted_rate(rate: float, entropy: float, keys: NDArray[np.int64], sensitive: NDArray[np.int64]) -> float | None:
    r"""Return :math:`(DR - E[DR]) / (1 - E[DR])`, with the expectation over random relabellings of the records.

    0: no more than chance. 1: the key determines the sensitive attribute. Below 0: less than chance. None if a random
    key of these class sizes would determine the sensitive attribute too (every record in a class of its own), so
    nothing can be said.

    Parameters
    ----------
    rate, entropy
        The plug-in rate and H(X), in bits.
    keys, sensitive
        The sizes of the classes of the key, and the counts of the sensitive values.

    References
    ----------
    .. [1] Vinh, Epps, Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11, 2837-2854.
    """
    expected = expected_information_bits(keys, sensitive) / entropy
    if 1.0 - expected < 1e-12:  # noqa: PLR2004
        return None
    return (rate - expected) / (1.0 - expected)


def beyond_chance(adjusted: float | None) -> float:
    """Return the rate to compare with a threshold: the adjusted rate, or 0 if it is below chance or undefined."""
    return 0.0 if adjusted is None else max(adjusted, 0.0)


def expected_information_bits(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    r"""Return the mutual information expected of two random labellings with class sizes `a` and `b`, in bits.

    .. math:: \sum_{i,j} \sum_n P(n) \frac{n}{N} \log_2 \frac{N n}{a_i b_j}, \qquad n \sim \mathrm{Hypergeometric}(N, a_i, b_j)

    Classes of equal size share their term. The probabilities are built from their ratios around the most likely n and normalised;
    this keeps digits that differences of log-factorials of millions would lose.
    """
    total = int(a.sum())
    sizes_a, times_a = np.unique(a, return_counts=True)
    sizes_b, times_b = np.unique(b, return_counts=True)
    if len(sizes_b) < len(sizes_a):
        sizes_a, times_a, sizes_b, times_b = sizes_b, times_b, sizes_a, times_a
    run, sums = active_run(), []
    step = max(1, _PAIRS // len(sizes_b))
    for first in range(0, len(sizes_a), step):
        run.check()
        some, often = sizes_a[first : first + step], times_a[first : first + step]
        terms = _expected_terms(np.repeat(some, len(sizes_b)), np.tile(sizes_b, len(some)), total)
        sums.append(often @ terms.reshape(len(some), -1) @ times_b)
    return float(np.sum(sums))


def _expected_terms(a: NDArray[np.int64], b: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return E[n/N log2(N n / (a b))] for pairs of classes of sizes a and b."""
    lowest, highest = np.maximum(0, a + b - total), np.minimum(a, b)
    reach = _reach(highest, a * (b / total))
    mode = np.clip((a + 1) * (b + 1) // (total + 2), lowest, highest)
    below, above = mode - np.maximum(lowest, mode - reach), np.minimum(highest, mode + reach) - mode
    terms = np.empty(len(b))
    # rows of similar width go together, so that little of the rectangle is padding
    order = np.argsort(below + above, kind="stable")
    for piece in np.array_split(order, max(1, len(b) // _ROWS)):
        width = int(below[piece].max()), int(above[piece].max())
        terms[piece] = _expected_piece(a[piece, None], b[piece, None], total, mode[piece, None], width)
    return terms


def _reach(draws: NDArray[np.int64], mean: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the distance from the most likely number at which terms end, by the tighter of Hoeffding's and Bernstein's bounds.

    A distance t is exceeded with a probability of at most exp(-2 t^2 / draws), and of at most exp(-t^2 / (2 v + 2 t / 3)) with a
    variance v below the mean.
    """
    third = _TAIL / 3.0
    nearer = np.minimum(np.sqrt(_TAIL / 2.0 * draws), third + np.sqrt(third * third + 2.0 * _TAIL * mean))
    return np.asarray(np.ceil(nearer)).astype(np.int64) + 2


def _expected_piece(
    a: NDArray[np.int64], b: NDArray[np.int64], total: int, mode: NDArray[np.int64], width: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the terms of some pairs, in one row per pair over the n around the most likely one, which has the weight 1.

    If n can be no larger, or no smaller, the ratio to the probability of its neighbour is 0, and so are all terms beyond.
    """
    rest = total - a - b
    below, above = mode - np.arange(1.0, width[0] + 1.0), mode + np.arange(1.0, width[1] + 1.0)
    p_below = np.cumprod((below + 1.0) * (rest + 1.0 + below) / ((a - below) * (b - below)), axis=1)
    p_above = np.cumprod((a + 1.0 - above) * (b + 1.0 - above) / (above * (rest + above)), axis=1)
    n, p = np.hstack([below, mode, above]), np.hstack([p_below, np.ones_like(mode, dtype=np.float64), p_above])
    information = n * np.log2(np.maximum(n, 1.0) * (total / a / b))
    return np.asarray((p * information).sum(axis=1) / p.sum(axis=1) / total)


_NO_NUMBERS = "the sensitive attribute does not hold numbers only"
"""The reason for a missing error; numbers too large to be squared do not count as numbers."""
_SEVERAL = "several sensitive attributes have no squared error together"
_LARGEST = 1e150
"""From this number on, squares no longer fit into floating point."""
_IDENTITY = "it has no meaning against record identity"


@dataclass(frozen=True, slots=True)
class Distortion:
    r"""The disclosure by the key, as information and as error; the metrics beside the Discrimination Rate.

    With :math:`X` the sensitive attribute and :math:`Y` the key:

    .. math::

        I(X;Y) = H(X) - H(X \mid Y) = \sum_y p(y)\, D_{KL}\bigl(P_{X \mid y} \,\|\, P_X\bigr), \qquad
        mse = E\bigl[(X - E[X \mid Y])^2\bigr] = \sum_y p(y) \operatorname{Var}(X \mid y) .

    More information, a larger divergence and a smaller error are more disclosure.

    Attributes
    ----------
    largest_divergence
        The Kullback-Leibler divergence, in bits, of the class farthest from the whole table; None against record identity. Its
        mean over the records is the mutual information.
    squared_error, variance
        The mean squared error of the best guess of X, once the key is known and before, if X holds numbers.
    reason
        Why there is no squared error; None if there is one.
    """

    largest_divergence: float | None
    squared_error: float | None
    variance: float | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def distortion_of(split: Split) -> Distortion:
    """Measure a count table, given its known and hidden columns."""
    mass, classes, hidden = split.mass, split.known, split.hidden
    if hidden is None:
        return Distortion(None, None, None, _IDENTITY)
    share = mass / classes.mass[classes.of_cell]
    ratio = share * (hidden.mass.sum() / hidden.mass)[hidden.of_cell]
    divergence = np.bincount(classes.of_cell, weights=share * np.log2(ratio), minlength=classes.number)
    farthest = max(0.0, float(divergence.max()))
    values = None if len(hidden.columns) > 1 else _numbers(hidden.columns[0].values)
    if values is None:
        return Distortion(farthest, None, None, _SEVERAL if len(hidden.columns) > 1 else _NO_NUMBERS)
    held = values[hidden.codes[0]][hidden.of_cell]
    held = held - np.average(held, weights=mass)  # squares of centred numbers lose nothing to cancellation
    centre = np.bincount(classes.of_cell, weights=mass * held, minlength=classes.number) / classes.mass
    total = float(mass.sum())
    error = float((mass * np.square(held - centre[classes.of_cell])).sum() / total)
    return Distortion(farthest, error, float((mass * np.square(held)).sum() / total))


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the values if all of them are numbers whose squares fit into floating point."""
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        return None
    if not all(abs(value) < _LARGEST for value in values):  # NaN is not
        return None
    return np.asarray([float(value) for value in values])
