"""What columns single out, alone and beside the key, counted from the definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.measures.unnamed import singled_out, unique_by
from unveil.testing import tables


def alone(rows: Sequence[dict[str, Any]], columns: Sequence[str], person: str | None, *, nulls: bool = True) -> int:
    """Count the persons, or else the records, with a combination that nobody else has."""
    holders: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for at, row in enumerate(rows):
        values = tuple(row[name] for name in columns)
        if nulls or None not in values:
            holders[values].append(at if person is None else row[person])
    return len({who for whose in holders.values() if len(set(whose)) == 1 for who in whose})


@settings(max_examples=40)
@pytest.mark.parametrize("person", [None, "d"])
@pytest.mark.parametrize("key", [(), ("a",), ("a", "b"), ("a", "d")])
@given(frame=tables(columns=4, max_rows=12), counted=st.booleans())
def test_columns_single_out_whom_the_definition_says(
    frame: pl.DataFrame, counted: bool, key: tuple[str, ...], person: str | None
) -> None:
    frame = frame.with_columns(pl.col("d").fill_null(pl.col("d").max())).filter(pl.col("d").is_not_null())
    if frame.is_empty():
        return
    rows, study = frame.to_dicts(), unveil.Study(frame)
    if counted:
        study.counts(["a", "b", "c", "d"])  # what follows is its marginals
    answer = singled_out(study, ["b", "c"], person, key)
    assert list(answer) == ["b", "c"]
    for name, one in answer.items():
        assert one.unique == alone(rows, [name], person, nulls=False)
        assert one.of == (len(rows) if person is None else len({row["d"] for row in rows}))
        assert one.by_key == (alone(rows, key, person) if key else None)
        assert one.with_key == (alone(rows, [*dict.fromkeys((*key, name))], person) if key else None)
    if key:
        assert unique_by(study, key, person)[0] == alone(rows, key, person)
