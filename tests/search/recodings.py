"""What the tests of the finer recodings share: a tree, models of every kind, and a release judged from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

import unveil
from unveil.errors import EmptyDataError
from unveil.models import (
    AlphaK,
    AverageRisk,
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveLDiversity,
    TCloseness,
)

KEYS = ["a", "b", "c"]
LEAVES = [["x", "xy", "*"], ["y", "xy", "*"], ["z", "zw", "*"], ["w", "zw", "*"]]
TREES = {name: unveil.Hierarchy(name, LEAVES) for name in KEYS}
MODELS: list[list[Any]] = [
    [KAnonymity(2)],
    [KAnonymity(3), DistinctLDiversity("d", 2)],
    [EntropyLDiversity("d", 1.5)],
    [RecursiveLDiversity("d", 2, 3.0)],
    [AlphaK("d", 0.7, 2)],
    [PSensitiveKAnonymity("d", 2, 2)],
    [TCloseness("d", 0.3)],
    [TCloseness("d", 0.2, "js"), KAnonymity(2)],
    [BasicBetaLikeness("d", 1.0)],
    [EnhancedBetaLikeness("d", 1.0)],
    [DeltaDisclosure("d", 1.5)],
    [AverageRisk(0.5)],
]


def meets(release: Any, models: Sequence[Any]) -> bool:
    """Whether a release meets the models, as `unveil.measure` sees it."""
    try:
        return bool(unveil.measure(release, KEYS, ["d"], models=models).met)
    except EmptyDataError:  # nothing is left of any key
        return bool(unveil.measure(release, KEYS, ["d"], models=models, suppressed="class").met)


def as_one_class(table: pl.DataFrame) -> pl.DataFrame:
    """The table with all records alike."""
    return table.with_columns(pl.lit("one").alias(key) for key in KEYS)


def share_of(label: str | None) -> float:
    """The share of the leaves that a label stands for."""
    if label is None:
        return 1 / len(LEAVES)
    return sum(label in row for row in LEAVES) / len(LEAVES)


def loss_of(release: pl.DataFrame) -> float:
    """The Loss, straight from its definition."""
    n, least = release.height, release.height / len(LEAVES)
    return sum((sum(map(share_of, release[key].to_list())) - least) / (n - least) for key in KEYS) / len(KEYS)
