"""What do the columns of a table look like? Proposals, histograms, and columns that say the same, found by a job."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.app.jobs import Job
from unveil.app.state import Desk, reading
from unveil.assess.init import ColumnProposal, Start, start_project
from unveil.errors import UnsupportedDataError
from unveil.naming import hints_of
from unveil.results import Chart
from unveil.run import active_run
from unveil.sources import CodedTable, ReadOptions, open_source
from unveil.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnLook", "Look", "look_at", "looked", "looking", "unresolved"]

_BARS = 28
_SHORTEST_CODE = 4
_JOB = "look"


@dataclass(frozen=True, slots=True)
class ColumnLook:
    """What one column looks like.

    Attributes
    ----------
    proposal
        What it is proposed to be, and why.
    missing
        How many records have no value.
    histogram
        Its values, or intervals of them, with how often they occur; None where they cannot be counted.
    """

    proposal: ColumnProposal
    missing: int
    histogram: Chart | None

    @property
    def name(self) -> str:
        """The column."""
        return self.proposal.column

    @property
    def likely_name(self) -> bool:
        """Whether it probably names people outright."""
        return self.proposal.role == "identifier"


@dataclass(frozen=True, slots=True)
class Look:
    """What all columns look like.

    Attributes
    ----------
    start
        The project that would be proposed.
    columns
        The columns, in the order of the data.
    same
        Groups of columns of which each says what the others say: they part the records alike.
    zeros
        Columns of codes whose zeros in front seem to be lost.
    repeated
        Columns that say whose record it is, with several records for one value.
    """

    start: Start
    columns: tuple[ColumnLook, ...]
    same: tuple[tuple[str, ...], ...]
    zeros: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnLook:
        """Return what one column looks like."""
        return next(one for one in self.columns if one.name == name)

    def twins(self, name: str) -> tuple[str, ...]:
        """Return the columns that say the same as one."""
        return next((tuple(one for one in group if one != name) for group in self.same if name in group), ())


# The job --------------------------------------------------------------------------------------------------------------


def look_at(data: str, path: Path, options: ReadOptions) -> Look:
    """Look at all columns of some data, as a job does."""
    if options.text or options.missing_in:
        start = start_project(open_source(data, options), path)
    else:
        start = start_project(data, path, separator=options.separator, encoding=options.encoding, missing=options.missing)
    study = Study(open_source(data, replace(options, missing=start.project.data.missing or options.missing)))
    columns: list[ColumnLook] = []
    zeros: list[str] = []
    marks: dict[bytes, list[str]] = {}
    for proposal in active_run().each("columns", start.proposals):
        try:
            table = study.table([proposal.column], nulls="category")
        except UnsupportedDataError:
            columns.append(ColumnLook(proposal, 0, None))
            continue
        sizes = _sizes(table)
        coded = table.columns[0]
        missing = int(sizes[-1]) if coded.values and coded.values[len(coded.values) - 1] is None else 0
        columns.append(ColumnLook(proposal, missing, _histogram(proposal.column, coded.values, sizes)))
        if _lost_zeros(proposal.column, coded.values):
            zeros.append(proposal.column)
        if proposal.alone is not None and proposal.alone.distinct > 1 and not study.source.can_count:
            marks.setdefault(_mark(study.coded(proposal.column).codes), []).append(proposal.column)
    same = tuple(tuple(group) for group in marks.values() if len(group) > 1)
    repeated = tuple(one.name for one in columns if _is_repeated(one, start.records))
    return Look(start, tuple(columns), same, tuple(zeros), repeated)


def _lost_zeros(name: str, values: Sequence[Any]) -> bool:
    """Whether a column of codes holds whole numbers of different lengths: a spreadsheet drops the zeros in front."""
    if not hints_of(name) & {"postcode", "phone", "national-number"}:
        return False
    numbers = [value for value in values if value is not None]
    whole = all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in numbers)
    lengths = {len(str(value)) for value in numbers} if whole else set()
    return len(lengths) > 1 and max(lengths) >= _SHORTEST_CODE


def _is_repeated(one: ColumnLook, records: int) -> bool:
    """Whether a column that says whose record it is has values of several records."""
    figures, hints = one.proposal.alone, hints_of(one.name)
    if figures is None or not (hints & {"person-id", "national-number", "email", "account-name"} or {"person", "id"} <= hints):
        return False
    return 1 < figures.distinct < records - one.missing


def _sizes(table: CodedTable) -> NDArray[np.int64]:
    """Count the records of each value of a table of one column."""
    coded = table.columns[0]
    sizes = np.bincount(coded.codes, weights=table.n, minlength=len(coded.values))
    return np.asarray(np.rint(sizes), np.int64)


def _mark(codes: NDArray[Any]) -> bytes:
    """Return what is the same for columns that part the records alike: the codes in the order in which they first occur."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.uint32)
    order[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    return hashlib.sha256(order[inverse.ravel()].tobytes()).digest()


def _histogram(name: str, values: Sequence[Any], sizes: NDArray[np.int64]) -> Chart:
    """Return how often the values of a column occur: numbers and dates in order, texts by how often; many in intervals."""
    present = [(value, int(n)) for value, n in zip(values, sizes, strict=True) if value is not None]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value, _ in present)
    if numbers and len(present) > _BARS:
        rows = _intervals(np.array([float(value) for value, _ in present]), np.array([n for _, n in present]))
    elif numbers or all(hasattr(value, "isoformat") for value, _ in present):
        rows = _thinned(present)
    else:
        rows = [(str(value), n) for value, n in sorted(present, key=lambda one: -one[1])[:_BARS]]
    return Chart("histogram", "spark", f"How often the values of {name} occur", ("value", "records"), tuple(rows))


def _intervals(values: NDArray[np.float64], sizes: NDArray[np.int64]) -> list[tuple[str, int]]:
    finite = np.isfinite(values)
    heights, edges = np.histogram(values[finite], bins=_BARS, weights=sizes[finite])
    return [(f"{low:g} to {high:g}", int(n)) for low, high, n in zip(edges[:-1], edges[1:], heights, strict=True)]


def _thinned(present: list[tuple[Any, int]]) -> list[tuple[str, int]]:
    """Join neighbours until they are few enough to draw."""
    step = -(-len(present) // _BARS) or 1
    groups = [present[at : at + step] for at in range(0, len(present), step)]
    return [(str(group[0][0]) if len(group) == 1 else f"from {group[0][0]}", sum(n for _, n in group)) for group in groups]


# What the desk knows --------------------------------------------------------------------------------------------------


def looking(desk: Desk) -> Job:
    """Return the job that looks at the columns of what is open; it is started where there is none."""
    known = desk.memory.get(_JOB)
    if known is None:
        opened = desk.opened
        known = desk.jobs.start(_JOB, "Looking at the columns", look_at, opened.data, desk.project.path, reading(desk.project))
        desk.memory[_JOB] = known
    job: Job = known
    return job


def looked(desk: Desk) -> Look | None:
    """Return what the columns look like; None: that is not known yet."""
    job = looking(desk)
    if job.answer is not None:
        answer: Look = job.answer
        desk.take_missing(answer.start.project.data.missing)
        return answer
    return None


def unresolved(desk: Desk) -> list[str]:
    """Return the columns that probably name people, would stay, and for which nobody has given a reason."""
    look = looked(desk)
    if look is None:
        return []
    found = []
    for one in look.columns:
        said = desk.project.attributes.get(one.name)
        settled = said is not None and (said.role in {"identifier", "person"} or said.reason.strip())
        if one.likely_name and not settled:
            found.append(one.name)
    return found
