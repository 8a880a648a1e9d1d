"""The verb init: a first examination of a file, written as a project."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app, grouped
from unveil.cli.options import Encoding, Json, Missing, Separator, TextColumns, give
from unveil.credentials import without_credentials
from unveil.errors import shown
from unveil.output import check_replaceable

if TYPE_CHECKING:
    from unveil.assess import Start


@dataclass(frozen=True, slots=True)
class _StartOptions:
    """The data of the project, and the settings for reading it."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file (CSV, Parquet, ...), a built-in data set, or a project of ARX (.deid).",
            show_default=False,
        ),
    ]
    separator: Separator = None
    encoding: Encoding = None
    missing: Missing = None
    text: TextColumns = None

    def started(self, out: Path) -> Start:
        """Propose a project."""
        from unveil.assess import start_project

        return start_project(
            self.data, out, separator=self.separator, encoding=self.encoding, missing=tuple(self.missing or ()),
            text=tuple(self.text or ()),
        )  # fmt: skip


@app.command(epilog="Example: unveil init adult --out adult.toml")
@grouped
def init(
    about: _StartOptions,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The project file to write.")] = Path("unveil.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing in a terminal; take what is proposed.")] = False,
    as_json: Json = False,
) -> None:
    """Propose a project file for a table: roles, kinds and hierarchies, each with its evidence. Or convert a project of ARX."""
    check_replaceable(out)
    if about.data.lower().endswith(".deid"):
        return _taken_over(about.data, out, force=force, as_json=as_json)
    start = about.started(out)
    asking = not (yes or as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    start = _answered(start) if asking else start
    _write(start, force=force, hint=bool(start.questions) and not (asking or yes))
    return give(start, as_json=as_json, out=None)


def _write(start: Start, *, force: bool, hint: bool) -> None:
    """Write the project, and report how the open questions can be answered."""
    start.write(force=force)
    if hint:
        sys.stderr.write("unveil init asks the questions left open in a terminal; --yes accepts what is proposed.\n")
    sys.stderr.write("".join(f"written: {without_credentials(path)}\n" for path in start.files()))


def _taken_over(data: str, out: Path, *, force: bool, as_json: bool) -> None:
    """Write a project of ARX as a project of this library."""
    from unveil.assess import import_arx

    imported = import_arx(data, out)
    imported.write(force=force)
    sys.stderr.write("".join(f"written: {without_credentials(path)}\n" for path in imported.files()))
    give(imported, as_json=as_json, out=None)


def _answered(start: Start) -> Start:
    """Ask the questions that the data leaves open, one after another; an empty answer accepts the proposal."""
    answers = {}
    questions = start.questions
    for number, question in enumerate(questions, start=1):
        text = f"[{number}/{len(questions)}] {question.text} ({', '.join(question.answers)})"
        answers[question] = typer.prompt(text, default=question.default, value_proc=_one_of(question.answers), err=True)
    return start.answered(answers)


def _one_of(answers: Sequence[str]) -> Callable[[str], str]:
    """Return a function that accepts an answer, and refuses any that is not among the given ones."""

    def taken(text: str) -> str:
        if text not in answers:
            raise typer.BadParameter(f"answer {' or '.join(answers)}, not {shown(text)}.")
        return text

    return taken
