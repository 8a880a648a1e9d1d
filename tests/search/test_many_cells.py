"""Tables of very many cells are searched in little memory; here small ones are, which must end as they do otherwise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from search.lattices import chosen
from unveil.counts.grouping import group, in_strict_order
from unveil.errors import UnveilError
from unveil.models import DistinctLDiversity, KAnonymity, TCloseness
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.class_table import fields_of, packed
from unveil.search.lattice.generalisation import Lattice, generalisation_of
from unveil.search.lattice.space import records_by_value
from unveil.search.request import request_of, wanted_of
from unveil.sources.batches.combinations import KeyCounter

MODELS: dict[str, list[Any]] = {
    "k": [KAnonymity(3)],
    "l": [KAnonymity(2), DistinctLDiversity("job", 2)],
    "t": [TCloseness("job", 0.4)],
    "none": [KAnonymity(1000)],
}


SMALL = Capacity(many_rows=2, surveyed=2, first_room=5, much_smaller=3, recoded=7)
"""With this, every table counts as one of very many cells."""


def people(seed: int, rows: int = 120) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame({name: random.integers(0, size, rows) for name, size in (("a", 9), ("b", 6), ("c", 4), ("job", 3))})


@settings(max_examples=8)
@given(
    st.integers(0, 1000),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["loss", "discernibility", "class-size", "kl"]),
)
def test_the_release_is_the_same_to_the_digit(seed: int, model: str, share: float, objective: str) -> None:
    def made(capacity: Capacity) -> Any:
        try:
            choice = chosen(people(seed), ["a", "b", "c"], MODELS[model], capacity, suppression=share, objective=objective)
        except UnveilError as error:
            return str(error)
        found = generalisation_of(choice, {})
        answer = {one.name: getattr(found, one.name) for one in fields(found) if one.name not in ("seconds", "evaluated")}
        return answer, choice.recoded([]).frame.to_dicts()

    assert made(SMALL) == made(USUAL)


@given(st.integers(0, 1000), st.integers(2, 6), st.sampled_from([0.0, 0.05, 0.3]))
def test_a_node_of_more_classes_than_can_be_kept_to_suppresses_too_many(seed: int, k: int, share: float) -> None:
    lattice = Lattice.of(request_of(wanted_of(people(seed), ["a", "b", "c"], [KAnonymity(k)])), suppression=share)
    most = lattice.requirements.most_classes
    assert most is not None
    for node in np.ndindex(*lattice.space.shape):
        table = lattice.space.classes(node)
        if len(table) > most:
            assert int(table.n[lattice.requirements.small(table)].sum()) > lattice.limit


@given(st.integers(0, 1000))
def test_cells_in_order_are_the_classes_of_all_columns(seed: int) -> None:
    counts = unveil.count(people(seed), ["a", "b", "c"])
    classes = counts.classes(counts.names)
    sizes = [len(column.values) for column in counts.columns]
    of_cell, codes = group(counts.codes, sizes)
    assert classes.of_cell.tolist() == of_cell.tolist()
    assert [one.tolist() for one in classes.codes] == [one.tolist() for one in codes]
    assert classes.n.tolist() == counts.n.tolist()
    assert classes.mass.tolist() == counts.n.tolist()
    turned = [one[::-1] for one in counts.codes]
    assert not in_strict_order(turned, sizes)
    assert not in_strict_order([np.append(one, one[-1:]) for one in counts.codes], sizes)


def test_very_many_rows_are_packed_and_counted_in_pieces() -> None:
    rows = (1 << 20) + 3
    codes, places = [np.arange(rows, dtype=np.uint32) % size for size in (1000, 7)], fields_of([1000, 7])
    (keys,) = packed(codes, places, rows)
    assert np.array_equal(keys, codes[0] + (codes[1].astype(np.uint64) << np.uint64(places[1].shift)))
    n = np.arange(rows) % 3 + 1
    assert records_by_value(codes[1], n, 7).tolist() == [int(n[codes[1] == value].sum()) for value in range(7)]


@pytest.mark.parametrize("most", [290_000, 1 << 20], ids=["spilled", "held"])
def test_very_many_combinations_are_packed_again_and_spilled_in_pieces(most: int) -> None:
    rows = np.arange(300_000, dtype=np.uint32)
    with KeyCounter(2, most) as counter:
        for size in (7, 1 << 20):  # for more values, what is held is packed with more bits
            counter.add([rows, rows % 7], [len(rows), size])
        codes, n = counter.cells([len(rows), 7])
    order = np.argsort(codes[0])
    assert np.array_equal(codes[0][order], rows)
    assert np.array_equal(codes[1][order], rows % 7)
    assert n.tolist() == [2] * len(rows)
