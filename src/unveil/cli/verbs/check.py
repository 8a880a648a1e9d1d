"""The verb check: whether a release may be published, by its policy, its original, earlier results and signatures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped, refuse_without
from unveil.cli.model_options import Order, SensitiveColumns
from unveil.cli.options import (
    ClassNullPolicy,
    Data,
    Json,
    Keep,
    Key,
    KeyFile,
    MatchOptions,
    Out,
    Person,
    SpreadsheetSafe,
    give,
    showing_progress,
)
from unveil.cli.study_options import Inputs, NamedRoles, ReadingOptions, gather, hierarchies, orders
from unveil.errors import ArgumentError, DataNotFoundError, reason_of, shown
from unveil.output import check_replaceable, together

if TYPE_CHECKING:
    from unveil.assess import Verdict
    from unveil.project import Policy
    from unveil.releases import Signature


@dataclass(frozen=True, slots=True)
class SignOptions:
    """The signing of a verdict, or the verification of a signature."""

    sign_key: Annotated[
        Path | None,
        typer.Option(
            "--sign-key", metavar="PEM", help="An Ed25519 private key: sign the --out file and the release's record (FILE.sig)."
        ),
    ] = None
    passphrase_file: Annotated[
        Path | None,
        typer.Option("--passphrase-file", metavar="FILE", help="The passphrase of the key; default: a terminal prompts for it."),
    ] = None
    verify: Annotated[
        Path | None,
        typer.Option("--verify", metavar="FILE", help="Only verify the signature of a verdict, a record or a release."),
    ] = None
    public_key: Annotated[
        Path | None, typer.Option("--public-key", metavar="PEM", help="The Ed25519 public key to verify with.")
    ] = None

    def check(self, out: Path | None) -> None:
        """Refuse options that exclude each other, or that lack another one."""
        if (self.verify is None) != (self.public_key is None):
            raise ArgumentError("--verify FILE and --public-key PEM go together; give both, or neither.")
        if self.verify is not None and self.sign_key is not None:
            raise ArgumentError("--sign-key signs and --verify verifies; use one of them.")
        if self.sign_key is not None and out is None:
            raise ArgumentError("--sign-key signs the verdict's file, and none is named; name it with --out.")
        if self.passphrase_file is not None and self.sign_key is None:
            raise ArgumentError("--passphrase-file opens a private key, and none is named; name it with --sign-key.")

    def verified(self) -> Signature | None:
        """Return the result of verifying a signature; None if none is requested."""
        if self.verify is None or self.public_key is None:
            return None
        from unveil.releases import verify

        return verify(self.verify, self.public_key)

    def signer(self) -> Callable[[list[Path]], None] | None:
        """Return a function that signs files and reports it; the key is read before the work begins."""
        if self.sign_key is None:
            return None
        from unveil.releases import signing_key, write_signature

        key = signing_key(self.sign_key, self._passphrase)

        def sign(files: list[Path]) -> None:
            for file in files:
                sys.stderr.write(f"written: {write_signature(file, key)}\n")

        return sign

    def _passphrase(self) -> bytes:
        """Return the passphrase, which is never on the command line, where everybody on the computer could read it."""
        if self.passphrase_file is not None:
            try:
                return self.passphrase_file.read_bytes().rstrip(b"\r\n")
            except OSError as error:
                raise DataNotFoundError(
                    f"the passphrase file {shown(self.passphrase_file)} cannot be read: {reason_of(error)}."
                ) from None
        if not sys.stdin.isatty():
            return b""
        import getpass

        return getpass.getpass(f"Passphrase of {shown(self.sign_key)}: ").encode()


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        check_replaceable(out)
    return out


def _sheet(place: Path | None) -> Path | None:
    if place is not None and place.suffix.lower() not in (".html", ".txt"):
        raise ArgumentError(f"the sheet is a page to print or a text file: {shown(place.name)} must end in .html or .txt.")
    return _writable(place)


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """The release, the policy for its check, and the way in which it is read."""

    release: Data = None
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE|PRESET",
            help="A policy file, a project file, or a preset.",
        ),
    ] = None
    key: Key = None
    sensitive: SensitiveColumns = None
    person: Person = None
    keep: Keep = None
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="A sensitive column's hierarchy (ARX CSV).")
    ] = None
    order: Order = None
    nulls: ClassNullPolicy = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> tuple[Inputs, Policy | None]:
        """Open the release, with the project of its policy if none is named; also return the policy."""
        from unveil.assess import policy_of

        policy, own = (None, None) if self.policy is None else policy_of(self.policy)
        reading = self.reading if self.reading.project is not None or own is None else replace(self.reading, project=own.path)
        roles = NamedRoles(self.key, self.sensitive, nulls=self.nulls, keep=self.keep)
        inputs = gather(self.release, reading, roles, partial=True, release=True)
        if policy is None and inputs.project is not None and inputs.project.policy:
            policy = inputs.project.policy
        return inputs, policy

    def meanings(self, inputs: Inputs) -> dict[str, Any]:
        """Return the column of persons, possibly of the original, and the hierarchies and orders of sensitive attributes."""
        sensitive = inputs.sensitive or ()
        return {
            "person": self.person,
            "hierarchies": hierarchies(self.hierarchy, inputs.project, sensitive),
            "orders": orders(self.order, inputs.project, sensitive),
        }


@dataclass(frozen=True, slots=True)
class OriginalOptions:
    """The original of the release, for rules about attacks, and the correspondence of records."""

    original: Annotated[
        str | None, typer.Option("--original", metavar="DATA", help="The original table, for rules about attacks.")
    ] = None
    control: Annotated[
        str | None,
        typer.Option("--control", metavar="DATA", help="People whose records were not used, for rules about synthetic data."),
    ] = None
    match: MatchOptions = field(default_factory=MatchOptions)

    def paired(self, trial: TrialOptions, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments that pair the release with its original, read in the same way; none without an original."""
        reading, project = trial.reading, inputs.project
        held_out = {} if self.control is None else {"control": reading.source(self.control, "control", project)}
        if self.original is None:
            refuse_without("--original", self.match, "mapping", "identity", "link", "same_order")
            return held_out
        first = reading.source(self.original, "original", project)
        return {"original": first, **held_out, **self.match.arguments(first.names)}


@dataclass(frozen=True, slots=True)
class BeforeOptions:
    """An earlier result, the history of runs, the record of the release, waivers, and the seed and key of this run."""

    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="An earlier result: the JSON of a check or a measure."),
    ] = None
    allow: Annotated[float, typer.Option("--allow", help="By how much a risk may have grown since the baseline.")] = 0.0
    history: Annotated[
        Path | None,
        typer.Option(
            "--history", metavar="FILE", help="Append this check to a file of runs, and show how the figures have developed."
        ),
    ] = None
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="The record of the release; default: RELEASE.unveil.json beside it."),
    ] = None
    waivers: Annotated[
        Path | None,
        typer.Option(
            "--waivers", metavar="FILE", help="Who answers for rules that are not met, why and until when (TOML or JSON)."
        ),
    ] = None
    key_file: KeyFile = None
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call."""
        from unveil.assess import read_waivers

        return {
            "waivers": () if self.waivers is None else read_waivers(self.waivers),
            "baseline": self.baseline,
            "allow": self.allow,
            "history": self.history,
            "record": self.record,
            "key_file": self.key_file,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class VerdictOptions:
    """The output of the verdict."""

    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML, for pipelines.", callback=_writable),
    ] = None
    sheet: Annotated[
        Path | None,
        typer.Option("--sheet", metavar="FILE", help="Write one page for the decision maker: .html or .txt.", callback=_sheet),
    ] = None
    as_json: Json = False
    out: Out = None
    spreadsheet_safe: SpreadsheetSafe = True

    def give(self, verdict: Verdict, signer: Callable[[list[Path]], None] | None) -> None:
        """Write the verdict in every requested form, signed on request; all forms or none."""
        with together():
            if self.junit is not None:
                from unveil.assess import junit
                from unveil.partitions import write_whole

                write_whole(self.junit, junit(verdict) + "\n")
                sys.stderr.write(f"written: {self.junit}\n")
            if self.sheet is not None:
                from unveil.report import write_view

                write_view(verdict.sheet(), self.sheet)
                sys.stderr.write(f"written: {self.sheet}\n")
            give(verdict, as_json=self.as_json, out=self.out, spreadsheet_safe=self.spreadsheet_safe)
            if signer is not None and self.out is not None:
                record = verdict.evidence.file("record")
                signer([self.out] if record is None else [self.out, Path(record.place)])


@app.command(epilog="Example: unveil check adult --policy cell-size-5 --key sex --key race")
@grouped
def check(
    trial: TrialOptions, original: OriginalOptions, before: BeforeOptions, signing: SignOptions, answer: VerdictOptions
) -> None:
    """May a release be published: does it meet a policy, and is it no riskier than before? Exit code 1: no, or undecided."""
    from unveil.assess import check as check_release

    signing.check(answer.out)
    if (signature := signing.verified()) is not None:
        give(signature, as_json=answer.as_json, out=answer.out)
        raise typer.Exit(0 if signature.valid else 1)
    signer = signing.signer()
    inputs, policy = trial.gathered()
    paired = original.paired(trial, inputs)
    with showing_progress():
        verdict = check_release(inputs.study, policy, **trial.meanings(inputs), **before.arguments(), **paired)
        passes = verdict.passes
    answer.give(verdict, signer)
    if not passes:
        raise typer.Exit(1)
