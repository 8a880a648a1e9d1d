"""The loops of partition refinement: classes split by one more column, or with a column summed out.

Sums are taken class by class, and within a class in the order of the cells, so that every loop gives the same sums to the last
bit.
"""

from __future__ import annotations

import math

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["split_classes", "split_in_order", "sum_out"]


@compiled_in_place
def _term(n, logs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return n log2 n, from the table if n is small."""
    if n < logs.shape[0]:
        return logs[n]
    return n * math.log2(n)


@compiled
def split_classes(  # type: ignore[no-untyped-def]  # noqa: ANN201, C901, PLR0912, PLR0913, PLR0915 - one loop, kept whole for speed
    cells, starts, codes, shift, mask, size_of_column, n, weight, sensitive, sensitive_sizes, logs,  # noqa: ANN001
    value_count, slot, joint, touched, sensitive_n, sensitive_mass, sensitive_touched,  # noqa: ANN001
    out_cells, out_starts,  # noqa: ANN001
):  # fmt: skip
    """Split every class by a column, sorting its cells by value; a cell that is alone with its value is removed."""
    kept = runs = total = 0
    multiple = single = mixed = balanced_runs = 0
    settled_sum = class_sum = uncertainty = 0.0
    distinct_all = sensitive_sizes.shape[0]
    tabulates = size_of_column <= slot.shape[0]
    for x in range(distinct_all):
        total += sensitive_sizes[x]
    out_starts[0] = 0
    for run in range(starts.shape[0] - 1):
        begin, end = starts[run], starts[run + 1]
        if end - begin == 2:  # noqa: PLR2004
            # most classes are pairs of cells: they stay together or both are stripped
            one, other = cells[begin], cells[begin + 1]
            n_one, n_other = np.int64(n[one]), np.int64(n[other])
            if weight is None:
                term_one, term_other = _term(n_one, logs), _term(n_other, logs)
            else:
                term_one, term_other = weight[one] * math.log2(weight[one]), weight[other] * math.log2(weight[other])
            if (codes[one] ^ codes[other]) >> shift & mask:
                settled_sum += term_one + term_other
                alone = (n_one == 1) + (n_other == 1)
                single += alone
                multiple += 2 - alone
                continue
            out_cells[kept] = one
            out_cells[kept + 1] = other
            kept += 2
            runs += 1
            out_starts[runs] = kept
            n_both = n_one + n_other
            term = _term(n_both, logs)
            if weight is not None:
                both = weight[one] + weight[other]
                term = both * math.log2(both)
            class_sum += term
            if sensitive[one] != sensitive[other]:
                mixed += 1
                uncertainty += term - term_one - term_other
                if sensitive_sizes.shape[0] == 2 and n_one * total == sensitive_sizes[sensitive[one]] * n_both:  # noqa: PLR2004
                    balanced_runs += 1
            elif sensitive_sizes.shape[0] == 1:
                balanced_runs += 1
            continue
        # how many cells of this class hold each value, and which values occur
        values = 0
        for at in range(begin, end):
            code = np.int64((codes[cells[at]] >> shift) & mask)
            if value_count[code] == 0:
                touched[values] = code
                values += 1
            value_count[code] += 1
        # where each value's cells go; a value of one cell is marked to be stripped
        place = kept
        first_run = runs
        tabulate = weight is None and tabulates and values * distinct_all <= min(end - begin, joint.shape[0])
        for t in range(values):
            code = touched[t]
            if tabulate:
                slot[code] = t * distinct_all
            size = value_count[code]
            if size == 1:
                value_count[code] = 0xFFFFFFFF
            else:
                value_count[code] = place
                place += size
                runs += 1
                out_starts[runs] = place
        for at in range(begin, end):
            cell = cells[at]
            code = np.int64((codes[cell] >> shift) & mask)
            to = value_count[code]
            if to == 0xFFFFFFFF:  # noqa: PLR2004
                if weight is None:
                    settled_sum += _term(n[cell], logs)
                else:
                    settled_sum += weight[cell] * math.log2(weight[cell])
                if n[cell] == 1:
                    single += 1
                else:
                    multiple += 1
            else:
                out_cells[to] = cell
                value_count[code] = to + 1
                if tabulate:
                    joint[slot[code] + sensitive[cell]] += n[cell]
        for t in range(values):
            value_count[touched[t]] = 0
        kept = place
        if tabulate:
            for t in range(values):
                class_n = 0
                distinct = 0
                balanced = True
                first = t * distinct_all
                for x in range(distinct_all):
                    class_n += joint[first + x]
                    distinct += joint[first + x] > 0
                if class_n == 0:
                    continue
                term = _term(class_n, logs)
                class_sum += term
                for x in range(distinct_all):
                    n_x = joint[first + x]
                    term -= _term(n_x, logs)
                    balanced &= n_x * total == sensitive_sizes[x] * class_n
                    joint[first + x] = 0
                if distinct > 1:
                    mixed += 1
                    uncertainty += term
                balanced_runs += balanced
            continue
        # what each new class says about the sensitive attribute
        for new in range(first_run, runs):
            class_n = 0
            class_mass = 0.0
            distinct = 0
            for at in range(out_starts[new], out_starts[new + 1]):
                cell = out_cells[at]
                x = sensitive[cell]
                if sensitive_n[x] == 0:
                    sensitive_touched[distinct] = x
                    distinct += 1
                sensitive_n[x] += n[cell]
                class_n += n[cell]
                if weight is not None:
                    sensitive_mass[x] += weight[cell]
                    class_mass += weight[cell]
            term = _term(class_n, logs) if weight is None else class_mass * math.log2(class_mass)
            class_sum += term
            balanced = distinct == sensitive_sizes.shape[0]
            for t in range(distinct):
                x = sensitive_touched[t]
                if weight is None:
                    term -= _term(sensitive_n[x], logs)
                else:
                    term -= sensitive_mass[x] * math.log2(sensitive_mass[x])
                    sensitive_mass[x] = 0.0
                if balanced and sensitive_n[x] * total != sensitive_sizes[x] * class_n:
                    balanced = False
                sensitive_n[x] = 0
            if distinct > 1:
                mixed += 1
                uncertainty += term
            if balanced:
                balanced_runs += 1
    return kept, runs, multiple, single, mixed, balanced_runs, settled_sum, class_sum, uncertainty


@compiled
def split_in_order(  # type: ignore[no-untyped-def]  # noqa: ANN201, C901, PLR0912, PLR0913, PLR0915 - one loop, kept whole for speed
    cells, starts, keys, shift, most_pairs, n, weight, sensitive, sensitive_sizes, logs,  # noqa: ANN001
    sensitive_n, sensitive_mass, sensitive_touched,  # noqa: ANN001
):  # fmt: skip
    """Compute the sums of classes split by the first column of the keys, where cells of a class with one value are neighbours."""
    runs = total = 0
    multiple = single = mixed = balanced_runs = 0
    settled_sum = class_sum = uncertainty = 0.0
    distinct_all = sensitive_sizes.shape[0]
    few = weight is None and distinct_all <= 2  # noqa: PLR2004
    for x in range(distinct_all):
        total += sensitive_sizes[x]
    for run in range(starts.shape[0] - 1):
        begin, end = np.int64(starts[run]), np.int64(starts[run + 1])
        if end - begin == 2:  # noqa: PLR2004
            one, other = cells[begin], cells[begin + 1]
            n_one, n_other = np.int64(n[one]), np.int64(n[other])
            if weight is None:
                term_one, term_other = _term(n_one, logs), _term(n_other, logs)
            else:
                term_one, term_other = weight[one] * math.log2(weight[one]), weight[other] * math.log2(weight[other])
            if (keys[one] ^ keys[other]) >> shift != 0:
                settled_sum += term_one + term_other
                alone = (n_one == 1) + (n_other == 1)
                single += alone
                multiple += 2 - alone
                continue
            runs += 1
            n_both = n_one + n_other
            term = _term(n_both, logs)
            if weight is not None:
                both = weight[one] + weight[other]
                term = both * math.log2(both)
            class_sum += term
            if sensitive[one] != sensitive[other]:
                mixed += 1
                uncertainty += term - term_one - term_other
                balanced_runs += distinct_all == 2 and n_one * total == sensitive_sizes[sensitive[one]] * n_both  # noqa: PLR2004
            else:
                balanced_runs += distinct_all == 1
            continue
        # whether the sensitive values of a class are taken in their own order, or in that of its cells
        values = np.int64(1)
        for place in range(begin + 1, end):
            values += (keys[cells[place]] ^ keys[cells[place - 1]]) >> shift != 0
        tabulate = weight is None and values * distinct_all <= min(end - begin, most_pairs)
        at = begin
        while at < end:
            cell = cells[at]
            key = keys[cell]
            last = at + 1
            while last < end and (keys[cells[last]] ^ key) >> shift == 0:
                last += 1
            if last == at + 1:
                if weight is None:
                    settled_sum += _term(n[cell], logs)
                else:
                    settled_sum += weight[cell] * math.log2(weight[cell])
                if n[cell] == 1:
                    single += 1
                else:
                    multiple += 1
                at = last
                continue
            runs += 1
            if few:
                own = sensitive[cell]
                n_own = n_rest = np.int64(0)
                for place in range(at, last):
                    if sensitive[cells[place]] == own:
                        n_own += n[cells[place]]
                    else:
                        n_rest += n[cells[place]]
                class_n = n_own + n_rest
                term = _term(class_n, logs)
                class_sum += term
                if n_rest > 0:
                    mixed += 1
                    if tabulate and own > 0:
                        n_own, n_rest = n_rest, n_own
                        own = 0
                    uncertainty += term - _term(n_own, logs) - _term(n_rest, logs)
                    balanced_runs += n_own * total == sensitive_sizes[own] * class_n
                else:
                    balanced_runs += distinct_all == 1
                at = last
                continue
            class_n, class_mass, distinct = np.int64(0), 0.0, 0
            for place in range(at, last):
                cell = cells[place]
                x = sensitive[cell]
                if sensitive_n[x] == 0:
                    sensitive_touched[distinct] = x
                    distinct += 1
                sensitive_n[x] += n[cell]
                class_n += n[cell]
                if weight is not None:
                    sensitive_mass[x] += weight[cell]
                    class_mass += weight[cell]
            term = _term(class_n, logs) if weight is None else class_mass * math.log2(class_mass)
            class_sum += term
            balanced = distinct == distinct_all
            for t in range(distinct_all if tabulate else distinct):
                x = t if tabulate else sensitive_touched[t]
                if weight is None:
                    term -= _term(sensitive_n[x], logs)
                else:
                    term -= sensitive_mass[x] * math.log2(sensitive_mass[x])
                    sensitive_mass[x] = 0.0
                balanced &= sensitive_n[x] * total == sensitive_sizes[x] * class_n
                sensitive_n[x] = 0
            if distinct > 1:
                mixed += 1
                uncertainty += term
            balanced_runs += balanced
            at = last
    return runs, multiple, single, mixed, balanced_runs, settled_sum, class_sum, uncertainty


@compiled
def sum_out(  # type: ignore[no-untyped-def]  # noqa: ANN201, C901, PLR0912, PLR0913, PLR0915 - one loop, kept whole for speed
    cells, starts, keys, shift, n, weight, sensitive, logs, sensitive_n, sensitive_mass, sensitive_touched,  # noqa: ANN001
    out_keys, out_n, out_weight, out_sensitive, out_starts,  # noqa: ANN001
):  # fmt: skip
    """Merge neighbouring cells that share the beginning of their keys and the sensitive value; remove runs of one cell."""
    kept = runs = multiple = single = 0
    settled_sum = 0.0
    out_starts[0] = 0
    few = weight is None and sensitive_n.shape[0] <= 2  # noqa: PLR2004
    for run in range(starts.shape[0] - 1):
        at, end, begin = starts[run], starts[run + 1], kept
        if few:
            # one cell or two for every key, without a branch: where the next one begins cannot be predicted
            key, own, n_own, n_rest, place = keys[cells[at]], np.int64(sensitive[cells[at]]), np.int64(0), np.int64(0), kept
            for here in range(at, end):
                cell = cells[here]
                new = int((keys[cell] ^ key) >> shift != 0)
                key, n_cell, x = keys[cell], np.int64(n[cell]), np.int64(sensitive[cell])
                place += new * (kept - place)
                own += new * (x - own)
                as_own = int(x == own)
                n_own = (1 - new) * n_own + as_own * n_cell
                n_rest = (1 - new) * n_rest + (1 - as_own) * n_cell
                out_keys[place], out_n[place], out_sensitive[place] = key, n_own, own
                out_keys[place + 1], out_n[place + 1], out_sensitive[place + 1] = key, n_rest, 1 - own
                kept = place + 1 + int(n_rest > 0)
            stripped = kept - begin == 1
            settled_sum += int(stripped) * _term(out_n[begin], logs)
            single += stripped & (out_n[begin] == 1)
            multiple += stripped & (out_n[begin] != 1)
            kept -= stripped
            runs += not stripped
            out_starts[runs] = kept
            continue
        while at < end:
            key, distinct = keys[cells[at]], 0
            while at < end and (keys[cells[at]] ^ key) >> shift == 0:
                cell = cells[at]
                x = sensitive[cell]
                if sensitive_n[x] == 0:
                    sensitive_touched[distinct] = x
                    distinct += 1
                sensitive_n[x] += n[cell]
                if weight is not None:
                    sensitive_mass[x] += weight[cell]
                at += 1
            for t in range(distinct):
                x = sensitive_touched[t]
                out_keys[kept], out_n[kept], out_sensitive[kept] = key, sensitive_n[x], x
                sensitive_n[x] = 0
                if weight is not None:
                    out_weight[kept] = sensitive_mass[x]
                    sensitive_mass[x] = 0.0
                kept += 1
        if kept - begin > 1:
            runs += 1
            out_starts[runs] = kept
            continue
        kept = begin
        if weight is None:
            settled_sum += _term(out_n[begin], logs)
        else:
            settled_sum += out_weight[begin] * math.log2(out_weight[begin])
        if out_n[begin] == 1:
            single += 1
        else:
            multiple += 1
    return kept, runs, multiple, single, settled_sum
