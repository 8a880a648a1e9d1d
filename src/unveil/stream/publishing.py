"""Generalisation of the records that must leave a stream, in clusters or a whole window at once.

A method gets records in the order of arrival and, for some moments, the number of records that must have left by then. It
decides which records leave when, with which labels and at what loss, and which are suppressed. Records that may still wait can
leave with others that must leave. Many moments are handled at once, because publications are many and small, and handling each
by itself would take longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from unveil.errors import ModelNotMetError, UnveilError
from unveil.measures import SUPPRESSED
from unveil.partitions import Builder, Dates, Hierarchy, Intervals, Redaction
from unveil.stream.coordinates import Coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Clustering", "Published", "PublishingMethod", "Tumbling", "Waiters", "rows_of"]

_RULES: dict[str, type[Builder]] = {"Dates": Dates, "Intervals": Intervals, "Redaction": Redaction}
"""Rules that place a value independently of the others."""
_MOST_KEPT, _KEPT_OF_EACH = 500, 50
"""The most boxes kept for records that leave alone, in total and from one publication."""
_WAITS = -1
"""The group and the moment of a record that has not left."""
_Places: TypeAlias = "NDArray[np.float64]"
_Box: TypeAlias = "tuple[_Places, _Places]"
"""The lowest and the highest coordinates of a group."""


@dataclass(frozen=True, slots=True, eq=False)
class Waiters:
    """Records that wait, or that arrive while publications are due.

    Attributes
    ----------
    frame, codes
        The records in the order of arrival; their persons, followed by their sensitive values.
    moments
        For each moment at which a publication may be due: the numbers of records that have arrived and of those that must
        leave.
    """

    frame: pl.DataFrame
    codes: NDArray[np.int64]
    moments: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """The records that leave, moment by moment.

    Attributes
    ----------
    rows, labels, loss
        The records that are released, the labels of their key attributes, and the loss of each record.
    alone
        A mask of the `rows` with the label of an earlier group instead of a group that leaves with them.
    moment
        The moment at which each of `rows` leaves, in increasing order.
    suppressed, without
        The records that leave without being released, and the moment of each.
    """

    rows: NDArray[np.int64]
    labels: pl.DataFrame
    loss: NDArray[np.float64]
    alone: NDArray[np.bool_]
    moment: NDArray[np.int64]
    suppressed: NDArray[np.int64]
    without: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[Published]) -> Published:
        """Combine the records that leave at successive moments."""
        if len(parts) == 1:
            return parts[0]
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "loss", "alone", "moment", "suppressed", "without")
        }
        return cls(labels=pl.concat([part.labels for part in parts]), **arrays)


class PublishingMethod(Protocol):
    """A method to generalise records."""

    whole: bool

    def publish(self, waiters: Waiters) -> Published:
        """Decide which records leave."""

    def state(self) -> dict[str, Any]:
        """Return the learnt state as plain JSON values, because a continued run must group the same records in the same way."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""


@dataclass
class Clustering:
    """Groups of nearest neighbours within the delay, after CASTLE (Cao, Carminati, Ferrari and Tan 2011).

    Parameters
    ----------
    coordinates
        The key attributes.
    k, diverse
        The least numbers of persons, and of values of each sensitive attribute, of every group.
    reuse
        Whether a record with too few neighbours may leave alone with the label of an earlier group that covers it.
    """

    coordinates: Coordinates
    k: int
    diverse: int = 1
    reuse: bool = False
    whole: bool = False
    _boxes: list[_Box] = field(default_factory=list)

    def publish(self, waiters: Waiters) -> Published:
        """Group the records that must leave with the nearest that wait; if these are too few, reuse a label or suppress."""
        moments = waiters.moments
        places, spans = self.coordinates.places(waiters.frame, moments[:, 0])
        group, left = np.full(len(places), _WAITS), np.full(len(places), _WAITS)
        cuts = range(len(moments)) if self.reuse else [0]  # a label can only be reused after the earlier publications
        step = 1 if self.reuse else len(moments)
        return Published.of([self._left(waiters, places, spans, slice(at, at + step), (group, left)) for at in cuts])

    def _left(
        self, waiters: Waiters, x: _Places, spans: _Places, some: slice, rows_left: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> Published:
        """Decide which records leave at some moments, and note the groups of the rows and the moments at which they leave."""
        from unveil.stream.cluster_kernels import SUPPRESSED_ROW, leaving_groups

        group, left = rows_left
        waited = left == _WAITS
        numbered = np.column_stack([waiters.moments, np.arange(len(spans))])[some]
        finite = np.where(np.isfinite(x), x, -1.0)
        flat = self.coordinates.flat
        number = leaving_groups(finite, spans[some], flat, waiters.codes, numbered, self.k, self.diverse, group, left)
        rows = np.flatnonzero(waited & (group >= 0))
        rows = rows[np.argsort(left[rows], kind="stable")]
        low, high = np.full((number, x.shape[1]), np.inf), np.full((number, x.shape[1]), -np.inf)
        np.minimum.at(low, group[rows], x[rows])
        np.maximum.at(high, group[rows], x[rows])
        formed = np.zeros(number, dtype=np.int64)
        formed[group[rows]] = left[rows]
        gone = np.flatnonzero(waited & (group == SUPPRESSED_ROW))
        alone = {row: box for row in gone.tolist() if (box := self._covering(x[row])) is not None}
        low, high = (np.concatenate([ends, *(box[at][None] for box in alone.values())]) for at, ends in enumerate((low, high)))
        everyone = np.concatenate([rows, np.array(list(alone), dtype=np.int64)])
        place = np.concatenate([group[rows], number + np.arange(len(alone))])
        labels, loss = self.coordinates.labels(low, high, spans[np.concatenate([formed, left[everyone[len(rows) :]]])])
        self._remember(low[:number], high[:number], loss[:number])
        lonely = np.arange(len(everyone)) >= len(rows)
        suppressed = gone[~np.isin(gone, everyone)]
        return Published(everyone, rows_of(labels, place), loss[place], lonely, left[everyone], suppressed, left[suppressed])

    def state(self) -> dict[str, Any]:
        """Return the state learnt so far."""
        boxes = [[low.tolist(), high.tolist()] for low, high in self._boxes]
        return {"boxes": boxes, "coordinates": self.coordinates.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._boxes = [(np.array(low), np.array(high)) for low, high in state["boxes"]]
        self.coordinates.restore(state["coordinates"])

    def _covering(self, point: NDArray[np.float64]) -> _Box | None:
        """Return the covering box with the least loss from the latest publication that has one; None if there is none."""
        return next(((low, high) for low, high in self._boxes if (low <= point).all() and (point <= high).all()), None)

    def _remember(self, low: NDArray[np.float64], high: NDArray[np.float64], loss: NDArray[np.float64]) -> None:
        """Keep the boxes of a publication with the least loss, for records that leave alone."""
        if self.reuse:
            good = np.argsort(loss, kind="stable")[:_KEPT_OF_EACH]
            self._boxes = [*((low[at], high[at]) for at in good), *self._boxes][:_MOST_KEPT]


@dataclass
class Tumbling:
    """Whole windows, generalised by the optimal search; the levels of a window are reused for the next as long as they suffice.

    Parameters
    ----------
    hierarchies
        The hierarchies of the key attributes; missing ones are proposed from the first window.
    k, diverse
        The least numbers of persons, and of values of each sensitive attribute, of every class.
    suppression
        The share of a window that may be suppressed.
    """

    key: tuple[str, ...]
    hierarchies: dict[str, Hierarchy]
    k: int
    diverse: int = 1
    suppression: float = 0.05
    whole: bool = True
    levels: dict[str, tuple[int, int]] = field(default_factory=dict)
    _rules: dict[str, tuple[Builder, set[Any]]] = field(default_factory=dict)

    def publish(self, waiters: Waiters) -> Published:
        """Generalise all waiting records, with the levels of the previous window if these suffice."""
        stops = [0, *waiters.moments[:, 0].tolist()]
        return Published.of([self._window(waiters, *ends, moment) for moment, ends in enumerate(pairwise(stops))])

    def _window(self, waiters: Waiters, start: int, stop: int, moment: int) -> Published:
        """Decide which records of one window are released."""
        frame, codes = waiters.frame[start:stop], waiters.codes[:, start:stop]
        if len(np.unique(codes[0])) < self.k:
            labels, kept, score = pl.DataFrame(schema=dict.fromkeys(self.key, pl.String)), np.zeros(stop - start, dtype=bool), 1.0
        else:
            self._complete(frame)
            release = self._generalised(frame)
            labels = pl.DataFrame({name: pl.Series(release.data[name]).cast(pl.String) for name in self.key})
            gone = np.all([(labels[name] == SUPPRESSED).fill_null(value=False).to_numpy() for name in self.key], axis=0)
            kept, score = ~gone & self._protecting(labels, codes), float(release.score)
            labels = labels.filter(kept)
        rows, out = start + np.flatnonzero(kept), start + np.flatnonzero(~kept)
        here = np.full(len(rows), moment)
        return Published(
            rows, labels, np.full(len(rows), score), np.zeros(len(rows), dtype=bool), here, out, np.full(len(out), moment)
        )

    def state(self) -> dict[str, Any]:
        """Return the state learnt so far."""
        rules = {name: [type(rule).__name__, vars(rule), sorted(seen)] for name, (rule, seen) in self._rules.items()}
        hierarchies = {name: [list(row) for row in hierarchy.labels] for name, hierarchy in self.hierarchies.items()}
        return {"levels": self.levels, "rules": rules, "trees": hierarchies}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.levels = {name: (int(low), int(high)) for name, (low, high) in state["levels"].items()}
        self.hierarchies = {name: Hierarchy(name, rows) for name, rows in state["trees"].items()}
        for name, (kind, settings, seen) in state["rules"].items():
            arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
            self._rules[name] = _RULES[kind](**arguments), set(seen)

    def _complete(self, frame: pl.DataFrame) -> None:
        """Propose missing hierarchies, and place new values by the rule, or directly under the root."""
        from unveil.search import propose_hierarchy

        for name in self.key:
            values = set(frame[name].drop_nulls().unique().to_list())
            if name not in self.hierarchies:
                proposal = propose_hierarchy(frame.select(name), name)
                self.hierarchies[name] = proposal.hierarchy
                if proposal.rule is not None and isinstance(proposal.rule, tuple(_RULES.values())):
                    self._rules[name] = proposal.rule, values
            elif name in self._rules and not values <= self._rules[name][1]:
                rule, seen = self._rules[name]
                self._rules[name] = rule, seen | values
                with contextlib.suppress(UnveilError):
                    self.hierarchies[name] = rule.build(sorted(seen | values), column=name)
            self.hierarchies[name] = _covering_all(self.hierarchies[name], frame[name])

    def _generalised(self, frame: pl.DataFrame) -> Any:
        from unveil.models import KAnonymity
        from unveil.protect.anonymize import anonymize

        models = [KAnonymity(self.k)]
        options: dict[str, Any] = {"hierarchies": self.hierarchies, "suppression": self.suppression, "keep_order": True}
        keys = frame.select(self.key)
        if self.levels:
            try:
                return anonymize(keys, self.key, models, levels=self.levels, **options)
            except ModelNotMetError:
                pass
        release = anonymize(keys, self.key, models, **options)
        self.levels = {name: (level, level) for name, level in release.transformation.items()}
        return release

    def _protecting(self, labels: pl.DataFrame, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which records are in a class of enough persons, with enough values of every sensitive attribute."""
        sensitive = {f"\x00s{at}": attribute for at, attribute in enumerate(codes[1:])}
        table = labels.with_columns(pl.Series("\x00p", codes[0]), *(pl.Series(name, codes) for name, codes in sensitive.items()))
        enough = table.select(
            (pl.col("\x00p").n_unique().over(list(self.key)) >= self.k).alias("\x00k"),
            *((pl.col(name).n_unique().over(list(self.key)) >= self.diverse) for name in sensitive),
        )
        return np.asarray(np.all([enough[name].to_numpy() for name in enough.columns], axis=0))


def rows_of(frame: pl.DataFrame, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Return some rows of a frame, column by column, because for many small publications threads cost more than they save."""
    places = pl.Series(rows.astype(np.uint32))
    return pl.DataFrame({column.name: column[places] for column in frame})


def _covering_all(hierarchy: Hierarchy, column: pl.Series) -> Hierarchy:
    """Return a hierarchy that contains every value; a new one is placed directly under the root."""
    rooted = hierarchy.with_root()
    known = set(rooted.leaves)
    root = rooted.labels[0][-1]
    height = len(rooted.labels[0])
    texts = [str(value) for value in column.drop_nulls().unique().sort().to_list()]
    new = [text for text in texts if text not in known]
    return Hierarchy(rooted.column, [*rooted.labels, *((text, *[root] * (height - 1)) for text in new)]) if new else rooted
