"""The screen of protections: several are tried and compared, with records before and after; levels can be explored."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unveil.app.candidates import WAYS, Tried, TriedRelease, try_ways
from unveil.app.jobs import Job
from unveil.app.masks import masked
from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.solution_space import (
    MOST_NODES,
    SolutionSpace,
    generalised,
    hierarchy_for,
    nodes_of,
    solution_space,
    who_is_suppressed,
)
from unveil.app.state import Desk, reading
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError, UnveilError
from unveil.project import Step
from unveil.results import Chart

__all__ = ["SCREEN", "chosen", "tried"]

_JOB, _SPACE = "protect", "solution space"
_FIRST = ("generalise", "mondrian", "local")
_NONE_CHOSEN: dict[str, Any] = {"chosen": "", "judged": None, "waivers": (), "seen": ()}
"""The parts that are forgotten when another release is chosen: its judgement, its exceptions, the columns that were checked."""
_MOST_EXPLORED = 300_000
"""The largest number of records for which the levels of a generalisation are explored on the page itself."""


@dataclass(frozen=True, slots=True)
class _Slider:
    """The levels of one column."""

    code: str
    name: str
    most: int
    level: int
    example: str


def tried(desk: Desk) -> Tried | None:
    """Return the last protections tried, if the columns have not changed since."""
    job = desk.memory.get(_JOB)
    answer: Tried | None = None if job is None else job.answer
    return answer if answer is not None and answer.is_of(desk.project) else None


def chosen(desk: Desk) -> TriedRelease | None:
    """Return the candidate that was chosen."""
    trial, way = tried(desk), desk.memory.get("chosen", "")
    return None if trial is None else trial.candidate(way)


def _lacking(desk: Desk) -> str:
    """Return a sentence on what must be done before anything can be protected; empty if nothing must."""
    if lacking := settled(desk):
        return lacking
    return "" if desk.project.names("key") else "Mark at least one column as known to others."


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    job: Job | None = desk.memory.get(_JOB)
    trial = tried(desk)
    k, suppression = _defaults(desk)
    values: dict[str, Any] = {
        "ways": WAYS,
        "ticked": desk.memory.get("ways", _FIRST),
        "k": k,
        "suppression": suppression,
        "job": job,
        "tried": trial,
        "outdated": trial is None and job is not None and job.answer is not None,
        "comparison": None if trial is None or trial.comparison is None else trial.comparison.view(),
        "charts": _charts(trial),
        "chosen": chosen(desk),
        "masked": masked if visit.query.get("masked") else None,
        **_explored(visit, desk, k),
    }
    return Page("protect.html", values, _same(desk, k, suppression))


def _charts(trial: Tried | None) -> list[Chart]:
    """Return charts of the risk, and of the smallest group, against the utility of the releases."""
    if trial is None or trial.comparison is None:
        return []
    return [trial.comparison.trade_off.picture(figure) for figure in ("prosecutor", "k")]


def _defaults(desk: Desk) -> tuple[int, float]:
    """Return k and the share of records that may be suppressed, as last set; at first the k of the policy, or 5."""
    known = desk.memory.get("settings", {})
    rules = [int(rule.threshold) for rule in desk.project.policy.in_force() if rule.name == "k_anonymity" and rule.threshold]
    return int(known.get("k", max(rules, default=5))), float(known.get("suppression", 0.05))


# The solution space ---------------------------------------------------------------------------------------------------


def _explored(visit: Visit, desk: Desk, k: int) -> dict[str, Any]:
    """Return the levels of every column, and the loss and suppressed records of the generalisation to them."""
    keys = list(desk.study.key)
    if desk.opened.whole.records > _MOST_EXPLORED:
        return {"sliders": [], "node_problem": "There are too many records to explore here; use `unveil front`."}
    hierarchies = _hierarchies(desk, keys)
    sliders = [_slider(visit, desk, name, hierarchies[name]) for name in keys]
    context: dict[str, Any] = {"sliders": sliders, "node": None, "node_problem": "", "gone": None, **_space(desk, hierarchies, k)}
    if not visit.query.get("explore"):
        return context
    try:
        node = generalised(desk.study, hierarchies, {one.name: one.level for one in sliders}, k)
    except UnveilError as problem:
        return context | {"node_problem": str(problem)}
    return context | {"node": node, "gone": who_is_suppressed(desk.study, node) if node.suppressed else None}


def _space(desk: Desk, hierarchies: dict[str, Any], k: int) -> dict[str, Any]:
    """Return the job that evaluates every generalisation, and the best ones."""
    job: Job | None = desk.memory.get(_SPACE)
    space: SolutionSpace | None = None if job is None else job.answer
    if space is not None and (space.project.attributes, space.k) != (desk.project.attributes, k):
        job = space = None
    best = [] if space is None else [(node, _address(desk, space, node.levels)) for node in space.best]
    return {"space": space, "space_job": job, "best": best, "nodes": nodes_of(hierarchies), "most_nodes": MOST_NODES}


def _address(desk: Desk, space: SolutionSpace, levels: Sequence[int]) -> str:
    """Return the address at which a generalisation is shown."""
    return "&".join(
        ["/protect?explore=1", *(f"level-{desk.code(name)}={at}" for name, at in zip(space.columns, levels, strict=True))]
    )


def _hierarchies(desk: Desk, keys: Sequence[str]) -> dict[str, Any]:
    """Return the hierarchy of every column of the key, the project's or a proposed one; each is built once."""
    known: dict[str, Any] = desk.memory.setdefault("hierarchies", {})
    marks = {name: repr((name, desk.project.attributes.get(name))) for name in keys}
    for name, mark in marks.items():
        if mark not in known:
            known[mark] = hierarchy_for(desk.study, desk.opened.whole, name)
    return {name: known[mark] for name, mark in marks.items()}


def _slider(visit: Visit, desk: Desk, name: str, hierarchy: Any) -> _Slider:
    code, most = desk.code(name), hierarchy.height
    text = visit.query.get(f"level-{code}", "")
    level = min(int(text), most) if text.isascii() and text.isdigit() else 0
    values = [value for value in desk.opened.whole.counts([name]).columns[0].values if value is not None]
    example = "" if not values else str(hierarchy.levels_for([values[len(values) // 2]]).labels[level][0])
    return _Slider(code, name, most, level, example)


# What the forms do ----------------------------------------------------------------------------------------------------


def _try(visit: Visit) -> Answer:
    """Try the ticked protections, in a job."""
    desk = visit.desk
    ways = [way.word for way in WAYS if way.word in visit.lists("way")]
    if not ways:
        raise ArgumentError("tick at least one way to protect.")
    settings = {"k": _whole(visit.form.get("k", "")), "suppression": _share(visit.form.get("suppression", ""))}
    desk.memory |= {"ways": ways, "settings": settings, **_NONE_CHOSEN}
    folder = (desk.private or Path(tempfile.gettempdir())) / f"candidates-{id(desk.opened.whole):x}"
    desk.memory[_JOB] = desk.jobs.start(
        _JOB, "Trying protections", try_ways, desk.opened.data, reading(desk.project), desk.project, ways, settings, folder
    )
    return Go("/protect", "")


def _map(visit: Visit) -> Answer:
    """Evaluate every generalisation, in a job."""
    desk = visit.desk
    if nodes_of(_hierarchies(desk, list(desk.study.key))) > MOST_NODES:
        raise ArgumentError(f"there are more than {MOST_NODES:,} generalisations; `unveil front` searches among them.")
    k, _ = _defaults(desk)
    title = "Evaluating every generalisation"
    desk.memory[_SPACE] = desk.jobs.start(_SPACE, title, solution_space, desk.opened.data, reading(desk.project), desk.project, k)
    return Go("/protect#explore-title")


def _whole(text: str) -> int:
    if text.strip().isascii() and text.strip().isdigit() and int(text) >= 2:  # noqa: PLR2004 - one person is not a group
        return int(text)
    raise ArgumentError("the smallest group must be a whole number of at least 2.")


def _share(text: str) -> float:
    try:
        share = float(text.replace(",", ".")) / 100
    except ValueError:
        raise ArgumentError("the share of records that may be suppressed must be a number from 0 to 100.") from None
    if not 0 <= share <= 1:
        raise ArgumentError("the share of records that may be suppressed must be a number from 0 to 100.")
    return share


def _choose(visit: Visit) -> Answer:
    """Choose a candidate: its steps become the protection of the project."""
    desk = visit.desk
    trial = tried(desk)
    candidate = None if trial is None else trial.candidate(visit.form.get("way", ""))
    if candidate is None:
        raise ArgumentError("this release no longer exists; try the protections again.")
    desk.memory |= {**_NONE_CHOSEN, "chosen": candidate.way}
    steps = {step.mechanism: _as_written(step) for step in candidate.steps}
    desk.change(replace(desk.project, protect=steps), f"chose a protection: {candidate.title}")
    return Go("/verdict", f"{candidate.title} is chosen. It is now being attacked and judged.")


def _as_written(step: Step) -> Step:
    """Return a step as a project file contains it, without hierarchies, which are the project's own."""
    return Step(step.mechanism, step.attributes, {name: value for name, value in step.options.items() if name != "hierarchies"})


def _same(desk: Desk, k: int, suppression: float) -> Same:
    options = f"--k {k} --suppression {suppression:g} --out release.csv --link private-link.csv".split()
    return Same(
        f"{command('anonymize', desk, *options)}\n{command('front', desk, '--k', str(k))}",
        f"import unveil\n\n{python_study(desk)}\nmodels = [unveil.models.KAnonymity({k})]\n"
        f'unveil.anonymize(study, study.key, models, suppression={suppression:g}, out="release.csv")',
    )


SCREEN = Screen(
    name="protect",
    title="Protect",
    question="How is it made safe?",
    page=_page,
    actions={"try": _try, "choose": _choose, "map": _map},
    missing=_lacking,
)
