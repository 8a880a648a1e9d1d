"""The program to which the verbs are added."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated, Any, TypeVar

import typer

from unveil.cli.completion import completing
from unveil.cli.helping import WIDEST, HelpfulCommand, HelpfulGroup
from unveil.cli.inputs import closed_at_end
from unveil.cli.overwrite import check_parameters
from unveil.cli.words import remember_options

__all__ = ["Program", "app"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Verb(HelpfulCommand):
    """A verb that refuses an option given twice (the last would win otherwise), and refuses to overwrite what it reads."""

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
        """Do what the verb does, and close what it opened for that."""
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
