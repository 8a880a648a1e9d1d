"""Does the release pass? Every rule with its figure, its threshold and what falls short.

A release passes where every rule is met. A rule that could not be decided (no threshold, no original, a column that a person has
to look at) keeps it from passing: nobody has said that it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.assess.policy.rules import STATUS, Outcome
from unveil.attributes import in_line
from unveil.project.presets import Preset
from unveil.results import Figure, Provenance, Result, Table, View
from unveil.results.numbers import counted

if TYPE_CHECKING:
    from unveil.assess.policy.drift import Drift

__all__ = ["Verdict"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdict(Result):
    """Whether a release meets a policy, rule by rule.

    Attributes
    ----------
    policy
        What the policy is called.
    presets
        The presets it builds on, with what their sources say.
    outcomes
        What became of every rule.
    drift
        How figures moved since an earlier result, where one was given.
    notes
        What else should be known.
    made
        How the result was made.
    """

    policy: str
    presets: tuple[Preset, ...]
    outcomes: tuple[Outcome, ...]
    drift: tuple[Drift, ...]
    notes: tuple[str, ...]
    made: Provenance

    @property
    def passes(self) -> bool:
        """Whether every rule is met, and no figure grew by more than allowed."""
        return all(outcome.met for outcome in self.outcomes) and all(one.met for one in self.drift)

    @property
    def status(self) -> str:
        """In words: met, NOT met or not decided."""
        found = [outcome.met for outcome in self.outcomes] + [one.met for one in self.drift]
        return STATUS[False if False in found else None if None in found else True]

    @property
    def shortfalls(self) -> tuple[Outcome, ...]:
        """The rules that are not met, or not decided."""
        return tuple(outcome for outcome in self.outcomes if not outcome.met)

    def __repr__(self) -> str:
        """Return one line: the policy, and what falls short."""
        short = ", ".join(dict.fromkeys(outcome.rule.name for outcome in self.shortfalls))
        return f"Verdict({in_line([self.policy])}: {self.status}{f' ({short})' if short else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "passes": self.passes,
            "status": self.status,
            "policy": self.policy,
            "presets": [preset.to_dict() for preset in self.presets],
            "rules": [outcome.to_dict() for outcome in self.outcomes],
            "drift": [one.to_dict() for one in self.drift],
            "notes": list(self.notes),
            "records": self.made.records,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per rule."""
        rows = self.outcomes
        return {
            "rule": [outcome.rule.name for outcome in rows],
            "of": [outcome.of for outcome in rows],
            "value": [None if outcome.value is None else float(outcome.value) for outcome in rows],
            "requirement": [outcome.rule.requirement for outcome in rows],
            "met": [outcome.met for outcome in rows],
            "why": [outcome.why for outcome in rows],
        }

    def view(self) -> View:
        """Return what a person should see: the verdict, the rules by what became of them, and what the source says."""
        figures = [Figure("verdict", self.status, _counts(self))]
        figures += [Figure("key", ", ".join(self.made.key))] if self.made.key else []
        kinds = (("Not met", False), ("Not decided", None), ("Met", True))
        tables = [_table(title, [one for one in self.outcomes if one.met is met]) for title, met in kinds]
        tables += [_drift_table(self.drift)]
        sources = [f"{one.name}: {one.source}. {one.says} What it does not say: {one.silent}" for one in self.presets]
        title = f"Policy {self.policy}" if self.outcomes else "Drift"
        shown = tuple(table for table in tables if table.rows)
        return View(f"{title}: {self.status}", tuple(figures), shown, (*self.notes, *sources))


def _counts(verdict: Verdict) -> str:
    """Say how many rules fall short, and how many were not decided."""
    failed = sum(outcome.met is False for outcome in verdict.outcomes)
    open_ones = sum(outcome.met is None for outcome in verdict.outcomes)
    grown = sum(not one.met for one in verdict.drift)
    parts = [f"{failed} of {counted(len(verdict.outcomes), 'rule')} not met"] if verdict.outcomes else []
    parts += [f"{open_ones} not decided"] if open_ones else []
    parts += [f"{grown} of {counted(len(verdict.drift), 'figure')} grew by more than allowed"] if verdict.drift else []
    return ", ".join(parts)


def _table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """Return the rules of one status; a column that would say nothing is left out."""
    columns: dict[str, list[Any]] = {
        "question": [outcome.rule.question or None for outcome in outcomes],
        "rule": [outcome.rule.name for outcome in outcomes],
        "of": [outcome.of if outcome.of != "the key" else None for outcome in outcomes],
        "found": [outcome.value for outcome in outcomes],
        "required": [outcome.rule.requirement for outcome in outcomes],
        "why": [outcome.why or None for outcome in outcomes],
    }
    kept = {name: values for name, values in columns.items() if name == "found" or any(value is not None for value in values)}
    return Table(tuple(kept), tuple(zip(*kept.values(), strict=True)), title=title)


def _drift_table(drift: Sequence[Drift]) -> Table:
    rows = tuple((one.rule, one.of, one.before, one.now, one.growth, "yes" if one.met else "NO") for one in drift)
    note = "growth is of the risk: the figure itself, or one over it where higher is safer"
    return Table(("figure", "of", "before", "now", "growth", "allowed"), rows, title="Since the earlier result", note=note)
