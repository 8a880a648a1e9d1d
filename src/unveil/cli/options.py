"""Options that several verbs share, and how the words of a command line become the arguments of a call."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from unveil.attributes import require_columns
from unveil.cli.overwrite import check_read
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, ProjectError, listed, shown
from unveil.output import cannot_write

if TYPE_CHECKING:
    from rich.progress import TaskID

    from unveil.models.base import Model
    from unveil.partitions import Partition
    from unveil.project import Need, Project
    from unveil.results import Result
    from unveil.sources import Source
    from unveil.study import Study

__all__ = [
    "ClassNullPolicy", "Data", "Encoding", "Household", "Identity", "Inputs", "Json", "Keep", "Key", "KeyFile", "Missing",
    "NullPolicy", "OnlyRoles", "Out", "PartitionFile", "Person", "ProjectFile", "ReleaseKeyFile", "Seed", "Sensitive",
    "Separator", "SpreadsheetSafe", "Testing", "TextColumns", "Weights", "gather", "gather_two",
    "give", "one_sensitive", "pair_of", "showing_progress",
]  # fmt: skip


_read_here: ContextVar[tuple[str, ...]] = ContextVar("read_here", default=())
"""What a verb was asked about: the names of its data and its project, for the foot of a page."""


def _writable(out: Path | None) -> Path | None:
    """Refuse a place where nothing can be written before the work begins, not after it."""
    if out is not None:
        from unveil.report import checked_path

        checked_path(out)
    return out


Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, Parquet, ...), '-', a built-in data set, or a database table such as postgresql://host/db?table=t.",
        show_default=False,
    ),
]
Key = Annotated[
    list[str] | None, typer.Option("--key", metavar="COLUMN", help="A column an intruder may know; repeat it for more.")
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="COLUMN", help="The column to protect; none: the identity of the record."),
]
PartitionFile = Annotated[
    list[str] | None,
    typer.Option(
        "--partition",
        metavar="COLUMN=FILE",
        help="A semantic partition: a JSON or TOML file, or a name in the project.",
    ),
]
NullPolicy = Annotated[
    str | None, typer.Option("--nulls", metavar="POLICY", help="category (a null is a value; default), drop or error.")
]
ClassNullPolicy = Annotated[
    str | None,
    typer.Option(
        "--nulls", metavar="POLICY", help="category (a null is a value; default), drop, error or wildcard (matches any)."
    ),
]
Identity = Annotated[bool, typer.Option("--identity", help="Measure against record identity, whatever the project says.")]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="A column of sampling weights.")]
Person = Annotated[
    str | None, typer.Option("--person", metavar="COLUMN", help="Whose record it is: k, uniques and risks count persons.")
]
Household = Annotated[
    str | None, typer.Option("--household", metavar="COLUMN", help="Who lives together: household risk, and k for households.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMN", help="You vouch for this column: it stays though it may name people; repeat it."),
]
OnlyRoles = Annotated[bool, typer.Option("--only-roles", help="Leave out every column that has no role.")]
ProjectFile = Annotated[
    Path | None,
    typer.Option("--project", metavar="FILE", help="A project file; its data, roles and policies are the defaults."),
]
Separator = Annotated[
    str | None, typer.Option("--separator", metavar="CHAR", help="What separates fields; found when not given.")
]
Encoding = Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="The file's encoding; UTF-8 when not given.")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="For tests and studies: draws that everybody can repeat, so not for publication.",
        show_default=False,
    ),
]
Testing = Annotated[
    bool, typer.Option("--testing", help="Let differential privacy draw from a --seed: a test, with no guarantee.")
]
ReleaseKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="A secret key: only whoever has it can repeat the draws of the release; pseudonyms are hashed with it.",
    ),
]
Missing = Annotated[
    list[str] | None, typer.Option("--missing", metavar="TEXT", help="A text that stands for a null, such as '?'.")
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMN", help="A column of codes: read as text, lost zeros in front put back; repeat it."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="A secret key: the answer then holds the HMAC of its input files."),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe/--no-spreadsheet-safe", help="In a .csv: an apostrophe before texts that a spreadsheet would compute."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON, and nothing else.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the answer to a .html, .json, .csv, .parquet, .txt or .xlsx file.",
        callback=_writable,
    ),
]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The study of a command line; where it names nothing of a kind, that is None."""

    study: Study

    @property
    def source(self) -> Source:
        """Where the data is."""
        return self.study.source

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key attributes."""
        return self.study.key or None

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """The sensitive attributes."""
        return self.study.sensitive or None

    @property
    def nulls(self) -> str:
        """What a null means."""
        return self.study.nulls

    @property
    def project(self) -> Project | None:
        """The project."""
        return self.study.project

    def required_key(self) -> tuple[str, ...]:
        """Return the key attributes; there have to be some."""
        if not self.study.key:
            raise ArgumentError("no key column is named; name those an intruder may know with --key.")
        return self.study.key

    def planned_models(self) -> list[Model]:
        """Return the models that the project asks for."""
        from unveil.models.requirements import parse_models

        return [] if self.project is None else parse_models(dict(self.project.models), self.sensitive or self.source.names)

    def planned_needs(self) -> list[Need]:
        """Return the needs that the project names."""
        return [] if self.project is None else list(self.project.needs.values())


def gather(
    data: str | None,
    *,
    key: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    partition: Sequence[str] | None,
    nulls: str | None,
    weights: str | None,
    project: Path | None,
    separator: str | None,
    encoding: str | None,
    missing: Sequence[str] | None,
    text: Sequence[str] | None = None,
    partial: bool = False,
    person: str | None = None,
    household: str | None = None,
    keep: Sequence[str] | None = None,
    only_roles: bool = False,
) -> Inputs:
    """Open the study of a command line; what it does not name is the project's. One connection serves the whole command."""
    from unveil.sources import ReadOptions, open_source
    from unveil.sources.opening import read_options
    from unveil.study import Study

    if project is None and _is_project(data):
        project, data = Path(data or ""), None
    plan = _project(project, data)
    section = plan.data if plan is not None else None
    path = data or (str(section.path) if section is not None and section.path is not None else None)
    if path is None:
        raise ArgumentError(
            "no data is named; give a file, '-' for standard input, or a built-in data set (see: unveil datasets)."
        )
    check_read(path)
    own = ReadOptions(separator=separator, encoding=encoding, missing=tuple(missing or ()), text=tuple(text or ()))
    source = open_source(path, read_options(plan, own), held=_held())
    require_columns(own.text, source.names)
    _read_here.set((Path(source.place).name, *(() if plan is None else (Path(plan.path).name,))))
    partitions = dict(_partition(text, plan, source.names) for text in partition or ())
    return Inputs(
        Study(
            source,
            key or None,
            sensitive or None,
            partitions=partitions,
            nulls=nulls,
            weights=weights,
            person=person,
            household=household,
            keep=keep or None,
            only_roles=only_roles or None,
            project=plan,
            partial=partial,
        )
    )


def _held() -> ExitStack | None:
    """Return what is closed when the command ends."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    held = ExitStack()
    context.call_on_close(held.close)
    return held


def gather_two(
    original: str,
    release: str,
    *,
    project: Path | None,
    separator: str | None,
    encoding: str | None,
    missing: Sequence[str] | None,
) -> tuple[Study, Study]:
    """Open the studies of an original and its release.

    How the project reads its data holds for the original, its missing texts, its codes and its roles for both.
    """
    from unveil.sources import ReadOptions, open_source
    from unveil.sources.opening import read_options
    from unveil.study import Study

    inputs = gather(
        original, key=None, sensitive=None, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing, partial=True,
    )  # fmt: skip
    planned = read_options(inputs.project, ReadOptions(missing=tuple(missing or ())))
    options = replace(planned, separator=separator, encoding=encoding)
    after = Study(open_source(release, options, held=_held()), project=inputs.project, partial=True)
    _read_here.set((*_read_here.get(), Path(after.place).name))
    return inputs.study, after


def give(result: Result, *, as_json: bool, out: Path | None, spreadsheet_safe: bool = True) -> None:
    """Write the answer to a file, print it as JSON, or show it."""
    if out is not None:
        from unveil import report

        report.write(result, out, spreadsheet_safe=spreadsheet_safe, made_from=_read_here.get())
        sys.stderr.write(f"written: {without_credentials(out)}\n")
    if as_json:
        text = json.dumps(result.to_dict(), ensure_ascii=not _is_unicode(sys.stdout.encoding), allow_nan=False)
        _print(lambda: sys.stdout.write(f"{text}\n"))
    elif out is None:
        _print(lambda: _show(result))


def _print(write: Callable[[], object]) -> None:
    """Print an answer to its end, or say why that cannot be; a reader who has gone, as `head` does, has all he wants."""
    from unveil.cli.process import turned_away

    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        turned_away()
    except OSError as error:
        turned_away()
        raise cannot_write("standard output", error) from error


def _show(result: Result) -> None:
    """Show an answer in the terminal."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - what rich has caught; it would end the process with exit code 1

    Terminal().print(result)


def _is_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "").replace("_", "").startswith("utf")


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show a bar for each stage, with the time left, on standard error, where a person watches it."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from unveil.run import active_run

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, completed=done, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        with active_run().telling(tell):
            yield


def _is_project(data: str | None) -> bool:
    """Whether what is named as data is a project file: its data and its roles are meant."""
    return data is not None and data.endswith(".toml") and Path(data).is_file()


def _project(path: Path | None, data: str | None) -> Project | None:
    """Read the project named, or, where no data is named, the one in this folder."""
    from unveil.project import Project

    if path is not None:
        return Project.read(path)
    here = Path("unveil.toml")
    return Project.read(here) if data is None and here.exists() else None


def _partition(text: str, plan: Project | None, columns: Sequence[str]) -> tuple[str, Partition]:
    """Read COLUMN=FILE, or COLUMN=NAME where the project has a partition of that name."""
    from unveil.partitions import Partition

    column, file = pair_of(text, columns, "--partition", "COLUMN=FILE")
    if plan is not None and column in plan.attributes and file in plan.attributes[column].partitions:
        return column, plan.partition(column, file)
    if plan is not None and not Path(file).exists() and column in plan.attributes and plan.attributes[column].partitions:
        raise ArgumentError.not_one_of(f"partition of {shown(column)}", file, tuple(plan.attributes[column].partitions))
    return column, Partition.read(file, column=column)


def pair_of(text: str, columns: Sequence[str], option: str, form: str) -> tuple[str, str]:
    """Split at the equals sign behind a column that is known; either side may hold one itself."""
    splits = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
    if not splits:
        raise ArgumentError(f"{option} takes {form}, not {shown(text)}.")
    return next(((name, rest) for name, rest in splits if name in columns), splits[0])


def one_sensitive(inputs: Inputs, given: Sequence[str] | None, *, identity: bool) -> Study:
    """Return the study with its sensitive side; several of a project are not taken together unless the command line says so."""
    if identity:
        if given:
            raise ArgumentError("--identity measures against record identity, so no --sensitive column goes with it.")
        return inputs.study.changed(sensitive=())
    if not given and inputs.sensitive is not None and len(inputs.sensitive) > 1:
        raise ProjectError(f"the project has several sensitive attributes ({listed(inputs.sensitive)}); choose with --sensitive.")
    return inputs.study
