"""The program that the verbs join."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="See what a table of personal data gives away before you publish it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from unveil import __version__

        sys.stdout.write(f"unveil {__version__}\n")
        raise typer.Exit


@app.callback()
def unveil(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """See what a table of personal data gives away before you publish it."""
