"""The verb utility: the needs that a table still serves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app, grouped
from unveil.cli.options import Data, NullPolicy, showing_progress
from unveil.cli.study_options import AnswerOptions, NamedRoles, ReadingOptions, gather
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.utility import Utility


@app.command(epilog="Example: unveil utility adult --need 'income: income-per-year given age, education'")
@grouped
def utility(
    answer: AnswerOptions,
    reading: ReadingOptions,
    data: Data = None,
    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B [at least DEGREE]; repeat it for more."),
    ] = None,
    nulls: NullPolicy = None,
) -> None:
    """How far does the table serve each need, judged from itself alone? Exit code 1: a required degree is missed."""
    from unveil.project import Need
    from unveil.utility import utility as serve

    inputs = gather(data, reading, NamedRoles(nulls=nulls), partial=True, release=True)
    needs = [*inputs.planned_needs(), *(Need.parse(text) for text in need or ())]
    if not needs:
        raise ArgumentError("no need is named; write one with --need, or in a project file.")
    with showing_progress():
        result = serve(inputs.study, needs)
    answer.give(result)
    _end(result, shown=not answer.as_json and answer.out is None)


def _end(result: Utility, *, shown: bool) -> None:
    """Report the needs that could not be evaluated, or only their number if they are already shown; end with the exit code."""
    from unveil.formats import counted

    for line in [f"{counted(len(result.failed), 'need')} could not be evaluated."] if shown and result.failed else result.failed:
        sys.stderr.write(f"unveil: {line}\n")
    if result.failed:
        raise typer.Exit(2)
    if result.met is False:
        raise typer.Exit(1)
