"""The parts of an answer, and the masking of small classes in them, so that a report about people discloses nobody.

A part is a section with its figures by name (`Figures`), a class that decides a figure (`DecidingClass`) or rows of values
(`Rows`). A class is a combination of key values, or one value of one attribute, with the records that hold it. Anyone who reads
a report may know that a certain person is in the class. So the class is shown without its values if

- it is *small*: fewer than `SMALL` records hold it (the caller may choose another number); or
- it *discloses*: it lets the reader infer a sensitive value of its members, whatever its size (`disclosing` in
  `measures.by_value` defines it).

Figures stay (they are the purpose of the report), and so does the size of a small class. The size of a class that discloses is
left out: elsewhere a class of that size may be shown with its values.

Masked values must not follow from the rest. Anyone who knows all existing classes finds a single masked one by elimination, and
its figures by subtracting the others from the whole. So along with the values of an attribute that must be masked, one is
masked that need not be. Its choice depends on all records, so that anyone who knows this rule cannot distinguish it from the
others; and it is the same wherever the attribute occurs, so that two tables reveal no more than one. A class that decides is
named only if at least `small` classes stay unnamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MASK",
    "SMALL",
    "UNMASKED",
    "DecidingClass",
    "Figures",
    "HiddenClasses",
    "Rows",
    "is_masked",
    "masked_class",
    "masked_parts",
    "masked_together",
    "masked_values",
    "masking_in_words",
    "plain",
    "without_values",
]


class Figures(Mapping[str, Any]):
    """A frozen dataclass whose fields are read as attributes, or by their names in the JSON of the answer.

    A field with a default, such as the reason why a figure is undefined, is left out as long as it has that default, unless it
    stands `beside` another field, named in its metadata, that is given: then it is reported even if it is null. A field named
    in `flat` is itself a section, whose figures are placed among those of this one. If a field's name in JSON has another
    meaning here (`values`), the field has another name, and its name in JSON is in its metadata; if that name is None, the
    field is not reported.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Shares(Figures):
    ...     rows: float | None
    ...     reason: str = ""
    >>> shares = Shares(0.5)
    >>> shares.rows, shares["rows"], dict(shares), shares == {"rows": 0.5}
    (0.5, 0.5, {'rows': 0.5}, True)
    >>> dict(Shares(None, "there is none"))
    {'rows': None, 'reason': 'there is none'}
    >>> @dataclass(frozen=True, eq=False)
    ... class Named(Figures):
    ...     flat = ("shares",)
    ...     name: str
    ...     shares: Shares
    >>> dict(Named("age", shares))
    {'name': 'age', 'rows': 0.5}
    """

    __slots__ = ()
    flat: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, name: str) -> Any:
        """Return a figure by its name."""
        return self._figures()[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of the figures."""
        return iter(self._figures())

    def __len__(self) -> int:
        """Return the number of figures."""
        return len(self._figures())

    def items(self) -> ItemsView[str, Any]:
        """Return the figures with their names."""
        return self._figures().items()

    def values(self) -> ValuesView[Any]:
        """Return the figures without their names."""
        return self._figures().values()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain dictionaries and lists, as they are written to JSON."""
        return {name: plain(figure) for name, figure in self._figures().items()}

    def _figures(self) -> dict[str, Any]:
        own: Any = self
        all_fields = fields(own)
        values = {one.name: getattr(self, one.name) for one in all_fields}
        given = {one.name for one in all_fields if one.default is MISSING or values[one.name] != one.default}
        figures: dict[str, Any] = {}
        for one in all_fields:
            value, name = values[one.name], one.metadata.get("name", one.name)
            if name is not None and (one.name in given or one.metadata.get("beside") in given):
                figures |= value.items() if one.name in self.flat else {name: value}
        return figures


def plain(part: Any) -> Any:
    """Return sections, at any depth of an answer, as plain dictionaries; lists of values stay unchanged."""
    if isinstance(part, Mapping):
        return {name: plain(item) for name, item in part.items()}
    if isinstance(part, tuple) or (type(part) is list and any(isinstance(item, Figures) for item in part)):
        return [plain(item) for item in part]
    return part


MASK = "(masked)"
"""The text that replaces values that are not shown."""
UNMASKED = "UNMASKED: classes of single people are shown with their values. For the steward's own eyes; do not pass it on."
"""The statement in every form of an answer that is not masked."""
SMALL = 5
"""Classes with fewer records are small, unless another number is chosen."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecidingClass(Figures):
    """The class that decides a figure, as named in an answer.

    Attributes
    ----------
    key, size
        Its values of the key attributes, and the number of its records or persons; once it is masked, no values, and a size
        only if it is small.
    discloses
        The sensitive attributes of which it reveals a value.
    population, lowest
        For a model that compares with the population: the number of people there who share the key, and the lowest chance of
        presence.
    masked
        Whether its values are removed.

    Examples
    --------
    >>> worst = DecidingClass({"age": 30}, 5)
    >>> worst, worst.size, worst["size"]
    (DecidingClass(key={'age': 30}, size=5), 5, 5)
    """

    key: Mapping[str, Any]
    size: float | None
    discloses: Sequence[str] = ()
    population: int | None = None
    lowest: float | None = None
    masked: bool = False

    def __repr__(self) -> str:
        """Return one line with the fields that are reported."""
        return f"DecidingClass({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def masking_in_words(small: int) -> str:
    """Return a sentence on which classes are masked."""
    return f"Classes of fewer than {small} records, and those that give a sensitive value away, are shown without their values."


def is_masked(shown: DecidingClass | None, small: int = SMALL) -> bool:
    """Return whether a class must be masked; if `small` is 0, none must be."""
    if not small or shown is None:
        return False
    return shown.masked or bool(shown.discloses) or shown.size is None or shown.size < small


def masked_class(shown: DecidingClass | None, small: int = SMALL) -> DecidingClass | None:
    """Return a class in the form in which it may be shown: with its values, or `masked` and without them.

    Examples
    --------
    >>> dict(masked_class(DecidingClass({"age": 90}, 1)))
    {'key': {}, 'size': 1, 'masked': True}
    >>> dict(masked_class(DecidingClass({"age": 30}, 50, ["disease"])))
    {'key': {}, 'size': None, 'masked': True}
    >>> dict(masked_class(DecidingClass({"age": 30}, 5)))
    {'key': {'age': 30}, 'size': 5}
    """
    return without_values(shown, small) if shown is not None and is_masked(shown, small) else shown


def without_values(shown: DecidingClass, small: int = SMALL) -> DecidingClass:
    """Return a class without its values, and without its size unless it is small."""
    if shown.masked:
        return shown
    return DecidingClass({}, shown.size if shown.size is not None and shown.size < small else None, masked=True)


def masked_together(
    shown: Sequence[DecidingClass], among: int, small: int, hidden: Mapping[str, frozenset[Any]]
) -> list[DecidingClass]:
    """Return the classes that decide the figures of one table in the form in which they may be shown together.

    Parameters
    ----------
    shown, among
        The classes that decide, and the number of classes of the table.
    small
        Classes with fewer records are small; 0: nothing is masked.
    hidden
        Values of attributes that are masked elsewhere although they are not small; a class that has one would reveal it.
    """
    if not small:
        return list(shown)
    masked = [is_masked(one, small) for one in shown]
    elsewhere = [any(value in hidden.get(name, ()) for name, value in one.key.items()) for one in shown]
    named = [not (own or other) for own, other in zip(masked, elsewhere, strict=True)]
    unnamed = among - len({tuple(one.key.items()) for one, kept in zip(shown, named, strict=True) if kept})
    by_elimination = any(masked) and unnamed < small
    return [one if kept and not by_elimination else without_values(one, small) for one, kept in zip(shown, named, strict=True)]


def masked_values(n: NDArray[np.int64], telling: NDArray[np.bool_], small: int, salt: bytes = b"") -> NDArray[np.bool_]:
    """Return which values of an attribute are masked.

    Parameters
    ----------
    n, telling
        The number of records of each value, and whether the value discloses.
    small
        Values with fewer records are small; 0: nothing is masked.
    salt
        The salt that determines which further value is masked; no reader may know it.

    Examples
    --------
    >>> import numpy as np
    >>> masked_values(np.array([50, 1, 9, 7]), np.zeros(4, dtype=bool), 5).sum()
    np.int64(2)
    """
    import numpy as np

    if not small:
        return np.zeros(len(n), dtype=bool)
    masked = (n < small) | telling
    if masked.any() and not masked.all():
        free = np.flatnonzero(~masked)
        masked[free[np.argmin(_drawn(free.astype(np.uint64), salt))]] = True
    return masked


def _drawn(places: NDArray[np.uint64], salt: bytes) -> NDArray[np.uint64]:
    """Return the positions of values in an order that cannot be guessed without the salt."""
    import numpy as np

    first, second, third = np.frombuffer(hashlib.blake2b(key=salt, digest_size=24).digest(), dtype=np.uint64)
    mixed = (places + first) * (second | np.uint64(1))  # unsigned integers wrap around
    return np.asarray((mixed ^ (mixed >> np.uint64(29))) * (third | np.uint64(1)))


_SIZES = frozenset({"count", "dr", "missing", "in_original", "in_release", "difference"})
"""The figures of a row that reveal its class's size; left out of a row that is masked for a reason other than being small."""

HiddenClasses: TypeAlias = Mapping[tuple[str, ...], frozenset[tuple[Any, ...]]]
"""The masked combinations of values, by their attributes, in order of their names."""


class Rows(list[dict[str, Any]]):
    """Rows of plain values, each about the records that hold the values in it.

    Attributes
    ----------
    attributes
        The columns that hold values, and the attributes of these values.
    n, telling
        For each row, the number of records that it is about, and whether it reveals a sensitive value of theirs.
    """

    __slots__ = ("attributes", "n", "telling")

    def __init__(
        self, rows: Iterable[dict[str, Any]], attributes: Mapping[str, str], n: Sequence[int], telling: Sequence[bool] = ()
    ) -> None:
        super().__init__(rows)
        self.attributes = dict(attributes)
        self.n = tuple(n)
        self.telling = tuple(telling) or (False,) * len(self.n)

    def with_figures(self, rows: Iterable[dict[str, Any]]) -> Rows:
        """Return other figures for the same classes."""
        return Rows(rows, self.attributes, self.n, self.telling)

    @property
    def about(self) -> tuple[str, ...]:
        """The attributes, in order of their names."""
        return tuple(sorted(self.attributes.values()))

    def classes(self) -> list[tuple[Any, ...]]:
        """Return the values of each row, in the order of `about`."""
        columns = sorted(self.attributes, key=lambda column: self.attributes[column])
        return [tuple(row[column] for column in columns) for row in self]

    def masked(self, small: int, hidden: HiddenClasses) -> list[dict[str, Any]]:
        """Return the rows, without the values of those that are hidden."""
        masked = hidden.get(self.about, frozenset())
        rows = []
        for row, values, n in zip(self, self.classes(), self.n, strict=True):
            if values in masked:
                sizes = {} if n < small else dict.fromkeys(_SIZES & row.keys())
                row = {**row, **dict.fromkeys(self.attributes, MASK), **sizes}  # noqa: PLW2901
            rows.append(row)
        return rows


def masked_parts(part: Any, small: int) -> tuple[Any, HiddenClasses]:
    """Return an answer of mappings, lists and values in the form in which it may be shown, and the classes hidden in it.

    Examples
    --------
    >>> towns = {"Lille": 9, "Ys": 1, "Metz": 8}
    >>> rows = Rows([{"town": town} for town in towns], {"town": "town"}, list(towns.values()))
    >>> [row["town"] for row in masked_parts(rows, 5)[0]].count("(masked)")
    2
    """
    tables = list(_tables(part))
    salt = hashlib.blake2b(repr([(table.attributes, table, table.n) for table in tables]).encode(errors="surrogatepass")).digest()
    hidden = _hidden(tables, small, salt)
    return _masked(part, small, hidden), hidden


def _tables(part: Any) -> Iterator[Rows]:
    if isinstance(part, Rows):
        yield part
    elif isinstance(part, Figures):
        own: Any = part
        for one in fields(own):
            yield from _tables(getattr(part, one.name))
    elif isinstance(part, Mapping):
        for item in part.values():
            yield from _tables(item)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _tables(item)


def _hidden(tables: Sequence[Rows], small: int, salt: bytes) -> HiddenClasses:
    """Return what must be masked, single attributes first: a combination with a masked value is masked as well."""
    hidden: dict[tuple[str, ...], frozenset[tuple[Any, ...]]] = {}
    for about in sorted({table.about for table in tables}, key=lambda names: (len(names), names)):
        classes: dict[tuple[Any, ...], bool] = {}
        for table in tables:
            if table.about == about:
                for values, n, telling in zip(table.classes(), table.n, table.telling, strict=True):
                    within = any((value,) in hidden.get((name,), ()) for name, value in zip(about, values, strict=True))
                    classes[values] = classes.get(values, False) or n < small or telling or within
        masked = {values for values, hide in classes.items() if hide}
        if masked and len(masked) < len(classes):  # one more, so that none follows from the others
            masked.add(min(classes.keys() - masked, key=lambda values: _drawn_class(values, salt)))
        hidden[about] = frozenset(masked)
    return hidden


def _drawn_class(values: tuple[Any, ...], salt: bytes) -> bytes:
    return hashlib.blake2b(repr(values).encode(errors="surrogatepass"), key=salt).digest()


def _masked(part: Any, small: int, hidden: HiddenClasses) -> Any:
    if isinstance(part, Rows):
        return part.masked(small, hidden)
    if isinstance(part, DecidingClass):
        return without_values(part, small) if is_masked(part, small) or _named(part.key, hidden) else part
    if isinstance(part, Figures):
        own: Any = part
        return replace(own, **{one.name: _masked(getattr(part, one.name), small, hidden) for one in fields(own)})
    if isinstance(part, Mapping):
        return {name: _masked(item, small, hidden) for name, item in part.items()}
    if isinstance(part, list | tuple):
        return [_masked(item, small, hidden) for item in part]
    return part


def _named(key: Mapping[str, Any], hidden: HiddenClasses) -> bool:
    """Whether a class, or one of its values, is hidden elsewhere."""
    about = tuple(sorted(key))
    whole = tuple(key[name] for name in about) in hidden.get(about, ())
    return whole or any((value,) in hidden.get((name,), ()) for name, value in key.items())
