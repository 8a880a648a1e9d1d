"""The options of the verb watch, in groups: the window, the stream, the alarms, and the files that a run keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.options import Json, Key, Missing, NullPolicy, Out, PartitionFile, ProjectFile, Sensitive, pair_of
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.attributes import Role
    from unveil.project import Need, Project
    from unveil.sources import StreamOptions
    from unveil.stream import Checkpoint, Judge, Window

__all__ = [
    "AlarmOptions",
    "KeepingOptions",
    "Setting",
    "SettingsFile",
    "ShowingOptions",
    "StreamSourceOptions",
    "WindowOptions",
    "client_settings",
]

_OF_A_SAMPLE = "the window holds more combinations of values than its limit, and a rule is not judged by a sample of them"

Setting = Annotated[
    list[str] | None, typer.Option("--setting", metavar="NAME=VALUE", help="A property of the Kafka client; repeat it.")
]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings-file", metavar="FILE", help="Properties of the Kafka client, one NAME=VALUE per line.")
]


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """The measured figures, and their window."""

    key: Key = None
    key_set: Annotated[
        list[str] | None,
        typer.Option("--key-set", metavar="COLUMN,...", help="Another key, measured in addition to the first; repeat it."),
    ] = None
    sensitive: Sensitive = None
    window: Annotated[
        str, typer.Option("--window", metavar="N|TIME|all", help="The last N records, or those of the last 30s, 15m, 1h, 7d.")
    ] = "10000"
    every: Annotated[
        str | None, typer.Option("--every", metavar="N|TIME", help="When figures are due; default: ten times per window.")
    ] = None
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="The column with the records' own times; a window by time needs it."),
    ] = None
    lateness: Annotated[str, typer.Option(metavar="TIME", help="How late a record may come and still count.")] = "0s"
    late: Annotated[str, typer.Option(metavar="drop|add", help="What happens to later ones: drop, or add from then on.")] = "drop"
    person: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of persons: figures then count persons.")] = (
        None
    )
    partition: PartitionFile = None
    derive: Annotated[
        list[str] | None,
        typer.Option(
            "--derive", metavar="NAME=RULE(...)", help="A column made from others: cell(lat,lon,12), hours(when,6), ..."
        ),
    ] = None
    need: Annotated[
        list[str] | None, typer.Option("--need", metavar="TEXT", help="A need, such as 'NAME: TARGET given A, B at least 0.1'.")
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The most combinations of values to hold; estimates beyond.")
    ] = None
    nulls: NullPolicy = None
    project: ProjectFile = None

    @property
    def plan(self) -> Project | None:
        """The project, if one is named."""
        from unveil.project import Project

        return None if self.project is None else Project.read(self.project)

    def key_sets(self, plan: Project | None) -> list[list[str]]:
        """Return every set of key columns."""
        first = list(self.key or _role(plan, "key"))
        sets = [first, *([name.strip() for name in text.split(",")] for text in self.key_set or ())]
        if not any(sets):
            raise ArgumentError.no_key()
        return [one for one in sets if one]

    def settings(self, plan: Project | None) -> dict[str, Any]:
        """Return the arguments of the window."""
        from unveil.stream import parse_derived

        sets, sensitive = self.key_sets(plan), self.sensitive or _role(plan, "sensitive")
        columns = [name for one in sets for name in one] + list(sensitive)
        return {
            "key": sets,
            "sensitive": sensitive or None,
            **_extent(self.window, self.every, timed=self.time is not None),
            "time": self.time,
            "lateness": self.lateness,
            "late": self.late,
            "person": self.person or next(iter(_role(plan, "person")), None),
            "partitions": _partitions(self.partition, plan, columns),
            "derived": dict(parse_derived(text) for text in self.derive or ()),
            "needs": _needs(self.need, plan),
            "nulls": self.nulls or (plan.data.nulls if plan is not None else None) or "category",
            **({} if self.limit is None else {"limit": self.limit}),
        }


@dataclass(frozen=True, slots=True)
class StreamSourceOptions:
    """The source of the records, and the way in which they are read."""

    source: Annotated[
        str,
        typer.Argument(
            help="'-', a growing file (NDJSON, CSV), a folder of Parquet files, kafka://broker/topic, redis://host/stream.",
            show_default=False,
        ),
    ]
    missing: Missing = None
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Whether to wait for more at the end of the source.")] = (
        True
    )
    from_now: Annotated[bool, typer.Option("--from-now", help="Read only what comes from now on (topics and streams).")] = False
    setting: Setting = None
    settings_file: SettingsFile = None
    avro: Annotated[
        Path | None, typer.Option("--avro", metavar="SCHEMA", help="Messages are records in Avro, of this schema.")
    ] = None

    def options(self, plan: Project | None) -> StreamOptions:
        """Return the settings for reading the stream; texts that represent a null in the project's data also do so in it."""
        from unveil.sources import StreamOptions

        client = client_settings(self.setting, self.settings_file)
        missing = tuple(self.missing or () if plan is None else self.missing or plan.data.missing)
        return StreamOptions(self.follow, missing, client, self.avro, from_start=not self.from_now)


@dataclass(frozen=True, slots=True)
class AlarmOptions:
    """The causes of an alarm, and its action."""

    alarm: Annotated[
        list[str] | None, typer.Option("--alarm", metavar="TEXT", help="A condition, such as 'dr > 0.8' or 'k < 5 until 7'.")
    ] = None
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE|PRESET", help="A policy, each rule of which is an alarm.")
    ] = None
    alarm_command: Annotated[
        str | None,
        typer.Option("--alarm-command", metavar="COMMAND", help="Run when an alarm is raised, with the JSON line as its input."),
    ] = None
    stop_on_alarm: Annotated[bool, typer.Option("--stop-on-alarm", help="End the run, with exit code 1, at the first alarm.")] = (
        False
    )

    def judge(self, plan: Project | None, settings: Mapping[str, Any]) -> Judge | None:
        """Return the judge of a window by the rules of a policy, if there is a policy."""
        from unveil.assess import check, policy_of

        if self.policy is None and (plan is None or not plan.policy):
            return None
        policy = policy_of(self.policy)[0] if self.policy is not None else plan.policy if plan is not None else None

        def judge(window: Window) -> dict[str, bool | str]:
            if window.share < 1.0:
                rules = () if policy is None else policy.in_force()
                return {f"{rule.name} {rule.requirement}": _OF_A_SAMPLE for rule in rules}
            verdict = check(
                window.frame(), policy, key=settings["key"][0], sensitive=settings["sensitive"], person=settings["person"]
            )
            return {
                f"{outcome.rule.name} {outcome.rule.requirement} ({outcome.of})": outcome.why or "it is not decided"
                if outcome.met is None
                else not outcome.met
                for outcome in verdict.outcomes
            }

        return judge


@dataclass(frozen=True, slots=True)
class KeepingOptions:
    """The files that a run keeps: its lines, the unreadable input, and its state."""

    lines: Annotated[
        str | None, typer.Option("--lines", metavar="SINK", help="Append the JSON lines to a file, kafka://... or redis://...")
    ] = None
    malformed: Annotated[
        str | None,
        typer.Option("--malformed", metavar="SINK", help="Write records that cannot be read here; default: only count them."),
    ] = None
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="Keep the state here; the same command then resumes.")
    ] = None
    checkpoint_every: Annotated[str, typer.Option("--checkpoint-every", metavar="TIME", help="How often to save it.")] = "5s"

    def kept(self, source: str, settings: Mapping[str, Any], alarms: AlarmOptions) -> Checkpoint | None:
        """Return the checkpoint of the state, if one is kept."""
        from unveil.stream import Checkpoint

        if self.checkpoint is None:
            return None
        if source == "-":
            raise ArgumentError(
                "standard input cannot be read again, so no run can resume from a --checkpoint; name a file or a topic."
            )
        return Checkpoint(self.checkpoint, _fingerprint(source, settings, alarms, self))

    def require_apart(self, source: str, out: Path | None) -> None:
        """Refuse places of which two are the same file."""
        named = {
            "the source": source, "--lines": self.lines, "--malformed": self.malformed, "--checkpoint": self.checkpoint,
            "--out": out,
        }  # fmt: skip
        places: dict[Path, str] = {}
        for name, place in named.items():
            if place is None or str(place) == "-" or "://" in str(place):
                continue
            real = Path(place).resolve()
            if real in places:
                raise ArgumentError(f"{places[real]} and {name} name the same file; name two different ones.")
            places[real] = name


@dataclass(frozen=True, slots=True)
class ShowingOptions:
    """The display of the figures."""

    metrics: Annotated[
        int | None, typer.Option("--metrics", metavar="PORT", min=0, max=65535, help="Gauges at http://127.0.0.1:PORT/metrics.")
    ] = None
    as_json: Json = False
    out: Out = None


def _extent(window: str, every: str | None, *, timed: bool) -> dict[str, Any]:
    """Return the extent of the window, and the times at which figures are due."""
    if window == "all":
        extent: dict[str, Any] = {}
        step: Any = every or ("1m" if timed else "1000")
    elif window.replace("_", "").isdigit():
        if timed:
            raise ArgumentError("a window of a number of records follows their order, not their time; leave --time out.")
        extent = {"size": int(window)}
        step = every or str(max(int(window) // 10, 1))
    else:
        from unveil.stream import MICROS, duration_of

        micros = duration_of("--window", window)
        extent = {"duration": window}
        step = every or f"{max(micros // 10, 1000) / MICROS}s"
    if "duration" in extent and not timed:
        raise ArgumentError("a window by time needs the records' own times; name their column with --time.")
    by_number = str(step).replace("_", "").isdigit()
    if by_number == timed:
        wanted = (
            "a duration such as 1m, because the window goes by time"
            if timed
            else "a number of records, or name a column with --time"
        )
        raise ArgumentError(f"--every is {shown(every)}; it must be {wanted}.")
    return {**extent, "every": int(step) if by_number else step}


def _role(plan: Project | None, role: Role) -> list[str]:
    return [] if plan is None else list(plan.names(role))


def _needs(texts: list[str] | None, plan: Project | None) -> list[Need]:
    from unveil.project import Need

    if texts:
        return [Need.parse(text) for text in texts]
    return [] if plan is None else list(plan.needs.values())


def _partitions(texts: list[str] | None, plan: Project | None, columns: list[str]) -> dict[str, Any]:
    from unveil.partitions import Partition

    blocks: dict[str, Any] = {}
    for text in texts or ():
        column, file = pair_of(text, columns, "--partition", "COLUMN=FILE")
        own = plan is not None and column in plan.attributes and file in plan.attributes[column].partitions
        blocks[column] = plan.partition(column, file) if plan is not None and own else Partition.read(file, column=column)
    return blocks


def client_settings(texts: list[str] | None, file: Path | None) -> dict[str, str]:
    """Return the properties of the client, first those of a file: secrets do not belong on a command line."""
    rows = list(texts or ())
    if file is not None:
        try:
            own = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise ArgumentError(f"the settings file {shown(file)} cannot be read.") from None
        rows = [line.strip() for line in own if line.strip() and not line.lstrip().startswith("#")] + rows
    settings = {}
    for row in rows:
        name, equals, value = row.partition("=")
        if not equals or not name.strip():
            raise ArgumentError("a setting of the client reads NAME=VALUE, as in security.protocol=SASL_SSL.")
        settings[name.strip()] = value.strip()
    return settings


def _fingerprint(source: str, settings: Mapping[str, Any], alarms: AlarmOptions, kept: KeepingOptions) -> dict[str, Any]:
    """Return the fingerprint of a command: the options that change the counts or their use."""
    plain = {name: value for name, value in settings.items() if name not in ("partitions", "derived", "needs")}
    plain["partitions"] = {column: block.to_dict() for column, block in settings["partitions"].items()}
    plain["derived"] = {name: repr(rule) for name, rule in settings["derived"].items()}
    plain["needs"] = [f"{need!r} {sorted(need.partitions)}" for need in settings["needs"]]
    others = {"alarms": alarms.alarm, "policy": alarms.policy, "lines": kept.lines, "malformed": kept.malformed}
    rest = {name: without_credentials(value) if isinstance(value, str) else value for name, value in others.items()}
    return {"source": without_credentials(source), **plain, **rest}
