"""Which mechanism, with which parameter, keeps data useful and discloses least? Protections, composed and judged by rates.

Every candidate protects the table once, and that very release is judged: how far its key attributes reveal the original ones,
how far they disclose the sensitive ones, and how far it serves the needs. All figures are Discrimination Rates, adjusted for
chance, and numbers are read by blocks that are the same for all, so that noise, groups and generalisations are comparable. The
protections that no other dominates form the front.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_share, checked_time_limit
from unveil.assess.candidates import ProtectionCandidate, chains_of
from unveil.assess.composed_figures import ComposedFigures, CompositionMeasure
from unveil.assess.composed_subject import Subject
from unveil.attributes import Names, names_of, sides_of
from unveil.errors import ArgumentError, CancelledError, ModelNotMetError, UnveilError
from unveil.formats import counted, jsonable, number
from unveil.project import Need, Step
from unveil.randomness import chance_of
from unveil.results import Figure, Result, Table, View
from unveil.run import Clock, Progress, active_run, in_run
from unveil.sources import Data
from unveil.study import planned_key, planned_needs, planned_sensitive
from unveil.time_limit import OutOfTime, check_time, limited, time_left

if TYPE_CHECKING:
    import os


__all__ = ["Composed", "Composition", "compose"]

_SHOWN_ROWS = 20
_MOST_SEEDS = 6
"""The largest number of undominated single protections from which chains are formed."""
_ON_DATA = (
    "Each release was made and judged from the data itself. If a guarantee of differential privacy is meant to cover the "
    "choice too, choose the parameter without looking at the data."
)


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """One protection that was tried.

    Attributes
    ----------
    candidate
        The steps of the protection.
    figures
        Its risks and its degrees of service; None if it could not be made.
    undominated
        Whether no other protection is as good in every figure and better in one.
    seconds
        The time that making and judging it took.
    reason
        The reason why it could not be made.
    release
        The judged release, kept only if it is undominated.
    """

    candidate: ProtectionCandidate
    figures: ComposedFigures | None
    undominated: bool
    seconds: float
    reason: str | None = None
    release: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return the protection and its figures, without the records."""
        figures = {} if self.figures is None else self.figures.to_dict()
        return {
            "name": self.candidate.name,
            "steps": jsonable(self.candidate.to_dict()),
            **figures,
            "undominated": self.undominated,
            "seconds": self.seconds,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Composition(Result):
    """Protections that were tried, in order of increasing risk.

    Attributes
    ----------
    tried
        The protections with their figures; those that could not be made are last.
    original
        The figures of the unprotected table.
    choice
        The position of the preferred protection in `tried`.
    complete
        Whether all candidates were tried; False: the time ran out.
    blocks
        The blocks by which numbers were read, by column.
    settings, notes
        The request, and remarks for the user.
    """

    tried: tuple[Composed, ...]
    original: ComposedFigures
    choice: int
    complete: bool
    blocks: Mapping[str, int]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def front(self) -> tuple[Composed, ...]:
        """The protections that no other dominates."""
        return tuple(one for one in self.tried if one.undominated)

    @property
    def chosen(self) -> Any:
        """The judged release of the preferred protection."""
        return self.tried[self.choice].release

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the preferred protection, in the form for a project."""
        return self.tried[self.choice].candidate.steps

    def __repr__(self) -> str:
        """Return one line: the number of protections, the number on the front, and the preferred one."""
        chosen = self.tried[self.choice]
        figures = (
            "" if chosen.figures is None else f"; risk {number(chosen.figures.risk)}, degree {number(chosen.figures.service)}"
        )
        size = f"{len(self.front)} of {counted(len(self.tried), 'protection')} undominated" + (
            "" if self.complete else ", not complete"
        )
        return f"Composition({size}; chosen: {chosen.candidate.name}{figures})"

    def to_dict(self) -> dict[str, Any]:
        """Return every protection that was tried, without records."""
        return {
            "tried": [one.to_dict() for one in self.tried],
            "original": self.original.to_dict(),
            "chosen": self.choice,
            "complete": self.complete,
            "blocks": dict(self.blocks),
            "settings": jsonable(self.settings),
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per protection."""
        tried = self.tried
        figures = [one.figures for one in tried]
        return {
            "protection": [one.candidate.name for one in tried],
            "chosen": [at == self.choice for at in range(len(tried))],
            "undominated": [one.undominated for one in tried],
            "identity": [None if one is None else one.identity for one in figures],
            **{
                f"homogeneity of {name}": [None if one is None else one.homogeneity[name] for one in figures]
                for name in self.original.homogeneity
            },
            **{
                f"degree of {name}": [None if one is None else one.degrees[name] for one in figures]
                for name in self.original.degrees
            },
            "seconds": [one.seconds for one in tried],
            "reason": [one.reason for one in tried],
        }

    def view(self) -> View:
        """Return the displayed view: the front first, then the dominated protections."""
        chosen = self.tried[self.choice]
        risk, service = (None, None) if chosen.figures is None else (chosen.figures.risk, chosen.figures.service)
        figures = (
            Figure("protections tried", len(self.tried), "all candidates" if self.complete else "before the time ran out"),
            Figure("undominated", len(self.front), "no other is as good in every figure and better in one"),
            Figure("chosen", chosen.candidate.name),
            Figure("risk of the chosen", risk, f"{number(self.original.risk)} in the original"),
            Figure("degree of the chosen", service, f"{number(self.original.service)} in the original"),
        )
        failed = tuple(f"{one.candidate.name}: {one.reason}" for one in self.tried if one.reason)
        return View("Mechanisms and their parameters", figures, (self._table(),), (*self.notes, *failed))

    def _table(self) -> Table:
        hidden = ("reason", "seconds", "chosen", "undominated")
        columns = {name: values for name, values in self.columns().items() if name not in hidden}
        marks = [
            "chosen" if at == self.choice else "undominated" if one.undominated else None for at, one in enumerate(self.tried)
        ]
        judged = [at for at, one in enumerate(self.tried) if one.figures is not None]
        order = sorted(judged, key=lambda at: marks[at] is None)[:_SHOWN_ROWS]
        rows = tuple((*(values[at] for values in columns.values()), marks[at]) for at in order)
        note = f"{len(judged) - len(order)} more; the whole answer has all" if len(judged) > len(order) else ""
        return Table((*columns, "mark"), rows, title="Protections, least risk first", note=note)


@checked_arguments
@in_run
def compose(  # noqa: PLR0913 - the one call that weighs mechanisms against each other
    data: Data,
    key: Names | None = None,
    needs: Need | Sequence[Need] = (),
    *,
    sensitive: Names | None = None,
    candidates: Sequence[Step | Sequence[Step]] | None = None,
    chains: bool = True,
    partitions: Mapping[str, Any] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    prefer: Literal["utility", "privacy"] = "privacy",
    max_identity: float | None = None,
    max_homogeneity: float | None = None,
    time_limit: float = 60.0,
    identifiers: Names = (),
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Composition:
    """Try mechanisms with various parameters, and chains of two, and mark those that no other dominates.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, a data frame, a study or a project file. Never changed. The statements of
        a study on nulls, values, persons and columns apply to every protection.
    key, sensitive
        The key attributes, which are protected, and the sensitive attributes, which an intruder should not learn; none: those
        of the study or project.
    needs
        The needs that the release is to serve. Empty: the needs of the study's project.
    candidates
        Protections to try instead of the usual ones: single steps, or sequences of steps.
    chains
        Whether to try chains of two of the undominated single protections.
    partitions
        Partitions by which numbers are read in every release, by column; none: those of a study, else ten blocks of equally
        many original records.
    bounds
        Bounds of numbers that do not come from the data, by column: differential privacy is tried on these columns.
    prefer
        Which undominated protection to choose: "privacy", the one with the least risk; "utility", the one with the highest
        degrees.
    max_identity, max_homogeneity
        The highest risks allowed; together with the degrees that needs require, they determine which protections are
        acceptable.
    time_limit
        The seconds after which no further candidate is tried, and the current one is abandoned unless it is the first.
    identifiers
        Columns that name people; they are left out.
    keep_order, seed, key_file
        As in `unveil.protect`.
    progress
        A run, or a function called with the name of a stage ("protections"), the number tried and the number in question.

    Returns
    -------
    Composition
        Every protection with its figures, the undominated ones marked, and the preferred release.

    Raises
    ------
    ModelNotMetError
        If no protection meets the limits of risk and the required degrees.
    ArgumentError
        If none of the named candidates can be made.

    Examples
    --------
    >>> import unveil
    >>> people = unveil.datasets.adult().select("age", "sex", "income-per-year").head(1000)
    >>> need = unveil.Need("income", target="income-per-year", given="age")
    >>> composition = unveil.compose(people, "age", need, sensitive="sex", chains=False, seed=1)
    >>> composition
    Composition(... of 16 protections undominated; chosen: ...)
    """
    chance_of(seed, key_file)  # an invalid seed or key file is refused, instead of counting as a candidate that cannot be made
    _check_limits(time_limit, max_identity, max_homogeneity)
    named_key, hidden = planned_key(data) if key is None else key, planned_sensitive(data) if sensitive is None else sensitive
    if sensitive is None and not hidden:
        raise ArgumentError.no_sensitive()
    keys, sensitive_names = sides_of(named_key, hidden)
    wanted = _needs(needs or planned_needs(data))
    named = [*keys, *sensitive_names, *(name for need in wanted for name in (need.target, *need.given))]
    subject = Subject.of(data, named, names_of(identifiers), partitions)
    judge = CompositionMeasure.of(subject.records, keys, sensitive_names, wanted, subject.partitions)
    with limited(time_limit) as clock:
        singles = _requested(candidates) if candidates is not None else judge.candidates(bounds or {})
        trial = _Trial(subject, judge, {"keep_order": keep_order, "seed": seed, "key_file": key_file}, clock)
        tried = _marked(trial.composed(singles, chains=chains))
    settings = {
        "key": list(keys),
        "sensitive": list(sensitive_names),
        "needs": [repr(need) for need in wanted],
        "prefer": prefer,
        "max_identity": max_identity,
        "max_homogeneity": max_homogeneity,
        "time_limit": time_limit,
    }
    choice = _choice(tried, wanted, prefer, max_identity, max_homogeneity, named=candidates is not None)
    return Composition(tried, judge.original(), choice, trial.complete, judge.block_counts, settings, (_ON_DATA,))


def _check_limits(time_limit: float, max_identity: float | None, max_homogeneity: float | None) -> None:
    checked_time_limit(time_limit)
    for name, most in (("max_identity", max_identity), ("max_homogeneity", max_homogeneity)):
        if most is not None:
            checked_share(name, most)


def _needs(needs: Need | Sequence[Need]) -> list[Need]:
    needs = [needs] if isinstance(needs, Need) else [*needs]
    if not needs:
        raise ArgumentError("no need is named; name what the release is to be good for, such as Need('study', 'income', 'age').")
    return needs


def _requested(candidates: Sequence[Step | Sequence[Step]]) -> list[ProtectionCandidate]:
    protections = [ProtectionCandidate((one,) if isinstance(one, Step) else tuple(one)) for one in candidates]
    if not protections:
        raise ArgumentError("no candidate is named; name steps to try, or leave candidates out for the usual ones.")
    return protections


class _Trial:
    """A trial of candidates, which makes and judges them until the time runs out."""

    def __init__(self, subject: Subject, judge: CompositionMeasure, options: Mapping[str, Any], clock: Clock) -> None:
        self._subject, self._judge, self._options = subject, judge, dict(options)
        self._clock, self._run = clock, active_run()
        self.complete = True

    def composed(self, singles: Sequence[ProtectionCandidate], *, chains: bool) -> list[Composed]:
        """Try single protections and, if requested, chains of two of those that no other dominates."""
        composed = self._all(singles, more=chains)
        return [*composed, *self._all(chains_of(_seeds(composed)), before=len(composed))] if chains else composed

    def _all(self, candidates: Sequence[ProtectionCandidate], *, before: int = 0, more: bool = False) -> list[Composed]:
        """Try candidates in turn; `before` is the number already tried, and `more` states that others will follow."""
        composed: list[Composed] = []
        ahead = len(candidates) // 2 if more else 0
        for done, candidate in enumerate(candidates):
            self._run.at("protections", before + done, before + len(candidates) + ahead)
            first = not (composed or before)
            try:
                if not first:
                    check_time()
                with limited(None, stop=not first):
                    composed.append(self._one(candidate))
            except OutOfTime:
                self.complete = False
                break
        if self._clock.expired and time_left() <= 0:  # the first, which is not abandoned, may have been cut short
            self.complete = False
        tried = before + len(composed)
        self._run.at("protections", tried, max(tried, before + len(candidates) + ahead) if more and self.complete else tried)
        return composed

    def _one(self, candidate: ProtectionCandidate) -> Composed:
        import unveil

        began = time.perf_counter()
        try:
            release = unveil.protect(self._subject.data, candidate.steps, **self._options)
            figures = self._judge.figures(release)
        except CancelledError:
            raise
        except UnveilError as problem:
            return Composed(candidate, None, undominated=False, seconds=time.perf_counter() - began, reason=str(problem))
        return Composed(
            candidate, figures, undominated=False, seconds=time.perf_counter() - began, release=self._subject.released(release)
        )


def _seeds(made: Sequence[Composed]) -> list[ProtectionCandidate]:
    """Return the single protections from which chains are formed: undominated ones, spread from least to highest risk."""
    front = [one.candidate for one in _marked(made) if one.undominated]
    if not front:
        return []
    places = np.unique(np.linspace(0, len(front) - 1, min(_MOST_SEEDS, len(front))).round().astype(int))
    return [front[at] for at in places.tolist()]


def _marked(made: Sequence[Composed]) -> tuple[Composed, ...]:
    """Mark the undominated protections, drop the records of the others, and sort by risk, the least first.

    Of protections with equal figures, only the one with the fewest steps counts as undominated, and of these the one tried
    first.
    """
    judged = [one for one in made if one.figures is not None]
    vectors = np.array([one.figures.vector for one in judged if one.figures is not None])
    steps = [len(one.candidate.steps) for one in judged]
    marked = []
    for at, one in enumerate(judged):
        no_worse = (vectors >= vectors[at]).all(axis=1)
        alike = no_worse & (vectors == vectors[at]).all(axis=1)
        simpler = [other for other in np.flatnonzero(alike) if (steps[other], other) < (steps[at], at)]
        alone = not bool((no_worse & ~alike).any()) and not simpler
        marked.append(replace(one, undominated=alone, release=one.release if alone else None))
    marked.sort(key=lambda one: (one.figures.risk, -one.figures.service) if one.figures else (2.0, 0.0))
    return (*marked, *(one for one in made if one.figures is None))


def _choice(
    tried: Sequence[Composed],
    needs: Sequence[Need],
    prefer: str,
    max_identity: float | None,
    max_homogeneity: float | None,
    *,
    named: bool,
) -> int:
    """Return the position of the preferred acceptable protection; if there is none, the error states how close one gets."""
    front = [(at, one.figures) for at, one in enumerate(tried) if one.undominated and one.figures is not None]
    if not front:
        reasons = "; ".join(dict.fromkeys(one.reason for one in tried if one.reason))
        if named:
            raise ArgumentError(f"no candidate could be made: {reasons}")
        raise ModelNotMetError(f"no protection could be made: {reasons}")
    misses = {at: figures.misses(needs, max_identity, max_homogeneity) for at, figures in front}
    fitting = [(at, figures) for at, figures in front if not misses[at]]
    if not fitting:
        nearest = min(misses.values(), key=lambda gaps: sum(gaps.values()))
        short = ", ".join(f"{name} by {number(gap)}" for name, gap in nearest.items())
        raise ModelNotMetError(f"no protection tried keeps to the risks and serves the needs; the nearest misses {short}.")
    if prefer == "utility":
        return max(fitting, key=lambda pair: (pair[1].service, -pair[1].risk))[0]
    return min(fitting, key=lambda pair: (pair[1].risk, -pair[1].service))[0]
