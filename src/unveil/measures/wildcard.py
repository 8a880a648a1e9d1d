r"""How many records may share a key, or belong to a person who is known, once some values are suppressed? Nulls that match.

A null matches any value, from both sides if the release is compared with itself; someone who knows true values compares them
with the release, where only its own nulls match (`covering`).

After local suppression a null says "could be anything", so a class of the key (one combination of values, nulls included)
matches others besides itself. Two classes match if on every key attribute their values are equal or at least one of them is
null. Matching is symmetric but not transitive: (a, null) matches (a, b) and (a, c), which do not match each other. So there are
no longer any equivalence classes; each class has its own sum over those that match it,

.. math:: f_k = n_k + \sum_{j \ne k,\ j \text{ matches } k} s_j n_j, \qquad
    s_j = \begin{cases} 1 & \text{if key } j \text{ is complete} \\ \alpha & \text{if key } j \text{ has a null} \end{cases}

and :math:`F_k` likewise, with sampling weights in place of the counts. A smaller :math:`f_k` is riskier.

**What alpha multiplies.** The share depends on the class that is *counted*, not on the class for which it is counted:

- a class with a null, counted for a complete class: alpha;
- a complete class, counted for a class with a null: 1, in full, even if alpha is 0;
- a class with a null, counted for another with nulls elsewhere or with other values: alpha;
- a class for itself: 1, in full, its nulls notwithstanding.

With alpha = 1 (the default) every match counts. A record with a null then counts for many keys, although it truly has only one,
so frequencies come out too high, and risks too low; a smaller alpha discounts that. With alpha = 0 a record with a null counts
for its own class only.

**Where this comes from.** The rule is that of sdcMicro's ``freqCalc`` [1]_, whose manual says that alpha is how much "keys that
contain missing values" contribute; the guide [2]_ prints a table with alpha = 0.5 that agrees. Two things differ here, both
about a key whose every attribute is null, if there are two attributes or more. ``freqCalc`` counts all records for it in
full, whatever alpha, and counts it for no complete key, even with alpha = 1; its branch for a single attribute does neither.
Here the rule above has no exceptions, so frequencies neither jump when one more attribute is suppressed nor depend on how
many attributes the key has. Also, sdcMicro's manual of ``kAnon`` says that alpha = 0 makes nulls categories of their own; neither
``freqCalc`` nor this module does that, since complete keys still match (for categories, count the classes plainly).

References
----------
.. [1] Templ, Kowarik, Meindl, sdcMicro 5.8.1 (R package), ``freqCalc``: manual, source and tests, read at revision cf32510.
   Templ, Kowarik, Meindl (2015), Statistical Disclosure Control for Micro-Data Using the R Package sdcMicro, Journal of
   Statistical Software 67(4). doi:10.18637/jss.v067.i04
.. [2] Benschop, Machingauta, Welch, Statistical Disclosure Control: A Practice Guide, "Measuring Risk"; the table with alpha
   is in the draft "Add info on alpha for frequency calculation", https://github.com/ihsn/SDCPractice/pull/40
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_share
from unveil.counts import Classes, Owners, Pairs, group, group_sums, summed
from unveil.errors import ArgumentError
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Matches", "covering", "matching_owners", "wildcard_matches", "wildcard_sums", "with_matches"]

_MOST_PAIRS = 50_000_000
"""More matching pairs than this are not listed: three arrays of them take over a gigabyte."""

_BLOCK = 1 << 20
"""The approximate number of lookups made at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The pairs of classes of the key that match, and how much each match counts.

    One entry per pair, ordered by `of_class`, then by `other`.

    Attributes
    ----------
    of_class
        The class that is looked up.
    other
        A class that matches it; every class matches itself.
    share
        How much of the other counts: alpha if it has a null and is not the class itself, otherwise 1.
    """

    of_class: NDArray[np.int64]
    other: NDArray[np.int64]
    share: NDArray[np.float64]


def wildcard_matches(classes: Classes, *, alpha: float = 1.0) -> Matches:
    """List the classes that match each class, a null matching any value.

    Parameters
    ----------
    classes
        The classes of the key; in each column the null, if there is one, is the last value.
    alpha
        From 0 to 1: how much a class with a null counts for others. It decides the shares, never which classes match.

    Raises
    ------
    ArgumentError
        If alpha is not from 0 to 1, or there are more than 50 million pairs.

    Notes
    -----
    The pairs are counted before any is listed. The time is that of `wildcard_sums`, and that of sorting the pairs.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"sex": ["m", "m", "m"], "school": ["long", "short", None]})
    >>> key = unveil.count(people, ["sex", "school"]).classes(["sex", "school"])
    >>> matches = wildcard_matches(key, alpha=0.5)
    >>> list(zip(matches.of_class.tolist(), matches.other.tolist(), matches.share.tolist()))
    [(0, 0, 1.0), (0, 2, 0.5), (1, 1, 1.0), (1, 2, 0.5), (2, 0, 1.0), (2, 1, 1.0), (2, 2, 1.0)]
    """
    share = _checked(alpha)
    number = classes.number
    pairs = int(wildcard_sums(classes, np.ones(number)).sum())
    if pairs > _MOST_PAIRS:
        raise ArgumentError(
            f"{number:,} classes of the key match each other in {pairs:,} pairs, more than the {_MOST_PAIRS:,} that can be "
            "listed; use wildcard_sums, which lists none, or a key of fewer columns, or leave out records with mostly nulls."
        )
    patterns = _Patterns.of(classes)
    of_class, other = _ordered_pairs(classes, patterns)
    counted = np.where(patterns.incomplete[other] & (of_class != other), share, 1.0)
    return Matches(of_class, other, counted)


def wildcard_sums(classes: Classes, amounts: NDArray[Any], *, alpha: float = 1.0) -> NDArray[np.float64]:
    r"""Sum amounts over the classes that match each class, a null matching any value.

    From the records of each class this gives :math:`f_k`, from their weights :math:`F_k`.

    Parameters
    ----------
    classes
        The classes of the key; in each column the null, if there is one, is the last value.
    amounts
        One number per class, such as ``classes.n`` or ``classes.mass``.
    alpha
        From 0 to 1: how much a class with a null counts for others.

    Returns
    -------
    numpy.ndarray
        One sum per class, with its own amount in full. Amounts of complete classes and of those with a null are summed
        separately and multiplied by alpha once, so integers are summed exactly (below 2^53).

    Raises
    ------
    ArgumentError
        If alpha is not from 0 to 1, or there is not one amount per class.

    Notes
    -----
    The time grows with the number of classes times the number of null patterns (the different sets of columns that are null
    together), not with the number of matching pairs. If nothing is null it is a copy.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"sex": ["m", "m", "m"], "school": ["long", "short", None]})
    >>> key = unveil.count(people, ["sex", "school"]).classes(["sex", "school"])
    >>> wildcard_sums(key, key.n), wildcard_sums(key, key.n, alpha=0.5)
    (array([2., 2., 3.]), array([1.5, 1.5, 3. ]))
    """
    share = _checked(alpha)
    amount = np.asarray(amounts, dtype=np.float64)
    if amount.shape != (classes.number,):
        raise ArgumentError(f"amounts have the shape {amount.shape}; give one number for each of {classes.number:,} classes.")
    patterns = _Patterns.of(classes)
    in_full, by_null = amount.copy(), np.zeros(classes.number)
    for block in _blocks(classes, patterns):
        with_null = patterns.incomplete[block.others]
        in_full[block.targets] += block.sums(amount, ~with_null)
        by_null[block.targets] += block.sums(amount, with_null)
    return in_full + share * by_null


def matching_owners(classes: Classes, owners: Owners, alpha: float) -> NDArray[np.float64]:
    """Count the persons whose records match each class; a person counts as much as their best matching record."""
    matches = wildcard_matches(classes, alpha=alpha)
    pair, lengths = _expanded(matches.other, owners.of_class, classes.number)
    rows, share = np.repeat(matches.of_class, lengths), np.repeat(matches.share, lengths)
    order = np.lexsort((-share, owners.who[pair], rows))
    rows, who, share = rows[order], owners.who[pair][order], share[order]
    first = (np.diff(rows, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)
    return summed(rows[first], share[first], classes.number)


def with_matches(classes: Classes, pairs: Pairs, values: int, alpha: float) -> Pairs:
    """Add to every class the values of the other classes that match it."""
    matches = wildcard_matches(classes, alpha=alpha)
    cell, lengths = _expanded(matches.other, pairs.of_class, classes.number)
    amounts = pairs.n[cell] * np.repeat(matches.share, lengths)
    both = [np.repeat(matches.of_class, lengths), pairs.value[cell]]
    (first, second), total = group_sums(both, [classes.number, values], amounts)
    held = total > 0
    return Pairs(first[held].astype(np.int64), second[held].astype(np.int64), total[held])


def _expanded(
    wanted: NDArray[np.int64], of_class: NDArray[np.int64], classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for a sequence of classes, the positions of the entries of each class, and their number."""
    starts = np.searchsorted(of_class, np.arange(classes + 1))
    lengths = np.diff(starts)[wanted]
    before = np.repeat(np.cumsum(lengths) - lengths - starts[wanted], lengths)
    return np.arange(lengths.sum()) - before, lengths


def _ordered_pairs(classes: Classes, patterns: _Patterns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List every pair of classes that match, each with itself included, sorted as one number per pair."""
    number = max(classes.number, 1)
    places = [np.arange(classes.number) * (number + 1)]
    for block in _blocks(classes, patterns):
        first, other = block.pairs()
        places.append(first * number + other)
    pairs = np.concatenate(places)
    pairs.sort()
    return np.divmod(pairs, number)


def _checked(alpha: float) -> float:
    return checked_share("alpha", alpha)


@dataclass(frozen=True, slots=True, eq=False)
class _Patterns:
    """Which columns are null together.

    Attributes
    ----------
    null
        For each pattern and column whether it is null there.
    of_class
        The pattern of each class.
    incomplete
        For each class whether any column is null.
    """

    null: NDArray[np.bool_]
    of_class: NDArray[np.int64]
    incomplete: NDArray[np.bool_]

    @classmethod
    def of(cls, classes: Classes) -> _Patterns:
        """Find the patterns that occur."""
        nullable = [at for at, column in enumerate(classes.columns) if len(column.values) and column.values[-1] is None]
        flags = [classes.codes[at] == len(classes.columns[at].values) - 1 for at in nullable]
        of_class, patterns = _distinct(flags, classes.number)
        null = np.zeros((len(patterns), len(classes.columns)), dtype=bool)
        null[:, nullable] = patterns
        return cls(null, of_class, np.asarray(null.any(axis=1))[of_class])


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Classes of one null pattern that are looked up, and others they may match, numbered so that equal numbers match.

    Attributes
    ----------
    targets, others
        Positions of classes.
    target_as
        The numbers under which the targets look for others: a row for each way in which others can be null.
    others_as
        The number of each of the others.
    number
        The number of these numbers.
    """

    targets: NDArray[np.int64]
    others: NDArray[np.int64]
    target_as: NDArray[np.int64]
    others_as: NDArray[np.int64]
    number: int

    def sums(self, amount: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64] | float:
        """Sum, for each target, the amounts of its matches among the chosen of the others."""
        if not chosen.any():
            return 0.0
        totals = summed(self.others_as[chosen], amount[self.others[chosen]], self.number)
        return np.asarray(totals[self.target_as].sum(axis=0))

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the matches: each target, as often as it has matches, and its matches."""
        sizes = np.bincount(self.others_as, minlength=self.number)
        starts = np.cumsum(sizes) - sizes
        looked_up = self.target_as.ravel()
        many = sizes[looked_up]
        first = np.repeat(starts[looked_up] - (np.cumsum(many) - many), many)
        in_order = self.others[np.argsort(self.others_as, kind="stable")]
        return np.repeat(np.tile(self.targets, len(self.target_as)), many), in_order[first + np.arange(len(first))]


def _blocks(classes: Classes, patterns: _Patterns) -> Iterator[_Block]:
    """Bring the classes of each null pattern together with all classes of other patterns.

    Two classes of one pattern match only if they are the same, so these are left out. For the others, only the columns in which
    the targets hold a value matter; the set of these columns in which a class is null is its form. The matches of a target in one
    form are those that equal the target once it is made null in the same columns.
    """
    if not patterns.incomplete.any():
        return
    for pattern, null in enumerate(patterns.null):
        held = np.flatnonzero(~null)
        wanted = np.flatnonzero(patterns.of_class == pattern)
        form_of_pattern, forms = _distinct(list(patterns.null[:, held].T), len(patterns.null))
        form = form_of_pattern[patterns.of_class]
        form[wanted] = -1
        step = max(1, _BLOCK // len(wanted))
        for start in range(0, len(forms), step):
            active_run().check()
            others = np.flatnonzero((form >= start) & (form < start + step))
            if len(others):
                yield _block(classes, held, wanted, others, forms[start : start + step])


def _block(
    classes: Classes, held: NDArray[np.int64], wanted: NDArray[np.int64], others: NDArray[np.int64], forms: NDArray[np.bool_]
) -> _Block:
    """Give the others numbers by their codes in the columns held, the targets by theirs with each form's nulls put in."""
    codes, sizes = [], []
    for column, hidden in zip(held.tolist(), forms.T, strict=True):
        size, own = len(classes.columns[column].values), classes.codes[column]
        null = own.dtype.type(size - 1)
        codes.append(np.concatenate([np.where(hidden[:, None], null, own[wanted]).ravel(), own[others]]))
        sizes.append(size)
    lookups = len(forms) * len(wanted)
    numbers = group(codes, sizes)[0] if codes else np.zeros(lookups + len(others), dtype=np.int64)
    target_as = numbers[:lookups].reshape(len(forms), len(wanted))
    return _Block(wanted, others, target_as, numbers[lookups:], int(numbers.max()) + 1)


def _distinct(flags: list[NDArray[np.bool_]], rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Give each combination of flags that occurs a number; return that of each row, and the combinations."""
    if not flags or not rows:
        return np.zeros(rows, dtype=np.int64), np.zeros((min(rows, 1), len(flags)), dtype=bool)
    of_row, number = group([flag.view(np.uint8) for flag in flags], [2] * len(flags))
    return of_row, np.stack(number, axis=1).astype(bool)


def covering(released: NDArray[np.int64], true: NDArray[np.int64], amounts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    r"""Count the released records that cover each true one: those that may belong to someone whose true values are known.

    A released record covers a true one if each of its values that is not null is the true value: a null says nothing, so it fits
    everybody. Unlike `wildcard_matches`, which compares the release with itself, this is the comparison of an intruder who knows
    the person: a null protects the people whose records fit it, not the person whose record holds it.

    .. math:: c_t = |\{ r : r_j = t_j \text{ or } r_j \text{ is null, for every key attribute } j \}|, \qquad
        k_{known} = \min_t c_t

    A record that is null throughout covers everybody. A null among the true values is covered only by a null. Fewer is riskier.

    Parameters
    ----------
    released, true
        The keys in codes, a row per record and a column per attribute; the two share the codes of their values, and -1 is a null.
    amounts
        How many records each row of the release stands for; none: one.

    Notes
    -----
    The time grows with the number of records times the number of sets of attributes that are null together in the release.

    Examples
    --------
    >>> import numpy as np
    >>> covering(np.array([[0, -1], [1, 1], [-1, -1]]), np.array([[0, 5], [1, 1], [1, 2]]))
    array([2, 2, 1])
    """
    n = np.ones(len(released), dtype=np.int64) if amounts is None else amounts
    covers = np.zeros(len(true), dtype=np.int64)
    bits = 1 << np.arange(released.shape[1])
    nulls = ((released < 0) * bits).sum(axis=1)
    for pattern in np.unique(nulls).tolist():
        rows = np.flatnonzero(nulls == pattern)
        held = [at for at in range(released.shape[1]) if not pattern >> at & 1]
        if not held:
            covers += int(n[rows].sum())
            continue
        both = [np.concatenate([released[rows, at], true[:, at]]) + 1 for at in held]
        numbers, _ = group(both, [int(codes.max()) + 1 for codes in both])
        totals = summed(numbers[: len(rows)], n[rows], int(numbers.max()) + 1)
        covers += totals[numbers[len(rows) :]].astype(np.int64)
    return covers
