"""A protected door to a table: ask, or say what it would cost; check the ledger; attack; serve."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app
from unveil.cli.bounds import Bounds, bounds_of
from unveil.cli.options import (
    Data,
    Encoding,
    Json,
    Key,
    Missing,
    Out,
    ProjectFile,
    Sensitive,
    Separator,
    SpreadsheetSafe,
    gather,
    give,
)
from unveil.errors import ArgumentError, shown

if TYPE_CHECKING:
    from unveil.queries import Gate


@app.command(
    epilog="Example: unveil query adult \"SELECT AVG(age) FROM adult WHERE sex = 'Female'\" --sensitive age --ledger gate.db "
    "--as eve"
)
def query(
    data: Data = None,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="SELECT of COUNT, SUM, AVG, VAR, MIN or MAX.", show_default=False)
    ] = None,
    ledger: Annotated[Path, typer.Option("--ledger", metavar="FILE", help="The ledger; made where there is none.")] = Path(
        "gate.db"
    ),
    analyst: Annotated[str, typer.Option("--as", metavar="ANALYST", help="Who asks: a label, not a proof.")] = "analyst",
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="restriction (default), differential, sticky, records, camouflage or open."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="The least size of a set and of its complement.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="The loss of privacy of one number.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the policy; repeat it for more.")
    ] = None,
    key: Key = None,
    sensitive: Sensitive = None,
    bounds: Bounds = None,
    release: Annotated[
        str | None, typer.Option("--release", metavar="FILE", help="Protected records to answer from (--policy records).")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="COLUMN", help="Whose record it is (--policy differential).")
    ] = None,
    contribution: Annotated[int | None, typer.Option("--contribution", help="How many records of one person count.")] = None,
    nulls: Annotated[
        str | None, typer.Option("--nulls", metavar="POLICY", help="error (default) or drop: nulls in sensitive columns.")
    ] = None,
    dialect: Annotated[str | None, typer.Option("--dialect", help="The SQL dialect of the question, such as postgres.")] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", metavar="FILE", help="The ledger's secret key; none: LEDGER.key beside it.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the question would cost, and ask nothing.")] = False,
    spent: Annotated[bool, typer.Option("--spent", help="Say what was spent, by analyst.")] = False,
    history: Annotated[bool, typer.Option("--history", help="List the ledger's rows: the steward's view.")] = False,
    attack: Annotated[
        bool, typer.Option("--attack", help="Say what all answers together disclose of each record's value.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify-ledger", help="Check the ledger's chain, and print its head.")] = False,
    head: Annotated[
        str | None, typer.Option("--head", metavar="HEX", help="A head printed before: it must be on the chain.")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the gate over HTTP, on this machine.")] = False,
    host: Annotated[str, typer.Option("--host", help="The address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to serve on; 0: a free one.")] = 8787,
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", metavar="FILE", help="JSON: a token by analyst. None: one for --as, drawn and printed."),
    ] = None,
    rate: Annotated[int, typer.Option("--rate", min=1, help="Questions that an analyst may ask per minute (--serve).")] = 60,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Ask a table through a gate that protects the people in it. Exit code 1: the question is refused."""
    from unveil.queries.opening import open_gate

    if verify:
        _verified(ledger, key_file, head, as_json=as_json)
        return
    inputs = gather(
        data, key=key, sensitive=sensitive, partition=None, nulls=None, weights=None, project=project,
        separator=separator, encoding=encoding, missing=missing,
    )  # fmt: skip
    gate = open_gate(
        inputs.source,
        ledger=ledger,
        project=inputs.project,
        policy=policy,
        settings=_settings(setting, k=k, epsilon=epsilon, release=release),
        key=key,
        sensitive=sensitive,
        bounds=bounds_of(bounds),
        nulls=nulls,
        person=person,
        contribution=contribution,
        dialect=dialect,
        key_file=key_file,
    )
    if serve:
        from unveil.app.gate_server import serve_gate

        serve_gate(gate, host=host, port=port, tokens=tokens, analyst=analyst, rate=rate)
        return
    if history or spent:
        _listed(gate, history=history)
        return
    result: Any = gate.attack() if attack else None
    if result is None:
        if question is None:
            raise ArgumentError('no question is given; write it in quotes behind the data, such as "SELECT COUNT(*) FROM data".')
        result = gate.explain(question, analyst=analyst) if explain else gate.ask(question, analyst=analyst)
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    gate.close()
    if not explain and not attack and not result.answered:
        raise typer.Exit(1)


def _settings(texts: Sequence[str] | None, **named: Any) -> dict[str, Any]:
    """Return the settings of a policy: those with an option of their own, and those of --set, as TOML reads them."""
    from unveil.partitions.files import DocumentError, parse_toml

    found = {name: value for name, value in named.items() if value is not None}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ArgumentError(f"--set takes NAME=VALUE, not {shown(text)}.")
        try:
            found[name.strip()] = parse_toml(f"value = {value}")["value"]
        except DocumentError:
            found[name.strip()] = value
    return found


def _verified(ledger: Path, key_file: Path | None, head: str | None, *, as_json: bool) -> None:
    """Check a ledger's chain and print its head."""
    from unveil.errors import DataNotFoundError
    from unveil.queries.ledger import Ledger

    if not ledger.is_file():
        raise DataNotFoundError(f"{shown(ledger)}: there is no such ledger.")
    found = Ledger(ledger, key_file).verify(head)
    text = json.dumps(found) if as_json else f"intact: {found['rows']:,} rows, head {found['head'] or 'none'}"
    sys.stdout.write(f"{text}\n")


def _listed(gate: Gate, *, history: bool) -> None:
    """Print what the ledger holds as JSON lines, or what was spent as JSON."""
    from dataclasses import asdict

    lines = [json.dumps(asdict(entry)) for entry in gate.history()] if history else [json.dumps(gate.spent())]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
