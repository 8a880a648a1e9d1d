"""The budget of a search: seconds, or generalisations looked at."""

from __future__ import annotations

from dataclasses import dataclass

from unveil.arguments import checked_count, checked_time_limit

__all__ = ["SearchBudget", "budget_of"]


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How far a search may go, in seconds and in nodes looked at; None: without a limit."""

    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a time limit that is not a number of seconds."""
        checked_time_limit(self.seconds)


def budget_of(seconds: float | None, nodes: int | None) -> SearchBudget:
    """Return how far a search may go, or refuse a value that is no limit."""
    return SearchBudget(seconds, None if nodes is None else checked_count("node_limit", nodes, least=1))
