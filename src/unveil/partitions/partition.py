"""Partitions: blocks of a column's values that mean the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from unveil.arguments import checked_arguments
from unveil.errors import PartitionError, listed
from unveil.partitions.files import DocumentError, PathLike, parse_json, parse_toml, read_text
from unveil.partitions.matching import moment_of, number_of, text_of
from unveil.partitions.rules import Blocks, Function, IntervalBlocks, PartitionRule, column_said

__all__ = ["Partition", "PartitionSpec"]

PartitionSpec: TypeAlias = Union["Partition", Sequence[Any], npt.NDArray[Any], Mapping[Any, Any], Callable[[Any], Any]]
"""Anything that `Partition.of` accepts."""

_FORMS = ("blocks", "edges", "mapping")


@dataclass(frozen=True, slots=True, repr=False)
class Partition:
    """A semantic partition of one column: disjoint, non-empty blocks that cover every value present.

    Values are matched by value. If a column holds numbers, members given as text that represents a number match too; if it
    holds text, a number matches by its text form (22 matches ``"22"``); booleans and dates match their text (``true``, ISO
    8601). A null keeps a block of its own, labelled None, unless a block names None.

    Two partitions are equal when they have the same labels in the same order, over the same members, edges or function.

    Parameters
    ----------
    rule
        The rule by which blocks are found. Use one of the constructors instead; `of` accepts any description.

    See Also
    --------
    Hierarchy : A chain of ever coarser partitions.

    Examples
    --------
    >>> partition = Partition.of([["flu", "cold"], ["aids", "diabetes"]])
    >>> codes, labels = partition.apply(["aids", "cold", "diabetes", "flu"], "disease")
    >>> codes.tolist(), labels
    ([1, 0, 1, 0], ['{flu, cold}', '{aids, diabetes}'])
    >>> partition.apply(["aids", "malaria"], "disease")
    Traceback (most recent call last):
        ...
    unveil.errors.PartitionError: column 'disease': 1 of 2 values present is in no block of the partition.
    """

    rule: PartitionRule

    @classmethod
    @checked_arguments
    def of(cls, spec: PartitionSpec, *, column: str | None = None) -> Partition:
        """Return the partition that `spec` describes.

        Parameters
        ----------
        spec
            A partition; a list of blocks (each a list of values); a flat list of numbers or dates, treated as edges; a function
            from value to label; ``{"blocks": [...], "labels": [...]}``, ``{"edges": [...]}`` or ``{"mapping": {...}}``; any
            other mapping, from value to label.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            The result of `from_blocks`, `from_edges`, `from_mapping` or `from_function`.

        Raises
        ------
        PartitionError
            If `spec` is none of these, or its blocks overlap or are empty.

        Examples
        --------
        >>> Partition.of([20, 40, 60]) == Partition.of({"edges": [20, 40, 60]})
        True
        >>> Partition.of({"flu": "mild", "cold": "mild", "aids": "grave"})
        Partition(2 blocks)
        """
        if isinstance(spec, Partition):
            return spec
        if isinstance(spec, Mapping):
            return cls._from_table(spec, column) if _is_spec(spec) else cls.from_mapping(spec, column=column)
        if isinstance(spec, np.ndarray):
            spec = spec.tolist()
        if isinstance(spec, Sequence) and not isinstance(spec, (str, bytes)):
            if spec and not any(_is_block(item) for item in spec) and all(_is_edge(item) for item in spec):
                return cls.from_edges(spec, column=column)
            return cls.from_blocks(spec, column=column)
        if callable(spec):
            return cls.from_function(spec)
        raise PartitionError(
            f"{column_said(column)}a partition is blocks (a list of lists of values), edges, a mapping from value to label, or "
            f"a function; found: {type(spec).__name__}."
        )

    @classmethod
    @checked_arguments
    def from_blocks(cls, blocks: Iterable[Any], labels: Sequence[Any] | None = None, *, column: str | None = None) -> Partition:
        """Return the partition of the blocks, each a list of its values.

        Parameters
        ----------
        blocks
            The values of each block. A value may be in only one block; None is the null.
        labels
            A label for each block, all different. By default the values in braces, truncated if there are many.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            The blocks in the order given.

        Raises
        ------
        PartitionError
            If there is no block, a block is empty, or a value is in two.

        Examples
        --------
        >>> partition = Partition.from_blocks([["22", "32"], ["35"]], labels=["young", "old"])
        >>> codes, labels = partition.apply([22, 32, 35], "age")
        >>> codes.tolist(), labels
        ([0, 0, 1], ['young', 'old'])
        """
        lists: list[list[Any]] = []
        for number, block in enumerate(blocks, start=1):
            if not _is_block(block):
                raise PartitionError(
                    f"{column_said(column)}block {number} is not a list of values; blocks are written [[a, b], [c]], "
                    "edges as numbers or dates."
                )
            ordered = sorted(block, key=text_of) if isinstance(block, (set, frozenset)) else list(block)
            if any(_is_block(member) or isinstance(member, Mapping) for member in ordered):
                raise PartitionError(f"{column_said(column)}block {number} holds a list; a block is a flat list of values.")
            lists.append(ordered)
        return cls(Blocks.checked(lists, labels, column=column))

    @classmethod
    @checked_arguments
    def from_mapping(cls, mapping: Mapping[Any, Any], *, column: str | None = None) -> Partition:
        """Return the partition that puts values with the same label into one block.

        Parameters
        ----------
        mapping
            A mapping from each value to the label of its block. Labels are compared and shown as text.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            With its blocks in the order in which the mapping first names their labels.

        Raises
        ------
        PartitionError
            If the mapping is empty or a label is neither text nor number.

        Examples
        --------
        >>> Partition.from_mapping({"Paris": "France", "Lyon": "France", "Rome": "Italy"}).to_dict()
        {'mapping': {'Paris': 'France', 'Lyon': 'France', 'Rome': 'Italy'}}
        """
        nameless = sum(label is None or _is_block(label) or isinstance(label, Mapping) for label in mapping.values())
        if nameless:
            raise PartitionError(
                f"{column_said(column)}a mapping goes from value to label (or holds one of: {listed(_FORMS)}); values mapped to "
                f"no label: {nameless:,} of {len(mapping):,}."
            )
        blocks: dict[str, list[Any]] = {}
        for value, label in mapping.items():
            blocks.setdefault(text_of(label), []).append(value)
        return cls(Blocks.checked(list(blocks.values()), list(blocks), column=column, mapping=True))

    @classmethod
    @checked_arguments
    def from_edges(cls, edges: Iterable[Any], *, column: str | None = None) -> Partition:
        """Return the partition into half-open intervals [a, b) between neighbouring edges.

        Parameters
        ----------
        edges
            Two or more numbers, or dates (also as ISO 8601 text), strictly increasing. The first may be -inf, the last inf,
            also as text. Moments with a time zone are compared by their local time.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            For columns of numbers or dates, or of text that represents them.

        Raises
        ------
        PartitionError
            If there are fewer than two edges, or they do not increase.

        Examples
        --------
        >>> partition = Partition.from_edges([20, 40, 60, "inf"])
        >>> codes, labels = partition.apply([59, "20", 60.5, 40], "age")
        >>> codes.tolist(), labels
        ([1, 0, 2, 1], ['[20, 40)', '[40, 60)', '>= 60'])
        """
        return cls(IntervalBlocks.checked(list(edges), column=column))

    @classmethod
    @checked_arguments
    def from_function(cls, function: Callable[[Any], Any]) -> Partition:
        """Return the partition that puts values with the same result into one block.

        Parameters
        ----------
        function
            A function from a value to the label of its block; None means that the value is in no block. It is not called for a
            null.

        Returns
        -------
        Partition
            With its blocks in the order of their labels' text.

        Examples
        --------
        >>> by_department = Partition.from_function(lambda zip_code: zip_code[:2])
        >>> codes, labels = by_department.apply(["75011", "69003", "75001"], "zip")
        >>> codes.tolist(), labels
        ([1, 0, 1], ['69', '75'])
        """
        return cls(Function(function))

    @classmethod
    @checked_arguments
    def from_document(cls, document: Any, *, column: str | None = None) -> Partition:
        """Return the partition that a JSON or TOML document describes.

        Parameters
        ----------
        document
            A list of blocks, a flat list of edges, or a table with exactly one of ``blocks`` (optionally with ``labels``),
            ``edges`` and ``mapping``.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            As returned by `of`, except that a table by itself is never a mapping from value to label.

        Raises
        ------
        PartitionError
            If the document is none of these.

        Examples
        --------
        >>> Partition.from_document({"edges": [0, 18, "inf"]})
        Partition(2 intervals)
        """
        if isinstance(document, Mapping):
            return cls._from_table(document, column)
        if isinstance(document, (list, tuple)):
            return cls.of(document, column=column)
        raise PartitionError(f"{column_said(column)}a partition is a list of blocks, or a table with one of: {listed(_FORMS)}.")

    @classmethod
    @checked_arguments
    def read(cls, path: PathLike, *, column: str | None = None) -> Partition:
        """Read a partition from a `.json` or `.toml` file.

        Parameters
        ----------
        path
            A JSON list of blocks, or a JSON object or TOML file with one of ``blocks`` (and ``labels``), ``edges``,
            ``mapping``.
        column
            The column of the partition, named if the partition is refused.

        Returns
        -------
        Partition
            As returned by `from_document`.

        Raises
        ------
        DataNotFoundError
            If the file does not exist.
        PartitionError
            If it cannot be read (with the line), or does not hold a partition.
        """
        place = Path(path)
        parsers: dict[str, Callable[[str], Any]] = {".json": parse_json, ".toml": parse_toml}
        parse = parsers.get(place.suffix.casefold())
        if parse is None:
            raise PartitionError(f"{place}: the name of a partition file ends in .json or .toml.")
        try:
            document = parse(read_text(place, PartitionError))
        except DocumentError as problem:
            line = f", line {problem.line:,}" if problem.line else ""
            raise PartitionError(f"{place}{line}: {problem.problem}") from None
        try:
            return cls.from_document(document, column=column)
        except PartitionError as problem:
            raise PartitionError(f"{place}: {problem}") from None

    @checked_arguments
    def apply(self, values: Sequence[Any], column: str | None = None) -> tuple[npt.NDArray[np.int64], list[str | None]]:
        """Return the block of each of a column's distinct values, and the labels of the blocks in use.

        Parameters
        ----------
        values
            The values present, None for the null.
        column
            Their column, named if the partition does not fit them.

        Returns
        -------
        codes
            The number of each value's block, counted over the blocks in use.
        labels
            The label of each block that holds a value present, in the blocks' order; a null's own block is the last,
            with the label None.

        Raises
        ------
        PartitionError
            If a value is in no block or in two, or if the partition has edges and a value is not a number.

        Examples
        --------
        >>> codes, labels = Partition.from_blocks([["a"], ["b"], ["c"]]).apply(["c", None, "a"], "grade")
        >>> codes.tolist(), labels
        ([1, 2, 0], ['{a}', '{c}', None])
        """
        placed, labels = self.rule.place(values, column)
        used, codes = np.unique(np.asarray(placed, dtype=np.int64), return_inverse=True)
        all_labels: list[str | None] = [*labels, None]
        return codes.astype(np.int64, copy=False), [all_labels[block] for block in used.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return the partition in a form that JSON can represent; a function only by its name.

        Returns
        -------
        dict
            A document from which `from_document` reads an equal partition, unless it was made from a function.

        Examples
        --------
        >>> Partition.from_edges([0, 18, float("inf")]).to_dict()
        {'edges': [0, 18, 'inf']}
        """
        return self.rule.to_dict()

    def __repr__(self) -> str:
        """Return one line that shows no value."""
        return f"Partition({self.rule})"

    @classmethod
    def _from_table(cls, table: Mapping[Any, Any], column: str | None) -> Partition:
        named = [form for form in _FORMS if form in table]
        others = [key for key in table if key not in _FORMS and not (key == "labels" and named == ["blocks"])]
        if len(named) != 1 or others:
            raise PartitionError(
                f"{column_said(column)}a partition's table has exactly one of: {listed(_FORMS)} (and labels only beside blocks)."
            )
        form, labels = named[0], table.get("labels")
        content = table[form]
        if form == "mapping" and isinstance(content, Mapping):
            return cls.from_mapping(content, column=column)
        listing = isinstance(content, (list, tuple)) and isinstance(labels, (list, tuple, type(None)))
        if form == "edges" and listing:
            return cls.from_edges(content, column=column)
        if form == "blocks" and listing:
            return cls.from_blocks(content, labels, column=column)
        raise PartitionError(f"{column_said(column)}blocks, edges and labels are lists; mapping is a table from value to label.")


def _is_spec(spec: Mapping[Any, Any]) -> bool:
    """Distinguish `{"edges": [...]}` from a mapping of values that happen to have such names."""
    lists = all(isinstance(spec[key], (list, tuple)) for key in ("blocks", "edges", "labels") if key in spec)
    table = isinstance(spec.get("mapping", {}), Mapping)
    return bool(spec) and set(spec) <= {*_FORMS, "labels"} and lists and table


def _is_block(item: Any) -> bool:
    return isinstance(item, Iterable) and not isinstance(item, (str, bytes, Mapping))


def _is_edge(item: Any) -> bool:
    return number_of(item) is not None or moment_of(item) is not None
