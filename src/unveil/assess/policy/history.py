"""The history of a release that is made again and again: one line of JSON for every check, appended and never changed.

Two runs may end at the same time, so the file is locked while a line is appended, and a line is written whole. A line holds
figures, no values of the data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unveil.errors import DataFileError, shown
from unveil.output import cannot_write
from unveil.results import Chart, Table

if TYPE_CHECKING:
    from unveil.assess.policy.verdict import Verdict

__all__ = ["HistoryEntry", "append_history", "history_chart", "history_table", "read_history"]

_SHARES = {
    "sample_uniqueness": "records that are unique",
    "prosecutor_average": "average risk",
    "records_at_risk": "records in small classes",
}
"""The figures that the chart has a line for; all are shares of records."""
_LAST = 12


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The outcome of one check: when, of which file, under which policy, and its figures."""

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
    """Return the line of a verdict."""
    figures: dict[str, float | None] = {}
    for outcome in (*verdict.outcomes, *verdict.figures):
        of = "" if outcome.of == "the key" else f" of {outcome.of}"
        figures.setdefault(f"{outcome.rule.name}{of}", None if outcome.value is None else float(outcome.value))
    columns = 0 if verdict.profile is None else len(verdict.profile.columns)
    return HistoryEntry(
        verdict.evidence.date, Path(verdict.release).name, verdict.policy, verdict.status, verdict.made.records, columns, figures
    )


def append_history(path: str | os.PathLike[str], verdict: Verdict) -> tuple[HistoryEntry, ...]:
    """Append a verdict to a history, and return the whole history, this verdict last."""
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
    """Hold the file for this process alone, as long as the block lasts."""
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
    """Return how the shares at risk developed over the runs; None if there are fewer than two."""
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
    """Return the last runs, the latest first."""
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
