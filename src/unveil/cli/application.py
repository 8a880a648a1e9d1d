"""The program to which the verbs are added, and its help: one line for each option, and an example that can be copied."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from unveil.cli.completion import completing
from unveil.cli.groups import check_parameters, remember_options
from unveil.cli.study_options import closed_at_end

__all__ = ["WIDEST", "HelpfulCommand", "HelpfulGroup", "Program", "app"]

WIDEST = 100
"""The greatest width of help, in terminals of any width."""
_NUMBERS = {int: "N", float: "X"}
_EXAMPLE = "Example: "
_REQUIRED = re.compile(r"^\{(.*)\}")


class _Helpful:
    """The common part of the help of verbs and of groups of verbs."""

    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, each with its form in the help: words of the documentation, not Python types."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in parameters:
            one.display_type_rich = partial(_form, one)
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line of the command, with optional parts in brackets."""
        written = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [_REQUIRED.sub(r"\1", piece) for piece in written]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example on a line of its own, of any length, so that it can be copied."""
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
    """A program, or a part of one, with such help, which fully describes each verb."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs with the first paragraph of their help."""
        verbs = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join((verb.help or "").split("\n\n")[0].split())) for name, verb in verbs])


def _form(parameter: Any, ctx: Any) -> str | None:  # noqa: ARG001 - as it is called
    """Return the form of an option's value: its metavar, or the letter of a number; None for a flag or an argument."""
    if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
        return None
    return parameter.metavar or _NUMBERS.get(parameter.type_descriptor.annotation, "TEXT")


_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Verb(HelpfulCommand):
    """A verb that refuses a repeated option (otherwise the last would win), and refuses to overwrite files that it reads."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        _, _, options = self.make_parser(ctx).parse_args(args=list(args))
        single = [option for option in options if option.param_type_name == "option" and not getattr(option, "multiple", False)]
        for option in single:
            if single.count(option) > 1 and not getattr(option, "is_flag", False):
                ctx.fail(f"{option.opts[0]} is given twice; it takes one value.")
        rest: list[str] = super().parse_args(ctx, args)
        remember_options(self.get_params(ctx))
        check_parameters(ctx.params)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and close everything that it opened."""
        with ExitStack() as opened:
            before = closed_at_end.set(opened)
            try:
                return super().invoke(ctx)
            finally:
                closed_at_end.reset(before)


class Program(typer.Typer):
    """A program whose verbs are such commands."""

    def __init__(self, **settings: Any) -> None:
        """Make a program, or a part of one."""
        super().__init__(**{"cls": HelpfulGroup, **settings})

    def command(self, *names: Any, **settings: Any) -> Callable[[_Function], _Function]:
        """Register a function as a verb, whose options a shell completes."""
        register = super().command(*names, **{"cls": _Verb, **settings})

        def registered(verb: _Function) -> _Function:
            completing(verb)
            return register(verb)

        return registered


app = Program(
    help="See what a table of personal data gives away before you publish it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done; 1 a policy or a model is not met, and nothing else; 2 bad usage or bad input, out of memory or "
    "disk space; 3 an unexpected failure; 130 interrupted; 143 terminated.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
)


def _version(wanted: bool) -> None:
    if wanted:
        from unveil import __version__

        sys.stdout.write(f"unveil {__version__}\n")
        raise typer.Exit


@app.callback()
def unveil(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure; may stand before or after the verb.")
    ] = False,
) -> None:
    """See what a table of personal data gives away before you publish it."""
