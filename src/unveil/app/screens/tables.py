"""The screen of tables: which cells reveal someone's value, and which others must be suppressed with them?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from unveil.app.jobs import Job
from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.side_jobs import build_table
from unveil.app.state import Desk, reading
from unveil.app.visit import Answer, Download, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError
from unveil.tables import rules_of, write_long

__all__ = ["SCREEN"]

_JOB = "table"
_MOST_DIMENSIONS = 5
_METHODS = (
    ("lp", "Suppress cells: a good pattern"),
    ("optimal", "Suppress cells: the cheapest pattern"),
    ("gauss", "Suppress cells: for very large tables"),
    ("", "Only mark the sensitive cells"),
)
_FIRST: dict[str, Any] = {"by": (), "value": None, "rules": ("threshold=5",), "method": "lp", "holding": None, "margins": True}


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    job: Job | None = desk.memory.get(_JOB)
    request: dict[str, Any] = _first(desk) | desk.memory.get("table request", {})
    roles = {name: one.role for name, one in desk.project.attributes.items()}
    offered = [name for name in desk.opened.columns if roles.get(name) not in ("identifier", "person", "household")]
    values: dict[str, Any] = {
        "job": job,
        "result": None if job is None else job.answer,
        "safe": job is not None and job.answer is not None and bool(getattr(job.answer, "safe", True)),
        "request": request,
        "columns": offered,
        "holders": desk.opened.columns,
        "methods": _METHODS,
        "rules": " ".join(request["rules"]),
    }
    return Page("tables.html", values, _same(desk, request))


def _first(desk: Desk) -> dict[str, Any]:
    """Return the settings of the first table: it counts records, and each person is one contributor."""
    persons = [name for name in desk.project.names("person") if name in desk.opened.columns]
    return _FIRST | {"holding": persons[0] if persons else None}


def _make(visit: Visit) -> Answer:
    """Build a table, in a job."""
    desk = visit.desk
    by = visit.columns("by")
    if not 1 <= len(by) <= _MOST_DIMENSIONS:
        raise ArgumentError(f"a table has 1 to {_MOST_DIMENSIONS} columns that span it; tick them.")
    value = visit.column("value") if visit.form.get("value") else None
    if value in by:
        raise ArgumentError("a column that spans the table cannot also be summed in its cells.")
    rules = tuple(visit.form.get("rules", "").replace(",", " ").split())
    rules_of(rules)
    holding = visit.column("holding") if visit.form.get("holding") else None
    if holding in by:
        raise ArgumentError("a column that spans the table cannot also name the contributors.")
    method = visit.word("method", tuple(word for word, _ in _METHODS))
    margins = not visit.form.get("inside")
    request = {"by": by, "value": value, "rules": rules, "method": method, "holding": holding, "margins": margins}
    desk.memory["table request"] = request
    options = reading(desk.project)
    desk.memory[_JOB] = desk.jobs.start(_JOB, "Building the table", build_table, desk.opened.data, options, desk.project, request)
    return Go("/tables")


def _file(visit: Visit) -> Answer:
    """Return the table to publish; a table that is not safe is refused."""
    job: Job | None = visit.desk.memory.get(_JOB)
    if job is None or job.answer is None:
        raise ArgumentError("there is no table yet; make one first.")
    if not getattr(job.answer, "safe", True):
        raise ArgumentError("the table is not safe, so it is not written for publication; suppress cells first.")
    with tempfile.TemporaryDirectory(dir=visit.desk.private) as folder:
        path = Path(folder) / "table.csv"
        write_long(job.answer.columns(), path)
        return Download("table.csv", path.read_bytes(), "text/csv; charset=utf-8")


def _same(desk: Desk, request: dict[str, Any]) -> Same:
    by = list(request["by"]) or list(desk.opened.columns[:2])
    words = [word for name in by for word in ("--by", name)]
    words += [] if request["value"] is None else ["--value", request["value"]]
    words += [word for rule in request["rules"] for word in ("--rule", rule)]
    words += ["--protect", "suppress", "--method", request["method"]] if request["rules"] and request["method"] else []
    words += [] if request["holding"] is None else ["--holding", request["holding"]]
    words += [] if request["margins"] else ["--no-margins"]
    value = "" if request["value"] is None else f", value={request['value']!r}"
    value += "" if request["holding"] is None else f", holding={request['holding']!r}"
    value += "" if request["margins"] else ", margins=False"
    protect = f".suppress({list(request['rules'])!r}, method={request['method'] or 'primary'!r})" if request["rules"] else ""
    return Same(
        command("table", desk, *words), f"import unveil\n\n{python_study(desk)}\nunveil.table(study, {by!r}{value}){protect}"
    )


SCREEN = Screen(
    name="tables",
    title="Tables",
    question="Which cells give someone away?",
    page=_page,
    actions={"make": _make},
    parts={"file": _file},
    step=False,
    missing=settled,
)
