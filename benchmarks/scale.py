"""Files that stream: a synthetic census of 2 million records, made by a seeded generator, counted, scanned, rewritten and read.

Every job runs in a process of its own, so that its memory can be measured. The part `large` runs the same jobs on large files.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.rows import Row, at_most, seconds, slower

KEYS = (
    "municipality", "birth_year", "sex", "race", "stage", "school_type",
    "zone", "disability", "nationality", "transport", "shift",
)  # fmt: skip
SENSITIVE = "special_needs"
_CHUNK = 1_000_000
_SIX = ("municipality", "birth_year", "sex", "race", "stage", "disability")
_JOB = """
import sys, time
sys.path.insert(0, {root!r})
{before}
wall, processor = time.perf_counter(), time.process_time()
{job}
wall, processor = time.perf_counter() - wall, time.process_time() - processor
most = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(wall, processor, int(most.split()[1]) // 1024)
"""
_DUCKDB = "import duckdb; duckdb.sql('set enable_progress_bar = false')"
_GROUP_BY = "duckdb.sql('create temp table found as select {columns}, count(*) n from read_parquet(\\'{path}\\') group by all')"
_READ = "with open({path!r}, 'rb') as file:\n    while file.read(1 << 20): pass"
_STREAMED = "import unveil; unveil.Run(limits=unveil.Limits(stream_from=0)).__enter__()"


def census(records: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield a synthetic school census in chunks: 11 key attributes and a sensitive one, skewed and dependent as in real data."""
    random = np.random.default_rng(seed)
    places = zipf(5570, 1.1)
    place_names = np.array([f"M{code:07d}" for code in random.permutation(5570) * 397 % 9_999_991])
    favoured = random.integers(0, 5, 5570)  # the race that is most common in a place
    for start in range(0, records, _CHUNK):
        rows = min(_CHUNK, records - start)
        place = random.choice(5570, rows, p=places)
        age = np.clip(random.gamma(6.0, 2.0, rows).astype(np.int64), 0, 70)
        stage = np.clip(age + random.choice([-1, 0, 0, 0, 0, 0, 0, 1], rows), 0, 21) // 2
        race = np.where(random.random(rows) < 0.7, favoured[place], random.choice(5, rows, p=[0.4, 0.4, 0.12, 0.05, 0.03]))
        rural = random.random(rows) < 0.05 + 0.3 * (place > 500)
        disability = np.where(random.random(rows) < 0.985, 0, 1 + random.choice(8, rows, p=zipf(8, 1.0)))
        nation = np.where(random.random(rows) < 0.995, 0, 1 + random.choice(60, rows, p=zipf(60, 1.3)))
        private = random.random(rows) < 0.18 * ~rural
        transport = np.where(random.random(rows) < np.where(rural, 0.6, 0.05), 1, 0)
        yield pl.DataFrame(
            {
                "municipality": place_names[place],
                "birth_year": 2018 - age,
                "sex": np.array(["F", "M"])[random.integers(0, 2, rows)],
                "race": np.array(["white", "mixed", "black", "yellow", "indigenous"])[race],
                "stage": np.array([f"stage {at:02d}" for at in range(11)])[stage],
                "school_type": np.array(["state", "municipal", "federal", "private"])[
                    np.where(private, 3, random.choice(3, rows, p=[0.55, 0.43, 0.02]))
                ],
                "zone": np.array(["urban", "rural"])[rural.astype(np.int64)],
                "disability": np.array(["none", *(f"kind {at}" for at in range(8))])[disability],
                "nationality": np.array(["BR", *(f"N{at:02d}" for at in range(60))])[nation],
                "transport": transport.astype(np.int64),
                "shift": np.array(["day", "night"])[(random.random(rows) < np.where(age > 17, 0.5, 0.02)).astype(np.int64)],
                SENSITIVE: np.array(["no", "yes"])[(random.random(rows) < np.where(disability > 0, 0.7, 0.01)).astype(np.int64)],
            }
        )


def zipf(size: int, power: float) -> NDArray[np.float64]:
    """Return shares that fall with a power of the rank."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -power
    return np.asarray(weights / weights.sum())


def write_census(path: Path, records: int) -> None:
    """Write the census to one Parquet file, one row group per chunk."""
    import pyarrow.parquet as pq

    writer = None
    for chunk in census(records):
        table = chunk.to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    with TemporaryDirectory() as folder:
        path, text = Path(folder, "census.parquet"), Path(folder, "census.csv")
        write_census(path, 2_000_000)
        rows = [*counting(path, 2), *scanning(path, 2), *rewriting(path, 2)]
        pl.scan_parquet(path).sink_csv(text)
        return [*rows, *reading_text(text, 2)]


def counting(path: Path, millions: float) -> list[Row]:
    """Count six columns of a Parquet file, against DuckDB's own group-by over the same file and a plain read of it."""
    columns = ", ".join(_SIX)
    theirs = measured(_DUCKDB, _GROUP_BY.format(columns=columns, path=path))
    warm = path.with_name("warm.parquet")
    write_census(warm, 1000)
    ready = f"import unveil; {_STREAMED}; unveil.count({str(warm)!r}, {list(_SIX)!r})"
    ours = measured(ready, f"unveil.count({str(path)!r}, {list(_SIX)!r})")
    what = f"count of 6 columns of {millions:g} million records of Parquet"
    return [
        slower(f"{what}, against DuckDB's group-by", ours[1], theirs[1], against="DuckDB: Parquet", most=3),
        slower(f"{what}, against a plain read of the bytes", ours[1], measured("", _READ.format(path=str(path)))[1]),
        at_most(f"{what}, memory", ours[2], 1000, "MB", note=f"DuckDB {theirs[2]:,.0f} MB"),
    ]


def scanning(path: Path, millions: float, most: float = 5) -> list[Row]:
    """Scan all 2,047 subsets of 11 attributes against record identity and a sensitive attribute, within so many seconds."""
    wall, processor, memory = measured(
        f"import unveil; {_STREAMED}", f"unveil.scan({str(path)!r}, {list(KEYS)!r}, {SENSITIVE!r})"
    )
    what = f"2,047 subsets of 11 attributes, {millions:g} million records of Parquet"
    return [
        at_most(f"{what}, wall time", wall, most, "s", note=f"{seconds(processor)} of processor time"),
        at_most(f"{what}, memory", memory, 12_000, "MB"),
    ]


def rewriting(path: Path, millions: float) -> list[Row]:
    """Anonymise from Parquet file to Parquet file, against a shuffled copy of the file in memory."""
    out, keys = str(path.with_name("release.parquet")), list(_SIX[1:])
    theirs = measured(
        "import polars as pl",
        f"pl.read_parquet({str(path)!r}).sample(fraction=1.0, shuffle=True, seed=0).write_parquet({out!r})",
    )
    ours = measured(
        f"import unveil; from unveil.models import KAnonymity; {_STREAMED}",
        f"unveil.anonymize({str(path)!r}, {keys!r}, [KAnonymity(5)], out={out!r}, suppression=0.05)",
    )
    what = f"5-anonymity with 5 keys of {millions:g} million records, from Parquet to Parquet"
    return [
        slower(f"{what}, against Polars' shuffled copy in memory", ours[1], theirs[1]),
        at_most(f"{what}, memory", ours[2], 2000, "MB", note=f"Polars {theirs[2]:,.0f} MB"),
    ]


def reading_text(path: Path, millions: float) -> list[Row]:
    """Measure a rate on a text file, its memory, and its speed against Polars and a plain read of the same bytes."""
    columns = [*_SIX[:4], SENSITIVE]
    polars = measured(
        "import polars as pl", f"pl.scan_csv({str(path)!r}).group_by({columns!r}).len().collect(engine='streaming')"
    )
    job = f"unveil.discrimination_rate({str(path)!r}, {list(_SIX[:4])!r}, {SENSITIVE!r})"
    _, processor, memory = measured(f"import unveil; {_STREAMED}", job)
    what = f"rate from 5 columns of {millions:g} million records of text ({path.stat().st_size / 1e9:.2f} GB)"
    return [
        slower(f"{what}, against Polars' group-by", processor, polars[1], against="Polars: text"),
        slower(f"{what}, against a plain read of the bytes", processor, measured("", _READ.format(path=str(path)))[1]),
        at_most(f"{what}, memory", memory, 1000, "MB", note=f"Polars {polars[2]:,.0f} MB"),
    ]


def measured(before: str, job: str) -> tuple[float, float, float]:
    """Run a job in a process of its own; return its wall and processor seconds and its megabytes."""
    code = _JOB.format(root=str(Path(__file__).resolve().parent.parent), before=before, job=job)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    wall, processor, memory = map(float, done.stdout.split()[-3:])
    return wall, processor, memory
