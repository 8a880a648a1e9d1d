"""May a release leave the house?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.groups import grouped
from unveil.cli.options import (
    ClassNullPolicy,
    Data,
    Encoding,
    Json,
    Keep,
    Key,
    KeyFile,
    Missing,
    Out,
    Person,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    gather,
    give,
    pair_of,
    showing_progress,
)
from unveil.cli.requirements import Order, SensitiveColumns
from unveil.cli.signing import SignOptions
from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable, together


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        check_replaceable(out)
    return out


def _sheet(place: Path | None) -> Path | None:
    if place is not None and place.suffix.lower() not in (".html", ".txt"):
        raise ArgumentError(f"the sheet is a page to print or a text: end its name in .html or .txt, not as {shown(place.name)}.")
    return _writable(place)


@app.command(epilog="Example: unveil check adult --policy cell-size-5 --key sex --key race")
@grouped
def check(
    signing: SignOptions,
    release: Data = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE|PRESET", help="A policy file, a project file, or a preset.")
    ] = None,
    key: Key = None,
    sensitive: SensitiveColumns = None,
    person: Person = None,
    keep: Keep = None,
    original: Annotated[
        str | None, typer.Option("--original", metavar="FILE", help="The original table, for rules about attacks.")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=COLUMN", help="An original column and the protected one for it.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")
    ] = None,
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None,
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both stand in the same order.")] = False,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A sensitive column's hierarchy (ARX CSV).")
    ] = None,
    order: Order = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="An earlier result: the JSON of a check or a measure."),
    ] = None,
    allow: Annotated[float, typer.Option("--allow", help="By how much a risk may have grown since the baseline.")] = 0.0,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="Append this check to a file of runs, and show how the figures went."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="The record of the release; none: RELEASE.unveil.json beside it."),
    ] = None,
    key_file: KeyFile = None,
    nulls: ClassNullPolicy = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML, for pipelines.", callback=_writable),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option("--sheet", metavar="FILE", help="Write one page for whoever decides: .html or .txt.", callback=_sheet),
    ] = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """May a release leave the house: does it meet a policy, and is it no riskier than before? Exit code 1: no, or undecided."""
    from unveil.assess.policy.check import check as check_release
    from unveil.assess.policy.check import policy_of
    from unveil.cli import requirements
    from unveil.sources import source

    signing.check(out)
    if (signature := signing.verified()) is not None:
        give(signature, as_json=as_json, out=out)
        raise typer.Exit(0 if signature.valid else 1)
    signer = signing.signer()
    asked, own = (None, None) if policy is None else policy_of(policy)
    plan = project if project is not None or own is None else own.path
    inputs = gather(
        release, key=key, sensitive=sensitive, partition=None, nulls=nulls, weights=None, project=plan,
        separator=separator, encoding=encoding, missing=missing, partial=True, person=person,
        keep=keep,
    )  # fmt: skip
    if asked is None and inputs.project is not None and inputs.project.policy:
        asked = inputs.project.policy
    secrets = inputs.sensitive or ()
    paired: dict[str, Any] = {}
    if original is not None:
        first = source(original, separator=separator, encoding=encoding, missing=tuple(missing or ()))
        pairs = [pair_of(text, first.names, "--map", "COLUMN=COLUMN") for text in mapping or ()]
        paired = {"original": first, "mapping": pairs, "id": identity, "link": link, "same_order": same_order}
    with showing_progress():
        result = check_release(
            inputs.study,
            asked,
            hierarchies=requirements.hierarchies(hierarchy, inputs.project, secrets),
            orders=requirements.orders(order, inputs.project, secrets),
            baseline=baseline,
            allow=allow,
            history=history,
            record=record,
            key_file=key_file,
            seed=seed,
            **paired,
        )
    with together():
        if junit is not None:
            from unveil.assess.policy.junit import junit as as_junit
            from unveil.partitions.files import write_whole

            write_whole(junit, as_junit(result) + "\n")
            sys.stderr.write(f"written: {junit}\n")
        if sheet is not None:
            from unveil.report import write_view

            write_view(result.sheet(), sheet)
            sys.stderr.write(f"written: {sheet}\n")
        give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
        if signer is not None and out is not None:
            written = result.evidence.file("record")
            signer([out] if written is None else [out, Path(written.place)])
    if not result.passes:
        raise typer.Exit(1)
