"""The screen of next month's file: is it riskier than the baseline? The figures of both, and the growth of each."""

from __future__ import annotations

import shlex
from typing import Any

from unveil.app.jobs import Job
from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.screens.opening import readable, within
from unveil.app.side_jobs import against_baseline
from unveil.app.state import Desk, reading
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError

__all__ = ["SCREEN"]

_JOB = "drift"


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    job: Job | None = desk.memory.get(_JOB)
    request: dict[str, Any] = desk.memory.get("drift request", {"path": "", "allow": 0.0})
    values: dict[str, Any] = {
        "job": job,
        "verdict": None if job is None else job.answer,
        "request": request,
        "files": readable(desk.folder),
        "rules": len(desk.project.policy.in_force()),
    }
    return Page("drift.html", values, _same(desk, request))


def _compare(visit: Visit) -> Answer:
    """Compare a new file with the open data, in a job."""
    desk, name = visit.desk, visit.form.get("path", "").strip()
    path = within(desk.folder, name)
    if not name or not path.is_file():
        raise ArgumentError("there is no such file in the folder where the app was started; name the new file.")
    allow = _allowed(visit.form.get("allow", ""))
    desk.memory["drift request"] = {"path": name, "allow": allow}
    data, options = desk.opened.data, reading(desk.project)
    desk.memory[_JOB] = desk.jobs.start(
        _JOB, "Comparing with the baseline", against_baseline, data, options, desk.project, str(path), allow
    )
    return Go("/drift")


def _allowed(text: str) -> float:
    try:
        allow = float(text.replace(",", ".") or 0)
    except ValueError:
        allow = -1.0
    if not 0 <= allow < float("inf"):
        raise ArgumentError("the amount by which a risk may grow must be a number of 0 or more, such as 0.05.")
    return allow


def _roles(desk: Desk) -> list[str]:
    """Return the options that name the known and the sensitive columns."""
    known = [("--key", name) for name in desk.study.key] + [("--sensitive", name) for name in desk.study.sensitive]
    return [word for pair in known for word in pair]


def _same(desk: Desk, request: dict[str, Any]) -> Same:
    new, project, allow = request["path"] or "next-month.csv", desk.project.path.name, f"{request['allow']:g}"
    policed = bool(desk.project.policy.in_force())
    before = (
        command("check", desk, "--policy", project, "--json") if policed else command("measure", desk, *_roles(desk), "--json")
    )
    rules = ["--policy", project] if policed else []
    words = shlex.join(["unveil", "check", new, "--project", project, *rules, "--baseline", "baseline.json", "--allow", allow])
    first = f"unveil.check(study, {project!r})" if policed else "unveil.measure(study)"
    second = f"unveil.check({new!r}, {project!r}" if policed else f"unveil.check({new!r}, None, project=study.project"
    return Same(
        f"{before} > baseline.json\n{words}",
        f"import unveil\n\n{python_study(desk)}\nbaseline = {first}\n{second}, baseline=baseline.to_dict(), allow={allow})",
    )


SCREEN = Screen(
    name="drift",
    title="Next month",
    question="Is the new file riskier?",
    page=_page,
    actions={"compare": _compare},
    step=False,
    missing=settled,
)
