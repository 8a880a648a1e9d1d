"""The verb app: all the work in a browser, on the user's own computer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app as program
from unveil.cli.application import grouped
from unveil.errors import DataNotFoundError, reason_of, shown

if TYPE_CHECKING:
    from unveil.app import Listening


@dataclass(frozen=True, slots=True)
class _ListeningOptions:
    """The address at which the app listens, and its protection if other computers may connect."""

    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0: a free one.")] = 0
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="The name to listen on; other machines may connect only with TLS and a password."
        ),
    ] = "127.0.0.1"
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate (--host).")] = None
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (--host).")] = None
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file", metavar="FILE", help="A file with the password for --host; default: you are prompted for it."
        ),
    ] = None

    def listening(self) -> Listening:
        """Return where the app listens; a password is asked for only if other machines may connect."""
        from unveil.app import Listening

        beyond = Listening(host=self.host).beyond
        return Listening(self.port, self.host, self.tls_cert, self.tls_key, _password(self.password_file) if beyond else None)


@program.command("app", epilog="Example: unveil app adult --no-browser")
@grouped
def app(
    listening: _ListeningOptions,
    data: Annotated[
        str | None,
        typer.Argument(metavar="PROJECT|DATA", help="A project file, a file of data or a built-in data set.", show_default=False),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser; print the address, with its token, on a line of its own.")
    ] = False,
) -> None:
    """Open the app: from a file to a defended release in the browser. Nothing leaves this machine; Ctrl-C stops it."""
    from unveil.app import serve_app

    serve_app(data, listening=listening.listening(), browser=not no_browser)


def _password(path: Path | None) -> str:
    """Read the password from a file, or ask for it; it is never on the command line."""
    from getpass import getpass

    if path is None:
        return getpass("Password for the app: ")
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise DataNotFoundError(f"{shown(path)} cannot be read: {reason_of(error)}.") from None
