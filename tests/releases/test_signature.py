"""Signatures: what was signed is told from anything else, and OpenSSL agrees."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import unveil
from unveil.cli import run

RELEASE = "sex,race\n" + "f,a\n" * 6 + "m,a\n" * 6
CHECK = ["check", "release.csv", "--policy", "cell-size-5", "--key", "sex", "--key", "race"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_keys(Ed25519PrivateKey.generate(), "")
    write_keys(Ed25519PrivateKey.generate(), "other-")
    write_keys(generate_private_key(SECP256R1()), "curve-")
    Path("adult.csv").write_text(RELEASE, encoding="utf-8")
    assert run(["anonymize", "adult.csv", "--key", "sex", "--key", "race", "--k", "5", "--out", "release.csv", "--json"]) == 0
    return tmp_path


def write_keys(key: object, prefix: str, passphrase: bytes | None = None) -> None:
    form = serialization.NoEncryption() if passphrase is None else serialization.BestAvailableEncryption(passphrase)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    Path(f"{prefix}private.pem").write_bytes(key.private_bytes(pem, pkcs8, form))  # type: ignore[attr-defined]
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    Path(f"{prefix}public.pem").write_bytes(public)


def verified(file: str, key: str = "public.pem") -> int:
    return run(["check", "--verify", file, "--public-key", key])


@pytest.mark.usefixtures("folder")
def test_the_verdict_the_record_and_the_release_are_what_was_signed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CHECK, "--out", "verdict.json", "--sign-key", "private.pem"]) == 0
    assert len(Path("verdict.json.sig").read_bytes()) == 64
    assert [verified(file) for file in ("verdict.json", "release.csv.unveil.json", "release.csv")] == [0, 0, 0]
    openssl = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin"]
    subprocess.run([*openssl, "-in", "verdict.json", "-sigfile", "verdict.json.sig"], check=True, capture_output=True)
    capsys.readouterr()
    assert run(["check", "--verify", "release.csv", "--public-key", "public.pem", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["release"] == "release.csv"
    assert found["file"] == "release.csv.unveil.json"


@pytest.mark.usefixtures("folder")
def test_what_was_changed_or_signed_by_another_does_not_match() -> None:
    assert run([*CHECK, "--out", "verdict.json", "--sign-key", "private.pem"]) == 0
    assert verified("verdict.json", "other-public.pem") == 1
    Path("verdict.json").write_text(Path("verdict.json").read_text("utf-8").replace("met", "MET"), encoding="utf-8")
    assert verified("verdict.json") == 1
    Path("release.csv").write_text(RELEASE.replace("f,a", "f,b", 1), encoding="utf-8")
    assert verified("release.csv") == 1
    assert verified("release.csv.unveil.json") == 0
    assert "checksums differ" in unveil.verify("release.csv", "public.pem").reason


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "--verify", "adult.csv", "--public-key", "public.pem"], "the signature 'adult.csv.sig' cannot be read"),
        (["check", "--verify", "release.csv", "--public-key", "adult.csv"], "not a public key in PEM form"),
        (["check", "--verify", "release.csv", "--public-key", "curve-public.pem"], "not of the kind Ed25519"),
        (["check", "--verify", "release.csv"], "go together"),
        ([*CHECK, "--sign-key", "private.pem"], "name it with --out"),
        ([*CHECK, "--sign-key", "curve-private.pem", "--out", "v.json"], "not of the kind Ed25519"),
        ([*CHECK, "--sign-key", "no.pem", "--out", "v.json"], "'no.pem' cannot be read"),
    ],
)
def test_bad_input_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err
    assert not Path("v.json").exists()


@pytest.mark.usefixtures("folder")
def test_an_encrypted_key_is_opened_by_a_file_and_by_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    write_keys(Ed25519PrivateKey.generate(), "locked-", b"open sesame")
    Path("words.txt").write_text("open sesame\n", encoding="utf-8")
    Path("wrong.txt").write_text("open barley\n", encoding="utf-8")
    words = [*CHECK, "--out", "verdict.json", "--sign-key", "locked-private.pem"]
    assert run([*words, "--passphrase-file", "words.txt"]) == 0
    assert verified("verdict.json", "locked-public.pem") == 0
    assert run([*words, "--passphrase-file", "wrong.txt"]) == 2
    assert "cannot be opened with this passphrase" in capsys.readouterr().err
    with pytest.raises(unveil.UnveilError, match="is encrypted"):
        unveil.sign("adult.csv", "locked-private.pem")
    unveil.sign("adult.csv", "locked-private.pem", passphrase=lambda: b"open sesame")
    assert unveil.verify("adult.csv", "locked-public.pem").valid


@pytest.mark.usefixtures("folder")
def test_a_signature_that_was_cut_short_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    unveil.sign("adult.csv", "private.pem")
    Path("adult.csv.sig").write_bytes(Path("adult.csv.sig").read_bytes()[:63])
    assert verified("adult.csv") == 2
    assert "63 bytes" in capsys.readouterr().err
