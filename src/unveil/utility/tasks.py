"""What is a model trained on the release still good for? It is tried on original records, beside one trained on the original.

The original records are dealt to folds. For each fold, models learn from the other folds of the original and, separately, from
the release without the records whose original lies in the fold; both are tried on the fold's original records. So no
record that a model is tried on has been learnt from, in its original or in its protected form.

Differences are release minus original: below 0 the release does worse, except for errors (`mae`), where above 0 does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.results.numbers import counted, number
from unveil.utility.encoding import Columns, FeatureUse, checked_draw, checked_names, drawn, feature_of, records_of
from unveil.utility.learners import MODELS, TaskKind, need_learning
from unveil.utility.trials import Bench, Chosen, Estimate, Plan, Target, TaskScore, Unseen

if TYPE_CHECKING:
    from unveil.utility.encoding import Rows

__all__ = ["Estimate", "TaskKind", "TaskLoss", "TaskScore", "Unseen", "task_loss"]

_ORIGINAL, _LOOSE = 1, 2
"""What a seed is used for: drawing original records, and release records of no original (see also `trials`)."""


@dataclass(frozen=True, slots=True)
class TaskLoss:
    """What a release is still good for in one task.

    Attributes
    ----------
    kind, target, features
        The task.
    scores
        A figure for each model and measure.
    classes, clusters
        The classes of the target, and the clusters asked for, where the task has them.
    original_records, release_records
        The records used.
    sampled
        Whether they are a sample.
    left_out
        Release records without a usable target, which nothing was learnt from.
    held_out
        Whether no model was tried on a record whose protected form it had learnt from.
    uses
        How each feature was read.
    folds, repeats, seed, sample, unseen
        What was asked.
    notes
        What a reader of the figures should know.
    """

    kind: TaskKind
    target: str | None
    features: tuple[str, ...]
    scores: tuple[TaskScore, ...]
    classes: int | None
    clusters: int | None
    original_records: int
    release_records: int
    sampled: bool
    left_out: int
    held_out: bool
    uses: tuple[FeatureUse, ...]
    folds: int
    repeats: int
    seed: int
    sample: int | None
    unseen: Unseen
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Return one line: the first measure of each model, trained on the original and on the release."""
        first = self.scores[0].measure
        figures = [
            f"{score.model} {_shown(score.original.mean)} -> {_shown(score.release.mean)}"
            for score in self.scores
            if score.measure == first
        ]
        return f"TaskLoss({self.kind}, {first}: {', '.join(figures)}; baseline {_shown(self.scores[0].baseline.mean)})"

    def score(self, model: str, measure: str) -> TaskScore:
        """Return the figure of a model."""
        for found in self.scores:
            if (found.model, found.measure) == (model, measure):
                return found
        raise ArgumentError.not_one_of("score", f"{model} {measure}", [f"{some.model} {some.measure}" for some in self.scores])

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "kind": self.kind,
            "target": self.target,
            "features": list(self.features),
            "scores": [score.to_dict() for score in self.scores],
            "classes": self.classes,
            "clusters": self.clusters,
            "original_records": self.original_records,
            "release_records": self.release_records,
            "sampled": self.sampled,
            "left_out": self.left_out,
            "held_out": self.held_out,
            "uses": [use.to_dict() for use in self.uses],
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "sample": self.sample,
            "unseen": self.unseen,
            "notes": list(self.notes),
        }


def task_loss(  # noqa: PLR0913
    original: Columns,
    release: Columns,
    truth: Sequence[int] | Rows | None,
    *,
    target: str | None = None,
    features: Sequence[str],
    kind: TaskKind = "classification",
    models: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 1,
    seed: int = 0,
    sample: int | None = 20_000,
    unseen: Unseen = "ignore",
    clusters: int = 8,
) -> TaskLoss:
    r"""Measure what a task loses when its model learns from the release instead of the original.

    Parameters
    ----------
    original, release
        The columns of the two tables: numbers or texts, generalised ones such as ``[20, 30)``, ``2*`` or ``*`` among them, and
        nulls. Never changed.
    truth
        For every release record the row of its original, -1 where it has none. None where that is not known: then models
        learn from the whole release, protected forms of the test records included, which flatters it; the result says so.
    target
        The column to predict; none for a clustering.
    features
        The columns to learn from.
    kind
        ``"classification"``: accuracy, balanced accuracy (the mean of the classes' recalls) and, of two classes, the area
        under the ROC curve. ``"regression"``: :math:`R^2` and the mean absolute error. ``"clustering"``: the adjusted Rand
        index between a clustering of the original and one of the release.
    models
        Of a classification ``tree``, ``neighbours``, ``logistic``; of a regression ``ridge``, ``tree``, ``neighbours``; of a
        clustering ``k-means``. None: all.
    folds, repeats
        How many folds, and how often they are dealt anew. A clustering has no folds: it has folds times repeats runs.
    seed
        The seed of folds, samples and models.
    sample
        The most original records that are used, drawn by the seed, with their release records; None: all.
    unseen
        What becomes of an original test record's category that the training release never holds, say because it was
        generalised. ``"ignore"``: it is told by no indicator. ``"recode"``: it becomes what training records of that category
        most often became, as an analyst who knows the generalisation would recode new data; needs `truth`.
    clusters
        How many clusters; fewer where a table has fewer distinct records.

    Returns
    -------
    TaskLoss
        For each model and measure the figures of original, release and baseline, and their paired difference.

    Raises
    ------
    ArgumentError, ColumnNotFoundError
        If an argument makes no sense, a column is missing, or the records are too few for the folds.
    UndefinedMeasureError
        If the target holds one value only, or the release holds no usable target.
    MissingExtraError
        If scikit-learn (the extra ``tasks``) is not installed.

    Notes
    -----
    Columns of numbers are standardised by the training records; how generalised numbers are read is said in
    `unveil.utility.encoding`. Any other column gets an indicator for each of the 50 most frequent categories of the training
    records; a null is a category. Release records whose target is null, suppressed or not a value of the original's target
    are not learnt from, and are counted; of a regression's target those that say nothing. Original records with a null target
    are left out.

    Trees have at least 5 records in a leaf; there are 15 neighbours; logistic regression is penalised as scikit-learn does by
    default (C = 1), and so is ridge (alpha = 1). Training records are shuffled by the seed, so that ties between neighbours
    do not follow the order of the table.

    A clustering compares records, so it has no test records. Its `original` figure is how far two runs of k-means on the
    original agree when they differ by their seeds only: the most that can be asked of the release.

    The interval is a t interval over folds. These share training records, so it is too narrow as a rule, the more so
    with repeats: read it as noise between folds.

    Examples
    --------
    >>> ages, smokes = [20, 25, 30, 35, 60, 65, 70, 75] * 5, ["no"] * 20 + ["yes"] * 20
    >>> original = {"age": sorted(ages), "smokes": smokes}
    >>> release = {"age": ["[0, 50)"] * 20 + ["[50, 100)"] * 20, "smokes": smokes}
    >>> task_loss(original, release, range(40), target="smokes", features=["age"], models=["tree"])
    TaskLoss(classification, accuracy: tree 1.0000 -> 1.0000; baseline 0.5000)
    """
    names = checked_names(features)
    plan = Plan(kind, _models(kind, models), folds, repeats, seed, unseen, clusters)
    _check(plan, target, names, sample)
    need_learning()
    columns = tuple(feature_of(original, release, name) for name in names)
    wanted = names if target is None else (*names, target)
    answer = None if target is None else Target.of(original, release, target, kind)
    counts = records_of(original, wanted, "the original"), records_of(release, wanted, "the release")
    partners = _partners(truth, counts, plan)
    rows = _rows(answer, partners, counts, sample, seed)
    if len(rows.original) < 2 * folds:
        found = counted(len(rows.original), "usable original record")
        raise ArgumentError(f"{found} cannot fill {folds} folds of at least 2 each; ask for fewer folds, or give more records.")
    classes = None if answer is None else answer.checked(rows.original)
    bench = Bench(columns, plan, partners, rows)
    scores, remarks = bench.clustered() if answer is None else bench.predicted(answer)
    return TaskLoss(
        kind=kind,
        target=target,
        features=names,
        scores=tuple(scores),
        classes=classes,
        clusters=clusters if kind == "clustering" else None,
        original_records=len(rows.original),
        release_records=len(rows.release),
        sampled=rows.sampled,
        left_out=rows.left_out,
        held_out=truth is not None,
        uses=tuple(column.use(rows.original, rows.release) for column in columns),
        folds=folds,
        repeats=repeats,
        seed=seed,
        sample=sample,
        unseen=unseen,
        notes=(*_notes(plan, rows, held_out=truth is not None), *remarks),
    )


def _models(kind: str, models: Sequence[str] | None) -> tuple[str, ...]:
    if kind not in MODELS:
        raise ArgumentError.not_one_of("kind", kind, list(MODELS))
    chosen = MODELS[kind] if models is None else (models,) if isinstance(models, str) else tuple(dict.fromkeys(models))
    if not chosen:
        raise ArgumentError("no models are named; leave models out for all of them.")
    for name in chosen:
        if name not in MODELS[kind]:
            raise ArgumentError.not_one_of("model", name, MODELS[kind])
    return chosen


def _check(plan: Plan, target: str | None, features: Sequence[str], sample: int | None) -> None:
    """Refuse what makes no sense."""
    if plan.unseen not in get_args(Unseen):
        raise ArgumentError.not_one_of("unseen", plan.unseen, get_args(Unseen))
    if (plan.kind == "clustering") != (target is None):
        needs = "has no target; leave it out" if target is not None else "needs a target: the column to predict"
        raise ArgumentError(f"a {plan.kind} {needs}.")
    if target in features:
        raise ArgumentError(f"the target {shown(target)} is named as a feature, too; it would predict itself.")
    for name, value, least in (("folds", plan.folds, 2), ("repeats", plan.repeats, 1), ("clusters", plan.clusters, 2)):
        if value < least:
            raise ArgumentError(f"{name} is at least {least}.")
    checked_draw(plan.seed, sample)


def _partners(truth: Sequence[int] | Rows | None, counts: tuple[int, int], plan: Plan) -> Rows:
    """Return the original row of each release record, checked; -1 where it has none, or it is not known."""
    if truth is None:
        if plan.kind == "clustering" or plan.unseen == "recode":
            what = "a clustering" if plan.kind == "clustering" else "recoding unseen categories"
            raise ArgumentError(f"{what} needs to know which release record belongs to which original one; give truth.")
        return np.full(counts[1], -1, dtype=np.int64)
    rows = np.asarray(truth)
    if rows.shape != (counts[1],) or not (np.issubdtype(rows.dtype, np.integer) or not len(rows)):
        raise ArgumentError(f"truth holds a row number for each of the {counted(counts[1], 'release record')}, -1 for none.")
    outside = int(np.count_nonzero((rows < -1) | (rows >= counts[0])))
    if outside:
        raise ArgumentError(f"{outside:,} row numbers of truth lie outside the original's {counted(counts[0], 'record')}.")
    return rows.astype(np.int64)


def _rows(target: Target | None, partners: Rows, counts: tuple[int, int], sample: int | None, seed: int) -> Chosen:
    """Choose the records used: those with a target (of a clustering: with a partner), or a sample of them."""
    if target is None:
        tried, usable = np.isin(np.arange(counts[0]), partners), partners >= 0
    else:
        tried, usable = target.usable()
    everyone, loose = np.flatnonzero(tried), np.flatnonzero(usable & (partners < 0))
    originals = drawn(everyone, sample, [seed, _ORIGINAL])
    held = np.flatnonzero(usable & (partners >= 0))
    if len(originals) < len(everyone):
        held = held[np.isin(partners[held], originals)]
    share = len(originals) / max(1, len(everyone))
    others = drawn(loose, None if sample is None else min(sample, math.ceil(share * len(loose))), [seed, _LOOSE])
    return Chosen(
        original=originals,
        release=np.sort(np.concatenate([held, others])),
        sampled=len(originals) < len(everyone) or len(others) < len(loose),
        left_out=0 if target is None else int(np.count_nonzero(~usable)),
    )


def _notes(plan: Plan, rows: Chosen, *, held_out: bool) -> list[str]:
    """Say what a reader of the figures should know."""
    if plan.kind == "clustering":
        notes = ["Runs differ by their seeds only; their interval is the noise of k-means, not of the data."]
    else:
        notes = ["Folds share training records and are not independent: the intervals are, as a rule, too narrow."]
    if not held_out:
        notes.append(
            "It is not known which release record belongs to which original one, so models learnt from the whole release, "
            "protected forms of the test records included; this flatters the release."
        )
    if rows.sampled:
        notes.append(
            f"A sample by seed {plan.seed}: {counted(len(rows.original), 'original record')}, "
            f"{counted(len(rows.release), 'release record')}."
        )
    if rows.left_out:
        notes.append(f"Nothing was learnt from {counted(rows.left_out, 'release record')} without a usable target.")
    return notes


def _shown(figure: float | None) -> str:
    return "undefined" if figure is None else number(figure)
