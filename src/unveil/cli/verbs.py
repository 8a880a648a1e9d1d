"""The verbs, in the data's order. Each reads its words, calls one public function and gives the answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from unveil.cli.options import (
    Data,
    Encoding,
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
        one_sensitive(inputs, sensitive),
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
            one_sensitive(inputs, sensitive),
            max_size=max_size,
            partitions=inputs.partitions,
            nulls=inputs.nulls,
            weights=inputs.weights,
            threads=threads,
            progress=progress,
        )
    give(result, as_json=as_json, out=out)


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
