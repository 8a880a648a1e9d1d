"""The reader of batches: it adds derived columns, checks nulls and times, and codes the values of the counted columns.

Records that cannot be counted are reported separately, and nothing is guessed about them: those without a readable time, with a
null if nulls are dropped, or with a value that is in no block of a partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import Nulls, checked_nulls, require_columns
from unveil.errors import ArgumentError, NullsError, PartitionError, shown
from unveil.sources import Coded, Data, open_source, require_countable, text_of_value
from unveil.stream.derived_columns import Derived, with_derived
from unveil.stream.fields import Field
from unveil.stream.times import NO_TIME, moments_of
from unveil.study import require_values, study_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Expiry

__all__ = ["Reader", "Reading", "codes_for"]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The records of a batch that can be counted.

    Attributes
    ----------
    columns
        The coded columns, one per field.
    times
        The time of each record; None if times do not matter.
    amounts
        The number of records that each row stands for; None: one each.
    dropped, outside, timeless
        The numbers of records left out because of a null, a value in no block, or a time that cannot be read.
    """

    columns: list[Coded]
    times: NDArray[np.int64] | None
    amounts: NDArray[np.int64] | None = None
    dropped: int = 0
    outside: int = 0
    timeless: int = 0


@dataclass(frozen=True, slots=True)
class Reader:
    """The settings for reading the records of a stream.

    Attributes
    ----------
    fields
        The columns to count.
    time
        The column of times, if they matter.
    derived
        Columns derived from others.
    nulls
        The null policy; if nulls are values, a batch that is a study has its own policy.
    strict
        Whether a batch with a record that cannot be counted is refused as a whole; otherwise the record is left out and
        reported.
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
        needed = [name for name in wanted if name not in self.derived]
        for name in wanted:
            if name in self.derived:
                needed += self.derived[name].needs
        return list(dict.fromkeys(needed))

    def read(self, batch: Data, counted: str | None = None) -> Reading:
        """Read a batch: a frame of any library, a file, or a table; `counted` names the column of the records per row."""
        wanted = self.columns if counted is None else [*self.columns, counted]
        frame = batch if isinstance(batch, pl.DataFrame) else _collected(batch, wanted)
        require_columns(wanted, frame.columns)
        frame = with_derived(frame, self.derived)
        for one in self.fields:
            require_countable(one.column, frame[one.column])
        rows = _Rows(frame, None if self.time is None else moments_of(frame[self.time]), _amounts(frame, counted))
        rows, dropped = rows.without(self._nulls(frame, self._policy(batch)))
        rows, timeless = rows.without(None if rows.times is None else self._checked_times(rows.times))
        columns, outside = [], np.zeros(rows.frame.height, dtype=bool)
        for one in self.fields:
            coded, lost = one.coded(rows.frame[one.column])
            columns.append(coded)
            if lost is not None:
                outside |= lost
                self._refuse_outside(one.column, int(np.count_nonzero(lost)))
        if outside.any():
            columns = [replace(column, codes=column.codes[~outside]) for column in columns]
        rows, gone = rows.without(outside)
        return Reading(columns, rows.times, rows.amounts, dropped, gone, timeless)

    def _policy(self, batch: Data) -> Nulls:
        """Return the null policy for a batch: its own if it is a study and the window has none; refuse a study's partitions."""
        require_values(batch, [one.column for one in self.fields if one.partition is None])
        study = study_of(batch)
        return self.nulls if study is None or self.nulls != "category" else checked_nulls(study.policy)

    def _nulls(self, frame: pl.DataFrame, nulls: Nulls) -> NDArray[np.bool_] | None:
        """Return which records have a null that the policy does not admit."""
        if nulls == "category":
            return None
        null = np.zeros(frame.height, dtype=bool)
        present: dict[str, int] = {}
        for name in dict.fromkeys(one.column for one in self.fields):
            series = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
            if series.null_count():
                present[name] = series.null_count()
                null |= series.is_null().to_numpy()
        if present and nulls == "error":
            raise NullsError.present(present)
        return null

    def _checked_times(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which records have no time."""
        none = times == NO_TIME
        if self.strict and none.any():
            raise ArgumentError(
                f"{int(np.count_nonzero(none)):,} of {len(times):,} records have no readable time in column {shown(self.time)}; "
                "give dates and times, ISO 8601 texts or seconds since 1970."
            )
        return np.asarray(none)

    def _refuse_outside(self, column: str, number: int) -> None:
        if self.strict:
            raise PartitionError(
                f"column {shown(column)}: {number:,} records of the batch have a value that is in no block of its partition."
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of a batch, their times, and the number of records that each stands for."""

    frame: pl.DataFrame
    times: NDArray[np.int64] | None
    amounts: NDArray[np.int64] | None

    def without(self, gone: NDArray[np.bool_] | None) -> tuple[_Rows, int]:
        """Return the rows without some, and the number of records removed."""
        if gone is None or not gone.any():
            return self, 0
        number = int(np.count_nonzero(gone)) if self.amounts is None else int(self.amounts[gone].sum())
        times = None if self.times is None else self.times[~gone]
        amounts = None if self.amounts is None else self.amounts[~gone]
        return _Rows(self.frame.filter(~gone), times, amounts), number


def _amounts(frame: pl.DataFrame, counted: str | None) -> NDArray[np.int64] | None:
    if counted is None:
        return None
    column = frame[counted]
    if not column.dtype.is_integer() or column.null_count() or (column <= 0).any():
        raise ArgumentError(
            f"column {shown(counted)} gives the number of records per row; it must contain whole numbers of at least 1."
        )
    return column.cast(pl.Int64).to_numpy()


def codes_for(expiry: Expiry, columns: list[Coded], waiting: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return records as codes of a window's columns; a column that arrives in two types holds texts from then on."""
    counts = expiry.counts
    for name in counts.in_other_type(columns):
        at = counts.names.index(name)
        if not isinstance(next(value for value in columns[at].values if value is not None), str):
            texts = [text_of_value(value) for value in columns[at].values]
            columns[at] = replace(columns[at], values=tuple(texts))
        else:
            expiry.renumber(counts.as_text(name, waiting))
    return counts.coded(columns)


def _collected(batch: Data, columns: Sequence[str]) -> pl.DataFrame:
    source = open_source(batch)
    require_columns(columns, source.names)
    return source.collect(columns)
