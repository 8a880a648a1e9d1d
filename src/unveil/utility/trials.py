"""How are models tried on the original that learnt from the one table and from the other?

Figures come fold by fold, so that original and release are compared on the same test records.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.errors import ArgumentError, UndefinedMeasureError, shown
from unveil.results.numbers import counted
from unveil.utility.encoding import (
    Categories,
    Columns,
    Feature,
    Measured,
    Side,
    Split,
    categories_of,
    feature_of,
    matrices,
    placed,
)
from unveil.utility.learners import LOWER_IS_BETTER, TaskKind, adjusted_rand, baseline, clustered, learnt, scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.utility.encoding import Numbers, Rows

__all__ = ["Bench", "Chosen", "Estimate", "Plan", "Target", "TaskScore", "Unseen", "assigned_folds"]

Unseen: TypeAlias = Literal["ignore", "recode"]

_CONFIDENCE = 0.95
_MOST_CLASSES = 100
_DEAL, _SHUFFLE, _RUN = 3, 4, 5
"""What a seed is used for, so that no two uses draw the same numbers (1 and 2 choose the sample)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of a figure over folds (or runs) with its 95 % t interval.

    Folds share training records, so they are not independent and the interval is, as a rule, too narrow.

    Attributes
    ----------
    mean
        The mean over the folds in which the figure is defined; None where it is in none.
    low, high
        The ends of the interval; None for fewer than two folds.
    values
        The figure in each of these folds.
    """

    mean: float | None
    low: float | None
    high: float | None
    values: tuple[float, ...]

    @classmethod
    def over(cls, values: Iterable[float]) -> Estimate:
        """Estimate from one figure a fold; NaN: undefined in that fold."""
        held = tuple(float(value) for value in values if not math.isnan(value))
        if not held:
            return cls(None, None, None, ())
        mean = math.fsum(held) / len(held)
        if len(held) == 1:
            return cls(mean, None, None, held)
        from scipy.special import stdtrit

        error = math.sqrt(math.fsum((value - mean) ** 2 for value in held) / (len(held) - 1) / len(held))
        reach = float(stdtrit(len(held) - 1, (1.0 + _CONFIDENCE) / 2.0)) * error
        return cls(mean, mean - reach, mean + reach, held)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        reason = {} if self.values else {"reason": "the figure is defined in no fold"}
        ends = {"low": self.low, "high": self.high, "confidence": _CONFIDENCE}
        return {"mean": self.mean, **reason, **ends, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One figure of one model.

    Attributes
    ----------
    model
        The model.
    measure
        `accuracy`, `balanced_accuracy`, `auc` (two classes only), `r2`, `mae` or `adjusted_rand`.
    higher_is_better
        False for errors.
    original, release
        The figure of the model trained on the original, and of the one trained on the release. Of a clustering: how far two
        runs on the original agree, and how far a run on the original and one on the release do.
    baseline
        What needs no features: the majority class or the mean of the original training records; a random clustering.
    difference
        Release minus original, fold by fold.
    kept
        The share of the original's gain over the baseline that the release keeps; 1: all, 0: none, below 0: it is worse than
        the baseline. None where the original itself does not beat the baseline beyond its interval.
    """

    model: str
    measure: str
    higher_is_better: bool
    original: Estimate
    release: Estimate
    baseline: Estimate
    difference: Estimate
    kept: float | None

    @classmethod
    def of(cls, model: str, measure: str, original: Numbers, release: Numbers, baseline: Numbers) -> TaskScore:
        """Score a model from its figures in each fold."""
        better = measure not in LOWER_IS_BETTER
        sign = 1.0 if better else -1.0
        could, does = Estimate.over(sign * (original - baseline)), Estimate.over(sign * (release - baseline))
        kept = None
        if could.mean is not None and does.mean is not None and could.low is not None and could.low > 0.0:
            kept = does.mean / could.mean
        return cls(
            model,
            measure,
            better,
            original=Estimate.over(original),
            release=Estimate.over(release),
            baseline=Estimate.over(baseline),
            difference=Estimate.over(release - original),
            kept=kept,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        reason = {} if self.kept is not None else {"kept_reason": "the original does not beat the baseline beyond its interval"}
        return {
            "model": self.model,
            "measure": self.measure,
            "higher_is_better": self.higher_is_better,
            "original": self.original.to_dict(),
            "release": self.release.to_dict(),
            "baseline": self.baseline.to_dict(),
            "difference": self.difference.to_dict(),
            "kept": self.kept,
            **reason,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, checked."""

    kind: TaskKind
    models: tuple[str, ...]
    folds: int
    repeats: int
    seed: int
    unseen: Unseen
    clusters: int


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The records used."""

    original: Rows
    release: Rows
    sampled: bool
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A seed, the original rows that may be learnt from, and those to be tried."""

    seed: tuple[int, ...]
    known: Rows
    test: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The column to predict."""

    column: Feature

    @classmethod
    def of(cls, original: Columns, release: Columns, name: str, kind: TaskKind) -> Target:
        """Read the target: numbers for a regression, whatever it holds for a classification."""
        if kind == "classification":
            return cls(categories_of(original, release, name))
        column = feature_of(original, release, name)
        if isinstance(column, Categories):
            raise ArgumentError(f"a regression predicts numbers, and the target {shown(name)} holds others in the original.")
        return cls(column)

    def usable(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which original records can be tried, and which release records can be learnt from."""
        column = self.column
        if isinstance(column, Measured):
            return ~np.isnan(column.original[:, 0]), ~np.isnan(column.release[:, 0])
        held = column.original >= 0
        return held, np.isin(column.release, column.original[held])

    def checked(self, original: Rows) -> int | None:
        """Return how many classes there are (None: numbers); refuse a target with nothing to predict."""
        values = self.values("original", original, original)
        distinct = len(np.unique(values))
        name = shown(self.column.name)
        if distinct == 1:
            raise UndefinedMeasureError(f"the target {name} holds one value only; there is nothing to predict.")
        if isinstance(self.column, Measured):
            return None
        if distinct > _MOST_CLASSES:
            raise ArgumentError(
                f"the target {name} has {distinct:,} classes, more than {_MOST_CLASSES}; "
                "ask for a regression, or recode it into fewer."
            )
        return distinct

    def values(self, side: Side, rows: Rows, known: Rows) -> Numbers:
        """Return the classes or numbers of some records; an open end stands at the mean of the known originals it covers."""
        column = self.column
        if isinstance(column, Categories):
            return np.asarray((column.original if side == "original" else column.release)[rows], dtype=np.float64)
        if side == "original":
            return np.asarray(column.original[rows, 0])
        return placed(column.release[rows], column.original[known, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Where models are tried: the features, the plan, the original row of each release record (-1 none), the records used."""

    features: tuple[Feature, ...]
    plan: Plan
    partners: Rows
    rows: Chosen

    def predicted(self, target: Target) -> tuple[list[TaskScore], list[str]]:
        """Try every model on every fold, trained on each side; return the scores and what is to be said of the fits."""
        figures: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        classes = np.unique(target.values("original", self.rows.original, self.rows.original))
        unfinished = 0
        for fold in self._folds(target):
            floor = self._floor(target, fold, classes)
            for split in (self._split("original", fold), self._split("release", fold)):
                x, y, x_test, y_test = self._learning(target, split, fold.seed)
                for name in self.plan.models:
                    model, finished = learnt(self.plan.kind, name, x, y, self.plan.seed)
                    unfinished += not finished
                    for measure, figure in scored(self.plan.kind, model, x_test, y_test, classes).items():
                        figures[name, measure][split.side].append(figure)
                        figures[name, measure]["baseline"] += [floor[measure]] * (split.side == "original")
        scores = [
            TaskScore.of(*key, *(np.array(some[side]) for side in ("original", "release", "baseline")))
            for key, some in figures.items()
        ]
        return scores, [f"{counted(unfinished, 'fit')} of the logistic regression did not converge."] if unfinished else []

    def clustered(self) -> tuple[list[TaskScore], list[str]]:
        """Cluster the same records as they were and as they are, with several seeds."""
        nothing = np.empty(0, dtype=np.int64)
        known = self.partners[self.rows.release]
        before, _ = matrices(self.features, Split("original", known, known, nothing))
        after, _ = matrices(self.features, Split("release", self.rows.release, known, nothing))
        figures = []
        for run in range(self.plan.folds * self.plan.repeats):
            generator = np.random.default_rng([self.plan.seed, _RUN, run])
            one, other = generator.integers(2**31, size=2).tolist()
            first = clustered(before, self.plan.clusters, one)
            again = clustered(before, self.plan.clusters, other)
            protected = clustered(after, self.plan.clusters, other)
            figures.append([adjusted_rand(first, second) for second in (again, protected, generator.permutation(first))])
        original, release, chance = np.array(figures).T
        return [TaskScore.of("k-means", "adjusted_rand", original, release, chance)], []

    def _folds(self, target: Target) -> Iterator[_Fold]:
        rows = self.rows.original
        classes = target.column.original[rows] if isinstance(target.column, Categories) else None
        for repeat in range(self.plan.repeats):
            dealt = assigned_folds(len(rows), self.plan.folds, [self.plan.seed, _DEAL, repeat], classes)
            for fold in range(self.plan.folds):
                yield _Fold((self.plan.seed, _SHUFFLE, repeat, fold), rows[dealt != fold], rows[dealt == fold])

    def _floor(self, target: Target, fold: _Fold, classes: Numbers) -> dict[str, float]:
        """Return the figures of what needs no features."""
        y, y_test = (target.values("original", rows, fold.known) for rows in (fold.known, fold.test))
        x, x_test = np.zeros((len(y), 1)), np.zeros((len(y_test), 1))
        return scored(self.plan.kind, baseline(self.plan.kind, x, y), x_test, y_test, classes)

    def _split(self, side: Side, fold: _Fold) -> Split:
        """Say what is learnt from: the other folds, or the release records whose original is not tried."""
        if side == "original":
            return Split(side, fold.known, fold.known, fold.test)
        train = self.rows.release[~np.isin(self.partners[self.rows.release], fold.test)]
        if not len(train):
            raise UndefinedMeasureError("a fold leaves no release record with a usable target to learn from.")
        return Split(side, train, fold.known, fold.test, self.partners[train] if self.plan.unseen == "recode" else None)

    def _learning(self, target: Target, split: Split, seed: Sequence[int]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Return training and test records, the former shuffled."""
        x, x_test = matrices(self.features, split)
        y = target.values(split.side, split.train, split.known)
        order = np.random.default_rng(list(seed)).permutation(len(y))
        return x[order], y[order], x_test, target.values("original", split.test, split.known)


def assigned_folds(records: int, folds: int, seed: Sequence[int], classes: Rows | None = None) -> Rows:
    """Deal records to folds by a seed, as evenly as they go; with classes, each class as evenly as it goes, too."""
    order = np.random.default_rng(list(seed)).permutation(records)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    dealt = np.empty(records, dtype=np.int64)
    dealt[order] = np.arange(records) % folds
    return dealt
