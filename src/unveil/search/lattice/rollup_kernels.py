"""The compiled loops of `rollup`: keys are merged, numbered and summed by hashing, row after row.

Arrays of keys come as tuples of 64-bit words. Hash tables use open addressing: a slot holds the number of a key, and a key that
is not in its own slot is in one of the next.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["merge", "merge_all", "merge_fields", "merge_word", "number", "place", "sum_codes", "sum_groups"]


@compiled_in_place
def _mixed(mixed, word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@compiled
def merge(keys, amounts, rows, word, shift, mask, groups, slots, epoch, out, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, PLR0913
    """Rewrite one field of the first keys and add up the records of equal keys; returns how many keys there are."""
    classes, keep, last = np.int64(0), ~(mask << shift), np.uint64(slots.shape[0] - 1)
    for row in range(rows):
        # the new key, written to the place of the next distinct one, and its hash
        mixed = np.uint64(0)
        for at in range(len(keys)):
            part = keys[at][row]
            if at == word:
                part = (part & keep) | (groups[(part >> shift) & mask] << shift)
            out[at][classes] = part
            mixed = _mixed(mixed, part)
        # an empty slot takes the key; an equal key takes its amounts
        slot = mixed & last
        while True:
            other = slots[slot] - epoch
            if other < 0:
                slots[slot] = epoch + classes
                for at in range(amounts.shape[1]):
                    sums[classes, at] = amounts[row, at]
                classes += 1
                break
            same = True
            for at in range(len(keys)):
                same = same and out[at][other] == out[at][classes]
            if same:
                for at in range(amounts.shape[1]):
                    sums[other, at] += amounts[row, at]
                break
            slot = (slot + np.uint64(1)) & last
    return classes


@compiled
def merge_all(keys, amounts, path, fields, starts, maps, slots, epoch, step, out, sums, spare, spare_sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, PLR0913
    """Merge for every field that a path raises, one after the other, between two tables; returns the rows, and which it is.

    `path` has the level of each field, and `starts` says where the groups of its codes begin in `maps` at each level.
    """
    rows, merges = amounts.shape[0], 0
    for at in range(path.shape[0]):
        if path[at] == 0:
            continue
        # each merge reads what the one before has written: the tables take turns
        groups = maps[starts[at, path[at]] :]
        word, shift, mask = np.int64(fields[at, 0]), fields[at, 1], fields[at, 2]
        if merges == 0:
            rows = merge(keys, amounts, rows, word, shift, mask, groups, slots, epoch, out, sums)
        elif merges % 2 == 1:
            rows = merge(out, sums, rows, word, shift, mask, groups, slots, epoch, spare, spare_sums)
        else:
            rows = merge(spare, spare_sums, rows, word, shift, mask, groups, slots, epoch, out, sums)
        merges += 1
        epoch += step
    return rows, merges


@compiled
def merge_fields(keys, amounts, row, keep, fields, starts, maps, slots, classes, out, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0913
    """Rewrite several fields of the keys from a row on, and merge equal keys into those found so far.

    `keep` has the bits of each word that stay, and `starts` says where the groups of each field's codes begin in `maps`. The loop
    stops when there is no room for one more key; it returns the row reached, and how many keys there are.
    """
    last = np.uint64(slots.shape[0] - 1)
    while row < amounts.shape[0]:
        # the key as it becomes, written where the next new one would be
        for at in range(len(keys)):
            out[at][classes] = keys[at][row] & keep[at]
        for field in range(fields.shape[0]):
            word = np.int64(fields[field, 0])
            code = (keys[word][row] >> fields[field, 1]) & fields[field, 2]
            out[word][classes] |= maps[starts[field] + np.int64(code)] << fields[field, 1]
        # look for it among the keys there are, from its slot on: a new key takes the first free slot
        mixed = np.uint64(0)
        for at in range(len(keys)):
            mixed = _mixed(mixed, out[at][classes])
        slot = mixed & last
        while True:
            other = slots[slot]
            if other < 0:
                if classes == sums.shape[0] - 1:
                    return row, classes
                slots[slot] = classes
                for at in range(amounts.shape[1]):
                    sums[classes, at] = amounts[row, at]
                classes += 1
                break
            same = True
            for at in range(len(keys)):
                same = same and out[at][other] == out[at][classes]
            if same:
                for at in range(amounts.shape[1]):
                    sums[other, at] += amounts[row, at]
                break
            slot = (slot + np.uint64(1)) & last
        row += 1
    return row, classes


@compiled
def place(keys, rows, slots):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Enter the first keys, which are distinct, into empty slots."""
    last = np.uint64(slots.shape[0] - 1)
    for row in range(rows):
        mixed = np.uint64(0)
        for at in range(len(keys)):
            mixed = _mixed(mixed, keys[at][row])
        slot = mixed & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = row


@compiled
def number(keys, masks, slots, of_row, first):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Give rows with the same masked key the same number, in the order of rows; returns how many numbers there are."""
    classes, last = 0, np.uint64(slots.shape[0] - 1)
    for row in range(of_row.shape[0]):
        # look for the masked key from its slot on: a new one takes the first free slot and the next number
        mixed = np.uint64(0)
        for at in range(len(keys)):
            mixed = _mixed(mixed, keys[at][row] & masks[at])
        slot = mixed & last
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = classes
                first[classes] = row
                of_row[row] = classes
                classes += 1
                break
            same = True
            for at in range(len(keys)):
                same = same and (keys[at][first[other]] ^ keys[at][row]) & masks[at] == 0
            if same:
                of_row[row] = other
                break
            slot = (slot + np.uint64(1)) & last
    return classes


@compiled
def sum_codes(keys, amounts, fields, starts, costs, chosen, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add up the cost of every column's codes over the records of the rows chosen; returns how many records they are."""
    records = np.int64(0)
    for row in range(chosen.shape[0]):
        if chosen[row]:
            n = amounts[row, 0]
            records += n
            for column in range(fields.shape[0]):
                code = (keys[np.int64(fields[column, 0])][row] >> fields[column, 1]) & fields[column, 2]
                sums[column] += n * costs[starts[column] + np.int64(code)]
    return records


@compiled
def sum_groups(keys, amounts, shift, mask, groups, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add up the amounts of the rows by the group of one field's code."""
    for row in range(amounts.shape[0]):
        group = groups[(keys[row] >> shift) & mask]
        for at in range(amounts.shape[1]):
            sums[group, at] += amounts[row, at]


@compiled
def merge_word(keys, n, rows, shift, mask, groups, slots, epoch, out, sums):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Merge the first rows as `merge` does, for keys of one word with one amount each; return how many keys there are."""
    classes, keep, last = np.int64(0), ~(mask << shift), np.uint64(slots.shape[0] - 1)
    for row in range(rows):
        # slots of earlier merges are below the epoch, and so count as free
        key = (keys[row] & keep) | (groups[(keys[row] >> shift) & mask] << shift)
        slot = _mixed(np.uint64(0), key) & last
        while True:
            other = slots[slot] - epoch
            if other < 0:
                slots[slot] = epoch + classes
                out[classes], sums[classes] = key, n[row]
                classes += 1
                break
            if out[other] == key:
                sums[other] += n[row]
                break
            slot = (slot + np.uint64(1)) & last
    return classes
