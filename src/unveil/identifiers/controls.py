"""Do the values pass a check, or would any similar text? The share that passes, compared with that of two controls.

A check digit accepts one random number in ten, so the share that passes reveals little by itself. It is compared with random
texts of the same form (each digit replaced by any digit, each letter by any letter: how much passes because of the form alone?)
and with the column's own characters reshuffled, position by position (same prefixes, same dates; only the link between the
positions of one value, the check digit, is lost).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Passed", "passes"]

_CONTROLS = 2_000
"""The largest number of texts that a control tries."""
_FEWEST_DEALT = 500
"""The smallest number of texts that are reshuffled, in several rounds if the column has fewer values."""
_SURE_NATS = 14.0
"""How improbable chance must be to be ruled out: less than exp(-14), one in a million."""
_MOST_CHANCE = 0.5
"""From this rate of a control on, a check proves nothing, however certain the difference is."""
_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Passed:
    """The share of values that pass, and the shares of both controls."""

    share: float
    number: int
    by_form: float
    by_position: float

    @property
    def checked(self) -> bool:
        """Whether no control explains the share, so that the characters of each value depend on each other."""
        return self._beats(max(self.by_form, self.by_position))

    @property
    def structured(self) -> bool:
        """Whether texts of the same form, otherwise random, do not explain the share."""
        return self._beats(self.by_form)

    def _beats(self, chance: float) -> bool:
        """Whether this chance is small, and so many passes are improbable under it (Chernoff's bound on the binomial tail)."""
        floor = max(chance, 1 / _FEWEST_DEALT)
        if floor > _MOST_CHANCE:
            return False
        failed = 1.0 - self.share
        nats = self.share * math.log(self.share / floor)
        if failed > 0.0:
            nats += failed * math.log(failed / (1.0 - floor))
        return self.number * nats >= _SURE_NATS


def passes(texts: Sequence[str], check: Callable[[str], object], share: float, seed: int) -> Passed:
    """Measure both controls of a check that the given share of the texts passes."""
    rng = np.random.default_rng(seed)
    some = [text for text in texts[:_CONTROLS] if text.isascii()]
    return Passed(share, len(texts), _rate(_random_alike(some, rng), check), _rate(_dealt_anew(some, rng), check))


def _rate(texts: Sequence[str], check: Callable[[str], object]) -> float:
    return sum(1 for text in texts if check(text)) / len(texts) if texts else 1.0


def _random_alike(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return a few thousand texts with random digits for digits and random letters for letters."""
    values = []
    for at in range(_CONTROLS if texts else 0):
        text = texts[at % len(texts)]
        draws = rng.integers(0, 1 << 30, len(text)).tolist()
        values.append("".join(_another(sign, draw) for sign, draw in zip(text, draws, strict=True)))
    return values


def _another(sign: str, draw: int) -> str:
    if sign.isdecimal():
        return _DIGITS[draw % 10]
    return _LETTERS[draw % 26] if sign.isalpha() else sign


def _dealt_anew(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return texts of the same characters, each position shuffled at random among the texts of one length."""
    by_length: defaultdict[int, list[str]] = defaultdict(list)
    for text in texts:
        by_length[len(text)].append(text)
    groups = [np.array([list(text) for text in group]) for group in by_length.values()]
    values: list[str] = []
    while groups and len(values) < _FEWEST_DEALT:
        for signs in groups:
            values.extend("".join(row) for row in rng.permuted(signs, axis=0).tolist())
    return values
