r"""What does it reveal that a table was generalised no further than necessary? The minimality attack (Wong et al. 2007).

Someone who has the keys of everybody in the table, and knows the hierarchies and the requirements, knows that each
generalisation just below the release failed. Assignments of sensitive values to the people of a class under which one of them
would have been enough are ruled out. With E the event that all of them failed, and every assignment within the released classes
equally likely beforehand, the belief that a person of cell x (the people whom no lower generalisation distinguishes) has the
value s is

.. math::  P(s \mid x, E) = \frac{1}{m_x} \, \mathrm{E}\left[\, n_{xs} \mid E \,\right]

with :math:`m_x` people in the cell, of whom :math:`n_{xs}` have the value. A table of these counts represents :math:`\prod_x
m_x! / \prod_s n_{xs}!` assignments. The failures due to each released class are counted separately; then all classes are
combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_number, checked_seed
from unveil.attacks.assignments import Belief, ClassRule, beliefs
from unveil.attacks.minimality_result import Minimality
from unveil.attributes import Names
from unveil.counts import Counts
from unveil.errors import ArgumentError, listed
from unveil.partitions import text_form
from unveil.run import Progress, in_run
from unveil.sources import Data
from unveil.study import Pair, paired, require_nulls_as_values, require_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Hierarchy

__all__ = ["minimality"]

_MOST_BELOW = 6
_SAME = 1e-9
_UNLIKE = (
    "the release does not hold the original's keys at one level of each hierarchy. Give the hierarchies that it was made with; "
    "releases with suppressed records, or made by local recoding, cannot be attacked this way."
)
_IMPOSSIBLE = (
    "no assignment of the sensitive values makes every generalisation just below the release fail the stated requirements; the "
    "release was not made in this way, or its levels were bounded."
)
_TOO_RARE = (
    "none of the assignments drawn at random makes every generalisation just below the release fail the stated requirements; "
    "those that do are too rare to be drawn. Attack a part of the table, or a release with smaller classes."
)
_MOST_ERROR = 0.05
"""The largest standard error of a belief; cells with a larger one are left out and keep the shares of their released class."""


@checked_arguments
@in_run
def minimality(  # noqa: PLR0913 - what the intruder knows, one by one
    original: Data,
    release: Data | None = None,
    key: Names | None = None,
    sensitive: str | None = None,
    *,
    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    k: int = 1,
    l: int = 1,  # noqa: E741 - the field calls it l
    alpha: float = 1.0,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Minimality:
    """Attack a full-domain generalisation, given that no lower one met the requirements.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, data frames, studies or project files; or a `Pair` of both. The intruder uses the
        keys of the original; its sensitive values, if it has them, show how often the intruder is right.
    key, sensitive
        The key attributes, and the one sensitive attribute; none: those of the studies.
    mapping
        The protected column for an original one.
    hierarchies
        The hierarchies of the key attributes, by the original's column; by default those of the studies.
    k, l, alpha
        The requirements: the number of records in every class, of distinct sensitive values in every class, and the largest
        share of one value in a class.
    seed
        The seed of the assignments drawn for classes with more than 5,000 tables of counts.
    progress
        A run, or a function called with the name of a stage, the number of steps done, and the number of all steps.

    Returns
    -------
    Minimality
        The highest belief and the share of people whose value is inferred correctly, beside those by the release alone.

    References
    ----------
    .. [1] Wong, Fu, Wang, Pei (2007), Minimality attack in privacy preserving data publishing, Proceedings of the 33rd
       International Conference on Very Large Data Bases (VLDB), 543-554.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import Hierarchy, attacks
    >>> people = pl.DataFrame({"town": list("aabbbb"), "illness": ["hiv", "hiv", "flu", "cold", "gout", "asthma"]})
    >>> towns = Hierarchy.from_levels(["a", "b"], ["*", "*"], column="town")
    >>> release = people.with_columns(town=pl.lit("*"))
    >>> attacks.minimality(people, release, "town", "illness", hierarchies={"town": towns}, l=2)
    Minimality(illness: belief of up to 1.0000, 0.3333 by the release alone; 2 of 6 people)
    """
    rule = ClassRule(
        checked_count("k", k, least=1), checked_count("l", l, least=1), checked_number("alpha", alpha, above=0.0, most=1.0)
    )
    random = np.random.default_rng(checked_seed(seed))
    if rule == ClassRule(1, 1, 1.0):
        raise ArgumentError("no requirement of the release is named; give k, l or alpha.")
    with paired(original, release, key=key, sensitive=sensitive, mapping=mapping, hierarchies=hierarchies) as pair:
        if len(pair.sensitive) != 1:
            raise ArgumentError(f"the attack is on one sensitive attribute, and {len(pair.sensitive)} are named; name one.")
        for side, columns in ((pair.original, pair.originals.values()), (pair.release, pair.originals)):
            require_values(side, list(columns))
            require_nulls_as_values(side, list(columns))
        attribute, known = pair.sensitive[0], _Known.of(pair)
    if rule.fails(known.held[None]).any():
        raise ArgumentError("the release does not meet the stated requirements; check k, l and alpha.")
    below = [one for one in known.below if not rule.fails_by_size(np.bincount(one, known.sizes))]
    if len(below) > _MOST_BELOW:
        raise ArgumentError(f"{len(below)} key attributes could be less general; at most {_MOST_BELOW} are taken into account.")
    belief = beliefs(known.sizes, known.of_class, known.held, below, rule, random)
    if belief.possible <= 0.0:
        raise ArgumentError(_TOO_RARE if belief.drawn else _IMPOSSIBLE)
    return _answer(attribute, known, belief, len(known.below) - len(below))


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """A key attribute in the release: its level, and for every row of the original its label there and groups there and below."""

    level: int
    labels: list[str | None]
    group: NDArray[np.int64]
    lower: NDArray[np.int64]

    @classmethod
    def of(cls, whole: Counts, released: Counts, at: int, hierarchy: Hierarchy) -> _Level:
        """Find the lowest level at which the original has the labels of the release, with the same frequencies."""
        levels, codes = hierarchy.levels_for(whole.columns[at].values), whole.codes[at]
        seen = _tally([_text(value) for value in released.columns[at].values], released.codes[at], released.n)
        for level, (groups, labels) in enumerate(zip(levels.groups, levels.labels, strict=True)):
            if _tally(labels, groups[codes], whole.n) == seen:
                below = [one for one in levels.groups[:level] if one.max() > groups.max()]
                lower = below[-1] if below else groups
                return cls(level, [labels[group] for group in groups[codes].tolist()], groups[codes], lower[codes])
        raise ArgumentError(_UNLIKE)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """The intruder's knowledge: cells of people, the released class of each, and the class in every generalisation just below.

    The values in each class are read from the release; only the truth, the values in each cell, is read from the original.
    """

    sizes: NDArray[np.int64]
    of_class: NDArray[np.int64]
    held: NDArray[np.int64]
    below: list[NDArray[np.int64]]
    levels: Mapping[str, int]
    truth: NDArray[np.int64] | None

    @classmethod
    def of(cls, pair: Pair) -> _Known:
        """Find the level of every attribute, and group people by what generalisations just below would show about them."""
        columns = [one for one in pair.columns if one.release in pair.keys]
        hierarchies = {
            one.original: hierarchy for one in columns if (hierarchy := pair.hierarchies.get(one.original)) is not None
        }
        if lacking := [one.original for one in columns if one.original not in hierarchies]:
            raise ArgumentError(f"no hierarchy is given for {listed(lacking)}; give those that the release was made with.")
        hidden = pair.originals.get(pair.sensitive[0])
        truth = [hidden] if hidden is not None and hidden in pair.original.names else []
        whole = pair.original.counts([*hierarchies, *truth], nulls="category", partitions={})
        released = pair.release.counts([*(one.release for one in columns), *pair.sensitive], nulls="category", partitions={})
        parts = [_Level.of(whole, released, at, hierarchy.with_root()) for at, hierarchy in enumerate(hierarchies.values())]
        of_cell = _numbered([one.lower for one in parts])
        first = np.unique(of_cell, return_index=True)[1]
        of_class = _numbered([one.group for one in parts])
        sizes = np.bincount(of_cell, whole.n).astype(np.int64)
        names = {row: int(of_class[at]) for at, row in enumerate(zip(*(one.labels for one in parts), strict=True))}
        held = _held(released, names)
        if (held.sum(axis=1) != np.bincount(of_class, whole.n)).any():
            raise ArgumentError(_UNLIKE)
        below = [
            _numbered([*(other.group for other in parts), one.lower])[first] for one in parts if one.lower.max() > one.group.max()
        ]
        levels = dict(zip(hierarchies, (one.level for one in parts), strict=True))
        return cls(sizes, of_class[first], held, below, levels, _truth(whole, released, of_cell) if truth else None)


def _held(released: Counts, names: Mapping[tuple[str | None, ...], int]) -> NDArray[np.int64]:
    """Return the number of records of each released class with each sensitive value."""
    *keys, sensitive = released.columns
    held = np.zeros((len(set(names.values())), len(sensitive.values)), dtype=np.int64)
    texts = [[_text(value) for value in column.values] for column in keys]
    rows = zip(
        *([text[code] for code in codes.tolist()] for text, codes in zip(texts, released.codes, strict=False)), strict=True
    )
    for row, value, n in zip(rows, released.codes[-1].tolist(), released.n.tolist(), strict=True):
        if row not in names:
            raise ArgumentError(_UNLIKE)
        held[names[row], value] += n
    return held


def _truth(whole: Counts, released: Counts, of_cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of people of each cell with each sensitive value of the release."""
    at = {_text(value): code for code, value in enumerate(released.columns[-1].values)}
    codes = np.array([at.get(_text(value), -1) for value in whole.columns[-1].values])[whole.codes[-1]]
    truth = np.zeros((int(of_cell.max()) + 1, len(at)), dtype=np.int64)
    np.add.at(truth, (of_cell[codes >= 0], codes[codes >= 0]), whole.n[codes >= 0])
    return truth


def _answer(sensitive: str, known: _Known, outcome: Belief, by_size: int) -> Minimality:
    """Compare the beliefs with the shares in the released classes."""
    share = (known.held / known.held.sum(axis=1, keepdims=True))[known.of_class]
    left_out = outcome.error > _MOST_ERROR
    belief, error = np.where(left_out[:, None], share, outcome.posterior), np.where(left_out, 0.0, outcome.error)
    top, before = belief.max(axis=1), share.max(axis=1)
    right = [None if known.truth is None else _right(one, known.truth) for one in (belief, share)]
    certain = [int(known.sizes[one >= 1.0 - _SAME].sum()) for one in (top, before)]
    return Minimality(
        sensitive=sensitive, levels=known.levels, records=int(known.sizes.sum()), belief=float(top.max()),
        belief_baseline=float(before.max()), certain=certain[0], certain_baseline=certain[1], right=right[0],
        right_baseline=right[1], raised=int(known.sizes[top > before + _SAME + 3.0 * error].sum()),
        below=len(known.below), by_size=by_size, possible=outcome.possible, drawn=outcome.drawn, error=float(error.max()),
        left_out=int(known.sizes[left_out].sum()),
    )  # fmt: skip


def _right(belief: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the share of people whose likeliest value is the true one; among equally likely values, one is guessed."""
    guessed = belief >= belief.max(axis=1, keepdims=True) - _SAME
    return float((truth * guessed / guessed.sum(axis=1, keepdims=True)).sum() / truth.sum())


def _numbered(codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number of each row's combination of codes."""
    return np.asarray(np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel(), dtype=np.int64)


def _tally(labels: Sequence[str | None], codes: NDArray[Any], n: NDArray[np.int64]) -> dict[str | None, float]:
    counts = np.bincount(codes, n, minlength=len(labels)).tolist()
    return {label: count for label, count in zip(labels, counts, strict=True) if count}


def _text(value: Any) -> str | None:
    return None if value is None else text_form(value)
