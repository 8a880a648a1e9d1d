"""Answers made of plain values, and how they are masked: rows that name classes, and classes that decide, wherever they stand.

What is masked anywhere in an answer is masked in all of it, in other tables about the same attributes and in combinations with
others: if a value were shown in one table and masked in another, it would be known to disclose in the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

from unveil.results.figures import Figures
from unveil.results.masking import MASK, DecidingClass, is_masked, without_values

__all__ = ["HiddenClasses", "Rows", "masked_parts"]

_SIZES = frozenset({"count", "dr", "missing", "in_original", "in_release", "difference"})
"""What a row says about the size of its class; it is left out of a row that is masked for a reason other than being small."""

HiddenClasses: TypeAlias = Mapping[tuple[str, ...], frozenset[tuple[Any, ...]]]
"""The combinations of values that are masked, by the attributes that they are of, in order of their names."""


class Rows(list[dict[str, Any]]):
    """Rows of plain values, each about the records that hold the values in it.

    Attributes
    ----------
    attributes
        The columns that hold values, and the attributes that these are of.
    n, telling
        For each row the records that it is about, and whether it gives a sensitive value of theirs away.
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
        """Return other figures of the same classes."""
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
        """Return the rows without the values of those that are hidden."""
        masked = hidden.get(self.about, frozenset())
        rows = []
        for row, values, n in zip(self, self.classes(), self.n, strict=True):
            if values in masked:
                sizes = {} if n < small else dict.fromkeys(_SIZES & row.keys())
                row = {**row, **dict.fromkeys(self.attributes, MASK), **sizes}  # noqa: PLW2901
            rows.append(row)
        return rows


def masked_parts(part: Any, small: int) -> tuple[Any, HiddenClasses]:
    """Return an answer of mappings, lists and values as it may be shown, and which classes are hidden in it.

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
    """Return what has to be masked, single attributes first: a combination with a value that is masked is masked as well."""
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
            masked.add(min(classes.keys() - masked, key=lambda values: _drawn(values, salt)))
        hidden[about] = frozenset(masked)
    return hidden


def _drawn(values: tuple[Any, ...], salt: bytes) -> bytes:
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
