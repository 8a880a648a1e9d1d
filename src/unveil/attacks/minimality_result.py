"""The gain of someone who knows that a table was generalised no further than necessary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil import __version__
from unveil.errors import one_line
from unveil.formats import counted
from unveil.results import Figure, Result, Table, View

__all__ = ["Minimality"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Minimality(Result):
    """The beliefs of someone who knows that no lower generalisation was enough, beside those by the release alone.

    Attributes
    ----------
    sensitive, levels, records
        The sensitive attribute, the level at which each key attribute was released, and the number of people.
    belief, belief_baseline
        The highest probability of anybody's sensitive value, and the largest share of a value in a released class.
    certain, certain_baseline
        The number of people whose value is certain.
    right, right_baseline
        The share of people whose likeliest value is the true one; None if the original does not hold the attribute.
    raised
        The number of people for whom some value has become likelier than any value was in their released class.
    below, by_size
        The number of generalisations just below the release, and of those that fail by the sizes of their classes, which
        reveals nothing.
    possible
        The share of assignments under which every generalisation below fails.
    drawn, error
        The number of released classes whose assignments were drawn, and the largest resulting standard error of a belief.
    left_out
        The number of people for whom that error would exceed 0.05: about them, nothing beyond the release is assumed to be
        known.
    """

    sensitive: str
    levels: Mapping[str, int]
    records: int
    belief: float
    belief_baseline: float
    certain: int
    certain_baseline: int
    right: float | None
    right_baseline: float | None
    raised: int
    below: int
    by_size: int
    possible: float
    drawn: int
    error: float
    left_out: int
    version: str = __version__

    def __repr__(self) -> str:
        """Return one line: the highest belief."""
        return (
            f"Minimality({one_line(self.sensitive)}: "
            f"belief of up to {self.belief:.4f}, {self.belief_baseline:.4f} by the release alone; "
            f"{self.raised:,} of {self.records:,} people)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {name: dict(self.levels) if name == "levels" else getattr(self, name) for name in self.__slots__}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return a row for each figure: with the method known, and by the release alone."""
        names = ("belief", "certain", "right")
        known, alone = ([getattr(self, name + end) for name in names] for end in ("", "_baseline"))
        return {"figure": list(names), "method_known": known, "release_alone": alone}

    def view(self) -> View:
        """Return the displayed figures."""
        shown = zip(("highest belief", "people certain", "share inferred right"), *list(self.columns().values())[1:], strict=True)
        rows = tuple(tuple("-" if cell is None else cell for cell in row) for row in shown)
        informing = self.below - self.by_size
        figures = (
            Figure(
                "highest belief", self.belief, f"of a value of {self.sensitive}; {self.belief_baseline:.4f} by the release alone"
            ),
            Figure(
                "people", self.raised, f"of {self.records:,}: one value is now likelier than any value was from the release alone"
            ),
            Figure("generalisations below", self.below, f"{informing} of them must have failed by the sensitive values"),
            Figure("possible", self.possible, "share of the assignments under which they fail"),
        )
        notes = (
            [] if informing else ["Classes below would have been too small, whatever the sensitive values: nothing is learnt."]
        )
        if self.drawn:
            drawn = counted(self.drawn, "released class", "released classes")
            notes.append(f"For {drawn} assignments were drawn; the standard error of a belief is at most {self.error:.4f}.")
        if self.left_out:
            notes.append(
                f"For {self.left_out:,} people it would exceed 0.05; for them the belief from the release alone is reported."
            )
        table = Table(("figure", "method known", "release alone"), rows)
        return View("Generalised no further than necessary", figures, (table,), tuple(notes))
