"""Formulas of log-linear models: which columns interact.

A formula is written as in R: ``a * b + c``, ``a:b + c``, ``(a + b + c)^2``. Models are hierarchical and every column has its own
effect, so ``*`` and ``:`` mean the same here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unveil.attributes import require_columns
from unveil.errors import ArgumentError

__all__ = ["interactions"]

Terms = frozenset[frozenset[str]]

_SIGNS = r"[()+*:^]"


def interactions(text: str, names: Sequence[str]) -> list[list[int]]:
    """Return the terms of a formula, each as the places of columns that interact; terms within a larger one are left out.

    Examples
    --------
    >>> interactions("~ age * sex + race", ["age", "sex", "race"])
    [[0, 1]]
    >>> interactions("(age + sex + race)^2", ["age", "sex", "race"])
    [[0, 1], [0, 2], [1, 2]]
    """
    reader = _Reader(_tokens(text.strip().removeprefix("~"), names))
    terms = reader.sum()
    if reader.tokens:
        raise _unreadable()
    require_columns(sorted({name for term in terms for name in term}), names)
    joint = [term for term in terms if len(term) > 1 and not any(term < other for other in terms)]
    return sorted(sorted(list(names).index(name) for name in term) for term in joint)


def _tokens(text: str, names: Sequence[str]) -> list[str]:
    """Split a formula into signs and names; the name of a column may hold a sign."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = rf"\s*((?:{known})(?=\s*(?:{_SIGNS}|$))|{_SIGNS}|[^()+*:^]+)"
    return [token.strip() for token in re.findall(pattern, text) if token.strip()]


class _Reader:
    """Reads the tokens of a formula from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def sum(self) -> Terms:
        """Read terms joined by +."""
        terms = self._product()
        while self._taken("+"):
            terms |= self._product()
        return terms

    def _product(self) -> Terms:
        terms = self._power()
        while self._taken("*", ":"):
            terms = _crossed(terms, self._power())
        return terms

    def _power(self) -> Terms:
        base = terms = self._atom()
        if self._taken("^"):
            times = self._next()
            if not times.isdecimal() or int(times) < 1:
                raise _unreadable()
            for _ in range(min(int(times), len(base)) - 1):
                terms = _crossed(terms, base)
        return terms

    def _atom(self) -> Terms:
        if self._taken("("):
            terms = self.sum()
            if not self._taken(")"):
                raise _unreadable()
            return terms
        name = self._next()
        if re.fullmatch(_SIGNS, name):
            raise _unreadable()
        return frozenset({frozenset({name})})

    def _next(self) -> str:
        if not self.tokens:
            raise _unreadable()
        return self.tokens.pop(0)

    def _taken(self, *signs: str) -> bool:
        if self.tokens and self.tokens[0] in signs:
            self.tokens.pop(0)
            return True
        return False


def _crossed(one: Terms, other: Terms) -> Terms:
    return frozenset(left | right for left in one for right in other)


def _unreadable() -> ArgumentError:
    return ArgumentError(
        "a log-linear model is 1, 2, search, or a formula of columns such as 'age * sex + race' or '(age + sex + race)^2'."
    )
