r"""How far do guesses from the release reveal the true sensitive values? The Discrimination Rate, adjusted for chance.

With X the true sensitive value of a person and Y the value of the nearest synthetic record, :math:`DR_X(Y) = 1 - H(X|Y) /
H(X)`, minus the rate of a random relabelling. 0: the guesses reveal nothing; 1: they determine the sensitive value. The same
figure for the hold-out is what the release reveals about anybody. Numbers of many values are compared by tenths of the
original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.attacks.synthetic.audit_sections import GuessRate, SensitiveGuessRate
from unveil.attacks.synthetic.inference import Guesses
from unveil.attacks.synthetic.tables import Side, Trio
from unveil.measures import adjusted_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["discrimination"]

_BLOCKS = 10


def discrimination(trio: Trio, people: Side, others: Side, guesses: list[Guesses], confidence: float = 0.95) -> GuessRate:
    """Measure the adjusted rate of every sensitive attribute given its guesses, and the mean with its interval."""
    from scipy.stats import norm

    rows: list[SensitiveGuessRate] = []
    moves: tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]] = ([], [])
    for one in guesses:
        value, move = _rate(trio, one.sensitive, people, one.people)
        control, control_move = _rate(trio, one.sensitive, others, one.others)
        if value is None or control is None:
            continue
        rows.append(SensitiveGuessRate(trio.names[one.sensitive], value, control))
        moves[0].append(move)
        moves[1].append(control_move)
    if not rows:
        return GuessRate(None, None, None, None, reason="no sensitive attribute has more than one value")
    mean, held = float(np.mean([row.value for row in rows])), float(np.mean([row.control for row in rows]))
    reach = [float(norm.ppf(0.5 + confidence / 2) * _error(np.mean(side, axis=0))) for side in moves]
    return GuessRate(
        value=mean,
        low=max(mean - reach[0], 0.0),
        high=min(mean + reach[0], 1.0),
        control=held,
        control_low=max(held - reach[1], 0.0),
        control_high=min(held + reach[1], 1.0),
        residual=(mean - held) / (1.0 - held) if held < 1.0 else None,
        by_sensitive=rows,
    )


def _error(moves: NDArray[np.float64]) -> float:
    return float(np.std(moves) / np.sqrt(len(moves)))


def _rate(trio: Trio, sensitive: int, targets: Side, taken: NDArray[np.int64]) -> tuple[float | None, NDArray[np.float64]]:
    """Return the adjusted rate, and the influence of each person on it (the delta method)."""
    x, y = _blocks(trio, sensitive, targets, np.arange(len(targets))), _blocks(trio, sensitive, trio.release, taken)
    pair = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True, return_counts=True)
    n_x, n_y = np.bincount(x), np.bincount(y)
    p_x, p_y = n_x[x] / len(x), n_y[y] / len(y)
    p_xy = pair[2][pair[1].ravel()] / len(x)
    surprise = -np.log2(p_x)
    entropy, gain = float(surprise.mean()), np.log2(p_xy / (p_x * p_y))
    if entropy == 0.0:
        return None, np.zeros(len(x))
    rate = float(gain.mean() / entropy)
    adjusted = adjusted_rate(rate, entropy, n_y[n_y > 0], n_x[n_x > 0])
    return adjusted, (gain - rate * surprise) / entropy


def _blocks(trio: Trio, sensitive: int, side: Side, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the block of each value: numbers of many values by tenths of the original, all others by value; nulls are one."""
    codes = side.codes[rows, sensitive].astype(np.int64)
    known = trio.original.codes[:, sensitive]
    if not trio.ordered[sensitive] or len(np.unique(known)) <= _BLOCKS:
        return np.asarray(codes + 1)
    edges = np.unique(np.quantile(known[known >= 0], np.arange(1, _BLOCKS) / _BLOCKS, method="higher"))
    return np.asarray(np.where(codes < 0, 0, np.searchsorted(edges, codes, side="right") + 1))
