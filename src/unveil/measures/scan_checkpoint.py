"""The checkpoint of a scan: a file of the subsets done so far, tied to its data and its question.

The file is replaced as a whole, so a process that is killed leaves the previous one. It holds column names and rates, no data
values.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unveil.counts import Counts
from unveil.errors import ArgumentError, DataFileError, OutputError, reason_of
from unveil.output import atomic_write, check_replaceable
from unveil.run import active_run

__all__ = ["ScanCheckpoint", "default_place"]

_SHARE = 20
"""Writing takes at most one part in this many of the time."""
_FORM = "unveil scan checkpoint 1"


@dataclass(slots=True)
class ScanCheckpoint:
    """The file of a scan's subsets done so far.

    Parameters
    ----------
    path
        The file.
    question
        All settings that the result depends on, besides the counts of the data; a file made for another question is refused.
    resume
        Whether to continue from a file that exists; otherwise such a file is refused, as it may still be needed.
    """

    path: Path
    question: Mapping[str, Any]
    resume: bool
    _due: float = field(default_factory=lambda: time.monotonic() + active_run().limits.checkpoint_every)

    def __post_init__(self) -> None:
        """Before any work is done, refuse a path that cannot be written to, and a file that must not be overwritten."""
        check_replaceable(self.path)
        if self.path.exists() and not self.resume:
            raise ArgumentError(
                f"the checkpoint {str(self.path)!r} exists already; continue from it (resume), remove it, or name another."
            )

    def load(self, counts: Counts) -> dict[int, list[Any]]:
        """Return the figures of the subsets done, by their number; none if there is no file."""
        self.question = {**self.question, "counts": _digest(counts)}
        if not self.path.exists():
            return {}
        held = self._read()
        if held["question"] != self.question:
            before = held["question"]
            other = sorted(name for name in {*before, *self.question} if before.get(name) != self.question.get(name))
            raise ArgumentError(
                f"the checkpoint {str(self.path)!r} was made for another scan: {', '.join(other)} changed since; remove "
                "it, or name another."
            )
        return {int(mask): figures for mask, *figures in held["subsets"]}

    def keep(self, rows: Mapping[int, list[Any]], *, now: bool = False) -> None:
        """Write the subsets done, if enough time has passed since they were last written."""
        start = time.monotonic()
        if start < self._due and not now:
            return
        subsets = [[mask, *figures] for mask, figures in list(rows.items())]
        with atomic_write(self.path) as file:
            file.write(json.dumps({"form": _FORM, "question": self.question, "subsets": subsets}).encode())
        every = active_run().limits.checkpoint_every
        self._due = time.monotonic() + (max(every, _SHARE * (time.monotonic() - start)) if every else 0.0)

    def remove(self) -> None:
        """Remove the file; the scan is done."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"the checkpoint {str(self.path)!r} cannot be removed: {reason_of(error)}.") from None

    def _read(self) -> dict[str, Any]:
        try:
            held = json.loads(self.path.read_bytes())
            if held["form"] == _FORM and isinstance(held["question"], dict) and isinstance(held["subsets"], list):
                return dict(held)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise DataFileError(
            f"{self.path}: this is not a checkpoint of a scan, or it is damaged; remove it, or name another file."
        )


def default_place(place: str) -> Path:
    """Return the default place of the checkpoint for the scan of a file, which is beside the file."""
    if not Path(place).exists():
        raise ArgumentError(f"{place} is not a file, so name one (`checkpoint`) to continue the scan later.")
    return Path(f"{place.rstrip('/')}.unveil-scan")


def _digest(counts: Counts) -> str:
    """Return a fingerprint of the combinations and of how often each occurs."""
    digest = hashlib.blake2b(digest_size=16)
    for column in counts.columns:
        digest.update(f"{column.name}\0{len(column.values)}\0".encode())
    for array in (*counts.codes, counts.n, counts.mass):
        digest.update(array.tobytes())
    return digest.hexdigest()
