"""The policy of perturbed records: questions are answered exactly, from a release of the data.

The protection is that of the mechanism that made the release. Whatever the questions, and however many, nobody learns more than
the release contains, so there is nothing to refuse and nothing to count; the release may just as well be published.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, ClassVar

from unveil.errors import ArgumentError
from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret, exact

__all__ = ["PerturbedRecords"]


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedRecords(GatePolicy):
    """Answer from a release of the data.

    Attributes
    ----------
    release
        The protected records: a path, a frame, or any other data, with the columns of the original.

    Examples
    --------
    >>> PerturbedRecords("release.csv").name
    'records'
    """

    release: Any = field(default=None, repr=False)
    name: ClassVar[str] = "records"
    weakness: ClassVar[str] = "whatever the mechanism that made the release does not protect against."

    def __post_init__(self) -> None:
        """Refuse a policy without records."""
        if self.release is None:
            raise ArgumentError("the policy 'records' answers from a release; name one that was made by a mechanism.")

    @property
    def discloses_values(self) -> bool:
        """Return False, because the values of the release are not those of the data."""
        return False

    def settings(self) -> dict[str, Any]:
        """Return the settings, with the path of the release if it has one."""
        place = os.fspath(self.release) if isinstance(self.release, str | os.PathLike) else "a data frame"
        return {"policy": self.name, "release": str(place)}

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:  # noqa: ARG002 - nothing is drawn here
        """Return the policy applied to the data; the release is opened with the roles of the data."""
        released = Holding(self.release, key=holding.key, sensitive=holding.sensitive, bounds={}, nulls="drop")
        return _Released(released)


class _Released:
    def __init__(self, released: Holding) -> None:
        self._released = released

    def offers(self, selection: Selection) -> str:  # noqa: ARG002
        return ""

    def price(self, selection: Selection) -> int:  # noqa: ARG002
        return 1

    def accept(self, selection: Selection) -> None:
        """Remember nothing."""

    def decide(self, selection: Selection) -> Decision:
        return Decision(value=exact(self._released, self._released.select(selection.statistic)))

    def accuracy(self, selection: Selection) -> float | None:  # noqa: ARG002
        return None
