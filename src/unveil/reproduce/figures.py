"""Can the publications' figures be reproduced? Every printed figure beside the one that follows from the printed table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from unveil.reproduce.table_attacks import WorkedAttack
from unveil.results import Figure, Result, Table, View

__all__ = ["Agreement", "PublishedFigure", "Reproduction", "agreement"]

Agreement: TypeAlias = Literal["rounded", "truncated", "erratum"]
"""The relation of a printed figure to the computed one: rounded, truncated, or neither."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One printed figure, and the one that follows from the printed table.

    Attributes
    ----------
    source, what
        Where it is printed, and its subject.
    published, computed
        The printed figure, and the one that follows.
    by
        The public call that computes it.
    note
        The reason why the two differ, if they do.
    decimals
        The number of decimals of the print, if it is less than two.
    complement
        Whether the print is 1 minus another printed figure, so that the other one is what was rounded or truncated.
    """

    source: str
    what: str
    published: float
    computed: float
    by: str
    note: str | None = None
    decimals: int = 2
    complement: bool = False

    @property
    def agreement(self) -> Agreement:
        """The relation of the two figures."""
        if self.complement:
            return agreement(round(1.0 - self.published, 9), 1.0 - self.computed, self.decimals)
        return agreement(self.published, self.computed, self.decimals)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "source": self.source,
            "what": self.what,
            "published": self.published,
            "computed": self.computed,
            "agreement": self.agreement,
            "by": self.by,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reproduction(Result):
    """All printed figures, in the order of the publications, and the attacks on tables that the documents work through."""

    figures: tuple[PublishedFigure, ...]
    attacks: tuple[WorkedAttack, ...] = ()

    def __repr__(self) -> str:
        """Return one line: the number of figures that agree."""
        agreements = Counter(figure.agreement for figure in self.figures)
        errata = agreements["erratum"]
        return f"Reproduction({len(self.figures)} figures: {len(self.figures) - errata} agree, {errata} errata)"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "figures": [figure.to_dict() for figure in self.figures],
            "table_attacks": [one.to_dict() for one in self.attacks],
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per figure."""
        names = ("source", "what", "published", "computed", "agreement", "by", "note")
        return {name: [getattr(figure, name) for figure in self.figures] for name in names}

    def view(self) -> View:
        """Return the displayed figures, then the errata with their notes."""
        agreements = Counter(figure.agreement for figure in self.figures)
        rows = tuple((f.source, f.what, str(f.published), f.computed, f.agreement) for f in self.figures)
        errata = [f for f in self.figures if f.agreement == "erratum"]
        notes = tuple(f"{f.source}, {f.what}: {f.note}" for f in errata if f.note)
        figures = (
            Figure("figures", str(len(self.figures))),
            Figure(
                "agree",
                str(agreements["rounded"] + agreements["truncated"]),
                f"{agreements['rounded']} rounded, {agreements['truncated']} truncated in print",
            ),
            Figure("errata", str(agreements["erratum"]), "the printed figure does not follow from the printed table"),
        )
        table = Table(("source", "what", "published", "computed", "agreement"), rows)
        worked = tuple(one.row() for one in self.attacks)
        names = ("attack", "respondents", "the document says", "computed", "right")
        attacks = (Table(names, worked, "Attacks on a magnitude table (thesis 2.4.1)"),) if worked else ()
        return View("Published figures, recomputed", figures, (table, *attacks), notes)


def agreement(published: float, computed: float, decimals: int = 2) -> Agreement:
    """Compare a printed figure with the computed one.

    It is rounded if rounding to two decimals (more if more are printed) yields the printed figure, and truncated if cutting to
    the decimals of the print does: two, or as many as are printed, unless `decimals` states that its table has fewer.

    Examples
    --------
    >>> agreement(0.67, 2 / 3), agreement(0.66, 2 / 3), agreement(0.7, 2 / 3)
    ('rounded', 'truncated', 'erratum')
    """
    printed = len(str(published).partition(".")[2])
    if _same(round(computed, max(2, printed)), published):
        return "rounded"
    scale = 10 ** max(decimals, printed)
    return "truncated" if _same(math.floor(computed * scale + 1e-9) / scale, published) else "erratum"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=1e-9)
