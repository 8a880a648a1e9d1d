"""The verb anonymize: a table made safe to publish, or a stream: records in, publications out, until it ends or is stopped."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.attributes import require_columns, sides_of
from unveil.cli.application import app, grouped, refuse_with, refuse_without
from unveil.cli.composing import composed
from unveil.cli.model_options import ModelOptions, hierarchies_in
from unveil.cli.options import Json, give, pair_of, showing_progress
from unveil.cli.releases import (
    DrawOptions,
    MechanismOptions,
    ReleaseOptions,
    SearchOptions,
    TableOptions,
    announce_written,
    give_made,
)
from unveil.cli.study_options import Inputs, hierarchies, named_hierarchies, named_project
from unveil.cli.watch_options import Setting, SettingsFile, client_settings
from unveil.credentials import hidden_in_message, without_credentials
from unveil.errors import ArgumentError, listed, shown

if TYPE_CHECKING:
    from unveil.attributes import Role
    from unveil.models import Model
    from unveil.project import Project, Step
    from unveil.releases import Release
    from unveil.search import Generalisation
    from unveil.stream import Checkpoint, StreamRelease

_HELD_TO = {"k_anonymity": "k", "distinct_l_diversity": "diverse"}
"""The models that can be required of a stream, and the arguments of its release that state them."""


@dataclass(frozen=True, slots=True)
class StreamingOptions:
    """The request to release a stream, and the longest wait of its records."""

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
        from unveil.sources import StreamOptions, open_records
        from unveil.stream import ReleaseRun, open_sink

        plan = _Plan.of(table, models)
        out = self._checked(plan, to)
        release, kept = self._begun(plan, out, draws)
        client = client_settings(self.setting, self.settings_file)
        sink = open_sink(out, client)
        records = open_records(plan.source, StreamOptions(self.follow, plan.missing, client))
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

    def _checked(self, plan: _Plan, to: ReleaseOptions) -> str:
        """Return the destination of the records, or raise an error on what is missing."""
        if not plan.source or self.delay is None or "k" not in plan.settings or not plan.settings["key"]:
            raise ArgumentError("releasing a stream needs a source, --key, --k and --delay, the longest that a record may wait.")
        if not isinstance(to.out, str):
            raise ArgumentError("a stream is released into --out FILE.ndjson, kafka://broker/topic or redis://host/stream.")
        if self.checkpoint is not None and plan.source == "-":
            raise ArgumentError(
                "standard input cannot be read again, so no run can resume from a --checkpoint; name a file or a topic."
            )
        return to.out

    def _begun(self, plan: _Plan, out: str, draws: DrawOptions) -> tuple[StreamRelease, Checkpoint | None]:
        """Return the release, before its first record, and the checkpoint of its state."""
        from unveil.stream import Checkpoint, StreamRelease

        delay = self.delay or ""
        settings: dict[str, Any] = {
            **plan.settings, "delay": int(delay) if delay.isdigit() else delay, "time": self.time, "method": self.method,
            "reuse": self.reuse, "seed": draws.seed, "key_file": draws.key_file,
        }  # fmt: skip
        release = StreamRelease(**settings, hierarchies=plan.hierarchies)
        if self.checkpoint is None:
            return release, None
        places = {
            "source": without_credentials(plan.source), "out": without_credentials(out), "missing": str(plan.missing),
        }  # fmt: skip
        return release, Checkpoint(self.checkpoint, {**places, **{name: str(value) for name, value in settings.items()}})


def refuse_options_of_tables(
    table: TableOptions,
    mechanism: MechanismOptions,
    models: ModelOptions,
    search: SearchOptions,
    draws: DrawOptions,
    to: ReleaseOptions,
) -> None:
    """Refuse options that the release of a stream ignores, so that nobody believes that they had an effect."""
    from dataclasses import fields

    refuse_with("--stream", mechanism)
    refuse_with("--stream", search, *(one.name for one in fields(search) if one.name != "identifier"))
    refuse_with("--stream", models, "order", "population")
    refuse_with("--stream", table, "household", "nulls")
    refuse_with("--stream", table.reading, "separator", "encoding", "text")
    refuse_with("--stream", draws, "keep_order")
    refuse_with("--stream", to, "link", "spreadsheet_safe")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The statements of the command line and the project about a stream: its place, its reading, and its release."""

    source: str
    missing: tuple[str, ...]
    settings: dict[str, Any]
    hierarchies: dict[str, Any]

    @classmethod
    def of(cls, table: TableOptions, models: ModelOptions) -> _Plan:
        """Return the statements of the command line, completed by those of the project."""
        project, source = named_project(table.reading.project, table.data)
        if source is None and project is not None and project.data.path is not None:
            source = str(project.data.path)
        key, sensitive = table.key or _role(project, "key"), table.sensitive or _role(project, "sensitive")
        settings = {
            "key": key, "sensitive": sensitive or None, **_required(models, project, sensitive),
            "person": table.person or next(iter(_role(project, "person")), None), "keep": table.keep or _role(project, "keep"),
        }  # fmt: skip
        missing = table.reading.missing or (() if project is None else project.data.missing)
        return cls(source or "", tuple(missing), settings, _hierarchies(models, project, key))


def _role(project: Project | None, role: Role) -> list[str]:
    """Return the columns to which the project gives a role."""
    return [] if project is None else list(project.names(role))


def _required(models: ModelOptions, project: Project | None, sensitive: Sequence[str]) -> dict[str, int]:
    """Return k and the number of distinct values that are required of a stream; refuse any other requirement."""
    from unveil.models import parse_models

    required = models.named(sensitive)
    if not required and project is not None:
        if project.protect:
            raise ArgumentError(f"{project.path} plans steps, which are for tables; name what a stream is held to with --k.")
        required = parse_models(dict(project.models), sensitive)
    settings: dict[str, int] = {}
    for model in required:
        if model.name not in _HELD_TO:
            raise ArgumentError(f"a stream can be held to --k and --l distinct:L only, not to {model.label}.")
        settings[_HELD_TO[model.name]] = _threshold(model, required, sensitive)
    if project is not None and project.data.nulls != "category":
        raise ArgumentError(f"{project.path} says nulls = {project.data.nulls}; a stream is released with a null as a value.")
    return settings


def _threshold(model: Model, required: Sequence[Model], sensitive: Sequence[str]) -> int:
    """Return the threshold of a model; diversity must be the same for every sensitive attribute."""
    same = [one for one in required if one.name == model.name]
    if model.sensitive is not None and (
        {one.sensitive for one in same} != set(sensitive) or len({one.threshold for one in same}) > 1
    ):
        raise ArgumentError("a stream can be held to --l distinct:L only, for all sensitive attributes.")
    return int(model.threshold or 0)


def _hierarchies(models: ModelOptions, project: Project | None, key: Sequence[str]) -> dict[str, Any]:
    """Return the hierarchies of key attributes: of the project, of the folder, and those named singly; the later prevail."""
    single = named_hierarchies(models.hierarchy, key)
    folder = models.hierarchy_dir
    rest = [name for name in key if name not in single]
    return hierarchies(None, project, key) | ({} if folder is None else hierarchies_in(folder, rest)) | single


@dataclass(frozen=True, slots=True)
class LatticeOptions(SearchOptions):
    """The cost of a generalisation, and its allowed levels."""

    objective: Annotated[
        str,
        typer.Option(
            metavar="OBJECTIVE", help="What to minimise: loss, loss-max, precision, entropy, classification:COLUMN, ..."
        ),
    ] = "loss"
    level: Annotated[
        list[str] | None, typer.Option("--level", metavar="COLUMN=LOW:HIGH", help="The levels that a key column may have.")
    ] = None
    weight: Annotated[
        list[str] | None, typer.Option("--weight", metavar="COLUMN=WEIGHT", help="How much a key column counts in the objective.")
    ] = None
    factor: Annotated[float, typer.Option(help="From 0 (suppression adds no cost) to 1 (generalisation costs nothing).")] = 0.5

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {
            **SearchOptions.options(self, inputs),
            "objective": self.objective,
            "levels": dict(_level(text, inputs.key or ()) for text in self.level or ()),
            "weights": dict(_weight(text, inputs.key or ()) for text in self.weight or ()),
            "factor": self.factor,
        }


@app.command(epilog="Example: unveil anonymize adult --key age --key sex --key race --k 5 --suppression 0.04 --out release.csv")
@grouped
def anonymize(
    context: typer.Context,
    table: TableOptions,
    mechanism: MechanismOptions,
    models: ModelOptions,
    search: LatticeOptions,
    streaming: StreamingOptions,
    draws: DrawOptions,
    to: ReleaseOptions,
    as_json: Json = False,
) -> None:
    """Protect a table: the generalisation that costs least and meets the models, or a mechanism. Exit code 1: models not met."""
    if streaming.wanted():
        refuse_options_of_tables(table, mechanism, models, search, draws, to)
        return streaming.released(table, models, draws, to, as_json=as_json)
    to.check()
    inputs = table.gathered()
    if mechanism.mechanism == "any":
        to.require_file()
        return composed(inputs, mechanism.need, (models, search, draws, to), {}, as_json=as_json)
    steps, required = mechanism.plan(inputs, table, models, search)
    if steps:
        return give_made(_made(steps, inputs, search, draws, to), steps, to, as_json=as_json)
    release, lost = _generalised(inputs, required, table, mechanism, (models, search, draws, to))
    announce_written([] if to.out is None else [to.out], to.link)
    give(release, as_json=as_json, out=None)
    return None if mechanism.pseudonymize else _tell_what_keeps_more(context, lost)


def _made(steps: Sequence[Step], inputs: Inputs, search: LatticeOptions, draws: DrawOptions, to: ReleaseOptions) -> Any:
    """Run the steps; columns stated to name people, on the command line or in the project, are left out."""
    from unveil.protect import run_steps

    to.require_file()
    people = inputs.study.changed(identifiers=(*inputs.study.identifiers, *(search.identifier or ())))
    with showing_progress():
        return run_steps(people, steps, **draws.of_steps())


def _generalised(
    inputs: Inputs,
    required: Sequence[Model],
    table: TableOptions,
    mechanism: MechanismOptions,
    groups: tuple[ModelOptions, LatticeOptions, DrawOptions, ReleaseOptions],
) -> tuple[Release[Generalisation], Mapping[str, int | None]]:
    """Generalise the table by the groups of options; return the release, and the key attributes that it has lost."""
    from unveil.protect.anonymize import anonymize as generalize

    models, search, draws, to = groups
    _require_key(inputs, required)
    options: dict[str, Any] = {**models.options(inputs, required), **search.options(inputs), **draws.options(), **to.options()}
    population = table.reading.source_if_named(models.population, "population", inputs.project)
    pseudonyms = tuple(mechanism.pseudonymize or ())
    with showing_progress():
        release = generalize(inputs.study, inputs.key or (), required, pseudonyms=pseudonyms, population=population, **options)
        return release, release.protection.lost


def _tell_what_keeps_more(context: typer.Context, lost: Mapping[str, int | None]) -> None:
    """Suggest a command that loses less, if key attributes are lost and Mondrian would, or may, keep some of them."""
    if any(groups is None or groups > 1 for groups in lost.values()):
        typed = [word for word in context.obj or () if word != "--json"]
        command = shlex.join(["unveil", *typed, "--mechanism", "mondrian"])
        sys.stderr.write(f"To keep more of {listed(lost)}: {hidden_in_message(command, typed)}\n")


def _require_key(inputs: Inputs, required: Sequence[Any]) -> None:
    """Refuse a generalisation without a key or without a model."""
    if inputs.key is None:
        raise ArgumentError.no_key()
    sides_of(inputs.key, inputs.sensitive)
    require_columns(inputs.key, inputs.source.names)
    if not required:
        raise ArgumentError("no model is required; ask for one, such as --k 5.")


def _level(text: str, keys: Sequence[str]) -> tuple[str, tuple[int, int]]:
    column, levels = pair_of(text, keys, "--level", "COLUMN=LOW:HIGH")
    low, _, high = levels.partition(":")
    if not low.isdigit() or not (high or low).isdigit():
        raise ArgumentError(f"--level takes COLUMN=LOW:HIGH with whole numbers, not {shown(text)}.")
    return column, (int(low), int(high or low))


def _weight(text: str, keys: Sequence[str]) -> tuple[str, float]:
    column, number = pair_of(text, keys, "--weight", "COLUMN=WEIGHT")
    try:
        return column, float(number)
    except ValueError:
        raise ArgumentError(f"--weight takes COLUMN=WEIGHT with a number, not {shown(text)}.") from None
