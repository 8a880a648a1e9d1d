"""The compiled loops of a stream's clusters: each record that must leave is grouped with its nearest waiting neighbours.

A record is a row of coordinates. The distance of two records is the sum of their differences, each relative to the span of its
coordinate (or 1 if its values have no order). numba is imported with this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["SUPPRESSED_ROW", "WAITING_ROW", "leaving_groups"]

WAITING_ROW, SUPPRESSED_ROW = -1, -2
"""The group of a record that is still waiting, and of one that leaves without being released."""


@compiled_in_place
def _distance(x: Any, one: int, other: int, span: Any, flat: Any) -> float:
    total = 0.0
    for c in range(x.shape[1]):
        if x[one, c] != x[other, c]:
            total += 1.0 if flat[c] or span[c] <= 0.0 else abs(x[one, c] - x[other, c]) / span[c]
    return total


@compiled_in_place
def _among(codes: Any, chosen: Any, number: int, code: int) -> bool:
    """Whether one of the chosen rows has a code."""
    for at in range(number):  # noqa: SIM110 - compiled
        if codes[chosen[at]] == code:
            return True
    return False


@compiled_in_place
def _short_of(sensitive: Any, chosen: Any, number: int, diverse: int) -> int:
    """Return a sensitive attribute with too few values in the chosen rows; -1 if there is none."""
    for attribute in range(sensitive.shape[0]):
        distinct = 0
        for at in range(number):
            if not _among(sensitive[attribute], chosen, at, sensitive[attribute, chosen[at]]):
                distinct += 1
        if distinct < diverse:
            return attribute
    return -1


@compiled_in_place
def _gathered(far: Any, persons: Any, sensitive: Any, due: Any, k: int, diverse: int, chosen: Any) -> int:
    """Choose the nearest rows until they belong to k persons and are diverse; return their number, 0 if there are too few.

    `far` holds the distances, infinite for rows that are taken. Further rows of chosen persons are included if they must leave.
    """
    number, people, missing = 0, 0, -1
    while True:
        # enough persons: is an attribute still short of values?
        if people >= k:
            missing = _short_of(sensitive, chosen, number, diverse)
            if missing < 0:
                return number
        # the nearest remaining row
        best = -1
        for row in range(len(far)):
            if far[row] < np.inf and (best < 0 or far[row] < far[best]):
                best = row
        if best < 0:
            return 0
        far[best] = np.inf
        # it joins if it adds what is missing (a person or a value), or if it must leave anyway
        new = not _among(persons, chosen, number, persons[best])
        helps = new if missing < 0 else not _among(sensitive[missing], chosen, number, sensitive[missing, best])
        if helps or (due[best] and missing < 0):
            people += 1 if new else 0
            chosen[number] = best
            number += 1


@compiled
def leaving_groups(x: Any, spans: Any, flat: Any, codes: Any, moments: Any, k: int, diverse: int, group: Any, left: Any) -> int:
    """Let rows leave in groups, moment by moment; return the number of groups.

    Parameters
    ----------
    x, codes
        The coordinates of each row, in the order of arrival; its person, followed by its sensitive values.
    spans, moments
        For each moment, the spans of the coordinates; the number of rows that have arrived, the number that must leave, and the
        moment's own number.
    group, left
        The group of each row, and the number of the moment at which it left. Rows that left before are not touched.
    """
    first = number = 0
    for moment in range(len(moments)):
        come, due = moments[moment, 0], moments[moment, 1]
        # rows that have left are skipped for good
        while first < come and group[first] != WAITING_ROW:
            first += 1
        if first >= due:
            continue
        # group the rows that are waiting
        rows = first + np.flatnonzero(group[first:come] == WAITING_ROW)
        group_of = np.full(len(rows), WAITING_ROW)
        groups = _nearest_groups(x[rows], spans[moment], flat, codes[:, rows], rows < due, k, diverse, group_of)
        # record the groups of those that leave, numbered over all moments
        for at in range(len(rows)):
            if group_of[at] != WAITING_ROW:
                group[rows[at]] = group_of[at] + number if group_of[at] >= 0 else group_of[at]
                left[rows[at]] = moments[moment, 2]
        number += groups
    return number


@compiled
def _nearest_groups(x: Any, span: Any, flat: Any, codes: Any, due: Any, k: int, diverse: int, group: Any) -> int:
    """Group every row that must leave with its nearest neighbours, record the group of each row, and return their number.

    The first seed is the row farthest from the first waiting row, and each next seed the row farthest from the last seed. A row
    with too few remaining neighbours joins the group of the nearest row that leaves; if no group leaves, it is suppressed.
    """
    persons, sensitive = codes[0], codes[1:]
    chosen, far = np.empty(len(x), dtype=np.int64), np.empty(len(x))
    lost = np.zeros(len(x), dtype=np.bool_)
    groups, last = 0, 0
    while True:
        # the next seed: of the rows that must leave, the one farthest from the last seed
        seed = -1
        distance = -1.0
        for row in range(len(x)):
            if due[row] and group[row] == WAITING_ROW and not lost[row]:
                away = _distance(x, last, row, span, flat)
                if away > distance:
                    seed, distance = row, away
        if seed < 0:
            break
        # distances from the seed, which comes first; rows that are taken are left out
        for row in range(len(x)):
            taken = group[row] != WAITING_ROW or lost[row]
            far[row] = np.inf if taken else -1.0 if row == seed else _distance(x, seed, row, span, flat)
        # its group, or none if too few rows are left
        number = _gathered(far, persons, sensitive, due, k, diverse, chosen)
        if number == 0:
            lost[seed] = True
            continue
        for at in range(number):
            group[chosen[at]] = groups
        groups += 1
        last = seed
    _join_nearest(x, span, flat, lost, group)
    return groups


@compiled_in_place
def _join_nearest(x: Any, span: Any, flat: Any, lost: Any, group: Any) -> None:
    """Let rows with too few neighbours join the group of the nearest row that leaves."""
    # find the nearest group for each row that was left over
    joined = np.full(len(x), SUPPRESSED_ROW)
    for row in range(len(x)):
        nearest = np.inf
        if lost[row]:
            for other in range(len(x)):
                if group[other] >= 0:
                    away = _distance(x, row, other, span, flat)
                    if away < nearest:
                        nearest, joined[row] = away, group[other]
    # assign them only now, so that no row joins through another left-over row
    for row in range(len(x)):
        if lost[row]:
            group[row] = joined[row]
