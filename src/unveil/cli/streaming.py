"""The release of a stream, as the command line asks for it: records in, publications out, until the stream ends or is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.options import give, showing_stages
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.sources import Source
    from unveil.stream.checkpoint import Checkpoint
    from unveil.stream.release import Publication, StreamRelease
    from unveil.stream.sinks import Sink

__all__ = [
    "Delay",
    "Follow",
    "Kept",
    "Person",
    "Reuse",
    "StateFile",
    "Stream",
    "StreamMethod",
    "TimeColumn",
    "is_sink",
    "release_stream",
    "together",
]

Stream = Annotated[bool, typer.Option("--stream", help="Release a stream as it comes (- or files, kafka://, redis://), in time.")]
Delay = Annotated[
    str | None, typer.Option("--delay", metavar="N|TIME", help="With --stream: how long a record may wait, as 1000 or 10s.")
]
Person = Annotated[
    str | None, typer.Option("--person", metavar="COLUMN", help="With --stream: who records are of; k counts persons.")
]
StreamMethod = Annotated[
    str, typer.Option("--method", metavar="NAME", help="With --stream: clusters (CASTLE), or windows by the optimal search.")
]
Reuse = Annotated[bool, typer.Option("--reuse", help="With --stream: a record alone may have an earlier label (weaker).")]
Kept = Annotated[
    list[str] | None, typer.Option("--keep", metavar="COLUMN", help="With --stream: a further column, released as it is.")
]
TimeColumn = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="With --stream: the records' own times, for a --delay in time.")
]
StateFile = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="FILE", help="With --stream: keep the state here, and go on from it.")
]

Follow = Annotated[bool, typer.Option("--follow", help="With --stream: wait for more at the end of the source.")]

_ENDINGS = (".ndjson", ".jsonl")
_INTERVAL = 5.0
"""Seconds between two states kept."""


def is_sink(place: str) -> bool:
    """Whether a place takes records as they come: lines of JSON, a Kafka topic, a Redis stream."""
    return place.endswith(_ENDINGS) or place.startswith(("kafka://", "redis://", "rediss://"))


def release_stream(
    source: str | None,
    asked: Mapping[str, Any],
    trees: tuple[Path | None, Sequence[str] | None],
    *,
    out: Any,
    state: Path | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Release a stream: `asked` holds the options of `StreamRelease` and `missing`, `trees` a folder and files of hierarchies."""
    from unveil.cli.verbs.watch import stopping
    from unveil.sources.streams import StreamOptions, open_records
    from unveil.stream.checkpoint import Checkpoint
    from unveil.stream.release import StreamRelease
    from unveil.stream.sinks import open_sink

    if source is None or asked["delay"] is None or asked["k"] is None or not asked["key"]:
        raise ArgumentError("a stream is released with a source, --key, --k and --delay, the longest that a record may wait.")
    if not isinstance(out, str):
        raise ArgumentError("a stream is released into --out FILE.ndjson, kafka://broker/topic or redis://host/stream.")
    if state is not None and source == "-":
        raise ArgumentError("standard input cannot be read again, so no run goes on from a --checkpoint; name a file or a topic.")
    settings = {name: value for name, value in asked.items() if name not in ("delay", "diverse", "missing")}
    settings["hierarchies"] = _hierarchies(*trees, asked["key"])
    delay = asked["delay"]
    release = StreamRelease(**settings, delay=int(delay) if delay.isdigit() else delay, diverse=_diverse(asked["diverse"]))
    places = {"source": without_credentials(source), "out": without_credentials(out)}
    kept = None if state is None else Checkpoint(state, {**places, **{name: str(value) for name, value in asked.items()}})
    sink = open_sink(out)
    records = open_records(source, StreamOptions(follow=follow, missing=tuple(asked["missing"])))
    run = _Run(release, sink, kept)
    with stopping(run.stop) as heard:
        try:
            run.through(records)
        finally:
            records.close()
            sink.close()
    sys.stderr.write(f"written: {without_credentials(out)}\n")
    give(release.summary(), as_json=as_json, out=None)
    if heard:
        raise typer.Exit(128 + heard[0])


def together(
    people: Source,
    earlier: Source,
    later: Source,
    sides: tuple[Sequence[str] | None, Sequence[str] | None],
    mapping: Sequence[tuple[str, str]],
    trees: Mapping[str, Any],
    *,
    as_json: bool,
    out: Path | None,
) -> None:
    """Attack two releases about the same people, and give the answer."""
    from unveil.stream.sequential import intersect_releases

    keys, secrets = sides
    if not keys or not secrets or len(secrets) != 1:
        raise ArgumentError("two releases are attacked together with --key columns and one --sensitive column; name them.")
    with showing_stages() as progress:
        answer = intersect_releases(
            people, earlier, later, keys, secrets[0], mapping=mapping, hierarchies=trees, progress=progress
        )
    give(answer, as_json=as_json, out=out)


class _Run:
    """A release on its way: what was published, and the state that it goes on from."""

    def __init__(self, release: StreamRelease, sink: Sink, checkpoint: Checkpoint | None) -> None:
        self._release, self._sink, self._checkpoint = release, sink, checkpoint
        self._position: Any = None
        self._stopped = False
        self._written = 0

    def stop(self) -> None:
        """End at the next batch."""
        self._stopped = True

    def through(self, records: Any) -> None:
        """Release all that comes, from where the run before ended."""
        self._resume()
        saved = time.monotonic()
        for batch in records.batches(self._release.columns, self._position):
            now = int(time.time() * 1_000_000)
            if batch is None:
                self._write(self._release.tick(now))
            else:
                self._write(self._release.feed(batch.frame, now))
                self._position = batch.position
            if time.monotonic() - saved >= _INTERVAL:
                self._save()
                saved = time.monotonic()
            if self._stopped:
                break
        if self._stopped and self._checkpoint is not None:
            self._save()  # what waits is kept for the run that goes on
            return
        self._write(self._release.finish())
        self._sink.position()
        if self._checkpoint is not None:
            self._save()

    def _write(self, publications: Iterable[Publication]) -> None:
        for one in publications:
            lines: Sequence[bytes] = one.frame.write_ndjson().encode().splitlines() if one.frame.height else ()
            if lines:
                self._sink.write_all(self._written + 1, lines)
                self._written += len(lines)

    def _save(self) -> None:
        if self._checkpoint is None or self._position is None:
            return
        document, arrays = self._release.state()
        place = {"sink": self._sink.position(), "position": self._position, "written": self._written}
        self._checkpoint.write({**document, **place}, arrays)

    def _resume(self) -> None:
        kept = None if self._checkpoint is None else self._checkpoint.read()
        if kept is None:
            self._sink.go_to(None)
            return
        document, arrays = kept
        self._release.restore(document, arrays)
        self._position, self._written = document["position"], int(document["written"])
        self._sink.go_to(document["sink"])


def _hierarchies(folder: Path | None, files: Sequence[str] | None, key: Sequence[str]) -> dict[str, Any]:
    from unveil.cli import requirements
    from unveil.partitions import Hierarchy

    single = requirements.trees(files, key)
    return single if folder is None else Hierarchy.read_folder(folder, [name for name in key if name not in single]) | single


def _diverse(texts: Sequence[str] | None) -> int:
    """Return l of "distinct:L", the diversity that a stream can be held to."""
    if not texts:
        return 1
    kind, _, number = texts[0].partition(":")
    if len(texts) > 1 or kind != "distinct" or not number.isdigit():
        raise ArgumentError("a stream is released with --l distinct:L, for all sensitive attributes.")
    return int(number)
