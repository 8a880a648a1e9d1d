"""Which values stand for a missing one? Words with this meaning, and numbers such as -9 or 999 far apart from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unveil.formats import counted
from unveil.naming import words_of
from unveil.partitions import number_of, text_of
from unveil.run import in_blocks

__all__ = ["MissingCode", "missing_codes"]

_WORDS = frozenset(
    (
        "unknown", "missing", "not available", "not known", "not specified", "not stated", "no answer", "no data",
        "unspecified", "undefined", "n a", "na", "null", "nan", "inconnu", "inconnue", "non renseigne", "non precise",
        "manquant", "sans reponse", "unbekannt", "keine angabe", "k a", "ohne angabe", "fehlt", "fehlend", "desconocido",
        "desconocida", "sin dato", "sin datos", "no consta", "no contesta", "ns nc",
    )
)  # fmt: skip
_SIGNS = frozenset(("?", "-", "--", ".", "..", "n/a", "#n/a", "k.a.", "n.a."))
_BELOW = frozenset((-1, -7, -8, -9, -66, -77, -88, -97, -98, -99, -777, -888, -999, -9999, -99999))
_ABOVE = (99, 999, 9999, 99999, 999999)
_NEIGHBOURS = 3
"""The number of codes that end at the largest, because codes of refusals lie just below it: 97, 98, 99."""
_APART = 1.5


@dataclass(frozen=True, slots=True)
class MissingCode:
    """A value that stands for a missing one.

    Attributes
    ----------
    text
        The value as written in the file.
    records
        The number of records that hold it.
    sure
        Whether there is little doubt; it is then read as a null.
    evidence
        The reason.
    """

    text: str
    records: int
    sure: bool
    evidence: str

    def in_words(self) -> str:
        """Return one sentence; a code is not a personal value."""
        return f"{self.text} ({counted(self.records, 'record')}): {self.evidence}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"text": self.text, "records": self.records, "sure": self.sure, "evidence": self.evidence}


def missing_codes(values: Sequence[Any], counts: Sequence[int]) -> tuple[MissingCode, ...]:
    """Find the values of a column that stand for a missing one.

    Parameters
    ----------
    values, counts
        The distinct values of the column, and how many records hold each.

    Examples
    --------
    >>> [code.text for code in missing_codes([-9, 18, 20, 35, 40, 64], [7, 5, 5, 5, 5, 5])]
    ['-9']
    >>> missing_codes([0, 1, 2, -1], [5, 5, 5, 5])
    ()
    """
    held = [(value, int(n)) for value, n in zip(values, counts, strict=True) if value is not None]
    if not held:
        return ()
    words = [
        MissingCode(value, n, sure=True, evidence="the word says that nothing is known")
        for block in in_blocks(held)
        for value, n in block
        if isinstance(value, str) and (value.strip().casefold() in _SIGNS or " ".join(words_of(value)) in _WORDS)
    ]
    texts = {code.text for code in words}
    numbers = {
        number: (value, n)
        for block in in_blocks(held)
        for value, n in block
        if text_of(value) not in texts and (number := number_of(value)) is not None
    }
    if len(numbers) + len(texts) < len(held) or len(numbers) < _NEIGHBOURS:
        return tuple(words)
    return (*words, *_below(numbers), *_above(numbers))


def _below(numbers: dict[Any, tuple[Any, int]]) -> list[MissingCode]:
    """Find negative codes in a column that has no other negative number; -1 counts only if other such codes occur with it."""
    negative = [number for number in numbers if number < 0]
    if not negative or any(number not in _BELOW for number in negative) or negative == [-1]:
        return []
    why = "the only negative numbers of the column"
    return [MissingCode(text_of(numbers[number][0]), numbers[number][1], sure=True, evidence=why) for number in sorted(negative)]


def _above(numbers: dict[Any, tuple[Any, int]]) -> list[MissingCode]:
    """Find codes of nines, and those just below, that are far above every other number and occur more than once."""
    for code in _ABOVE:
        codes = [number for number in numbers if code - _NEIGHBOURS < number <= code]
        others = [number for number in numbers if number not in codes]
        if code in numbers and max(numbers) == code and others and float(max(others)) * _APART <= code and numbers[code][1] > 1:
            why = "it is far above every other number"
            return [
                MissingCode(text_of(numbers[number][0]), numbers[number][1], sure=False, evidence=why) for number in sorted(codes)
            ]
    return []
