"""Synthetic data: its audit beside anonymeter's three attacks, membership of many records, and synthesis by trees."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import unveil
from benchmarks.peers import printed
from benchmarks.rows import Row, at_most, faster, seconds
from benchmarks.timing import best_of
from unveil.attacks.synthetic.inference import guessed, inference
from unveil.attacks.synthetic.linkability import linkability
from unveil.attacks.synthetic.membership import membership
from unveil.attacks.synthetic.singling_out import singling_out
from unveil.attacks.synthetic.tables import Trio, trio_of
from unveil.mechanisms import synthesize
from unveil.sources import open_source
from unveil.study import Pair

COLUMNS = [
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "hours-per-week",
    "income-per-year",
]  # fmt: skip
_RECORDS, _CONTROLS, _MANY = 10_000, 4_000, 100_000
_ATTACKS, _WIDTH, _SENSITIVE = 2_000, 5, "occupation"
_ANONYMETER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
original, release, control = (pd.read_csv(path) for path in sys.argv[1:4])
attacks, width, secret = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
columns = list(original.columns)
tables = {"ori": original, "syn": release, "control": control, "n_attacks": attacks}
began = time.process_time()
one = SinglingOutEvaluator(**tables, n_cols=width).evaluate(mode="multivariate")
two = LinkabilityEvaluator(**tables, aux_cols=(columns[::2], columns[1::2]), n_neighbors=1).evaluate(n_jobs=1)
three = InferenceEvaluator(**tables, aux_cols=[c for c in columns if c != secret], secret=secret).evaluate(n_jobs=1)
spent = time.process_time() - began
risks = [one.risk(confidence_level=0.95), two.risk(confidence_level=0.95), three.risk(confidence_level=0.95)]
print(spent, *(bound for risk in risks for bound in risk.ci))
"""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    original, control, release = tables(_CONTROLS)
    unveil.attack(original.head(200), release.head(200), control=control.head(200))  # loads what it needs
    audit = best_of(2, lambda: unveil.attack(original, release, control=control)).processor
    what = f"every attack on {_RECORDS:,} synthetic records of 10 columns, {_CONTROLS:,} held out"
    return [at_most(what, audit, 30, "s"), *beside_anonymeter(), many(), trees()]


def tables(controls: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return an original, people held out, and a release that is half copied and half from trees."""
    adult = unveil.datasets.adult().select(COLUMNS)
    order = np.random.default_rng(7).permutation(adult.height).tolist()
    original, control = adult[order[:_RECORDS]], adult[order[_RECORDS : _RECORDS + controls]]
    made = synthesize(original, COLUMNS, leaf=5, copy_check=False, smooth=False, seed=1).data
    return original, control, pl.concat([original.head(_RECORDS // 2), made.head(_RECORDS // 2)])


def beside_anonymeter() -> list[Row]:
    """Make anonymeter's three attacks and the same number of ours, with a hold-out as large as the original."""
    files = tables(_RECORDS)
    trio = trio_of(Pair(files[0], files[2]), open_source(files[1]))
    ours: dict[str, Any] = {}
    spent = best_of(2, lambda: ours.update(_three(trio))).processor
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("original.csv", "release.csv", "control.csv")]
        for path, table in zip(paths, (files[0], files[2], files[1]), strict=True):
            table.write_csv(path)
        words = printed(("anonymeter",), _ANONYMETER, *paths, str(_ATTACKS), str(_WIDTH), _SENSITIVE)
    what = "singling out, linkability and inference, 2,000 attacks each, against anonymeter"
    row = faster(what, spent, None if words is None else float(words[0]), against="anonymeter: three attacks")
    if words is None:
        return [row]
    theirs = np.array(words[1:], dtype=float).reshape(3, 2)
    apart = [
        name for (name, one), (low, high) in zip(ours.items(), theirs, strict=True) if one["low"] > high or low > one["high"]
    ]
    shown = json.dumps({name: [round(one["low"], 3), round(one["high"], 3)] for name, one in ours.items()})
    measured = f"{3 - len(apart)} of 3 intervals meet; ours {shown}, theirs {np.round(theirs, 3).tolist()}"
    return [row, Row("intervals of risk that meet anonymeter's", measured, 3 - len(apart), "3", not apart, "higher", "intervals")]


def _three(trio: Trio) -> dict[str, Any]:
    random = np.random.default_rng(0)
    people, others = (side.rows(random.permutation(len(side))[:_ATTACKS]) for side in (trio.original, trio.control))
    sensitive = trio.names.index(_SENSITIVE)
    named = replace(trio, sensitive=(sensitive,), known=tuple(at for at in trio.known if at != sensitive))
    return {
        "singling_out": singling_out(trio, _ATTACKS, random, _WIDTH),
        "linkability": linkability(trio, people, others),
        "inference": inference(named, people, others, guessed(named, people, others, random)),
    }


def many() -> Row:
    """Distinguish members among 100,000 records from 20,000 other people."""
    random = np.random.default_rng(0)
    adult = unveil.datasets.adult().select(COLUMNS)

    def people(number: int) -> pl.DataFrame:
        drawn: pl.DataFrame = adult[random.integers(0, adult.height, number).tolist()]
        return drawn.with_columns(age=pl.col("age") + pl.Series(random.random(number)))

    original = people(_MANY)
    release = pl.concat([original.head(_MANY // 2), people(_MANY // 2)])
    trio = trio_of(Pair(original, release), open_source(people(_MANY // 5)))
    spent = best_of(1, lambda: membership(trio, np.random.default_rng(0))).processor
    return at_most(f"membership inference on {_MANY:,} records of 10 columns", spent, 60, "s")


def trees() -> Row:
    """Synthesise all of Adult."""
    adult = unveil.datasets.adult()
    spent = best_of(2, lambda: synthesize(adult, adult.columns, seed=1)).processor
    return at_most("synthesis of Adult by trees, 15 columns", spent, 10, "s", note=f"{seconds(spent)} of processor time")
