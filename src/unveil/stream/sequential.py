"""How much do two releases about the same people disclose together? The intersection attack, and m-invariance.

Someone who knows the key values of a person, and that the person is in both releases, looks up the records of each whose labels
cover these values. A sensitive value that stays the same over time must occur in both, so only the intersection remains.

m-invariance (Xiao and Tao 2007) makes the intersection harmless: every class of a release has m records with m different
sensitive values, and anyone who is in both releases is hidden among the same values in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import Names, require_columns, sides_of
from unveil.counts import Classes, Counts, count_table, places_among
from unveil.errors import ArgumentError, UndefinedMeasureError, one_line
from unveil.formats import counted
from unveil.measures import discrimination_rate
from unveil.partitions import Hierarchy, is_null, is_suppressed, parse_generalised, point_of, text_form
from unveil.results import Chart, Figure, Result, Table, View
from unveil.run import Progress, active_run, in_run
from unveil.sources import Data, Source, tallied
from unveil.study import open_both, require_values, stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Intersection", "Seen", "intersect_releases"]

_CELLS = 1 << 22
"""The number of pairs of a class and a person that are examined at once."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The remaining uncertainty about the sensitive value after one release, or after both together.

    Attributes
    ----------
    candidates
        The mean number of remaining values for a person.
    certain
        The share of persons for whom only one value remains.
    rate
        The Discrimination Rate, for the sensitive attribute, of the classes that cover a person's key; None if it is undefined.
    """

    candidates: float
    certain: float
    rate: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as written to JSON."""
        return {"candidates": self.candidates, "certain": self.certain, "rate": self.rate}


@dataclass(frozen=True, slots=True, repr=False)
class Intersection(Result):
    """The disclosure by two releases together.

    Attributes
    ----------
    sensitive
        The attribute.
    earlier, later, together
        The remaining uncertainty about it after each release, and after both together.
    newly
        The share of persons for whom both releases together leave one value, and each alone leaves several.
    persons, apart
        The numbers of persons who are covered in both releases, and of those who are not and are left out.
    m_earlier, m_later
        The size of the smallest class of each release, if no class has a value twice; 0 otherwise.
    invariant
        The share of persons who are hidden among the same values in both releases.
    """

    sensitive: str
    earlier: Seen
    later: Seen
    together: Seen
    newly: float
    persons: int
    apart: int
    m_earlier: int
    m_later: int
    invariant: float
    version: str = __version__

    @property
    def m_invariance(self) -> int:
        """The m for which the releases are m-invariant; 0 if there is none."""
        return min(self.m_earlier, self.m_later) if self.invariant == 1.0 else 0

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"Intersection({one_line(self.sensitive)}: "
            f"{self.earlier.candidates:.2f} and {self.later.candidates:.2f} candidates alone, "
            f"{self.together.candidates:.2f} together; {self.newly:.1%} newly certain)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result as plain Python values."""
        seen = {name: getattr(self, name).to_dict() for name in ("earlier", "later", "together")}
        sizes = {"newly_certain": self.newly, "persons": self.persons, "apart": self.apart}
        own = {"m_earlier": self.m_earlier, "m_later": self.m_later, "invariant": self.invariant}
        return {"sensitive": self.sensitive, **seen, **sizes, "m_invariance": self.m_invariance, **own, "version": self.version}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per release, and one for both."""
        seen = (self.earlier, self.later, self.together)
        table: dict[str, Sequence[Any]] = {"release": ["earlier", "later", "together"]}
        return table | {name: [getattr(one, name) for one in seen] for name in ("candidates", "certain", "rate")}

    def view(self) -> View:
        """Return the displayed figures, table and chart."""
        columns = self.columns()
        rows = tuple(tuple("-" if cell is None else cell for cell in row) for row in zip(*columns.values(), strict=True))
        bars = tuple((name, share) for name, share in zip(columns["release"], columns["certain"], strict=True))
        chart = Chart("certain", "bars", "Persons whose value is certain", ("release", "share"), bars)
        figures = (
            Figure("newly certain", self.newly, "persons whose value both releases together disclose, but neither alone"),
            Figure("m-invariance", self.m_invariance, "0: the releases are not m-invariant for any m"),
            Figure("hidden among the same values", self.invariant, "share of persons"),
            Figure("persons", self.persons, f"covered in both; {counted(self.apart, 'other')} left out"),
        )
        table = Table(tuple(columns), rows, title=f"What is left of {self.sensitive}", bars=frozenset({"certain", "rate"}))
        return View("Two releases together", figures, (table,), charts=(chart,))


@checked_arguments
@in_run
def intersect_releases(
    people: Data,
    earlier: Data,
    later: Data,
    key: Names,
    sensitive: str,
    *,
    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Intersection:
    """Attack two releases about the same people: find the sensitive values that both releases allow.

    Parameters
    ----------
    people
        The people who are in both releases, with their true key and sensitive values.
    earlier, later
        The two releases.
    key, sensitive
        The key attributes that the intruder knows, and the attribute that stays the same over time.
    mapping
        Columns with other names in the releases, as pairs of the name in `people` and the name in the releases.
    hierarchies
        The hierarchies of released labels whose texts do not show the values they cover; also those of a study or project.
    progress
        A run, or a function called with the name of a stage, the finished steps and the total.

    Returns
    -------
    Intersection
        The remaining values after each release and after both, the share of persons newly certain, and m-invariance.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [21, 25, 28, 33], "disease": ["flu", "hiv", "cold", "flu"]})
    >>> first = pl.DataFrame({"age": ["[21, 25]", "[21, 25]", "[28, 33]", "[28, 33]"], "disease": ["flu", "hiv", "cold", "flu"]})
    >>> second = pl.DataFrame({"age": ["21", "[25, 28]", "[25, 28]", "33"], "disease": ["flu", "hiv", "cold", "flu"]})
    >>> intersect_releases(people, first, second, "age", "disease")
    Intersection(disease: 2.00 and 1.50 candidates alone, 1.00 together; 50.0% newly certain)
    """
    keys, _ = sides_of(key, sensitive)
    renamed = dict(mapping)
    run = active_run()
    known = _counted(people, open_both(people, earlier)[0], [*keys, sensitive])
    persons = known.classes(keys)
    names = [renamed.get(name, name) for name in (*keys, sensitive)]
    releases = [_counted(release, open_both(people, release)[1], names) for release in (earlier, later)]
    covered = stated(people, keys, hierarchies=hierarchies).hierarchies
    values = _all_values([known.classes([sensitive]), *(one.classes(names[-1:]) for one in releases)])
    sides = []
    for stage, counts in zip(("the earlier release", "the later release"), releases, strict=True):
        with run.stage(stage):
            sides.append(_Side.of(counts, persons, values, [covered.get(name) for name in keys]))
    return _intersection(sensitive, known, persons, sides)


def _intersection(sensitive: str, known: Counts, persons: Classes, sides: Sequence[_Side]) -> Intersection:
    one, other = sides
    kept = (one.covered & other.covered)[persons.of_cell]
    if not kept.any():
        raise ArgumentError("no person is covered in both releases; check the key columns, their mapping and their hierarchies.")
    n = known.n[kept].astype(np.float64)
    of_cell = persons.of_cell[kept]
    left = one.held & other.held
    attribute = known.classes([sensitive])
    frame = pl.DataFrame({"secret": attribute.of_cell[kept], "one": one.signature[of_cell], "other": other.signature[of_cell]})
    records = frame[np.repeat(np.arange(len(of_cell)), known.n[kept])]
    seen = [
        _seen(side, of_cell, n, records, columns)
        for side, columns in ((one.held, ["one"]), (other.held, ["other"]), (left, ["one", "other"]))
    ]
    alone = (one.held.sum(axis=1) > 1) & (other.held.sum(axis=1) > 1)
    newly = (left.sum(axis=1) == 1) & alone
    same = (one.held == other.held).all(axis=1)
    total = float(n.sum())
    earlier, later, together = seen
    shares = {"newly": newly, "invariant": same}
    figures = {name: float(n[marked[of_cell]].sum() / total) for name, marked in shares.items()}
    sizes = {"persons": int(total), "apart": int(known.n[~kept].sum()), "m_earlier": one.m, "m_later": other.m}
    return Intersection(sensitive=sensitive, earlier=earlier, later=later, together=together, **figures, **sizes)  # type: ignore[arg-type]


def _seen(
    held: NDArray[np.bool_], of_cell: NDArray[np.int64], n: NDArray[np.float64], records: pl.DataFrame, key: list[str]
) -> Seen:
    candidates = held.sum(axis=1)[of_cell]
    try:
        rate: float | None = discrimination_rate(records, key, "secret").value
    except UndefinedMeasureError:
        rate = None
    total = n.sum()
    return Seen(float((n * candidates).sum() / total), float(n[candidates == 1].sum() / total), rate)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One release, from the view of someone who knows the true key values.

    Attributes
    ----------
    held
        For every true key value, the sensitive values of the records that cover it.
    covered, signature
        Whether any record covers it, and a number that identifies the set of these records.
    m
        The size of the smallest class, if no class has a value twice; 0 otherwise.
    """

    held: NDArray[np.bool_]
    covered: NDArray[np.bool_]
    signature: NDArray[np.int64]
    m: int

    @classmethod
    def of(cls, counts: Counts, persons: Classes, values: Sequence[Any], hierarchies: Sequence[Hierarchy | None]) -> _Side:
        """Look up the records of a release that cover each true key value; its last column is the sensitive one."""
        *keys, sensitive = counts.names
        classes = counts.classes(keys)
        attribute = counts.classes([sensitive])
        place = places_among(values, attribute.values)
        holds = np.zeros((classes.number, len(values)), dtype=bool)
        holds[classes.of_cell, place[attribute.of_cell]] = True
        covering = [
            _covering(column.values, true.values, hierarchy)
            for column, true, hierarchy in zip(classes.columns, persons.columns, hierarchies, strict=True)
        ]
        return cls(*_covering_classes(classes, persons, covering, holds), _m_of(counts, classes))


def _counted(data: Data, source: Source, names: Sequence[str]) -> Counts:
    """Count columns of a table under the null policy of its study or project; refuse one that reads them by partitions."""
    require_columns(names, source.names)
    require_values(data, names)
    return count_table(tallied(source, names, nulls=stated(data, names).nulls))


def _all_values(columns: Sequence[Classes]) -> list[Any]:
    """Return every value of the sensitive attribute, once."""
    values: list[Any] = []
    for column in columns:
        own = column.values
        values += [value for value, place in zip(own, places_among(values, own).tolist(), strict=True) if place < 0]
    return values


def _covering_classes(
    classes: Classes, persons: Classes, covering: Sequence[NDArray[np.bool_]], holds: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Return for each true key the values in the classes that cover it, whether any class does, and a number for their set."""
    held = np.zeros((persons.number, holds.shape[1]), dtype=bool)
    covered = np.zeros(persons.number, dtype=bool)
    signature = np.zeros(persons.number, dtype=np.int64)
    known: dict[bytes, int] = {}
    step = max(_CELLS // max(classes.number, 1), 1)
    weights = holds.astype(np.float32)
    for start in active_run().through("persons", range(0, persons.number, step)):
        piece = slice(start, start + step)
        fits = np.ones((len(persons.n[piece]), classes.number), dtype=bool)
        for table, label, true in zip(covering, classes.codes, persons.codes, strict=True):
            fits &= table[true[piece]][:, label]
        held[piece] = fits.astype(np.float32) @ weights > 0
        covered[piece] = fits.any(axis=1)
        packed = np.packbits(fits, axis=1)
        signature[piece] = [known.setdefault(row.tobytes(), len(known)) for row in packed]
    return held, covered, signature


def _covering(labels: Sequence[Any], values: Sequence[Any], hierarchy: Hierarchy | None) -> NDArray[np.bool_]:
    """Return for every true value (row) and label (column) whether the label covers the value."""
    table = np.zeros((len(values), len(labels)), dtype=bool)
    texts = [None if is_null(value) else text_form(value) for value in values]
    points = np.array([np.nan if is_null(value) or (x := point_of(value)) is None else x for value in values])
    below = {} if hierarchy is None else _leaves_below(hierarchy)
    for at, label in enumerate(active_run().through("labels", labels)):
        if is_suppressed(label):
            table[:, at] = True
            continue
        name = text_form(label)
        table[:, at] = [text is not None and (text == name or text in below.get(name, ())) for text in texts]
        general = parse_generalised(label)
        if general is None or name in below:
            continue
        if general.is_interval and general.low is not None and general.high is not None:
            above = points >= general.low if general.with_low else points > general.low
            table[:, at] |= above & (points <= general.high if general.with_high else points < general.high)
        else:
            table[:, at] |= [text is not None and general.covers(text) for text in texts]
    return table


def _leaves_below(hierarchy: Hierarchy) -> dict[str, set[str]]:
    """Return the leaves under every label of a hierarchy."""
    below: dict[str, set[str]] = {}
    for leaf, *above in hierarchy.labels:
        for label in above:
            below.setdefault(label, set()).add(leaf)
    return below


def _m_of(counts: Counts, classes: Classes) -> int:
    """Return the size of the smallest class, if no class has a value twice; 0 otherwise."""
    return int(classes.n.min()) if int(counts.n.max()) == 1 else 0
