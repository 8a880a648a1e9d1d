"""Does the release pass? Every rule with its figure, its threshold and its shortfall.

A release passes if every rule is met. A rule that could not be decided (no threshold, no original, a column that a person must
examine) keeps it from passing, because nothing shows that it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unveil.assess.evidence import Evidence
from unveil.assess.policy.case import Profile, ReleaseChange
from unveil.assess.policy.pages import HistoryEntry
from unveil.assess.policy.rules import STATUS, Outcome
from unveil.assess.policy.waivers import Waiver
from unveil.attributes import in_line
from unveil.measures import Unmeasured
from unveil.project import Preset
from unveil.results import Provenance, Result, View

if TYPE_CHECKING:
    from unveil.assess.policy.drift import Drift

__all__ = ["Verdict"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdict(Result):
    """Whether a release meets a policy, rule by rule, with the evidence for later checks.

    Attributes
    ----------
    release, policy
        The location of the release, and the name of the policy.
    presets
        The presets on which the policy builds, with the statements of their sources.
    outcomes
        The outcome of every rule.
    drift
        The changes of figures since an earlier result, if one was given.
    notes
        Further remarks.
    made
        The provenance of the result.
    evidence
        The date, and the files from which it was made.
    vouched
        Columns that were not examined because somebody vouches for them by name.
    unmeasured
        Columns that no rule is about, with the persons or records that each singles out, alone and with the key.
    waivers
        The given exceptions, in force or not.
    figures
        The figures that are measured for every release with a key, even if no rule names them: uniques, risks, the share of
        records in small classes.
    profile
        Its records and columns, for comparison with the next verdict.
    changes
        The changes since the earlier result: columns, types, categories, records.
    history
        Earlier checks and this one, if a history is kept.
    """

    release: str
    policy: str
    presets: tuple[Preset, ...]
    outcomes: tuple[Outcome, ...]
    drift: tuple[Drift, ...]
    notes: tuple[str, ...]
    made: Provenance
    evidence: Evidence = field(default_factory=Evidence)
    vouched: tuple[str, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    figures: tuple[Outcome, ...] = ()
    profile: Profile | None = None
    changes: tuple[ReleaseChange, ...] = ()
    history: tuple[HistoryEntry, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every rule is met or waived, no figure grew by more than allowed, and no column is new."""
        moved = [one.met for one in self.drift] + [one.met for one in self.changes]
        return all(outcome.met or self.waiver(outcome) for outcome in self.outcomes) and all(moved)

    @property
    def status(self) -> str:
        """The status in words: met, NOT met or not decided."""
        met = [True if self.waiver(outcome) else outcome.met for outcome in self.outcomes]
        met += [one.met for one in self.drift] + [one.met for one in self.changes]
        return STATUS[False if False in met else None if None in met else True]

    @property
    def drift_alone(self) -> bool:
        """Whether the release is checked only against an earlier result, not a policy, and names nobody."""
        return bool(self.drift) and all(one.rule.name == "direct_identifiers" and one.met for one in self.outcomes)

    @property
    def shortfalls(self) -> tuple[Outcome, ...]:
        """The rules that are not met, or not decided, waived or not."""
        return tuple(outcome for outcome in self.outcomes if not outcome.met)

    @property
    def waived(self) -> tuple[Outcome, ...]:
        """The rules that are not met, or not decided, and that a waiver in force covers."""
        return tuple(outcome for outcome in self.shortfalls if self.waiver(outcome))

    def waiver(self, outcome: Outcome) -> Waiver | None:
        """Return the waiver, in force on the day of the verdict, that covers a rule which is not met."""
        if outcome.met:
            return None
        return next((one for one in self.waivers if one.covers(outcome) and one.in_force(self.evidence.date)), None)

    def __repr__(self) -> str:
        """Return one line: the policy, its status, and the rules that fall short."""
        short = ", ".join(dict.fromkeys(outcome.rule.name for outcome in self.shortfalls))
        return f"Verdict({in_line([self.policy])}: {self.status}{f' ({short})' if short else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        from unveil.assess.policy.pages import title

        return {
            "title": title(self),
            "passes": self.passes,
            "status": self.status,
            "release": self.release,
            "policy": self.policy,
            "presets": [preset.to_dict() for preset in self.presets],
            "rules": [outcome.to_dict() for outcome in self.outcomes],
            "figures": [outcome.to_dict() for outcome in self.figures],
            "drift": [one.to_dict() for one in self.drift],
            "changes": [one.to_dict() for one in self.changes],
            "history": [one.to_dict() for one in self.history],
            "vouched_for": list(self.vouched),
            "never_measured": [one.to_dict() for one in self.unmeasured],
            "waivers": [one.to_dict() | {"in_force": one.in_force(self.evidence.date)} for one in self.waivers],
            "notes": list(self.notes),
            "records": self.made.records,
            "profile": None if self.profile is None else self.profile.to_dict(),
            "evidence": self.evidence.to_dict(),
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
        """Return the view for an auditor: the verdict, the rules by their outcome, and the evidence."""
        from unveil.assess.policy.pages import whole

        return whole(self)

    def terminal_view(self) -> View:
        """Return the question, the figures and the requirements; a page adds the evidence."""
        return replace(self.view(), parts=())

    def sheet(self) -> View:
        """Return the view for the person who decides: one printed page, with a place to sign."""
        from unveil.assess.policy.pages import sheet

        return sheet(self)
