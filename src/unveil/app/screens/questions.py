"""The screen of questions: the query gate, for people who may not see records; its answers, refusals, and spent budget."""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.app.same import python_study
from unveil.app.screens.columns import settled
from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError, UnveilError
from unveil.project import GateColumn, GateSection
from unveil.results import Table

if TYPE_CHECKING:
    from unveil.queries import Gate

__all__ = ["SCREEN"]

_POLICIES = (
    ("restriction", "Exact answers; refuses small sets, and whatever could be worked out from all answers together"),
    ("differential", "Noise, and a budget that is spent (differential privacy)"),
    ("sticky", "Noise that stays the same for the same people"),
    ("camouflage", "Intervals that contain the exact number"),
)
_MOST_SHOWN = 30
_HISTORY = ("when", "who", "question", "decision", "policy")
_EXAMPLE = "SELECT COUNT(*) FROM data"


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    section = desk.project.query
    sensitive = [name for name in desk.project.names("sensitive") if name in desk.opened.columns]
    values: dict[str, Any] = {
        "policies": _POLICIES,
        "policy": section.policy or "restriction",
        "settings": " ".join(f"{name}={value}" for name, value in section.settings.items()),
        "bounds": [(name, _bounds_text(section.columns.get(name))) for name in sensitive],
        "question": desk.memory.get("question", ""),
        "analyst": desk.memory.get("analyst", "analyst"),
        "answer": desk.memory.get("answer"),
        "example": _EXAMPLE,
        **_spent(desk),
    }
    return Page("questions.html", values, _same(desk))


def _bounds_text(column: GateColumn | None) -> str:
    return "" if column is None or column.bounds is None else f"{column.bounds[0]:g}:{column.bounds[1]:g}"


def _ledger(desk: Desk) -> Path:
    """Return the ledger: the file beside the project that records every answer."""
    return desk.project.path.with_name(f"{desk.project.path.stem}-gate.db")


def _gate(desk: Desk) -> Gate:
    from unveil.queries import open_gate

    return open_gate(desk.opened.whole, ledger=_ledger(desk), project=desk.project)


def _spent(desk: Desk) -> dict[str, Any]:
    """Return the spent budget, and the questions so far; only the first question creates a ledger."""
    nothing: dict[str, Any] = {"spent": None, "history": None, "closed": ""}
    if not _ledger(desk).is_file():
        return nothing
    try:
        with closing(_gate(desk)) as gate:
            spent, history = gate.spent(), gate.history()
    except UnveilError as problem:
        return nothing | {"closed": str(problem)}
    accounts = [
        ("all" if who == "*" else who, policy, int(amount) if amount == int(amount) else amount)
        for who, of in spent.items()
        for policy, amount in of.items()
    ]
    shown = reversed(history[-_MOST_SHOWN:])
    rows = [(one.at[:19], one.analyst, _in_words(one.question), one.reason or one.decision, one.account) for one in shown]
    note = f"{len(history):,} in all, the newest first"
    return {
        "spent": Table(("who", "policy", "spent"), tuple(accounts), title="What was spent") if accounts else None,
        "history": Table(_HISTORY, tuple(rows), title="Questions so far", note=note) if rows else None,
        "closed": "",
    }


def _in_words(written: str) -> str:
    """Return a statistic of the ledger as a person would phrase it."""
    from unveil.queries import All, Statistic

    statistic = Statistic.read(written)
    if statistic.condition == All(()):
        return str(statistic.aggregate)
    return f"{statistic.aggregate} where {statistic.condition.sql(str, repr)}"


# What the forms do ----------------------------------------------------------------------------------------------------


def _ask(visit: Visit) -> Answer:
    """Ask the gate a question; its answer or refusal is recorded in the ledger."""
    desk, question = visit.desk, visit.form.get("question", "").strip()
    analyst = visit.form.get("analyst", "").strip() or "analyst"
    desk.memory |= {"question": question, "analyst": analyst, "answer": None}
    if not question:
        raise ArgumentError("the question is empty; write a SELECT of COUNT, SUM, AVG, VAR, MIN or MAX.")
    with closing(_gate(desk)) as gate:
        desk.memory["answer"] = gate.ask(question, analyst=analyst)
    return Go("/questions")


def _govern(visit: Visit) -> Answer:
    """Choose the policy of the gate, its settings, and the bounds of sensitive columns."""
    from unveil.queries import project_policies

    desk = visit.desk
    policy = visit.word("policy", tuple(word for word, _ in _POLICIES))
    settings = dict(_setting(word) for word in visit.form.get("settings", "").split())
    before = desk.project.query
    columns = dict(before.columns)
    for name in desk.project.names("sensitive"):
        if name in desk.opened.columns:
            bounds = _bounds(visit.form.get(f"bounds-{desk.code(name)}", ""))
            known = columns.get(name) or GateColumn()
            columns[name] = replace(known, bounds=bounds)
    kept = {name: column for name, column in columns.items() if column != GateColumn()}
    project_policies(replace(desk.project, query=GateSection(policy=policy, settings=settings)), None, {})
    section = replace(before, policy=policy, settings=settings, columns=kept)
    desk.change(replace(desk.project, query=section), f"the gate uses the policy {policy}")
    return Go("/questions", f"The gate now uses the policy {policy}.", "good")


def _setting(word: str) -> tuple[str, Any]:
    name, equal, text = word.partition("=")
    if not name or not equal:
        raise ArgumentError("a setting must be a name and a value, such as k=10 or epsilon=0.5.")
    try:
        return name, int(text) if text.isascii() and text.isdigit() else float(text)
    except ValueError:
        return name, text


def _bounds(text: str) -> tuple[float, float] | None:
    if not text.strip():
        return None
    low, _, high = text.partition(":")
    try:
        pair = (float(low), float(high))
    except ValueError:
        pair = (1.0, 0.0)
    if not pair[0] < pair[1]:
        raise ArgumentError("bounds must be the least and the greatest value that a record can have, such as 0:120.")
    return pair


def _same(desk: Desk) -> Same:
    question = desk.memory.get("question") or _EXAMPLE
    ledger, project = _ledger(desk).name, desk.project.path.name
    named = ["--project", project] if desk.project.path.is_file() else []
    options = ["--ledger", ledger, "--as", desk.memory.get("analyst", "analyst")]
    words = ["unveil", "query", desk.opened.place, question, *named, *options]
    return Same(shlex.join(words), "\n".join(_python(desk, question, ledger)))


def _python(desk: Desk, question: str, ledger: str) -> list[str]:
    """Return the lines of Python that ask the same gate the same question."""
    from unveil.queries import project_policies

    project = desk.project
    policies = project_policies(project, None, {})
    names = sorted({type(one).__name__ for one in policies.values()})
    bounds = {name: one.bounds for name, one in project.query.columns.items() if one.bounds is not None}
    arguments = {
        "ledger": ledger,
        "policy": policies["*"] if len(policies) == 1 else policies,
        "key": list(project.names("key")),
        "sensitive": list(project.names("sensitive")),
        **({"bounds": bounds} if bounds else {}),
    }
    options = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return [
        "import unveil",
        f"from unveil.queries import {', '.join(names)}",
        "",
        python_study(desk),
        f"gate = unveil.Gate(study, {options})",
        f"gate.ask({question!r}, analyst={desk.memory.get('analyst', 'analyst')!r})",
    ]


SCREEN = Screen(
    name="questions",
    title="Questions",
    question="What may be asked?",
    page=_page,
    actions={"ask": _ask, "policy": _govern},
    step=False,
    missing=settled,
)
