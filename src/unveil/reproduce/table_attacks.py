"""The three attacks on a magnitude table that the documents work through, each on a table of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unveil.formats import number

__all__ = ["WorkedAttack", "worked_attacks"]

_SOURCE = "thesis 2.4.1"


@dataclass(frozen=True, slots=True)
class WorkedAttack:
    """One attack: the salaries behind a cell, the kind of attacker, the document's statement, and the computed result.

    Attributes
    ----------
    attack
        external, internal or dominance.
    salaries
        The salaries of the respondents of the cell.
    says
        The statement of the document.
    low, high
        The bounds that the attacker reaches.
    true
        The true value that they bound; the attack is right if it lies between them.
    """

    attack: str
    salaries: tuple[float, ...]
    says: str
    low: float
    high: float
    true: float

    @property
    def right(self) -> bool:
        """Whether the bounds contain the true value."""
        return self.low <= self.true <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "source": _SOURCE,
            "attack": self.attack,
            "respondents": len(self.salaries),
            "says": self.says,
            "low": self.low,
            "high": self.high,
            "true": self.true,
            "right": self.right,
        }

    def row(self) -> tuple[Any, ...]:
        """Return what a table shows."""
        bounds = number(self.low) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"
        return self.attack, len(self.salaries), self.says, bounds, self.right


_CASES = {
    "external": ((2400.0,), "a single respondent: the published average is that respondent's salary"),
    "internal": ((2400.0, 1800.0), "two respondents: each computes the other's salary, 2 x mean - own"),
    "dominance": ((9000.0, 600.0, 400.0), "a respondent of 90 %: all others together are total - own, so each is low"),
}


def worked_attacks() -> tuple[WorkedAttack, ...]:
    """Run the three attacks, each on a table of marital status by zip code whose cell holds the case.

    Examples
    --------
    >>> [(one.attack, one.low, one.high, one.right) for one in worked_attacks()]
    [('external', 2400.0, 2400.0, True), ('internal', 1800.0, 1800.0, True), ('dominance', 0.0, 1000.0, True)]
    """
    return tuple(_worked(attack, salaries, says) for attack, (salaries, says) in _CASES.items())


def _worked(attack: str, salaries: tuple[float, ...], says: str) -> WorkedAttack:
    import narwhals as nw

    from unveil.tables import attack_table

    records = {
        "Marital Status": ["single"] * len(salaries),
        "Zip Code": ["35510"] * len(salaries),
        "Salary": list(salaries),
    }
    frame = nw.from_dict(records, backend="polars").to_native()
    attacked = attack_table(frame, ["Marital Status", "Zip Code"], value="Salary", margins=False)
    one = next(one for one in attacked.found if one.attack == attack)
    true = salaries[0] if attack == "external" else salaries[1]
    return WorkedAttack(attack, salaries, says, one.low, one.high, true)
