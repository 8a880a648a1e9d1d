"""Options of a signed verdict: the keys, the passphrase, and what is verified."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.errors import ArgumentError, DataNotFoundError, reason_of, shown

if TYPE_CHECKING:
    from unveil.releases import Signature

__all__ = ["SignOptions"]


@dataclass(frozen=True, slots=True)
class SignOptions:
    """Whether a verdict is signed, or a signature verified."""

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
        """Refuse options that do not go together."""
        if (self.verify is None) != (self.public_key is None):
            raise ArgumentError("--verify FILE and --public-key PEM go together; give both, or neither.")
        if self.verify is not None and self.sign_key is not None:
            raise ArgumentError("--sign-key signs and --verify verifies; use one of them.")
        if self.sign_key is not None and out is None:
            raise ArgumentError("--sign-key signs the verdict's file, and none is named; name it with --out.")
        if self.passphrase_file is not None and self.sign_key is None:
            raise ArgumentError("--passphrase-file opens a private key, and none is named; name it with --sign-key.")

    def verified(self) -> Signature | None:
        """Return what became of the signature to verify; None if none is requested."""
        if self.verify is None or self.public_key is None:
            return None
        from unveil.releases import verify

        return verify(self.verify, self.public_key)

    def signer(self) -> Callable[[list[Path]], None] | None:
        """Return what signs files that are written, or about to be, and says so; the key is read before the work begins."""
        if self.sign_key is None:
            return None
        from unveil.releases import signing_key, write_signature

        key = signing_key(self.sign_key, self._passphrase)

        def sign(files: list[Path]) -> None:
            for file in files:
                sys.stderr.write(f"written: {write_signature(file, key)}\n")

        return sign

    def _passphrase(self) -> bytes:
        """Return the passphrase, which is never on the command line: there everybody on the machine could read it."""
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
