"""The program to which the verbs are added: their options in groups, their help, and the checks of the words that are typed.

A verb's options are a few dataclasses. Its help has one line for each option, and an example that can be copied. A verb never
overwrites the data that it reads; a refusal of the library names the options for its arguments.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from unveil.cli.completion import completing
from unveil.errors import ArgumentError, shown

__all__ = [
    "WIDEST",
    "HelpfulCommand",
    "HelpfulGroup",
    "Program",
    "app",
    "check_parameters",
    "check_read",
    "closed_at_end",
    "grouped",
    "option_words",
    "refuse_with",
    "refuse_without",
    "remember_options",
    "said_in_options",
    "typed",
]

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


closed_at_end: ContextVar[ExitStack | None] = ContextVar("closed_at_end", default=None)
"""The resources that a verb opens for all its work, and closes when it ends."""


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


def grouped(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Spread each parameter of a verb that is a dataclass of options into these options, for the command line.

    A group may contain another. No two groups of a verb may have options of the same name.
    """
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, kind in get_type_hints(verb, include_extras=True).items():
        if name == "return":
            continue
        if _is_group(kind):
            groups[name] = kind
            parameters += _options(kind)
        else:
            parameters.append(inspect.signature(verb).parameters[name].replace(annotation=kind, kind=_KEYWORD))

    def spread(**words: Any) -> Any:
        taken = {name: _filled(kind, words) for name, kind in groups.items()}
        return verb(**taken, **words)

    spread.__name__, spread.__doc__, spread.__module__ = verb.__name__, verb.__doc__, verb.__module__
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread


def typed(group: Any) -> dict[str, str]:
    """Return the fields of a group that differ from their defaults, with the words of their options."""
    return {
        one.name: f"--{_WORDS.get(one.name, one.name.replace('_', '-'))}"
        for one in fields(group)
        if getattr(group, one.name) not in (None, one.default) and not is_dataclass(getattr(group, one.name))
    }


def refuse_without(option: str, group: Any, *names: str) -> None:
    """Refuse options of a group that have no effect without another one, so that nobody believes that they had one."""
    for name, word in typed(group).items():
        if name in names:
            raise ArgumentError(f"{word} goes with {option}.")


def refuse_with(option: str, group: Any, *names: str) -> None:
    """Refuse options of a group, all or the named ones, that have no effect beside another one."""
    for name, word in typed(group).items():
        if not names or name in names:
            raise ArgumentError(f"{word} does not go with {option}.")


_WORDS = {
    "identity": "id", "mapping": "map", "record_id": "id", "settings": "set", "l_diversity": "l", "share": "alpha",
}  # fmt: skip
"""Options whose names differ from those of their fields."""
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind) and isinstance(kind, type)


@cache
def _members(group: Any) -> tuple[tuple[Field[Any], Any], ...]:
    """Return the fields of a group with their types, which are read once."""
    hints = get_type_hints(group, include_extras=True)
    return tuple((one, hints[one.name]) for one in fields(group))


def _options(group: Any) -> list[inspect.Parameter]:
    """Return the options of a group, including those of the groups that it contains, in order."""
    options: list[inspect.Parameter] = []
    for one, kind in _members(group):
        options += _options(kind) if _is_group(kind) else [_option(one, kind)]
    return options


def _option(one: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    return inspect.Parameter(one.name, _KEYWORD, default=default, annotation=annotation)


def _filled(group: Any, words: dict[str, Any]) -> Any:
    """Return a group with the values of the command line, which are removed from the words."""
    return group(**{one.name: _filled(kind, words) if _is_group(kind) else words.pop(one.name) for one, kind in _members(group)})


_arguments_options: ContextVar[dict[str, str]] = ContextVar("_arguments_options", default={})  # noqa: B039 - it is replaced, never changed
"""The options of the running verb, by the arguments that they represent."""

_NAMED_FIRST = re.compile(r"^[a-z_]+(?= '.*' is unknown; | is [^;]*; it must )", re.DOTALL)
"""The argument with which a refusal begins."""
_ENDINGS = (("y", "ies"), ("", "s"))
"""The endings that turn the name of a repeatable option into that of its argument."""
_WHOLE = "the whole answer has"
_ARGUMENTS = {"size": "window"}
"""Arguments whose option has another name, where a verb has that option."""


def remember_options(parameters: Iterable[Any]) -> None:
    """Store the options of a verb."""
    names = [name for one in parameters for name in one.opts if name.startswith("--")]
    options = {name.removeprefix("--").replace("-", "_"): name for name in names}
    several = {
        one.removesuffix(ending) + plural: option
        for one, option in options.items()
        for ending, plural in _ENDINGS
        if one.endswith(ending)
    }
    others = {argument: options[option] for argument, option in _ARGUMENTS.items() if option in options}
    _arguments_options.set(others | several | options)


def said_in_options(text: str) -> str:
    """Return a text of the library with arguments replaced by the options that the verb has for them."""
    from unveil.results import reworded

    phrases, options = option_words()
    return reworded(_NAMED_FIRST.sub(lambda named: options.get(named[0], named[0]), text), phrases, options)


def option_words() -> tuple[dict[str, str], dict[str, str]]:
    """Return the phrases and the arguments for which the command line has other words, with these."""
    options = _arguments_options.get()
    return {_WHOLE: "--json has"} if "json" in options else {}, options


_WRITTEN = ("out", "link", "junit", "checkpoint", "sheet")
"""Options that name a file to write, if their value is a path; a correspondence to read is given as text."""

_UPDATED = ("baseline",)
"""Options whose file may be read and then written again."""

_TEXTS = ("separator", "missing", "settings")
"""Options that name no file, and whose value may be a dash."""

_outputs: ContextVar[tuple[Path, ...]] = ContextVar("outputs", default=())


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse a command that would write two outputs to one file, read a file that it writes, or read standard input twice."""
    outputs = {name: place for name in _WRITTEN if isinstance(place := parameters.get(name), Path)}
    if len({place.resolve() for place in outputs.values()}) < len(outputs):
        raise ArgumentError(f"{' and '.join(f'--{name}' for name in outputs)} name the same file; name two different ones.")
    _outputs.set(tuple(outputs.values()))
    read = [text for name, value in parameters.items() if name not in {*outputs, *_UPDATED, *_TEXTS} for text in _texts(value)]
    if sum(text == "-" or text.endswith("=-") for text in read) > 1:
        raise ArgumentError("standard input (-) is named twice but can be read only once; write one of the tables to a file.")
    for text in read:
        check_read(text)


def check_read(named: str) -> None:
    """Refuse to read a file, named by itself or after an equals sign, that this run will write."""
    places = [named, *(named[at + 1 :] for at, sign in enumerate(named) if sign == "=")]
    for output in _outputs.get():
        if any(_same(Path(place), output) for place in places if place):
            raise ArgumentError(f"{shown(output)} is read by this command, so it is not overwritten; name another file.")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
