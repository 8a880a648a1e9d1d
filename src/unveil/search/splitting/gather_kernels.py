"""The compiled loops of `gathering`: the label that joined parts would share, its cost, and the part nearest to another.

A part is named by two numbers per attribute: in a hierarchy one of its values and the level of its node, in an order its lowest
and highest rank; a null's rank comes after all others. `begins`, `last`, `meet` and `shares` are those of its `_Chart`. The
records of a part are a chain: `head` gives the first, `after` the next one, -1 the end.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["costs", "gather", "improve", "join", "nearest", "owners"]


@compiled_in_place
def _together(low, high, other_low, other_high, at, begins, last, meet):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the name that two parts would have together, for one attribute."""
    if begins[at] >= 0:
        return low, max(high, other_high, np.int64(meet[begins[at] + low * last[at] + other_low]))
    return min(low, other_low), max(high, other_high)


@compiled_in_place
def _joint(names, one, other, begins, last, meet, shares, most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the cost of a record if two parts were joined, summed over the attributes; stop above the limit."""
    cost = 0.0
    for at in range(begins.shape[0]):
        first, second = names[one, at, 0], names[one, at, 1]
        # in a hierarchy: the level where the two meet; in an order: the width of both, and nulls beside values cost all
        if begins[at] >= 0:
            level = max(second, names[other, at, 1], np.int64(meet[begins[at] + first * last[at] + names[other, at, 0]]))
            cost += shares[at, level, first]
        else:
            first, second = min(first, names[other, at, 0]), max(second, names[other, at, 1])
            if second > last[at]:
                cost += 1.0 if first <= last[at] else 0.0
            else:
                cost += (second - first) / max(last[at], 1)
        if cost >= most:
            break
    return cost


@compiled
def _cheapest(names, size, cost, alike, others, one, apart, own, missing, k, least, begins, last, meet, shares):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Return the part that some records can join at least cost, how many records it provides, and the additional cost.

    The records, `own` of them, have the name in row `one`; the part `apart` is left out. A part whose records are alike provides
    as many as are missing, if k remain in it; any other part provides all of its records. The loop over the attributes is that of
    `_joint`: a call for each part would take longer than the loop.
    """
    best, taken = -1, np.int64(0)
    for other in others:
        if other == apart or size[other] == 0:
            continue
        # the two together may cost no more than this to be cheaper than the best so far
        give = missing if alike[other] and size[other] - missing >= k else size[other]
        before = give * cost[other]
        most, joint = (least + before) / (own + give), 0.0
        for at in range(begins.shape[0]):
            first, second = names[one, at, 0], names[one, at, 1]
            if begins[at] >= 0:
                level = max(second, names[other, at, 1], np.int64(meet[begins[at] + first * last[at] + names[other, at, 0]]))
                joint += shares[at, level, first]
            else:
                low, high = min(first, names[other, at, 0]), max(second, names[other, at, 1])
                if high > last[at]:
                    joint += 1.0 if low <= last[at] else 0.0
                else:
                    joint += (high - low) / max(last[at], 1)
            if joint >= most:
                break
        if joint < most:
            least, best, taken = joint * (own + give) - before, other, give
    return best, taken, least


@compiled
def _hand_over(head, after, size, one, other, taken):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Move the first records of a part to the front of another."""
    end = head[other]
    for _ in range(taken - 1):
        end = after[end]
    rest = after[end]
    after[end], head[one], head[other] = head[one], head[other], rest
    size[one] += taken
    size[other] -= taken


@compiled
def join(names, size, head, after, one, other, taken, begins, last, meet):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Move the first records of a part, or all of them, into another, and update the names and sizes."""
    for at in range(begins.shape[0]):
        names[one, at, 0], names[one, at, 1] = _together(
            names[one, at, 0], names[one, at, 1], names[other, at, 0], names[other, at, 1], at, begins, last, meet
        )
    _hand_over(head, after, size, one, other, taken)


@compiled
def costs(names, size, begins, last, meet, shares):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the cost of a record of each part; 0 for empty parts."""
    cost = np.zeros(size.shape[0])
    for part in range(size.shape[0]):
        if size[part]:
            cost[part] = _joint(names, part, part, begins, last, meet, shares, np.inf)
    return cost


@compiled
def owners(head, after, units):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the part of every record."""
    owner = np.empty(units, np.int64)
    for part in range(head.shape[0]):
        at = head[part]
        while at >= 0:
            owner[at] = part
            at = after[at]
    return owner


@compiled
def nearest(names, size, living, asking, begins, last, meet, shares, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return, for each requested part, the parts that it joins at least cost, and how much more that costs than staying apart."""
    partner, price = np.full((asking.shape[0], number), -1, np.int64), np.full((asking.shape[0], number), np.inf)
    for row in range(asking.shape[0]):
        one = asking[row]
        own = size[one] * _joint(names, one, one, begins, last, meet, shares, np.inf)
        for place in range(living.shape[0]):
            other = living[place]
            if other == one:
                continue
            before = own + size[other] * _joint(names, other, other, begins, last, meet, shares, np.inf)
            most = (price[row, number - 1] + before) / (size[one] + size[other])
            joint = _joint(names, one, other, begins, last, meet, shares, most)
            if joint >= most:
                continue
            at = number - 1  # the others move down
            increase = joint * (size[one] + size[other]) - before
            while at > 0 and price[row, at - 1] > increase:
                price[row, at], partner[row, at] = price[row, at - 1], partner[row, at - 1]
                at -= 1
            price[row, at], partner[row, at] = increase, other
    return partner, price


@compiled
def gather(names, size, head, after, begins, last, meet, shares, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Let every part smaller than k join the part with which it costs least, the largest of these parts first.

    A part whose records are alike, and that is large enough, hands over only as many records as are missing.
    """
    number = size.shape[0]
    cost, alike, living = np.zeros(number), np.ones(number, np.bool_), np.arange(number)
    while number > 1:
        # the largest part below k
        one = -1
        for place in range(number):
            part = living[place]
            if size[part] < k and (one < 0 or size[part] > size[one]):
                one = part
        if one < 0:
            break
        other, taken, _ = _cheapest(
            names, size, cost, alike, living[:number], one, one, size[one], k - size[one], k, np.inf, begins, last, meet, shares
        )
        join(names, size, head, after, one, other, taken, begins, last, meet)
        cost[one], alike[one] = _joint(names, one, one, begins, last, meet, shares, np.inf), False
        if size[other] == 0:
            kept = 0
            for place in range(number):
                if living[place] != other:
                    living[kept] = living[place]
                    kept += 1
            number = kept


@compiled
def _named(names, row, head, after, part, but, codes, begins, last, meet, shares):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Write the name of a part without one of its records into a row; return the cost of a record under that name."""
    first, at = True, head[part]
    while at >= 0:
        if at != but:
            for one in range(begins.shape[0]):
                high_of = 0 if begins[one] >= 0 else codes[one, at]
                if first:
                    names[row, one, 0], names[row, one, 1] = codes[one, at], high_of
                else:
                    names[row, one, 0], names[row, one, 1] = _together(
                        names[row, one, 0], names[row, one, 1], codes[one, at], high_of, one, begins, last, meet
                    )
            first = False
        at = after[at]
    return _joint(names, row, row, begins, last, meet, shares, np.inf)


@compiled
def _move(head, after, size, record, part, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Put a record from one part into another."""
    if head[part] == record:
        head[part] = after[record]
    else:
        at = head[part]
        while after[at] != record:
            at = after[at]
        after[at] = after[record]
    after[record], head[other] = head[other], record
    size[part] -= 1
    size[other] += 1


@compiled
def improve(names, size, head, after, codes, begins, last, meet, shares, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901
    """Go through the parts once: dissolve parts that cost more than their records would elsewhere, and move spare records out.

    The last row of the names is room to work in. Returns what was saved.
    """
    row, saved, living = size.shape[0], 0.0, np.flatnonzero(size)
    cost, alike = costs(names, size, begins, last, meet, shares), np.zeros(size.shape[0], np.bool_)
    where, price, who = np.empty(2 * k, np.int64), np.empty(2 * k), np.empty(2 * k, np.int64)
    for part in living:
        if size[part] == 0 or cost[part] <= 0.0 or size[part] > 2 * k:
            continue
        # where each of its records would go
        total, number, at = 0.0, 0, head[part]
        while at >= 0:
            for one in range(begins.shape[0]):
                names[row, one, 0], names[row, one, 1] = codes[one, at], 0 if begins[one] >= 0 else codes[one, at]
            where[number], _, price[number] = _cheapest(
                names, size, cost, alike, living, row, part, 1, 0, k, size[part] * cost[part], begins, last, meet, shares
            )
            who[number] = at
            total += price[number]
            number += 1
            at = after[at]
        if total < size[part] * cost[part] - 1e-9:
            saved += size[part] * cost[part]
            for one in range(number):
                before = size[where[one]] * cost[where[one]]
                _move(head, after, size, who[one], part, where[one])
                cost[where[one]] = _named(names, where[one], head, after, where[one], -1, codes, begins, last, meet, shares)
                saved -= size[where[one]] * cost[where[one]] - before
            continue
        # or the record whose move helps most
        best, gain = -1, 1e-9
        for one in range(number if size[part] > k else 0):
            left = _named(names, row, head, after, part, who[one], codes, begins, last, meet, shares)
            cheaper_by = size[part] * cost[part] - (size[part] - 1) * left - price[one]
            if where[one] >= 0 and cheaper_by > gain:
                best, gain = one, cheaper_by
        if best >= 0:
            other = where[best]
            _move(head, after, size, who[best], part, other)
            for changed in (part, other):
                cost[changed] = _named(names, changed, head, after, changed, -1, codes, begins, last, meet, shares)
            saved += gain
    return saved
