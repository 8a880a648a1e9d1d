"""The server of the app: it listens on this machine, opens the browser, and stops on request.

The port is bound before anything is served, so that nobody else can take it. The browser is opened through a file that only its
owner may read: everyone on the machine can see the arguments of a command, and must not see the token.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unveil.app.guard import Guard, Key, Site
from unveil.errors import ArgumentError, DataNotFoundError, MissingExtraError, reason_of, shown

if TYPE_CHECKING:
    from unveil.app.state import Desk

__all__ = ["Listening", "bound_socket", "serve_app"]

_LOOPBACK = "127.0.0.1"
_SHORTEST_PASSWORD = 12
_FOLDERS = "unveil-app-"
_GRACE = 1
"""The number of seconds that open streams have to end once the server stops."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The address to listen on, and the protection of access from elsewhere.

    Attributes
    ----------
    port
        The port; 0 stands for a free one.
    host
        The name or address to listen on; beyond this machine only with a certificate, its key and a password.
    tls_cert, tls_key
        The files of the certificate and of its key.
    password
        The password that others enter.
    """

    port: int = 0
    host: str = _LOOPBACK
    tls_cert: Path | None = None
    tls_key: Path | None = None
    password: str | None = None

    @property
    def beyond(self) -> bool:
        """Whether it can be reached from other machines."""
        return self.host not in {_LOOPBACK, "localhost"}

    def check(self) -> None:
        """Refuse to be reached from other machines without TLS and a password."""
        if self.beyond and (self.tls_cert is None or self.tls_key is None or self.password is None):
            raise ArgumentError(
                f"`host` {self.host} can be reached from other machines: give `tls_cert`, `tls_key` and a password too."
            )
        if self.password is not None and len(self.password) < _SHORTEST_PASSWORD:
            raise ArgumentError(f"the password is too short; choose one of at least {_SHORTEST_PASSWORD} characters.")
        for path in (self.tls_cert, self.tls_key):
            if path is not None and not path.is_file():
                raise DataNotFoundError(f"{shown(path)}: there is no such file.")


def serve_app(data: str | None = None, *, listening: Listening | None = None, browser: bool = True) -> None:
    """Serve the app until it is stopped.

    Parameters
    ----------
    data
        The data to open at once: a project file, a data file, or the name of a built-in data set.
    listening
        The address to listen on; by default on this machine, at a free port.
    browser
        Whether to open the browser; otherwise the address is printed, with the token.
    """
    where = listening or Listening()
    where.check()
    try:
        import jinja2  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError.needed("the app", extra="app") from None
    with bound_socket(where) as bound, _private_folder() as folder:
        site = Site(bound.getsockname()[1], _names(where), tls=where.tls_cert is not None)
        key = Key(password=where.password) if where.beyond else Key(secrets.token_urlsafe(32))
        desk = _desk(data, folder)  # data that cannot be opened is reported before anything is served
        try:
            _announce(site, key, folder, browser=browser and not where.beyond)
            _served(bound, site, key, desk, where)
        except KeyboardInterrupt:  # the usual way to stop it
            sys.stderr.write("unveil app has stopped; every change is saved.\n")


def _desk(data: str | None, folder: Path) -> Desk:
    from unveil.app.state import Desk

    desk = Desk(Path.cwd(), private=folder)
    if data is not None:
        desk.open(data)
    return desk


def _served(bound: socket.socket, site: Site, key: Key, desk: Desk, where: Listening) -> None:
    """Answer requests until the server is stopped, then end the jobs that are still running."""
    import uvicorn

    from unveil.app.application import application

    def stop() -> None:
        server.should_exit = True

    config = uvicorn.Config(
        Guard(application(desk, stop), site, key),
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=where.tls_cert,
        ssl_keyfile=where.tls_key,
    )
    server = uvicorn.Server(config)
    try:
        server.run(sockets=[bound])
    finally:
        desk.jobs.stop()


# Listening ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def bound_socket(where: Listening) -> Iterator[socket.socket]:
    """Yield a socket that is already bound."""
    try:
        family = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ArgumentError(f"`host` {where.host}: {reason_of(error)}.") from None
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((where.host, where.port))
        except OSError as error:
            raise ArgumentError(f"cannot listen on {where.host}:{where.port}: {reason_of(error)}; choose another port.") from None
        bound.listen(128)
        yield bound


def _names(where: Listening) -> tuple[str, ...]:
    """Return the names by which requests may address the server."""
    if not where.beyond:
        return (_LOOPBACK, "localhost")
    try:
        everywhere = ipaddress.ip_address(where.host).is_unspecified
    except ValueError:
        everywhere = False
    if not everywhere:
        return (where.host,)
    own = socket.gethostname()
    try:
        addresses = [str(address[4][0]) for address in socket.getaddrinfo(own, None, socket.AF_INET)]
    except OSError:
        addresses = []
    return tuple(dict.fromkeys((own, socket.getfqdn(), *addresses)))


def _announce(site: Site, key: Key, folder: Path, *, browser: bool) -> None:
    """Print the address of the app, and open the browser there."""
    entrance = site.address if key.token is None else f"{site.address}/?token={key.token}"
    if browser:
        page = folder / "open.html"
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={entrance}">')
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        sys.stderr.write(f"unveil app is at {site.address} (stop with Ctrl-C). No browser? Run it with --no-browser.\n")
    else:
        sys.stderr.write("unveil app is at this address (stop with Ctrl-C):\n")
        sys.stdout.write(f"{entrance}\n")
    sys.stderr.flush()
    sys.stdout.flush()


# The private folder ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    """Yield a folder that only its owner may read, for files that are dropped; folders of killed servers are removed."""
    _remove_leftovers(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDERS}{os.getpid()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """Remove the folders of servers that no longer run, on systems where a process can be looked up without affecting it."""
    if os.name != "posix":
        return
    for folder in place.glob(f"{_FOLDERS}*-*"):
        number = folder.name.removeprefix(_FOLDERS).partition("-")[0]
        mine = folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid()
        if mine and number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
