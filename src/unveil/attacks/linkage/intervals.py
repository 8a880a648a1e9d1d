r"""How closely does a released value reveal the original one? Interval disclosure.

An interval is laid around each released value; the original value is *disclosed* if it falls inside. No record is linked: the
intruder is assumed to know which released record is the person's, so rows are aligned. With a width :math:`w` between 0 and 1:

- **rank**: the released values are ordered, and the interval reaches from the value :math:`\lfloor w n \rfloor` places before to
  the value as many places after, :math:`n` being the released values (at the ends it stops with the last value; equal values
  are passed as one, so the places are counted from the first and from the last of them);
- **deviation**: the interval is the released value :math:`\pm\, w \sigma`, :math:`\sigma` being the standard deviation of the
  original values (population form).

Widths are usually 1 to 10 percent, and the shares averaged over them; both are given. Higher is more risk.

A generalised value is represented by its middle. A suppressed one discloses nothing, but its record counts. A record whose
original value is a null has nothing to disclose and is left out, of that attribute and of all attributes together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attacks.linkage.cells import AttributeCells, AttributeSpec, Records, cells_of_each, opened_both, rows_in
from unveil.attacks.linkage.rates import share_bounds
from unveil.errors import ArgumentError, EmptyDataError, listed, shown
from unveil.formats import counted, jsonable, number
from unveil.measures import Interval
from unveil.results import Figure, Figures, Result, Table, View
from unveil.run import active_run, in_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["METHODS", "WIDTHS", "AttributeDisclosure", "IntervalDisclosure", "Method", "WidthDisclosure", "interval_disclosure"]

Method: TypeAlias = Literal["rank", "deviation"]
METHODS: tuple[Method, ...] = get_args(Method)
WIDTHS: tuple[float, ...] = tuple(percent / 100 for percent in range(1, 11))
"""1 to 10 percent, over which the literature averages."""

_ROUNDING = 1e-9
_PIECE = 1 << 18
"""The number of values that are looked up between two checks of the run."""


@dataclass(frozen=True, slots=True, eq=False)
class WidthDisclosure(Figures):
    """The share disclosed at one width.

    Attributes
    ----------
    width
        The reach of the interval to each side, as a share of the values or of the standard deviation.
    value
        The share of records disclosed.
    baseline
        The share expected if the released values were assigned to the records at random; None for all attributes together.
    interval
        The confidence interval of `value` (Clopper-Pearson).
    """

    width: float
    value: float
    baseline: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class AttributeDisclosure(Figures):
    """The shares disclosed of one attribute, or of all attributes of a record together.

    Attributes
    ----------
    attribute
        Its name in the original; None: all together.
    value, baseline
        The means over the widths.
    records
        The number of records counted.
    by_width
        The share at each width.
    """

    attribute: str | None
    value: float
    baseline: float | None
    records: int
    by_width: tuple[WidthDisclosure, ...]


@dataclass(frozen=True, slots=True, repr=False)
class IntervalDisclosure(Result):
    """The share of the original values that fall into intervals around the released ones.

    Attributes
    ----------
    value, baseline
        The means over attributes and widths, and those of assigning the released values at random.
    by_attribute
        The shares of each attribute.
    together
        The shares of records disclosed on every attribute at once; None if no record has a value of each.
    method
        "rank" or "deviation".
    records
        The number of records of both tables.
    made
        The provenance of the result.
    """

    value: float
    baseline: float
    by_attribute: tuple[AttributeDisclosure, ...]
    together: AttributeDisclosure | None
    method: str
    records: int
    made: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return one line: the share disclosed, and the share by chance."""
        return (
            f"IntervalDisclosure({number(self.value)} disclosed, chance {number(self.baseline)}, by {self.method}, "
            f"{counted(len(self.by_attribute), 'attribute')}, {counted(self.records, 'record')})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "value": self.value,
            "baseline": self.baseline,
            "by_attribute": [attribute.to_dict() for attribute in self.by_attribute],
            "together": None if self.together is None else self.together.to_dict(),
            "method": self.method,
            "records": self.records,
            "made": jsonable(self.made),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per attribute and width; the attribute is null for all together."""
        parts = [*self.by_attribute, *([] if self.together is None else [self.together])]
        rows = [(part.attribute, at.width, at.value, at.baseline) for part in parts for at in part.by_width]
        return {name: [row[place] for row in rows] for place, name in enumerate(("attribute", "width", "value", "baseline"))}

    def view(self) -> View:
        """Return the displayed shares."""
        parts = [*self.by_attribute, *([] if self.together is None else [self.together])]
        rows = tuple(("all together" if part.attribute is None else part.attribute, part.value, part.baseline) for part in parts)
        figures = (
            Figure("Disclosed", self.value, "original values inside the interval, mean over attributes and widths"),
            Figure("By chance", self.baseline, "with the released values assigned at random"),
        )
        table = Table(("Attribute", "Disclosed", "By chance"), rows, bars=frozenset({"Disclosed"}))
        widths = ", ".join(f"{100 * at.width:g}" for at in self.by_attribute[0].by_width)
        return View("Interval disclosure", figures, (table,), (f"Intervals by {self.method}; widths in percent: {widths}.",))


@checked_arguments
@in_run
def interval_disclosure(
    original: Records,
    release: Records,
    *,
    attributes: Iterable[AttributeSpec] | None = None,
    method: Method = "rank",
    widths: float | Sequence[float] = WIDTHS,
    confidence: float = 0.95,
) -> IntervalDisclosure:
    """Count the original values that fall into intervals around the released ones.

    Parameters
    ----------
    original, release
        Tables, row by row of the same people: a mapping from name to values, a two-dimensional array, or an eager data frame.
    attributes
        Continuous and ordinal attributes: names, pairs of names or `LinkedAttribute`. By default every column that both have.
    method
        "rank" or "deviation", as above.
    widths
        One width or several, as shares between 0 and 1.
    confidence
        The confidence of the intervals (Clopper-Pearson).

    Returns
    -------
    IntervalDisclosure
        The share disclosed by attribute and width, of all attributes together, and the means.

    Raises
    ------
    ArgumentError
        If the tables differ in length, an attribute is nominal, or a width is not between 0 and 1.

    Notes
    -----
    sdcMicro's ``dRisk`` is the share of records with all attributes inside, `together` by "deviation" at the width 0.05, except
    that it uses the standard deviation of the released values; here it is the original's, which protection cannot widen.

    References
    ----------
    .. [1] Pagliuca, Seri (1999), Some results of individual ranking method on the system of enterprise accounts annual survey,
       Esprit SDC project, deliverable MI-3/D2.
    .. [2] Domingo-Ferrer, Torra (2001), A quantitative comparison of disclosure control methods for microdata, in:
       Confidentiality, Disclosure and Data Access, North-Holland, 111-133.

    Examples
    --------
    >>> people = {"income": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]}
    >>> masked = {"income": [10, 20, 30, 40, 50, 70, 60, 80, 90, 200]}
    >>> interval_disclosure(people, masked, widths=0.1).value
    1.0
    >>> interval_disclosure(people, masked, widths=0.1, method="deviation")
    IntervalDisclosure(0.7000 disclosed, chance 0.0900, by deviation, 1 attribute, 10 records)
    """
    if method not in METHODS:
        raise ArgumentError.not_one_of("method", method, METHODS)
    reaches = _checked_widths(widths)
    original, release, columns = opened_both(original, release, attributes)
    records = rows_in(original)
    if rows_in(release) != records:
        raise ArgumentError(
            f"the original has {records:,} records, the release {rows_in(release):,}; interval disclosure compares row by row."
        )
    cells = cells_of_each(columns, intervals="midpoint")
    if nominal := [cell.attribute.name for cell in cells if cell.nominal]:
        raise ArgumentError(f"intervals need numbers or ordered categories; these are nominal: {listed(nominal)}.")
    inside = [_disclosed(cell, method, reaches) for cell in cells]
    parts = tuple(
        _part(cell.attribute.name, hits, np.isfinite(cell.position), chances, reaches, confidence)
        for cell, (hits, chances) in zip(cells, inside, strict=True)
    )
    everywhere = np.logical_and.reduce([np.isfinite(cell.position) for cell in cells])
    every = np.logical_and.reduce([hits for hits, _ in inside])
    return IntervalDisclosure(
        value=_mean([part.value for part in parts]),
        baseline=_mean([part.baseline or 0.0 for part in parts]),
        by_attribute=parts,
        together=_part(None, every, everywhere, None, reaches, confidence) if everywhere.any() else None,
        method=method,
        records=records,
        made={
            "attributes": [
                {"original": cell.attribute.name, "release": cell.attribute.released, "kind": cell.attribute.kind}
                for cell in cells
            ],
            "widths": list(reaches),
            "confidence": confidence,
            "version": __version__,
        },
    )


def _checked_widths(widths: float | Sequence[float]) -> tuple[float, ...]:
    checked = tuple(widths) if isinstance(widths, Iterable) else (widths,)
    if not checked or not all(0.0 < width <= 1.0 for width in checked):
        raise ArgumentError("widths are shares between 0 and 1 (0.05 is five percent), at least one.")
    return checked


def _disclosed(cell: AttributeCells, method: Method, widths: Sequence[float]) -> tuple[NDArray[np.bool_], list[float]]:
    """Return, for each width, which records are disclosed, and the share that chance would disclose."""
    released = cell.points()
    there, known = np.isfinite(cell.position), ~np.isnan(released)
    if not there.any():
        raise EmptyDataError(
            f"column {shown(cell.attribute.name)} of the original holds only nulls; there is nothing to disclose."
        )
    ordered_originals, ordered = np.sort(cell.position[there]), np.sort(released[known])
    hits = np.zeros((len(widths), len(released)), dtype=bool)
    chances = []
    for at, width in enumerate(active_run().each(f"intervals, {cell.attribute.name}", widths)):
        (low, high), original = _ends(cell, method, ordered, width, released[known]), cell.position[known]
        hits[at, known] = (low <= original) & (original <= high) & there[known]
        # a released value is assigned to any of the records with equal probability
        reached = _reached(ordered_originals, *_ends(cell, method, ordered, width, ordered))
        chances.append(reached / len(ordered_originals) / len(released))
    return hits, chances


def _ends(
    cell: AttributeCells, method: Method, ordered: NDArray[np.float64], width: float, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the intervals around some of the released values, all of which are given in order."""
    if method == "rank":
        return _rank_ends(ordered, values, width)
    reach = width * cell.spread + _ROUNDING * cell.spread
    return values - reach, values + reach


def _reached(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> int:
    """Return the total number of values that lie in each of some intervals; all are in order, which makes the search fast."""
    return int(_places(values, high, "right").sum() - _places(values, low, "left").sum())


def _places(ordered: NDArray[np.float64], values: NDArray[np.float64], side: Literal["left", "right"]) -> NDArray[np.int64]:
    """Return the positions of values among sorted ones, computed piece by piece."""
    places = np.empty(len(values), dtype=np.int64)
    for start in range(0, len(values), _PIECE):
        active_run().check()
        places[start : start + _PIECE] = np.searchsorted(ordered, values[start : start + _PIECE], side=side)
    return places


def _rank_ends(
    ordered: NDArray[np.float64], values: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values the given number of places before and after each."""
    places = int(np.floor(width * len(ordered) + _ROUNDING))
    first = _places(ordered, values, "left") - places
    last = _places(ordered, values, "right") - 1 + places
    return ordered[np.maximum(first, 0)], ordered[np.minimum(last, len(ordered) - 1)]


def _part(
    name: str | None,
    hits: NDArray[np.bool_],
    counted_in: NDArray[np.bool_],
    chances: Sequence[float] | None,
    widths: Sequence[float],
    confidence: float,
) -> AttributeDisclosure:
    records = int(np.count_nonzero(counted_in))
    parts = []
    for at, width in enumerate(widths):
        disclosed = int(np.count_nonzero(hits[at] & counted_in))
        chance = None if chances is None else chances[at]
        parts.append(WidthDisclosure(width, disclosed / records, chance, share_bounds(disclosed, records, confidence)))
    baseline = None if chances is None else _mean(chances)
    return AttributeDisclosure(name, _mean([at.value for at in parts]), baseline, records, tuple(parts))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
