"""The verbs, in the data's order. Each reads its words, calls one public function and gives the answer."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from unveil.cli.options import (
    ClassNullPolicy,
    Data,
    Encoding,
    Identity,
    Json,
    Key,
    Missing,
    NullPolicy,
    Out,
    PartitionFile,
    ProjectFile,
    Sensitive,
    Separator,
    Weights,
    gather,
    give,
    one_sensitive,
    pair_of,
    showing_progress,
)
from unveil.errors import ArgumentError

__all__ = ["app"]

app = typer.Typer(
    help="See what a table of personal data gives away before you publish it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from unveil import __version__

        sys.stdout.write(f"unveil {__version__}\n")
        raise typer.Exit


@app.callback()
def unveil(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """See what a table of personal data gives away before you publish it."""


@app.command(epilog="Example: unveil dr adult --key age --key sex --sensitive occupation")
def dr(
    data: Data = None,
    key: Key = None,
    sensitive: Sensitive = None,
    identity: Identity = False,
    partition: PartitionFile = None,
    nulls: NullPolicy = None,
    weights: Weights = None,
    bootstrap: Annotated[int, typer.Option(help="Resamples for an interval; 0: none.")] = 0,
    confidence: Annotated[float, typer.Option(help="The interval's confidence.")] = 0.95,
    seed: Annotated[int, typer.Option(help="The seed of the resampling.")] = 0,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """How far do the key columns, taken together, refine a sensitive column, or single out records?"""
    from unveil.measures.discrimination import discrimination_rate

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    if inputs.key is None:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    result = discrimination_rate(
        inputs.source,
        inputs.key,
        one_sensitive(inputs, sensitive, identity=identity),
        partitions=inputs.partitions,
        nulls=inputs.nulls,
        weights=inputs.weights,
        bootstrap=bootstrap,
        confidence=confidence,
        seed=seed,
    )
    give(result, as_json=as_json, out=out)


@app.command(epilog="Example: unveil scan adult --key age --key sex --key race --sensitive occupation")
def scan(
    data: Data = None,
    key: Key = None,
    sensitive: Sensitive = None,
    identity: Identity = False,
    max_size: Annotated[int | None, typer.Option("--max-size", help="The largest subsets to look at; none: all.")] = None,
    partition: PartitionFile = None,
    nulls: NullPolicy = None,
    weights: Weights = None,
    threads: Annotated[int | None, typer.Option(help="Threads; none: two where they help.", min=1)] = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Which columns, alone or together, single people out? The rate of every subset of the key columns (none named: all)."""
    from unveil.measures.scan import scan as scan_subsets

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    with showing_progress("subsets") as progress:
        result = scan_subsets(
            inputs.source,
            inputs.key,
            one_sensitive(inputs, sensitive, identity=identity),
            max_size=max_size,
            partitions=inputs.partitions,
            nulls=inputs.nulls,
            weights=inputs.weights,
            threads=threads,
            progress=progress,
        )
    give(result, as_json=as_json, out=out)


@app.command(epilog="Example: unveil measure adult --key sex --key race --sensitive occupation --k 5 --t 0.4:equal:occupation")
def measure(
    data: Data = None,
    key: Key = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column; repeat it for more.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Require k-anonymity: every class holds K records.")] = None,
    p: Annotated[list[str] | None, typer.Option("--p", metavar="P[:COLUMN]", help="Require p-sensitivity.")] = None,
    l_diversity: Annotated[
        list[str] | None,
        typer.Option("--l", metavar="KIND:L[:COLUMN]", help="Require distinct:L, entropy:L or recursive:C:L diversity."),
    ] = None,
    t: Annotated[
        list[str] | None,
        typer.Option(
            "--t",
            metavar="T[:DISTANCE][:COLUMN]",
            help="Require t-closeness: equal, rank, value, hierarchical, variational, kl or js.",
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option("--alpha", metavar="A[:COLUMN]", help="Require that no value exceeds this share of a class."),
    ] = None,
    beta: Annotated[
        list[str] | None, typer.Option("--beta", metavar="[KIND:]B[:COLUMN]", help="Require basic or enhanced beta-likeness.")
    ] = None,
    delta: Annotated[
        list[str] | None, typer.Option("--delta", metavar="D[:COLUMN]", help="Require delta-disclosure privacy.")
    ] = None,
    k_map: Annotated[int | None, typer.Option("--k-map", min=1, help="Require k-map against the population.")] = None,
    presence: Annotated[
        str | None, typer.Option("--presence", metavar="LOW:HIGH", help="Require delta-presence against the population.")
    ] = None,
    average_risk: Annotated[float | None, typer.Option("--average-risk", help="Require an average risk of at most this.")] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A sensitive column's hierarchy (ARX CSV).")
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option("--order", metavar="COLUMN=V1,V2,...", help="A sensitive column's values, lowest first.")
    ] = None,
    population: Annotated[str | None, typer.Option(metavar="FILE", help="The table that the data was drawn from.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Compare classes with this table's distribution.")] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option("--sampling-fraction", help="The share of the population that the data is.")
    ] = None,
    household: Annotated[str | None, typer.Option(metavar="COLUMN", help="Who lives together; needs --weights.")] = None,
    suda: Annotated[bool, typer.Option("--suda", help="Look for special uniques (SUDA scores).")] = False,
    loglinear: Annotated[
        int | None, typer.Option("--loglinear", metavar="ORDER", help="Log-linear population uniqueness, order 1 or 2.")
    ] = None,
    threshold: Annotated[float, typer.Option("--threshold", help="Records with a higher risk are at risk.")] = 0.2,
    wildcard_weight: Annotated[
        float, typer.Option("--wildcard-weight", help="How much a key with a null counts (--nulls wildcard).")
    ] = 1.0,
    suppressed: Annotated[
        str, typer.Option("--suppressed", metavar="apart|class", help="What becomes of records without any key value.")
    ] = "apart",
    partition: PartitionFile = None,
    nulls: ClassNullPolicy = None,
    weights: Weights = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Which privacy models does the table meet, how high are the risks, and which class decides? Exit code 1: not met."""
    from unveil.cli import requirements
    from unveil.models.measure import measure as measure_table
    from unveil.sources import source

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    if inputs.key is None:
        raise ArgumentError("no key column is named; name those an intruder may know with --key.")
    secrets = inputs.sensitive or ()

    def opened(table: str | None) -> Any:
        return None if table is None else source(table, separator=separator, encoding=encoding, missing=tuple(missing or ()))

    asked = requirements.asked(
        secrets, k=k, p=p, l_diversity=l_diversity, t=t, alpha=share, beta=beta, delta=delta,
        k_map=k_map, presence=presence, average_risk=average_risk,
    )  # fmt: skip
    result = measure_table(
        inputs.source,
        inputs.key,
        inputs.sensitive,
        models=asked,
        hierarchies=requirements.hierarchies(hierarchy, inputs.project, secrets),
        orders=requirements.orders(order, inputs.project, secrets),
        partitions=inputs.partitions,
        population=opened(population),
        reference=opened(reference),
        sampling_fraction=sampling_fraction,
        weights=inputs.weights,
        household=household,
        special=suda,
        loglinear=loglinear,
        threshold=threshold,
        nulls=inputs.nulls,
        alpha=wildcard_weight,
        suppressed=suppressed,
    )
    give(result, as_json=as_json, out=out)
    if result.met is False:
        raise typer.Exit(1)


@app.command(epilog="Example: unveil identifiers adult")
def identifiers(
    data: Data = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Which columns name people outright? Names, addresses, numbers with check digits, codes, each with its evidence."""
    from unveil.measures.direct_identifiers import direct_identifiers

    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    give(direct_identifiers(inputs.source), as_json=as_json, out=out)


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
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="What a released value covers, for linkage.")
    ] = None,
    external: Annotated[
        str | None, typer.Option("--external", metavar="FILE", help="Other data with common columns (grey box).")
    ] = None,
    linkage: Annotated[bool, typer.Option("--linkage/--no-linkage", help="Whether to link records.")] = True,
    nulls: NullPolicy = None,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn at random.")] = 0,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """How much does an intruder gain? Identity, homogeneity, background knowledge, skewness, similarity and linkage."""
    from unveil.attacks.attack import attack as attack_release
    from unveil.cli import requirements
    from unveil.sources import source

    one, other = (
        source(table, separator=separator, encoding=encoding, missing=tuple(missing or ())) for table in (original, release)
    )
    result = attack_release(
        one,
        other,
        key,
        sensitive,
        mapping=[pair_of(text, one.names, "--map", "COLUMN=COLUMN") for text in mapping or ()],
        id=identity,
        link=link,
        same_order=same_order,
        partitions=requirements.models(partition, other.names),
        hierarchies=requirements.trees(hierarchy, one.names),
        external=external,
        nulls=nulls or "category",
        link_records=linkage,
        seed=seed,
    )
    give(result, as_json=as_json, out=out)


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


@app.command(epilog="Example: unveil reproduce --json")
def reproduce(as_json: Json = False, out: Out = None) -> None:
    """Recompute every figure printed in the publications of the Discrimination Rate, errata marked."""
    from unveil.assess.reproduce import reproduce as recompute

    give(recompute(), as_json=as_json, out=out)


@app.command(epilog="Example: unveil datasets paper-2 --out paper-2.csv")
def datasets(
    name: Annotated[
        str | None, typer.Argument(help="The data set to show or write; none: list them.", show_default=False)
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """List the built-in data sets, or write one to a file."""
    from unveil.assess.catalogue import catalogue, records

    give(catalogue() if name is None else records(name), as_json=as_json, out=out)
