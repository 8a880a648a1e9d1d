"""Searches in tables whose records are nearly all different: a million records in memory, and 10 million of Parquet.

Every job runs in a process of its own, so that its memory can be measured. The part takes minutes, so it runs only when named.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, at_most, seconds
from benchmarks.scale import measured, zipf

__all__ = ["KEYS", "people", "run", "trees"]

KEYS = ("age", "postcode", "sex", "education", "marital", "country", "occupation")
_CHUNK = 1_000_000
_BEFORE = """
import unveil
import polars as pl
from benchmarks.distinct import KEYS, people, trees
from unveil.models import KAnonymity
k, known = [KAnonymity(5)], trees()
need = unveil.Need("treatment", target="disease", given=["age", "education"], at_least=0.02)
unveil.{job}
"""
_FRONT = "anonymize_front({data}, known, need, sensitive='disease', models=k)"
_SUPPRESSED = _FRONT.replace("models=k", "models=k, suppression=0.02")
_LOCAL = "recode_locally({data}, known, k)"


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*in_hand(), from_parquet()]


def people(records: int, seed: int = 0) -> pl.DataFrame:
    """Return people with seven key attributes and a disease; among a million, nearly all differ."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(5.0, 8.0, records).astype(np.int64), 0, 99)
    codes = {
        "postcode": (np.random.default_rng(0).permutation(1000), random.choice(1000, records, p=zipf(1000, 0.7))),
        "sex": (range(2), random.integers(0, 2, records)),
        "education": (range(16), np.clip(age // 6 + random.integers(-3, 4, records), 0, 15)),
        "marital": (range(7), random.choice(7, records, p=zipf(7, 0.8))),
        "country": (range(40), random.choice(40, records, p=zipf(40, 1.5))),
        "occupation": (range(15), random.integers(0, 15, records)),
        "disease": (range(20), np.clip(age // 8 + random.integers(-6, 7, records), 0, 19)),
    }
    return pl.DataFrame(
        {"age": age, **{name: np.array([f"{one:03d}" for one in some])[at] for name, (some, at) in codes.items()}}
    )


def trees() -> dict[str, unveil.Hierarchy]:
    """Return a hierarchy for every key attribute: 3,240 generalisations in all."""
    widths = {
        "age": (5, 10, 20),
        "postcode": (10, 100),
        "sex": (),
        "education": (4,),
        "marital": (3,),
        "country": (8,),
        "occupation": (5,),
    }
    sizes = dict(zip(KEYS, (100, 1000, 2, 16, 7, 40, 15), strict=True))
    return {
        name: unveil.Hierarchy(
            name,
            [
                [
                    str(at) if name == "age" else f"{at:03d}",
                    *(f"{at // width * width} to {at // width * width + width - 1}" for width in widths[name]),
                    "*",
                ]
                for at in range(size)
            ],
        )
        for name, size in sizes.items()
    }


def in_hand() -> list[Row]:
    """Find the front of a million records that are nearly all distinct, and recode them locally."""
    rows, front = [], "front of releases, 3,240 generalisations"
    jobs = {front: _FRONT, f"{front}, 2 % suppressed": _SUPPRESSED, "local recoding along hierarchies": _LOCAL}
    for what, job in jobs.items():
        before = _BEFORE.format(job=job.format(data="people(5000)")) + "\nlarge = people(1_000_000)"
        wall, processor, memory = measured(before, "unveil." + job.format(data="large"))
        note = f"{seconds(processor)} of processor time, {memory:,.0f} MB"
        rows.append(at_most(f"{what}, k = 5, a million distinct records, wall time", wall, 60, "s", note=note))
    return rows


def from_parquet(millions: int = 10) -> Row:
    """Search the lattice over all combinations of Parquet records; the memory beyond that of a small table, against the count."""
    import pyarrow.parquet as pq

    with TemporaryDirectory() as folder:
        path, small = Path(folder, "people.parquet"), Path(folder, "small.parquet")
        writer = None
        for seed in range(millions):
            chunk = people(_CHUNK, seed).to_arrow()
            writer = writer or pq.ParquetWriter(path, chunk.schema)
            writer.write_table(chunk)
        if writer is not None:
            writer.close()
        people(5000).write_parquet(small)
        streamed = "unveil.Run(limits=unveil.Limits(stream_from=0)).__enter__(); "
        search = streamed + "unveil.anonymize({path!r}, known, k, suppression=0.05, dry_run=True)"
        count = streamed + "unveil.count({path!r}, KEYS)"
        before = _BEFORE.format(job="__version__")
        base, counted = measured(before, search.format(path=str(small)))[2], measured(before, count.format(path=str(path)))[2]
        wall, processor, memory = measured(before, search.format(path=str(path)))
        note = f"{seconds(wall)}, {seconds(processor)} of processor time, {memory - base:,.0f} MB beyond a small table"
    what = f"5-anonymity with 7 keys, {millions} million distinct records of Parquet, memory against the count alone"
    return at_most(what, (memory - base) / (counted - base), 1.1, "times", note=note)
