"""The screen of the verdict: what does an intruder gain from the chosen release, and may it be released?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unveil.app.candidates import TriedRelease
from unveil.app.jobs import Job
from unveil.app.judging import Judged, judge, stories_of
from unveil.app.same import python_study
from unveil.app.screens.protect import chosen
from unveil.app.screens.rules import in_words
from unveil.app.state import Desk, reading
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.assess import Waiver

__all__ = ["SCREEN", "blocked", "judged", "waivers"]

_JOB = "judged"
_STATUS = {True: ("well", "met"), False: ("risk", "not met"), None: ("watch", "undecided")}


def waivers(desk: Desk) -> tuple[Waiver, ...]:
    """Return the exceptions of this release."""
    return tuple(desk.memory.get("waivers", ()))


def judged(desk: Desk) -> Judged | None:
    """Return the judgement of the chosen release, if the project has not changed since."""
    job: Job | None = desk.memory.get(_JOB)
    answer: Judged | None = None if job is None else job.answer
    return answer if answer is not None and answer.project == desk.project else None


def blocked(desk: Desk) -> str:
    """Return what prevents the release from being published; empty if nothing does."""
    ruling = judged(desk)
    if chosen(desk) is None:
        return "Choose a protection first."
    if ruling is None:
        return "The release has not been judged since the project last changed."
    open_columns = [name for name in ruling.verdict.unmeasured if name not in desk.memory.get("seen", ())]
    if not ruling.verdict.outcomes:
        return "No rule was stated, so nothing says that the release may be published."
    if not ruling.verdict.passes:
        return "Rules are not met or undecided, and nobody has signed an exception."
    return f"{len(open_columns)} columns that nobody measured are not ticked yet." if open_columns else ""


def _lacking(desk: Desk) -> str:
    if not desk.is_open:
        return "Open a file first."
    return "" if chosen(desk) is not None else "Choose a protection first."


def _job(desk: Desk, candidate: TriedRelease) -> Job:
    """Return the job that judges the candidate; it is started if there is none."""
    known: Job | None = desk.memory.get(_JOB)
    if known is None or (known.answer is not None and judged(desk) is None):
        known = desk.jobs.start(
            _JOB, f"Attacking and judging: {candidate.title}", judge, desk.opened.data, reading(desk.project), desk.project,
            candidate.file, candidate.link, waivers(desk),
        )  # fmt: skip
        desk.memory[_JOB] = known
    return known


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    candidate = chosen(desk)
    if candidate is None:
        return Go("/protect", "Choose a protection first.", "warning")
    job, ruling = _job(desk, candidate), judged(desk)
    values: dict[str, Any] = {"candidate": candidate, "job": job, "judged": ruling}
    if ruling is not None:
        from unveil.assess import title

        values |= {
            "title": title(ruling.verdict),
            "today": ruling.verdict.evidence.date[:10],
            "stories": [] if ruling.attack is None else stories_of(ruling.attack),
            "rulings": [_ruling(ruling, at) for at in range(len(ruling.verdict.outcomes))],
            "unmeasured": [(name, name in desk.memory.get("seen", ())) for name in ruling.verdict.unmeasured],
            "vouched": ruling.verdict.vouched,
            "blocked": blocked(desk),
        }
    return Page("verdict.html", values, _same(desk, candidate))


def _ruling(judgement: Judged, at: int) -> dict[str, Any]:
    """Return a rule with its outcome."""
    outcome = judgement.verdict.outcomes[at]
    kind, status = _STATUS[outcome.met]
    waiver = judgement.verdict.waiver(outcome)
    return {
        "number": at,
        "words": in_words(outcome.rule),
        "of": outcome.of,
        "value": outcome.value,
        "why": outcome.why,
        "kind": "accent" if waiver else kind,
        "status": "excepted" if waiver else status,
        "waiver": waiver,
        "open": not outcome.met and waiver is None,
    }


def _tick(visit: Visit) -> Answer:
    """Record which of the columns that no figure covers the user has checked."""
    ruling = judged(visit.desk)
    numbers = {int(one) for one in visit.lists("column") if one.isascii() and one.isdigit()}
    names = [] if ruling is None else [name for at, name in enumerate(ruling.verdict.unmeasured) if at in numbers]
    visit.desk.memory["seen"] = names
    return Go("/verdict", f"{len(names)} of the columns that nobody measured are ticked.")


def _except(visit: Visit) -> Answer:
    """Sign an exception: someone takes responsibility for a rule that is not met, with a reason and until a date."""
    from unveil.assess import Waiver

    desk, ruling = visit.desk, judged(visit.desk)
    number = visit.form.get("number", "")
    if ruling is None or not (number.isascii() and number.isdigit() and int(number) < len(ruling.verdict.outcomes)):
        raise ArgumentError("this rule no longer exists; reload the page.")
    outcome = ruling.verdict.outcomes[int(number)]
    one = Waiver(
        outcome.rule.name, visit.form.get("approver", "").strip(), ruling.verdict.evidence.date[:10],
        visit.form.get("expires", "").strip(), visit.form.get("reason", "").strip(), outcome.of,
    )  # fmt: skip
    desk.memory["waivers"] = (*waivers(desk), one)
    desk.log(f"exception for {outcome.rule.name}, signed by {one.approver} until {one.expires}: {one.reason}")
    job: Job = desk.memory[_JOB]
    job.answer = replace(ruling, verdict=replace(ruling.verdict, waivers=waivers(desk)))
    return Go("/verdict", "The verdict lists the exception.")


def _again(visit: Visit) -> Answer:
    """Judge again, by the current policy."""
    visit.desk.memory[_JOB] = None
    return Go("/verdict", "")


def _same(desk: Desk, candidate: TriedRelease) -> Same:
    words = ["--policy", desk.project.path.name, "--original", desk.opened.place, "--out", "verdict.html"]
    link = ["--link", "private-link.csv"] if candidate.link else []
    paired = ', link="private-link.csv"' if candidate.link else ""
    return Same(
        f"unveil attack {desk.opened.place} release.csv --project {desk.project.path.name} {' '.join(link)}".rstrip()
        + f"\nunveil check release.csv {' '.join([*words, *link])}",
        f'import unveil\n\n{python_study(desk)}\nunveil.attack(study, "release.csv"{paired})\n'
        f'unveil.check("release.csv", {desk.project.path.name!r}, original=study{paired})',
    )


SCREEN = Screen(
    name="verdict",
    title="Attack and verdict",
    question="May it be released?",
    page=_page,
    actions={"tick": _tick, "except": _except, "again": _again},
    missing=_lacking,
)
