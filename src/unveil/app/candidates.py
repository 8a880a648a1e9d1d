"""Several protections of one table, tried in a job: each release with its figures, beside the original."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.errors import ArgumentError, CancelledError, UnveilError
from unveil.project import Policy, Project, Step
from unveil.run import active_run
from unveil.sources import ReadOptions, open_source
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.assess import Comparison
    from unveil.releases import Release

__all__ = ["WAYS", "Tried", "TriedRelease", "Way", "models_of", "steps_of", "try_ways"]

_ROWS = 6
_OF_MODELS = {"distinct_l_diversity": ("l", "distinct:{}:{}"), "entropy_l_diversity": ("l", "entropy:{}:{}")}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to protect, in plain words.

    Attributes
    ----------
    word
        Its name in forms.
    mechanism
        The step that applies it.
    title, story
        Its name on a page, and its effect.
    only
        The columns that it applies to: all of the "key", or the "numbers" among them.
    """

    word: str
    mechanism: str
    title: str
    story: str
    only: str = "key"


WAYS = (
    Way(
        "generalise",
        "generalize",
        "Generalisation",
        "Every column becomes as coarse as needed, the same for all: 37 becomes 35 to 39.",
    ),
    Way("mondrian", "mondrian", "Mondrian", "Groups are split as long as they stay large enough; each has its own ranges."),
    Way("local", "recode_locally", "Local recoding", "Only the records that stand out become coarser."),
    Way("suppress", "suppress_locally", "Suppression", "Single values are blanked; all others stay unchanged."),
    Way(
        "average", "microaggregate", "Microaggregation", "The numbers of similar people are replaced by their average.", "numbers"
    ),
    Way(
        "synthetic",
        "synthesize",
        "Synthetic data",
        "New records that keep the relations between columns; none is about a real person.",
    ),
)
"""The protections that can be tried, in the order of the page."""


@dataclass(frozen=True, slots=True)
class TriedRelease:
    """One protection that was tried.

    Attributes
    ----------
    way
        The way of protection.
    steps
        The steps that reproduce it.
    file, link
        The paths of the release and of the private correspondence; empty if there is none.
    lost
        Columns of the key that carry no information any more: they are missing, or have a single value.
    before, after
        The same records before and after; empty if no records correspond.
    suppressed
        The number of records, or cells, that were suppressed, if known.
    problem
        The reason why there is no release.
    """

    way: str
    title: str
    steps: tuple[Step, ...] = ()
    file: str = ""
    link: str = ""
    lost: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """The protections that were tried on a project, and their comparison."""

    candidates: tuple[TriedRelease, ...]
    comparison: Comparison | None
    project: Project
    settings: Mapping[str, Any] = field(default_factory=dict)

    def is_of(self, project: Project) -> bool:
        """Whether the columns still have the same roles and meanings, and the data is still read in the same way."""
        return (self.project.attributes, self.project.data) == (project.attributes, project.data)

    def candidate(self, way: str) -> TriedRelease | None:
        """Return the release of one protection, if there is one."""
        return next((one for one in self.candidates if one.way == way and not one.problem), None)


def models_of(policy: Policy, sensitive: Sequence[str], k: int) -> dict[str, Any]:
    """Return the requirements of a search that follow from a policy's rules, as a project file writes them."""
    models: dict[str, Any] = {"k": k}
    for rule in policy.in_force():
        if rule.threshold is None:
            continue
        named = [rule.settings["attribute"]] if rule.form.parameters.get("attribute", 0) is None and rule.parameters else []
        of = [name for name in named if name] or list(sensitive)
        if rule.name in _OF_MODELS:
            word, form = _OF_MODELS[rule.name]
            models.setdefault(word, []).extend(form.format(f"{rule.threshold:g}", name) for name in of)
        elif rule.name == "t_closeness":
            models.setdefault("t", []).extend(f"{rule.threshold:g}:{rule.settings['distance']}:{name}" for name in of)
    return models


def steps_of(way: Way, study: Study, models: Mapping[str, Any], suppression: float) -> tuple[Step, ...]:
    """Return the steps that protect a table in this way, with their settings."""
    from unveil.protect import step_function

    takes = inspect.signature(step_function(way.mechanism)).parameters
    if way.word == "synthetic":
        return (Step(way.mechanism, _released(study), {"nulls": "drop"}),)
    options: dict[str, Any] = dict(models) if "models" in takes else {}
    if "k" in takes:
        options["k"] = models["k"]
    if "suppression" in takes and suppression:
        options["suppression"] = suppression
    if "hierarchies" in takes:
        known = {name: study.hierarchy(name) for name in study.key}
        options |= (
            {"hierarchies": {name: hierarchy for name, hierarchy in known.items() if hierarchy is not None}}
            if any(known.values())
            else {}
        )
    return (Step(way.mechanism, _numbers(study) if way.only == "numbers" else list(study.key), options),)


def _released(study: Study) -> list[str]:
    """Return the columns that may be released: those with a role that does not name people."""
    gone = {*study.roles.identifiers, study.roles.person, study.roles.household} - {*study.roles.keep}
    return [name for name in study.names if name not in gone]


def _numbers(study: Study) -> list[str]:
    """Return the columns of the key that hold numbers."""
    coded = {name: study.table([name]).columns[0] for name in study.key}
    numbers = [name for name, one in coded.items() if all(isinstance(value, int | float | None) for value in one.values)]
    if not numbers:
        raise ArgumentError("none of the columns that others may know holds numbers, so there is nothing to average.")
    return numbers


# The job --------------------------------------------------------------------------------------------------------------


def try_ways(
    data: str, options: ReadOptions, project: Project, ways: Sequence[str], settings: Mapping[str, Any], folder: Path
) -> Tried:
    """Try some protections of the data of a project and compare the releases, in a job.

    Parameters
    ----------
    data, options, project
        The arguments for opening the study.
    ways
        The ways to try, by their words.
    settings
        The `k`, and the share of records that may be suppressed.
    folder
        The folder for the releases; a private one.
    """
    study = Study(open_source(data, options), project=project, partial=True)
    models = models_of(project.policy, study.sensitive, int(settings["k"]))
    chosen = [way for way in WAYS if way.word in ways]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    tried = tuple(_tried(way, study, models, settings, folder) for way in active_run().each("protections", chosen))
    good = {one.title: one for one in tried if not one.problem}
    return Tried(tried, _compared(study, good) if good else None, project, dict(settings))


def _tried(way: Way, study: Study, models: Mapping[str, Any], settings: Mapping[str, Any], folder: Path) -> TriedRelease:
    """Try one protection; if it fails, the problem is reported and the others are still tried."""
    from unveil.protect import run_steps
    from unveil.releases import Release

    try:
        steps = steps_of(way, study, models, float(settings["suppression"]))
        release = run_steps(study, steps)
        if not isinstance(release, Release):
            raise ArgumentError(f"{way.title.lower()} produces no records here.")
        file, link = folder / f"{way.word}.csv", folder / f"{way.word}-link.csv"
        release.write(file)
        linked = bool(len(release.origin)) and bool((release.origin >= 0).all())
        if linked:
            release.write_link(link)
        return _shown(way, study, steps, release, (str(file), str(link) if linked else ""))
    except CancelledError:
        raise
    except UnveilError as problem:
        return TriedRelease(way.word, way.title, problem=str(problem))


def _shown(way: Way, study: Study, steps: tuple[Step, ...], release: Release[Any], places: tuple[str, str]) -> TriedRelease:
    """Return a candidate with some of its records beside the original ones."""
    protected = Study(places[0])
    frame = protected.collected(protected.names)
    names = tuple(name for name in study.names if name in frame.columns or name in study.key)
    lost = tuple(
        name for name in study.key if name not in frame.columns or (frame[name].n_unique() <= 1 < len(study.counts([name])))
    )
    rows = range(min(_ROWS, frame.height))
    after = tuple(tuple(_text(frame[name][at]) if name in frame.columns else "" for name in names) for at in rows)
    before: tuple[tuple[str, ...], ...] = ()
    if places[1]:
        original = study.collected(names)
        before = tuple(tuple(_text(original[name][int(release.origin[at])]) for name in names) for at in rows)
    return TriedRelease(way.word, way.title, steps, *places, lost=lost, columns=names, before=before, after=after)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _compared(study: Study, good: Mapping[str, TriedRelease]) -> Comparison:
    """Compare the candidates with the original, and with one another."""
    from unveil.assess import compare

    return compare(
        {"original": study, **{title: one.file for title, one in good.items()}},
        list(study.key),
        list(study.sensitive) or None,
        needs=list(study.project.needs.values()) if study.project is not None else [],
        privacy=("prosecutor", "k"),
        policy=study.project.policy if study.project is not None and study.project.policy.in_force() else None,
        losses=("entropy_loss", "suppressed"),
        link={title: one.link for title, one in good.items() if one.link},
    )
