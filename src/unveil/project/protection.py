"""The steps of a protection, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unveil.arguments import checked_arguments

__all__ = ["Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a protection.

    Parameters
    ----------
    mechanism
        The name of the mechanism, such as "microaggregate", "pram" or "generalize".
    attributes
        The columns that it is applied to; none for mechanisms that take whole records.
    options
        Its other settings, as arguments of the mechanism's function.

    Examples
    --------
    >>> Step("microaggregate", ["age", "hours-per-week"], {"k": 5})
    Step(mechanism='microaggregate', attributes=('age', 'hours-per-week'), options={'k': 5})
    """

    mechanism: str
    attributes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @checked_arguments
    def __init__(self, mechanism: str, attributes: str | Sequence[str] = (), options: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "attributes", (attributes,) if isinstance(attributes, str) else tuple(attributes))
        object.__setattr__(self, "options", dict(options or {}))
