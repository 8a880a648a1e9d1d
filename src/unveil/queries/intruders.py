"""Attacks on a gate by analysts who follow its rules: each is a program that asks, computes, and returns its success.

The intruder knows everyone's keys and asks under several names. The success of an attack is a share from 0 (no better than
without asking) to 1 (every targeted value). On the open gate, every attack succeeds.

References
----------
D. Denning, P. Denning, M. Schwartz (1979), The tracker: a threat to statistical database security, ACM TODS 4(1), 76-96.
I. Dinur, K. Nissim (2003), Revealing information while preserving privacy, PODS, 202-210.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.queries.gate import Gate
from unveil.queries.policies.base import GatePolicy
from unveil.queries.problems import QuestionError
from unveil.randomness import chance_of
from unveil.sources import frame_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ATTACKS", "Door", "TrialPeople", "trial_door", "verdict_of"]

_NEAR = 0.005
"""A value counts as learnt if the error of the guess is less than this share of it."""
_DEFENDED, _WON = 0.15, 0.9
_HALF, _ZERO = 0.5, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class TrialPeople:
    """People to attack; each has a number, a town, a salary and visits to the doctor, and may be sick."""

    pay: NDArray[np.float64]
    sick: NDArray[np.bool_]

    @classmethod
    def drawn(cls, people: int, seed: int) -> TrialPeople:
        """Draw some people at random."""
        random = chance_of(seed=seed).draws("people")
        return cls(np.round(1000.0 + 8000.0 * random.random(people), 2), random.permutation(np.arange(people) % 2 == 0))

    @property
    def table(self) -> dict[str, list[Any]]:
        """The table of the people."""
        n = len(self.pay)
        towns = ["north" if at % 3 else "south" for at in range(n)]
        sick = ["yes" if one else "no" for one in self.sick]
        return {"id": list(range(n)), "town": towns, "pay": self.pay.tolist(), "visits": self.visits.tolist(), "sick": sick}

    @property
    def visits(self) -> NDArray[np.int64]:
        """Each person's number of visits to a doctor: whole numbers in a small range."""
        return np.asarray((self.pay * 100).astype(np.int64) % 13)


@dataclass(slots=True)
class Door:
    """A gate as an intruder sees it, with the truth, by which success is judged."""

    gate: Gate
    people: TrialPeople
    again: Callable[[TrialPeople], Gate]
    random: np.random.Generator
    names: Sequence[str] = ("eve", "mallory", "trudy", "oscar")
    questions: int = field(default=0)

    @property
    def size(self) -> int:
        """The number of people."""
        return len(self.people.pay)

    def between(self, what: str, where: str = "", analyst: str | None = None) -> tuple[float, float] | None:
        """Ask for one number and return its ends, which are equal unless the answer is an interval; None if it is refused."""
        self.questions += 1
        name = analyst or self.names[self.questions % len(self.names)]
        text = f"SELECT {what} FROM people" + (f" WHERE {where}" if where else "")  # noqa: S608 - the gate reads it
        answer = self.gate.ask(text, analyst=name)
        if answer.low is not None and answer.high is not None:
            return float(answer.low), float(answer.high)
        return None if answer.value is None else (float(answer.value), float(answer.value))

    def ask(self, what: str, where: str = "", analyst: str | None = None) -> float | None:
        """Ask for one number and return it, or the middle of an interval; None if it is refused."""
        ends = self.between(what, where, analyst)
        return None if ends is None else (ends[0] + ends[1]) / 2.0

    def combined(self, terms: Iterable[tuple[float, str]]) -> float | None:
        """Add up sums of pay with signs; None if one is refused."""
        total = 0.0
        for sign, where in terms:
            answer = self.ask("SUM(pay)", where)
            if answer is None:
                return None
            total += sign * answer
        return total

    def targets(self, number: int = 12) -> list[int]:
        """Return some people to target."""
        return [int(at) for at in self.random.permutation(self.size)[:number]]

    def success(self, guesses: Mapping[int, float | None]) -> float:
        """Return the share of people whose pay was learnt."""
        hits = [guess is not None and abs(guess / self.people.pay[at] - 1.0) < _NEAR for at, guess in guesses.items()]
        return float(np.mean(hits)) if hits else 0.0


def _single(door: Door) -> float:
    """Ask for the sum over one person."""
    return door.success({at: door.combined([(1.0, f"id = {at}")]) for at in door.targets()})


def _complement(door: Door) -> float:
    """Subtract the sum over all others from the sum over all."""
    return door.success({at: door.combined([(1.0, ""), (-1.0, f"id <> {at}")]) for at in door.targets()})


def _differencing(door: Door) -> float:
    """Take the difference of two large sets that differ in one person."""
    half = door.size // 2
    return door.success(
        {at: door.combined([(1.0, f"id < {half} OR id = {at}"), (-1.0, f"id < {half} AND id <> {at}")]) for at in door.targets()}
    )


def _tracker(door: Door) -> float:
    """Pad one person with a tracker T: q(C) = q(C or T) + q(C or not T) - q(T) - q(not T)."""
    inside, outside = "town = 'south'", "NOT town = 'south'"
    return door.success(
        {
            at: door.combined(
                [(1.0, f"id = {at} OR {inside}"), (1.0, f"id = {at} OR {outside}"), (-1.0, inside), (-1.0, outside)]
            )
            for at in door.targets()
        }
    )


def _double_tracker(door: Door) -> float:
    """Pad one person with two trackers, T within U: q(C) = q(U) + q(C or T) - q(T) - q(not (C and T) and U)."""
    small, large = f"id < {door.size // 3}", f"id < {2 * door.size // 3}"
    return door.success(
        {
            at: door.combined(
                [(1.0, large), (1.0, f"id = {at} OR {small}"), (-1.0, small), (-1.0, f"NOT (id = {at} AND {small}) AND {large}")]
            )
            for at in door.targets()
        }
    )


def _sequence(door: Door) -> float:
    """Ask for many sums over random halves, and solve for everybody."""
    rows, sums = [], []
    for _ in range(door.size + door.size // 2):
        members = door.random.random(door.size) < _HALF
        answer = door.ask("SUM(pay)", _among(members))
        if answer is not None:
            rows.append(members.astype(np.float64))
            sums.append(answer)
    if not rows:
        return 0.0
    known = _determined(np.array(rows))
    guesses, *_ = np.linalg.lstsq(np.array(rows), np.array(sums), rcond=None)
    share = door.success(dict(enumerate(guesses.tolist())))
    return share if known else 0.0


def _determined(rows: NDArray[np.float64]) -> int:
    """Return the number of people that a system determines."""
    _, sizes, basis = np.linalg.svd(rows)
    rank = int(np.count_nonzero(sizes > 1e-9 * sizes[0]))
    return int(np.count_nonzero(np.abs((basis[:rank] ** 2).sum(axis=0) - 1.0) < _ZERO))


def _insider(door: Door) -> float:
    """Use one's own pay, and the sum of a pair, to find a neighbour's pay."""
    half, shares = door.size // 2, []
    for own in door.targets():
        other = (own + 1) % door.size
        both = door.combined(
            [(1.0, f"id < {half} OR id IN ({own}, {other})"), (-1.0, f"id < {half} AND id NOT IN ({own}, {other})")]
        )
        shares.append(door.success({other: None if both is None else both - float(door.people.pay[own])}))
    return float(np.mean(shares))


def _collusion(door: Door) -> float:
    """Let one analyst ask for the larger set, and another for the smaller set."""
    half, guesses = door.size // 2, {}
    for at in door.targets():
        large = door.ask("SUM(pay)", f"id < {half} OR id = {at}", "eve")
        small = door.ask("SUM(pay)", f"id < {half} AND id <> {at}", "mallory")
        guesses[at] = None if large is None or small is None else large - small
    return door.success(guesses)


def _extremes(door: Door) -> float:
    """Halve the set that contains the greatest value until one person is left."""
    top = door.ask("MAX(pay)")
    if top is None:
        return 0.0
    low, high = 0, door.size
    while high - low > 1:
        middle = (low + high) // 2
        upper = door.ask("MAX(pay)", f"id >= {middle} AND id < {high}")
        low, high = (middle, high) if upper is not None and np.isclose(upper, top) else (low, middle)
    return door.success({low: top})


def _averaging(door: Door, times: int = 24) -> float:
    """Ask for a count again and again in different words, and average the noise away, or intersect the intervals."""
    return _gain(door, lambda where, at: door.between("COUNT(*)", f"{where} AND id < {door.size + at}"), times)


def _splitting(door: Door) -> float:
    """Ask for the two parts of a set, split in many ways, and average the noise away, or intersect the intervals."""

    def split(where: str, at: int) -> tuple[float, float] | None:
        rest = at % (door.size - 1) + 1
        one, other = (door.between("COUNT(*)", f"{where} AND {side}") for side in (f"id < {rest}", f"id >= {rest}"))
        return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])

    return _gain(door, split)


def _gain(door: Door, ask: Callable[[str, int], tuple[float, float] | None], times: int = 24) -> float:
    """Return by how much all answers together are closer to the truth than a single one, for counts of the sick."""
    one, together = [], []
    for start in range(4):
        where = f"sick = 'yes' AND id >= {start}"
        truth = int(door.people.sick[start:].sum())
        answers = np.array([answer for at in range(times) if (answer := ask(where, at)) is not None])
        if not len(answers):
            continue
        low, high = (answers[:, 0].max(), answers[:, 1].min()) if (answers[:, 0] < answers[:, 1]).any() else answers.mean(axis=0)
        one.append(float(np.mean(np.abs(answers.mean(axis=1) - truth))))
        together.append(abs(float(low + high) / 2.0 - truth))
    if not one:
        return 0.0
    return 1.0 if not sum(one) else max(0.0, 1.0 - sum(together) / sum(one))


def _denial(door: Door) -> float:
    """Ask about single people, and test whether refusals depend on values, by also asking a gate to other salaries."""
    other = TrialPeople(door.people.pay[::-1].copy(), door.people.sick)
    twin = Door(door.again(other), other, door.again, door.random)
    guesses: dict[int, float | None] = {}
    for at in door.targets():
        halves = _among(door.random.random(door.size) < _HALF)
        for where in (halves, f"{halves} OR id = {at}", f"id = {at}"):
            guesses[at], answer = door.ask("SUM(pay)", where, "eve"), twin.ask("SUM(pay)", where, "eve")
            if (guesses[at] is None) != (answer is None):
                return 1.0
    return door.success(guesses)


_SMUGGLED = (
    "SELECT pay FROM people WHERE id = 3",
    "SELECT SUM(pay) FROM people WHERE id = 3 -- AND id < 20",
    "SELECT SUM(CASE WHEN id = 3 THEN pay ELSE 0 END) FROM people",
    "SELECT SUM(pay) FILTER (WHERE id = 3) FROM people",
    "SELECT SUM(pay) FROM people WHERE id = 3 OR 1 = (SELECT COUNT(*) FROM people WHERE pay > 9000)",
    "SELECT SUM(pay) FROM people; SELECT pay FROM people",
    "SELECT SUM(pay * (id = 3)) FROM people",
    "SELECT SUM(pay) FROM (SELECT * FROM people WHERE id = 3) AS t",
    "SELECT SUM(pay) FROM people HAVING SUM(pay) > 9000",
    "SELECT SUM(pay) FROM people WHERE pay > 9000",
    "SELECT MAX(pay) OVER (PARTITION BY id) FROM people",
    "SELECT COUNT(*) FROM people GROUP BY pay",
)


def _smuggling(door: Door) -> float:
    """Ask for one person's pay plainly, and hidden in SQL that looks harmless."""
    guesses: list[float | None] = [door.ask("SUM(pay)", "id = 3")]
    for text in _SMUGGLED:
        try:
            guesses.append(door.gate.ask(text, analyst="eve").value)
        except QuestionError:
            continue
    return max(door.success({3: guess}) for guess in guesses)


def _reconstruction(door: Door, times: int = 4) -> float:
    """Ask for the number of sick people in random sets, and find the zeros and ones that fit best, by linear programming."""
    from scipy.optimize import linprog

    rows, counts = [], []
    for _ in range(times * door.size):
        members = door.random.random(door.size) < _HALF
        answer = door.ask("COUNT(*)", f"sick = 'yes' AND {_among(members)}")
        if answer is not None:
            rows.append(members.astype(np.float64))
            counts.append(answer)
    if not rows:
        return 0.0
    n, m = door.size, len(rows)
    system, unit = np.array(rows), np.eye(m)
    limits = np.concatenate([counts, -np.array(counts)])
    goal = np.concatenate([np.zeros(n), np.ones(m)])
    both = np.block([[system, -unit], [-system, -unit]])
    answer = linprog(goal, A_ub=both, b_ub=limits, bounds=[(0, 1)] * n + [(0, None)] * m, method="highs")
    right = float(np.mean((answer.x[:n] > _HALF) == door.people.sick))
    return max(0.0, 2.0 * right - 1.0)


def _whole_numbers(door: Door) -> float:
    """Ask for many sums of whole numbers in a small range, and find numbers that fit, by integer programming."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows, sums = [], []
    for _ in range(2 * door.size):
        members = door.random.random(door.size) < _HALF
        answer = door.ask("SUM(visits)", _among(members))
        if answer is not None:
            rows.append(members.astype(np.float64))
            sums.append(round(answer))
    truth, most = door.people.visits, int(door.people.visits.max())
    if not rows:
        return 0.0
    fit = LinearConstraint(np.array(rows), np.array(sums), np.array(sums))
    options = {"time_limit": 5.0}
    best = milp(door.random.random(door.size), constraints=fit, bounds=Bounds(0, most), integrality=1, options=options)
    if best.x is None:
        return 0.0
    chance = float(np.mean(truth[:, None] == truth[None, :]))
    right = float(np.mean(np.rint(best.x) == truth))
    return max(0.0, (right - chance) / (1.0 - chance))


def _among(members: NDArray[np.bool_]) -> str:
    return f"id IN ({', '.join(map(str, np.flatnonzero(members).tolist() or [-1]))})"


ATTACKS: Mapping[str, Callable[[Door], float]] = {
    "one person": _single,
    "all but one": _complement,
    "difference of two sets": _differencing,
    "general tracker": _tracker,
    "double tracker": _double_tracker,
    "sequence of sums": _sequence,
    "insider and a pair": _insider,
    "two analysts": _collusion,
    "greatest value by halving": _extremes,
    "averaging repeats": _averaging,
    "averaging splits": _splitting,
    "refusals as answers": _denial,
    "smuggled SQL": _smuggling,
    "reconstruction of zeros and ones": _reconstruction,
    "sums of small whole numbers": _whole_numbers,
}
"""The attacks by name."""


def trial_door(policy: Callable[[TrialPeople], GatePolicy], folder: Path, *, people: int = 30, seed: int = 1) -> Door:
    """Return the door to a new gate for people who are drawn at random.

    Parameters
    ----------
    policy
        A function that returns the policy for the people, for instance with a release of their records.
    folder
        The folder for the ledgers.
    people, seed
        The number of people, and the seed by which they are drawn; the ledger's key also follows from the seed, so that a trial
        can be repeated.
    """
    drawn = TrialPeople.drawn(people, seed)

    def opened(some: TrialPeople) -> Gate:
        place, key = folder / f"gate-{len(list(folder.iterdir()))}.db", folder / "key"
        key.write_text(f"the key of a trial, {seed}")
        limits = {"pay": (0.0, 10_000.0), "visits": (0.0, 12.0)}
        sensitive, table = ["pay", "sick", "visits"], frame_of(some.table)
        return Gate(table, ledger=place, policy=policy(some), sensitive=sensitive, bounds=limits, key_file=key)

    return Door(opened(drawn), drawn, opened, chance_of(seed=seed).draws("intruder"))


def verdict_of(success: float) -> str:
    """Return the verdict about a policy, from the success of an attack on it.

    Examples
    --------
    >>> [verdict_of(success) for success in (0.0, 0.4, 1.0)]
    ['defended', 'limited', 'not defended']
    """
    return "defended" if success <= _DEFENDED else "limited" if success < _WON else "not defended"
