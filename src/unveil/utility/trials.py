"""How do models trained on the original and on the release score on original records that they have not seen?

Original records are dealt to folds. For each fold, models learn from the other folds of the original and, separately, from the
release without the records whose original lies in the fold; both are tested on the original records of the fold. So no model is
tested on people it has learnt from, in their original or their protected form.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unveil.errors import ArgumentError, UndefinedMeasureError
from unveil.formats import counted
from unveil.run import active_run
from unveil.utility.clusterings import agreed_heights, fuzzy_memberships, fuzzy_rand, k_means, ward
from unveil.utility.encoding import Encoded, in_one_thread, recoded, transformer
from unveil.utility.learners import predictors, scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.int64]
    Numbers: TypeAlias = NDArray[np.float64]

__all__ = ["Trial", "dealt"]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The records that models learn from, and those they are tested on.

    Attributes
    ----------
    features
        The columns to learn from.
    target
        The column to predict, in both tables; NaN where it cannot be used.
    people, fold
        The original rows that take part, in random order, and the fold of each.
    rows, origin
        The released rows that take part, in the order of their originals, and the position of each one's original among the
        people; -1 for a record without an original, which always stays in training.
    """

    features: Encoded
    target: tuple[Numbers, Numbers]
    people: Rows
    fold: Rows
    rows: Rows
    origin: Rows

    @classmethod
    def of(
        cls, features: Encoded, target: tuple[Numbers, Numbers], truth: Rows, *, folds: int, sample: int | None, seed: int
    ) -> Trial:
        """Draw the people by a seed, and deal them to folds."""
        generator = np.random.default_rng(seed)
        people = generator.permutation(np.flatnonzero(~np.isnan(target[0])))[:sample]
        if len(people) < 2 * folds:
            original = counted(len(people), "original record")
            raise ArgumentError(f"{original} with a usable target cannot fill {folds} folds of 2; ask for fewer folds.")
        position = np.full(len(target[0]) + 1, -1)  # the last entry represents no original
        position[people] = np.arange(len(people))
        usable = ~np.isnan(target[1])
        owned = np.flatnonzero(usable & (truth >= 0) & (position[truth] >= 0))
        loose = generator.permutation(np.flatnonzero(usable & (truth < 0)))[:sample]
        rows = np.concatenate([owned[np.argsort(position[truth[owned]], kind="stable")], loose])
        return cls(features, target, people, dealt(target[0][people], folds), rows, position[truth[rows]])

    def scores(
        self, kind: str, tried: Callable[[int], None], *, clusters: int, seed: int
    ) -> dict[tuple[str, str], list[tuple[float, float]]]:
        """Return by model and measure, fold by fold, the figures of training on the original and on the release.

        `tried` is called with the number of folds done.
        """
        scores: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for fold in range(int(self.fold.max()) + 1):
            for place, pair in in_one_thread(partial(self._tried, fold, kind, clusters, seed)):
                scores[place].append(pair)
            tried(fold + 1)
        return dict(scores)

    def _tried(self, fold: int, kind: str, clusters: int, seed: int) -> list[tuple[tuple[str, str], tuple[float, float]]]:
        """Return the figures of one fold."""
        original, release = self._original(fold), self._release(fold)
        with warnings.catch_warnings():
            # few records with many classes; the caller has declared them as classes
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            # records so close together that they coincide once the mean is subtracted: there are fewer clusters then
            warnings.filterwarnings("ignore", "Number of distinct clusters", UserWarning)
            if kind == "clustering":
                return list(_agreement(original, release, clusters, seed))
            return list(_predictions(kind, original, release, self.target[0][self.people[self.fold == fold]], seed))

    def _original(self, fold: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the original training records, the fold's records as their model sees them, and the training targets."""
        train, test = self.people[self.fold != fold], self.people[self.fold == fold]
        table = self.features.original
        return (*_designed(self.features, table[train], table[test]), self.target[0][train])

    def _release(self, fold: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return the same for the release, without the records whose original is in the fold."""
        kept = (self.origin < 0) | (self.fold[self.origin] != fold)
        rows, origin = self.rows[kept], self.origin[kept]
        if not len(rows):
            raise UndefinedMeasureError("a fold leaves no record of the release with a usable target to learn from.")
        train, test = self.features.release[rows], self.features.original[self.people[self.fold == fold]].copy()
        before = np.where(origin[:, None] >= 0, self.features.original[self.people[origin]], np.nan)
        for column in np.flatnonzero(~self.features.numeric):
            test[:, column] = recoded(test[:, column], before[:, column], train[:, column])
        return (*_designed(self.features, train, test), self.target[1][rows])


def dealt(target: Numbers, folds: int) -> Rows:
    """Deal records to folds so that every fold gets its share of each class, and of high and low numbers."""
    rank = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return np.asarray(rank % folds)


def _designed(features: Encoded, train: Numbers, test: Numbers) -> tuple[Numbers, Numbers]:
    """Return both as design matrices, without the columns that are constant in training, which carry no information."""
    designer = transformer(features.numeric)
    learnt, tried = designer.fit_transform(train), designer.transform(test)
    varying = np.ptp(learnt, axis=0) > 0.0
    if not varying.any():
        return np.zeros((len(train), 1)), np.zeros((len(test), 1))
    return learnt[:, varying], tried[:, varying]


def _predictions(
    kind: str,
    original: tuple[Numbers, Numbers, Numbers],
    release: tuple[Numbers, Numbers, Numbers],
    truth: Numbers,
    seed: int,
) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    both = []
    for train, test, target in (original, release):
        models = predictors(kind, len(train), seed)
        if len(np.unique(target)) == 1:  # nothing to learn: every model predicts the only class
            models = dict.fromkeys(models, models["baseline"])
        predictions = {}
        for name, model in models.items():
            active_run().check()
            predictions[name] = scored(kind, truth, model.fit(train, target).predict(test))
        both.append(predictions)
    for name, figures in both[0].items():
        for measure, figure in figures.items():
            yield (name, measure), (figure, both[1][name][measure])


def _agreement(
    original: tuple[Numbers, Numbers, Numbers], release: tuple[Numbers, Numbers, Numbers], clusters: int, seed: int
) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    """Compare the clusterings of the fold's records: one from the original with another from each table."""
    from sklearn.metrics import adjusted_rand_score

    sides = ((original, seed), (original, seed + 1), (release, seed + 1))
    first, *others = [k_means(*side[:2], clusters, draw) for side, draw in sides]
    yield ("k-means", "adjusted_rand"), _pair(adjusted_rand_score(first, other) for other in others)
    soft, *softs = [fuzzy_memberships(*side[:2], clusters, draw) for side, draw in sides]
    yield ("fuzzy c-means", "fuzzy_rand"), _pair(fuzzy_rand(soft, other) for other in softs)
    (cut, heights), *trees = [ward(*side[:2], clusters, draw) for side, draw in sides]
    yield ("dendrogram", "adjusted_rand"), _pair(adjusted_rand_score(cut, other) for other, _ in trees)
    yield ("dendrogram", "cophenetic"), _pair(agreed_heights(heights, other) for _, other in trees)


def _pair(figures: Iterable[float]) -> tuple[float, float]:
    one, other = figures
    return float(one), float(other)
