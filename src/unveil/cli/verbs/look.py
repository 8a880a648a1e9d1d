"""What does a table give away? The Discrimination Rate, every subset of the key, direct identifiers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from unveil.cli import StoppedError
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
    SpreadsheetSafe,
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
    interval: Annotated[
        bool, typer.Option("--interval", help="Give an interval for the rate in the population that was sampled.")
    ] = False,
    confidence: Annotated[float, typer.Option(help="The interval's confidence.")] = 0.95,
    seed: Annotated[int, typer.Option(help="The seed of the sample that --max-distinct draws.")] = 0,
    max_distinct: Annotated[
        int | None,
        typer.Option(
            "--max-distinct", metavar="N", help="Of a large file hold at most N combinations; beyond, estimate with an error."
        ),
    ] = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """How far do the key columns, taken together, refine a sensitive column, or single out records?"""
    from unveil.measures.approximate import approximate_rate
    from unveil.measures.discrimination import discrimination_rate

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    keys, study = inputs.required_key(), one_sensitive(inputs, sensitive, identity=identity)
    secrets = study.sensitive or None
    if max_distinct is not None and (study.partitions or study.weights or interval or study.nulls != "category"):
        raise ArgumentError(
            "--max-distinct does not go with --partition, --weights, --interval or another --nulls than category."
        )
    with showing_progress():
        if max_distinct is not None:
            give(
                approximate_rate(study.source, keys, secrets, max_distinct=max_distinct, seed=seed),
                as_json=as_json,
                out=out,
                spreadsheet_safe=spreadsheet_safe,
            )
            return
        result = discrimination_rate(study, sensitive=secrets, interval=interval, confidence=confidence)
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)


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
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep the subsets done in a file, so that a stopped scan can go on."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the checkpoint if there is one; none named: beside the data.")
    ] = False,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Which columns, alone or together, single people out? The rate of every subset of the key columns (none named: all)."""
    from unveil.measures.scan import scan as scan_subsets
    from unveil.measures.scan_checkpoint import default_place

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=partition, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    study = one_sensitive(inputs, sensitive, identity=identity)
    kept = default_place(study.place) if resume and checkpoint is None else checkpoint
    with _told_what_is_kept(kept), showing_progress():
        result = scan_subsets(
            study,
            sensitive=study.sensitive or None,
            max_size=max_size,
            threads=threads,
            checkpoint=kept,
            resume=resume,
        )
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)


@contextmanager
def _told_what_is_kept(checkpoint: Path | None) -> Iterator[None]:
    """Say with an interrupt that the checkpoint is there, if it is."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise StoppedError(
            f"the checkpoint {str(checkpoint)!r} keeps what is done; the same command with --resume goes on."
        ) from None


@app.command(epilog="Example: unveil identifiers adult")
def identifiers(
    data: Data = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Which columns name people outright? Names, addresses, numbers with check digits, codes, each with its evidence."""
    from unveil.measures.direct_identifiers import direct_identifiers

    inputs = gather(
        data, key=None, sensitive=None, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing, partial=True,
    )  # fmt: skip
    with showing_progress():
        found = direct_identifiers(inputs.study)
    give(found, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
