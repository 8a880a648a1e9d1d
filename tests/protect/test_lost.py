"""Attributes that a generalisation leaves nothing of are named, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, RecursiveLDiversity, TCloseness
from unveil.search.requirements import PartRequirements

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


@pytest.mark.parametrize("seed", range(40))
def test_parts_that_meet_the_models_need_not_be_measured_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, random.integers(2, 30), 200) for name in KEYS}
    table = pl.DataFrame({**columns, "beta": columns["beta"].astype(str), "s": random.integers(0, 4, 200).astype(str)})
    others = (EntropyLDiversity("s", 1.5), DistinctLDiversity("s", 2), TCloseness("s", 0.5), RecursiveLDiversity("s", 2, 4.0))
    models = [KAnonymity(2 + seed % 5), others[seed % len(others)]]
    said = []
    for read in (PartRequirements.only_of_parts, property(lambda self: self.only_small)):
        monkeypatch.setattr(PartRequirements, "only_of_parts", read)
        said.append([note for note in unveil.anonymize(table, KEYS, models, suppression=0.1).notes if "gone:" in note])
    assert said[0] == said[1]
