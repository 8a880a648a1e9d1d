"""Waivers: a named person accepts, for a stated reason and until a stated day, that a release does not meet a rule."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil.arguments import checked_arguments
from unveil.assess.policy.rules import Outcome
from unveil.errors import ArgumentError, listed, shown
from unveil.partitions import DocumentError, PathLike, parse_json, parse_toml, read_text
from unveil.project import RULES

__all__ = ["Waiver", "read_waivers", "waiver_of"]

_FIELDS = ("rule", "approver", "approved", "expires", "reason")
_LISTS = ("waivers", "exceptions")
"""The keys under which a file lists waivers: one written by hand or a verdict, and the app's log of decisions."""


@checked_arguments
@dataclass(frozen=True, slots=True)
class Waiver:
    """A named exception: the release may pass without meeting a rule.

    Parameters
    ----------
    rule
        The name of the rule.
    approver, reason
        The person who answers for it, and the reason.
    approved, expires
        The first and the last day on which it holds, as ISO dates.
    of
        The subject of the figure, in the words of the verdict ("the key", an attribute); none: any subject of the rule.

    Examples
    --------
    >>> one = Waiver("k_anonymity", "the data protection officer", "2026-01-10", "2026-06-30", "a recipient under contract")
    >>> one.in_force("2026-06-30"), one.in_force("2026-07-01")
    (True, False)
    """

    rule: str
    approver: str
    approved: str
    expires: str
    reason: str
    of: str | None = None

    def __post_init__(self) -> None:
        """Refuse a waiver without a rule, an approver, a reason or its first and last day."""
        if self.rule not in RULES:
            raise ArgumentError.not_one_of("rule", self.rule, tuple(RULES))
        for name in ("approver", "reason"):
            if not getattr(self, name).strip():
                raise ArgumentError(f"the waiver of {self.rule} has no {name}; a person answers for it, and says why.")
        days = [self._day(name) for name in ("approved", "expires")]
        if days[1] < days[0]:
            raise ArgumentError(f"the waiver of {self.rule} expires before it is approved; correct one of the days.")

    def _day(self, name: str) -> dt.date:
        try:
            return dt.date.fromisoformat(getattr(self, name))
        except ValueError:
            raise ArgumentError(f"the waiver of {self.rule}: {name} must be a day such as 2026-12-31.") from None

    def in_force(self, day: str) -> bool:
        """Whether it holds on a day, an ISO date; a time of day after it is ignored."""
        return self._day("approved") <= dt.date.fromisoformat(day[:10]) <= self._day("expires")

    def covers(self, outcome: Outcome) -> bool:
        """Whether it applies to this outcome of a rule."""
        return self.rule == outcome.rule.name and self.of in (None, outcome.of)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"rule": self.rule, "of": self.of, **{name: getattr(self, name) for name in _FIELDS[1:]}}


def waiver_of(waiver: Waiver | Mapping[str, Any]) -> Waiver:
    """Return a waiver unchanged, or make it from its fields."""
    if isinstance(waiver, Waiver):
        return waiver
    missing = [name for name in _FIELDS if name not in waiver]
    unknown = [name for name in waiver if name not in (*_FIELDS, "of")]
    if missing or unknown:
        problem = f"lacks {listed(missing)}" if missing else f"has {shown(unknown[0])}"
        raise ArgumentError(f"a waiver {problem}; its fields are: {listed((*_FIELDS, 'of'))}.")
    return Waiver(**waiver)


def read_waivers(path: PathLike) -> tuple[Waiver, ...]:
    """Read the waivers of a file: TOML with a ``[[waivers]]`` for each, a verdict's JSON, or the app's log of decisions.

    Raises
    ------
    ArgumentError
        If the file holds no list of waivers, or one of them is incomplete.
    """
    place = Path(path)
    text = read_text(place, ArgumentError)
    try:
        document: Any = parse_toml(text) if place.suffix.lower() == ".toml" else parse_json(text)
    except DocumentError as problem:
        line = "" if problem.line is None else f", line {problem.line:,}"
        raise ArgumentError(f"{place}{line}: {problem.problem}") from None
    if isinstance(document, Mapping):
        document = next((document[name] for name in _LISTS if name in document), None)
    if not isinstance(document, list) or not all(isinstance(one, Mapping) for one in document):
        raise ArgumentError(f"{place}: there is no list of waivers; write a [[waivers]] for each, with {listed(_FIELDS)}.")
    try:
        return tuple(waiver_of(_fields_of(one)) for one in document)
    except ArgumentError as problem:
        raise ArgumentError(f"{place}: {problem}") from None


def _fields_of(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a waiver: TOML has a type for dates, and a verdict adds whether the waiver was in force."""
    return {name: value.isoformat() if isinstance(value, dt.date) else value for name, value in one.items() if name != "in_force"}
