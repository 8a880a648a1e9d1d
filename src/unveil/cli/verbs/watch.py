"""What does a stream give away, and what is it good for, as it goes?"""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.attributes import Role
from unveil.cli.application import app
from unveil.cli.options import Json, Key, Missing, NullPolicy, Out, PartitionFile, ProjectFile, Sensitive, pair_of
from unveil.errors import ArgumentError, OutputError, shown

if TYPE_CHECKING:
    from unveil.project import Need, Project
    from unveil.stream.figures import WindowFigures
    from unveil.stream.series import WatchRun
    from unveil.stream.watch import Judge, Watch
    from unveil.stream.window import Window

_PATIENCE = 10.0
"""Seconds that the commands of alarms have to end when the run does."""


@app.command(epilog="Example: unveil watch adult --key age --key sex --sensitive occupation --window 10000 --every 10000")
def watch(
    source: Annotated[
        str,
        typer.Argument(
            help="'-', a growing file (NDJSON, CSV), a folder of Parquet files, kafka://broker/topic, redis://host/stream.",
            show_default=False,
        ),
    ],
    key: Key = None,
    key_set: Annotated[
        list[str] | None, typer.Option("--key-set", metavar="A,B", help="A further key, measured beside the first; repeat it.")
    ] = None,
    sensitive: Sensitive = None,
    window: Annotated[
        str, typer.Option("--window", metavar="N|TIME|all", help="The last N records, or those of the last 30s, 15m, 1h, 7d.")
    ] = "10000",
    every: Annotated[
        str | None, typer.Option("--every", metavar="N|TIME", help="When figures are due; none: ten times a window.")
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="The records' own times; a window by time needs it.")
    ] = None,
    lateness: Annotated[str, typer.Option(metavar="TIME", help="How late a record may come and still count.")] = "0s",
    late: Annotated[str, typer.Option(metavar="RULE", help="What becomes of later ones: drop, or add from then on.")] = "drop",
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Who the records are of: figures then count persons.")
    ] = None,
    partition: PartitionFile = None,
    derive: Annotated[
        list[str] | None,
        typer.Option(
            "--derive", metavar="NAME=RULE(...)", help="A column made from others: cell(lat,lon,12), hours(when,6), ..."
        ),
    ] = None,
    need: Annotated[
        list[str] | None, typer.Option("--need", metavar="TEXT", help="A use, as 'NAME: TARGET given A, B at least 0.1'.")
    ] = None,
    alarm: Annotated[
        list[str] | None, typer.Option("--alarm", metavar="TEXT", help="A condition, as 'dr > 0.8' or 'k < 5 until 7'.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE|PRESET", help="A policy, each rule of which is an alarm.")
    ] = None,
    alarm_command: Annotated[
        str | None,
        typer.Option("--alarm-command", metavar="COMMAND", help="Run when an alarm is raised, the JSON line as its input."),
    ] = None,
    stop_on_alarm: Annotated[
        bool, typer.Option("--stop-on-alarm", help="End the run, with exit code 1, at the first alarm.")
    ] = False,
    lines: Annotated[
        str | None, typer.Option("--lines", metavar="SINK", help="Append the JSON lines to a file, kafka://... or redis://...")
    ] = None,
    malformed: Annotated[
        str | None, typer.Option("--malformed", metavar="SINK", help="Keep records apart that cannot be read; none: count them.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="Keep the state here; the same command then goes on.")
    ] = None,
    checkpoint_every: Annotated[str, typer.Option("--checkpoint-every", metavar="TIME", help="How often to keep it.")] = "5s",
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Whether to wait for more at the end of the source.")
    ] = True,
    from_now: Annotated[bool, typer.Option("--from-now", help="Of a topic or stream, only what comes from now on.")] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--setting", metavar="NAME=VALUE", help="A property of the Kafka client; repeat it.")
    ] = None,
    settings_file: Annotated[
        Path | None, typer.Option("--settings-file", metavar="FILE", help="Properties of the Kafka client, NAME=VALUE by line.")
    ] = None,
    avro: Annotated[
        Path | None, typer.Option("--avro", metavar="SCHEMA", help="Messages are records in Avro, of this schema.")
    ] = None,
    metrics: Annotated[
        int | None, typer.Option("--metrics", metavar="PORT", min=0, max=65535, help="Gauges at http://127.0.0.1:PORT/metrics.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The most combinations of values to hold.")
    ] = None,
    nulls: NullPolicy = None,
    missing: Missing = None,
    project: ProjectFile = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Measure a stream as it goes: rate, kind, k, uniques and needs of a moving window. Exit code 1: an alarm was raised."""
    from unveil.sources.streams import StreamOptions, open_records
    from unveil.stream.alarms import Alarm
    from unveil.stream.checkpoint import Checkpoint
    from unveil.stream.derived import parse_derived
    from unveil.stream.sinks import open_sink
    from unveil.stream.times import MICROS, duration_of
    from unveil.stream.watch import Watch
    from unveil.stream.window import Window

    plan = _plan(project)
    keys, secrets = key or _role(plan, "key"), sensitive or _role(plan, "sensitive")
    if not keys and not key_set:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    if source == "-" and checkpoint is not None:
        raise ArgumentError("standard input cannot be read again, so no run goes on from a --checkpoint; name a file or a topic.")
    _apart(source, lines, malformed, checkpoint, out)
    sets = [list(keys or ()), *([name.strip() for name in text.split(",")] for text in key_set or ())]
    needs = _needs(need, plan)
    columns = [name for one in sets for name in one] + list(secrets or ())
    settings: dict[str, Any] = {
        "key": [one for one in sets if one],
        "sensitive": secrets or None,
        **_extent(window, every, timed=time is not None),
        "time": time,
        "lateness": lateness,
        "late": late,
        "person": person,
        "partitions": _partitions(partition, plan, columns),
        "derived": dict(parse_derived(text) for text in derive or ()),
        "needs": needs,
        "nulls": nulls or (plan.data.nulls if plan is not None else None) or "category",
        **({} if limit is None else {"limit": limit}),
    }
    moving = Window(**settings, strict=False)
    client = _client_settings(setting, settings_file)
    options = StreamOptions(follow, tuple(missing or ()), client, avro, from_start=not from_now)
    kept = None if checkpoint is None else Checkpoint(checkpoint, _fingerprint(source, settings, alarm, policy, lines, malformed))
    running = Watch(
        open_records(source, options),
        moving,
        alarms=[Alarm.parse(text) for text in alarm or ()],
        judge=None if policy is None and (plan is None or not plan.policy) else _judge(policy, plan, sets[0] or sets[1], secrets),
        checkpoint=kept,
        interval=duration_of("--checkpoint-every", checkpoint_every) / MICROS,
        malformed=None if malformed is None else open_sink(malformed, client),
        lines=None if lines is None else open_sink(lines, client),
    )
    ended = _run(running, as_json=as_json, command=alarm_command, stop=stop_on_alarm, port=metrics)
    if out is not None:
        _report(running, moving, out)
    if ended:
        raise typer.Exit(128 + ended)
    if running.ever_raised:
        raise typer.Exit(1)


def _run(running: Watch, *, as_json: bool, command: str | None, stop: bool, port: int | None) -> int:
    """Show what the run gives until it ends; return the signal that ended it, 0 where none did."""
    output = _Output(as_json=as_json, command=command, port=port)
    with stopping(running.stop) as heard:
        try:
            for figures in running.run():
                if figures is not None:
                    output.show(figures, running.window)
                    if figures.alarms and stop:
                        running.stop()
        finally:
            output.close()
    return heard[0] if heard else 0


class _Output:
    """Where figures go as they come: lines or a view, the page of metrics, the command of an alarm."""

    def __init__(self, *, as_json: bool, command: str | None, port: int | None) -> None:
        from unveil.cli.live import view_of
        from unveil.stream.metrics import MetricsPage

        self._words = [] if command is None else _words(command)
        self._page = None if port is None else MetricsPage(port)
        if self._page is not None:
            sys.stderr.write(f"metrics: http://127.0.0.1:{self._page.port}/metrics\n")
        self._view = None if as_json else view_of()
        self._raised: tuple[str, ...] = ()
        self._called: list[subprocess.Popen[bytes]] = []

    def show(self, figures: WindowFigures, window: Window) -> None:
        """Show figures everywhere."""
        if self._view is None:
            _print_line(figures)
        else:
            self._view.show(figures, window)
        if self._page is not None:
            self._page.show(figures)
        if self._words and set(figures.alarms) - set(self._raised):
            self._called.append(_alarmed(self._words, figures))
        self._raised = figures.alarms

    def close(self) -> None:
        """End the view and the page, and give the commands of alarms time to end."""
        if self._view is not None:
            self._view.close()
        if self._page is not None:
            self._page.close()
        for process in self._called:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Let the first signal end the run between two batches, with its last window written; a second one as anywhere else."""
    heard: list[int] = []
    before: dict[int, Any] = {}

    def hear(number: int, frame: Any) -> None:
        if heard:
            signal.signal(number, before[number])
            if callable(before[number]):
                before[number](number, frame)
            return
        heard.append(number)
        stop()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # not in the main thread: whoever runs this hears signals
                before[number] = signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_line(figures: WindowFigures) -> None:
    try:
        sys.stdout.write(json.dumps(figures.to_dict(), allow_nan=False) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {(error.strerror or 'no reason given').lower()}.") from error


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise ArgumentError("--alarm-command takes a program and its words, as a shell would read them.")
    return words


def _alarmed(words: list[str], figures: WindowFigures) -> subprocess.Popen[bytes]:
    """Run the command of an alarm with the line of figures as its input; it is not waited for before the run ends."""
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        assert process.stdin is not None  # noqa: S101
        with contextlib.suppress(OSError), process.stdin as pipe:
            pipe.write(json.dumps(figures.to_dict()).encode() + b"\n")
    except OSError as error:
        raise ArgumentError(f"the command of the alarm cannot be run: {(error.strerror or 'no reason given').lower()}.") from None
    return process


def _report(running: Watch, moving: Window, out: Path) -> None:
    from unveil import report

    report.write(_whole(running, moving), out)
    sys.stderr.write(f"written: {out}\n")


def _whole(running: Watch, moving: Window) -> WatchRun:
    from unveil.stream.series import WatchRun

    left_out = {**moving.counters, "malformed": running.malformed}
    question = repr(moving).removeprefix("Window(").rpartition(":")[0]
    series = running.series
    return WatchRun(question, series.points, series.total, left_out, running.ever_raised, moving.riskiest())


# What the options say -------------------------------------------------------------------------------------------------


def _extent(window: str, every: str | None, *, timed: bool) -> dict[str, Any]:
    """Return the extent of the window, and when figures are due."""
    if window == "all":
        extent: dict[str, Any] = {}
        step: Any = every or ("1m" if timed else "1000")
    elif window.replace("_", "").isdigit():
        if timed:
            raise ArgumentError("a window of a number of records goes by their order, not by --time; leave --time out.")
        extent = {"size": int(window)}
        step = every or str(max(int(window) // 10, 1))
    else:
        from unveil.stream.times import MICROS, duration_of

        micros = duration_of("--window", window)
        extent = {"duration": window}
        step = every or f"{max(micros // 10, 1000) / MICROS}s"
    by_number = str(step).replace("_", "").isdigit()
    if by_number == timed:
        wanted = (
            "a duration such as 1m, as the window goes by time" if timed else "a number of records, or name a column with --time"
        )
        raise ArgumentError(f"--every is {shown(every)}; it must be {wanted}.")
    if "duration" in extent and not timed:
        raise ArgumentError("a window by time needs the records' own times; name their column with --time.")
    return {**extent, "every": int(step) if by_number else step}


def _plan(project: Path | None) -> Project | None:
    from unveil.project import Project

    return None if project is None else Project.read(project)


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


def _client_settings(texts: list[str] | None, file: Path | None) -> dict[str, str]:
    """Return the properties of the client, from a file first: secrets do not belong on a command line."""
    rows = list(texts or ())
    if file is not None:
        try:
            own = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise ArgumentError(f"the settings file {shown(file)} cannot be read.") from None
        rows = [line.strip() for line in own if line.strip() and not line.lstrip().startswith("#")] + rows
    found = {}
    for row in rows:
        name, equals, value = row.partition("=")
        if not equals or not name.strip():
            raise ArgumentError("a setting of the client reads NAME=VALUE, as in security.protocol=SASL_SSL.")
        found[name.strip()] = value.strip()
    return found


def _apart(source: str, lines: str | None, malformed: str | None, checkpoint: Path | None, out: Path | None) -> None:
    """Refuse two of the places that are the same file."""
    named = {"the source": source, "--lines": lines, "--malformed": malformed, "--checkpoint": checkpoint, "--out": out}
    places: dict[Path, str] = {}
    for name, place in named.items():
        if place is None or str(place) == "-" or "://" in str(place):
            continue
        real = Path(place).resolve()
        if real in places:
            raise ArgumentError(f"{places[real]} and {name} name the same file; they are different files.")
        places[real] = name


def _fingerprint(source: str, settings: Mapping[str, Any], *others: Any) -> dict[str, Any]:
    """Return what makes a command this one: options that change what is counted, or what becomes of it."""
    from unveil.credentials import without_credentials

    plain = {name: value for name, value in settings.items() if name not in ("partitions", "derived", "needs")}
    plain["partitions"] = {column: block.to_dict() for column, block in settings["partitions"].items()}
    plain["derived"] = {name: repr(rule) for name, rule in settings["derived"].items()}
    plain["needs"] = [f"{need!r} {sorted(need.partitions)}" for need in settings["needs"]]
    names = ("alarms", "policy", "lines", "malformed")
    rest = {
        name: without_credentials(value) if isinstance(value, str) else value for name, value in zip(names, others, strict=True)
    }
    return {"source": without_credentials(source), **plain, **rest}


def _judge(policy: str | None, plan: Project | None, keys: list[str], secrets: list[str]) -> Judge:
    """Return what says of a window which rules of a policy it breaks."""
    from unveil.assess.policy.check import check, policy_of

    asked = policy_of(policy)[0] if policy is not None else plan.policy if plan is not None else None

    def judge(window: Window) -> dict[str, bool | None]:
        verdict = check(window.frame(), asked, key=keys, sensitive=list(secrets) or None)
        return {
            f"{outcome.rule.name} {outcome.rule.requirement} ({outcome.of})": None if outcome.met is None else not outcome.met
            for outcome in verdict.outcomes
        }

    return judge
