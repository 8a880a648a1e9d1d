"""Audit synthetic files with a hold-out: columns shuffled apart, records from trees, and a file that is half copied."""

import numpy as np
import polars as pl

import unveil
from unveil.mechanisms import synthesize

COLUMNS = ["age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "hours-per-week"]
RECORDS, HELD_OUT = 5_000, 4_000
HEADLINES = ("discrimination_rate", "singling_out", "linkability", "inference", "membership")

random = np.random.default_rng(7)
people = unveil.datasets.adult().select(COLUMNS)  # the path of your file
order = random.permutation(people.height)
original, holdout = people[order[:RECORDS].tolist()], people[order[RECORDS : RECORDS + HELD_OUT].tolist()]

independent = pl.DataFrame({name: original[name].gather(random.permutation(RECORDS)) for name in COLUMNS})
trees = synthesize(original, COLUMNS, leaf=5, copy_check=False, seed=1).data  # as such trees are often grown
copied = pl.concat([original.head(RECORDS // 2), trees.head(RECORDS // 2)])

for name, table in {"original": original, "holdout": holdout}.items():
    table.write_csv(f"{name}.csv")
for name, table in {"independent": independent, "trees": trees, "copied": copied}.items():
    table.write_csv(f"{name}.csv")
    found = unveil.attack("original.csv", f"{name}.csv", control="holdout.csv").to_dict()
    print(f"{name}: {found['copies']['unique']['share']:.1%} of the unique people are in the file")
    for headline in HEADLINES:
        part = found[headline]
        print(f"  {headline:<20}{part.get('risk', part.get('value')):.3f} ({part['low']:.3f} to {part['high']:.3f})")
