"""Which partitions make original and noisy values comparable? Candidates, from coarse to fine, with the bias of each measured.

Noise makes values that the original lacks, nearly all of them different, so that value by value everything looks identified.
Blocks make the two comparable. Blocks that are too fine measure the noise again: the rate that a random pairing of the same
blocks would give, the *bias*, grows with their number. The proposed partition is the finest one of whose rate only a small part
is bias.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_number
from unveil.counts import count_table
from unveil.errors import ArgumentError, UndefinedMeasureError, one_line, shown
from unveil.formats import number
from unveil.measures import RateQuestion, expected_information_bits, rate, rate_of
from unveil.partitions import Hierarchy, Partition, point_of, write_whole
from unveil.results import Figure, Provenance, Result, Table, View
from unveil.run import looks
from unveil.sources import CodedTable, Data, align, load, side_by_side
from unveil.study import open_both, require_no_nulls, stated

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["ComparablePartition", "ComparablePartitions", "propose_partitions"]

_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
"""The numbers of blocks that are tried."""
_BEFORE, _AFTER = "original", "release"


@dataclass(frozen=True, slots=True)
class ComparablePartition:
    """One partition, with its measurements.

    Attributes
    ----------
    partition, blocks
        The partition, and the number of its blocks in which the original has values.
    rate, adjusted, bias
        The semantic rate of the original given the release, the same adjusted for chance, and the rate by chance alone.
    same_block
        The share of records whose released value lies in the block of the original one.
    """

    partition: Partition
    blocks: int
    rate: float
    adjusted: float
    bias: float
    same_block: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        figures = {name: getattr(self, name) for name in ("blocks", "rate", "adjusted", "bias", "same_block")}
        return {**figures, "partition": self.partition.to_dict()}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparablePartitions(Result):
    """The partitions tried for one attribute.

    Attributes
    ----------
    column, released
        The attribute, and its protected form.
    plain, plain_adjusted
        The rate value by value, and the same adjusted for chance.
    noise
        The standard deviation of released minus original values, if both are numbers.
    candidates
        The partitions, from coarse to fine.
    proposed
        The finest of them whose bias is at most the tolerated share of its rate; None if there is none.
    tolerance
        The share of a rate that may be bias.
    made
        The provenance of the result.
    """

    column: str
    released: str
    plain: float
    plain_adjusted: float | None
    noise: float | None
    candidates: tuple[ComparablePartition, ...]
    proposed: ComparablePartition | None
    tolerance: float
    made: Provenance

    def __repr__(self) -> str:
        """Return one line."""
        proposal = "none" if self.proposed is None else f"{self.proposed.blocks} blocks, rate {number(self.proposed.rate)}"
        return f"ComparablePartitions({one_line(self.column)}: {proposal})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "column": self.column,
            "released": self.released,
            "plain": self.plain,
            "plain_adjusted": self.plain_adjusted,
            "noise": self.noise,
            "tolerance": self.tolerance,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "proposed": None if self.proposed is None else self.proposed.to_dict(),
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per candidate."""
        names = ("blocks", "rate", "adjusted", "bias", "same_block")
        columns: dict[str, Sequence[Any]] = {name: [getattr(one, name) for one in self.candidates] for name in names}
        return {**columns, "proposed": [one is self.proposed for one in self.candidates]}

    def view(self) -> View:
        """Return the displayed candidates."""
        figures = [Figure("rate, value by value", self.plain, "most of it is chance if all values are new")]
        if self.plain_adjusted is not None:
            figures.append(Figure("adjusted for chance", self.plain_adjusted))
        if self.noise is not None:
            figures.append(Figure("noise", self.noise, "standard deviation of released minus original values"))
        if self.proposed is not None:
            figures.append(Figure("proposed", f"{self.proposed.blocks} blocks", f"rate {number(self.proposed.rate)}"))
        rows = tuple(
            (one.blocks, one.rate, one.adjusted, one.bias, one.same_block, "yes" if one is self.proposed else None)
            for one in self.candidates
        )
        heads = ("blocks", "semantic rate", "adjusted", "bias", "in the same block", "proposed")
        return View(f"Partitions that make {self.column} comparable", tuple(figures), (Table(heads, rows),), (self._said(),))

    def _said(self) -> str:
        if self.proposed is None:
            return (
                f"Under every partition, more than {self.tolerance:.0%} of the rate is due to chance: what is left of the "
                "original cannot be distinguished from chance, or there are too few records to tell."
            )
        return (
            "bias: the rate that a random pairing of the same blocks gives. The finest partition whose rate is at most "
            f"{self.tolerance:.0%} bias is proposed. Choose it before you compare releases, and use the same for all."
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the proposed partition to a JSON file, which `Partition.read` and projects can read."""
        if self.proposed is None:
            raise UndefinedMeasureError(f"no partition of {shown(self.column)} is proposed. {self._said()}")
        text = json.dumps(self.proposed.partition.to_dict(), ensure_ascii=False)
        write_whole(path, f"{text}\n")


@looks
@checked_arguments
def propose_partitions(
    original: Data,
    release: Data,
    column: str,
    *,
    released: str | None = None,
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Data | None = None,
    same_order: bool = False,
    hierarchy: Hierarchy | None = None,
    tolerance: float = 0.1,
) -> ComparablePartitions:
    """Propose a partition under which an attribute and its noisy form can be compared, with the bias of each candidate.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, or data frames. Never changed.
    column, released
        The attribute of the original, and its name in the release; none: the same.
    id, link, same_order
        The correspondence of the records: a column of both, a correspondence file, or the row order. One is needed.
    hierarchy
        For a categorical attribute, its levels are the candidates; none: that of a study or project. Numbers need no hierarchy:
        their blocks hold equal numbers of original records, and the outer ones are open, so that every new value belongs to
        one.
    tolerance
        The share of the rate that may be due to chance, above 0 and up to 1.

    Returns
    -------
    ComparablePartitions
        The candidates with the semantic rate, the rate adjusted for chance, the bias, and the share of records that stayed in
        their block.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> ages = [20 + i % 50 for i in range(1000)]
    >>> noisy = [age + (17 * i % 23 - 11) / 2 for i, age in enumerate(ages)]
    >>> partitions = unveil.propose_partitions(pl.DataFrame({"age": ages}), pl.DataFrame({"age": noisy}), "age", same_order=True)
    >>> partitions
    ComparablePartitions(age: 16 blocks, rate 0.4995)
    >>> partitions.candidates[0].partition.to_dict(), round(partitions.candidates[0].rate, 2)
    ({'edges': ['-inf', 45, 'inf']}, 0.69)
    """
    checked_number("tolerance", tolerance, above=0.0, most=1.0)
    (one, other), after = open_both(original, release), released or column
    require_no_nulls(original, (column,))
    require_no_nulls(release, (after,))
    alignment = align(one, other, identity=id, link=link, same_order=same_order)
    if alignment is None:
        raise ArgumentError.no_correspondence()
    frame = side_by_side(one.collect, other.collect, [(column, after)], alignment, [(_BEFORE, _AFTER)])
    table = load(frame, [_BEFORE, _AFTER], nulls="drop")
    plain = rate(RateQuestion(table, [_AFTER], [_BEFORE], values=False))
    if plain.value is None:
        raise UndefinedMeasureError(f"the values of {shown(column)} cannot be compared: {plain.reason}")
    numbers = [_numbers(coded.values) for coded in table.columns]
    numeric = all(values is not None for values in numbers)
    if hierarchy is None and not numeric:
        hierarchy = stated(original, (column,)).hierarchies.get(column) or stated(release, (after,)).hierarchies.get(after)
    if hierarchy is None and not numeric:
        raise ArgumentError(f"column {shown(column)} does not hold numbers on both sides; give a hierarchy of its values.")
    specs = _by_quantiles(table, numbers[0]) if hierarchy is None else _by_levels(hierarchy)  # type: ignore[arg-type]
    candidates = tuple(_measured(table, partition) for partition in specs)
    fitting = [candidate for candidate in candidates if candidate.bias <= tolerance * candidate.rate]
    return ComparablePartitions(
        column, after, plain.value, plain.adjusted,
        _noise(table, numbers) if numeric else None,
        candidates, max(fitting, key=lambda candidate: candidate.blocks, default=None), tolerance,
        Provenance(table.records, "drop", table.dropped, (after,), (column,), version=__version__),
    )  # fmt: skip


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    points = [None if isinstance(value, date | time) else point_of(value) for value in values]
    return None if any(point is None for point in points) else np.array(points, dtype=np.float64)


def _by_quantiles(table: CodedTable, values: NDArray[np.float64]) -> Iterator[Partition]:
    """Yield partitions into blocks that hold about equal numbers of original records, each partition once."""
    records = np.sort(values[table.columns[0].codes])
    seen: set[tuple[float, ...]] = set()
    for size in _SIZES:
        inner = [records[len(records) * at // size] for at in range(1, size)]
        edges = tuple(sorted({float(edge) for edge in inner if edge > records[0]}))
        if edges and edges not in seen:
            seen.add(edges)
            yield Partition.from_edges([float("-inf"), *edges, float("inf")])


def _by_levels(hierarchy: Hierarchy) -> Iterator[Partition]:
    """Yield the levels of a hierarchy that have more than one group, coarsest first."""
    for level in reversed(range(hierarchy.height + 1)):
        if len({row[level] for row in hierarchy.labels}) > 1:
            yield hierarchy.level(level)


def _measured(table: CodedTable, partition: Partition) -> ComparablePartition:
    """Measure original blocks given released blocks."""
    counts = count_table(table, {_BEFORE: partition, _AFTER: partition})
    provenance = Provenance(table.records, "drop", table.dropped, (_AFTER,), (_BEFORE,), version=__version__)
    rate = rate_of(counts, [_AFTER], [_BEFORE], provenance)
    before, after = counts.over(_BEFORE).n, counts.over(_AFTER).n
    original, release = (
        np.array(column.values, dtype=object)[codes] for column, codes in zip(counts.columns, counts.codes, strict=True)
    )
    return ComparablePartition(
        partition,
        blocks=len(before),
        rate=rate.value,
        adjusted=0.0 if rate.adjusted is None else rate.adjusted,
        bias=expected_information_bits(after, before) / rate.entropy,
        same_block=float(counts.n[original == release].sum() / counts.records),
    )


def _noise(table: CodedTable, numbers: Sequence[NDArray[np.float64] | None]) -> float:
    before, after = (values[coded.codes] for values, coded in zip(numbers, table.columns, strict=True) if values is not None)
    finite = np.isfinite(before) & np.isfinite(after)
    return float(np.std(after[finite] - before[finite])) if finite.any() else 0.0
