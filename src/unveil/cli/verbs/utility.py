"""What is a release still good for?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    Data,
    Encoding,
    Json,
    Key,
    Missing,
    NullPolicy,
    Out,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    gather,
    gather_two,
    give,
    pair_of,
    showing_progress,
)
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
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """How far does the table serve each need, judged from itself alone? Exit code 1: a degree asked for is missed."""
    from unveil.project import Need
    from unveil.results.numbers import counted
    from unveil.utility.needs import utility as serve

    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=nulls, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing, partial=True,
    )  # fmt: skip
    asked = [*inputs.planned_needs(), *(Need.parse(text) for text in need or ())]
    if not asked:
        raise ArgumentError("no need is named; write one with --need, or in a project file.")
    with showing_progress():
        result = serve(inputs.study, asked)
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    shown = not as_json and out is None
    for line in [f"{counted(len(result.failed), 'need')} could not be evaluated."] if shown and result.failed else result.failed:
        sys.stderr.write(f"unveil: {line}\n")
    if result.failed:
        raise typer.Exit(2)
    if result.met is False:
        raise typer.Exit(1)


@app.command(epilog="Example: unveil loss paper-4 paper-3 --map ZIP=ZIP* --map Age=Age* --same-order")
def loss(
    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)],
    release: Annotated[str, typer.Argument(help="The release.", show_default=False)],
    identity: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")
    ] = None,
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None,
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both stand in the same order.")] = False,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=COLUMN", help="An original column and the protected one for it.")
    ] = None,
    key: Key = None,
    continuous: Annotated[
        list[str] | None, typer.Option("--continuous", metavar="COLUMN", help="A column to be taken as numbers.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", metavar="COLUMN", help="A column to be taken as categories.")
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option("--order", metavar="COLUMN=V1,V2,...", help="An ordinal column's values, lowest first.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A column's hierarchy (ARX CSV).")
    ] = None,
    ways: Annotated[int, typer.Option(help="Contingency tables of up to this many columns, 0 to 3.")] = 3,
    pmse: Annotated[bool, typer.Option("--pmse", help="Measure whether release and original can be told apart.")] = False,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="COLUMN", help="A column to be predicted from all others.")
    ] = None,
    clusters: Annotated[int | None, typer.Option(metavar="N", help="Compare clusterings into N clusters.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """How much has the release lost against its original? In numbers, categories, classes, and on request tasks."""
    from unveil.cli import requirements
    from unveil.utility.loss import loss as lost
    from unveil.utility.tasks import Task

    one, other = gather_two(original, release, project=project, separator=separator, encoding=encoding, missing=missing)
    pairs = [pair_of(text, one.names, "--map", "COLUMN=COLUMN") for text in mapping or ()]
    held = {*other.names, *dict(pairs)}
    paired = [name for name in one.names if name in held and name != identity]
    clustering = [] if clusters is None else [Task("clustering", kind="clustering", clusters=clusters)]
    with showing_progress():
        result = lost(
            one,
            other,
            id=identity,
            link=link,
            same_order=same_order,
            mapping=pairs,
            key=key or [name for name in one.key if name in held] or None,
            continuous=continuous,
            categorical=categorical,
            orders=requirements.orders(None, one.project, paired) | requirements.orders(order, None, one.names),
            hierarchies=requirements.trees(hierarchy, one.names),
            ways=ways,
            pmse=pmse,
            tasks=[*(task or ()), *clustering],
            seed=seed,
        )
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    for line in result.failed:
        sys.stderr.write(f"unveil: {line}\n")
    if result.failed:
        raise typer.Exit(2)
