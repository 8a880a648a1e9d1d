"""The fewest cells whose suppression protects a small table, found by an exhaustive search.

Records are taken one after the other, each with every set of cells that it may lose, from the cheapest to the dearest. A branch
is abandoned when its cells, together with the least that some record still needs, cost as much as the best solution known. Sets
of attributes are bit masks.

Of solutions that cost the same, those that leave fewer records at risk complete, and fewer records empty, are preferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_CELLS", "fewest_cells"]

MOST_CELLS = 24
"""Tables with more cells are too large for an exhaustive search."""
_MOST_NODES = 1_000_000
"""A search that examines more nodes ends with the best solution found so far."""
_TIE = 1e-6
"""The weight of a record at risk that stays complete, or of a record that is emptied, relative to the cheapest cell."""


def fewest_cells(
    codes: NDArray[np.int64], k: int, price: NDArray[np.float64], *, known: bool, start: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return the cells of a small table to suppress so that k holds at the least price.

    Parameters
    ----------
    codes
        The records, a null being -1.
    k, price
        How many records must cover or match each record, and the cost of a cell of each attribute.
    known
        True: this many released records cover each true one. False: this many match each from both sides, records with nothing
        left aside.
    start
        A known solution to start from; none: emptying k records, which then cover everybody.
    """
    bits = 1 << np.arange(codes.shape[1])
    held = ((codes >= 0) * bits).sum(axis=1)
    other = (codes[:, None, :] >= 0) & (codes[:, None, :] != codes[None, :, :])
    differs = ((other if known else other & (codes[None, :, :] >= 0)) * bits).sum(axis=2)
    costs = np.array([price[(bits & chosen) > 0].sum() for chosen in range(1 << codes.shape[1])])
    at_risk = (differs == 0).sum(axis=1) < k
    options, weights, numbers = _options(differs, held, costs, at_risk, known=known)
    first = _emptied(held, costs, k) if start is None else (start * bits).sum(axis=1)
    limit = float(sum(_weight(int(held[at]), int(lost), costs, bool(at_risk[at])) for at, lost in enumerate(first)))
    pattern = _search(differs, held, options, weights, numbers, costs, k, known, first, limit)
    return np.asarray((pattern[:, None] & bits) > 0)


def _emptied(held: NDArray[np.int64], costs: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the cells lost if the k records with the cheapest cells are emptied."""
    lost = np.zeros_like(held)
    cheapest = np.argsort(costs[held], kind="stable")[:k]
    lost[cheapest] = held[cheapest]
    return lost


def _weight(held: int, lost: int, costs: NDArray[np.float64], at_risk: bool) -> float:  # noqa: FBT001 - one of a row of plain values
    """Return the price of the cells that a record loses, plus a small weight that breaks ties between equal prices."""
    tie = int(at_risk and lost == 0) + int(lost == held)
    return float(costs[lost] + _TIE * costs[1:].min() * tie)


def _options(
    differs: NDArray[np.int64],
    held: NDArray[np.int64],
    costs: NDArray[np.float64],
    at_risk: NDArray[np.bool_],
    *,
    known: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the sets of cells that each record may lose, from the cheapest to the dearest, their weights and their number.

    To cover true records, a record loses all cells in which it differs from some of them, or no cells.
    """
    sets, weights = np.zeros((len(held), len(costs)), dtype=np.int64), np.full((len(held), len(costs)), np.inf)
    numbers = np.zeros(len(held), dtype=np.int64)
    for at, own in enumerate(held.tolist()):
        useful = [lost for lost in range(len(costs)) if lost & ~own == 0 and (not known or _is_union(lost, differs[at]))]
        useful.sort(key=lambda lost: _weight(own, lost, costs, bool(at_risk[at])))
        sets[at, : len(useful)] = useful
        weights[at, : len(useful)] = [_weight(own, lost, costs, bool(at_risk[at])) for lost in useful]
        numbers[at] = len(useful)
    return sets, weights, numbers


def _is_union(lost: int, differs: NDArray[np.int64]) -> bool:
    """Whether a set of attributes is the union of those in which a record differs from others."""
    return int(np.bitwise_or.reduce(differs[(differs & ~lost) == 0], initial=0)) == lost


@compiled
def _least(needs, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the sum of the smallest of some numbers, as many as needed; infinite if there are too few."""
    if number <= 0:
        return 0.0
    if number > needs.shape[0]:
        return np.inf
    return np.sort(needs)[:number].sum()


@compiled
def _missing_cover(differs, costs, lost, k, done):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the least remaining cost of covering every true record, where records from `done` on are undecided."""
    highest = 0.0
    for truth in range(differs.shape[0]):
        covers = np.int64(0)
        for row in range(done):
            covers += np.int64(differs[row, truth] & ~lost[row] == 0)
        highest = max(highest, _least(costs[differs[done:, truth]], k - covers))
    return highest


@compiled
def _missing_matches(differs, held, costs, lost, k, done):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the least remaining cost of making every decided record, unless emptied, match k records."""
    highest = 0.0
    for row in range(done):
        if lost[row] == held[row]:
            continue
        matches = np.int64(0)
        for other in range(done):
            matches += np.int64(lost[other] != held[other] and differs[row, other] & ~lost[row] & ~lost[other] == 0)
        highest = max(highest, _least(costs[differs[row, done:] & ~lost[row]], k - matches))
    return highest


@compiled
def _search(differs, held, options, weights, numbers, costs, k, known, first, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Search the solutions depth first, and return the cells that each record loses in the best."""
    records = differs.shape[0]
    best, lost = first.copy(), np.zeros(records, np.int64)
    at, paid = np.zeros(records, np.int64), np.zeros(records + 1)
    depth, nodes = 0, 0
    while depth >= 0 and nodes < _MOST_NODES:
        nodes += 1
        # options are in order of cost: if this one is too dear, so are the next; go back a record
        now = paid[depth] + (weights[depth, at[depth]] if at[depth] < numbers[depth] else np.inf)
        if now >= limit:
            depth -= 1
            if depth >= 0:
                at[depth] += 1
            continue
        lost[depth] = options[depth, at[depth]]
        # what must still be paid at least, whatever the records below lose
        if known:
            missing = _missing_cover(differs, costs, lost, k, depth + 1)
        else:
            missing = _missing_matches(differs, held, costs, lost, k, depth + 1)
        # try the record's next option, go on with the next record, or note a better way
        if now + missing >= limit:
            at[depth] += 1
        elif depth + 1 < records:
            depth += 1
            at[depth], paid[depth] = 0, now
        else:
            limit = now
            best[:] = lost
            at[depth] += 1
    return best
