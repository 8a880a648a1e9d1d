"""Finer recodings: Mondrian against anonypy, and local suppression against the clock."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import unveil
from benchmarks.peers import printed
from benchmarks.rows import Row, at_most, faster
from benchmarks.timing import best_of
from unveil.models import KAnonymity

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
    return [of_mondrian(), of_local_suppression()]


def of_mondrian() -> Row:
    """Partition Adult by seven attributes until parts are as small as ten allows, both tools after loading."""
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
