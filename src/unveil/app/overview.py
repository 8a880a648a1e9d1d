"""An overview of the columns of a table, made by a job: proposed roles, histograms, and equivalent columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.app.jobs import Job
from unveil.app.state import Desk, reading
from unveil.assess import ColumnProposal, Start, start_project
from unveil.errors import UnsupportedDataError
from unveil.results import Chart
from unveil.run import active_run
from unveil.sources import CodedTable, ReadOptions, open_source, read_options
from unveil.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnOverview", "Overview", "describe_columns", "overview_job", "overview_of", "unresolved"]

_BARS = 28
_JOB = "overview"
_WHO = frozenset({"identifier", "person"})
"""Roles of columns that identify people: proposed for columns that probably name people, which are then not released."""


@dataclass(frozen=True, slots=True)
class ColumnOverview:
    """The overview of one column.

    Attributes
    ----------
    proposal
        The proposed role, with the reason.
    missing
        The number of records without a value.
    histogram
        The frequencies of its values, or of intervals of them; None if they cannot be counted.
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
        """Whether it probably identifies people."""
        return self.proposal.role in _WHO


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview of all columns.

    Attributes
    ----------
    start
        The project that would be proposed.
    columns
        The columns, in the order of the data.
    """

    start: Start
    columns: tuple[ColumnOverview, ...]

    def column(self, name: str) -> ColumnOverview:
        """Return the overview of one column."""
        return next(one for one in self.columns if one.name == name)


# The job --------------------------------------------------------------------------------------------------------------


def describe_columns(data: str, path: Path, options: ReadOptions) -> Overview:
    """Make the overview of all columns of some data, in a job."""
    if options.missing_in:
        start = start_project(open_source(data, options), path)
    else:
        start = start_project(
            data, path, separator=options.separator, encoding=options.encoding, missing=options.missing, text=options.text
        )
    study = Study(open_source(data, replace(options, **_detected(start, options))))
    columns: list[ColumnOverview] = []
    for proposal in active_run().each("columns", start.proposals):
        try:
            table = study.table([proposal.column], nulls="category")
        except UnsupportedDataError:
            columns.append(ColumnOverview(proposal, 0, None))
            continue
        sizes, coded = _sizes(table), table.columns[0]
        missing = int(sizes[-1]) if coded.values and coded.values[len(coded.values) - 1] is None else 0
        columns.append(ColumnOverview(proposal, missing, _histogram(proposal.column, coded.values, sizes)))
    return Overview(start, tuple(columns))


def _detected(start: Start, options: ReadOptions) -> dict[str, Any]:
    """Return the read options that were detected for the proposals, else the requested ones."""
    reading = read_options(start.project, ReadOptions())
    return {name: getattr(reading, name) or getattr(options, name) for name in ("missing", "text", "missing_in")}


def _sizes(table: CodedTable) -> NDArray[np.int64]:
    """Count the records of each value of a table of one column."""
    coded = table.columns[0]
    sizes = np.bincount(coded.codes, weights=table.n, minlength=len(coded.values))
    return np.asarray(np.rint(sizes), np.int64)


def _histogram(name: str, values: Sequence[Any], sizes: NDArray[np.int64]) -> Chart:
    """Return the frequencies of values: numbers and dates in order, texts by frequency; many values in intervals."""
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
    """Join neighbours until there are few enough to draw."""
    step = -(-len(present) // _BARS) or 1
    groups = [present[at : at + step] for at in range(0, len(present), step)]
    return [(str(group[0][0]) if len(group) == 1 else f"from {group[0][0]}", sum(n for _, n in group)) for group in groups]


# The overview of the open data ----------------------------------------------------------------------------------------


def overview_job(desk: Desk) -> Job:
    """Return the job that makes the overview of the open data; it is started if there is none."""
    known = desk.memory.get(_JOB)
    if known is None:
        opened = desk.opened
        known = desk.jobs.start(
            _JOB, "Looking at the columns", describe_columns, opened.data, desk.project.path, reading(desk.project)
        )
        desk.memory[_JOB] = known
    job: Job = known
    return job


def overview_of(desk: Desk) -> Overview | None:
    """Return the overview of the open data; None until it is ready."""
    job = overview_job(desk)
    if job.answer is not None:
        answer: Overview = job.answer
        desk.take_reading(answer.start.project)
        return answer
    return None


def unresolved(desk: Desk) -> list[str]:
    """Return the columns that probably name people and would be released without a stated reason."""
    overview = overview_of(desk)
    if overview is None:
        return []
    names = []
    for one in overview.columns:
        attribute = desk.project.attributes.get(one.name)
        settled = attribute is not None and (attribute.role in _WHO or attribute.reason.strip())
        if one.likely_name and not settled:
            names.append(one.name)
    return names
