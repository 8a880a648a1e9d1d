"""From a batch of records to coded columns: derived columns made, nulls and times looked at, values coded.

What cannot be counted is told apart, not guessed at: a record without a time that can be read, with a null where nulls are
dropped, or with a value that is in no block of a partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import Nulls, require_columns
from unveil.errors import ArgumentError, NullsError, PartitionError, shown
from unveil.sources import Coded, Data, open_source
from unveil.sources.coding import require_countable
from unveil.stream.derived import Derived, with_derived
from unveil.stream.fields import Field
from unveil.stream.times import NO_TIME, moments_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reader", "Reading"]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The records of a batch that can be counted.

    Attributes
    ----------
    columns
        The coded columns, one per field.
    times
        The time of each record; None where times do not matter.
    dropped, outside, timeless
        Records left out: for a null, for a value in no block, for a time that cannot be read.
    """

    columns: list[Coded]
    times: NDArray[np.int64] | None
    dropped: int = 0
    outside: int = 0
    timeless: int = 0


@dataclass(frozen=True, slots=True)
class Reader:
    """How the records of a stream are read.

    Attributes
    ----------
    fields
        What is counted.
    time
        The column of times, if they matter.
    derived
        Columns made from others.
    nulls
        What a null means.
    strict
        Whether a record that cannot be counted is refused with its batch; otherwise it is left out, and counted.
    """

    fields: Sequence[Field]
    time: str | None
    derived: Mapping[str, Derived]
    nulls: Nulls
    strict: bool

    @property
    def columns(self) -> list[str]:
        """The columns that records must have."""
        wanted = [one.column for one in self.fields] + ([self.time] if self.time is not None else [])
        made = [name for name in wanted if name not in self.derived]
        for name in wanted:
            if name in self.derived:
                made += self.derived[name].needs
        return list(dict.fromkeys(made))

    def read(self, batch: Data) -> Reading:
        """Read a batch: a data frame of any library, a file, or a table."""
        frame = batch if isinstance(batch, pl.DataFrame) else _collected(batch, self.columns)
        require_columns(self.columns, frame.columns)
        frame = with_derived(frame, self.derived)
        for one in self.fields:
            require_countable(one.column, frame[one.column])
        times = None if self.time is None else moments_of(frame[self.time])
        frame, times, dropped = self._without_nulls(frame, times)
        frame, times, timeless = self._with_times(frame, times)
        columns, outside = [], np.zeros(frame.height, dtype=bool)
        for one in self.fields:
            coded, lost = one.coded(frame[one.column])
            columns.append(coded)
            if lost is not None:
                outside |= lost
                self._refuse_outside(one.column, int(np.count_nonzero(lost)))
        if outside.any():
            columns = [replace(column, codes=column.codes[~outside]) for column in columns]
            times = None if times is None else times[~outside]
        return Reading(columns, times, dropped, int(np.count_nonzero(outside)), timeless)

    def _without_nulls(
        self, frame: pl.DataFrame, times: NDArray[np.int64] | None
    ) -> tuple[pl.DataFrame, NDArray[np.int64] | None, int]:
        if self.nulls == "category":
            return frame, times, 0
        null = np.zeros(frame.height, dtype=bool)
        present: dict[str, int] = {}
        for name in dict.fromkeys(one.column for one in self.fields):
            series = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
            if series.null_count():
                present[name] = series.null_count()
                null |= series.is_null().to_numpy()
        if present and self.nulls == "error":
            raise NullsError.present(present)
        if not present:
            return frame, times, 0
        return frame.filter(~null), None if times is None else times[~null], int(np.count_nonzero(null))

    def _with_times(
        self, frame: pl.DataFrame, times: NDArray[np.int64] | None
    ) -> tuple[pl.DataFrame, NDArray[np.int64] | None, int]:
        if times is None or not (times == NO_TIME).any():
            return frame, times, 0
        none = times == NO_TIME
        number = int(np.count_nonzero(none))
        if self.strict:
            raise ArgumentError(
                f"{number:,} of {len(times):,} records have no time in column {shown(self.time)} that can be read; give dates "
                "and times, ISO 8601 texts or seconds since 1970."
            )
        return frame.filter(~none), times[~none], number

    def _refuse_outside(self, column: str, number: int) -> None:
        if self.strict:
            raise PartitionError(
                f"column {shown(column)}: {number:,} records of the batch hold a value that is in no block of its partition."
            )


def _collected(batch: Data, columns: Sequence[str]) -> pl.DataFrame:
    source = open_source(batch)
    require_columns(columns, source.names)
    return source.collect(columns)
