"""The measures of a window, computed on its moving count table: exact while the table is complete, otherwise estimated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from unveil.counts import Counts, MovingCounts
from unveil.errors import CountsError, UndefinedMeasureError
from unveil.measures import IdentifierKind
from unveil.sources import column_of_objects
from unveil.stream.approximate import estimated_key, unknown_need
from unveil.stream.figures import KeyFigures, KeySet, NeedFigure, NeedSet, RiskyClass, key_figures, need_figure, riskiest

__all__ = ["Measures"]


class Measures:
    """The measures of a moving count table; the table is built once for all measures of a moment."""

    def __init__(self, counts: MovingCounts, sets: Sequence[KeySet], needs: Sequence[NeedSet]) -> None:
        self._counts, self._sets, self._needs = counts, sets, needs
        self._table: Counts | None = None

    def changed(self) -> None:
        """Note that records were added or removed."""
        self._table = None

    @property
    def share(self) -> float:
        """The share of the classes that figures are estimated from; 1 if they are exact."""
        return self._counts.share

    def table(self) -> Counts:
        """Return the joint count table; refuse if it is not complete."""
        if self.share < 1.0:
            raise CountsError("the window has more combinations of values than its limit, so its count table is not complete.")
        if self._table is None:
            self._table = self._counts.table()
        return self._table

    def first(self) -> KeyFigures:
        """Return the disclosure by the first key."""
        return self._measured(self._sets[0])

    def rate(self) -> float:
        """Return the Discrimination Rate of the first key."""
        first = self.first()
        if first.dr is None:
            raise UndefinedMeasureError(first.reason or "the rate is undefined")
        return first.dr

    def kind(self) -> IdentifierKind:
        """Return the kind of identifier of the first key."""
        first = self.first()
        if first.kind is None:
            raise UndefinedMeasureError(first.reason or "the kind is undefined")
        return first.kind

    def keys(self) -> tuple[KeyFigures, ...]:
        """Return the disclosure by each key."""
        return tuple(self._measured(one) for one in self._sets)

    def needs(self) -> dict[str, NeedFigure]:
        """Return the degree to which each need is served."""
        if self.share < 1.0:
            return {one.need.name: unknown_need(one) for one in self._needs}
        return {one.need.name: need_figure(self.table(), one) for one in self._needs}

    def riskiest(self, most: int) -> list[RiskyClass]:
        """Return the classes of the first key that disclose most, masked; none if figures are estimates."""
        return riskiest(self.table(), self._sets[0], most) if self.share == 1.0 else []

    def frame(self) -> pl.DataFrame:
        """Return the records as a table of the measured columns, in no particular order."""
        counts = self.table()
        kept = {column.name: column.values for column in counts.columns if "\x00" not in column.name}
        codes = dict(zip(counts.names, counts.codes, strict=True))
        return pl.DataFrame(
            {name: column_of_objects(name, values).gather(np.repeat(codes[name], counts.n)) for name, values in kept.items()}
        )

    def _measured(self, one: KeySet) -> KeyFigures:
        return key_figures(self.table(), one) if self.share == 1.0 else estimated_key(self._counts, one)
