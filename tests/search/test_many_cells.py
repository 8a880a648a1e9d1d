"""Tables of very many cells are searched in little memory; here small ones are, which must end as they do otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.counts.grouping import group, in_strict_order
from unveil.errors import UnveilError
from unveil.models import DistinctLDiversity, KAnonymity, TCloseness
from unveil.search.lattice.generalisation import Lattice
from unveil.search.request import request_of, wanted_of
from unveil.sources.batches import combinations

MODELS: dict[str, list[Any]] = {
    "k": [KAnonymity(3)],
    "l": [KAnonymity(2), DistinctLDiversity("job", 2)],
    "t": [TCloseness("job", 0.4)],
    "none": [KAnonymity(1000)],
}


def people(seed: int, rows: int = 120) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame({name: random.integers(0, size, rows) for name, size in (("a", 9), ("b", 6), ("c", 4), ("job", 3))})


def in_pieces(patch: pytest.MonkeyPatch) -> None:
    """Have every table count as one of very many cells."""
    patch.setattr("unveil.search.lattice.rollup._MANY_ROWS", 2)
    patch.setattr("unveil.search.lattice.full_domain._MOST_SURVEYED", 2)
    patch.setattr("unveil.search.lattice.one_pass._FIRST_ROOM", 5)
    patch.setattr("unveil.search.lattice.one_pass._MUCH_SMALLER", 3)
    patch.setattr("unveil.search.lattice.applied._CELLS", 7)
    patch.setattr("unveil.search.lattice.space._PIECE", 7)
    patch.setattr("unveil.search.lattice.class_table._PIECE", 7)


@settings(max_examples=8)
@given(
    st.integers(0, 1000),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["loss", "discernibility", "class-size", "kl"]),
)
def test_the_release_is_the_same_to_the_digit(seed: int, model: str, share: float, objective: str) -> None:
    def made() -> Any:
        options: dict[str, Any] = {"suppression": share, "objective": objective, "keep_order": True}
        try:
            release = unveil.anonymize(people(seed), ["a", "b", "c"], MODELS[model], **options)
        except UnveilError as error:
            return str(error)
        answer = {name: value for name, value in release.to_dict().items() if name not in ("seconds", "nodes")}
        return answer, release.lattice, release.data.to_dicts()

    expected = made()
    with pytest.MonkeyPatch.context() as patch:
        in_pieces(patch)
        assert made() == expected


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


def test_combinations_are_spilled_in_pieces(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = people(1, 900)
    data.write_parquet(tmp_path / "people.parquet")
    monkeypatch.setattr(combinations, "_PIECE", 7)
    with unveil.Run(limits=unveil.Limits(stream_from=0, combinations=40, rows=100)):
        assert unveil.count(tmp_path / "people.parquet", data.columns) == unveil.count(data, data.columns)
