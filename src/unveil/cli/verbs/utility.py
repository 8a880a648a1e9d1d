"""What is a release still good for?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import Data, Encoding, Json, Missing, NullPolicy, Out, ProjectFile, Separator, gather, give
from unveil.errors import ArgumentError


@app.command(epilog="Example: unveil utility adult --need 'income: income-per-year given age, education'")
def utility(
    data: Data = None,
    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B [at least DEGREE]; repeat it for more."),
    ] = None,
    nulls: NullPolicy = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """How far does the table serve each need, judged from itself alone? Exit code 1: a degree asked for is missed."""
    from unveil.project import Need
    from unveil.utility.needs import utility as serve

    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=nulls, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    planned = list(inputs.project.needs.values()) if inputs.project is not None else []
    asked = [*planned, *(Need.parse(text) for text in need or ())]
    if not asked:
        raise ArgumentError("no need is named; write one with --need, or in a project file.")
    result = serve(inputs.source, asked, nulls=inputs.nulls)
    give(result, as_json=as_json, out=out)
    for line in result.failed:
        sys.stderr.write(f"unveil: {line}\n")
    if result.failed:
        raise typer.Exit(2)
    if result.met is False:
        raise typer.Exit(1)
