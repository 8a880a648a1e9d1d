"""What is wrong with a question or with a ledger; a refusal by a policy is no error but an answer."""

from __future__ import annotations

from unveil.errors import UnveilError, listed, shown

__all__ = ["LedgerError", "QuestionError"]


class QuestionError(UnveilError, ValueError):
    """A question that is not understood, or asks for what no policy answers. The message never repeats a constant."""

    @classmethod
    def not_allowed(cls, part: str) -> QuestionError:
        """Report a part of a statement that the gate does not accept."""
        return cls(
            f"the question holds {part}, which the gate does not accept; ask one SELECT of COUNT, SUM, AVG, VAR, MIN or MAX over "
            "the table, with AND, OR, NOT, comparisons, BETWEEN, IN and IS NULL in WHERE, and columns in GROUP BY."
        )

    @classmethod
    def wrong_kind(cls, column: str, kinds: str, constant: str) -> QuestionError:
        """Report a constant of a type that the column does not hold."""
        return cls(
            f"column {shown(column)} holds {kinds}, and the question compares it with {constant}; use a constant that fits."
        )

    @classmethod
    def closed_column(cls, column: str, place: str, allowed: tuple[str, ...]) -> QuestionError:
        """Report a column that may not stand where it does."""
        there = listed(allowed) or "none"
        return cls(f"column {shown(column)} may not stand {place}; columns that may: {there}.")


class LedgerError(UnveilError, RuntimeError):
    """A ledger that cannot be used: another policy, other data, a broken chain, or no ledger at all."""

    @classmethod
    def at_row(cls, ledger: object, row: int) -> LedgerError:
        """Report a row that does not follow from the one before."""
        return cls(
            f"the ledger {shown(ledger)} was changed outside of the gate: its chain is broken at row {row:,}. Nothing was "
            "answered; put back an intact copy, or start a new ledger."
        )
