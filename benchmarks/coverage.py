"""Intervals against the truth of simulated populations: how often does an interval contain the true rate, and how wide is it?

The grid of the Discrimination Rate's interval is 300, 1,000 and 10,000 records by 5, 20, 60 and 100 key values by no, weak and
strong dependence (a rate of 0, about 0.05 and about 0.5). In each cell the sensitive attribute has 2 or 8 values as frequent as
each other, or 4 of which each is half as frequent as the one before; key values are as frequent as each other or follow Zipf's
law; and the dependence has one of four shapes, since the shape decides how biased the measured rate is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row
from unveil.measures.entropy import entropy_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Shape: TypeAlias = Literal["even", "uneven", "random", "pairs"]
SHAPES: tuple[Shape, ...] = ("even", "uneven", "random", "pairs")
DEPENDENCE = {"no": 0.0, "weak": 0.05, "strong": 0.5}
RECORDS, KEY_VALUES = (300, 1_000, 10_000), (5, 20, 60, 100)

_SENSITIVE = ((2, "equal"), (4, "halving"), (8, "equal"))
_SAMPLES = 600
"""The samples per cell of the grid, over all its populations."""
_GOAL = 0.9
_STRONGEST = 40.0


@dataclass(frozen=True, slots=True)
class Population:
    """A joint distribution of key (rows) and sensitive attribute (columns), and its Discrimination Rate."""

    joint: NDArray[np.float64]

    @property
    def rate(self) -> float:
        """The true rate."""
        key, sensitive = self.joint.sum(axis=1), self.joint.sum(axis=0)
        joint = self.joint[self.joint > 0.0]
        return 1.0 - (entropy_bits(joint) - entropy_bits(key)) / entropy_bits(sensitive[sensitive > 0.0])

    def sample(self, random: np.random.Generator, records: int) -> pl.DataFrame:
        """Draw records."""
        cell = random.choice(self.joint.size, records, p=self.joint.ravel())
        return pl.DataFrame({"key": cell // self.joint.shape[1], "sensitive": cell % self.joint.shape[1]})


def run() -> list[Row]:
    """Simulate all cells of the grid."""
    return [covered(*cell) for cell in product(RECORDS, KEY_VALUES, DEPENDENCE)]


def covered(records: int, key_values: int, dependence: str) -> Row:
    """Report how often the interval contains the true rate, over all populations of a cell and in the worst shape."""
    random = np.random.default_rng([records, key_values, list(DEPENDENCE).index(dependence)])
    cases = list(populations(key_values, DEPENDENCE[dependence], random))
    held: dict[Shape, list[bool]] = {}
    widths = []
    for shape, population in cases:
        for _ in range(_SAMPLES // len(cases)):
            interval = interval_of(population.sample(random, records))
            if interval is not None:
                held.setdefault(shape, []).append(interval[0] <= population.rate + 1e-9 and population.rate <= interval[1] + 1e-9)
                widths.append(interval[1] - interval[0])
    what = f"interval of the rate, {records:,} records, {key_values} key values, {dependence} dependence"
    if not widths:
        return Row(what, "refused", None, f"at least {_GOAL:.0%}", None, "higher", "%")
    every, worst = (
        np.mean([each for shape in held.values() for each in shape]),
        min(float(np.mean(each)) for each in held.values()),
    )
    words = f"{every:.1%} of {len(widths)} hold it, {worst:.1%} in the worst shape; median width {np.median(widths):.3f}"
    return Row(what, words, 100.0 * worst, f"at least {_GOAL:.0%}", worst >= _GOAL, "higher", "%")


def interval_of(sample: pl.DataFrame) -> tuple[float, float] | None:
    """Return the interval of a sample; None if it is refused, or the sensitive attribute is constant."""
    if sample["sensitive"].n_unique() == 1:
        return None
    interval = unveil.discrimination_rate(sample, "key", "sensitive", interval=True).interval
    return None if interval is None else (interval.low, interval.high)


def populations(key_values: int, rate: float, random: np.random.Generator) -> Iterator[tuple[Shape, Population]]:
    """Make the populations of a cell of the grid."""
    for (values, how), skewed in product(_SENSITIVE, (False, True)):
        shares = np.full(values, 1.0 / values) if how == "equal" else 0.5 ** np.arange(values)
        key = 1.0 / np.arange(1.0, key_values + 1.0) if skewed else np.ones(key_values)
        for shape in SHAPES if rate > 0.0 else SHAPES[:1]:
            yield shape, population_of(shape, rate, key / key.sum(), shares / shares.sum(), random)


def population_of(
    shape: Shape, rate: float, key: NDArray[np.float64], shares: NDArray[np.float64], random: np.random.Generator
) -> Population:
    """Return a population of a shape whose rate is near the one wanted, by bisection on the strength of its dependence."""
    mixed = _families(shape, key, shares, random)
    low, high = 0.0, _STRONGEST if shape == "random" else 1.0
    for _ in range(40 if rate > 0.0 else 0):
        middle = (low + high) / 2.0
        low, high = (middle, high) if Population(key[:, None] * mixed(middle)).rate < rate else (low, middle)
    return Population(key[:, None] * mixed(low))


def _families(
    shape: Shape, key: NDArray[np.float64], shares: NDArray[np.float64], random: np.random.Generator
) -> Callable[[float], NDArray[np.float64]]:
    """Return the distributions of the sensitive attribute by key value, as a function of how strong the dependence is."""
    values, of_all = len(shares), np.tile(shares, (len(key), 1))
    one = np.eye(values)[random.choice(values, len(key), p=shares)]
    if shape == "even":  # every class leaves the same uncertainty
        return lambda strength: (1.0 - strength) * of_all + strength * one
    if shape == "uneven":  # some classes tell everything, the others nothing
        order = random.permutation(len(key))
        before = np.empty(len(key))
        before[order] = np.cumsum(key[order])
        return lambda strength: np.where((before <= strength)[:, None], one, of_all)
    if shape == "pairs":  # a class leaves two values, equally likely, or one
        two = (one + np.eye(values)[random.choice(values, len(key), p=shares)]) / 2.0
        return lambda strength: (1.0 - strength) * (key @ two) + strength * two
    tilt = random.normal(size=(len(key), values))
    return lambda strength: _softmax(np.log(of_all) + strength * tilt)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
