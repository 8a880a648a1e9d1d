"""A PostgreSQL server of our own: in a temporary folder, on a free loopback port, gone at the end. Tests use it too."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from adbc_driver_postgresql import dbapi

__all__ = ["binary", "local_postgres"]

_UNPRIVILEGED = ("postgres", "nobody")
_PATIENCE = 60.0


def binary(name: str) -> str | None:
    """Find a program of the server, also where Debian puts it; None if there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(debian[-1]) if debian else None)


@contextmanager
def local_postgres(**settings: str) -> Iterator[str]:
    """Start a server, and yield the address of its database. Only the role `locked` needs a password."""
    initdb, postgres = binary("initdb"), binary("postgres")
    if initdb is None or postgres is None:
        message = "PostgreSQL's server is not installed"
        raise FileNotFoundError(message)
    folder = Path(tempfile.mkdtemp(prefix="unveil-postgres-"))
    account = _account(folder)
    try:
        data = folder / "data"
        made = [initdb, "-D", str(data), "-U", "unveil", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **account)  # noqa: S603
        access = data / "pg_hba.conf"
        access.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + access.read_text())
        port = _free_port()
        chosen = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off", **settings}
        options = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603
                [postgres, "-D", str(data), "-p", str(port), *options], stdout=log, stderr=log, cwd=folder, **account
            )
        try:
            address = f"postgresql://unveil@127.0.0.1:{port}/postgres"
            _wait_for(server, address)
            yield address
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account(folder: Path) -> dict[str, Any]:
    """Return the account to run as: the server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in _UNPRIVILEGED:
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            os.chown(folder, user.pw_uid, user.pw_gid)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    message = "there is no account to run PostgreSQL's server as"
    raise FileNotFoundError(message)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait_for(server: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            dbapi.connect(address).close()
        except dbapi.Error:
            if server.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
