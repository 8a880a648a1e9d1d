"""Key attributes as coordinates: numbers as they are, other values by their place in an order; and labels for boxes.

In the order of a hierarchy, the leaves of every node are adjacent, so the label of a box that spans some leaves is the lowest
node above them. Values without a hierarchy have no label between a single value and all values (`*`). A null is a value of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from unveil.measures import SUPPRESSED
from unveil.partitions import Hierarchy, text_of
from unveil.sources import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Coordinates"]

_Places: TypeAlias = "NDArray[np.float64]"


class _Line(Protocol):
    """One attribute as a coordinate."""

    @property
    def flat(self) -> bool:
        """Whether its values have no order."""

    def places(self, column: pl.Series, stops: NDArray[np.int64]) -> tuple[_Places, _Places]:
        """Return the coordinate of each record, and the span of the values when the records up to each stop had arrived."""

    def labels(self, low: _Places, high: _Places, span: _Places) -> tuple[list[str | None], _Places]:
        """Return the label of each range, and its loss from 0 to 1."""

    def state(self) -> list[Any]:
        """Return the state learnt from the records so far."""


class _Numbers:
    """Numbers, with the span of all numbers so far."""

    flat = False

    def __init__(self) -> None:
        self._low, self._high = np.inf, -np.inf
        self._whole = True

    def places(self, column: pl.Series, stops: NDArray[np.int64]) -> tuple[_Places, _Places]:
        """Return the numbers, with nulls below all of them, and the span of all numbers that had arrived by each stop."""
        values = column.to_numpy().astype(np.float64)  # a null becomes a NaN
        finite = np.isfinite(values)
        lows = np.minimum.accumulate(np.concatenate([[self._low], np.where(finite, values, np.inf)]))
        highs = np.maximum.accumulate(np.concatenate([[self._high], np.where(finite, values, -np.inf)]))
        self._low, self._high = float(lows[-1]), float(highs[-1])
        self._whole = self._whole and column.dtype.is_integer()
        known = highs[stops] >= lows[stops]
        spans = np.where(known, highs[stops], 0.0) - np.where(known, lows[stops], 0.0)
        return np.where(finite, values, -np.inf), spans

    def labels(self, low: _Places, high: _Places, span: _Places) -> tuple[list[str | None], _Places]:
        """Return intervals, or a single number unchanged."""
        labels: list[str | None] = []
        for one, other in zip(low.tolist(), high.tolist(), strict=True):
            if one == -np.inf:
                labels.append(None if other == -np.inf else SUPPRESSED)
            else:
                labels.append(self._text(one) if one == other else f"[{self._text(one)}, {self._text(other)}]")
        known = np.isfinite(low)
        width = (np.where(known, high, 0.0) - np.where(known, low, 0.0)) / np.where(span > 0.0, span, 1.0)
        return labels, np.where(known, width, np.where(high == low, 0.0, 1.0))

    def state(self) -> list[Any]:
        """Return whether all numbers so far were whole, and their ends, if there were any."""
        return [self._whole, *([self._low, self._high] if self._high >= self._low else [])]

    @classmethod
    def of(cls, state: Sequence[Any]) -> _Numbers:
        """Return the coordinate of a state."""
        line = cls()
        line._whole = bool(state[0])
        if state[1:]:
            line._low, line._high = (float(end) for end in state[1:])
        return line

    def _text(self, value: float) -> str:
        return str(int(value)) if self._whole else f"{value:g}" if value == float(f"{value:g}") else repr(value)


class _Leaves:
    """Values in the order of a hierarchy, or without one."""

    def __init__(self, hierarchy: Hierarchy | None) -> None:
        rows = [] if hierarchy is None else sorted(hierarchy.with_root().labels, key=lambda row: row[::-1])
        self._rows: list[tuple[str, ...]] = [tuple(row) for row in rows]
        self._place: dict[str | None, int] = {row[0]: at for at, row in enumerate(self._rows)}
        self._values: list[Any] = [row[0] for row in self._rows]
        self._nodes = len(self._rows)
        self.flat = hierarchy is None
        self._spread = self._spreads()

    def places(self, column: pl.Series, stops: NDArray[np.int64]) -> tuple[_Places, _Places]:
        """Return the places of values, with new values at the end in the order of arrival, and the span of all places."""
        coded, before = encode(column), len(self._values)
        names = [None if value is None else text_of(value) for value in coded.values]
        new = [at for at, name in enumerate(names) if name not in self._place]
        if new:
            first = dict(zip(*(part.tolist() for part in np.unique(coded.codes, return_index=True)), strict=True))
            for at in sorted(new, key=first.__getitem__):
                self._place[names[at]] = len(self._values)
                self._values.append(names[at])
        places = np.array([self._place[name] for name in names], dtype=np.float64)[coded.codes]
        last = np.maximum.accumulate(np.concatenate([[before - 1.0], places]))
        return places, np.maximum(last[stops], 1.0)

    def labels(self, low: _Places, high: _Places, span: _Places) -> tuple[list[str | None], _Places]:  # noqa: ARG002 - the loss follows from the nodes
        """Return a single value unchanged, or the lowest node above all values of the range."""
        labels: list[str | None] = []
        loss = np.zeros(len(low))
        for at, (one, other) in enumerate(zip(low.astype(int).tolist(), high.astype(int).tolist(), strict=True)):
            if one == other:
                labels.append(self._values[one])
            elif other >= self._nodes:
                labels.append(SUPPRESSED)
                loss[at] = 1.0
            else:
                level = next(
                    level for level, pair in enumerate(zip(self._rows[one], self._rows[other], strict=True)) if pair[0] == pair[1]
                )
                labels.append(self._rows[one][level])
                loss[at] = self._spread[level][self._rows[one][level]]
        return labels, loss

    def state(self) -> list[Any]:
        """Return the values in their order."""
        return self._values

    @classmethod
    def of(cls, state: Sequence[Any], hierarchy: Hierarchy | None) -> _Leaves:
        """Return the coordinate of a state."""
        line = cls(hierarchy)
        line._values = list(state)
        line._place = {value: at for at, value in enumerate(state)}
        return line

    def _spreads(self) -> list[dict[str, float]]:
        """Return the loss of every node at each level: (leaves below it - 1) / (all leaves - 1)."""
        levels = len(self._rows[0]) if self._rows else 0
        spreads: list[dict[str, float]] = []
        for level in range(levels):
            number: dict[str, int] = {}
            for row in self._rows:
                number[row[level]] = number.get(row[level], 0) + 1
            spreads.append({name: (leaves - 1) / max(len(self._rows) - 1, 1) for name, leaves in number.items()})
        return spreads


class Coordinates:
    """The key attributes of a stream as coordinates.

    Parameters
    ----------
    key
        The attributes.
    hierarchies
        The hierarchies of some of them; without one, numbers become intervals, and any other value stays unchanged or becomes
        `*`.
    """

    def __init__(self, key: Sequence[str], hierarchies: Mapping[str, Hierarchy]) -> None:
        self.key = tuple(key)
        self._hierarchies = dict(hierarchies)
        self._lines: dict[str, _Line] = {}

    def places(self, frame: pl.DataFrame, stops: NDArray[np.int64]) -> tuple[_Places, _Places]:
        """Return the coordinates of every record, and their spans when the records up to each stop had arrived."""
        for name in self.key:
            if name not in self._lines:
                number = frame[name].dtype.is_numeric() and name not in self._hierarchies
                self._lines[name] = _Numbers() if number else _Leaves(self._hierarchies.get(name))
            elif isinstance(self._lines[name], _Numbers) and not frame[name].dtype.is_numeric():
                self._lines[name] = _Leaves(None)
        lines = [self._lines[name].places(frame[name], stops) for name in self.key]
        places, spans = (np.ascontiguousarray(np.stack(part, axis=1)) for part in zip(*lines, strict=True))
        return places, spans

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Which coordinates have no order."""
        return np.array([self._lines[name].flat for name in self.key])

    def labels(self, low: _Places, high: _Places, spans: _Places) -> tuple[pl.DataFrame, _Places]:
        """Return the labels of boxes and the mean loss of each, given the spans of the coordinates at the time."""
        columns, loss = {}, np.zeros(len(low))
        for at, name in enumerate(self.key):
            columns[name], lost = self._lines[name].labels(low[:, at], high[:, at], spans[:, at])
            loss += lost
        return pl.DataFrame(columns, schema=dict.fromkeys(self.key, pl.String)), loss / max(len(self.key), 1)

    def state(self) -> dict[str, list[Any]]:
        """Return the state that the coordinates have learnt from the records so far."""
        return {name: [isinstance(line, _Numbers), line.state()] for name, line in self._lines.items()}

    def restore(self, state: Mapping[str, Sequence[Any]]) -> None:
        """Restore what `state` returned."""
        for name, (number, learnt) in state.items():
            self._lines[name] = _Numbers.of(learnt) if number else _Leaves.of(learnt, self._hierarchies.get(name))
