"""The help of a command: one line for what each option takes and means, and an example that can be copied."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["WIDEST", "HelpfulCommand", "HelpfulGroup"]

WIDEST = 100
"""Help is no wider, however wide the terminal is."""
_NUMBERS = {int: "N", float: "X"}
_EXAMPLE = "Example: "
_REQUIRED = re.compile(r"^\{(.*)\}")


class _Helpful:
    """What the help of verbs and of groups of verbs has in common."""

    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, each with its form in the help: words of the documentation, no types of Python."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in parameters:
            one.display_type_rich = partial(_form, one)
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line that shows how the command is written; what may be left out is in brackets."""
        written = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [_REQUIRED.sub(r"\1", piece) for piece in written]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example on a line of its own, as long as it is, so that it can be copied."""
        if self.epilog is None or not self.epilog.startswith(_EXAMPLE):
            super().format_epilog(ctx, formatter)  # type: ignore[misc]
            return
        formatter.write_paragraph()
        formatter.write(f"{_EXAMPLE.strip()}\n")
        for command in self.epilog.removeprefix(_EXAMPLE).split(" && "):
            formatter.write(f"  {command}\n")


class HelpfulCommand(_Helpful, TyperCommand):
    """A verb with such help."""


class HelpfulGroup(_Helpful, TyperGroup):
    """A program, or a part of one, with such help, which says of each verb all that it does."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs with the first paragraph of their help."""
        verbs = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join((verb.help or "").split("\n\n")[0].split())) for name, verb in verbs])


def _form(parameter: Any, ctx: Any) -> str | None:  # noqa: ARG001 - as it is called
    """Return what an option takes: its metavar, or the letter of a number; nothing for a flag or for an argument."""
    if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
        return None
    return parameter.metavar or _NUMBERS.get(parameter.type_descriptor.annotation, "TEXT")
