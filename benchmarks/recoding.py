"""Finer recodings: Mondrian against anonypy, and local suppression against the clock."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import unveil
from benchmarks.foundation import Row
from benchmarks.peers import peer
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
        python = peer("anonypy", "anonypy", "pandas")
        command = [str(python), "-c", _ANONYPY, str(path), ",".join(_KEYS)]
        theirs = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    ratio = theirs / ours
    what = f"Mondrian, k = 10, of Adult x 7 ({ours * 1000:.0f} ms), against anonypy ({theirs:.1f} s)"
    return Row(what, f"{ratio:.0f} times faster", "50 times", ratio >= 50)


def of_local_suppression() -> Row:
    """Suppress cells of seven attributes of Adult until every record matches three."""
    adult = unveil.datasets.adult()
    unveil.suppress_locally(adult.head(100), _KEYS, 3)
    cells: list[int] = []
    seconds = best_of(2, lambda: cells.append(unveil.suppress_locally(adult, _KEYS, 3).details["cells"])).processor
    what = f"local suppression, k = 3, of Adult x 7: {cells[0]:,} cells"
    return Row(what, f"{seconds:.1f} s", "10 s", seconds <= 10)
