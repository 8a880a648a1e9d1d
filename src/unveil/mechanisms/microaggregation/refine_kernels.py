# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The compiled loop of the local phase, in which records change places if that reduces the loss of their groups.

Points are records x attributes here. The squared error of a group of n records with the centre c falls by n / (n - 1) |x - c|^2
when x leaves, and rises by n / (n + 1) |x - c|^2 when x joins. It changes by |y - c|^2 - |x - c|^2 - |y - x|^2 / n when y takes
the place of x. Only groups of near records are examined. Once `stop` is set the loop ends.
"""
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled, compiled_in_place, compiled_within

__all__ = ["refine"]

_ALIKE = 1e-9


@compiled_within
def _squares(points, record, centre, group):
    total = 0.0
    for at in range(points.shape[1]):
        apart = points[record, at] - centre[group, at]
        total += apart * apart
    return total


@compiled_within
def _put(points, record, to, group, size, centre):
    """Move a record from its own group into another."""
    before = group[record]
    for at in range(points.shape[1]):
        if size[before] > 1:
            centre[before, at] += (centre[before, at] - points[record, at]) / (size[before] - 1)
        centre[to, at] += (points[record, at] - centre[to, at]) / (size[to] + 1)
    size[before] -= 1
    size[to] += 1
    group[record] = to


@compiled_within
def _best(points, record, near, group, size, centre):
    """Return the near group, other than its own, that a record can join at the lowest cost, and that cost."""
    best, least = -1, np.inf
    for at in range(near.shape[1]):
        other = group[near[record, at]]
        if other != group[record]:
            cost = size[other] / (size[other] + 1) * _squares(points, record, centre, other)
            if cost < least:
                best, least = other, cost
    return best, least


@compiled_in_place
def _moved(points, record, near, group, size, centre, k):
    """Move a record to a group where it costs less, if its own group can spare it; else exchange it. Return the saving."""
    own = group[record]
    here = _squares(points, record, centre, own)
    # a group that can spare the record lets it go
    if size[own] > k:
        to, cost = _best(points, record, near, group, size, centre)
        saved = size[own] / (size[own] - 1) * here - cost
        if to >= 0 and saved > _ALIKE:
            _put(points, record, to, group, size, centre)
            return saved
    # else the best exchange with a near record of another group
    best, most = np.int64(-1), _ALIKE
    for at in range(near.shape[1]):
        other = near[record, at]
        to = group[other]
        if to == own:
            continue
        apart = _squares(points, record, points, other) * (1.0 / size[own] + 1.0 / size[to])
        saved = here + _squares(points, other, centre, to) + apart
        saved -= _squares(points, other, centre, own) + _squares(points, record, centre, to)
        if saved > most:
            best, most = other, saved
    if best < 0:
        return 0.0
    # carry out the exchange
    to = group[best]
    _put(points, record, to, group, size, centre)
    _put(points, best, own, group, size, centre)
    return most


@compiled_in_place
def _dissolved(points, members, near, group, size, centre):
    """Move all records of a group to others if that costs less, and return the saving."""
    own, saved, gone = group[members[0]], 0.0, 0
    # the current cost of the group
    for record in members:
        saved += _squares(points, record, centre, own)
    # let its records go, one by one, as long as that saves something
    for record in members:
        to, cost = _best(points, record, near, group, size, centre)
        if to < 0 or saved - cost <= _ALIKE:
            break
        saved -= cost
        _put(points, record, to, group, size, centre)
        gone += 1
    if gone == members.shape[0]:
        return saved
    # not all could go: take every move back
    for at in range(gone - 1, -1, -1):
        _put(points, members[at], own, group, size, centre)
    return 0.0


@compiled_in_place
def _still(group, members, own):
    """Whether all records still belong to a group."""
    for record in members:  # noqa: SIM110 - compiled
        if group[record] != own:
            return False
    return True


@compiled
def _pass(points, near, group, size, centre, k, stop):
    """Move or exchange every record once if that saves something, and return the saving."""
    saved = 0.0
    for record in range(points.shape[0]):
        if stop[0]:
            break
        saved += _moved(points, record, near, group, size, centre, k)
    return saved


@compiled
def _dissolve(points, near, group, size, centre, order, starts):
    """Dissolve every group if that saves something, and return the saving.

    `order` holds the records by group and `starts` where each group begins, as they were before: a group that records have
    joined in the meantime has to wait.
    """
    saved = 0.0
    for one in range(size.shape[0]):
        members = order[starts[one] : starts[one + 1]]
        if members.shape[0] > 0 and size[one] == members.shape[0] and _still(group, members, one):
            saved += _dissolved(points, members, near, group, size, centre)
    return saved


def refine(points, near, group, size, centre, k, passes, stop):
    """Move, exchange and dissolve until nothing more is saved, or the passes are used up; groups may become empty."""
    for _ in range(passes):
        saved = _pass(points, near, group, size, centre, k, stop)
        if stop[0]:
            break
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size)])
        saved += _dissolve(points, near, group, size, centre, np.argsort(group, kind="stable"), starts)
        if saved <= _ALIKE:
            break
    return group
