"""The record of a release: its treatment, the models that it meets and against whom, and the file to which it belongs.

It is stored beside the release, as ``release.csv.unveil.json``, and may be published with it: it holds no seed, no key, no
figure of the original data, and no hash of that data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil import __version__
from unveil.errors import DataNotFoundError, UnveilError, reason_of, shown
from unveil.formats import jsonable
from unveil.output import atomic_write, file_in_hand, together

if TYPE_CHECKING:
    import os

    from unveil.randomness import Repeatable

__all__ = [
    "Record",
    "RecordMismatchError",
    "inherited",
    "read_record",
    "record_place",
    "recorded",
    "write_recorded",
]

_ENDING = ".unveil.json"


class RecordMismatchError(UnveilError, ValueError):
    """A record that belongs to another file, or a file that is not a record."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read from a file and verified to belong to the release.

    Attributes
    ----------
    content
        The content of the file.
    repeatable
        Who can repeat the draws of the release: nobody (False), a holder of the "key", or, from a "seed", everybody.
    vouched
        The columns that the maker of the release vouched for.
    """

    content: Mapping[str, Any]
    repeatable: Repeatable
    vouched: tuple[str, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Record:
        """Return the record with the content of a file."""
        columns = content.get("columns")
        names = columns.get("vouched_for") if isinstance(columns, Mapping) else None
        vouched = names if isinstance(names, list) else ()
        return cls(content, content["repeatable"], tuple(name for name in vouched if isinstance(name, str)))


def recorded(
    made_by: str | Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    records: int,
    models: Sequence[Mapping[str, Any]],
    repeatable: Repeatable,
    columns: Mapping[str, Sequence[Any]],
    guarantee: str | None = None,
) -> dict[str, Any]:
    """Return the record of a release that is not yet written, and therefore without a checksum.

    Parameters
    ----------
    made_by, settings
        The mechanism, by name or step by step, and its settings.
    records
        The number of its records.
    models
        The models that it had to meet: name, requirement, figure, whether it is met, and against whom.
    repeatable
        Who can repeat its draws.
    columns
        The columns that were `kept` and those `left_out` (each with the reason); and, among those kept, those `vouched_for` by
        the user and those `never_measured`, with the number of persons or records of the release that each singles out.
    guarantee
        Its guarantee, if that is not a model, such as differential privacy.
    """
    plain = jsonable({"settings": settings, "models": models})
    return {
        "unveil": __version__,
        "made_by": made_by,
        "settings": plain["settings"],
        "records": records,
        "models": plain["models"],
        "guarantee": guarantee,
        "repeatable": repeatable,
        "columns": {name: list(columns.get(name, ())) for name in ("kept", "left_out", "vouched_for", "never_measured")},
    }


def record_place(release: str | os.PathLike[str]) -> Path:
    """Return the path of the record of a release.

    Examples
    --------
    >>> record_place("out/release.csv").name
    'release.csv.unveil.json'
    """
    return Path(f"{release}{_ENDING}")


def write_recorded(path: str | os.PathLike[str], record: Mapping[str, Any], write: Callable[[], None] | None = None) -> None:
    """Write a release and, beside it, its record with the checksum of the release; both or neither.

    Without a function that writes the release, it must already exist.
    """
    with together():
        if write is not None:
            write()
        with file_in_hand(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        content = {**record, "file": Path(path).name, "sha256": digest}
        with atomic_write(record_place(path)) as out:
            out.write(
                (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(errors="backslashreplace")
            )


def read_record(place: str | os.PathLike[str], release: str | os.PathLike[str]) -> Record:
    """Read a record, and refuse one that does not belong to this release.

    Raises
    ------
    DataNotFoundError
        If one of the two files does not exist.
    RecordMismatchError
        If the file is not a record, or the release is not the file with which it was written.
    """
    try:
        content = json.loads(Path(place).read_bytes())
        with Path(release).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataNotFoundError(f"{shown(error.filename)} cannot be read: {reason_of(error)}.") from None
    except (ValueError, RecursionError):
        raise RecordMismatchError(f"{shown(place)} is not a record of a release.") from None
    mark = content.get("repeatable") if isinstance(content, dict) else None
    if mark is not False and mark not in ("key", "seed"):  # 0 equals False, but is not a valid mark
        raise RecordMismatchError(f"{shown(place)} is not a record of a release.")
    if content.get("sha256") != digest:
        names = f"the record {shown(Path(place).name)} does not belong to {shown(Path(release).name)}"
        raise RecordMismatchError(f"{names}: the checksums differ.")
    return Record.of(content)


def inherited(place: str) -> Repeatable:
    """Return who can repeat the draws of data that is itself a release, according to its record; False without a record.

    A release made from such data can be undone to that extent: fresh draws in a second step do not compensate the first seed.
    """
    try:
        return read_record(record_place(place), place).repeatable if record_place(place).is_file() else False
    except (DataNotFoundError, RecordMismatchError, OSError, ValueError):
        return False
