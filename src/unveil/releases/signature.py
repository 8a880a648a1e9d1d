"""Detached signatures: anyone with the public key can verify that a record or a verdict is the one that was signed.

The signature is Ed25519 (RFC 8032) over the bytes of the file, and is stored beside it, as ``verdict.json.sig``: its 64 bytes
and nothing else, so that other software can also verify it (``openssl pkeyutl -verify -rawin``). Keys are PEM files. The record
of a release holds the release's checksum, so to verify a release is to verify its record, and then the checksum.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, DataFileError, DataNotFoundError, MissingExtraError, reason_of, shown
from unveil.output import atomic_write, file_in_hand
from unveil.releases.record import RecordMismatchError, read_record, record_place
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["Passphrase", "Signature", "sign", "signature_place", "signing_key", "verify"]

Passphrase = bytes | Callable[[], bytes] | None
"""The passphrase of an encrypted key: the bytes, or a function that asks for them when they are needed."""

_BYTES = 64
_MAKE_ONE = "make one with: openssl genpkey -algorithm ed25519 -out KEY"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Signature(Result):
    """The result of verifying that a file is the one that was signed.

    Attributes
    ----------
    file, place
        The signed file, and the place of its signature.
    key
        The fingerprint of the public key: the SHA-256 of its DER form.
    valid
        Whether the signature is of this file, by this key.
    release
        The release whose record was signed, if a release was named.
    reason
        The reason why it is not valid.
    """

    file: str
    place: str
    key: str
    valid: bool
    release: str | None = None
    reason: str = ""

    def __repr__(self) -> str:
        """Return one line."""
        return f"Signature({Path(self.file).name}: {'valid' if self.valid else 'NOT valid'})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "file": self.file,
            "signature": self.place,
            "release": self.release,
            "key_sha256": self.key,
            "valid": self.valid,
            "reason": self.reason or None,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row."""
        return {name: [value] for name, value in self.to_dict().items()}

    def view(self) -> View:
        """Return the displayed view."""
        name = Path(self.release or self.file).name
        answer = "Yes" if self.valid else "No"
        rows = [("file", self.file), ("signature", self.place), ("key (SHA-256)", self.key)]
        rows += [("release", self.release)] if self.release else []
        table = Table(("what", "value"), tuple(rows))
        return View(f"Is {name} what was signed? {answer}", (Figure("signature", answer, self.reason),), (table,))


def signature_place(file: str | os.PathLike[str]) -> Path:
    """Return the path of the signature of a file.

    Examples
    --------
    >>> signature_place("out/verdict.json").name
    'verdict.json.sig'
    """
    return Path(f"{os.fspath(file)}.sig")


def signing_key(path: str | os.PathLike[str], passphrase: Passphrase = None) -> Ed25519PrivateKey:
    """Read a private key; messages never repeat its content.

    Parameters
    ----------
    path
        A PEM file (PKCS #8).
    passphrase
        The passphrase of an encrypted key.
    """
    serialization, ed25519 = _library()
    content = _read(path, "the private key")
    try:
        key = serialization.load_pem_private_key(content, None)
    except TypeError:  # it is encrypted
        key = _opened(serialization, content, path, passphrase)
    except Exception:  # noqa: BLE001 - the library raises many kinds of errors, and some repeat what it read
        raise DataFileError(f"{shown(path)} is not a private key in PEM form; {_MAKE_ONE}.") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise DataFileError(f"{shown(path)} is a private key, but not of the kind Ed25519; {_MAKE_ONE}.")
    private: Ed25519PrivateKey = key
    return private


@checked_arguments
def sign(
    file: str | os.PathLike[str], key: str | os.PathLike[str], *, passphrase: bytes | Callable[[], bytes] | None = None
) -> Path:
    """Sign a file: write its signature beside it, as ``FILE.sig``.

    Parameters
    ----------
    file
        The file to sign: the record of a release, a verdict, or any file.
    key
        The Ed25519 private key, a PEM file.
    passphrase
        The passphrase of an encrypted key: bytes, or a function that asks for them.

    Returns
    -------
    Path
        The place of the signature.
    """
    active_run().check()
    return write_signature(file, signing_key(key, passphrase))


def write_signature(file: str | os.PathLike[str], key: Ed25519PrivateKey) -> Path:
    """Sign a file, even one that is not yet in its place, and write the signature beside it."""
    content, place = _read(file_in_hand(file), "the file to sign"), signature_place(file)
    with atomic_write(place) as out:
        out.write(key.sign(content))
    return place


@looks
@checked_arguments
def verify(file: str | os.PathLike[str], public_key: str | os.PathLike[str]) -> Signature:
    """Verify that a file is the one that was signed.

    Parameters
    ----------
    file
        The file, with its signature beside it; or a release whose record was signed: then the signature of the record is
        verified, and the release is compared with the checksum in it.
    public_key
        The Ed25519 public key, a PEM file.

    Returns
    -------
    Signature
        Whether it is `valid`, and otherwise the reason.
    """
    key, fingerprint = _public_key(public_key)
    signed, release = Path(file), None
    if not signature_place(signed).is_file() and signature_place(record_place(file)).is_file():
        signed, release = record_place(file), os.fspath(file)
    content, place = _read(signed, "the file to verify"), signature_place(signed)
    signature = _read(place, "the signature")
    if len(signature) != _BYTES:
        raise DataFileError(f"{shown(place)} is not a signature: it has {len(signature):,} bytes, and Ed25519 has {_BYTES}.")
    reason = "" if _fits(key, signature, content) else "the file was changed, or another key signed it"
    if release is not None and not reason:
        try:
            read_record(signed, release)
        except RecordMismatchError as problem:
            reason = str(problem)
    return Signature(os.fspath(signed), os.fspath(place), fingerprint, not reason, release, reason)


def _fits(key: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _public_key(path: str | os.PathLike[str]) -> tuple[Ed25519PublicKey, str]:
    """Read a public key, and return it with its fingerprint."""
    serialization, ed25519 = _library()
    content = _read(path, "the public key")
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:  # noqa: BLE001 - as above
        hint = "write one with: openssl pkey -in KEY -pubout -out PUBLIC"
        raise DataFileError(f"{shown(path)} is not a public key in PEM form; {hint}.") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise DataFileError(f"{shown(path)} is a public key, but not of the kind Ed25519.")
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key, hashlib.sha256(der).hexdigest()


def _opened(serialization: Any, content: bytes, path: str | os.PathLike[str], passphrase: Passphrase) -> Any:
    """Decrypt an encrypted key."""
    words = passphrase() if callable(passphrase) else passphrase
    if not words:
        raise ArgumentError(f"{shown(path)} is encrypted; give its passphrase, in a file or when asked for it.")
    try:
        return serialization.load_pem_private_key(content, words)
    except Exception:  # noqa: BLE001 - as above
        raise ArgumentError(f"{shown(path)} cannot be opened with this passphrase.") from None


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise DataNotFoundError(f"{what} {shown(path)} cannot be read: {reason_of(error)}.") from None


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError.needed("signatures", extra="sign") from None
    return serialization, ed25519
