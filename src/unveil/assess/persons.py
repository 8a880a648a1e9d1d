"""Which column identifies the person of a record, and which the household? Repeated numbers, and columns constant within."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import best_guess
from unveil.formats import counted
from unveil.naming import hints_of, words_of

if TYPE_CHECKING:
    from unveil.study import Columns

__all__ = ["household_column", "person_column"]

_FEWEST = 5
_REPEATED = 0.98
"""With more distinct numbers per record than this, hardly any person has two records."""
_SPREAD = 0.01
"""With fewer distinct numbers per record than this, they number groups, not people."""
_STEADY = 0.97
_SEX = frozenset(("sex", "gender", "sexe", "geschlecht", "sexo", "genero", "genre"))
_HOUSEHOLD = frozenset(
    ("household", "hh", "hhid", "menage", "foyer", "haushalt", "hogar", "family", "famille", "familie", "familia")
)
_STEADY_HINTS = frozenset(("birth-date", "person-name", "email", "national-number", "phone"))


def person_column(columns: Columns) -> tuple[str, str] | None:
    """Return the column that numbers persons who have several records, and the evidence; None if there is none.

    Its name suggests a number, its values repeat, and some attribute that does not change in a person (a name, a date of birth,
    the sex) is constant within each. If the table has no such attribute, its name must state that it numbers people.
    """
    steady = [name for name in columns.names if _is_steady(name)]
    candidates = []
    for name in columns.names:
        if not _is_number(name) or not _repeats(columns, name) or _says_household(name):
            continue
        constant = [other for other in steady if other != name and _is_constant(columns, name, other)]
        if constant or (not steady and _says_person(name)):
            candidates.append((len(columns.values(name)), name, constant))
    if not candidates:
        return None
    distinct, name, constant = max(candidates)
    evidence = f"{counted(distinct, 'number')} in {counted(columns.records, 'record')}"
    return name, evidence + (
        f", and {' and '.join(constant)} stay the same within each" if constant else ", and the name says a person"
    )


def household_column(columns: Columns, person: str | None) -> tuple[str, str] | None:
    """Return the column that identifies households, by its name and repeated values, and the evidence; None if absent."""
    for name in columns.names:
        if (
            name != person
            and _says_household(name)
            and _repeats(columns, name)
            and ("id" in hints_of(name) or words_of(name)[-1] in _HOUSEHOLD)
        ):
            return name, f"the name says a household, and {counted(len(columns.values(name)), 'number')} repeat"
    return None


def _is_steady(name: str) -> bool:
    return bool(_STEADY_HINTS & hints_of(name)) or bool(_SEX & {*words_of(name)})


def _is_number(name: str) -> bool:
    return bool({"id", "person-id", "code", "national-number"} & hints_of(name)) or _says_person(name)


def _says_person(name: str) -> bool:
    hints = hints_of(name)
    return "person-id" in hints or ("person" in hints and bool({"id", "code"} & hints)) or words_of(name) in (("pid",), ("id",))


def _says_household(name: str) -> bool:
    return bool(_HOUSEHOLD & {*words_of(name)})


def _repeats(columns: Columns, name: str) -> bool:
    records, values = columns.records, columns.values(name)
    return (
        len(values) >= _FEWEST and _SPREAD * records <= len(values) <= _REPEATED * records and values[len(values) - 1] is not None
    )


def _is_constant(columns: Columns, by: str, of: str) -> bool:
    """Whether a column has one value within nearly every number that repeats, although it is not constant as a whole."""
    if columns.counts(by).max() <= 1 or len(columns.values(of)) < 2:  # noqa: PLR2004 - two values
        return False
    cells = columns.numbered(by, of)
    guess, _ = best_guess(cells.first, cells.second, int(cells.second.max()) + 1, cells.n)
    several = np.bincount(cells.first, weights=cells.n)[cells.first] > 1
    guessed = several & (guess[cells.first] == cells.second)
    right = float(cells.n[guessed].sum() / cells.n[several].sum())
    most = float(columns.counts(of).max()) / columns.records
    return right >= _STEADY and right > most
