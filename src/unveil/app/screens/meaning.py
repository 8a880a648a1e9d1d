"""The screen of meanings: which values mean the same to an observer? Groups of values, and hierarchies of ever coarser ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unveil.app.meanings import WIZARDS, edges_of, groups_of, hierarchy_of, kept_hierarchy, lines_of, rows_text
from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.state import Desk
from unveil.app.visit import Answer, Download, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError, UnveilError
from unveil.partitions import Hierarchy, Partition, text_of
from unveil.results import Table
from unveil.search import HierarchyReport, build_hierarchy, check_hierarchy, propose_hierarchy

__all__ = ["SCREEN"]

_MOST_ROWS = 2_000
"""The largest number of rows of a hierarchy, or values of a column, that are edited as text on the page."""
_PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class _Groups:
    """A partition of the project, as the page shows it."""

    number: int
    name: str
    lines: str
    edges: str
    sizes: Table | None
    problem: str


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    column = _chosen(visit)
    attribute = desk.project.attributes.get(column)
    hierarchy, problem = _hierarchy(desk, column)
    rule, steps = visit.query.get("rule", ""), visit.query.get("steps", "")
    tried, refused = _tried(desk, column, rule, steps)
    values = _values(desk, column)
    shown: dict[str, Any] = {
        "column": column,
        "columns": _offered(desk),
        "values": len(values),
        "groups": [
            _groups(desk, column, number, name, partition)
            for number, (name, partition) in enumerate((attribute.partitions if attribute else {}).items())
        ],
        "fresh": rows_text([value, value] for value in values) if len(values) <= _MOST_ROWS else "",
        "hierarchy": hierarchy,
        "hierarchy_problem": problem,
        "hierarchy_rows": (
            rows_text(hierarchy.hierarchy.labels) if hierarchy and len(hierarchy.hierarchy.labels) <= _MOST_ROWS else ""
        ),
        "wizards": [*WIZARDS.values()],
        "rule": rule,
        "steps": steps,
        "tried": tried,
        "refused": refused,
        "droppable": desk.private is not None,
    }
    return Page("meaning.html", shown, _same(desk, column, rule, steps))


def _offered(desk: Desk) -> list[str]:
    """Return the columns that can have a meaning; those that others may know, or that are sensitive, come first."""
    roles = {name: one.role for name, one in desk.project.attributes.items()}
    names = [name for name in desk.opened.columns if roles.get(name) not in ("identifier", "person", "household", "weight")]
    return sorted(names, key=lambda name: roles.get(name) not in ("key", "sensitive")) or list(desk.opened.columns)


def _chosen(visit: Visit) -> str:
    """Return the column that the address names, else the last one shown, else the first one offered."""
    desk = visit.desk
    if visit.query.get("column"):
        desk.memory["meaning"] = desk.column(visit.query["column"])
    return str(desk.memory.get("meaning") or _offered(desk)[0])


def _values(desk: Desk, column: str) -> list[str]:
    """Return the values of a column as text, without the null."""
    return [text_of(value) for value in desk.opened.whole.counts([column]).columns[0].values if value is not None]


def _hierarchy(desk: Desk, column: str) -> tuple[HierarchyReport | None, str]:
    """Return the project's hierarchy of a column with its levels, or the problem with it."""
    attribute = desk.project.attributes.get(column)
    if attribute is None or attribute.hierarchy is None:
        return None, ""
    try:
        return check_hierarchy(attribute.hierarchy, desk.opened.whole, column), ""
    except UnveilError as problem:
        return None, str(problem)


def _tried(desk: Desk, column: str, rule: str, steps: str) -> tuple[HierarchyReport | None, str]:
    """Return the hierarchy that a rule would build, or the reason why it cannot; neither if no rule is chosen."""
    if not rule:
        return None, ""
    try:
        return _built(desk, column, rule, steps), ""
    except UnveilError as problem:
        return None, str(problem)


def _built(desk: Desk, column: str, rule: str, steps: str) -> HierarchyReport:
    if rule == _PROPOSED:
        return propose_hierarchy(desk.opened.whole, column)
    if rule not in WIZARDS:
        raise ArgumentError.not_one_of("the rule", rule, (_PROPOSED, *WIZARDS))
    return build_hierarchy(desk.opened.whole, column, WIZARDS[rule].rule(steps))


def _groups(desk: Desk, column: str, number: int, name: str, partition: Partition) -> _Groups:
    edges = [str(edge) for edge in partition.to_dict().get("edges", ()) if edge not in ("-inf", "inf")]
    try:
        sizes, problem = _sizes(desk, column, partition), ""
    except UnveilError as refused:
        sizes, problem = None, str(refused)
    return _Groups(number, name, lines_of(partition), ", ".join(edges), sizes, problem)


def _sizes(desk: Desk, column: str, partition: Partition) -> Table:
    """Return the number of values and records of each group; refuse a value without a group."""
    counts = desk.opened.whole.counts([column])
    codes, labels = partition.apply(counts.columns[0].values, column)
    at = codes[counts.codes[0]]
    records = np.bincount(at, weights=counts.n, minlength=len(labels)).astype(np.int64)
    values = np.bincount(codes, minlength=len(labels))
    shown = ["(missing)" if label is None else label for label in labels]
    rows = [(label, int(of), int(n)) for label, of, n in zip(shown, values, records, strict=True)]
    return Table(("group", "values", "records"), tuple(rows))


# What the forms do ----------------------------------------------------------------------------------------------------


def _keep_groups(visit: Visit) -> Answer:
    """Keep groups of values, or intervals, under a name."""
    desk, column = visit.desk, visit.column("column")
    name = visit.form.get("name", "").strip()
    if not name:
        raise ArgumentError("the grouping has no name; give it one, such as 'region'.")
    if visit.form.get("edges", "").strip():
        partition = edges_of(visit.form["edges"])
    else:
        partition = groups_of(visit.form.get("lines", ""), _values(desk, column), visit.form.get("rest", ""))
    _sizes(desk, column, partition)
    known = desk.project.attributes.get(column)
    partitions = {**(known.partitions if known else {}), name: partition}
    desk.change_attributes({column: {"partitions": partitions}}, f"{column}: grouped by {name}")
    return Go(_at(desk, column), f"{column} is grouped by {name}.", "good")


def _drop_groups(visit: Visit) -> Answer:
    """Remove a grouping."""
    desk, column = visit.desk, visit.column("column")
    known = desk.project.attributes.get(column)
    names = list(known.partitions) if known else []
    number = visit.form.get("number", "")
    if known is None or not (number.isascii() and number.isdigit() and int(number) < len(names)):
        raise ArgumentError("this grouping no longer exists; reload the page.")
    dropped = names[int(number)]
    partitions = {name: one for name, one in known.partitions.items() if name != dropped}
    desk.change_attributes({column: {"partitions": partitions}}, f"{column}: no longer grouped by {dropped}")
    return Go(_at(desk, column), "The grouping is removed.")


def _build(visit: Visit) -> Answer:
    """Keep the hierarchy that a rule builds."""
    desk, column = visit.desk, visit.column("column")
    return _kept(desk, column, _built(desk, column, visit.form.get("rule", ""), visit.form.get("steps", "")).hierarchy)


def _write(visit: Visit) -> Answer:
    """Keep a hierarchy that is written as rows."""
    column = visit.column("column")
    return _kept(visit.desk, column, hierarchy_of(column, visit.form.get("rows", "")))


def _dropped(visit: Visit) -> Answer:
    """Keep the hierarchy of a file in the form of ARX."""
    if visit.file is None:
        raise ArgumentError("no file was received; choose one.")
    column = visit.desk.column(visit.query.get("column", ""))
    try:
        return _kept(visit.desk, column, Hierarchy.read(visit.file, column=column))
    except UnveilError as problem:
        raise ArgumentError(str(problem).replace(str(visit.file), visit.file.name)) from None
    finally:
        visit.file.unlink(missing_ok=True)


def _kept(desk: Desk, column: str, hierarchy: Hierarchy) -> Answer:
    """Check a hierarchy against the data, write it beside the project, and name it there."""
    check_hierarchy(hierarchy, desk.opened.whole, column)
    path = desk.project.path
    place = kept_hierarchy(hierarchy, path.parent / f"{path.stem}-hierarchies", desk.code(column))
    desk.change_attributes({column: {"hierarchy": place}}, f"{column}: a hierarchy of {hierarchy.height} levels")
    return Go(_at(desk, column), f"{column} has a hierarchy of {hierarchy.height} levels.", "good")


def _drop(visit: Visit) -> Answer:
    """Remove the hierarchy; its file stays, so that this can be undone."""
    column = visit.column("column")
    visit.desk.change_attributes({column: {"hierarchy": None}}, f"{column}: no hierarchy")
    return Go(_at(visit.desk, column), f"{column} no longer has a hierarchy of its own.")


def _file(visit: Visit) -> Answer:
    """Return the hierarchy as a file that ARX reads."""
    desk = visit.desk
    column = desk.column(visit.query.get("column", ""))
    attribute = desk.project.attributes.get(column)
    if attribute is None or attribute.hierarchy is None:
        raise ArgumentError("this column has no hierarchy; build one first.")
    return Download(f"hierarchy_{desk.code(column)}.csv", Path(attribute.hierarchy).read_bytes(), "text/csv; charset=utf-8")


def _at(desk: Desk, column: str) -> str:
    return f"/meaning?column={desk.code(column)}"


def _same(desk: Desk, column: str, rule: str, steps: str) -> Same:
    words, lines = _rule_words(rule, steps), [f"unveil.propose_hierarchy(study, {column!r})"]
    wizard = WIZARDS.get(rule)
    if wizard is not None:
        try:
            builder = wizard.rule(steps)
        except UnveilError:
            builder = wizard.rule("")
        home = f"from unveil.partitions.builders import {type(builder).__name__}"
        lines = [home, f"unveil.build_hierarchy(study, {column!r}, {builder!r})"]
    line = command("hierarchy build", desk, "--column", column, *words, "--out", "hierarchy.csv")
    python = "\n".join(["import unveil", "", python_study(desk), *lines])
    return Same(line.replace("'hierarchy build'", "hierarchy build", 1), python)


def _rule_words(rule: str, steps: str) -> Sequence[str]:
    """Return the options of the command for a rule."""
    wizard = WIZARDS.get(rule)
    if wizard is None or not wizard.option:
        return ()
    written = ",".join((steps.replace(";", " ").replace(",", " ") or wizard.steps.replace(",", " ")).split())
    return ("--redact", "right", wizard.option, written) if rule == "codes" else (wizard.option, written)


SCREEN = Screen(
    name="meaning",
    title="Meaning",
    question="Which values mean the same?",
    page=_page,
    actions={"groups": _keep_groups, "leave": _drop_groups, "build": _build, "rows": _write, "drop": _drop},
    uploads={"dropped": _dropped},
    parts={"file": _file},
    missing=settled,
)
