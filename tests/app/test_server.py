"""The command itself: the address on a line of its own, the browser through a private file, and a clean end."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from unveil.app.server import Listening, serve_app
from unveil.errors import UnveilError

COMMAND = [sys.executable, "-c", "from unveil.cli import main; main()", "app"]


@contextmanager
def started(tmp_path: Path, *words: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "TMPDIR": str(tmp_path), **settings}
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str], number: int = signal.SIGINT) -> int:
    process.send_signal(number)
    process.communicate(timeout=120)
    return process.returncode


def folders(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("unveil-app-*"))


def test_the_address_with_the_token_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    with started(tmp_path, "paper-4", "--no-browser") as process:
        assert process.stdout is not None
        entrance = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", entrance)
        address = entrance.partition("/?")[0]
        assert httpx.get(f"{address}/open", trust_env=False, timeout=120).status_code == 401
        with httpx.Client(trust_env=False, timeout=120) as client:
            assert client.get(entrance).status_code == 200
            assert "paper-4" in client.get(f"{address}/open").text
        [folder] = folders(tmp_path)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        words = Path(f"/proc/{process.pid}/cmdline")
        assert not words.exists() or entrance[-43:] not in words.read_text()
        assert stopped(process) == 0
    assert folders(tmp_path) == []


def test_the_browser_is_opened_through_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened.part && mv {tmp_path}/opened.part {tmp_path}/opened\n')
    script.chmod(0o755)
    with started(tmp_path, "--port", "0", BROWSER=str(script)) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        until = time.monotonic() + 120
        while not (tmp_path / "opened").exists() and time.monotonic() < until:
            time.sleep(0.05)
        words = (tmp_path / "opened").read_text()
        assert "token" not in words + said
        page = Path(words.strip().removeprefix("file://"))
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        entrance = re.search(r"url=(http://127\.0\.0\.1:\d+/\?token=[\w-]+)", page.read_text())
        assert entrance is not None
        assert httpx.get(entrance[1], trust_env=False, timeout=120).status_code == 200
        assert stopped(process, signal.SIGTERM) == 0
    assert not page.exists()


def test_what_a_killed_server_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    with started(tmp_path, "--no-browser") as process:
        assert process.stdout is not None
        process.stdout.readline()
        [left] = folders(tmp_path)
        (left / "people.csv").write_text("name")
        process.kill()
        process.wait()
    assert left.exists()
    with started(tmp_path, "--no-browser") as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert not left.exists()
        assert stopped(process) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [(["none.csv"], "no such file"), (["--host", "0.0.0.0", "--password-file", "none"], "none"), (["--port", "70000"], "--port")],  # noqa: S104
)
def test_what_cannot_be_started_is_said_in_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    done = subprocess.run(
        [*COMMAND, *words, "--no-browser"], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=240
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    "listening",
    [
        Listening(host="0.0.0.0", password="a long password"),  # noqa: S104, S106
        Listening(host="0.0.0.0", tls_cert=Path(__file__), tls_key=Path(__file__)),  # noqa: S104
        Listening(host="0.0.0.0", tls_cert=Path(__file__), tls_key=Path(__file__), password="short"),  # noqa: S104, S106
        Listening(host="0.0.0.0", tls_cert=Path("none"), tls_key=Path(__file__), password="a long password"),  # noqa: S104, S106
    ],
)
def test_others_come_in_with_tls_and_a_password_only(listening: Listening) -> None:
    with pytest.raises(UnveilError):
        serve_app(listening=listening, browser=False)
