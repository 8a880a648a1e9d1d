"""The figure itself, as one would get it without `unveil`: by hand in pandas or Polars, from scikit-learn, bvmlib and anjana.

If both compute the same figure, the tool's answer is compared with that of `unveil`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
from sklearn.metrics import homogeneity_score

import unveil
from benchmarks.models import KEYS, adult_like
from benchmarks.peers import printed
from benchmarks.rows import Row, faster
from benchmarks.timing import best_of
from unveil.models import KAnonymity

_SENSITIVE = "occupation"
_RECORDS = 1_000_000
_BVMLIB = """
import sys, time
import pandas as pd
from bvmlib.bvm import BVM
frame = pd.read_parquet(sys.argv[1])
times = []
for _ in range(5):
    start = time.process_time()
    job = BVM(frame)
    job.qids(sys.argv[2].split(","))
    job.sensitive(["occupation"])
    found = job.assess()
    times.append(time.process_time() - start)
print(min(times), found["att_inf"]["Posterior"].iloc[0])
"""
_ANJANA = """
import json, sys, time
import pandas as pd
from anjana.anonymity import k_anonymity
frame = pd.read_csv(sys.argv[1], dtype=str)
trees = {name: dict(enumerate(levels)) for name, levels in json.load(open(sys.argv[2])).items()}
start = time.process_time()
release = k_anonymity(frame, [], list(trees), 10, 5, trees)
print(time.process_time() - start, len(release))
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*by_hand(), *against_scikit_learn(), against_bvmlib(), against_anjana()]


def by_hand() -> list[Row]:
    """Measure the rate of seven keys for a sensitive attribute against code written by hand, on a million records like Adult."""
    table = adult_like(_RECORDS)
    frame = table.to_pandas()
    what = f"Discrimination Rate given 7 keys, {_RECORDS:,} records, against"
    return [
        _same(f"{what} pandas by hand", "pandas: 7 keys", lambda: _rate(frame, KEYS), lambda: _pandas(frame)),
        _same(f"{what} Polars by hand", "Polars: 7 keys", lambda: _rate(table, KEYS), lambda: _polars(table)),
    ]


def _rate(frame: object, key: list[str] | str) -> float:
    return float(unveil.discrimination_rate(frame, key, _SENSITIVE).value)


def _pandas(frame: pd.DataFrame) -> float:
    cells = frame.groupby([*KEYS, _SENSITIVE], sort=False, dropna=False).size().rename("n").reset_index()
    n, in_class = cells["n"], cells.groupby(KEYS, sort=False, dropna=False)["n"].transform("sum")
    shares = frame[_SENSITIVE].value_counts(dropna=False, normalize=True)
    return float(1.0 - (n * np.log2(in_class / n)).sum() / len(frame) / -(shares * np.log2(shares)).sum())


def _polars(table: pl.DataFrame) -> float:
    cells = table.group_by([*KEYS, _SENSITIVE]).len("n").with_columns(pl.col("n").sum().over(KEYS).alias("in_class"))
    conditional = cells.select((pl.col("n") * (pl.col("in_class") / pl.col("n")).log(2)).sum()).item() / table.height
    return float(1.0 - conditional / table[_SENSITIVE].value_counts()["count"].entropy(2))


def against_scikit_learn() -> list[Row]:
    """Measure the rate of one column for a sensitive attribute, which scikit-learn calls the homogeneity of clusters."""
    table = adult_like(_RECORDS)
    rows = []
    for kind, key in (("text", "education"), ("number", "age")):
        sensitive, classes = table[_SENSITIVE].to_numpy(), table[key].to_numpy()
        what = f"Discrimination Rate given a column of {kind}s, {_RECORDS:,} records, against scikit-learn's homogeneity_score"

        def theirs(sensitive: object = sensitive, classes: object = classes) -> float:
            return float(homogeneity_score(sensitive, classes))

        rows.append(_same(what, f"sklearn: {kind}s", lambda key=key: _rate(table, key), theirs))  # type: ignore[misc]
    return rows


def _same(what: str, against: str, ours: Callable[[], float], theirs: Callable[[], float]) -> Row:
    """Compare the times of two ways to compute the same figure, and check that they agree."""
    assert math.isclose(ours(), theirs(), rel_tol=1e-9)
    return faster(what, best_of(5, ours).processor, best_of(3, theirs).processor, against=against, least=1)


def against_bvmlib() -> Row:
    """Measure all models of Adult, vulnerability among them, against bvmlib's vulnerability alone."""
    adult = unveil.datasets.adult()
    ours = best_of(5, lambda: unveil.measure(adult, KEYS, _SENSITIVE)).processor
    with TemporaryDirectory() as folder:
        path = Path(folder, "adult.parquet")
        adult.select([*KEYS, _SENSITIVE]).write_parquet(path)
        words = printed(("bvmlib", "pyarrow"), _BVMLIB, str(path), ",".join(KEYS))
    if words:
        posterior = unveil.measure(adult, KEYS, _SENSITIVE).to_dict()["vulnerability"][_SENSITIVE]["posterior"]
        assert math.isclose(float(words[1]), posterior, rel_tol=1e-9)
    what, theirs = "all models, Adult, 7 keys, against bvmlib's vulnerability alone", float(words[0]) if words else None
    return faster(what, ours, theirs, against="bvmlib: Adult", least=1)


def against_anjana() -> Row:
    """Make Adult 10-anonymous with the same hierarchies: the optimal choice here, against anjana's choice step by step."""
    adult = unveil.datasets.adult()
    trees = {name: unveil.propose_hierarchy(adult, name).hierarchy for name in KEYS}
    unveil.anonymize(adult, KEYS, [KAnonymity(10)], hierarchies=trees, suppression=0.05)  # compiles the kernels
    ours = best_of(3, lambda: unveil.anonymize(adult, KEYS, [KAnonymity(10)], hierarchies=trees, suppression=0.05)).processor
    with TemporaryDirectory() as folder:
        table, levels = Path(folder, "adult.csv"), Path(folder, "levels.json")
        adult.write_csv(table)
        levels.write_text(json.dumps({name: list(zip(*tree.labels, strict=True)) for name, tree in trees.items()}))
        words = printed(("anjana",), _ANJANA, str(table), str(levels))
    assert not words or int(words[1]), "anjana found no release"
    what, theirs = "10-anonymity of Adult, 7 keys, at most 5 % suppressed, against anjana", float(words[0]) if words else None
    return faster(what, ours, theirs, against="anjana: k = 10", least=1)
