"""How much does each key attribute disclose, through which values, and what would remain without it? In displayable form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.attributes import names_of
from unveil.counts import Counts, Owners, group, summed
from unveil.errors import UndefinedMeasureError
from unveil.formats import jsonable
from unveil.measures import ByValue, DiscriminationRate, split_rate
from unveil.results import MASK, masked_values
from unveil.run import active_run
from unveil.study import Study, counted_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AttributeRate", "Disclosure", "Dot", "Measure", "Question", "ValueRate", "attribute_rate", "disclosure"]

Question: TypeAlias = "tuple[str, str | None, Mapping[str, Any]]"
"""A sensitive attribute, the name of the partition by which it is read, and the partition's blocks by column."""

_MOST_VALUES = 10
_RESOLUTION = 100
"""The number of steps of the axis; dots at the same step are drawn as one."""


@dataclass(frozen=True, slots=True)
class ValueRate:
    """The rate of one value: weighted by its frequency (`dr`), and for those who hold it (`posterior`)."""

    value: Any
    count: int
    dr: float
    posterior: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"value": jsonable(self.value), "count": self.count, "dr": self.dr, "posterior": self.posterior}


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot of a chart: one value, or several with about the same posterior rate, and the number of records that hold them."""

    what: str
    posterior: float
    records: int


@dataclass(frozen=True, slots=True)
class AttributeRate:
    """The disclosure of a target by one key attribute.

    Attributes
    ----------
    name
        The attribute.
    dr, kind, adjusted
        Its Discrimination Rate, kind of identifier, and rate adjusted for chance (None against record identity).
    values, masked
        The number of its values, and the number of those that are not shown.
    hidden
        The values that are not shown although they are not small.
    riskiest
        The values that disclose most, among those that may be shown.
    dots
        The values for a chart: all against record identity, those that may be shown against a sensitive attribute.
    """

    name: str
    dr: float
    kind: str
    adjusted: float | None
    values: int
    masked: int
    hidden: frozenset[Any] = field(repr=False)
    riskiest: tuple[ValueRate, ...]
    dots: tuple[Dot, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "attribute": self.name,
            "dr": self.dr,
            "adjusted": self.adjusted,
            "kind": self.kind,
            "values": self.values,
            "masked_values": self.masked,
            "riskiest_values": [value.to_dict() for value in self.riskiest],
        }


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The disclosure of one sensitive attribute by the key, with its own values or grouped by a partition.

    Attributes
    ----------
    sensitive, partition
        The attribute, and the name of the semantic partition by which it is read; None: by its own values.
    dr, adjusted, kind
        The figures of all key attributes taken together; None if the rate is undefined.
    reason
        The reason why a figure is None.
    attributes
        The rates of the single attributes, highest first.
    """

    sensitive: str
    partition: str | None
    dr: float | None
    adjusted: float | None
    kind: str | None
    reason: str | None
    attributes: tuple[AttributeRate, ...]

    @property
    def title(self) -> str:
        """The attribute, and the partition by which it is read."""
        return self.sensitive if self.partition is None else f"{self.sensitive}, read by the partition {self.partition}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "sensitive": self.sensitive,
            "partition": self.partition,
            "dr": self.dr,
            "adjusted": self.adjusted,
            "kind": self.kind,
            "reason": self.reason,
            "attributes": [rate.to_dict() for rate in self.attributes],
        }


@dataclass(frozen=True, slots=True)
class Measure:
    """The rates of columns of a study, each measured once."""

    study: Study
    small: int
    salt: bytes = field(default=b"", repr=False)
    telling: Mapping[str, frozenset[Any]] = field(default_factory=dict, repr=False)
    _known: dict[tuple[Any, ...], DiscriminationRate] = field(default_factory=dict, repr=False)

    def knowing(self, keys: Sequence[str], questions: Sequence[Question]) -> Measure:
        """Return a measure that knows which values of the key attributes disclose some sensitive attribute.

        They are masked wherever the attribute occurs: a value that is shown in one table and masked in another would disclose.
        """
        if not self.small:
            return self
        telling: dict[str, frozenset[Any]] = {}
        for name in keys:
            tables = (self._by_value(name, sensitive, blocks) for sensitive, _, blocks in questions)
            telling[name] = frozenset().union(*(_values(table, table.telling) for table in tables if table is not None))
        return replace(self, telling=telling)

    def _by_value(self, name: str, sensitive: str, blocks: Mapping[str, Any]) -> ByValue | None:
        try:
            return self.rate(name, sensitive, blocks).table
        except UndefinedMeasureError:
            return None

    def rate(self, key: str | Sequence[str], sensitive: str | None, blocks: Mapping[str, Any]) -> DiscriminationRate:
        """Return the rate; a partition of a column that is not measured is left out."""
        keys, sensitive_names = names_of(key), names_of(sensitive)
        chosen = {name: block for name, block in blocks.items() if name in (*keys, *sensitive_names)}
        place = (keys, sensitive_names, tuple((name, id(block)) for name, block in chosen.items()))
        if place not in self._known:
            self._known[place] = split_rate(*counted_split(self.study, keys, sensitive_names, chosen))
        return self._known[place]


def attribute_rate(measure: Measure, name: str, sensitive: str | None, blocks: Mapping[str, Any]) -> AttributeRate:
    """Return what one key attribute discloses about a sensitive attribute, or about record identity."""
    rate = measure.rate(name, sensitive, blocks)
    table = rate.table
    salt = hashlib.blake2b(name.encode(errors="surrogatepass"), key=measure.salt).digest()
    telling = np.array(table.telling)
    if known := measure.telling.get(name):
        telling |= np.array([value in known for value in _all_values(table)])
    hidden = masked_values(table.classes.n, telling, measure.small, salt)
    order = [at for at in table.riskiest().tolist() if not hidden[at]][:_MOST_VALUES]
    riskiest = tuple(_value_rate(table, at) for at in order)
    dots = _dots(table, hidden, drawn=np.full(len(hidden), fill_value=True) if sensitive is None else ~hidden)
    large = _values(table, hidden & (table.classes.n >= measure.small))
    number = int(hidden.sum())
    return AttributeRate(name, rate.value, rate.kind, rate.adjusted, table.classes.number, number, large, riskiest, dots)


def disclosure(
    measure: Measure,
    keys: Sequence[str],
    sensitive: str,
    partition: str | None,
    blocks: Mapping[str, Any],
    done: Callable[[], None],
) -> Disclosure:
    """Return what the key attributes, alone and jointly, disclose about a sensitive attribute; `done` is called after each."""
    try:
        together = measure.rate(keys, sensitive, blocks)
    except UndefinedMeasureError as undefined:
        return Disclosure(sensitive, partition, None, None, None, str(undefined), ())
    done()
    rates = []
    for name in keys:
        rates.append(attribute_rate(measure, name, sensitive, blocks))
        done()
    rates.sort(key=lambda rate: -rate.dr)
    reason = together.adjusted_reason if together.adjusted is None else None
    return Disclosure(sensitive, partition, together.value, together.adjusted, together.kind, reason, tuple(rates))


def _all_values(table: ByValue) -> list[Any]:
    values = table.classes.columns[0].values
    return [values[code] for code in table.classes.codes[0].tolist()]


def _values(table: ByValue, which: NDArray[np.bool_]) -> frozenset[Any]:
    values = table.classes.columns[0].values
    return frozenset(values[code] for code in table.classes.codes[0][which].tolist())


def _value_rate(table: ByValue, at: int) -> ValueRate:
    value = table.classes.columns[0].values[int(table.classes.codes[0][at])]
    return ValueRate(value, int(table.classes.n[at]), float(table.dr[at]), float(table.posterior[at]))


def _dots(table: ByValue, hidden: NDArray[np.bool_], *, drawn: NDArray[np.bool_]) -> tuple[Dot, ...]:
    """Return the drawn values as dots; those at the same place form one dot, and a hidden value has no name."""
    at_value = np.flatnonzero(drawn)
    places, of_place = np.unique(np.round(table.posterior[at_value] * _RESOLUTION), return_inverse=True)
    values = np.bincount(of_place, minlength=len(places))
    records = np.bincount(of_place, weights=table.classes.n[at_value], minlength=len(places))
    single = np.zeros(len(places), dtype=np.int64)
    single[of_place] = at_value
    dots = []
    for at in range(len(places)):
        one = int(single[at])
        what = f"{values[at]:,} values"
        if values[at] == 1:
            what = MASK if hidden[one] else _shown(_value_rate(table, one).value)
        dots.append(Dot(what, float(places[at] / _RESOLUTION), int(records[at])))
    return tuple(dots)


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""The class sizes at which the bands begin."""


@dataclass(frozen=True, slots=True)
class Without:
    """The risk that would remain without one key attribute: uniques, the smallest class, the average risk."""

    name: str
    uniques: int
    k: int
    average_risk: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"attribute": self.name, "uniques": self.uniques, "k": self.k, "average_risk": self.average_risk}


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """The number of classes in each band of `CLASS_SIZES`, and the number of records in them.

    If persons are distinguished, persons are counted, each in the smallest of their classes.
    """

    classes: tuple[int, ...]
    records: tuple[int, ...]

    def to_dict(self) -> list[dict[str, int]]:
        """Return one object per band."""
        bands = zip(CLASS_SIZES, self.classes, self.records, strict=True)
        return [{"from": start, "classes": classes, "records": records} for start, classes, records in bands]


def without(counts: Counts, keys: Sequence[str], person: str | None = None) -> list[Without]:
    """Return what would remain without each key attribute: the classes of those before it, crossed with those after it.

    If the table has a column that identifies the person of a record, persons are counted.
    """
    if len(keys) == 1:
        return []
    step = active_run().counting("where it comes from", len(keys))
    behind = _refined(counts, keys[::-1])[::-1]
    rows = []
    for at, (name, before) in enumerate(zip(keys, _refined(counts, keys), strict=True)):
        (one, ones), (other, others) = before, behind[at]
        of_cell, codes = group([one, other], [ones, others])
        sizes, own = _sizes(counts, of_cell, len(codes[0]), person)
        rows.append(Without(name, int(own[sizes == 1].sum()), int(sizes.min()), float((own / sizes).sum() / own.sum())))
        step()
    return rows


def _refined(counts: Counts, keys: Sequence[str]) -> list[tuple[NDArray[np.int64], int]]:
    """Return, for each attribute, the class of every cell by the attributes before it, and the number of classes."""
    levels, of_cell, classes = [], np.zeros(len(counts), dtype=np.int64), 1
    for name in keys:
        levels.append((of_cell, classes))
        at = counts.names.index(name)
        of_cell, codes = group([of_cell, counts.codes[at]], [classes, len(counts.columns[at].values)])
        classes = len(codes[0])
    return levels


def class_sizes(counts: Counts, keys: Sequence[str], person: str | None = None) -> ClassSizes:
    """Return the number of classes of the keys, and of records or persons in them, in each band."""
    partition = counts.classes(keys)
    sizes, own = _sizes(counts, partition.of_cell, partition.number, person)
    band = np.searchsorted(CLASS_SIZES, sizes, side="right") - 1
    number = len(CLASS_SIZES)
    classes, records = np.bincount(band, minlength=number), np.bincount(band, weights=own, minlength=number)
    return ClassSizes(tuple(classes.tolist()), tuple(int(some) for some in records))


def _sizes(
    counts: Counts, of_cell: NDArray[np.int64], classes: int, person: str | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the size of each class, and the number of records in it, or of persons whose smallest class it is."""
    if person is None:
        sizes = summed(of_cell, counts.n, classes).astype(np.int64)
        return sizes, sizes
    at = counts.names.index(person)
    owners = Owners.of(of_cell, counts.codes[at], classes, len(counts.columns[at].values))
    return owners.sizes, owners.worst(owners.sizes)
