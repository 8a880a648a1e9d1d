r"""Is the nearest original record the right one? Distance-based record linkage.

For every released record the original records are sorted by distance. It is *linked* if the nearest is the record it was made
from, *linked to the second nearest* if the second is; ties are shared in expectation (see `rates`), and nothing is drawn. With
:math:`g_a` the gap between an original and a released value of attribute a (see `cells`), :math:`\sigma_a` the standard
deviation of the original's values (population form, nulls left out) and :math:`p` attributes:

- **euclidean**: :math:`\sqrt{\sum_a (g_a / \sigma_a)^2}`, for continuous and ordinal attributes;
- **mahalanobis**: :math:`\sqrt{(x - y)^\top S^{+} (x - y)}` on attributes divided by :math:`\sigma_a`, :math:`S` being the
  original's correlation matrix and :math:`S^{+}` its inverse, or pseudo-inverse if attributes determine one another
  (eigenvalues below :math:`10^{-10}` of the largest count as none); the same as with the covariance matrix if that can be
  inverted, and unlike it independent of the attributes' units if it cannot;
- **mixed**: :math:`\frac1p \sum_a d_a`, for any attributes: nominal :math:`d_a` is 0 if the original value is covered, else 1;
  ordinal, ranks apart over the number of categories less one; continuous, :math:`g_a / 4 \sigma_a`, or :math:`g_a` over the
  original's range (Gower). Both bring a continuous attribute to [0, 1], except for the rare value farther away than four
  deviations, or outside the original's range, which is not cut: otherwise outliers would all look alike, and they are the ones
  most easily linked.

An attribute that is the same in all original records separates none of them and does not count. Higher is more risk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attacks.linkage.cells import (
    AttributeCells,
    AttributeSpec,
    Intervals,
    Records,
    cells_of_each,
    column_names,
    column_of,
    opened,
    opened_both,
    rows_in,
    stacked,
)
from unveil.attacks.linkage.lines import LinkedAttribute
from unveil.attacks.linkage.rates import (
    Control,
    LinkageRates,
    PersonRates,
    Targets,
    checked_persons,
    checked_truth,
    control_of,
    rates_of,
)
from unveil.attacks.linkage.search import ScanSearch, Search, TreeSearch, slack
from unveil.attributes import require_columns
from unveil.errors import ArgumentError, NullsError, listed, shown
from unveil.run import Progress, in_run, watched
from unveil.study import Study, require_as_they_are, require_nulls_as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DISTANCES", "SCALES", "Distance", "Scale", "distance_linkage"]

Distance: TypeAlias = Literal["euclidean", "mahalanobis", "mixed"]
Scale: TypeAlias = Literal["deviation", "range"]
DISTANCES: tuple[Distance, ...] = get_args(Distance)
SCALES: tuple[Scale, ...] = get_args(Scale)

_NO_EIGENVALUE = 1e-10
_MOST_COORDINATES = 16
"""With more coordinates, a tree examines nearly every point anyway."""


@dataclass(frozen=True, slots=True)
class _Settings:
    distance: Distance
    scale: Scale
    intervals: Intervals
    confidence: float

    def __post_init__(self) -> None:
        if self.distance not in DISTANCES:
            raise ArgumentError.not_one_of("distance", self.distance, DISTANCES)
        if self.scale not in SCALES:
            raise ArgumentError.not_one_of("scale", self.scale, SCALES)


@checked_arguments
@in_run
def distance_linkage(  # noqa: PLR0913 - a public door
    original: Records,
    release: Records,
    truth: ArrayLike,
    *,
    attributes: Iterable[AttributeSpec] | None = None,
    distance: Distance = "euclidean",
    scale: Scale = "deviation",
    intervals: Intervals = "nearest",
    control: Records | Sequence[int] | None = None,
    persons: ArrayLike | None = None,
    confidence: float = 0.95,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> LinkageRates:
    """Link every released record to the nearest original record, and count how often that is right.

    Parameters
    ----------
    original, release
        Tables: a mapping from name to values, a two-dimensional array, or an eager data frame. Never changed.
    truth
        For each released record, the row of the original that it was made from; -1 if it was made from none. Only the scoring
        uses it. A record made from none stays in the denominator: any link of it is wrong.
    attributes
        The attributes that the intruder compares: names, pairs (name in the original, name in the release), or
        `LinkedAttribute`. By default every column that both tables have.
    distance
        "euclidean", "mahalanobis" or "mixed", as above.
    scale
        The divisor of a continuous attribute in the mixed distance: four standard "deviation"s, or the "range".
    intervals
        "nearest": the distance of a generalised value is that of its nearest point. "midpoint": that of its middle.
    control
        People who are certainly not in the release: row numbers of the original, or a table of their own. They are searched
        together with the original (and distances are scaled on both together); the rate at which they are mistaken for a
        released record's person is the rate of chance. Row numbers stay among the candidates of the attack itself; a table does
        not join them.
    persons
        The person of each original record, if a person has several: the result then also has the rate of persons (`by_person`).
    confidence
        The confidence of the intervals (Clopper-Pearson, on the sum of fractions).
    progress
        A run, or a function called with the name of a stage ("questions", such as "how many are nearer to this record than its
        own?"), the number answered, and the number of all questions; with a control, once more.

    Returns
    -------
    LinkageRates
        The shares linked, with those of a random guess and of the control.

    Raises
    ------
    ArgumentError
        If a nominal attribute is compared by a distance of numbers, or generalised values by Mahalanobis' distance.
    NullsError
        If the original has nulls, and the distance is not "mixed" (a null has no place among numbers); or if the release has
        nulls, and the distance is Mahalanobis'. The Euclidean distance skips cells that the release suppresses.

    Notes
    -----
    Points are searched with a k-d tree; intervals, sets, nominal attributes and nulls by a scan of all distinct pairs, none of
    which is stored. Both are exact.

    References
    ----------
    .. [1] Pagliuca, Seri (1999), Some results of individual ranking method on the system of enterprise accounts annual survey,
       Esprit SDC project, deliverable MI-3/D2.
    .. [2] Domingo-Ferrer, Torra (2001), A quantitative comparison of disclosure control methods for microdata, in:
       Confidentiality, Disclosure and Data Access, North-Holland, 111-133.
    .. [3] Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27(4), 857-871.

    Examples
    --------
    >>> people = {"age": [22, 25, 38, 39, 61], "income": [20, 31, 45, 46, 30]}
    >>> noisy = {"age": [21, 27, 36, 42, 60], "income": [22, 30, 45, 47, 31]}
    >>> distance_linkage(people, noisy, truth=[0, 1, 2, 3, 4])
    LinkageRates(1.0000 linked (0.4782 to 1.0000), 0.0000 second, chance 0.2000, euclidean, 5 records)
    >>> classes = {"age": ["[20, 30)", "[20, 30)", "30-39", "30-39", ">= 60"], "income": [None] * 5}
    >>> distance_linkage(people, classes, truth=[0, 1, 2, 3, 4]).value
    0.6
    """
    settings = _Settings(distance, scale, intervals, confidence)
    given = original
    original, release, columns = opened_both(original, release, attributes)
    require_nulls_as_values(given, [attribute.name for attribute, _, _ in columns])
    originals, records = rows_in(original), rows_in(release)
    rows, whose = checked_truth(truth, originals=originals, records=records), checked_persons(persons, originals)
    cells = cells_of_each(columns, intervals=intervals)
    search = watched(records, lambda: _search_of(cells, settings))
    closer, tied = np.zeros(records), np.zeros(records)
    known = np.flatnonzero(rows >= 0)
    true_distance = search.to_records(known, rows[known])
    closer[known], tied[known] = search.around(known, true_distance, np.ones(originals), most=1.0)
    rates = rates_of(
        closer,
        tied,
        matched=len(known),
        originals=originals,
        distance=distance,
        made={
            "attributes": [_described(cell) for cell in cells],
            "originals": originals,
            "without_truth": records - len(known),
            "scale": scale if distance == "mixed" else "deviation",
            "intervals": intervals,
            "search": "tree" if isinstance(search, TreeSearch) else "scan",
            "version": __version__,
        },
        control=None if control is None else _control(control, columns, cells, rows, search, settings),
        confidence=confidence,
    )
    return rates if whose is None else replace(rates, by_person=_by_person(search, Targets.of(rows, whose), confidence))


def _by_person(search: Search, targets: Targets, confidence: float) -> PersonRates:
    """Link every released record to the nearest record, which is right if it belongs to the same person."""
    chances, starts = np.zeros(len(targets.person)), targets.starts
    if not len(starts):
        return targets.rates(chances, confidence)
    known, distance = targets.row[starts], search.to_records(targets.row, targets.original)
    nearest = np.minimum.reduceat(distance, starts)
    at_it = distance <= np.repeat(nearest + slack(nearest), np.diff(starts, append=len(distance)))
    closer, tied = search.around(known, nearest, np.ones(targets.originals), most=0.0)
    chances[known] = np.where(closer == 0, np.add.reduceat(at_it.astype(np.float64), starts) / np.maximum(tied, 1.0), 0.0)
    return targets.rates(chances, confidence)


def _search_of(cells: Sequence[AttributeCells], settings: _Settings) -> Search:
    """Return the kind of search that the attributes need."""
    if settings.distance != "mixed":
        _refuse_unplaced(cells, settings.distance)
    points = not any(cell.generalised or cell.nominal or cell.nulls for cell in cells)
    scale = settings.scale if settings.distance == "mixed" else "unit"
    factors = [cell.factor(scale) for cell in cells]
    power = 1 if settings.distance == "mixed" else 2
    if points and (len(cells) <= _MOST_COORDINATES or settings.distance == "mahalanobis"):
        return TreeSearch(*_placed(cells, factors, whiten=settings.distance == "mahalanobis"), power)
    return ScanSearch(cells, factors, power)


def _placed(
    cells: Sequence[AttributeCells], factors: Sequence[float], *, whiten: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the records of both tables as points, in units of the attributes."""
    kept = [(cell, factor) for cell, factor in zip(cells, factors, strict=True) if factor > 0]
    if not kept:
        return np.zeros((len(cells[0].position), 1)), np.zeros((len(cells[0].value), 1))
    centre = [cell.position.mean() for cell, _ in kept]
    original = np.column_stack([(cell.position - at) * by for (cell, by), at in zip(kept, centre, strict=True)])
    release = np.column_stack([(cell.points() - at) * by for (cell, by), at in zip(kept, centre, strict=True)])
    if not whiten:
        return original, release
    from scipy.linalg import eigh

    strength, direction = eigh(original.T @ original / len(original))
    used = strength > _NO_EIGENVALUE * strength[-1]
    turn = direction[:, used] / np.sqrt(strength[used])
    return _turned(original, turn), _turned(release, turn)


def _turned(points: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points in other axes, with equal points staying equal: a matrix product may round rows differently."""
    out = np.zeros((len(points), turn.shape[1]))
    for at, row in enumerate(turn):
        out += points[:, at : at + 1] * row
    return out


def _refuse_unplaced(cells: Sequence[AttributeCells], distance: Distance) -> None:
    """Refuse attributes and nulls that have no place among numbers."""
    nominal = [cell.attribute.name for cell in cells if cell.nominal]
    if nominal:
        raise ArgumentError(
            f"the {distance} distance compares numbers and ordered categories; these are nominal: {listed(nominal)}. "
            "Hint: distance='mixed' compares any."
        )
    nulls = {cell.attribute.name: cell.nulls for cell in cells if cell.nulls}
    if nulls:
        counts = ", ".join(f"{shown(name)} ({n:,})" for name, n in nulls.items())
        raise NullsError(f"the original has nulls in {counts}, which the {distance} distance cannot place; use distance='mixed'.")
    wide = [cell.attribute.released for cell in cells if cell.generalised]
    if wide and distance == "mahalanobis":
        raise ArgumentError(
            f"the mahalanobis distance needs one number per value; generalised or null in the release are: {listed(wide)}. "
            "Hint: intervals='midpoint' makes intervals numbers; distance='mixed' and 'euclidean' take what is suppressed."
        )


def _control(
    control: Records | Sequence[int],
    columns: Sequence[tuple[LinkedAttribute, Any, Any]],
    cells: Sequence[AttributeCells],
    truth: NDArray[np.int64],
    search: Search,
    settings: _Settings,
) -> Control:
    """Search the original together with people who are not in the release, and count how often these are nearest."""
    originals = len(columns[0][1])
    if _is_table(control):
        names = [cell.attribute.name for cell in cells]
        require_as_they_are(control, names)
        control = opened(control)
        require_columns(names, column_names(control))
        both = [
            (cell.attribute, stacked(mine, column_of(control, cell.attribute.name)), theirs)
            for cell, (_, mine, theirs) in zip(cells, columns, strict=True)
        ]
        joined = cells_of_each(both, intervals=settings.intervals)
        search, searched = _search_of(joined, settings), originals + rows_in(control)
        outsiders = np.arange(originals, searched)
    else:
        outsiders, searched = _outsiders(control, truth, originals), originals
    if not len(outsiders):
        raise ArgumentError("the control is empty; give records that are not in the release, or leave it out.")
    outside = np.zeros(searched)
    outside[outsiders] = 1.0
    everyone = np.arange(len(truth))
    nearest = search.to_nearest()
    _, strange = search.around(everyone, nearest, outside)
    _, tied = search.around(everyone, nearest, np.ones(searched))
    return control_of(strange / tied, outsiders=len(outsiders), searched=searched, confidence=settings.confidence)


def _outsiders(control: Any, truth: NDArray[np.int64], originals: int) -> NDArray[np.int64]:
    rows = np.asarray(control)
    if rows.size and (rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= originals):
        raise ArgumentError(f"control is a table, or row numbers of the original, 0 to {originals - 1:,}.")
    outsiders = np.unique(rows.astype(np.int64))
    released = int(np.isin(outsiders, truth).sum())
    if released:
        raise ArgumentError(
            f"{released:,} of {len(outsiders):,} control rows are true rows of release records; a control is not released."
        )
    return outsiders


def _is_table(control: Any) -> bool:
    if isinstance(control, Mapping | Study) or (isinstance(control, np.ndarray) and control.ndim == 2):  # noqa: PLR2004 - rows, columns
        return True
    return not isinstance(control, (np.ndarray, Sequence)) and hasattr(type(control), "columns")


def _described(cell: AttributeCells) -> dict[str, Any]:
    attribute = cell.attribute
    return {"original": attribute.name, "release": attribute.released, "kind": attribute.kind, "generalised": cell.generalised}
