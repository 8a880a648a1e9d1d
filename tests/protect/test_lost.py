"""Attributes that a generalisation leaves nothing of are named, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.models import KAnonymity

KEYS = ("alpha", "beta", "gamma")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("suppression", [0.0, 0.2])
def test_what_is_gone_is_what_every_record_left_has_alike(seed: int, suppression: float) -> None:
    random = np.random.default_rng(seed)
    table = pl.DataFrame({name: random.integers(0, 1 + seed % 3 + 4 * at, 40).astype(str) for at, name in enumerate(KEYS)})
    hierarchies = {name: unveil.Hierarchy(name, [[value, "*"] for value in sorted(set(table[name]))]) for name in KEYS}
    release = unveil.anonymize(table, hierarchies, [KAnonymity(4)], suppression=suppression, keep_order=True)
    rows = pl.DataFrame(release.to_frame("polars")).select(KEYS)
    left = rows.filter(~pl.all_horizontal(pl.all() == "*")) if release.suppressed else rows
    gone = {name for name in KEYS if left[name].n_unique() == 1 and table[name].n_unique() > 1}
    said = " ".join(note.split(" gone:")[0] for note in release.notes if " gone:" in note)
    assert {name for name in KEYS if name in said} == gone
