"""What does a table give away? The Discrimination Rate, every subset of the key, direct identifiers."""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import (
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
    showing_progress,
)
from unveil.errors import ArgumentError


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
