"""The screen of columns: what does each column mean to an intruder? A card for each, with evidence and a choice of roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from unveil.app.overview import ColumnOverview, Overview, overview_job, overview_of, unresolved
from unveil.app.same import command, python_study
from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.attributes import Role
from unveil.errors import ArgumentError, listed
from unveil.project import Attribute

__all__ = ["CHOICES", "SCREEN", "settled"]

_ON_A_PAGE = 48


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """A role in plain words."""

    role: Role
    title: str
    meaning: str


CHOICES = (
    RoleChoice("identifier", "Remove", "It names people: it is never released."),
    RoleChoice("key", "Others may know it", "Someone else could know it about a person, and find them by it."),
    RoleChoice("sensitive", "Sensitive", "Nobody should learn it about a person."),
    RoleChoice("person", "Person", "It says whose record it is, if a person has several."),
    RoleChoice("household", "Household", "It says who lives together."),
    RoleChoice("weight", "Weight", "It says how many people in the population a record stands for."),
    RoleChoice("keep", "Keep", "It is released unchanged; you vouch for it."),
    RoleChoice("other", "Undecided", "Nothing is decided yet."),
)
_SINGLE = ("person", "household", "weight")
_TITLES = {choice.role: choice.title for choice in CHOICES}
_SHOWN = ("all", "undecided", "names", *(choice.role for choice in CHOICES[:-1]))


def settled(desk: Desk) -> str:
    """Return a sentence on what must be decided about the columns before the next step; empty if there is nothing."""
    if not desk.is_open:
        return "Open a file first."
    if overview_of(desk) is None:
        job = overview_job(desk)
        return "The columns are being examined." if job.running else f"The columns could not be examined: {job.line}"
    names = unresolved(desk)
    if names:
        if len(names) == 1:
            return f"{listed(names)} probably names people: remove it, or say why it stays."
        return f"{len(names)} columns probably name people: {listed(names)}. Remove them, or say why they stay."
    return ""


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    overview, job = overview_of(desk), overview_job(desk)
    same = Same(
        command("init", desk), f"import unveil\n\nstart = unveil.start_project({desk.opened.place!r})\n{python_study(desk)}"
    )
    if overview is None:
        return Page("columns.html", {"overview": None, "job": job}, same)
    wanted = [one for one in overview.columns if _is_wanted(one, desk, visit)]
    page = max(_number(visit.query.get("page", "1")), 1)
    pages = max(-(-len(wanted) // _ON_A_PAGE), 1)
    at = min(page, pages) - 1
    values: dict[str, Any] = {
        "overview": overview,
        "cards": [_card(one, desk) for one in wanted[at * _ON_A_PAGE : (at + 1) * _ON_A_PAGE]],
        "matches": len(wanted),
        "page": at + 1,
        "pages": pages,
        "choices": CHOICES,
        "query": {"q": visit.query.get("q", ""), "show": visit.query.get("show", "all")},
        "where": _where(visit.query),
        "decided": sum(_role(desk, one.name) != "other" for one in overview.columns),
        "proposable": len(_proposable(desk, overview)),
        "lacking": settled(desk),
    }
    return Page("columns.html", values, same)


def _is_wanted(one: ColumnOverview, desk: Desk, visit: Visit) -> bool:
    """Whether a column passes the filter of the page."""
    show = visit.query.get("show", "all")
    role = _role(desk, one.name)
    passes = {"all": True, "undecided": role == "other", "names": one.likely_name}.get(show, role == show)
    return passes and visit.query.get("q", "").casefold().strip() in one.name.casefold()


def _card(one: ColumnOverview, desk: Desk) -> dict[str, Any]:
    """Return the content of a card."""
    attribute = desk.project.attributes.get(one.name) or Attribute(one.name)
    return {
        "overview": one,
        "code": desk.code(one.name),
        "role": attribute.role,
        "title": _TITLES[attribute.role],
        "proposed": _TITLES[one.proposal.role],
        "reason": attribute.reason,
        "twins": one.proposal.alike,
        "needs_reason": one.likely_name and attribute.role not in {"identifier", "person"},
        "unresolved": one.name in unresolved(desk),
        "codes": [question for question in one.proposal.questions if question.answers == ("yes", "no") and not attribute.missing],
        "doubts": [
            question for question in one.proposal.questions if "yes" not in question.answers and attribute.role == "other"
        ],
    }


# What the forms do ----------------------------------------------------------------------------------------------------


def _look_again(visit: Visit) -> Answer:
    """Examine the columns once more, after the job was stopped or failed."""
    visit.desk.memory.pop("overview", None)
    overview_job(visit.desk)
    return Go("/columns")


def _decide(visit: Visit) -> Answer:
    """Assign a role to a column, with a reason if there is one."""
    column = visit.column("column")
    role = visit.word("role", tuple(_TITLES))
    _give(visit.desk, [column], role, reason=visit.form.get("reason", "").strip())  # type: ignore[arg-type]
    return Go(_back(visit))


def _missing(visit: Visit) -> Answer:
    """Read the codes of a column that may stand for a missing value as missing."""
    column, overview = visit.column("column"), overview_of(visit.desk)
    texts = () if overview is None else tuple(code.text for code in overview.column(column).proposal.missing)
    visit.desk.change_attributes({column: {"missing": texts}}, f"{column}: {' '.join(texts)} read as missing")
    return Go(_back(visit), f"{column}: {' '.join(texts)} is read as missing.", "good")


def _decide_many(visit: Visit) -> Answer:
    """Give all ticked columns one role."""
    columns = visit.columns("ticked")
    if not columns:
        raise ArgumentError("no column is ticked; tick some, and set them again.")
    role = visit.word("role", tuple(_TITLES))
    if role in _SINGLE and len(columns) > 1:
        raise ArgumentError(f"only one column can be {_TITLES[role]}; tick one.")  # type: ignore[index]
    _give(visit.desk, columns, role)  # type: ignore[arg-type]
    return Go(_back(visit), f"{len(columns):,} columns: {_TITLES[role]}.")  # type: ignore[index]


def _accept(visit: Visit) -> Answer:
    """Accept the proposals for all undecided columns."""
    overview = overview_of(visit.desk)
    if overview is None:
        return Go("/columns")
    proposed = _proposable(visit.desk, overview)
    changes = {name: {"role": overview.column(name).proposal.role} for name in proposed}
    if changes:
        visit.desk.change_attributes(changes, f"proposals accepted for {len(changes):,} columns")
    return Go(_back(visit), f"Proposals accepted for {len(changes):,} columns.")


def _proposable(desk: Desk, overview: Overview) -> list[str]:
    """Return the undecided columns for which a role is proposed."""
    return [one.name for one in overview.columns if one.proposal.role != "other" and _role(desk, one.name) == "other"]


def _give(desk: Desk, columns: Sequence[str], role: Role, reason: str = "") -> None:
    """Give columns a role; if only one column can have it, the column that had it becomes undecided again."""
    changes: dict[str, dict[str, Any]] = {}
    if role in _SINGLE:
        changes |= {name: {"role": "other"} for name in desk.project.names(role) if name not in columns}
    changes |= {name: {"role": role, "reason": reason} for name in columns}
    desk.change_attributes(changes, f"{listed(columns)}: {_TITLES[role]}")


def _role(desk: Desk, name: str) -> Role:
    attribute = desk.project.attributes.get(name)
    return "other" if attribute is None else attribute.role


def _back(visit: Visit) -> str:
    """Return the address of the columns with the filter that was set when a form was sent."""
    return f"/columns{_where(visit.form)}"


def _where(words: Any) -> str:
    kept = {name: words.get(name, "") for name in ("q", "show", "page") if words.get(name, "")}
    if kept.get("show", "all") not in _SHOWN:
        del kept["show"]
    return f"?{urlencode(kept)}" if kept else ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 1


SCREEN = Screen(
    name="columns",
    title="Columns",
    question="What is each column?",
    page=_page,
    actions={"look": _look_again, "role": _decide, "missing": _missing, "many": _decide_many, "accept": _accept},
)
