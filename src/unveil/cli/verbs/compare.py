"""How do releases of one original compare?"""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    Encoding,
    Json,
    Key,
    KeyFile,
    Missing,
    Out,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    gather,
    give,
    showing_progress,
)
from unveil.cli.requirements import SensitiveColumns
from unveil.errors import ArgumentError, shown


@app.command(epilog="Example: unveil compare thesis-4.2 three=thesis-4.3 --key Age --same-order")
def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original table.", show_default=False)],
    releases: Annotated[
        list[str], typer.Argument(metavar="NAME=RELEASE...", help="Its releases, each with a name.", show_default=False)
    ],
    key: Key = None,
    sensitive: SensitiveColumns = None,
    privacy: Annotated[
        list[str] | None, typer.Option("--privacy", metavar="FIGURE", help="k, prosecutor, l, t or attack; repeat it for more.")
    ] = None,
    need: Annotated[
        list[str] | None, typer.Option("--need", metavar="NEED", help="NAME: TARGET given A, B; repeat it for more.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="COLUMN", help="A column to learn from the others; repeat it for more.")
    ] = None,
    loss: Annotated[
        list[str] | None, typer.Option("--loss", metavar="LOSS", help="entropy_loss, suppressed, granularity, il1s, pmse, ...")
    ] = None,
    identity: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column that names each record.")] = None,
    link: Annotated[
        list[str] | None, typer.Option("--link", metavar="NAME=FILE", help="A release's private correspondence file.")
    ] = None,
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of all stand in the same order.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn at random.", min=0)] = 0,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="The releases are tables with this dimension; repeat it for more."),
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="With --by: the column whose sums the tables hold.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="RULE", help="With --by: which cells are sensitive, as for table.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="With --by: the groups of a dimension.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="FILE|PRESET", help="What is required: a policy file, a project file, or a preset."),
    ] = None,
    key_file: KeyFile = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Compare releases on one scale: models, attacks, needs, losses, tasks; the undominated ones marked, losses explained."""
    from unveil.assess.comparison import compare as compare_releases
    from unveil.project import Need
    from unveil.sources import source
    from unveil.utility.tasks import Task

    inputs = gather(
        original, key=key, sensitive=sensitive, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    if by:
        from unveil.cli.tables import compared, hierarchies_of

        trees = hierarchies_of(hierarchy, inputs.study.names)
        tables_named = _named(releases, "a table", "NAME=TABLE")
        give(compared(inputs.study.source, by, tables_named, value, rule or (), trees), as_json=as_json, out=out)
        return
    keys = inputs.required_key()
    texts = tuple(missing or (inputs.project.data.missing if inputs.project is not None else ()))
    tables = {
        name: source(path, separator=separator, encoding=encoding, missing=texts)
        for name, path in _named(releases, "a release", "NAME=RELEASE").items()
    }
    with showing_progress():
        result = compare_releases(
            {"original": inputs.study, **tables},
            keys,
            inputs.sensitive,
            privacy=privacy or ("k", "prosecutor"),
            needs=[*inputs.planned_needs(), *(Need.parse(text) for text in need or ())],
            tasks=[Task(f"task {column}", column) for column in task or ()],
            losses=loss or ("entropy_loss", "suppressed"),
            id=identity,
            link=_named(link or (), "--link", "NAME=FILE"),
            same_order=same_order,
            seed=seed,
            key_file=key_file,
            policy=policy if policy is not None or inputs.project is None else inputs.project.policy or None,
        )
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)


def _named(texts: list[str] | tuple[()], what: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals or not name or not rest:
            raise ArgumentError(f"{what} is written {form}, not {shown(text)}.")
        if name in found or name == "original":
            raise ArgumentError(
                f"the name {shown(name)} stands twice; give each release a name of its own, other than 'original'."
            )
        found[name] = rest
    return found
