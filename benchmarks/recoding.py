"""Finer recodings: local recoding beside ARX's, Mondrian against anonypy, and local suppression against the clock."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import unveil
from benchmarks.arx import Arx, ArxError, ArxRequest, Required, given_jar
from benchmarks.peers import printed
from benchmarks.rows import Row, at_most, faster, not_measured
from benchmarks.search import FOLDER, KEYS
from benchmarks.timing import best_of
from unveil.models import EntropyLDiversity, KAnonymity

_KEYS = ["age", "education", "marital-status", "race", "sex", "native-country", "workclass"]
_ANONYPY = """
import sys, time
import pandas as pd
from anonypy import anonypy
table = pd.read_csv(sys.argv[1])
keys = sys.argv[2].split(",")
for name in table.columns:
    if name != "age":
        table[name] = table[name].astype("category")
preserver = anonypy.Preserver(table, keys, "income-per-year")
began = time.process_time()
preserver.anonymize_k_anonymity(10)
print(time.process_time() - began)
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*of_local_recoding(), of_mondrian(), of_local_suppression()]


def of_local_recoding() -> list[Row]:
    """Recode Adult locally, both tools with the table in memory; nothing is measured if ARX cannot be run."""
    jar, what = given_jar(), "local recoding beside ARX"
    if jar is None or not (FOLDER / "adult.csv").exists():
        return [not_measured(what, "UNVEIL_ARX_JAR does not name its jar, or its example data is not on this machine")]
    try:
        arx = Arx.of(jar)
        return [_beside_arx(arx, said, models, share) for said, models in _RECODED.items() for share in _SHARES]
    except ArxError as error:
        return [not_measured(what, str(error))]


_RECODED: dict[str, list[Required]] = {
    "k=5": [KAnonymity(5)],
    "k=5, entropy l=3": [KAnonymity(5), EntropyLDiversity("occupation", 3)],
}
_SHARES = (0.01, 0.001)
"""The share of the records that one round of ARX serves: that of its examples, and a small one, slower but with less loss."""


def _beside_arx(arx: Arx, said: str, models: list[Required], share: float) -> Row:
    """Compare the times, and the losses, which are measured on both releases in the same way."""
    data = pl.read_csv(FOLDER / "adult.csv", separator=";")
    trees = {name: unveil.Hierarchy.read(FOLDER / f"adult_hierarchy_{name}.csv") for name in KEYS}
    made: list[unveil.Release[Any]] = []
    unveil.recode_locally(data, trees, models, keep_order=True)
    ours = best_of(5, lambda: made.append(unveil.recode_locally(data, trees, models, keep_order=True))).processor
    theirs, release = arx.recoded_locally(ArxRequest(data, f"{FOLDER}/adult_hierarchy_", KEYS, models, 0.0), share, 3)
    own, other = (_granularity(data, one, trees) for one in (made[-1].data, release))
    what = f"local recoding of Adult, 8 keys, {said}, against ARX in rounds of {100 * share:g} %"
    row = faster(what, ours, theirs, against=f"ARX: local, {said}, {100 * share:g} %", least=1)
    losses = f"; a loss of {own:.4f} against {other:.4f}"
    return replace(row, measured=row.measured + losses, goal="faster, at a lower loss", met=bool(row.met) and own < other)


def _granularity(data: pl.DataFrame, release: pl.DataFrame, trees: dict[str, unveil.Hierarchy]) -> float:
    """Return the loss of a release whose records are in the order of the data."""
    original, shown = (frame.select(pl.col(KEYS).cast(pl.String)) for frame in (data, release))
    losses = unveil.loss(original, shown, same_order=True, hierarchies=trees, ways=1).to_dict()["categorical"]
    return float(losses["granularity"])


def of_mondrian() -> Row:
    """Partition Adult by seven attributes into parts as small as k = 10 allows, both tools after loading."""
    adult = unveil.datasets.adult()
    unveil.mondrian(adult.head(100), _KEYS, [KAnonymity(10)])
    ours = best_of(5, lambda: unveil.mondrian(adult, _KEYS, [KAnonymity(10)])).processor
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "adult.csv")
        adult.select([*_KEYS, "income-per-year"]).write_csv(path)
        words = printed(("anonypy", "pandas"), _ANONYPY, str(path), ",".join(_KEYS))
    what, theirs = "Mondrian, k = 10, of Adult x 7, against anonypy", float(words[0]) if words else None
    return faster(what, ours, theirs, against="anonypy: Mondrian", least=50)


def of_local_suppression() -> Row:
    """Suppress cells of seven attributes of Adult until three records cover everybody."""
    adult = unveil.datasets.adult()
    unveil.suppress_locally(adult.head(100), _KEYS, 3)
    made: list[unveil.Release[Any]] = []
    seconds = best_of(2, lambda: made.append(unveil.suppress_locally(adult, _KEYS, 3))).processor
    note = "{cells:,} cells; {at_risk_complete:,} of {at_risk:,} records at risk stay complete".format(**made[0].details)
    return at_most("local suppression, k = 3, of Adult x 7", seconds, 10, "s", note=note)
