"""A section of an answer: its figures by name, typed, and readable as the JSON has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

__all__ = ["Figures"]


class Figures(Mapping[str, Any]):
    """A frozen dataclass whose fields are read as attributes, or by their names as the JSON of the answer has them.

    A field with a default, such as the reason why a figure is undefined, is left out where it has nothing else to say.

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
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        """Return a figure by its name."""
        if name not in self._names():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        """Return the names of the figures."""
        return iter(self._names())

    def __len__(self) -> int:
        """Return the number of figures."""
        return len(self._names())

    def _names(self) -> list[str]:
        own: Any = self
        return [one.name for one in fields(own) if one.default is MISSING or getattr(self, one.name) != one.default]
