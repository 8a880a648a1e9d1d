"""A section of an answer: its figures by name, typed, and readable in the form of the JSON."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import MISSING, fields
from typing import Any, ClassVar

__all__ = ["Figures", "plain"]


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
