"""How useful is a model trained on the release? It is tested on original records, beside one trained on the original."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count
from unveil.errors import ArgumentError, UndefinedMeasureError, UnveilError, shown
from unveil.formats import counted, number
from unveil.results import Figure, Provenance, Result, Table, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Alignment, Data, Source, align
from unveil.study import apart_from, open_both, require_nulls_as_values
from unveil.utility.encoding import MOST_SQUARED, check_draw, encoded, in_common, need_sklearn
from unveil.utility.task import CONFIDENCE, FoldEstimate, Score, Solved, Task
from unveil.utility.trials import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FoldEstimate", "Score", "Solved", "Task", "Tasks", "tasks"]

_MOST_CLASSES = 100


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tasks(Result):
    """The degree to which a release supports each of several tasks.

    Attributes
    ----------
    tasks
        The result of each task, by name.
    folds, sample
        The number of folds, and the largest number of original records.
    alignment
        How records were aligned; None if they were not: models then learnt from the whole release.
    made
        The provenance of the result.
    """

    tasks: Mapping[str, Solved]
    folds: int
    sample: int | None
    alignment: Alignment | None
    made: Provenance

    @property
    def failed(self) -> list[str]:
        """The reasons why tasks could not be tried, one line each."""
        return [f"task {shown(name)}: {solved.reason}" for name, solved in self.tasks.items() if solved.reason is not None]

    def __getitem__(self, name: str) -> Solved:
        """Return the result of a task."""
        return self.tasks[name]

    def __repr__(self) -> str:
        """Return one line: the best model of each task."""
        parts = []
        for name, solved in self.tasks.items():
            best = solved.best()
            if best is None or best.original.mean is None or best.release.mean is None:
                parts.append(f"{name} -")
            else:
                parts.append(f"{name} {best.measure} {number(best.original.mean)} -> {number(best.release.mean)}")
        return f"Tasks({', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "tasks": {name: solved.to_dict() for name, solved in self.tasks.items()},
            "folds": self.folds,
            "sample": self.sample,
            "confidence": CONFIDENCE,
            "alignment": None if self.alignment is None else self.alignment.to_dict(),
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per task, model and measure."""
        rows = [(name, score) for name, solved in self.tasks.items() for score in solved.scores]
        columns: dict[str, Sequence[Any]] = {
            "task": [name for name, _ in rows],
            "model": [score.model for _, score in rows],
            "measure": [score.measure for _, score in rows],
            "higher_is_better": [score.higher_is_better for _, score in rows],
        }
        for side in ("original", "release", "difference"):
            estimates: list[FoldEstimate] = [getattr(score, side) for _, score in rows]
            columns[side] = [estimate.mean for estimate in estimates]
            columns[f"{side}_low"] = [estimate.low for estimate in estimates]
            columns[f"{side}_high"] = [estimate.high for estimate in estimates]
        return columns

    def view(self) -> View:
        """Return the displayed scores, with a table for each task."""
        columns = ("model", "measure", "original", "release", "difference", "from", "to")
        tables = []
        for name, solved in self.tasks.items():
            rows = tuple(
                (s.model, s.measure, s.original.mean, s.release.mean, s.difference.mean, s.difference.low, s.difference.high)
                for s in solved.scores
            )
            about = f"{name}: {solved.task.kind}" + (f" of {solved.task.target}" if solved.task.target else "")
            tables.append(Table(columns, rows, title=about, note=f"learnt from {counted(solved.rows, 'release record')}"))
        figures = (Figure("folds", self.folds), Figure("seed", self.made.seed))
        title = "What can be learnt from the release"
        return View(title, figures, tuple(table for table in tables if table.rows), tuple(self._notes()))

    def _notes(self) -> list[str]:
        notes = [*self.failed, "Tried on original records that were not learnt from. Difference: release minus original."]
        if self.alignment is None:
            notes.append(
                "No correspondence of records is named: models learnt from the whole release, including protected forms of those "
                "tried. That flatters a release of the same people."
            )
        notes += [
            f"task {shown(name)}: {counted(solved.unusable, 'release record')} without a usable target, so of no use."
            for name, solved in self.tasks.items()
            if solved.unusable
        ]
        return notes


@checked_arguments
@in_run
def tasks(
    original: Data,
    release: Data,
    tasks: Task | Sequence[Task],
    *,
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Data | None = None,
    same_order: bool = False,
    folds: int = 5,
    sample: int | None = 20_000,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Tasks:
    """Measure the loss of tasks whose models learn from the release instead of the original.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, or data frames. Never changed.
    tasks
        One task or several. A task that cannot be tried gets a reason; the others are still answered.
    id, link, same_order
        The correspondence of the records: a column of both, a correspondence file, or the row order. Without one of these,
        models learn from the whole release, which is only right if it contains other people (synthetic data).
    folds
        The number of folds of original records that are tested in turn.
    sample
        The largest number of original records that take part, drawn by the seed, with their released records; None: all.
    seed
        The seed of the sample, the folds and the models.
    progress
        A run, or a function called with the name of a stage ("tasks"), the number of folds tested, over all tasks, and the
        number of all folds.

    Returns
    -------
    Tasks
        For each task, model and measure: the figures of original and release and their difference, with intervals.

    Raises
    ------
    MissingExtraError
        If scikit-learn (the extra ``tasks``) is not installed.

    Notes
    -----
    Higher is better, except for `mae`. `unveil.utility.encoding` describes how generalised values are read; the models and
    measures are in `unveil.utility.learners`.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> smokes = ["no"] * 20 + ["yes"] * 20
    >>> people = pl.DataFrame({"age": range(20, 60), "smokes": smokes})
    >>> coarse = pl.DataFrame({"age": ["[20, 40)"] * 20 + ["[40, 60)"] * 20, "smokes": smokes})
    >>> unveil.tasks(people, coarse, unveil.Task("smoking", "smokes", "age"), same_order=True)
    Tasks(smoking accuracy 1.0000 -> 1.0000)
    """
    need_sklearn("learning tasks from a release")
    check_draw(seed, sample)
    checked_count("folds", folds, least=2, note=": one to test on and one to train on")
    one, other = open_both(original, release)
    wanted = [tasks] if isinstance(tasks, Task) else [*tasks]
    for side, source in ((original, one), (release, other)):
        source.require_records()
        require_nulls_as_values(side, _read_by(wanted, one, other, {id, *apart_from(original, release)}))
    alignment = align(one, other, identity=id, link=link, same_order=same_order)
    trials = _Trials(one, other, id, alignment, folds, sample, seed, apart_from(original, release))
    solved = {}
    run = active_run()
    for at, task in enumerate(wanted):
        run.at("tasks", at * folds, len(wanted) * folds)

        def tried(fold: int, before: int = at * folds) -> None:
            run.at("tasks", before + fold, len(wanted) * folds)

        try:
            solved[task.name] = trials.solved(task, tried)
        except UnveilError as problem:
            solved[task.name] = Solved(task, reason=str(problem))
            tried(folds)
    records = max((answer.people for answer in solved.values()), default=0)
    return Tasks(solved, folds, sample, alignment, Provenance(records, "category", seed=seed, version=__version__))


def _read_by(tasks: Sequence[Task], original: Source, release: Source, apart: Container[str | None]) -> list[str]:
    """Return the columns that tasks use: those named, else those in common; and their targets."""
    common = [name for name in original.names if name in release.names and name not in apart]
    return [name for task in tasks for name in (*(task.given or common), task.target) if name is not None]


@dataclass(frozen=True, slots=True)
class _Trials:
    """Two tables, the correspondence of their records, and the procedure by which tasks are tried on them."""

    original: Source
    release: Source
    identity: str | None
    alignment: Alignment | None
    folds: int
    sample: int | None
    seed: int
    apart: frozenset[str]

    def solved(self, task: Task, tried: Callable[[int], None]) -> Solved:
        """Try a task, fold by fold."""
        names = in_common(self.original, self.release, task.given, without=(task.target, self.identity, *self.apart))
        features = encoded(self.original, self.release, names).within_reach()
        target = _target(self.original, self.release, task, len(features.original), len(features.release))
        truth = np.full(len(features.release), -1) if self.alignment is None else self.alignment.truth
        trial = Trial.of(features, target, truth, folds=self.folds, sample=self.sample, seed=self.seed)
        figures = trial.scores(task.kind, tried, clusters=task.clusters, seed=self.seed)
        scores = []
        for (model, measure), pairs in figures.items():
            before, after = np.array(pairs).T
            estimates = (FoldEstimate.over(some, self.folds) for some in (before, after, after - before))
            scores.append(Score(model, measure, *estimates))
        kinds = ["number" if numeric else "category" for numeric in features.numeric]
        read = dict(zip(features.names, kinds, strict=True))
        return Solved(task, tuple(scores), read, len(trial.people), len(trial.rows), int(np.isnan(target[1]).sum()))


def _target(
    original: Source, release: Source, task: Task, people: int, rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the target in both tables; NaN where it cannot be used."""
    if task.target is None:
        return np.zeros(people), np.zeros(rows)
    column = encoded(original, release, [task.target], numbers=task.kind == "regression")
    before, after = column.original[:, 0], column.release[:, 0]
    if task.kind == "regression" and not column.numeric[0]:
        raise ArgumentError(f"a regression predicts numbers, and the original's {shown(task.target)} holds none.")
    if task.kind == "regression" and column.largest()[0] > MOST_SQUARED:
        raise ArgumentError(
            f"{shown(task.target)} holds numbers above {MOST_SQUARED:g}, too large for a regression; scale it down."
        )
    classes = np.unique(before[before >= 0.0] if task.kind == "classification" else before[~np.isnan(before)])
    if len(classes) < 2:  # noqa: PLR2004
        raise UndefinedMeasureError(
            f"{shown(task.target)} holds fewer than two values in the original: there is nothing to predict."
        )
    if task.kind == "regression":
        return before, after
    if len(classes) > _MOST_CLASSES:
        raise ArgumentError(
            f"{shown(task.target)} has {len(classes):,} classes, more than {_MOST_CLASSES}; recode it, or ask for a regression."
        )
    return tuple(np.where(np.isin(some, classes), some, np.nan) for some in (before, after))  # type: ignore[return-value]
