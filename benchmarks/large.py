"""What `scale` measures, on files as large as its goals: 50 and 100 million records of Parquet, and 10 GB of text.

It takes a quarter of an hour and 15 GB in the temporary folder, so it runs only when it is named.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from benchmarks.rows import Row
from benchmarks.scale import counting, reading_text, rewriting, scanning, write_census

__all__ = ["run"]

_TEXT = 10_000_000_000
"""Bytes."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    with TemporaryDirectory() as folder:
        half, whole, text = (Path(folder, name) for name in ("half.parquet", "whole.parquet", "census.csv"))
        write_census(whole, 100_000_000)
        rows = counting(whole, 100)
        pl.scan_parquet(whole).head(50_000_000).sink_parquet(half)
        rows += [*scanning(half, 50, 30), *rewriting(half, 50)]
        half.unlink()
        records = _write_text(whole, text)
        whole.unlink()
        return [*rows, *reading_text(text, round(records / 1e6))]


def _write_text(source: Path, text: Path) -> int:
    """Write the census as text, over and over, until the file has the size required; return the number of its records."""
    pl.scan_parquet(source).sink_csv(text)
    size, records = text.stat().st_size, 100_000_000
    more = int(records * (_TEXT / size - 1)) + 1
    if more > 0:
        again = text.with_name("again.csv")
        pl.scan_parquet(source).head(more).sink_csv(again, include_header=False)
        with text.open("ab") as end, again.open("rb") as rest:
            shutil.copyfileobj(rest, end, 1 << 20)
        again.unlink()
        records += min(more, records)
    return records
