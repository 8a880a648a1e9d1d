"""The release of a stream, as the command line asks for it: records in, publications out, until the stream ends or is stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.groups import refuse_without
from unveil.cli.options import give
from unveil.cli.watch_options import Setting, SettingsFile, client_settings
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.cli.model_options import ModelOptions
    from unveil.cli.releases import DrawOptions, ReleaseOptions, TableOptions
    from unveil.stream.checkpoint import Checkpoint
    from unveil.stream.release import StreamRelease

__all__ = ["StreamingOptions", "is_sink"]

_ENDINGS = (".ndjson", ".jsonl")


def is_sink(place: str) -> bool:
    """Whether a place takes records as they come: lines of JSON, a Kafka topic, a Redis stream."""
    return place.endswith(_ENDINGS) or place.startswith(("kafka://", "redis://", "rediss://"))


@dataclass(frozen=True, slots=True)
class StreamingOptions:
    """Whether a stream is released, and how long its records may wait."""

    stream: Annotated[
        bool, typer.Option("--stream", help="Release a stream as it arrives (- or files, kafka://, redis://), within --delay.")
    ] = False
    delay: Annotated[
        str | None,
        typer.Option("--delay", metavar="N|TIME", help="With --stream: how long a record may wait, such as 1000 or 10s."),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="clusters|windows", help="With --stream: clusters (CASTLE), or windows by the optimal search."
        ),
    ] = "clusters"
    reuse: Annotated[
        bool, typer.Option("--reuse", help="With --stream: a record on its own may reuse an earlier label (weaker).")
    ] = False
    time: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="With --stream: the records' own times, for a --delay in time.")
    ] = None
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="With --stream: keep the state here, and resume from it.")
    ] = None
    follow: Annotated[bool, typer.Option("--follow", help="With --stream: wait for more at the end of the source.")] = False
    setting: Setting = None
    settings_file: SettingsFile = None

    def wanted(self) -> bool:
        """Return whether a stream is released; if not, refuse the options that only a stream has."""
        if not self.stream:
            refuse_without(
                "--stream", self, "delay", "method", "reuse", "time", "checkpoint", "follow", "setting", "settings_file"
            )
        return self.stream

    def released(
        self, table: TableOptions, models: ModelOptions, draws: DrawOptions, to: ReleaseOptions, *, as_json: bool
    ) -> None:
        """Release a stream until it ends or is stopped."""
        from unveil.cli.watching import stopping
        from unveil.sources.streams import StreamOptions, open_records
        from unveil.stream.release_run import ReleaseRun
        from unveil.stream.sinks import open_sink

        source, out = self._checked(table, models, to)
        release, kept = self._begun(source, out, table, models, draws)
        client = client_settings(self.setting, self.settings_file)
        sink = open_sink(out, client)
        records = open_records(source, StreamOptions(self.follow, tuple(table.reading.missing or ()), client))
        run = ReleaseRun(release, sink, kept)
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

    def _checked(self, table: TableOptions, models: ModelOptions, to: ReleaseOptions) -> tuple[str, str]:
        """Return where the records come from and go to, or say what is missing."""
        if table.data is None or self.delay is None or models.k is None or not table.key:
            raise ArgumentError("releasing a stream needs a source, --key, --k and --delay, the longest that a record may wait.")
        if not isinstance(to.out, str):
            raise ArgumentError("a stream is released into --out FILE.ndjson, kafka://broker/topic or redis://host/stream.")
        if self.checkpoint is not None and table.data == "-":
            raise ArgumentError(
                "standard input cannot be read again, so no run can resume from a --checkpoint; name a file or a topic."
            )
        return table.data, to.out

    def _begun(
        self, source: str, out: str, table: TableOptions, models: ModelOptions, draws: DrawOptions
    ) -> tuple[StreamRelease, Checkpoint | None]:
        """Return the release, before its first record, and what keeps its state."""
        from unveil.stream.checkpoint import Checkpoint
        from unveil.stream.release import StreamRelease

        delay = self.delay or ""
        settings: dict[str, Any] = {
            "key": table.key, "sensitive": table.sensitive, "k": models.k, "diverse": _diverse(models.l_diversity),
            "delay": int(delay) if delay.isdigit() else delay, "person": table.person, "time": self.time, "method": self.method,
            "reuse": self.reuse, "keep": table.keep or (), "seed": draws.seed, "key_file": draws.key_file,
        }  # fmt: skip
        hierarchies = _hierarchies(models.hierarchy_dir, models.hierarchy, table.key or ())
        release = StreamRelease(**settings, hierarchies=hierarchies)
        if self.checkpoint is None:
            return release, None
        places = {
            "source": without_credentials(source),
            "out": without_credentials(out),
            "missing": str(table.reading.missing or ()),
        }
        return release, Checkpoint(self.checkpoint, {**places, **{name: str(value) for name, value in settings.items()}})


def _hierarchies(folder: Path | None, files: Sequence[str] | None, key: Sequence[str]) -> dict[str, Any]:
    from unveil.cli import model_options
    from unveil.partitions import Hierarchy

    single = model_options.named_hierarchies(files, key)
    return single if folder is None else Hierarchy.read_folder(folder, [name for name in key if name not in single]) | single


def _diverse(texts: Sequence[str] | None) -> int:
    """Return l of "distinct:L", the only diversity that a stream can be held to."""
    if not texts:
        return 1
    kind, _, number = texts[0].partition(":")
    if len(texts) > 1 or kind != "distinct" or not number.isdigit():
        raise ArgumentError("a stream can be held to --l distinct:L only, for all sensitive attributes.")
    return int(number)
