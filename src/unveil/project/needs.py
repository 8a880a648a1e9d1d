"""Needs: the uses that a release must still allow. Each names an attribute to infer, from which others, and how finely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unveil.arguments import checked_arguments, checked_share
from unveil.attributes import in_line
from unveil.errors import ArgumentError, shown
from unveil.partitions import Partition

__all__ = ["Need"]

_TEXT = re.compile(
    r"^\s*(?P<name>[^:]+?)\s*:\s*(?P<target>.+?)\s+given\s+(?P<given>.+?)(?:\s+at\s+least\s+(?P<least>\S+))?\s*$", re.DOTALL
)


@dataclass(frozen=True)
class Need:
    """A use that a release should serve: inferring one attribute from others.

    Parameters
    ----------
    name
        The name of the need.
    target
        The attribute to infer.
    given
        The attributes to infer it from.
    partitions
        How finely each attribute matters: semantic partitions by attribute (blocks, a mapping or edges).
    at_least
        The lowest sufficient degree, from 0 to 1, adjusted for chance; None: none is required.

    Examples
    --------
    >>> Need("treatment", target="Disease", given="Age*")
    Need('treatment': Disease given Age*)
    >>> Need.parse("income: income-per-year given age, education at least 0.1").at_least
    0.1
    """

    name: str
    target: str
    given: tuple[str, ...]
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    at_least: float | None = None

    @checked_arguments
    def __init__(
        self,
        name: str,
        target: str,
        given: str | Sequence[str],
        partitions: Mapping[str, Any] | None = None,
        at_least: float | None = None,
    ) -> None:
        names = _names(given)
        _check_names(name, target, names)
        degree = _checked_degree(name, at_least)
        for column in partitions or {}:
            if column not in (target, *names):
                raise ArgumentError(f"the need {shown(name)} has a partition of {shown(column)}, which it does not use.")
        blocks = {column: Partition.of(spec, column=column) for column, spec in (partitions or {}).items()}
        for attribute, value in zip(
            ("name", "target", "given", "partitions", "at_least"), (name, target, names, blocks, degree), strict=True
        ):
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        """Return one line."""
        least = "" if self.at_least is None else f", at least {self.at_least:g}"
        return f"Need({self.name!r}: {in_line([self.target])} given {in_line(self.given)}{least})"

    @classmethod
    @checked_arguments
    def parse(cls, text: str) -> Need:
        """Read "NAME: TARGET given A, B [at least 0.1]"."""
        match = _TEXT.match(str(text))
        if match is None:
            raise ArgumentError(f"a need reads NAME: TARGET given A, B [at least DEGREE], not {shown(text)}.")
        try:
            least = None if match["least"] is None else float(match["least"])
        except ValueError:
            raise ArgumentError(
                f"the degree {shown(match['least'])} of the need {shown(match['name'])} is not a number."
            ) from None
        return cls(match["name"], match["target"], [part.strip() for part in match["given"].split(",")], at_least=least)


def _names(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _check_names(name: Any, target: Any, given: tuple[Any, ...]) -> None:
    """Refuse a need without a name, or one that infers an attribute from nothing, from itself, or from one named twice."""
    if not isinstance(name, str) or not name.strip():
        raise ArgumentError("a need has no name; give it one.")
    if not given:
        raise ArgumentError(f"the need {shown(name)} infers {shown(target)} from nothing; name the given attributes.")
    if not all(isinstance(attribute, str) and attribute for attribute in (target, *given)):
        raise ArgumentError(f"the need {shown(name)} has an attribute without a name; attributes are named by texts.")
    if target in given:
        raise ArgumentError(f"the need {shown(name)} infers {shown(target)} from itself; remove it from the given attributes.")
    if twice := [attribute for attribute in given if given.count(attribute) > 1]:
        raise ArgumentError(f"the need {shown(name)} is given {shown(twice[0])} twice; name it once.")


def _checked_degree(name: str, degree: float | None) -> float | None:
    return None if degree is None else checked_share(f"the degree of the need {shown(name)}", degree)
