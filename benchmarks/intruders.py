"""What can an intruder do who has a release, the software and every setting but the secret? Each mechanism, attacked.

Three figures for each mechanism, on 2,000 records of Adult: the share of records that are still in their old place (chance: one
in 2,000), the share of values that are true after the intruder ran the mechanism once more on the release (in brackets: before),
and the share of people whom the best linkage of `unveil.attack` finds by the protected attributes (chance: one in 2,000).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row
from unveil import mechanisms
from unveil.models import KAnonymity

RECORDS = 2_000
NUMBERS = ["age", "fnlwgt", "hours-per-week"]
NAMES = ["education", "marital-status", "occupation", "sex"]
KEY = ["age", *NAMES]

Protect = Callable[[pl.DataFrame], Any]

MECHANISMS: dict[str, tuple[list[str], Protect]] = {
    "generalisation, k = 5": (
        KEY,
        lambda data: unveil.anonymize(data, KEY, [KAnonymity(5)], suppression=0.02),
    ),
    "Mondrian, k = 5": (KEY, lambda data: unveil.mondrian(data, KEY, [KAnonymity(5)])),
    "local recoding, k = 5": (KEY, lambda data: unveil.recode_locally(data, KEY, [KAnonymity(5)], suppression=0.02)),
    "local suppression, k = 3": (KEY, lambda data: unveil.suppress_locally(data, KEY, k=3)),
    "microaggregation, k = 5": (NUMBERS, lambda data: mechanisms.microaggregate(data, NUMBERS, k=5)),
    "noise of 0.5 variances": (NUMBERS, lambda data: mechanisms.add_noise(data, NUMBERS, amount=0.5)),
    "correlated noise of 0.5": (NUMBERS, lambda data: mechanisms.add_noise(data, NUMBERS, amount=0.5, method="correlated")),
    "multiplicative noise of 0.5": (
        NUMBERS,
        lambda data: mechanisms.add_noise(data, NUMBERS, amount=0.5, method="multiplicative"),
    ),
    "swapping of half the records": (NUMBERS, lambda data: mechanisms.swap(data, NUMBERS, share=0.5)),
    "rank swapping, window 10 %": (NUMBERS, lambda data: mechanisms.rank_swap(data, NUMBERS, window=10)),
    "shuffling": (NUMBERS, lambda data: mechanisms.shuffle(data, NUMBERS)),
    "rounding at random": (
        NUMBERS,
        lambda data: mechanisms.round_values(
            data, NUMBERS, base={"age": 10, "fnlwgt": 50_000, "hours-per-week": 10}, method="random"
        ),
    ),
    "resampling": (NUMBERS, lambda data: mechanisms.resample(data, NUMBERS)),
    "top coding of 5 %": (NUMBERS, lambda data: mechanisms.top_bottom_code(data, NUMBERS, top_share=0.05)),
    "sampling of half": (NUMBERS, lambda data: mechanisms.sample(data, share=0.5)),
    "PRAM, retention 0.7": (NAMES, lambda data: mechanisms.pram(data, NAMES, retention=0.7)),
    "MASSC, risk 0.1": (KEY, lambda data: mechanisms.massc(data, KEY, risk=0.1)),
}


def run() -> list[Row]:
    """Attack every mechanism."""
    data = unveil.datasets.load("adult").head(RECORDS).select(*dict.fromkeys([*NUMBERS, *KEY])).with_row_index("id")
    data = data.with_columns(pl.col("id").cast(pl.Int64))
    return [_row(what, attributes, protect, data) for what, (attributes, protect) in MECHANISMS.items()]


def _row(what: str, attributes: list[str], protect: Protect, data: pl.DataFrame) -> Row:
    release: pl.DataFrame = protect(data).data
    place = float((release["id"].to_numpy() == np.arange(release.height)).mean())
    before, again = _true(release, attributes, data), _again(protect, release, attributes, data)
    linked = _linked(data, release, attributes)
    measured = f"in place {place:.4f}; true values {again} ({before:.3f}); linked {linked}"
    return Row(f"an intruder against {what}", measured, place)


def _true(release: pl.DataFrame, attributes: list[str], data: pl.DataFrame) -> float:
    """Return the share of cells that are the true ones."""
    truth = release.select("id").join(data, on="id", how="left", maintain_order="left")
    same = [(release[name].cast(pl.String) == truth[name].cast(pl.String)).fill_null(value=False).mean() for name in attributes]
    return float(np.mean([float(share or 0.0) for share in same]))  # type: ignore[arg-type]


def _again(protect: Protect, release: pl.DataFrame, attributes: list[str], data: pl.DataFrame) -> str:
    """Return the share of true cells once the mechanism has run on its own release."""
    try:
        return f"{_true(protect(release).data, attributes, data):.3f}"
    except unveil.UnveilError:
        return "refused"


def _linked(data: pl.DataFrame, release: pl.DataFrame, attributes: list[str]) -> str:
    linkage = unveil.attack(data, release, attributes, id="id").linkage
    rates = [way["linked"] for way in linkage.values() if isinstance(way, dict) and way.get("linked") is not None]
    return f"{max(rates):.3f}" if rates else "by no way"
