r"""Who is it, for an intruder who knows how the release was made? Record linkage by likelihood.

The original record i that most likely became the released record j is the one with the highest :math:`\sum_a \log p(y_{ja} \mid
x_{ia})`, the probability of the published values given the true ones, which depends on the method:

- **rank_swap**: values move by at most the window; how far follows from exchanging ranks (drawn here on made-up ranks). A
  value that many share stands for all its ranks.
- **add_noise**: normal noise of the known variance around the true value (uncorrelated, correlated or linear).
- **pram**: the row of the true value in the transition matrix.
- **microaggregate**: of attributes averaged each alone, a released value stands for as many neighbours in rank as records have
  it; of attributes together, the nearest average, where each takes as many records as have it.

A release holds each person once: no two records are the same person. If there are few enough records, all are assigned at once,
so that the total likelihood is highest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count, checked_number, checked_word
from unveil.attacks.linkage.deconvolution import noise_removed
from unveil.attacks.linkage.linkage_sections import LikelihoodMatches, of_persons
from unveil.attacks.linkage.rates import LinkageRates, Targets, link_chances, rates_of, share_bounds
from unveil.errors import ArgumentError, listed, shown
from unveil.run import active_run
from unveil.sources import common_codes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from unveil.study import ColumnPair

    Likelihood = Callable[[NDArray[np.int64]], NDArray[np.float64]]

__all__ = ["METHODS", "KnownMethod", "linked_by_method"]

METHODS = ("rank_swap", "add_noise", "pram", "microaggregate")
_SETTINGS = {
    "rank_swap": ("window",),
    "add_noise": ("amount", "method"),
    "pram": ("retention", "matrix"),
    "microaggregate": ("k", "method", "together"),
}
_GROUPINGS = ("mdav", "v-mdav", "optimal")
_BEYOND = 10.0
"""The fall of the likelihood for each group's width in ranks that a value lies beyond its group."""
_NOISE = ("uncorrelated", "correlated", "linear")
_IMPOSSIBLE = -1e6
_MOST_PAIRS = 100_000_000
_MOST_ASSIGNED = 3_000
"""The largest number of records on either side that are assigned all at once."""
_CHUNK = 4_000_000
_BINS, _RANKS, _REACH, _ROUNDS = 20, 1_000, 100, 20
"""The settings for drawing the moves of rank swapping."""


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """How a release was made: the mechanism, the original's attributes it treated (none: all compared), and its settings."""

    mechanism: str
    attributes: tuple[str, ...]
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> KnownMethod:
        """Read the description of a method: its `mechanism`, `attributes`, and the settings of the mechanism."""
        checked_word("method: the mechanism", description.get("mechanism"), METHODS)
        mechanism, attributes = str(description["mechanism"]), description.get("attributes", ())
        settings = {name: value for name, value in description.items() if name not in ("mechanism", "attributes")}
        if strange := [name for name in settings if name not in _SETTINGS[mechanism]]:
            raise ArgumentError.not_one_of(f"what is known about {mechanism}", strange[0], _SETTINGS[mechanism])
        return cls(mechanism, (attributes,) if isinstance(attributes, str) else tuple(attributes), settings)


def linked_by_method(
    original: pl.DataFrame,
    release: pl.DataFrame,
    pairs: Sequence[ColumnPair],
    truth: NDArray[np.int64],
    method: KnownMethod,
    whose: NDArray[np.int64] | None = None,
) -> LikelihoodMatches:
    """Link every released record to the original record that it most likely was.

    Parameters
    ----------
    original, release, pairs
        The tables, and the columns of both that are compared.
    truth
        For each released record, the row of the original that it was made from; -1 for none; only the scoring uses it.
    method
        The intruder's knowledge.
    whose
        The person of each original record, if persons are distinguished.
    """
    if strange := [name for name in method.attributes if name not in {one.original for one in pairs}]:
        raise ArgumentError(f"the method is said to treat {listed(strange)}, which is not among the attributes compared.")
    terms = _terms(original, release, pairs, method)
    rows = np.flatnonzero(truth >= 0)[: max(_MOST_PAIRS // original.height, 1)]
    closer, tied = np.zeros(len(rows)), np.zeros(len(rows))
    chances = np.zeros(len(truth))
    small = max(original.height, release.height) <= _MOST_ASSIGNED
    whole = np.empty((len(rows), original.height)) if small else None
    for part, total in _likelihoods(terms, rows, original.height):
        own = total[np.arange(len(total)), truth[rows[part]]][:, None]
        closer[part], tied[part] = (total > own + 1e-9).sum(axis=1), (np.abs(total - own) <= 1e-9).sum(axis=1)  # noqa: PLR2004
        if whose is not None:
            top = total >= total.max(axis=1, keepdims=True) - 1e-9
            mine = whose[None, :] == whose[truth[rows[part]]][:, None]
            chances[rows[part]] = (top & mine).sum(axis=1) / top.sum(axis=1)
        if whole is not None:
            whole[part] = total
    rates = rates_of(closer, tied, matched=len(rows), originals=original.height, distance="likelihood", made={})
    hits = _assigned(whole, truth[rows], _alike([release[one.release] for one in pairs])[rows])
    removed = _removed(original, release, pairs, truth, method) if method.mechanism == "add_noise" else {}
    best = _strongest(rates, hits, float(link_chances(closer, tied)[0].sum()), removed)
    return best if whose is None else of_persons(best, Targets.of(truth[rows], whose).rates(chances[rows]))


def _strongest(rates: LinkageRates, assigned: float | None, one_by_one: float, removed: Mapping[str, float]) -> LikelihoodMatches:
    """Return the better of linking one by one and linking all at once."""
    best, records = max(one_by_one, float(assigned or 0)), rates.records
    return LikelihoodMatches(
        linked=best / records,
        baseline=rates.baseline,
        interval=share_bounds(best, records),
        value=best / records,
        linked_second=rates.linked_second,
        not_linked=rates.not_linked,
        records=records,
        control=None,
        excess=rates.excess,
        distance=rates.distance,
        ties=rates.ties,
        made={},
        one_by_one=one_by_one / records,
        all_at_once=None if assigned is None else assigned / records,
        noise_removed=removed or None,
    )


def _likelihoods(terms: Sequence[Likelihood], rows: NDArray[np.int64], originals: int) -> Iterator[tuple[slice, Any]]:
    """Yield the log-likelihood of every original record for some released records at a time."""
    size = max(_CHUNK // originals, 1)
    for start in range(0, len(rows), size):
        active_run().check()
        part = slice(start, min(start + size, len(rows)))
        yield part, sum(term(rows[part]) for term in terms)


def _assigned(whole: NDArray[np.float64] | None, truth: NDArray[np.int64], alike: NDArray[np.int64]) -> float | None:
    """Return the average number of right links if all are assigned at once; among equal records, the assignment is a guess."""
    if whole is None:
        return None
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(whole, maximize=True)
    true_group = np.full(whole.shape[1], -1)
    true_group[truth] = alike
    return float(np.sum((true_group[columns] == alike[rows]) / np.bincount(alike)[alike[rows]]))


def _alike(columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Return the group of each released record: the records that are equal in all compared attributes."""
    codes = np.column_stack([common_codes(column, column)[0] for column in columns])
    return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1].ravel())


def _terms(original: pl.DataFrame, release: pl.DataFrame, pairs: Sequence[ColumnPair], method: KnownMethod) -> list[Likelihood]:
    """Return the parts of the log-likelihood: by the method for treated attributes, by equality for all others."""
    treated = [one for one in pairs if not method.attributes or one.original in method.attributes]
    kept = [_equal(original[one.original], release[one.release]) for one in pairs if one not in treated]
    if method.mechanism == "pram":
        return [*kept, *(_by_matrix(original[one.original], release[one.release], method) for one in treated)]
    before, after = (
        np.column_stack([_numbers(table[name], method) for table, name in side])
        for side in (
            [(original, one.original) for one in treated],
            [(release, one.release) for one in treated],
        )
    )
    if method.mechanism == "add_noise":
        return [*kept, _by_noise(before, after, method)]
    if method.mechanism == "microaggregate":
        return [*kept, *_by_groups(before, after, method)]
    windows = [_window(method, one.original) for one in treated]
    return [*kept, *(_by_rank(before[:, at], after[:, at], window) for at, window in enumerate(windows))]


def _numbers(column: pl.Series, method: KnownMethod) -> NDArray[np.float64]:
    if not column.dtype.is_numeric() or column.null_count():
        raise ArgumentError(
            f"an intruder who knows {method.mechanism} compares numbers without nulls, which column {shown(column.name)} does "
            "not hold; name the treated attributes."
        )
    return np.asarray(column.cast(float).to_numpy())


def _equal(one: pl.Series, other: pl.Series) -> Likelihood:
    before, after = common_codes(one, other)
    return lambda rows: np.where(after[rows][:, None] == before[None, :], 0.0, _IMPOSSIBLE)


def _by_matrix(one: pl.Series, other: pl.Series, method: KnownMethod) -> Likelihood:
    """Return the likelihood of a released category, from the row of the true one."""
    before, after = common_codes(one, other)
    texts = {int(code): str(value) for codes, column in ((before, one), (after, other)) for code, value in _values(codes, column)}
    size = max(texts) + 1
    matrices = method.settings.get("matrix")
    if matrices is None:
        kept = checked_number("method: retention", method.settings.get("retention"), above=0.0, most=1.0)
        matrix = np.full((size, size), (1.0 - kept) / max(size - 1, 1))
        np.fill_diagonal(matrix, kept)
    else:
        rows = matrices.get(one.name) if isinstance(matrices, Mapping) else None
        if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
            raise ArgumentError(f"method: the matrix is given by attribute, true and released value; {shown(one.name)} has none.")
        named = [texts.get(code, "") for code in range(size)]
        matrix = np.array([[float(rows.get(true, {}).get(shown_as, 0.0)) for shown_as in named] for true in named])
    logs = np.where(matrix > 0.0, np.log(np.maximum(matrix, 1e-300)), _IMPOSSIBLE)
    return lambda rows: logs[before[None, :], after[rows][:, None]]


def _values(codes: NDArray[Any], column: pl.Series) -> Iterator[tuple[Any, Any]]:
    """Yield each code with its value."""
    values, first = np.unique(codes, return_index=True)
    return zip(values.tolist(), column.gather(first.tolist()).to_list(), strict=True)


def _by_noise(before: NDArray[np.float64], after: NDArray[np.float64], method: KnownMethod) -> Likelihood:
    """Return the likelihood of released numbers around the true ones."""
    amount = checked_number("method: amount", method.settings.get("amount"), above=0.0)
    kind = method.settings.get("method", "uncorrelated")
    checked_word("method: the noise", kind, _NOISE)
    if kind == "linear":
        after = before.mean(axis=0) + (after - before.mean(axis=0)) * np.sqrt(1.0 + amount)
    covariance = np.atleast_2d(np.cov(before.T)) * amount
    if kind == "uncorrelated":
        covariance = np.diag(np.diag(covariance))
    strength, axes = np.linalg.eigh(covariance)
    used = strength > 1e-10 * strength[-1]
    turn = axes[:, used] / np.sqrt(strength[used])
    here, there = before @ turn, after @ turn
    squares = (here**2).sum(axis=1)
    return lambda rows: there[rows] @ here.T - 0.5 * squares[None, :]


def _removed(
    original: pl.DataFrame, release: pl.DataFrame, pairs: Sequence[ColumnPair], truth: NDArray[np.int64], method: KnownMethod
) -> dict[str, float]:
    """Return, for each attribute with noise, the share of its squared error that deconvolution removes."""
    if method.settings.get("method", "uncorrelated") == "linear":
        return {}
    rows, amount = np.flatnonzero(truth >= 0), float(method.settings["amount"])
    treated = [one for one in pairs if not method.attributes or one.original in method.attributes]
    return {
        one.original: noise_removed(
            _numbers(original[one.original], method)[truth[rows]], _numbers(release[one.release], method)[rows], amount
        )
        for one in treated
    }


def _by_groups(before: NDArray[np.float64], after: NDArray[np.float64], method: KnownMethod) -> list[Likelihood]:
    """Return the likelihood of averages of groups: by rank if attributes are averaged each alone, else by distance."""
    checked_count("method: k", method.settings.get("k"), least=2)
    kind = method.settings.get("method", "mdav")
    checked_word("method: the grouping", kind, _GROUPINGS)
    if kind == "optimal" or not method.settings.get("together", True):
        return [_by_neighbours(before[:, at], after[:, at]) for at in range(before.shape[1])]
    scale = np.where(before.std(axis=0) > 0.0, before.std(axis=0), 1.0)
    here, there = before / scale, after / scale
    squares = (here**2).sum(axis=1)
    return [lambda rows: there[rows] @ here.T - 0.5 * squares[None, :] - 0.5 * (there[rows] ** 2).sum(axis=1)[:, None]]


def _by_neighbours(before: NDArray[np.float64], after: NDArray[np.float64]) -> Likelihood:
    """Return the likelihood of an average, which is highest for values whose rank is among those that it stands for."""
    ordered, averages = np.sort(before), np.sort(after)
    low, high = (np.searchsorted(ordered, before, side=side) for side in ("left", "right"))
    first, last = (np.searchsorted(averages, after, side=side) for side in ("left", "right"))
    share = len(before) / len(after)

    def likelihood(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        start, end = first[rows][:, None] * share, last[rows][:, None] * share
        beyond = np.maximum(np.maximum(start - (high - 1.0), low - (end - 1.0)), 0.0)
        return np.asarray(-_BEYOND * beyond / (end - start))

    return likelihood


def _window(method: KnownMethod, name: str) -> float:
    window = method.settings.get("window")
    width = window.get(name) if isinstance(window, Mapping) else window
    return checked_number("method: window", width, above=0.0, most=100.0)


def _by_rank(before: NDArray[np.float64], after: NDArray[np.float64], window: float) -> Likelihood:
    """Return the likelihood of a move between ranks; for values that several records share, the mean over their ranks.

    The sum over a rectangle of ranks is a difference of the second sums of the probabilities of moves.
    """
    n, ordered = len(before), np.sort(before)
    reach = max(int(window * n / 100.0), 1)
    moves = np.interp(np.arange(1, reach + 1) / reach, (np.arange(_BINS) + 0.5) / _BINS, _moves()) / (2.0 * reach)
    chance = np.zeros(2 * n + 5)
    chance[n + 2 - reach : n + 3 + reach] = np.concatenate([moves[::-1], [0.5 / n], moves])
    twice = np.cumsum(np.cumsum(chance))
    low, high = (np.searchsorted(ordered, before, side=side) for side in ("left", "right"))
    first, last = (np.searchsorted(ordered, after, side=side) for side in ("left", "right"))

    def sums(places: NDArray[np.int64]) -> Any:
        return twice[np.clip(places + n + 1, 0, len(twice) - 1)]

    def likelihood(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        start, end = first[rows][:, None], last[rows][:, None]
        whole = sums(end - low) - sums(start - low) - sums(end - high) + sums(start - high)
        return np.asarray(np.where(whole > 1e-14, np.log(np.maximum(whole, 1e-14) / (high - low)), _IMPOSSIBLE))  # noqa: PLR2004

    return likelihood


def _moves() -> NDArray[np.float64]:
    """Draw the moves of ranks, as shares of the window: each that has not moved changes places with another such one ahead."""
    random, counts = np.random.default_rng(0), np.zeros(_BINS)
    for _ in range(_ROUNDS):
        free = np.ones(_RANKS, dtype=bool)
        for rank in range(_RANKS):
            ahead = rank + 1 + np.flatnonzero(free[rank + 1 : rank + 1 + _REACH])
            if not free[rank] or not len(ahead):
                continue
            other = int(random.choice(ahead))
            free[rank] = free[other] = False
            counts[min((other - rank - 1) * _BINS // _REACH, _BINS - 1)] += 1
    return np.asarray(counts / counts.mean())
