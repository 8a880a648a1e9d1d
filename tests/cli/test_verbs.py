"""The shape of the verbs: groups of options, short bodies, and what they open is closed."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

import unveil
from unveil.cli import run
from unveil.cli.application import Program, closed_at_end, grouped
from unveil.cli.verbs import VERBS, app

SOURCE = Path(unveil.__file__).parent
LINES = 15
FUNCTIONS = [
    node
    for path in sorted(SOURCE.glob("cli/verbs/*.py"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(one) for one in node.decorator_list)
]


@pytest.mark.parametrize("verb", FUNCTIONS, ids=lambda verb: verb.name)
def test_a_verb_reads_its_options_calls_one_function_and_gives_the_answer(verb: ast.FunctionDef) -> None:
    body = [line for line in verb.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    assert (body[-1].end_lineno or 0) - body[0].lineno < LINES, "move what the verb does into a group of options, or below cli/"


def test_nothing_imports_the_click_that_only_other_packages_bring() -> None:
    imported = {
        (path.name, name.name)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert not [place for place, name in imported if name.partition(".")[0] == "click"]


def _run(verb: Any, *words: str) -> None:
    program = Program()
    program.command()(verb)
    command = typer.main.get_command(program)
    with command.make_context("unveil", list(words)) as context:
        command.invoke(context)


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_verb_opens_is_closed_when_it_ends(fails: bool) -> None:
    closed: list[bool] = []

    def verb() -> None:
        opened = closed_at_end.get()
        assert opened is not None
        opened.callback(closed.append, True)
        assert not closed
        if fails:
            raise RuntimeError

    with pytest.raises(RuntimeError) if fails else _nothing():
        _run(verb)
    assert closed == [True]
    assert closed_at_end.get() is None


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@dataclass(frozen=True)
class Inner:
    """A group within a group."""

    depth: Annotated[int, typer.Option("--depth")] = 1


@dataclass(frozen=True)
class Outer:
    """A group that holds another."""

    width: Annotated[int, typer.Option("--width")]
    inner: Inner = field(default_factory=Inner)
    name: Annotated[str, typer.Option("--name")] = "none"


def test_groups_of_options_may_hold_groups() -> None:
    seen: list[tuple[Outer, bool]] = []

    def verb(outer: Outer, flag: Annotated[bool, typer.Option("--flag")] = False) -> None:
        seen.append((outer, flag))

    verb.__annotations__ = {"outer": Outer, "flag": Annotated[bool, typer.Option("--flag")]}
    _run(grouped(verb), "--width", "3", "--depth", "7", "--flag")
    assert seen == [(Outer(3, Inner(7), "none"), True)]


def test_a_verb_loads_no_other() -> None:
    told = "import sys; from unveil.cli import run; run(['datasets']); print(*[n for n in sys.modules if '.verbs.' in n])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1].split() == ["unveil.cli.verbs.datasets"]


def test_all_verbs_are_listed_in_order() -> None:
    run(["datasets"])
    groups = {one.name for one in app.registered_groups}
    assert [one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands] == [
        name for name in VERBS if name not in groups
    ]
