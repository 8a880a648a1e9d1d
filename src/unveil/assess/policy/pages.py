"""Pages of a verdict: a sheet for the person who decides, the full verdict for an auditor, and the history of checks."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from unveil.assess.evidence import file_table
from unveil.errors import DataFileError, listed, one_line, shown
from unveil.formats import counted
from unveil.output import cannot_write
from unveil.project import RULES
from unveil.results import Chart, Figure, Table, View

if TYPE_CHECKING:
    from unveil.assess.policy.drift import Drift
    from unveil.assess.policy.rules import Outcome
    from unveil.assess.policy.verdict import Verdict

__all__ = ["HistoryEntry", "append_history", "history_chart", "history_table", "read_history", "sheet", "title", "whole"]

_MOST_RULES, _MOST_WAIVERS, _MOST_NAMES, _SHORT = 8, 3, 4, 30
"""The numbers of rules, waivers, column names, and characters of a name for which one sheet has room."""
_UNNAMED = ("the data frame", "-", "standard input")
_ANSWER = {"met": "Yes", "NOT met": "No", "not decided": "Not decided"}


def title(verdict: Verdict) -> str:
    """Return the question and its answer, in words."""
    name = named(verdict)
    if verdict.drift_alone:
        return f"Is {name} riskier than before? {'No' if verdict.passes else 'Yes'}"
    under = _policy(verdict)
    answers = {
        "met": f"Yes, under {under}",
        "NOT met": f"No, not under {under}",
        "not decided": f"Not decided under {under}",
    }[verdict.status]
    waived = f", with {counted(len(verdict.waived), 'rule')} waived" if verdict.waived else ""
    return f"May {name} be released? {answers}{waived}"


def named(verdict: Verdict) -> str:
    """Return the name of the release: its file without the folders, or the data set; a data frame has no name."""
    place = verdict.release
    if place in _UNNAMED or not place:
        return "this table"
    return one_line(PurePath(place).name or place) if "://" not in place else one_line(place)


def _policy(verdict: Verdict) -> str:
    """Return the name of the policy; one without a name of its own is named after its place."""
    if verdict.policy != "policy":
        return one_line(verdict.policy)
    file = verdict.evidence.file("policy")
    if file is None or not file.is_file:
        return "the rules given"
    project, name = verdict.evidence.file("project"), one_line(PurePath(file.place).name)
    return f"the policy of {name}" if project is not None and project.place == file.place else name


# One sheet ------------------------------------------------------------------------------------------------------------


def sheet(verdict: Verdict) -> View:
    """Return the sheet, which fits on one printed page."""
    figures = [_answer(verdict), Figure("release", named(verdict), _size(verdict))]
    figures.append(Figure("date", verdict.evidence.date[:10], f"unveil {verdict.evidence.version}"))
    worst = sorted(verdict.outcomes, key=lambda one: (one.met is True, one.met is None))
    rows = tuple(_line(verdict, one) for one in worst[:_MOST_RULES])
    more = len(worst) - len(rows)
    left = f"{counted(more, 'further rule')} {'are' if more > 1 else 'is'} in the full verdict." if more else ""
    tables = [Table(("what is measured", "found", "required", "answer"), rows, "The rules", left)] if rows else []
    grown = [one for one in verdict.drift if not one.met][:_MOST_WAIVERS]
    tables += [_drift_table(grown)] if grown else []
    new = [one.of for one in verdict.changes if not one.met]
    notes = [
        _shortened("New columns since the earlier result, which do not pass", new),
        _shortened("Columns that no rule measured", _unmeasured(verdict)),
        _shortened("Vouched for", verdict.vouched),
    ]
    notes += [_waiver_in_words(one.to_dict()) for one in verdict.waivers[:_MOST_WAIVERS] if one.in_force(verdict.evidence.date)]
    notes += [_hash_in_words(verdict), f"Decided by {'_' * 24} on {'_' * 12}, signature {'_' * 24}"]
    return View(title(verdict), tuple(figures), tuple(tables), tuple(filter(None, notes)), lead=_lead(verdict))


def _lead(verdict: Verdict) -> str:
    """Return the meaning of the answer in one or two sentences."""
    if verdict.drift_alone:
        return ""
    known = verdict.made.key
    few = listed(map(_cut, known[:_MOST_NAMES])) + (
        f" and {len(known) - _MOST_NAMES:,} more columns" if len(known) > _MOST_NAMES else ""
    )
    against = f" The rules about classes hold against someone who knows {few} of a person." if known else ""
    meanings = {
        "met": "It may, as far as these rules are concerned: each is met" + (", or waived by name." if verdict.waived else "."),
        "NOT met": "It may not: a rule is not met.",
        "not decided": "Not yet: a rule is undecided, and an undecided rule does not pass.",
    }
    return meanings[verdict.status] + against


def _line(verdict: Verdict, outcome: Outcome) -> tuple[Any, ...]:
    about = (outcome.rule.question or outcome.rule.form.about).split(";")[0]
    of = "" if outcome.of == "the key" else f": {_cut(outcome.of)}"
    answer = "waived" if verdict.waiver(outcome) else {True: "met", False: "NOT met", None: "not decided"}[outcome.met]
    return f"{about}{of}", outcome.value, outcome.rule.requirement, answer


def _size(verdict: Verdict) -> str:
    return counted(verdict.made.records, "record")


def _unmeasured(verdict: Verdict) -> list[str]:
    """Return the names of the columns that no rule is about, with those that single out most first."""
    return [one.column for one in sorted(verdict.unmeasured, key=lambda one: (-(one.with_key or 0), -one.unique))]


def _shortened(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"{what}: {listed(map(_cut, names[:_MOST_NAMES]))}{more}."


def _cut(text: str, most: int = _SHORT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _hash_in_words(verdict: Verdict) -> str:
    file = verdict.evidence.file("release")
    if file is None:
        return ""
    kind, digest = ("HMAC-SHA-256", file.hmac_sha256) if file.hmac_sha256 else ("SHA-256", file.sha256)
    return f"{kind} of the release: `{digest}`"


# The whole verdict ----------------------------------------------------------------------------------------------------


def whole(verdict: Verdict) -> View:
    """Return everything, the evidence last."""
    figures = [_answer(verdict)]
    figures += [Figure("key", ", ".join(verdict.made.key))] if verdict.made.key else []
    kinds = (("Not met", False), ("Not decided", None), ("Met", True))
    tables = [_rule_table(name, [one for one in verdict.outcomes if one.met is met]) for name, met in kinds]
    tables += [_drift_table(verdict.drift), *_change_table(verdict), *_waiver_table(verdict)]
    tables += [history_table(verdict.history)] if verdict.history else []
    chart = history_chart(verdict.history)
    sources = [f"{one.name}: {one.source}. {one.says} What it does not say: {one.silent}" for one in verdict.presets]
    shown = tuple(table for table in tables if table.rows)
    return View(
        title(verdict),
        tuple(figures),
        shown,
        (*verdict.notes, *sources),
        () if chart is None else (chart,),
        parts=(_evidence(verdict),),
    )


def _evidence(verdict: Verdict) -> View:
    """Return the evidence, for later checks."""
    provenance = verdict.made
    rows: list[tuple[str, Any]] = [
        ("release", f"{named(verdict)}, {_size(verdict)}"),
        ("date", verdict.evidence.date),
        ("version", f"unveil {verdict.evidence.version}"),
        ("policy", None if verdict.drift_alone else verdict.policy),
        ("key", ", ".join(provenance.key) or None),
        ("sensitive", ", ".join(provenance.sensitive) or None),
        (
            "nulls",
            f"{provenance.nulls} ({counted(provenance.dropped, 'record')} left out)" if provenance.dropped else provenance.nulls,
        ),
        ("vouched for by the policy", ", ".join(verdict.vouched) or "no column"),
        ("measured by no rule", ", ".join(_unmeasured(verdict)) or "no column"),
    ]
    tables = [Table(("what", "value"), tuple((name, value) for name, value in rows if value is not None))]
    if verdict.evidence.files:
        tables.append(file_table(verdict.evidence.files))
    return View("What this verdict can be held to", tables=tuple(tables))


def _answer(verdict: Verdict) -> Figure:
    if verdict.drift_alone:
        return Figure("riskier", "No" if verdict.passes else "Yes", _tally(verdict))
    return Figure("answer", _ANSWER[verdict.status], _tally(verdict))


def _tally(verdict: Verdict) -> str:
    """Return a sentence on the number of rules that fall short, and of those that were not decided."""
    failed = sum(outcome.met is False for outcome in verdict.outcomes)
    open_ones = sum(outcome.met is None for outcome in verdict.outcomes)
    grown, new = sum(not one.met for one in verdict.drift), sum(not one.met for one in verdict.changes)
    all_met = bool(verdict.outcomes) and not verdict.shortfalls
    rules = counted(len(verdict.outcomes), "rule")
    parts = [f"{len(verdict.outcomes)} of {rules} met" if all_met else f"{failed} of {rules} not met"] if verdict.outcomes else []
    parts += [f"{open_ones} not decided"] if open_ones else []
    parts += [f"{len(verdict.waived)} waived"] if verdict.waived else []
    parts += [f"{grown} of {counted(len(verdict.drift), 'figure')} grew by more than allowed"] if verdict.drift else []
    parts += [counted(new, "new column")] if new else []
    return ", ".join(parts)


def _rule_table(name: str, outcomes: Sequence[Outcome]) -> Table:
    """Return the rules of one status; an uninformative column is left out."""
    columns: dict[str, list[Any]] = {
        "question": [outcome.rule.question or None for outcome in outcomes],
        "rule": [outcome.rule.name for outcome in outcomes],
        "of": [outcome.of if outcome.of != "the key" else None for outcome in outcomes],
        "found": [outcome.value for outcome in outcomes],
        "required": [outcome.rule.requirement for outcome in outcomes],
        "why": [outcome.why or None for outcome in outcomes],
    }
    kept = {name: values for name, values in columns.items() if name == "found" or any(value is not None for value in values)}
    meant = {one.rule.name: one.rule.form.about for one in outcomes}
    definition = "; ".join(f"{rule}: {about}" for rule, about in meant.items())
    return Table(tuple(kept), tuple(zip(*kept.values(), strict=True)), title=name, definition=definition)


def _drift_table(drift: Sequence[Drift]) -> Table:
    rows = tuple(
        (one.rule, one.of, _whole(one.rule, one.before), _whole(one.rule, one.now), one.growth, "yes" if one.met else "NO")
        for one in drift
    )
    note = "growth is of the risk: the figure itself, or one over it where higher is safer"
    return Table(("figure", "of", "before", "now", "growth", "allowed"), rows, title="Since the earlier result", note=note)


def _whole(rule: str, value: float) -> float:
    """Return a figure that is a count as an integer, even if it was stored as a float."""
    return int(value) if RULES[rule].whole and math.isfinite(value) else value


def _said(value: Any) -> str | None:
    return f"{value:,}" if isinstance(value, int) else value


def _change_table(verdict: Verdict) -> Iterator[Table]:
    """Yield a table of the changes since the earlier result."""
    rows = tuple(
        (one.what, one.of or None, _said(one.before), _said(one.now), "yes" if one.met else "NO") for one in verdict.changes
    )
    if rows:
        note = (
            "A new column was never measured before, so it does not pass; to accept it, use today's verdict as the next baseline."
        )
        remark = note if any(not one.met for one in verdict.changes) else ""
        yield Table(("changed", "of", "before", "now", "allowed"), rows, title="What is not as it was", note=remark)


def _waiver_table(verdict: Verdict) -> Iterator[Table]:
    """Yield a table of the named exceptions, those in force and those that are not."""
    rows = tuple(
        (
            one.rule,
            one.of,
            one.approver,
            one.approved,
            one.expires,
            one.reason,
            "yes" if one.in_force(verdict.evidence.date) else "NO",
        )
        for one in verdict.waivers
    )
    if rows:
        yield Table(("rule", "of", "approver", "approved", "expires", "reason", "in force"), rows, title="Waivers")


def _waiver_in_words(waiver: dict[str, Any]) -> str:
    return (
        f"{waiver['rule']} is waived by {waiver['approver']} from {waiver['approved']} to {waiver['expires']}: "
        f"{_cut(waiver['reason'], 2 * _SHORT)}"
    )


_SHARES = {
    "sample_uniqueness": "records that are unique",
    "prosecutor_average": "average risk",
    "records_at_risk": "records in small classes",
}
"""The figures for which the chart has a line; all are shares of records."""
_LAST = 12


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The outcome of one check: its date, file and policy, and its figures."""

    date: str
    release: str
    policy: str
    status: str
    records: int
    columns: int
    figures: Mapping[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "date": self.date,
            "release": self.release,
            "policy": self.policy,
            "status": self.status,
            "records": self.records,
            "columns": self.columns,
            "figures": dict(self.figures),
        }


def entry_of(verdict: Verdict) -> HistoryEntry:
    """Return the history entry of a verdict."""
    figures: dict[str, float | None] = {}
    for outcome in (*verdict.outcomes, *verdict.figures):
        of = "" if outcome.of == "the key" else f" of {outcome.of}"
        figures.setdefault(f"{outcome.rule.name}{of}", None if outcome.value is None else float(outcome.value))
    columns = 0 if verdict.profile is None else len(verdict.profile.columns)
    return HistoryEntry(
        verdict.evidence.date, Path(verdict.release).name, verdict.policy, verdict.status, verdict.made.records, columns, figures
    )


def append_history(path: str | os.PathLike[str], verdict: Verdict) -> tuple[HistoryEntry, ...]:
    """Append a verdict to a history, and return the whole history, with this verdict last."""
    entry = entry_of(verdict)
    line = json.dumps(entry.to_dict(), ensure_ascii=True).encode() + b"\n"
    try:
        with Path(path).open("a+b") as file, _locked(file):
            file.seek(0)
            earlier = _entries(path, file.read())
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except DataFileError:
        raise
    except (OSError, ValueError) as error:
        raise cannot_write(path, error if isinstance(error, OSError) else OSError()) from None
    return (*earlier, entry)


def read_history(path: str | os.PathLike[str]) -> tuple[HistoryEntry, ...]:
    """Read a history."""
    try:
        return _entries(path, Path(path).read_bytes())
    except (OSError, ValueError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"{shown(path)}: the history cannot be read.") from None


@contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    """Lock the file for this process alone, for the duration of the block."""
    try:
        import fcntl
    except ImportError:  # on a system without such locks, a line is still appended in one write
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _entries(path: str | os.PathLike[str], content: bytes) -> tuple[HistoryEntry, ...]:
    entries = []
    for at, line in enumerate(content.splitlines(), start=1):
        try:
            document = json.loads(line)
            entries.append(HistoryEntry(**document))
            _ = [document["figures"].items(), document["records"] + document["columns"]]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise DataFileError.at_line(path, at, "this is not a line of a history; name another file, or a new one.") from None
    return tuple(entries)


def history_chart(entries: Sequence[HistoryEntry]) -> Chart | None:
    """Return a chart of the shares at risk over the runs; None if there are fewer than two runs."""
    rows = tuple(
        (label, at, one.figures[name])
        for name, label in _SHARES.items()
        for at, one in enumerate(entries, start=1)
        if one.figures.get(name) is not None
    )
    if len(entries) < 2 or not rows:  # noqa: PLR2004 - one point is not a line
        return None
    note = f"Run 1 was on {entries[0].date[:10]}, run {len(entries):,} on {entries[-1].date[:10]}. Lower is safer."
    title = f"Risk over {len(entries):,} runs"
    return Chart("history", "lines", title, ("figure", "run", "share of records"), rows, note)


def history_table(entries: Sequence[HistoryEntry]) -> Table:
    """Return a table of the last runs, the latest first."""
    rows = tuple(
        (
            one.date[:16].replace("T", " "),
            one.release,
            one.status,
            one.records,
            one.columns,
            None if (k := one.figures.get("k_anonymity")) is None else int(k),
            *(one.figures.get(name) for name in _SHARES),
        )
        for one in reversed(entries[-_LAST:])
    )
    columns = ("run (UTC)", "release", "policy", "records", "columns", "k", *_SHARES.values())
    earlier = len(entries) - len(rows)
    return Table(columns, rows, "The last runs", f"{earlier:,} earlier runs are in the history." if earlier else "")
