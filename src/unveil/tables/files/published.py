"""Published tables as files: one row per cell, or a crosstab, with blanks for suppressed cells.

A crosstab has the codes of the last dimension across, and those of the others in one column, separated by slashes. Its file does
not name the dimension across, so the caller must name the dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import Names, in_line, names_of, require_columns
from unveil.errors import ArgumentError, TableError, listed, shown
from unveil.partitions import Hierarchy
from unveil.results import Provenance
from unveil.sources import Data, open_source
from unveil.study import require_as_they_are, require_values
from unveil.tables.cells import equations, shape_of
from unveil.tables.classification import Classification
from unveil.tables.crosstable import CrossTable
from unveil.tables.hierarchies import chosen
from unveil.tables.propagation import propagated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Source
    from unveil.tables.rules import On
    from unveil.tables.suppression.result import SuppressedTable

__all__ = ["PublishedTable", "crosstab_cells", "dimensions_of", "is_crosstab", "read_published"]

_BETWEEN = " / "


def is_crosstab(source: Source, by: Sequence[str]) -> bool:
    """Whether the columns are those of a crosstab with the given dimensions."""
    names = source.names
    if not by or len(names) <= 1:
        return False
    if len(by) > 1:
        return names[0] == _BETWEEN.join(by[:-1]) and by[-1] not in names
    return names[0] == by[0] and source.collect([by[0]])[by[0]].to_list() in ([None], [""])


def crosstab_cells(source: Source, by: Sequence[str]) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return the cells of a crosstab one by one: the code of each along every dimension, and its entry."""
    label, *across = source.names
    frame = source.collect(list(source.names))
    labels = frame[label].to_list()
    down = [[] if len(by) == 1 else _codes(one, len(by) - 1) for one in labels]
    if wrong := sum(len(one) != len(by) - 1 for one in down):
        raise TableError(
            f"{wrong:,} rows of the crosstab do not begin with one code for each of: {in_line(by[:-1])}; a table with one row "
            "per cell says which is which."
        )
    columns = [frame[name].to_list() for name in across]
    codes = {name: [row[at] for row in down for _ in across] for at, name in enumerate(by[:-1])}
    codes[by[-1]] = across * len(down)
    return codes, [column[at] for at in range(len(down)) for column in columns]


def _codes(label: Any, dimensions: int) -> list[str]:
    """Return the codes in the label of a row; a single code may contain the separator."""
    text = "" if label is None else str(label)
    return [text] if dimensions == 1 else text.split(_BETWEEN)


_OWN = ("n", "value", "suppressed", "status", "low", "high")
"""The columns of a table written by this package that are not dimensions."""
_BLANK = ("", "x", "X", "c", "C", ".", "..", "...", "-", "*", "\u00d7", "null", "NA")
"""The entries that stand for a figure that is not published."""


@dataclass(slots=True, eq=False)
class PublishedTable:
    """The figures of a published table, by the cells of its dimensions.

    Attributes
    ----------
    dimensions
        The codes along each dimension.
    figure
        The figure of every cell; 0 if it is suppressed.
    suppressed
        A mask of the cells without a figure.
    on
        Whether the figures are counts or values.
    absent
        A mask of the cells that are not part of it at all; None: all are part of it.
    """

    dimensions: tuple[Classification, ...]
    figure: NDArray[np.float64]
    suppressed: NDArray[np.bool_]
    on: On
    absent: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, table: SuppressedTable) -> PublishedTable:
        """Return the published part of a table with suppressed cells."""
        amounts = table.table.amounts(table.on)
        hidden = table.suppressed
        if table.table.shown is not None:
            hidden = hidden | ~table.table.shown
        on: On = "count" if table.on == "count" else "value"
        absent = None if table.table.shown is None else ~table.table.shown
        return cls(table.table.dimensions, np.where(hidden, 0.0, amounts), hidden, on, absent)

    def reorder(self, dimensions: tuple[Classification, ...], order: NDArray[np.int64]) -> None:
        """Adopt the order of codes of another table."""
        self.dimensions, self.figure, self.suppressed = dimensions, self.figure[order], self.suppressed[order]
        self.absent = None if self.absent is None else self.absent[order]

    def publish_empty(self) -> None:
        """Treat absent cells that must be empty, because one of their totals is, as published and empty."""
        if self.absent is None or not self.absent.any():
            return
        unknown = np.flatnonzero(self.suppressed)
        matrix = equations(self.dimensions)
        right = -(matrix @ np.where(self.suppressed, 0.0, self.figure))
        part = matrix[:, unknown].tocsr()
        _, high = propagated(part, right, np.zeros(len(unknown)), np.full(len(unknown), np.inf))
        self.suppressed[unknown[self.absent[unknown] & (high <= 0)]] = False

    def table(self, *, signed: bool = False) -> CrossTable:
        """Return the figures as a table without knowledge about the contributors."""
        empty = (self.figure == 0) & ~self.suppressed
        n = np.where(empty, 0, 1) if self.on == "value" else np.where(self.suppressed, 1, np.rint(self.figure)).astype(np.int64)
        value = self.figure if self.on == "value" else None
        whole = n.astype(np.int64)
        return CrossTable(self.dimensions, whole, whole, value=value, signed=signed, made=Provenance(0, "category"))


def read_published(
    data: Data, by: Names | None, value: str | None, hierarchies: dict[str, Any], total: str, on: On | None = None
) -> PublishedTable:
    """Read a published table; its dimensions and figures are found by their usual names unless they are specified.

    A crosstab as this package writes it, with the last dimension across, can be read if its dimensions are named.
    """
    source = open_source(data)
    require_as_they_are(data, names_of(by))
    if is_crosstab(source, names_of(by)):
        codes, entries = crosstab_cells(source, names_of(by))
        numbers = _figures("the crosstab", entries)
        whole = bool((np.isnan(numbers) | (numbers == np.rint(numbers))).all())
        kind: On = on or ("count" if value is None and whole else "value")
        return _placed(codes, numbers, kind, hierarchies, total)
    figure_name = _figures_of(source.names, value, on)
    names = names_of(by) or _spanning(source.names, figure_name)
    if figure_name in names:
        raise ArgumentError(
            f"column {shown(figure_name)} is named as a dimension and as the figures; it can be only one of them."
        )
    require_columns([*names, figure_name], source.names)
    require_as_they_are(data, names)
    require_values(data, (figure_name,))
    frame = source.collect([*names, figure_name, *(["suppressed"] if "suppressed" in source.names else [])])
    numbers = _figures(f"column {shown(figure_name)}", frame[figure_name].to_list())
    if "suppressed" in source.names:
        gone = [str(one).lower() in ("true", "1", "yes") for one in frame["suppressed"].to_list()]
        numbers = np.where(gone, np.nan, numbers)
    return _placed({name: frame[name].to_list() for name in names}, numbers, _kind(figure_name, on), hierarchies, total)


def _placed(
    codes: dict[str, list[Any]], numbers: NDArray[np.float64], on: On, hierarchies: dict[str, Any], total: str
) -> PublishedTable:
    """Put figures, NaN if suppressed, into the cells of their codes."""
    by_dimension = chosen(hierarchies, list(codes))
    dimensions = tuple(_dimension(name, some, by_dimension.get(name, ()), total) for name, some in codes.items())
    shape_of(dimensions)
    places = [_places(one, codes[one.name]) for one in dimensions]
    cells = np.ravel_multi_index(places, [len(one) for one in dimensions])
    if len(np.unique(cells)) < len(cells):
        raise TableError(f"{len(cells) - len(np.unique(cells)):,} cells occur more than once in the published table.")
    size = int(np.prod([len(one) for one in dimensions]))
    figure, suppressed, absent = np.zeros(size), np.ones(size, dtype=bool), np.ones(size, dtype=bool)
    gone = np.isnan(numbers)
    figure[cells] = np.where(gone, 0.0, numbers)
    suppressed[cells] = gone
    absent[cells] = False
    return PublishedTable(dimensions, figure, suppressed, on, absent)


def dimensions_of(data: Data, figures: str | None = None, on: On | None = None) -> tuple[str, ...]:
    """Return the columns that span a published table: all but the figures and the columns that this package adds."""
    names = open_source(data).names
    return _spanning(names, _figures_of(names, figures, on))


def _figures_of(names: Sequence[str], named: str | None, on: On | None) -> str:
    """Return the column of the figures: the named one, or one with a usual name."""
    usual = ("n", "value") if on == "count" else ("value", "n")
    figures = named if named in names else next((name for name in usual if name in names), None)
    if figures is None:
        raise ArgumentError(
            f"no column of figures is named, and none is called value or n; columns are: {listed(names)}. A crosstab can be "
            "read if its dimensions are named (`by`), the one across last."
        )
    return figures


def _spanning(names: Sequence[str], figures: str) -> tuple[str, ...]:
    return tuple(name for name in names if name not in (*_OWN, figures))


def _kind(figures: str, on: On | None) -> On:
    """Return the content of a column of figures: by its usual name, else by `on`, else values."""
    named: On | None = {"n": "count", "value": "value"}.get(figures)  # type: ignore[assignment]
    if named is not None and on is not None and named != on:
        raise ArgumentError(f"the published figures are {named}s, but `on` says {on}s; name their column.")
    return named or on or "value"


def _dimension(name: str, codes: Sequence[Any], hierarchies: Sequence[Hierarchy], total: str) -> Classification:
    if hierarchies:
        return Classification.of(name, hierarchies, null="(missing)" in codes)
    texts = list(dict.fromkeys(str(code) for code in codes))
    if total not in texts:
        raise TableError(
            f"dimension {shown(name)} has no code {shown(total)} for its total; name the code of the total (`total`), or "
            "give a hierarchy."
        )
    return Classification.flat(name, [code for code in texts if code != total], total=total)


def _places(dimension: Classification, codes: Sequence[Any]) -> NDArray[np.int64]:
    strange = sum(str(code) not in dimension.place for code in codes)
    if strange:
        raise TableError(f"{strange:,} rows have a code of dimension {shown(dimension.name)} that its hierarchy does not have.")
    return np.array([dimension.place[str(code)] for code in codes], dtype=np.int64)


def _figures(place: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """Return the figures of a column or crosstab, NaN for blanks."""
    numbers = []
    for value in values:
        text = "" if value is None else str(value).strip()
        if text in _BLANK:
            numbers.append(np.nan)
            continue
        try:
            numbers.append(float(text.replace(",", "")) if isinstance(value, str) else float(value))
        except (OverflowError, TypeError, ValueError):
            raise TableError(f"{place} has entries that are neither figures nor blanks ({listed(_BLANK[1:6])}, ...).") from None
    return np.array(numbers)
