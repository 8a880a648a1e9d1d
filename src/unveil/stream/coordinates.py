"""Key attributes as coordinates: numbers as they are, other values by their place in an order, and labels for what a box spans.

In the order of a hierarchy the leaves of every node follow each other, so a box that spans some leaves has the lowest node above
them as its label. Values without a hierarchy have no label between one of them and all (`*`). A null is a value of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from unveil.measures.equivalence import SUPPRESSED
from unveil.partitions import Hierarchy
from unveil.partitions._match import text_of
from unveil.sources.coding import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Coordinates"]


class _Line(Protocol):
    """One attribute as a coordinate."""

    @property
    def flat(self) -> bool:
        """Whether its values have no order."""

    @property
    def span(self) -> float:
        """How far apart its values are."""

    def places(self, column: pl.Series) -> NDArray[np.float64]:
        """Return where each record stands."""

    def labels(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[list[str | None], NDArray[np.float64]]:
        """Return the label of what is spanned, and its loss from 0 to 1."""

    def state(self) -> list[Any]:
        """Return what it learnt from the records that came."""


class _Numbers:
    """Numbers, with the span of all that came so far."""

    flat = False

    def __init__(self) -> None:
        self._low, self._high = np.inf, -np.inf
        self._whole = True

    @property
    def span(self) -> float:
        """How far apart the numbers are that came so far."""
        return max(self._high - self._low, 0.0) if self._high >= self._low else 0.0

    def places(self, column: pl.Series) -> NDArray[np.float64]:
        """Return the numbers; a null stands below all of them."""
        values = column.to_numpy().astype(np.float64)  # a null becomes a NaN
        finite = np.isfinite(values)
        if finite.any():
            known = values[finite]
            self._low, self._high = min(self._low, float(known.min())), max(self._high, float(known.max()))
        self._whole = self._whole and column.dtype.is_integer()
        return values if finite.all() else np.where(finite, values, -np.inf)

    def labels(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[list[str | None], NDArray[np.float64]]:
        """Return intervals, a number alone as it is."""
        found: list[str | None] = []
        for one, other in zip(low.tolist(), high.tolist(), strict=True):
            if one == -np.inf:
                found.append(None if other == -np.inf else SUPPRESSED)
            else:
                found.append(self._text(one) if one == other else f"[{self._text(one)}, {self._text(other)}]")
        known = np.isfinite(low)
        width = (np.where(known, high, 0.0) - np.where(known, low, 0.0)) / (self.span or 1.0)
        return found, np.where(known, width, np.where(high == low, 0.0, 1.0))

    def state(self) -> list[Any]:
        """Return the ends of what came so far, if anything did, and whether all were whole."""
        return [self._whole, *([self._low, self._high] if self._high >= self._low else [])]

    @classmethod
    def of(cls, state: Sequence[Any]) -> _Numbers:
        """Return what `state` gave."""
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

    @property
    def span(self) -> float:
        """How many values lie between the first and the last."""
        return float(max(len(self._values) - 1, 1))

    def places(self, column: pl.Series) -> NDArray[np.float64]:
        """Return the places of values; those that are new stand behind all others."""
        coded = encode(column)
        found = []
        for value in coded.values:
            name = None if value is None else text_of(value)
            if name not in self._place:
                self._place[name] = len(self._values)
                self._values.append(name)
            found.append(self._place[name])
        return np.asarray(np.array(found, dtype=np.float64)[coded.codes])

    def labels(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[list[str | None], NDArray[np.float64]]:
        """Return a value alone as it is, or the lowest node above all that are spanned."""
        found: list[str | None] = []
        loss = np.zeros(len(low))
        for at, (one, other) in enumerate(zip(low.astype(int).tolist(), high.astype(int).tolist(), strict=True)):
            if one == other:
                found.append(self._values[one])
            elif other >= self._nodes:
                found.append(SUPPRESSED)
                loss[at] = 1.0
            else:
                level = next(
                    level for level, pair in enumerate(zip(self._rows[one], self._rows[other], strict=True)) if pair[0] == pair[1]
                )
                found.append(self._rows[one][level])
                loss[at] = self._spread[level][self._rows[one][level]]
        return found, loss

    def state(self) -> list[Any]:
        """Return the values in their order."""
        return self._values

    @classmethod
    def of(cls, state: Sequence[Any], hierarchy: Hierarchy | None) -> _Leaves:
        """Return what `state` gave."""
        line = cls(hierarchy)
        line._values = list(state)
        line._place = {value: at for at, value in enumerate(state)}
        return line

    def _spreads(self) -> list[dict[str, float]]:
        """Return the loss of every node at each level: the leaves below it, without one, of all without one."""
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
        The hierarchies of some of them; without one a number is a number, and any other value stands alone or for all.
    """

    def __init__(self, key: Sequence[str], hierarchies: Mapping[str, Hierarchy]) -> None:
        self.key = tuple(key)
        self._hierarchies = dict(hierarchies)
        self._lines: dict[str, _Line] = {}

    def places(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """Return the coordinates of every record."""
        for name in self.key:
            if name not in self._lines:
                number = frame[name].dtype.is_numeric() and name not in self._hierarchies
                self._lines[name] = _Numbers() if number else _Leaves(self._hierarchies.get(name))
            elif isinstance(self._lines[name], _Numbers) and not frame[name].dtype.is_numeric():
                self._lines[name] = _Leaves(None)
        return np.ascontiguousarray(np.stack([self._lines[name].places(frame[name]) for name in self.key], axis=1))

    @property
    def span(self) -> NDArray[np.float64]:
        """The span of each coordinate so far."""
        return np.array([self._lines[name].span for name in self.key])

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Which coordinates have no order."""
        return np.array([self._lines[name].flat for name in self.key])

    def labels(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[pl.DataFrame, NDArray[np.float64]]:
        """Return the labels of boxes, and the mean loss of each."""
        columns, loss = {}, np.zeros(len(low))
        for at, name in enumerate(self.key):
            columns[name], lost = self._lines[name].labels(low[:, at], high[:, at])
            loss += lost
        return pl.DataFrame(columns, schema=dict.fromkeys(self.key, pl.String)), loss / max(len(self.key), 1)

    def state(self) -> dict[str, list[Any]]:
        """Return what the coordinates learnt from the records that came."""
        return {name: [isinstance(line, _Numbers), line.state()] for name, line in self._lines.items()}

    def restore(self, state: Mapping[str, Sequence[Any]]) -> None:
        """Put back what `state` gave."""
        for name, (number, learnt) in state.items():
            self._lines[name] = _Numbers.of(learnt) if number else _Leaves.of(learnt, self._hierarchies.get(name))
