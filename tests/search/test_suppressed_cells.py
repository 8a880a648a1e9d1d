"""What a front is judged by where classes are suppressed: from the suppressed cells alone, as from all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.measures.discrimination import mean
from unveil.models import DistinctLDiversity, KAnonymity
from unveil.models.base import Model
from unveil.search.lattice.applied import SuppressedCells, applied, suppressed_classes
from unveil.search.lattice.node_rates import Identity, Rate, rate_between
from unveil.search.lattice.space import Space
from unveil.search.request import request_of, wanted_of
from unveil.search.requirements import NodeRequirements

KEYS = ["a", "b", "c"]
MODELS: dict[str, list[Model]] = {"k": [KAnonymity(4)], "l": [KAnonymity(2), DistinctLDiversity("job", 2)]}


def people(seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame({name: random.integers(0, size, 90) for name, size in (("a", 9), ("b", 6), ("c", 3), ("job", 3))})


@settings(max_examples=10)
@given(st.integers(0, 1000), st.sampled_from(sorted(MODELS)), st.sampled_from([1, 2, 100]), st.sampled_from([1, 1 << 20]))
def test_figures_with_suppression_are_those_of_all_cells(seed: int, model: str, fewer: int, kept: int) -> None:
    request = request_of(wanted_of(people(seed), KEYS, MODELS["l"]))
    counts, attributes = request.cells, request.key_attributes()
    space = Space(counts, attributes, request.sensitive_groups)
    requirements = NodeRequirements(space, MODELS[model], space.records)
    columns = dict(zip(counts.names, counts.codes, strict=True))
    rates = [(target, known, Rate(counts, attributes, target, known)) for target, known in (("job", KEYS), ("a", ["b", "job"]))]
    identity = Identity(counts, attributes)
    cells = SuppressedCells(space, [columns[name] for name in KEYS], fewer=fewer, most_sorted=kept)
    for node in np.ndindex(*space.shape):
        table, classes = suppressed_classes(space, requirements, node)
        what = applied(space, node, table, classes, [columns[name] for name in KEYS])
        gone = cells.among(node, table, classes)
        assert gone.tolist() == np.flatnonzero(what.suppressed).tolist()
        shown: dict[str, Any] = {**columns, **what.codes}
        for target, known, rate in rates:
            expected = rate_between([shown[name] for name in known], shown[target], counts.n)
            assert rate.suppressed(node, gone.copy) == pytest.approx(expected, abs=1e-11)
        alone = [rate_between([shown[name]], columns[name], counts.n) for name in KEYS]
        assert identity.suppressed(node, gone.copy) == pytest.approx(mean(alone), abs=1e-11)
