"""A task that the data should serve, and its scores: on the original, on the release, and the difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, in_line, names_of
from unveil.errors import ArgumentError, one_line, shown
from unveil.utility.learners import HIGHER_IS_BETTER, KINDS

CONFIDENCE = 0.95


@dataclass(frozen=True, init=False)
class Task:
    """Something that people would learn from the data.

    Parameters
    ----------
    name
        The name of the task.
    target
        The attribute to predict; none for a clustering.
    given
        The attributes to learn from; none: all that original and release both have and that no study declares as identifier,
        weight, person or household.
    kind
        ``"classification"``, ``"regression"`` or ``"clustering"``.
    clusters
        The number of clusters, for a clustering.

    Examples
    --------
    >>> Task("income", target="income-per-year", given=["age", "education"])
    Task('income': classification of income-per-year given age, education)
    """

    name: str
    target: str | None
    given: tuple[str, ...]
    kind: str
    clusters: int

    @checked_arguments
    def __init__(
        self,
        name: str,
        target: str | None = None,
        given: Names | None = None,
        *,
        kind: str = "classification",
        clusters: int = 8,
    ) -> None:
        names = names_of(given)
        if kind not in KINDS:
            raise ArgumentError.not_one_of(f"the kind of task {shown(name)},", kind, KINDS)
        if (kind == "clustering") != (target is None):
            needs = "has no target; leave it out" if target is not None else "needs a target, the attribute to predict"
            raise ArgumentError(f"the task {shown(name)} is a {kind}, which {needs}.")
        if target in names:
            raise ArgumentError(
                f"the task {shown(name)} predicts {shown(target)} from itself; remove it from the given attributes."
            )
        if clusters < 2:  # noqa: PLR2004 - one cluster carries no information
            raise ArgumentError(f"the task {shown(name)} asks for fewer than 2 clusters.")
        for attribute, value in (("name", name), ("target", target), ("given", names), ("kind", kind), ("clusters", clusters)):
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        """Return one line."""
        target = "" if self.target is None else f" of {one_line(self.target)}"
        return f"Task({self.name!r}: {self.kind}{target} given {in_line(self.given) or 'all in common'})"


@dataclass(frozen=True, slots=True)
class FoldEstimate:
    """The mean of a figure over folds, with its 95 % interval; None if it is defined in no fold (in one: no interval)."""

    mean: float | None
    low: float | None
    high: float | None

    @classmethod
    def over(cls, figures: Iterable[float], folds: int) -> FoldEstimate:
        r"""Estimate from one figure per fold, NaN if there is none.

        Folds share training records. The variance of their mean is therefore larger than :math:`s^2/J`; Nadeau and Bengio's
        correction adds the ratio of test to training records,

        .. math:: \bar{x} \pm t_{J-1} \sqrt{\left(\frac{1}{J} + \frac{1}{J-1}\right) s^2} .

        References
        ----------
        .. [1] Nadeau, Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281.
           doi:10.1023/A:1024068626366
        """
        held = np.array([figure for figure in figures if not math.isnan(figure)])
        if not len(held):
            return cls(None, None, None)
        mean = float(held.mean())
        if len(held) == 1:
            return cls(mean, None, None)
        from scipy.special import stdtrit

        error = math.sqrt((1.0 / len(held) + 1.0 / (folds - 1)) * held.var(ddof=1))
        reach = float(stdtrit(len(held) - 1, (1.0 + CONFIDENCE) / 2.0)) * error
        return cls(mean, mean - reach, mean + reach)

    def to_dict(self) -> dict[str, float | None]:
        """Return the fields as they are written to JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Score:
    """One measure of one model.

    Attributes
    ----------
    model
        The model; `baseline` needs no attributes.
    measure
        `accuracy`, `balanced_accuracy`, `r2`, `mae`, `adjusted_rand`, `fuzzy_rand` or `cophenetic`.
    original, release
        The figure of the model trained on the original, and on the release. For a clustering: the agreement of two runs on the
        original, and of a run on the original with one on the release.
    difference
        Release minus original, fold by fold.
    """

    model: str
    measure: str
    original: FoldEstimate
    release: FoldEstimate
    difference: FoldEstimate

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher figure is more useful."""
        return HIGHER_IS_BETTER[self.measure]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "model": self.model,
            "measure": self.measure,
            "higher_is_better": self.higher_is_better,
            "original": self.original.to_dict(),
            "release": self.release.to_dict(),
            "difference": self.difference.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Solved:
    """The degree to which a release supports a task.

    Attributes
    ----------
    task
        The task.
    scores
        Every model and measure; empty if the task could not be tried.
    read
        How each attribute was read: "number" or "category".
    people, rows
        The number of original records that took part, and of released records that were learnt from.
    unusable
        The number of released records whose target is null, suppressed or too general to be used; nothing was learnt from them.
    reason
        The reason why the task could not be tried.
    """

    task: Task
    scores: tuple[Score, ...] = ()
    read: Mapping[str, str] | None = None
    people: int = 0
    rows: int = 0
    unusable: int = 0
    reason: str | None = None

    def score(self, model: str, measure: str) -> Score:
        """Return one measure of one model."""
        for score in self.scores:
            if (score.model, score.measure) == (model, measure):
                return score
        raise ArgumentError.not_one_of("score", f"{model} {measure}", [f"{some.model} {some.measure}" for some in self.scores])

    def best(self) -> Score | None:
        """Return the first measure (accuracy, r2 or adjusted_rand) of the model that scores highest on the release."""
        first = [score for score in self.scores if score.measure == self.scores[0].measure and score.release.mean is not None]
        return max(first, key=lambda score: score.release.mean or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "kind": self.task.kind,
            "target": self.task.target,
            "given": list(self.read or self.task.given),
            "read": None if self.read is None else dict(self.read),
            "scores": [score.to_dict() for score in self.scores],
            "original_records": self.people,
            "release_records": self.rows,
            "unusable": self.unusable,
            "reason": self.reason,
        }
