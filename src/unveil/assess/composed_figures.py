"""The figures by which composed protections are compared: their risks, and the degrees to which they serve needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unveil.assess.candidates import ProtectionCandidate, single_candidates
from unveil.errors import PartitionError
from unveil.measures import RateQuestion, beyond_chance, mean, rate
from unveil.partitions import Partition
from unveil.project import Need
from unveil.sources import Alignment, CodedTable, Microdata, load, side_by_side

__all__ = ["ComposedFigures", "CompositionMeasure"]

_BLOCKS = 10
"""A column with more distinct numbers is read by this many blocks of equally many original records."""
_TOLERANCE = 1e-9
_BEFORE, _AFTER = "original", "release"


@dataclass(frozen=True, slots=True)
class ComposedFigures:
    """Risks and degrees of one release, each a rate adjusted for chance.

    Attributes
    ----------
    identity
        The mean rate of the original key attributes, each given its protected version.
    homogeneity
        The rate of each sensitive attribute given the protected key.
    degrees
        The degree to which each need is served.
    """

    identity: float
    homogeneity: Mapping[str, float]
    degrees: Mapping[str, float]

    @property
    def risk(self) -> float:
        """The mean of identity and homogeneity risk."""
        return mean([self.identity, mean([*self.homogeneity.values()])]) or 0.0

    @property
    def service(self) -> float:
        """The mean degree of the needs."""
        return mean([*self.degrees.values()]) or 0.0

    @property
    def vector(self) -> list[float]:
        """The figures by which protections are compared; higher is better."""
        return [
            round(figure, 9)
            for figure in (-self.identity, *(-risk for risk in self.homogeneity.values()), *self.degrees.values())
        ]

    def misses(self, needs: Sequence[Need], max_identity: float | None, max_homogeneity: float | None) -> dict[str, float]:
        """Return the amounts by which it misses the required risks and degrees, by name."""
        gaps = {"identity": 0.0 if max_identity is None else self.identity - max_identity}
        for name, risk in self.homogeneity.items():
            gaps[f"homogeneity of {name}"] = 0.0 if max_homogeneity is None else risk - max_homogeneity
        for need in needs:
            gaps[f"degree of {need.name}"] = (need.at_least or 0.0) - self.degrees[need.name]
        return {name: gap for name, gap in gaps.items() if gap > _TOLERANCE}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"identity": self.identity, "homogeneity": dict(self.homogeneity), "needs": dict(self.degrees)}


@dataclass(frozen=True, slots=True, eq=False)
class CompositionMeasure:
    """A measurement of releases that reads all of them in the same way."""

    records: Microdata
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    needs: tuple[Need, ...]
    blocks: Mapping[str, Partition] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        records: Microdata,
        keys: Sequence[str],
        sensitive: Sequence[str],
        needs: Sequence[Need],
        partitions: Mapping[str, Any],
    ) -> CompositionMeasure:
        """Determine the blocks by which the numeric columns are read, unless they are given."""
        columns = dict.fromkeys([*keys, *sensitive, *(name for need in needs for name in (need.target, *need.given))])
        blocks = {name: Partition.of(spec, column=name) for name, spec in partitions.items()}
        for name in columns:
            if name not in blocks and (deciles := _deciles(records.column(name))) is not None:
                blocks[name] = deciles
        return cls(records, tuple(keys), tuple(sensitive), tuple(needs), blocks)

    @property
    def block_counts(self) -> dict[str, int]:
        """The number of blocks that each column's values fill."""
        counts = {}
        for name, partition in self.blocks.items():
            counts[name] = len(set(partition.apply(load(self.records.frame, [name]).columns[0].values, name)[1]))
        return counts

    def candidates(self, bounds: Mapping[str, tuple[float, float]]) -> list[ProtectionCandidate]:
        """Return the usual protections of one step for the key attributes."""
        numbers = [name for name in self.keys if self.records.column(name).dtype.is_numeric()]
        names = [name for name in self.keys if name not in numbers]
        columns = [self.records.column(name) for name in self.keys]
        nulls = any(column.null_count() or (column.dtype.is_float() and column.is_nan().any()) for column in columns)
        return single_candidates(numbers, names, self.records.records, bounds, nulls=nulls)

    def original(self) -> ComposedFigures:
        """Return the figures of the unprotected table."""
        return self._figures(self.records, np.arange(self.records.records))

    def figures(self, release: Any) -> ComposedFigures:
        """Return the figures of a release that knows the origin of each of its records."""
        return self._figures(release.records, release.origin)

    def _figures(self, released: Microdata, origin: Any) -> ComposedFigures:
        alignment = Alignment("origin", origin, self.records.records, released.records)
        return ComposedFigures(
            identity=mean([self._identity(released, alignment, key) for key in self.keys]) or 0.0,
            homogeneity={name: self._degree(released, self.keys, name, {}) for name in self.sensitive},
            degrees={need.name: self._degree(released, need.given, need.target, need.partitions) for need in self.needs},
        )

    def _identity(self, released: Microdata, alignment: Alignment, key: str) -> float:
        """Return the rate of an original attribute given the protected one; 0 if the release leaves it out."""
        if key not in released.names:
            return 0.0
        frame = side_by_side(
            self.records.frame.__getitem__, released.frame.__getitem__, [(key, key)], alignment, [(_BEFORE, _AFTER)]
        )
        table = load(frame, [_BEFORE, _AFTER])
        own = {} if key not in self.blocks else {_BEFORE: self.blocks[key], _AFTER: self.blocks[key]}
        return _beyond_chance(table, [_AFTER], _BEFORE, own)

    def _degree(self, released: Microdata, given: Sequence[str], target: str, own: Mapping[str, Partition]) -> float:
        """Return the degree to which columns of a release determine another; absent columns contribute nothing."""
        kept = [name for name in given if name in released.names]
        if not kept or target not in released.names:
            return 0.0
        table = load(released.frame, [*kept, target])
        return _beyond_chance(table, kept, target, {**self.blocks, **own})


def _beyond_chance(table: CodedTable, given: Sequence[str], target: str, blocks: Mapping[str, Partition]) -> float:
    """Return the rate adjusted for chance; a column that its partition cannot read, such as labels, stays unchanged."""
    readable = {column.name: blocks[column.name] for column in table.columns if _reads(blocks.get(column.name), column)}
    return beyond_chance(rate(RateQuestion(table, given, [target], values=False), readable).adjusted)


def _reads(partition: Partition | None, column: Any) -> bool:
    if partition is None:
        return False
    try:
        partition.apply(column.values, column.name)
    except PartitionError:
        return False
    return True


def _deciles(column: Any) -> Partition | None:
    """Return blocks of equally many records for a column of many numbers; None for any other column."""
    if not column.dtype.is_numeric() or column.n_unique() <= _BLOCKS:
        return None
    values = np.sort(column.drop_nulls().cast(float).to_numpy())
    edges = sorted({float(values[len(values) * at // _BLOCKS]) for at in range(1, _BLOCKS)} - {float(values[0])})
    return Partition.from_edges([float("-inf"), *edges, float("inf")]) if edges else None
