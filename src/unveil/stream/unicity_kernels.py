"""The compiled loops of unicity, which find the sets of points that belong to one person alone.

Persons and points are numbered; `points` contains the sorted points of each person, run by run (`of_person` gives the start of
each run), and `persons` the persons of each point (`of_point`). The loops end early once `flag[0]` is not 0. numba is imported
with this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["single_out_all", "single_out_drawn"]


@compiled_in_place
def _has(points: Any, start: int, stop: int, point: int) -> bool:
    """Whether a point is in a sorted run."""
    while start < stop:
        middle = (start + stop) >> 1
        if points[middle] < point:
            start = middle + 1
        elif points[middle] > point:
            stop = middle
        else:
            return True
    return False


@compiled_in_place
def _alone(chosen: Any, person: int, points: Any, of_person: Any, persons: Any, of_point: Any) -> bool:
    """Whether nobody else has all chosen points; only persons with the rarest of them are examined."""
    # the point that the fewest persons have
    rarest = chosen[0]
    for point in chosen:
        if of_point[point + 1] - of_point[point] < of_point[rarest + 1] - of_point[rarest]:
            rarest = point
    # does one of these also have all other points?
    for at in range(of_point[rarest], of_point[rarest + 1]):
        other = persons[at]
        if other == person:
            continue
        every = True
        for point in chosen:
            if point != rarest and not _has(points, of_person[other], of_person[other + 1], point):
                every = False
                break
        if every:
            return False
    return True


@compiled
def single_out_all(who: Any, p: int, points: Any, of_person: Any, persons: Any, of_point: Any, alone: Any, flag: Any) -> None:
    """Count, for each of some persons, the sets of p points that single them out, among all their sets."""
    places = np.empty(p, dtype=np.int64)
    chosen = np.empty(p, dtype=np.int64)
    for at in range(len(who)):
        person = who[at]
        start, number = of_person[person], of_person[person + 1] - of_person[person]
        # the first combination: the first p points
        for place in range(p):
            places[place] = place
        count = 0
        while flag[0] == 0:
            # check the combination
            for place in range(p):
                chosen[place] = points[start + places[place]]
            if _alone(chosen, person, points, of_person, persons, of_point):
                count += 1
            # continue with the next one in order, until the last
            place = p - 1
            while place >= 0 and places[place] == number - p + place:
                place -= 1
            if place < 0:
                break
            places[place] += 1
            for later in range(place + 1, p):
                places[later] = places[later - 1] + 1
        alone[at] = count


@compiled
def single_out_drawn(
    who: Any, picks: Any, points: Any, of_person: Any, persons: Any, of_point: Any, alone: Any, flag: Any
) -> None:
    """Count, for each of some persons, the drawn sets that single them out.

    `picks` holds a number from 0 to 1 for every person, draw and point, which selects one of the remaining points.
    """
    draws, p = picks.shape[1], picks.shape[2]
    places = np.empty(p, dtype=np.int64)
    chosen = np.empty(p, dtype=np.int64)
    for at in range(len(who)):
        person = who[at]
        start, number = of_person[person], of_person[person + 1] - of_person[person]
        count = 0
        for draw in range(draws):
            if flag[0] != 0:
                return
            for place in range(p):
                # draw without replacement: the pick counts only the remaining points
                pick = np.int64(picks[at, draw, place] * (number - place))
                earlier = 0
                while earlier < place and places[earlier] <= pick:  # places are sorted: skip those taken
                    pick += 1
                    earlier += 1
                for later in range(place, earlier, -1):
                    places[later] = places[later - 1]
                places[earlier] = pick
            # check the drawn set
            for place in range(p):
                chosen[place] = points[start + places[place]]
            if _alone(chosen, person, points, of_person, persons, of_point):
                count += 1
        alone[at] = count
