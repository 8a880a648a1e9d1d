"""Errors in questions; a refusal by a policy is not an error but an answer."""

from __future__ import annotations

from unveil.errors import UnveilError, listed, shown

__all__ = ["QuestionError"]


class QuestionError(UnveilError, ValueError):
    """A question that is not understood, or that no policy answers. The message never repeats a constant."""

    @classmethod
    def not_allowed(cls, part: str) -> QuestionError:
        """Return the error for a part of a statement that the gate does not accept."""
        return cls(
            f"the question contains {part}, which the gate does not accept; ask with one SELECT of COUNT, SUM, AVG, VAR, MIN or "
            "MAX over the table, with AND, OR, NOT, comparisons, BETWEEN, IN and IS NULL in WHERE, and columns in GROUP BY."
        )

    @classmethod
    def wrong_kind(cls, column: str, kinds: str, constant: str) -> QuestionError:
        """Return the error for a constant of a type that the column does not have."""
        return cls(
            f"column {shown(column)} contains {kinds}, but the question compares it with {constant}; use a constant of that type."
        )

    @classmethod
    def closed_column(cls, column: str, place: str, allowed: tuple[str, ...]) -> QuestionError:
        """Return the error for a column in a place where it is not allowed."""
        there = listed(allowed) or "none"
        return cls(f"column {shown(column)} is not allowed {place}; allowed are: {there}.")
