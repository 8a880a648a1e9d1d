"""Records of what was measured, where and when: figures as JSON, and which of them are worse than those stored before."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import unveil
from benchmarks.rows import Row

__all__ = ["LATEST", "STORED", "accept", "machine", "read", "recorded", "slow_downs", "write"]

LATEST = Path("build/bench.json")
"""The figures of the last run."""
STORED = Path(__file__).with_name("stored.json")
"""The figures accepted last; the page is made from them."""
_WORSE = 1.3

Record = dict[str, Any]
"""A part's figures, with the machine, the day and the version they were measured with."""


def recorded(rows: Sequence[Row]) -> Record:
    """Return a part's rows with where and when they were measured."""
    return {
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "version": unveil.__version__,
        "rows": [row.to_dict() for row in rows],
    }


def machine() -> str:
    """Say in a line what the figures were measured on."""
    models = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    kilobytes = [int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    memory = f", {kilobytes[0] / (1 << 20):.0f} GB of memory" if kilobytes else ""
    processor = models[0] if models else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores{memory}, {platform.system()}, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def read(path: Path) -> dict[str, Record]:
    """Return the parts recorded in a file; none if there is no file."""
    parts: dict[str, Record] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return parts


def write(path: Path, parts: Mapping[str, Record]) -> None:
    """Write the parts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")


def accept(latest: Mapping[str, Record], stored: Mapping[str, Record]) -> dict[str, Record]:
    """Return the stored parts with those of the latest run in their place."""
    return {**stored, **latest}


def slow_downs(latest: Mapping[str, Record], stored: Mapping[str, Record]) -> Iterator[str]:
    """Name each figure that is worse by more than 30 %; times and sizes are compared only if the machine is the same."""
    for part, record in latest.items():
        before = stored.get(part, {"machine": "", "rows": []})
        old = {row["what"]: row for row in before["rows"]}
        for row in record["rows"]:
            was = old.get(row["what"])
            alike = row["unit"] == "times" or record["machine"] == before["machine"]
            if was is not None and alike and _worse(row, was):
                yield f"{part}: {row['what']}: {row['measured']}; stored: {was['measured']}"


def _worse(row: Mapping[str, Any], was: Mapping[str, Any]) -> bool:
    now, then = row["value"], was["value"]
    if now is None or then is None:
        return False
    return bool(now > _WORSE * then if row["better"] == "lower" else then > _WORSE * now)
