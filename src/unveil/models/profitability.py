r"""Does releasing a class pay? A game between the publisher of records and an attacker (Wan et al. 2015).

A record is worth the benefit b to its publisher, less the loss by its generalisation: with :math:`\ell` the share of its
information that is lost, :math:`b (1 - \ell)`. An attacker of a class of n records finds the right one with probability
1/n, and attacks only if that pays: if :math:`g / n > c`, with the gain g and the cost c. A re-identified record costs its
publisher the loss d. So a record of the class pays

.. math:: b (1 - \ell) - [g / n > c] \, d / n ,

and a class that does not pay is not released. The prosecutor knows that the person is in the table, and n counts its records; the
journalist knows that they are in the population, and n counts its people who share the key of the class. The share lost is that
of the bits of all combinations of leaves:

.. math:: \ell = \sum_j \log v_j \Big/ \sum_j \log V_j ,

where the class's value of attribute j stands for :math:`v_j` of its :math:`V_j` leaves. It is known during a search for a
generalisation; a table by itself has lost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, shown
from unveil.measures import Equivalence
from unveil.models.base import TOLERANCE, Measured, Model
from unveil.models.population import ATTACKERS, Attacker, Population, checked_attacker, in_population, people_of_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Game", "Profitable", "game_of"]

_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Game:
    """The amounts: a record's benefit to its publisher, the loss by a re-identified record, and an attack's gain and cost."""

    benefit: float
    loss: float
    gain: float
    cost: float
    attacker: Attacker = "prosecutor"

    def __post_init__(self) -> None:
        """Refuse an unknown attacker, and amounts that cannot be weighed against each other."""
        checked_attacker(self.attacker)
        if not all(0.0 <= amount < _LARGEST for amount in (self.benefit, self.loss, self.gain, self.cost)) or not self.benefit:
            raise ArgumentError("a game takes a benefit above zero, and a loss, a gain and a cost of zero or above.")

    @property
    def needs_population(self) -> bool:
        """Whether class sizes are counted in the population."""
        return self.attacker == "journalist"

    def payoff(self, size: NDArray[np.float64], lost: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the payoff of a record in classes of these sizes, given the share of its information that is lost."""
        attacked = self.gain / size > self.cost
        return np.asarray(self.benefit * (1.0 - lost) - np.where(attacked, self.loss / size, 0.0))


def game_of(text: str, word: str) -> Game:
    """Read BENEFIT:LOSS:GAIN:COST[:ATTACKER].

    Examples
    --------
    >>> game_of("1200:300:300:4:journalist", "`profitable`")
    Game(benefit=1200.0, loss=300.0, gain=300.0, cost=4.0, attacker='journalist')
    """
    parts = text.split(":")
    attacker: Attacker = next((one for one in ATTACKERS if parts[-1] == one), "prosecutor")
    try:
        amounts = [float(part) for part in (parts[:-1] if parts[-1] in ATTACKERS else parts)]
    except ValueError:
        amounts = []
    if len(amounts) != 4:  # noqa: PLR2004 - the four of a game
        raise ArgumentError(
            f"{word} takes BENEFIT:LOSS:GAIN:COST, such as 1200:300:300:4, optionally followed by :journalist, not {shown(text)}."
        )
    benefit, loss, gain, cost = amounts
    return Game(benefit, loss, gain, cost, attacker)


@checked_arguments
@dataclass(frozen=True)
class Profitable(Model):
    """Every class pays its publisher: what its records are worth is more than what attacks on it cost (Wan et al. 2015).

    A prosecutor looks for somebody who is in the table, a journalist for somebody who is in the population.

    Examples
    --------
    >>> Profitable(1200, 300, 300, 4).requirement
    'profitable (benefit 1200, loss 300, gain 300, cost 4)'
    """

    benefit: float | None = None
    loss: float = 0.0
    gain: float = 0.0
    cost: float = 0.0
    attacker: Attacker = "prosecutor"
    name: ClassVar[str] = "profitable"
    label: ClassVar[str] = "the publisher's payoff"
    safe_is_high: ClassVar[bool] = True
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    judged_on = "payoff"
    closed: ClassVar[bool] = False
    on_request: ClassVar[bool] = True  # the worth of a record is not in the data

    def __post_init__(self) -> None:
        """Refuse an unknown attacker, and amounts that cannot be weighed against each other."""
        checked_attacker(self.attacker)
        if self.benefit is not None:
            self.game  # noqa: B018 - which checks them

    @property
    def game(self) -> Game:
        """The amounts."""
        return Game(self.benefit or 0.0, self.loss, self.gain, self.cost, self.attacker)

    @property
    def needs_population(self) -> bool:
        """Whether the attacker is a journalist."""
        return self.attacker == "journalist"

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the payoff of a record of each class, without information loss."""
        return self.game.payoff(classes.size, 0.0)

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:
        """Return the payoff of a record of the worst class, without information loss."""
        if not self.needs_population:
            return super().measure(classes)
        people = people_of_classes(self, population).astype(np.float64)
        return in_population(self, classes, population, self.game.payoff(people, 0.0))

    @property
    def threshold(self) -> float | None:
        """The payoff that every class must exceed."""
        return None if self.benefit is None else 0.0

    def violated(self, figures: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes do not pay."""
        return np.zeros(len(figures), dtype=bool) if self.benefit is None else figures <= TOLERANCE

    @property
    def requirement(self) -> str | None:
        """The amounts in words."""
        if self.benefit is None:
            return None
        within = ", in the population" if self.needs_population else ""
        return f"profitable (benefit {self.benefit:g}, loss {self.loss:g}, gain {self.gain:g}, cost {self.cost:g}{within})"
