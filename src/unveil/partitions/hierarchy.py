"""Hierarchies: step by step, the values of a column become coarser.

A hierarchy gives every value a label at each level: level 0 is the value itself, each level above is coarser or equal. The file
format is that of ARX: one row per value, `value;level 1;level 2;...`, without a header.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.arguments import checked_arguments, shown_number
from unveil.errors import HierarchyError, PartitionError, shown
from unveil.partitions.files import DocumentError, PathLike, hierarchy_file, read_text, write_whole
from unveil.partitions.matching import ROOT, Levels, levels_of, rows_of, text_of
from unveil.partitions.partition import Partition, PartitionSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Hierarchy"]

_SEPARATORS = (";", ",", "\t")
_QUOTED = frozenset('";,\t\r\n\ufeff')


@dataclass(frozen=True, slots=True, repr=False)
class Hierarchy:
    """A chain of ever coarser partitions of one column.

    A null is not a leaf: it keeps a block of its own at every level.

    Parameters
    ----------
    column
        The column of the hierarchy, or None.
    labels
        One row per leaf: the value, then its label at each level. Stored as text.

    Raises
    ------
    HierarchyError
        If there is no row, the rows differ in length, a value has two rows, or a level is not coarser than the one
        before: a label leads to two labels of the next level.

    See Also
    --------
    Partition : One level alone.

    Examples
    --------
    >>> rows = [["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Lima", "Peru", "America"]]
    >>> cities = Hierarchy("city", rows)
    >>> cities
    Hierarchy('city', 3 leaves, height 2)
    >>> codes, labels = cities.level(1).apply(["Lima", "Lyon", "Paris"], "city")
    >>> codes.tolist(), labels
    ([1, 0, 0], ['France', 'Peru'])
    >>> cities.with_root().height
    3
    """

    column: str | None
    labels: tuple[tuple[str, ...], ...]

    @checked_arguments
    def __init__(self, column: str | None, labels: Iterable[Iterable[Any]]) -> None:
        cells = [list(row) for row in labels]
        if nulls := sum(cell is None for row in cells for cell in row):
            raise HierarchyError(f"{_of(column)} {nulls:,} {'label is' if nulls == 1 else 'labels are'} null.")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "labels", tuple(tuple(map(text_of, row)) for row in cells))
        self._refuse_ragged()
        self._refuse_twins()
        self._refuse_splits()

    @classmethod
    @checked_arguments
    def read(cls, path: PathLike, column: str | None = None, separator: str | None = None) -> Hierarchy:
        """Read a hierarchy in ARX's CSV form: `value;level 1;level 2;...`, without a header, UTF-8.

        Parameters
        ----------
        path
            The file.
        column
            The column of the hierarchy. By default the file's name without its extension; if it contains ``_hierarchy_``, the
            part after that.
        separator
            The separator between labels; by default detected among semicolon, comma and tab, in this order.

        Returns
        -------
        Hierarchy
            Its leaves in the order of the file.

        Raises
        ------
        DataNotFoundError
            If the file does not exist.
        HierarchyError
            If the file does not hold a hierarchy, with the line if a single line is the cause.
        """
        place = Path(path)
        text = read_text(place, HierarchyError)
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise HierarchyError(f"{place}: the separator is one character, and no quote or line end.")
        rows = _rows(text, separator or _separator_of(text), place)
        name = column if column is not None else place.stem.rpartition("_hierarchy_")[2]
        try:
            return cls(name, rows)
        except HierarchyError as problem:
            raise HierarchyError(f"{place}: {problem}") from None

    @classmethod
    @checked_arguments
    def read_folder(cls, folder: PathLike, columns: Iterable[str]) -> dict[str, Hierarchy]:
        """Read the hierarchies of several columns from a folder with one file for each.

        Parameters
        ----------
        folder
            It contains ``<column>.csv`` or ``<anything>_hierarchy_<column>.csv`` for each column, in ARX's format.
        columns
            The columns.

        Returns
        -------
        dict
            A hierarchy for each column, in the order given, each with a common root: ``*`` is added if there is none.

        Raises
        ------
        DataNotFoundError
            If the folder or a column's file does not exist.
        HierarchyError
            If two files could belong to a column, or a file does not hold a hierarchy.
        """
        return {name: cls.read(hierarchy_file(folder, name), column=name).with_root() for name in columns}

    @classmethod
    @checked_arguments
    def from_levels(cls, values: Sequence[Any], *levels: Sequence[Any], column: str | None = None) -> Hierarchy:
        """Return the hierarchy of the values, with the labels of each level in the order of the values.

        Parameters
        ----------
        values
            The leaves. A null among them is left out, with its labels.
        *levels
            For each level above the values, one label per value.
        column
            The column of the hierarchy.

        Returns
        -------
        Hierarchy
            With one level for each list of labels, above the values.

        Raises
        ------
        HierarchyError
            If a level does not have one label per value, or if `Hierarchy` refuses the labels.

        Examples
        --------
        >>> Hierarchy.from_levels(["a", "b", "c"], ["ab", "ab", "c"], column="grade").with_root().labels
        (('a', 'ab', '*'), ('b', 'ab', '*'), ('c', 'c', '*'))
        """
        for number, level in enumerate(levels, start=1):
            if len(level) != len(values):
                raise HierarchyError(
                    f"{_of(column)} level {number} has {len(level):,} labels for {len(values):,} values; it needs one for each."
                )
        rows = zip(values, *levels, strict=True)
        return cls(column, (row for row in rows if row[0] is not None))

    @classmethod
    @checked_arguments
    def from_partitions(
        cls, values: Sequence[Any], partitions: Iterable[PartitionSpec], *, column: str | None = None
    ) -> Hierarchy:
        """Return the hierarchy formed by ever coarser partitions of the values.

        Parameters
        ----------
        values
            The leaves. A null among them is left out.
        partitions
            For each level above the values, a partition or anything that `Partition.of` accepts.
        column
            The column of the hierarchy.

        Returns
        -------
        Hierarchy
            With one level for each partition, above the values.

        Raises
        ------
        PartitionError
            If a partition does not cover the values.
        HierarchyError
            If a partition is not coarser than the one before.

        Examples
        --------
        >>> ages = Hierarchy.from_partitions([21, 38, 59], [[20, 30, 40, 60], [20, 40, 60]], column="age")
        >>> ages.labels
        (('21', '[20, 30)', '[20, 40)'), ('38', '[30, 40)', '[20, 40)'), ('59', '[40, 60)', '[40, 60)'))
        """
        leaves = [value for value in values if value is not None]
        levels: list[list[str | None]] = []
        for number, spec in enumerate(partitions, start=1):
            try:
                codes, labels = Partition.of(spec).apply(leaves)
            except PartitionError as problem:
                raise PartitionError(f"{_of(column)} level {number}: {problem}") from None
            levels.append([labels[code] for code in codes.tolist()])
        return cls.from_levels(leaves, *levels, column=column)

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.labels[0]) - 1

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, as text, in the order given."""
        return tuple(row[0] for row in self.labels)

    @checked_arguments
    def level(self, number: int) -> Partition:
        """Return the partition at a level: 0 keeps every value separate, `height` is the coarsest.

        Parameters
        ----------
        number
            The level, from 0 to `height`.

        Returns
        -------
        Partition
            A partition of the values by their labels at that level.

        Raises
        ------
        HierarchyError
            If there is no such level.
        """
        if not 0 <= number <= self.height:
            raise HierarchyError(f"{_of(self.column)} there is no level {shown_number(number)}; levels are 0 to {self.height}.")
        return Partition.from_mapping({row[0]: row[number] for row in self.labels}, column=self.column)

    @checked_arguments
    def check_covers(self, values: Iterable[Any]) -> None:
        """Refuse values for which the hierarchy has no leaf; numbers match their text, and a null needs no leaf.

        Parameters
        ----------
        values
            The values present in the column.

        Raises
        ------
        HierarchyError
            If values are missing, or in two rows; the message states how many, not which.
        """
        rows_of(self, values)

    @checked_arguments
    def levels_for(self, values: Sequence[Any]) -> Levels:
        """Return the hierarchy in numbers: the group of each of a column's distinct values, at every level.

        Parameters
        ----------
        values
            The values present, None for the null; numbers match their text.

        Returns
        -------
        Levels
            For each level the groups of the values, the labels of the groups and their shares of the leaves. A null stands
            alone at level 0 and, unless the empty leaf is its own, is fully generalised above.

        Raises
        ------
        HierarchyError
            If a value has no leaf, or two.

        Examples
        --------
        >>> rows = [["17", "teens", "*"], ["19", "teens", "*"], ["30", "thirties", "*"], ["31", "thirties", "*"]]
        >>> ages = Hierarchy("age", rows).levels_for([17, 19, 30, None])
        >>> [level.tolist() for level in ages.groups]
        [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 0]]
        >>> ages.labels[1], ages.shares[1].tolist()
        (('teens', 'thirties', '*'), [0.5, 0.5, 1.0])
        """
        return levels_of(self, values)

    def with_root(self) -> Hierarchy:
        """Return a hierarchy whose top level is a single label: itself if that is already so, else with a level `*` above.

        Returns
        -------
        Hierarchy
            At most one level higher.
        """
        if len({row[-1] for row in self.labels}) == 1:
            return self
        rooted = object.__new__(Hierarchy)  # it needs no check: the same label is added to each row
        object.__setattr__(rooted, "column", self.column)
        object.__setattr__(rooted, "labels", tuple((*row, ROOT) for row in self.labels))
        return rooted

    @checked_arguments
    def write(self, path: PathLike, separator: str = ";") -> None:
        """Write the hierarchy in ARX's CSV form, whole or not at all.

        Parameters
        ----------
        path
            The file, replaced if it exists.
        separator
            The separator between labels: semicolon, comma or tab, so that `read` detects it.

        Raises
        ------
        HierarchyError
            If the separator is not one of these.
        OutputError
            If the file cannot be written.
        """
        if separator not in _SEPARATORS:
            raise HierarchyError(f"{_of(self.column)} the separator is a semicolon, a comma or a tab.")
        write_whole(path, "".join(separator.join(map(_quoted, row)) + "\n" for row in self.labels))

    def __repr__(self) -> str:
        """Return one line that shows no value."""
        leaves = f"{len(self.labels)} {'leaf' if len(self.labels) == 1 else 'leaves'}"
        return f"Hierarchy({self.column!r}, {leaves}, height {self.height})"

    def _refuse_ragged(self) -> None:
        if not self.labels:
            raise HierarchyError(f"{_of(self.column)} there are no values in it.")
        width = len(self.labels[0])
        ragged = sum(len(row) != width for row in self.labels)
        if ragged or not width:
            raise HierarchyError(
                f"{_of(self.column)} {ragged:,} of {len(self.labels):,} rows are not as long as the first; "
                "each row needs a label for every level."
            )

    def _refuse_twins(self) -> None:
        twins = len(self.labels) - len(set(self.leaves))
        if twins:
            raise HierarchyError(f"{_of(self.column)} {twins:,} of {len(self.labels):,} rows repeat a value of another row.")

    def _refuse_splits(self) -> None:
        for level in range(1, self.height):
            above: dict[str, set[str]] = {}
            for row in self.labels:
                above.setdefault(row[level], set()).add(row[level + 1])
            split = {label for label, labels in above.items() if len(labels) > 1}
            if split:
                verb = "label leads" if len(split) == 1 else "labels lead"
                values = sum(row[level] in split for row in self.labels)
                raise HierarchyError(
                    f"{_of(self.column)} at level {level}, {len(split):,} {verb} to more than one label of level {level + 1} "
                    f"({values:,} of {len(self.labels):,} values); each level must be coarser than the one before."
                )


def _of(column: str | None) -> str:
    return f"hierarchy of column {shown(column)}:" if column is not None else "hierarchy:"


def _quoted(label: str) -> str:
    """Quote a label that could be read back differently, whichever separator the reader tries."""
    plain = label and not _QUOTED.intersection(label) and label == label.strip()
    return label if plain else '"' + label.replace('"', '""') + '"'


def _parsed(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as problem:
        raise DocumentError(f"the row is not CSV: {problem}.", line) from None


def _separator_of(text: str) -> str:
    """Find the separator that splits all rows into equally many labels, else one that splits the first row."""
    fallback: list[str] = []
    for separator in _SEPARATORS:
        widths: list[int] = []
        try:
            widths.extend(len(row) for _, row in _parsed(text, separator))
        except DocumentError:
            widths.append(0)
        if widths and widths[0] > 1:
            if len(set(widths)) == 1:
                return separator
            fallback.append(separator)
    return (*fallback, _SEPARATORS[0])[0]


def _rows(text: str, separator: str, place: Path) -> list[list[str]]:
    rows: list[list[str]] = []
    line_of: dict[str, int] = {}
    try:
        for line, row in _parsed(text, separator):
            if rows and len(row) != len(rows[0]):
                raise HierarchyError(
                    f"{place}, line {line:,}: the row has {len(row):,} labels where the first has {len(rows[0]):,}."
                )
            first = line_of.setdefault(row[0], line)
            if first != line:
                raise HierarchyError(f"{place}, line {line:,}: the value of this row has one already, in line {first:,}.")
            rows.append(row)
    except DocumentError as problem:
        raise HierarchyError(f"{place}, line {problem.line:,}: {problem.problem}") from None
    return rows
