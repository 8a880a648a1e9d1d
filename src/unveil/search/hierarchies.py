"""How can a column be made coarser? By a hierarchy, built by a rule, proposed, or checked against the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, in_line, names_of
from unveil.errors import ArgumentError
from unveil.formats import jsonable
from unveil.naming import is_place
from unveil.partitions import Builder, Hierarchy, propose, rows_of
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks
from unveil.search.nesting import Nested, nested_places
from unveil.search.similarity import Similar, similar_values
from unveil.sources import Data
from unveil.study import Study, columns_of, studied

if TYPE_CHECKING:
    from rich.console import RenderableType

    from unveil.partitions import PathLike

__all__ = ["HierarchyReport", "build_hierarchy", "check_hierarchy", "propose_hierarchy"]

_MOST_ROWS = 10


@dataclass(frozen=True, slots=True)
class HierarchyReport(Result):
    """A hierarchy, how it was made, and the groups at its levels.

    Attributes
    ----------
    hierarchy
        The hierarchy itself; `write` puts it into a file.
    rule, reason
        The rule that built the hierarchy, if any, and, for a proposed hierarchy, the reason for choosing that rule.
    records
        How many records hold each leaf's value, if data was given.
    nulls
        How many records hold a null that the hierarchy does not name. A null is a value of its own at level 0 and fully
        generalised above.
    """

    hierarchy: Hierarchy
    rule: Builder | None = None
    reason: str | None = None
    records: tuple[int, ...] | None = None
    nulls: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the whole hierarchy, its rule and its levels."""
        from unveil import __version__

        return {
            "column": self.hierarchy.column,
            "leaves": len(self.hierarchy.leaves),
            "height": self.hierarchy.height,
            "rule": None if self.rule is None else jsonable(self.rule.to_dict()),
            "reason": self.reason,
            "records": None if self.records is None else sum(self.records) + self.nulls,
            "nulls": self.nulls,
            "levels": [dict(zip(_LEVEL, row, strict=True)) for row in self._levels()],
            "labels": [list(row) for row in self.hierarchy.labels],
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the labels, one column per level."""
        names = _names(self.hierarchy)
        return dict(zip(names, zip(*self.hierarchy.labels, strict=True), strict=True))

    def view(self) -> View:
        """Return the levels, and the first rows."""
        hierarchy, column = self.hierarchy, self.hierarchy.column
        figures = [Figure("values", len(hierarchy.leaves)), Figure("levels", hierarchy.height, "above the values")]
        if self.rule is not None:
            figures.append(Figure("rule", _in_words(self.rule)))
        shown = [round(at) for at in np.linspace(0, len(hierarchy.labels) - 1, min(_MOST_ROWS, len(hierarchy.labels)))]
        count = "" if len(hierarchy.labels) <= _MOST_ROWS else f"{_MOST_ROWS} of {len(hierarchy.labels):,} values, evenly spread"
        levels = tuple(row if self.records is not None else row[:4] for row in self._levels())
        names = ("level", "groups", "smallest", "largest", "fewest records", "median", "most records")
        return View(
            f"Hierarchy of {column}" if column is not None else "Hierarchy",
            tuple(figures),
            (
                Table(
                    names if self.records is not None else names[:4],
                    levels,
                    title="Levels",
                    note="smallest and largest: the values of a group; median: the records of the middle group",
                ),
                Table(_names(hierarchy), tuple(hierarchy.labels[at] for at in shown), title="Values", note=count),
            ),
            tuple(self._notes()),
        )

    def terminal_form(self, view: View) -> RenderableType:
        """Return the tables, followed by the tree."""
        from rich.console import Group

        from unveil.results import to_rich
        from unveil.search.hierarchy_tree import HierarchyTree

        return Group(to_rich(view), "", HierarchyTree(self.hierarchy, self.records))

    def __repr__(self) -> str:
        """Return one line that shows no value."""
        rule = f", {self.rule.name}" if self.rule is not None else ""
        return f"HierarchyReport({self.hierarchy!r}{rule})"

    def _levels(self) -> list[tuple[int, int, int, int, int | None, int | None, int | None]]:
        """Return each level's groups, their smallest and largest in values, and the smallest, middle and largest in records."""
        levels: list[tuple[int, int, int, int, int | None, int | None, int | None]] = []
        for level, labels in enumerate(zip(*self.hierarchy.labels, strict=True)):
            sizes = Counter(labels)
            held: Counter[str] = Counter()
            for label, n in zip(labels, self.records or (), strict=self.records is not None):
                held[label] += n
            counts = sorted(n for n in held.values() if n) or [0]
            records = (counts[0], counts[len(counts) // 2], counts[-1]) if self.records is not None else (None, None, None)
            levels.append((level, len(sizes), min(sizes.values()), max(sizes.values()), *records))
        return levels

    def _notes(self) -> list[str]:
        groups = [row[1] for row in self._levels()]
        notes = [f"why this rule: {self.reason}"] if self.reason is not None else []
        notes += [
            f"level {level} merges nothing that level {level - 1} does not"
            for level in range(1, len(groups))
            if groups[level] == groups[level - 1] > 1
        ]
        if groups[-1] > 1:
            notes.append("the top level is not one group; a search adds a level '*' above it")
        if self.nulls:
            notes.append(f"nulls: {self.nulls:,} records; a null is on its own at level 0 and fully generalised above")
        return notes


@looks
@checked_arguments
def propose_hierarchy(data: Data, column: str, *, similar: Names | None = None) -> HierarchyReport:
    """Propose a hierarchy that fits the kind and the distribution of a column's values.

    Dates are grouped into periods and numbers into nested intervals; postal codes and codes of equal length are shortened from
    the right; of other values, the rare ones are merged. If there are few values, the only level above them is the root. The
    report names the rule and the reason.

    Parameters
    ----------
    data
        A path, a built-in data set, a data frame, a table in an engine, counts, a `Study` or a project file.
    column
        The column.
    similar
        Columns by which values are compared: values whose records look alike in these columns are grouped. None: the values
        themselves decide.

    Returns
    -------
    HierarchyReport
        With the hierarchy in `hierarchy`.

    Examples
    --------
    >>> import unveil
    >>> report = unveil.propose_hierarchy("adult", "age")
    >>> report.rule
    Intervals(widths=(5, 10, 20, 40), origin=0, bottom=None, top=75)
    """
    with studied(data) as study:
        values, counts = _counted(study, column)
        known = _within(study, column) if similar is None else _alike(study, column, names_of(similar))
    if known is not None:
        return _built(known[0], known[1], values, counts, column)
    with active_run().stage("hierarchy"):
        proposal = active_run().watching(lambda: propose(values, counts, column=column))
        return _report(proposal.hierarchy, values, counts, rule=proposal.rule, reason=proposal.reason)


@looks
@checked_arguments
def build_hierarchy(data: Data, column: str, rule: Builder) -> HierarchyReport:
    """Build a hierarchy of a column's values by a rule.

    Parameters
    ----------
    data
        A path, a built-in data set, a data frame, a table in an engine, counts, a `Study` or a project file.
    column
        The column.
    rule
        One of `unveil.partitions.builders`: Intervals, Groups, Redaction, PostalCodes, Dates, Rare, RootOnly.

    Returns
    -------
    HierarchyReport
        With the hierarchy in `hierarchy`.

    Raises
    ------
    HierarchyError
        If the rule cannot place some values; the message says how many.

    Examples
    --------
    >>> import unveil
    >>> from unveil.partitions.builders import Intervals
    >>> unveil.build_hierarchy("adult", "age", Intervals((5, 10, 20))).hierarchy
    Hierarchy('age', 72 leaves, height 4)
    """
    with studied(data) as study:
        values, counts = _counted(study, column)
    return _built(rule, None, values, counts, column)


@looks
@checked_arguments
def check_hierarchy(hierarchy: Hierarchy | PathLike, data: Data | None = None, column: str | None = None) -> HierarchyReport:
    """Check that a hierarchy is a chain, and that it covers every value of a column if data is given.

    Parameters
    ----------
    hierarchy
        A hierarchy, or the file of one.
    data
        The data to compare the hierarchy with; none: only the chain is checked.
    column
        The column; none: the column that the hierarchy or its file names.

    Returns
    -------
    HierarchyReport
        The groups at each level.

    Raises
    ------
    HierarchyError
        If the hierarchy is not a chain, or does not cover some values; the message says how many, and at which level.

    Examples
    --------
    >>> import unveil
    >>> sex = unveil.Hierarchy("sex", [["Female", "*"], ["Male", "*"]])
    >>> unveil.check_hierarchy(sex, "adult").records
    (9782, 20380)
    """
    checked = hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, column=column)
    if column is not None and column != checked.column:
        checked = Hierarchy(column, checked.labels)
    if data is None:
        return HierarchyReport(checked)
    with studied(data) as study:
        values, counts = _counted(study, checked.column or "")
    return _report(checked, values, counts)


_LEVEL = ("level", "groups", "smallest", "largest", "fewest_records", "median_records", "most_records")


def _alike(study: Study, column: str, by: Sequence[str]) -> tuple[Similar, str]:
    """Return the rule that groups values by the other columns of their records, and the reason for it."""
    if column in by or not by:
        raise ArgumentError("values are compared in columns other than their own; name one or more.")
    reason = f"values grouped so that least is lost of what they say about {in_line(by)}"
    return similar_values(columns_of(study, [column, *by]), column, by), reason


def _within(study: Study, column: str) -> tuple[Nested, str] | None:
    """Return the rule that nests a column's places within those of other columns, and the reason; None if they do not nest."""
    places = [name for name in study.names if is_place(name)]
    if column not in places or len(places) < 2:  # noqa: PLR2004 - two places
        return None
    return nested_places(columns_of(study, places), only=(column,)).get(column)


def _counted(study: Study, column: str) -> tuple[list[Any], list[int]]:
    """Return the distinct values of a column, null included, and how many records hold each."""
    counts = study.counts([column], nulls="category", partitions={})
    values = counts.columns[0].values
    return [*values], np.bincount(counts.codes[0], weights=counts.n, minlength=len(values)).astype(np.int64).tolist()


def _built(rule: Builder, reason: str | None, values: Sequence[Any], counts: Sequence[int], column: str) -> HierarchyReport:
    with active_run().stage("hierarchy"):
        hierarchy = active_run().watching(lambda: rule.build(values, counts, column=column))
        return _report(hierarchy, values, counts, rule=rule, reason=reason)


def _report(hierarchy: Hierarchy, values: Sequence[Any], counts: Sequence[int], **made: Any) -> HierarchyReport:
    """Report on a hierarchy with the number of records of each leaf; refuse values without a leaf."""
    rows = rows_of(hierarchy, values)
    records = np.bincount(rows[rows >= 0], weights=np.array(counts)[rows >= 0], minlength=len(hierarchy.labels))
    nulls = int(np.array(counts)[rows < 0].sum())
    return HierarchyReport(hierarchy, records=tuple(records.astype(np.int64).tolist()), nulls=nulls, **made)


def _names(hierarchy: Hierarchy) -> tuple[str, ...]:
    return ("value", *(f"level {number}" for number in range(1, hierarchy.height + 1)))


def _in_words(rule: Builder) -> str:
    settings = {name: value for name, value in rule.to_dict().items() if name != "rule"}
    texts = [
        f"{name} {', '.join(map(str, value))}" if isinstance(value, list) else f"{name} {value}"
        for name, value in settings.items()
    ]
    return "; ".join([rule.name, *texts])
