"""Which kind is each mechanism, and against what does it protect? The table of all protections, from their registered facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil import mechanisms
from unveil.mechanisms import FACTS, RECODINGS, MechanismFacts
from unveil.results import Figure, Result, Table, View

__all__ = ["Taxonomy", "taxonomy"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Taxonomy(Result):
    """Every mechanism with its facts."""

    mechanisms: Mapping[str, MechanismFacts]

    def __repr__(self) -> str:
        """Return one line."""
        return f"Taxonomy({len(self.mechanisms)} mechanisms)"

    def __getitem__(self, name: str) -> MechanismFacts:
        """Return the facts of a mechanism."""
        return self.mechanisms[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain Python values."""
        return {"mechanisms": {name: facts.to_dict() for name, facts in self.mechanisms.items()}}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per mechanism."""
        rows = [facts.to_dict() for facts in self.mechanisms.values()]
        return {"mechanism": list(self.mechanisms), **{name: [row[name] for row in rows] for name in rows[0]}}

    def view(self) -> View:
        """Return the displayed view: one table of kinds, one of promises and of the knowledge left to an intruder."""
        items = self.mechanisms.items()
        kinds = tuple(
            (name, one.family, _yes(one.perturbative), _yes(None if one.drawn is None else not one.drawn), one.section)
            for name, one in items
        )
        tables = (
            Table(("mechanism", "what it does", "attributes"), tuple((name, one.about, one.data) for name, one in items)),
            Table(("mechanism", "kind", "perturbative", "deterministic", "thesis"), kinds, title="Kinds"),
            Table(
                ("mechanism", "made against", "guarantee", "an intruder with the software"),
                tuple((name, one.counters, one.guarantee, one.intruder) for name, one in items),
                title="Promises",
            ),
        )
        notes = (
            "Perturbative: released values may be false. Deterministic: nothing is random except the order of records.",
            "Shares of people linked: measured on 2,000 Adult records; see 'What an intruder with the software can do'.",
        )
        return View("Mechanisms", (Figure("mechanisms", len(self.mechanisms)),), tables, notes)


def taxonomy() -> Taxonomy:
    """Return every protection with its facts: those found by search, then the mechanisms, those of your own last.

    Examples
    --------
    >>> kinds = taxonomy()
    >>> kinds["microaggregate"].perturbative, kinds["microaggregate"].drawn, kinds["microaggregate"].section
    (True, False, '2.5.5')
    """
    added = [name for name in mechanisms.names() if name not in FACTS]
    return Taxonomy({**RECODINGS, **FACTS, **{name: MechanismFacts.unstated(getattr(mechanisms, name)) for name in added}})


def _yes(fact: bool | None) -> str:  # noqa: FBT001 - a fact, not a switch
    return "not stated" if fact is None else "yes" if fact else "no"
