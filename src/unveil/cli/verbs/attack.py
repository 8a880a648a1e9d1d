"""What does an intruder gain from a release?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    Encoding,
    Json,
    Key,
    Missing,
    NullPolicy,
    Out,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    gather_two,
    give,
    pair_of,
    showing_progress,
)
from unveil.cli.steps import settings_of
from unveil.cli.streaming import together
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.sources import Source


@app.command(epilog="Example: unveil attack thesis-4.2 thesis-4.3 --map ZIP=ZIP* --map Age=Age* --sensitive 'location 1'")
def attack(
    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)],
    release: Annotated[str, typer.Argument(help="The release that an intruder sees.", show_default=False)],
    key: Key = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column of the release; repeat for more."),
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=COLUMN", help="An original column and the protected one for it.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")
    ] = None,
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None,
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both stand in the same order.")] = False,
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="NAME:COLUMN=FILE", help="An attacker's model: a semantic partition of a column."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="What a released value covers.")
    ] = None,
    external: Annotated[
        str | None, typer.Option("--external", metavar="FILE", help="Other data with common columns (grey box).")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="FILE",
            help="A hold-out: people like the original's who took no part; for synthetic data, and for linkage by chance.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="NAME", help="How the release was made, if it is known: rank_swap, add_noise or pram."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="A setting of the --method, such as window=5.")
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option("--earlier", metavar="FILE", help="An earlier release about the same people: what both give away together."),
    ] = None,
    linkage: Annotated[bool, typer.Option("--linkage/--no-linkage", help="Whether to link records.")] = True,
    nulls: NullPolicy = None,
    missing_is_sensitive: Annotated[
        bool | None,
        typer.Option(
            "--missing-is-sensitive/--missing-is-no-secret",
            help="Whether it is a secret that a sensitive value is missing (else: as the project says).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """How much does an intruder gain? Identity, homogeneity, background knowledge, skewness, similarity and linkage.

    Of a synthetic release (which record is which is not said) and a hold-out: singling out, linkability, inference, membership.
    """
    from unveil.attacks.attack import attack as attack_release
    from unveil.cli import requirements
    from unveil.sources import source
    from unveil.study import Pair

    one, other = gather_two(original, release, project=project, separator=separator, encoding=encoding, missing=missing)
    pairs = [pair_of(text, one.names, "--map", "COLUMN=COLUMN") for text in mapping or ()]

    def opened(table: str | None) -> Source | None:
        return None if table is None else source(table, separator=separator, encoding=encoding, missing=tuple(missing or ()))

    if settings and method is None:
        raise ArgumentError("--set goes with a --method; name one.")
    known = None if method is None else {"mechanism": method, **settings_of(settings)}
    if (sooner := opened(earlier)) is not None:
        trees = {**one.hierarchies, **requirements.trees(hierarchy, one.names)}
        sides = tuple(key or one.key), tuple(sensitive or one.sensitive)
        return together(one.source, sooner, other.source, sides, pairs, trees, as_json=as_json, out=out)
    pair = Pair(
        one,
        other,
        key or None,
        sensitive or None,
        mapping=pairs,
        id=identity,
        link=link,
        same_order=same_order,
        hierarchies=requirements.trees(hierarchy, one.names),
        nulls=nulls,
    )
    with showing_progress():
        result = attack_release(
            pair,
            partitions=requirements.planned_attackers(one.project, pair.sensitive)
            | requirements.attackers(partition, [*other.names, *one.names]),
            external=opened(external),
            control=opened(control),
            method=known,
            missing_is_sensitive=missing_is_sensitive,
            link_records=linkage,
            seed=seed,
        )
    return give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
