"""The open policy: exact answers to everything, without protection, as a baseline for attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret, exact

__all__ = ["Open"]


@dataclass(frozen=True, slots=True)
class Open(GatePolicy):
    """Answer everything exactly. It protects nobody.

    Examples
    --------
    >>> Open().name
    'open'
    """

    name: ClassVar[str] = "open"
    by_set: ClassVar[bool] = True
    weakness: ClassVar[str] = "everything: every attack succeeds."

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:  # noqa: ARG002 - nothing is secret here
        """Return the policy applied to the data."""
        return _Opened(holding)


class _Opened:
    def __init__(self, holding: Holding) -> None:
        self._holding = holding

    def offers(self, selection: Selection) -> str:  # noqa: ARG002
        return ""

    def price(self, selection: Selection) -> int:  # noqa: ARG002
        return 1

    def decide(self, selection: Selection) -> Decision:
        return Decision(value=exact(self._holding, selection))

    def accept(self, selection: Selection) -> None:
        pass

    def accuracy(self, selection: Selection) -> float | None:  # noqa: ARG002
        return 0.0
