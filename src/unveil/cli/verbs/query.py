"""The verb query: a protected gate to a table, to ask questions, check its policy, attack it, or serve it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped
from unveil.cli.completion import beginning, offering
from unveil.cli.options import Bounds, Data, Key, Sensitive, bounds_of
from unveil.cli.study_options import FormOptions, NamedRoles, ReadingOptions, gather
from unveil.errors import ArgumentError, DataNotFoundError, shown

if TYPE_CHECKING:
    from unveil.mechanisms import PrivacyLedger
    from unveil.queries import Gate


def _policies() -> Iterable[str]:
    from unveil.queries import POLICIES

    return POLICIES


def _policy_settings() -> Iterable[str]:
    from unveil.queries import POLICIES

    return (f"{one.name}=VALUE" for policy in POLICIES.values() for one in fields(policy))


def _dialects() -> Iterable[str]:
    from unveil.queries import dialects

    return dialects()


@dataclass(frozen=True, slots=True)
class _LedgerOptions:
    """The ledger of questions."""

    ledger: Annotated[Path, typer.Option("--ledger", metavar="FILE", help="The ledger; made if there is none.")] = Path("gate.db")
    key_file: Annotated[
        Path | None, typer.Option("--key-file", metavar="FILE", help="The ledger's secret key; default: LEDGER.key beside it.")
    ] = None
    shared: Annotated[
        Path | None,
        typer.Option("--shared-ledger", metavar="FILE", help="A budget that releases spend from too (--policy differential)."),
    ] = None
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="EPSILON[:DELTA]", help="The budget of a new shared ledger.")
    ] = None
    verify: Annotated[bool, typer.Option("--verify-ledger", help="Check the ledger's chain, and print its head.")] = False
    head: Annotated[
        str | None, typer.Option("--head", metavar="HEX", help="A head that was printed earlier; the chain must contain it.")
    ] = None

    def account(self) -> PrivacyLedger | None:
        """Open the ledger of a budget that is shared, if one is named."""
        if self.shared is None:
            if self.budget is not None:
                raise ArgumentError("--budget goes with --shared-ledger, the file that remembers what was spent.")
            return None
        from unveil.mechanisms import PrivacyLedger

        return PrivacyLedger(self.shared, self.budget)

    def print_verified(self, *, as_json: bool) -> None:
        """Check the chain and print its head."""
        from unveil.ledger import Ledger

        if not self.ledger.is_file():
            raise DataNotFoundError(f"{shown(self.ledger)}: there is no such ledger.")
        chain = Ledger(self.ledger, self.key_file).verify(self.head)
        text = json.dumps(chain) if as_json else f"intact: {chain['rows']:,} rows, head {chain['head'] or 'none'}"
        sys.stdout.write(f"{text}\n")


@dataclass(frozen=True, slots=True)
class _PolicyOptions:
    """The protection of the people in the table by the gate."""

    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="restriction (default), differential, sticky, records, camouflage or open.",
            autocompletion=offering(_policies),
        ),
    ] = None
    k: Annotated[int | None, typer.Option("--k", help="The least size of a set and of its complement.")] = None
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="The loss of privacy of one number.")] = None
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another setting of the policy; repeat it for more.",
            autocompletion=beginning(_policy_settings),
        ),
    ] = None
    bounds: Bounds = None
    release: Annotated[
        str | None, typer.Option("--release", metavar="DATA", help="Protected records to answer from (--policy records).")
    ] = None
    person: Annotated[
        str | None, typer.Option("--person", metavar="COLUMN", help="The column of persons (--policy differential).")
    ] = None
    contribution: Annotated[int | None, typer.Option("--contribution", help="How many records of one person count.")] = None
    nulls: Annotated[
        str | None, typer.Option("--nulls", metavar="error|drop", help="Nulls in sensitive columns; default: error.")
    ] = None
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="DIALECT",
            help="The SQL dialect of the question, such as postgres.",
            autocompletion=offering(_dialects),
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call."""
        return {
            "policy": self.policy,
            "settings": _settings(self.setting, k=self.k, epsilon=self.epsilon, release=self.release),
            "bounds": bounds_of(self.bounds),
            "nulls": self.nulls,
            "person": self.person,
            "contribution": self.contribution,
            "dialect": self.dialect,
        }


@dataclass(frozen=True, slots=True)
class _GateOptions:
    """The table behind the gate, its sensitive columns, and the way in which it is read."""

    data: Data = None
    key: Key = None
    sensitive: Sensitive = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    @property
    def is_unnamed(self) -> bool:
        """Whether no table is named."""
        return self.data is None and self.reading.project is None

    def opened(self, ledger: _LedgerOptions, policy: _PolicyOptions) -> Gate:
        """Open the gate."""
        from unveil.queries import open_gate

        inputs = gather(self.data, self.reading, NamedRoles(self.key, self.sensitive))
        return open_gate(
            inputs.study, ledger=ledger.ledger, key_file=ledger.key_file, shared=ledger.account(), **policy.arguments(),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _AskingOptions:
    """The question, and the analyst who asks it."""

    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="SELECT of COUNT, SUM, AVG, VAR, MIN or MAX.", show_default=False)
    ] = None
    analyst: Annotated[str, typer.Option("--as", metavar="ANALYST", help="Who asks: a label, not a proof.")] = "analyst"
    explain: Annotated[bool, typer.Option("--explain", help="Say what the question would cost, without asking it.")] = False
    spent: Annotated[bool, typer.Option("--spent", help="Say what was spent, by analyst.")] = False
    history: Annotated[bool, typer.Option("--history", help="List the ledger's rows: the steward's view.")] = False
    attack: Annotated[
        bool, typer.Option("--attack", help="Say what all answers together disclose about each record's value.")
    ] = False

    @property
    def lists(self) -> bool:
        """Whether the ledger is listed."""
        return self.history or self.spent

    @property
    def asks(self) -> bool:
        """Whether the question is put to the gate."""
        return not self.explain and not self.attack

    def print_listed(self, gate: Gate) -> None:
        """Print what the ledger holds as JSON lines, or what was spent as JSON."""
        lines = [json.dumps(asdict(entry)) for entry in gate.history()] if self.history else [json.dumps(gate.spent())]
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    def answered(self, gate: Gate) -> Any:
        """Return what the gate says: its answer, what an answer would cost, or what all answers disclose."""
        if self.attack:
            return gate.attack()
        if self.question is None:
            raise ArgumentError('no question is given; write it in quotes after the data, such as "SELECT COUNT(*) FROM data".')
        if self.explain:
            return gate.explain(self.question, analyst=self.analyst)
        return gate.ask(self.question, analyst=self.analyst)


@dataclass(frozen=True, slots=True)
class _ServingOptions:
    """The settings for serving the gate."""

    serve: Annotated[bool, typer.Option("--serve", help="Serve the gate over HTTP, on this machine.")] = False
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to serve on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to serve on; 0: a free one.")] = 8787
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens", metavar="FILE", help="JSON with a token for each analyst; default: one for --as, drawn and printed."
        ),
    ] = None
    rate: Annotated[int, typer.Option("--rate", min=1, help="Questions that an analyst may ask per minute (--serve).")] = 60

    def run(self, gate: Gate, analyst: str) -> None:
        """Serve the gate until it is stopped."""
        from unveil.app import serve_gate

        serve_gate(gate, host=self.host, port=self.port, tokens=self.tokens, analyst=analyst, rate=self.rate)


@app.command(
    epilog="Example: unveil query adult \"SELECT AVG(age) FROM adult WHERE sex = 'Female'\" --sensitive age --ledger gate.db "
    "--as eve"
)
@grouped
def query(
    table: _GateOptions,
    asking: _AskingOptions,
    ledger: _LedgerOptions,
    policy: _PolicyOptions,
    serving: _ServingOptions,
    answer: FormOptions,
) -> None:
    """Ask a table through a gate that protects the people in it. Exit code 1: the question is refused."""
    if ledger.verify:
        return ledger.print_verified(as_json=answer.as_json)
    if asking.spent and table.is_unnamed and (account := ledger.account()) is not None:
        return answer.give(account.account())
    gate = table.opened(ledger, policy)
    if serving.serve:
        return serving.run(gate, asking.analyst)
    if asking.lists:
        return asking.print_listed(gate)
    result = asking.answered(gate)
    answer.give(result)
    gate.close()
    if asking.asks and not result.answered:
        raise typer.Exit(1)
    return None


def _settings(texts: Sequence[str] | None, **named: Any) -> dict[str, Any]:
    """Return the settings of a policy: those with an option of their own, and those of --set, in the form of TOML."""
    from unveil.partitions import DocumentError, parse_toml

    settings = {name: value for name, value in named.items() if value is not None}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ArgumentError(f"--set takes NAME=VALUE, not {shown(text)}.")
        try:
            settings[name.strip()] = parse_toml(f"value = {value}")["value"]
        except DocumentError:
            settings[name.strip()] = value
    return settings
